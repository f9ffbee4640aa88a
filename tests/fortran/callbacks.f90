! Functions of the program, by the module `mpi_f08`: reductions, attributes, error handlers, generalized requests.
module functions
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: errors = 0, last_error, deleted = 0, freed = 0
  integer(kind=MPI_ADDRESS_KIND) :: last_deleted = 0
contains
  ! Not commutative: the product of matrices of 2 by 2.
  subroutine multiply(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len, i
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:, :, :), b(:, :, :)
    call c_f_pointer(invec, a, [2, 2, len])
    call c_f_pointer(inoutvec, b, [2, 2, len])
    if (datatype == MPI_INTEGER) error stop 'the type of a reduction'
    do i = 1, len
      b(:, :, i) = matmul(a(:, :, i), b(:, :, i))
    end do
  end subroutine multiply

  subroutine add_long(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    real, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype /= MPI_REAL) error stop 'the type of a long reduction'
    b = a + b
  end subroutine add_long

  subroutine count_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, size
    call MPI_Comm_size(comm, size)
    errors = errors + size
    last_error = error_code
  end subroutine count_error

  subroutine count_win_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win == MPI_WIN_NULL) error stop 'the window of an error'
    errors = errors + 1
    last_error = error_code
  end subroutine count_win_error

  subroutine copy_doubled(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = 2 * attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
    if (oldcomm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID) ierror = MPI_ERR_OTHER
  end subroutine copy_doubled

  subroutine note_deleted(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deleted = deleted + 1
    last_deleted = attribute_val
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 3)
  end subroutine note_deleted

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    status%MPI_SOURCE = int(extra_state)
    status%MPI_TAG = 5
    call MPI_Status_set_elements(status, MPI_INTEGER, 9)
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (complete) error stop 'cancelled too late'
    freed = freed + 100 * int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine cancel
end module functions

program callbacks
  use functions
  implicit none
  integer :: rank, ranks, i, class, count, ierror, keyval
  integer :: mine(2, 2, 3), all(2, 2, 3), expected(2, 2)
  real :: values(4), sums(4)
  type(MPI_Op) :: op
  type(MPI_Datatype) :: matrix
  type(MPI_Comm) :: comm, copy
  type(MPI_Errhandler) :: handler, found
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Win) :: win
  integer(kind=MPI_ADDRESS_KIND) :: value, large
  logical :: flag, commute

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  call MPI_Type_contiguous(4, MPI_INTEGER, matrix)
  call MPI_Type_commit(matrix)
  call MPI_Op_create(multiply, .false., op)
  call MPI_Op_commutative(op, commute)
  if (commute) error stop 'the operation commutes'
  mine = reshape([((/ 1, 1, rank, 1 /), i = 1, 3)], [2, 2, 3])
  call MPI_Allreduce(mine, all, 3, matrix, op, MPI_COMM_WORLD)
  expected = reshape([1, 0, 0, 1], [2, 2])
  do i = 0, ranks - 1
    expected = matmul(expected, reshape([1, 1, i, 1], [2, 2]))
  end do
  do i = 1, 3
    if (any(all(:, :, i) /= expected)) error stop 'a product'
  end do
  call MPI_Op_free(op)
  if (op /= MPI_OP_NULL) error stop 'an operation that is freed'

  call MPI_Op_create_c(add_long, .true., op)
  values = [(real(i + rank), i = 1, 4)]
  call MPI_Reduce(values, sums, 4_MPI_COUNT_KIND, MPI_REAL, op, 0, MPI_COMM_WORLD)
  if (rank == 0 .and. any(sums /= [(real(i * ranks + ranks * (ranks - 1) / 2), i = 1, 4)])) error stop 'a long sum'
  call MPI_Op_free(op)

  ! Attributes, of which only the copy is doubled.
  large = 2_MPI_ADDRESS_KIND**40
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_keyval(copy_doubled, note_deleted, keyval, 3_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, large)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  if (.not. flag .or. value /= large) error stop 'an attribute'
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, value, flag)
  if (.not. flag .or. value /= 2 * large + 3) error stop 'the attribute of a copy'
  call MPI_Comm_free(copy)
  if (deleted /= 1 .or. last_deleted /= 2 * large + 3) error stop 'a deleted attribute'
  call MPI_Comm_delete_attr(comm, keyval)
  if (deleted /= 2 .or. last_deleted /= large) error stop 'another deleted attribute'
  call MPI_Comm_free_keyval(keyval)
  if (keyval /= MPI_KEYVAL_INVALID) error stop 'a key that is freed'
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, -1_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, value, flag)
  if (flag) error stop 'an attribute that is not copied'
  call MPI_Comm_free(copy)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  if (.not. flag .or. value < 32767) error stop 'the largest tag'

  ! Error handlers.
  call MPI_Comm_create_errhandler(count_error, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Comm_get_errhandler(comm, found)
  if (found /= handler) error stop 'an error handler'
  call MPI_Errhandler_free(found)
  call MPI_Errhandler_free(handler)
  call MPI_Send(i, 1, MPI_INTEGER, ranks, 0, comm, ierror)
  call MPI_Error_class(last_error, class)
  if (errors /= ranks .or. class /= MPI_ERR_RANK) error stop 'an error of a communicator'
  call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER)
  if (errors /= 2 * ranks .or. last_error /= MPI_ERR_OTHER) error stop 'a handler that is called'
  errors = 0
  call MPI_Win_create(values, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_create_errhandler(count_win_error, handler)
  call MPI_Win_set_errhandler(win, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Win_fence(0, win)
  call MPI_Put(sums, 1, MPI_REAL, ranks, 0_MPI_ADDRESS_KIND, 1, MPI_REAL, win, ierror)
  if (errors /= 1 .or. last_error == MPI_SUCCESS) error stop 'an error of a window'
  call MPI_Win_fence(0, win)
  call MPI_Win_free(win)
  call MPI_Comm_free(comm)

  ! Generalized requests.
  call MPI_Grequest_start(query, release, cancel, 7_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, status)
  if (flag) error stop 'a request that is not done'
  call MPI_Cancel(request)
  if (freed /= 700) error stop 'a cancelled request'
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  if (status%MPI_SOURCE /= 7 .or. status%MPI_TAG /= 5 .or. count /= 9) error stop 'the status of a request'
  if (freed /= 707) error stop 'a request that is freed'

  call MPI_Type_free(matrix)
  if (rank == 0) print '(a)', 'all is right'
  call MPI_Finalize()
end program callbacks
