/* Spawned processes of which one fails, as the argument says, while all others wait: in a barrier of both groups, or to end. */
#include "common.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char ** argv)
{
  int      rank;
  char *   arguments[] = {argv[1], NULL};
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
  {
    MPI_Comm_spawn(argv[0], arguments, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (strcmp(argv[1], "farewell") != 0) MPI_Barrier(children);
    MPI_Finalize();
    return 0;
  }
  if (rank == 1)
  {
    usleep(100000);
    if (strcmp(argv[1], "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(argv[1], "farewell") == 0) kill(getpid(), SIGKILL);
    if (strcmp(argv[1], "exit") == 0) _exit(7);
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(argv[1], "leave") == 0) return 0;
    if (strcmp(argv[1], "error") == 0) MPI_Send(NULL, 0, MPI_INT, 9, 0, parent);
  }
  if (strcmp(argv[1], "farewell") != 0) MPI_Barrier(parent);
  MPI_Finalize();
  return 0;
}
