/* Clients that are created and destroyed again and again, and two at the same time whose messages do not meet. */

#include "common.h"

/* Few enough for a queue: no context is advanced for what waits when its task is in a barrier of the other. */
enum { REPEATS = 20, MESSAGES = 100 };

static volatile size_t received[2];

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  volatile size_t * counter = cookie;
  (void) on, (void) header, (void) header_size, (void) origin, (void) recv;
  REQUIRE(pipe != NULL && size == 1);
  REQUIRE(*(const char *) pipe == (char) (counter - received));
  ++*counter;
}

static void set(pami_context_t on, volatile size_t * counter)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  memset(&hints, 0, sizeof hints);
  hints.recv_immediate = PAMI_HINT_ENABLE;
  callback.p2p         = receive;
  CHECK(PAMI_Dispatch_set(on, FIRST_ID, callback, (void *) counter, hints));
}

int main(void)
{
  size_t repeat, i;

  for (repeat = 0; repeat < REPEATS; repeat++)
  {
    pami_client_t  other;
    pami_context_t other_context;
    const char     mine = 0, others = 1;

    start("first", 1);
    CHECK(PAMI_Client_create("second", &other, NULL, 0));
    CHECK(PAMI_Context_createv(other, NULL, 0, &other_context, 1));
    received[0] = received[1] = 0;
    set(context[0], &received[0]);
    set(other_context, &received[1]);
    barrier();
    for (i = 0; i < MESSAGES; i++)
    {
      send_immediate(context[0], endpoint((task + 1) % tasks, 0), FIRST_ID, NULL, 0, &mine, 1);
      send_immediate(other_context, endpoint((task + 1) % tasks, 0), FIRST_ID, NULL, 0, &others, 1);
    }
    while (received[0] < MESSAGES || received[1] < MESSAGES)
    {
      advance(context[0]);
      advance(other_context);
    }
    barrier();
    CHECK(PAMI_Context_destroyv(&other_context, 1));
    CHECK(PAMI_Client_destroy(&other));
    if (finish() != 0) return 1;
  }
  return 0;
}
