/* Random operations between all tasks: sends of all kinds and sizes, typed ones too, puts, gets and atomic operations,
 * collectives over the world and over geometries that come and go, and work that another thread posts. All data is
 * checked.
 *
 * soak [SECONDS [SEED [kill|async|async-kill]]]: for so long; without arguments for a fixed number of operations, without
 * another thread. With `kill` one of the tasks is killed at a random time: each other ends with status 0 as soon as an
 * operation reports PAMI_SHUTDOWN, and fails if none does. With `async` a communication thread does everything, and the
 * main thread waits. */

#include "common.h"
#include <pami_ext.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "soak/data.h"
#include "soak/sends.h"
#include "soak/one_sided.h"
#include "soak/collectives.h"
#include "soak/posts.h"

static struct
{
  uint64_t messages, sum;
} totals[MAX_TASKS];
static size_t totals_known;

static void learn_totals(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                         size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) pipe;
  no_data(recv, size);
  REQUIRE(header_size == sizeof totals[0]);
  memcpy(&totals[origin_task(origin)], header, sizeof totals[0]);
  ++totals_known;
}

static void advance_all(void)
{
  static size_t         seen;
  static double         since;
  const struct timespec pause = {0, 1000000};
  if (is_async)
    nanosleep(&pause, NULL);
  else
  {
    pami_result_t result = PAMI_Context_advancev(context, contexts, 1 + below(5));
    REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
  }
  if (seen != progress || since == 0)
  {
    seen  = progress;
    since = now();
  }
  else if (now() - since > NO_PROGRESS)
  {
    size_t i;
    for (i = 0; i < tasks; i++)
      if (parts[i].is_busy || is_adding[i])
        fprintf(stderr, "task %zu: with task %zu: %s%s\n", task, i, parts[i].is_busy ? "put or get " : "",
                is_adding[i] ? "addition" : "");
    FAIL("no progress for %d s, after %zu operations: %zu sends, collective %zu (kind %d)%s", NO_PROGRESS, operations,
         sends_in_flight, collectives, current.kind, is_collecting ? " in progress" : "");
  }
}

static int is_busy(void)
{
  size_t i;
  int    busy = sends_in_flight > 0 || is_collecting || run < posted;
  for (i = 0; i < tasks; i++) busy |= parts[i].is_busy || is_adding[i];
  return busy;
}

/* The greatest number that all counters of messages and sums have reached. */
static int all_has_arrived(void)
{
  size_t   i;
  uint64_t sum = 0;
  if (totals_known < tasks) return 0;
  for (i = 0; i < tasks; i++)
  {
    if (received_from[i] < totals[i].messages) return 0;
    sum += totals[i].sum;
  }
  return counter == sum;
}

static double           end;
static volatile int     is_over;
static pami_extension_t extension;

/* Begins an operation, and a collective if none is in progress; PAMI_SUCCESS if it was the last time. Also as posted
 * work. */
static pami_result_t step(pami_context_t on, void * cookie)
{
  size_t to = below(tasks);
  (void) cookie;
  if (has_voted_to_stop)
  {
    is_over = 1;
    return PAMI_SUCCESS;
  }
  /* Who waits for a task that is killed does not stop by itself. */
  is_stopping = !is_killing && (seconds > 0 ? now() > end : operations >= OPERATIONS);
  if (!is_collecting) start_collective();
  if (sends_in_flight >= IN_FLIGHT || is_stopping) return PAMI_EAGAIN;
  ++operations;
  switch (below(5))
  {
  case 0: send_short(on, to); break;
  case 1: send_long(on, to); break;
  case 2:
  case 3: put_or_get(on, to); break;
  default: add(on, to);
  }
  return PAMI_EAGAIN;
}

