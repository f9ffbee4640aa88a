! Fortran gives a communicator, a type and a status to C, which uses them and fills the status.
program handles
  use mpi
  implicit none
  integer :: error, comm, rank, count, status(MPI_STATUS_SIZE)
  external looks_at

  call MPI_Init(error)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
  call looks_at(comm, MPI_DOUBLE_PRECISION, status)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  if (count /= 3 .or. status(MPI_TAG) /= 5) error stop "not the status of C"
  call looks_at(comm, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
  call MPI_Comm_rank(comm, rank, error)
  if (rank == 0) print *, "C and Fortran agree"
  call MPI_Comm_free(comm, error)
  call MPI_Finalize(error)
end program handles
