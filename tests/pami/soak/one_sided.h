/* Part of soak.c: puts, gets and atomic operations. */

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
