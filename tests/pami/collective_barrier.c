/* The barrier of PAMI_Collective with every algorithm that the world geometry lists: no task leaves before
 * all have entered. A counter at task 0, changed by PAMI_Rmw, tells how many have entered. */

#include "common.h"

enum { ROUNDS = 20 };

static unsigned long entered;
static void *        counters[MAX_TASKS];

/* Adds to the counter at task 0 and returns its old value. The addition is complete on return. */
static unsigned long add(unsigned long value)
{
  volatile size_t done = 0;
  unsigned long   old  = 0;
  pami_rmw_t      rmw;
  memset(&rmw, 0, sizeof rmw);
  rmw.dest      = endpoint(0, 0);
  rmw.cookie    = (void *) &done;
  rmw.done_fn   = count_event;
  rmw.local     = &old;
  rmw.remote    = counters[0];
  rmw.value     = &value;
  rmw.operation = PAMI_ATOMIC_FETCH_ADD;
  rmw.type      = PAMI_TYPE_UNSIGNED_LONG;
  CHECK(PAMI_Rmw(context[0], &rmw));
  wait_until(context[0], done == 1);
  return old;
}

int main(void)
{
  void *             mine = &entered;
  pami_geometry_t    world;
  size_t             lengths[2], i, round, before = 0;
  pami_algorithm_t * algorithms;
  pami_metadata_t *  metadata;

  start("collective_barrier", 1);
  exchange(&mine, sizeof mine, counters);
  CHECK(PAMI_Geometry_world(client, &world));
  CHECK(PAMI_Geometry_algorithms_num(world, PAMI_XFER_BARRIER, lengths));
  REQUIRE(lengths[0] >= 1);
  algorithms = allocate(lengths[0] * sizeof *algorithms);
  metadata   = allocate(lengths[0] * sizeof *metadata);
  CHECK(PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, algorithms, metadata, lengths[0], NULL, NULL,
                                       0));

  for (i = 0; i < lengths[0]; i++)
  {
    double begin;
    for (round = 0; round < ROUNDS; round++)
    {
      pami_xfer_t   xfer;
      unsigned long now;
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = algorithms[i];
      if (round % tasks == task) /* one task comes late */
      {
        double limit = PAMI_Wtime(client) + 0.001;
        while (PAMI_Wtime(client) < limit) advance(context[0]);
      }
      add(1);
      run_collective(context[0], &xfer);
      now = add(0);
      before += tasks;
      if (now < before) FAIL("%s: left after %lu of %zu entered", metadata[i].name, now, before);
    }
    begin = PAMI_Wtime(client);
    for (round = 0; round < 100; round++)
    {
      pami_xfer_t xfer;
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = algorithms[i];
      run_collective(context[0], &xfer);
    }
    if (task == 0) printf("%s: %.3f us\n", metadata[i].name, (PAMI_Wtime(client) - begin) / 100 * 1e6);
  }
  free(algorithms);
  free(metadata);
  return finish();
}
