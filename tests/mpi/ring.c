/* Messages of all lengths around a ring, blocking and not, expected and not, and with wildcards. */
#include "common.h"

static int rank, size;

static unsigned char byte(int from, size_t at) { return (unsigned char) (17 * from + at + at / 251); }

static void around(size_t bytes, int blocking)
{
  int            to = (rank + 1) % size, from = (rank + size - 1) % size, tag = (int) (bytes % 1000), count;
  unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
  MPI_Status     status;
  MPI_Request    requests[2];

  for (size_t i = 0; i < bytes; i++) out[i] = byte(rank, i);
  memset(in, 0, bytes + 1);
  in[bytes] = 99;
  if (blocking)
  {
    MPI_Sendrecv(out, (int) bytes, MPI_BYTE, to, tag, in, (int) bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
  }
  else
  {
    MPI_Status both[2];
    MPI_Isend_c(out, (MPI_Count) bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, (int) bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, both);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    status = both[1];
  }
  CHECK(status.MPI_SOURCE == from && status.MPI_TAG == tag);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK((size_t) count == bytes && in[bytes] == 99);
  for (size_t i = 0; i < bytes; i++) CHECK(in[i] == byte(from, i));
  free(out);
  free(in);
}

/* All messages are sent before any is received, and received in another order than that of their sends. */
static void out_of_order(void)
{
  enum { MESSAGES = 20 };
  MPI_Request sends[MESSAGES];
  int         to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
  static int  data[MESSAGES][5000], in[5000];
  MPI_Status  status;

  for (int n = 0; n < MESSAGES; n++)
  {
    int length = n % 2 ? 5000 : 3;
    for (int i = 0; i < length; i++) data[n][i] = 1000 * rank + n + i;
    MPI_Isend(data[n], length, MPI_INT, to, n, MPI_COMM_WORLD, &sends[n]);
  }
  MPI_Probe(from, MESSAGES - 1, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_TAG == MESSAGES - 1);
  MPI_Iprobe(from, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  for (int n = MESSAGES - 1; n >= 0; n--)
  {
    int length = n % 2 ? 5000 : 3, count;
    MPI_Recv(in, 5000, MPI_INT, from, n, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length);
    for (int i = 0; i < length; i++) CHECK(in[i] == 1000 * from + n + i);
  }
  MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE);
}

int main(int argc, char ** argv)
{
  static const size_t lengths[] = {0, 1, 8, 100, 488, 489, 600, 4095, 4096, 5000, 70000, 300000};

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
  {
    around(lengths[i], 1);
    around(lengths[i], 0);
  }
  out_of_order();
  MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Status status;
  MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Finalize();
  return 0;
}
