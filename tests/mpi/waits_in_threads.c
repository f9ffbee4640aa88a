/* Threads of each rank wait for messages that nobody sends, and the main thread waits for them. */
#include "threads.h"

static void waits(int number)
{
  int value;
  MPI_Recv(&value, 1, MPI_INT, left, 40 + number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char ** argv)
{
  begin_threads(&argc, &argv);
  in_threads(waits);
  MPI_Finalize();
  return 0;
}
