/* Types: building, queries, serialized form, PAMI_Type_transform_data, and typed sends, puts and gets between
 * the tasks, with every byte of the result compared with a plain computation. */

#include "common.h"

enum { ROWS = 50, COLUMN = 12, STRIDE = 40, DATA = ROWS * COLUMN, AREA = ROWS * STRIDE, GAP = 0x55 };

static volatile size_t received;

/* A column: ROWS blocks of COLUMN bytes, STRIDE apart. */
static pami_type_t column(void)
{
  pami_type_t type;
  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_add_simple(type, COLUMN, 0, ROWS, STRIDE));
  CHECK(PAMI_Type_complete(type, 4));
  return type;
}

static size_t attribute(pami_type_t type, pami_attribute_name_t name)
{
  pami_configuration_t query;
  memset(&query, 0, sizeof query);
  query.name = name;
  CHECK(PAMI_Type_query(type, &query, 1));
  return query.value.intval;
}

static void spread(char * area, const char * data)
{
  size_t i;
  memset(area, GAP, AREA);
  for (i = 0; i < ROWS; i++) memcpy(area + i * STRIDE, data + i * COLUMN, COLUMN);
}

static void add_bytes(void * target, void * source, size_t bytes, void * cookie)
{
  size_t i;
  ++*(size_t *) cookie;
  REQUIRE(bytes % 4 == 0);
  for (i = 0; i < bytes; i++) ((char *) target)[i] = (char) (((char *) target)[i] + ((char *) source)[i]);
}

static void local_checks(void)
{
  char        data[DATA], area[AREA], wanted[AREA], back[DATA];
  pami_type_t type = column(), copy, nested, reverse;
  void *      address;
  size_t      size, i, calls = 0;

  REQUIRE(attribute(type, PAMI_TYPE_DATA_SIZE) == DATA);
  REQUIRE(attribute(type, PAMI_TYPE_DATA_EXTENT) == AREA);
  REQUIRE(attribute(type, PAMI_TYPE_ATOM_SIZE) == 4);

  /* Contiguous to column and back, whole and in parts. */
  fill(data, DATA, 1);
  spread(wanted, data);
  memset(area, GAP, AREA);
  CHECK(PAMI_Type_transform_data(data, PAMI_TYPE_BYTE, 0, area, type, 0, DATA, PAMI_DATA_COPY, NULL));
  REQUIRE(memcmp(area, wanted, AREA) == 0);
  memset(back, 0, DATA);
  for (i = 0; i < DATA; i += 100)
    CHECK(PAMI_Type_transform_data(area, type, i, back, PAMI_TYPE_BYTE, i, 100, PAMI_DATA_COPY, NULL));
  REQUIRE(memcmp(back, data, DATA) == 0);

  /* The serialized form travels as bytes and works without the original. */
  CHECK(PAMI_Type_serialize(type, &address, &size));
  REQUIRE(address != NULL && size > 0);
  {
    void * bytes = allocate(size);
    memcpy(bytes, address, size);
    CHECK(PAMI_Type_destroy(&type));
    REQUIRE(type == PAMI_TYPE_NULL);
    CHECK(PAMI_Type_deserialize(&copy, bytes, size));
    memset(bytes, 0, size);
    free(bytes);
  }
  REQUIRE(attribute(copy, PAMI_TYPE_DATA_SIZE) == DATA);
  memset(area, GAP, AREA);
  CHECK(PAMI_Type_transform_data(data, PAMI_TYPE_BYTE, 0, area, copy, 0, DATA, PAMI_DATA_COPY, NULL));
  REQUIRE(memcmp(area, wanted, AREA) == 0);

  /* A function of the program instead of a copy. */
  CHECK(PAMI_Type_transform_data(data, PAMI_TYPE_BYTE, 0, area, copy, 0, DATA, add_bytes, &calls));
  REQUIRE(calls >= 1);
  for (i = 0; i < DATA; i++)
    REQUIRE(area[i / COLUMN * STRIDE + i % COLUMN] == (char) (2 * data[i]));
  for (i = 0; i < AREA; i++) REQUIRE(i % STRIDE < COLUMN || area[i] == GAP);

  /* A type of types, and blocks in falling order of address. */
  CHECK(PAMI_Type_create(&nested));
  CHECK(PAMI_Type_add_typed(nested, copy, 8, 2, AREA + 16));
  CHECK(PAMI_Type_add_simple(nested, 4, 0, 1, 4));
  CHECK(PAMI_Type_complete(nested, 1));
  REQUIRE(attribute(nested, PAMI_TYPE_DATA_SIZE) == 2 * DATA + 4);
  REQUIRE(attribute(nested, PAMI_TYPE_DATA_EXTENT) == 8 + 2 * (AREA + 16) + 4);
  CHECK(PAMI_Type_destroy(&copy)); /* nested does not depend on it */
  {
    char * large = allocate(3 * AREA);
    char * flat  = allocate(2 * DATA + 4);
    fill(flat, 2 * DATA + 4, 3);
    memset(large, GAP, 3 * AREA);
    CHECK(PAMI_Type_transform_data(flat, PAMI_TYPE_BYTE, 0, large, nested, 0, 2 * DATA + 4, PAMI_DATA_COPY,
                                   NULL));
    for (i = 0; i < 2; i++)
    {
      spread(wanted, flat + i * DATA);
      REQUIRE(memcmp(large + 8 + i * (AREA + 16), wanted, AREA) == 0);
    }
    REQUIRE(memcmp(large + 8 + 2 * (AREA + 16), flat + 2 * DATA, 4) == 0);
    free(large);
    free(flat);
  }
  CHECK(PAMI_Type_destroy(&nested));

  CHECK(PAMI_Type_create(&reverse));
  CHECK(PAMI_Type_add_simple(reverse, 4, 16, 5, (size_t) -4));
  CHECK(PAMI_Type_add_simple(reverse, 0, 24, 0, 0)); /* moves the cursor only */
  CHECK(PAMI_Type_complete(reverse, 4));
  REQUIRE(attribute(reverse, PAMI_TYPE_DATA_SIZE) == 20);
  REQUIRE(attribute(reverse, PAMI_TYPE_DATA_EXTENT) == 20);
  CHECK(PAMI_Type_transform_data(data, PAMI_TYPE_BYTE, 0, area, reverse, 0, 40, PAMI_DATA_COPY, NULL));
  for (i = 0; i < 10; i++)
    REQUIRE(memcmp(area + i / 5 * 20 + 16 - i % 5 * 4, data + 4 * i, 4) == 0);
  CHECK(PAMI_Type_destroy(&reverse));
}

