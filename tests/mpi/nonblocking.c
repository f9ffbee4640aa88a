/* Collectives as requests: several under way at a time, ended in any order. Reduce-scatter, local reduction. */
#include "common.h"

enum { N = 500 };
static int rank, size;

static void affine(void * first, void * second, int * count, MPI_Datatype * type)
{
  int *f = first, *s = second, extent;
  MPI_Type_size(*type, &extent); /* a reduction may ask */
  CHECK(extent == 8);
  for (int i = 0; i < *count; i++)
  {
    int a = f[2 * i] * s[2 * i] % 1009, b = (f[2 * i + 1] * s[2 * i] + s[2 * i + 1]) % 1009;
    s[2 * i] = a, s[2 * i + 1] = b;
  }
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enum { OPERATIONS = 10 };
  MPI_Request  requests[OPERATIONS];
  MPI_Status   statuses[OPERATIONS];
  MPI_Datatype column;
  MPI_Op       op;
  int *sum = malloc(N * sizeof(int)), *own = malloc(N * sizeof(int)), *all = malloc(size * N * sizeof(int));
  int *gathered = malloc(size * N * sizeof(int)), *to = malloc(size * N * sizeof(int)), *from = malloc(size * N * sizeof(int));
  int *counts = malloc(size * sizeof(int)), *at = malloc(size * sizeof(int)), *parts = malloc(size * N * sizeof(int));
  int  table[N][3], prefix[N], before[N], least[N], maps[2] = {rank + 2, rank}, composed[2], scattered[N];
  MPI_Op_create(affine, 0, &op);
  for (int round = 0; round < 4; round++)
  {
    int total = 0;
    for (int r = 0; r < size; r++) counts[r] = (r + round) % 4, at[r] = total, total += counts[r];
    for (int i = 0; i < N; i++)
    {
      own[i] = rank * 10 + i + round;
      table[i][0] = table[i][2] = -1, table[i][1] = rank == round % size ? i * round : 0;
      before[i] = -7;
    }
    for (int i = 0; i < size * N; i++) to[i] = rank * 1000 + i, gathered[i] = from[i] = all[i] = -1;
    for (int r = 0; r < size; r++)
      for (int i = 0; i < counts[r]; i++) parts[at[r] + i] = r * 7 + i;
    MPI_Type_vector(N, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Iallreduce(own, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&table[0][1], 1, column, round % size, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&column); /* what is under way goes on */
    MPI_Iallgather(own, N, MPI_INT, all, N, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Igather(own, N, MPI_INT, gathered, N, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Ialltoall(to, N, MPI_INT, from, N, MPI_INT, MPI_COMM_WORLD, &requests[4]);
    MPI_Iscan(own, prefix, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Iexscan(own, before, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[6]);
    MPI_Ireduce(own, least, N, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD, &requests[7]);
    MPI_Iscatterv(parts, counts, at, MPI_INT, scattered, counts[rank], MPI_INT, 0, MPI_COMM_WORLD, &requests[8]);
    for (int r = 0; r < size; r++) counts[r] = at[r] = 99; /* they were read */
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[9]);
    if (round == 0) MPI_Waitall(OPERATIONS, requests, statuses);
    else if (round == 1)
      for (int n = OPERATIONS - 1; n >= 0; n--) MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
    else
      for (int left = OPERATIONS, index; left > 0; left--)
      {
        MPI_Waitany(OPERATIONS, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < OPERATIONS && requests[index] == MPI_REQUEST_NULL);
      }
    int ranks = size * (size - 1) / 2 * 10;
    for (int i = 0; i < N; i++)
    {
      CHECK(sum[i] == ranks + size * (i + round));
      CHECK(table[i][1] == i * round && table[i][0] == -1 && table[i][2] == -1);
      CHECK(prefix[i] == rank * (rank + 1) / 2 * 10 + (rank + 1) * (i + round));
      CHECK(before[i] == (rank == 0 ? -7 : rank * (rank - 1) / 2 * 10 + rank * (i + round)));
      CHECK(rank != 0 || least[i] == i + round);
      for (int r = 0; r < size; r++)
      {
        CHECK(all[r * N + i] == r * 10 + i + round && from[r * N + i] == r * 1000 + rank * N + i);
        CHECK(rank != size - 1 || gathered[r * N + i] == r * 10 + i + round);
      }
    }
    for (int i = 0; i < (rank + round) % 4; i++) CHECK(scattered[i] == rank * 7 + i);
  }

  /* Order matters to maps. */
  int a = 1, b = 0;
  MPI_Request request;
  MPI_Iallreduce(maps, composed, 1, MPI_2INT, op, MPI_COMM_WORLD, &request);
  for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++) a = a * (r + 2) % 1009, b = (b * (r + 2) + r) % 1009;
  CHECK(composed[0] == a && composed[1] == b);

  int total = 0, first = 0;
  for (int r = 0; r < size; r++) counts[r] = r % 3, first += r < rank ? counts[r] : 0, total += counts[r];
  for (int i = 0; i < total; i++) to[i] = rank + i * i;
  MPI_Reduce_scatter(to, from, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; i++)
    CHECK(from[i] == size * (size - 1) / 2 + size * (first + i) * (first + i));
  for (int i = 0; i < 2 * size; i++) to[i] = rank * i;
  MPI_Reduce_scatter_block(to, from, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(from[0] == (size - 1) * 2 * rank && from[1] == (size - 1) * (2 * rank + 1));
  MPI_Reduce_scatter_block(MPI_IN_PLACE, to, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(to[0] == (size - 1) * 2 * rank && to[1] == (size - 1) * (2 * rank + 1));
  int left[2] = {3, 1}, right[2] = {5, 2};
  MPI_Reduce_local(left, right, 1, MPI_2INT, op);
  CHECK(right[0] == 15 && right[1] == 1 * 5 + 2 && left[0] == 3);
  MPI_Op_free(&op);
  MPI_Finalize();
  return 0;
}
