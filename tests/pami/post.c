/* PAMI_Context_post from several threads, without locks, to contexts that one thread advances: all work runs,
 * in that thread, as often as it asks for with PAMI_EAGAIN; work posts itself again and starts operations. */

#include "common.h"

enum { THREADS = 4, ITEMS = 2000, CONTEXTS = 2 };

typedef struct
{
  pami_work_t    work;
  pami_context_t on;
  size_t         refusals; /* times still to return PAMI_EAGAIN */
  size_t         reposts;  /* times still to post itself again */
  size_t         runs;
} item_t;

static item_t          items[THREADS][ITEMS];
static volatile size_t completed;
static volatile size_t received;
static pthread_t       owner;

static pami_result_t run(pami_context_t on, void * cookie)
{
  item_t * item = cookie;
  REQUIRE(on == item->on);
  REQUIRE(pthread_equal(pthread_self(), owner));
  ++item->runs;
  if (item->refusals > 0)
  {
    --item->refusals;
    return PAMI_EAGAIN;
  }
  if (item->reposts > 0)
  {
    --item->reposts;
    CHECK(PAMI_Context_post(on, &item->work, run, item));
    return PAMI_SUCCESS;
  }
  ++completed;
  return PAMI_SUCCESS;
}

static void * post_all(void * argument)
{
  item_t * mine = argument;
  size_t   i;
  for (i = 0; i < ITEMS; i++)
  {
    mine[i].on       = context[i % contexts];
    mine[i].refusals = i % 7 == 0 ? 3 : 0;
    mine[i].reposts  = i % 11 == 0 ? 2 : 0;
    CHECK(PAMI_Context_post(mine[i].on, &mine[i].work, run, &mine[i]));
  }
  return NULL;
}

/* Work that sends: only here may another thread's send happen, without a lock of its own. */
static pami_result_t send_from_work(pami_context_t on, void * cookie)
{
  char byte = 1;
  (void) cookie;
  send_immediate(on, endpoint((task + 1) % tasks, 0), FIRST_ID, &byte, 1, NULL, 0);
  return PAMI_SUCCESS;
}

static void * post_send(void * argument)
{
  CHECK(PAMI_Context_post(context[0], argument, send_from_work, NULL));
  return NULL;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
  ++received;
}

int main(void)
{
  pthread_t   threads[THREADS];
  pami_work_t works[THREADS];
  size_t      i, j;

  start("post", CONTEXTS);
  owner = pthread_self();
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();

  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, post_all, items[i]) == 0);
  wait_until(context[0], (contexts > 1 ? advance(context[1]) : (void) 0, completed == THREADS * ITEMS));
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < THREADS; i++)
    for (j = 0; j < ITEMS; j++)
      REQUIRE(items[i][j].runs == 1u + (j % 7 == 0 ? 3 : 0) + (j % 11 == 0 ? 2 : 0));
  barrier();

  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, post_send, &works[i]) == 0);
  wait_until(context[0], received == THREADS);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  return finish();
}
