/* Requests: synchronous sends, and all ways to wait. */
#include "common.h"

static int rank, size;

/* A synchronous send does not end before its receive. */
static void synchronous(int length)
{
  int         to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
  int *       out = calloc(length, sizeof *out), *in = calloc(length, sizeof *in);
  MPI_Request request, late;

  for (int i = 0; i < length; i++) out[i] = rank + i;
  MPI_Issend(out, length, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
  /* Nobody has received anything before all are here. */
  MPI_Ibarrier(MPI_COMM_WORLD, &late);
  MPI_Wait(&late, MPI_STATUS_IGNORE);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Recv(in, length, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < length; i++) CHECK(in[i] == from + i);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* The receive may be there first. */
  MPI_Irecv(in, length, MPI_INT, from, 2, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Ssend(out, length, MPI_INT, to, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in[length - 1] == from + length - 1);
  free(out);
  free(in);
}

/* Of MPI_REQUEST_NULL and of an inactive request all calls give an empty status, its error among it. */
static void empty_statuses(void)
{
  MPI_Request idle;
  int         word, flag, index;

  MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &idle);
  for (int call = 0; call < 6; call++)
  {
    for (int n = 0; n < 2; n++)
    {
      MPI_Request request = n == 0 ? MPI_REQUEST_NULL : idle;
      MPI_Status  status;
      int         count = -1;

      memset(&status, 0x55, sizeof status);
      switch (call)
      {
      case 0: MPI_Wait(&request, &status); break;
      case 1: MPI_Test(&request, &flag, &status); break;
      case 2: MPI_Request_get_status(request, &flag, &status); break;
      case 3: MPI_Waitall(1, &request, &status); break;
      case 4: MPI_Testall(1, &request, &flag, &status); break;
      default: MPI_Waitany(1, &request, &index, &status);
      }
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0);
      CHECK(status.MPI_ERROR == MPI_SUCCESS);
    }
  }
  MPI_Request_free(&idle);
}

int main(int argc, char ** argv)
{
  enum { N = 12 };
  int         in[N], out[N], indices[N], count, index, flag, seen = 0;
  MPI_Request requests[N], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status  statuses[N], status;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  synchronous(1);
  synchronous(3000);
  synchronous(100000);
  empty_statuses();

  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int way = 0; way < 5; way++)
  {
    for (int n = 0; n < N; n++)
    {
      in[n] = -1, out[n] = 1000 * rank + n;
      MPI_Irecv(&in[n], 1, MPI_INT, from, 10 + n, MPI_COMM_WORLD, &requests[n]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int n = N - 1; n >= 0; n--) MPI_Rsend(&out[n], 1, MPI_INT, to, 10 + n, MPI_COMM_WORLD);
    for (int left = N; left > 0;)
    {
      switch (way)
      {
      case 0:
        MPI_Waitany(N, requests, &index, &status);
        CHECK(index >= 0 && status.MPI_TAG == 10 + index && requests[index] == MPI_REQUEST_NULL);
        left--;
        break;
      case 1:
        MPI_Testany(N, requests, &index, &flag, &status);
        CHECK(!flag || status.MPI_TAG == 10 + index);
        left -= flag;
        break;
      case 2:
        MPI_Waitsome(N, requests, &count, indices, statuses);
        CHECK(count > 0);
        for (int n = 0; n < count; n++) CHECK(statuses[n].MPI_TAG == 10 + indices[n]);
        left -= count;
        break;
      case 3:
        MPI_Testsome(N, requests, &count, indices, statuses);
        CHECK(count >= 0);
        left -= count;
        break;
      default:
        MPI_Testall(N, requests, &flag, statuses);
        if (flag) left = 0;
      }
    }
    for (int n = 0; n < N; n++) CHECK(in[n] == 1000 * from + n && requests[n] == MPI_REQUEST_NULL);
    seen++;
  }
  CHECK(seen == 5);
  /* None of none. */
  MPI_Waitany(2, none, &index, &status);
  CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Testany(2, none, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED);
  MPI_Waitsome(2, none, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED);
  MPI_Testall(2, none, &flag, statuses);
  CHECK(flag);
  MPI_Wait(&none[0], MPI_STATUS_IGNORE);
  /* A request that is freed goes on. */
  MPI_Issend(&out[0], 1, MPI_INT, to, 77, MPI_COMM_WORLD, &requests[0]);
  MPI_Request_free(&requests[0]);
  CHECK(requests[0] == MPI_REQUEST_NULL);
  MPI_Recv(&in[0], 1, MPI_INT, from, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1000 * from);
  MPI_Finalize();
  return 0;
}
