/* Rank 0 uses its own part of a window again and again, then probes in vain as often as the argument says, and
 * the others wait for it in a barrier. */
#include "common.h"

enum { TIMES = 20000 };

int main(int argc, char ** argv)
{
  int     rank, probes = argc > 1 ? atoi(argv[1]) : 0, flag;
  int *   own;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
  *own = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; rank == 0 && n < TIMES; n++)
  {
    int one = 1, before = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    CHECK(before == n);
  }
  for (int n = 0; rank == 0 && n < probes; n++)
  {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
