/* What this library does not have yet says so, and does nothing. */
#include "common.h"

static int spawn(MPI_Comm * children)
{
  return MPI_Comm_spawn("./child", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE);
}

int main(int argc, char ** argv)
{
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(spawn(&children)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(children == MPI_COMM_NULL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  spawn(&children);
  return 0;
}
