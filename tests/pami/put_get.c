/* PAMI_Put to the next task and PAMI_Get from it, at addresses that it made known, with both completion
 * callbacks and the data checked; also with the task itself as the target. */

#include "common.h"

enum { MAX_SIZE = 1 << 20, GUARD = 64 };

typedef struct
{
  volatile size_t local;
  volatile size_t remote;
} events_t;

static void local_done(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  CHECK(result);
  ++((events_t *) cookie)->local;
}

static void remote_done(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  CHECK(result);
  ++((events_t *) cookie)->remote;
}

int main(void)
{
  static const size_t sizes[] = {1, 3, 8, 64, 100, 512, 1000, 4096, 10000, 65536, 100001, MAX_SIZE};
  char *              window  = allocate(MAX_SIZE + 2 * GUARD);
  char *              local   = allocate(MAX_SIZE + GUARD);
  void *              windows[MAX_TASKS];
  volatile size_t     done;
  events_t            events;
  size_t              i, step, target, source;

  start("put_get", 1);
  exchange(&window, sizeof window, windows);

  for (step = 0; step < (tasks > 1 ? 2u : 1u); step++)
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    {
      pami_put_simple_t put;
      pami_get_simple_t get;
      size_t            size = sizes[i];
      target                 = (task + step) % tasks;
      source                 = (task + tasks - step) % tasks;

      memset(window, 0x55, MAX_SIZE + 2 * GUARD);
      barrier();
      fill(local, size, task + i);
      memset(&put, 0, sizeof put);
      put.rma.dest     = endpoint(target, 0);
      put.rma.bytes    = size;
      put.rma.cookie   = &events;
      put.rma.done_fn  = local_done;
      put.addr.local   = local;
      put.addr.remote  = (char *) windows[target] + GUARD;
      put.put.rdone_fn = remote_done;
      memset(&events, 0, sizeof events);
      CHECK(PAMI_Put(context[0], &put));
      wait_until(context[0], events.local == 1);
      memset(local, 0, size); /* the local buffer may be reused */
      wait_until(context[0], events.remote == 1);
      REQUIRE(events.local == 1);
      barrier();
      if (window[GUARD - 1] != 0x55 || window[GUARD + size] != 0x55) FAIL("put of %zu wrote too much", size);
      verify(window + GUARD, size, source + i);

      fill(window + GUARD, size, task + i + 200);
      barrier();
      memset(local, 0x55, MAX_SIZE + GUARD);
      memset(&get, 0, sizeof get);
      get.rma.dest    = endpoint(target, 0);
      get.rma.bytes   = size;
      get.rma.cookie  = (void *) &done;
      get.rma.done_fn = count_event;
      get.addr.local  = local;
      get.addr.remote = (char *) windows[target] + GUARD;
      done            = 0;
      CHECK(PAMI_Get(context[0], &get));
      wait_until(context[0], done == 1);
      verify(local, size, target + i + 200);
      REQUIRE(local[size] == 0x55);
      barrier();
    }
  free(window);
  free(local);
  return finish();
}
