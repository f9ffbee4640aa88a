/* Who takes part, and what is known before and after. */
#include "common.h"

int main(int argc, char ** argv)
{
  int  flag, rank, size, major, minor, length;
  char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];

  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Get_version(&major, &minor) == MPI_SUCCESS && major == MPI_VERSION && minor == MPI_SUBVERSION);
  CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
  CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(rank >= 0 && rank < size);
  MPI_Comm_size(MPI_COMM_SELF, &length);
  CHECK(length == 1);
  MPI_Get_processor_name(name, &length);
  CHECK(length > 0 && (size_t) length == strlen(name));
  MPI_Get_library_version(version, &length);
  CHECK(length > 0 && (size_t) length == strlen(version));
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
  double before = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0);
  CHECK(MPI_Finalize() == MPI_SUCCESS);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
  return 0;
}
