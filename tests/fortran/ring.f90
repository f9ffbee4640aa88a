! A token around a ring, by the module `mpi_f08`.
program ring
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right, i
  integer, asynchronous :: token(4), received(4)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  integer :: count

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  token = rank
  do i = 1, ranks
    call MPI_Irecv(received, 4, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(token, 4, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    if (requests(1) /= MPI_REQUEST_NULL) error stop 'a request that is done'
    if (statuses(1)%MPI_SOURCE /= left .or. statuses(1)%MPI_TAG /= i) error stop 'the status'
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    if (count /= 4) error stop 'the count'
    token = received
    if (any(token /= modulo(rank - i, ranks))) error stop 'the token'
  end do
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 0, i, 1, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status)
  if (i /= left .or. status%MPI_SOURCE /= left) error stop 'the neighbour'
  if (rank == 0) print '(a)', 'the token is back'
  call MPI_Finalize()
end program ring
