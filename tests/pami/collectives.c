/* All collectives with data: every algorithm that the world geometry lists, on both lists, every root, several
 * sizes, and the results compared with a plain computation. Elements are ints whose values tell source, destination and
 * index. */

#include "common.h"

enum { MOST = 20000 };

static pami_geometry_t  world;
static size_t           count; /* elements per block */
static size_t           root;
static size_t           spread; /* elements of both buffers */
static int *            out;
static int *            in;
static const char *     name; /* of the algorithm in use */
static pami_algorithm_t algorithm;
static size_t           runs;     /* of the algorithm in use */

static pami_metadata_function check_fn; /* NULL if it always works */

static int value(size_t from, size_t to, size_t i)
{
  return (int) (from * 1000003 + to * 1009 + i + 1);
}

/* Elements of the block that `from` sends to `to` in the vector operations. */
static size_t block(size_t from, size_t to)
{
  return count + (from + 2 * to) % 5;
}

static void expect(const int * got, size_t n, size_t from, size_t to)
{
  size_t i;
  for (i = 0; i < n; i++)
    EXPECT_VALUE(value(from, to, i), got[i], "%s, root %zu, count %zu: element %zu of %zu from %zu to %zu", name, root,
                 count, i, n, from, to);
}

static void prepare(int * at, size_t n, size_t from, size_t to)
{
  size_t i;
  for (i = 0; i < n; i++) at[i] = value(from, to, i);
}

/* Runs the algorithm in use; if its check says that it cannot run this, the first that always works. */
static void run(pami_xfer_t * xfer, pami_xfer_type_t type)
{
  xfer->algorithm = algorithm;
  if (check_fn != NULL && check_fn(xfer).bitmask != 0)
  {
    EXPECT(PAMI_INVAL, PAMI_Collective(context[0], xfer));
    xfer->algorithm = first_algorithm(world, type);
  }
  else
    ++runs;
  run_collective(context[0], xfer);
}

static void clear(void)
{
  memset(in, 0x55, spread * sizeof *in);
  memset(out, 0x55, spread * sizeof *out);
}

/* ------------------------------------------ Data movement ------------------------------------------- */

static void test_broadcast(pami_xfer_t * xfer)
{
  if (task == root) prepare(in, count, root, 0);
  xfer->cmd.xfer_broadcast.root      = endpoint(root, 0);
  xfer->cmd.xfer_broadcast.buf       = (char *) in;
  xfer->cmd.xfer_broadcast.type      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_broadcast.typecount = count;
  run(xfer, PAMI_XFER_BROADCAST);
  expect(in, count, root, 0);
}

static void test_allgather(pami_xfer_t * xfer)
{
  size_t i;
  prepare(out, count, task, 0);
  xfer->cmd.xfer_allgather.sndbuf     = (char *) out;
  xfer->cmd.xfer_allgather.stype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgather.stypecount = count;
  xfer->cmd.xfer_allgather.rcvbuf     = (char *) in;
  xfer->cmd.xfer_allgather.rtype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgather.rtypecount = count;
  run(xfer, PAMI_XFER_ALLGATHER);
  for (i = 0; i < tasks; i++) expect(in + i * count, count, i, 0);

  clear();
  prepare(in + task * count, count, task, 0);
  xfer->cmd.xfer_allgather.sndbuf = PAMI_IN_PLACE;
  run(xfer, PAMI_XFER_ALLGATHER);
  for (i = 0; i < tasks; i++) expect(in + i * count, count, i, 0);
}

static void test_gather(pami_xfer_t * xfer)
{
  size_t i;
  prepare(out, count, task, 0);
  xfer->cmd.xfer_gather.root       = endpoint(root, 0);
  xfer->cmd.xfer_gather.sndbuf     = (char *) out;
  xfer->cmd.xfer_gather.stype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gather.stypecount = count;
  xfer->cmd.xfer_gather.rcvbuf     = (char *) in;
  xfer->cmd.xfer_gather.rtype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gather.rtypecount = count;
  run(xfer, PAMI_XFER_GATHER);
  for (i = 0; task == root && i < tasks; i++) expect(in + i * count, count, i, 0);
}

