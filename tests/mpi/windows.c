/* Windows between fences: all operations, types of both sides, reductions, attributes, names, handlers, errors. */
#include "common.h"

static int rank, size, left, right;

static void put_and_get(void)
{
  enum { LONG = 40000 };
  MPI_Win win;
  int *   memory;
  int *   in = malloc(LONG * sizeof(int)), *out = malloc(LONG * sizeof(int));
  MPI_Win_allocate((LONG + 10) * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < LONG + 10; i++) memory[i] = -1;
  for (int round = 0; round < 3; round++)
  {
    const int lengths[] = {1, 100, LONG}, length = lengths[round];
    for (int i = 0; i < length; i++) out[i] = 1000 * rank + i + round;
    MPI_Win_fence(round == 0 ? MPI_MODE_NOPRECEDE : 0, win);
    MPI_Put(out, length, MPI_INT, right, 10, length, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < length; i++) CHECK(memory[10 + i] == 1000 * left + i + round);
    CHECK(memory[9] == -1);
    memset(in, 0, LONG * sizeof(int));
    MPI_Get(in, length, MPI_INT, left, 10, length, MPI_INT, win);
    MPI_Put(out, 0, MPI_INT, left, 0, 0, MPI_INT, win);
    MPI_Put(out, length, MPI_INT, MPI_PROC_NULL, 10, length, MPI_INT, win);
    MPI_Get(in, length, MPI_INT, MPI_PROC_NULL, 10, length, MPI_INT, win);
    MPI_Win_fence(round == 2 ? MPI_MODE_NOSUCCEED : 0, win);
    const int two_left = (left + size - 1) % size;
    for (int i = 0; i < length; i++) CHECK(in[i] == 1000 * two_left + i + round);
  }
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
  free(in), free(out);
}

/* Every rank writes a column of a matrix at rank 0, and each reads a row. */
static void types(void)
{
  MPI_Win        win;
  MPI_Datatype   column, pair;
  double *       matrix = calloc(size * size + 1, sizeof *matrix), *own = malloc(size * sizeof *own);
  const MPI_Aint bytes  = rank == 0 ? size * size * sizeof(double) : 0;
  MPI_Win_create(matrix, bytes, rank == 0 ? sizeof(double) : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Type_vector(size, 1, size, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < size; i++) own[i] = 100 * rank + i;
  MPI_Win_fence(0, win);
  MPI_Put(own, size, MPI_DOUBLE, 0, rank, 1, column, win);
  MPI_Win_fence(0, win);
  if (rank == 0)
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++) CHECK(matrix[i * size + j] == 100 * j + i);
  MPI_Get(own, size, MPI_DOUBLE, 0, rank * size, size, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  for (int j = 0; j < size; j++) CHECK(own[j] == 100 * j + rank);
  /* A column, twice: into places with gaps. */
  double * spread = calloc(2 * size, sizeof *spread);
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &pair);
  MPI_Type_commit(&pair);
  MPI_Get(spread, size, pair, 0, rank, 1, column, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < size; i++) CHECK(spread[2 * i] == 100 * rank + i && spread[2 * i + 1] == 0);
  /* All add to a column, with gaps at both sides. */
  for (int i = 0; i < size; i++) spread[2 * i] = 1, spread[2 * i + 1] = -5;
  MPI_Win_fence(0, win);
  MPI_Accumulate(spread, size, pair, 0, 0, 1, column, MPI_SUM, win);
  MPI_Win_fence(0, win);
  if (rank == 0)
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++) CHECK(matrix[i * size + j] == 100 * j + i + (j == 0 ? size : 0));
  MPI_Type_free(&column);
  MPI_Type_free(&pair);
  MPI_Win_free(&win);
  free(matrix), free(own), free(spread);
}

