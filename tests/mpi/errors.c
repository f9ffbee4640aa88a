/* Errors are returned with their class where the program asks for that. */
#include "common.h"

static void expect(int result, int class)
{
  char text[MPI_MAX_ERROR_STRING];
  int  length, found;
  CHECK(MPI_Error_class(result, &found) == MPI_SUCCESS && found == class);
  CHECK(MPI_Error_string(result, text, &length) == MPI_SUCCESS && length > 0 && (size_t) length == strlen(text));
}

/* On our library the text of a code says what was wrong in the last call of this thread that returned it. */
static void texts(void)
{
  char library[MPI_MAX_LIBRARY_VERSION_STRING], text[MPI_MAX_ERROR_STRING];
  int  length;
  MPI_Get_library_version(library, &length);
  if (strncmp(library, "Netloom", 7) != 0) return;
  MPI_Error_string(MPI_Send(&length, 1, MPI_INT, 0, -3, MPI_COMM_SELF), text, &length);
  CHECK(strstr(text, "MPI_ERR_TAG: invalid tag; MPI_Send: ") == text && strstr(text, "-3") != NULL);
  MPI_Error_string(MPI_ERR_RANK, text, &length);
  CHECK(strcmp(text, "MPI_ERR_RANK: invalid rank") == 0);
}

static int      calls, last_code;
static MPI_Comm last_comm;

/* A handler may make calls. */
static void note(MPI_Comm * comm, int * code, ...)
{
  int size;
  calls++, last_comm = *comm, last_code = *code;
  MPI_Comm_size(*comm, &size);
  CHECK(size > 0);
}

/* The handler of a request's communicator is told of its error, that of MPI_COMM_SELF of one without an object.
 * `copy` has the handler `note`. */
static void objects(MPI_Comm copy)
{
  int            rank, before = calls, data[2] = {1, 2}, in;
  MPI_Errhandler found;
  MPI_Request    requests[2];
  MPI_Datatype   type;
  MPI_Comm_rank(copy, &rank);
  MPI_Irecv(&in, 1, MPI_INT, rank, 8, copy, &requests[0]);
  MPI_Isend(data, 2, MPI_INT, rank, 8, copy, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(calls == before + 1 && last_comm == copy);
  expect(last_code, MPI_ERR_TRUNCATE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Recv_init(&in, -1, MPI_INT, rank, 8, copy, &requests[0]);
  CHECK(calls == before + 2 && last_comm == copy);

  MPI_Comm_get_errhandler(copy, &found);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, found);
  MPI_Errhandler_free(&found);
  MPI_Type_vector(-1, 1, 1, MPI_INT, &type);
  CHECK(calls == before + 3 && last_comm == MPI_COMM_SELF);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void handlers(void)
{
  MPI_Errhandler mine, found;
  MPI_Comm       copy;
  int            data = 0, class, code, more, length, *last, flag;
  char           text[MPI_MAX_ERROR_STRING];
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_create_errhandler(note, &mine);
  MPI_Comm_set_errhandler(copy, mine);
  MPI_Errhandler_free(&mine);
  CHECK(mine == MPI_ERRHANDLER_NULL);
  MPI_Send(&data, 1, MPI_INT, -77, 0, copy);
  CHECK(calls == 1 && last_comm == copy);
  expect(last_code, MPI_ERR_RANK);
  CHECK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER) == MPI_SUCCESS);
  CHECK(calls == 2 && last_code == MPI_ERR_OTHER);
  /* A copy has the handler too, and a handler that is got can be set. */
  MPI_Comm_get_errhandler(copy, &found);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, found);
  MPI_Errhandler_free(&found);
  MPI_Bcast(&data, 1, MPI_INT, 1, MPI_COMM_SELF);
  CHECK(calls == 3 && last_comm == MPI_COMM_SELF);
  /* As often as it was got. */
  MPI_Comm_get_errhandler(copy, &found);
  MPI_Comm_get_errhandler(copy, &mine);
  CHECK(found == mine);
  CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS && MPI_Errhandler_free(&mine) == MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);

  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_code(MPI_ERR_ARG, &more);
  MPI_Add_error_string(code, "too many apples");
  CHECK(class > MPI_ERR_ERRHANDLER && class_of(code) == class && class_of(more) == MPI_ERR_ARG);
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "too many apples") == 0 && length == 15);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last >= class);
  MPI_Comm_call_errhandler(copy, code);
  CHECK(calls == 4 && last_code == code);

  double * memory;
  MPI_Alloc_mem(1000 * sizeof *memory, MPI_INFO_NULL, &memory);
  for (int i = 0; i < 1000; i++) memory[i] = i;
  MPI_Free_mem(memory);

  MPI_Comm_get_name(MPI_COMM_WORLD, text, &length);
  CHECK(strcmp(text, "MPI_COMM_WORLD") == 0);
  MPI_Comm_set_name(copy, "copy of the world");
  MPI_Comm_get_name(copy, text, &length);
  CHECK(strcmp(text, "copy of the world") == 0 && length == 17);
  objects(copy);
  MPI_Comm_free(&copy);
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
  set_errhandlers(MPI_ERRORS_RETURN);
  texts();
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
  MPI_Request requests[3];
  MPI_Status  statuses[3];
  MPI_Isend(data, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
  expect(MPI_Recv(in, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
  CHECK(in[0] == 1 && in[1] == 2);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  /* A single completion does not write the error of its status. */
  MPI_Isend(data, 2, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[0]);
  CHECK(MPI_Recv(in, 2, MPI_INT, rank, 4, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
  CHECK(status.MPI_ERROR == 12345 && status.MPI_SOURCE == rank);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  /* Of several each status tells its own. */
  int more[2];
  for (int round = 0; round < 2; round++)
  {
    MPI_Irecv(in, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(more, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(data, 2, MPI_INT, rank, 5, MPI_COMM_WORLD);
    MPI_Send(data, 2, MPI_INT, rank, 6, MPI_COMM_WORLD);
    if (round == 0)
    {
      expect(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
      expect(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
      CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS);
    }
    else
    {
      int ended = 0, errors = 0, count, indices[2], result;
      while (ended < 2)
      {
        result = MPI_Waitsome(2, requests, &count, indices, statuses);
        for (int n = 0; n < count && result != MPI_SUCCESS; n++)
          if (statuses[n].MPI_ERROR != MPI_SUCCESS)
          {
            expect(result, MPI_ERR_IN_STATUS), expect(statuses[n].MPI_ERROR, MPI_ERR_TRUNCATE);
            CHECK(indices[n] == 1);
            errors++;
          }
        ended += count;
      }
      CHECK(errors == 1);
    }
    CHECK(in[0] == 1 && in[1] == 2 && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  }
  handlers();
  MPI_Finalize();
  return 0;
}
