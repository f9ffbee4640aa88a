/* The rate of short messages of a process: windows to and from its nearest ranks, after all have posted their receives.
   Prints millions per second, sent and received, of the slowest rank. Argument: threads, each with a communicator. */
#include "threads.h"

enum { WINDOW = 50, ROUNDS = 10, NEIGHBOURS = 5, MOST_THREADS = 16, BYTES = 32 };
static MPI_Comm comms[MOST_THREADS];

static void windows(int number)
{
  static char   in[MOST_THREADS][2 * NEIGHBOURS * WINDOW][BYTES], out[MOST_THREADS][BYTES];
  MPI_Request   requests[4 * NEIGHBOURS * WINDOW];
  MPI_Comm      comm  = comms[number];
  int           count = 0;
  for (int n = 0; n < WINDOW; n++)
    for (int at = 1; at <= NEIGHBOURS; at++)
    {
      int from = (rank + NEIGHBOURS * size - at) % size;
      MPI_Irecv(in[number][count], BYTES, MPI_CHAR, from, n, comm, &requests[count]), count++;
    }
  MPI_Barrier(comm);
  for (int n = 0; n < WINDOW; n++)
    for (int at = 1; at <= NEIGHBOURS; at++)
      MPI_Isend(out[number], BYTES, MPI_CHAR, (rank + at) % size, n, comm, &requests[count]), count++;
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void rounds(int number)
{
  for (int round = 0; round < ROUNDS; round++) windows(number);
}

int main(int argc, char ** argv)
{
  struct thread others[MOST_THREADS];
  begin_threads(&argc, &argv);
  int    threads = argc > 1 ? atoi(argv[1]) : 1;
  double from, own, longest;
  CHECK(threads >= 1 && threads <= MOST_THREADS);
  for (int n = 0; n < threads; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  windows(0);
  MPI_Barrier(MPI_COMM_WORLD);
  from = MPI_Wtime();
  start_threads(others, threads - 1, rounds);
  rounds(threads - 1);
  join_threads(others, threads - 1);
  own = MPI_Wtime() - from;
  MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.3f\n", 2e-6 * threads * ROUNDS * WINDOW * NEIGHBOURS / longest);
  for (int n = 0; n < threads; n++) MPI_Comm_free(&comms[n]);
  MPI_Finalize();
  return 0;
}
