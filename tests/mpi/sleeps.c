/* Sleeping takes the time of the machine, simulated or not. */
#include "common.h"
#include <unistd.h>

int main(int argc, char ** argv)
{
  double before, slept;

  MPI_Init(&argc, &argv);
  before = MPI_Wtime();
  usleep(2000);
  slept = MPI_Wtime() - before;
  CHECK(slept >= 0.002 && slept < 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
