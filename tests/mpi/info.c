/* Info objects: also before MPI_Init. */
#include "common.h"

int main(int argc, char **argv)
{
  MPI_Info info, copy, used;
  MPI_Comm comm;
  int      keys, flag, length, size, early_flag;
  char     key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL + 1], early[MPI_MAX_INFO_VAL + 1];
  MPI_Info_create(&info);
  MPI_Info_set(info, "color", "green");
  /* What is known of the start is so before MPI_Init too. */
  MPI_Info_create_env(argc, argv, &copy);
  length = sizeof early;
  MPI_Info_get_string(copy, "maxprocs", &length, early, &early_flag);
  MPI_Info_free(&copy);
  MPI_Init(&argc, &argv);
  MPI_Info_set(info, "size", "3");
  MPI_Info_set(info, "color", "blue");
  MPI_Info_get_nkeys(info, &keys);
  CHECK(keys == 2);
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(copy, "color");
  MPI_Info_get_nkeys(copy, &keys);
  MPI_Info_get_nthkey(copy, 0, key);
  CHECK(keys == 1 && strcmp(key, "size") == 0);
  MPI_Info_get_valuelen(info, "color", &length, &flag);
  CHECK(flag && length == 4);
  MPI_Info_get_valuelen(copy, "color", &length, &flag);
  CHECK(!flag);
  /* As much as fits, and the length that is needed. */
  length = 3;
  MPI_Info_get_string(info, "color", &length, value, &flag);
  CHECK(flag && length == 5 && strcmp(value, "bl") == 0);
  MPI_Info_get_string(info, "color", &length, value, &flag);
  CHECK(flag && length == 5 && strcmp(value, "blue") == 0);
  length = 0;
  MPI_Info_get_string(info, "color", &length, NULL, &flag);
  CHECK(flag && length == 5);
  MPI_Info_get_string(info, "weight", &length, value, &flag);
  CHECK(!flag);
  /* Hints of communicators. */
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Comm_get_info(comm, &used);
  MPI_Info_free(&used);
  CHECK(used == MPI_INFO_NULL);
  MPI_Comm_set_info(comm, copy);
  MPI_Comm_free(&comm);
  MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
  CHECK(keys >= 0);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  length = sizeof value;
  MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &length, value, &flag);
  CHECK(!flag || atoi(value) == size);
  CHECK(flag == early_flag && (!flag || strcmp(value, early) == 0));
  /* Each resource that is told of divides a communicator, and this rank is restricted to one of it. */
  MPI_Get_hw_resource_info(&used);
  MPI_Info_get_nkeys(used, &keys);
  for (int n = 0; n < keys; n++)
  {
    char value[16];
    int  length = sizeof value;
    MPI_Info_get_nthkey(used, n, key);
    MPI_Info_get_string(used, key, &length, value, &flag);
    CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")));
    if (!strcmp(key, "mpi_shared_memory"))
    {
      MPI_Info kind;
      MPI_Info_create(&kind);
      MPI_Info_set(kind, "mpi_hw_resource_type", key);
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, kind, &comm);
      MPI_Info_free(&kind);
      CHECK(comm != MPI_COMM_NULL);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Info_free(&used);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Info_delete(copy, "color")) == MPI_ERR_INFO_NOKEY);
  CHECK(class_of(MPI_Info_set(copy, "", "x")) == MPI_ERR_INFO_KEY);
  CHECK(class_of(MPI_Info_get_nthkey(copy, 7, key)) != MPI_SUCCESS);
  CHECK(class_of(MPI_Info_free(&used)) != MPI_SUCCESS);
  MPI_Info_free(&copy);
  MPI_Finalize();
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);
  return 0;
}
