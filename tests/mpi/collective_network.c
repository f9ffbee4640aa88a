/* Barrier, broadcast, reduce and all-reduce, as the collective network and PAMI's algorithms carry them out: all
 * predefined operations and types, any length, more communicators than there are classes of the network, overlapping ones,
 * and requests of several in different orders. */
#include "common.h"

static int      rank, size;
static unsigned state = 1;

/* The same numbers at all ranks. */
static unsigned any(unsigned below)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

/* Small, so that sums and products are exact. */
static long operand(int of, int at) { return (of * 7 + at * 3) % 5 - (of + at) % 2; }

typedef enum { SUM, MIN, MAX, PROD, BAND, BOR, BXOR, LAND, LOR, LXOR, OPS } Op;

static long both(Op op, long a, long b)
{
  switch (op)
  {
  case SUM: return a + b;
  case MIN: return a < b ? a : b;
  case MAX: return a > b ? a : b;
  case PROD: return a * b;
  case BAND: return a & b;
  case BOR: return a | b;
  case BXOR: return a ^ b;
  case LAND: return a && b;
  case LOR: return a || b;
  default: return !a != !b;
  }
}

/* An array of a type, and its elements as numbers. */
typedef struct
{
  MPI_Datatype type;
  int          bytes;
  void (*put)(void * array, int at, long value);
  long (*get)(void * array, int at);
  int is_signed, has_arithmetic, has_bits, has_logic;
} Type;

#define ACCESS(name, type)                                                                        \
  static void put_##name(void * array, int at, long value) { ((type *) array)[at] = (type) value; } \
  static long get_##name(void * array, int at) { return (long) ((type *) array)[at]; }
ACCESS(i8, signed char)
ACCESS(u8, unsigned char)
ACCESS(i16, short)
ACCESS(u16, unsigned short)
ACCESS(i32, int)
ACCESS(u32, unsigned)
ACCESS(i64, long)
ACCESS(u64, unsigned long)
ACCESS(f32, float)
ACCESS(f64, double)

/* Complex numbers, of which the imaginary part is 0. */
static void put_c32(void * array, int at, long value)
{
  put_f32(array, 2 * at, value);
  put_f32(array, 2 * at + 1, 0);
}
static long get_c32(void * array, int at) { return get_f32(array, 2 * at) + 1000 * get_f32(array, 2 * at + 1); }
static void put_c64(void * array, int at, long value)
{
  put_f64(array, 2 * at, value);
  put_f64(array, 2 * at + 1, 0);
}
static long get_c64(void * array, int at) { return get_f64(array, 2 * at) + 1000 * get_f64(array, 2 * at + 1); }

