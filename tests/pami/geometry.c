/* Geometries: the world, task ranges and task lists with and without a parent, endpoint lists; their
 * attributes, algorithms with metadata, a barrier and an allreduce on each; destruction and reuse of the
 * identifier. */

#include "common.h"

/* Checks the list of algorithms of every collective. */
static void algorithms(pami_geometry_t geometry)
{
  int    type;
  size_t list, i;
  for (type = PAMI_XFER_BROADCAST; type < PAMI_XFER_COUNT; type++)
  {
    size_t             lengths[2] = {77, 77};
    pami_algorithm_t * lists[2];
    pami_metadata_t *  metadata[2];
    CHECK(PAMI_Geometry_algorithms_num(geometry, (pami_xfer_type_t) type, lengths));
    REQUIRE(lengths[0] >= 1 && lengths[0] < 100 && lengths[1] < 100);
    for (list = 0; list < 2; list++)
    {
      lists[list]    = allocate(lengths[list] * sizeof **lists);
      metadata[list] = allocate(lengths[list] * sizeof **metadata);
    }
    CHECK(PAMI_Geometry_algorithms_query(geometry, (pami_xfer_type_t) type, lists[0], metadata[0], lengths[0],
                                         lists[1], metadata[1], lengths[1]));
    for (list = 0; list < 2; list++)
    {
      for (i = 0; i < lengths[list]; i++)
      {
        pami_metadata_t * m = &metadata[list][i];
        REQUIRE(lists[list][i] != PAMI_ALGORITHM_NULL);
        REQUIRE(m->name != NULL && m->name[0] != '\0');
        REQUIRE(!m->check_correct.values.checkrequired || m->check_fn != NULL);
        if (list == 0) REQUIRE(!m->check_correct.values.checkrequired);
        if (m->check_correct.values.rangeminmax) REQUIRE(m->range_lo <= m->range_hi);
      }
      free(lists[list]);
      free(metadata[list]);
    }
    CHECK(PAMI_Geometry_algorithms_query(geometry, (pami_xfer_type_t) type, NULL, NULL, 0, NULL, NULL, 0));
  }
}

/* Barrier and sum over a geometry of `size` members whose task numbers add up to `sum`. */
static void use(pami_geometry_t geometry, size_t size, unsigned long sum)
{
  pami_xfer_t   xfer;
  unsigned long mine[2], total[2] = {0, 0};
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = first_algorithm(geometry, PAMI_XFER_BARRIER);
  run_collective(context[0], &xfer);

  mine[0] = task;
  mine[1] = 1;
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm                     = first_algorithm(geometry, PAMI_XFER_ALLREDUCE);
  xfer.cmd.xfer_allreduce.sndbuf     = (char *) mine;
  xfer.cmd.xfer_allreduce.stype      = PAMI_TYPE_UNSIGNED_LONG;
  xfer.cmd.xfer_allreduce.stypecount = 2;
  xfer.cmd.xfer_allreduce.rcvbuf     = (char *) total;
  xfer.cmd.xfer_allreduce.rtype      = PAMI_TYPE_UNSIGNED_LONG;
  xfer.cmd.xfer_allreduce.rtypecount = 2;
  xfer.cmd.xfer_allreduce.op         = PAMI_DATA_SUM;
  xfer.cmd.xfer_allreduce.commutative = 1;
  run_collective(context[0], &xfer);
  REQUIRE(total[0] == sum && total[1] == size);
}

static void attributes(pami_geometry_t geometry)
{
  pami_configuration_t query[3];
  volatile size_t      done = 0;
  memset(query, 0, sizeof query);
  query[0].name = PAMI_GEOMETRY_OPTIMIZE;
  query[1].name = PAMI_GEOMETRY_NONCONTIG;
  query[2].name = PAMI_GEOMETRY_MEMORY_OPTIMIZE;
  CHECK(PAMI_Geometry_query(geometry, query, 3));
  REQUIRE(query[1].value.intval <= 1);

  query[0].value.intval = 0;
  CHECK(PAMI_Geometry_update(geometry, query, 1, context[0], count_event, (void *) &done));
  wait_until(context[0], done >= 1);
  CHECK(PAMI_Geometry_query(geometry, query, 1));
  REQUIRE(query[0].value.intval == 0);
}