static void test_scatter(pami_xfer_t * xfer)
{
  size_t i;
  for (i = 0; task == root && i < tasks; i++) prepare(out + i * count, count, root, i);
  xfer->cmd.xfer_scatter.root       = endpoint(root, 0);
  xfer->cmd.xfer_scatter.sndbuf     = (char *) out;
  xfer->cmd.xfer_scatter.stype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatter.stypecount = count;
  xfer->cmd.xfer_scatter.rcvbuf     = (char *) in;
  xfer->cmd.xfer_scatter.rtype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatter.rtypecount = count;
  run(xfer, PAMI_XFER_SCATTER);
  expect(in, count, root, task);
}

static void test_alltoall(pami_xfer_t * xfer)
{
  size_t i;
  for (i = 0; i < tasks; i++) prepare(out + i * count, count, task, i);
  xfer->cmd.xfer_alltoall.sndbuf     = (char *) out;
  xfer->cmd.xfer_alltoall.stype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoall.stypecount = count;
  xfer->cmd.xfer_alltoall.rcvbuf     = (char *) in;
  xfer->cmd.xfer_alltoall.rtype      = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoall.rtypecount = count;
  run(xfer, PAMI_XFER_ALLTOALL);
  for (i = 0; i < tasks; i++) expect(in + i * count, count, i, task);
}

/* Vector operations: blocks differ in size and lie apart, in both kinds of arrays. */

static size_t counts[2][MAX_TASKS], places[2][MAX_TASKS]; /* [0]: sending, [1]: receiving */
static int    int_counts[2][MAX_TASKS], int_places[2][MAX_TASKS];

/* Fills in the arrays: block i has the size given by `from` and `to`, of which -1 stands for i. */
static void arrange(int side, long from, long to)
{
  size_t i, place = 1;
  for (i = 0; i < tasks; i++)
  {
    counts[side][i]     = block(from < 0 ? i : (size_t) from, to < 0 ? i : (size_t) to);
    places[side][i]     = place;
    int_counts[side][i] = (int) counts[side][i];
    int_places[side][i] = (int) place;
    place += counts[side][i] + i % 3;
  }
}

static void test_allgatherv(pami_xfer_t * xfer)
{
  size_t i;
  arrange(1, -1, 0);
  prepare(out, block(task, 0), task, 0);
  xfer->cmd.xfer_allgatherv.sndbuf      = (char *) out;
  xfer->cmd.xfer_allgatherv.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgatherv.stypecount  = block(task, 0);
  xfer->cmd.xfer_allgatherv.rcvbuf      = (char *) in;
  xfer->cmd.xfer_allgatherv.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgatherv.rtypecounts = counts[1];
  xfer->cmd.xfer_allgatherv.rdispls     = places[1];
  run(xfer, PAMI_XFER_ALLGATHERV);
  for (i = 0; i < tasks; i++) expect(in + places[1][i], counts[1][i], i, 0);
}

static void test_allgatherv_int(pami_xfer_t * xfer)
{
  size_t i;
  arrange(1, -1, 0);
  prepare(out, block(task, 0), task, 0);
  xfer->cmd.xfer_allgatherv_int.sndbuf      = (char *) out;
  xfer->cmd.xfer_allgatherv_int.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgatherv_int.stypecount  = (int) block(task, 0);
  xfer->cmd.xfer_allgatherv_int.rcvbuf      = (char *) in;
  xfer->cmd.xfer_allgatherv_int.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_allgatherv_int.rtypecounts = int_counts[1];
  xfer->cmd.xfer_allgatherv_int.rdispls     = int_places[1];
  run(xfer, PAMI_XFER_ALLGATHERV_INT);
  for (i = 0; i < tasks; i++) expect(in + places[1][i], counts[1][i], i, 0);
}

static void test_gatherv(pami_xfer_t * xfer)
{
  size_t i;
  arrange(1, -1, 0);
  prepare(out, block(task, 0), task, 0);
  xfer->cmd.xfer_gatherv.root        = endpoint(root, 0);
  xfer->cmd.xfer_gatherv.sndbuf      = (char *) out;
  xfer->cmd.xfer_gatherv.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gatherv.stypecount  = block(task, 0);
  xfer->cmd.xfer_gatherv.rcvbuf      = (char *) in;
  xfer->cmd.xfer_gatherv.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gatherv.rtypecounts = counts[1];
  xfer->cmd.xfer_gatherv.rdispls     = places[1];
  run(xfer, PAMI_XFER_GATHERV);
  for (i = 0; task == root && i < tasks; i++) expect(in + places[1][i], counts[1][i], i, 0);
}

