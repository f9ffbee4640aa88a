/* Random operations between all tasks: sends of all kinds and sizes, typed ones too, puts, gets and atomic operations,
 * collectives over the world and over geometries that come and go, and work that another thread posts. All data is
 * checked.
 *
 * soak [SECONDS [SEED [kill|async|async-kill]]]: for so long; without arguments for a fixed number of operations, without
 * another thread. With `kill` one of the tasks is killed at a random time: each other ends with status 0 as soon as an
 * operation reports PAMI_SHUTDOWN, and fails if none does. With `async` a communication thread does everything, and the
 * main thread waits. */

#include "common.h"
#include <pami_ext.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum
{
  CONTEXTS     = 2,
  OPERATIONS   = 400,       /* without arguments */
  IN_FLIGHT    = 16,        /* sends */
  LONGEST      = 150000,    /* data of a message */
  PART         = 1 << 17,   /* of a window, for each other task */
  COUNT        = 700,       /* elements of a block of a collective */
  GEOMETRIES   = 3,         /* besides the world */
  ITEMS        = 64,        /* of posted work */
  BLOCK        = 24,        /* of the type with gaps */
  STRIDE       = 40,
  NO_PROGRESS  = 20,        /* seconds after which the program fails */
  SEND_ID      = FIRST_ID,
  CHECK_ID,
  CHECKED_ID,
  TOTALS_ID
};

static double   seconds;
static uint64_t own_random, common_random;
static int      is_killing, is_async, is_stopping;
static pami_type_t gaps;

