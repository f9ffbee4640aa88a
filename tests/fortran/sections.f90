! Buffers that are sections of arrays with gaps, by the module `mpi_f08`.
program sections
  use mpi_f08
  implicit none
  integer, parameter :: n = 6
  integer :: rank, ranks, left, right, i, ierror, class, size
  integer, asynchronous :: a(n, n, n), b(n, n, n), line(4 * n), wide(2, 8), gathered(3, 64), sent(10)
  integer :: counts(64), displacements(64)
  real, asynchronous :: x(10), y(10)
  complex, asynchronous :: z(6)
  type(MPI_Request) :: requests(2), request
  type(MPI_Status) :: status
  type(MPI_Datatype) :: pair, later
  type(MPI_Win) :: win
  type(MPI_Comm) :: comm
  logical :: flag

  if (.not. MPI_SUBARRAYS_SUPPORTED) error stop 'sections are not supported'
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (ranks > 64) error stop 'too many ranks'
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  a = reshape([(i, i = 1, n**3)], [n, n, n]) + 1000 * rank

  ! Planes, without waiting.
  b = -1
  call MPI_Irecv(b(2:5:3, :, 3), 2 * n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a(1, ::2, ::3), 6, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  line = -1
  line(:6) = reshape(a(1, ::2, ::3), [6]) - 1000 * rank + 1000 * left
  if (any(reshape(b(2:5:3, :, 3), [2 * n]) /= line(:2 * n))) error stop 'planes'
  if (count(b /= -1) /= 6) error stop 'what is between planes'

  ! In reverse, and fewer than there are.
  sent = [(10 * rank + i, i = 1, 10)]
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  line = 0
  call MPI_Sendrecv(sent(10:1:-1), 7, MPI_INTEGER, right, 2, line(1::2), 12, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, size)
  if (size /= 7 .or. any(line(1:13:2) /= [(10 * left + i, i = 10, 4, -1)]) .or. any(line(2::2) /= 0)) error stop 'in reverse'
  ! More than there are is an error.
  call MPI_Send(sent(::2), 6, MPI_INTEGER, MPI_PROC_NULL, 0, comm, ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_BUFFER) error stop 'more than a section has'

  ! Types of several elements, and elements of several values.
  call MPI_Type_contiguous(2, MPI_REAL, pair)
  call MPI_Type_commit(pair)
  x = [(real(i + 100 * rank), i = 1, 10)]
  y = 0
  call MPI_Sendrecv(x(1:9:2), 2, pair, right, 3, y(2:10:2), 2, pair, left, 3, MPI_COMM_WORLD, status)
  if (any(y(2:8:2) /= x(1:7:2) - 100 * rank + 100 * left) .or. y(10) /= 0 .or. any(y(1::2) /= 0)) error stop 'pairs'
  ! Two receives into one section, of which each changes its part alone, whichever ends first.
  y = 0
  call MPI_Type_indexed(1, [2], [2], MPI_REAL, later)
  call MPI_Type_commit(later)
  call MPI_Irecv(y(2:10:2), 1, later, left, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(y(2:10:2), 1, pair, left, 3, MPI_COMM_WORLD, requests(2))
  call MPI_Send(x(1:9:2), 1, pair, right, 3, MPI_COMM_WORLD)
  do
    call MPI_Request_get_status(requests(2), flag, status)
    if (flag) exit
  end do
  if (any(y(2:4:2) /= x(1:3:2) - 100 * rank + 100 * left)) error stop 'a request that is looked at'
  call MPI_Isend(x(1:9:2), 1, later, right, 4, MPI_COMM_WORLD, request)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (any(y(2:8:2) /= x(1:7:2) - 100 * rank + 100 * left) .or. y(10) /= 0 .or. any(y(1::2) /= 0)) error stop 'two receives'
  call MPI_Type_free(later)
  call MPI_Recv_init(y(2:10:2), 1, pair, left, 3, comm, request, ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_BUFFER) error stop 'a persistent request'
  z = [(cmplx(i, rank), i = 1, 6)]
  call MPI_Irecv(z(2::2), 6, MPI_REAL, left, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(z(1::2), 3, MPI_COMPLEX, right, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any(z(2::2) /= [cmplx(1, left), cmplx(3, left), cmplx(5, left)])) error stop 'complex numbers'

  ! Collectives.
  line = -1
  if (rank == 0) line(::3) = [(i, i = 1, 8)]
  call MPI_Bcast(line(::3), 8, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (any(line(::3) /= [(i, i = 1, 8)]) .or. any(line(2::3) /= -1)) error stop 'a broadcast'
  x = rank
  y = -1
  call MPI_Allreduce(x(1:10:3), y(2:8:2), 4, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  if (any(y(2:8:2) /= ranks * (ranks - 1) / 2) .or. any(y(1:9:2) /= -1)) error stop 'a sum'
  call MPI_Allreduce(MPI_IN_PLACE, x(1:10:3), 4, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
  if (any(x(1:10:3) /= ranks - 1) .or. any(x(2:8:3) /= rank)) error stop 'in place'
  gathered = -1
  wide = rank
  call MPI_Gather(wide(1, :2), 2, MPI_INTEGER, gathered(2, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    if (any(gathered(2, :2 * ranks) /= [((i - 1) / 2, i = 1, 2 * ranks)]) .or. any(gathered([1, 3], :) /= -1)) &
      error stop 'gathered'
  end if
  counts(:ranks) = [(mod(i, 2), i = 1, ranks)]
  displacements(:ranks) = [(i - 1, i = 1, ranks)]
  gathered = -1
  call MPI_Allgatherv(wide(2, 3:), mod(rank + 1, 2), MPI_INTEGER, gathered(3, :), counts, displacements, MPI_INTEGER, &
                      MPI_COMM_WORLD)
  if (any(gathered(3, 1:ranks:2) /= [(i - 1, i = 1, ranks, 2)]) .or. count(gathered /= -1) /= (ranks + 1) / 2) &
    error stop 'gathered by counts'
  call MPI_Ibcast(line(::3), 8, MPI_INTEGER, 0, comm, requests(1), ierror)
  if (ierror /= MPI_SUCCESS) error stop 'a broadcast that is started'
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  x = rank
  y = -1
  call MPI_Iallreduce(x(1:10:3), y(2:8:2), 4, MPI_REAL, MPI_SUM, comm, requests(1))
  call MPI_Iallreduce(MPI_IN_PLACE, x(2:5:3), 2, MPI_REAL, MPI_MAX, comm, requests(2))
  do
    call MPI_Waitany(2, requests, i, status)
    if (i == MPI_UNDEFINED) exit
    if (i == 1 .and. any(y(2:8:2) /= ranks * (ranks - 1) / 2)) error stop 'a sum that is started'
    if (i == 2 .and. any(x(2:5:3) /= ranks - 1)) error stop 'a maximum that is started'
  end do
  if (any(y(1:9:2) /= -1) .or. any(x(1:10:3) /= rank)) error stop 'what is between'
  call MPI_Allreduce_init(x(1:10:3), y(2:8:2), 4, MPI_REAL, MPI_SUM, comm, MPI_INFO_NULL, requests(1), ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_BUFFER) error stop 'a persistent sum'
  ! A part of a plane: one column and one element of the next.
  b = -1
  call MPI_Sendrecv(a(1, ::2, ::3), 4, MPI_INTEGER, right, 5, b(6, 2::4, :), 6, MPI_INTEGER, left, 5, MPI_COMM_WORLD, status)
  line(:4) = [a(1, ::2, 1), a(1, 1, 4)] - 1000 * rank + 1000 * left
  if (any([b(6, 2::4, 1), b(6, 2::4, 2)] /= line(:4)) .or. count(b /= -1) /= 4) error stop 'a part of a plane'

  ! One-sided.
  line = -1
  call MPI_Win_create(line, 4_MPI_ADDRESS_KIND * size_of(line), 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  call MPI_Put(sent(2:10:4), 3, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  if (any(line(:5) /= [-1, 10 * left + 2, 10 * left + 6, 10 * left + 10, -1])) error stop 'a put'
  b = 0
  call MPI_Get(b(1, 1, :), 3, MPI_INTEGER, left, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  i = modulo(left - 1, ranks)
  if (any(b(1, 1, :3) /= [10 * i + 2, 10 * i + 6, 10 * i + 10]) .or. any(b(2:, :, :) /= 0)) error stop 'a get'
  call MPI_Win_free(win)

  call MPI_Type_free(pair)
  call MPI_Comm_free(comm)
  if (rank == 0) print '(a)', 'all is right'
  call MPI_Finalize()
contains
  integer function size_of(list)
    integer, intent(in) :: list(:)
    size_of = ubound(list, 1)
  end function size_of
end program sections
