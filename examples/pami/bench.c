/* Half round trip, message rate and bandwidth between tasks 0 and 1, beside a bare ping-pong of one cache line
 * between two threads on the same cores.
 *
 *   netloom cc bench.c -o bench -lpthread && netloom exec -n 2 ./bench
 */

#define _GNU_SOURCE
#include <pami.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PING = 1, RATE = 2, DONE = 3, BULK = 4 };

static pami_client_t   client;
static pami_context_t  context;
static size_t          task, tasks;
static volatile size_t pings, messages, dones, received, sent;
static char *          buffer;

static void check(pami_result_t result, const char * call)
{
  char text[256];
  if (result == PAMI_SUCCESS) return;
  PAMI_Error_text(text, sizeof text);
  fprintf(stderr, "task %zu: %s returned %d: %s\n", task, call, (int) result, text);
  exit(1);
}

#define CHECK(call) check(call, #call)

static void count(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * data,
                  size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) header, (void) header_size, (void) data, (void) size, (void) origin, (void) recv;
  ++*(volatile size_t *) cookie;
}

static void arrived(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  check(result, "completion");
  ++*(volatile size_t *) cookie;
}

static void bulk(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * data,
                 size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) header, (void) header_size, (void) origin;
  if (recv == NULL)
  {
    memcpy(buffer, data, size);
    ++*(volatile size_t *) cookie;
    return;
  }
  memset(recv, 0, sizeof *recv);
  recv->cookie   = cookie;
  recv->local_fn = arrived;
  recv->addr     = buffer;
  recv->type     = PAMI_TYPE_BYTE;
  recv->data_fn  = PAMI_DATA_COPY;
}

static void set(size_t dispatch, pami_dispatch_p2p_function function, volatile size_t * cookie)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  memset(&hints, 0, sizeof hints);
  callback.p2p = function;
  CHECK(PAMI_Dispatch_set(context, dispatch, callback, (void *) cookie, hints));
}

static void immediate(size_t dispatch, size_t size)
{
  static char           data[512];
  pami_send_immediate_t send;
  memset(&send, 0, sizeof send);
  send.data.iov_base = data;
  send.data.iov_len  = size;
  send.dispatch      = dispatch;
  CHECK(PAMI_Endpoint_create(client, (pami_task_t) (1 - task), 0, &send.dest));
  CHECK(PAMI_Send_immediate(context, &send));
}

static void wait_for(volatile size_t * counter, size_t value)
{
  while (*counter < value) PAMI_Context_advance(context, 100);
}

/* Half round trip of messages of `size` bytes, microseconds. */
static double half_round_trip(size_t size, size_t rounds)
{
  size_t i;
  double begin = 0;
  pings        = 0;
  immediate(DONE, 0);
  wait_for(&dones, 1);
  dones = 0;
  for (i = 0; i < rounds + 1000; i++)
  {
    if (i == 1000) begin = PAMI_Wtime(client);
    if (task == 1) wait_for(&pings, i + 1);
    immediate(PING, size);
    if (task == 0) wait_for(&pings, i + 1);
  }
  return (PAMI_Wtime(client) - begin) / (double) rounds / 2 * 1e6;
}

/* Messages of 8 B from task 0 to task 1, million per second. */
static double rate(size_t total)
{
  size_t i;
  double begin = PAMI_Wtime(client);
  if (task == 0)
  {
    for (i = 0; i < total; i++)
    {
      immediate(RATE, 8);
      if (i % 64 == 63) PAMI_Context_advance(context, 1);
    }
    wait_for(&dones, 1);
    dones = 0;
    return (double) total / (PAMI_Wtime(client) - begin) / 1e6;
  }
  wait_for(&messages, total);
  immediate(DONE, 0);
  return 0;
}

