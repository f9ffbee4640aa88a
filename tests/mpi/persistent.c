/* Persistent sends and receives, and messages that are probed and then received by handle. */
#include "common.h"

enum { N = 4, LONG = 30000 };
static int rank, size, next, last;

static void persistent(void)
{
  int          out[N][2], in[N][3], index, flag, count, indices[2 * N];
  MPI_Request  requests[2 * N], copy;
  MPI_Status   status, statuses[2 * N];
  MPI_Datatype ends;
  MPI_Type_vector(2, 1, 2, MPI_INT, &ends);
  MPI_Type_commit(&ends);
  for (int n = 0; n < N; n++)
  {
    MPI_Recv_init(in[n], 1, ends, n == 0 ? MPI_ANY_SOURCE : last, 10 + n, MPI_COMM_WORLD, &requests[n]);
    if (n % 2) MPI_Ssend_init(out[n], 2, MPI_INT, next, 10 + n, MPI_COMM_WORLD, &requests[N + n]);
    else MPI_Send_init(out[n], 2, MPI_INT, next, 10 + n, MPI_COMM_WORLD, &requests[N + n]);
  }
  /* What is not started has ended, and calls for one of several leave it out. */
  copy = requests[0];
  MPI_Wait(&requests[0], &status);
  CHECK(requests[0] == copy && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Waitany(2 * N, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED);
  MPI_Testall(2 * N, requests, &flag, statuses);
  CHECK(flag);
  for (int round = 0; round < 5; round++)
  {
    for (int n = 0; n < N; n++) out[n][0] = 1000 * rank + 10 * n + round, out[n][1] = -out[n][0], in[n][0] = in[n][1] = in[n][2] = 7;
    MPI_Startall(N, requests);
    for (int n = 0; n < N; n++) MPI_Start(&requests[2 * N - 1 - n]);
    if (round == 0)
    {
      set_errhandlers(MPI_ERRORS_RETURN);
      copy = MPI_REQUEST_NULL;
      CHECK(class_of(MPI_Start(&copy)) == MPI_ERR_REQUEST);
      set_errhandlers(MPI_ERRORS_ARE_FATAL);
    }
    if (round % 2) MPI_Waitall(2 * N, requests, statuses);
    else
      for (int left = 2 * N; left > 0; left -= count)
      {
        MPI_Waitsome(2 * N, requests, &count, indices, statuses);
        CHECK(count > 0);
        for (int n = 0; n < count; n++) CHECK(indices[n] >= N || statuses[n].MPI_TAG == 10 + indices[n]);
      }
    for (int n = 0; n < N; n++)
    {
      int expected = 1000 * last + 10 * n + round;
      CHECK(in[n][0] == expected && in[n][1] == 7 && in[n][2] == -expected);
    }
  }
  for (int n = 0; n < 2 * N; n++)
  {
    MPI_Request_free(&requests[n]);
    CHECK(requests[n] == MPI_REQUEST_NULL);
  }
  MPI_Type_free(&ends);
}

static void matched(void)
{
  static int  big[LONG], got[LONG];
  int         one = rank, other, flag, count;
  MPI_Message first, second;
  MPI_Request requests[2], request;
  MPI_Status  status;
  for (int n = 0; n < LONG; n++) big[n] = rank + 3 * n;
  /* Two of the same tag, a short one first; a receive gets the second, since the first has been probed. */
  MPI_Isend(&one, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(big, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Mprobe(last, 5, MPI_COMM_WORLD, &first, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1 && status.MPI_SOURCE == last && status.MPI_TAG == 5);
  MPI_Recv(got, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == LONG && got[0] == last && got[LONG - 1] == last + 3 * (LONG - 1));
  MPI_Mrecv(&other, 1, MPI_INT, &first, &status);
  CHECK(other == last && first == MPI_MESSAGE_NULL && status.MPI_TAG == 5);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  memset(got, 0, sizeof got);
  MPI_Isend(big, LONG, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Improbe(last, 7, MPI_COMM_WORLD, &flag, &second, &status);
  CHECK(!flag);
  for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &second, &status);
  MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag);
  MPI_Imrecv(got, LONG, MPI_INT, &second, &request);
  CHECK(second == MPI_MESSAGE_NULL);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == LONG && got[1] == last + 3 && got[LONG - 1] == last + 3 * (LONG - 1));
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &first, &status);
  CHECK(first == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Mrecv(got, LONG, MPI_INT, &first, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(first == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && count == 0);
}

/* Sends and receives in one request. */
static void both(void)
{
  static int  big[LONG], got[LONG];
  MPI_Request requests[2];
  MPI_Status  statuses[2];
  int         count;
  for (int n = 0; n < LONG; n++) big[n] = rank - n, got[n] = -1;
  MPI_Isendrecv(big, LONG, MPI_INT, next, 8, got, LONG, MPI_INT, last, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Isendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 9, &count, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  CHECK(statuses[0].MPI_SOURCE == last && statuses[1].MPI_SOURCE == MPI_PROC_NULL);
  for (int n = 0; n < LONG; n++) CHECK(got[n] == last - n);
  MPI_Isendrecv_replace(big, LONG, MPI_INT, last, 8, next, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &statuses[0]);
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  CHECK(count == LONG && statuses[0].MPI_SOURCE == next && requests[0] == MPI_REQUEST_NULL);
  for (int n = 0; n < LONG; n++) CHECK(big[n] == next - n);
  MPI_Sendrecv_replace(big, LONG, MPI_INT, next, 8, last, 8, MPI_COMM_WORLD, &statuses[0]);
  for (int n = 0; n < LONG; n++) CHECK(big[n] == rank - n);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size, last = (rank + size - 1) % size;
  persistent();
  matched();
  both();
  MPI_Finalize();
  return 0;
}
