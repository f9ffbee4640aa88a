/* The path of a short message makes no system call: neither who sends it, nor who advances where it is. */
#include "../system_calls.h"
#include "common.h"

enum { MESSAGES = 30, TIMES = 20, BYTES = 64 };

static size_t received;

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) origin, (void) recv;
  verify(pipe, size, received);
  ++received;
}

int main(void)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  char                            data[BYTES];

  start("short_path", 1);
  memset(&hints, 0, sizeof hints);
  hints.recv_immediate = PAMI_HINT_ENABLE;
  callback.p2p         = receive;
  CHECK(PAMI_Dispatch_set(context[0], FIRST_ID, callback, NULL, hints));
  barrier();
  /* Of a guest the library redirects them itself. Tasks that share cores sleep, and are woken. */
  int is_simulated = getenv("NETLOOM_CHANNELS") != NULL;
  int is_shared    = (long) tasks > sysconf(_SC_NPROCESSORS_ONLN);
  if (is_simulated || is_shared || !can_count_system_calls()) return finish();

  for (size_t times = 0; times < TIMES; times++)
  {
    received = 0;
    barrier();
    count_system_calls();
    for (size_t n = 0; n < MESSAGES; n++)
    {
      fill(data, BYTES, n);
      send_immediate(context[0], endpoint((task + 1) % tasks, 0), FIRST_ID, NULL, 0, data, BYTES);
    }
    stop_counting();
    /* Time for the others to send: what arrives waits for the call that is counted. */
    while (received < MESSAGES)
    {
      usleep(200);
      count_system_calls();
      pami_result_t result = PAMI_Context_advance(context[0], 1);
      stop_counting();
      /* Nothing may be there yet. */
      REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
    }
  }
  if (system_calls > 0) FAIL("%zu times there was a system call, the last %ld", system_calls, system_calls_first);
  return finish();
}