static void test_gatherv_int(pami_xfer_t * xfer)
{
  size_t i;
  arrange(1, -1, 0);
  prepare(out, block(task, 0), task, 0);
  xfer->cmd.xfer_gatherv_int.root        = endpoint(root, 0);
  xfer->cmd.xfer_gatherv_int.sndbuf      = (char *) out;
  xfer->cmd.xfer_gatherv_int.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gatherv_int.stypecount  = (int) block(task, 0);
  xfer->cmd.xfer_gatherv_int.rcvbuf      = (char *) in;
  xfer->cmd.xfer_gatherv_int.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_gatherv_int.rtypecounts = int_counts[1];
  xfer->cmd.xfer_gatherv_int.rdispls     = int_places[1];
  run(xfer, PAMI_XFER_GATHERV_INT);
  for (i = 0; task == root && i < tasks; i++) expect(in + places[1][i], counts[1][i], i, 0);
}

static void test_scatterv(pami_xfer_t * xfer)
{
  size_t i;
  arrange(0, (long) root, -1);
  for (i = 0; task == root && i < tasks; i++) prepare(out + places[0][i], counts[0][i], root, i);
  xfer->cmd.xfer_scatterv.root        = endpoint(root, 0);
  xfer->cmd.xfer_scatterv.sndbuf      = (char *) out;
  xfer->cmd.xfer_scatterv.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatterv.stypecounts = counts[0];
  xfer->cmd.xfer_scatterv.sdispls     = places[0];
  xfer->cmd.xfer_scatterv.rcvbuf      = (char *) in;
  xfer->cmd.xfer_scatterv.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatterv.rtypecount  = block(root, task);
  run(xfer, PAMI_XFER_SCATTERV);
  expect(in, block(root, task), root, task);
}

static void test_scatterv_int(pami_xfer_t * xfer)
{
  size_t i;
  arrange(0, (long) root, -1);
  for (i = 0; task == root && i < tasks; i++) prepare(out + places[0][i], counts[0][i], root, i);
  xfer->cmd.xfer_scatterv_int.root        = endpoint(root, 0);
  xfer->cmd.xfer_scatterv_int.sndbuf      = (char *) out;
  xfer->cmd.xfer_scatterv_int.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatterv_int.stypecounts = int_counts[0];
  xfer->cmd.xfer_scatterv_int.sdispls     = int_places[0];
  xfer->cmd.xfer_scatterv_int.rcvbuf      = (char *) in;
  xfer->cmd.xfer_scatterv_int.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_scatterv_int.rtypecount  = (int) block(root, task);
  run(xfer, PAMI_XFER_SCATTERV_INT);
  expect(in, block(root, task), root, task);
}

static void test_alltoallv(pami_xfer_t * xfer)
{
  size_t i;
  arrange(0, (long) task, -1);
  arrange(1, -1, (long) task);
  for (i = 0; i < tasks; i++) prepare(out + places[0][i], counts[0][i], task, i);
  xfer->cmd.xfer_alltoallv.sndbuf      = (char *) out;
  xfer->cmd.xfer_alltoallv.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoallv.stypecounts = counts[0];
  xfer->cmd.xfer_alltoallv.sdispls     = places[0];
  xfer->cmd.xfer_alltoallv.rcvbuf      = (char *) in;
  xfer->cmd.xfer_alltoallv.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoallv.rtypecounts = counts[1];
  xfer->cmd.xfer_alltoallv.rdispls     = places[1];
  run(xfer, PAMI_XFER_ALLTOALLV);
  for (i = 0; i < tasks; i++) expect(in + places[1][i], counts[1][i], i, task);
}

