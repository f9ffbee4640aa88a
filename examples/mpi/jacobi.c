/* Heat in a square plate of which one edge is hot: Jacobi's method, rows of the plate shared out among the ranks.
 *
 *   netloom cc -O2 jacobi.c -o jacobi
 *   netloom exec -n 4 ./jacobi                       on this computer
 *   netloom mpirun --machine bgq -n 64 ./jacobi      on a simulated Blue Gene/Q
 *
 * It prints the same on any number of ranks, but for the time.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, STEPS_MAX = 2000 };

/* Rows of a rank, with one of each neighbour before and after. */
static double * rows(int count) { return calloc((size_t) (count + 2) * N, sizeof(double)); }

int main(int argc, char ** argv)
{
  int    rank, size, step = 0;
  double change = 1;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  int      first = N * rank / size, count = N * (rank + 1) / size - first;
  int      above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  double * now = rows(count), *next = rows(count);
  if (rank == 0)
    for (int x = 0; x < N; x++) now[x] = next[x] = 100;

  double began = MPI_Wtime();
  for (; step < STEPS_MAX && change > 0.01; step++)
  {
    double largest = 0;
    MPI_Sendrecv(now + N, N, MPI_DOUBLE, above, 0, now + (count + 1) * N, N, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + count * N, N, MPI_DOUBLE, below, 1, now, N, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int y = 1; y <= count; y++)
      for (int x = 1; x < N - 1; x++)
      {
        double * at = now + y * N + x;
        double   value = (at[-1] + at[1] + at[-N] + at[N]) / 4;
        largest = fmax(largest, fabs(value - *at));
        next[y * N + x] = value;
      }
    MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double * swap = now;
    now = next, next = swap;
  }
  double took = MPI_Wtime() - began;

  /* Each rank adds its rows, and rank 0 the sums, in an order that is that of the rows. */
  double * sums = calloc(N, sizeof(double)), *all = calloc(N, sizeof(double));
  for (int y = 0; y < count; y++)
    for (int x = 0; x < N; x++) sums[first + y] += now[(y + 1) * N + x];
  MPI_Reduce(sums, all, N, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
  {
    double heat = 0;
    for (int y = 0; y < N; y++) heat += all[y];
    printf("%d steps, largest change %.6f, mean %.9f\n", step, change, heat / N / N);
    printf("%d ranks, %.3f ms\n", size, took * 1e3);
  }
  MPI_Finalize();
  free(now), free(next), free(sums), free(all);
  return 0;
}
