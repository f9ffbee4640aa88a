/* Collectives of ranks that give different lengths: natively, as networks do not look at them. */
#include "common.h"

static int rank, size;

/* Where lengths differ, who finds it is told, and nobody waits for ever. */
static void lengths(void)
{
  int data[8] = {0}, sum[8], result, told, any;
  for (int more = 0; more < 2; more++)
  {
    /* The last rank has another length. */
    int count = rank == size - 1 ? 2 + 2 * more : 3;
    result = MPI_Bcast(data, count, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(result == MPI_SUCCESS || class_of(result) == MPI_ERR_TRUNCATE);
    CHECK(rank < size - 1 || result != MPI_SUCCESS);
    result = MPI_Reduce(data, sum, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(result == MPI_SUCCESS || class_of(result) == MPI_ERR_TRUNCATE);
    told = result != MPI_SUCCESS;
    MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(any > 0);
    result = MPI_Allreduce(data, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    told = result != MPI_SUCCESS;
    MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(any > 0);
  }
  /* Long data is exchanged in pieces, of which who has less sends fewer. */
  enum { LONG = 50000 };
  static double numbers[LONG], sums[LONG];
  for (int less = 1000; less < 40000; less += 12000)
  {
    int count = rank == size - 1 ? LONG - less : LONG;
    result = MPI_Allreduce(numbers, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(result == MPI_SUCCESS || class_of(result) == MPI_ERR_TRUNCATE);
    told = result != MPI_SUCCESS;
    MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(any > 0);
  }
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  set_errhandlers(MPI_ERRORS_RETURN);
  if (size > 1) lengths();
  MPI_Finalize();
  return 0;
}
