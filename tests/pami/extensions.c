/* Extensions: names and symbols; the torus of a simulated machine, where there is one; memory for atomic operations
 * and those of <spi/include/l2/atomic.h>, by several threads and tasks; which tasks are local. */

#include "common.h"
#include <pami_ext.h>
#include <spi/include/l2/atomic.h>

enum { THREADS = 4, STEPS = 20000, BOUND = 50000 };

static pami_extension_t extension;

static void * symbol(const char * name)
{
  void * found = PAMI_Extension_symbol(extension, name);
  if (found == NULL) FAIL("there is no symbol %s", name);
  return found;
}

static void names(void)
{
  char text[200];
  EXPECT(PAMI_UNIMPL, PAMI_Extension_open(client, "EXT_no_such_extension", &extension));
  REQUIRE(PAMI_Error_text(text, sizeof text) > 0 && strstr(text, "EXT_torus_network") != NULL);
  /* Names of extensions are compared exactly, those of symbols without regard to case. */
  EXPECT(PAMI_UNIMPL, PAMI_Extension_open(client, "torus_network", &extension));
  EXPECT(PAMI_INVAL, PAMI_Extension_open(client, NULL, &extension));
  EXPECT(PAMI_INVAL, PAMI_Extension_open(client, "EXT_bgq_l2atomic", NULL));
  CHECK(PAMI_Extension_open(NULL, "EXT_bgq_l2atomic", &extension));
  REQUIRE(symbol("proc_memalign") == symbol("PROC_memalign"));
  REQUIRE(PAMI_Extension_symbol(extension, "information") == NULL);
  REQUIRE(PAMI_Extension_symbol(extension, NULL) == NULL);
  CHECK(PAMI_Extension_close(extension));
  EXPECT(PAMI_INVAL, PAMI_Extension_close(&extension));
  REQUIRE(PAMI_Extension_symbol(&extension, "proc_memalign") == NULL);
}

/* Every task has coordinates of its own, which lead back to it. */
static void torus(void)
{
  const torus_info_t *       info;
  task2torus_fn              task2torus;
  torus2task_fn              torus2task;
  size_t                     i, j, all = 1, local_tasks = client_query(PAMI_CLIENT_NUM_LOCAL_TASKS);
  pami_task_t                back;

  if (PAMI_Extension_open(client, "EXT_torus_network", &extension) == PAMI_UNIMPL)
  {
    /* Without a network all tasks are local. */
    REQUIRE(local_tasks == tasks);
    return;
  }
  info       = ((torus_information_fn) symbol("information"))();
  task2torus = (task2torus_fn) symbol("task2torus");
  torus2task = (torus2task_fn) symbol("torus2task");
  REQUIRE(info->dims == 6);
  for (i = 0; i < info->dims; i++)
  {
    REQUIRE(info->coord[i] < info->size[i] && info->torus[i] <= 1);
    all *= info->size[i];
  }
  REQUIRE(all >= tasks && info->size[5] >= local_tasks && info->coord[5] == task % info->size[5]);
  for (i = 0; i < tasks; i++)
  {
    size_t coordinates[6];
    CHECK(task2torus((pami_task_t) i, coordinates));
    for (j = 0; j < 6; j++) REQUIRE(coordinates[j] < info->size[j]);
    if (i == task) REQUIRE(memcmp(coordinates, info->coord, sizeof coordinates) == 0);
    CHECK(torus2task(coordinates, &back));
    REQUIRE(back == i);
    coordinates[0] = info->size[0];
    EXPECT(PAMI_INVAL, torus2task(coordinates, &back));
  }
  {
    size_t coordinates[6];
    EXPECT(PAMI_INVAL, task2torus((pami_task_t) tasks, coordinates));
  }
  CHECK(PAMI_Extension_close(extension));
}

