/* Mistakes of a program that it can go on after: buffers and places that are wrong. */
#include "common.h"

static int rank, size;

static int noted;

static void note(MPI_Session * session, int * code, ...)
{
  (void) session, noted = class_of(*code);
}

static void buffers(void)
{
  int data[64] = {0}, result[64];
  CHECK(class_of(MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Allreduce(data, data + 1, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Scan(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Reduce_scatter_block(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Allgather(data + rank, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Gather(data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_SELF)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Reduce_local(data, data, 1, MPI_INT, MPI_SUM)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Reduce_local(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  /* That they are the same where one is not read is no mistake. */
  int is_root = rank == size - 1;
  CHECK(MPI_Reduce(data, is_root ? result : data, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(data, data, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  /* For windows alone. */
  CHECK(class_of(MPI_Allreduce(data, result, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD)) == MPI_ERR_OP);
  CHECK(class_of(MPI_Reduce_local(data, result, 1, MPI_INT, MPI_NO_OP)) == MPI_ERR_OP);
  MPI_Win win;
  MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  CHECK(class_of(MPI_Accumulate(result, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win)) == MPI_ERR_OP);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void places(void)
{
  MPI_Datatype none;
  CHECK(class_of(MPI_Comm_size(MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Comm_dup(MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Type_contiguous(1, MPI_INT, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  CHECK(MPI_Type_contiguous(1, MPI_INT, &none) == MPI_SUCCESS && MPI_Type_free(&none) == MPI_SUCCESS);
  /* A type that another one uses is freed all the same. */
  MPI_Datatype inner, outer, stale;
  int          bytes;
  CHECK(MPI_Type_contiguous(2, MPI_INT, &inner) == MPI_SUCCESS && MPI_Type_contiguous(2, inner, &outer) == MPI_SUCCESS);
  stale = inner;
  CHECK(MPI_Type_free(&inner) == MPI_SUCCESS && class_of(MPI_Type_size(stale, &bytes)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Type_free(&stale)) == MPI_ERR_TYPE);
  CHECK(MPI_Type_size(outer, &bytes) == MPI_SUCCESS && bytes == 16 && MPI_Type_free(&outer) == MPI_SUCCESS);
}

/* Each status tells of its own message: also that of one that was too long. */
static void statuses(void)
{
  int         data[2] = {0, 0}, space[2];
  MPI_Request requests[2];
  MPI_Status  of[2];
  MPI_Comm    self = MPI_COMM_SELF;
  for (int n = 0; n < 2; n++) MPI_Irecv(&space[n], 1, MPI_INT, 0, 4 + n, self, &requests[n]);
  for (int n = 0; n < 2; n++) MPI_Send(data, 1 + n, MPI_INT, 0, 4 + n, self), of[n].MPI_TAG = -1;
  CHECK(class_of(MPI_Waitall(2, requests, of)) == MPI_ERR_IN_STATUS);
  CHECK(of[0].MPI_ERROR == MPI_SUCCESS && of[0].MPI_TAG == 4);
  CHECK(class_of(of[1].MPI_ERROR) == MPI_ERR_TRUNCATE && of[1].MPI_TAG == 5 && of[1].MPI_SOURCE == 0);
}

/* Together partitions are as long at both ends: if not, the receive fails, of so many numbers of the two that are
   sent. */
static void partitions(int count, int expected)
{
  double      data[2] = {1, 2}, received[4];
  int         next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request send, receive;
  MPI_Psend_init(data, 2, 1, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(received, 1, count, MPI_DOUBLE, last, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&receive), MPI_Start(&send);
  CHECK(class_of(MPI_Cancel(&receive)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Cancel(&send)) == MPI_ERR_REQUEST);
  MPI_Pready_range(0, 1, send);
  CHECK(class_of(MPI_Pready(1, send)) == MPI_ERR_ARG);
  int flag, result;
  do result = MPI_Parrived(receive, 0, &flag);
  while (result == MPI_SUCCESS && !flag);
  CHECK(class_of(result) == expected);
  CHECK(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)) == expected);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Request_free(&send), MPI_Request_free(&receive);
}

int main(int argc, char ** argv)
{
  MPI_Info    info;
  MPI_Session session;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  buffers();
  places();
  statuses();
  partitions(1, MPI_ERR_TRUNCATE);
  partitions(4, MPI_ERR_OTHER);
  /* The error handler of the call is asked. */
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "no such level");
  CHECK(class_of(MPI_Session_init(info, MPI_ERRORS_RETURN, &session)) == MPI_ERR_ARG);
  MPI_Errhandler own;
  MPI_Session_create_errhandler(note, &own);
  CHECK(class_of(MPI_Session_init(info, own, &session)) == MPI_ERR_ARG && noted == MPI_ERR_ARG);
  MPI_Errhandler_free(&own);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
