/* Bad arguments return the codes that the interface documents, and the library works on afterwards. Only
 * misuse that has a documented code is here. */

#include "common.h"

static volatile size_t received;

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
  ++received;
}

static pami_configuration_t attribute(int name)
{
  pami_configuration_t configuration;
  memset(&configuration, 0, sizeof configuration);
  configuration.name = (pami_attribute_name_t) name;
  return configuration;
}

static void attributes(pami_geometry_t world)
{
  static const int     wrong_client[]   = {0, 99, PAMI_CONTEXT_DISPATCH_ID_MAX, PAMI_TYPE_ATOM_SIZE, 12345};
  static const int     wrong_context[]  = {0, PAMI_CLIENT_TASK_ID, PAMI_GEOMETRY_OPTIMIZE, 12345};
  static const int     wrong_dispatch[] = {0, PAMI_CLIENT_TASK_ID, PAMI_CONTEXT_DISPATCH_ID_MAX, 12345};
  static const int     wrong_geometry[] = {0, PAMI_CLIENT_TASK_ID, PAMI_TYPE_DATA_SIZE, 12345};
  pami_configuration_t query;
  size_t               i;

  for (i = 0; i < 5; i++)
  {
    query = attribute(wrong_client[i]);
    EXPECT(PAMI_INVAL, PAMI_Client_query(client, &query, 1));
  }
  for (i = 0; i < 4; i++)
  {
    query = attribute(wrong_context[i]);
    EXPECT(PAMI_INVAL, PAMI_Context_query(context[0], &query, 1));
    query = attribute(wrong_dispatch[i]);
    EXPECT(PAMI_INVAL, PAMI_Dispatch_query(context[0], FIRST_ID, &query, 1));
    query = attribute(wrong_geometry[i]);
    EXPECT(PAMI_INVAL, PAMI_Geometry_query(world, &query, 1));
    query = attribute(wrong_context[i]);
    EXPECT(PAMI_INVAL, PAMI_Type_query(PAMI_TYPE_BYTE, &query, 1));
  }

  /* Read-only attributes. */
  query = attribute(PAMI_CLIENT_NUM_TASKS);
  EXPECT(PAMI_INVAL, PAMI_Client_update(client, &query, 1));
  query = attribute(PAMI_CONTEXT_DISPATCH_ID_MAX);
  EXPECT(PAMI_INVAL, PAMI_Context_update(context[0], &query, 1));
  query = attribute(PAMI_DISPATCH_SEND_IMMEDIATE_MAX);
  EXPECT(PAMI_INVAL, PAMI_Dispatch_update(context[0], FIRST_ID, &query, 1));
}

static void types(void)
{
  pami_type_t type, incomplete;
  char        from[16], to[16];

  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_create(&incomplete));
  CHECK(PAMI_Type_add_simple(type, 12, 0, 2, 12));
  EXPECT(PAMI_INVAL, PAMI_Type_complete(type, 5));
  EXPECT(PAMI_INVAL, PAMI_Type_complete(type, 0));
  EXPECT(PAMI_INVAL, PAMI_Type_add_typed(type, incomplete, 0, 1, 4));
  CHECK(PAMI_Type_complete(type, 4));
  EXPECT(PAMI_INVAL, PAMI_Type_complete(type, 4));
  EXPECT(PAMI_INVAL, PAMI_Type_add_simple(type, 4, 0, 1, 4));
  EXPECT(PAMI_INVAL, PAMI_Type_add_typed(type, PAMI_TYPE_BYTE, 0, 1, 1));
  EXPECT(PAMI_INVAL, PAMI_Type_transform_data(from, incomplete, 0, to, PAMI_TYPE_BYTE, 0, 4, PAMI_DATA_COPY,
                                              NULL));
  CHECK(PAMI_Type_destroy(&type));
  CHECK(PAMI_Type_destroy(&incomplete));
}

static void sends(void)
{
  pami_configuration_t  query = attribute(PAMI_DISPATCH_SEND_IMMEDIATE_MAX);
  pami_send_immediate_t send;
  size_t                most;
  char *                data;

  CHECK(PAMI_Dispatch_query(context[0], FIRST_ID, &query, 1));
  most = query.value.intval;
  data = allocate(most + 1);
  memset(&send, 0, sizeof send);
  send.dest            = endpoint(task, 0);
  send.dispatch        = FIRST_ID;
  send.data.iov_base   = data;
  send.data.iov_len    = most + 1;
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send));
  send.header.iov_base = data;
  send.header.iov_len  = most;
  send.data.iov_len    = 1;
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send));

  /* The same call with permitted lengths works, so the error has left nothing behind. */
  send.data.iov_len = 0;
  CHECK(PAMI_Send_immediate(context[0], &send));
  wait_until(context[0], received == 1);
  free(data);
}

static void dispatches(void)
{
  pami_configuration_t            query = attribute(PAMI_CONTEXT_DISPATCH_ID_MAX);
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t            hints;

  callback.p2p = receive;
  memset(&hints, 0, sizeof hints);
  CHECK(PAMI_Context_query(context[0], &query, 1));
  REQUIRE(PAMI_Dispatch_set(context[0], query.value.intval + 1, callback, NULL, hints) != PAMI_SUCCESS);

  /* Hints bind: registered buffers without RDMA contradict each other. */
  hints.buffer_registered = PAMI_HINT_ENABLE;
  hints.use_rdma          = PAMI_HINT_DISABLE;
  REQUIRE(PAMI_Dispatch_set(context[0], FIRST_ID + 1, callback, NULL, hints) != PAMI_SUCCESS);

  /* So do data that is fetched and data that arrives with the message. */
  memset(&hints, 0, sizeof hints);
  hints.use_rdma       = PAMI_HINT_ENABLE;
  hints.recv_immediate = PAMI_HINT_ENABLE;
  REQUIRE(PAMI_Dispatch_set(context[0], FIRST_ID + 1, callback, NULL, hints) != PAMI_SUCCESS);
}

static void * try_lock(void * argument)
{
  EXPECT(PAMI_EAGAIN, PAMI_Context_trylock(argument));
  return NULL;
}

static void locks(void)
{
  pthread_t thread;
  CHECK(PAMI_Context_lock(context[0]));
  REQUIRE(pthread_create(&thread, NULL, try_lock, context[0]) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  CHECK(PAMI_Context_unlock(context[0]));
  CHECK(PAMI_Context_trylock(context[0]));
  CHECK(PAMI_Context_unlock(context[0]));
}

int main(void)
{
  pami_context_t   extra[MAX_CONTEXTS];
  pami_extension_t extension;
  pami_geometry_t  world;
  size_t           lengths[2];

  start("errors", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  CHECK(PAMI_Geometry_world(client, &world));

  attributes(world);
  types();
  sends();
  dispatches();
  locks();
  EXPECT(PAMI_INVAL, PAMI_Geometry_algorithms_num(world, PAMI_XFER_COUNT, lengths));
  lengths[0] = client_query(PAMI_CLIENT_NUM_CONTEXTS) + 1;
  EXPECT(PAMI_INVAL, PAMI_Context_createv(client, NULL, 0, extra, lengths[0]));
  EXPECT(PAMI_UNIMPL, PAMI_Extension_open(client, "EXT_no_such_extension", &extension));
  return finish();
}
