/* MPI_THREAD_MULTIPLE: messages, probes and requests of several threads. */
#include "threads.h"

static MPI_Comm comms[THREADS];

/* What the level is, and which thread is the main one. */
static void other_thread(int number)
{
  int flag, level;
  (void)number;
  CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE);
}

static void levels(void)
{
  int flag, level;
  CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && flag);
  CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE);
  in_threads(other_thread);
}

/* Each thread has a partner at the next rank: by tags of one communicator, or by a communicator of its own. */
static void exchange(int number, MPI_Comm comm, int tag)
{
  static const int lengths[] = {1, 2, 100, 3000, 20000};
  enum { MOST = 20000 };
  int * out = malloc(MOST * sizeof(int));
  int * in  = malloc(MOST * sizeof(int));
  for (int round = 0; round < 20; round++)
  {
    MPI_Status status;
    int        length = lengths[round % 5], count;
    for (int n = 0; n < length; n++) out[n] = value_of(rank, number, round + n);
    if (round % 2) MPI_Sendrecv(out, length, MPI_INT, right, tag, in, MOST, MPI_INT, left, tag, comm, &status);
    else
    {
      MPI_Request request;
      MPI_Isend(out, length, MPI_INT, right, tag, comm, &request);
      MPI_Recv(in, MOST, MPI_INT, left, tag, comm, &status);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length && status.MPI_SOURCE == left && status.MPI_TAG == tag);
    for (int n = 0; n < length; n++) CHECK(in[n] == value_of(left, number, round + n));
  }
  free(out), free(in);
}

static void by_tag(int number) { exchange(number, MPI_COMM_WORLD, 10 + number); }
static void by_communicator(int number) { exchange(number, comms[number], 10); }

/* A thread waits for long, while the main thread does other things, and then sends what it waits for. */
static int received;

static void waits_long(int number)
{
  int value;
  (void)number;
  MPI_Recv(&value, 1, MPI_INT, left, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == value_of(left, 0, 0));
  received = 1;
}

static void long_wait(void)
{
  struct thread waiting;
  int           value = value_of(rank, 0, 0), other, sum;
  received            = 0;
  start_threads(&waiting, 1, waits_long);
  for (int round = 0; round < 30; round++)
  {
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 5, &other, 1, MPI_INT, left, 5, comms[0], MPI_STATUS_IGNORE);
    CHECK(other == left);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[0]);
    CHECK(sum == size * (size - 1) / 2);
  }
  MPI_Barrier(comms[0]);
  MPI_Send(&value, 1, MPI_INT, right, 99, MPI_COMM_WORLD);
  join_threads(&waiting, 1);
  CHECK(received);
}

/* What another thread of the same process ends: a generalized request, a receive that is cancelled, and a message
   to oneself. */
static MPI_Request generalized, cancelled;

static int query(void * extra, MPI_Status * status)
{
  (void)extra;
  pthread_mutex_lock(&interpreter);
  pthread_mutex_unlock(&interpreter);
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 1, status->MPI_TAG = 2;
  return MPI_SUCCESS;
}

static int nothing(void * extra)
{
  (void)extra;
  return MPI_SUCCESS;
}

static int cancel(void * extra, int is_complete)
{
  (void)extra, (void)is_complete;
  return MPI_SUCCESS;
}

static void waits_for_others(int number)
{
  MPI_Status status;
  int        flag, value;
  switch (number)
  {
    case 0:
      MPI_Wait(&generalized, &status);
      MPI_Get_count(&status, MPI_INT, &value);
      CHECK(value == 3 && status.MPI_TAG == 2);
      break;
    case 1:
      MPI_Wait(&cancelled, &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
      break;
    case 2:
      MPI_Recv(&value, 1, MPI_INT, rank, 77, comms[0], &status);
      CHECK(value == 12);
  }
}

static void ended_by_others(void)
{
  struct thread waiting[THREADS];
  int           never, value = 12;
  MPI_Grequest_start(query, nothing, cancel, NULL, &generalized);
  MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 1234, comms[0], &cancelled);
  start_threads(waiting, THREADS, waits_for_others);
  for (int round = 0; round < 20; round++) sched_yield();
  MPI_Grequest_complete(generalized);
  for (int round = 0; round < 20; round++) sched_yield();
  /* It waits with a copy of the handle. */
  MPI_Request copy = cancelled;
  MPI_Cancel(&copy);
  for (int round = 0; round < 20; round++) sched_yield();
  MPI_Send(&value, 1, MPI_INT, rank, 77, comms[0]);
  join_threads(waiting, THREADS);
}

/* Threads that wait by Waitany, by Probe, and by Mprobe, and a fourth that sends to all. */
enum { MESSAGES = 30 };

