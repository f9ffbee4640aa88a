/* Communicators: halves of the world, in the order of a key, and messages that keep apart. */
#include "common.h"

int main(int argc, char ** argv)
{
  int      rank, size, part_rank, part_size, flag, sum, *bound;
  MPI_Comm part, none, again;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Even and odd ranks, backwards. */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
  MPI_Comm_rank(part, &part_rank);
  MPI_Comm_size(part, &part_size);
  CHECK(part_size == (size + 1 - rank % 2) / 2 && part_rank == part_size - 1 - rank / 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  int expected = 0;
  for (int i = rank % 2; i < size; i += 2) expected += i;
  CHECK(sum == expected);
  int value = rank;
  MPI_Bcast(&value, 1, MPI_INT, part_size - 1, part);
  CHECK(value == rank % 2);
  /* Equal keys keep the order; who takes no part gets none. */
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 3, 0, &none);
  CHECK((none == MPI_COMM_NULL) == (rank == 0));
  if (none != MPI_COMM_NULL)
  {
    MPI_Comm_rank(none, &part_rank);
    MPI_Comm_size(none, &part_size);
    CHECK(part_rank == rank - 1 && part_size == size - 1);
    MPI_Comm_free(&none);
  }
  /* One of a part of the world, while the other half does something else. */
  MPI_Comm_dup(part, &again);
  for (int round = 0; round < 5; round++)
  {
    int mine = 100 * round + rank, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, round % 2 ? part : again);
    CHECK(all == 100 * round + (size - 1 - rank % 2) / 2 * 2 + rank % 2);
  }
  MPI_Comm_free(&again);
  MPI_Comm_free(&part);
  MPI_Comm_test_inter(MPI_COMM_WORLD, &flag);
  CHECK(!flag);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  CHECK(flag && *bound >= 32767);
  MPI_Finalize();
  return 0;
}
