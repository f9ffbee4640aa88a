/* How long calls of MPI take, between ranks 0 and 1 and in each of them: half round trips, messages per second, collectives of
   all ranks, and packing of derived types. The best of several repetitions. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 << 20, REPETITIONS = 7 };
static char *out, *in;
static int   rank;

/* Calls this so many times, and again; the shortest time of one call, us. */
static double best(void (*call)(int), int argument, int times)
{
  double least = 1e30;
  for (int repetition = 0; repetition < REPETITIONS; repetition++)
  {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int n = 0; n < times; n++) call(argument);
    double time = (MPI_Wtime() - start) / times * 1e6;
    if (time < least) least = time;
  }
  return least;
}

static void ping(int bytes)
{
  if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  if (rank < 2) MPI_Recv(in, bytes, MPI_CHAR, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

enum { WINDOW = 64 };
static void window(int bytes)
{
  MPI_Request requests[WINDOW];
  if (rank > 1) return;
  for (int n = 0; n < WINDOW; n++)
    if (rank == 0) MPI_Isend(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[n]);
    else MPI_Irecv(in + bytes * n, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[n]);
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Recv(in, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Send(out, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
}

static void barrier(int unused) { (void)unused, MPI_Barrier(MPI_COMM_WORLD); }
static void sum(int count) { MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void copy(int bytes)
{
  memcpy(in, out, bytes);
  __asm__ volatile("" ::: "memory"); /* Each one is done. */
}

static MPI_Datatype type;
static void pack(int unused)
{
  int position = 0;
  (void)unused, MPI_Pack(out, 1, type, in, MOST, &position, MPI_COMM_SELF);
}
static void unpack(int unused)
{
  int position = 0;
  (void)unused, MPI_Unpack(in, MOST, &position, out, 1, type, MPI_COMM_SELF);
}

static void packing(const char *name)
{
  int bytes;
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  double packs = best(pack, 0, 100), unpacks = best(unpack, 0, 100), copies = best(copy, bytes, 100);
  if (rank == 0) printf("%-32s pack %7.1f us, unpack %7.1f us, memcpy %7.1f us of %d B\n", name, packs, unpacks, copies, bytes);
  MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
  const int lengths[] = {0, 8, 64, 480, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  const int blocks[]  = {1, 2, 4, 5, 8, 64, 512};
  int       size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* All pages are there before something is measured. */
  out = malloc(MOST), in = malloc(MOST);
  memset(out, 0, MOST), memset(in, 0, MOST);
  if (size > 1)
  {
    for (unsigned n = 0; n < sizeof lengths / sizeof *lengths; n++)
    {
      double time = best(ping, lengths[n], lengths[n] > 100000 ? 100 : 3000) / 2;
      if (rank == 0) printf("half round trip %8d B %10.3f us\n", lengths[n], time);
    }
    double time = best(window, 8, 500) / WINDOW;
    if (rank == 0) printf("messages of 8 B           %10.2f million per second\n", 1 / time);
  }
  double time = best(barrier, 0, 3000), one = best(sum, 1, 3000), many = best(sum, 1 << 17, 20);
  if (rank == 0) printf("barrier %.3f us, all-reduce of a double %.3f us, of 1 MiB %.1f us\n", time, one, many);
  for (unsigned n = 0; n < sizeof blocks / sizeof *blocks; n++)
  {
    char name[64];
    snprintf(name, sizeof name, "vector, %d of %d doubles", blocks[n], 2 * blocks[n]);
    MPI_Type_vector(32768 / blocks[n], blocks[n], 2 * blocks[n], MPI_DOUBLE, &type);
    packing(name);
  }
  int whole[3] = {64, 64, 64}, part[3] = {32, 32, 32}, from[3] = {8, 8, 8};
  MPI_Type_create_subarray(3, whole, part, from, MPI_ORDER_C, MPI_DOUBLE, &type);
  packing("subarray, 32^3 of 64^3 doubles");
  enum { PIECES = 8192 };
  static int counts[PIECES], places[PIECES];
  for (int n = 0; n < PIECES; n++) counts[n] = 3 + n % 3, places[n] = 9 * n;
  MPI_Type_indexed(PIECES, counts, places, MPI_DOUBLE, &type);
  packing("indexed, 3 to 5 doubles");
  MPI_Datatype record, of[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  int          fields[3] = {1, 2, 3};
  MPI_Aint     at[3]     = {0, 8, 24};
  MPI_Type_create_struct(3, fields, at, of, &record);
  MPI_Type_contiguous(11000, record, &type);
  packing("struct of int, 2 doubles, 3 chars");
  MPI_Type_free(&record);
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
