/* PAMI_Rmw: every operation with every type against a target that no other task uses, and then all tasks at
 * once on counters of task 0. */

#include "common.h"

enum { MODIFICATIONS = 6, ADDS = 200 };

typedef struct
{
  unsigned long long operand; /* for every operation in turn */
  unsigned int       tickets;
  unsigned long      bits;
} shared_t;

static shared_t shared;
static shared_t * addresses[MAX_TASKS];

static void rmw(size_t target, void * remote, void * local, void * value, void * test, int operation,
                pami_type_t type)
{
  volatile size_t done = 0;
  pami_rmw_t      parameters;
  memset(&parameters, 0, sizeof parameters);
  parameters.dest      = endpoint(target, 0);
  parameters.cookie    = (void *) &done;
  parameters.done_fn   = count_event;
  parameters.local     = local;
  parameters.remote    = remote;
  parameters.value     = value;
  parameters.test      = test;
  parameters.operation = (pami_atomic_t) operation;
  parameters.type      = type;
  CHECK(PAMI_Rmw(context[0], &parameters));
  wait_until(context[0], done == 1);
}

static unsigned long long modify(int modification, unsigned long long old, unsigned long long value)
{
  switch (modification)
  {
  case PAMI_ATOMIC_SET: return value;
  case PAMI_ATOMIC_ADD: return old + value;
  case PAMI_ATOMIC_OR: return old | value;
  case PAMI_ATOMIC_AND: return old & value;
  case PAMI_ATOMIC_XOR: return old ^ value;
  default: return old;
  }
}

/* All operations on one type of `size` bytes. The machine is little-endian or size is 8. */
static void all_operations(pami_type_t type, size_t size)
{
  static const int modifications[MODIFICATIONS] = {0, PAMI_ATOMIC_SET, PAMI_ATOMIC_ADD, PAMI_ATOMIC_OR,
                                                   PAMI_ATOMIC_AND, PAMI_ATOMIC_XOR};
  size_t target = (task + 1) % tasks;
  void * remote = &addresses[target]->operand;
  int    i, compare, fetch;

  for (i = 0; i < MODIFICATIONS; i++)
    for (fetch = 0; fetch < 2; fetch++)
      for (compare = 0; compare < 3; compare++) /* 0: no test, 1: test equals, 2: test differs */
      {
        unsigned long long start_value = 0x8123456789abcdefULL + task, value = 0xf0f0f0f05a5a5a5bULL;
        unsigned long long test = start_value + (compare == 2), old = 0x77, got = 0, wanted, zero = 0;
        int operation = modifications[i];
        if (modifications[i] == 0 && (compare || !fetch)) continue;
        if (fetch) operation |= PAMI_ATOMIC_FETCH;
        if (compare) operation |= PAMI_ATOMIC_COMPARE;

        rmw(target, remote, NULL, &start_value, NULL, PAMI_ATOMIC_SET, type);
        rmw(target, remote, &old, &value, &test, operation, type);
        if (fetch)
          REQUIRE(memcmp(&old, &start_value, size) == 0);
        else
          REQUIRE(old == 0x77);
        rmw(target, remote, &got, &zero, NULL, PAMI_ATOMIC_FETCH, type);
        wanted = compare == 2 ? start_value : modify(modifications[i], start_value, value);
        if (memcmp(&got, &wanted, size) != 0)
          FAIL("operation %d on %zu bytes gives %llx, not %llx", operation, size, got, wanted);
      }
}

int main(void)
{
  shared_t *    mine = &shared;
  unsigned char taken[MAX_TASKS * ADDS];
  unsigned int  one = 1, ticket, last = 0, i;
  unsigned long bit, bits, none = 0;
  size_t        j;

  start("rmw", 1);
  memset(taken, 0, sizeof taken);
  exchange(&mine, sizeof mine, addresses);

  all_operations(PAMI_TYPE_SIGNED_INT, sizeof(int));
  all_operations(PAMI_TYPE_UNSIGNED_INT, sizeof(int));
  all_operations(PAMI_TYPE_SIGNED_LONG, sizeof(long));
  all_operations(PAMI_TYPE_UNSIGNED_LONG, sizeof(long));
  all_operations(PAMI_TYPE_SIGNED_LONG_LONG, sizeof(long long));
  all_operations(PAMI_TYPE_UNSIGNED_LONG_LONG, sizeof(long long));
  barrier();

  /* Tickets: each is drawn once, in rising order for each task. */
  for (i = 0; i < ADDS; i++)
  {
    rmw(0, &addresses[0]->tickets, &ticket, &one, NULL, PAMI_ATOMIC_FETCH_ADD, PAMI_TYPE_UNSIGNED_INT);
    REQUIRE(ticket < tasks * ADDS && (i == 0 || ticket > last));
    last          = ticket;
    taken[ticket] = 1;
  }
  for (i = 0; i < tasks * ADDS; i += EXCHANGE_BYTES)
  {
    unsigned char all[MAX_TASKS * EXCHANGE_BYTES];
    size_t        size = tasks * ADDS - i < EXCHANGE_BYTES ? tasks * ADDS - i : EXCHANGE_BYTES, k;
    exchange(taken + i, size, all);
    for (k = 0; k < size; k++)
    {
      unsigned sum = 0;
      for (j = 0; j < tasks; j++) sum += all[j * size + k];
      if (sum != 1) FAIL("ticket %zu was drawn %u times", i + k, sum);
    }
  }

  /* Bits: each task sets its own. Then compare-and-set clears all of them, by one task only. */
  bit = 1UL << (task % (8 * sizeof bit));
  rmw(0, &addresses[0]->bits, NULL, &bit, NULL, PAMI_ATOMIC_OR, PAMI_TYPE_UNSIGNED_LONG);
  barrier();
  for (bits = 0, j = 0; j < tasks; j++) bits |= 1UL << (j % (8 * sizeof bit));
  rmw(0, &addresses[0]->bits, &bit, &none, &bits, PAMI_ATOMIC_FETCH_COMPARE_SET, PAMI_TYPE_UNSIGNED_LONG);
  {
    unsigned char winner = bit == bits, winners[MAX_TASKS];
    unsigned      sum    = 0;
    REQUIRE(bit == bits || bit == 0);
    exchange(&winner, 1, winners);
    for (j = 0; j < tasks; j++) sum += winners[j];
    REQUIRE(sum == 1);
  }
  return finish();
}
