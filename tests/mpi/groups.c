/* Groups, and communicators that are made of them. */
#include "common.h"

int main(int argc, char ** argv)
{
  int       rank, size, n, result, own, sum, ranks[64], translated[64];
  MPI_Group world, evens, odds, reversed, other, none;
  MPI_Comm  of_evens, turned;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(world, &n), MPI_Group_rank(world, &own);
  CHECK(n == size && own == rank);

  int even_range[1][3] = {{0, size - 1, 2}}, back[1][3] = {{size - 1, 0, -1}};
  MPI_Group_range_incl(world, 1, even_range, &evens);
  MPI_Group_range_excl(world, 1, even_range, &odds);
  MPI_Group_range_incl(world, 1, back, &reversed);
  MPI_Group_size(evens, &n);
  CHECK(n == (size + 1) / 2);
  MPI_Group_size(odds, &n);
  CHECK(n == size / 2);
  MPI_Group_rank(evens, &own);
  CHECK(own == (rank % 2 ? MPI_UNDEFINED : rank / 2));
  MPI_Group_compare(world, reversed, &result);
  CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
  MPI_Group_union(odds, evens, &other);
  MPI_Group_compare(world, other, &result);
  CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
  MPI_Group_free(&other);
  CHECK(other == MPI_GROUP_NULL);
  MPI_Group_intersection(odds, evens, &none);
  MPI_Group_compare(none, MPI_GROUP_EMPTY, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_difference(world, odds, &other);
  MPI_Group_compare(other, evens, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&other);
  for (int r = 0; r < size; r++) ranks[r] = r;
  ranks[size] = MPI_PROC_NULL;
  MPI_Group_translate_ranks(reversed, size + 1, ranks, odds, translated);
  for (int r = 0; r < size; r++)
  {
    int process = size - 1 - r;
    CHECK(translated[r] == (process % 2 ? process / 2 : MPI_UNDEFINED));
  }
  CHECK(translated[size] == MPI_PROC_NULL);
  ranks[0] = size - 1;
  MPI_Group_incl(world, 1, ranks, &other);
  MPI_Group_size(other, &n);
  CHECK(n == 1);
  MPI_Group_free(&other);
  MPI_Group_excl(world, 1, ranks, &other);
  MPI_Group_size(other, &n);
  CHECK(n == size - 1);
  MPI_Group_free(&other);

  MPI_Comm_create(MPI_COMM_WORLD, evens, &of_evens);
  CHECK((of_evens == MPI_COMM_NULL) == (rank % 2 == 1));
  if (of_evens != MPI_COMM_NULL)
  {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, of_evens);
    int expected = 0;
    for (int r = 0; r < size; r += 2) expected += r;
    CHECK(sum == expected);
    MPI_Comm_compare(MPI_COMM_WORLD, of_evens, &result);
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Comm_free(&of_evens);
  }
  MPI_Comm_create(MPI_COMM_WORLD, reversed, &turned);
  MPI_Comm_rank(turned, &own);
  CHECK(own == size - 1 - rank);
  MPI_Comm_compare(MPI_COMM_WORLD, turned, &result);
  CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
  MPI_Comm_compare(turned, turned, &result);
  CHECK(result == MPI_IDENT);
  sum = rank == 0 ? 4321 : 0;
  MPI_Bcast(&sum, 1, MPI_INT, size - 1, turned);
  CHECK(sum == 4321);
  MPI_Comm_free(&turned);

  set_errhandlers(MPI_ERRORS_RETURN);
  ranks[0] = size;
  CHECK(class_of(MPI_Group_incl(world, 1, ranks, &other)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Group_size(MPI_GROUP_NULL, &n)) == MPI_ERR_GROUP);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Group_free(&world), MPI_Group_free(&evens), MPI_Group_free(&reversed);
  MPI_Finalize();
  return 0;
}
