/* Communicators of two groups: messages, all collectives, copies, parts, and one group of both. */
#include "common.h"

static int rank, size, mine, theirs, own, is_odd;

/* The world's rank of a rank of the other group. */
static int other(int r) { return 2 * r + !is_odd; }

static void messages(MPI_Comm comm)
{
  int        value = 100 + rank, got = -1, flag, result;
  MPI_Status status;
  MPI_Group  group, remote;
  MPI_Comm_test_inter(comm, &flag);
  CHECK(flag);
  MPI_Comm_rank(comm, &got);
  CHECK(got == own);
  MPI_Comm_size(comm, &got);
  CHECK(got == mine);
  MPI_Comm_remote_size(comm, &got);
  CHECK(got == theirs);
  MPI_Comm_group(comm, &group), MPI_Comm_remote_group(comm, &remote);
  MPI_Group_compare(group, remote, &result);
  CHECK(result == MPI_UNEQUAL);
  MPI_Group_size(remote, &got);
  CHECK(got == theirs);
  MPI_Group_free(&group), MPI_Group_free(&remote);
  /* Each sends to the one opposite; those beyond the shorter group to nobody. */
  int partner = own < theirs ? own : MPI_PROC_NULL;
  MPI_Sendrecv(&value, 1, MPI_INT, partner, 5, &got, 1, MPI_INT, partner, 5, comm, &status);
  CHECK(partner == MPI_PROC_NULL || (got == 100 + other(own) && status.MPI_SOURCE == own));
}

