/* Communicators of nodes and of groups, copies as requests, names of types. */
#include "common.h"

static int rank, size;

static int total(MPI_Comm comm)
{
  int one = 1, all;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  return all;
}

static void nodes(void)
{
  MPI_Comm node, none;
  char     own[MPI_MAX_PROCESSOR_NAME] = "", other[MPI_MAX_PROCESSOR_NAME] = "";
  int      length, members;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &members);
  CHECK(total(node) == members);
  /* All of a node have the same processor name, and the first rank is the highest. */
  MPI_Get_processor_name(own, &length);
  memcpy(other, own, sizeof other);
  MPI_Bcast(other, sizeof other, MPI_CHAR, members - 1, node);
  CHECK(strcmp(own, other) == 0);
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  CHECK(first >= rank);
  MPI_Comm_free(&node);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none);
  CHECK(none == MPI_COMM_NULL);
}

/* Only the members of a group call: the even ranks and the odd ones, at the same time. */
static void of_groups(void)
{
  MPI_Group world, half;
  MPI_Comm  comm, again;
  int       ranges[1][3] = {{rank % 2, size - 1, 2}}, same, new;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, ranges, &half);
  MPI_Comm_create_group(MPI_COMM_WORLD, half, 7, &comm);
  MPI_Comm_rank(comm, &new);
  CHECK(new == rank / 2 && total(comm) == (size + 1 - rank % 2) / 2);
  if (rank % 2 == 0)
  {
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 8, &again);
    MPI_Comm_compare(comm, again, &same);
    CHECK(same == MPI_CONGRUENT && total(again) == total(comm));
    MPI_Comm_free(&again);
  }
  MPI_Comm_free(&comm);
  MPI_Group_free(&half), MPI_Group_free(&world);
}

static void copies(void)
{
  MPI_Comm    comms[3];
  MPI_Request requests[3];
  int         same;
  MPI_Comm_idup(MPI_COMM_WORLD, &comms[0], &requests[0]);
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comms[1], &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_dup_with_info(comms[0], MPI_INFO_NULL, &comms[2]);
  for (int n = 0; n < 3; n++)
  {
    MPI_Comm_compare(MPI_COMM_WORLD, comms[n], &same);
    CHECK(same == MPI_CONGRUENT && total(comms[n]) == size);
  }
  /* Their messages do not meet. */
  for (int n = 0; n < 3; n++) MPI_Isend(&n, 1, MPI_INT, (rank + 1) % size, 0, comms[n], &requests[n]), MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
  for (int n = 2; n >= 0; n--)
  {
    int got;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comms[n], MPI_STATUS_IGNORE);
    CHECK(got == n);
    MPI_Comm_disconnect(&comms[n]);
    CHECK(comms[n] == MPI_COMM_NULL);
  }
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
}

static void names(void)
{
  char         name[MPI_MAX_OBJECT_NAME];
  int          length;
  MPI_Datatype type;
  MPI_Type_get_name(MPI_INT, name, &length);
  CHECK(strcmp(name, "MPI_INT") == 0 && length == 7);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0 && name[0] == 0);
  MPI_Type_set_name(type, "triple");
  MPI_Type_get_name(type, name, &length);
  CHECK(strcmp(name, "triple") == 0 && length == 6);
  MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  nodes();
  of_groups();
  copies();
  names();
  MPI_Finalize();
  return 0;
}