static void test_alltoallv_int(pami_xfer_t * xfer)
{
  size_t i;
  arrange(0, (long) task, -1);
  arrange(1, -1, (long) task);
  for (i = 0; i < tasks; i++) prepare(out + places[0][i], counts[0][i], task, i);
  xfer->cmd.xfer_alltoallv_int.sndbuf      = (char *) out;
  xfer->cmd.xfer_alltoallv_int.stype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoallv_int.stypecounts = int_counts[0];
  xfer->cmd.xfer_alltoallv_int.sdispls     = int_places[0];
  xfer->cmd.xfer_alltoallv_int.rcvbuf      = (char *) in;
  xfer->cmd.xfer_alltoallv_int.rtype       = PAMI_TYPE_SIGNED_INT;
  xfer->cmd.xfer_alltoallv_int.rtypecounts = int_counts[1];
  xfer->cmd.xfer_alltoallv_int.rdispls     = int_places[1];
  run(xfer, PAMI_XFER_ALLTOALLV_INT);
  for (i = 0; i < tasks; i++) expect(in + places[1][i], counts[1][i], i, task);
}

static void test_barrier(pami_xfer_t * xfer)
{
  run(xfer, PAMI_XFER_BARRIER);
}

/* -------------------------------------------- Reductions -------------------------------------------- */

/* Small numbers, so that sums and products of doubles are exact. */
static double operand(size_t from, size_t i)
{
  return (double) ((from * 7 + i * 3) % 11) - 4;
}

static double reduced(pami_data_function op, size_t first, size_t last, size_t i)
{
  double result = operand(first, i);
  size_t from;
  for (from = first + 1; from < last; from++)
  {
    double x = operand(from, i);
    if (op == PAMI_DATA_SUM) result += x;
    if (op == PAMI_DATA_MAX && x > result) result = x;
    if (op == PAMI_DATA_MIN && x < result) result = x;
  }
  return result;
}

static void expect_reduced(const double * got, size_t n, size_t offset, pami_data_function op, size_t members)
{
  size_t i;
  for (i = 0; i < n; i++)
    EXPECT_VALUE(reduced(op, 0, members, offset + i), got[i], "%s, root %zu: element %zu of %zu", name, root, i, n);
}

static pami_data_function operation(int i)
{
  return i == 0 ? PAMI_DATA_SUM : i == 1 ? PAMI_DATA_MAX : PAMI_DATA_MIN;
}

static void operands(size_t n)
{
  size_t i;
  for (i = 0; i < n; i++) ((double *) out)[i] = operand(task, i);
}

static void test_allreduce(pami_xfer_t * xfer)
{
  int i;
  for (i = 0; i < 3; i++)
  {
    operands(count);
    xfer->cmd.xfer_allreduce.sndbuf      = (char *) out;
    xfer->cmd.xfer_allreduce.stype       = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_allreduce.stypecount  = count;
    xfer->cmd.xfer_allreduce.rcvbuf      = (char *) in;
    xfer->cmd.xfer_allreduce.rtype       = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_allreduce.rtypecount  = count;
    xfer->cmd.xfer_allreduce.op          = operation(i);
    xfer->cmd.xfer_allreduce.commutative = 1;
    run(xfer, PAMI_XFER_ALLREDUCE);
    expect_reduced((double *) in, count, 0, operation(i), tasks);

    operands(count);
    memcpy(in, out, count * sizeof(double));
    xfer->cmd.xfer_allreduce.sndbuf = PAMI_IN_PLACE;
    run(xfer, PAMI_XFER_ALLREDUCE);
    expect_reduced((double *) in, count, 0, operation(i), tasks);
  }
}

static void test_reduce(pami_xfer_t * xfer)
{
  int i;
  for (i = 0; i < 3; i++)
  {
    operands(count);
    xfer->cmd.xfer_reduce.root        = endpoint(root, 0);
    xfer->cmd.xfer_reduce.sndbuf      = (char *) out;
    xfer->cmd.xfer_reduce.stype       = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_reduce.stypecount  = count;
    xfer->cmd.xfer_reduce.rcvbuf      = (char *) in;
    xfer->cmd.xfer_reduce.rtype       = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_reduce.rtypecount  = count;
    xfer->cmd.xfer_reduce.op          = operation(i);
    xfer->cmd.xfer_reduce.commutative = 1;
    run(xfer, PAMI_XFER_REDUCE);
    if (task == root) expect_reduced((double *) in, count, 0, operation(i), tasks);
  }
}

