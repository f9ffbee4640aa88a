/* Messages of a task to itself: PAMI_Send, PAMI_Send_immediate and PAMI_Send_typed, to the same context and
 * to another one. */

#include "common.h"

enum { MAX_SIZE = 1 << 20 };

static volatile size_t received;
static char *          buffer;

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  CHECK(result);
  verify(buffer, *(size_t *) cookie, *(size_t *) cookie);
  free(cookie);
  ++received;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t * copy = allocate(sizeof size);
  *copy         = size;
  REQUIRE(on == context[(uintptr_t) cookie]);
  REQUIRE(origin == endpoint(task, 0));
  REQUIRE(header_size == sizeof size && memcmp(header, &size, sizeof size) == 0);
  if (recv == NULL)
  {
    memcpy(buffer, pipe, size);
    received_all(on, copy, PAMI_SUCCESS);
    return;
  }
  recv->cookie      = copy;
  recv->local_fn    = received_all;
  recv->addr        = buffer;
  recv->type        = PAMI_TYPE_BYTE;
  recv->offset      = 0;
  recv->data_fn     = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

int main(void)
{
  static const size_t  sizes[] = {0, 1, 8, 64, 100, 512, 1024, 5000, 65536, MAX_SIZE};
  pami_configuration_t query;
  volatile size_t      done;
  size_t               i, to, expected = 0;
  char *               data = allocate(MAX_SIZE);

  buffer = allocate(MAX_SIZE);
  start("self_send", 2);
  for (to = 0; to < contexts; to++) set_dispatch(context[to], FIRST_ID, receive, (void *) to);
  memset(&query, 0, sizeof query);
  query.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX;
  CHECK(PAMI_Dispatch_query(context[0], FIRST_ID, &query, 1));

  for (to = 0; to < contexts; to++)
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    {
      size_t            size = sizes[i];
      pami_send_t       send;
      pami_send_typed_t typed;
      fill(data, size, size);

      memset(&send, 0, sizeof send);
      send.send.header.iov_base = &size;
      send.send.header.iov_len  = sizeof size;
      send.send.data.iov_base   = data;
      send.send.data.iov_len    = size;
      send.send.dispatch        = FIRST_ID;
      send.send.dest            = endpoint(task, to);
      send.events.cookie        = (void *) &done;
      send.events.local_fn      = count_event;
      send.events.remote_fn     = count_event;
      done                      = 0;
      CHECK(PAMI_Send(context[0], &send));
      ++expected;
      wait_until(context[to], (advance(context[0]), done == 2 && received == expected));

      memset(&typed, 0, sizeof typed);
      typed.send          = send.send;
      typed.events        = send.events;
      typed.typed.type    = PAMI_TYPE_BYTE;
      typed.typed.data_fn = PAMI_DATA_COPY;
      done                = 0;
      CHECK(PAMI_Send_typed(context[0], &typed));
      ++expected;
      wait_until(context[to], (advance(context[0]), done == 2 && received == expected));

      if (size + sizeof size <= query.value.intval)
      {
        send_immediate(context[0], endpoint(task, to), FIRST_ID, &size, sizeof size, data, size);
        ++expected;
        wait_until(context[to], (advance(context[0]), received == expected));
      }
    }
  free(data);
  free(buffer);
  return finish();
}
