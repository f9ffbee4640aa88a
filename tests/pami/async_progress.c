/* Communication threads, which EXT_async_progress enables: contexts make progress while the threads of the program
 * compute; posted work, dispatch functions and callbacks run there; threads of the program use the same contexts
 * under their locks. Context 0 stays with the main thread. */

#include "common.h"
#include <pami_ext.h>
#include <sched.h>
#include <time.h>

enum
{
  CONTEXTS = 4,
  THREADS  = 4,
  ITEMS    = 500,
  ROUNDS   = 200,
  LONG     = 300000,
  PING_ID  = FIRST_ID, /* a message, which is answered until its count is 0 */
  DATA_ID,             /* data with the pattern of its sender, received into a buffer of its sender */
  HINT_ID
};

static pami_extension_t                 extension;
static async_progress_register_function progress_register;
static async_progress_enable_function   progress_enable;
static async_progress_disable_function  progress_disable;

static pthread_t main_thread;

/* Whether it runs on a simulated node, where a loop without a call would take no time. */
static int is_simulated;

static void enable(pami_context_t on)
{
  CHECK(progress_register(on, NULL, NULL, NULL, NULL));
  CHECK(progress_enable(on, PAMIX_ASYNC_ALL));
}

static void disable(pami_context_t on) { CHECK(progress_disable(on, PAMIX_ASYNC_ALL)); }

