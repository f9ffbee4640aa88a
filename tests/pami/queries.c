/* All attributes of clients, contexts, dispatch identifiers and types, one by one and several in one call;
 * the clocks; error text; extensions. */

#include "common.h"

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
}

static void client_attributes(void)
{
  pami_configuration_t query[4];
  size_t               i, local, found = 0;
  double               tick;

  REQUIRE(client_query(PAMI_CLIENT_CLOCK_MHZ) > 0);
  REQUIRE(client_query(PAMI_CLIENT_WTIMEBASE_MHZ) > 0);
  REQUIRE(client_query(PAMI_CLIENT_CONST_CONTEXTS) <= 1);
  REQUIRE(client_query(PAMI_CLIENT_HWTHREADS_AVAILABLE) >= 1);
  REQUIRE(client_query(PAMI_CLIENT_MEMREGION_SIZE) == sizeof(pami_memregion_t));
  REQUIRE(client_query(PAMI_CLIENT_MEM_SIZE) > 0);
  REQUIRE(client_query(PAMI_CLIENT_NUM_CONTEXTS) >= 1);
  REQUIRE(client_query(PAMI_CLIENT_NONCONTIG) <= 1);
  (void) client_query(PAMI_CLIENT_MEMORY_OPTIMIZE);

  memset(query, 0, sizeof query);
  query[0].name = PAMI_CLIENT_NUM_LOCAL_TASKS;
  query[1].name = PAMI_CLIENT_LOCAL_TASKS;
  query[2].name = PAMI_CLIENT_PROCESSOR_NAME;
  query[3].name = PAMI_CLIENT_WTICK;
  CHECK(PAMI_Client_query(client, query, 4));
  local = query[0].value.intval;
  REQUIRE(local >= 1 && local <= tasks);
  for (i = 0; i < local; i++)
  {
    REQUIRE(query[1].value.intarray[i] < tasks);
    found += query[1].value.intarray[i] == task;
  }
  REQUIRE(found == 1);
  REQUIRE(query[2].value.chararray != NULL && query[2].value.chararray[0] != '\0');
  tick = query[3].value.doubleval;
  REQUIRE(tick > 0 && tick < 1);
  CHECK(PAMI_Client_query(client, query, 0));
}

/* Each tick count is read between two times, so the bounds hold also if the task was not running in between. */
static void clocks(void)
{
  double             begin = PAMI_Wtime(client), after, before, now;
  unsigned long long first = PAMI_Wtimebase(client), ticks;
  double             rate  = (double) client_query(PAMI_CLIENT_WTIMEBASE_MHZ) * 1e6;
  double             counted;
  after = now = PAMI_Wtime(client);
  ticks       = first;
  do
  {
    unsigned long long previous = ticks;
    advance(context[0]);
    before = PAMI_Wtime(client);
    ticks  = PAMI_Wtimebase(client);
    REQUIRE(before >= now && ticks >= previous);
    now = PAMI_Wtime(client);
    REQUIRE(now >= before);
  } while (before < after + 0.05);
  counted = (double) (ticks - first) / rate;
  if (counted < (before - after) * 0.9 || counted > (now - begin) * 1.1)
    FAIL("Wtimebase counts %g s in %g to %g s of Wtime", counted, before - after, now - begin);
}

static void dispatch_attributes(void)
{
  static const pami_attribute_name_t both[] = {PAMI_DISPATCH_RECV_IMMEDIATE_MAX,
                                               PAMI_DISPATCH_SEND_IMMEDIATE_MAX};
  pami_configuration_t query[2];
  pami_result_t        result;
  size_t               most;

  memset(query, 0, sizeof query);
  query[0].name = PAMI_CONTEXT_DISPATCH_ID_MAX;
  CHECK(PAMI_Context_query(context[0], query, 1));
  most = query[0].value.intval;
  REQUIRE(most >= FIRST_ID);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  set_dispatch(context[0], most, receive, NULL); /* the greatest one is valid */

  query[0].name = both[0];
  query[1].name = both[1];
  CHECK(PAMI_Dispatch_query(context[0], FIRST_ID, query, 2));
  REQUIRE(query[0].value.intval >= 64);
  REQUIRE(query[1].value.intval >= 64);
  query[0].name = PAMI_DISPATCH_ATOM_SIZE_MAX;
  result        = PAMI_Dispatch_query(context[0], FIRST_ID, query, 1);
  REQUIRE(result == PAMI_INVAL || (result == PAMI_SUCCESS && query[0].value.intval >= 1));
}

