/* Where no processes can be started or connected, each function says so and does nothing; the last call ends the job. */
#include "common.h"

#define REFUSED(call) CHECK(class_of(call) == MPI_ERR_UNSUPPORTED_OPERATION)

static int spawn(MPI_Comm * children)
{
  return MPI_Comm_spawn("./child", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE);
}

int main(int argc, char ** argv)
{
  char     port[MPI_MAX_PORT_NAME] = "port", *commands[] = {argv[0]};
  int      count = 1, *value, flag, size;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  set_errhandlers(MPI_ERRORS_RETURN);
  REFUSED(spawn(&comm));
  REFUSED(MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, &count, &info, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE));
  REFUSED(MPI_Open_port(MPI_INFO_NULL, port));
  REFUSED(MPI_Close_port(port));
  REFUSED(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm));
  REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm));
  REFUSED(MPI_Comm_join(0, &comm));
  REFUSED(MPI_Publish_name("service", MPI_INFO_NULL, port));
  REFUSED(MPI_Unpublish_name("service", MPI_INFO_NULL, port));
  REFUSED(MPI_Lookup_name("service", MPI_INFO_NULL, port));
  CHECK(strcmp(port, "port") == 0 && comm == MPI_COMM_NULL);
  MPI_Comm_get_parent(&comm);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
  CHECK(flag && *value == size);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  spawn(&comm);
  return 0;
}
