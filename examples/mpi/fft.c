/* A Fourier transform of a square of complex numbers, rows of it shared out among the ranks: each transforms its rows, all exchange
 * (MPI_Alltoall) so that columns become rows, and each transforms those. The inverse must give the square back.
 *
 *   netloom cc -O2 fft.c -o fft -lm
 *   netloom exec -n 4 ./fft                       on this computer
 *   netloom mpirun --machine bgq -n 64 ./fft      on a simulated Blue Gene/Q
 *
 * It prints the same on 1, 2, 4, ... 256 ranks, but for the time.
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256 };

typedef double complex number;

static int rank, size, rows;

/* A row in place, by halves; `sign` is -1, or 1 for the inverse. */
static void transform(number * x, number * space, int length, int stride, int sign)
{
  if (length == 1) return;
  int half = length / 2;
  transform(x, space, half, 2 * stride, sign);
  transform(x + stride, space, half, 2 * stride, sign);
  for (int k = 0; k < half; k++)
  {
    double angle = sign * 2 * acos(-1) * k / length;
    number even = x[2 * k * stride], odd = x[(2 * k + 1) * stride] * (cos(angle) + I * sin(angle));
    space[k] = even + odd, space[k + half] = even - odd;
  }
  for (int k = 0; k < length; k++) x[k * stride] = space[k];
}

/* Columns become rows. */
static void transpose(number * square, number * parts)
{
  for (int to = 0; to < size; to++)
    for (int y = 0; y < rows; y++)
      for (int x = 0; x < rows; x++) parts[(to * rows + x) * rows + y] = square[y * N + to * rows + x];
  /* A square of `rows` by `rows` goes to each rank, turned already. */
  number * received = malloc(sizeof(number) * (size_t) rows * N);
  MPI_Alltoall(parts, rows * rows, MPI_C_DOUBLE_COMPLEX, received, rows * rows, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
  for (int from = 0; from < size; from++)
    for (int y = 0; y < rows; y++)
      for (int x = 0; x < rows; x++) square[y * N + from * rows + x] = received[(from * rows + y) * rows + x];
  free(received);
}

static void transform_all(number * square, number * space, int sign)
{
  for (int pass = 0; pass < 2; pass++)
  {
    for (int y = 0; y < rows; y++) transform(square + y * N, space, N, 1, sign);
    transpose(square, space);
  }
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (N % size != 0)
  {
    if (rank == 0) fprintf(stderr, "%d rows cannot be shared out among %d ranks\n", N, size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  rows = N / size;

  number * square = malloc(sizeof(number) * (size_t) rows * N), *space = malloc(sizeof(number) * (size_t) rows * N);
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < N; x++) square[y * N + x] = sin(0.1 * x * x) + I * cos(0.07 * (rank * rows + y));

  double began = MPI_Wtime();
  transform_all(square, space, -1);
  double took = MPI_Wtime() - began;

  /* Each rank adds its rows, rank 0 the sums of rows in their order: so the sum is the same on any number of ranks. */
  double * power = calloc(N, sizeof(double)), *all = calloc(N, sizeof(double));
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < N; x++) power[rank * rows + y] += creal(square[y * N + x] * conj(square[y * N + x]));
  MPI_Reduce(power, all, N, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

  transform_all(square, space, 1);
  double error = 0, largest;
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < N; x++)
    {
      number expected = sin(0.1 * x * x) + I * cos(0.07 * (rank * rows + y));
      error = fmax(error, cabs(square[y * N + x] / N / N - expected));
    }
  MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
  {
    double sum = 0;
    for (int y = 0; y < N; y++) sum += all[y];
    printf("%d x %d, power %.9e, %s\n", N, N, sum, largest < 1e-12 ? "the inverse gives the square back" : "WRONG");
    printf("%d ranks, %.3f ms\n", size, took * 1e3);
  }
  MPI_Finalize();
  free(square), free(space), free(power), free(all);
  return largest < 1e-12 ? 0 : 1;
}
