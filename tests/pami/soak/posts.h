/* Part of soak.c: work that another thread posts, and the task that is killed. */

typedef struct
{
  pami_work_t work;
  int         is_posted, refusals;
} item_t;

static item_t items[ITEMS];
static size_t posted, run;
static int    is_poster_stopped;

static pami_result_t work(pami_context_t on, void * cookie)
{
  item_t * item = cookie;
  if (item->refusals > 0)
  {
    --item->refusals;
    return PAMI_EAGAIN;
  }
  if (below(4) == 0) send_short(on, below(tasks));
  ++run;
  __atomic_store_n(&item->is_posted, 0, __ATOMIC_RELEASE);
  return PAMI_SUCCESS;
}

static void * post_all(void * argument)
{
  const struct timespec pause = {0, 20000};
  size_t                i;
  (void) argument;
  for (i = 0; !__atomic_load_n(&is_poster_stopped, __ATOMIC_ACQUIRE); i++)
  {
    item_t * item = &items[i % ITEMS];
    if (i % 8 == 0) nanosleep(&pause, NULL);
    if (__atomic_load_n(&item->is_posted, __ATOMIC_ACQUIRE)) continue;
    item->is_posted = 1;
    item->refusals  = i % 5 == 0 ? 2 : 0;
    ++posted;
    CHECK(PAMI_Context_post(context[i / 3 % contexts], &item->work, work, item));
  }
  return NULL;
}

/* Kills this process at a random time. */
static void * die(void * argument)
{
  const double    after = (double) below(1000) / 1000 * seconds;
  struct timespec pause;
  (void) argument;
  pause.tv_sec  = (time_t) after;
  pause.tv_nsec = (long) ((after - (double) pause.tv_sec) * 1e9);
  nanosleep(&pause, NULL);
  kill(getpid(), SIGKILL);
  return NULL;
}
