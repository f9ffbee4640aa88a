/* Messages that arrive before the dispatch function of their identifier is registered wait for it, in order. */

#include "common.h"

enum { MESSAGES = 20, SIZE = 3000 };

static volatile size_t received, completed;
static char            buffers[MESSAGES][SIZE];

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t number;
  (void) on, (void) cookie, (void) origin;
  REQUIRE(header_size == sizeof number);
  memcpy(&number, header, sizeof number);
  REQUIRE(number == received && size == number * SIZE / MESSAGES);
  ++received;
  if (recv == NULL)
  {
    verify(pipe, size, number);
    ++completed;
    return;
  }
  recv->cookie   = (void *) &completed;
  recv->local_fn = count_event;
  recv->addr     = buffers[number];
  recv->type     = PAMI_TYPE_BYTE;
  recv->offset   = 0;
  recv->data_fn  = PAMI_DATA_COPY;
}

int main(void)
{
  static char     data[MESSAGES][SIZE];
  size_t          numbers[MESSAGES];
  volatile size_t sent = 0;
  size_t          i;

  start("unexpected", 1);
  need_tasks(2);
  barrier();
  if (task == 0)
  {
    set_dispatch(context[0], FIRST_ID, receive, NULL);
    for (i = 0; i < MESSAGES; i++)
    {
      pami_send_t send;
      memset(&send, 0, sizeof send);
      numbers[i] = i;
      fill(data[i], i * SIZE / MESSAGES, i);
      send.send.header.iov_base = &numbers[i];
      send.send.header.iov_len  = sizeof numbers[i];
      send.send.data.iov_base   = data[i];
      send.send.data.iov_len    = i * SIZE / MESSAGES;
      send.send.dispatch        = FIRST_ID;
      send.send.dest            = endpoint(1, 0);
      send.events.cookie        = (void *) &sent;
      send.events.local_fn      = count_event;
      CHECK(PAMI_Send(context[0], &send));
    }
    wait_until(context[0], sent == MESSAGES);
  }
  if (task == 1)
  {
    double begin = PAMI_Wtime(client);
    while (PAMI_Wtime(client) < begin + 0.05) advance(context[0]);
    REQUIRE(received == 0);
    set_dispatch(context[0], FIRST_ID, receive, NULL);
    wait_until(context[0], completed == MESSAGES);
    for (i = 0; i < MESSAGES; i++)
      if (buffers[i][0] != 0) verify(buffers[i], i * SIZE / MESSAGES, i);
  }
  return finish();
}
