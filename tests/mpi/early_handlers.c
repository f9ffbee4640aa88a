/* Error handlers of sessions, made before there is a library: they begin none, and decide no level of threads.
   Argument "only": the program makes no other call, and ends. */
#include "common.h"

static void ignore(MPI_Session *session, int *code, ...) { (void)session, (void)code; }

int main(int argc, char **argv)
{
  MPI_Errhandler handler;
  MPI_Session    session;
  MPI_Info       hints, got;
  char           level[32];
  int            length = sizeof level, flag;
  MPI_Session_create_errhandler(ignore, &handler);
  MPI_Errhandler_free(&handler);
  CHECK(handler == MPI_ERRHANDLER_NULL);
  (void)argv;
  if (argc > 1) return 0;
  MPI_Session_create_errhandler(ignore, &handler);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session_init(hints, handler, &session);
  MPI_Info_free(&hints);
  MPI_Errhandler_free(&handler);
  MPI_Session_get_info(session, &got);
  MPI_Info_get_string(got, "thread_level", &length, level, &flag);
  MPI_Info_free(&got);
  CHECK(flag && !strcmp(level, "MPI_THREAD_MULTIPLE"));
  MPI_Session_finalize(&session);
  return 0;
}