static void test_scan(pami_xfer_t * xfer)
{
  int i;
  for (i = 0; i < 4; i++)
  {
    pami_data_function op = operation(i / 2);
    operands(count);
    xfer->cmd.xfer_scan.sndbuf     = (char *) out;
    xfer->cmd.xfer_scan.stype      = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_scan.stypecount = count;
    xfer->cmd.xfer_scan.rcvbuf     = (char *) in;
    xfer->cmd.xfer_scan.rtype      = PAMI_TYPE_DOUBLE;
    xfer->cmd.xfer_scan.rtypecount = count;
    xfer->cmd.xfer_scan.op         = op;
    xfer->cmd.xfer_scan.exclusive  = i % 2;
    run(xfer, PAMI_XFER_SCAN);
    if (i % 2 == 0 || task > 0) expect_reduced((double *) in, count, 0, op, task + (i % 2 == 0));
  }
}

static void test_reduce_scatter(pami_xfer_t * xfer)
{
  size_t i, total = 0, mine = 0;
  for (i = 0; i < tasks; i++)
  {
    counts[1][i] = count + i % 3;
    if (i == task) mine = total;
    total += counts[1][i];
  }
  operands(total);
  xfer->cmd.xfer_reduce_scatter.sndbuf      = (char *) out;
  xfer->cmd.xfer_reduce_scatter.stype       = PAMI_TYPE_DOUBLE;
  xfer->cmd.xfer_reduce_scatter.stypecount  = total;
  xfer->cmd.xfer_reduce_scatter.rcvbuf      = (char *) in;
  xfer->cmd.xfer_reduce_scatter.rtype       = PAMI_TYPE_DOUBLE;
  xfer->cmd.xfer_reduce_scatter.rcounts     = counts[1];
  xfer->cmd.xfer_reduce_scatter.op          = PAMI_DATA_SUM;
  xfer->cmd.xfer_reduce_scatter.commutative = 1;
  run(xfer, PAMI_XFER_REDUCE_SCATTER);
  expect_reduced((double *) in, counts[1][task], mine, PAMI_DATA_SUM, tasks);
}

/* ------------------------------------- Active-message collectives ----------------------------------- */

/* Only the root makes the call. The end of the broadcast is reported by `cb_done` at the root and by
 * `local_fn` elsewhere. In the others the dispatch function runs at the root as well, and `local_fn` there
 * reports that the whole operation is complete. */

static volatile size_t am_done;

