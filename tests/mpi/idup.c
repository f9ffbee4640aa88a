/* Communicators that are made while the program goes on, and by some of its processes alone. */
#include "common.h"

static int rank, size;

static int total(MPI_Comm comm)
{
  int one = 1, all;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  return all;
}

/* Rank 0 makes its copy when all others have asked for theirs: these must not wait for it. */
static void does_not_wait(MPI_Comm comm, int own, int peers)
{
  MPI_Comm    copy;
  MPI_Request request;
  if (own == 0)
    for (int n = 1; n < peers; n++) MPI_Recv(NULL, 0, MPI_INT, n, 3, comm, MPI_STATUS_IGNORE);
  MPI_Comm_idup(comm, &copy, &request);
  if (own != 0) MPI_Ssend(NULL, 0, MPI_INT, 0, 3, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(total(copy) == peers);
  MPI_Comm_free(&copy);
}

/* Pairs in a ring copy both of their communicators at once, each rank in another order than its neighbours. */
static void overlapping(void)
{
  MPI_Comm    pairs[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, copies[2], other;
  MPI_Request requests[2];
  for (int n = 0; n < size; n++)
  {
    int is_first = rank == n, is_second = rank == (n + 1) % size;
    MPI_Comm_split(MPI_COMM_WORLD, is_first || is_second ? 0 : 1, is_second, &other);
    if (is_first) pairs[0] = other;
    else if (is_second) pairs[1] = other;
    else MPI_Comm_free(&other);
  }
  for (int n = 0; n < 2; n++) MPI_Comm_idup(pairs[n], &copies[n], &requests[n]);
  /* Others are made meanwhile. */
  MPI_Comm_dup(MPI_COMM_SELF, &other);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(total(other) == 1);
  MPI_Comm_free(&other);
  /* Were both contexts the same, what the rank before sends first would be taken for what the next one sends. */
  int own, got[2] = {-1, -1};
  for (int n = 0; n < 2; n++)
  {
    MPI_Comm_rank(copies[n], &own);
    CHECK(own == n);
    MPI_Irecv(&got[n], 1, MPI_INT, MPI_ANY_SOURCE, 0, copies[n], &requests[n]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, 1, 0, copies[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, 0, 0, copies[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(got[0] == (rank + 1) % size && got[1] == (rank + size - 1) % size);
  for (int n = 0; n < 2; n++) MPI_Comm_free(&copies[n]), MPI_Comm_free(&pairs[n]);
}

/* Some processes make communicators, one after the other, with one tag: a rank of one group is another process
   in the next. */
static void by_groups(void)
{
  MPI_Group all, some;
  MPI_Comm  comm;
  unsigned  random = 17;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int n = 0; n < 200; n++)
  {
    int members[64], count = 0, is_member = 0;
    for (int of = 0; of < size && of < 64; of++)
    {
      random = random * 1664525 + 1013904223;
      if (random >> 31) members[count++] = of, is_member |= of == rank;
    }
    MPI_Group_incl(all, count, members, &some);
    if (is_member)
    {
      MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
      CHECK(total(comm) == count);
      MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
  }
  /* One of all, beside a copy, in any order. */
  MPI_Request request;
  MPI_Comm    copy;
  if (rank % 2 == 0) MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &comm);
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  if (rank % 2 == 1) MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(copy), MPI_Barrier(comm);
  MPI_Comm_free(&copy), MPI_Comm_free(&comm);
  MPI_Group_free(&all);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  does_not_wait(MPI_COMM_WORLD, rank, size);
  if (size > 1)
  {
    MPI_Comm half, inter, copy;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(total(copy) == (rank % 2 ? (size + 1) / 2 : size / 2));
    MPI_Comm_free(&copy), MPI_Comm_free(&inter), MPI_Comm_free(&half);
  }
  if (size > 2) overlapping();
  by_groups();
  MPI_Finalize();
  return 0;
}
