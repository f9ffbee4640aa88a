/* Predefined data functions: PAMI_Type_transform_data with each function and each predefined type that it
 * takes, compared with the same computation in C, and results for those that it does not take. */

#include "common.h"
#include <complex.h>
#include <float.h>

enum { COUNT = 300 };

/* Random bits, the same in each run. */
static uint64_t random_bits(void)
{
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* The result of a predefined function, in `got`. */
static void apply(pami_type_t type, pami_data_function function, const void * target, const void * source,
                  void * got, size_t size)
{
  memcpy(got, target, size);
  CHECK(PAMI_Type_transform_data((void *) source, type, 0, got, type, 0, size, function, NULL));
}

#define COMPARE(ctype, type, function, result)                                            \
  do                                                                                      \
  {                                                                                       \
    size_t i_;                                                                            \
    apply(type, function, a, b, got, sizeof a);                                           \
    for (i_ = 0; i_ < COUNT; i_++)                                                        \
    {                                                                                     \
      ctype x = a[i_], y = b[i_], wanted = (ctype) (result);                              \
      if (memcmp(&got[i_], &wanted, value_size) != 0)                                     \
        FAIL("%s of %s is wrong at element %zu", #function, #type, i_);                   \
    }                                                                                     \
  } while (0)

#define INTEGERS(ctype, type)                                                   \
  do                                                                            \
  {                                                                             \
    static ctype a[COUNT], b[COUNT], got[COUNT];                                \
    size_t       value_size = sizeof(ctype), i;                                 \
    for (i = 0; i < COUNT; i++)                                                 \
    {                                                                           \
      a[i] = i % 3 == 0 ? 0 : (ctype) random_bits();                            \
      b[i] = i % 5 == 0 ? 0 : (ctype) random_bits();                            \
    }                                                                           \
    COMPARE(ctype, type, PAMI_DATA_COPY, ((void) x, y));                        \
    COMPARE(ctype, type, PAMI_DATA_NOOP, ((void) y, x));                        \
    COMPARE(ctype, type, PAMI_DATA_MAX, x > y ? x : y);                         \
    COMPARE(ctype, type, PAMI_DATA_MIN, x < y ? x : y);                         \
    COMPARE(ctype, type, PAMI_DATA_SUM, (uint64_t) x + (uint64_t) y);           \
    COMPARE(ctype, type, PAMI_DATA_PROD, (uint64_t) x * (uint64_t) y);          \
    COMPARE(ctype, type, PAMI_DATA_BAND, x & y);                                \
    COMPARE(ctype, type, PAMI_DATA_BOR, x | y);                                 \
    COMPARE(ctype, type, PAMI_DATA_BXOR, x ^ y);                                \
    LOGICALS(ctype, type);                                                      \
  } while (0)

#define LOGICALS(ctype, type)                                     \
  do                                                              \
  {                                                               \
    COMPARE(ctype, type, PAMI_DATA_LAND, x && y);                 \
    COMPARE(ctype, type, PAMI_DATA_LOR, x || y);                  \
    COMPARE(ctype, type, PAMI_DATA_LXOR, !x != !y);               \
  } while (0)

#define LOGICAL_TYPE(ctype, type)                                 \
  do                                                              \
  {                                                               \
    static ctype a[COUNT], b[COUNT], got[COUNT];                  \
    size_t       value_size = sizeof(ctype), i;                   \
    for (i = 0; i < COUNT; i++)                                   \
    {                                                             \
      a[i] = (ctype) (random_bits() % 3);                         \
      b[i] = (ctype) (random_bits() % 2);                         \
    }                                                             \
    LOGICALS(ctype, type);                                        \
  } while (0)

/* Numbers of all magnitudes, whose sums cancel now and then. Of equal numbers, the target stays. */
#define FLOATS(ctype, type, number, bytes)                        \
  do                                                              \
  {                                                               \
    static ctype a[COUNT], b[COUNT], got[COUNT];                  \
    size_t       value_size = bytes, i;                           \
    for (i = 0; i < COUNT; i++)                                   \
    {                                                             \
      a[i] = number;                                              \
      b[i] = i % 4 == 0 ? -a[i] * (1 + number) : number;          \
    }                                                             \
    COMPARE(ctype, type, PAMI_DATA_MAX, y > x ? y : x);           \
    COMPARE(ctype, type, PAMI_DATA_MIN, y < x ? y : x);           \
    COMPARE(ctype, type, PAMI_DATA_SUM, x + y);                   \
    COMPARE(ctype, type, PAMI_DATA_PROD, x * y);                  \
  } while (0)

static double number(void)
{
  return (double) (int64_t) random_bits() / (double) (1ull << (random_bits() % 64));
}

#if LDBL_MANT_DIG == 64
/* A long double of any exponent, or of one near those of others. */
static long double long_number(void)
{
  union
  {
    long double value;
    struct
    {
      uint64_t significand;
      uint16_t exponent;
    } parts;
  } made;
  uint64_t kind = random_bits() % 8;
  made.value    = 0;
  if (kind == 0) return 0;
  made.parts.significand = random_bits() | 1ull << 63;
  made.parts.exponent    = (uint16_t) (kind < 4 ? random_bits() % 0x7ffe + 1 : 0x3fff + random_bits() % 70);
  if (kind == 1) made.parts.exponent = (uint16_t) (random_bits() % 80 + 1);
  if (kind == 2) made.parts.significand = 1ull << 63;
  return random_bits() % 2 ? made.value : -made.value;
}
#endif

/* Small integers, whose products are exact. */
#define COMPLEX(ctype, type)                                                                 \
  do                                                                                         \
  {                                                                                          \
    static ctype a[COUNT], b[COUNT], got[COUNT];                                             \
    size_t       value_size = sizeof(ctype), i;                                              \
    for (i = 0; i < COUNT; i++)                                                              \
    {                                                                                        \
      a[i] = (ctype) ((double) (random_bits() % 99 + 1) + I * (double) (random_bits() % 99 + 200)); \
      b[i] = (ctype) ((double) (random_bits() % 99 + 1) + I * (double) (random_bits() % 99 + 200)); \
    }                                                                                        \
    COMPARE(ctype, type, PAMI_DATA_SUM, x + y);                                              \
    COMPARE(ctype, type, PAMI_DATA_PROD, x * y);                                             \
  } while (0)

/* Pairs: few values, so that many are equal. */
#define LOCATED(vtype, ltype, type)                                                          \
  do                                                                                         \
  {                                                                                          \
    typedef struct                                                                           \
    {                                                                                        \
      vtype value;                                                                           \
      ltype location;                                                                        \
    } pair_t;                                                                                \
    static pair_t a[COUNT], b[COUNT], got[COUNT];                                            \
    size_t        i;                                                                         \
    REQUIRE(type_size(type) == sizeof(pair_t));                                              \
    for (i = 0; i < COUNT; i++)                                                              \
    {                                                                                        \
      a[i].value    = (vtype) ((int) (random_bits() % 5) - 2);                               \
      b[i].value    = (vtype) ((int) (random_bits() % 5) - 2);                               \
      a[i].location = (ltype) (random_bits() % 1000);                                        \
      b[i].location = (ltype) (random_bits() % 1000);                                        \
    }                                                                                        \
    apply(type, PAMI_DATA_MAXLOC, a, b, got, sizeof a);                                      \
    for (i = 0; i < COUNT; i++)                                                              \
    {                                                                                        \
      int take = b[i].value > a[i].value                                                     \
                 || (b[i].value == a[i].value && b[i].location < a[i].location);             \
      REQUIRE(got[i].value == (take ? b : a)[i].value);                                      \
      REQUIRE(got[i].location == (take ? b : a)[i].location);                                \
    }                                                                                        \
    apply(type, PAMI_DATA_MINLOC, a, b, got, sizeof a);                                      \
    for (i = 0; i < COUNT; i++)                                                              \
    {                                                                                        \
      int take = b[i].value < a[i].value                                                     \
                 || (b[i].value == a[i].value && b[i].location < a[i].location);             \
      REQUIRE(got[i].value == (take ? b : a)[i].value);                                      \
      REQUIRE(got[i].location == (take ? b : a)[i].location);                                \
    }                                                                                        \
  } while (0)

static size_t type_size(pami_type_t type)
{
  pami_configuration_t query[3];
  memset(query, 0, sizeof query);
  query[0].name = PAMI_TYPE_DATA_SIZE;
  query[1].name = PAMI_TYPE_DATA_EXTENT;
  query[2].name = PAMI_TYPE_ATOM_SIZE;
  CHECK(PAMI_Type_query(type, query, 3));
  REQUIRE(query[0].value.intval == query[1].value.intval && query[0].value.intval == query[2].value.intval);
  return query[0].value.intval;
}

static void refused(pami_type_t type, pami_data_function function)
{
  char a[64], b[64];
  memset(a, 0, sizeof a);
  memset(b, 0, sizeof b);
  EXPECT(PAMI_INVAL, PAMI_Type_transform_data(a, type, 0, b, type, 0, sizeof a, function, NULL));
}

static void refusals(void)
{
  char        a[64], b[64];
  pami_type_t type;
  memset(a, 0, sizeof a);
  memset(b, 0, sizeof b);
  refused(PAMI_TYPE_DOUBLE, PAMI_DATA_BAND);
  refused(PAMI_TYPE_LOGICAL4, PAMI_DATA_SUM);
  refused(PAMI_TYPE_LOC_2INT, PAMI_DATA_MAX);
  refused(PAMI_TYPE_SIGNED_INT, PAMI_DATA_MAXLOC);
  refused(PAMI_TYPE_DOUBLE_COMPLEX, PAMI_DATA_MAX);
  /* An atom of 2 may split a double. */
  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_add_simple(type, 2, 0, 4, 4));
  CHECK(PAMI_Type_complete(type, 2));
  EXPECT(PAMI_INVAL, PAMI_Type_transform_data(a, type, 0, b, PAMI_TYPE_DOUBLE, 0, 16, PAMI_DATA_SUM, NULL));
  CHECK(PAMI_Type_destroy(&type));
}

/* Doubles from every other element are added to contiguous ones. */
static void strided(void)
{
  double      from[2 * COUNT], to[COUNT];
  pami_type_t type;
  size_t      i;
  for (i = 0; i < 2 * COUNT; i++) from[i] = (double) i;
  for (i = 0; i < COUNT; i++) to[i] = 0.5;
  CHECK(PAMI_Type_create(&type));
  CHECK(PAMI_Type_add_typed(type, PAMI_TYPE_DOUBLE, 8, 1, 8));
  CHECK(PAMI_Type_complete(type, 8));
  CHECK(PAMI_Type_transform_data(from, type, 16, to, PAMI_TYPE_DOUBLE, 8, 8 * (COUNT - 2), PAMI_DATA_SUM,
                                 NULL));
  for (i = 0; i < COUNT; i++)
    REQUIRE(to[i] == (i >= 1 && i < COUNT - 1 ? 0.5 + (double) (2 * (i + 1) + 1) : 0.5));
  CHECK(PAMI_Type_destroy(&type));
}

int main(void)
{
  start("reductions", 1);
  INTEGERS(unsigned char, PAMI_TYPE_BYTE);
  INTEGERS(signed char, PAMI_TYPE_SIGNED_CHAR);
  INTEGERS(unsigned char, PAMI_TYPE_UNSIGNED_CHAR);
  INTEGERS(signed short, PAMI_TYPE_SIGNED_SHORT);
  INTEGERS(unsigned short, PAMI_TYPE_UNSIGNED_SHORT);
  INTEGERS(signed int, PAMI_TYPE_SIGNED_INT);
  INTEGERS(unsigned int, PAMI_TYPE_UNSIGNED_INT);
  INTEGERS(signed long, PAMI_TYPE_SIGNED_LONG);
  INTEGERS(unsigned long, PAMI_TYPE_UNSIGNED_LONG);
  INTEGERS(signed long long, PAMI_TYPE_SIGNED_LONG_LONG);
  INTEGERS(unsigned long long, PAMI_TYPE_UNSIGNED_LONG_LONG);
  LOGICAL_TYPE(uint8_t, PAMI_TYPE_LOGICAL1);
  LOGICAL_TYPE(uint16_t, PAMI_TYPE_LOGICAL2);
  LOGICAL_TYPE(uint32_t, PAMI_TYPE_LOGICAL4);
  LOGICAL_TYPE(uint64_t, PAMI_TYPE_LOGICAL8);
  FLOATS(float, PAMI_TYPE_FLOAT, (float) number(), sizeof(float));
  FLOATS(double, PAMI_TYPE_DOUBLE, number(), sizeof(double));
#if LDBL_MANT_DIG == 64
  {
    int round;
    for (round = 0; round < 1000; round++) FLOATS(long double, PAMI_TYPE_LONG_DOUBLE, long_number(), 10);
  }
  LOCATED(long double, int, PAMI_TYPE_LOC_LONGDOUBLE_INT);
#endif
  COMPLEX(float complex, PAMI_TYPE_SINGLE_COMPLEX);
  COMPLEX(double complex, PAMI_TYPE_DOUBLE_COMPLEX);
  LOCATED(int, int, PAMI_TYPE_LOC_2INT);
  LOCATED(float, float, PAMI_TYPE_LOC_2FLOAT);
  LOCATED(double, double, PAMI_TYPE_LOC_2DOUBLE);
  LOCATED(short, int, PAMI_TYPE_LOC_SHORT_INT);
  LOCATED(float, int, PAMI_TYPE_LOC_FLOAT_INT);
  LOCATED(double, int, PAMI_TYPE_LOC_DOUBLE_INT);
  LOCATED(long, int, PAMI_TYPE_LOC_LONG_INT);
  refusals();
  strided();
  return finish();
}
