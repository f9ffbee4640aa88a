/* Threads that spawn, connect and disconnect at the same time. */
#include "threads.h"

static char * program;
static char   ports[THREADS][MPI_MAX_PORT_NAME];

/* Each thread has a child of its own; then the first two ranks connect by a port of each thread. */
static void body(int self)
{
  int      value = 100 * rank + self, got = -1;
  char *   arguments[] = {"child", NULL};
  MPI_Comm children, comm;
  for (int n = 0; n < 2; n++)
  {
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, self, &got, 1, MPI_INT, 0, self, children, MPI_STATUS_IGNORE);
    CHECK(got == value + 1);
    MPI_Comm_disconnect(&children);
  }
  if (size < 2 || rank > 1) return;
  for (int n = 0; n < 5; n++)
  {
    if (rank == 0)
      MPI_Comm_accept(ports[self], MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    else
      MPI_Comm_connect(ports[self], MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    MPI_Sendrecv(&self, 1, MPI_INT, 0, n, &got, 1, MPI_INT, 0, n, comm, MPI_STATUS_IGNORE);
    CHECK(got == self);
    MPI_Comm_disconnect(&comm);
  }
}

static int child(void)
{
  int        value;
  MPI_Comm   parent;
  MPI_Status status;
  MPI_Comm_get_parent(&parent);
  MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, parent, &status);
  value++;
  MPI_Send(&value, 1, MPI_INT, 0, status.MPI_TAG, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

int main(int argc, char ** argv)
{
  program = argv[0];
  begin_threads(&argc, &argv);
  if (argc > 1) return child();
  if (rank == 0)
    for (int n = 0; n < THREADS; n++) MPI_Open_port(MPI_INFO_NULL, ports[n]);
  MPI_Bcast(ports, sizeof ports, MPI_CHAR, 0, MPI_COMM_WORLD);
  in_threads(body);
  if (rank == 0)
    for (int n = 0; n < THREADS; n++) MPI_Close_port(ports[n]);
  MPI_Finalize();
  return 0;
}
