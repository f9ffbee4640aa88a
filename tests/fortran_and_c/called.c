/* What handles.f90 calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void looks_at_(MPI_Fint *comm_of_fortran, MPI_Fint *type_of_fortran, MPI_Fint *status_of_fortran)
{
  const double to[3] = {1, 2, 3};
  double       from[3];
  int          rank, size;
  MPI_Comm     comm = MPI_Comm_f2c(*comm_of_fortran);
  MPI_Datatype type = MPI_Type_f2c(*type_of_fortran);
  MPI_Status   status;

  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(to, 3, type, (rank + 1) % size, 5, from, 3, type, MPI_ANY_SOURCE, 5, comm, &status);
  if (MPI_Comm_c2f(comm) != *comm_of_fortran || from[2] != 3)
  {
    fprintf(stderr, "not the handles of Fortran\n");
    exit(1);
  }
  if (status_of_fortran != MPI_F_STATUS_IGNORE) MPI_Status_c2f(&status, status_of_fortran);
}
