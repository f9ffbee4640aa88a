/* Collectives beyond contiguous data: operands that do not commute, types with gaps, buffers in place, several
 * operations in flight, and a callback that starts the next operation. */

#include "common.h"

static pami_geometry_t world;

/* ------------------------------------- An operation that does not commute ------------------------------------- */

/* A run of members: `first` to `end`. Two runs combine only if the second continues the first. */
typedef struct
{
  int first, end, index, broken;
} run_t;

static void join(void * target, void * source, size_t bytes, void * cookie)
{
  run_t *       to   = target;
  const run_t * from = source;
  size_t        i;
  REQUIRE(cookie == &world && bytes % sizeof(run_t) == 0);
  for (i = 0; i < bytes / sizeof(run_t); i++)
  {
    if (to[i].end != from[i].first || to[i].index != from[i].index) to[i].broken = 1;
    to[i].end = from[i].end;
  }
}

static void runs(run_t * at, size_t n)
{
  size_t i;
  for (i = 0; i < n; i++)
  {
    at[i].first  = (int) task;
    at[i].end    = (int) task + 1;
    at[i].index  = (int) i;
    at[i].broken = 0;
  }
}

static void expect_runs(const char * name, const run_t * at, size_t n, size_t end, size_t from)
{
  size_t i;
  for (i = 0; i < n; i++)
    if (at[i].first != 0 || at[i].end != (int) end || at[i].index != (int) (from + i) || at[i].broken)
      FAIL("%s: element %zu: %d to %d of index %d%s", name, i, at[i].first, at[i].end, at[i].index,
           at[i].broken ? ", combined in the wrong order" : "");
}

static void ordered(pami_type_t type, size_t n)
{
  static const pami_xfer_type_t kinds[] = {PAMI_XFER_ALLREDUCE, PAMI_XFER_REDUCE, PAMI_XFER_SCAN,
                                           PAMI_XFER_REDUCE_SCATTER};
  size_t                        k, i, lengths[2];
  run_t *                       out = allocate(n * tasks * sizeof *out);
  run_t *                       in  = allocate(n * tasks * sizeof *in);
  size_t                        counts[MAX_TASKS];
  for (i = 0; i < tasks; i++) counts[i] = n;
  for (k = 0; k < 4; k++)
  {
    pami_algorithm_t algorithms[20];
    pami_metadata_t  metadata[20];
    CHECK(PAMI_Geometry_algorithms_num(world, kinds[k], lengths));
    REQUIRE(lengths[0] <= 20);
    CHECK(PAMI_Geometry_algorithms_query(world, kinds[k], algorithms, metadata, lengths[0], NULL, NULL, 0));
    for (i = 0; i < lengths[0]; i++)
    {
      pami_xfer_t xfer;
      size_t      root = i % tasks;
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = algorithms[i];
      runs(out, n * tasks);
      if (kinds[k] == PAMI_XFER_REDUCE)
      {
        xfer.cmd.xfer_reduce.root        = endpoint(root, 0);
        xfer.cmd.xfer_reduce.sndbuf      = (char *) out;
        xfer.cmd.xfer_reduce.stype       = type;
        xfer.cmd.xfer_reduce.stypecount  = n;
        xfer.cmd.xfer_reduce.rcvbuf      = (char *) in;
        xfer.cmd.xfer_reduce.rtype       = type;
        xfer.cmd.xfer_reduce.rtypecount  = n;
        xfer.cmd.xfer_reduce.op          = join;
        xfer.cmd.xfer_reduce.data_cookie = &world;
        run_collective(context[0], &xfer);
        if (task == root) expect_runs(metadata[i].name, in, n, tasks, 0);
      }
      else if (kinds[k] == PAMI_XFER_REDUCE_SCATTER)
      {
        xfer.cmd.xfer_reduce_scatter.sndbuf      = (char *) out;
        xfer.cmd.xfer_reduce_scatter.stype       = type;
        xfer.cmd.xfer_reduce_scatter.stypecount  = n * tasks;
        xfer.cmd.xfer_reduce_scatter.rcvbuf      = (char *) in;
        xfer.cmd.xfer_reduce_scatter.rtype       = type;
        xfer.cmd.xfer_reduce_scatter.rcounts     = counts;
        xfer.cmd.xfer_reduce_scatter.op          = join;
        xfer.cmd.xfer_reduce_scatter.data_cookie = &world;
        run_collective(context[0], &xfer);
        expect_runs(metadata[i].name, in, n, tasks, task * n);
      }
      else /* allreduce and scan begin alike */
      {
        xfer.cmd.xfer_allreduce.sndbuf      = (char *) out;
        xfer.cmd.xfer_allreduce.stype       = type;
        xfer.cmd.xfer_allreduce.stypecount  = n;
        xfer.cmd.xfer_allreduce.rcvbuf      = (char *) in;
        xfer.cmd.xfer_allreduce.rtype       = type;
        xfer.cmd.xfer_allreduce.rtypecount  = n;
        xfer.cmd.xfer_allreduce.op          = join;
        xfer.cmd.xfer_allreduce.data_cookie = &world;
        run_collective(context[0], &xfer);
        expect_runs(metadata[i].name, in, n, kinds[k] == PAMI_XFER_SCAN ? task + 1 : tasks, 0);
      }
    }
  }
  free(out);
  free(in);
}

