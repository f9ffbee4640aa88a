/* MPI_THREAD_MULTIPLE: collectives of several communicators at a time, communicators that threads make and free, windows
   of several threads, and objects of all kinds. */
#include "threads.h"

static MPI_Comm comms[THREADS];
static MPI_Op   op;

/* An operation of the program, which asks for the size of its type, and lets others run meanwhile. */
static void sums(void * in, void * inout, int * length, MPI_Datatype * type)
{
  int bytes;
  MPI_Type_size(*type, &bytes);
  CHECK(bytes == sizeof(long));
  pthread_mutex_lock(&interpreter);
  sched_yield();
  pthread_mutex_unlock(&interpreter);
  for (int n = 0; n < *length; n++) ((long *)inout)[n] += ((long *)in)[n];
}

static void collectives(int number)
{
  enum { MOST = 3000, ROUNDS = 8 };
  static const int lengths[ROUNDS] = {1, 10, 1000, MOST, 1, 7, 300, 2};
  MPI_Comm         comm            = comms[number];
  long *           in              = malloc(size * MOST * sizeof(long));
  long *           out             = malloc(size * MOST * sizeof(long));
  for (int round = 0; round < ROUNDS; round++)
  {
    int         length = lengths[round], root = (round + number) % size;
    MPI_Request request;
    /* Threads begin in another order at each rank. */
    for (int n = (number + rank) % THREADS; n > 0; n--) sched_yield();
    MPI_Barrier(comm);
    for (int n = 0; n < 10; n++) short_calls();
    for (int n = 0; n < length; n++) out[n] = value_of(rank, number, round + n);
    MPI_Allreduce(out, in, length, MPI_LONG, MPI_SUM, comm);
    for (int n = 0; n < length; n++)
    {
      long sum = 0;
      for (int of = 0; of < size; of++) sum += value_of(of, number, round + n);
      CHECK(in[n] == sum);
    }
    memset(in, 0, length * sizeof(long));
    MPI_Allreduce(out, in, length, MPI_LONG, op, comm);
    for (int n = 0; n < length; n++)
    {
      long sum = 0;
      for (int of = 0; of < size; of++) sum += value_of(of, number, round + n);
      CHECK(in[n] == sum);
    }
    if (rank != root) memset(out, 0, length * sizeof(long));
    MPI_Bcast(out, length, MPI_LONG, root, comm);
    for (int n = 0; n < length; n++) CHECK(out[n] == value_of(root, number, round + n));
    for (int to = 0; to < size; to++)
      for (int n = 0; n < length; n++) out[to * length + n] = value_of(rank, to, number + n);
    MPI_Alltoall(out, length, MPI_LONG, in, length, MPI_LONG, comm);
    for (int from = 0; from < size; from++)
      for (int n = 0; n < length; n++) CHECK(in[from * length + n] == value_of(from, rank, number + n));
    MPI_Ireduce(out, in, length, MPI_LONG, op, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int n = 0; rank == root && n < length; n++)
    {
      long sum = 0;
      for (int of = 0; of < size; of++) sum += value_of(of, 0, number + n);
      CHECK(in[n] == sum);
    }
  }
  free(in), free(out);
}

/* The collectives of MPI_COMM_WORLD beside those of others. */
static void world_and_others(int number)
{
  for (int round = 0; round < 20; round++)
  {
    double   own = rank + round, sum;
    MPI_Comm comm = number == 0 ? MPI_COMM_WORLD : comms[number];
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2 + round * size);
  }
}

/* Messages of communicators that threads make at a time do not meet. */
static void check_own(MPI_Comm comm, int number, int round)
{
  int own, all, next, before, value = value_of(number, round, 5), other = -1;
  MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &all);
  next = (own + 1) % all, before = (own + all - 1) % all;
  MPI_Sendrecv(&value, 1, MPI_INT, next, 0, &other, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE);
  CHECK(other == value);
}

static void makes_communicators(int number)
{
  for (int round = 0; round < 6; round++)
  {
    MPI_Comm  made, part;
    MPI_Group all;
    MPI_Comm_dup(comms[number], &made);
    check_own(made, number, round);
    MPI_Comm_split(made, rank % 2, -rank, &part);
    check_own(part, number, round + 100);
    MPI_Comm_free(&part);
    MPI_Comm_group(comms[number], &all);
    /* Several threads do this with one communicator: their tags differ. */
    MPI_Comm_create_group(MPI_COMM_WORLD, all, number, &part);
    check_own(part, number, round + 200);
    MPI_Comm_free(&made), MPI_Comm_free(&part), MPI_Group_free(&all);
    if (size > 1)
    {
      /* Two groups: even and odd ranks. */
      MPI_Comm half, both, merged;
      MPI_Comm_split(comms[number], rank % 2, 0, &half);
      MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 50 + number, &both);
      MPI_Intercomm_merge(both, rank % 2, &merged);
      check_own(merged, number, round + 300);
      MPI_Comm_free(&half), MPI_Comm_free(&both), MPI_Comm_free(&merged);
    }
  }
}

/* One window, of all threads; and one of each, with exclusive locks. */
enum { COUNTERS = 1 + THREADS, ADDITIONS = 20 };
static MPI_Win  window;
static long *   memory;

