/* What is freed while something uses it: types in operations of the program, communicators of persistent requests
 * and of errors, generalized requests that are not complete, requests of messages under way. */
#include "common.h"

static int rank, size, wrong, calls;

/* Asks for the extent of a type that may have been freed. */
static void add(void * in, void * inout, int * count, MPI_Datatype * type)
{
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  calls++;
  if (extent != 16)
  {
    wrong++;
    return;
  }
  for (int n = 0; n < *count; n++) ((int *) inout)[4 * n] += ((int *) in)[4 * n];
}

static MPI_Datatype wide(MPI_Aint extent)
{
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, extent, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Other types take the handles that are free. */
static void others(void)
{
  MPI_Datatype more[40];
  for (int n = 0; n < 40; n++) more[n] = wide(20 + n);
  for (int n = 0; n < 40; n++) MPI_Type_free(&more[n]);
}

static void types(void)
{
  MPI_Op       op;
  MPI_Request  request;
  MPI_Datatype type;
  int          in[8] = {rank + 1, 0, 0, 0, 1}, out[8] = {0}, all = size * (size + 1) / 2;
  MPI_Op_create(add, 1, &op);
  for (int n = 0; n < 3; n++)
  {
    type = wide(16);
    MPI_Iallreduce(in, out, 2, type, op, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    others();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out[0] == all && out[4] == size);
  }
  type = wide(16);
  MPI_Scan_init(in, out, 2, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Type_free(&type);
  for (int n = 0; n < 3; n++)
  {
    others();
    MPI_Start(&request);
    others();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out[0] == (rank + 1) * (rank + 2) / 2 && out[4] == rank + 1);
  }
  MPI_Request_free(&request);
  MPI_Op_free(&op);
  CHECK(wrong == 0 && (size == 1 || calls > 0 || rank == 0));
}

static void communicators(void)
{
  MPI_Comm    comm, other;
  MPI_Request requests[3];
  int         sent = 10 + rank, received = -1, sum = -1, one = 1;
  int         to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Recv_init(&received, 1, MPI_INT, from, 3, comm, &requests[0]);
  MPI_Send_init(&sent, 1, MPI_INT, to, 3, comm, &requests[1]);
  MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[2]);
  MPI_Comm_free(&comm);
  for (int n = 0; n < 3; n++)
  {
    received = sum = -1;
    MPI_Startall(3, requests);
    /* It does not take the place of the freed one. */
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(received == 10 + from && sum == size);
    MPI_Comm_free(&other);
  }
  for (int n = 0; n < 3; n++) MPI_Request_free(&requests[n]);
  /* Each communicator that is made then may have its place. */
  for (int n = 0; n < 10; n++)
  {
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(other);
    MPI_Comm_free(&other);
  }
}

static int told;

static void tell(MPI_Comm * comm, int * code, ...)
{
  int class;
  MPI_Error_class(*code, &class);
  told += class == MPI_ERR_TRUNCATE;
  (void) comm;
}

static void errors(void)
{
  MPI_Comm       comm;
  MPI_Errhandler handler;
  MPI_Request    request;
  int            long_data[3] = {1, 2, 3}, received, class;
  for (int own = 0; own < 2; own++)
  {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(comm, own ? handler : MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, comm, &request);
    MPI_Send(long_data, 3, MPI_INT, 0, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
    CHECK(class == MPI_ERR_TRUNCATE && told == own);
  }
}

static int released;

static int query(void * extra, MPI_Status * status)
{
  (void) extra;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

static int release(void * extra)
{
  (void) extra;
  released++;
  return MPI_SUCCESS;
}

static int cancel(void * extra, int complete)
{
  (void) extra, (void) complete;
  return MPI_SUCCESS;
}

/* Freed by the last of two calls. */
static void generalized(void)
{
  MPI_Request request, same;
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  same = request;
  MPI_Request_free(&request);
  CHECK(released == 0 && request == MPI_REQUEST_NULL);
  MPI_Grequest_complete(same);
  CHECK(released == 1);
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  CHECK(released == 1);
  MPI_Request_free(&request);
  CHECK(released == 2);
}

#define LONG 100000

/* Long messages of which both ends have freed the requests, right before MPI_Finalize. */
static void messages(void)
{
  static int  sent[LONG], received[3][LONG];
  MPI_Request requests[5];
  int         to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Irecv(received[0], LONG, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, LONG, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(received[1], LONG, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Send_init(sent, LONG, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Startall(2, &requests[2]);
  MPI_Isendrecv(sent, LONG, MPI_INT, to, 2, received[2], LONG, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[4]);
  for (int n = 0; n < 5; n++) MPI_Request_free(&requests[n]);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  types();
  communicators();
  errors();
  generalized();
  messages();
  MPI_Finalize();
  return 0;
}
