/* Processes that are spawned: from all ranks and from each alone, several programs at once, and by processes that were
 * spawned themselves. Messages and collectives between the two groups and over the group of both; windows; parts of groups. */
#include "common.h"

#define LONG (1 << 18)

static char * program;

static int attribute(int key)
{
  int *value, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
  CHECK(flag);
  return *value;
}

/* Messages between ranks of the two groups: short, and long in both directions at the same time. */
static void messages(MPI_Comm comm)
{
  int rank, size, remote, flag;
  MPI_Comm_test_inter(comm, &flag);
  CHECK(flag);
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size), MPI_Comm_remote_size(comm, &remote);
  MPI_Request * requests = malloc(2 * remote * sizeof *requests);
  int *         out = malloc(remote * sizeof *out), *in = malloc(remote * sizeof *in);
  for (int r = 0; r < remote; r++)
  {
    out[r] = 1000 * rank + r;
    MPI_Irecv(in + r, 1, MPI_INT, r, 7, comm, requests + 2 * r);
    MPI_Isend(out + r, 1, MPI_INT, r, 7, comm, requests + 2 * r + 1);
  }
  MPI_Waitall(2 * remote, requests, MPI_STATUSES_IGNORE);
  for (int r = 0; r < remote; r++) CHECK(in[r] == 1000 * r + rank);
  int * data = malloc(2 * LONG * sizeof *data);
  int   partner = rank < remote ? rank : MPI_PROC_NULL;
  for (int n = 0; n < LONG; n++) data[n] = n ^ rank, data[LONG + n] = -1;
  MPI_Sendrecv(data, LONG, MPI_INT, partner, 8, data + LONG, LONG, MPI_INT, partner, 8, comm, MPI_STATUS_IGNORE);
  for (int n = 0; n < LONG; n++) CHECK(data[LONG + n] == (partner == MPI_PROC_NULL ? -1 : (n ^ rank)));
  free(requests), free(out), free(in), free(data);
}

/* Collectives of the two groups, as `is_parent`'s first rank is the root. */
static void collectives(MPI_Comm comm, int is_parent)
{
  int rank, remote, value = 42, sum = -1;
  MPI_Comm_rank(comm, &rank), MPI_Comm_remote_size(comm, &remote);
  if (is_parent)
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, comm);
  else
  {
    value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
  }
  CHECK(value == 42);
  value = rank + 1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == remote * (remote + 1) / 2);
  MPI_Barrier(comm);
}

/* The group of both: parents first. */
static void merged(MPI_Comm comm, int is_parent)
{
  int      rank, size, own, local, remote, sum, flag, *all;
  MPI_Comm both, copy, part;
  MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &local), MPI_Comm_remote_size(comm, &remote);
  MPI_Intercomm_merge(comm, !is_parent, &both);
  MPI_Comm_rank(both, &rank), MPI_Comm_size(both, &size);
  CHECK(size == local + remote && rank == own + (is_parent ? 0 : remote));
  all = malloc(size * sizeof *all);
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, both);
  for (int r = 0; r < size; r++) CHECK(all[r] == r);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_dup(both, &copy);
  MPI_Comm_split(copy, rank % 2, -rank, &part);
  MPI_Comm_rank(part, &own), MPI_Comm_size(part, &local);
  CHECK(own == local - 1 - rank / 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, part);
  CHECK(sum == (size - 1) - ((size - 1) % 2 != rank % 2));
  /* All share memory: a window of each rank, to which its neighbour puts. */
  MPI_Win window;
  int *   memory;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, both, &memory, &window);
  *memory = -1;
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(*memory == (rank + size - 1) % size);
  MPI_Win_free(&window);
  MPI_Comm node;
  MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &local);
  CHECK(local == size);
  MPI_Group group, world, outside;
  MPI_Comm_group(both, &group), MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_difference(group, world, &outside);
  MPI_Group_size(outside, &local);
  CHECK(local == remote);
  MPI_Group_free(&group), MPI_Group_free(&world);
  if (outside != MPI_GROUP_EMPTY) MPI_Group_free(&outside);
  MPI_Comm_test_inter(both, &flag);
  CHECK(!flag);
  MPI_Comm_disconnect(&node), MPI_Comm_disconnect(&part), MPI_Comm_disconnect(&copy);
  MPI_Comm_disconnect(&both);
  CHECK(both == MPI_COMM_NULL);
  free(all);
}