static uint64_t next_random(uint64_t * state)
{
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number below `limit`. */
static size_t below(size_t limit) { return (size_t) ((next_random(&own_random) >> 20) % limit); }

/* A size up to `most`: short ones as often as long ones. */
static size_t random_size(size_t most)
{
  size_t size = below((size_t) 2 << below(18));
  return size < most ? size : below(most + 1);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static volatile size_t progress; /* operations that are complete */
static size_t          operations;

/* An operation has ended; returns whether it succeeded. */
static int succeeded(pami_result_t result)
{
  ++progress;
  if (result == PAMI_SUCCESS) return 1;
  if (!is_killing || result != PAMI_SHUTDOWN) FAIL("an operation ended with result %d", (int) result);
  /* Some data is lost, so the program cannot go on. */
  printf("PAMI_SHUTDOWN\n");
  fflush(stdout);
  _exit(0);
}

/* Checks the result of a call that begins an operation. */
static void begun(pami_result_t result)
{
  if (is_killing && result == PAMI_SHUTDOWN) succeeded(result);
  CHECK(result);
}

/* Where the i-th byte of data is in memory. */
static size_t place(int has_gaps, size_t i) { return has_gaps ? i / BLOCK * STRIDE + i % BLOCK : i; }

static void fill_data(char * memory, int has_gaps, size_t size, size_t seed)
{
  size_t i;
  for (i = 0; i < size; i++) memory[place(has_gaps, i)] = (char) pattern(seed, i);
}

static void verify_data(const char * memory, int has_gaps, size_t size, size_t seed, const char * what, size_t from)
{
  size_t i;
  for (i = 0; i < size; i++)
    if ((unsigned char) memory[place(has_gaps, i)] != pattern(seed, i))
      FAIL("%s task %zu: byte %zu of %zu (gaps: %d) is %d, not %d", what, from, i, size, has_gaps,
           (unsigned char) memory[place(has_gaps, i)], pattern(seed, i));
}

/* ------------------------------------------------- Sends ------------------------------------------------- */

typedef struct
{
  size_t seed, size;
} send_header_t;

typedef struct
{
  char * header;
  char * data;
  int    left; /* reports that are still to come */
} sending_t;

typedef struct
{
  char * data;
  int    has_gaps;
  size_t size, seed, from;
} receiving_t;

static size_t sends_in_flight, sent_to[MAX_TASKS], received_from[MAX_TASKS];

static void send_reported(pami_context_t on, void * cookie, pami_result_t result)
{
  sending_t * sending = cookie;
  (void) on;
  succeeded(result);
  if (--sending->left > 0) return;
  free(sending->header);
  free(sending->data);
  free(sending);
  --sends_in_flight;
}

static void data_arrived(pami_context_t on, void * cookie, pami_result_t result)
{
  receiving_t * receiving = cookie;
  (void) on;
  succeeded(result);
  verify_data(receiving->data, receiving->has_gaps, receiving->size, receiving->seed, "message of", receiving->from);
  ++received_from[receiving->from];
  free(receiving->data);
  free(receiving);
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  send_header_t expected;
  receiving_t * receiving;
  size_t        from = origin_task(origin);
  (void) on, (void) cookie;
  REQUIRE(header_size >= sizeof expected);
  memcpy(&expected, header, sizeof expected);
  REQUIRE(size == expected.size);
  verify_data((const char *) header + sizeof expected, 0, header_size - sizeof expected, expected.seed + 1, "header of",
              from);
  if (recv == NULL)
  {
    verify_data(pipe, 0, size, expected.seed, "short message of", from);
    ++received_from[from];
    return;
  }
  receiving           = allocate(sizeof *receiving);
  receiving->has_gaps = below(4) == 0;
  receiving->data     = allocate(place(receiving->has_gaps, size) + 1);
  receiving->size     = size;
  receiving->seed     = expected.seed;
  receiving->from     = from;
  memset(recv, 0, sizeof *recv);
  recv->type     = receiving->has_gaps ? gaps : PAMI_TYPE_BYTE;
  recv->data_fn  = PAMI_DATA_COPY;
  recv->addr     = receiving->data;
  recv->cookie   = receiving;
  recv->local_fn = data_arrived;
}

static void send_short(pami_context_t on, size_t to)
{
  char          header[sizeof(send_header_t) + 40], data[300];
  send_header_t head;
  size_t        more = below(41);
  head.seed = below(1000);
  head.size = below(sizeof data + 1);
  memcpy(header, &head, sizeof head);
  fill_data(header + sizeof head, 0, more, head.seed + 1);
  fill_data(data, 0, head.size, head.seed);
  ++sent_to[to];
  send_immediate(on, endpoint(to, below(contexts)), SEND_ID, header, sizeof head + more, data, head.size);
}

static void send_long(pami_context_t on, size_t to)
{
  pami_send_typed_t send;
  send_header_t     head;
  sending_t *       sending  = allocate(sizeof *sending);
  int               has_gaps = below(3) == 0;
  size_t            more     = below(16) == 0 ? below(1500) : below(40);
  head.seed                  = below(1000);
  head.size                  = random_size(LONGEST);
  sending->header            = allocate(sizeof head + more);
  sending->data              = allocate(place(has_gaps, head.size) + 1);
  memcpy(sending->header, &head, sizeof head);
  fill_data(sending->header + sizeof head, 0, more, head.seed + 1);
  fill_data(sending->data, has_gaps, head.size, head.seed);
  memset(&send, 0, sizeof send);
  send.send.header.iov_base = sending->header;
  send.send.header.iov_len  = sizeof head + more;
  send.send.data.iov_base   = sending->data;
  send.send.data.iov_len    = head.size;
  send.send.dispatch        = SEND_ID;
  send.send.dest            = endpoint(to, below(contexts));
  send.events.cookie        = sending;
  send.events.local_fn      = send_reported;
  send.events.remote_fn     = below(2) == 0 ? send_reported : NULL;
  send.typed.type           = gaps;
  send.typed.data_fn        = PAMI_DATA_COPY;
  sending->left             = send.events.remote_fn != NULL ? 2 : 1;
  ++sends_in_flight;
  ++sent_to[to];
  if (has_gaps)
    begun(PAMI_Send_typed(on, &send));
  else
  {
    pami_send_t plain;
    plain.send   = send.send;
    plain.events = send.events;
    begun(PAMI_Send(on, &plain));
  }
}

/* ------------------------------------------- One-sided operations ---------------------------------------- */

/* In each task's window every task has a part of its own, and in its buffer a part for every window. */
static char *           window, * buffer;
static pami_memregion_t buffer_region, window_regions[MAX_TASKS];
static char *           windows[MAX_TASKS];

typedef struct
{
  size_t size, seed;
  int    has_gaps;
} contents_t;

static struct
{
  int        is_busy;
  contents_t contents; /* of the own part of the other's window */
} parts[MAX_TASKS];

static volatile uint64_t counter; /* to which all tasks add */
static uint64_t *        counters[MAX_TASKS];
static uint64_t          added_to[MAX_TASKS], to_add[MAX_TASKS], fetched[MAX_TASKS];
static int               is_adding[MAX_TASKS];

static void put_is_there(pami_context_t on, void * cookie, pami_result_t result)
{
  size_t to = (size_t) cookie;
  if (!succeeded(result)) return;
  send_immediate(on, endpoint(to, 0), CHECK_ID, &parts[to].contents, sizeof(contents_t), NULL, 0);
}

static void put_is_gone(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on, (void) cookie;
  succeeded(result);
}

/* The data of a put is there. */
static void check_put(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                      size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  contents_t contents;
  size_t     from = origin_task(origin);
  (void) cookie, (void) pipe;
  no_data(recv, size);
  REQUIRE(header_size == sizeof contents);
  memcpy(&contents, header, sizeof contents);
  verify_data(window + from * PART, contents.has_gaps, contents.size, contents.seed, "put of", from);
  send_immediate(on, endpoint(from, 0), CHECKED_ID, "", 1, NULL, 0);
}

static void put_is_checked(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                           size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe;
  no_data(recv, size);
  parts[origin_task(origin)].is_busy = 0;
  ++progress;
}

static void got(pami_context_t on, void * cookie, pami_result_t result)
{
  size_t       from     = (size_t) cookie;
  contents_t * contents = &parts[from].contents;
  (void) on;
  if (!succeeded(result)) return;
  verify_data(buffer + from * PART, 0, contents->size, contents->seed, "get from", from);
  parts[from].is_busy = 0;
}

static void put_or_get(pami_context_t on, size_t with)
{
  pami_rput_typed_t put;
  pami_rget_typed_t get;
  contents_t *      contents = &parts[with].contents;
  int               is_rdma = below(2) == 0, is_get = contents->size > 0 && below(2) == 0;

  if (parts[with].is_busy) return;
  parts[with].is_busy = 1;
  memset(&put, 0, sizeof put);
  put.rma.dest    = endpoint(with, below(contexts));
  put.rma.cookie  = (void *) with;
  put.type.local  = PAMI_TYPE_BYTE;
  put.type.remote = gaps;
  if (!is_get)
  {
    contents->seed     = below(1000);
    contents->size     = 1 + random_size(PART * BLOCK / STRIDE - STRIDE);
    contents->has_gaps = below(2) == 0;
    fill_data(buffer + with * PART, 0, contents->size, contents->seed);
  }
  else
    memset(buffer + with * PART, 0, contents->size);
  put.rma.bytes          = contents->size;
  put.rma.done_fn        = is_get ? got : put_is_gone;
  put.put.rdone_fn       = put_is_there;
  put.rdma.local.mr      = &buffer_region;
  put.rdma.local.offset  = with * PART;
  put.rdma.remote.mr     = &window_regions[with];
  put.rdma.remote.offset = task * PART;
  get.rma                = put.rma;
  get.rdma               = put.rdma;
  get.type               = put.type;
  if (is_rdma)
  {
    pami_rput_simple_t rput;
    pami_rget_simple_t rget;
    rget.rma  = rput.rma  = put.rma;
    rget.rdma = rput.rdma = put.rdma;
    rput.put  = put.put;
    if (contents->has_gaps)
      begun(is_get ? PAMI_Rget_typed(on, &get) : PAMI_Rput_typed(on, &put));
    else
      begun(is_get ? PAMI_Rget(on, &rget) : PAMI_Rput(on, &rput));
  }
  else
  {
    pami_put_typed_t  typed_put;
    pami_get_typed_t  typed_get;
    pami_put_simple_t simple_put;
    pami_get_simple_t simple_get;
    memset(&typed_put, 0, sizeof typed_put);
    typed_put.rma         = put.rma;
    typed_put.put         = put.put;
    typed_put.type        = put.type;
    typed_put.addr.local  = buffer + with * PART;
    typed_put.addr.remote = windows[with] + task * PART;
    typed_get.rma = simple_get.rma = simple_put.rma = put.rma;
    typed_get.addr = simple_get.addr = simple_put.addr = typed_put.addr;
    typed_get.type = put.type;
    simple_put.put = put.put;
    if (contents->has_gaps)
      begun(is_get ? PAMI_Get_typed(on, &typed_get) : PAMI_Put_typed(on, &typed_put));
    else
      begun(is_get ? PAMI_Get(on, &simple_get) : PAMI_Put(on, &simple_put));
  }
}

static void added(pami_context_t on, void * cookie, pami_result_t result)
{
  size_t to = (size_t) cookie;
  (void) on;
  if (!succeeded(result)) return;
  added_to[to] += to_add[to];
  is_adding[to] = 0;
}

static void add(pami_context_t on, size_t to)
{
  pami_rmw_t rmw;
  if (is_adding[to]) return;
  is_adding[to] = 1;
  to_add[to]    = below(1000);
  memset(&rmw, 0, sizeof rmw);
  rmw.dest      = endpoint(to, below(contexts));
  rmw.cookie    = (void *) to;
  rmw.done_fn   = added;
  rmw.local     = &fetched[to];
  rmw.remote    = counters[to];
  rmw.value     = &to_add[to];
  rmw.operation = (pami_atomic_t) (PAMI_ATOMIC_ADD | (below(2) == 0 ? PAMI_ATOMIC_FETCH : 0));
  rmw.type      = PAMI_TYPE_UNSIGNED_LONG;
  begun(PAMI_Rmw(on, &rmw));
}

/* ----------------------------------------------- Collectives --------------------------------------------- */

/* All tasks draw the same operations, one after the other; who is no member skips them. */

typedef struct
{
  pami_geometry_t geometry;
  size_t          size, me; /* `me` is `size` for who is no member */
  pami_task_t     members[MAX_TASKS];
} group_t;

static group_t        groups[1 + GEOMETRIES]; /* [0]: the world */
static unsigned       geometry_id;
static size_t         collectives;
static volatile int   is_collecting;
static int            has_voted_to_stop;
static int *          in, * out;
static unsigned long  vote, votes;

static struct
{
  int       kind;
  group_t * group;
  size_t    count, root, seed;
} current;

static int element(size_t from, size_t to, size_t i) { return (int) (current.seed + 1000 * from + 37 * to + i); }

static void prepare(int * block, size_t from, size_t to)
{
  size_t i;
  for (i = 0; i < current.count; i++) block[i] = element(from, to, i);
}

static void expect(const int * block, size_t from, size_t to)
{
  size_t i;
  for (i = 0; i < current.count; i++)
    if (block[i] != element(from, to, i))
      FAIL("collective %zu (kind %d): element %zu of %zu is %d, not %d", collectives, current.kind, i, current.count,
           block[i], element(from, to, i));
}

static void expect_sum(void)
{
  size_t i, from;
  for (i = 0; i < current.count; i++)
  {
    int sum = 0;
    for (from = 0; from < current.group->size; from++) sum += element(from, 0, i);
    if (in[i] != sum) FAIL("collective %zu: sum %zu is %d, not %d", collectives, i, in[i], sum);
  }
}

static void collected(pami_context_t on, void * cookie, pami_result_t result)
{
  size_t i, size = current.group->size;
  (void) on, (void) cookie;
  if (!succeeded(result)) return;
  switch (current.kind)
  {
  case PAMI_XFER_BROADCAST: expect(in, current.root, 0); break;
  case PAMI_XFER_ALLREDUCE: expect_sum(); break;
  case PAMI_XFER_REDUCE:
    if (current.group->me == current.root) expect_sum();
    break;
  case PAMI_XFER_ALLGATHER:
    for (i = 0; i < size; i++) expect(in + i * current.count, i, 0);
    break;
  case PAMI_XFER_ALLTOALL:
    for (i = 0; i < size; i++) expect(in + i * current.count, i, current.group->me);
    break;
  case PAMI_XFER_SCATTER: expect(in, current.root, current.group->me); break;
  default: break;
  }
  is_collecting = 0;
}

static void voted(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on, (void) cookie;
  if (!succeeded(result)) return;
  if (votes > 0) has_voted_to_stop = 1;
  is_collecting = 0;
}

static void geometry_is_ready(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on, (void) cookie;
  succeeded(result);
  is_collecting = 0;
}

/* One of the algorithms that always work. */
static pami_algorithm_t algorithm(pami_geometry_t geometry, int kind, uint64_t draw)
{
  size_t             lengths[2] = {0, 0};
  pami_algorithm_t   found, * list;
  CHECK(PAMI_Geometry_algorithms_num(geometry, (pami_xfer_type_t) kind, lengths));
  REQUIRE(lengths[0] > 0);
  list = allocate(lengths[0] * sizeof *list);
  CHECK(PAMI_Geometry_algorithms_query(geometry, (pami_xfer_type_t) kind, list, NULL, lengths[0], NULL, NULL, 0));
  found = list[draw % lengths[0]];
  free(list);
  return found;
}

static void start_vote(void)
{
  pami_xfer_t xfer;
  memset(&xfer, 0, sizeof xfer);
  vote                                = is_stopping;
  xfer.cb_done                        = voted;
  xfer.algorithm                      = algorithm(groups[0].geometry, PAMI_XFER_ALLREDUCE, 0);
  xfer.cmd.xfer_allreduce.sndbuf      = (char *) &vote;
  xfer.cmd.xfer_allreduce.stype       = PAMI_TYPE_UNSIGNED_LONG;
  xfer.cmd.xfer_allreduce.stypecount  = 1;
  xfer.cmd.xfer_allreduce.rcvbuf      = (char *) &votes;
  xfer.cmd.xfer_allreduce.rtype       = PAMI_TYPE_UNSIGNED_LONG;
  xfer.cmd.xfer_allreduce.rtypecount  = 1;
  xfer.cmd.xfer_allreduce.op          = PAMI_DATA_MAX;
  xfer.cmd.xfer_allreduce.commutative = 1;
  is_collecting                       = 1;
  begun(PAMI_Collective(context[0], &xfer));
}

/* Destroys a geometry, or creates it with random members. All tasks take part in the creation. */
static void change_geometry(group_t * group, uint64_t draw)
{
  size_t i;
  if (group->size > 0)
  {
    group->size = 0;
    if (group->geometry == PAMI_GEOMETRY_NULL) return;
    is_collecting = 1;
    begun(PAMI_Geometry_destroy(client, &group->geometry, context[0], geometry_is_ready, NULL));
    return;
  }
  for (i = 0; i < tasks; i++)
    if ((draw >> (i % 60) & 1) == 0) group->members[group->size++] = (pami_task_t) i;
  if (group->size == 0) group->members[group->size++] = (pami_task_t) (draw % tasks);
  for (group->me = 0; group->me < group->size && group->members[group->me] != task;) group->me++;
  is_collecting = 1;
  begun(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, group->me < group->size ? &group->geometry : NULL,
                                      groups[0].geometry, ++geometry_id, group->members, group->size, context[0],
                                      geometry_is_ready, NULL));
}

static void start_collective(void)
{
  static const int kinds[] = {PAMI_XFER_BARRIER,   PAMI_XFER_BROADCAST, PAMI_XFER_ALLREDUCE, PAMI_XFER_REDUCE,
                              PAMI_XFER_ALLGATHER, PAMI_XFER_ALLTOALL,  PAMI_XFER_SCATTER};
  pami_xfer_t xfer;
  uint64_t    draws[4];
  size_t      i, size;
  group_t *   group;

  ++collectives;
  for (i = 0; i < 4; i++) draws[i] = next_random(&common_random) >> 3;
  if (collectives % 10 == 0)
  {
    start_vote();
    return;
  }
  if (collectives % 10 == 5)
  {
    change_geometry(&groups[1 + draws[0] % GEOMETRIES], draws[1]);
    return;
  }
  group = &groups[draws[0] % (1 + GEOMETRIES)];
  size  = group->size;
  if (size == 0 || group->me == size) return;
  current.kind  = kinds[draws[1] % (sizeof kinds / sizeof *kinds)];
  current.group = group;
  current.count = 1 + (draws[2] >> 8) % (draws[2] % 4 == 0 ? COUNT : 20);
  current.root  = (draws[2] >> 32) % size;
  current.seed  = draws[3] % 10000;
  memset(in, 0x55, size * COUNT * sizeof *in);
  memset(&xfer, 0, sizeof xfer);
  xfer.cb_done   = collected;
  xfer.algorithm = algorithm(group->geometry, current.kind, draws[3]);
  switch (current.kind)
  {
  case PAMI_XFER_BROADCAST:
    if (group->me == current.root) prepare(in, current.root, 0);
    xfer.cmd.xfer_broadcast.root      = endpoint(group->members[current.root], 0);
    xfer.cmd.xfer_broadcast.buf       = (char *) in;
    xfer.cmd.xfer_broadcast.type      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_broadcast.typecount = current.count;
    break;
  case PAMI_XFER_ALLREDUCE:
    prepare(out, group->me, 0);
    xfer.cmd.xfer_allreduce.sndbuf      = (char *) out;
    xfer.cmd.xfer_allreduce.stype       = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_allreduce.stypecount  = current.count;
    xfer.cmd.xfer_allreduce.rcvbuf      = (char *) in;
    xfer.cmd.xfer_allreduce.rtype       = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_allreduce.rtypecount  = current.count;
    xfer.cmd.xfer_allreduce.op          = PAMI_DATA_SUM;
    xfer.cmd.xfer_allreduce.commutative = 1;
    break;
  case PAMI_XFER_REDUCE:
    prepare(out, group->me, 0);
    xfer.cmd.xfer_reduce.root        = endpoint(group->members[current.root], 0);
    xfer.cmd.xfer_reduce.sndbuf      = (char *) out;
    xfer.cmd.xfer_reduce.stype       = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_reduce.stypecount  = current.count;
    xfer.cmd.xfer_reduce.rcvbuf      = (char *) in;
    xfer.cmd.xfer_reduce.rtype       = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_reduce.rtypecount  = current.count;
    xfer.cmd.xfer_reduce.op          = PAMI_DATA_SUM;
    xfer.cmd.xfer_reduce.commutative = 1;
    break;
  case PAMI_XFER_ALLGATHER:
    prepare(out, group->me, 0);
    xfer.cmd.xfer_allgather.sndbuf     = (char *) out;
    xfer.cmd.xfer_allgather.stype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_allgather.stypecount = current.count;
    xfer.cmd.xfer_allgather.rcvbuf     = (char *) in;
    xfer.cmd.xfer_allgather.rtype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_allgather.rtypecount = current.count;
    break;
  case PAMI_XFER_ALLTOALL:
    for (i = 0; i < size; i++) prepare(out + i * current.count, group->me, i);
    xfer.cmd.xfer_alltoall.sndbuf     = (char *) out;
    xfer.cmd.xfer_alltoall.stype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_alltoall.stypecount = current.count;
    xfer.cmd.xfer_alltoall.rcvbuf     = (char *) in;
    xfer.cmd.xfer_alltoall.rtype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_alltoall.rtypecount = current.count;
    break;
  case PAMI_XFER_SCATTER:
    for (i = 0; group->me == current.root && i < size; i++) prepare(out + i * current.count, current.root, i);
    xfer.cmd.xfer_scatter.root       = endpoint(group->members[current.root], 0);
    xfer.cmd.xfer_scatter.sndbuf     = (char *) out;
    xfer.cmd.xfer_scatter.stype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_scatter.stypecount = current.count;
    xfer.cmd.xfer_scatter.rcvbuf     = (char *) in;
    xfer.cmd.xfer_scatter.rtype      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_scatter.rtypecount = current.count;
    break;
  default: break;
  }
  is_collecting = 1;
  begun(PAMI_Collective(context[0], &xfer));
}

/* ----------------------------------------------- Posted work --------------------------------------------- */

typedef struct
{
  pami_work_t work;
  int         is_posted, refusals;
} item_t;

static item_t items[ITEMS];
static size_t posted, run;
static int    is_poster_stopped;

static pami_result_t work(pami_context_t on, void * cookie)
{
  item_t * item = cookie;
  if (item->refusals > 0)
  {
    --item->refusals;
    return PAMI_EAGAIN;
  }
  if (below(4) == 0) send_short(on, below(tasks));
  ++run;
  __atomic_store_n(&item->is_posted, 0, __ATOMIC_RELEASE);
  return PAMI_SUCCESS;
}

static void * post_all(void * argument)
{
  const struct timespec pause = {0, 20000};
  size_t                i;
  (void) argument;
  for (i = 0; !__atomic_load_n(&is_poster_stopped, __ATOMIC_ACQUIRE); i++)
  {
    item_t * item = &items[i % ITEMS];
    if (i % 8 == 0) nanosleep(&pause, NULL);
    if (__atomic_load_n(&item->is_posted, __ATOMIC_ACQUIRE)) continue;
    item->is_posted = 1;
    item->refusals  = i % 5 == 0 ? 2 : 0;
    ++posted;
    CHECK(PAMI_Context_post(context[i / 3 % contexts], &item->work, work, item));
  }
  return NULL;
}

/* Kills this process at a random time. */
static void * die(void * argument)
{
  const double    after = (double) below(1000) / 1000 * seconds;
  struct timespec pause;
  (void) argument;
  pause.tv_sec  = (time_t) after;
  pause.tv_nsec = (long) ((after - (double) pause.tv_sec) * 1e9);
  nanosleep(&pause, NULL);
  kill(getpid(), SIGKILL);
  return NULL;
}

/* -------------------------------------------------- All -------------------------------------------------- */

static struct
{
  uint64_t messages, sum;
} totals[MAX_TASKS];
static size_t totals_known;

static void learn_totals(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                         size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) pipe;
  no_data(recv, size);
  REQUIRE(header_size == sizeof totals[0]);
  memcpy(&totals[origin_task(origin)], header, sizeof totals[0]);
  ++totals_known;
}

