/* A communication thread: work posted to its context runs there, and messages are answered there, while the main thread
 * gives way. On a simulated node it is a hardware thread, which sleeps while there is nothing to do. */

#include "common.h"
#include <pami_ext.h>
#include <sched.h>

enum
{
  ITEMS = 10,
  HOPS  = 20
};

static pami_extension_t extension;
static size_t           received, posted;
static pthread_t        main_thread;

/* Sends a message back until its count is 0. */
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t left;
  (void) cookie, (void) pipe;
  REQUIRE(!pthread_equal(pthread_self(), main_thread));
  no_data(recv, size);
  REQUIRE(header_size == sizeof left);
  memcpy(&left, header, sizeof left);
  if (left > 0)
  {
    --left;
    send_immediate(on, origin, FIRST_ID, &left, sizeof left, NULL, 0);
    return;
  }
  __atomic_fetch_add(&received, 1, __ATOMIC_SEQ_CST);
}

static pami_result_t work(pami_context_t on, void * cookie)
{
  size_t left = HOPS;
  (void) cookie;
  REQUIRE(!pthread_equal(pthread_self(), main_thread));
  send_immediate(on, endpoint((task + 1) % tasks, 1), FIRST_ID, &left, sizeof left, NULL, 0);
  __atomic_fetch_add(&posted, 1, __ATOMIC_SEQ_CST);
  return PAMI_SUCCESS;
}

int main(void)
{
  async_progress_enable_function enable, disable;
  pami_work_t                    works[ITEMS];
  size_t                         i;
  start("communication_thread", 2);
  if (contexts < 2) return finish();
  main_thread = pthread_self();
  CHECK(PAMI_Extension_open(client, "EXT_async_progress", &extension));
  enable  = (async_progress_enable_function) PAMI_Extension_symbol(extension, "enable");
  disable = (async_progress_enable_function) PAMI_Extension_symbol(extension, "disable");
  REQUIRE(enable != NULL && disable != NULL);
  set_dispatch(context[1], FIRST_ID, receive, NULL);
  CHECK(enable(context[1], PAMIX_ASYNC_ALL));
  barrier();
  for (i = 0; i < ITEMS; i++) CHECK(PAMI_Context_post(context[1], &works[i], work, NULL));
  /* HOPS is even, so the last of a message's hops is at the sender's neighbour. */
  while (__atomic_load_n(&received, __ATOMIC_SEQ_CST) < ITEMS || __atomic_load_n(&posted, __ATOMIC_SEQ_CST) < ITEMS)
    sched_yield();
  barrier();
  REQUIRE(received == ITEMS && posted == ITEMS);
  CHECK(disable(context[1], PAMIX_ASYNC_ALL));
  CHECK(PAMI_Extension_close(extension));
  return finish();
}