static void all_of(MPI_Comm comm, int is_parent)
{
  messages(comm);
  collectives(comm, is_parent);
  merged(comm, is_parent);
}

/* A child with the arguments "child", its depth, and a word with spaces. */
static int child(char ** argv)
{
  int      depth = atoi(argv[2]), flag;
  MPI_Comm parent, again;
  CHECK(strcmp(argv[3], "two words") == 0 && argv[4] == NULL);
  MPI_Comm_get_parent(&parent);
  CHECK(parent != MPI_COMM_NULL);
  MPI_Comm_test_inter(parent, &flag);
  CHECK(flag);
  all_of(parent, 0);
  if (depth > 0)
  {
    char     below[12];
    char *   arguments[] = {"child", below, "two words", NULL};
    int      codes[2] = {-1, -1};
    MPI_Comm children;
    snprintf(below, sizeof below, "%d", depth - 1);
    CHECK(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    all_of(children, 1);
    MPI_Comm_disconnect(&children);
  }
  MPI_Comm_disconnect(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm_get_parent(&again);
  CHECK(again == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}

/* One of several programs: "number", its place among them. The parents say how many processes each has. */
static int numbered(char ** argv)
{
  int      rank, size, counts[2], of = atoi(argv[2]);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(counts, 2, MPI_INT, 0, parent);
  CHECK(size == counts[0] + counts[1] && of == (rank >= counts[0]));
  CHECK(attribute(MPI_APPNUM) == of);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static void several(int rank)
{
  char *   first[] = {"number", "0", NULL}, *second[] = {"number", "1", NULL}, *commands[] = {program, program};
  char **  arguments[] = {first, second};
  int      counts[] = {1, 2}, codes[] = {-1, -1, -1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &children, codes);
  for (int n = 0; n < 3; n++) CHECK(codes[n] == MPI_SUCCESS);
  MPI_Bcast(counts, 2, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
  MPI_Comm_disconnect(&children);
}

/* "idle": connected to the parents until both end. A message that arrives late is not lost. */
static int idle(void)
{
  MPI_Comm parent;
  int      value = 7, rank;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 0, 3, parent);
  MPI_Finalize();
  return 0;
}

int main(int argc, char ** argv)
{
  int      rank, provided;
  MPI_Comm parent, children;
  program = argv[0];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  if (argc > 1 && strcmp(argv[1], "child") == 0) return child(argv);
  if (argc > 1 && strcmp(argv[1], "number") == 0) return numbered(argv);
  if (argc > 1 && strcmp(argv[1], "idle") == 0) return idle();
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* From all ranks; those that are not the root give nothing. */
  char * arguments[] = {"child", "1", "two words", NULL};
  int    is_root = rank == 0, codes[3] = {-1, -1, -1};
  MPI_Comm_spawn(is_root ? program : NULL, is_root ? arguments : NULL, is_root ? 3 : -1, MPI_INFO_NULL, 0,
                 MPI_COMM_WORLD, &children, is_root ? codes : MPI_ERRCODES_IGNORE);
  if (is_root) CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
  int remote;
  MPI_Comm_remote_size(children, &remote);
  CHECK(remote == 3);
  all_of(children, 1);
  MPI_Comm_disconnect(&children);
  /* From each rank alone, at the same time. */
  arguments[1] = "0";
  MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  all_of(children, 1);
  MPI_Comm_disconnect(&children);
  several(rank);
  char * no_work[] = {"idle", NULL};
  MPI_Comm_spawn(program, no_work, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (rank == 0)
  {
    int got;
    MPI_Recv(&got, 1, MPI_INT, 0, 3, children, MPI_STATUS_IGNORE);
    CHECK(got == 7);
  }
  MPI_Finalize();
  return 0;
}
