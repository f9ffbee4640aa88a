/* What the test programs share: set-up, checks, waiting, a barrier and an exchange that use only
 * PAMI_Send_immediate, and data patterns. A program ends with status 0, with 1 and a message on stderr if a
 * check fails, or with 77 if it needs more tasks. */

#ifndef COMMON_H
#define COMMON_H

#include <pami.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#define UNUSED __attribute__((unused))
#else
#define UNUSED
#endif

enum
{
  MAX_TASKS       = 128,   /* greatest job that the programs run in */
  MAX_CONTEXTS    = 16,
  EXCHANGE_BYTES  = 32,    /* greatest block of exchange() */
  TIME_LIMIT      = 60,    /* seconds of PAMI_Wtime that wait_until() waits */
  BARRIER_ID      = 1,     /* dispatch identifiers of this file */
  EXCHANGE_ID     = 2,
  FIRST_ID        = 3      /* first dispatch identifier of the programs */
};

static pami_client_t  client;
static pami_context_t context[MAX_CONTEXTS];
static size_t         contexts;
static size_t         task;
static size_t         tasks;

/* ------------------------------------------------ Checks ------------------------------------------------ */

#define FAIL(...)                                                          \
  do                                                                       \
  {                                                                        \
    fprintf(stderr, "%s:%d: task %zu: ", __FILE__, __LINE__, task);        \
    fprintf(stderr, __VA_ARGS__);                                          \
    fputc('\n', stderr);                                                   \
    exit(1);                                                               \
  } while (0)

