/* What cannot be spawned, connected or found is an error of all ranks, and nothing waits; hints; a root that is not the
 * first rank; what the job's universe has room for: the argument says how many. */
#include "common.h"
#include <sys/stat.h>
#include <unistd.h>

static int  rank, size;
static char here[4096];

static MPI_Info hint(char * key, char * value)
{
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

/* All ranks get the class, and each of the `most` codes is that of an error. */
static void refused(char * program, char ** arguments, int most, MPI_Info info, int expected)
{
  MPI_Comm children = MPI_COMM_NULL;
  int      codes[64];
  for (int n = 0; n < 64; n++) codes[n] = -1;
  int root = size - 1, got = class_of(MPI_Comm_spawn(program, arguments, most, info, root, MPI_COMM_WORLD, &children, codes));
  if (got != expected) fprintf(stderr, "%s: class %d instead of %d\n", program ? program : "NULL", got, expected);
  CHECK(got == expected && children == MPI_COMM_NULL);
  for (int n = 0; n < most; n++) CHECK(class_of(codes[n]) == MPI_ERR_SPAWN);
  CHECK(codes[most > 0 ? most : 0] == -1);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

/* Children that say how many they are, and end. */
static int spawned(char * program, int most, MPI_Info info, int * codes)
{
  char *   arguments[] = {"child", NULL};
  int      count;
  MPI_Comm children;
  CHECK(MPI_Comm_spawn(program, arguments, most, info, size - 1, MPI_COMM_WORLD, &children, codes) == MPI_SUCCESS);
  MPI_Comm_remote_size(children, &count);
  MPI_Comm_disconnect(&children);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return count;
}

static void programs(char * own)
{
  char text[5000], * no_init[] = {"-c", "exit 0", NULL};
  refused("netloom-no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, MPI_ERR_SPAWN);
  refused("./no/such/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, MPI_ERR_SPAWN);
  refused("/", MPI_ARGV_NULL, 1, MPI_INFO_NULL, MPI_ERR_SPAWN);
  snprintf(text, sizeof text, "%s/spawn_errors.text", here);
  if (rank == 0)
  {
    FILE * file = fopen(text, "w");
    fclose(file), chmod(text, 0600);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  /* A file that is no program: root may do what it likes, but not run that. */
  refused(text, MPI_ARGV_NULL, 1, MPI_INFO_NULL, MPI_ERR_SPAWN);
  if (rank == size - 1) chmod(text, 0700);
  /* An interpreter that does not exist is found when the first process is started, by the launcher. */
  if (rank == size - 1)
  {
    FILE * file = fopen(text, "w");
    fputs("#!/no/such/interpreter\n", file), fclose(file);
  }
  refused(text, MPI_ARGV_NULL, 3, MPI_INFO_NULL, MPI_ERR_SPAWN);
  if (rank == size - 1) unlink(text);
  /* It ends without MPI_Init, for which the parents would wait. */
  refused("sh", no_init, 2, MPI_INFO_NULL, MPI_ERR_SPAWN);
  refused(own, MPI_ARGV_NULL, -1, MPI_INFO_NULL, MPI_ERR_ARG);
  refused(own, MPI_ARGV_NULL, 0, MPI_INFO_NULL, MPI_ERR_SPAWN);
  refused(NULL, MPI_ARGV_NULL, 1, MPI_INFO_NULL, MPI_ERR_ARG);
  refused(own, MPI_ARGV_NULL, 1, hint("host", "no.such.host"), MPI_ERR_SPAWN);
  refused(own, MPI_ARGV_NULL, 1, hint("wdir", "/no/such/folder"), MPI_ERR_SPAWN);
  refused(own, MPI_ARGV_NULL, 2, hint("soft", "3:9"), MPI_ERR_SPAWN);
  refused(own, MPI_ARGV_NULL, 2, hint("soft", "many"), MPI_ERR_ARG);
  MPI_Comm children;
  CHECK(class_of(MPI_Comm_spawn(own, MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE)) ==
        MPI_ERR_ROOT);
}

static void hints(char * own)
{
  char host[MPI_MAX_PROCESSOR_NAME], folder[4096], * name = strrchr(own, '/') + 1;
  int  codes[8];
  CHECK(gethostname(host, sizeof host) == 0);
  snprintf(folder, sizeof folder, "/no/such/folder:%.*s", (int)(name - own - 1), own);
  CHECK(spawned(own, 1, hint("host", host), MPI_ERRCODES_IGNORE) == 1);
  CHECK(spawned(name, 1, hint("path", folder), MPI_ERRCODES_IGNORE) == 1);
  CHECK(spawned(own, 1, hint("unknown", "hint"), MPI_ERRCODES_IGNORE) == 1);
  /* The greatest number allowed. */
  CHECK(spawned(own, 5, hint("soft", "1:9:3,2"), codes) == 4);
  for (int n = 0; n < 5; n++) CHECK(class_of(codes[n]) == (n < 4 ? MPI_SUCCESS : MPI_ERR_SPAWN));
  /* The child checks its folder. */
  MPI_Info info = hint("wdir", "/proc");
  char *   arguments[] = {"child", "/proc", NULL};
  MPI_Comm children;
  MPI_Comm_spawn(own, arguments, 1, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&children);
  MPI_Info_free(&info);
}

static void universe(char * own, int most)
{
  int *value, flag, codes[8];
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
  CHECK(flag && *value == most);
  int room = most - size;
  refused(own, MPI_ARGV_NULL, room + 1, MPI_INFO_NULL, MPI_ERR_SPAWN);
  /* Twice, since those that have ended need no room; they may need a moment to end. */
  for (int n = 0; n < 2; n++)
  {
    CHECK(spawned(own, room, MPI_INFO_NULL, codes) == room);
    usleep(500000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(spawned(own, room + 2, hint("soft", "1:9"), codes) == room);
}

static void names(void)
{
  char     port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(class_of(MPI_Lookup_name("netloom-no-such-service", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
  {
    MPI_Open_port(MPI_INFO_NULL, port);
    CHECK(MPI_Publish_name("netloom-errors", MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Publish_name("netloom-errors", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Unpublish_name("netloom-errors", MPI_INFO_NULL, "other")) == MPI_ERR_SERVICE);
    CHECK(MPI_Unpublish_name("netloom-errors", MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Unpublish_name("netloom-errors", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
    MPI_Close_port(port);
    CHECK(class_of(MPI_Close_port(port)) == MPI_ERR_PORT);
  }
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_accept("nonsense", MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &comm)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_connect("netloom:netloom-1-1:0:1", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm)) == MPI_ERR_PORT);
  CHECK(comm == MPI_COMM_NULL);
  CHECK(class_of(MPI_Comm_join(0, &comm)) == MPI_ERR_ARG);
}

/* The first rank closes a port without accepting: whoever waits there is refused. */
static void closed(void)
{
  char     port[MPI_MAX_PORT_NAME];
  MPI_Comm comm = MPI_COMM_NULL;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0)
  {
    usleep(300000);
    MPI_Close_port(port);
  }
  else
    CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm)) == MPI_ERR_PORT);
}

int main(int argc, char ** argv)
{
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  CHECK(getcwd(here, sizeof here) != NULL);
  if (parent != MPI_COMM_NULL)
  {
    CHECK(argc < 3 || strcmp(here, argv[2]) == 0);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1)
    universe(argv[0], atoi(argv[1]));
  else
  {
    programs(argv[0]);
    hints(argv[0]);
    names();
    if (size > 1) closed();
  }
  MPI_Finalize();
  return 0;
}
