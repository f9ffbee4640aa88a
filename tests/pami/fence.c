/* Fences: after PAMI_Fence_all or PAMI_Fence_endpoint completes, all earlier transfers are in the memory of
 * their targets, although none of them had a callback. At the end PAMI_Purge and PAMI_Resume. */

#include "common.h"

enum { TRANSFERS = 64, SIZE = 5000 };

static char window[MAX_TASKS][TRANSFERS * SIZE];

int main(void)
{
  char *          data = allocate(TRANSFERS * SIZE);
  void *          mine = window;
  void *          windows[MAX_TASKS];
  volatile size_t done;
  size_t          round, i, j, transfers;

  start("fence", 1);
  /* To each task; of many tasks each sends fewer to each other. */
  transfers = tasks < 16 ? TRANSFERS : TRANSFERS / 8;
  exchange(&mine, sizeof mine, windows);

  for (round = 0; round < 4; round++)
  {
    memset(window, 0, sizeof window);
    fill(data, TRANSFERS * SIZE, task + round);
    barrier();

    CHECK(PAMI_Fence_begin(context[0]));
    for (i = 0; i < transfers; i++)
      for (j = 0; j < tasks; j++)
      {
        pami_put_simple_t put;
        memset(&put, 0, sizeof put);
        put.rma.dest    = endpoint(j, 0);
        put.rma.bytes   = i % 2 == 0 ? SIZE : SIZE / 100;
        put.addr.local  = data + i * SIZE;
        put.addr.remote = (char *) windows[j] + (task * TRANSFERS + i) * SIZE;
        CHECK(PAMI_Put(context[0], &put));
      }
    done = 0;
    if (round % 2 == 0)
    {
      CHECK(PAMI_Fence_all(context[0], count_event, (void *) &done));
      wait_until(context[0], done == 1);
    }
    else
      for (j = 0; j < tasks; j++)
      {
        CHECK(PAMI_Fence_endpoint(context[0], count_event, (void *) &done, endpoint(j, 0)));
        wait_until(context[0], done == j + 1);
      }
    CHECK(PAMI_Fence_end(context[0]));

    barrier();
    for (j = 0; j < tasks; j++)
    {
      fill(data, TRANSFERS * SIZE, j + round);
      for (i = 0; i < transfers; i++)
        if (memcmp(window[j] + i * SIZE, data + i * SIZE, i % 2 == 0 ? SIZE : SIZE / 100) != 0)
          FAIL("round %zu: transfer %zu of task %zu is not there after the fence", round, i, j);
    }
    barrier();
  }

  /* A fence with nothing to wait for. */
  done = 0;
  CHECK(PAMI_Fence_begin(context[0]));
  CHECK(PAMI_Fence_all(context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
  CHECK(PAMI_Fence_end(context[0]));

  /* Connections dropped and set up again carry data as before. */
  barrier();
  for (j = 0; j < tasks; j++)
  {
    pami_endpoint_t   other = endpoint(j, 0);
    pami_put_simple_t put;
    pami_result_t     result;
    if (j == task) continue;
    result = PAMI_Purge(context[0], &other, 1);
    if (result == PAMI_UNIMPL) continue;
    CHECK(result);
    CHECK(PAMI_Resume(context[0], &other, 1));
    done = 0;
    memset(&put, 0, sizeof put);
    put.rma.dest     = other;
    put.rma.bytes    = SIZE;
    put.rma.cookie   = (void *) &done;
    put.addr.local   = data;
    put.addr.remote  = (char *) windows[j] + task * TRANSFERS * SIZE;
    put.put.rdone_fn = count_event;
    CHECK(PAMI_Put(context[0], &put));
    wait_until(context[0], done == 1);
  }
  free(data);
  return finish();
}
