/* Views of files: interleaved parts, arrays, types with gaps, external32, what the file then holds. */
#include "folder.h"

static int      rank, size;
static MPI_File file;

static void open_file(void)
{
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
}

/* The file's bytes, without a view. */
static void check_bytes(const void * expected, int bytes, MPI_Offset at)
{
  static char got[1 << 16];
  MPI_File   plain;
  MPI_Status status;
  CHECK(bytes <= (int) sizeof got);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &plain) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(plain, at, got, bytes, MPI_BYTE, &status) == MPI_SUCCESS && bytes_of(&status) == bytes);
  CHECK(memcmp(got, expected, bytes) == 0);
  MPI_File_close(&plain);
}

static void initial(void)
{
  MPI_Offset   disp;
  MPI_Datatype etype, filetype;
  char         datarep[MPI_MAX_DATAREP_STRING];
  CHECK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep) == MPI_SUCCESS);
  CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(datarep, "native") == 0);
}

/* Blocks of two integers, one rank after the other, after a head of 6 bytes. */
static void interleaved(void)
{
  enum { BLOCKS = 40 };
  int          own[2 * BLOCKS], got[2 * BLOCKS], all[2 * BLOCKS * 64], count;
  MPI_Datatype filetype, pair, type;
  MPI_Offset   at, bytes, disp;
  MPI_Status   status;
  char         datarep[MPI_MAX_DATAREP_STRING];
  for (int n = 0; n < 2 * BLOCKS; n++)
    own[n] = 1000 * rank + n;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 8 * size, &filetype);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL)) == MPI_ERR_TYPE);
  MPI_Type_commit(&filetype);
  CHECK(MPI_File_set_view(file, 6 + 8 * rank, MPI_INT, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_get_position(file, &at) == MPI_SUCCESS && at == 0);
  /* In two accesses, of which the first ends within a block. */
  CHECK(MPI_File_write_all(file, own, 3, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 12);
  CHECK(MPI_File_get_position(file, &at) == MPI_SUCCESS && at == 3);
  CHECK(MPI_File_write_at_all(file, 3, own + 3, 2 * BLOCKS - 3, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < 2 * BLOCKS * size; n++)
    all[n] = 1000 * (n / 2 % size) + n / (2 * size) * 2 + n % 2;
  check_bytes(all, 8 * BLOCKS * size, 6);
  CHECK(MPI_File_read_at(file, 0, got, 2 * BLOCKS, MPI_INT, &status) == MPI_SUCCESS && memcmp(own, got, sizeof own) == 0);
  CHECK(MPI_File_read_at(file, 7, got, 5, MPI_INT, &status) == MPI_SUCCESS && memcmp(own + 7, got, 20) == 0);
  /* Beyond the end there is nothing: all ranks see as much. */
  CHECK(MPI_File_read_at(file, 2 * BLOCKS - 3, got, 10, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 3);
  CHECK(MPI_File_seek(file, -1, MPI_SEEK_END) == MPI_SUCCESS && MPI_File_get_position(file, &at) == MPI_SUCCESS);
  CHECK(at == 2 * BLOCKS - 1);
  /* The file ends within a block of rank 0, and then within one of its elements. */
  for (int more = 4; more <= 6; more += 2)
  {
    CHECK(MPI_File_set_size(file, 6 + 8 * size + more) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_END) == MPI_SUCCESS && MPI_File_get_position(file, &at) == MPI_SUCCESS);
    CHECK(at == (rank > 0 ? 2 : more == 4 ? 3 : 4));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_write_at_all(file, 0, own, 2 * BLOCKS, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(MPI_File_get_byte_offset(file, 5, &bytes) == MPI_SUCCESS && bytes == 6 + 8 * rank + 2 * 8 * size + 4);
  /* An integral number of elementary types, and of bytes. */
  CHECK(class_of(MPI_File_read_at(file, 0, got, 3, MPI_CHAR, &status)) == MPI_ERR_IO);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL)) == MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK(class_of(MPI_File_set_view(file, rank == 0 ? -5 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
  /* The view stays when its types are freed. */
  MPI_Type_free(&filetype);
  MPI_Type_free(&pair);
  CHECK(MPI_File_get_view(file, &disp, &type, &filetype, datarep) == MPI_SUCCESS);
  CHECK(disp == 6 + 8 * rank && type == MPI_INT && strcmp(datarep, "native") == 0);
  MPI_Aint lower, extent;
  MPI_Type_get_extent(filetype, &lower, &extent);
  CHECK(extent == 8 * size);
  MPI_Type_free(&filetype);
  CHECK(MPI_File_read_at(file, 0, got, 2, MPI_INT, &status) == MPI_SUCCESS && memcmp(own, got, 8) == 0);
}

/* Columns of a matrix, one block of them for each rank: as subarrays, written from memory with a border. */
static void matrix(void)
{
  enum { ROWS = 30, COLUMNS = 4 };
  int          whole[2] = {ROWS, COLUMNS * size}, part[2] = {ROWS, COLUMNS}, from[2] = {0, COLUMNS * rank};
  int          padded[2] = {ROWS + 2, COLUMNS + 2}, inner[2] = {1, 1};
  double       own[ROWS + 2][COLUMNS + 2], got[ROWS + 2][COLUMNS + 2], row[COLUMNS * 64];
  MPI_Datatype filetype, memory;
  MPI_Status   status;
  MPI_File_set_size(file, 0);
  MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_C, MPI_DOUBLE, &filetype);
  MPI_Type_create_subarray(2, padded, part, inner, MPI_ORDER_C, MPI_DOUBLE, &memory);
  MPI_Type_commit(&filetype);
  MPI_Type_commit(&memory);
  for (int r = 0; r < ROWS + 2; r++)
    for (int c = 0; c < COLUMNS + 2; c++)
      own[r][c] = r > 0 && r <= ROWS && c > 0 && c <= COLUMNS ? 100 * (r - 1) + COLUMNS * rank + c - 1 : -1;
  memset(got, 0, sizeof got);
  CHECK(MPI_File_set_view(file, 0, MPI_DOUBLE, filetype, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, own, 1, memory, &status) == MPI_SUCCESS && bytes_of(&status) == ROWS * COLUMNS * 8);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int r = 0; r < ROWS; r++)
  {
    for (int c = 0; c < COLUMNS * size; c++)
      row[c] = 100 * r + c;
    check_bytes(row, 8 * COLUMNS * size, 8 * COLUMNS * size * r);
  }
  CHECK(MPI_File_read_at_all(file, 0, got, 1, memory, &status) == MPI_SUCCESS && bytes_of(&status) == ROWS * COLUMNS * 8);
  for (int r = 0; r < ROWS + 2; r++)
    for (int c = 0; c < COLUMNS + 2; c++)
      CHECK(got[r][c] == (own[r][c] < 0 ? 0 : own[r][c]));
  /* The second matrix follows the first. */
  CHECK(MPI_File_write_at_all(file, ROWS * COLUMNS, own, 1, memory, &status) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int c = 0; c < COLUMNS * size; c++)
    row[c] = 100 + c;
  check_bytes(row, 8 * COLUMNS * size, 8 * COLUMNS * size * (ROWS + 1));
  MPI_Type_free(&filetype);
  MPI_Type_free(&memory);
}

/* Short runs far apart and near one another, against the bytes of the whole file. */
static void sparse(void)
{
  static int   all[60000];
  static int   got[25000];
  int          strides[3] = {2, 50, 100};
  MPI_Datatype filetype;
  MPI_Status   status;
  for (int n = 0; n < 60000; n++)
    all[n] = 3 * n;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  if (rank == 0)
    CHECK(MPI_File_write_at(file, 0, all, 60000, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int which = 0; which < 3; which++)
  {
    int displacements[2] = {1, 5}, lengths[2] = {1, 2}, stride = strides[which];
    if (stride == 2)
      MPI_Type_vector(4, 1, 2, MPI_INT, &filetype);
    else
    {
      MPI_Datatype runs;
      MPI_Type_indexed(2, lengths, displacements, MPI_INT, &runs);
      MPI_Type_create_resized(runs, 0, 4 * stride, &filetype);
      MPI_Type_free(&runs);
    }
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, 4 * rank, MPI_INT, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    /* The first is read in several large pieces. */
    int count = stride == 2 ? 25000 : 500;
    CHECK(MPI_File_read_at(file, 10, got, count, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 4 * count);
    for (int n = 0; n < count; n++)
    {
      int at = n + 10, place;
      if (stride == 2)
        place = at / 4 * 7 + at % 4 * 2;
      else
        place = at / 3 * stride + (at % 3 == 0 ? 1 : 4 + at % 3);
      CHECK(got[n] == 3 * (place + rank));
    }
    MPI_Type_free(&filetype);
  }
  /* Instances of the type that are not one after the other in the file. */
  int          displacements[2] = {0, 10};
  MPI_Datatype runs;
  MPI_Type_create_indexed_block(2, 1, displacements, MPI_INT, &runs);
  MPI_Type_create_resized(runs, 0, 4, &filetype);
  MPI_Type_commit(&filetype);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 3, got, 9, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 36);
  for (int n = 0; n < 9; n++)
    CHECK(got[n] == 3 * ((n + 3) / 2 + (n + 3) % 2 * 10));
  MPI_Type_free(&filetype);
  MPI_Type_free(&runs);
  /* A rank may have no part. */
  MPI_Datatype none;
  MPI_Type_contiguous(rank == 0 ? 0 : 1, MPI_INT, &none);
  MPI_Type_commit(&none);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, none, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_read_all(file, got, rank == 0 ? 0 : 2, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(bytes_of(&status) == (rank == 0 ? 0 : 8));
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_Type_free(&none);
}

static void external(void)
{
  int           ints[3] = {1, -2, 0x01020304}, got[3] = {0, 0, 0};
  long          longs[4] = {-5, 6, 7, 1L << 30}, back[4] = {0, 0, 0, 0}, large = 1L << 40;
  unsigned char expected[12] = {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe, 1, 2, 3, 4};
  unsigned char tail[16] = {0xff, 0xff, 0xff, 0xfb, 0, 0, 0, 6, 0, 0, 0, 7, 0x40, 0, 0, 0};
  MPI_Aint      extent;
  MPI_Offset    at;
  MPI_Datatype  pair, two[2] = {MPI_INT, MPI_LONG}, mixed;
  MPI_Status    status;
  int           ones[2] = {1, 1}, count;
  MPI_Aint      places[2] = {0, 8};
  MPI_File_set_size(file, 0);
  CHECK(MPI_File_set_view(file, 16 * rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write(file, ints, 3, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 12);
  CHECK(MPI_File_read_at(file, 0, got, 3, MPI_INT, &status) == MPI_SUCCESS && memcmp(ints, got, sizeof got) == 0);
  check_bytes(expected, 12, 16 * rank);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Longs have four bytes there: rank n has its pairs of them between those of others. */
  MPI_File_set_size(file, 0);
  CHECK(MPI_File_get_type_extent(file, MPI_LONG, &extent) == MPI_SUCCESS && extent == 4);
  MPI_Type_contiguous(2, MPI_LONG, &pair);
  MPI_Datatype filetype;
  MPI_Type_create_resized(pair, 0, 16 * size, &filetype);
  MPI_Type_commit(&filetype);
  CHECK(MPI_File_set_view(file, 8 * rank, MPI_LONG, filetype, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, longs, 4, MPI_LONG, &status) == MPI_SUCCESS && bytes_of(&status) == 32);
  MPI_Barrier(MPI_COMM_WORLD);
  check_bytes(tail, 8, 8 * rank);
  check_bytes(tail + 8, 8, 8 * size + 8 * rank);
  CHECK(MPI_File_get_position(file, &at) == MPI_SUCCESS && at == 4);
  CHECK(MPI_File_seek(file, 1, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_read_all(file, back, 8, MPI_LONG, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_LONG, &count);
  CHECK(count == 3 && back[0] == 6 && back[1] == 7 && back[2] == 1L << 30 && back[3] == 0);
  CHECK(class_of(MPI_File_write_at(file, 0, &large, 1, MPI_LONG, &status)) == MPI_ERR_CONVERSION);
  /* Elements that change their lengths and others that do not. */
  MPI_Type_create_struct(2, ones, places, two, &mixed);
  MPI_Type_commit(&mixed);
  CHECK(class_of(MPI_File_set_view(file, 0, mixed, mixed, "external32", MPI_INFO_NULL)) == MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_get_type_extent(file, mixed, &extent) == MPI_SUCCESS && extent == 16);
  MPI_Type_free(&mixed);
  MPI_Type_free(&pair);
  MPI_Type_free(&filetype);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_folder();
  open_file();
  initial();
  interleaved();
  MPI_Barrier(MPI_COMM_WORLD);
  matrix();
  MPI_Barrier(MPI_COMM_WORLD);
  sparse();
  external();
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  remove_folder();
  MPI_Finalize();
  return 0;
}
