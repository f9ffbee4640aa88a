/* A tool in front of the library: it counts sends, and calls the library by its other names. */
#include "common.h"

static int sends;

int MPI_Send(const void * buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
  sends++;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(int argc, char ** argv)
{
  int rank, out = 7, in = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Send(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  /* The library's own messages are not counted. */
  MPI_Allreduce(MPI_IN_PLACE, &in, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(in == 7 && sends == 1);
  MPI_Finalize();
  return 0;
}
