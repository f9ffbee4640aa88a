! Functions that MPI 3.0 removed, as older programs call them.
program removed
  implicit none
  include 'mpif.h'
  integer, parameter :: lengths(2) = [1, 2], at(2) = [0, 8]
  integer :: error, rank, type, strided, extent, lower, upper, handler, sent(4), received(4)

  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_TYPE_STRUCT(2, lengths, at, [MPI_DOUBLE_PRECISION, MPI_INTEGER], type, error)
  if (error /= MPI_SUCCESS) error stop "MPI_TYPE_STRUCT"
  call MPI_TYPE_EXTENT(type, extent, error)
  call MPI_TYPE_LB(type, lower, error)
  call MPI_TYPE_UB(type, upper, error)
  if (extent /= 16 .or. lower /= 0 .or. upper /= 16) error stop "an extent"
  call MPI_TYPE_FREE(type, error)
  call MPI_TYPE_HVECTOR(2, 1, 8, MPI_INTEGER, type, error)
  call MPI_TYPE_HINDEXED(1, [1], [4], type, strided, error)
  call MPI_TYPE_COMMIT(strided, error)
  sent = [1, 2, 3, 4]
  received = 0
  call MPI_SENDRECV(sent, 1, strided, 0, 1, received, 1, strided, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
  if (any(received /= [0, 2, 0, 4])) error stop "what was received"
  call MPI_TYPE_FREE(type, error)
  call MPI_TYPE_FREE(strided, error)
  call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, error)
  if (handler /= MPI_ERRORS_RETURN) error stop "another handler"
  if (rank == 0) print *, "removed functions work"
  call MPI_FINALIZE(error)
end program removed
