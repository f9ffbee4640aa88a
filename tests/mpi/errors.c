/* Errors are returned with their class where the program asks for that. */
#include "common.h"

static void expect(int result, int class)
{
  char text[MPI_MAX_ERROR_STRING];
  int  length, found;
  CHECK(MPI_Error_class(result, &found) == MPI_SUCCESS && found == class);
  CHECK(MPI_Error_string(result, text, &length) == MPI_SUCCESS && length > 0 && (size_t) length == strlen(text));
}

int main(int argc, char ** argv)
{
  int            rank, size, data[4] = {1, 2, 3, 4}, in[2];
  MPI_Errhandler handler;
  MPI_Status     status;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  expect(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  expect(MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  expect(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  expect(MPI_Send(data, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
  expect(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  expect(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  expect(MPI_Bcast(data, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
  expect(MPI_Allreduce(data, in, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  expect(MPI_Allreduce(data, in, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
  /* A message that is longer than its receive: what fits is there. */
  status.MPI_ERROR = 12345;
  MPI_Send(data, 4, MPI_INT, rank, 3, MPI_COMM_WORLD);
  expect(MPI_Recv(in, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
  CHECK(in[0] == 1 && in[1] == 2);
  /* A single completion does not write the error of its status. */
  MPI_Send(data, 2, MPI_INT, rank, 4, MPI_COMM_WORLD);
  CHECK(MPI_Recv(in, 2, MPI_INT, rank, 4, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
  CHECK(status.MPI_ERROR == 12345 && status.MPI_SOURCE == rank);
  MPI_Finalize();
  return 0;
}