static void collectives(MPI_Comm comm)
{
  int  all = mine + theirs, value = rank + 1, *in = malloc(2 * all * sizeof *in), *out = malloc(2 * all * sizeof *out);
  int *counts = malloc(all * sizeof *counts), *places = malloc(all * sizeof *places), sum = 0, got;
  MPI_Request request;
  for (int r = 0; r < theirs; r++) sum += other(r) + 1;
  for (int r = 0; r < all; r++) counts[r] = 1, places[r] = r;
  for (int how = 0; how < 3; how++)
  {
    request = MPI_REQUEST_NULL;
#define RUN(blocking, starting, persistent)                                                        \
  do                                                                                               \
  {                                                                                                \
    if (how == 0) blocking;                                                                        \
    else if (how == 1) starting;                                                                   \
    else persistent, MPI_Start(&request);                                                          \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                         \
    if (how == 2) MPI_Request_free(&request);                                                      \
  } while (0)
    RUN(MPI_Barrier(comm), MPI_Ibarrier(comm, &request), MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    /* The last even rank is the root, then the first odd one. */
    for (int odd = 0; odd < 2; odd++)
    {
      int last = odd ? 0 : (is_odd ? theirs : mine) - 1;
      int root = odd == is_odd ? (own == last ? MPI_ROOT : MPI_PROC_NULL) : last;
      int roots = odd ? 1 : 2 * last; /* Its rank in the world. */
      got = root == MPI_ROOT ? 1000 + rank : -1;
      RUN(MPI_Bcast(&got, 1, MPI_INT, root, comm), MPI_Ibcast(&got, 1, MPI_INT, root, comm, &request),
          MPI_Bcast_init(&got, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
      CHECK(root == MPI_PROC_NULL ? got == -1 : got == 1000 + roots);
      RUN(MPI_Gather(&value, 1, MPI_INT, in, 1, MPI_INT, root, comm),
          MPI_Igather(&value, 1, MPI_INT, in, 1, MPI_INT, root, comm, &request),
          MPI_Gather_init(&value, 1, MPI_INT, in, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
      for (int r = 0; r < theirs; r++) CHECK(root != MPI_ROOT || in[r] == other(r) + 1);
      RUN(MPI_Gatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, root, comm),
          MPI_Igatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, root, comm, &request),
          MPI_Gatherv_init(&value, 1, MPI_INT, in, counts, places, MPI_INT, root, comm, MPI_INFO_NULL, &request));
      for (int r = 0; r < theirs; r++) CHECK(root != MPI_ROOT || in[r] == other(r) + 1);
      for (int r = 0; r < all; r++) out[r] = 10 * rank + r;
      got = -1;
      RUN(MPI_Scatter(out, 1, MPI_INT, &got, 1, MPI_INT, root, comm),
          MPI_Iscatter(out, 1, MPI_INT, &got, 1, MPI_INT, root, comm, &request),
          MPI_Scatter_init(out, 1, MPI_INT, &got, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
      CHECK(root < 0 ? got == -1 : got == 10 * roots + own);
      got = -1;
      RUN(MPI_Scatterv(out, counts, places, MPI_INT, &got, 1, MPI_INT, root, comm),
          MPI_Iscatterv(out, counts, places, MPI_INT, &got, 1, MPI_INT, root, comm, &request),
          MPI_Scatterv_init(out, counts, places, MPI_INT, &got, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
      CHECK(root < 0 ? got == -1 : got == 10 * roots + own);
      got = -1;
      RUN(MPI_Reduce(&value, &got, 1, MPI_INT, MPI_SUM, root, comm),
          MPI_Ireduce(&value, &got, 1, MPI_INT, MPI_SUM, root, comm, &request),
          MPI_Reduce_init(&value, &got, 1, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, &request));
      CHECK(got == (root == MPI_ROOT ? sum : -1));
    }
    RUN(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, comm), MPI_Iallreduce(&value, &got, 1, MPI_INT, MPI_SUM, comm, &request),
        MPI_Allreduce_init(&value, &got, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    CHECK(got == sum);
    RUN(MPI_Allgather(&value, 1, MPI_INT, in, 1, MPI_INT, comm), MPI_Iallgather(&value, 1, MPI_INT, in, 1, MPI_INT, comm, &request),
        MPI_Allgather_init(&value, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (int r = 0; r < theirs; r++) CHECK(in[r] == other(r) + 1);
    RUN(MPI_Allgatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm),
        MPI_Iallgatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm, &request),
        MPI_Allgatherv_init(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (int r = 0; r < theirs; r++) CHECK(in[r] == other(r) + 1);
    RUN(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm), MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request),
        MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (int r = 0; r < theirs; r++) CHECK(in[r] == 10 * other(r) + own);
    RUN(MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm),
        MPI_Ialltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm, &request),
        MPI_Alltoallv_init(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (int r = 0; r < theirs; r++) CHECK(in[r] == 10 * other(r) + own);
    /* Of each group the same number of elements in all. */
    int *shares = malloc(mine * sizeof *shares), most = mine > theirs ? mine : theirs, from = 0;
    for (int r = 0; r < mine; r++) shares[r] = r < mine - 1 ? 1 : most - (mine - 1);
    for (int r = 0; r < own; r++) from += shares[r];
    RUN(MPI_Reduce_scatter(out, in, shares, MPI_INT, MPI_MAX, comm),
        MPI_Ireduce_scatter(out, in, shares, MPI_INT, MPI_MAX, comm, &request),
        MPI_Reduce_scatter_init(out, in, shares, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &request));
    for (int k = 0; k < shares[own]; k++) CHECK(in[k] == 10 * other(theirs - 1) + from + k);
    free(shares);
    /* Blocks whose product with the size of either group is the same. */
    RUN(MPI_Reduce_scatter_block(out, in, mine == theirs ? 1 : 0, MPI_INT, MPI_MAX, comm),
        MPI_Ireduce_scatter_block(out, in, mine == theirs ? 1 : 0, MPI_INT, MPI_MAX, comm, &request),
        MPI_Reduce_scatter_block_init(out, in, mine == theirs ? 1 : 0, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &request));
    if (mine == theirs) CHECK(in[0] == 10 * other(theirs - 1) + own);
  }
  free(in), free(out), free(counts), free(places);
}

static void parts(MPI_Comm comm)
{
  MPI_Comm  copy, part, both;
  MPI_Group group, first;
  int       result, zero = 0, got, members, flag;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_compare(comm, copy, &result);
  CHECK(result == MPI_CONGRUENT);
  messages(copy), collectives(copy);
  MPI_Comm_free(&copy);
  /* One group of both: the odd ranks are high. */
  MPI_Intercomm_merge(comm, is_odd, &both);
  MPI_Comm_rank(both, &got), MPI_Comm_size(both, &members), MPI_Comm_test_inter(both, &flag);
  CHECK(!flag && members == size && got == own + (is_odd ? theirs : 0));
  MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, both);
  CHECK(got == size * (size - 1) / 2);
  MPI_Comm_free(&both);
  /* Both say the same: one of them comes first. */
  MPI_Intercomm_merge(comm, 1, &both);
  MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_MAX, both);
  CHECK(got == size - 1);
  MPI_Comm_free(&both);
  /* The first rank of each, and pairs of those that are opposite. */
  MPI_Comm_group(comm, &group);
  MPI_Group_incl(group, 1, &zero, &first);
  MPI_Comm_create(comm, first, &part);
  CHECK((part == MPI_COMM_NULL) == (own > 0));
  if (part != MPI_COMM_NULL)
  {
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, part, MPI_STATUS_IGNORE);
    CHECK(got == !rank);
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&group), MPI_Group_free(&first);
  MPI_Comm_split(comm, own, 0, &part);
  CHECK((part == MPI_COMM_NULL) == (own >= theirs));
  if (part != MPI_COMM_NULL)
  {
    MPI_Comm_remote_size(part, &members);
    MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, part);
    CHECK(members == 1 && got == other(own));
    MPI_Comm_free(&part);
  }
}

int main(int argc, char **argv)
{
  MPI_Comm half, comm, peer;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1)
  {
    is_odd = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_odd, 0, &half);
    MPI_Comm_rank(half, &own), MPI_Comm_size(half, &mine);
    theirs = size - mine;
    /* Only the leaders know of the communicator that they speak in. */
    peer = own == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL;
    MPI_Intercomm_create(half, 0, peer, !is_odd, 3, &comm);
    messages(comm), collectives(comm), parts(comm);
    MPI_Comm_free(&comm), MPI_Comm_free(&half);
  }
  MPI_Finalize();
  return 0;
}