static Type types[] = {
  {MPI_SIGNED_CHAR, 1, put_i8, get_i8, 1, 1, 1, 1},        {MPI_UNSIGNED_CHAR, 1, put_u8, get_u8, 0, 1, 1, 1},
  {MPI_SHORT, 2, put_i16, get_i16, 1, 1, 1, 1},            {MPI_UNSIGNED_SHORT, 2, put_u16, get_u16, 0, 1, 1, 1},
  {MPI_INT, 4, put_i32, get_i32, 1, 1, 1, 1},              {MPI_UNSIGNED, 4, put_u32, get_u32, 0, 1, 1, 1},
  {MPI_LONG, 8, put_i64, get_i64, 1, 1, 1, 1},             {MPI_UNSIGNED_LONG, 8, put_u64, get_u64, 0, 1, 1, 1},
  {MPI_LONG_LONG, 8, put_i64, get_i64, 1, 1, 1, 1},        {MPI_UNSIGNED_LONG_LONG, 8, put_u64, get_u64, 0, 1, 1, 1},
  {MPI_INT8_T, 1, put_i8, get_i8, 1, 1, 1, 1},             {MPI_UINT8_T, 1, put_u8, get_u8, 0, 1, 1, 1},
  {MPI_INT16_T, 2, put_i16, get_i16, 1, 1, 1, 1},          {MPI_UINT16_T, 2, put_u16, get_u16, 0, 1, 1, 1},
  {MPI_INT32_T, 4, put_i32, get_i32, 1, 1, 1, 1},          {MPI_UINT32_T, 4, put_u32, get_u32, 0, 1, 1, 1},
  {MPI_INT64_T, 8, put_i64, get_i64, 1, 1, 1, 1},          {MPI_UINT64_T, 8, put_u64, get_u64, 0, 1, 1, 1},
  {MPI_AINT, 8, put_i64, get_i64, 1, 1, 1, 1},             {MPI_OFFSET, 8, put_i64, get_i64, 1, 1, 1, 1},
  {MPI_COUNT, 8, put_i64, get_i64, 1, 1, 1, 1},            {MPI_FLOAT, 4, put_f32, get_f32, 1, 1, 0, 0},
  {MPI_DOUBLE, 8, put_f64, get_f64, 1, 1, 0, 0},           {MPI_C_FLOAT_COMPLEX, 8, put_c32, get_c32, 1, 2, 0, 0},
  {MPI_C_DOUBLE_COMPLEX, 16, put_c64, get_c64, 1, 2, 0, 0}, {MPI_C_BOOL, 1, put_u8, get_u8, 0, 0, 0, 1},
  {MPI_BYTE, 1, put_u8, get_u8, 0, 0, 1, 0},               {MPI_INTEGER, 4, put_i32, get_i32, 1, 1, 1, 1},
  {MPI_DOUBLE_PRECISION, 8, put_f64, get_f64, 1, 1, 0, 0},
};

static int takes(Type * type, Op op)
{
  if (op == SUM || op == PROD) return type->has_arithmetic;
  if (op == MIN || op == MAX) return type->has_arithmetic == 1;
  return op <= BXOR ? type->has_bits : type->has_logic;
}

static MPI_Op handle(Op op)
{
  MPI_Op handles[] = {MPI_SUM,  MPI_MIN, MPI_MAX,  MPI_PROD, MPI_BAND,
                      MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,  MPI_LXOR};
  return handles[op];
}

/* What an operand of the type is: of unsigned ones, not less than 0, and of truth values 0 or 1. */
static long value_of(Type * type, Op op, int of, int at)
{
  long value = operand(of, at);
  if (!type->is_signed && value < 0) value = -value;
  if (type->type == MPI_C_BOOL) value = value != 0;
  return op == PROD && value > 2 ? 1 : value;
}

static void check_result(Type * type, Op op, void * array, int count, int ranks)
{
  void * expected = calloc(count + 1, type->bytes);
  for (int i = 0; i < count; i++)
  {
    long value = value_of(type, op, 0, i);
    for (int of = 1; of < ranks; of++) value = both(op, value, value_of(type, op, of, i));
    type->put(expected, i, value);
    if (type->get(array, i) != type->get(expected, i))
    {
      fprintf(stderr, "rank %d: operation %d, type of %d B, count %d, element %d: %ld is not %ld\n", rank, op,
              type->bytes, count, i, type->get(array, i), type->get(expected, i));
      exit(1);
    }
  }
  free(expected);
}

static void reductions(MPI_Comm comm, Type * type, Op op, int count, int root)
{
  int me, ranks;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  /* Space that is not aligned to more than an element. */
  char *memory = malloc((count + 2) * type->bytes), *out = memory + type->bytes;
  char *other = malloc((count + 2) * type->bytes), *in = other + type->bytes;
  for (int i = 0; i < count; i++) type->put(out, i, value_of(type, op, me, i));
  memset(in, 77, count * type->bytes);
  MPI_Allreduce(out, in, count, type->type, handle(op), comm);
  check_result(type, op, in, count, ranks);
  for (int i = 0; i < count; i++)
  {
    CHECK(type->get(out, i) == value_of(type, op, me, i));
    type->put(in, i, value_of(type, op, me, i));
  }
  /* In place at some ranks only. */
  if (me % 2) MPI_Allreduce(MPI_IN_PLACE, in, count, type->type, handle(op), comm);
  else MPI_Allreduce(out, in, count, type->type, handle(op), comm);
  check_result(type, op, in, count, ranks);
  memcpy(in, out, count * type->bytes);
  if (me == root && count % 2) MPI_Reduce(MPI_IN_PLACE, in, count, type->type, handle(op), root, comm);
  else MPI_Reduce(out, me == root ? in : NULL, count, type->type, handle(op), root, comm);
  if (me == root) check_result(type, op, in, count, ranks);
  for (int i = 0; i < count; i++)
  {
    CHECK(type->get(out, i) == value_of(type, op, me, i));
    CHECK(me == root || type->get(in, i) == value_of(type, op, me, i));
  }
  free(memory);
  free(other);
}

