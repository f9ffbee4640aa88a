/* Geometries that take classes of the collective network and give them back (PAMI_GEOMETRY_OPTIMIZE): more of them than
 * there are classes, all in use at the same time, with data checked. Where there is no such network, all stay without. */

#include "common.h"

enum
{
  GEOMETRIES = 20, /* more than there are classes */
  WORDS      = 700
};

static size_t is_optimized(pami_geometry_t geometry)
{
  pami_configuration_t query;
  memset(&query, 0, sizeof query);
  query.name = PAMI_GEOMETRY_OPTIMIZE;
  CHECK(PAMI_Geometry_query(geometry, &query, 1));
  REQUIRE(query.value.intval <= 1);
  return query.value.intval;
}

/* All members agree whether it is optimized, and its algorithms say so. */
static size_t check_state(pami_geometry_t geometry)
{
  size_t             all[MAX_TASKS], own = is_optimized(geometry), i, found = 0, lengths[2];
  pami_algorithm_t * algorithms;
  pami_metadata_t *  metadata;
  exchange(&own, sizeof own, all);
  for (i = 0; i < tasks; i++) REQUIRE(all[i] == own);
  CHECK(PAMI_Geometry_algorithms_num(geometry, PAMI_XFER_BROADCAST, lengths));
  algorithms = allocate(lengths[0] * sizeof *algorithms);
  metadata   = allocate(lengths[0] * sizeof *metadata);
  CHECK(PAMI_Geometry_algorithms_query(geometry, PAMI_XFER_BROADCAST, algorithms, metadata, lengths[0], NULL,
                                       NULL, 0));
  for (i = 0; i < lengths[0]; i++) found += strstr(metadata[i].name, "MultiCast") != NULL;
  REQUIRE(found == own);
  free(algorithms);
  free(metadata);
  return own;
}

/* A broadcast from each root in turn, a sum, and a barrier. */
static void use(pami_geometry_t geometry, size_t seed, size_t first, size_t count)
{
  static double own[WORDS], all[WORDS];
  pami_xfer_t   xfer;
  size_t        root = first + seed % count, words = 1 + seed * 97 % WORDS, i;
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm                     = first_algorithm(geometry, PAMI_XFER_BROADCAST);
  xfer.cmd.xfer_broadcast.root       = endpoint(root, 0);
  xfer.cmd.xfer_broadcast.buf        = (char *) own;
  xfer.cmd.xfer_broadcast.type       = PAMI_TYPE_BYTE;
  xfer.cmd.xfer_broadcast.typecount  = 8 * words - seed % 8; /* also odd lengths */
  memset(own, 0xff, sizeof own);
  if (task == root) fill(own, sizeof own, seed);
  run_collective(context[0], &xfer);
  verify(own, 8 * words - seed % 8, seed);
  if (task != root && seed % 8 != 0) REQUIRE(((unsigned char *) own)[8 * words - seed % 8] == 0xff);

  for (i = 0; i < words; i++) own[i] = (double) (task + i + seed);
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm                      = first_algorithm(geometry, PAMI_XFER_ALLREDUCE);
  xfer.cmd.xfer_allreduce.sndbuf      = (char *) own;
  xfer.cmd.xfer_allreduce.stype       = PAMI_TYPE_DOUBLE;
  xfer.cmd.xfer_allreduce.stypecount  = words;
  xfer.cmd.xfer_allreduce.rcvbuf      = (char *) all;
  xfer.cmd.xfer_allreduce.rtype       = PAMI_TYPE_DOUBLE;
  xfer.cmd.xfer_allreduce.rtypecount  = words;
  xfer.cmd.xfer_allreduce.op          = PAMI_DATA_SUM;
  xfer.cmd.xfer_allreduce.commutative = 1;
  run_collective(context[0], &xfer);
  for (i = 0; i < words; i++)
    EXPECT_VALUE((double) count * (double) (i + seed) + (double) (count * (2 * first + count - 1)) / 2, all[i],
                 "word %zu", i);

  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = first_algorithm(geometry, PAMI_XFER_BARRIER);
  run_collective(context[0], &xfer);
}