static void waits_somehow(int number)
{
  MPI_Comm   comm = comms[0];
  MPI_Status status;
  int        value;
  if (number == 0)
  {
    enum { SLOTS = 4 };
    MPI_Request requests[SLOTS];
    int         values[SLOTS], seen[MESSAGES] = {0};
    for (int n = 0; n < SLOTS; n++) MPI_Irecv(&values[n], 1, MPI_INT, left, 20, comm, &requests[n]);
    for (int n = 0; n < MESSAGES; n++)
    {
      int index;
      MPI_Waitany(SLOTS, requests, &index, &status);
      CHECK(index >= 0 && values[index] >= 0 && values[index] < MESSAGES && !seen[values[index]]++);
      if (n + SLOTS < MESSAGES) MPI_Irecv(&values[index], 1, MPI_INT, left, 20, comm, &requests[index]);
    }
    return;
  }
  for (int n = 0; n < MESSAGES; n++)
    if (number == 1)
    {
      MPI_Probe(MPI_ANY_SOURCE, 21, comm, &status);
      CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 21);
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 21, comm, MPI_STATUS_IGNORE);
      CHECK(value == n);
    }
    else
    {
      MPI_Message message;
      MPI_Mprobe(left, 22, comm, &message, &status);
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
      CHECK(value == n);
    }
}

static void sends_all(int number)
{
  (void)number;
  for (int n = 0; n < MESSAGES; n++)
    for (int tag = 20; tag < 23; tag++) MPI_Ssend(&n, 1, MPI_INT, right, tag, comms[0]);
}

static void waits(void)
{
  struct thread waiting[THREADS], sending;
  start_threads(waiting, THREADS, waits_somehow);
  start_threads(&sending, 1, sends_all);
  join_threads(waiting, THREADS), join_threads(&sending, 1);
}

/* Threads that probe for the same messages: each gets some, and none is lost. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int             taken[THREADS * MESSAGES];

static void takes(int number)
{
  (void)number;
  for (int n = 0; n < MESSAGES; n++)
  {
    MPI_Message message;
    int         value;
    MPI_Mprobe(left, 30, comms[1], &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&mutex);
    taken[value]++;
    pthread_mutex_unlock(&mutex);
  }
}

static void shared_probes(void)
{
  struct thread taking[THREADS];
  memset(taken, 0, sizeof taken);
  start_threads(taking, THREADS, takes);
  for (int n = 0; n < THREADS * MESSAGES; n++) MPI_Send(&n, 1, MPI_INT, right, 30, comms[1]);
  join_threads(taking, THREADS);
  for (int n = 0; n < THREADS * MESSAGES; n++) CHECK(taken[n] == 1);
}

/* Many requests of each thread, ended by all calls that end some. */
static void storm(int number)
{
  enum { REQUESTS = 32 };
  MPI_Request requests[2 * REQUESTS];
  int         in[REQUESTS], out[REQUESTS], indices[2 * REQUESTS];
  for (int round = 0; round < 20; round++)
  {
    for (int n = 0; n < REQUESTS; n++)
    {
      out[n] = value_of(rank, number, round * REQUESTS + n);
      MPI_Irecv(&in[n], 1, MPI_INT, left, 100 * number + n, MPI_COMM_WORLD, &requests[n]);
      MPI_Isend(&out[n], 1, MPI_INT, right, 100 * number + n, MPI_COMM_WORLD, &requests[REQUESTS + n]);
    }
    int flag = 0, ended = 0, count;
    switch (round % 3)
    {
      case 0: MPI_Waitall(2 * REQUESTS, requests, MPI_STATUSES_IGNORE); break;
      case 1:
        while (!flag)
        {
          MPI_Testall(2 * REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
          if (!flag) sched_yield();
        }
        break;
      case 2:
        while (ended < 2 * REQUESTS)
        {
          MPI_Waitsome(2 * REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
          ended += count;
        }
    }
    for (int n = 0; n < REQUESTS; n++) CHECK(in[n] == value_of(left, number, round * REQUESTS + n));
  }
}

/* Each thread gives a part of one message. */
enum { PART = 50 };
static MPI_Request partitioned;
static int         parts[THREADS * PART], arrived[THREADS * PART];

static void gives_part(int number)
{
  for (int n = 0; n < PART; n++) parts[number * PART + n] = value_of(rank, number, n);
  MPI_Pready(number, partitioned);
}

static void partitions(void)
{
  MPI_Request receive;
  MPI_Psend_init(parts, THREADS, PART, MPI_INT, right, 3, comms[2], MPI_INFO_NULL, &partitioned);
  MPI_Precv_init(arrived, THREADS, PART, MPI_INT, left, 3, comms[2], MPI_INFO_NULL, &receive);
  for (int round = 0; round < 3; round++)
  {
    memset(arrived, 0, sizeof arrived);
    MPI_Start(&receive), MPI_Start(&partitioned);
    in_threads(gives_part);
    MPI_Wait(&partitioned, MPI_STATUS_IGNORE), MPI_Wait(&receive, MPI_STATUS_IGNORE);
    for (int n = 0; n < THREADS * PART; n++) CHECK(arrived[n] == value_of(left, n / PART, n % PART));
  }
  MPI_Request_free(&partitioned), MPI_Request_free(&receive);
}

int main(int argc, char ** argv)
{
  begin_threads(&argc, &argv);
  for (int n = 0; n < THREADS; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  levels();
  in_threads(by_tag);
  in_threads(by_communicator);
  long_wait();
  ended_by_others();
  waits();
  shared_probes();
  in_threads(storm);
  partitions();
  for (int n = 0; n < THREADS; n++) MPI_Comm_free(&comms[n]);
  MPI_Finalize();
  return 0;
}
