! Files and windows by the module `mpi_f08`.
program files
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, right, i, count, unit, ierror, class
  integer, asynchronous :: mine(4), theirs(4), grid(4, 4)
  integer, pointer :: shared(:)
  integer(kind=MPI_OFFSET_KIND) :: offset, size
  integer(kind=MPI_ADDRESS_KIND) :: value, bytes
  character(len=200) :: name, datarep
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Datatype) :: etype, filetype, column
  type(MPI_Request) :: request
  type(MPI_Win) :: win
  type(MPI_Comm) :: node
  type(c_ptr) :: memory
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = modulo(rank + 1, ranks)
  ! One name for all.
  call get_environment_variable('TMPDIR', name)
  if (name == ' ') name = '/tmp'
  if (rank == 0) call system_clock(i)
  call MPI_Bcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  write (name, '(a, a, i0, a, i0)') trim(name), '/netloom-fortran-', abs(i), '-', ranks

  call MPI_File_open(MPI_COMM_WORLD, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file)
  mine = [(100 * rank + i, i = 1, 4)]
  offset = 16 * rank
  call MPI_File_write_at_all(file, offset, mine, 4, MPI_INTEGER, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  if (count /= 4) error stop 'written'
  call MPI_File_sync(file)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_sync(file)
  call MPI_File_get_size(file, size)
  if (size /= 16 * ranks) error stop 'the size of a file'
  offset = 16 * right
  call MPI_File_iread_at(file, offset, theirs, 4_MPI_COUNT_KIND, MPI_INTEGER, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (any(theirs /= [(100 * right + i, i = 1, 4)])) error stop 'read'
  ! A row of an array: each of its elements lies in another column.
  grid = 0
  call MPI_File_read_at(file, offset, grid(3, :), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
  if (any(grid(3, :) /= theirs) .or. any(grid([1, 2, 4], :) /= 0)) error stop 'a row'
  call MPI_Barrier(MPI_COMM_WORLD)

  ! Views: every rank writes its own elements of a column.
  call MPI_Type_create_subarray(1, [ranks], [1], [rank], MPI_ORDER_FORTRAN, MPI_INTEGER, column)
  call MPI_Type_commit(column)
  size = 0
  call MPI_File_set_view(file, size, MPI_INTEGER, column, 'native', MPI_INFO_NULL)
  call MPI_File_get_view(file, offset, etype, filetype, datarep)
  if (offset /= 0 .or. etype /= MPI_INTEGER .or. datarep /= 'native') error stop 'a view'
  call MPI_File_write_all(file, mine, 4, MPI_INTEGER, status)
  call MPI_File_set_view(file, size, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  offset = ranks
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_read_at(file, offset, theirs, 1, MPI_INTEGER, status)
  if (theirs(1) /= 2) error stop 'what a view wrote'
  call MPI_File_set_atomicity(file, .true.)
  call MPI_File_get_atomicity(file, flag)
  if (.not. flag) error stop 'atomic'
  call MPI_File_seek(file, -4_MPI_OFFSET_KIND, MPI_SEEK_END)
  call MPI_File_get_position(file, offset)
  if (offset /= 4 * ranks - 4) error stop 'a position'
  call MPI_File_close(file)
  if (file /= MPI_FILE_NULL) error stop 'a file that is closed'
  ! Others read it, too.
  if (rank == 0) then
    open (newunit=unit, file=name, access='stream', form='unformatted', status='old')
    read (unit) (i, count = 1, ranks + 1)
    close (unit)
    if (i /= 2) error stop 'read by Fortran'
    call MPI_File_delete(name, MPI_INFO_NULL)
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_NO_SUCH_FILE) error stop 'a file that is deleted'

  ! Windows.
  call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win)
  call c_f_pointer(memory, shared, [10])
  shared = 0
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
  if (.not. flag .or. value /= 40) error stop 'the size of a window'
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
  if (.not. flag .or. value /= 4) error stop 'the unit of a window'
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
  if (.not. flag .or. value /= transfer(memory, value)) error stop 'the memory of a window'
  call MPI_Win_fence(0, win)
  call MPI_Put(mine, 2, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  i = modulo(rank - 1, ranks)
  if (any(shared(:4) /= [0, 100 * i + 1, 100 * i + 2, 0])) error stop 'a put'
  call MPI_Accumulate(mine, 4_MPI_COUNT_KIND, MPI_INTEGER, 0, 5_MPI_ADDRESS_KIND, 4_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, win)
  call MPI_Win_fence(0, win)
  if (rank == 0 .and. shared(6) /= 50 * ranks * (ranks - 1) + ranks) error stop 'accumulated'
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)
  call MPI_Fetch_and_op(1, i, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
  call MPI_Win_unlock(0, win)
  if (i < 0 .or. i >= ranks) error stop 'fetched'
  call MPI_Win_free(win)

  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
  call MPI_Comm_rank(node, i)
  call MPI_Win_allocate_shared(merge(16_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND, i == 0), 4, MPI_INFO_NULL, node, memory, win)
  call MPI_Win_shared_query(win, 0, bytes, count, memory)
  if (bytes /= 16 .or. count /= 4) error stop 'shared memory'
  call c_f_pointer(memory, shared, [4])
  call MPI_Win_fence(0, win)
  if (i == 0) shared = [1, 2, 3, 4]
  call MPI_Win_fence(0, win)
  if (shared(4) /= 4) error stop 'what another rank wrote'
  call MPI_Win_free(win)
  call MPI_Comm_free(node)
  call MPI_Type_free(column)
  if (rank == 0) print '(a)', 'all is right'
  call MPI_Finalize()
end program files
