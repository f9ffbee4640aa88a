/* Files: access modes, errors, explicit offsets, individual file pointers, sizes, requests, split collectives. */
#include "folder.h"

static int rank, size;

static MPI_File open_file(int mode)
{
  MPI_File file = MPI_FILE_NULL;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS && file != MPI_FILE_NULL);
  return file;
}

/* What opening ends with. */
static int opened(const char * name, int mode)
{
  MPI_File file = MPI_FILE_NULL;
  int      class = class_of(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
  CHECK((file == MPI_FILE_NULL) == (class != MPI_SUCCESS));
  return class;
}

static void modes(void)
{
  MPI_File file, alone;
  int      mode, data = 7;
  CHECK(opened(path, MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
  CHECK(opened(path, MPI_MODE_RDWR) == MPI_ERR_NO_SUCH_FILE);
  CHECK(opened(path, MPI_MODE_CREATE) == MPI_ERR_AMODE);
  CHECK(opened(path, MPI_MODE_RDONLY | MPI_MODE_WRONLY) == MPI_ERR_AMODE);
  CHECK(opened(path, MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
  CHECK(opened(path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) == MPI_ERR_AMODE);
  CHECK(opened(path, MPI_MODE_RDWR | MPI_MODE_NOCHECK) == MPI_ERR_AMODE);
  CHECK(opened(folder, MPI_MODE_RDONLY) == MPI_ERR_BAD_FILE);
  CHECK(opened("", MPI_MODE_RDONLY) == MPI_ERR_BAD_FILE);
  if (size > 1)
  {
    /* One rank's error is everybody's. */
    CHECK(opened(path, rank == 1 ? MPI_MODE_RDWR : MPI_MODE_RDWR | MPI_MODE_CREATE) == MPI_ERR_NOT_SAME);
    CHECK(opened(rank == size - 1 ? folder : path, MPI_MODE_RDWR | MPI_MODE_CREATE) == MPI_ERR_BAD_FILE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  file = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
  CHECK(MPI_File_get_amode(file, &mode) == MPI_SUCCESS && mode == (MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL));
  CHECK(class_of(MPI_File_read_at(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
  CHECK(opened(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);

  file = open_file(MPI_MODE_RDONLY);
  CHECK(class_of(MPI_File_write_at(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_set_size(file, 8)) == MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_read_at(file, -1, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_read_at(file, 0, &data, -1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_File_read_at(MPI_FILE_NULL, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_FILE);
  MPI_File_close(&file);
  CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_FILE);

  /* One rank's own, and where files begin that are appended to. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
  {
    MPI_Offset at;
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &alone) == MPI_SUCCESS);
    MPI_File_write_at(alone, 2, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&alone);
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &alone) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(alone, &at) == MPI_SUCCESS && at == 6);
    CHECK(MPI_File_get_position_shared(alone, &at) == MPI_SUCCESS && at == 6);
    MPI_File_write(alone, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_size(alone, &at);
    CHECK(at == 10);
    /* Elsewhere it writes elsewhere all the same. */
    MPI_File_write_at(alone, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_size(alone, &at);
    CHECK(at == 10);
    MPI_File_close(&alone);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN);
  MPI_File_close(&file);
  CHECK(access(path, F_OK) != 0);
  CHECK(class_of(MPI_File_delete(path, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
}

enum { COUNT = 1000 };

/* Each rank writes a part and reads that of the next. */
static void offsets(MPI_File file)
{
  int        own[COUNT], got[COUNT + 10], next = (rank + 1) % size, count;
  MPI_Status status;
  MPI_Offset bytes;
  for (int n = 0; n < COUNT; n++)
    own[n] = 1000000 * rank + n;
  CHECK(MPI_File_write_at(file, rank * sizeof own, own, COUNT, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == COUNT);
  CHECK(MPI_File_sync(file) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == (MPI_Offset) (size * sizeof own));
  CHECK(MPI_File_read_at_all(file, next * sizeof own, got, COUNT, MPI_INT, &status) == MPI_SUCCESS);
  for (int n = 0; n < COUNT; n++)
    CHECK(got[n] == 1000000 * next + n);
  /* The end cuts: what is not read stays. */
  got[5] = -1;
  CHECK(MPI_File_read_at(file, bytes - 20, got, 10, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 20);
  CHECK(got[0] == 1000000 * (size - 1) + COUNT - 5 && got[5] == -1);
  CHECK(MPI_File_read_at(file, bytes, got, 1, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 0);
  /* Data with gaps in memory. */
  MPI_Datatype every;
  MPI_Type_vector(COUNT / 2, 1, 2, MPI_INT, &every);
  MPI_Type_commit(&every);
  memset(got, 0, sizeof got);
  CHECK(MPI_File_read_at(file, rank * sizeof own, got, 1, every, &status) == MPI_SUCCESS && bytes_of(&status) == 2 * COUNT);
  for (int n = 0; n < COUNT; n++)
    CHECK(got[n] == (n % 2 ? 0 : own[n / 2]));
  MPI_Type_free(&every);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void pointers(MPI_File file)
{
  char       data[4] = {'a', 'b', 'c', 'd'}, got[8] = {0};
  MPI_Offset at, bytes;
  MPI_Status status;
  CHECK(MPI_File_set_size(file, 4 * size) == MPI_SUCCESS);
  CHECK(MPI_File_seek(file, 4 * rank, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_write(file, data, 2, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, data + 2, 2, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_get_position(file, &at);
  CHECK(at == 4 * rank + 4);
  CHECK(MPI_File_seek(file, -3, MPI_SEEK_CUR) == MPI_SUCCESS);
  CHECK(MPI_File_read(file, got, 2, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[0] == 'b' && got[1] == 'c');
  MPI_Barrier(MPI_COMM_WORLD);
  /* Only what is there is passed over. */
  CHECK(MPI_File_seek(file, -1, MPI_SEEK_END) == MPI_SUCCESS);
  CHECK(MPI_File_read_all(file, got, 8, MPI_CHAR, &status) == MPI_SUCCESS && bytes_of(&status) == 1 && got[0] == 'd');
  MPI_File_get_position(file, &at);
  CHECK(at == 4 * size);
  CHECK(MPI_File_preallocate(file, 2) == MPI_SUCCESS && MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 4 * size);
  CHECK(MPI_File_preallocate(file, 1000) == MPI_SUCCESS && MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 1000);
  CHECK(MPI_File_set_size(file, 3) == MPI_SUCCESS && MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 3);
  CHECK(class_of(MPI_File_set_size(file, rank == size - 1 ? -1 : 3)) == MPI_ERR_ARG);
  /* What is to be the same at all. */
  int others = size > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS, last = rank > 0 && rank == size - 1;
  CHECK(class_of(MPI_File_set_size(file, last ? 9 : 3)) == others);
  CHECK(class_of(MPI_File_preallocate(file, last ? 9 : 3)) == others);
  CHECK(class_of(MPI_File_set_atomicity(file, last)) == others);
  CHECK(class_of(MPI_File_seek_shared(file, last, MPI_SEEK_SET)) == others);
  CHECK(class_of(MPI_File_seek_shared(file, 0, last ? MPI_SEEK_CUR : MPI_SEEK_SET)) == others);
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 3);
}

static void requests(MPI_File file)
{
  int         own[3] = {rank, rank + 1, rank + 2}, got[3] = {0, 0, 0}, count;
  MPI_Request requests[2];
  MPI_Status  statuses[2];
  CHECK(MPI_File_iwrite_at(file, 12 * rank, own, 2, MPI_INT, &requests[0]) == MPI_SUCCESS);
  MPI_File_seek(file, 12 * rank + 8, MPI_SEEK_SET);
  CHECK(MPI_File_iwrite(file, own + 2, 1, MPI_INT, &requests[1]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  CHECK(count == 2 && bytes_of(&statuses[1]) == 4);
  CHECK(MPI_File_iread_at_all(file, 12 * rank, got, 3, MPI_INT, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Wait(&requests[0], &statuses[0]) == MPI_SUCCESS && bytes_of(&statuses[0]) == 12 && memcmp(own, got, 12) == 0);
  /* At the end of the file there is less. */
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_iread_at(file, 12 * size - 4, got, 3, MPI_INT, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Wait(&requests[0], &statuses[0]) == MPI_SUCCESS && bytes_of(&statuses[0]) == 4 && got[0] == size + 1);
}

static void splits(MPI_File file)
{
  int        own[2] = {10 * rank, 10 * rank + 1}, got[2] = {0, 0};
  MPI_Status status;
  CHECK(class_of(MPI_File_read_all_end(file, got, &status)) == MPI_ERR_IO);
  CHECK(MPI_File_write_at_all_begin(file, 8 * rank, own, 2, MPI_INT) == MPI_SUCCESS);
  CHECK(class_of(MPI_File_read_at_all_begin(file, 8 * rank, got, 2, MPI_INT)) == MPI_ERR_IO);
  CHECK(class_of(MPI_File_read_at_all_end(file, got, &status)) == MPI_ERR_IO);
  CHECK(MPI_File_write_at_all_end(file, own, &status) == MPI_SUCCESS && bytes_of(&status) == 8);
  CHECK(MPI_File_seek(file, 8 * rank, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_read_all_begin(file, got, 2, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_read_all_end(file, got, &status) == MPI_SUCCESS && bytes_of(&status) == 8 && memcmp(own, got, 8) == 0);
}

static int handled, expected;

static void handler(MPI_File * file, int * code, ...)
{
  (void) file;
  CHECK(class_of(*code) == expected);
  handled++;
}

static void representations(void)
{
  CHECK(MPI_Register_datarep("own", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL) == MPI_SUCCESS);
  CHECK(class_of(MPI_Register_datarep("own", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL)) == MPI_ERR_DUP_DATAREP);
  CHECK(class_of(MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL)) == MPI_ERR_DUP_DATAREP);
}

static void handlers(void)
{
  MPI_File       file;
  MPI_Errhandler own, got;
  int            data;
  CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
  CHECK(MPI_File_create_errhandler(handler, &own) == MPI_SUCCESS);
  file = open_file(MPI_MODE_RDONLY);
  CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
  CHECK(MPI_File_set_errhandler(file, own) == MPI_SUCCESS);
  expected = MPI_ERR_READ_ONLY;
  CHECK(class_of(MPI_File_write(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY && handled == 1);
  expected = MPI_ERR_OTHER;
  CHECK(MPI_File_call_errhandler(file, MPI_ERR_OTHER) == MPI_SUCCESS && handled == 2);
  MPI_File_close(&file);
  /* What has no file yet goes to that of MPI_FILE_NULL, which files that are opened have, too. */
  CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, own) == MPI_SUCCESS);
  expected = MPI_ERR_AMODE;
  CHECK(opened(path, 0) == MPI_ERR_AMODE && handled == 3);
  expected = MPI_ERR_FILE;
  CHECK(class_of(MPI_File_sync(MPI_FILE_NULL)) == MPI_ERR_FILE && handled == 4);
  file = open_file(MPI_MODE_RDONLY);
  expected = MPI_ERR_READ_ONLY;
  CHECK(class_of(MPI_File_write(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY && handled == 5);
  MPI_File_close(&file);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&own);
}

static void queries(MPI_File file)
{
  MPI_Info  info, hints;
  MPI_Group group, world;
  int       is, flag;
  char      value[MPI_MAX_INFO_VAL];
  MPI_File_get_group(file, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &is);
  CHECK(is == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "access_style", "read_once");
  CHECK(MPI_File_set_info(file, hints) == MPI_SUCCESS && MPI_File_get_info(file, &info) == MPI_SUCCESS);
  MPI_Info_get(info, "access_style", sizeof value - 1, value, &flag);
  CHECK(flag && strcmp(value, "read_once") == 0);
  MPI_Info_free(&info);
  MPI_Info_free(&hints);
  CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS && MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag);
}

/* In atomic mode a long write of one rank is there as a whole, or not at all. */
static void atomic(MPI_File file)
{
  enum { LONG = 200000 };
  char *     data = malloc(LONG);
  MPI_Status status;
  MPI_File_set_size(file, 0);
  memset(data, 'a' + rank, LONG);
  CHECK(MPI_File_write_at(file, 0, data, LONG, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  for (int round = 0; round < 20; round++)
  {
    memset(data, 'a' + rank, LONG);
    CHECK(MPI_File_write_at(file, 0, data, LONG, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 0, data, LONG, MPI_CHAR, &status) == MPI_SUCCESS && bytes_of(&status) == LONG);
    for (int n = 1; n < LONG; n++)
      CHECK(data[n] == data[0]);
  }
  free(data);
}

int main(int argc, char ** argv)
{
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_folder();
  modes();
  file = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
  offsets(file);
  MPI_Barrier(MPI_COMM_WORLD);
  pointers(file);
  MPI_Barrier(MPI_COMM_WORLD);
  requests(file);
  MPI_Barrier(MPI_COMM_WORLD);
  splits(file);
  MPI_Barrier(MPI_COMM_WORLD);
  queries(file);
  atomic(file);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS && access(path, F_OK) == 0);
  handlers();
  representations();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
  remove_folder();
  MPI_Finalize();
  return 0;
}