/* Computes, without a call of PAMI, until the condition holds; on a simulated node it gives way meanwhile. */
#define compute_until(condition)                                                             \
  do                                                                                         \
  {                                                                                          \
    time_t limit_ = time(NULL) + TIME_LIMIT;                                                 \
    volatile double x_ = 1;                                                                  \
    size_t          n_;                                                                      \
    while (!(condition))                                                                     \
    {                                                                                        \
      for (n_ = 0; n_ < 2000; n_++) x_ = x_ * 1.0000001 + 1e-9;                              \
      if (is_simulated) sched_yield();                                                       \
      if (time(NULL) > limit_) FAIL("still not so after %d s: %s", TIME_LIMIT, #condition);  \
    }                                                                                        \
  } while (0)

#define count(counter) __atomic_fetch_add(&(counter), 1, __ATOMIC_SEQ_CST)
#define value(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)

/* --------------------------------------------- Sends ----------------------------------------------------- */

static size_t pings_done, data_received, sent, delivered;
static char * arrived[MAX_TASKS];

static void ping(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                 size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t left;
  (void) cookie, (void) pipe;
  REQUIRE(!pthread_equal(pthread_self(), main_thread));
  no_data(recv, size);
  REQUIRE(header_size == sizeof left);
  memcpy(&left, header, sizeof left);
  if (left == 0)
  {
    count(pings_done);
    return;
  }
  --left;
  send_immediate(on, origin, PING_ID, &left, sizeof left, NULL, 0);
  if (left == 0) count(pings_done);
}

static void data_arrived(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  REQUIRE(result == PAMI_SUCCESS && !pthread_equal(pthread_self(), main_thread));
  verify(arrived[(size_t) cookie], LONG, (size_t) cookie);
  memset(arrived[(size_t) cookie], 0, LONG);
  count(data_received);
}

static void receive_data(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                         size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t from = origin_task(origin);
  (void) on, (void) cookie, (void) header, (void) header_size;
  REQUIRE(pipe == NULL && size == LONG);
  memset(recv, 0, sizeof *recv);
  recv->type     = PAMI_TYPE_BYTE;
  recv->data_fn  = PAMI_DATA_COPY;
  recv->addr     = arrived[from];
  recv->local_fn = data_arrived;
  recv->cookie   = (void *) from;
}

static void add_one(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  REQUIRE(result == PAMI_SUCCESS);
  __atomic_fetch_add((size_t *) cookie, 1, __ATOMIC_SEQ_CST);
}

static void remote_done(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on, (void) cookie;
  REQUIRE(result == PAMI_SUCCESS);
  count(delivered);
}

static void send_data(pami_context_t on, size_t to, const char * data)
{
  pami_send_t send;
  memset(&send, 0, sizeof send);
  send.send.dispatch      = DATA_ID;
  send.send.dest          = endpoint(to, 1);
  send.send.data.iov_base = (void *) data;
  send.send.data.iov_len  = LONG;
  send.events.cookie      = &sent;
  send.events.local_fn    = add_one;
  send.events.remote_fn   = remote_done;
  CHECK(PAMI_Send(on, &send));
}

/* Every task plays ping-pong with the next, and sends long data to it, while the main threads compute. */
static void messages(void)
{
  size_t next = (task + 1) % tasks, left = 2 * ROUNDS - 1, i;
  char * data = allocate(LONG);
  fill(data, LONG, task);
  for (i = 0; i < tasks; i++) arrived[i] = allocate(LONG);
  barrier();
  CHECK(PAMI_Context_lock(context[1]));
  send_immediate(context[1], endpoint(next, 1), PING_ID, &left, sizeof left, NULL, 0);
  CHECK(PAMI_Context_unlock(context[1]));
  /* The own ping-pong and that of the task before. */
  compute_until(value(pings_done) == 2);
  for (i = 1; i <= 5; i++)
  {
    CHECK(PAMI_Context_lock(context[1]));
    send_data(context[1], next, data);
    CHECK(PAMI_Context_unlock(context[1]));
    compute_until(value(data_received) == i && value(sent) == i && value(delivered) == i);
    barrier();
  }
  free(data);
}

/* ------------------------------------------- Posted work ------------------------------------------------- */

typedef struct
{
  pami_work_t    work;
  pami_context_t on;
  size_t *       last; /* the number of the item that its thread posted to its context before, once that has run */
  size_t         number, refusals;
} item_t;

static item_t items[THREADS][ITEMS];
static size_t last_of[THREADS][CONTEXTS];
static size_t works_done;

static pami_result_t run(pami_context_t on, void * cookie)
{
  item_t * item = cookie;
  REQUIRE(on == item->on && !pthread_equal(pthread_self(), main_thread));
  if (item->refusals > 0)
  {
    --item->refusals;
    return PAMI_EAGAIN;
  }
  /* In the order of its thread, apart from those that have to run again. */
  if (item->last != NULL && item->number % 50 != 0)
  {
    REQUIRE(item->number > *item->last);
    *item->last = item->number;
  }
  count(works_done);
  return PAMI_SUCCESS;
}

static void * post_all(void * argument)
{
  item_t * mine = argument;
  size_t   i;
  for (i = 0; i < ITEMS; i++)
  {
    mine[i].on       = context[1 + i % (contexts - 1)];
    mine[i].number   = i;
    mine[i].last     = &last_of[(mine - items[0]) / ITEMS][i % (contexts - 1)];
    mine[i].refusals = i % 50 == 0 ? 2 : 0;
    CHECK(PAMI_Context_post(mine[i].on, &mine[i].work, run, &mine[i]));
  }
  return NULL;
}

static pami_result_t start_send(pami_context_t on, void * cookie)
{
  send_data(on, (task + 1) % tasks, cookie);
  return PAMI_SUCCESS;
}

static pami_result_t start_collective(pami_context_t on, void * cookie)
{
  CHECK(PAMI_Collective(on, cookie));
  return PAMI_SUCCESS;
}

/* Work of several threads; sends and collectives are handed over to the communication thread. */
static void posts(void)
{
  pthread_t       threads[THREADS];
  pami_work_t     work;
  pami_geometry_t world;
  pami_xfer_t     allreduce;
  size_t          i, sum, mine, done = 0, before = value(data_received);
  char *          data = allocate(LONG);

  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, post_all, items[i]) == 0);
  compute_until(value(works_done) == THREADS * ITEMS);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);

  fill(data, LONG, task);
  barrier();
  CHECK(PAMI_Context_post(context[1], &work, start_send, data));
  compute_until(value(data_received) == before + 1 && value(sent) == before + 1 && value(delivered) == before + 1);
  barrier();
  free(data);

  CHECK(PAMI_Geometry_world(client, &world));
  memset(&allreduce, 0, sizeof allreduce);
  allreduce.cb_done                          = add_one;
  allreduce.cookie                           = &done;
  allreduce.algorithm                        = first_algorithm(world, PAMI_XFER_ALLREDUCE);
  allreduce.cmd.xfer_allreduce.sndbuf        = (char *) &mine;
  allreduce.cmd.xfer_allreduce.stype         = PAMI_TYPE_UNSIGNED_LONG;
  allreduce.cmd.xfer_allreduce.stypecount    = 1;
  allreduce.cmd.xfer_allreduce.rcvbuf        = (char *) &sum;
  allreduce.cmd.xfer_allreduce.rtype         = PAMI_TYPE_UNSIGNED_LONG;
  allreduce.cmd.xfer_allreduce.rtypecount    = 1;
  allreduce.cmd.xfer_allreduce.op            = PAMI_DATA_SUM;
  /* Members of the world are the contexts 0. */
  enable(context[0]);
  for (i = 1; i <= 20; i++)
  {
    mine = i * (task + 1);
    CHECK(PAMI_Context_post(context[0], &work, start_collective, &allreduce));
    compute_until(value(done) == i);
    EXPECT_VALUE(i * tasks * (tasks + 1) / 2, sum, "the sum of round %zu", i);
  }
  disable(context[0]);
}

