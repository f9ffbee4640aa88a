/* Half round trip of a message of no data between ranks 0 and 1. */
#include "common.h"

int main(int argc, char **argv)
{
  enum { ROUNDS = 50 };
  int    rank;
  double began = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* The first round is not measured. */
  for (int round = 0; round <= ROUNDS; round++)
  {
    if (round == 1) began = MPI_Wtime();
    if (rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank < 2) MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.3f us\n", (MPI_Wtime() - began) / (2 * ROUNDS) * 1e6);
  MPI_Finalize();
  return 0;
}