static void uses_window(int number)
{
  long one = 1, before, value;
  for (int round = 0; round < ADDITIONS; round++)
  {
    int target = (rank + round) % size;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, window);
    MPI_Win_flush(target, window);
    /* Each word of this kind has one writer. */
    int at = COUNTERS + THREADS * rank + number;
    value  = value_of(rank, number, round);
    MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
    MPI_Win_flush(target, window);
    value = 0;
    MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
    MPI_Win_flush(target, window);
    CHECK(value == value_of(rank, number, round));
    MPI_Accumulate(&one, 1, MPI_LONG, target, 1 + number, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush_local(target, window);
  }
}

static void locks_own(int number)
{
  MPI_Win win;
  long *  counter, value;
  MPI_Win_allocate(rank == 0 ? sizeof(long) : 0, sizeof(long), MPI_INFO_NULL, comms[number], &counter, &win);
  for (int round = 0; round < ADDITIONS / 2; round++)
  {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(comms[number]);
  CHECK(rank != 0 || *counter == ADDITIONS / 2 * size);
  MPI_Win_free(&win);
}

static void windows(void)
{
  long sums[COUNTERS];
  MPI_Win_allocate((COUNTERS + THREADS * size) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  memset(memory, 0, (COUNTERS + THREADS * size) * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  in_threads(uses_window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(memory, sums, COUNTERS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums[0] == (long)THREADS * ADDITIONS * size);
  for (int n = 0; n < THREADS; n++) CHECK(sums[1 + n] == (long)ADDITIONS * size);
  MPI_Win_free(&window);
  in_threads(locks_own);
}

/* Objects that each thread makes, uses and frees. An attribute's functions make calls. */
static int copy_attribute(MPI_Comm comm, int keyval, void * extra, void * value, void * copy, int * flag)
{
  int own;
  (void)keyval, (void)extra;
  MPI_Comm_rank(comm, &own);
  *(void **)copy = value, *flag = own >= 0;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void * value, void * extra)
{
  (void)comm, (void)keyval, (void)extra;
  pthread_mutex_lock(&interpreter);
  pthread_mutex_unlock(&interpreter);
  /* Messages within a call of MPI. */
  MPI_Sendrecv_replace(value, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

static void fails(MPI_Comm * comm, int * code, ...)
{
  int all;
  MPI_Comm_size(*comm, &all);
  CHECK(all == size && class_of(*code) == MPI_ERR_RANK);
}

static void makes_objects(int number)
{
  for (int round = 0; round < 10; round++)
  {
    MPI_Info       info;
    MPI_Datatype   vector, pair;
    MPI_Comm       made;
    MPI_Errhandler handler;
    MPI_Group      group, part;
    int            keyval, flag, bytes, in[8], out[8], value = number, *found, at = 0;
    char           text[MPI_MAX_INFO_VAL + 1];
    MPI_Info_create(&info);
    sprintf(text, "%d", number);
    MPI_Info_set(info, "number", text);
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector), MPI_Type_commit(&vector);
    MPI_Type_dup(vector, &pair);
    MPI_Type_size(pair, &bytes);
    CHECK(bytes == 4 * sizeof(int));
    for (int n = 0; n < 8; n++) out[n] = value_of(rank, number, n), in[n] = -1;
    MPI_Sendrecv(out, 1, vector, right, number, in, 1, pair, left, number, comms[number], MPI_STATUS_IGNORE);
    for (int n = 0; n < 8; n++) CHECK(in[n] == (n % 2 ? -1 : value_of(left, number, n)));
    MPI_Pack(out, 1, vector, in, sizeof in, &at, comms[number]);
    CHECK(at == 4 * sizeof(int) && in[1] == value_of(rank, number, 2));
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, NULL);
    MPI_Comm_set_attr(comms[number], keyval, &value);
    MPI_Comm_dup(comms[number], &made);
    MPI_Comm_get_attr(made, keyval, &found, &flag);
    CHECK(flag && found == &value && *found == number);
    short_calls();
    MPI_Comm_delete_attr(comms[number], keyval);
    MPI_Comm_create_errhandler(fails, &handler);
    MPI_Comm_set_errhandler(made, handler);
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, size, 0, made)) == MPI_ERR_RANK);
    MPI_Comm_group(made, &group);
    MPI_Group_incl(group, 1, &(int){size - 1}, &part);
    MPI_Group_size(part, &at);
    CHECK(at == 1);
    MPI_Info_get(info, "number", MPI_MAX_INFO_VAL, text, &flag);
    CHECK(flag && atoi(text) == number);
    MPI_Comm_free(&made), MPI_Comm_free_keyval(&keyval), MPI_Errhandler_free(&handler);
    MPI_Group_free(&group), MPI_Group_free(&part), MPI_Info_free(&info);
    MPI_Type_free(&vector), MPI_Type_free(&pair);
  }
}

int main(int argc, char ** argv)
{
  begin_threads(&argc, &argv);
  for (int n = 0; n < THREADS; n++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]);
  MPI_Op_create(sums, 1, &op);
  in_threads(collectives);
  in_threads(world_and_others);
  in_threads(makes_communicators);
  windows();
  in_threads(makes_objects);
  MPI_Op_free(&op);
  for (int n = 0; n < THREADS; n++) MPI_Comm_free(&comms[n]);
  MPI_Finalize();
  return 0;
}