static void destroy(pami_geometry_t geometry)
{
  volatile size_t done = 0;
  CHECK(PAMI_Geometry_destroy(client, &geometry, context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
  REQUIRE(geometry == PAMI_GEOMETRY_NULL);
}

int main(void)
{
  pami_geometry_t       world, made;
  pami_geometry_range_t ranges[2];
  pami_task_t           list[MAX_TASKS];
  pami_endpoint_t       endpoints[MAX_TASKS];
  volatile size_t       done;
  size_t                i, count, round;
  unsigned long         sum, all = tasks;

  start("geometry", 1);
  for (all = 0, i = 0; i < tasks; i++) all += i;
  CHECK(PAMI_Geometry_world(client, &world));
  REQUIRE(world != PAMI_GEOMETRY_NULL);
  algorithms(world);
  use(world, tasks, all);
  attributes(world);
  use(world, tasks, all);
  barrier();

  for (round = 0; round < 2; round++) /* the second round uses the identifiers again */
  {
    /* All tasks as one or two ranges, child of the world. */
    ranges[0].lo = 0;
    ranges[0].hi = (pami_task_t) (tasks / 2 == 0 ? 0 : tasks / 2 - 1);
    ranges[1].lo = ranges[0].hi + 1;
    ranges[1].hi = (pami_task_t) (tasks - 1);
    done         = 0;
    made         = PAMI_GEOMETRY_NULL;
    CHECK(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &made, world, 1, ranges, tasks > 1 ? 2 : 1,
                                         context[0], count_event, (void *) &done));
    wait_until(context[0], done == 1);
    REQUIRE(made != PAMI_GEOMETRY_NULL);
    algorithms(made);
    use(made, tasks, all);
    attributes(made);
    barrier();
    destroy(made);

    /* The even tasks in falling order, child of the world: the odd ones take part in the creation only. */
    for (count = 0, sum = 0, i = tasks; i-- > 0;)
      if (i % 2 == 0)
      {
        list[count++] = (pami_task_t) i;
        sum += i;
      }
    done = 0;
    made = PAMI_GEOMETRY_NULL;
    CHECK(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, task % 2 == 0 ? &made : NULL, world, 2, list,
                                        count, context[0], count_event, (void *) &done));
    wait_until(context[0], done == 1);
    if (task % 2 == 0)
    {
      use(made, count, sum);
      destroy(made);
    }
    barrier();

    /* Odd and even tasks apart, without a parent: only the members call. */
    for (count = 0, sum = 0, i = task % 2; i < tasks; i += 2)
    {
      list[count++] = (pami_task_t) i;
      sum += i;
    }
    done = 0;
    made = PAMI_GEOMETRY_NULL;
    CHECK(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &made, PAMI_GEOMETRY_NULL,
                                        (unsigned) (3 + task % 2), list, count, context[0], count_event,
                                        (void *) &done));
    wait_until(context[0], done == 1);
    use(made, count, sum);
    destroy(made);
    barrier();

    /* Endpoints: context 0 of all tasks, in falling order. */
    for (i = 0; i < tasks; i++) endpoints[i] = endpoint(tasks - 1 - i, 0);
    done = 0;
    made = PAMI_GEOMETRY_NULL;
    CHECK(PAMI_Geometry_create_endpointlist(client, NULL, 0, &made, 5, endpoints, tasks, context[0],
                                            count_event, (void *) &done));
    wait_until(context[0], done == 1);
    use(made, tasks, all);
    destroy(made);
    barrier();
  }
  return finish();
}
