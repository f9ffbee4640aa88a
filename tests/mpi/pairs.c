/* Streams of messages between the two halves of the ranks: rank 0 prints how fast all pairs together are,
 * MB/s. The environment's PAIRS says how many of them send; without it all do. */
#include "common.h"

#define LENGTH (1 << 18)
#define TIMES 8

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int    half = size / 2, place = rank % (half > 0 ? half : 1);
  const char * given = getenv("PAIRS");
  const int    pairs = given ? atoi(given) : half;
  char *       data = malloc((size_t) TIMES * LENGTH);
  MPI_Request  requests[TIMES];
  memset(data, 1, (size_t) TIMES * LENGTH);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank < 2 * half && place < pairs)
  {
    for (int i = 0; i < TIMES; i++)
      if (rank < half)
        MPI_Isend(data + (size_t) i * LENGTH, LENGTH, MPI_BYTE, rank + half, i, MPI_COMM_WORLD, requests + i);
      else
        MPI_Irecv(data + (size_t) i * LENGTH, LENGTH, MPI_BYTE, rank - half, i, MPI_COMM_WORLD, requests + i);
    MPI_Waitall(TIMES, requests, MPI_STATUSES_IGNORE);
  }
  const double own = MPI_Wtime() - start;
  double       longest = 0;
  MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0 && longest > 0)
    printf("%.1f\n", (double) pairs * TIMES * LENGTH / longest / 1e6);
  free(data);
  MPI_Finalize();
  return 0;
}
