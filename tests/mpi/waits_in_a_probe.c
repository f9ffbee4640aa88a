/* Rank 0 probes for a message that does not come; rank 1 sends another one, which nobody receives. */
#include "common.h"

int main(int argc, char ** argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Probe(1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Ssend(&rank, 1, MPI_INT, 0, 43, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