/* ------------------------------------------- Types with gaps -------------------------------------------------- */

/* Every second int of an array. */
static void gaps(pami_type_t type, size_t n)
{
  int *       out = allocate(2 * n * tasks * sizeof *out);
  int *       in  = allocate(2 * n * tasks * sizeof *in);
  pami_xfer_t xfer;
  size_t      i, t, root;

  memset(&xfer, 0, sizeof xfer); /* from gaps to gaps */
  memset(in, 0x55, 2 * n * tasks * sizeof *in);
  for (i = 0; i < n * tasks; i++) out[2 * i] = (int) (task * 10000 + i);
  xfer.algorithm                     = first_algorithm(world, PAMI_XFER_ALLTOALL);
  xfer.cmd.xfer_alltoall.sndbuf      = (char *) out;
  xfer.cmd.xfer_alltoall.stype       = type;
  xfer.cmd.xfer_alltoall.stypecount  = n;
  xfer.cmd.xfer_alltoall.rcvbuf      = (char *) in;
  xfer.cmd.xfer_alltoall.rtype       = type;
  xfer.cmd.xfer_alltoall.rtypecount  = n;
  run_collective(context[0], &xfer);
  for (t = 0; t < tasks; t++)
    for (i = 0; i < n; i++)
    {
      REQUIRE(in[2 * (t * n + i)] == (int) (t * 10000 + task * n + i));
      REQUIRE(in[2 * (t * n + i) + 1] == 0x55555555);
    }

  memset(&xfer, 0, sizeof xfer); /* the same in place, back */
  xfer.algorithm                     = first_algorithm(world, PAMI_XFER_ALLTOALL);
  xfer.cmd.xfer_alltoall.sndbuf      = PAMI_IN_PLACE;
  xfer.cmd.xfer_alltoall.rcvbuf      = (char *) in;
  xfer.cmd.xfer_alltoall.rtype       = type;
  xfer.cmd.xfer_alltoall.rtypecount  = n;
  run_collective(context[0], &xfer);
  for (i = 0; i < n * tasks; i++) REQUIRE(in[2 * i] == (int) (task * 10000 + i));

  for (root = 0; root < tasks; root++)
  {
    memset(&xfer, 0, sizeof xfer); /* from dense to gaps, in place at the root */
    for (i = 0; i < n; i++) out[i] = in[2 * (root * n + i)] = (int) (task * 1000 + i);
    xfer.algorithm                    = first_algorithm(world, PAMI_XFER_GATHER);
    xfer.cmd.xfer_gather.root         = endpoint(root, 0);
    xfer.cmd.xfer_gather.sndbuf       = task == root ? PAMI_IN_PLACE : (char *) out;
    xfer.cmd.xfer_gather.stype        = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_gather.stypecount   = n;
    xfer.cmd.xfer_gather.rcvbuf       = (char *) in;
    xfer.cmd.xfer_gather.rtype        = type;
    xfer.cmd.xfer_gather.rtypecount   = n;
    run_collective(context[0], &xfer);
    for (t = 0; task == root && t < tasks; t++)
      for (i = 0; i < n; i++) REQUIRE(in[2 * (t * n + i)] == (int) (t * 1000 + i));

    memset(&xfer, 0, sizeof xfer); /* and back, in place at the root */
    memset(out, 0x55, n * sizeof *out);
    xfer.algorithm                    = first_algorithm(world, PAMI_XFER_SCATTER);
    xfer.cmd.xfer_scatter.root        = endpoint(root, 0);
    xfer.cmd.xfer_scatter.sndbuf      = (char *) in;
    xfer.cmd.xfer_scatter.stype       = type;
    xfer.cmd.xfer_scatter.stypecount  = n;
    xfer.cmd.xfer_scatter.rcvbuf      = task == root ? PAMI_IN_PLACE : (char *) out;
    xfer.cmd.xfer_scatter.rtype       = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_scatter.rtypecount  = n;
    run_collective(context[0], &xfer);
    for (i = 0; task != root && i < n; i++) REQUIRE(out[i] == (int) (task * 1000 + i));

    memset(&xfer, 0, sizeof xfer);
    for (i = 0; i < n; i++) in[2 * i] = task == root ? (int) (root + i) : -1;
    xfer.algorithm                    = first_algorithm(world, PAMI_XFER_BROADCAST);
    xfer.cmd.xfer_broadcast.root      = endpoint(root, 0);
    xfer.cmd.xfer_broadcast.buf       = (char *) in;
    xfer.cmd.xfer_broadcast.type      = type;
    xfer.cmd.xfer_broadcast.typecount = n;
    run_collective(context[0], &xfer);
    for (i = 0; i < n; i++) REQUIRE(in[2 * i] == (int) (root + i));
  }
  free(out);
  free(in);
}