/* The root's data is contiguous, that of others may have gaps. */
static void broadcast(MPI_Comm comm, int count, int root)
{
  int          me;
  MPI_Datatype column;
  int *        data = malloc((2 * count + 1) * sizeof *data);
  MPI_Comm_rank(comm, &me);
  MPI_Type_vector(count, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  int stride = me != root && me % 2 ? 2 : 1;
  for (int i = 0; i < 2 * count; i++) data[i] = -9;
  for (int i = 0; i < count; i++) data[stride * i] = me == root ? 13 * root + 5 * i : -1;
  if (stride == 2) MPI_Bcast(data, 1, column, root, comm);
  else MPI_Bcast(data, count, MPI_INT, root, comm);
  for (int i = 0; i < count; i++) CHECK(data[stride * i] == 13 * root + 5 * i);
  for (int i = 0; i < count && stride == 2; i++) CHECK(data[2 * i + 1] == -9);
  /* Bytes of any number. */
  char * bytes = malloc(count + 1);
  for (int i = 0; i < count; i++) bytes[i] = me == root ? (char) (i * 3 + root) : 0;
  bytes[count] = 99;
  MPI_Bcast(bytes, count, MPI_BYTE, root, comm);
  for (int i = 0; i < count; i++) CHECK(bytes[i] == (char) (i * 3 + root));
  CHECK(bytes[count] == 99);
  free(bytes);
  free(data);
  MPI_Type_free(&column);
}

static void pairs(MPI_Comm comm)
{
  struct
  {
    double value;
    int    at;
  } out[3], in[3];
  struct
  {
    int value, at;
  } small, least;
  int me, ranks;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  memset(out, 0, sizeof out);
  for (int i = 0; i < 3; i++) out[i].value = (me + i) % ranks, out[i].at = me + 10;
  MPI_Allreduce(out, in, 3, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  for (int i = 0; i < 3; i++) CHECK(in[i].value == ranks - 1 && in[i].at == 10 + (2 * ranks - 1 - i) % ranks);
  small.value = 4, small.at = ranks - me;
  MPI_Reduce(&small, &least, 1, MPI_2INT, MPI_MINLOC, ranks - 1, comm);
  if (me == ranks - 1) CHECK(least.value == 4 && least.at == 1);
}

/* Sums of numbers of any size are the same, bit by bit, at all ranks and each time. */
static void sums(MPI_Comm comm, int count)
{
  int     me, ranks;
  double *out = malloc(count * sizeof *out), *in = malloc(count * sizeof *in), *first = malloc(count * sizeof *first);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < count; i++) out[i] = (i % 2 ? 1e-3 : 1e6) / (3 + me + i) * (me % 3 == 1 ? -1 : 1);
  MPI_Allreduce(out, first, count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
  CHECK(memcmp(first, in, count * sizeof *in) == 0);
  memcpy(in, first, count * sizeof *in);
  MPI_Bcast(in, count, MPI_DOUBLE, ranks - 1, comm);
  CHECK(memcmp(first, in, count * sizeof *in) == 0);
  for (int i = 0; i < count; i++)
  {
    double exact = 0, sizes = 0;
    for (int r = 0; r < ranks; r++)
    {
      double one = (i % 2 ? 1e-3 : 1e6) / (3 + r + i) * (r % 3 == 1 ? -1 : 1);
      exact += one, sizes += one < 0 ? -one : one;
    }
    double off = in[i] - exact;
    CHECK((off < 0 ? -off : off) <= 1e-14 * sizes);
  }
  free(out);
  free(in);
  free(first);
}

/* More communicators than there are classes, used, freed and made again. */
static void many(void)
{
  enum { MANY = 20 };
  MPI_Comm comms[MANY];
  for (int round = 0; round < 2; round++)
  {
    for (int n = 0; n < MANY; n++) MPI_Comm_dup(n % 3 == 2 ? comms[n / 2] : MPI_COMM_WORLD, &comms[n]);
    for (int n = MANY - 1; n >= 0; n--)
    {
      int mine = rank + n, sum = 0, root = any(size);
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[n]);
      CHECK(sum == size * (size - 1) / 2 + n * size);
      mine = rank == root ? n : -1;
      MPI_Bcast(&mine, 1, MPI_INT, root, comms[n]);
      CHECK(mine == n);
      MPI_Barrier(comms[n]);
    }
    for (int n = 0; n < MANY; n++) MPI_Comm_free(&comms[(n * 7 + round) % MANY]);
  }
}

/* Collectives of overlapping communicators. Requests are started in another order at each rank. */
static void overlapping(void)
{
  MPI_Comm row, column, again, waiting, comms[4];
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &column);
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  MPI_Comm_dup(MPI_COMM_WORLD, &waiting);
  comms[0] = row, comms[1] = column, comms[2] = again, comms[3] = MPI_COMM_WORLD;
  for (int round = 0; round < 12; round++)
  {
    MPI_Request requests[12];
    int         sums[4], values[4], least[4], own = rank + round, from = round % 4;
    for (int k = 0; k < 4; k++)
    {
      int n = (rank * 3 + k * (rank % 2 ? 3 : 1)) % 4, me, ranks;
      MPI_Comm_rank(comms[n], &me);
      MPI_Comm_size(comms[n], &ranks);
      values[n] = me == round % ranks ? 50 + n : -1;
      least[n] = -1;
      MPI_Iallreduce(&own, &sums[n], 1, MPI_INT, MPI_SUM, comms[n], &requests[3 * n]);
      MPI_Ibcast(&values[n], 1, MPI_INT, round % ranks, comms[n], &requests[3 * n + 1]);
      if (round % 3) MPI_Ireduce(&own, &least[n], 1, MPI_INT, MPI_MIN, round % ranks, comms[n], &requests[3 * n + 2]);
      else MPI_Ibarrier(comms[n], &requests[3 * n + 2]);
      /* One for which all wait, among them. */
      if (k == from)
      {
        int mine = 1, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, waiting);
        CHECK(all == size);
      }
    }
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    for (int n = 0; n < 4; n++)
    {
      int ranks, me, total = 0, lowest = 1 << 30;
      MPI_Comm_size(comms[n], &ranks);
      MPI_Comm_rank(comms[n], &me);
      for (int r = 0; r < size; r++)
        if (n >= 2 || (n == 0 ? r / 2 == rank / 2 : r % 2 == rank % 2))
          total += r + round, lowest = r + round < lowest ? r + round : lowest;
      CHECK(sums[n] == total && values[n] == 50 + n);
      if (round % 3 && me == round % ranks) CHECK(least[n] == lowest);
    }
    /* The same by calls that wait, in one order. */
    for (int n = 0; n < 4; n++)
    {
      int ranks, value = -1, me;
      MPI_Comm_size(comms[n], &ranks);
      MPI_Comm_rank(comms[n], &me);
      MPI_Barrier(comms[n]);
      if (me == 0) value = n + round;
      MPI_Bcast(&value, 1, MPI_INT, 0, comms[n]);
      MPI_Reduce(&own, &sums[n], 1, MPI_INT, MPI_MAX, ranks - 1, comms[n]);
      CHECK(value == n + round);
    }
  }
  MPI_Comm_free(&column);
  MPI_Comm_free(&row);
  MPI_Comm_free(&again);
  MPI_Comm_free(&waiting);
}

