/* Types that the program makes: point-to-point, collectives, packing, and how they were made. */
#include "common.h"
#include <stddef.h>

static int rank, size;

struct particle { double x[3]; int id; char kind; }; /* gaps behind kind */

static MPI_Datatype particle_type(void)
{
  static struct particle p;
  int             lengths[3] = {3, 1, 1};
  MPI_Datatype    types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, made, resized;
  MPI_Aint        at[3], base;
  MPI_Get_address(&p, &base);
  MPI_Get_address(p.x, &at[0]), MPI_Get_address(&p.id, &at[1]), MPI_Get_address(&p.kind, &at[2]);
  for (int i = 0; i < 3; i++) at[i] = MPI_Aint_diff(at[i], base);
  MPI_Type_create_struct(3, lengths, at, types, &made);
  MPI_Type_create_resized(made, 0, sizeof p, &resized);
  MPI_Type_free(&made);
  CHECK(made == MPI_DATATYPE_NULL);
  MPI_Type_commit(&resized);
  return resized;
}

static void shapes(void)
{
  MPI_Datatype of = particle_type(), other;
  int          bytes, count;
  MPI_Aint     lower, extent;
  MPI_Count    long_bytes, long_lower, long_extent;
  MPI_Type_size(of, &bytes), MPI_Type_get_extent(of, &lower, &extent);
  CHECK(bytes == 29 && lower == 0 && extent == sizeof(struct particle));
  MPI_Type_get_true_extent(of, &lower, &extent);
  CHECK(lower == 0 && extent == 29);
  MPI_Type_size_x(of, &long_bytes), MPI_Type_get_true_extent_c(of, &long_lower, &long_extent);
  CHECK(long_bytes == 29 && long_lower == 0 && long_extent == 29);
  MPI_Type_free(&of);

  MPI_Type_create_hvector(3, 1, -8, MPI_INT, &of);
  MPI_Type_get_extent(of, &lower, &extent);
  CHECK(lower == -16 && extent == 20);
  MPI_Type_free(&of);

  /* A struct is rounded up to its alignment. */
  MPI_Aint     at[2]      = {0, 8};
  int          lengths[2] = {1, 1};
  MPI_Datatype types[2]   = {MPI_DOUBLE, MPI_CHAR};
  MPI_Type_create_struct(2, lengths, at, types, &of);
  MPI_Type_get_extent(of, &lower, &extent);
  CHECK(lower == 0 && extent == 16);

  int          integers, addresses, datatypes, combiner, values[3];
  MPI_Aint     places[2];
  MPI_Datatype parts[2];
  MPI_Type_get_envelope(of, &integers, &addresses, &datatypes, &combiner);
  CHECK(integers == 3 && addresses == 2 && datatypes == 2 && combiner == MPI_COMBINER_STRUCT);
  MPI_Type_get_contents(of, 3, 2, 2, values, places, parts);
  CHECK(values[0] == 2 && values[1] == 1 && values[2] == 1 && places[1] == 8 && parts[1] == MPI_CHAR);
  MPI_Type_contiguous(4, of, &other);
  MPI_Type_free(&of);
  /* What it was made of has a handle of its own, also after the first is gone. */
  MPI_Type_get_contents(other, 1, 0, 1, values, places, parts);
  MPI_Type_size(parts[0], &bytes);
  CHECK(values[0] == 4 && bytes == 9);
  MPI_Type_free(&parts[0]), MPI_Type_free(&other);
  MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &datatypes, &combiner);
  CHECK(integers == 0 && addresses == 0 && datatypes == 0 && combiner == MPI_COMBINER_NAMED);

  MPI_Count    counts, more[7], sizes[2] = {4, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
  MPI_Count    number[3];
  MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &of);
  MPI_Type_get_envelope_c(of, &number[0], &number[1], &counts, &number[2], &combiner);
  CHECK(number[0] == 2 && number[1] == 0 && counts == 6 && number[2] == 1 && combiner == MPI_COMBINER_SUBARRAY);
  MPI_Type_get_contents_c(of, 2, 0, 6, 1, values, places, more, parts);
  CHECK(values[0] == 2 && values[1] == MPI_ORDER_C && more[1] == 6 && more[2] == 2 && more[5] == 2);
  set_errhandlers(MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Type_get_envelope(of, &integers, &addresses, &datatypes, &combiner)) == MPI_ERR_TYPE);
  other = MPI_INT;
  CHECK(class_of(MPI_Type_free(&other)) == MPI_ERR_TYPE && other == MPI_INT);
  CHECK(class_of(MPI_Send(values, 1, of, MPI_PROC_NULL, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE); /* not committed */
  CHECK(class_of(MPI_Type_vector(2, -1, 1, MPI_INT, &other)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &other)) == MPI_ERR_TYPE);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Type_dup(of, &other), MPI_Type_commit(&other);
  MPI_Type_size(other, &count);
  CHECK(count == 24);
  MPI_Type_free(&of), MPI_Type_free(&other);
}