/* Predefined reductions of doubles that lie apart, differently in the two buffers, by every algorithm. */
static void reductions_with_gaps(pami_type_t even, pami_type_t odd, size_t n)
{
  static const pami_xfer_type_t kinds[] = {PAMI_XFER_ALLREDUCE, PAMI_XFER_REDUCE, PAMI_XFER_SCAN,
                                           PAMI_XFER_REDUCE_SCATTER};
  double * out = allocate(2 * n * tasks * sizeof *out);
  double * in  = allocate(2 * n * tasks * sizeof *in);
  size_t   counts[MAX_TASKS], k, i, a, lengths[2];

  volatile size_t done;
  for (i = 0; i < tasks; i++) counts[i] = n;
  for (k = 0; k < 4; k++)
  {
    pami_algorithm_t algorithms[32];
    CHECK(PAMI_Geometry_algorithms_num(world, kinds[k], lengths));
    REQUIRE(lengths[0] + lengths[1] <= 32);
    CHECK(PAMI_Geometry_algorithms_query(world, kinds[k], algorithms, NULL, lengths[0],
                                         algorithms + lengths[0], NULL, lengths[1]));
    for (a = 0; a < lengths[0] + lengths[1]; a++)
    {
      size_t      last = kinds[k] == PAMI_XFER_SCAN ? task + 1 : tasks;
      size_t      from = kinds[k] == PAMI_XFER_REDUCE_SCATTER ? task * n : 0;
      pami_xfer_t xfer;
      for (i = 0; i < n * tasks; i++)
      {
        out[2 * i]     = (double) (task + i);
        out[2 * i + 1] = in[2 * i] = in[2 * i + 1] = -1;
      }
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = algorithms[a];
      if (kinds[k] == PAMI_XFER_REDUCE_SCATTER)
      {
        xfer.cmd.xfer_reduce_scatter.sndbuf     = (char *) out;
        xfer.cmd.xfer_reduce_scatter.stype      = even;
        xfer.cmd.xfer_reduce_scatter.stypecount = n * tasks;
        xfer.cmd.xfer_reduce_scatter.rcvbuf     = (char *) in;
        xfer.cmd.xfer_reduce_scatter.rtype      = odd;
        xfer.cmd.xfer_reduce_scatter.rcounts    = counts;
        xfer.cmd.xfer_reduce_scatter.op         = PAMI_DATA_SUM;
      }
      else if (kinds[k] == PAMI_XFER_REDUCE)
      {
        xfer.cmd.xfer_reduce.root       = endpoint(tasks - 1, 0);
        xfer.cmd.xfer_reduce.sndbuf     = (char *) out;
        xfer.cmd.xfer_reduce.stype      = even;
        xfer.cmd.xfer_reduce.stypecount = n;
        xfer.cmd.xfer_reduce.rcvbuf     = (char *) in;
        xfer.cmd.xfer_reduce.rtype      = odd;
        xfer.cmd.xfer_reduce.rtypecount = n;
        xfer.cmd.xfer_reduce.op         = PAMI_DATA_SUM;
      }
      else
      {
        xfer.cmd.xfer_allreduce.sndbuf     = (char *) out;
        xfer.cmd.xfer_allreduce.stype      = even;
        xfer.cmd.xfer_allreduce.stypecount = n;
        xfer.cmd.xfer_allreduce.rcvbuf     = (char *) in;
        xfer.cmd.xfer_allreduce.rtype      = odd;
        xfer.cmd.xfer_allreduce.rtypecount = n;
        xfer.cmd.xfer_allreduce.op         = PAMI_DATA_SUM;
      }
      xfer.cb_done = count_event;
      xfer.cookie  = (void *) &done;
      done         = 0;
      if (PAMI_Collective(context[0], &xfer) == PAMI_INVAL)
      {
        REQUIRE(a >= lengths[0]); /* not for this number of tasks */
        continue;
      }
      wait_until(context[0], done == 1);
      if (kinds[k] == PAMI_XFER_REDUCE && task != tasks - 1) last = 0;
      for (i = 0; i < n; i++)
      {
        double sum = last == 0 ? -1 : (double) (last * (from + i) + last * (last - 1) / 2);
        EXPECT_VALUE(-1, in[2 * i], "collective %d, algorithm %zu: the gap before element %zu", (int) kinds[k], a, i);
        EXPECT_VALUE(sum, in[2 * i + 1], "collective %d, algorithm %zu: element %zu", (int) kinds[k], a, i);
      }
    }
  }
  free(out);
  free(in);
}

