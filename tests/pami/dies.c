/* The last task ends with status 3 when the first message begins: the operations of all others report PAMI_SHUTDOWN.
 * The status of the job is 3. */

#include "common.h"

enum { SIZE = 100000 };

static volatile size_t shut_down;

static void die(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) size, (void) origin, (void) recv;
  exit(3);
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

  start("dies", 1);
  need_tasks(2);
  set_dispatch(context[0], FIRST_ID, die, NULL);
  barrier();
  if (task == tasks - 1) wait_until(context[0], 0);

  memset(&send, 0, sizeof send);
  send.send.data.iov_base = data;
  send.send.data.iov_len  = SIZE;
  send.send.dispatch      = FIRST_ID;
  send.send.dest          = endpoint(tasks - 1, 0);
  send.events.local_fn    = done;
  send.events.remote_fn   = done;
  CHECK(PAMI_Send(context[0], &send));
  wait_until(context[0], shut_down == 2);
  printf("PAMI_SHUTDOWN\n");
  fflush(stdout);
  return 0;
}
