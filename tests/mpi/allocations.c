/* Short messages allocate no memory: what they need is there from those before them. This program's own malloc and its kin, which
   the library calls, too, count. A message that arrives sooner or later than those before it may need a little, once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
static _Atomic long allocations;

void *malloc(size_t bytes) { allocations++; return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { allocations++; return __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { allocations++; return __libc_realloc(old, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { allocations++; return __libc_memalign(alignment, bytes); }
int   posix_memalign(void **place, size_t alignment, size_t bytes)
{
  allocations++;
  *place = __libc_memalign(alignment, bytes);
  return *place ? 0 : 12;
}

enum { WHOLE = 4096, WINDOW = 64, TIMES = 150, FEW = WINDOW * TIMES / 50 };
static int  rank, size, failures;
static char out[WHOLE], in[WINDOW][WHOLE];

static void window(int bytes)
{
  MPI_Request sends[WINDOW], receives[WINDOW];
  int         next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int n = 0; n < WINDOW; n++) MPI_Irecv(in[n], bytes, MPI_CHAR, last, 1, MPI_COMM_WORLD, &receives[n]);
  for (int n = 0; n < WINDOW; n++) MPI_Isend(out, bytes, MPI_CHAR, next, 1, MPI_COMM_WORLD, &sends[n]);
  MPI_Waitall(WINDOW, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(WINDOW, sends, MPI_STATUSES_IGNORE);
}

static void ping(int bytes)
{
  int other = rank ^ 1;
  if (other >= size) return;
  for (int n = 0; n < WINDOW / 2; n++)
  {
    if (rank < other) MPI_Send(out, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD);
    MPI_Recv(in[n], bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > other) MPI_Send(out, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD);
  }
}

static void sum(int bytes)
{
  double own[32] = {0}, all[32];
  for (int n = 0; n < WINDOW / 8; n++)
    MPI_Allreduce(own, all, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_Barrier(MPI_COMM_WORLD);
}

static void check(const char *what, void (*call)(int), int bytes)
{
  for (int n = 0; n < TIMES; n++) call(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = allocations;
  for (int n = 0; n < TIMES; n++) call(bytes);
  long made = allocations - before;
  if (made > FEW) failures++, printf("rank %d: %s of %d B: %ld allocations\n", rank, what, bytes, made);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long before = allocations;
  /* Volatile, so that the compiler leaves the calls. */
  void *volatile place = malloc(100);
  free(place);
  if (allocations != before + 1) failures++, printf("allocations are not counted\n");
  for (int bytes = 8; bytes <= 256; bytes *= 32)
  {
    check("64 messages at a time", window, bytes);
    check("ping-pong", ping, bytes);
    check("all-reduce and barrier", sum, bytes);
  }
  /* One at a time: as many as 64 of this length have no room in a queue, and wait. */
  check("ping-pong", ping, WHOLE);
  MPI_Finalize();
  return failures > 0;
}
