/* The error handler that processes begin with: of spawned ones that of the hint mpi_initial_errhandler, else
 * MPI_ERRORS_ARE_FATAL; of others, with the argument "return", the launcher's. */
#include "common.h"

static void check_handlers(MPI_Errhandler expected)
{
  MPI_Comm       parent, comms[3] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL};
  MPI_Errhandler found;
  MPI_Comm_get_parent(&parent);
  comms[2] = parent;
  for (int n = 0; n < 3 && comms[n] != MPI_COMM_NULL; n++)
  {
    MPI_Comm_get_errhandler(comms[n], &found);
    CHECK(found == expected);
  }
}

static void check_early(const char * when)
{
  int count, got = MPI_Info_get_nkeys(MPI_INFO_NULL, &count), rank;
  if (got != MPI_ERR_INFO) fprintf(stderr, "%s: %d\n", when, got);
  CHECK(got == MPI_ERR_INFO);
  /* Not allowed at that time. */
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_ERR_OTHER);
}

static int child(const char * handler)
{
  MPI_Comm parent;
  int      returns = strcmp(handler, "return") == 0;
  if (returns) check_early("before MPI_Init");
  MPI_Init(NULL, NULL);
  check_handlers(returns ? MPI_ERRORS_RETURN : strcmp(handler, "abort") == 0 ? MPI_ERRORS_ABORT : MPI_ERRORS_ARE_FATAL);
  if (returns)
  {
    int out = 0;
    CHECK(MPI_Send(&out, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
  }
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  if (returns) check_early("after MPI_Finalize");
  return 0;
}

static int spawn(char * program, char * value, char * argument)
{
  char *   arguments[] = {"child", argument, NULL};
  int      codes[2], got;
  MPI_Comm children;
  MPI_Info info = MPI_INFO_NULL;
  if (value)
  {
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_initial_errhandler", value);
  }
  got = class_of(MPI_Comm_spawn(program, arguments, 2, info, 0, MPI_COMM_WORLD, &children, codes));
  if (got == MPI_SUCCESS) MPI_Comm_disconnect(&children);
  if (value) MPI_Info_free(&info);
  return got;
}

int main(int argc, char ** argv)
{
  if (argc == 3) return child(argv[2]);
  if (argc == 2) return child(argv[1]);
  MPI_Init(&argc, &argv);
  check_handlers(MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(spawn(argv[0], NULL, "fatal") == MPI_SUCCESS);
  CHECK(spawn(argv[0], "mpi_errors_are_fatal", "fatal") == MPI_SUCCESS);
  CHECK(spawn(argv[0], "mpi_errors_abort", "abort") == MPI_SUCCESS);
  CHECK(spawn(argv[0], "MPI_Errors_Return", "return") == MPI_SUCCESS);
  CHECK(spawn(argv[0], "mpi_errors", "return") == MPI_ERR_ARG);
  MPI_Finalize();
  return 0;
}
