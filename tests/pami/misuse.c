/* NETLOOM_CHECK=1: each misuse is reported on stderr with the function and what to do, and the program goes on. */

#include "common.h"

#include <fcntl.h>
#include <unistd.h>

static int  kept;        /* stderr while it goes to a file */
static char path[64];
static char text[16384];

static void capture(void)
{
  int file;
  sprintf(path, "/tmp/netloom-misuse-%d", (int) getpid());
  fflush(stderr);
  kept = dup(2);
  file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
  REQUIRE(kept >= 0 && file >= 0 && dup2(file, 2) == 2);
  close(file);
}

/* Ends capture(): the text that was written to stderr is in `text`. */
static void release(void)
{
  ssize_t length;
  int     file = open(path, O_RDONLY);
  dup2(kept, 2);
  close(kept);
  length = read(file, text, sizeof text - 1);
  close(file);
  unlink(path);
  REQUIRE(length >= 0);
  text[length] = '\0';
}

/* The report names the function and says the phrase. */
static void expect_report(const char * function, const char * phrase)
{
  release();
  if (strstr(text, "PAMI check: task") == NULL || strstr(text, function) == NULL || strstr(text, phrase) == NULL)
    FAIL("no report of %s with \"%s\" but: %s", function, phrase, text);
}

/* Nothing is reported. */
static void expect_nothing(void)
{
  release();
  if (text[0] != '\0') FAIL("a report that was not expected: %s", text);
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size,
                    const void * pipe, size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  no_data(recv, size);
}

/* ------------------------------------------------ Threads ------------------------------------------------- */

static pthread_mutex_t inside  = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  changed = PTHREAD_COND_INITIALIZER;
static int             stage;

static void advance_to(int next)
{
  pthread_mutex_lock(&inside);
  stage = next;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&inside);
}

static void await(int wanted)
{
  pthread_mutex_lock(&inside);
  while (stage < wanted) pthread_cond_wait(&changed, &inside);
  pthread_mutex_unlock(&inside);
}

/* Posted work that stays in the context until the other thread has tried. */
static pami_result_t stay(pami_context_t on, void * cookie)
{
  (void) cookie;
  advance_to(1);
  await(2);
  EXPECT(PAMI_INVAL, PAMI_Context_advance(on, 1)); /* from a callback */
  return PAMI_SUCCESS;
}

static void * other_thread(void * cookie)
{
  (void) cookie;
  await(1);
  EXPECT(PAMI_INVAL, PAMI_Context_advance(context[0], 1));
  advance_to(2);
  return NULL;
}

static void * locks(void * cookie)
{
  (void) cookie;
  CHECK(PAMI_Context_lock(context[0]));
  return NULL;
}

static void threads(void)
{
  static pami_work_t work;
  pthread_t          other;
  pthread_create(&other, NULL, other_thread, NULL);
  capture();
  CHECK(PAMI_Context_post(context[0], &work, stay, NULL));
  EXPECT(PAMI_INVAL, PAMI_Context_post(context[0], &work, stay, NULL)); /* still queued */
  advance(context[0]);
  pthread_join(other, NULL);
  expect_report("PAMI_Context_advance", "another thread is in a function of this context");
  REQUIRE(strstr(text, "PAMI_Context_post: this pami_work_t is queued") != NULL);
  REQUIRE(strstr(text, "called from a callback") != NULL);

  capture();
  pthread_create(&other, NULL, locks, NULL);
  pthread_join(other, NULL);
  EXPECT(PAMI_INVAL, PAMI_Context_unlock(context[0]));
  expect_report("PAMI_Context_unlock", "another thread holds the lock");

  capture();
  CHECK(PAMI_Context_lock(context[1]));
  EXPECT(PAMI_INVAL, PAMI_Context_lock(context[1]));
  CHECK(PAMI_Context_unlock(context[1]));
  expect_report("PAMI_Context_lock", "this thread holds the lock already");

  capture();
  EXPECT(PAMI_INVAL, PAMI_Context_unlock(context[1]));
  expect_report("PAMI_Context_unlock", "not locked");
}

/* ------------------------------------------------ Arguments ----------------------------------------------- */

static void arguments(void)
{
  pami_send_immediate_t send;
  pami_result_t         result;
  volatile size_t       done = 0;
  char                  data[1024];
  pami_type_t           type, copy;
  long                  nothing[16] = {0};

  memset(&send, 0, sizeof send);
  memset(data, 0, sizeof data);
  send.dest     = endpoint(task, 0);
  send.dispatch = FIRST_ID + 5;
  capture();
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send));
  expect_report("PAMI_Send_immediate", "is not set");

  capture();
  send.dispatch      = FIRST_ID;
  send.data.iov_base = data;
  send.data.iov_len  = sizeof data;
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send));
  expect_report("PAMI_Send_immediate", "1024 B are more than");

  capture();
  send.dest         = PAMI_ENDPOINT_NULL + 0x7fffffff;
  send.data.iov_len = 8;
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send));
  expect_report("PAMI_Send_immediate", "");

  capture();
  send.dest = endpoint(task, 0);
  EXPECT(PAMI_INVAL, PAMI_Send_immediate((pami_context_t) nothing, &send));
  expect_report("PAMI_Send_immediate", "is not a context");

  capture();
  EXPECT(PAMI_INVAL, PAMI_Send_immediate(NULL, &send));
  expect_report("PAMI_Send_immediate", "NULL");

  capture();
  CHECK(PAMI_Fence_all(context[0], count_event, (void *) &done));
  wait_until(context[0], done == 1);
  expect_report("PAMI_Fence_all", "no fence region is open");

  capture();
  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_add_simple(type, 8, 0, 1, 8));
  CHECK(PAMI_Type_complete(type, 8));
  copy = type;
  CHECK(PAMI_Type_destroy(&type));
  result = PAMI_Type_destroy(&copy);
  REQUIRE(result == PAMI_INVAL);
  expect_report("PAMI_Type_destroy", "is not a type, or one that is destroyed");
}

