/* Memory regions: their handles travel to the other tasks as plain bytes; PAMI_Rput and PAMI_Rget at offsets,
 * with the data checked, also typed; overlapping regions, one of which is destroyed early. */

#include "common.h"

enum { SIZE = 1 << 20 };

static void create(void * address, size_t size, pami_memregion_t * region)
{
  size_t granted = 0;
  CHECK(PAMI_Memregion_create(context[0], address, size, &granted, region));
  REQUIRE(granted == size);
}

/* Rput into a layout with gaps and Rget out of it. */
static void typed(pami_memregion_t * near, char * local, pami_memregion_t * far, char * window, size_t target,
                  size_t source)
{
  enum { BLOCKS = 100, BLOCK = 24, STRIDE = 60, DATA = BLOCKS * BLOCK, PLACE = 128 };
  pami_rput_typed_t put;
  pami_rget_typed_t get;
  pami_type_t       gaps;
  pami_result_t     result;
  volatile size_t   done = 0;
  size_t            i;

  CHECK(PAMI_Type_create(&gaps));
  CHECK(PAMI_Type_add_simple(gaps, BLOCK, 0, BLOCKS, STRIDE));
  CHECK(PAMI_Type_complete(gaps, 1));
  memset(window, 0x55, SIZE);
  fill(local, DATA, task);
  barrier();
  memset(&put, 0, sizeof put);
  put.rma.dest           = endpoint(target, 0);
  put.rma.bytes          = DATA;
  put.rma.cookie         = (void *) &done;
  put.rma.done_fn        = count_event;
  put.rdma.local.mr      = near;
  put.rdma.remote.mr     = far;
  put.rdma.remote.offset = PLACE;
  put.type.local         = PAMI_TYPE_BYTE;
  put.type.remote        = gaps;
  put.put.rdone_fn       = count_event;
  result                 = PAMI_Rput_typed(context[0], &put);
  if (result == PAMI_SUCCESS) /* PAMI_UNIMPL is allowed: the device does not offer it */
  {
    wait_until(context[0], done == 2);
    barrier();
    fill(local, DATA, source);
    for (i = 0; i < BLOCKS; i++)
    {
      REQUIRE(memcmp(window + PLACE + i * STRIDE, local + i * BLOCK, BLOCK) == 0);
      REQUIRE(window[PLACE + i * STRIDE + BLOCK] == 0x55);
    }
    memset(local, 0, DATA);
    barrier();
    memset(&get, 0, sizeof get);
    get.rma         = put.rma;
    get.rdma        = put.rdma;
    get.type.local  = PAMI_TYPE_BYTE;
    get.type.remote = gaps;
    done            = 0;
    CHECK(PAMI_Rget_typed(context[0], &get));
    wait_until(context[0], done == 1);
    verify(local, DATA, task);
    barrier();

    /* With the gaps on this side. */
    fill(local, BLOCKS * STRIDE, task);
    memset(window, 0x55, SIZE);
    barrier();
    put.type.local  = gaps;
    put.type.remote = PAMI_TYPE_BYTE;
    done            = 0;
    CHECK(PAMI_Rput_typed(context[0], &put));
    wait_until(context[0], done == 2);
    barrier();
    fill(local, BLOCKS * STRIDE, source);
    for (i = 0; i < BLOCKS; i++)
      REQUIRE(memcmp(window + PLACE + i * BLOCK, local + i * STRIDE, BLOCK) == 0);
    REQUIRE(window[PLACE - 1] == 0x55 && window[PLACE + DATA] == 0x55);
    memset(local, 0x55, BLOCKS * STRIDE);
    get.type = put.type;
    done     = 0;
    CHECK(PAMI_Rget_typed(context[0], &get));
    wait_until(context[0], done == 1);
    for (i = 0; i < DATA; i++)
      REQUIRE((unsigned char) local[i / BLOCK * STRIDE + i % BLOCK] == pattern(task, i / BLOCK * STRIDE + i % BLOCK));
    REQUIRE(local[BLOCK] == 0x55);
  }
  else
    EXPECT(PAMI_UNIMPL, result);
  barrier();
  CHECK(PAMI_Type_destroy(&gaps));
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
  typed(&local_region, local, &windows[target], window, target, source);
  CHECK(PAMI_Memregion_destroy(context[0], &window_region));
  CHECK(PAMI_Memregion_destroy(context[0], &local_region));
  free(window);
  free(local);
  return finish();
}
