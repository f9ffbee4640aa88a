/* Half round trip of PAMI_Send_immediate between tasks 0 and 1, for several sizes, with the data checked. */

#include "common.h"

enum { ROUNDS = 1000, WARM_UP = 100, MAX_SIZE = 64 };

static volatile size_t received;
static size_t          expected_size;

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) header;
  REQUIRE(cookie == (void *) &received);
  REQUIRE(header_size == 0);
  REQUIRE(size == expected_size);
  REQUIRE(origin_task(origin) == 1 - task);
  REQUIRE(pipe != NULL && recv == NULL);
  verify(pipe, size, received);
  ++received;
}

int main(void)
{
  static const size_t             sizes[] = {0, 1, 8, 32, MAX_SIZE};
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  char                            data[MAX_SIZE];
  size_t                          i, round;

  start("ping", 1);
  need_tasks(2);

  memset(&hints, 0, sizeof hints);
  hints.recv_immediate = PAMI_HINT_ENABLE;
  callback.p2p         = receive;
  CHECK(PAMI_Dispatch_set(context[0], FIRST_ID, callback, (void *) &received, hints));
  barrier();

  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
  {
    double begin  = 0;
    expected_size = sizes[i];
    received      = 0;
    barrier();
    for (round = 0; task < 2 && round < WARM_UP + ROUNDS; round++)
    {
      if (round == WARM_UP) begin = PAMI_Wtime(client);
      if (task == 1) wait_until(context[0], received == round + 1);
      fill(data, sizes[i], round);
      send_immediate(context[0], endpoint(1 - task, 0), FIRST_ID, NULL, 0, data, sizes[i]);
      if (task == 0) wait_until(context[0], received == round + 1);
    }
    if (task == 0)
      printf("%2zu B: half round trip %.3f us\n", sizes[i],
             (PAMI_Wtime(client) - begin) / ROUNDS / 2 * 1e6);
    barrier();
  }
  return finish();
}