static void advance_all(void)
{
  static size_t         seen;
  static double         since;
  const struct timespec pause = {0, 1000000};
  if (is_async)
    nanosleep(&pause, NULL);
  else
  {
    pami_result_t result = PAMI_Context_advancev(context, contexts, 1 + below(5));
    REQUIRE(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
  }
  if (seen != progress || since == 0)
  {
    seen  = progress;
    since = now();
  }
  else if (now() - since > NO_PROGRESS)
  {
    size_t i;
    for (i = 0; i < tasks; i++)
      if (parts[i].is_busy || is_adding[i])
        fprintf(stderr, "task %zu: with task %zu: %s%s\n", task, i, parts[i].is_busy ? "put or get " : "",
                is_adding[i] ? "addition" : "");
    FAIL("no progress for %d s, after %zu operations: %zu sends, collective %zu (kind %d)%s", NO_PROGRESS, operations,
         sends_in_flight, collectives, current.kind, is_collecting ? " in progress" : "");
  }
}

static int is_busy(void)
{
  size_t i;
  int    busy = sends_in_flight > 0 || is_collecting || run < posted;
  for (i = 0; i < tasks; i++) busy |= parts[i].is_busy || is_adding[i];
  return busy;
}

/* The greatest number that all counters of messages and sums have reached. */
static int all_has_arrived(void)
{
  size_t   i;
  uint64_t sum = 0;
  if (totals_known < tasks) return 0;
  for (i = 0; i < tasks; i++)
  {
    if (received_from[i] < totals[i].messages) return 0;
    sum += totals[i].sum;
  }
  return counter == sum;
}

static double           end;
static volatile int     is_over;
static pami_extension_t extension;

/* Begins an operation, and a collective if none is in progress; PAMI_SUCCESS if it was the last time. Also as posted
 * work. */
static pami_result_t step(pami_context_t on, void * cookie)
{
  size_t to = below(tasks);
  (void) cookie;
  if (has_voted_to_stop)
  {
    is_over = 1;
    return PAMI_SUCCESS;
  }
  /* Who waits for a task that is killed does not stop by itself. */
  is_stopping = !is_killing && (seconds > 0 ? now() > end : operations >= OPERATIONS);
  if (!is_collecting) start_collective();
  if (sends_in_flight >= IN_FLIGHT || is_stopping) return PAMI_EAGAIN;
  ++operations;
  switch (below(5))
  {
  case 0: send_short(on, to); break;
  case 1: send_long(on, to); break;
  case 2:
  case 3: put_or_get(on, to); break;
  default: add(on, to);
  }
  return PAMI_EAGAIN;
}

int main(int count_of_arguments, char ** arguments)
{
  size_t    i;
  size_t    seed = count_of_arguments > 2 ? strtoul(arguments[2], NULL, 10) : 1;
  pthread_t poster;

  seconds    = count_of_arguments > 1 ? atof(arguments[1]) : 0;
  is_killing = count_of_arguments > 3 && strstr(arguments[3], "kill") != NULL;
  is_async   = count_of_arguments > 3 && strstr(arguments[3], "async") != NULL;
  /* One thread for all contexts, so that callbacks run one after the other. */
  if (is_async) setenv("PAMI_MAX_COMMTHREADS", "1", 1);
  start("soak", CONTEXTS);
  own_random    = (seed * 1000003 + task + 1) * UINT64_C(0x9E3779B97F4A7C15);
  common_random = (seed + 77) * UINT64_C(0x9E3779B97F4A7C15);
  for (i = 0; i < 10; i++) next_random(&own_random), next_random(&common_random);
  CHECK(PAMI_Type_create(&gaps));
  CHECK(PAMI_Type_add_simple(gaps, BLOCK, 0, 10, STRIDE));
  CHECK(PAMI_Type_complete(gaps, 1));
  for (i = 0; i < contexts; i++)
  {
    set_dispatch(context[i], SEND_ID, receive, NULL);
    set_dispatch(context[i], CHECK_ID, check_put, NULL);
    set_dispatch(context[i], CHECKED_ID, put_is_checked, NULL);
    set_dispatch(context[i], TOTALS_ID, learn_totals, NULL);
  }
  in     = allocate(tasks * COUNT * sizeof *in);
  out    = allocate(tasks * COUNT * sizeof *out);
  window = allocate(tasks * PART);
  buffer = allocate(tasks * PART);
  {
    uint64_t *       own_counter = (uint64_t *) &counter;
    pami_memregion_t own_region;
    size_t           granted;
    CHECK(PAMI_Memregion_create(context[0], window, tasks * PART, &granted, &own_region));
    REQUIRE(granted == tasks * PART);
    CHECK(PAMI_Memregion_create(context[0], buffer, tasks * PART, &granted, &buffer_region));
    exchange(&window, sizeof window, windows);
    exchange(&own_region, sizeof own_region, window_regions);
    exchange(&own_counter, sizeof own_counter, counters);
  }
  CHECK(PAMI_Geometry_world(client, &groups[0].geometry));
  groups[0].size = tasks;
  groups[0].me   = task;
  for (i = 0; i < tasks; i++) groups[0].members[i] = (pami_task_t) i;
  barrier();

  if (seconds > 0) REQUIRE(pthread_create(&poster, NULL, post_all, NULL) == 0);
  if (is_killing && task == seed % tasks)
  {
    pthread_t killer;
    REQUIRE(pthread_create(&killer, NULL, die, NULL) == 0);
  }
  end = now() + seconds;
  if (is_async)
  {
    static pami_work_t             work_of_all;
    async_progress_enable_function enable;
    CHECK(PAMI_Extension_open(client, "EXT_async_progress", &extension));
    enable = (async_progress_enable_function) PAMI_Extension_symbol(extension, "enable");
    for (i = 0; i < contexts; i++) CHECK(enable(context[i], PAMIX_ASYNC_ALL));
    CHECK(PAMI_Context_post(context[0], &work_of_all, step, NULL));
    while (!is_over) advance_all();
  }
  else
    while (step(context[below(contexts)], NULL) == PAMI_EAGAIN) advance_all();
  if (seconds > 0)
  {
    __atomic_store_n(&is_poster_stopped, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(poster, NULL) == 0);
  }
  while (is_busy()) advance_all();
  for (i = 0; i < tasks; i++)
  {
    uint64_t mine[2];
    mine[0] = sent_to[i];
    mine[1] = added_to[i];
    CHECK(PAMI_Context_lock(context[0]));
    send_immediate(context[0], endpoint(i, 0), TOTALS_ID, mine, sizeof mine, NULL, 0);
    CHECK(PAMI_Context_unlock(context[0]));
  }
  while (!all_has_arrived()) advance_all();
  if (is_async)
  {
    async_progress_disable_function disable;
    disable = (async_progress_disable_function) PAMI_Extension_symbol(extension, "disable");
    for (i = 0; i < contexts; i++) CHECK(disable(context[i], PAMIX_ASYNC_ALL));
  }
  for (i = 0; i < tasks; i++) EXPECT_VALUE(totals[i].messages, received_from[i], "messages of task %zu", i);
  if (task == 0) printf("%zu operations of task 0, %zu collectives, %zu works\n", operations, collectives, run);
  return finish();
}
