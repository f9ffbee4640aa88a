/* Several contexts, each advanced by a thread of its own: messages between all pairs of contexts of this task
 * and the next, at the same time; then several threads that share all contexts under their locks. */

#include "common.h"

#include <sched.h>

enum { CONTEXTS = 4, MESSAGES = 200, SIZE = 2000 };

static volatile size_t received[CONTEXTS];
static int             finished; /* threads that have sent and received everything */
static int             stop;

typedef struct
{
  size_t from; /* offset of the sending context */
  size_t sequence;
} header_t;

typedef struct
{
  header_t header;
  size_t   to;
  char     buffer[SIZE];
} reception_t;

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  reception_t * reception = cookie;
  CHECK(result);
  REQUIRE(on == context[reception->to]);
  verify(reception->buffer, SIZE, reception->header.from + reception->header.sequence);
  ++received[reception->to];
  free(reception);
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  reception_t * reception = allocate(sizeof *reception);
  pami_task_t   from;
  size_t        offset;
  reception->to = (uintptr_t) cookie;
  REQUIRE(on == context[reception->to] && size == SIZE && header_size == sizeof(header_t));
  memcpy(&reception->header, header, sizeof(header_t));
  CHECK(PAMI_Endpoint_query(origin, &from, &offset));
  REQUIRE(from == (task + tasks - 1) % tasks && offset == reception->header.from);
  if (recv == NULL)
  {
    memcpy(reception->buffer, pipe, size);
    received_all(on, reception, PAMI_SUCCESS);
    return;
  }
  recv->cookie      = reception;
  recv->local_fn    = received_all;
  recv->addr        = reception->buffer;
  recv->type        = PAMI_TYPE_BYTE;
  recv->offset      = 0;
  recv->data_fn     = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

/* Sends from context `mine` to all contexts of the next task and receives as many. */
static void work(size_t mine)
{
  volatile size_t done = 0;
  header_t        header;
  char            data[SIZE];
  size_t          to;
  header.from = mine;
  for (header.sequence = 0; header.sequence < MESSAGES; header.sequence++)
    for (to = 0; to < contexts; to++)
    {
      pami_send_t send;
      fill(data, SIZE, mine + header.sequence);
      memset(&send, 0, sizeof send);
      send.send.header.iov_base = &header;
      send.send.header.iov_len  = sizeof header;
      send.send.data.iov_base   = data;
      send.send.data.iov_len    = SIZE;
      send.send.dispatch        = FIRST_ID;
      send.send.dest            = endpoint((task + 1) % tasks, to);
      send.events.cookie        = (void *) &done;
      send.events.local_fn      = count_event;
      done                      = 0;
      CHECK(PAMI_Send(context[mine], &send));
      wait_until(context[mine], done == 1);
    }
  wait_until(context[mine], received[mine] == contexts * MESSAGES);
  __sync_fetch_and_add(&finished, 1);
}

static void * run(void * argument)
{
  size_t mine = (uintptr_t) argument;
  work(mine);
  while (!__sync_fetch_and_add(&stop, 0)) advance(context[mine]);
  return NULL;
}

static pami_result_t count_work(pami_context_t on, void * cookie)
{
  (void) on;
  ++*(size_t *) cookie; /* the lock of the context protects it */
  return PAMI_SUCCESS;
}

/* Posts to every context and helps to advance all of them, under their locks. */
static void * share(void * argument)
{
  static size_t   counts[CONTEXTS];
  static int      sharers;
  pami_work_t     works[CONTEXTS];
  size_t          i;
  (void) argument;
  for (i = 0; i < contexts; i++) CHECK(PAMI_Context_post(context[i], &works[i], count_work, &counts[i]));
  for (;;)
  {
    pami_result_t result = PAMI_Context_trylock_advancev(context, contexts, 10);
    REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
    for (i = 0; i < contexts; i++)
    {
      size_t count;
      CHECK(PAMI_Context_lock(context[i]));
      count = counts[i];
      CHECK(PAMI_Context_unlock(context[i]));
      if (count != CONTEXTS) break;
    }
    if (i == contexts) break;
  }
  __sync_fetch_and_add(&sharers, 1);
  while (__sync_fetch_and_add(&sharers, 0) < CONTEXTS) sched_yield();
  return NULL;
}

int main(void)
{
  pthread_t threads[CONTEXTS];
  size_t    i;

  start("contexts", CONTEXTS);
  for (i = 0; i < contexts; i++) set_dispatch(context[i], FIRST_ID, receive, (void *) i);
  if (contexts > 1) REQUIRE(PAMI_Context_advancev(context, contexts, 1) != PAMI_INVAL);
  barrier();

  for (i = 1; i < contexts; i++) REQUIRE(pthread_create(&threads[i], NULL, run, (void *) i) == 0);
  work(0);
  wait_until(context[0], __sync_fetch_and_add(&finished, 0) == (int) contexts);
  barrier(); /* all threads of all tasks have finished; until then all of them advance */
  __sync_fetch_and_add(&stop, 1);
  for (i = 1; i < contexts; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  barrier();

  for (i = 0; i < CONTEXTS; i++) REQUIRE(pthread_create(&threads[i], NULL, share, NULL) == 0);
  for (i = 0; i < CONTEXTS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  return finish();
}
