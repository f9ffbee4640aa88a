/* A thread that advances a context is cancelled, while callbacks that print run in it. Then another thread takes the
 * context over. */

#include "common.h"
#include <unistd.h>

enum { MESSAGES = 200 };

static volatile size_t received;

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
  ++received;
  fprintf(stderr, "message %zu\n", (size_t) received);
  fflush(stderr);
}

static void * progress(void * unused)
{
  for (;;)
  {
    PAMI_Context_trylock_advancev(&context[0], 1, 1000);
    usleep(1);
  }
  return unused;
}

int main(void)
{
  pthread_t thread;
  void *    result;
  size_t    i;
  char      byte = 0;

  start("cancel", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  REQUIRE(pthread_create(&thread, NULL, progress, NULL) == 0);
  for (i = 0; i < MESSAGES; i++)
  {
    CHECK(PAMI_Context_lock(context[0]));
    send_immediate(context[0], endpoint((task + 1) % tasks, 0), FIRST_ID, &byte, 1, NULL, 0);
    CHECK(PAMI_Context_unlock(context[0]));
    if (i == MESSAGES / 2) REQUIRE(pthread_cancel(thread) == 0);
  }
  REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  wait_until(context[0], received == MESSAGES);
  return finish();
}
