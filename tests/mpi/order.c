/* Messages of threads: those of two ranks in a communicator stay in order, whatever their lengths, also for receives
   from any rank and with any tag, for probes, and where several requests are waited for at once. */
#include "threads.h"

enum { ROUNDS = 6, WINDOW = 8, MOST = 20000 };
static const int lengths[] = {1, 100, 3, 1100, 20000, 2, 122, 9000};
static MPI_Comm  comms[THREADS];

static int * window_of(int * buffer, int n) { return buffer + n * MOST; }

static void fill(int * data, int from, int thread, int number, int length)
{
  data[0] = number;
  for (int n = 1; n < length; n++) data[n] = value_of(from, thread, number + n);
}

static void check(const int * data, int from, int thread, int number, int length)
{
  CHECK(data[0] == number);
  for (int n = 1; n < length; n++) CHECK(data[n] == value_of(from, thread, number + n));
}

/* A thread sends windows of messages to each rank, its own included, and receives those of the same thread of all
   others: each rank's n-th message is the n-th that is received of that rank. */
static void windows(int number, MPI_Comm comm, int tag)
{
  int *         out      = malloc(sizeof(int) * MOST * WINDOW);
  int *         in       = malloc(sizeof(int) * MOST);
  int *         expected = calloc(size, sizeof(int));
  MPI_Request * requests = malloc(sizeof(MPI_Request) * WINDOW * size);
  for (int round = 0; round < ROUNDS; round++)
  {
    for (int n = 0; n < WINDOW; n++)
    {
      int index = round * WINDOW + n, length = lengths[(index * 5 + number) % 8];
      fill(window_of(out, n), rank, number, index, length);
      for (int to = 0; to < size; to++)
        MPI_Isend(window_of(out, n), length, MPI_INT, to, tag, comm, &requests[n * size + to]);
    }
    for (int n = 0; n < WINDOW * size; n++)
    {
      MPI_Status status;
      int        length, count;
      if (n % 3 == 0)
      {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status);
        MPI_Mrecv(in, MOST, MPI_INT, &message, &status);
      }
      else
        MPI_Recv(in, MOST, MPI_INT, MPI_ANY_SOURCE, tag, comm, &status);
      int index = expected[status.MPI_SOURCE]++;
      length    = lengths[(index * 5 + number) % 8];
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(count == length);
      check(in, status.MPI_SOURCE, number, index, length);
    }
    MPI_Waitall(WINDOW * size, requests, MPI_STATUSES_IGNORE);
  }
  for (int from = 0; from < size; from++) CHECK(expected[from] == ROUNDS * WINDOW);
  free(out), free(in), free(expected), free(requests);
}

static void by_tag(int number) { windows(number, MPI_COMM_WORLD, 10 + number); }
static void by_communicator(int number) { windows(number, comms[number], 7); }

/* Receives that are posted before: from any rank, with any tag, and in between those from one. They are matched in
   the order in which they were posted. */
static void posted(int number)
{
  enum { EACH = 20 };
  MPI_Comm      comm     = comms[number];
  int           total    = EACH * size;
  int *         in       = malloc(sizeof(int) * 3 * total);
  int *         out      = malloc(sizeof(int) * 3 * EACH);
  int *         next     = calloc(size, sizeof(int));
  MPI_Request * requests = malloc(sizeof(MPI_Request) * (total + EACH * size));
  MPI_Status *  statuses = malloc(sizeof(MPI_Status) * (total + EACH * size));
  for (int n = 0; n < total; n++) MPI_Irecv(&in[3 * n], 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[n]);
  MPI_Barrier(comm);
  for (int n = 0; n < EACH; n++)
  {
    out[3 * n] = rank, out[3 * n + 1] = n, out[3 * n + 2] = value_of(rank, number, n);
    for (int to = 0; to < size; to++)
      MPI_Isend(&out[3 * n], 3, MPI_INT, (rank + to) % size, n, comm, &requests[total + n * size + to]);
  }
  MPI_Waitall(total + EACH * size, requests, statuses);
  for (int n = 0; n < total; n++)
  {
    int from = statuses[n].MPI_SOURCE;
    CHECK(in[3 * n] == from && in[3 * n + 1] == next[from] && statuses[n].MPI_TAG == next[from]);
    CHECK(in[3 * n + 2] == value_of(from, number, next[from]));
    next[from]++;
  }
  /* What comes next must not meet receives of others that are for any message. */
  MPI_Barrier(comm);
  free(in), free(out), free(next), free(requests), free(statuses);
}

/* Synchronous sends, and tests instead of waits. */
static void tested(int number)
{
  MPI_Comm comm = comms[number];
  for (int round = 0; round < 5; round++)
  {
    int         out = value_of(rank, number, round), in = 0, flag = 0;
    MPI_Request requests[2];
    MPI_Issend(&out, 1, MPI_INT, right, round, comm, &requests[0]);
    for (int found = 0; !found;) MPI_Iprobe(left, round, comm, &found, MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_INT, left, round, comm, &requests[1]);
    while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(in == value_of(left, number, round));
  }
}

int main(int argc, char ** argv)
{
  begin_threads(&argc, &argv);
  for (int n = 0; n < THREADS; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  in_threads(by_tag);
  in_threads(by_communicator);
  in_threads(posted);
  in_threads(tested);
  for (int n = 0; n < THREADS; n++) MPI_Comm_free(&comms[n]);
  MPI_Finalize();
  return 0;
}
