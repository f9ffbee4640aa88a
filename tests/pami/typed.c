/* Data between layouts: PAMI_Send_typed and receives with types, offsets and data functions, from short to
 * long, the hints recv_contiguous and recv_copy, and typed puts and gets. Each byte is compared with a plain
 * computation. */

#include "common.h"

enum
{
  MOST     = 200000,   /* bytes of data */
  AREA     = 4 * MOST,
  GAP      = 0x55,
  PLAIN_ID = FIRST_ID, /* with the hints recv_contiguous and recv_copy */
  TYPED_ID,
  LAYOUTS  = 5
};

/* Layouts: bytes; blocks of 8 at 24; blocks of 16 in falling order; a type of types with gaps; contiguous,
 * but not predefined. */
static pami_type_t layouts[LAYOUTS];

static size_t position(size_t layout, size_t n)
{
  switch (layout)
  {
    case 1: return n / 8 * 24 + n % 8;
    case 2: return n / 64 * 64 + (48 - n % 64 / 16 * 16) + n % 16;
    /* Three times a block of 8, 4 bytes behind the start, every 12; then 20 bytes without data. */
    case 3: return n / 24 * 56 + 4 + n % 24 / 8 * 12 + n % 8;
    default: return n;
  }
}

static void build(void)
{
  pami_type_t inner;
  size_t      i;
  for (i = 1; i < LAYOUTS; i++) CHECK(PAMI_Type_create(&layouts[i]));
  layouts[0] = PAMI_TYPE_BYTE;
  CHECK(PAMI_Type_add_simple(layouts[1], 8, 0, 10, 24));
  CHECK(PAMI_Type_complete(layouts[1], 8));
  CHECK(PAMI_Type_add_simple(layouts[2], 16, 48, 4, (size_t) -16));
  CHECK(PAMI_Type_add_simple(layouts[2], 0, 80, 0, 0));
  CHECK(PAMI_Type_complete(layouts[2], 8));
  CHECK(PAMI_Type_create(&inner));
  CHECK(PAMI_Type_add_simple(inner, 8, 4, 1, 8));
  CHECK(PAMI_Type_complete(inner, 8));
  CHECK(PAMI_Type_add_typed(layouts[3], inner, 0, 3, 12));
  CHECK(PAMI_Type_add_simple(layouts[3], 0, 20, 0, 0));
  CHECK(PAMI_Type_complete(layouts[3], 8));
  CHECK(PAMI_Type_destroy(&inner));
  CHECK(PAMI_Type_add_typed(layouts[4], PAMI_TYPE_DOUBLE, 0, 7, 8));
  CHECK(PAMI_Type_complete(layouts[4], 8));
}

typedef enum { COPY, INVERT, SUM, NOOP, FUNCTIONS } function_t;

typedef struct
{
  size_t     from, to;       /* layouts */
  size_t     from_offset, to_offset;
  size_t     size;
  function_t sending, receiving;
} header_t;

static unsigned char   reception_area[AREA + 64], wanted[AREA];
static header_t        reception;
static volatile size_t received;
static int             marker;

static void invert(void * target, void * source, size_t bytes, void * cookie)
{
  size_t i;
  REQUIRE(cookie == &marker && bytes > 0 && bytes % 8 == 0);
  for (i = 0; i < bytes; i++) ((unsigned char *) target)[i] = (unsigned char) ~((unsigned char *) source)[i];
}

static pami_data_function data_function(function_t function)
{
  switch (function)
  {
    case INVERT: return invert;
    case SUM: return PAMI_DATA_SUM;
    case NOOP: return PAMI_DATA_NOOP;
    default: return PAMI_DATA_COPY;
  }
}

