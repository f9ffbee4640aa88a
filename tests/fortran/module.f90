! The module `mpi`: collectives, arrays of handles, positions from 1 on, logical values, strings, memory.
module functions
  use mpi
  implicit none
  integer :: errors = 0
contains
  subroutine largest(invec, inoutvec, len, datatype)
    integer :: len, datatype
    double precision :: invec(len), inoutvec(len)
    if (datatype /= MPI_DOUBLE_PRECISION) error stop 'the type of a reduction'
    inoutvec = max(abs(invec), abs(inoutvec))
  end subroutine largest

  subroutine count_error(comm, code)
    integer :: comm, code
    if (comm == MPI_COMM_NULL .or. code == MPI_SUCCESS) error stop 'an error'
    errors = errors + 1
  end subroutine count_error
end module functions

program by_module
  use functions
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, i, n, ierror, op, handler, comm, grid, index, outcount, sum, keyval, info, group, other
  integer :: requests(8), indices(8), statuses(MPI_STATUS_SIZE, 8), status(MPI_STATUS_SIZE), data(8), ranges(3, 1)
  integer :: dims(2), coords(2), types(64), counts(64), displacements(64), sources(2), weights(2), found(2), found_weights(2)
  integer, allocatable :: matrix(:, :), transposed(:, :)
  double precision :: values(3), maxima(3)
  logical :: flag, periods(2), remain(2), found_periods(2), is_weighted
  character(len=20) :: value, short
  character(len=MPI_MAX_INFO_KEY) :: key
  character(len=MPI_MAX_ERROR_STRING) :: text
  integer(kind=MPI_ADDRESS_KIND) :: lb, extent, state, attribute, address
  type(c_ptr) :: memory
  integer, pointer :: numbers(:)

  call MPI_Init_thread(MPI_THREAD_SINGLE, i, ierror)
  if (i < MPI_THREAD_SINGLE) error stop 'the level of threads'
  call MPI_Initialized(flag, ierror)
  if (.not. flag) error stop 'initialized'
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)

  ! Positions.
  do i = 1, 8
    call MPI_Irecv(data(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(i), ierror)
  end do
  call MPI_Testany(8, requests, index, flag, status, ierror)
  if (flag .or. index /= MPI_UNDEFINED) error stop 'a request that is not done'
  call MPI_Send(60, 1, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, ierror)
  call MPI_Waitany(8, requests, index, status, ierror)
  if (index /= 6 .or. data(6) /= 60 .or. status(MPI_TAG) /= 6) error stop 'the position of a request'
  if (requests(6) /= MPI_REQUEST_NULL .or. requests(5) == MPI_REQUEST_NULL) error stop 'requests'
  call MPI_Send(30, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, ierror)
  call MPI_Waitsome(8, requests, outcount, indices, statuses, ierror)
  if (outcount /= 1 .or. indices(1) /= 3 .or. statuses(MPI_TAG, 1) /= 3) error stop 'some requests'
  do i = 1, 8
    if (i /= 3 .and. i /= 6) call MPI_Send(10 * i, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, ierror)
  end do
  call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierror)
  if (any(data /= [(10 * i, i = 1, 8)]) .or. any(requests /= MPI_REQUEST_NULL)) error stop 'all requests'
  call MPI_Waitsome(8, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
  if (outcount /= MPI_UNDEFINED) error stop 'no requests'

  ! Persistent requests, and sections that the compiler copies.
  allocate (matrix(4, 4))
  matrix = reshape([(i, i = 1, 16)], [4, 4])
  call MPI_Send_init(data, 8, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Start(requests(1), ierror)
  call MPI_Recv(matrix(1:4:3, :), 8, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status, ierror)
  if (any(matrix(4, :) /= [20, 40, 60, 80]) .or. any(matrix(2, :) /= [2, 6, 10, 14])) error stop 'a section'
  call MPI_Wait(requests(1), status, ierror)
  if (requests(1) == MPI_REQUEST_NULL) error stop 'a persistent request'
  call MPI_Request_free(requests(1), ierror)

  ! Collectives.
  allocate (transposed(2, ranks))
  deallocate (matrix)
  allocate (matrix(2, ranks))
  matrix = reshape([(100 * rank + i, i = 1, 2 * ranks)], [2, ranks])
  call MPI_Alltoall(matrix, 2, MPI_INTEGER, transposed, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  if (any(transposed /= reshape([((100 * n + 2 * rank + i, i = 1, 2), n = 0, ranks - 1)], [2, ranks]))) error stop 'all to all'
  transposed = 0
  types(:ranks) = MPI_INTEGER
  counts(:ranks) = 2
  displacements(:ranks) = [(8 * i, i = 0, ranks - 1)]
  call MPI_Ialltoallw(matrix, counts, displacements, types, transposed, counts, displacements, types, MPI_COMM_WORLD, &
                      requests(1), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  if (any(transposed /= reshape([((100 * n + 2 * rank + i, i = 1, 2), n = 0, ranks - 1)], [2, ranks]))) error stop 'with types'
  call MPI_Alltoallw(MPI_IN_PLACE, [0], [0], [0], matrix, counts, displacements, types, MPI_COMM_WORLD, ierror)
  if (any(matrix /= transposed)) error stop 'with types in place'
  call MPI_Scan(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (sum /= rank * (rank + 1) / 2) error stop 'a scan'
  values = [dble(-rank), 1d0, dble(rank)]
  call MPI_Op_create(largest, .true., op, ierror)
  call MPI_Allreduce(values, maxima, 3, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, ierror)
  if (any(maxima /= [dble(ranks - 1), 1d0, dble(ranks - 1)])) error stop 'a reduction'
  call MPI_Op_free(op, ierror)
  call MPI_Allreduce([real(rank), real(-rank)], found, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, ierror)

  ! Logical values.
  call MPI_Allreduce(rank == 0, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  if (flag .neqv. ranks == 1) error stop 'a logical and'
  call MPI_Allreduce(rank == 0, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  if (.not. flag) error stop 'a logical or'
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierror)
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, ierror)
  found_periods = [.false., .true.]
  call MPI_Cart_get(grid, 2, found, found_periods, coords, ierror)
  if (any(found /= dims) .or. any(found_periods .neqv. periods)) error stop 'a grid'
  remain = [.false., .true.]
  call MPI_Cart_sub(grid, remain, comm, ierror)
  call MPI_Comm_size(comm, n, ierror)
  if (n /= dims(2)) error stop 'a row of a grid'
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_free(grid, ierror)
  if (grid /= MPI_COMM_NULL) error stop 'a grid that is freed'
  sources = [modulo(rank - 1, ranks), modulo(rank + 1, ranks)]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, sources, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., comm, ierror)
  call MPI_Dist_graph_neighbors_count(comm, i, n, is_weighted, ierror)
  if (i /= 2 .or. n /= 2 .or. is_weighted) error stop 'edges without weights'
  call MPI_Comm_free(comm, ierror)
  weights = [3, 4]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, sources, weights, MPI_INFO_NULL, .false., &
                                      comm, ierror)
  call MPI_Dist_graph_neighbors_count(comm, i, n, is_weighted, ierror)
  call MPI_Dist_graph_neighbors(comm, 2, found, found_weights, 2, indices, MPI_UNWEIGHTED, ierror)
  if (.not. is_weighted .or. any(found /= sources) .or. any(found_weights /= weights)) error stop 'edges with weights'
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
  ranges(:, 1) = [0, ranks - 1, 2]
  call MPI_Group_range_incl(group, 1, ranges, other, ierror)
  call MPI_Group_size(other, n, ierror)
  if (n /= (ranks + 1) / 2) error stop 'a range'
  call MPI_Group_free(other, ierror)
  call MPI_Group_free(group, ierror)

  ! Strings.
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, '  colour ', ' dark blue  ', ierror)
  call MPI_Info_get_nthkey(info, 0, key, ierror)
  if (key /= 'colour') error stop 'a key'
  call MPI_Info_get_valuelen(info, 'colour', n, flag, ierror)
  call MPI_Info_get(info, 'colour', 20, value, flag, ierror)
  if (.not. flag .or. n /= 9 .or. value /= 'dark blue') error stop 'a value'
  short = 'unchanged'
  call MPI_Info_get(info, 'size', 20, short, flag, ierror)
  if (flag .or. short /= 'unchanged') error stop 'no value'
  n = 4
  call MPI_Info_get_string(info, 'colour', n, value, flag, ierror)
  if (n /= 9 .or. value /= 'dark') error stop 'a part of a value'
  n = 0
  call MPI_Info_get_string(info, 'colour', n, short, flag, ierror)
  if (n /= 9 .or. short /= 'unchanged') error stop 'the length of a value'
  call MPI_Info_free(info, ierror)
  call MPI_Error_string(MPI_ERR_RANK, text, n, ierror)
  if (n < 8 .or. text(:n) == ' ' .or. text(n + 1:) /= ' ') error stop 'the text of an error'

  ! Memory, by an integer and by a pointer.
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, ierror)
  call c_f_pointer(memory, numbers, [10])
  numbers = [(i, i = 1, 10)]
  call MPI_Get_address(numbers, address, ierror)
  if (address /= transfer(memory, address)) error stop 'memory'
  call MPI_Free_mem(numbers, ierror)
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, ierror)
  if (address == 0) error stop 'more memory'
  call c_f_pointer(transfer(address, memory), numbers, [10])
  call MPI_Free_mem(numbers, ierror)
  call MPI_Sizeof(values, n, ierror)
  call MPI_Sizeof(memory, i, ierror)
  if (n /= 8 .or. i /= 8) error stop 'sizes'

  ! Attributes and errors.
  state = 5
  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, state, ierror)
  call MPI_Type_set_attr(MPI_INTEGER, keyval, -5_MPI_ADDRESS_KIND, ierror)
  call MPI_Type_dup(MPI_INTEGER, types(1), ierror)
  call MPI_Type_get_attr(types(1), keyval, attribute, flag, ierror)
  if (.not. flag .or. attribute /= -5) error stop 'an attribute'
  call MPI_Type_delete_attr(MPI_INTEGER, keyval, ierror)
  call MPI_Type_get_extent(types(1), lb, extent, ierror)
  if (lb /= 0 .or. extent /= 4) error stop 'an extent'
  call MPI_Type_free(types(1), ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Comm_create_errhandler(count_error, handler, ierror)
  call MPI_Comm_set_errhandler(comm, handler, ierror)
  call MPI_Bcast(data, 1, MPI_INTEGER, 7, comm, ierror)
  if (errors /= 1) error stop 'an error handler'
  call MPI_Comm_free(comm, ierror)

  if (rank == 0) print '(a)', 'all is right'
  call MPI_Finalize(ierror)
end program by_module