/* On a simulated machine a program says how long it computes. */
static void compute(void)
{
  pamix_compute_seconds_fn seconds;
  double                   before, took;
  if (PAMI_Extension_open(client, "NETLOOM_compute", &extension) == PAMI_UNIMPL) return;
  seconds = (pamix_compute_seconds_fn) symbol("seconds");
  before  = PAMI_Wtime(client);
  CHECK(seconds(0.25));
  CHECK(seconds(0));
  took = PAMI_Wtime(client) - before;
  REQUIRE(took >= 0.25 && took < 0.2501);
  EXPECT(PAMI_INVAL, seconds(-1));
  CHECK(PAMI_Extension_close(extension));
}

/* Words of one line: a counter and its bound between two others. */
static uint64_t * words;

static void * step(void * won)
{
  size_t i;
  for (i = 0; i < STEPS; i++)
  {
    if (L2_AtomicLoadIncrementBounded(&words[1]) != UINT64_C(0x8000000000000000)) ++*(size_t *) won;
    L2_AtomicLoadIncrement(&words[4]);
    L2_AtomicStoreAdd(&words[5], 3);
    L2_AtomicStoreXor(&words[6], i);
    L2_AtomicStoreMax(&words[7], i);
  }
  return NULL;
}

static void operations(void)
{
  const uint64_t failed = UINT64_C(0x8000000000000000);
  const uint64_t minus  = UINT64_C(0x8000000000000000);
  size_t         i, won[THREADS] = {0}, all = 0;
  pthread_t      threads[THREADS];

  words[2] = BOUND;
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, step, &won[i]) == 0);
  for (i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < THREADS; i++) all += won[i];
  EXPECT_VALUE(BOUND, all, "the number of increments");
  EXPECT_VALUE(BOUND, L2_AtomicLoad(&words[1]), "the bounded counter");
  EXPECT_VALUE(THREADS * STEPS, words[4], "the counter");
  EXPECT_VALUE(3 * THREADS * STEPS, words[5], "the sum");
  EXPECT_VALUE(0, words[6], "exclusive or, an even number of times");
  EXPECT_VALUE(STEPS - 1, words[7], "the maximum");

  REQUIRE(L2_AtomicLoadIncrementIfEqual(&words[1]) == BOUND && words[1] == BOUND + 1);
  REQUIRE(L2_AtomicLoadIncrementIfEqual(&words[1]) == failed && words[1] == BOUND + 1);
  words[0] = BOUND - 1;
  REQUIRE(L2_AtomicLoadDecrementBounded(&words[1]) == BOUND + 1);
  REQUIRE(L2_AtomicLoadDecrementBounded(&words[1]) == BOUND);
  REQUIRE(L2_AtomicLoadDecrementBounded(&words[1]) == failed && words[1] == BOUND - 1);
  REQUIRE(L2_AtomicLoadDecrement(&words[4]) == THREADS * STEPS);
  REQUIRE(L2_AtomicLoadClear(&words[4]) == THREADS * STEPS - 1 && words[4] == 0);
  L2_AtomicStoreTwin(&words[4], 9);
  REQUIRE(words[4] == 0 && words[5] == 3 * THREADS * STEPS);
  L2_AtomicStore(&words[5], 0);
  L2_AtomicStoreTwin(&words[4], 9);
  REQUIRE(words[4] == 9 && words[5] == 9);
  L2_AtomicStoreOr(&words[4], 6);
  L2_AtomicStoreAddCoherenceOnZero(&words[4], (uint64_t) -1);
  REQUIRE(words[4] == 14);
  /* As signs and absolute values: -5 < -3 < 2. */
  words[4] = minus | 5;
  L2_AtomicStoreMaxSignValue(&words[4], minus | 3);
  REQUIRE(words[4] == (minus | 3));
  L2_AtomicStoreMaxSignValue(&words[4], minus | 4);
  REQUIRE(words[4] == (minus | 3));
  L2_AtomicStoreMaxSignValue(&words[4], 2);
  REQUIRE(words[4] == 2);
  L2_AtomicStoreMaxSignValue(&words[4], minus | 9);
  REQUIRE(words[4] == 2);
}

