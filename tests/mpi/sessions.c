/* Sessions: before, beside and after MPI_Init and MPI_Finalize. */
#include "common.h"

static int failures;
static void count(MPI_Session *session, int *code, ...)
{
  CHECK(*session != MPI_SESSION_NULL && *code != MPI_SUCCESS);
  failures++;
}

/* All processes of a set take part. */
static int total(MPI_Session session, const char *set)
{
  MPI_Group group;
  MPI_Comm  comm;
  int       one = 1, all, size;
  MPI_Group_from_session_pset(session, set, &group);
  MPI_Group_size(group, &size);
  MPI_Comm_create_from_group(group, "total", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  CHECK(all == size);
  return all;
}

static int use(void)
{
  MPI_Session    session;
  MPI_Errhandler handler, got;
  MPI_Info       info;
  int            sets, length = 0, flag, all;
  char           name[MPI_MAX_PSET_NAME_LEN], value[16];
  MPI_Session_create_errhandler(count, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Session_get_errhandler(session, &got);
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  CHECK(sets >= 2);
  for (int n = 0; n < sets; n++)
  {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
    CHECK(length > 1);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
    CHECK((int)strlen(name) + 1 == length);
    /* What it needs is told, however much there is. */
    int less = 3, more = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &less, name);
    CHECK(less == length && strlen(name) == 2);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &more, name);
    CHECK(more == length);
  }
  all = total(session, "mpi://WORLD");
  CHECK(total(session, "mpi://SELF") == 1);
  MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
  length = sizeof value;
  MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
  CHECK(flag && atoi(value) == all);
  MPI_Info_free(&info);
  failures = 0;
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  CHECK(failures == 1);
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL);
  return all;
}

int main(int argc, char **argv)
{
  MPI_Session session;
  int         flag, all, size;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Initialized(&flag);
  CHECK(!flag);
  all = total(session, "mpi://world");
  CHECK(use() == all);
  MPI_Init(&argc, &argv);
  MPI_Initialized(&flag);
  CHECK(flag);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == all);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  /* The session is still there. */
  CHECK(total(session, "mpi://WORLD") == all);
  MPI_Session_finalize(&session);
  /* And again. */
  CHECK(use() == all);
  return 0;
}
