/* Partitions that arrive while others are not ready: this library's, since the standard lets a message wait for all
   of its partitions. */
#include "common.h"

/* A send that is planned before its receive and one that is planned after it, of partitions that are ready one by
   one, each when the one before it has arrived. The receive has a type with gaps, and partitions that begin and
   end within those of the send. */
static void one_by_one(int rank, int size, int first)
{
  enum { ROWS = 12, COLUMNS = 5, TAG = 9 };
  int          next = (rank + 1) % size, last = (rank + size - 1) % size, flag;
  int          out[ROWS * COLUMNS], in[ROWS][2 * COLUMNS];
  MPI_Datatype row;
  MPI_Request  send, receive;
  MPI_Status   status;
  MPI_Type_vector(COLUMNS, 1, 2, MPI_INT, &row);
  MPI_Type_create_resized(row, 0, sizeof in[0], &row);
  MPI_Type_commit(&row);
  /* 4 partitions of 3 rows each, and 10 of 6 numbers each: the third of those lies in two of these. */
  if (first) MPI_Psend_init(out, 10, 6, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, 4, 3, row, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Type_free(&row);
  for (int round = 0; round < 3; round++)
  {
    for (int n = 0; n < ROWS * COLUMNS; n++) out[n] = 1000 * rank + 100 * round + n;
    memset(in, -1, sizeof in);
    MPI_Start(&receive);
    if (!first && round == 0)
    {
      MPI_Parrived(receive, 0, &flag);
      CHECK(!flag);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Psend_init(out, 10, 6, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    }
    MPI_Start(&send);
    /* The last partitions first: rows 9 to 11 are 15 numbers, in partitions 7 to 9 of the send. */
    for (int part = 3; part >= 0; part--)
    {
      int from = part * 15 / 6, to = part == 3 ? 10 : (part + 1) * 15 / 6;
      MPI_Parrived(receive, part, &flag);
      CHECK(!flag);
      MPI_Barrier(MPI_COMM_WORLD);
      /* The first partition of parts 1 and 3 is the last of the part before, which needs others, too. */
      for (int n = to - 1; n >= from; n--) MPI_Pready(n, send);
      do MPI_Parrived(receive, part, &flag);
      while (!flag);
      for (int n = 3 * part * COLUMNS; n < 3 * (part + 1) * COLUMNS; n++)
      {
        CHECK(in[n / COLUMNS][n % COLUMNS * 2] == 1000 * last + 100 * round + n);
        if (n % COLUMNS < COLUMNS - 1) CHECK(in[n / COLUMNS][n % COLUMNS * 2 + 1] == -1);
      }
      MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
      CHECK(part == 0 || !flag);
    }
    MPI_Wait(&receive, &status);
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == ROWS * COLUMNS && status.MPI_SOURCE == last && status.MPI_TAG == TAG);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&send), MPI_Request_free(&receive);
}

/* Long partitions: the first of them is used while the others are not sent. */
static void pipeline(int rank, int size)
{
  enum { PARTS = 4, LENGTH = 100000 };
  int         next = (rank + 1) % size, last = (rank + size - 1) % size, flag;
  double     *out = malloc(PARTS * LENGTH * sizeof *out), *in = malloc(PARTS * LENGTH * sizeof *in);
  MPI_Request send, receive;
  MPI_Psend_init(out, PARTS, LENGTH, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, PARTS, LENGTH, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&receive), MPI_Start(&send);
  for (int part = 0; part < PARTS; part++)
  {
    for (int n = 0; n < LENGTH; n++) out[part * LENGTH + n] = rank + n;
    MPI_Pready(part, send);
    do MPI_Parrived(receive, part, &flag);
    while (!flag);
    for (int n = 0; n < LENGTH; n++) CHECK(in[part * LENGTH + n] == last + n);
  }
  MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Request_free(&send), MPI_Request_free(&receive);
  free(out), free(in);
}

/* A communicator that is freed, and whose place another one has, before a partition is ready; addresses from
   MPI_BOTTOM on, of which partitions have those that stand for no buffer. */
static void freed_communicator(int rank, int size)
{
  enum { PARTS = 4 };
  char         out[PARTS], in[PARTS];
  int          next = (rank + 1) % size, last = (rank + size - 1) % size, flag;
  MPI_Aint     address;
  MPI_Datatype absolute;
  MPI_Comm     comm, others[2];
  MPI_Request  both[2];
  MPI_Get_address(out, &address);
  MPI_Type_create_hindexed_block(1, 1, &address, MPI_CHAR, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Psend_init(MPI_BOTTOM, PARTS, 1, absolute, next, 2, comm, MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(in, PARTS, 1, MPI_CHAR, last, 2, comm, MPI_INFO_NULL, &both[1]);
  MPI_Startall(2, both);
  MPI_Comm_free(&comm);
  for (int n = 0; n < 2; n++) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &others[n]);
  for (int n = 0; n < PARTS; n++)
  {
    out[n] = (char) (rank + n);
    MPI_Pready(n, both[0]);
    do MPI_Parrived(both[1], n, &flag);
    while (!flag);
    CHECK(in[n] == (char) (last + n));
  }
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  for (int n = 0; n < 2; n++) MPI_Comm_free(&others[n]), MPI_Request_free(&both[n]);
  MPI_Type_free(&absolute);
}

/* Partitions without data arrive as others do. */
static void without_data(int rank, int size)
{
  int         flag, next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request send, receive;
  MPI_Psend_init(NULL, 2, 0, MPI_INT, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(NULL, 4, 0, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&send), MPI_Start(&receive);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < 4; n++)
  {
    MPI_Parrived(receive, n, &flag);
    CHECK(!flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pready(1, send);
  for (int n = 2; n < 4; n++)
    do MPI_Parrived(receive, n, &flag);
    while (!flag);
  for (int n = 0; n < 2; n++)
  {
    MPI_Parrived(receive, n, &flag);
    CHECK(!flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pready(0, send);
  MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Request_free(&send), MPI_Request_free(&receive);
}

int main(int argc, char **argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  one_by_one(rank, size, 1);
  one_by_one(rank, size, 0);
  pipeline(rank, size);
  freed_communicator(rank, size);
  without_data(rank, size);
  MPI_Finalize();
  return 0;
}