static void type_attributes(void)
{
  pami_configuration_t query[3];
  pami_type_t          type;
  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_add_simple(type, 12, 4, 3, 20));
  CHECK(PAMI_Type_complete(type, 4));
  memset(query, 0, sizeof query);
  query[0].name = PAMI_TYPE_DATA_SIZE;
  query[1].name = PAMI_TYPE_DATA_EXTENT;
  query[2].name = PAMI_TYPE_ATOM_SIZE;
  CHECK(PAMI_Type_query(type, query, 3));
  REQUIRE(query[0].value.intval == 36);
  REQUIRE(query[1].value.intval == 64);
  REQUIRE(query[2].value.intval == 4);
  CHECK(PAMI_Type_destroy(&type));
  REQUIRE(type == PAMI_TYPE_NULL);
}

typedef struct
{
  size_t   dims;
  size_t * coord;
  size_t * size;
  size_t * torus;
} torus_information_t;

static void extensions(void)
{
  pami_extension_t extension;
  pami_result_t    result;

  EXPECT(PAMI_UNIMPL, PAMI_Extension_open(client, "EXT_no_such_extension", &extension));
  result = PAMI_Extension_open(client, "EXT_torus_network", &extension);
  REQUIRE(result == PAMI_SUCCESS || result == PAMI_UNIMPL);
  if (result == PAMI_SUCCESS)
  {
    const torus_information_t * (*information)(void);
    pami_result_t (*task2torus)(pami_task_t, size_t[]);
    pami_result_t (*torus2task)(size_t[], pami_task_t *);
    const torus_information_t * torus;
    void *                      symbol;
    size_t                      coordinates[16], i;
    pami_task_t                 back;

    symbol = PAMI_Extension_symbol(extension, "information");
    memcpy(&information, &symbol, sizeof symbol);
    symbol = PAMI_Extension_symbol(extension, "task2torus");
    memcpy(&task2torus, &symbol, sizeof symbol);
    symbol = PAMI_Extension_symbol(extension, "torus2task");
    memcpy(&torus2task, &symbol, sizeof symbol);
    REQUIRE(information != NULL && task2torus != NULL && torus2task != NULL);
    REQUIRE(PAMI_Extension_symbol(extension, "no_such_symbol") == NULL);

    torus = information();
    REQUIRE(torus != NULL && torus->dims >= 1 && torus->dims < 16);
    CHECK(task2torus((pami_task_t) task, coordinates));
    for (i = 0; i < torus->dims; i++)
    {
      REQUIRE(coordinates[i] == torus->coord[i]);
      REQUIRE(coordinates[i] < torus->size[i]);
    }
    CHECK(torus2task(coordinates, &back));
    REQUIRE(back == task);
    CHECK(PAMI_Extension_close(extension));
  }
}

/* An attribute that does not exist makes a query INVAL; those beside it are filled in nevertheless. */
static void unknown_attributes(void)
{
  pami_configuration_t query[3];
  pami_geometry_t      world;
  size_t               i, lost = (size_t) -7;

  CHECK(PAMI_Geometry_world(client, &world));
  memset(query, 0, sizeof query);
  for (i = 0; i < 5; i++)
  {
    static const pami_attribute_name_t known[] = {PAMI_CLIENT_NUM_TASKS, PAMI_CONTEXT_DISPATCH_ID_MAX,
                                                  PAMI_DISPATCH_SEND_IMMEDIATE_MAX, PAMI_TYPE_ATOM_SIZE,
                                                  PAMI_GEOMETRY_OPTIMIZE};
    pami_result_t result;
    query[0].name = query[2].name = known[i];
    query[1].name                 = (pami_attribute_name_t) 999;
    query[0].value.intval = query[1].value.intval = query[2].value.intval = lost;
    switch (i)
    {
      case 0: result = PAMI_Client_query(client, query, 3); break;
      case 1: result = PAMI_Context_query(context[0], query, 3); break;
      case 2: result = PAMI_Dispatch_query(context[0], FIRST_ID, query, 3); break;
      case 3: result = PAMI_Type_query(PAMI_TYPE_DOUBLE, query, 3); break;
      default: result = PAMI_Geometry_query(world, query, 3);
    }
    EXPECT(PAMI_INVAL, result);
    REQUIRE(query[0].value.intval != lost && query[0].value.intval == query[2].value.intval);
    REQUIRE(query[1].value.intval == lost);
  }
}

int main(void)
{
  char   text[8];
  size_t length;

  start("queries", 1);
  client_attributes();
  clocks();
  dispatch_attributes();
  type_attributes();
  unknown_attributes();
  extensions();

  memset(text, 0x55, sizeof text);
  length = PAMI_Error_text(text, 4);
  REQUIRE(length <= 4 && text[4] == 0x55);
  return finish();
}
