/* Messages and puts of each length many times: natively the first ones try different paths to another process, and the
   later ones take the faster. Whatever the path, messages stay in order, their data is that of their sender, and what is
   put is there after the flush. Each rank does all that with the next one. With the argument "eager" all send before they
   receive, which a program must not rely on: here, up to 64 KiB, no send waits for its receive. */
#include "common.h"

enum { TIMES = 60, MOST = 70000, IN_FLIGHT = 4 };
static const int lengths[] = {1, 8, 65, 500, 513, 3000, 8192, 8193, 10000, 16384, 20000, 40000, 65536, 65537};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static int  rank, size, next, before, is_eager;
static char out[IN_FLIGHT][MOST], in[IN_FLIGHT][MOST], window[MOST];

static char value(int from, int number, int at) { return (char)(from * 31 + number * 7 + at + at / 256); }

static void fill(char *data, int number, int length)
{
  for (int n = 0; n < length; n++) data[n] = value(rank, number, n);
}

static void check(const char *data, int from, int number, int length)
{
  for (int n = 0; n < length; n++) CHECK(data[n] == value(from, number, n));
}

static void receive(char *to, int number, int length)
{
  MPI_Status status;
  int        count;
  memset(to, 0, length);
  MPI_Recv(to, MOST, MPI_CHAR, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_CHAR, &count);
  CHECK(count == length && status.MPI_TAG == number % 100);
  check(to, before, number, length);
}

static void one(int number, int length)
{
  MPI_Request request = MPI_REQUEST_NULL;
  fill(out[0], number, length);
  if (is_eager && length <= 65536) MPI_Send(out[0], length, MPI_CHAR, next, number % 100, MPI_COMM_WORLD);
  else MPI_Isend(out[0], length, MPI_CHAR, next, number % 100, MPI_COMM_WORLD, &request);
  receive(in[0], number, length);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Several of different lengths at once, with a receive posted for each or for none. */
static void several(int number, int length, int is_posted)
{
  MPI_Request requests[2 * IN_FLIGHT];
  for (int n = 0; n < IN_FLIGHT && is_posted; n++)
    MPI_Irecv(in[n], MOST, MPI_CHAR, before, 100 + n, MPI_COMM_WORLD, &requests[IN_FLIGHT + n]);
  for (int n = 0; n < IN_FLIGHT; n++)
  {
    int of = n % 2 ? length : length / (n + 1);
    fill(out[n], number + n, of);
    MPI_Isend(out[n], of, MPI_CHAR, next, 100 + n, MPI_COMM_WORLD, &requests[n]);
  }
  if (!is_posted)
    for (int n = 0; n < IN_FLIGHT; n++)
      MPI_Irecv(in[n], MOST, MPI_CHAR, before, 100 + n, MPI_COMM_WORLD, &requests[IN_FLIGHT + n]);
  MPI_Waitall(2 * IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
  for (int n = 0; n < IN_FLIGHT; n++) check(in[n], before, number + n, n % 2 ? length : length / (n + 1));
}

/* Puts that are alone between two flushes, and now and then several. */
static void puts_of(int length, MPI_Win win)
{
  for (int number = 0; number < TIMES; number++)
  {
    int parts = number % 7 == 6 ? 3 : 1;
    fill(out[0], number, length);
    memset(in[0], 0, length);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    for (int part = 0; part < parts; part++)
    {
      int from = length * part / parts, to = length * (part + 1) / parts;
      MPI_Put(out[0] + from, to - from, MPI_CHAR, next, from, to - from, MPI_CHAR, win);
    }
    MPI_Win_flush(next, win);
    MPI_Get(in[0], length, MPI_CHAR, next, 0, length, MPI_CHAR, win);
    MPI_Win_unlock(next, win);
    check(in[0], rank, number, length);
  }
  /* The target sees it in its own memory. */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  check(window, before, TIMES - 1, length);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
  MPI_Win win;
  MPI_Init(&argc, &argv);
  is_eager = argc > 1 && !strcmp(argv[1], "eager");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Win_create(window, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int n = 0; n < LENGTHS; n++)
  {
    for (int number = 0; number < TIMES; number++)
    {
      one(number, lengths[n]);
      if (number % 4 == 0) several(number, lengths[n], number % 8 == 0);
    }
    puts_of(lengths[n], win);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
