/* PAMI_Send from 0 B to 4 MiB to the next task: header, data and all completion callbacks are checked, one
 * message at a time and several at once, with short, long and no headers. */

#include "common.h"

enum { MAX_SIZE = 4 << 20, LONG_HEADER = 3000, AT_ONCE = 20, PLAIN = FIRST_ID, NO_HEADER, LONG, FORCED, FETCHED, PACKETS,
       DISPATCHES = 6 };

typedef struct
{
  size_t size;
  size_t seed;
} header_t;

typedef struct
{
  header_t header;
  char *   buffer;
} reception_t;

static volatile size_t received;

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  reception_t * reception = cookie;
  REQUIRE(on == context[0]);
  CHECK(result);
  verify(reception->buffer, reception->header.size, reception->header.seed);
  free(reception->buffer);
  free(reception);
  ++received;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  size_t        dispatch  = (size_t) (uintptr_t) cookie;
  reception_t * reception = allocate(sizeof *reception);

  REQUIRE(on == context[0]);
  REQUIRE(origin_task(origin) == (task + tasks - 1) % tasks);
  if (dispatch == NO_HEADER)
  {
    REQUIRE(header_size == 0);
    reception->header.size = size;
    reception->header.seed = size;
  }
  else
  {
    REQUIRE(header_size == (dispatch == LONG ? LONG_HEADER : sizeof(header_t)));
    memcpy(&reception->header, header, sizeof(header_t));
    if (dispatch == LONG) verify((const char *) header + sizeof(header_t), header_size - sizeof(header_t), 5);
  }
  REQUIRE(reception->header.size == size);
  reception->buffer = allocate(size);

  REQUIRE((pipe != NULL) == (recv == NULL));
  if (recv == NULL)
  {
    REQUIRE(dispatch != FORCED && (dispatch != FETCHED || size == 0));
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

/* Sends without waiting. Adds 1 to `*done` for each of the two callbacks. */
static void send_message(size_t dispatch, const void * header, size_t header_size, const void * data,
                         size_t size, volatile size_t * done)
{
  pami_send_t send;
  memset(&send, 0, sizeof send);
  send.send.header.iov_base = (void *) header;
  send.send.header.iov_len  = header_size;
  send.send.data.iov_base   = (void *) data;
  send.send.data.iov_len    = size;
  send.send.dispatch        = dispatch;
  send.send.dest            = endpoint((task + 1) % tasks, 0);
  send.events.cookie        = (void *) done;
  send.events.local_fn      = count_event;
  send.events.remote_fn     = count_event;
  CHECK(PAMI_Send(context[0], &send));
  memset(&send, 0xff, sizeof send); /* the parameters are the caller's again */
}

int main(void)
{
  static const size_t sizes[] = {0,    1,    7,     8,     31,     64,     127,     128,    129,     256,
                                 511,  512,  513,   1000,  2048,   4095,   4096,    4097,   8192,    10000,
                                 16384, 32768, 65535, 65536, 65537, 100000, 262144, 1 << 20, MAX_SIZE - 1,
                                 MAX_SIZE};
  static const size_t dispatches[] = {PLAIN, NO_HEADER, LONG, FORCED, FETCHED, PACKETS};
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  char *                          data = allocate(MAX_SIZE);
  char                            header[LONG_HEADER];
  volatile size_t                 done;
  size_t                          i, j, expected = 0;

  start("send_sizes", 1);
  callback.p2p = receive;
  for (j = 0; j < DISPATCHES; j++)
  {
    memset(&hints, 0, sizeof hints);
    if (dispatches[j] == FORCED) hints.recv_immediate = PAMI_HINT_DISABLE;
    if (dispatches[j] == FETCHED) hints.use_rdma = PAMI_HINT_ENABLE;
    if (dispatches[j] == PACKETS) hints.use_rdma = PAMI_HINT_DISABLE;
    CHECK(PAMI_Dispatch_set(context[0], dispatches[j], callback, (void *) (uintptr_t) dispatches[j], hints));
  }
  barrier();

  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (j = 0; j < DISPATCHES; j++)
    {
      header_t first;
      size_t   header_size;
      first.size  = sizes[i];
      first.seed  = dispatches[j] == NO_HEADER ? sizes[i] : i + 10 * j + task;
      header_size = dispatches[j] == NO_HEADER ? 0 : dispatches[j] == LONG ? LONG_HEADER : sizeof first;
      memcpy(header, &first, sizeof first);
      fill(header + sizeof first, LONG_HEADER - sizeof first, 5);
      fill(data, sizes[i], first.seed);
      done = 0;
      send_message(dispatches[j], header_size != 0 ? header : NULL, header_size, data, sizes[i], &done);
      ++expected;
      wait_until(context[0], done == 2 && received >= expected);
    }
  barrier();

  /* Several at once, without waiting in between. The buffers differ. */
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
  {
    header_t headers[AT_ONCE];
    char *   buffers[AT_ONCE];
    if (sizes[i] > 1 << 20) continue;
    done = 0;
    for (j = 0; j < AT_ONCE; j++)
    {
      headers[j].size = sizes[i];
      headers[j].seed = i + j;
      buffers[j]      = allocate(sizes[i]);
      fill(buffers[j], sizes[i], i + j);
      send_message(PLAIN, &headers[j], sizeof headers[j], buffers[j], sizes[i], &done);
    }
    expected += AT_ONCE;
    wait_until(context[0], done == 2 * AT_ONCE && received >= expected);
    for (j = 0; j < AT_ONCE; j++) free(buffers[j]);
  }
  free(data);
  return finish();
}
