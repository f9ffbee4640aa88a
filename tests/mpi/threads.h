/* Threads of a test: each runs the same function, with its number. */
#include "common.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 3 };
static int rank, size, left, right;

static void begin_threads(int * argc, char *** argv)
{
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left  = (rank + size - 1) % size;
  right = (rank + 1) % size;
}

/* As interpreters have one: held in calls that do not wait, and taken by functions that MPI calls. */
static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;

static inline void short_calls(void)
{
  int own, all;
  pthread_mutex_lock(&interpreter);
  MPI_Comm_rank(MPI_COMM_WORLD, &own), MPI_Comm_size(MPI_COMM_WORLD, &all);
  CHECK(own == rank && all == size);
  pthread_mutex_unlock(&interpreter);
}

struct thread
{
  pthread_t thread;
  int       number;
  void (*run)(int number);
};

static void * start(void * argument)
{
  struct thread * thread = argument;
  thread->run(thread->number);
  return NULL;
}

static void start_threads(struct thread * threads, int count, void (*run)(int number))
{
  for (int n = 0; n < count; n++)
  {
    threads[n].number = n, threads[n].run = run;
    CHECK(pthread_create(&threads[n].thread, NULL, start, &threads[n]) == 0);
  }
}

static void join_threads(struct thread * threads, int count)
{
  for (int n = 0; n < count; n++) CHECK(pthread_join(threads[n].thread, NULL) == 0);
}

static inline void in_threads(void (*run)(int number))
{
  struct thread threads[THREADS];
  start_threads(threads, THREADS, run);
  join_threads(threads, THREADS);
}

/* Some number that is another one for other arguments. */
static inline int value_of(int a, int b, int c) { return a * 1000003 + b * 8191 + c * 31 + 7; }