/* --------------------------------------- Threads of the program ------------------------------------------ */

static size_t rounds_done;

/* Uses all contexts besides the communication threads, under their locks. */
static void * contend(void * argument)
{
  size_t i, zero = 0, own = (size_t) argument;
  for (i = 0; i < ROUNDS; i++)
  {
    size_t         at   = 1 + (own + i) % (contexts - 1);
    pami_context_t on[2] = {context[at], context[1]};
    if ((own + i) % 3 == 0)
    {
      pami_result_t result = PAMI_Context_trylock_advancev(on, 2, 3);
      REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
      continue;
    }
    CHECK(PAMI_Context_lock(on[0]));
    send_immediate(on[0], endpoint((task + 1) % tasks, at), PING_ID, &zero, sizeof zero, NULL, 0);
    if (i % 2 == 0)
    {
      pami_result_t result = PAMI_Context_advance(on[0], 1);
      REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
    }
    CHECK(PAMI_Context_unlock(on[0]));
    count(rounds_done);
  }
  return NULL;
}

static void contention(void)
{
  pthread_t threads[THREADS];
  size_t    i, before = value(pings_done);
  barrier();
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, contend, (void *) i) == 0);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  /* All tasks send as many. */
  compute_until(value(pings_done) == before + value(rounds_done));
  barrier();
}

/* ------------------------------------- Enabling and disabling -------------------------------------------- */

static void switching(void)
{
  size_t      i, zero = 0, before;
  pami_work_t work;
  item_t      item;

  memset(&item, 0, sizeof item);
  item.on = context[2 % contexts];
  for (i = 0; i < 50; i++)
  {
    before = value(works_done);
    CHECK(PAMI_Context_post(item.on, &work, run, &item));
    if (i % 2 == 0) compute_until(value(works_done) == before + 1);
    disable(item.on);
    enable(item.on);
    compute_until(value(works_done) == before + 1);
  }
  disable(item.on);
  disable(item.on);

  /* Without a communication thread only the program advances. */
  barrier();
  before = value(pings_done);
  send_immediate(item.on, endpoint((task + 1) % tasks, 2 % contexts), PING_ID, &zero, sizeof zero, NULL, 0);
  barrier();
  REQUIRE(value(pings_done) == before);
  enable(item.on);
  compute_until(value(pings_done) == before + 1);

  /* As the reference's example programs do: wait until the communication thread has the lock. */
  for (;;)
  {
    pami_result_t result = PAMI_Context_trylock(item.on);
    if (result == PAMI_EAGAIN) break;
    CHECK(result);
    CHECK(PAMI_Context_unlock(item.on));
  }
}