/* Communicators that are freed while requests of theirs are under way, in another order at each rank. */
static void freed(void)
{
  for (int round = 0; round < 20; round++)
  {
    MPI_Comm    first, second;
    MPI_Request all[3];
    int         value = rank == 0 ? round : -1, sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(first, &second);
    MPI_Ibcast(&value, 1, MPI_INT, 0, first, &all[0]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, second, &all[1]);
    MPI_Ibarrier(second, &all[2]);
    MPI_Comm_free(rank % 2 ? &first : &second);
    MPI_Comm_free(rank % 2 ? &second : &first);
    MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    CHECK(value == round && sum == size * (size - 1) / 2);
  }
}

/* Several requests of one communicator, with messages of the program among them. */
static void requests(void)
{
  enum { N = 3000, REQUESTS = 8 };
  MPI_Request all[REQUESTS];
  double *    in[REQUESTS], *out = malloc(N * sizeof *out);
  int         next = (rank + 1) % size, last = (rank + size - 1) % size, token = -1;
  for (int i = 0; i < N; i++) out[i] = rank + i % 10;
  for (int k = 0; k < REQUESTS; k++)
  {
    int count = k == 3 ? 0 : 1 + k * (N - 1) / REQUESTS, root = k % size;
    in[k] = malloc(N * sizeof *in[k]);
    for (int i = 0; i < N; i++) in[k][i] = rank == root ? i + k : -5;
    if (k % 3 == 0) MPI_Iallreduce(out, in[k], count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &all[k]);
    if (k % 3 == 1) MPI_Ibcast(in[k], count, MPI_DOUBLE, root, MPI_COMM_WORLD, &all[k]);
    if (k % 3 == 2) MPI_Ireduce(out, in[k], count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD, &all[k]);
  }
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 5, &token, 1, MPI_INT, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(token == last);
  for (int n = 0; n < REQUESTS; n++)
  {
    int k = (n * 5 + rank) % REQUESTS;
    MPI_Wait(&all[k], MPI_STATUS_IGNORE);
    int count = k == 3 ? 0 : 1 + k * (N - 1) / REQUESTS, root = k % size;
    for (int i = 0; i < count; i++)
    {
      double expected = k % 3 == 0 ? size * (size - 1) / 2 + size * (i % 10) : k % 3 == 1 ? i + k : size - 1 + i % 10;
      if (k % 3 < 2 || rank == root) CHECK(in[k][i] == expected);
    }
    free(in[k]);
  }
  free(out);
}

