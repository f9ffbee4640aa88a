/* Threads of each rank wait in different calls for messages that nobody sends, another has ended, and the main
 * thread waits for them. */
#include "threads.h"

static void waits(int number)
{
  int         value;
  MPI_Request request;
  if (number == 0) MPI_Recv(&value, 1, MPI_INT, left, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Irecv(&value, 1, MPI_INT, left, 40 + number, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ends(int number)
{
  MPI_Barrier(number ? MPI_COMM_SELF : MPI_COMM_WORLD);
}

int main(int argc, char ** argv)
{
  struct thread thread;
  begin_threads(&argc, &argv);
  start_threads(&thread, 1, ends);
  join_threads(&thread, 1);
  in_threads(waits);
  MPI_Finalize();
  return 0;
}
