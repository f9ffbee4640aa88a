/* Rank 1 keeps the lock of rank 0, and waits for ever; the others wait for the lock. */
#include "common.h"

int main(int argc, char ** argv)
{
  int     rank, in;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(&in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&in, 1, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Finalize();
  return 0;
}