int main(int argc, char ** argv)
{
  enum { TYPES = sizeof types / sizeof *types };
  /* Up to, at and beyond packets, eager messages, slices and spanning trees; of no whole words. */
  int      lengths[] = {0, 1, 3, 16, 61, 129, 511, 1024, 4099, 17000};
  MPI_Comm part, alone;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2, size - rank, &part);
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm comms[] = {MPI_COMM_WORLD, part, alone};
  for (int c = 0; c < 3; c++)
  {
    /* The halves may not have the same size: they take the same random numbers. */
    int ranks;
    MPI_Comm_size(comms[c], &ranks);
    for (int t = 0; t < TYPES; t++)
      for (Op op = 0; op < OPS; op++)
        if (takes(&types[t], op)) reductions(comms[c], &types[t], op, lengths[any(6)], any(1 << 16) % ranks);
    pairs(comms[c]);
    for (int n = 0; n < 10; n++)
    {
      int root = any(1 << 16);
      broadcast(comms[c], lengths[n], root % ranks);
      reductions(comms[c], &types[n % 3 == 0 ? 4 : n % 3 == 1 ? 22 : 21], n % 2 ? SUM : MAX, lengths[n], root % ranks);
      MPI_Barrier(comms[c]);
    }
    sums(comms[c], 300);
    sums(comms[c], 9000);
  }
  MPI_Comm_free(&part);
  MPI_Comm_free(&alone);
  many();
  overlapping();
  freed();
  requests();
  MPI_Finalize();
  return 0;
}
