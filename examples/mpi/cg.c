/* Conjugate gradients: solves A x = b, where A is the Laplacian of a square grid with fixed edges. Each rank has some rows of the grid:
 * a product with A needs the rows at its neighbours' edges (MPI_Isend, MPI_Irecv), a step two sums over all ranks (MPI_Allreduce).
 *
 *   netloom cc -O2 cg.c -o cg -lm
 *   netloom exec -n 4 ./cg                       on this computer
 *   netloom mpirun --machine bgq -n 64 ./cg      on a simulated Blue Gene/Q
 *
 * Sums of doubles depend on their order, so digits after those that are printed may differ with the number of ranks.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 128, STEPS_MAX = 1000 };

static int rank, size, first, count;

/* Rows of a rank, with one of each neighbour before and after. */
static double * rows(void) { return calloc((size_t) (count + 2) * N, sizeof(double)); }

/* y = A x; what does not need the neighbours' rows is computed while they are on their way. */
static void multiply(double * x, double * y)
{
  int         above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Request all[4];

  MPI_Irecv(x, N, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(x + (count + 1) * N, N, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(x + count * N, N, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(x + N, N, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &all[3]);
  for (int part = 0; part < 2; part++)
  {
    for (int r = 1; r <= count; r++)
    {
      int is_edge = r == 1 || r == count;
      if (is_edge != part) continue;
      for (int c = 0; c < N; c++)
      {
        double * at = x + r * N + c;
        y[r * N + c] = 4 * *at - at[-N] - at[N] - (c > 0 ? at[-1] : 0) - (c + 1 < N ? at[1] : 0);
      }
    }
    if (part == 0) MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  }
}

static double product(const double * a, const double * b)
{
  double own = 0, sum;
  for (int i = N; i < (count + 1) * N; i++) own += a[i] * b[i];
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char ** argv)
{
  int steps = 0;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  first = N * rank / size, count = N * (rank + 1) / size - first;

  double * x = rows(), *residual = rows(), *direction = rows(), *image = rows();
  for (int r = 0; r < count; r++)
    for (int c = 0; c < N; c++) residual[(r + 1) * N + c] = direction[(r + 1) * N + c] = 1 + ((first + r) * 7 + c * 3) % 5;

  double began = MPI_Wtime();
  double square = product(residual, residual), end = 1e-20 * square;
  for (; steps < STEPS_MAX && square > end; steps++)
  {
    multiply(direction, image);
    double along = square / product(direction, image), before = square;
    for (int i = N; i < (count + 1) * N; i++) x[i] += along * direction[i], residual[i] -= along * image[i];
    square = product(residual, residual);
    for (int i = N; i < (count + 1) * N; i++) direction[i] = residual[i] + square / before * direction[i];
  }
  double took = MPI_Wtime() - began;

  /* The true residual, b - A x, and the middle of the solution. */
  multiply(x, image);
  for (int r = 0; r < count; r++)
    for (int c = 0; c < N; c++) residual[(r + 1) * N + c] = 1 + ((first + r) * 7 + c * 3) % 5 - image[(r + 1) * N + c];
  double error = sqrt(product(residual, residual)), middle = 0, value;
  if (first <= N / 2 && N / 2 < first + count) middle = x[(N / 2 - first + 1) * N + N / 2];
  MPI_Reduce(&middle, &value, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
  {
    printf("middle %.6f, %s\n", value, error < 1e-6 ? "converged" : "NOT CONVERGED");
    printf("%d ranks, %d steps, %.3f ms\n", size, steps, took * 1e3);
  }
  MPI_Finalize();
  free(x), free(residual), free(direction), free(image);
  return error < 1e-6 ? 0 : 1;
}