static void accumulates(void)
{
  struct { double value; int index; } place = {-1, -1}, mine = {10.0 + rank, rank}, old;
  enum { LONG = 30000 };
  MPI_Win win;
  int *   memory = malloc(LONG * sizeof(int)), *ones = malloc(LONG * sizeof(int)), *before = malloc(LONG * sizeof(int));
  int     sum    = size * (size + 1) / 2;
  for (int i = 0; i < LONG; i++) memory[i] = i, ones[i] = rank + 1;
  MPI_Win_create(memory, LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; to++)
  {
    MPI_Accumulate(ones, 3, MPI_INT, to, 0, 3, MPI_INT, MPI_SUM, win);
    MPI_Accumulate(ones, 1, MPI_INT, to, 3, 1, MPI_INT, MPI_MAX, win);
    MPI_Accumulate(ones, 1, MPI_INT, to, 4, 1, MPI_INT, MPI_BXOR, win);
    MPI_Accumulate(ones, LONG - 5, MPI_INT, to, 5, LONG - 5, MPI_INT, MPI_SUM, win);
  }
  MPI_Win_fence(0, win);
  int bits = 4;
  for (int i = 0; i < size; i++) bits ^= i + 1;
  for (int i = 0; i < 3; i++) CHECK(memory[i] == i + sum);
  CHECK(memory[3] == (size > 3 ? size : 3) && memory[4] == bits);
  for (int i = 5; i < LONG; i++) CHECK(memory[i] == i + sum);
  /* Replacements by one origin come in order, long and short ones. */
  MPI_Win_fence(0, win);
  for (int i = 0; i < LONG; i++) before[i] = 7 * rank;
  MPI_Accumulate(before, LONG, MPI_INT, right, 0, LONG, MPI_INT, MPI_REPLACE, win);
  MPI_Accumulate(&sum, 1, MPI_INT, right, 17, 1, MPI_INT, MPI_REPLACE, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < LONG; i++) CHECK(memory[i] == (i == 17 ? sum : 7 * left));
  /* What was there before, and nothing instead. */
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(ones, LONG, MPI_INT, before, LONG, MPI_INT, right, 0, LONG, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < LONG; i++)
  {
    CHECK(before[i] == (i == 17 ? sum : 7 * rank));
    CHECK(memory[i] == (i == 17 ? sum : 7 * left) + left + 1);
  }
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, before, 2, MPI_INT, right, 16, 2, MPI_INT, MPI_NO_OP, win);
  MPI_Win_fence(0, win);
  CHECK(before[0] == 8 * rank + 1 && before[1] == sum + rank + 1);
  /* No data may be of any type. */
  MPI_Get_accumulate(ones, 0, MPI_INT, before, 0, MPI_INT, right, 0, 0, MPI_BYTE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);

  /* Pairs, which have a gap. */
  MPI_Win_create(&place, sizeof place, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; to++) MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  CHECK(place.value == 10.0 + size - 1 && place.index == size - 1);
  mine.value = 0, mine.index = 99;
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(&mine, 1, MPI_DOUBLE_INT, &old, 1, MPI_DOUBLE_INT, right, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
  MPI_Win_fence(0, win);
  CHECK(old.value == 10.0 + size - 1 && old.index == size - 1 && place.value == 0 && place.index == 99);
  MPI_Win_free(&win);
  free(memory), free(ones), free(before);
}

/* Memory that is attached later: displacements are addresses. */
static void dynamic(void)
{
  MPI_Win        win;
  static int     memory[100], more[10];
  int            in = 0;
  MPI_Aint       own, *all = malloc(size * sizeof *all);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, memory, sizeof memory);
  MPI_Win_attach(win, more, sizeof more);
  MPI_Get_address(memory, &own);
  MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, right, MPI_Aint_add(all[right], 50 * sizeof(int)), 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(memory[50] == left);
  MPI_Get(&in, 1, MPI_INT, left, MPI_Aint_add(all[left], 50 * sizeof(int)), 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(in == (left + size - 1) % size);
  MPI_Win_detach(win, more);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(all);
}