/* All tasks of a node count in the same words. */
static void l2_atomics(void)
{
  pamix_proc_memalign_fn proc_memalign, node_memalign;
  pamix_proc_free_fn     proc_free, node_free;
  void *                 memory;
  uint64_t *             shared;
  size_t                 i, local_tasks = client_query(PAMI_CLIENT_NUM_LOCAL_TASKS);

  CHECK(PAMI_Extension_open(client, "EXT_bgq_l2atomic", &extension));
  proc_memalign = (pamix_proc_memalign_fn) symbol("proc_memalign");
  node_memalign = (pamix_node_memalign_fn) symbol("node_memalign");
  proc_free     = (pamix_proc_free_fn) symbol("proc_free");
  node_free     = (pamix_node_free_fn) symbol("node_free");

  EXPECT(PAMI_INVAL, proc_memalign(&memory, 24, 64, NULL));
  CHECK(proc_memalign(&memory, 64, 8 * sizeof *words, NULL));
  words = memory;
  REQUIRE((uintptr_t) memory % 64 == 0);
  for (i = 0; i < 8; i++) REQUIRE(words[i] == 0);
  operations();
  proc_free(memory);

  EXPECT(PAMI_INVAL, node_memalign(&memory, 64, 64, NULL));
  EXPECT(PAMI_ENOMEM, node_memalign(&memory, 64, (size_t) 1 << 30, "too much"));
  CHECK(node_memalign(&memory, 64, 64, "counter"));
  shared = memory;
  REQUIRE((uintptr_t) memory % 64 == 0);
  for (i = 0; i < STEPS; i++) L2_AtomicLoadIncrement(shared);
  barrier();
  EXPECT_VALUE(local_tasks * STEPS, L2_AtomicLoad(shared), "the counter of the node");
  EXPECT(PAMI_INVAL, node_memalign(&memory, 64, 128, "counter"));
  barrier();
  node_free(shared);
  barrier();
  CHECK(node_memalign(&memory, 64, 64, "counter"));
  REQUIRE(L2_AtomicLoad(memory) == 0);
  barrier();
  node_free(memory);
  CHECK(PAMI_Extension_close(extension));
}

static void local_tasks(void)
{
  const uint8_t *      base;
  const uint32_t *     words_of_tasks;
  uintptr_t            stride, mask;
  pami_extension_t     mapping;
  pami_configuration_t query[2];
  size_t               i, next = 0;

  memset(query, 0, sizeof query);
  query[0].name = PAMI_CLIENT_LOCAL_TASKS;
  query[1].name = PAMI_CLIENT_NUM_LOCAL_TASKS;
  CHECK(PAMI_Client_query(client, query, 2));
  CHECK(PAMI_Extension_open(client, "EXT_is_local_task", &extension));
  CHECK(PAMI_Extension_open(client, "BGQ_bgq_mapping", &mapping));
  base           = symbol("base");
  stride         = (uintptr_t) symbol("stride");
  mask           = (uintptr_t) symbol("bitmask");
  words_of_tasks = PAMI_Extension_symbol(mapping, "mapcache");
  for (i = 0; i < tasks; i++)
  {
    int is_local = next < query[1].value.intval && query[0].value.intarray[next] == i;
    next += is_local;
    REQUIRE(((mask & base[i * stride]) != 0) == is_local);
    REQUIRE(((words_of_tasks[i] & PAMI_EXTENSION_BGQ_MAPPING_IS_LOCAL_MASK) != 0) == is_local);
  }
  CHECK(PAMI_Extension_close(mapping));
  CHECK(PAMI_Extension_close(extension));
}

int main(void)
{
  start("extensions", 1);
  names();
  torus();
  compute();
  l2_atomics();
  local_tasks();
  return finish();
}
