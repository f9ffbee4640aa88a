/* More puts and gets at once than any queue has places, by memory regions and by addresses; that the puts are
 * complete is known by a fence only. */

#include "common.h"

enum { COUNT = 3000, SIZE = 100, STRIDE = 130, AREA = COUNT * STRIDE };

static void check(const unsigned char * area, size_t seed, const char * what)
{
  size_t i, j;
  for (i = 0; i < COUNT; i++)
    for (j = 0; j < STRIDE; j++)
      if (area[i * STRIDE + j] != (j < SIZE ? pattern(seed, i * STRIDE + j) : 0x55)) FAIL("%s %zu is wrong", what, i);
}

static void fence(void)
{
  volatile size_t done = 0;
  CHECK(PAMI_Fence_begin(context[0]));
  CHECK(PAMI_Fence_all(context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
  CHECK(PAMI_Fence_end(context[0]));
}

int main(void)
{
  unsigned char *  local  = allocate(AREA);
  unsigned char *  window = allocate(AREA);
  void *           windows[MAX_TASKS];
  pami_memregion_t local_region, window_region, regions[MAX_TASKS];
  size_t           i, by_regions, granted, target, source;
  volatile size_t  done;

  start("rma_many", 1);
  CHECK(PAMI_Memregion_create(context[0], local, AREA, &granted, &local_region));
  CHECK(PAMI_Memregion_create(context[0], window, AREA, &granted, &window_region));
  exchange(&window, sizeof window, windows);
  exchange(&window_region, sizeof window_region, regions);
  target = (task + 1) % tasks;
  source = (task + tasks - 1) % tasks;

  for (by_regions = 0; by_regions < 2; by_regions++)
  {
    fill(local, AREA, task + by_regions);
    memset(window, 0x55, AREA);
    barrier();
    done = 0;
    for (i = 0; i < COUNT; i++)
    {
      pami_rma_t         rma;
      pami_put_simple_t  put;
      pami_rput_simple_t rput;
      memset(&rma, 0, sizeof rma);
      memset(&put, 0, sizeof put);
      memset(&rput, 0, sizeof rput);
      rma.dest                = endpoint(target, 0);
      rma.bytes               = SIZE;
      rma.cookie              = (void *) &done;
      rma.done_fn             = count_event;
      put.rma                 = rma;
      put.addr.local          = local + i * STRIDE;
      put.addr.remote         = (char *) windows[target] + i * STRIDE;
      rput.rma                = rma;
      rput.rdma.local.mr      = &local_region;
      rput.rdma.remote.mr     = &regions[target];
      rput.rdma.local.offset  = i * STRIDE;
      rput.rdma.remote.offset = i * STRIDE;
      CHECK(by_regions ? PAMI_Rput(context[0], &rput) : PAMI_Put(context[0], &put));
    }
    wait_until(context[0], done == COUNT);
    fence();
    barrier();
    check(window, source + by_regions, "put");
    barrier();

    memset(local, 0x55, AREA);
    done = 0;
    for (i = 0; i < COUNT; i++)
    {
      pami_rma_t         rma;
      pami_get_simple_t  get;
      pami_rget_simple_t rget;
      memset(&rma, 0, sizeof rma);
      memset(&get, 0, sizeof get);
      memset(&rget, 0, sizeof rget);
      rma.dest                = endpoint(target, 0);
      rma.bytes               = SIZE;
      rma.cookie              = (void *) &done;
      rma.done_fn             = count_event;
      get.rma                 = rma;
      get.addr.local          = local + i * STRIDE;
      get.addr.remote         = (char *) windows[target] + i * STRIDE;
      rget.rma                = rma;
      rget.rdma.local.mr      = &local_region;
      rget.rdma.remote.mr     = &regions[target];
      rget.rdma.local.offset  = i * STRIDE;
      rget.rdma.remote.offset = i * STRIDE;
      CHECK(by_regions ? PAMI_Rget(context[0], &rget) : PAMI_Get(context[0], &get));
    }
    fence();
    REQUIRE(done == COUNT);
    check(local, task + by_regions, "get");
    barrier();
  }
  CHECK(PAMI_Memregion_destroy(context[0], &local_region));
  CHECK(PAMI_Memregion_destroy(context[0], &window_region));
  free(local);
  free(window);
  return finish();
}