static unsigned char applied(function_t function, unsigned char target, unsigned char source)
{
  switch (function)
  {
    case INVERT: return (unsigned char) ~source;
    case SUM: return (unsigned char) (target + source);
    case NOOP: return target;
    default: return source;
  }
}

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  size_t i;
  (void) on;
  CHECK(result);
  REQUIRE(cookie == &reception);
  memset(wanted, GAP, AREA);
  for (i = 0; i < reception.size; i++)
  {
    size_t        at   = position(reception.to, reception.to_offset + i);
    unsigned char sent = applied(reception.sending, 0, pattern(3, i));
    wanted[at]         = applied(reception.receiving, wanted[at], sent);
  }
  if (memcmp(reception_area, wanted, AREA) != 0)
    FAIL("%zu bytes from layout %zu + %zu (function %d) to layout %zu + %zu (function %d) are wrong",
         reception.size, reception.from, reception.from_offset, (int) reception.sending, reception.to,
         reception.to_offset, (int) reception.receiving);
  ++received;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) origin;
  REQUIRE(header_size == sizeof reception);
  memcpy(&reception, header, sizeof reception);
  REQUIRE(size == reception.size);
  memset(reception_area, GAP, sizeof reception_area);
  if (recv == NULL)
  {
    CHECK(PAMI_Type_transform_data((void *) pipe, PAMI_TYPE_BYTE, 0, reception_area, layouts[reception.to],
                                   reception.to_offset, size, data_function(reception.receiving), &marker));
    received_all(on, &reception, PAMI_SUCCESS);
    return;
  }
  REQUIRE(recv->data_fn == PAMI_DATA_COPY && recv->type == PAMI_TYPE_BYTE);
  recv->cookie   = &reception;
  recv->local_fn = received_all;
  recv->addr     = reception_area;
  if (cookie != NULL)
  {
    /* What the hints say is not read. */
    recv->type        = (pami_type_t) &marker;
    recv->offset      = 77;
    recv->data_fn     = (pami_data_function) invert;
    recv->data_cookie = NULL;
    return;
  }
  recv->type        = layouts[reception.to];
  recv->offset      = reception.to_offset;
  recv->data_fn     = data_function(reception.receiving);
  recv->data_cookie = &marker;
}

static void send(const header_t * header, size_t dispatch, size_t to)
{
  static unsigned char area[AREA];
  volatile size_t      done = 0;
  size_t               i, expected = received + 1;
  pami_send_typed_t    send;

  memset(area, 0xee, AREA);
  for (i = 0; i < header->size; i++) area[position(header->from, header->from_offset + i)] = pattern(3, i);
  barrier();
  memset(&send, 0, sizeof send);
  send.send.header.iov_base = (void *) header;
  send.send.header.iov_len  = sizeof *header;
  send.send.data.iov_base   = area;
  send.send.data.iov_len    = header->size;
  send.send.dispatch        = dispatch;
  send.send.dest            = endpoint(to, 0);
  send.events.cookie        = (void *) &done;
  send.events.local_fn      = count_event;
  send.events.remote_fn     = header->size % 16 == 0 ? count_event : NULL;
  send.typed.type           = layouts[header->from];
  send.typed.offset         = header->from_offset;
  send.typed.data_fn        = data_function(header->sending);
  send.typed.data_cookie    = &marker;
  CHECK(PAMI_Send_typed(context[0], &send));
  wait_until(context[0], done == (size_t) (send.events.remote_fn != NULL ? 2 : 1) && received == expected);
  barrier();
}

/* A put to, and a get from, the next task. The window of the task before this one's transfers is checked. */
static void put_and_get(size_t local, size_t remote, size_t size, void ** windows)
{
  static unsigned char area[AREA];
  size_t               i, next = (task + 1) % tasks;
  volatile size_t      done = 0;
  pami_put_typed_t     put;
  pami_get_typed_t     get;

  memset(area, 0xee, AREA);
  for (i = 0; i < size; i++) area[position(local, i)] = pattern(5, i);
  memset(reception_area, GAP, sizeof reception_area);
  barrier();
  memset(&put, 0, sizeof put);
  put.rma.dest     = endpoint(next, 0);
  put.rma.bytes    = size;
  put.rma.cookie   = (void *) &done;
  put.rma.done_fn  = count_event;
  put.addr.local   = area;
  put.addr.remote  = windows[next];
  put.type.local   = layouts[local];
  put.type.remote  = layouts[remote];
  put.put.rdone_fn = count_event;
  CHECK(PAMI_Put_typed(context[0], &put));
  wait_until(context[0], done == 2);
  barrier();
  memset(wanted, GAP, AREA);
  for (i = 0; i < size; i++) wanted[position(remote, i)] = pattern(5, i);
  REQUIRE(memcmp(reception_area, wanted, AREA) == 0);

  memset(area, GAP, AREA);
  memset(&get, 0, sizeof get);
  get.rma  = put.rma;
  get.addr = put.addr;
  get.type = put.type;
  done     = 0;
  CHECK(PAMI_Get_typed(context[0], &get));
  wait_until(context[0], done == 1);
  memset(wanted, GAP, AREA);
  for (i = 0; i < size; i++) wanted[position(local, i)] = pattern(5, i);
  REQUIRE(memcmp(area, wanted, AREA) == 0);
  barrier();
}

