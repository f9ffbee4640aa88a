/* The tool information interface: performance variables count messages, also before MPI_Init and after MPI_Finalize. */
#include "common.h"
#include <stdint.h>

static int find(const char *name, int class)
{
  int index = -1;
  return MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS ? index : -1;
}

int main(int argc, char **argv)
{
  int                provided, count, rank, size, number, class, length, small;
  uint64_t           sends, bytes, unexpected, posted;
  char               name[64], cut[4];
  MPI_T_pvar_session session, other;
  MPI_T_pvar_handle  handles[4], all = MPI_T_PVAR_ALL_HANDLES;
  CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  /* Each has a name that leads back to it. */
  CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS);
  for (int n = 0; n < number; n++)
  {
    MPI_Datatype type;
    length = sizeof name, small = sizeof cut;
    CHECK(MPI_T_pvar_get_info(n, name, &length, NULL, &class, &type, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(length == (int)strlen(name) + 1 && find(name, class) == n && type != MPI_DATATYPE_NULL);
    MPI_T_pvar_get_info(n, cut, &small, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(strlen(cut) == 3 && small == length);
  }
  CHECK(MPI_T_pvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(find("no such variable", MPI_T_PVAR_CLASS_COUNTER) < 0);
  if (find("unexpected_messages", MPI_T_PVAR_CLASS_COUNTER) < 0)
  {
    /* Another library has other variables. */
    MPI_T_finalize();
    return 0;
  }
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_session_create(&other);
  const char *names[4] = {"sends", "sent_bytes", "unexpected_messages", "posted_receives"};
  for (int n = 0; n < 4; n++)
  {
    int index = find(names[n], n < 3 ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[n], &count) == MPI_SUCCESS && count == 1);
  }
  MPI_T_pvar_read(session, handles[0], &sends);
  CHECK(sends == 0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size, data[5000] = {0}, space[5000];
  /* What is sent after the barrier arrives after this; the barrier's messages are counted too. */
  CHECK(MPI_T_pvar_reset(session, all) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  uint64_t sends_before, bytes_before;
  MPI_T_pvar_read(session, handles[0], &sends_before);
  MPI_T_pvar_read(session, handles[1], &bytes_before);
  MPI_Request requests[3];
  for (int n = 0; n < 3; n++) MPI_Isend(data, n == 2 ? 5000 : 1, MPI_INT, next, n, MPI_COMM_WORLD, &requests[n]);
  MPI_T_pvar_read(session, handles[0], &sends);
  MPI_T_pvar_read(session, handles[1], &bytes);
  CHECK(sends == sends_before + 3 && bytes == bytes_before + 8 + sizeof data);
  /* The last one, while the first ones wait. */
  MPI_Recv(space, 5000, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_T_pvar_readreset(session, handles[2], &unexpected);
  CHECK(unexpected >= 2);
  for (int n = 0; n < 2; n++) MPI_Recv(space, 1, MPI_INT, last, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_T_pvar_read(session, handles[2], &unexpected);
  CHECK(unexpected == 0 || size > 1); /* Others may be at their end. */
  MPI_Irecv(space, 1, MPI_INT, last, 9, MPI_COMM_WORLD, &requests[0]);
  MPI_T_pvar_read(session, handles[3], &posted);
  CHECK(posted == 1);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_T_pvar_read(session, handles[3], &posted);
  CHECK(posted == 0);
  CHECK(MPI_T_pvar_start(session, handles[0]) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_start(session, all) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_write(session, handles[0], &sends) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_readreset(session, handles[3], &posted) == MPI_T_ERR_PVAR_NO_ATOMIC);
  CHECK(MPI_T_pvar_read(other, handles[0], &sends) == MPI_T_ERR_INVALID_HANDLE);
  /* Its errors are classes, as those of MPI. */
  class = -1, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  CHECK(MPI_Error_class(MPI_T_ERR_INVALID_NAME, &class) == MPI_SUCCESS && class == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_Error_string(MPI_T_ERR_INVALID_NAME, text, &length) == MPI_SUCCESS && length > 0);
  CHECK((int)strlen(text) == length && strstr(text, "MPI_T_ERR_INVALID_NAME"));
  MPI_Finalize();
  CHECK(MPI_T_pvar_handle_free(session, &handles[0]) == MPI_SUCCESS && handles[0] == MPI_T_PVAR_HANDLE_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_read(other, handles[1], &bytes) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
  int none = -1;
  CHECK(MPI_T_cvar_get_num(&none) == MPI_SUCCESS && none == 0);
  CHECK(MPI_T_category_get_num(&none) == MPI_SUCCESS && none == 0 && MPI_T_event_get_num(&none) == MPI_SUCCESS && none == 0);
  CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  return 0;
}
