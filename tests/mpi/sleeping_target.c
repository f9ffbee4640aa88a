/* On a simulated machine a target that sleeps is written to and read meanwhile: the network does it. */
#include "common.h"
#include <unistd.h>

int main(int argc, char ** argv)
{
  enum { LENGTH = 1000 };
  static double memory[LENGTH], out[LENGTH], in[LENGTH];
  int           rank;
  MPI_Win       win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  /* Rank 0 learns where the memory is. */
  if (rank == 0) MPI_Put(out, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win), MPI_Win_flush(1, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank == 1) sleep(1);
  if (rank == 0)
  {
    for (int round = 0; round < 10; round++)
    {
      for (int i = 0; i < LENGTH; i++) out[i] = i + round;
      MPI_Put(out, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
      MPI_Win_flush(1, win);
      MPI_Get(in, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
      MPI_Win_flush(1, win);
      for (int i = 0; i < LENGTH; i++) CHECK(in[i] == out[i]);
    }
    CHECK(MPI_Wtime() - start < 0.5);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 1 || memory[LENGTH - 1] == LENGTH - 1 + 9);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