/* Bandwidth of `total` sends of `size` bytes from task 0 to task 1, GB per second. */
static double bandwidth(size_t size, size_t total)
{
  pami_send_t send;
  size_t      i;
  double      begin = PAMI_Wtime(client);
  memset(&send, 0, sizeof send);
  send.send.data.iov_base = buffer;
  send.send.data.iov_len  = size;
  send.send.dispatch      = BULK;
  CHECK(PAMI_Endpoint_create(client, (pami_task_t) (1 - task), 0, &send.send.dest));
  send.events.cookie    = (void *) &sent;
  send.events.local_fn  = arrived;
  send.events.remote_fn = NULL;
  sent = received = 0;
  if (task == 0)
  {
    for (i = 0; i < total; i++)
    {
      CHECK(PAMI_Send(context, &send));
      if (i >= 4) wait_for(&sent, i - 3);
    }
    wait_for(&dones, 1);
    dones = 0;
    return (double) total * (double) size / (PAMI_Wtime(client) - begin) / 1e9;
  }
  wait_for(&received, total);
  immediate(DONE, 0);
  return 0;
}

/* The bare ping-pong: two threads on the cores of the two tasks, one line. */
static struct
{
  _Alignas(128) _Atomic size_t ping;
  _Alignas(128) _Atomic size_t pong;
} lines;

enum { BARE_ROUNDS = 1000000 };

static void pin(int core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void * answer(void * core)
{
  size_t i;
  pin(*(int *) core);
  for (i = 1; i <= BARE_ROUNDS; i++)
  {
    while (atomic_load_explicit(&lines.ping, memory_order_acquire) < i) {}
    atomic_store_explicit(&lines.pong, i, memory_order_release);
  }
  return NULL;
}

static double bare(int other)
{
  pthread_t thread;
  size_t    i;
  double    begin;
  pthread_create(&thread, NULL, answer, &other);
  begin = PAMI_Wtime(client);
  for (i = 1; i <= BARE_ROUNDS; i++)
  {
    atomic_store_explicit(&lines.ping, i, memory_order_release);
    while (atomic_load_explicit(&lines.pong, memory_order_acquire) < i) {}
  }
  pthread_join(thread, NULL);
  return (PAMI_Wtime(client) - begin) / BARE_ROUNDS / 2 * 1e6;
}

int main(void)
{
  static const size_t  sizes[] = {0, 8, 32, 128, 512};
  pami_configuration_t query;
  size_t               i;
  int                  core = sched_getcpu();
  double               line = 0, copy;
  const size_t         mega = 1 << 20;

  CHECK(PAMI_Client_create("bench", &client, NULL, 0));
  query.name = PAMI_CLIENT_TASK_ID;
  CHECK(PAMI_Client_query(client, &query, 1));
  task       = query.value.intval;
  query.name = PAMI_CLIENT_NUM_TASKS;
  CHECK(PAMI_Client_query(client, &query, 1));
  tasks = query.value.intval;
  if (tasks != 2)
  {
    fprintf(stderr, "bench: needs 2 tasks: netloom exec -n 2 ./bench\n");
    return 77;
  }
  buffer = calloc(2 * mega, 1);
  CHECK(PAMI_Context_createv(client, NULL, 0, &context, 1));
  set(PING, count, &pings);
  set(RATE, count, &messages);
  set(DONE, count, &dones);
  set(BULK, bulk, &received);

  /* Task 1 tells its core by being pinned to it: launchers pin task 1 to the next core. */
  if (task == 0)
  {
    line = bare(core + 1);
    printf("bare ping-pong of a cache line: %.3f us\n", line);
  }
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
  {
    double time = half_round_trip(sizes[i], 200000);
    if (task == 0) printf("half round trip, %3zu B: %.3f us, %.2f times the bare one\n", sizes[i], time, time / line);
  }
  for (i = 0; i < 3; i++)
  {
    double million;
    messages = 0;
    million  = rate(5000000);
    if (task == 0) printf("messages of 8 B: %.1f million per second\n", million);
  }
  copy = PAMI_Wtime(client);
  for (i = 0; i < 2000; i++) memcpy(buffer + mega, buffer, mega);
  copy = 2000.0 * (double) mega / (PAMI_Wtime(client) - copy) / 1e9;
  if (task == 0) printf("memcpy of 1 MiB: %.1f GB/s\n", copy);
  for (i = 4096; i <= mega; i *= 4)
  {
    double speed = bandwidth(i, (size_t) 2e9 / i);
    if (task == 0) printf("sends of %7zu B: %.1f GB/s\n", i, speed);
  }
  CHECK(PAMI_Context_destroyv(&context, 1));
  CHECK(PAMI_Client_destroy(&client));
  return 0;
}