/* Long counts, and units of a byte beside others. */
static void long_counts(void)
{
  MPI_Win   win;
  short     memory[40] = {0}, out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8], old[8];
  MPI_Aint  unit = rank % 2 ? 1 : sizeof(short), bytes = sizeof memory, found;
  const int at   = right % 2 ? 20 * sizeof(short) : 20;
  MPI_Win_create_c(memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_shared_query_c(win, rank, &bytes, &found, &(void *) {NULL});
  CHECK(bytes == sizeof memory && found == unit);
  MPI_Win_fence(0, win);
  MPI_Put_c(out, 8, MPI_SHORT, right, at, 8, MPI_SHORT, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate_c(out, 8, MPI_SHORT, right, at, 8, MPI_SHORT, MPI_PROD, win);
  MPI_Win_fence(0, win);
  MPI_Get_c(in, 8, MPI_SHORT, right, at, 8, MPI_SHORT, win);
  MPI_Win_fence(0, win);
  MPI_Get_accumulate_c(out, 8, MPI_SHORT, old, 8, MPI_SHORT, right, at, 8, MPI_SHORT, MPI_MIN, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 8; i++)
    CHECK(in[i] == (i + 1) * (i + 1) && old[i] == in[i] && memory[20 + i] == i + 1 && memory[i] == 0);
  MPI_Win_free(&win);
}

static int calls, last_class, deletes;

static void note(MPI_Win * win, int * code, ...)
{
  MPI_Group group;
  calls++, last_class = class_of(*code);
  MPI_Win_get_group(*win, &group);
  MPI_Group_free(&group);
}

static int removed(MPI_Win win, int key, void * value, void * extra)
{
  MPI_Group group;
  (void) key, (void) value, (void) extra;
  MPI_Win_get_group(win, &group);
  MPI_Group_free(&group);
  deletes++;
  return MPI_SUCCESS;
}

static void what_belongs_to_a_window(void)
{
  MPI_Win        win, other;
  MPI_Errhandler mine, found;
  MPI_Group      group, world;
  int            memory[10] = {0}, data = 0, flag, key, length, result, *number;
  MPI_Aint *     bytes;
  void *         value;
  char           text[MPI_MAX_OBJECT_NAME];
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &other);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
  CHECK(flag && value == memory);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
  CHECK(flag && *bytes == sizeof memory);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
  CHECK(flag && *number == sizeof(int));
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
  CHECK(flag && *number == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(other, MPI_WIN_CREATE_FLAVOR, &number, &flag);
  CHECK(flag && *number == MPI_WIN_FLAVOR_DYNAMIC);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag);
  CHECK(flag && *number == MPI_WIN_UNIFIED);

  MPI_Win_set_name(win, "a window");
  MPI_Win_get_name(win, text, &length);
  CHECK(length == 8 && strcmp(text, "a window") == 0);
  MPI_Win_get_name(other, text, &length);
  CHECK(length == 0 && text[0] == 0);
  MPI_Win_get_group(win, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);

  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, removed, &key, NULL);
  MPI_Win_get_attr(win, key, &value, &flag);
  CHECK(!flag);
  MPI_Win_set_attr(win, key, text);
  MPI_Win_set_attr(other, key, text + 1);
  MPI_Win_get_attr(win, key, &value, &flag);
  CHECK(flag && value == text);
  MPI_Win_delete_attr(win, key);
  CHECK(deletes == 1);
  MPI_Win_free(&other);
  CHECK(deletes == 2);
  MPI_Win_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID);

  MPI_Win_get_errhandler(win, &found);
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  MPI_Win_create_errhandler(note, &mine);
  MPI_Win_set_errhandler(win, mine);
  MPI_Errhandler_free(&mine);
  MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  CHECK(calls == 1 && last_class == MPI_ERR_OTHER);
  /* Nothing may be accessed yet. */
  MPI_Put(&data, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  CHECK(calls == 2 && last_class == MPI_ERR_RMA_SYNC);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Win_unlock(right, win)) == MPI_ERR_RMA_SYNC);
  CHECK(class_of(MPI_Win_unlock_all(win)) == MPI_ERR_RMA_SYNC);
  CHECK(class_of(MPI_Win_complete(win)) == MPI_ERR_RMA_SYNC);
  CHECK(class_of(MPI_Win_wait(win)) == MPI_ERR_RMA_SYNC);
  CHECK(class_of(MPI_Win_flush(right, win)) == MPI_ERR_RMA_SYNC);
  CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win)) == MPI_ERR_RANK);
  MPI_Win_fence(0, win);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, size, 0, 1, MPI_INT, win)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, -7, 0, 1, MPI_INT, win)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Put(&data, -1, MPI_INT, right, 0, 1, MPI_INT, win)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, right, 0, -1, MPI_INT, win)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, right, 0, 1, MPI_DATATYPE_NULL, win)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, right, -1, 1, MPI_INT, win)) == MPI_ERR_DISP);
  CHECK(class_of(MPI_Put(&data, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_WIN_NULL)) == MPI_ERR_WIN || size == 0);
  CHECK(class_of(MPI_Accumulate(&data, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_OP_NULL, win)) == MPI_ERR_OP);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 10; i++) CHECK(memory[i] == 0);
  MPI_Win_free(&win);
}

