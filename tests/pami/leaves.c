/* The last task ends with status 0 when the first message begins, without destroying its client: the operations of all
 * others that need it report PAMI_SHUTDOWN. The status of the job is 0. */

#include "common.h"

enum { SIZE = 100000 };

static volatile size_t shut_down, ready_tasks;

static void leave(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) size, (void) origin, (void) recv;
  exit(0);
}

static void ready(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                     size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) size, (void) origin, (void) recv;
  ++ready_tasks;
}

static void done(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on, (void) cookie;
  if (result != PAMI_SHUTDOWN) FAIL("completion with result %d, not PAMI_SHUTDOWN", (int) result);
  ++shut_down;
}

int main(void)
{
  pami_send_t send;
  char *      data = allocate(SIZE);

  start("leaves", 1);
  need_tasks(2);
  set_dispatch(context[0], FIRST_ID, leave, NULL);
  set_dispatch(context[0], FIRST_ID + 1, ready, NULL);
  barrier();
  if (task == tasks - 1)
  {
    pami_send_immediate_t last;
    size_t                to;
    memset(&last, 0, sizeof last);
    last.dispatch = FIRST_ID + 1;
    for (to = 0; to < tasks - 1; to++)
    {
      last.dest = endpoint(to, 0);
      CHECK(PAMI_Send_immediate(context[0], &last));
    }
    wait_until(context[0], 0);
  }
  /* Not before: the last task may still be in the barrier. */
  wait_until(context[0], ready_tasks == 1);

  memset(&send, 0, sizeof send);
  send.send.data.iov_base = data;
  send.send.data.iov_len  = SIZE;
  send.send.dispatch      = FIRST_ID;
  send.send.dest          = endpoint(tasks - 1, 0);
  send.events.local_fn    = done;
  send.events.remote_fn   = done;
  CHECK(PAMI_Send(context[0], &send));
  wait_until(context[0], shut_down == 2);
  return 0;
}
