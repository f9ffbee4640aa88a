/* Rank 0 receives what nobody sends; the others wait for it in a collective of a communicator. */
#include "common.h"

int main(int argc, char ** argv)
{
  int      rank, data = 0;
  MPI_Comm own;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  if (rank == 0) MPI_Recv(&data, 1, MPI_INT, 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Bcast(&data, 1, MPI_INT, 0, own);
  MPI_Finalize();
  return 0;
}
