/* Ports and names of services: processes connect to others of their world and of one that was spawned, several times, and
 * by a socket. */
#include "common.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A value goes from the first rank of those that accept to all of the others, and the sum of their ranks comes back. */
static void talk(MPI_Comm comm, int accepts, int value)
{
  int rank, remote, flag, sum, got = accepts ? value : -1;
  MPI_Comm_test_inter(comm, &flag);
  CHECK(flag);
  MPI_Comm_rank(comm, &rank), MPI_Comm_remote_size(comm, &remote);
  MPI_Bcast(&got, 1, MPI_INT, !accepts ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, comm);
  CHECK(got == value);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == remote * (remote - 1) / 2);
}

/* "client": looks the service up that the parents have published. */
static int client(char ** argv)
{
  char     port[MPI_MAX_PORT_NAME] = "";
  int      rank;
  MPI_Comm parent, server;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(parent);
  MPI_Comm_disconnect(&parent);
  if (rank == 1) MPI_Lookup_name(argv[2], MPI_INFO_NULL, port);
  for (int n = 0; n < 3; n++)
  {
    MPI_Comm_connect(port, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &server);
    talk(server, 0, 50 + n);
    MPI_Comm_disconnect(&server);
  }
  MPI_Finalize();
  return 0;
}

static void services(char * program, int rank)
{
  char     port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME], service[] = "netloom-service";
  char *   arguments[] = {"client", service, NULL};
  MPI_Comm children, clients;
  if (rank == 0)
  {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
    MPI_Lookup_name(service, MPI_INFO_NULL, found);
    CHECK(strcmp(port, found) == 0);
  }
  MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Barrier(children);
  MPI_Comm_disconnect(&children);
  for (int n = 0; n < 3; n++)
  {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients);
    talk(clients, 1, 50 + n);
    MPI_Comm_disconnect(&clients);
  }
  if (rank == 0)
  {
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
}

/* Between ranks of one world: the first accepts from all others, each alone. */
static void within(int rank, int size)
{
  char     port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm comm;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int n = 1; n < size; n++)
    if (rank == 0 || rank == n)
    {
      if (rank == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
      else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
      talk(comm, rank == 0, 70);
      MPI_Comm_disconnect(&comm);
    }
  if (rank == 0) MPI_Close_port(port);
}

/* The first two ranks join over a socket, which they use before and after. */
static void joins(int rank)
{
  int                fd;
  char               byte = 'a';
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t          length = sizeof address;
  MPI_Comm           comm;
  if (rank == 0)
  {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    MPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    fd = accept(listener, NULL, NULL);
    close(listener);
  }
  else
  {
    MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
  }
  CHECK(fd >= 0);
  CHECK(rank == 0 ? read(fd, &byte, 1) == 1 : write(fd, &byte, 1) == 1);
  for (int n = 0; n < 2; n++)
  {
    MPI_Comm_join(fd, &comm);
    CHECK(comm != MPI_COMM_NULL);
    talk(comm, rank == 0, 80 + n);
    MPI_Comm_disconnect(&comm);
  }
  byte = 'b';
  CHECK(rank == 0 ? read(fd, &byte, 1) == 1 : write(fd, &byte, 1) == 1);
  CHECK(byte == 'b');
  close(fd);
}

int main(int argc, char ** argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  if (argc > 1) return client(argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  services(argv[0], rank);
  within(rank, size);
  if (size > 1 && rank < 2) joins(rank);
  MPI_Finalize();
  return 0;
}