/* Send and receive buffers that are the same memory, by every algorithm. */
static void one_buffer(size_t n)
{
  static const pami_xfer_type_t kinds[] = {PAMI_XFER_ALLREDUCE, PAMI_XFER_REDUCE_SCATTER, PAMI_XFER_ALLGATHER,
                                           PAMI_XFER_ALLTOALL, PAMI_XFER_GATHER};
  int *  buffer = allocate(n * tasks * sizeof *buffer);
  size_t counts[MAX_TASKS], k, i, j, a, lengths[2];

  volatile size_t done;
  for (i = 0; i < tasks; i++) counts[i] = n;
  for (k = 0; k < 5; k++)
  {
    pami_algorithm_t algorithms[32];
    CHECK(PAMI_Geometry_algorithms_num(world, kinds[k], lengths));
    CHECK(PAMI_Geometry_algorithms_query(world, kinds[k], algorithms, NULL, lengths[0],
                                         algorithms + lengths[0], NULL, lengths[1]));
    for (a = 0; a < lengths[0] + lengths[1]; a++)
    {
      pami_type_t type = PAMI_TYPE_SIGNED_INT;
      char *      both = (char *) buffer;
      pami_xfer_t xfer;
      for (i = 0; i < n * tasks; i++) buffer[i] = (int) (task * 100003 + i);
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = algorithms[a];
      xfer.cb_done   = count_event;
      xfer.cookie    = (void *) &done;
      done           = 0;
      if (kinds[k] == PAMI_XFER_ALLREDUCE)
        xfer.cmd.xfer_allreduce =
            (pami_allreduce_t){both, type, n, both, type, n, PAMI_DATA_SUM, NULL, 1};
      else if (kinds[k] == PAMI_XFER_REDUCE_SCATTER)
        xfer.cmd.xfer_reduce_scatter =
            (pami_reduce_scatter_t){both, type, n * tasks, both, type, counts, PAMI_DATA_SUM, NULL, 1};
      else if (kinds[k] == PAMI_XFER_ALLGATHER)
        xfer.cmd.xfer_allgather = (pami_allgather_t){both, type, n, both, type, n};
      else if (kinds[k] == PAMI_XFER_ALLTOALL)
        xfer.cmd.xfer_alltoall = (pami_alltoall_t){both, type, n, both, type, n};
      else
        xfer.cmd.xfer_gather = (pami_gather_t){endpoint(tasks - 1, 0), both, type, n, both, type, n};
      if (PAMI_Collective(context[0], &xfer) == PAMI_INVAL)
      {
        REQUIRE(a >= lengths[0]);
        continue;
      }
      wait_until(context[0], done == 1);
      for (j = 0; j < tasks; j++)
        for (i = 0; i < n; i++)
        {
          int expected = (int) (j * 100003 + i); /* of allgather and gather */
          int got      = buffer[j * n + i];
          if (kinds[k] == PAMI_XFER_GATHER && task != tasks - 1) continue;
          if ((kinds[k] == PAMI_XFER_ALLREDUCE || kinds[k] == PAMI_XFER_REDUCE_SCATTER) && j > 0) continue;
          if (kinds[k] == PAMI_XFER_ALLTOALL) expected = (int) (j * 100003 + task * n + i);
          if (kinds[k] == PAMI_XFER_ALLREDUCE) expected = (int) (tasks * i + tasks * (tasks - 1) / 2 * 100003);
          if (kinds[k] == PAMI_XFER_REDUCE_SCATTER)
            expected = (int) (tasks * (task * n + i) + tasks * (tasks - 1) / 2 * 100003);
          EXPECT_VALUE(expected, got, "one buffer, collective %d, algorithm %zu: element %zu of %zu", (int) kinds[k], a,
                       i, j);
        }
    }
  }
  free(buffer);
}

