/* Two threads with a context each; each plays ping-pong with the context of the same number of the other task. */

#include "common.h"

enum { THREADS = 2, ROUNDS = 100 };

static volatile size_t received[THREADS];

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t mine = (uintptr_t) cookie;
  (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
  REQUIRE(on == context[mine]);
  ++received[mine];
}

static void * play(void * argument)
{
  size_t mine = (uintptr_t) argument, i;
  char   byte = 1;
  for (i = 1; i <= ROUNDS; i++)
  {
    if (task == 0) send_immediate(context[mine], endpoint(1, mine), FIRST_ID, &byte, 1, NULL, 0);
    while (received[mine] < i) advance(context[mine]);
    if (task == 1) send_immediate(context[mine], endpoint(0, mine), FIRST_ID, &byte, 1, NULL, 0);
  }
  return argument;
}

int main(void)
{
  pthread_t threads[THREADS];
  void *    result;
  size_t    i;
  double    began;
  start("threads_ping", THREADS);
  need_tasks(2);
  for (i = 0; i < contexts; i++) set_dispatch(context[i], FIRST_ID, receive, (void *) i);
  barrier();
  began = PAMI_Wtime(client);
  if (task < 2 && contexts == THREADS)
  {
    for (i = 1; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, play, (void *) i) == 0);
    play(NULL);
    for (i = 1; i < THREADS; i++)
    {
      REQUIRE(pthread_join(threads[i], &result) == 0);
      REQUIRE((size_t) result == i);
    }
  }
  if (task == 0) fprintf(stderr, "%.3f us a round\n", (PAMI_Wtime(client) - began) * 1e6 / ROUNDS);
  barrier();
  return finish();
}