int main(int count_of_arguments, char ** arguments)
{
  size_t    i;
  size_t    seed = count_of_arguments > 2 ? strtoul(arguments[2], NULL, 10) : 1;
  pthread_t poster;

  seconds    = count_of_arguments > 1 ? atof(arguments[1]) : 0;
  is_killing = count_of_arguments > 3 && strstr(arguments[3], "kill") != NULL;
  is_async   = count_of_arguments > 3 && strstr(arguments[3], "async") != NULL;
  /* One thread for all contexts, so that callbacks run one after the other. */
  if (is_async) setenv("PAMI_MAX_COMMTHREADS", "1", 1);
  start("soak", CONTEXTS);
  own_random    = (seed * 1000003 + task + 1) * UINT64_C(0x9E3779B97F4A7C15);
  common_random = (seed + 77) * UINT64_C(0x9E3779B97F4A7C15);
  for (i = 0; i < 10; i++) next_random(&own_random), next_random(&common_random);
  CHECK(PAMI_Type_create(&gaps));
  CHECK(PAMI_Type_add_simple(gaps, BLOCK, 0, 10, STRIDE));
  CHECK(PAMI_Type_complete(gaps, 1));
  for (i = 0; i < contexts; i++)
  {
    set_dispatch(context[i], SEND_ID, receive, NULL);
    set_dispatch(context[i], CHECK_ID, check_put, NULL);
    set_dispatch(context[i], CHECKED_ID, put_is_checked, NULL);
    set_dispatch(context[i], TOTALS_ID, learn_totals, NULL);
  }
  in     = allocate(tasks * COUNT * sizeof *in);
  out    = allocate(tasks * COUNT * sizeof *out);
  window = allocate(tasks * PART);
  buffer = allocate(tasks * PART);
  {
    uint64_t *       own_counter = (uint64_t *) &counter;
    pami_memregion_t own_region;
    size_t           granted;
    CHECK(PAMI_Memregion_create(context[0], window, tasks * PART, &granted, &own_region));
    REQUIRE(granted == tasks * PART);
    CHECK(PAMI_Memregion_create(context[0], buffer, tasks * PART, &granted, &buffer_region));
    exchange(&window, sizeof window, windows);
    exchange(&own_region, sizeof own_region, window_regions);
    exchange(&own_counter, sizeof own_counter, counters);
  }
  CHECK(PAMI_Geometry_world(client, &groups[0].geometry));
  groups[0].size = tasks;
  groups[0].me   = task;
  for (i = 0; i < tasks; i++) groups[0].members[i] = (pami_task_t) i;
  barrier();

  if (seconds > 0) REQUIRE(pthread_create(&poster, NULL, post_all, NULL) == 0);
  if (is_killing && task == seed % tasks)
  {
    pthread_t killer;
    REQUIRE(pthread_create(&killer, NULL, die, NULL) == 0);
  }
  end = now() + seconds;
  if (is_async)
  {
    static pami_work_t             work_of_all;
    async_progress_enable_function enable;
    CHECK(PAMI_Extension_open(client, "EXT_async_progress", &extension));
    enable = (async_progress_enable_function) PAMI_Extension_symbol(extension, "enable");
    for (i = 0; i < contexts; i++) CHECK(enable(context[i], PAMIX_ASYNC_ALL));
    CHECK(PAMI_Context_post(context[0], &work_of_all, step, NULL));
    while (!is_over) advance_all();
  }
  else
    while (step(context[below(contexts)], NULL) == PAMI_EAGAIN) advance_all();
  if (seconds > 0)
  {
    __atomic_store_n(&is_poster_stopped, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(poster, NULL) == 0);
  }
  while (is_busy()) advance_all();
  for (i = 0; i < tasks; i++)
  {
    uint64_t mine[2];
    mine[0] = sent_to[i];
    mine[1] = added_to[i];
    CHECK(PAMI_Context_lock(context[0]));
    send_immediate(context[0], endpoint(i, 0), TOTALS_ID, mine, sizeof mine, NULL, 0);
    CHECK(PAMI_Context_unlock(context[0]));
  }
  while (!all_has_arrived()) advance_all();
  if (is_async)
  {
    async_progress_disable_function disable;
    disable = (async_progress_disable_function) PAMI_Extension_symbol(extension, "disable");
    for (i = 0; i < contexts; i++) CHECK(disable(context[i], PAMIX_ASYNC_ALL));
  }
  for (i = 0; i < tasks; i++) EXPECT_VALUE(totals[i].messages, received_from[i], "messages of task %zu", i);
  if (task == 0) printf("%zu operations of task 0, %zu collectives, %zu works\n", operations, collectives, run);
  return finish();
}
