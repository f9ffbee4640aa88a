/* MPI ends in an exit handler, as in the destructor of a global object of C++: variables of the thread have
 * been destroyed by then. */
#include "common.h"

static int rank, size;

static void end(void)
{
  int sum, one = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size);
  MPI_Finalize();
}

int main(int argc, char ** argv)
{
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  atexit(end);
  return 0;
}
