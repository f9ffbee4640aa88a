/* Calls whose times follow from one another, for a profile: two ranks, of which one is late. */
#include "common.h"
#include <unistd.h>

enum { LONG = 100000 };

int main(int argc, char ** argv)
{
  static char data[LONG];
  int         rank, count, i;
  double      before;
  MPI_Request request;

  MPI_Init(&argc, &argv);
  for (i = 0; i < 10; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  before = MPI_Wtime();
  if (rank == 0)
  {
    /* Waits for 500 us. */
    MPI_Recv(data, 8, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("received after %.3f us\n", 1e6 * (MPI_Wtime() - before));
    MPI_Isend(data, LONG, MPI_CHAR, 1, 8, MPI_COMM_WORLD, &request);
    MPI_Send(data, 0, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    usleep(300);
  }
  else
  {
    usleep(500);
    MPI_Send(data, 8, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    usleep(200);
    MPI_Recv(data, LONG, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, 1, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  /* Rank 1 waits for 300 us. */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  CHECK(count == 2);
  MPI_Finalize();
  return 0;
}
