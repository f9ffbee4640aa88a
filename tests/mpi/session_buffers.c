/* Buffered sends of sessions: the buffer of the communicator comes first, then that of the session that it comes
   of, then that of the process; that of another session is none of them. */
#include "common.h"

enum { SHORT = MPI_BSEND_OVERHEAD + 100, LONG = 50000 };
static int rank, size;

/* A communicator of all processes, which comes of the session by a part of a group and a duplicate. */
static MPI_Comm all_of(MPI_Session session, const char *tag)
{
  MPI_Group whole, none, group;
  MPI_Comm  first, comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &whole);
  MPI_Group_excl(whole, 0, NULL, &none);
  MPI_Group_union(none, whole, &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
  MPI_Group_free(&group);
  /* The same by the group of a communicator. */
  MPI_Comm_group(first, &group);
  MPI_Comm_create(first, group, &comm);
  MPI_Comm_free(&first);
  /* And by that of a window. */
  MPI_Win   win;
  MPI_Group of_win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_get_group(win, &of_win);
  MPI_Win_free(&win);
  MPI_Comm_create_from_group(of_win, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
  MPI_Group_free(&of_win);
  MPI_Comm_free(&comm);
  MPI_Comm_dup(first, &comm);
  MPI_Comm_free(&first);
  first = comm;
  MPI_Group_free(&whole);
  MPI_Group_free(&none);
  MPI_Group_free(&group);
  MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
  return first;
}

/* Sends LONG bytes to itself: the class of what the send returns. */
static int send_long(MPI_Comm comm)
{
  static char out[LONG], in[LONG];
  int         class = class_of(MPI_Bsend(out, LONG, MPI_CHAR, rank, 1, comm));
  if (class == MPI_SUCCESS) MPI_Recv(in, LONG, MPI_CHAR, rank, 1, comm, MPI_STATUS_IGNORE);
  return class;
}

int main(int argc, char **argv)
{
  MPI_Session few, enough;
  MPI_Comm    of_few, of_enough, world;
  /* Room for all messages: when the end of one is known is a matter of time. */
  char *      room = malloc(8 * LONG), small[SHORT], *back;
  int         bytes;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &few);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &enough);
  of_few = all_of(few, "few"), of_enough = all_of(enough, "enough");
  MPI_Session_attach_buffer(enough, room, 8 * LONG);
  /* The others have none. */
  CHECK(send_long(world) == MPI_ERR_BUFFER && send_long(of_few) == MPI_ERR_BUFFER);
  CHECK(send_long(of_enough) == MPI_SUCCESS);
  MPI_Session_attach_buffer(few, small, SHORT);
  CHECK(send_long(of_few) == MPI_ERR_BUFFER && send_long(of_enough) == MPI_SUCCESS);
  /* That of the process is the last. */
  MPI_Session_detach_buffer(few, &back, &bytes);
  CHECK(back == small && bytes == SHORT);
  MPI_Buffer_attach(small, SHORT);
  CHECK(send_long(world) == MPI_ERR_BUFFER && send_long(of_few) == MPI_ERR_BUFFER);
  CHECK(send_long(of_enough) == MPI_SUCCESS);
  /* That of the communicator is the first. */
  MPI_Buffer_detach(&back, &bytes);
  MPI_Comm_attach_buffer(of_enough, small, SHORT);
  CHECK(send_long(of_enough) == MPI_ERR_BUFFER);
  MPI_Comm_detach_buffer(of_enough, &back, &bytes);
  CHECK(send_long(of_enough) == MPI_SUCCESS);
  MPI_Session_flush_buffer(enough);
  MPI_Session_detach_buffer(enough, &back, &bytes);
  CHECK(back == room && bytes == 8 * LONG);
  MPI_Comm_free(&of_few);
  MPI_Comm_free(&of_enough);
  MPI_Comm_free(&world);
  MPI_Session_finalize(&few);
  MPI_Session_finalize(&enough);
  MPI_Finalize();
  free(room);
  return 0;
}
