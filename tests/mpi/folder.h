/* A temporary folder that all ranks know, and a file in it. */
#include "common.h"
#include <unistd.h>

static char folder[512], path[520];

/* Makes it: rank 0 does. */
static inline void make_folder(void)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
  {
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/netloom-files-XXXXXX", place && *place ? place : "/tmp");
    CHECK(mkdtemp(folder));
  }
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/file", folder);
}

/* Removes it, if no file is left there. */
static inline void remove_folder(void)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    CHECK(rmdir(folder) == 0);
}

/* Bytes of a status. */
static inline int bytes_of(MPI_Status * status)
{
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  return bytes;
}
