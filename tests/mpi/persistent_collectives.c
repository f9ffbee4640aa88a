/* Collectives that are started again and again, in any order; all-to-all with a type for each rank. */
#include "common.h"

static int rank, size;

static int sum(int first, int count, int step) { return count * first + step * (count * (count - 1) / 2); }

int main(int argc, char **argv)
{
  enum { ROUNDS = 3, KINDS = 17 };
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *own = malloc(size * sizeof *own), *all[KINDS], *counts = malloc(size * sizeof *counts);
  int *places = malloc(size * sizeof *places), *bytes = malloc(size * sizeof *bytes);
  MPI_Datatype *types = malloc(size * sizeof *types), pair;
  MPI_Request   requests[KINDS];
  MPI_Comm      comm;
  int           n = 0, value;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int k = 0; k < KINDS; k++) all[k] = malloc(size * sizeof(int));
  for (int r = 0; r < size; r++) counts[r] = 1, places[r] = size - 1 - r, bytes[r] = r * sizeof(int), types[r] = r % 2 ? MPI_INT : MPI_FLOAT;
  MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Bcast_init(all[1], size, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Gather_init(&value, 1, MPI_INT, all[2], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Gatherv_init(&value, 1, MPI_INT, all[3], counts, places, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Scatter_init(own, 1, MPI_INT, all[4], 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Scatterv_init(own, counts, places, MPI_INT, all[5], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Allgather_init(&value, 1, MPI_INT, all[6], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Allgatherv_init(&value, 1, MPI_INT, all[7], counts, places, MPI_INT, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Alltoall_init(own, 1, MPI_INT, all[8], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Alltoallv_init(own, counts, places, MPI_INT, all[9], counts, places, MPI_INT, comm, MPI_INFO_NULL, &requests[n++]);
  /* The type that a rank sends is the one that it is sent. */
  for (int r = 0; r < size; r++) types[r] = (r + rank) % 2 ? MPI_INT : MPI_FLOAT;
  MPI_Alltoallw_init(own, counts, bytes, types, all[10], counts, bytes, types, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Reduce_init(own, all[11], size, MPI_INT, MPI_SUM, size - 1, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Allreduce_init(own, all[12], size, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Reduce_scatter_init(own, all[13], counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Reduce_scatter_block_init(own, all[14], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Scan_init(own, all[15], size, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[n++]);
  MPI_Exscan_init(own, all[16], size, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[n++]);
  CHECK(n == KINDS);
  /* They keep what they need of the arrays. */
  int          *was[3] = {counts, places, bytes};
  MPI_Datatype *were = types;
  counts = malloc(size * sizeof *counts), bytes = malloc(size * sizeof *bytes), types = malloc(size * sizeof *types);
  for (int r = 0; r < size; r++) counts[r] = 1, bytes[r] = was[2][r], types[r] = were[r], was[0][r] = was[1][r] = was[2][r] = -1, were[r] = MPI_DOUBLE;
  for (int round = 0; round < ROUNDS; round++)
  {
    value = 100 * rank + round;
    for (int r = 0; r < size; r++) own[r] = 1000 * rank + 10 * r + round;
    for (int k = 0; k < KINDS; k++)
      for (int r = 0; r < size; r++) all[k][r] = k == 1 && rank == size - 1 ? r + round : -1;
    /* Each rank begins with another. */
    for (int k = 0; k < KINDS; k++)
    {
      int at = (k + rank + round) % KINDS;
      if (k % 3 == 2) MPI_Startall(1, &requests[at]);
      else MPI_Start(&requests[at]);
    }
    if (round % 2) MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
    else
      for (int k = 0; k < KINDS; k++) MPI_Wait(&requests[(k + 3 * rank) % KINDS], MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++)
    {
      CHECK(all[1][r] == r + round);
      CHECK(all[2][r] == (rank == 0 ? 100 * r + round : -1));
      CHECK(all[3][size - 1 - r] == (rank == 0 ? 100 * r + round : -1));
      CHECK(all[6][r] == 100 * r + round && all[7][size - 1 - r] == 100 * r + round);
      CHECK(all[8][r] == 1000 * r + 10 * rank + round);
      CHECK(all[9][size - 1 - r] == 1000 * r + 10 * (size - 1 - rank) + round);
      CHECK(all[10][r] == 1000 * r + 10 * rank + round);
      CHECK(all[11][r] == (rank == size - 1 ? sum(10 * r + round, size, 1000) : -1));
      CHECK(all[12][r] == 1000 * (size - 1) + 10 * r + round);
      CHECK(all[15][r] == sum(10 * r + round, rank + 1, 1000));
      CHECK(all[16][r] == (rank ? sum(10 * r + round, rank, 1000) : -1));
    }
    CHECK(all[4][0] == 1000 * (size - 1) + 10 * rank + round && all[5][0] == 10 * (size - 1 - rank) + round);
    CHECK(all[13][0] == sum(10 * rank + round, size, 1000) && all[14][0] == all[13][0]);
  }
  for (int k = 0; k < KINDS; k++) MPI_Request_free(&requests[k]);
  /* A type that is freed stays what it is for requests that have it. */
  int two[2] = {rank, rank + 1}, *pairs = malloc(2 * size * sizeof *pairs);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Allgather_init(two, 1, pair, pairs, 1, pair, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Type_free(&pair);
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &pair);
  MPI_Start(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++) CHECK(pairs[2 * r] == r && pairs[2 * r + 1] == r + 1);
  MPI_Request_free(&requests[0]);
  MPI_Type_free(&pair);
  /* All-to-all with types, in place and as a request. */
  for (int r = 0; r < size; r++) own[r] = 10 * rank + r;
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, own, counts, bytes, types, comm);
  for (int r = 0; r < size; r++) CHECK(own[r] == 10 * r + rank);
  MPI_Ialltoallw(own, counts, bytes, types, all[0], counts, bytes, types, comm, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++) CHECK(all[0][r] == 10 * rank + r);
  for (int k = 0; k < KINDS; k++) free(all[k]);
  free(own), free(counts), free(bytes), free(types), free(pairs), free(was[0]), free(was[1]), free(was[2]), free(were);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
