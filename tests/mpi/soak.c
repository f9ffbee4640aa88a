/* Random traffic of several threads of each rank, all of it checked: messages of all lengths by communicators of each
 * thread and by one of all, probes, collectives that wait and that do not, communicators that come and go, operations of
 * a window.
 *
 * soak [SECONDS [SEED [kill]]]: for so long; with `kill` one rank is killed at a random time. */
#include "threads.h"
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static double   seconds = 0.3;
static unsigned seed    = 1;
static int      kills;
static MPI_Comm comms[THREADS];
static MPI_Win  window;
static long *   memory;
static long     additions[THREADS];

enum { MOST = 30000 };

/* The random numbers of a thread: those that all ranks draw alike. */
struct state
{
  int      number;
  uint64_t random;
  int *    in, *out;
};

static unsigned below(struct state * state, unsigned limit)
{
  state->random = state->random * 6364136223846793005u + 1442695040888963407u;
  return (state->random >> 33) % limit;
}

static int some_length(struct state * state)
{
  static const unsigned limits[] = {2, 20, 200, 2000, MOST};
  return below(state, limits[below(state, 5)]);
}

static void fill(struct state * state, int step, int length)
{
  for (int n = 0; n < length; n++) state->out[n] = value_of(rank + n, state->number, step);
}

static void check(struct state * state, int from, int step, const int * in, int length)
{
  for (int n = 0; n < length; n++) CHECK(in[n] == value_of(from + n, state->number, step));
}

/* Ends two requests by one of the calls that do. */
static void end_both(struct state * state, MPI_Request requests[2])
{
  int flag = 0, index, count, indices[2];
  switch (below(state, 5))
  {
    case 0: MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); break;
    case 1:
      while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1 - index], MPI_STATUS_IGNORE);
      break;
    case 3:
      for (int ended = 0; ended < 2; ended += count) MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
      break;
    case 4:
      for (int n = 0; n < 2; n++)
        for (flag = 0; !flag;) MPI_Test(&requests[n], &flag, MPI_STATUS_IGNORE);
  }
}

