/* Geometries of several contexts per task: all contexts of a range, and a list of endpoints. Each member makes one
 * call on its own context. */

#include "common.h"

enum { WANTED = 3, MOST = MAX_TASKS * WANTED };

static volatile size_t done[WANTED];

static void advance_all(void)
{
  PAMI_Context_advancev(context, contexts, 10);
}

static void wait_all(size_t members_here, size_t times)
{
  double limit = PAMI_Wtime(client) + TIME_LIMIT;
  size_t i, sum = 0;
  while (sum < members_here * times)
  {
    advance_all();
    for (sum = 0, i = 0; i < contexts; i++) sum += done[i];
    if (PAMI_Wtime(client) > limit) FAIL("%zu of %zu done", sum, members_here * times);
  }
}

/* The member's index of each context here, or -1; sums and gathers over all members. */
static void use(pami_geometry_t geometry, const long * member, size_t size)
{
  static unsigned long mine[WANTED], total[WANTED], all[WANTED][MOST];
  size_t               i, j, here = 0;
  for (i = 0; i < contexts; i++)
  {
    pami_xfer_t xfer;
    done[i] = 0;
    if (member[i] < 0) continue;
    here++;
    mine[i] = (unsigned long) member[i];
    memset(&xfer, 0, sizeof xfer);
    xfer.cb_done                        = count_event;
    xfer.cookie                         = (void *) &done[i];
    xfer.algorithm                      = first_algorithm(geometry, PAMI_XFER_ALLREDUCE);
    xfer.cmd.xfer_allreduce.sndbuf      = (char *) &mine[i];
    xfer.cmd.xfer_allreduce.stype       = PAMI_TYPE_UNSIGNED_LONG;
    xfer.cmd.xfer_allreduce.stypecount  = 1;
    xfer.cmd.xfer_allreduce.rcvbuf      = (char *) &total[i];
    xfer.cmd.xfer_allreduce.rtype       = PAMI_TYPE_UNSIGNED_LONG;
    xfer.cmd.xfer_allreduce.rtypecount  = 1;
    xfer.cmd.xfer_allreduce.op          = PAMI_DATA_SUM;
    xfer.cmd.xfer_allreduce.commutative = 1;
    CHECK(PAMI_Collective(context[i], &xfer));
    memset(&xfer, 0, sizeof xfer);
    xfer.cb_done                       = count_event;
    xfer.cookie                        = (void *) &done[i];
    xfer.algorithm                     = first_algorithm(geometry, PAMI_XFER_ALLGATHER);
    xfer.cmd.xfer_allgather.sndbuf     = (char *) &mine[i];
    xfer.cmd.xfer_allgather.stype      = PAMI_TYPE_UNSIGNED_LONG;
    xfer.cmd.xfer_allgather.stypecount = 1;
    xfer.cmd.xfer_allgather.rcvbuf     = (char *) all[i];
    xfer.cmd.xfer_allgather.rtype      = PAMI_TYPE_UNSIGNED_LONG;
    xfer.cmd.xfer_allgather.rtypecount = 1;
    CHECK(PAMI_Collective(context[i], &xfer));
  }
  wait_all(here, 2);
  for (i = 0; i < contexts; i++)
  {
    if (member[i] < 0) continue;
    REQUIRE(total[i] == size * (size - 1) / 2);
    for (j = 0; j < size; j++) REQUIRE(all[i][j] == j);
  }
}

int main(void)
{
  pami_geometry_range_t range;
  pami_endpoint_t       endpoints[MOST];
  pami_geometry_t       made;
  volatile size_t       ready;
  long                  member[WANTED];
  size_t                i, t, count, round, on;

  start("geometry_contexts", WANTED);
  REQUIRE(contexts == WANTED);
  for (round = 0; round < 3; round++)
  {
    on       = round % contexts; /* the context that learns that the geometry is ready */
    range.lo = 0;
    range.hi = (pami_task_t) (tasks - 1);
    ready    = 0;
    CHECK(PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, NULL, 0, &made, PAMI_GEOMETRY_NULL, 1, &range,
                                         1, context[on], count_event, (void *) &ready));
    while (ready == 0) advance_all();
    for (i = 0; i < contexts; i++) member[i] = (long) (task * contexts + i);
    use(made, member, tasks * contexts);
    ready = 0;
    CHECK(PAMI_Geometry_destroy(client, &made, context[on], count_event, (void *) &ready));
    while (ready == 0) advance_all();

    /* Contexts 2 and 1 of each task, in falling order of the tasks. */
    for (count = 0, t = tasks; t-- > 0;)
    {
      if (t == task) member[0] = -1, member[2] = (long) count, member[1] = (long) count + 1;
      endpoints[count++] = endpoint(t, 2);
      endpoints[count++] = endpoint(t, 1);
    }
    ready = 0;
    CHECK(PAMI_Geometry_create_endpointlist(client, NULL, 0, &made, 1, endpoints, count, context[on], count_event,
                                            (void *) &ready));
    while (ready == 0) advance_all();
    use(made, member, count);
    ready = 0;
    CHECK(PAMI_Geometry_destroy(client, &made, context[on], count_event, (void *) &ready));
    while (ready == 0) advance_all();
  }
  {
    /* Tasks wait for each other with all contexts advanced, then end. */
    pami_geometry_t world;
    pami_xfer_t     xfer;
    CHECK(PAMI_Geometry_world(client, &world));
    memset(&xfer, 0, sizeof xfer);
    for (i = 0; i < contexts; i++) done[i] = 0;
    xfer.cb_done   = count_event;
    xfer.cookie    = (void *) &done[0];
    xfer.algorithm = first_algorithm(world, PAMI_XFER_BARRIER);
    CHECK(PAMI_Collective(context[0], &xfer));
    wait_all(1, 1);
  }
  return finish();
}
