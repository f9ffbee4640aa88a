/* Reductions of long double, which has more digits than a double. */
#include "common.h"
#include <complex.h>

int main(int argc, char ** argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long double step = 1.0L / (1ull << 62), fine = 1.0L + (rank + 1) * step;
  long double       own[2] = {fine, -fine}, got[2], sum = 0, product = 1;
  for (int n = 0; n < size; n++) sum += 1.0L + (n + 1) * step, product *= n + 1.5L;
  MPI_Allreduce(own, got, 2, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK(got[0] == 1.0L + size * step && got[1] == -(1.0L + step));
  MPI_Allreduce(own, got, 2, MPI_LONG_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  CHECK(got[0] == 1.0L + step && got[1] == -(1.0L + size * step));
  /* A sum may be rounded in another order. */
  MPI_Allreduce(own, got, 2, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(got[0] - sum <= size * size * step && sum - got[0] <= size * size * step && got[1] == -got[0]);
  own[0] = rank + 1.5L;
  MPI_Allreduce(own, got, 1, MPI_LONG_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
  CHECK(got[0] / product - 1 <= size * step * 4 && 1 - got[0] / product <= size * step * 4);

  struct
  {
    long double value;
    int         at;
  } pair = {-fine, rank}, found;
  MPI_Allreduce(&pair, &found, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  CHECK(found.at == 0 && found.value == -(1.0L + step));
  pair.value = 1;
  MPI_Allreduce(&pair, &found, 1, MPI_LONG_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  CHECK(found.at == 0 && found.value == 1);

  /* (1 + i) to the power of the number of ranks, exactly. */
  long double _Complex z = 1.0L + 1.0L * I, all, expected = 1;
  for (int n = 0; n < size; n++) expected *= z;
  MPI_Allreduce(&z, &all, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
  CHECK(all == expected);

  MPI_Win       win;
  long double * memory;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Win_fence(0, win);
  MPI_Accumulate(&fine, 1, MPI_LONG_DOUBLE, (rank + 1) % size, 0, 1, MPI_LONG_DOUBLE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK(*memory == 1.0L + ((rank + size - 1) % size + 1) * step);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
