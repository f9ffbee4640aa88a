/* Data packed as external32; distributed arrays; types of Fortran's ranges. */
#include "common.h"

static void external(void)
{
  int           ints[3] = {1, -2, 0x01020304}, back[3] = {0, 0, 0};
  long          longs[2] = {-5, 1L << 30}, more[2] = {0, 0};
  double        doubles[4] = {1.5, 7, -2.25, 8}, got[4] = {0, 0, 0, 0};
  long double   wide[2] = {1.0L / 3, -1e300L}, same[2] = {0, 0};
  unsigned char space[200];
  MPI_Aint      size, position = 0, read = 0;
  MPI_Datatype  every;
  MPI_Pack_external_size("external32", 3, MPI_INT, &size);
  CHECK(size == 12);
  MPI_Pack_external_size("external32", 2, MPI_LONG, &size);
  CHECK(size == 8);
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &every);
  MPI_Type_commit(&every);
  MPI_Pack_external("external32", ints, 3, MPI_INT, space, sizeof space, &position);
  MPI_Pack_external("external32", longs, 2, MPI_LONG, space, sizeof space, &position);
  CHECK(position == 20 && space[3] == 1 && space[7] == 0xfe && space[8] == 1 && space[11] == 4 && space[15] == 0xfb);
  MPI_Pack_external("external32", doubles, 1, every, space, sizeof space, &position);
  CHECK(position == 36 && space[20] == 0x3f && space[21] == 0xf8 && space[28] == 0xc0);
  MPI_Pack_external("external32", wide, 2, MPI_LONG_DOUBLE, space, sizeof space, &position);
  CHECK(position == 68);
  MPI_Unpack_external("external32", space, position, &read, back, 3, MPI_INT);
  MPI_Unpack_external("external32", space, position, &read, more, 2, MPI_LONG);
  MPI_Unpack_external("external32", space, position, &read, got, 1, every);
  MPI_Unpack_external("external32", space, position, &read, same, 2, MPI_LONG_DOUBLE);
  CHECK(read == 68 && memcmp(ints, back, sizeof ints) == 0 && more[0] == -5 && more[1] == 1L << 30);
  CHECK(got[0] == 1.5 && got[1] == 0 && got[2] == -2.25 && got[3] == 0 && same[0] == wide[0] && same[1] == wide[1]);
  MPI_Type_free(&every);
}

/* The element of a distributed array's index belongs to one process: the one that its type packs. */
static int owner(int index, int length, int how, int block, int processes)
{
  if (how == MPI_DISTRIBUTE_NONE) return 0;
  if (block == MPI_DISTRIBUTE_DFLT_DARG) block = how == MPI_DISTRIBUTE_BLOCK ? (length + processes - 1) / processes : 1;
  return index / block % processes;
}

static void array(int order, int how0, int arg0, int how1, int arg1)
{
  enum { ROWS = 7, COLUMNS = 10 };
  int gsizes[2] = {ROWS, COLUMNS}, distribs[2] = {how0, how1}, dargs[2] = {arg0, arg1};
  int psizes[2] = {how0 == MPI_DISTRIBUTE_NONE ? 1 : 2, how1 == MPI_DISTRIBUTE_NONE ? 1 : 3}, total = psizes[0] * psizes[1];
  int all[ROWS * COLUMNS], part[ROWS * COLUMNS], combiner, counts[3];
  for (int n = 0; n < ROWS * COLUMNS; n++) all[n] = n;
  for (int r = 0; r < total; r++)
  {
    MPI_Datatype type;
    MPI_Aint     lower, extent;
    int          position = 0, read = 0, bytes, n = 0;
    MPI_Type_create_darray(total, r, 2, gsizes, distribs, dargs, psizes, order, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(lower == 0 && extent == (MPI_Aint)sizeof all);
    MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    CHECK(combiner == MPI_COMBINER_DARRAY && counts[0] == 4 * 2 + 4 && counts[1] == 0 && counts[2] == 1);
    MPI_Pack_size(1, type, MPI_COMM_SELF, &bytes);
    CHECK(bytes <= (int)sizeof part);
    MPI_Pack(all, 1, type, part, sizeof part, &position, MPI_COMM_SELF);
    int packed[ROWS * COLUMNS];
    MPI_Unpack(part, position, &read, packed, position / (int)sizeof(int), MPI_INT, MPI_COMM_SELF);
    int outer = order == MPI_ORDER_C ? ROWS : COLUMNS, inner = order == MPI_ORDER_C ? COLUMNS : ROWS;
    for (int o = 0; o < outer; o++)
      for (int i = 0; i < inner; i++)
      {
        int row = order == MPI_ORDER_C ? o : i, column = order == MPI_ORDER_C ? i : o;
        if (owner(row, ROWS, how0, arg0, psizes[0]) * psizes[1] + owner(column, COLUMNS, how1, arg1, psizes[1]) != r) continue;
        CHECK(packed[n++] == o * inner + i);
      }
    CHECK(position == n * (int)sizeof(int));
    MPI_Type_free(&type);
  }
}

static void ranges(void)
{
  MPI_Datatype real, again, integer;
  int          size, combiner, counts[3];
  double       one = 1, two = 2;
  MPI_Type_create_f90_real(12, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_real(12, MPI_UNDEFINED, &again);
  MPI_Type_size(real, &size);
  CHECK(size == 8 && real == again);
  MPI_Type_get_envelope(real, &counts[0], &counts[1], &counts[2], &combiner);
  CHECK(combiner == MPI_COMBINER_F90_REAL && counts[0] == 2);
  MPI_Reduce_local(&one, &two, 1, real, MPI_SUM);
  CHECK(two == 3);
  MPI_Type_create_f90_integer(9, &integer);
  MPI_Type_size(integer, &size);
  CHECK(size == 4);
  /* The smallest type that holds the digits and the exponent; one of 16 bytes is optional. */
  static const int wanted[][3] = {{6, 37, 4}, {7, 1, 8}, {1, 38, 8}, {MPI_UNDEFINED, 400, 16}, {20, MPI_UNDEFINED, 16}};
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int n = 0; n < 5; n++)
  {
    if (MPI_Type_create_f90_real(wanted[n][0], wanted[n][1], &real))
    {
      CHECK(wanted[n][2] == 16);
      continue;
    }
    MPI_Type_size(real, &size);
    CHECK(size == wanted[n][2]);
  }
  CHECK(MPI_Type_create_f90_real(40, 1, &real) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  for (int bytes = 4; bytes <= 8; bytes *= 2)
  {
    static const int kinds[] = {MPI_TYPECLASS_REAL, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_COMPLEX};
    for (int kind = 0; kind < 3; kind++)
    {
      int whole = kind == 2 ? 2 * bytes : bytes;
      MPI_Type_match_size(kinds[kind], whole, &again);
      MPI_Type_size(again, &size);
      CHECK(size == whole);
    }
  }
}

int main(int argc, char **argv)
{
  int orders[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN}, hows[3] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  MPI_Init(&argc, &argv);
  external();
  for (int o = 0; o < 2; o++)
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++)
      {
        array(orders[o], hows[a], MPI_DISTRIBUTE_DFLT_DARG, hows[b], MPI_DISTRIBUTE_DFLT_DARG);
        array(orders[o], hows[a], hows[a] == MPI_DISTRIBUTE_BLOCK ? 5 : 3, hows[b], hows[b] == MPI_DISTRIBUTE_BLOCK ? 4 : 2);
      }
  ranges();
  MPI_Finalize();
  return 0;
}
