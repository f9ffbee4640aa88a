! Heat in a square plate of which one edge is hot, as in jacobi.c, but the ranks are a grid: each has a part of the rows and of the
! columns. The edge of a part that lies along a row is a section of the array with gaps, which needs no copy and no datatype.
!
!   netloom fc -O2 heat.f90 -o heat
!   netloom exec -n 4 ./heat                       on this computer
!   netloom mpirun --machine bgq -n 64 ./heat      on a simulated Blue Gene/Q
!
! It prints the same as jacobi.c on any number of ranks, but for the time.
program heat
  use mpi_f08
  implicit none
  integer, parameter :: n = 256, steps_max = 2000, rows = 1, columns = 2
  double precision, allocatable, asynchronous :: now(:, :)
  double precision, allocatable :: next(:, :)
  double precision :: change, largest, sum, total, start, took
  integer :: ranks, rank, step, dims(2), coords(2), first(2), counts(2), before(2), after(2), d
  type(MPI_Comm) :: grid
  type(MPI_Request) :: requests(8)

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 2, coords)
  do d = 1, 2
    call MPI_Cart_shift(grid, d - 1, 1, before(d), after(d))
    first(d) = n * coords(d) / dims(d) + 1
    counts(d) = n * (coords(d) + 1) / dims(d) - first(d) + 1
  end do

  ! With a line of each neighbour around it. The first row of the plate is hot.
  associate (r => counts(rows), c => counts(columns))
    allocate (now(0:r + 1, 0:c + 1), source=0d0)
    allocate (next(0:r + 1, 0:c + 1), source=0d0)
    if (coords(rows) == 0) now(0, :) = 100
    next = now

    start = MPI_Wtime()
    change = 1
    step = 0
    do while (step < steps_max .and. change > 0.01d0)
      call MPI_Irecv(now(0, 1:c), c, MPI_DOUBLE_PRECISION, before(rows), 1, grid, requests(1))
      call MPI_Irecv(now(r + 1, 1:c), c, MPI_DOUBLE_PRECISION, after(rows), 2, grid, requests(2))
      call MPI_Irecv(now(1:r, 0), r, MPI_DOUBLE_PRECISION, before(columns), 3, grid, requests(3))
      call MPI_Irecv(now(1:r, c + 1), r, MPI_DOUBLE_PRECISION, after(columns), 4, grid, requests(4))
      call MPI_Isend(now(1, 1:c), c, MPI_DOUBLE_PRECISION, before(rows), 2, grid, requests(5))
      call MPI_Isend(now(r, 1:c), c, MPI_DOUBLE_PRECISION, after(rows), 1, grid, requests(6))
      call MPI_Isend(now(1:r, 1), r, MPI_DOUBLE_PRECISION, before(columns), 4, grid, requests(7))
      call MPI_Isend(now(1:r, c), r, MPI_DOUBLE_PRECISION, after(columns), 3, grid, requests(8))
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
      call relax(now, next, largest)
      call MPI_Allreduce(largest, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
      now(1:r, 1:c) = next(1:r, 1:c)
      step = step + 1
    end do
    took = MPI_Wtime() - start

    sum = 0
    do d = 1, c
      sum = sum + sum_of(now(1:r, d))
    end do
  end associate
  call MPI_Reduce(sum, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, grid)
  if (rank == 0) then
    print '(i0, a, f0.6, a, f0.9)', step, ' steps, largest change 0', change, ', mean ', total / n / n
    print '(i0, a, f0.3, a)', ranks, ' ranks, ', took * 1d3, ' ms'
  end if
  call MPI_Finalize()

contains

  ! One step of what is not on the edge of the plate.
  subroutine relax(now, next, largest)
    double precision, intent(in) :: now(0:, 0:)
    double precision, intent(inout) :: next(0:, 0:)
    double precision, intent(out) :: largest
    integer :: x, y, low, high
    low = 1
    high = counts(columns)
    if (coords(columns) == 0) low = 2
    if (coords(columns) == dims(columns) - 1) high = high - 1
    largest = 0
    do x = low, high
      do y = 1, counts(rows)
        next(y, x) = (now(y, x - 1) + now(y, x + 1) + now(y - 1, x) + now(y + 1, x)) / 4
        largest = max(largest, abs(next(y, x) - now(y, x)))
      end do
    end do
  end subroutine relax

  double precision function sum_of(column)
    double precision, intent(in) :: column(:)
    integer :: y
    sum_of = 0
    do y = 1, size(column)
      sum_of = sum_of + column(y)
    end do
  end function sum_of
end program heat
