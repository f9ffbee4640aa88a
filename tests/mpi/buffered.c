/* Buffered sends, receives that are cancelled, statuses of arrays of requests, generalized requests. */
#include "common.h"

enum { LONG = 40000 };
static int rank, size, next, last;

static void buffered(void)
{
  int         room = 3 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD), bytes, value = -1;
  void       *buffer = malloc(room), *back;
  int        *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
  MPI_Request request;
  MPI_Buffer_attach(buffer, room);
  /* All send before anyone receives; the data may be changed at once. */
  for (int n = 0; n < 3; n++)
  {
    for (int k = 0; k < LONG; k++) out[k] = 1000 * n + rank + k;
    if (n == 1) MPI_Ibsend(out, LONG, MPI_INT, next, n, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    else MPI_Bsend(out, LONG, MPI_INT, next, n, MPI_COMM_WORLD);
    memset(out, 0, LONG * sizeof *out);
  }
  for (int n = 2; n >= 0; n--)
  {
    MPI_Recv(in, LONG, MPI_INT, last, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < LONG; k++) CHECK(in[k] == 1000 * n + last + k);
  }
  MPI_Buffer_detach(&back, &bytes);
  CHECK(back == buffer && bytes == room);
  MPI_Buffer_attach(buffer, room);
  /* Persistent ones, and more in all than the buffer holds at once. */
  MPI_Bsend_init(&value, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &request);
  for (int n = 0; n < 50; n++)
  {
    value = 100 * rank + n;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    value = -1;
    MPI_Recv(in, 1, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == 100 * last + n);
  }
  MPI_Request_free(&request);
  set_errhandlers(MPI_ERRORS_RETURN);
  CHECK(MPI_Buffer_attach(buffer, room) != MPI_SUCCESS);
  MPI_Buffer_detach(&back, &bytes);
  CHECK(class_of(MPI_Bsend(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  /* Too small a buffer. */
  MPI_Buffer_attach(buffer, MPI_BSEND_OVERHEAD + 8);
  CHECK(class_of(MPI_Bsend(out, LONG, MPI_INT, next, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  MPI_Buffer_detach(&back, &bytes);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  free(buffer), free(out), free(in);
}

static void of_communicators(void)
{
  MPI_Comm    comm;
  MPI_Request request;
  char        buffer[2 * (MPI_BSEND_OVERHEAD + 100)];
  void       *back;
  int         bytes, value = rank, other = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_attach_buffer(comm, buffer, sizeof buffer);
  MPI_Bsend(&value, 1, MPI_INT, next, 3, comm);
  MPI_Comm_iflush_buffer(comm, &request);
  MPI_Recv(&other, 1, MPI_INT, last, 3, comm, MPI_STATUS_IGNORE);
  CHECK(other == last);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_flush_buffer(comm);
  MPI_Comm_detach_buffer(comm, &back, &bytes);
  CHECK(back == buffer && bytes == (int)sizeof buffer);
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  MPI_Bsend(&value, 1, MPI_INT, next, 4, comm);
  MPI_Recv(&other, 1, MPI_INT, last, 4, comm, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&back, &bytes);
  CHECK(other == last && back == MPI_BUFFER_AUTOMATIC);
  MPI_Comm_free(&comm);
}

static void cancelled(void)
{
  int         values[3], flag, index;
  MPI_Request requests[3];
  MPI_Status  status;
  for (int n = 0; n < 3; n++) MPI_Irecv(&values[n], 1, MPI_INT, last, 20 + n, MPI_COMM_WORLD, &requests[n]);
  MPI_Cancel(&requests[1]);
  MPI_Wait(&requests[1], &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && requests[1] == MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < 3; n += 2)
  {
    int value = 10 * rank + n;
    MPI_Request sent;
    MPI_Isend(&value, 1, MPI_INT, next, 20 + n, MPI_COMM_WORLD, &sent);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  MPI_Waitany(3, requests, &index, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(!flag && index != 1);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(values[0] == 10 * last && values[2] == 10 * last + 2);
  /* What was cancelled takes no message. */
  int again = -1, value = 10 * rank + 1;
  values[1] = -1;
  MPI_Sendrecv(&value, 1, MPI_INT, next, 21, &again, 1, MPI_INT, last, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(again == 10 * last + 1 && values[1] == -1);
  /* A persistent one. */
  MPI_Recv_init(values, 1, MPI_INT, last, 30, MPI_COMM_WORLD, requests);
  MPI_Start(requests);
  MPI_Cancel(requests);
  MPI_Wait(requests, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && requests[0] != MPI_REQUEST_NULL);
  MPI_Request_free(requests);
}

static void statuses_of_arrays(void)
{
  enum { N = 4 };
  int         values[N], flag, index, count, indices[N];
  MPI_Request requests[N];
  MPI_Status  statuses[N], status;
  for (int n = 0; n < N; n++) MPI_Irecv(&values[n], 1, MPI_INT, last, 40 + n, MPI_COMM_WORLD, &requests[n]);
  MPI_Request_get_status_all(N, requests, &flag, statuses);
  CHECK(!flag);
  MPI_Request_get_status_any(N, requests, &index, &flag, &status);
  CHECK(!flag && index == MPI_UNDEFINED);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < N; n++)
  {
    int value = rank + n;
    MPI_Bsend(&value, 1, MPI_INT, next, 40 + (N - 1 - n), MPI_COMM_WORLD);
  }
  do MPI_Request_get_status_all(N, requests, &flag, statuses);
  while (!flag);
  for (int n = 0; n < N; n++) CHECK(statuses[n].MPI_TAG == 40 + n && values[n] == last + N - 1 - n);
  MPI_Request_get_status_some(N, requests, &count, indices, statuses);
  CHECK(count == N && indices[N - 1] == N - 1 && statuses[1].MPI_SOURCE == last);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Request_get_status_any(N, requests, &index, &flag, &status);
  CHECK(flag && index == 1 && status.MPI_TAG == 41);
  MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_some(N, requests, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED);
}

static int freed;
static int query(void *extra, MPI_Status *status)
{
  MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
  MPI_Status_set_cancelled(status, 0);
  MPI_Status_set_source(status, 5);
  MPI_Status_set_tag(status, 6);
  return MPI_SUCCESS;
}
static int release(void *extra)
{
  freed += *(int *)extra;
  return MPI_SUCCESS;
}
static int was_cancelled;
static int cancel(void *extra, int complete)
{
  (void)extra;
  was_cancelled = 1 + complete;
  return MPI_SUCCESS;
}

static void generalized(void)
{
  int         extra = 17, flag, count;
  MPI_Request request;
  MPI_Status  status;
  MPI_Grequest_start(query, release, cancel, &extra, &request);
  MPI_Test(&request, &flag, &status);
  CHECK(!flag);
  MPI_Cancel(&request);
  CHECK(was_cancelled == 1);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(freed == 17 && count == 17 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6);
}

int main(int argc, char **argv)
{
  char buffer[8 * (MPI_BSEND_OVERHEAD + 8)];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size, last = (rank + size - 1) % size;
  buffered();
  of_communicators();
  cancelled();
  MPI_Buffer_attach(buffer, sizeof buffer);
  statuses_of_arrays();
  generalized();
  /* What is still attached is detached at the end. */
  MPI_Finalize();
  return 0;
}
