/* Windows of shared memory: of all ranks where they are on one node, else of each rank alone. */
#include "common.h"

int main(int argc, char ** argv)
{
  int      rank, size, unit, *memory, *other, *first;
  MPI_Aint bytes;
  MPI_Win  win;
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int result = MPI_Win_allocate_shared(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  if (result == MPI_SUCCESS) MPI_Win_free(&win);
  else
  {
    CHECK(class_of(result) == MPI_ERR_RMA_SHARED);
    comm = MPI_COMM_SELF;
  }
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;

  /* Rank 1 has none, the others have different lengths. */
  const int length = rank == 1 ? 0 : 4 + rank;
  MPI_Win_allocate_shared(length * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  if (rank == 0) memory[0] = 0;
  MPI_Win_shared_query(win, rank, &bytes, &unit, &other);
  CHECK(bytes == (MPI_Aint) (length * sizeof(int)) && unit == sizeof(int) && (length == 0 || other == memory));
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &other, &unit);
  CHECK(unit && *other == MPI_WIN_FLAVOR_SHARED);
  MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first);
  CHECK(bytes == 4 * sizeof(int));
  /* Ranks follow each other in memory. */
  int before = 0;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < size; i++)
  {
    MPI_Win_shared_query(win, i, &bytes, &unit, &other);
    CHECK(other == first + before || bytes == 0);
    before += bytes / sizeof(int);
    if (i == right && bytes > 0) other[3] = 10 * rank;
  }
  MPI_Win_sync(win);
  MPI_Barrier(comm);
  MPI_Win_sync(win);
  CHECK(length == 0 || memory[3] == 10 * left);
  MPI_Win_unlock_all(win);
  /* Operations on the same memory. */
  MPI_Win_fence(0, win);
  if (right != 1 || size == 1) MPI_Put(&rank, 1, MPI_INT, right, 2, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(length == 0 || memory[2] == left);
  MPI_Win_fence(0, win);
  const int one = 1;
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK(first[0] == size);
  MPI_Win_free(&win);
  /* Of other windows each has its own memory, and perhaps that of others. */
  int own[3] = {rank, rank, rank};
  MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, comm, &win);
  MPI_Win_shared_query(win, rank, &bytes, &unit, &other);
  CHECK(bytes == sizeof own && unit == sizeof(int) && other == own);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
