/* Passive targets: locks, flushes, mutual exclusion, atomic operations, requests. */
#include "common.h"

static int rank, size, left, right;

/* Each adds to a counter that it reads and writes: no addition is lost. */
static void exclusive_locks(void)
{
  enum { ROUNDS = 20 };
  MPI_Win win;
  long *  memory, value;
  MPI_Win_allocate(rank == 0 ? 2 * sizeof(long) : 0, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (rank == 0) memory[0] = memory[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; round++)
  {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Get(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
  MPI_Win_unlock(0, win);
  CHECK(value == ROUNDS * size);
  MPI_Win_free(&win);
}

/* A lock that is made of atomic operations, as libraries do: a queue of ranks, each waits at its own memory. */
static void queue_of_ranks(void)
{
  enum { TAIL, NEXT, COUNTER, WORDS };
  const int none = -1;
  MPI_Win   win;
  int *     memory, before, next, value, expected;
  MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[TAIL] = -1, memory[NEXT] = -1, memory[COUNTER] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < 5; round++)
  {
    /* Enter the queue: who was the last one gives the lock on. */
    MPI_Accumulate(&none, 1, MPI_INT, rank, NEXT, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(rank, win);
    MPI_Fetch_and_op(&rank, &before, MPI_INT, 0, TAIL, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    if (before != -1)
    {
      MPI_Accumulate(&rank, 1, MPI_INT, before, NEXT, 1, MPI_INT, MPI_REPLACE, win);
      MPI_Win_flush(before, win);
      MPI_Recv(&value, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Get(&value, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    /* Leave it. */
    expected = rank;
    MPI_Compare_and_swap(&none, &expected, &value, MPI_INT, 0, TAIL, win);
    MPI_Win_flush(0, win);
    if (value != rank)
    {
      do
      {
        MPI_Fetch_and_op(NULL, &next, MPI_INT, rank, NEXT, MPI_NO_OP, win);
        MPI_Win_flush(rank, win);
      } while (next == -1);
      MPI_Send(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || (memory[COUNTER] == 5 * size && memory[TAIL] == -1));
  MPI_Win_free(&win);
}

static void atomics(void)
{
  enum { ROUNDS = 50 };
  MPI_Win win;
  long *  memory, *seen = calloc(ROUNDS, sizeof *seen), *all = calloc(ROUNDS * size, sizeof *all), one = 1;
  int     swapped = 0, wins;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[0] = memory[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  /* Tickets: each is given once, and this rank's rise. */
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int i = 0; i < ROUNDS; i++)
  {
    MPI_Fetch_and_op(&one, &seen[i], MPI_LONG, size - 1, 0, MPI_SUM, win);
    MPI_Win_flush_local(size - 1, win);
    CHECK(i == 0 || seen[i] > seen[i - 1]);
  }
  /* One rank alone swaps. */
  const long zero = 0, mine = rank + 1;
  long       old;
  MPI_Compare_and_swap(&mine, &zero, &old, MPI_LONG, 0, 1, win);
  MPI_Win_flush_all(win);
  swapped = old == 0;
  MPI_Win_unlock_all(win);
  MPI_Allreduce(&swapped, &wins, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(wins == 1);
  if (rank == 0) CHECK(memory[1] >= 1 && memory[1] <= size);
  MPI_Gather(seen, ROUNDS, MPI_LONG, all, ROUNDS, MPI_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0)
  {
    char * is_given = calloc(ROUNDS * size, 1);
    for (int i = 0; i < ROUNDS * size; i++)
    {
      CHECK(all[i] >= 0 && all[i] < ROUNDS * size && !is_given[all[i]]);
      is_given[all[i]] = 1;
    }
    free(is_given);
  }
  MPI_Win_free(&win);
  free(seen), free(all);
}

static void requests(void)
{
  enum { LONG = 50000 };
  MPI_Win     win;
  MPI_Request list[4];
  int *       memory, *out = malloc(LONG * sizeof(int)), *in = malloc(LONG * sizeof(int)), more, one = 1;
  MPI_Win_allocate(2 * LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < LONG; i++) out[i] = rank * 10 + i, in[i] = -1, memory[i] = 3 * i + rank, memory[LONG + i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Rput(out, LONG, MPI_INT, right, LONG, LONG, MPI_INT, win, &list[0]);
  MPI_Rget(in, LONG, MPI_INT, left, 0, LONG, MPI_INT, win, &list[1]);
  MPI_Waitall(2, list, MPI_STATUSES_IGNORE);
  CHECK(list[0] == MPI_REQUEST_NULL && list[1] == MPI_REQUEST_NULL);
  for (int i = 0; i < LONG; i++) CHECK(in[i] == 3 * i + left);
  for (int i = 0; i < LONG; i++) out[i] = 77; /* They have been read. */
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < LONG; i++) CHECK(memory[LONG + i] == left * 10 + i);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Raccumulate(&one, 1, MPI_INT, right, LONG, 1, MPI_INT, MPI_SUM, win, &list[0]);
  MPI_Rget_accumulate(&one, 1, MPI_INT, &more, 1, MPI_INT, right, LONG, 1, MPI_INT, MPI_SUM, win, &list[1]);
  MPI_Rget(in, 5, MPI_INT, rank, 0, 5, MPI_INT, win, &list[2]);
  MPI_Rput(out, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, win, &list[3]);
  int flag = 0;
  while (!flag) MPI_Testall(4, list, &flag, MPI_STATUSES_IGNORE);
  CHECK(more == rank * 10 + 1 && in[4] == 12 + rank);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[LONG] == left * 10 + 2);
  MPI_Win_free(&win);
  free(out), free(in);
}

/* Shared locks are held together; a lock of its own waits for them. */
static void shared_and_exclusive(void)
{
  MPI_Win win;
  int *   memory, *all = malloc(size * sizeof *all), value = 0, mine = rank + 1;
  for (int i = 0; i < size; i++) all[i] = i;
  MPI_Win_allocate(size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, size * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Put(&mine, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
  MPI_Win_flush(0, win);
  MPI_Barrier(MPI_COMM_WORLD); /* All have it. */
  MPI_Get(&value, 1, MPI_INT, 0, right, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  CHECK(value == right + 1);
  /* Of several targets at once. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
  {
    for (int to = 0; to < size; to++) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, to == 0 ? MPI_MODE_NOCHECK : 0, win);
    for (int to = 0; to < size; to++) MPI_Put(&all[to], 1, MPI_INT, to, 0, 1, MPI_INT, win);
    for (int to = size - 1; to >= 0; to--) MPI_Win_unlock(to, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK(memory[0] == rank);
  MPI_Win_unlock(rank, win);
  MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win);
  MPI_Win_unlock(MPI_PROC_NULL, win);
  MPI_Win_free(&win);
  free(all);
}

/* Operations without waiting in between, of lengths around those at which protocols change. */
static void many(void)
{
  enum { BYTES = 3000 };
  MPI_Win         win;
  unsigned char * memory, *out = malloc(BYTES), *in = malloc(BYTES);
  MPI_Win_allocate(BYTES * size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, BYTES * size);
  for (int i = 0; i < BYTES; i++) out[i] = (rank + i) % 251;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int length = 1; length < BYTES; length = length * 5 / 4 + 1)
  {
    for (int to = 0; to < size; to++) MPI_Put(out, length, MPI_BYTE, to, BYTES * rank, length, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    for (int to = 0; to < size; to++)
    {
      memset(in, 0, BYTES);
      MPI_Get(in, length, MPI_BYTE, to, BYTES * rank, length, MPI_BYTE, win);
      MPI_Win_flush(to, win);
      CHECK(memcmp(in, out, length) == 0);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(out), free(in);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  exclusive_locks();
  queue_of_ranks();
  atomics();
  requests();
  shared_and_exclusive();
  many();
  MPI_Finalize();
  return 0;
}
