/* The shared file pointer, ordered accesses, and files that are sequential. */
#include "folder.h"

static int rank, size;

enum { ROUNDS = 50 };

/* All append records of different lengths: each is there once and whole. */
static void appended(MPI_File file)
{
  int        record[8], length = rank % 3 + 1, seen[64] = {0}, next[64] = {0};
  MPI_Offset at, bytes;
  MPI_Status status;
  for (int round = 0; round < ROUNDS; round++)
  {
    for (int n = 0; n <= length; n++)
      record[n] = n == 0 ? length : 1000 * rank + round;
    if (round % 2)
      CHECK(MPI_File_write_shared(file, record, length + 1, MPI_INT, &status) == MPI_SUCCESS);
    else
    {
      MPI_Request request;
      CHECK(MPI_File_iwrite_shared(file, record, length + 1, MPI_INT, &request) == MPI_SUCCESS);
      MPI_Wait(&request, &status);
    }
    CHECK(bytes_of(&status) == 4 * (length + 1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int expected = 0;
  for (int n = 0; n < size; n++)
    expected += ROUNDS * (n % 3 + 2);
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 4 * expected);
  CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == expected);
  /* The own pointer has not moved. */
  CHECK(MPI_File_get_position(file, &at) == MPI_SUCCESS && at == 0);
  for (int place = 0; place < expected; place += record[0] + 1)
  {
    CHECK(MPI_File_read_at(file, place, record, 2, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 8);
    int of = record[1] / 1000;
    CHECK(of >= 0 && of < size && record[0] == of % 3 + 1 && record[1] % 1000 == next[of]);
    next[of]++;
    seen[of]++;
  }
  for (int n = 0; n < size; n++)
    CHECK(seen[n] == ROUNDS);
}

/* No step of the pointer is lost, and a new view begins at its beginning. */
static void steps(MPI_File file)
{
  enum { STEPS = 20000 };
  int        none;
  MPI_Offset at;
  MPI_Status status;
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS && MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
  for (int n = 0; n < STEPS; n++)
    CHECK(MPI_File_read_shared(file, &none, 1, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == size * STEPS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* All read integers: each is read by one rank, and none twice. */
static void taken(MPI_File file)
{
  int        own[100], sum = 0, all, count, number = 0, numbers;
  MPI_Status status;
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
  if (rank == 0)
  {
    for (int n = 0; n < 100; n++)
      own[n] = n;
    CHECK(MPI_File_write_at(file, 0, own, 100, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
  do
  {
    if (number % 2)
      CHECK(MPI_File_read_shared(file, own, 3, MPI_INT, &status) == MPI_SUCCESS);
    else
    {
      MPI_Request request;
      CHECK(MPI_File_iread_shared(file, own, 3, MPI_INT, &request) == MPI_SUCCESS);
      MPI_Wait(&request, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    for (int n = 0; n < count; n++)
      sum += own[n];
    number += count;
  } while (count == 3);
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&number, &numbers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all == 4950 && numbers == 100);
}

/* One rank after the other, with different lengths. */
static void ordered(MPI_File file)
{
  int        own[64], got[64], before = 0, all = 0;
  MPI_Offset at;
  MPI_Status status;
  for (int n = 0; n < size; n++)
  {
    before += n < rank ? n : 0;
    all += n;
  }
  for (int n = 0; n < rank; n++)
    own[n] = 100 * rank + n;
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS && MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_write_ordered(file, own, rank, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 4 * rank);
  CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == all);
  CHECK(MPI_File_write_ordered_begin(file, own, rank, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_write_ordered_end(file, own, &status) == MPI_SUCCESS && bytes_of(&status) == 4 * rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int part = 0; part < 2; part++)
  {
    CHECK(MPI_File_read_at(file, part * all + before, got, rank, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(bytes_of(&status) == 4 * rank && memcmp(own, got, 4 * rank) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_seek_shared(file, -2 * all, MPI_SEEK_CUR) == MPI_SUCCESS);
  memset(got, 0, sizeof got);
  CHECK(MPI_File_read_ordered(file, got, rank, MPI_INT, &status) == MPI_SUCCESS && memcmp(own, got, 4 * rank) == 0);
  CHECK(MPI_File_read_ordered_begin(file, got, rank, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_read_ordered_end(file, got, &status) == MPI_SUCCESS && bytes_of(&status) == 4 * rank);
  CHECK(MPI_File_seek_shared(file, -1, MPI_SEEK_END) == (all > 0 ? MPI_SUCCESS : MPI_ERR_ARG));
  CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == (all > 0 ? 2 * all - 1 : 0));
  CHECK(class_of(MPI_File_seek_shared(file, -1000000, MPI_SEEK_CUR)) == MPI_ERR_ARG);
  /* One rank's error does not keep the others waiting. */
  int end = class_of(MPI_File_read_ordered(file, got, rank == size - 1 ? -1 : 0, MPI_INT, &status));
  CHECK(end == (rank == size - 1 ? MPI_ERR_COUNT : MPI_SUCCESS));
}

static void sequential(void)
{
  MPI_File   file;
  int        value = 10 + rank, sum, got;
  MPI_Offset at;
  MPI_Status status;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  CHECK(class_of(MPI_File_write(file, &value, 1, MPI_INT, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(class_of(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(class_of(MPI_File_seek(file, 0, MPI_SEEK_SET)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(class_of(MPI_File_get_position_shared(file, &at)) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(MPI_File_write_ordered(file, "ab", rank == 0 ? 2 : 0, MPI_CHAR, &status) == MPI_SUCCESS);
  /* A head of bytes, and then integers. */
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
  CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
  MPI_File_close(&file);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  char head[2] = {0, 0};
  CHECK(MPI_File_read_ordered(file, head, rank == 0 ? 2 : 0, MPI_CHAR, &status) == MPI_SUCCESS);
  CHECK(rank > 0 || (head[0] == 'a' && head[1] == 'b'));
  CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_read_shared(file, &got, 1, MPI_INT, &status) == MPI_SUCCESS && bytes_of(&status) == 4);
  MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 10 * size + size * (size - 1) / 2);
  MPI_File_close(&file);
}

int main(int argc, char ** argv)
{
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_folder();
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  appended(file);
  MPI_Barrier(MPI_COMM_WORLD);
  steps(file);
  taken(file);
  MPI_Barrier(MPI_COMM_WORLD);
  ordered(file);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  sequential();
  /* Files of a part of the ranks, two of them at the same time. */
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  path[strlen(path) - 1] = '0' + rank % 2;
  CHECK(MPI_File_open(half, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_Comm_free(&half);
  CHECK(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  int got;
  CHECK(MPI_File_read_at(file, 4 * (rank / 2), &got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == rank);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  remove_folder();
  MPI_Finalize();
  return 0;
}
