/* Short messages make no system call: neither who sends them, nor who receives what is there, expected or not. */
#include "../system_calls.h"
#include "common.h"

enum { MESSAGES = 30, TIMES = 20 };

static int  rank, size;
static char out[64], in[MESSAGES][64];

static void send_all(int bytes)
{
  MPI_Request sends[MESSAGES];
  int         next = (rank + 1) % size;
  for (int n = 0; n < MESSAGES; n++)
    if (n % 2)
      MPI_Send(out, bytes, MPI_CHAR, next, n, MPI_COMM_WORLD), sends[n] = MPI_REQUEST_NULL;
    else
      MPI_Isend(out, bytes, MPI_CHAR, next, n, MPI_COMM_WORLD, &sends[n]);
  MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE);
}

/* The barrier stands where others may have to wait: it is not counted, and takes in what has been sent. */
static void round_trip(int bytes, int is_expected)
{
  MPI_Request receives[MESSAGES];
  int         last = (rank + size - 1) % size;
  count_system_calls();
  for (int n = 0; is_expected && n < MESSAGES; n++)
    MPI_Irecv(in[n], bytes, MPI_CHAR, last, n, MPI_COMM_WORLD, &receives[n]);
  stop_counting();
  MPI_Barrier(MPI_COMM_WORLD);
  count_system_calls();
  send_all(bytes);
  stop_counting();
  MPI_Barrier(MPI_COMM_WORLD);
  count_system_calls();
  for (int n = 0; !is_expected && n < MESSAGES; n++)
    MPI_Irecv(in[n], bytes, MPI_CHAR, last, n, MPI_COMM_WORLD, &receives[n]);
  MPI_Waitall(MESSAGES, receives, MPI_STATUSES_IGNORE);
  stop_counting();
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Ranks that share cores sleep, and are woken. */
  if (size > sysconf(_SC_NPROCESSORS_ONLN) || !can_count_system_calls())
  {
    if (rank == 0) printf("system calls are not counted\n");
    MPI_Finalize();
    return 0;
  }
  /* What counts must count. */
  count_system_calls();
  (void) !write(-1, out, 1);
  stop_counting();
  CHECK(system_calls == 1 && system_calls_first == SYS_write);
  system_calls = 0;
  for (int time = 0; time < TIMES; time++)
    for (int bytes = 0; bytes <= 64; bytes += 32) round_trip(bytes, time % 2);
  if (system_calls > 0) printf("rank %d: %zu times there was a system call, the last %ld\n", rank, system_calls, system_calls_first);
  CHECK(system_calls == 0);
  MPI_Finalize();
  return 0;
}
