/* Order: with the hint `consistency`, the dispatch functions of messages from one endpoint to another run in
 * the order of the sends, whatever sizes and functions are mixed. All tasks send to all tasks. */

#include "common.h"

enum { MESSAGES = 600, MAX_SIZE = 100000 };

typedef struct
{
  size_t sequence;
  size_t size;
} header_t;

typedef struct
{
  header_t header;
  char *   buffer;
} reception_t;

static size_t          next[MAX_TASKS];
static volatile size_t received;

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  reception_t * reception = cookie;
  (void) on;
  CHECK(result);
  verify(reception->buffer, reception->header.size, reception->header.sequence);
  free(reception->buffer);
  free(reception);
  ++received;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  reception_t * reception = allocate(sizeof *reception);
  size_t        from      = origin_task(origin);
  (void) cookie;
  REQUIRE(header_size == sizeof(header_t));
  memcpy(&reception->header, header, sizeof(header_t));
  REQUIRE(reception->header.size == size);
  if (reception->header.sequence != next[from])
    FAIL("message %zu of task %zu came when %zu was next", reception->header.sequence, from, next[from]);
  ++next[from];
  reception->buffer = allocate(size);
  if (recv == NULL)
  {
    memcpy(reception->buffer, pipe, size);
    received_all(on, reception, PAMI_SUCCESS);
    return;
  }
  recv->cookie      = reception;
  recv->local_fn    = received_all;
  recv->addr        = reception->buffer;
  recv->type        = PAMI_TYPE_BYTE;
  recv->offset      = 0;
  recv->data_fn     = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

int main(void)
{
  static const size_t sizes[] = {0, 8, 5000, 64, 20000, 1, MAX_SIZE, 16, 513, 8};
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  volatile size_t                 done = 0;
  size_t                          i, j, sent = 0;
  static header_t                 headers[MESSAGES][MAX_TASKS];
  char *                          buffers[MESSAGES];

  start("order", 1);
  memset(&hints, 0, sizeof hints);
  hints.consistency = PAMI_HINT_ENABLE;
  callback.p2p      = receive;
  CHECK(PAMI_Dispatch_set(context[0], FIRST_ID, callback, NULL, hints));
  barrier();

  for (i = 0; i < MESSAGES; i++)
  {
    size_t size = sizes[i % 10];
    buffers[i]  = allocate(size);
    fill(buffers[i], size, i);
    for (j = 0; j < tasks; j++)
    {
      size_t     to     = (task + j) % tasks;
      header_t * header = &headers[i][to];
      header->sequence  = i;
      header->size      = size;
      if (size <= 16 && i % 2 == 1)
        send_immediate(context[0], endpoint(to, 0), FIRST_ID, header, sizeof *header, buffers[i], size);
      else
      {
        pami_send_t send;
        memset(&send, 0, sizeof send);
        send.send.header.iov_base = header;
        send.send.header.iov_len  = sizeof *header;
        send.send.data.iov_base   = buffers[i];
        send.send.data.iov_len    = size;
        send.send.dispatch        = FIRST_ID;
        send.send.dest            = endpoint(to, 0);
        send.events.cookie        = (void *) &done;
        send.events.local_fn      = count_event;
        CHECK(PAMI_Send(context[0], &send));
        ++sent;
      }
    }
    if (i % 50 == 49) wait_until(context[0], sent - done < 64);
  }
  wait_until(context[0], done == sent && received == MESSAGES * tasks);
  for (i = 0; i < MESSAGES; i++) free(buffers[i]);
  return finish();
}
