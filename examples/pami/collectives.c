/* Times of every algorithm of the collectives, by length of data: the best of twelve measurements, in us. The data
 * is that of a block in gather, scatter, allgather and alltoall, the whole operand in reductions. A column of
 * dashes: the algorithm cannot run with this number of tasks or length.
 *
 *   netloom cc -O2 examples/pami/collectives.c -o collectives && netloom exec -n 4 ./collectives
 *
 * An argument is the number of the only collective to measure (pami_xfer_type_t). */

#include <pami.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 20, MOST = 32, TASKS = 64, REPEATS = 12 };

static pami_client_t  client;
static pami_context_t context;
static size_t         tasks;
static size_t         counts[TASKS];

static void check(pami_result_t result, const char * what)
{
  if (result == PAMI_SUCCESS) return;
  fprintf(stderr, "%s: result %d\n", what, (int) result);
  exit(1);
}

static size_t query(pami_attribute_name_t name)
{
  pami_configuration_t attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.name = name;
  check(PAMI_Client_query(client, &attribute, 1), "PAMI_Client_query");
  return attribute.value.intval;
}

static void done(pami_context_t on, void * cookie, pami_result_t result)
{
  (void) on;
  check(result, "a collective");
  ++*(volatile size_t *) cookie;
}

static void run(pami_xfer_t * xfer)
{
  volatile size_t ends = 0;
  xfer->cb_done        = done;
  xfer->cookie         = (void *) &ends;
  check(PAMI_Collective(context, xfer), "PAMI_Collective");
  while (ends == 0) PAMI_Context_advance(context, 100);
}

/* Fills in the parameters of a collective of `n` doubles; returns whether it is one that is measured. */
static int prepare(pami_xfer_t * xfer, int type, char * out, char * in, size_t n)
{
  pami_type_t     real = PAMI_TYPE_DOUBLE;
  pami_endpoint_t root;
  size_t          i;
  check(PAMI_Endpoint_create(client, 0, 0, &root), "PAMI_Endpoint_create");
  for (i = 0; i < tasks; i++) counts[i] = n * (i + 1) / tasks - n * i / tasks;
  switch (type)
  {
    case PAMI_XFER_BARRIER: return n == 1;
    case PAMI_XFER_BROADCAST: xfer->cmd.xfer_broadcast = (pami_broadcast_t){root, in, real, n}; return 1;
    case PAMI_XFER_ALLREDUCE:
      xfer->cmd.xfer_allreduce = (pami_allreduce_t){out, real, n, in, real, n, PAMI_DATA_SUM, NULL, 1};
      return 1;
    case PAMI_XFER_REDUCE:
      xfer->cmd.xfer_reduce = (pami_reduce_t){root, out, real, n, in, real, n, PAMI_DATA_SUM, NULL, 1};
      return 1;
    case PAMI_XFER_REDUCE_SCATTER:
      xfer->cmd.xfer_reduce_scatter =
          (pami_reduce_scatter_t){out, real, n, in, real, counts, PAMI_DATA_SUM, NULL, 1};
      return 1;
    case PAMI_XFER_ALLGATHER: xfer->cmd.xfer_allgather = (pami_allgather_t){out, real, n, in, real, n}; return 1;
    case PAMI_XFER_ALLTOALL: xfer->cmd.xfer_alltoall = (pami_alltoall_t){out, real, n, in, real, n}; return 1;
    case PAMI_XFER_GATHER: xfer->cmd.xfer_gather = (pami_gather_t){root, out, real, n, in, real, n}; return 1;
    case PAMI_XFER_SCATTER: xfer->cmd.xfer_scatter = (pami_scatter_t){root, out, real, n, in, real, n}; return 1;
    default: return 0;
  }
}

static double measure(pami_xfer_t * xfer, pami_xfer_t * barrier, size_t bytes)
{
  int    calls = bytes < 4096 ? 200 : bytes < 65536 ? 50 : 8, repeat, call;
  double best  = 1e9, begin, time;
  for (repeat = 0; repeat < REPEATS; repeat++)
  {
    run(barrier);
    begin = PAMI_Wtime(client);
    for (call = 0; call < calls; call++) run(xfer);
    run(barrier);
    time = (PAMI_Wtime(client) - begin) / calls;
    if (time < best) best = time;
  }
  return best * 1e6;
}

int main(int argc, char ** argv)
{
  pami_algorithm_t algorithms[MOST];
  pami_metadata_t  metadata[MOST];
  pami_geometry_t  world;
  pami_xfer_t      barrier;
  size_t           lengths[2], bytes, a, task;
  char *           out;
  char *           in;
  int              type;

  check(PAMI_Client_create("collectives", &client, NULL, 0), "PAMI_Client_create");
  task  = query(PAMI_CLIENT_TASK_ID);
  tasks = query(PAMI_CLIENT_NUM_TASKS);
  if (tasks > TASKS) return 1;
  check(PAMI_Context_createv(client, NULL, 0, &context, 1), "PAMI_Context_createv");
  check(PAMI_Geometry_world(client, &world), "PAMI_Geometry_world");
  out = calloc(tasks, LONGEST);
  in  = calloc(tasks, LONGEST);
  if (out == NULL || in == NULL) return 1;
  memset(&barrier, 0, sizeof barrier);
  check(PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, &barrier.algorithm, NULL, 1, NULL, NULL, 0),
        "PAMI_Geometry_algorithms_query");

  for (type = 0; type < PAMI_XFER_COUNT; type++)
  {
    if (argc > 1 && type != atoi(argv[1])) continue;
    check(PAMI_Geometry_algorithms_num(world, type, lengths), "PAMI_Geometry_algorithms_num");
    check(PAMI_Geometry_algorithms_query(world, type, algorithms, metadata, lengths[0], algorithms + lengths[0],
                                         metadata + lengths[0], lengths[1]),
          "PAMI_Geometry_algorithms_query");
    for (bytes = sizeof(double); bytes <= LONGEST; bytes *= 4)
    {
      pami_xfer_t xfer;
      memset(&xfer, 0, sizeof xfer);
      if (!prepare(&xfer, type, out, in, bytes / sizeof(double))) continue;
      if (task == 0) printf("collective %2d, %7zu B:", type, bytes);
      for (a = 0; a < lengths[0] + lengths[1]; a++)
      {
        int    length = (int) strcspn(metadata[a].name + 3, ":"); /* without "I0:" and what follows */
        double time   = -1;
        xfer.algorithm = algorithms[a];
        if (metadata[a].check_fn == NULL || metadata[a].check_fn(&xfer).bitmask == 0)
          time = measure(&xfer, &barrier, bytes);
        if (task == 0 && time < 0) printf("  %.*s -", length, metadata[a].name + 3);
        if (task == 0 && time >= 0) printf("  %.*s %.2f", length, metadata[a].name + 3, time);
        fflush(stdout);
      }
      if (task == 0) printf("\n");
    }
  }
  free(out);
  free(in);
  check(PAMI_Context_destroyv(&context, 1), "PAMI_Context_destroyv");
  check(PAMI_Client_destroy(&client), "PAMI_Client_destroy");
  return 0;
}
