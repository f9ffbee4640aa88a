/* Threads that wait for each other by what pthread has: each kind of wait ends with what it waits for, and on a simulated
 * node at the time at which the other thread releases it. */

#include "common.h"
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, TURNS = 50 };

static pthread_mutex_t   mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t    changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t  many = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all;
static pthread_spinlock_t spin;
static sem_t             items, places;
static size_t            turn, sum, in_use, taken, serial;
static volatile size_t   posted;

/* The threads take turns. */
static void take_turns(size_t mine)
{
  size_t i;
  for (i = 0; i < TURNS; i++)
  {
    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    while (turn % THREADS != mine) REQUIRE(pthread_cond_wait(&changed, &mutex) == 0);
    ++turn;
    REQUIRE(pthread_cond_broadcast(&changed) == 0);
    REQUIRE(pthread_mutex_unlock(&mutex) == 0);
  }
}

/* Half of the threads fill a buffer of two places, the others empty it. */
static void fill_and_empty(size_t mine)
{
  size_t i;
  for (i = 0; i < TURNS; i++)
  {
    REQUIRE(sem_wait(mine % 2 ? &places : &items) == 0);
    REQUIRE(pthread_spin_lock(&spin) == 0);
    if (mine % 2)
      REQUIRE(++in_use <= 2);
    else
    {
      REQUIRE(in_use-- > 0);
      ++taken;
    }
    REQUIRE(pthread_spin_unlock(&spin) == 0);
    REQUIRE(sem_post(mine % 2 ? &items : &places) == 0);
  }
}

static void * run(void * argument)
{
  size_t mine = (uintptr_t) argument, i;
  int    result;
  take_turns(mine);
  result = pthread_barrier_wait(&all);
  REQUIRE(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  REQUIRE(turn == THREADS * TURNS);
  if (result != 0) __sync_fetch_and_add(&serial, 1);
  fill_and_empty(mine);
  for (i = 0; i < TURNS; i++)
  {
    REQUIRE(pthread_rwlock_wrlock(&many) == 0);
    ++sum;
    if (i % 10 == 0) sched_yield();
    REQUIRE(pthread_rwlock_unlock(&many) == 0);
    REQUIRE(pthread_rwlock_rdlock(&many) == 0);
    REQUIRE(sum > 0);
    REQUIRE(pthread_rwlock_unlock(&many) == 0);
  }
  pthread_barrier_wait(&all);
  REQUIRE(sum == THREADS * TURNS && taken == THREADS / 2 * TURNS && in_use == 0);
  if (mine == 1) pthread_exit((void *) mine);
  return (void *) mine;
}

static pami_result_t count(pami_context_t on, void * cookie)
{
  (void) on, (void) cookie;
  ++posted;
  return PAMI_SUCCESS;
}

/* Sleeps, then posts to the context that the first thread advances. */
static void * post_later(void * work)
{
  usleep(300);
  CHECK(PAMI_Context_post(context[0], work, count, NULL));
  return NULL;
}

/* Sleeps, then signals. */
static void * signal_later(void * unused)
{
  struct timespec time = {0, 200000};
  nanosleep(&time, NULL);
  pthread_mutex_lock(&mutex);
  turn = 0;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void)
{
  pthread_t   threads[THREADS];
  pami_work_t work;
  void *      result;
  size_t      i;
  double      began, us;
  struct timespec until;

  start("threads_sync", 1);
  REQUIRE(pthread_barrier_init(&all, NULL, THREADS) == 0);
  REQUIRE(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  REQUIRE(sem_init(&items, 0, 0) == 0 && sem_init(&places, 0, 2) == 0);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, run, (void *) i) == 0);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], &result) == 0 && (size_t) result == i);
  REQUIRE(serial == 1);

  began = PAMI_Wtime(client);
  REQUIRE(pthread_create(&threads[0], NULL, post_later, &work) == 0);
  while (posted < 1) advance(context[0]);
  us = (PAMI_Wtime(client) - began) * 1e6;
  REQUIRE(pthread_join(threads[0], NULL) == 0);
  REQUIRE(us > 300 && us < 1e7);
  if (task == 0) fprintf(stderr, "posted work: %.3f us\n", us);

  turn  = 1;
  began = PAMI_Wtime(client);
  REQUIRE(pthread_create(&threads[0], NULL, signal_later, NULL) == 0);
  pthread_mutex_lock(&mutex);
  while (turn) REQUIRE(pthread_cond_wait(&changed, &mutex) == 0);
  pthread_mutex_unlock(&mutex);
  us = (PAMI_Wtime(client) - began) * 1e6;
  REQUIRE(pthread_join(threads[0], NULL) == 0);
  REQUIRE(us > 200 && us < 1e7);
  if (task == 0) fprintf(stderr, "signal: %.3f us\n", us);

  /* Nobody signals. */
  REQUIRE(pthread_create(&threads[0], NULL, signal_later, NULL) == 0);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 50000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  REQUIRE(sem_timedwait(&items, &until) == -1 && errno == ETIMEDOUT);
  REQUIRE(pthread_join(threads[0], NULL) == 0);
  barrier();
  return finish();
}
