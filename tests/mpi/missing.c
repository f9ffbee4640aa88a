/* What this library does not have yet says so, and does nothing. */
#include "common.h"

int main(int argc, char ** argv)
{
  MPI_File file = MPI_FILE_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(file == MPI_FILE_NULL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  return 0;
}
