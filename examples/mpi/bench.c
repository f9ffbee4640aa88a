/* How long calls of MPI take: between ranks 0 and 1 half round trips, bandwidth, messages per second and puts, beside a bare
   ping-pong of a cache line; collectives of all ranks; packing of derived types. The best of several repetitions. A line has a
   name, a length, a time or a rate, and its unit: `netloom bench mpi` reads them. With the argument "collectives" it measures
   these alone. */
#include <mpi.h>
#include <stdatomic.h>
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

static void print(const char *name, int bytes, double value, const char *unit)
{
  if (rank == 0) printf("%-48s %9d B %12.3f %s\n", name, bytes, value, unit);
}

static _Atomic int *lines[2]; /* That of rank 0 and that of rank 1. */
/* The least that a message takes: each rank writes a line of memory that the other one polls. */
static void bare_ping(int unused)
{
  static int round;
  (void)unused, round++;
  if (rank == 0) atomic_store_explicit(lines[0], round, memory_order_release);
  if (rank < 2)
    while (atomic_load_explicit(lines[!rank], memory_order_acquire) < round) {}
  if (rank == 1) atomic_store_explicit(lines[1], round, memory_order_release);
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

enum { IN_FLIGHT = 4 };
static void stream(int bytes)
{
  MPI_Request requests[IN_FLIGHT];
  if (rank > 1) return;
  for (int n = 0; n < IN_FLIGHT; n++)
    if (rank == 0) MPI_Isend(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[n]);
    else MPI_Irecv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[n]);
  MPI_Waitall(IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Recv(in, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Send(out, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
}

static MPI_Win win;
/* The other rank makes progress meanwhile, in the barrier that follows. */
static void put(int bytes)
{
  if (rank == 0) MPI_Put(out, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, win), MPI_Win_flush(1, win);
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
  int  bytes;
  char full[64];
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  snprintf(full, sizeof full, "pack, %s", name);
  print(full, bytes, best(pack, 0, 100), "us");
  snprintf(full, sizeof full, "unpack, %s", name);
  print(full, bytes, best(unpack, 0, 100), "us");
  MPI_Type_free(&type);
}

static void between_two(void)
{
  const int lengths[] = {0, 8, 64, 480, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  MPI_Win   shared;
  void     *own;
  /* A page for each rank, with the line elsewhere within it: processors take addresses for the same by their last 12 bits. */
  MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &shared);
  for (int n = 0; n < 2; n++)
  {
    MPI_Aint bytes;
    int      unit;
    void    *page;
    MPI_Win_shared_query(shared, n, &bytes, &unit, &page);
    lines[n] = (void *)((char *)page + 1024 * (n + 1));
  }
  memset(own, 0, 4096);
  print("cache line, half round trip", 4, best(bare_ping, 0, 3000) / 2, "us");
  MPI_Win_free(&shared);
  for (unsigned n = 0; n < sizeof lengths / sizeof *lengths; n++)
    print("half round trip", lengths[n], best(ping, lengths[n], lengths[n] > 100000 ? 100 : 3000) / 2, "us");
  for (unsigned n = 1; n < sizeof lengths / sizeof *lengths; n++)
    print("bandwidth", lengths[n], (double)IN_FLIGHT * lengths[n] / best(stream, lengths[n], lengths[n] > 100000 ? 50 : 1000), "MB/s");
  print("message rate", 8, WINDOW / best(window, 8, 500), "million/s");
  MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  for (unsigned n = 1; n < sizeof lengths / sizeof *lengths; n++)
    print("put and flush", lengths[n], best(put, lengths[n], lengths[n] > 100000 ? 50 : 500), "us");
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void collectives(void)
{
  print("barrier", 0, best(barrier, 0, 3000), "us");
  print("all-reduce of doubles", 8, best(sum, 1, 3000), "us");
  print("all-reduce of doubles", 512, best(sum, 64, 3000), "us");
  print("all-reduce of doubles", 1 << 20, best(sum, 1 << 17, 20), "us");
}

static void derived_types(void)
{
  const int blocks[] = {1, 2, 4, 5, 8, 64, 512};
  print("memcpy", 1 << 18, best(copy, 1 << 18, 100), "us");
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
}

int main(int argc, char **argv)
{
  char name[MPI_MAX_LIBRARY_VERSION_STRING];
  int  size, length, is_whole;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  is_whole = argc < 2 || strcmp(argv[1], "collectives");
  MPI_Get_library_version(name, &length);
  name[strcspn(name, "\n")] = 0;
  if (rank == 0) printf("library: %s\n", name);
  /* All pages are there before something is measured. */
  out = malloc(MOST), in = malloc(MOST);
  memset(out, 0, MOST), memset(in, 0, MOST);
  if (is_whole && size > 1) between_two();
  collectives();
  if (is_whole) derived_types();
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