static void one_sided(void)
{
  static const size_t sizes[] = {8, 104, 480, 4096, 20000};
  void *              mine    = reception_area;
  void *              windows[MAX_TASKS];
  size_t              i, local, remote;
  pami_put_typed_t    wrong;

  exchange(&mine, sizeof mine, windows);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (local = 0; local < LAYOUTS; local++)
      for (remote = 0; remote < LAYOUTS; remote++) put_and_get(local, remote, sizes[i], windows);
  memset(&wrong, 0, sizeof wrong);
  wrong.rma.dest    = endpoint(task, 0);
  wrong.addr.local  = mine;
  wrong.addr.remote = mine;
  wrong.type.local  = layouts[1];
  wrong.type.remote = layouts[1];
  EXPECT(PAMI_INVAL, PAMI_Put_typed(context[0], &wrong)); /* no bytes */
  wrong.rma.bytes   = 8;
  wrong.type.remote = PAMI_TYPE_NULL;
  EXPECT(PAMI_INVAL, PAMI_Put_typed(context[0], &wrong));
}

int main(void)
{
  static const size_t             sizes[] = {0, 8, 104, 400, 480, 560, 4088, 4096, 10000, MOST};
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;
  header_t                        header;
  size_t                          i;

  start("typed", 1);
  set_dispatch(context[0], TYPED_ID, receive, NULL);
  memset(&hints, 0, sizeof hints);
  hints.recv_contiguous = PAMI_HINT_ENABLE;
  hints.recv_copy       = PAMI_HINT_ENABLE;
  callback.p2p          = receive;
  CHECK(PAMI_Dispatch_set(context[0], PLAIN_ID, callback, &marker, hints));
  build();

  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
  {
    memset(&header, 0, sizeof header);
    header.size = sizes[i];
    for (header.from = 0; header.from < LAYOUTS; header.from++)
      for (header.to = 0; header.to < LAYOUTS; header.to++)
      {
        size_t to          = (task + 1 + header.to % 2 * (tasks - 1)) % tasks;
        header.from_offset = header.to_offset = 0;
        header.sending = header.receiving = COPY;
        send(&header, TYPED_ID, to);
        header.from_offset = 136;
        header.to_offset   = 88;
        send(&header, TYPED_ID, to);
        header.sending = INVERT;
        send(&header, TYPED_ID, to);
        header.receiving = INVERT;
        send(&header, TYPED_ID, to);
        header.sending   = COPY;
        header.receiving = NOOP;
        send(&header, TYPED_ID, to);
        if (header.to == 0)
        {
          header.receiving = SUM; /* of bytes */
          send(&header, TYPED_ID, to);
          header.to_offset = 0;
          header.receiving = COPY;
          send(&header, PLAIN_ID, to);
        }
      }
  }
  {
    pami_send_typed_t wrong;
    pami_type_t       open;
    memset(&wrong, 0, sizeof wrong);
    CHECK(PAMI_Type_create(&open));
    wrong.send.dispatch      = TYPED_ID;
    wrong.send.dest          = endpoint(task, 0);
    wrong.send.data.iov_base = &marker;
    wrong.send.data.iov_len  = sizeof marker;
    wrong.typed.data_fn      = PAMI_DATA_COPY;
    wrong.typed.type         = open;
    EXPECT(PAMI_INVAL, PAMI_Send_typed(context[0], &wrong)); /* not complete */
    CHECK(PAMI_Type_complete(open, 1));
    EXPECT(PAMI_INVAL, PAMI_Send_typed(context[0], &wrong)); /* no data */
    CHECK(PAMI_Type_destroy(&open));
  }
  barrier();
  one_sided();
  barrier();
  for (i = 1; i < LAYOUTS; i++) CHECK(PAMI_Type_destroy(&layouts[i]));
  return finish();
}
