/* More messages at once than any queue has places: the sender begins them all before it advances. */

#include "common.h"

enum { MESSAGES = 3000, SIZE = 3000 };

static volatile size_t received, completed;
static char *          buffers;

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t number;
  (void) on, (void) cookie, (void) origin, (void) pipe;
  REQUIRE(header_size == sizeof number && recv != NULL);
  memcpy(&number, header, sizeof number);
  REQUIRE(number == received && size == SIZE);
  ++received;
  recv->cookie   = (void *) &completed;
  recv->local_fn = count_event;
  recv->addr     = buffers + number * SIZE;
  recv->type     = PAMI_TYPE_BYTE;
  recv->offset   = 0;
  recv->data_fn  = PAMI_DATA_COPY;
}

int main(void)
{
  size_t * numbers = malloc(MESSAGES * sizeof *numbers);
  size_t   i;

  start("many", 1);
  need_tasks(2);
  buffers = malloc(MESSAGES * SIZE);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  if (task == 0)
  {
    volatile size_t sent = 0;
    for (i = 0; i < MESSAGES; i++)
    {
      pami_send_t send;
      memset(&send, 0, sizeof send);
      numbers[i] = i;
      fill(buffers + i * SIZE, SIZE, i);
      send.send.header.iov_base = &numbers[i];
      send.send.header.iov_len  = sizeof numbers[i];
      send.send.data.iov_base   = buffers + i * SIZE;
      send.send.data.iov_len    = SIZE;
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
    wait_until(context[0], completed == MESSAGES);
    for (i = 0; i < MESSAGES; i++) verify(buffers + i * SIZE, SIZE, i);
  }
  barrier();
  free(buffers);
  free(numbers);
  return finish();
}