static void update(pami_geometry_t geometry, size_t value)
{
  pami_configuration_t set;
  volatile size_t      done = 0;
  memset(&set, 0, sizeof set);
  set.name         = PAMI_GEOMETRY_OPTIMIZE;
  set.value.intval = value;
  CHECK(PAMI_Geometry_update(geometry, &set, 1, context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
}

static pami_geometry_t create(pami_geometry_t parent, unsigned id, size_t first, size_t count, size_t optimize)
{
  pami_geometry_t       made = PAMI_GEOMETRY_NULL;
  pami_geometry_range_t range;
  pami_configuration_t  set;
  volatile size_t       done = 0;
  memset(&set, 0, sizeof set);
  set.name         = PAMI_GEOMETRY_OPTIMIZE;
  set.value.intval = optimize;
  range.lo = (pami_task_t) first;
  range.hi = (pami_task_t) (first + count - 1);
  CHECK(PAMI_Geometry_create_taskrange(client, 0, &set, 1, &made, parent, id, &range, 1, context[0],
                                       count_event, (void *) &done));
  wait_until(context[0], done == 1);
  return made;
}

static void destroy(pami_geometry_t geometry)
{
  volatile size_t done = 0;
  CHECK(PAMI_Geometry_destroy(client, &geometry, context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
}

int main(void)
{
  pami_geometry_t world, made[GEOMETRIES], half;
  size_t          i, round, optimized, first, count, has_network;

  start("classes", 1);
  CHECK(PAMI_Geometry_world(client, &world));
  has_network = check_state(world);
  use(world, 3, 0, tasks);

  for (round = 0; round < 2; round++)
  {
    /* Half of the machine each, at the same time. */
    first = task < tasks / 2 ? 0 : tasks / 2;
    count = task < tasks / 2 ? tasks / 2 : tasks - tasks / 2;
    half  = create(PAMI_GEOMETRY_NULL, (unsigned) (1 + (task >= tasks / 2)), first, count, 1);
    for (i = 0; i < 5; i++)
    {
      use(half, i, first, count);
      use(world, i, 0, tasks);
    }
    destroy(half);
    barrier();

    /* With 0 a geometry gets no class; nor if only one of its members has 1. */
    for (i = 0; i < 2; i++)
    {
      made[0] = create(world, 9, 0, tasks, i == 1 && task == 0 && tasks > 1);
      REQUIRE(check_state(made[0]) == 0);
      use(made[0], i, 0, tasks);
      destroy(made[0]);
    }

    for (optimized = 0, i = 0; i < GEOMETRIES; i++)
    {
      made[i] = create(world, (unsigned) (10 + i), 0, tasks, 1);
      optimized += check_state(made[i]);
    }
    for (i = 0; i < GEOMETRIES; i++) use(made[i], 7 * round + i, 0, tasks);
    if (has_network) REQUIRE(optimized > 5 && optimized < GEOMETRIES);
    else REQUIRE(optimized == 0);

    /* One more gets what another gives back. */
    if (has_network)
    {
      REQUIRE(is_optimized(made[0]) && !is_optimized(made[GEOMETRIES - 1]));
      update(made[0], 0);
      update(made[GEOMETRIES - 1], 1);
      update(made[GEOMETRIES - 2], 1);
      REQUIRE(!is_optimized(made[0]) && is_optimized(made[GEOMETRIES - 1]));
      REQUIRE(!check_state(made[GEOMETRIES - 2]));
    }
    for (i = 0; i < GEOMETRIES; i++)
    {
      use(made[i], i, 0, tasks);
      destroy(made[i]);
    }
  }
  update(world, 0);
  REQUIRE(check_state(world) == 0);
  use(world, 4, 0, tasks);
  update(world, 1);
  REQUIRE(check_state(world) == has_network);
  use(world, 5, 0, tasks);
  return finish();
}
