/* Deadlocks of many kinds, by number: the first argument. */
#include "common.h"

enum { LONG = 1 << 20 };
static char data[LONG];

int main(int argc, char ** argv)
{
  int      rank, size, value = 0;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  switch (argc > 1 ? atoi(argv[1]) : 0)
  {
    case 0: /* Synchronous sends to each other, before anybody receives. */
      MPI_Ssend(data, LONG, MPI_CHAR, rank ^ 1, 5, MPI_COMM_WORLD);
      break;
    case 1: /* Different collective operations. */
      if (rank == 1) MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      else MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 2: /* Different roots. */
      MPI_Bcast(&value, 1, MPI_INT, rank != 3, half);
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 3: /* Different lengths. */
      MPI_Bcast(data, rank == 2 ? 16 : 8, MPI_CHAR, 0, MPI_COMM_WORLD);
      break;
    case 4: /* One rank is about to end. */
      if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 5: /* One rank has another tag. */
      MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
      if (rank == 2) MPI_Send(&value, 1, MPI_INT, 0, 8, half);
      if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, half, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 6: /* One rank does not call the second barrier. */
      MPI_Barrier(half);
      if (rank != 3) MPI_Barrier(half);
      else MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 7: /* The root of a broadcast has more than another rank's room. */
      if (rank == 0) memset(data, 1, LONG);
      MPI_Bcast(data, rank == 2 ? 100 : 1000, MPI_CHAR, 0, MPI_COMM_WORLD);
      break;
    case 8: /* The same, by whole packets: nobody waits. */
      if (rank == 0) memset(data, 1, LONG);
      MPI_Bcast(data, rank == 2 ? 512 : 1024, MPI_CHAR, 0, MPI_COMM_WORLD);
      CHECK(rank != 2 || (data[511] == 1 && data[512] == 0));
      break;
    case 9: /* One rank leaves out a partition, and another one has another tag. */
    {
      MPI_Request both[2];
      int         next = (rank + 1) % size, last = (rank + size - 1) % size, ready = rank == 1 ? 2 : 3;
      MPI_Psend_init(data, 4, 10, MPI_CHAR, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
      MPI_Precv_init(data + 100, 2, 20, MPI_CHAR, last, 3 + (rank == 1), MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
      MPI_Startall(2, both);
      MPI_Pready_range(0, ready, both[0]);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
      break;
    }
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