/* A handler of the program says when a context should be advanced. */
static size_t notices;

static void notice(pami_context_t on, void * cookie)
{
  REQUIRE(on == context[1] && cookie == (void *) &notices && !pthread_equal(pthread_self(), main_thread));
  count(notices);
}

static void handlers(void)
{
  size_t i, before, zero = 0;
  disable(context[1]);
  CHECK(progress_register(context[1], notice, NULL, NULL, &notices));
  CHECK(progress_enable(context[1], PAMIX_ASYNC_ALL));
  barrier();
  for (i = 0; i < 10; i++)
  {
    before = value(pings_done);
    CHECK(PAMI_Context_lock(context[1]));
    send_immediate(context[1], endpoint((task + 1) % tasks, 1), PING_ID + 100, &zero, sizeof zero, NULL, 0);
    CHECK(PAMI_Context_unlock(context[1]));
    while (value(pings_done) == before)
    {
      compute_until(value(notices) > 0);
      CHECK(PAMI_Context_lock(context[1]));
      advance(context[1]);
      CHECK(PAMI_Context_unlock(context[1]));
    }
    barrier();
  }
  disable(context[1]);
}

static void noticed(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  REQUIRE(pthread_equal(pthread_self(), main_thread));
  no_data(recv, size);
  count(pings_done);
}

int main(void)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  size_t                          i;

  start("async_progress", CONTEXTS);
  REQUIRE(contexts >= 2);
  main_thread = pthread_self();
  if (PAMI_Extension_open(client, "EXT_torus_network", &extension) == PAMI_SUCCESS)
  {
    is_simulated = 1;
    CHECK(PAMI_Extension_close(extension));
  }
  CHECK(PAMI_Extension_open(client, "EXT_async_progress", &extension));
  progress_register = (async_progress_register_function) PAMI_Extension_symbol(extension, "register");
  progress_enable   = (async_progress_enable_function) PAMI_Extension_symbol(extension, "enable");
  progress_disable  = (async_progress_disable_function) PAMI_Extension_symbol(extension, "disable");
  REQUIRE(progress_register != NULL && progress_enable != NULL && progress_disable != NULL);
  EXPECT(PAMI_UNIMPL, progress_enable(context[1], PAMIX_ASYNC_TIMER));
  EXPECT(PAMI_INVAL, progress_enable(NULL, PAMIX_ASYNC_ALL));
  CHECK(progress_disable(context[1], PAMIX_ASYNC_ALL));

  memset(&hints, 0, sizeof hints);
  hints.remote_async_progress = PAMI_HINT_ENABLE;
  callback.p2p                = ping;
  EXPECT(PAMI_ERROR, PAMI_Dispatch_set(context[1], HINT_ID, callback, NULL, hints));
  REQUIRE(client_query((pami_attribute_name_t) PAMIX_CLIENT_ASYNC_GUARANTEE) == 1);
  for (i = 1; i < contexts; i++)
  {
    set_dispatch(context[i], PING_ID, ping, NULL);
    set_dispatch(context[i], PING_ID + 100, noticed, NULL);
    set_dispatch(context[i], DATA_ID, receive_data, NULL);
    enable(context[i]);
  }
  CHECK(PAMI_Context_lock(context[1]));
  CHECK(PAMI_Dispatch_set(context[1], HINT_ID, callback, NULL, hints));
  CHECK(PAMI_Context_unlock(context[1]));

  messages();
  posts();
  contention();
  switching();
  handlers();
  CHECK(PAMI_Extension_close(extension));
  /* Contexts are destroyed while their communication threads run. */
  return finish();
}
