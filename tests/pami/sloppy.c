/* Programs that do what daemons and careless programs do: they close all descriptors that they do not know, before the
 * first call and between calls; they fork, and the child starts another program; at last they close their output. */

#include "common.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 100000 };

static char            own[SIZE], window[SIZE];
static volatile size_t done;

static void close_all(int from)
{
  int file;
  for (file = from; file < 1024; file++) close(file);
}

/* Others get the numbers of the closed descriptors. */
static void open_some(void)
{
  int i;
  for (i = 0; i < 8; i++) REQUIRE(open("/dev/zero", O_RDWR) >= 0);
}

/* A child that starts a program, and one that ends at once. */
static void fork_children(void)
{
  int round, status;
  for (round = 0; round < 2; round++)
  {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
    {
      if (round == 0) execlp("true", "true", (char *) NULL);
      _exit(round == 0 ? 127 : 0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
  REQUIRE(system("true") == 0);
}

/* Data of the next task, by a get: the library reads another process's memory. */
static void get(void)
{
  pami_memregion_t  region, regions[MAX_TASKS];
  pami_rget_simple_t get;
  pami_get_simple_t  plain;
  size_t             granted, to = (task + 1) % tasks;
  pami_memregion_t   here;
  void *             address = own;
  void *             addresses[MAX_TASKS];
  CHECK(PAMI_Memregion_create(context[0], own, sizeof own, &granted, &region));
  CHECK(PAMI_Memregion_create(context[0], window, sizeof window, &granted, &here));
  exchange(&region, sizeof region, regions);
  exchange(&address, sizeof address, addresses);
  fill(own, sizeof own, task);
  barrier();

  memset(window, 0, sizeof window);
  memset(&get, 0, sizeof get);
  get.rma.dest = endpoint(to, 0); get.rma.bytes = SIZE;
  get.rma.cookie = (void *) &done; get.rma.done_fn = count_event;
  get.rdma.local.mr = &here; get.rdma.remote.mr = &regions[to];
  done = 0;
  CHECK(PAMI_Rget(context[0], &get));
  wait_until(context[0], done == 1);
  verify(window, sizeof window, to);

  memset(window, 0, sizeof window);
  memset(&plain, 0, sizeof plain);
  plain.rma = get.rma;
  plain.addr.local = window; plain.addr.remote = addresses[to];
  CHECK(PAMI_Get(context[0], &plain));
  wait_until(context[0], done == 2);
  verify(window, sizeof window, to);
  barrier();
}

int main(void)
{
  close_all(3);
  open_some();
  start("sloppy", 1);
  get();
  close_all(3);
  open_some();
  get();
  fork_children();
  get();
  /* With the standard descriptors. */
  close_all(0);
  open_some();
  get();
  barrier();
  CHECK(PAMI_Context_destroyv(context, contexts));
  CHECK(PAMI_Client_destroy(&client));
  return 0;
}
