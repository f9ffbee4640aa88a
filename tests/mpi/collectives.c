/* Each collective against a plain loop, for several lengths, roots and operations, on two communicators. */
#include "common.h"

static int rank, size;

static double operand(int of, int at) { return (of * 7 + at * 3) % 11 - 4; }

static double expected(MPI_Op op, int ranks, int at)
{
  double value = operand(0, at);
  for (int of = 1; of < ranks; of++)
  {
    double next = operand(of, at);
    if (op == MPI_SUM) value += next;
    if (op == MPI_PROD) value *= next;
    if (op == MPI_MAX && next > value) value = next;
    if (op == MPI_MIN && next < value) value = next;
  }
  return value;
}

static void reductions(MPI_Comm comm, int count)
{
  MPI_Op  ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
  double *out = malloc((count + 1) * sizeof *out), *in = malloc((count + 1) * sizeof *in);

  for (int n = 0; n < 4; n++)
  {
    for (int i = 0; i < count; i++) out[i] = operand(rank, i);
    MPI_Allreduce(out, in, count, MPI_DOUBLE, ops[n], comm);
    for (int i = 0; i < count; i++) CHECK(in[i] == expected(ops[n], size, i));
    memcpy(in, out, count * sizeof *in);
    MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_DOUBLE, ops[n], comm);
    for (int i = 0; i < count; i++) CHECK(in[i] == expected(ops[n], size, i));
    for (int root = 0; root < size; root++)
    {
      memset(in, 0, count * sizeof *in);
      MPI_Reduce(out, in, count, MPI_DOUBLE, ops[n], root, comm);
      for (int i = 0; i < count; i++) CHECK(in[i] == (rank == root ? expected(ops[n], size, i) : 0));
    }
    MPI_Scan(out, in, count, MPI_DOUBLE, ops[n], comm);
    for (int i = 0; i < count; i++) CHECK(in[i] == expected(ops[n], rank + 1, i));
    for (int i = 0; i < count; i++) in[i] = -77;
    MPI_Exscan(out, in, count, MPI_DOUBLE, ops[n], comm);
    for (int i = 0; i < count; i++) CHECK(in[i] == (rank ? expected(ops[n], rank, i) : -77));
  }
  free(out);
  free(in);
}

static void movement(MPI_Comm comm, int count)
{
  int *one = malloc((count + 1) * sizeof *one), *all = malloc((size * count + 1) * sizeof *all),
      *other = malloc((size * count + 1) * sizeof *other);

  for (int root = 0; root < size; root++)
  {
    for (int i = 0; i < count; i++) one[i] = rank == root ? 100 * root + i : -1;
    MPI_Bcast(one, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++) CHECK(one[i] == 100 * root + i);

    for (int i = 0; i < count; i++) one[i] = 1000 * rank + i;
    memset(all, 0, size * count * sizeof *all);
    MPI_Gather(one, count, MPI_INT, rank == root ? all : NULL, count, MPI_INT, root, comm);
    for (int i = 0; i < size * count; i++)
      CHECK(all[i] == (rank == root ? 1000 * (i / count) + i % count : 0));

    for (int i = 0; i < size * count; i++) all[i] = 7 * root + i;
    MPI_Scatter(rank == root ? all : NULL, count, MPI_INT, one, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++) CHECK(one[i] == 7 * root + rank * count + i);
  }
  for (int i = 0; i < count; i++) one[i] = 1000 * rank + i;
  MPI_Allgather(one, count, MPI_INT, all, count, MPI_INT, comm);
  for (int i = 0; i < size * count; i++) CHECK(all[i] == 1000 * (i / count) + i % count);
  for (int i = 0; i < size * count; i++) other[i] = 100000 * rank + i;
  MPI_Alltoall(other, count, MPI_INT, all, count, MPI_INT, comm);
  for (int i = 0; i < size * count; i++) CHECK(all[i] == 100000 * (i / count) + rank * count + i % count);
  MPI_Alltoall(MPI_IN_PLACE, count, MPI_INT, other, count, MPI_INT, comm);
  CHECK(!memcmp(other, all, size * count * sizeof *all));
  free(one);
  free(all);
  free(other);
}

/* What does not count at a rank may be anything: of MPI_IN_PLACE, and of the root's buffer at others. */
static void ignored(void)
{
  int *all = malloc(size * sizeof *all), own;

  for (int root = 0; root < size; root++)
  {
    own = 10 * rank + root;
    if (rank == root)
    {
      all[rank] = own;
      MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, MPI_COMM_WORLD);
      for (int of = 0; of < size; of++) CHECK(all[of] == 10 * of + root);
      MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    }
    else
    {
      MPI_Gather(&own, 1, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
      own = -1;
      MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, &own, 1, MPI_INT, root, MPI_COMM_WORLD);
    }
    CHECK(own == 10 * rank + root);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : &own, rank == root ? &own : NULL, 1, MPI_INT, MPI_MAX, root,
               MPI_COMM_WORLD);
    CHECK(rank != root || own == 10 * (size - 1) + root);
  }
  all[rank] = rank;
  MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int of = 0; of < size; of++) CHECK(all[of] == of);
  for (int of = 0; of < size; of++) all[of] = 100 * rank + of;
  MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int of = 0; of < size; of++) CHECK(all[of] == 100 * of + rank);
  free(all);
}

/* The standard has no reductions of MPI_CHAR. Libraries take it as C's char, and programs rely on it. */
static void characters(void)
{
  char own[2] = {(char) (rank == 0 ? -1 : 1), (char) (1 << rank % 7)}, most, all;
  MPI_Allreduce(own, &most, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
  CHECK(most == (size > 1 && (char) -1 < 0 ? 1 : (char) -1));
  MPI_Allreduce(own + 1, &all, 1, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
  CHECK(all == (char) (size > 6 ? 127 : (1 << size) - 1));
}

int main(int argc, char ** argv)
{
  MPI_Comm    copy;
  MPI_Request request;
  int         flag = 0, value, in = -1, to, from;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int count = 0; count < 20000; count = 7 * count + 1)
  {
    reductions(count % 2 ? MPI_COMM_WORLD : copy, count);
    movement(count % 2 ? copy : MPI_COMM_WORLD, count);
  }
  ignored();
  characters();
  /* A message of one communicator is not that of another. */
  to = (rank + 1) % size, from = (rank + size - 1) % size, value = rank;
  MPI_Isend(&value, 1, MPI_INT, to, 5, copy, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(from, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Recv(&in, 1, MPI_INT, from, 5, copy, MPI_STATUS_IGNORE);
  CHECK(in == from);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* A barrier that does not block ends beside other messages. */
  MPI_Ibarrier(copy, &request);
  MPI_Sendrecv(&value, 1, MPI_INT, to, 6, &in, 1, MPI_INT, from, 6, copy, MPI_STATUS_IGNORE);
  CHECK(in == from);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Comm_free(&copy);
  CHECK(copy == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}
