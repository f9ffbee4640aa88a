/* Post, start, complete and wait: between neighbours, one to many, with tests, without checks. */
#include "common.h"

static int rank, size, left, right;

static MPI_Group of(int count, const int * ranks)
{
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, ranks, &group);
  MPI_Group_free(&world);
  return group;
}

static void neighbours(void)
{
  enum { LONG = 20000 };
  MPI_Win   win;
  MPI_Group origins = of(1, &left), targets = of(1, &right);
  int *     memory, *out = malloc(LONG * sizeof(int)), in = -1;
  MPI_Win_allocate(LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int round = 0; round < 5; round++)
  {
    const int length = round % 2 ? LONG : 3;
    for (int i = 0; i < length; i++) out[i] = 100 * rank + i + round;
    memory[LONG - 1] = -rank;
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    MPI_Put(out, length, MPI_INT, right, 0, length, MPI_INT, win);
    if (length < LONG) MPI_Get(&in, 1, MPI_INT, right, LONG - 1, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (length < LONG) CHECK(in == -right);
    if (round < 3) MPI_Win_wait(win);
    else
      for (int flag = 0; !flag;) MPI_Win_test(win, &flag);
    for (int i = 0; i < length; i++) CHECK(memory[i] == 100 * left + i + round);
  }
  /* Where all know that the memory is ready. */
  MPI_Win_post(origins, MPI_MODE_NOCHECK, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_start(targets, MPI_MODE_NOCHECK, win);
  MPI_Accumulate(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_REPLACE, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  CHECK(memory[0] == left);
  MPI_Group_free(&origins);
  MPI_Group_free(&targets);
  MPI_Win_free(&win);
  free(out);
}

/* Rank 0 reads all others, which post again and again, some of them late. */
static void one_and_many(void)
{
  MPI_Win   win;
  int *     memory, *ranks = malloc(size * sizeof *ranks), *in = malloc(size * sizeof *in), zero = 0;
  MPI_Group others, first = of(1, &zero);
  for (int i = 1; i < size; i++) ranks[i - 1] = i;
  others = of(size - 1, ranks);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int round = 0; round < 4; round++)
  {
    memory[0] = rank * 10 + round, memory[1] = 0;
    if (rank == 0)
    {
      MPI_Win_start(others, 0, win);
      for (int to = size - 1; to > 0; to--)
      {
        MPI_Get(&in[to], 1, MPI_INT, to, 0, 1, MPI_INT, win);
        MPI_Put(&ranks[to - 1], 1, MPI_INT, to, 1, 1, MPI_INT, win);
      }
      MPI_Win_complete(win);
      for (int to = 1; to < size; to++) CHECK(in[to] == to * 10 + round);
    }
    else
    {
      if (rank == 1) MPI_Sendrecv_replace(&memory[1], 1, MPI_INT, 1, 0, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Win_post(first, 0, win);
      MPI_Win_wait(win);
      CHECK(memory[1] == rank);
    }
  }
  /* All access all, also themselves, and fences follow. */
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  memory[0] = 0;
  MPI_Win_post(world, 0, win);
  MPI_Win_start(world, 0, win);
  for (int to = 0; to < size; to++) MPI_Accumulate(&rank, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  CHECK(memory[0] == size * (size - 1) / 2);
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, right, 1, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK(memory[1] == left);
  MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
  MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Barrier(MPI_COMM_WORLD); /* MPICH counts the next posts to a start of nobody. */
  /* Errors. */
  int result;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_post(world, 0, win);
  MPI_Win_start(world, 0, win);
  result = MPI_Win_start(world, 0, win);
  CHECK(class_of(result) == MPI_ERR_RMA_SYNC);
  result = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  CHECK(class_of(result) == MPI_ERR_RMA_SYNC);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Group_free(&world);
  MPI_Group_free(&first);
  if (size > 1) MPI_Group_free(&others);
  MPI_Win_free(&win);
  free(ranks), free(in);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  neighbours();
  one_and_many();
  MPI_Finalize();
  return 0;
}