/* Where libraries differ in what they check: kinds of locks, assertions, beyond the end of a window. */
/* Puts that are copied without asking anything, once the place of the target is known. */
static void long_out_of_range(void)
{
  enum { INTS = 6000, LONG = 5000 };
  MPI_Win win;
  int     *memory = malloc(INTS * sizeof(int)), data[LONG];
  for (int i = 0; i < LONG; i++) data[i] = rank * LONG + i;
  for (int i = 0; i < INTS; i++) memory[i] = -1;
  MPI_Win_create(memory, INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  for (int i = 0; i < 30; i++)
  {
    CHECK(MPI_Put(data, LONG, MPI_INT, right, i % 2 * 1000, LONG, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_flush(right, win);
  }
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, right, 1001, LONG, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, right, PTRDIFF_MAX / 2, LONG, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, right, -1, LONG, MPI_INT, win)) == MPI_ERR_DISP);
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, right, 0, LONG - 1, MPI_INT, win)) == MPI_ERR_TRUNCATE);
  CHECK(class_of(MPI_Put(NULL, LONG, MPI_INT, right, 0, LONG, MPI_INT, win)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, size, 0, LONG, MPI_INT, win)) == MPI_ERR_RANK);
  MPI_Win_unlock(right, win);
  CHECK(class_of(MPI_Put(data, LONG, MPI_INT, right, 0, LONG, MPI_INT, win)) == MPI_ERR_RMA_SYNC);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == left * LONG && memory[999] == left * LONG + 999);
  CHECK(memory[1000] == left * LONG && memory[INTS - 1] == left * LONG + LONG - 1);
  MPI_Win_free(&win);
  free(memory);
}

static void out_of_range(void)
{
  MPI_Win    win;
  int        memory[10] = {0}, data[4] = {1, 2, 3, 4}, in[4];
  static int attached[10];
  MPI_Aint   own, *all = malloc(size * sizeof *all);
  CHECK(class_of(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win)) == MPI_ERR_SIZE);
  CHECK(class_of(MPI_Win_create(memory, 1, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win)) == MPI_ERR_DISP);
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (size > 1)
  {
    /* A target that is not locked any more, while another one is. */
    int got;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    CHECK(MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_unlock(right, win);
    CHECK(class_of(MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win)) == MPI_ERR_RMA_SYNC);
    MPI_Win_unlock(rank, win);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED + 100, right, 0, win)) == MPI_ERR_LOCKTYPE);
  CHECK(class_of(MPI_Win_fence(3, win)) == MPI_ERR_ASSERT);
  MPI_Win_fence(0, win);
  CHECK(class_of(MPI_Put(data, 4, MPI_INT, right, 7, 4, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
  CHECK(class_of(MPI_Get(in, 1, MPI_INT, right, 10, 1, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
  CHECK(MPI_Put(data, 4, MPI_INT, right, 6, 4, MPI_INT, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  CHECK(memory[5] == 0 && memory[6] == 1 && memory[9] == 4);
  CHECK(class_of(MPI_Win_attach(win, memory, 4)) == MPI_ERR_RMA_FLAVOR);
  MPI_Win_free(&win);
  /* What is attached only the target knows: the error comes when its operations end. */
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_attach(win, attached, sizeof attached);
  CHECK(class_of(MPI_Win_attach(win, attached + 9, 8)) == MPI_ERR_RMA_ATTACH);
  MPI_Get_address(attached, &own);
  MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  MPI_Put(data, 1, MPI_INT, right, all[right] + sizeof attached, 1, MPI_INT, win);
  CHECK(class_of(MPI_Win_flush(right, win)) == MPI_ERR_RMA_RANGE);
  MPI_Put(data, 1, MPI_INT, right, all[right], 1, MPI_INT, win);
  CHECK(MPI_Win_flush(right, win) == MPI_SUCCESS);
  MPI_Get(in, 1, MPI_INT, right, all[right] - 1, 1, MPI_INT, win);
  CHECK(class_of(MPI_Win_unlock(right, win)) == MPI_ERR_RMA_RANGE);
  if (left != right)
  {
    /* The call that ends accesses to that target tells of it, however soon the target has answered. */
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, left, 0, win);
    MPI_Put(data, 1, MPI_INT, right, all[right] + sizeof attached, 1, MPI_INT, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_flush_local(left, win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(left, win) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_unlock(right, win)) == MPI_ERR_RMA_RANGE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(attached[0] == 1);
  MPI_Win_free(&win);
  free(all);
}

int main(int argc, char ** argv)
{
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int  length;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  put_and_get();
  types();
  accumulates();
  dynamic();
  long_counts();
  set_errhandlers(MPI_ERRORS_RETURN);
  what_belongs_to_a_window();
  MPI_Get_library_version(library, &length);
  if (strncmp(library, "Netloom", 7) == 0)
  {
    out_of_range();
    long_out_of_range();
  }
  MPI_Win_get_name(MPI_WIN_NULL, library, &length);
  CHECK(strcmp(library, "MPI_WIN_NULL") == 0);
  MPI_Finalize();
  return 0;
}
