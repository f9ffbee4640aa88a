/* Memory regions: their handles travel to the other tasks as plain bytes; PAMI_Rput and PAMI_Rget at offsets,
 * with the data checked; overlapping regions, one of which is destroyed early. */

#include "common.h"

enum { SIZE = 1 << 20 };

static void create(void * address, size_t size, pami_memregion_t * region)
{
  size_t granted = 0;
  CHECK(PAMI_Memregion_create(context[0], address, size, &granted, region));
  REQUIRE(granted == size);
}

int main(void)
{
  static const size_t sizes[]   = {1, 8, 100, 512, 4096, 65536, 200000};
  static const size_t offsets[] = {0, 1, 64, 4097, 500000};
  char *              window    = allocate(SIZE);
  char *              local     = allocate(SIZE);
  pami_memregion_t    window_region, local_region, extra;
  pami_memregion_t    windows[MAX_TASKS];
  volatile size_t     done;
  size_t              i, j, target, source;

  start("rput_rget", 1);
  REQUIRE(client_query(PAMI_CLIENT_MEMREGION_SIZE) == sizeof(pami_memregion_t));
  REQUIRE(sizeof(pami_memregion_t) <= EXCHANGE_BYTES);
  create(window, SIZE, &window_region);
  create(local, SIZE, &local_region);
  create(local + 100, 1000, &extra);
  exchange(&window_region, sizeof window_region, windows);
  CHECK(PAMI_Memregion_destroy(context[0], &extra));
  target = (task + 1) % tasks;
  source = (task + tasks - 1) % tasks;

  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (j = 0; j < sizeof offsets / sizeof offsets[0]; j++)
    {
      pami_rput_simple_t put;
      pami_rget_simple_t get;
      size_t             size = sizes[i], near = offsets[j], far = offsets[(j + 2) % 5];

      memset(window, 0x55, SIZE);
      fill(local + near, size, task + i + j);
      barrier();
      memset(&put, 0, sizeof put);
      put.rma.dest           = endpoint(target, 0);
      put.rma.bytes          = size;
      put.rma.cookie         = (void *) &done;
      put.rma.done_fn        = count_event;
      put.rdma.local.mr      = &local_region;
      put.rdma.local.offset  = near;
      put.rdma.remote.mr     = &windows[target];
      put.rdma.remote.offset = far;
      put.put.rdone_fn       = count_event;
      done                   = 0;
      CHECK(PAMI_Rput(context[0], &put));
      wait_until(context[0], done == 2);
      barrier();
      verify(window + far, size, source + i + j);
      REQUIRE(window[far + size] == 0x55 && (far == 0 || window[far - 1] == 0x55));

      fill(window + far, size, task + i + j + 50);
      barrier();
      memset(local, 0x55, SIZE);
      memset(&get, 0, sizeof get);
      get.rma.dest           = endpoint(target, 0);
      get.rma.bytes          = size;
      get.rma.cookie         = (void *) &done;
      get.rma.done_fn        = count_event;
      get.rdma.local.mr      = &local_region;
      get.rdma.local.offset  = near;
      get.rdma.remote.mr     = &windows[target];
      get.rdma.remote.offset = far;
      done                   = 0;
      CHECK(PAMI_Rget(context[0], &get));
      wait_until(context[0], done == 1);
      verify(local + near, size, target + i + j + 50);
      REQUIRE(local[near + size] == 0x55 && (near == 0 || local[near - 1] == 0x55));
      barrier();
    }
  CHECK(PAMI_Memregion_destroy(context[0], &window_region));
  CHECK(PAMI_Memregion_destroy(context[0], &local_region));
  free(window);
  free(local);
  return finish();
}
