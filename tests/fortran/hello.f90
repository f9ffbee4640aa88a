! The ranks of MPI_COMM_WORLD, by the module `mpi`.
program hello
  use mpi
  implicit none
  integer :: rank, ranks, ierror, sum, length
  character(len=MPI_MAX_PROCESSOR_NAME) :: name

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Get_processor_name(name, length, ierror)
  if (length < 1 .or. name(length:length) == ' ' .or. name(length + 1:) /= ' ') error stop 'the name of the processor'
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (sum /= ranks * (ranks - 1) / 2) error stop 'the sum of ranks'
  if (rank == 0) print '(i0, a)', ranks, ' ranks'
  call MPI_Finalize(ierror)
end program hello
