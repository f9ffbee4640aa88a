/* Part of soak.c: random numbers, what has been done, patterns of data. */

enum
{
  CONTEXTS     = 2,
  OPERATIONS   = 400,       /* without arguments */
  IN_FLIGHT    = 16,        /* sends */
  LONGEST      = 150000,    /* data of a message */
  PART         = 1 << 17,   /* of a window, for each other task */
  COUNT        = 700,       /* elements of a block of a collective */
  GEOMETRIES   = 3,         /* besides the world */
  ITEMS        = 64,        /* of posted work */
  BLOCK        = 24,        /* of the type with gaps */
  STRIDE       = 40,
  NO_PROGRESS  = 20,        /* seconds after which the program fails */
  SEND_ID      = FIRST_ID,
  CHECK_ID,
  CHECKED_ID,
  TOTALS_ID
};

static double   seconds;
static uint64_t own_random, common_random;
static int      is_killing, is_async, is_stopping;
static pami_type_t gaps;

static uint64_t next_random(uint64_t * state)
{
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number below `limit`. */
static size_t below(size_t limit) { return (size_t) ((next_random(&own_random) >> 20) % limit); }

/* A size up to `most`: short ones as often as long ones. */
static size_t random_size(size_t most)
{
  size_t size = below((size_t) 2 << below(18));
  return size < most ? size : below(most + 1);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static volatile size_t progress; /* operations that are complete */
static size_t          operations;

/* An operation has ended; returns whether it succeeded. */
static int succeeded(pami_result_t result)
{
  ++progress;
  if (result == PAMI_SUCCESS) return 1;
  if (!is_killing || result != PAMI_SHUTDOWN) FAIL("an operation ended with result %d", (int) result);
  /* Some data is lost, so the program cannot go on. */
  printf("PAMI_SHUTDOWN\n");
  fflush(stdout);
  _exit(0);
}

/* Checks the result of a call that begins an operation. */
static void begun(pami_result_t result)
{
  if (is_killing && result == PAMI_SHUTDOWN) succeeded(result);
  CHECK(result);
}

/* Where the i-th byte of data is in memory. */
static size_t place(int has_gaps, size_t i) { return has_gaps ? i / BLOCK * STRIDE + i % BLOCK : i; }

static void fill_data(char * memory, int has_gaps, size_t size, size_t seed)
{
  size_t i;
  for (i = 0; i < size; i++) memory[place(has_gaps, i)] = (char) pattern(seed, i);
}

static void verify_data(const char * memory, int has_gaps, size_t size, size_t seed, const char * what, size_t from)
{
  size_t i;
  for (i = 0; i < size; i++)
    if ((unsigned char) memory[place(has_gaps, i)] != pattern(seed, i))
      FAIL("%s task %zu: byte %zu of %zu (gaps: %d) is %d, not %d", what, from, i, size, has_gaps,
           (unsigned char) memory[place(has_gaps, i)], pattern(seed, i));
}