/* The condition holds. */
#define REQUIRE(condition)                       \
  do                                             \
  {                                              \
    if (!(condition)) FAIL("not so: %s", #condition); \
  } while (0)

/* The call returns `expected`. */
#define EXPECT(expected, call)                                                                    \
  do                                                                                              \
  {                                                                                               \
    pami_result_t got_ = (call);                                                                  \
    if (got_ != (expected)) FAIL("%s returned %d, not %s", #call, (int) got_, #expected);         \
  } while (0)

/* The number is the expected one; what follows is a format and its arguments that say which number it is. */
#define EXPECT_VALUE(expected, value, ...)                                                       \
  do                                                                                             \
  {                                                                                              \
    double expected_ = (double) (expected), value_ = (double) (value);                           \
    if (value_ != expected_)                                                                     \
    {                                                                                            \
      fprintf(stderr, "%s:%d: task %zu: ", __FILE__, __LINE__, task);                            \
      fprintf(stderr, __VA_ARGS__);                                                              \
      fprintf(stderr, " is %.17g, not %.17g\n", value_, expected_);                              \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

/* The call succeeds. */
#define CHECK(call) EXPECT(PAMI_SUCCESS, call)

/* ----------------------------------------------- Progress ----------------------------------------------- */

static UNUSED void advance(pami_context_t on)
{
  pami_result_t result = PAMI_Context_advance(on, 10);
  if (result != PAMI_SUCCESS && result != PAMI_EAGAIN) FAIL("advance returned %d", (int) result);
}

/* Advances the context until the condition holds. */
#define wait_until(on, condition)                                                                    \
  do                                                                                                 \
  {                                                                                                  \
    double limit_ = PAMI_Wtime(client) + TIME_LIMIT;                                                 \
    while (!(condition))                                                                             \
    {                                                                                                \
      advance(on);                                                                                   \
      if (PAMI_Wtime(client) > limit_) FAIL("still not so after %d s: %s", TIME_LIMIT, #condition);  \
    }                                                                                                \
  } while (0)

/* Completion callback: adds 1 to the counter that the cookie points to. */
static UNUSED void count_event(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  if (result != PAMI_SUCCESS) FAIL("completion with result %d", (int) result);
  ++*(volatile size_t *) cookie;
}

static UNUSED pami_endpoint_t endpoint(size_t to_task, size_t offset)
{
  pami_endpoint_t made;
  CHECK(PAMI_Endpoint_create(client, (pami_task_t) to_task, offset, &made));
  return made;
}

static UNUSED size_t origin_task(pami_endpoint_t origin)
{
  pami_task_t from;
  size_t      offset;
  CHECK(PAMI_Endpoint_query(origin, &from, &offset));
  return from;
}

static UNUSED void send_immediate(pami_context_t on, pami_endpoint_t to, size_t dispatch, const void * header,
                                  size_t header_size, const void * data, size_t data_size)
{
  pami_send_immediate_t send;
  pami_result_t         result;
  memset(&send, 0, sizeof send);
  send.header.iov_base = (void *) header;
  send.header.iov_len  = header_size;
  send.data.iov_base   = (void *) data;
  send.data.iov_len    = data_size;
  send.dispatch        = dispatch;
  send.dest            = to;
  while ((result = PAMI_Send_immediate(on, &send)) == PAMI_EAGAIN) advance(on);
  CHECK(result);
}

static UNUSED void set_dispatch(pami_context_t on, size_t dispatch, pami_dispatch_p2p_function function,
                                void * cookie)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  memset(&hints, 0, sizeof hints);
  callback.p2p = function;
  CHECK(PAMI_Dispatch_set(on, dispatch, callback, cookie, hints));
}

static UNUSED size_t client_query(pami_attribute_name_t name)
{
  pami_configuration_t query;
  memset(&query, 0, sizeof query);
  query.name = name;
  CHECK(PAMI_Client_query(client, &query, 1));
  return query.value.intval;
}

/* ----------------------------------------- Barrier and exchange ----------------------------------------- */

static volatile size_t barrier_arrivals; /* at task 0: arrivals of other tasks, ever */
static volatile size_t barrier_releases; /* elsewhere: releases, ever */
static size_t          barriers;

static char            exchange_blocks[2][MAX_TASKS][EXCHANGE_BYTES];
static volatile size_t exchange_arrivals[2];
static size_t          exchanges;

/* Directs data, of which there is none, for messages that are a header alone. */
static UNUSED void no_data(pami_recv_t * recv, size_t size)
{
  REQUIRE(size == 0);
  if (recv == NULL) return;
  memset(recv, 0, sizeof *recv);
  recv->type    = PAMI_TYPE_BYTE;
  recv->data_fn = PAMI_DATA_COPY;
}

static void barrier_dispatch(pami_context_t on, void * cookie, const void * header, size_t header_size,
                             const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
  if (task == 0)
    ++barrier_arrivals;
  else
    ++barrier_releases;
}

static void exchange_dispatch(pami_context_t on, void * cookie, const void * header, size_t header_size,
                              const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  const char * bytes = header;
  size_t       parity;
  (void) on, (void) cookie, (void) pipe;
  no_data(recv, size);
  REQUIRE(header_size > 1 && header_size <= EXCHANGE_BYTES + 1);
  parity = (size_t) bytes[0];
  REQUIRE(parity < 2);
  memcpy(exchange_blocks[parity][origin_task(origin)], bytes + 1, header_size - 1);
  ++exchange_arrivals[parity];
}

/* Waits until all tasks have called it as often as this one. Uses context 0. */
static UNUSED void barrier(void)
{
  size_t i;
  char   byte = 0;
  ++barriers;
  if (task == 0)
  {
    wait_until(context[0], barrier_arrivals >= barriers * (tasks - 1));
    for (i = 1; i < tasks; i++) send_immediate(context[0], endpoint(i, 0), BARRIER_ID, &byte, 1, NULL, 0);
  }
  else
  {
    send_immediate(context[0], endpoint(0, 0), BARRIER_ID, &byte, 1, NULL, 0);
    wait_until(context[0], barrier_releases >= barriers);
  }
}

/* Gives `size` bytes of every task to every task, in `all`, in the order of the tasks. Uses context 0. */
static UNUSED void exchange(const void * mine, size_t size, void * all)
{
  size_t parity = exchanges++ % 2;
  size_t i;
  char   header[EXCHANGE_BYTES + 1];
  REQUIRE(size <= EXCHANGE_BYTES);
  header[0] = (char) parity;
  memcpy(header + 1, mine, size);
  memcpy(exchange_blocks[parity][task], mine, size);
  for (i = 1; i < tasks; i++)
    send_immediate(context[0], endpoint((task + i) % tasks, 0), EXCHANGE_ID, header, size + 1, NULL, 0);
  wait_until(context[0], exchange_arrivals[parity] >= tasks - 1);
  exchange_arrivals[parity] -= tasks - 1;
  for (i = 0; i < tasks; i++) memcpy((char *) all + i * size, exchange_blocks[parity][i], size);
}

/* ------------------------------------------------ Set-up ------------------------------------------------ */

/* Creates the client and `count` contexts, or as many as there can be. */
static UNUSED void start(const char * name, size_t count)
{
  size_t i, most;
  CHECK(PAMI_Client_create(name, &client, NULL, 0));
  task  = client_query(PAMI_CLIENT_TASK_ID);
  tasks = client_query(PAMI_CLIENT_NUM_TASKS);
  most  = client_query(PAMI_CLIENT_NUM_CONTEXTS);
  REQUIRE(task < tasks && tasks <= MAX_TASKS);
  contexts = count < most ? count : most;
  REQUIRE(contexts >= 1 && contexts <= MAX_CONTEXTS);
  CHECK(PAMI_Context_createv(client, NULL, 0, context, contexts));
  for (i = 0; i < contexts; i++) REQUIRE(context[i] != NULL);
  set_dispatch(context[0], BARRIER_ID, barrier_dispatch, NULL);
  set_dispatch(context[0], EXCHANGE_ID, exchange_dispatch, NULL);
}

/* Waits for all tasks and destroys contexts and client. */
static UNUSED int finish(void)
{
  barrier();
  CHECK(PAMI_Context_destroyv(context, contexts));
  CHECK(PAMI_Client_destroy(&client));
  if (task == 0) printf("ok\n");
  return 0;
}

/* Ends the program with status 77 if the job has too few tasks. */
static UNUSED void need_tasks(size_t count)
{
  if (tasks >= count) return;
  printf("needs %zu tasks\n", count);
  exit(77);
}

/* ------------------------------------------------- Data ------------------------------------------------- */

static UNUSED void * allocate(size_t size)
{
  void * memory = calloc(size != 0 ? size : 1, 1);
  REQUIRE(memory != NULL);
  return memory;
}

static UNUSED unsigned char pattern(size_t seed, size_t i)
{
  return (unsigned char) (seed * 131 + i * 7 + i / 251 + 1);
}

static UNUSED void fill(void * buffer, size_t size, size_t seed)
{
  size_t i;
  for (i = 0; i < size; i++) ((unsigned char *) buffer)[i] = pattern(seed, i);
}

static UNUSED void verify(const void * buffer, size_t size, size_t seed)
{
  size_t i;
  for (i = 0; i < size; i++)
    if (((const unsigned char *) buffer)[i] != pattern(seed, i))
      FAIL("byte %zu of %zu is %d, not %d", i, size, ((const unsigned char *) buffer)[i], pattern(seed, i));
}

/* --------------------------------------------- Collectives ---------------------------------------------- */

/* Runs a collective to its end on a context. */
static UNUSED void run_collective(pami_context_t on, pami_xfer_t * xfer)
{
  volatile size_t done = 0;
  xfer->cb_done        = count_event;
  xfer->cookie         = (void *) &done;
  CHECK(PAMI_Collective(on, xfer));
  wait_until(on, done == 1);
}

/* The first algorithm of a geometry that always works for an operation. */
static UNUSED pami_algorithm_t first_algorithm(pami_geometry_t geometry, pami_xfer_type_t type)
{
  size_t             lengths[2] = {0, 0};
  pami_algorithm_t * algorithms;
  pami_algorithm_t   first;
  CHECK(PAMI_Geometry_algorithms_num(geometry, type, lengths));
  REQUIRE(lengths[0] >= 1);
  algorithms = allocate(lengths[0] * sizeof *algorithms);
  CHECK(PAMI_Geometry_algorithms_query(geometry, type, algorithms, NULL, lengths[0], NULL, NULL, 0));
  first = algorithms[0];
  free(algorithms);
  return first;
}

#endif
