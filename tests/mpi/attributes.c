/* Attributes of communicators: copied, deleted, replaced; functions of the program make calls. */
#include "common.h"

static int copies, deletes, order[8];

static int copy(MPI_Comm from, int key, void * extra, void * value, void * new_value, int * flag)
{
  int size;
  CHECK(extra == &copies && key != MPI_KEYVAL_INVALID);
  MPI_Comm_size(from, &size);
  copies++;
  *(void **) new_value = (char *) value + size;
  *flag                = *(char *) value != 'n'; /* some are not copied */
  return MPI_SUCCESS;
}

static int removed(MPI_Comm from, int key, void * value, void * extra)
{
  int rank;
  (void) key, (void) extra;
  MPI_Comm_rank(from, &rank);
  if (*(char *) value == 'x') return MPI_ERR_OTHER;
  order[deletes++ % 8] = *(char *) value;
  return MPI_SUCCESS;
}

static int type_deletes;
static int removed_type(MPI_Datatype type, int key, void * value, void * extra)
{
  CHECK(type != MPI_DATATYPE_NULL && key != MPI_KEYVAL_INVALID && value && !extra);
  type_deletes++;
  return MPI_SUCCESS;
}

static void types(void)
{
  static char  text[4] = "abc";
  char *       value;
  int          first, second, flag;
  MPI_Datatype type, other;
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, removed_type, &first, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &second, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, first, text);
  MPI_Type_set_attr(type, second, text + 1);
  MPI_Type_dup(type, &other);
  MPI_Type_get_attr(other, first, &value, &flag);
  CHECK(flag && value == text);
  MPI_Type_get_attr(other, second, &value, &flag);
  CHECK(!flag);
  MPI_Type_delete_attr(other, first);
  CHECK(type_deletes == 1);
  MPI_Type_free(&other);
  MPI_Type_free(&type);
  CHECK(type_deletes == 2 && type == MPI_DATATYPE_NULL);
  /* Predefined types have attributes too. */
  MPI_Type_set_attr(MPI_INT, second, text + 2);
  MPI_Type_get_attr(MPI_INT, second, &value, &flag);
  CHECK(flag && value == text + 2);
  MPI_Type_delete_attr(MPI_INT, second);
  MPI_Type_free_keyval(&first), MPI_Type_free_keyval(&second);
  CHECK(first == MPI_KEYVAL_INVALID);
}

int main(int argc, char ** argv)
{
  static char text[64] = "abcdefgh", none[64] = "nnnnnnnn", stays[64] = "xxxx";
  char *      value;
  int         first, second, third, flag, size, *upper;
  MPI_Comm    comm, other;
  MPI_Init(&argc, &argv);
  types();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_create_keyval(copy, removed, &first, &copies);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &second, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, removed, &third, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_get_attr(comm, first, &value, &flag);
  CHECK(!flag);
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &upper, &flag);
  CHECK(flag && *upper >= 32767);
  MPI_Comm_set_attr(comm, first, text);
  MPI_Comm_set_attr(comm, second, text + 1);
  MPI_Comm_set_attr(comm, third, text + 2);
  MPI_Comm_get_attr(comm, second, &value, &flag);
  CHECK(flag && value == text + 1 && copies == 0 && deletes == 0);

  MPI_Comm_dup(comm, &other);
  CHECK(copies == 1);
  MPI_Comm_get_attr(other, first, &value, &flag);
  CHECK(flag && value == text + size);
  MPI_Comm_get_attr(other, second, &value, &flag);
  CHECK(flag && value == text + 1);
  MPI_Comm_get_attr(other, third, &value, &flag);
  CHECK(!flag);
  MPI_Comm_free(&other);
  CHECK(deletes == 1 && order[0] == text[size] && other == MPI_COMM_NULL);

  /* A new value in place of the old one, which is deleted. */
  MPI_Comm_set_attr(comm, first, none);
  CHECK(deletes == 2 && order[1] == 'a');
  MPI_Comm_dup(comm, &other);
  MPI_Comm_get_attr(other, first, &value, &flag);
  CHECK(!flag && copies == 2);
  MPI_Comm_free(&other);
  MPI_Comm_delete_attr(comm, third);
  CHECK(deletes == 3 && order[2] == 'c');
  MPI_Comm_get_attr(comm, third, &value, &flag);
  CHECK(!flag);

  /* The key is gone, its attributes stay. A function that fails keeps the attribute. */
  int old = first;
  MPI_Comm_free_keyval(&old);
  CHECK(old == MPI_KEYVAL_INVALID);
  MPI_Comm_set_attr(comm, third, stays);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Comm_delete_attr(comm, third) != MPI_SUCCESS);
  MPI_Comm_get_attr(comm, third, &value, &flag);
  CHECK(flag && value == stays);
  stays[0] = 'y';
  MPI_Comm_free(&comm);
  CHECK(comm == MPI_COMM_NULL && deletes == 5);

  /* What MPI_COMM_SELF has is deleted by MPI_Finalize, the last one first. */
  MPI_Comm_set_attr(MPI_COMM_SELF, third, text + 3);
  int fourth;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, removed, &fourth, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, fourth, text + 4);
  MPI_Finalize();
  CHECK(deletes == 7 && order[5] == 'e' && order[6] == 'd');
  return 0;
}