typedef struct
{
  int to_column;   /* receive into a column */
  int from_column;
} header_t;

static char        reception_area[AREA];
static header_t    reception;
static pami_type_t column_type;

static void received_all(pami_context_t on, void * cookie, pami_result_t result)
{
  char data[DATA], wanted[AREA];
  (void) on, (void) cookie;
  CHECK(result);
  fill(data, DATA, 7);
  if (reception.to_column)
  {
    spread(wanted, data);
    REQUIRE(memcmp(reception_area, wanted, AREA) == 0);
  }
  else
    REQUIRE(memcmp(reception_area, data, DATA) == 0);
  ++received;
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) cookie, (void) origin;
  REQUIRE(size == DATA && header_size == sizeof(header_t));
  memcpy(&reception, header, sizeof reception);
  memset(reception_area, GAP, AREA);
  if (recv == NULL)
  {
    CHECK(PAMI_Type_transform_data((void *) pipe, PAMI_TYPE_BYTE, 0, reception_area,
                                   reception.to_column ? column_type : PAMI_TYPE_BYTE, 0, size,
                                   PAMI_DATA_COPY, NULL));
    received_all(on, NULL, PAMI_SUCCESS);
    return;
  }
  recv->cookie      = NULL;
  recv->local_fn    = received_all;
  recv->addr        = reception_area;
  recv->type        = reception.to_column ? column_type : PAMI_TYPE_BYTE;
  recv->offset      = 0;
  recv->data_fn     = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

static void sends(void)
{
  char            data[DATA], area[AREA];
  volatile size_t done;
  size_t          kind, expected = 0;

  fill(data, DATA, 7);
  spread(area, data);
  for (kind = 0; kind < 4; kind++)
  {
    header_t          header;
    pami_send_typed_t send;
    header.to_column   = kind / 2;
    header.from_column = kind % 2;
    memset(&send, 0, sizeof send);
    send.send.header.iov_base = &header;
    send.send.header.iov_len  = sizeof header;
    send.send.data.iov_base   = header.from_column ? area : data;
    send.send.data.iov_len    = DATA;
    send.send.dispatch        = FIRST_ID;
    send.send.dest            = endpoint((task + 1) % tasks, 0);
    send.events.cookie        = (void *) &done;
    send.events.local_fn      = count_event;
    send.events.remote_fn     = count_event;
    send.typed.type           = header.from_column ? column_type : PAMI_TYPE_BYTE;
    send.typed.offset         = 0;
    send.typed.data_fn        = PAMI_DATA_COPY;
    done                      = 0;
    CHECK(PAMI_Send_typed(context[0], &send));
    ++expected;
    wait_until(context[0], done == 2 && received == expected);
    barrier();
  }
}

static void puts_and_gets(void)
{
  static char      window[AREA];
  char             data[DATA], area[AREA];
  void *           mine = window;
  void *           windows[MAX_TASKS];
  size_t           target = (task + 1) % tasks;
  volatile size_t  done   = 0;
  pami_put_typed_t put;
  pami_get_typed_t get;
  pami_result_t    result;

  exchange(&mine, sizeof mine, windows);
  memset(window, GAP, AREA);
  fill(data, DATA, 9);
  barrier();
  memset(&put, 0, sizeof put);
  put.rma.dest     = endpoint(target, 0);
  put.rma.bytes    = DATA;
  put.rma.cookie   = (void *) &done;
  put.rma.done_fn  = count_event;
  put.addr.local   = data;
  put.addr.remote  = windows[target];
  put.type.local   = PAMI_TYPE_BYTE;
  put.type.remote  = column_type;
  put.put.rdone_fn = count_event;
  result           = PAMI_Put_typed(context[0], &put);
  if (result == PAMI_UNIMPL) return; /* allowed: the device does not offer it */
  CHECK(result);
  wait_until(context[0], done == 2);
  barrier();
  spread(area, data);
  REQUIRE(memcmp(window, area, AREA) == 0);

  memset(data, 0, DATA);
  memset(&get, 0, sizeof get);
  get.rma         = put.rma;
  get.addr.local  = data;
  get.addr.remote = windows[target];
  get.type.local  = PAMI_TYPE_BYTE;
  get.type.remote = column_type;
  done            = 0;
  CHECK(PAMI_Get_typed(context[0], &get));
  wait_until(context[0], done == 1);
  verify(data, DATA, 9);
}

int main(void)
{
  start("types", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  column_type = column();
  local_checks();
  barrier();
  sends();
  puts_and_gets();
  barrier();
  CHECK(PAMI_Type_destroy(&column_type));
  return finish();
}
