/* Microseconds of a barrier, and of an all-reduction of a double and of two: a line for each, with its number first. */
#include "common.h"

#define TIMES 4

int main(int argc, char ** argv)
{
  double values[2] = {1, 2}, sums[2];

  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int what = 0; what < 3; what++)
  {
    double start = 0, took, longest;
    for (int i = 0; i <= TIMES; i++)
    {
      /* The first sets up what is needed. */
      if (i == 1) start = MPI_Wtime();
      switch (what)
      {
      case 0: MPI_Barrier(MPI_COMM_WORLD); break;
      case 1: MPI_Allreduce(values, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
      default: MPI_Allreduce(values, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      }
    }
    took = 1e6 * (MPI_Wtime() - start) / TIMES;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%d %.3f\n", what, longest);
  }
  MPI_Finalize();
  return 0;
}
