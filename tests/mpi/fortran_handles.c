/* Handles and statuses as Fortran has them: there and back. */
#include "common.h"

#define THERE_AND_BACK(Name, handle) (MPI_##Name##_f2c(MPI_##Name##_c2f(handle)) == (handle))

static void sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
  int i;
  (void) type;
  for (i = 0; i < *count; i++) ((int *) inout)[i] += ((int *) in)[i];
}

int main(int argc, char ** argv)
{
  MPI_Fint       of_fortran[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE], own;
  int            rank, size, count, all, number;
  void *         base;
  MPI_Comm       comm;
  MPI_Datatype   pair;
  MPI_Errhandler handler;
  MPI_Group      group;
  MPI_Info       info;
  MPI_Message    message;
  MPI_Op         op;
  MPI_Request    request;
  MPI_F08_status of_f08;
  MPI_Status     status, back;
  MPI_Win        window;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  /* Predefined ones are numbers of the standard. */
  CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 0x101 && MPI_Comm_f2c(0x101) == MPI_COMM_WORLD);
  CHECK(MPI_Type_c2f(MPI_INT) == (int) (intptr_t) MPI_INT && MPI_Op_c2f(MPI_SUM) == 0x21);
  CHECK(THERE_AND_BACK(Comm, MPI_COMM_NULL) && THERE_AND_BACK(Group, MPI_GROUP_EMPTY));
  CHECK(THERE_AND_BACK(File, MPI_FILE_NULL) && THERE_AND_BACK(Session, MPI_SESSION_NULL));
  CHECK(THERE_AND_BACK(Request, MPI_REQUEST_NULL) && THERE_AND_BACK(Win, MPI_WIN_NULL));

  /* Those that a program makes can be used after it. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  own = MPI_Comm_c2f(comm);
  CHECK(own == MPI_Comm_c2f(comm) && MPI_Comm_f2c(own) == comm);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(sum, 1, &op);
  CHECK(THERE_AND_BACK(Type, pair) && THERE_AND_BACK(Op, op));
  number = rank + 1;
  MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_Op_f2c(MPI_Op_c2f(op)), MPI_Comm_f2c(own));
  CHECK(all == size * (size + 1) / 2);
  MPI_Comm_group(comm, &group);
  MPI_Info_create(&info);
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Win_allocate(4, 1, MPI_INFO_NULL, comm, &base, &window);
  CHECK(THERE_AND_BACK(Group, group) && THERE_AND_BACK(Info, info));
  CHECK(THERE_AND_BACK(Errhandler, handler) && THERE_AND_BACK(Win, window));
  MPI_Win_free(&window);

  /* A status keeps what was received, and where it came from. */
  MPI_Irecv(&all, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &request);
  CHECK(THERE_AND_BACK(Request, request));
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, comm);
  request = MPI_Request_f2c(MPI_Request_c2f(request));
  MPI_Wait(&request, &status);
  CHECK(MPI_Status_c2f(&status, of_fortran) == MPI_SUCCESS);
  CHECK(of_fortran[MPI_F_SOURCE] == (rank + size - 1) % size && of_fortran[MPI_F_TAG] == 7);
  CHECK(MPI_Status_f2c(of_fortran, &back) == MPI_SUCCESS);
  MPI_Get_count(&back, MPI_INT, &count);
  CHECK(count == 1 && back.MPI_SOURCE == status.MPI_SOURCE && back.MPI_TAG == 7);
  CHECK(PMPI_Status_f2f08(of_fortran, &of_f08) == MPI_SUCCESS && MPI_Status_f082c(&of_f08, &back) == MPI_SUCCESS);
  MPI_Get_count(&back, MPI_INT, &count);
  CHECK(count == 1 && back.MPI_SOURCE == status.MPI_SOURCE && back.MPI_TAG == 7);
  CHECK(MPI_Status_c2f08(&back, &of_f08) == MPI_SUCCESS && MPI_Status_f082f(&of_f08, again) == MPI_SUCCESS);
  CHECK(memcmp(again, of_fortran, sizeof again) == 0);
  /* There is no Fortran in this program. */
  CHECK(MPI_F_STATUS_IGNORE == NULL && MPI_F_STATUSES_IGNORE == NULL);
  CHECK(MPI_F08_STATUS_IGNORE == NULL && MPI_F08_STATUSES_IGNORE == NULL);

  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 8, comm, &request);
  MPI_Mprobe(MPI_ANY_SOURCE, 8, comm, &message, MPI_STATUS_IGNORE);
  CHECK(THERE_AND_BACK(Message, message));
  message = MPI_Message_f2c(MPI_Message_c2f(message));
  MPI_Mrecv(&all, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(all == (rank + size - 1) % size);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  MPI_Group_free(&group);
  MPI_Info_free(&info);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