/* ----------------------------------------------- Collectives ---------------------------------------------- */

static void collectives(void)
{
  pami_geometry_t       world, copy, made;
  pami_geometry_range_t all;
  pami_algorithm_t      algorithms[16], old;
  pami_xfer_t           xfer;
  volatile size_t       done = 0;
  size_t                lengths[2];
  int                   data[16];

  CHECK(PAMI_Geometry_world(client, &world));
  all.lo = 0;
  all.hi = (pami_task_t) tasks - 1;
  CHECK(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &made, world, 7, &all, 1, context[0], count_event,
                                       (void *) &done));
  wait_until(context[0], done == 1);
  old = first_algorithm(made, PAMI_XFER_BARRIER);

  /* Destroyed while a barrier is under way: with other tasks, it cannot be complete yet. */
  if (tasks > 1)
  {
    capture();
    done = 0;
    memset(&xfer, 0, sizeof xfer);
    xfer.cb_done   = count_event;
    xfer.cookie    = (void *) &done;
    xfer.algorithm = old;
    if (task != 0) barrier(); /* task 0 alone has started */
    CHECK(PAMI_Collective(context[0], &xfer));
    copy = made;
    if (task == 0)
    {
      CHECK(PAMI_Geometry_destroy(client, &copy, context[0], NULL, NULL));
      barrier();
    }
    wait_until(context[0], done == 1);
    if (task == 0)
      expect_report("PAMI_Geometry_destroy", "1 collectives of geometry 7 are under way");
    else
      expect_nothing();
  }
  copy = made;
  if (task != 0 || tasks == 1) CHECK(PAMI_Geometry_destroy(client, &made, context[0], NULL, NULL));
  advance(context[0]);

  capture();
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = old;
  EXPECT(PAMI_INVAL, PAMI_Collective(context[0], &xfer));
  expect_report("PAMI_Collective", "is not a geometry of the client, or one that is destroyed");

  capture();
  EXPECT(PAMI_INVAL, PAMI_Geometry_destroy(client, &copy, context[0], NULL, NULL));
  expect_report("PAMI_Geometry_destroy", "is not a geometry of the client, or one that is destroyed");

  if (tasks < 2) return;
  /* Task 0 runs another broadcast than the others. */
  CHECK(PAMI_Geometry_algorithms_num(world, PAMI_XFER_BROADCAST, lengths));
  REQUIRE(lengths[0] >= 3 && lengths[0] <= 16);
  CHECK(PAMI_Geometry_algorithms_query(world, PAMI_XFER_BROADCAST, algorithms, NULL, lengths[0], NULL, NULL, 0));
  capture();
  memset(&xfer, 0, sizeof xfer);
  memset(data, 0, sizeof data);
  xfer.algorithm                    = algorithms[task == 0 ? 1 : 2]; /* binomial and 4-nomial */
  xfer.cmd.xfer_broadcast.root      = endpoint(0, 0);
  xfer.cmd.xfer_broadcast.buf       = (char *) data;
  xfer.cmd.xfer_broadcast.type      = PAMI_TYPE_SIGNED_INT;
  xfer.cmd.xfer_broadcast.typecount = 16;
  run_collective(context[0], &xfer);
  if (task == 0)
    expect_nothing();
  else
    expect_report("PAMI_Collective", "I0:Binomial:P2P:P2P");
  barrier();
}

/* ------------------------------------------------ The end ------------------------------------------------- */

/* Contexts are destroyed with work that has not run. */
static void unfinished(void)
{
  static pami_work_t work;
  pami_context_t     gone = context[1];
  capture();
  CHECK(PAMI_Context_post(context[1], &work, stay, NULL));
  CHECK(PAMI_Context_destroyv(context, contexts));
  expect_report("PAMI_Context_destroyv", "1 posted works have not run");

  capture();
  EXPECT(PAMI_INVAL, PAMI_Context_advance(gone, 1));
  expect_report("PAMI_Context_advance", "destroyed");

  capture();
  CHECK(PAMI_Client_destroy(&client));
  expect_nothing();
}

int main(void)
{
  setenv("NETLOOM_CHECK", "1", 1);
  start("misuse", 2);
  REQUIRE(contexts == 2);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  threads();
  arguments();
  if (tasks <= 3) collectives(); /* trees of more members differ */
  barrier();
  unfinished();
  if (task == 0) printf("ok\n");
  return 0;
}
