/* Partitioned messages: partitions that become ready in any order, different numbers of them at both ends. */
#include "common.h"

int main(int argc, char **argv)
{
  enum { PARTS = 6, LENGTH = 1000, TAG = 3 };
  int         rank, size, flag;
  double     *out = malloc(PARTS * LENGTH * sizeof *out), *in = malloc(PARTS * LENGTH * sizeof *in);
  MPI_Request send, receive, other[2];
  MPI_Status  status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Precv_init(in, PARTS / 2, 2 * LENGTH, MPI_DOUBLE, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Psend_init(out, PARTS, LENGTH, MPI_DOUBLE, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  for (int round = 0; round < 4; round++)
  {
    for (int n = 0; n < PARTS * LENGTH; n++) out[n] = 1e6 * rank + 1e5 * round + n, in[n] = -1;
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Parrived(receive, 0, &flag);
    CHECK(!flag || size > 1); /* The last rank may be ahead. */
    int list[2] = {4, 1};
    MPI_Pready(5, send);
    MPI_Pready_list(2, list, send);
    MPI_Pready(0, send);
    MPI_Pready_range(2, 3, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    do MPI_Parrived(receive, 2, &flag);
    while (!flag);
    MPI_Wait(&receive, &status);
    CHECK(status.MPI_SOURCE == last && status.MPI_TAG == TAG);
    for (int n = 0; n < PARTS * LENGTH; n++) CHECK(in[n] == 1e6 * last + 1e5 * round + n);
    /* What is not started has arrived. */
    MPI_Parrived(receive, 1, &flag);
    CHECK(flag);
  }
  /* They match in the order in which they were planned, whatever is started first, and no other messages. */
  double a[2] = {1, 2}, b[2] = {0, 0};
  MPI_Psend_init(&a[0], 1, 1, MPI_DOUBLE, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &other[0]);
  MPI_Psend_init(&a[1], 1, 1, MPI_DOUBLE, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &other[1]);
  MPI_Request wanted[2];
  MPI_Precv_init(&b[0], 1, 1, MPI_DOUBLE, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &wanted[0]);
  MPI_Precv_init(&b[1], 1, 1, MPI_DOUBLE, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &wanted[1]);
  MPI_Startall(2, wanted);
  for (int n = 1; n >= 0; n--) MPI_Start(&other[n]), MPI_Pready(0, other[n]);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Waitall(2, other, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, wanted, MPI_STATUSES_IGNORE);
  CHECK(b[0] == 1 && b[1] == 2);
  for (int n = 0; n < 2; n++) MPI_Request_free(&other[n]), MPI_Request_free(&wanted[n]);
  set_errhandlers(MPI_ERRORS_RETURN);
  CHECK(MPI_Pready(0, send) != MPI_SUCCESS); /* It is not started. */
  CHECK(MPI_Parrived(receive, PARTS, &flag) != MPI_SUCCESS);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Request_free(&send), MPI_Request_free(&receive);
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
