/* By default an error ends the job: rank 1 sends to a rank that there is not. The others would wait for ever. */
#include "common.h"

int main(int argc, char ** argv)
{
  int rank, size, value = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
