/* Natively a target of MPI_Win_allocate makes no call: it looks at its memory until it changes. */
#include "common.h"
#include <time.h>

int main(int argc, char ** argv)
{
  int             rank, size;
  long            one = 1, got = 0, old = -1;
  volatile long * memory;
  MPI_Win         win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(1000 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[rank] = memory[998] = 0, memory[999] = 7 * rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  /* Each rank waits for the one before it. */
  if (rank == 0) memory[0] = 1;
  const time_t start = time(NULL);
  while (memory[rank] == 0) CHECK(time(NULL) - start < 60);
  if (rank + 1 < size)
  {
    MPI_Get(&got, 1, MPI_LONG, rank + 1, 999, 1, MPI_LONG, win);
    MPI_Accumulate(&one, 1, MPI_LONG, rank + 1, 998, 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, rank + 1, 998, MPI_SUM, win);
    MPI_Win_flush(rank + 1, win);
    CHECK(old == 1);
    MPI_Put(&one, 1, MPI_LONG, rank + 1, rank + 1, 1, MPI_LONG, win);
    MPI_Win_flush(rank + 1, win);
    CHECK(got == 7 * (rank + 1));
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
