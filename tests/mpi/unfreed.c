/* Frees some of what it makes: the rest is told if NETLOOM_CHECK is 1. */
#include "common.h"

int main(int argc, char **argv)
{
  static int  memory[4];
  int         space;
  MPI_Request requests[4];
  MPI_Comm    comms[3];
  MPI_Win     win;
  MPI_Init(&argc, &argv);
  for (int n = 0; n < 3; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  MPI_Comm_set_name(comms[1], "left");
  MPI_Comm_free(&comms[0]);
  for (int n = 0; n < 2; n++) MPI_Recv_init(&space, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[n]);
  for (int n = 2; n < 4; n++) MPI_Irecv(&space, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[n]);
  MPI_Request_free(&requests[0]);
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Finalize();
  return 0;
}