/* ------------------------------------------- Several at a time ------------------------------------------------ */

enum { FLIGHT = 20, CHAIN = 200 };

static pami_xfer_t chain;
static size_t      links;

static void next_link(pami_context_t on, void * cookie, pami_result_t result)
{
  REQUIRE(result == PAMI_SUCCESS && cookie == &links);
  if (++links < CHAIN) CHECK(PAMI_Collective(on, &chain));
}

static void in_flight(size_t n)
{
  size_t          i, j;
  volatile size_t done = 0;
  int *           all  = allocate(FLIGHT * n * sizeof *all);
  for (i = 0; i < FLIGHT; i++)
  {
    pami_xfer_t xfer;
    memset(&xfer, 0, sizeof xfer);
    for (j = 0; j < n; j++) all[i * n + j] = i % tasks == task ? (int) (i * 1000 + j) : -1;
    xfer.cb_done                      = count_event;
    xfer.cookie                       = (void *) &done;
    xfer.algorithm                    = first_algorithm(world, PAMI_XFER_BROADCAST);
    xfer.cmd.xfer_broadcast.root      = endpoint(i % tasks, 0);
    xfer.cmd.xfer_broadcast.buf       = (char *) (all + i * n);
    xfer.cmd.xfer_broadcast.type      = PAMI_TYPE_SIGNED_INT;
    xfer.cmd.xfer_broadcast.typecount = n;
    CHECK(PAMI_Collective(context[0], &xfer));
  }
  wait_until(context[0], done == FLIGHT);
  for (i = 0; i < FLIGHT; i++)
    for (j = 0; j < n; j++) REQUIRE(all[i * n + j] == (int) (i * 1000 + j));
  free(all);
}

int main(void)
{
  pami_type_t run, gap, even, odd;

  start("collective_layouts", 1);
  CHECK(PAMI_Geometry_world(client, &world));
  CHECK(PAMI_Type_create(&run));
  CHECK(PAMI_Type_add_simple(run, sizeof(run_t), 0, 1, sizeof(run_t)));
  CHECK(PAMI_Type_complete(run, sizeof(run_t)));
  CHECK(PAMI_Type_create(&gap));
  CHECK(PAMI_Type_add_simple(gap, sizeof(int), 0, 1, 2 * sizeof(int)));
  CHECK(PAMI_Type_complete(gap, sizeof(int)));

  CHECK(PAMI_Type_create(&even));
  CHECK(PAMI_Type_add_typed(even, PAMI_TYPE_DOUBLE, 0, 1, 2 * sizeof(double)));
  CHECK(PAMI_Type_complete(even, sizeof(double)));
  CHECK(PAMI_Type_create(&odd));
  CHECK(PAMI_Type_add_typed(odd, PAMI_TYPE_DOUBLE, sizeof(double), 1, sizeof(double)));
  CHECK(PAMI_Type_complete(odd, sizeof(double)));

  ordered(run, 1);
  ordered(run, 1000);
  gaps(gap, 1);
  gaps(gap, 3000);
  reductions_with_gaps(even, odd, 1);
  reductions_with_gaps(even, odd, 3000);
  one_buffer(1);
  one_buffer(3000);
  in_flight(10);
  in_flight(20000);

  memset(&chain, 0, sizeof chain);
  chain.algorithm = first_algorithm(world, PAMI_XFER_BARRIER);
  chain.cb_done   = next_link;
  chain.cookie    = &links;
  CHECK(PAMI_Collective(context[0], &chain));
  wait_until(context[0], links == CHAIN);

  CHECK(PAMI_Type_destroy(&run));
  CHECK(PAMI_Type_destroy(&gap));
  CHECK(PAMI_Type_destroy(&even));
  CHECK(PAMI_Type_destroy(&odd));
  return finish();
}