static void am_receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                       const void * pipe, size_t size, pami_endpoint_t origin, pami_geometry_t geometry,
                       pami_recv_t * recv)
{
  int expected = *(int *) cookie < 0 ? (int) task : *(int *) cookie;
  REQUIRE(on == context[0] && geometry == world && origin_task(origin) == root);
  REQUIRE(header_size == sizeof(int) && memcmp(header, &expected, sizeof(int)) == 0);
  REQUIRE(size == count * sizeof(int));
  if (recv == NULL)
  {
    memcpy(in, pipe, size);
    ++am_done;
    return;
  }
  recv->cookie      = (void *) &am_done;
  recv->local_fn    = count_event;
  recv->addr        = in;
  recv->type        = PAMI_TYPE_BYTE;
  recv->offset      = 0;
  recv->data_fn     = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

static void am_answer(pami_context_t on, void * cookie, const void * header, size_t header_size, size_t size,
                      pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t * send)
{
  int expected = (int) task;
  (void) cookie;
  REQUIRE(on == context[0] && geometry == world && origin_task(origin) == root);
  REQUIRE(header_size == sizeof(int) && memcmp(header, &expected, sizeof(int)) == 0);
  REQUIRE(size == count * sizeof(int));
  prepare(out, count, task, root);
  send->cookie      = (void *) &am_done;
  send->local_fn    = count_event;
  send->addr        = out;
  send->type        = PAMI_TYPE_BYTE;
  send->offset      = 0;
  send->data_fn     = PAMI_DATA_COPY;
  send->data_cookie = NULL;
}

static void am_operand(pami_context_t on, void * cookie, const void * header, size_t header_size, size_t size,
                       pami_endpoint_t origin, pami_geometry_t geometry, pami_data_function * op,
                       pami_recv_t * send)
{
  (void) on, (void) cookie, (void) header, (void) geometry;
  REQUIRE(origin_task(origin) == root && header_size == sizeof(int) && size == count * sizeof(double));
  operands(count);
  *op               = PAMI_DATA_SUM;
  send->cookie      = (void *) &am_done;
  send->local_fn    = count_event;
  send->addr        = out;
  send->type        = PAMI_TYPE_DOUBLE;
  send->offset      = 0;
  send->data_fn     = PAMI_DATA_COPY;
  send->data_cookie = NULL;
}

/* Registers the dispatch function, lets the root call, and waits for the end at every task. */
static void am_run(pami_xfer_t * xfer, pami_dispatch_callback_function callback, int * cookie)
{
  pami_collective_hint_t hints;
  memset(&hints, 0, sizeof hints);
  CHECK(PAMI_AMCollective_dispatch_set(context[0], algorithm, FIRST_ID, callback, cookie, hints));
  am_done = 0;
  barrier();
  if (task == root)
  {
    xfer->algorithm = algorithm;
    CHECK(PAMI_Collective(context[0], xfer));
  }
  wait_until(context[0], am_done >= 1);
  barrier();
  REQUIRE(am_done == 1);
}

static void test_ambroadcast(pami_xfer_t * xfer)
{
  static int                      header;
  pami_dispatch_callback_function callback;
  header               = 4711;
  callback.ambroadcast = am_receive;
  if (task == root) prepare(out, count, root, 0);
  xfer->cmd.xfer_ambroadcast.dispatch    = FIRST_ID;
  xfer->cmd.xfer_ambroadcast.user_header = &header;
  xfer->cmd.xfer_ambroadcast.headerlen   = sizeof header;
  xfer->cmd.xfer_ambroadcast.sndbuf      = out;
  xfer->cmd.xfer_ambroadcast.stype       = PAMI_TYPE_BYTE;
  xfer->cmd.xfer_ambroadcast.stypecount  = count * sizeof(int);
  xfer->cb_done                          = count_event; /* at the root, where no dispatch function runs */
  xfer->cookie                           = (void *) &am_done;
  am_run(xfer, callback, &header);
  if (task != root) expect(in, count, root, 0);
}

static void test_amscatter(pami_xfer_t * xfer)
{
  static int                      own = -1; /* the header is the number of the task */
  int                             headers[MAX_TASKS];
  pami_dispatch_callback_function callback;
  size_t                          i;
  callback.amscatter = am_receive;
  for (i = 0; task == root && i < tasks; i++) prepare(out + i * count, count, root, i);
  for (i = 0; i < tasks; i++) headers[i] = (int) i;
  xfer->cmd.xfer_amscatter.dispatch   = FIRST_ID;
  xfer->cmd.xfer_amscatter.headers    = headers;
  xfer->cmd.xfer_amscatter.headerlen  = sizeof(int);
  xfer->cmd.xfer_amscatter.sndbuf     = out;
  xfer->cmd.xfer_amscatter.stype      = PAMI_TYPE_BYTE;
  xfer->cmd.xfer_amscatter.stypecount = count * sizeof(int);
  am_run(xfer, callback, &own);
  expect(in, count, root, task);
}

static void test_amgather(pami_xfer_t * xfer)
{
  int                             headers[MAX_TASKS];
  pami_dispatch_callback_function callback;
  size_t                          i;
  callback.amgather = am_answer;
  for (i = 0; i < tasks; i++) headers[i] = (int) i;
  xfer->cmd.xfer_amgather.dispatch   = FIRST_ID;
  xfer->cmd.xfer_amgather.headers    = headers;
  xfer->cmd.xfer_amgather.headerlen  = sizeof(int);
  xfer->cmd.xfer_amgather.rcvbuf     = in;
  xfer->cmd.xfer_amgather.rtype      = PAMI_TYPE_BYTE;
  xfer->cmd.xfer_amgather.rtypecount = count * sizeof(int);
  am_run(xfer, callback, headers);
  for (i = 0; task == root && i < tasks; i++) expect(in + i * count, count, i, root);
}

static void test_amreduce(pami_xfer_t * xfer)
{
  int                             header = 1;
  pami_dispatch_callback_function callback;
  callback.amreduce                    = am_operand;
  xfer->cmd.xfer_amreduce.dispatch     = FIRST_ID;
  xfer->cmd.xfer_amreduce.user_header  = &header;
  xfer->cmd.xfer_amreduce.headerlen    = sizeof header;
  xfer->cmd.xfer_amreduce.rcvbuf       = in;
  xfer->cmd.xfer_amreduce.rtype        = PAMI_TYPE_DOUBLE;
  xfer->cmd.xfer_amreduce.rtypecount   = count;
  xfer->cmd.xfer_amreduce.commutative  = 1;
  am_run(xfer, callback, &header);
  if (task == root) expect_reduced((double *) in, count, 0, PAMI_DATA_SUM, tasks);
}

/* ------------------------------------------------ All ----------------------------------------------- */

typedef struct
{
  pami_xfer_type_t type;
  void (*test)(pami_xfer_t * xfer);
  int  rooted;
} collective_t;

static const collective_t collectives[] = {
    {PAMI_XFER_BROADCAST, test_broadcast, 1},
    {PAMI_XFER_ALLREDUCE, test_allreduce, 0},
    {PAMI_XFER_REDUCE, test_reduce, 1},
    {PAMI_XFER_ALLGATHER, test_allgather, 0},
    {PAMI_XFER_ALLGATHERV, test_allgatherv, 0},
    {PAMI_XFER_ALLGATHERV_INT, test_allgatherv_int, 0},
    {PAMI_XFER_SCATTER, test_scatter, 1},
    {PAMI_XFER_SCATTERV, test_scatterv, 1},
    {PAMI_XFER_SCATTERV_INT, test_scatterv_int, 1},
    {PAMI_XFER_GATHER, test_gather, 1},
    {PAMI_XFER_GATHERV, test_gatherv, 1},
    {PAMI_XFER_GATHERV_INT, test_gatherv_int, 1},
    {PAMI_XFER_BARRIER, test_barrier, 0},
    {PAMI_XFER_ALLTOALL, test_alltoall, 0},
    {PAMI_XFER_ALLTOALLV, test_alltoallv, 0},
    {PAMI_XFER_ALLTOALLV_INT, test_alltoallv_int, 0},
    {PAMI_XFER_SCAN, test_scan, 0},
    {PAMI_XFER_REDUCE_SCATTER, test_reduce_scatter, 0},
    {PAMI_XFER_AMBROADCAST, test_ambroadcast, 1},
    {PAMI_XFER_AMSCATTER, test_amscatter, 1},
    {PAMI_XFER_AMGATHER, test_amgather, 1},
    {PAMI_XFER_AMREDUCE, test_amreduce, 1},
};

int main(void)
{
  static const size_t sizes[] = {1, 2, 50, 1500, MOST};
  size_t              c, i, s;

  start("collectives", 1);
  spread = tasks * (MOST + MAX_TASKS);
  in     = allocate(spread * sizeof(double));
  out    = allocate(spread * sizeof(double));
  CHECK(PAMI_Geometry_world(client, &world));

  for (c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
  {
    const collective_t * collective = &collectives[c];
    size_t               lengths[2];
    pami_algorithm_t *   algorithms;
    pami_metadata_t *    metadata;
    CHECK(PAMI_Geometry_algorithms_num(world, collective->type, lengths));
    REQUIRE(lengths[0] >= 1);
    algorithms = allocate((lengths[0] + lengths[1]) * sizeof *algorithms);
    metadata   = allocate((lengths[0] + lengths[1]) * sizeof *metadata);
    CHECK(PAMI_Geometry_algorithms_query(world, collective->type, algorithms, metadata, lengths[0],
                                         algorithms + lengths[0], metadata + lengths[0], lengths[1]));
    for (i = 0; i < lengths[0] + lengths[1]; i++)
    {
      algorithm = algorithms[i];
      name      = metadata[i].name;
      check_fn  = metadata[i].check_fn;
      runs      = 0;
      REQUIRE((check_fn != NULL) == (i >= lengths[0]));
      if (i < lengths[0]) REQUIRE(!metadata[i].check_correct.values.rangeminmax);
      for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
      {
        count = sizes[s];
        for (root = 0; root < (collective->rooted ? tasks : 1); root++)
        {
          pami_xfer_t xfer;
          if (count == MOST && root > 0 && root < tasks - 1) continue; /* long data takes long */
          memset(&xfer, 0, sizeof xfer);
          clear();
          collective->test(&xfer);
        }
      }
      if (task == 0) printf("%2d %s: %zu\n", (int) collective->type, name, runs);
      barrier();
    }
    free(algorithms);
    free(metadata);
  }
  free(in);
  free(out);
  return finish();
}