/* A column of a matrix to a row, a part of an array in both orders, absolute addresses. */
static void movement(void)
{
  enum { ROWS = 50, COLUMNS = 37 };
  static int    matrix[ROWS][COLUMNS], row[ROWS], part[4][6], back[6][4];
  int           next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Datatype  column, inner, turned;
  MPI_Status    status;
  int           count;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) matrix[i][j] = rank * 10000 + i * 100 + j;
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Sendrecv(&matrix[0][5], 1, column, next, 1, row, ROWS, MPI_INT, last, 1, MPI_COMM_WORLD, &status);
  for (int i = 0; i < ROWS; i++) CHECK(row[i] == last * 10000 + i * 100 + 5);
  MPI_Get_count(&status, column, &count);
  CHECK(count == 1);

  /* To a column, shorter than it: the rest stays. */
  MPI_Request requests[2];
  MPI_Irecv(&matrix[0][7], 1, column, last, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(row, 20, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  int before = (last + size - 1) % size;
  for (int i = 0; i < 20; i++) CHECK(matrix[i][7] == before * 10000 + i * 100 + 5 && matrix[i][8] == rank * 10000 + i * 100 + 8);
  for (int i = 20; i < ROWS; i++) CHECK(matrix[i][7] == rank * 10000 + i * 100 + 7);
  MPI_Get_count(&statuses[0], column, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_elements(&statuses[0], column, &count);
  CHECK(count == 20);
  MPI_Type_free(&column);

  int sizes[2] = {ROWS, COLUMNS}, subsizes[2] = {4, 6}, starts[2] = {3, 10};
  int turned_sizes[2] = {4, 6}, none[2] = {0, 0};
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &inner);
  MPI_Type_create_subarray(2, turned_sizes, turned_sizes, none, MPI_ORDER_FORTRAN, MPI_INT, &turned);
  MPI_Type_commit(&inner), MPI_Type_commit(&turned);
  MPI_Sendrecv(matrix, 1, inner, rank, 3, part, 24, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(part, 24, MPI_INT, rank, 3, back, 1, turned, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 6; j++) CHECK(part[i][j] == rank * 10000 + (3 + i) * 100 + 10 + j);
  CHECK(memcmp(part, back, sizeof part) == 0);
  MPI_Type_free(&inner), MPI_Type_free(&turned);

  double       x = rank, y[2] = {rank + 0.25, rank + 0.5}, got[3];
  MPI_Aint     at[2];
  int          lengths[2] = {1, 2};
  MPI_Datatype absolute;
  MPI_Get_address(&x, &at[0]), MPI_Get_address(y, &at[1]);
  MPI_Type_create_hindexed(2, lengths, at, MPI_DOUBLE, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Sendrecv(MPI_BOTTOM, 1, absolute, next, 4, got, 3, MPI_DOUBLE, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got[0] == last && got[1] == last + 0.25 && got[2] == last + 0.5);
  MPI_Type_free(&absolute);

  /* Of predefined pairs the gaps are not sent. */
  struct { double value; int index; } pair[2] = {{1.5, rank}, {2.5, 2 * rank}}, other[2];
  char packed[100];
  int  position = 0, bytes;
  memset(other, 0x55, sizeof other);
  MPI_Sendrecv(pair, 2, MPI_DOUBLE_INT, next, 5, other, 2, MPI_DOUBLE_INT, last, 5, MPI_COMM_WORLD, &status);
  CHECK(other[0].value == 1.5 && other[1].index == 2 * last);
  CHECK(memcmp((char *) &other[0] + 12, "UUUU", 4) == 0);
  MPI_Get_elements(&status, MPI_DOUBLE_INT, &count);
  CHECK(count == 4);
  MPI_Pack_size(2, MPI_DOUBLE_INT, MPI_COMM_WORLD, &bytes);
  CHECK(bytes == 24);
  MPI_Pack(pair, 2, MPI_DOUBLE_INT, packed, 100, &position, MPI_COMM_WORLD);
  MPI_Pack(&rank, 1, MPI_INT, packed, 100, &position, MPI_COMM_WORLD);
  CHECK(position == 28);
  MPI_Sendrecv(packed, position, MPI_PACKED, rank, 6, packed + 50, 50, MPI_PACKED, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  position = 0;
  int number;
  MPI_Unpack(packed + 50, 28, &position, other, 2, MPI_DOUBLE_INT, MPI_COMM_WORLD);
  MPI_Unpack(packed + 50, 28, &position, &number, 1, MPI_INT, MPI_COMM_WORLD);
  CHECK(position == 28 && number == rank && other[1].value == 2.5 && other[0].index == rank);
}

/* Statuses, a request that is looked at before it is ended, a buffer that is sent and received. */
static void requests(void)
{
  int          numbers[6] = {0, 1, 2, 3, 4, 5}, got[6] = {-1, -1, -1, -1, -1, -1}, count, flag = 0;
  int          next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Datatype odd;
  MPI_Request  request;
  MPI_Status   status;
  MPI_Type_create_indexed_block(3, 1, (int[]){1, 3, 5}, MPI_INT, &odd);
  MPI_Type_commit(&odd);
  numbers[0] = rank;
  MPI_Sendrecv_replace(numbers, 1, odd, next, 1, last, 1, MPI_COMM_WORLD, &status);
  CHECK(numbers[0] == rank && numbers[5] == 5 && status.MPI_SOURCE == last);
  numbers[3] = 100 + rank;
  MPI_Sendrecv_replace(numbers, 1, odd, next, 1, last, 1, MPI_COMM_WORLD, &status);
  CHECK(numbers[3] == 100 + last && numbers[2] == 2);

  MPI_Irecv(got, 1, odd, last, 2, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  flag = 0;
  MPI_Send(numbers, 2, MPI_INT, next, 2, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(request, &flag, &status);
  CHECK(got[0] == -1 && got[1] == last && got[3] == 1 && got[5] == -1 && request != MPI_REQUEST_NULL);
  MPI_Get_elements(&status, odd, &count);
  CHECK(count == 2);
  got[1] = 77;
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(request == MPI_REQUEST_NULL && got[1] == 77 && !flag);
  MPI_Status_get_source(&status, &count);
  CHECK(count == last);

  /* A receive that is freed goes on, and its data is put where it belongs. */
  int zero = 0;
  MPI_Irecv(got, 1, odd, last, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Send(numbers, 3, MPI_INT, next, 3, MPI_COMM_WORLD);
  MPI_Sendrecv(&zero, 1, MPI_INT, last, 4, &flag, 1, MPI_INT, next, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (volatile int * there = &got[5]; *there != 2;) MPI_Iprobe(last, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(got[1] == last && got[3] == 1 && got[0] == -1);

  MPI_Wait(&request, &status);
  MPI_Status_set_elements(&status, odd, 7);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Get_elements(&status, odd, &count), MPI_Test_cancelled(&status, &flag);
  CHECK(count == 7 && flag);
  MPI_Get_count(&status, odd, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Type_free(&odd);
}

/* The later of two particles, if they have the same kind. */
static void later(void * first, void * second, int * count, MPI_Datatype * type)
{
  struct particle *a = first, *b = second;
  int              bytes;
  MPI_Type_size(*type, &bytes);
  CHECK(bytes == 29);
  for (int i = 0; i < *count; i++)
    if (a[i].id > b[i].id) b[i] = a[i];
}

static void collectives(void)
{
  enum { N = 6 };
  /* The root's matrix has a column for each rank. */
  int *        matrix = malloc(N * size * sizeof *matrix), own[N];
  MPI_Datatype column, one;
  for (int i = 0; i < N * size; i++) matrix[i] = -1;
  for (int i = 0; i < N; i++) own[i] = rank * 100 + i;
  MPI_Type_vector(N, 1, size, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &one);
  MPI_Type_commit(&one);
  MPI_Gather(own, N, MPI_INT, matrix, 1, one, size - 1, MPI_COMM_WORLD);
  if (rank == size - 1)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < size; j++) CHECK(matrix[i * size + j] == j * 100 + i);
  MPI_Bcast(matrix, size, one, size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < size; j++) CHECK(matrix[i * size + j] == j * 100 + i);
  memset(own, 0, sizeof own);
  MPI_Scatter(matrix, 1, one, own, N, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < N; i++) CHECK(own[i] == rank * 100 + i);
  for (int i = 0; i < N * size; i++) matrix[i] = -1;
  MPI_Allgather(own, N, MPI_INT, matrix, 1, one, MPI_COMM_WORLD);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < size; j++) CHECK(matrix[i * size + j] == j * 100 + i);
  /* Columns become rows. */
  int * rows = malloc(N * size * sizeof *rows);
  MPI_Alltoall(matrix, 1, one, rows, N, MPI_INT, MPI_COMM_WORLD);
  for (int j = 0; j < size; j++)
    for (int i = 0; i < N; i++) CHECK(rows[j * N + i] == rank * 100 + i);
  free(matrix), free(rows);
  MPI_Type_free(&column), MPI_Type_free(&one);

  MPI_Datatype    of = particle_type();
  MPI_Op          op;
  struct particle mine[2], result[2];
  memset(mine, 0, sizeof mine), memset(result, 0x55, sizeof result);
  for (int i = 0; i < 2; i++) mine[i].id = (rank * 3 + i * 5) % 7, mine[i].x[2] = rank, mine[i].kind = 'a' + i;
  MPI_Op_create(later, 1, &op);
  MPI_Allreduce(mine, result, 2, of, op, MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++)
  {
    int most = 0;
    for (int r = 0; r < size; r++) most = (r * 3 + i * 5) % 7 > most ? (r * 3 + i * 5) % 7 : most;
    CHECK(result[i].id == most && result[i].kind == 'a' + i);
    CHECK(((int) result[i].x[2] * 3 + i * 5) % 7 == most);
  }
  memset(result, 0x55, sizeof result);
  MPI_Reduce(mine, result, 2, of, op, 0, MPI_COMM_WORLD);
  MPI_Op_free(&op), MPI_Type_free(&of);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  shapes();
  movement();
  requests();
  collectives();
  MPI_Finalize();
  return 0;
}
