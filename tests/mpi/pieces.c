/* Collectives with pieces of different lengths, and operations of the program, also such that do not commute. */
#include "common.h"

static int rank, size;

/* Rank r has r % 4 elements; the pieces stand backwards with gaps of two. */
static int length(int of) { return of % 4; }

/* Affine maps x -> a x + b: one after the other. */
static void after(void * first, void * second, int * count, MPI_Datatype * type)
{
  int *f = first, *s = second;
  CHECK(*type == MPI_2INT);
  for (int i = 0; i < *count; i++)
  {
    int a = f[2 * i] * s[2 * i] % 1009, b = (f[2 * i + 1] * s[2 * i] + s[2 * i + 1]) % 1009;
    s[2 * i] = a, s[2 * i + 1] = b;
  }
}

static void after_long(void * first, void * second, MPI_Count * count, MPI_Datatype * type)
{
  int n = (int) *count;
  after(first, second, &n, type);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  int total = 0, *counts = malloc(size * sizeof *counts), *at = malloc(size * sizeof *at);
  MPI_Count * long_counts = malloc(size * sizeof *long_counts);
  MPI_Aint *  long_at     = malloc(size * sizeof *long_at);
  for (int of = size - 1; of >= 0; of--)
  {
    counts[of] = length(of), at[of] = total + 2, total += length(of) + 2;
    long_counts[of] = counts[of], long_at[of] = at[of];
  }
  int *all = malloc((total + 1) * sizeof *all), own[4], *other = malloc(4 * size * sizeof *other);
  for (int root = 0; root < size; root++)
  {
    for (int i = 0; i < 4; i++) own[i] = 10 * rank + i;
    for (int i = 0; i < total; i++) all[i] = -1;
    MPI_Gatherv(own, length(rank), MPI_INT, all, counts, at, MPI_INT, root, MPI_COMM_WORLD);
    if (rank == root)
      for (int of = 0; of < size; of++)
      {
        CHECK(all[at[of] - 1] == -1 && all[at[of] - 2] == -1);
        for (int i = 0; i < length(of); i++) CHECK(all[at[of] + i] == 10 * of + i);
      }
    for (int i = 0; i < 4; i++) own[i] = -1;
    for (int of = 0; of < size; of++)
      for (int i = 0; i < length(of); i++) all[at[of] + i] = 100 * root + 10 * of + i;
    MPI_Scatterv_c(all, long_counts, long_at, MPI_INT, own, length(rank), MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < length(rank); i++) CHECK(own[i] == 100 * root + 10 * rank + i);
    CHECK(own[length(rank)] == -1 || length(rank) == 4);
  }
  for (int i = 0; i < 4; i++) own[i] = 10 * rank + i;
  MPI_Allgatherv_c(own, length(rank), MPI_INT, all, long_counts, long_at, MPI_INT, MPI_COMM_WORLD);
  for (int of = 0; of < size; of++)
    for (int i = 0; i < length(of); i++) CHECK(all[at[of] + i] == 10 * of + i);

  /* To rank r go (own rank + r) % 4 elements. */
  int *to = malloc(size * sizeof *to), *from = malloc(4 * size * sizeof *from), *places = malloc(size * sizeof *places);
  for (int of = 0; of < size; of++)
  {
    to[of] = length(rank + of), places[of] = 4 * of;
    for (int i = 0; i < 4; i++) other[4 * of + i] = 1000 * rank + 10 * of + i, from[4 * of + i] = -1;
  }
  MPI_Alltoallv(other, to, places, MPI_INT, from, to, places, MPI_INT, MPI_COMM_WORLD);
  for (int of = 0; of < size; of++)
    for (int i = 0; i < 4; i++) CHECK(from[4 * of + i] == (i < to[of] ? 1000 * of + 10 * rank + i : -1));

  /* An operation that does not commute, in the order of the ranks. */
  MPI_Op op, op_long;
  int    commutes, map[4] = {rank + 2, 3 * rank + 1, 5, rank}, result[4], expected[4] = {2, 1, 5, 0};
  MPI_Op_create(after, 0, &op);
  MPI_Op_create_c(after_long, 0, &op_long);
  MPI_Op_commutative(op, &commutes);
  CHECK(!commutes);
  for (int of = 1; of < size; of++)
  {
    int          next[4] = {of + 2, 3 * of + 1, 5, of}, two = 2;
    MPI_Datatype type = MPI_2INT;
    after(expected, next, &two, &type);
    memcpy(expected, next, sizeof next);
  }
  MPI_Allreduce(map, result, 2, MPI_2INT, op, MPI_COMM_WORLD);
  CHECK(!memcmp(result, expected, sizeof result));
  memset(result, 0, sizeof result);
  MPI_Reduce(map, result, 2, MPI_2INT, op_long, size - 1, MPI_COMM_WORLD);
  CHECK(rank != size - 1 || !memcmp(result, expected, sizeof result));
  MPI_Op_free(&op);
  MPI_Op_free(&op_long);
  CHECK(op == MPI_OP_NULL);
  free(counts), free(at), free(long_counts), free(long_at), free(all), free(other), free(to), free(from), free(places);
  MPI_Finalize();
  return 0;
}