/* To a rank at some distance, by the thread's communicator or by the common one. */
static void message(struct state * state, int step)
{
  int         distance = below(state, size), length = some_length(state), kind = below(state, 4);
  MPI_Comm    comm     = below(state, 2) ? comms[state->number] : MPI_COMM_WORLD;
  int         to = (rank + distance) % size, from = (rank + size - distance) % size, tag = 100 + state->number, count;
  MPI_Request requests[2];
  MPI_Status  status;
  fill(state, step, length);
  if (kind == 0)
  {
    MPI_Irecv(state->in, MOST, MPI_INT, from, tag, comm, &requests[0]);
    (below(state, 2) ? MPI_Isend : MPI_Issend)(state->out, length, MPI_INT, to, tag, comm, &requests[1]);
    end_both(state, requests);
  }
  else
  {
    MPI_Isend(state->out, length, MPI_INT, to, tag, comm, &requests[0]);
    if (kind == 1) MPI_Recv(state->in, MOST, MPI_INT, from, tag, comm, &status);
    else if (kind == 2)
    {
      MPI_Probe(from, tag, comm, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(count == length);
      MPI_Recv(state->in, count, MPI_INT, from, tag, comm, &status);
    }
    else
    {
      MPI_Message found;
      MPI_Mprobe(from, tag, comm, &found, &status);
      MPI_Mrecv(state->in, MOST, MPI_INT, &found, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length && status.MPI_SOURCE == from);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  check(state, from, step, state->in, length);
}

/* One rank receives from all, in any order. */
static void to_one(struct state * state, int step)
{
  int      root = below(state, size), length = below(state, 100), seen = 0;
  MPI_Comm comm = comms[state->number];
  fill(state, step, length);
  if (rank != root) MPI_Send(state->out, length, MPI_INT, root, 7, comm);
  for (; rank == root && seen < size - 1; seen++)
  {
    MPI_Status status;
    MPI_Recv(state->in, MOST, MPI_INT, MPI_ANY_SOURCE, 7, comm, &status);
    check(state, status.MPI_SOURCE, step, state->in, length);
  }
  /* The next ones of this kind must not overtake these. */
  MPI_Barrier(comm);
}

static void collective(struct state * state, int step)
{
  int         length = below(state, 2000), root = below(state, size), waits = below(state, 2);
  MPI_Comm    comm    = comms[state->number];
  MPI_Request request = MPI_REQUEST_NULL;
  fill(state, step, length);
  switch (below(state, 3))
  {
    case 0:
      for (int n = 0; n < length; n++) state->out[n] = rank + n + step;
      if (waits) MPI_Allreduce(state->out, state->in, length, MPI_INT, MPI_SUM, comm);
      else MPI_Iallreduce(state->out, state->in, length, MPI_INT, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int n = 0; n < length; n++) CHECK(state->in[n] == size * (size - 1) / 2 + size * (n + step));
      break;
    case 1:
      if (waits) MPI_Bcast(state->out, length, MPI_INT, root, comm);
      else MPI_Ibcast(state->out, length, MPI_INT, root, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(state, root, step, state->out, length);
      break;
    case 2:
      if (waits) MPI_Allgather(state->out, length, MPI_INT, state->in, length, MPI_INT, comm);
      else MPI_Iallgather(state->out, length, MPI_INT, state->in, length, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int from = 0; from < size; from++) check(state, from, step, state->in + from * length, length);
  }
}

static void communicator(struct state * state, int step)
{
  MPI_Comm made;
  int      own, all, value = value_of(step, state->number, 1), other = 0;
  if (below(state, 2)) MPI_Comm_dup(comms[state->number], &made);
  else MPI_Comm_split(comms[state->number], (rank + step) % 2, 0, &made);
  MPI_Comm_rank(made, &own), MPI_Comm_size(made, &all);
  MPI_Sendrecv(&value, 1, MPI_INT, (own + 1) % all, 0, &other, 1, MPI_INT, (own + all - 1) % all, 0, made,
               MPI_STATUS_IGNORE);
  CHECK(other == value);
  MPI_Comm_free(&made);
}

static void one_sided(struct state * state, int step)
{
  int  target = (rank + below(state, size)) % size, at = 1 + THREADS * rank + state->number;
  long one = 1, value = value_of(rank, step, state->number), before;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, window);
  MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
  MPI_Win_flush(target, window);
  additions[state->number]++;
  value = 0;
  MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
  MPI_Win_flush(target, window);
  CHECK(value == value_of(rank, step, state->number) && before >= 0);
}

static void traffic(int number)
{
  struct state state = {number, seed * 1000003u + number, malloc(MOST * sizeof(int)), malloc(MOST * sizeof(int))};
  double       begin = MPI_Wtime();
  int          is_over = 0;
  for (int step = 0; !is_over; step++)
  {
    unsigned kind = below(&state, 10);
    if (kind < 5) message(&state, step);
    else if (kind < 6) to_one(&state, step);
    else if (kind < 8) collective(&state, step);
    else if (kind < 9) one_sided(&state, step);
    else if (step % 3 == 0) communicator(&state, step);
    if (step % 20 == 0)
    {
      int late = MPI_Wtime() - begin > seconds;
      MPI_Allreduce(&late, &is_over, 1, MPI_INT, MPI_MAX, comms[number]);
    }
  }
  free(state.in), free(state.out);
}

static void * killer(void * us)
{
  usleep(*(unsigned *)us);
  kill(getpid(), SIGKILL);
  return NULL;
}

int main(int argc, char ** argv)
{
  long total = 0, own, sum;
  if (argc > 1) seconds = atof(argv[1]);
  if (argc > 2) seed = atoi(argv[2]);
  kills = argc > 3;
  begin_threads(&argc, &argv);
  CHECK(size * 2000 <= MOST);
  for (int n = 0; n < THREADS; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  MPI_Win_allocate((1 + THREADS * size) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, (1 + THREADS * size) * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  struct state chance = {0, seed * 7919u, NULL, NULL};
  unsigned     us     = 1 + below(&chance, seconds * 1e6);
  if (kills)
  {
    pthread_t thread;
    if (rank == (int)(seed % size)) CHECK(pthread_create(&thread, NULL, killer, &us) == 0);
    /* It does not end before. */
    seconds += 100;
  }
  in_threads(traffic);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < THREADS; n++) total += additions[n];
  MPI_Allreduce(&total, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(memory, &own, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(own == sum && sum > 0);
  MPI_Win_free(&window);
  for (int n = 0; n < THREADS; n++) MPI_Comm_free(&comms[n]);
  MPI_Finalize();
  if (rank == 0) printf("ok: %ld additions\n", sum);
  return 0;
}
