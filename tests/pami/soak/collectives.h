/* Part of soak.c: collectives over the world and over geometries that come and go. */

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
