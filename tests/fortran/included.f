C     What programs without a module use: mpif.h in fixed form.
      program included
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, i, position, size, code, class
      integer status(MPI_STATUS_SIZE), request(2), index, length
      integer statuses(MPI_STATUS_SIZE, 2), keyval, attribute
      integer numbers(10), others(10), type
      integer(kind=MPI_ADDRESS_KIND) address, other
      logical flag
      double precision values(3), start
      character*40 text
      character*100 packed

      call MPI_INIT(ierror)
      start = MPI_WTIME()
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call check(ierror .eq. MPI_SUCCESS, 'start')
      call check(MPI_WTIME() .ge. start, 'a clock')

C     Messages, with and without statuses.
      do i = 1, 10
        numbers(i) = 100 * rank + i
        others(i) = 0
      end do
      call MPI_IRECV(others, 10, MPI_INTEGER, MPI_ANY_SOURCE, 7,
     &               MPI_COMM_WORLD, request(1), ierror)
      call MPI_ISEND(numbers, 10, MPI_INTEGER, mod(rank + 1, ranks), 7,
     &               MPI_COMM_WORLD, request(2), ierror)
      call MPI_WAITALL(2, request, statuses, ierror)
      i = mod(rank + ranks - 1, ranks)
      call check(statuses(MPI_SOURCE, 1) .eq. i, 'the source')
      call check(statuses(MPI_TAG, 1) .eq. 7, 'the tag')
      call check(others(10) .eq. 100 * i + 10, 'data')
      call check(request(1) .eq. MPI_REQUEST_NULL, 'a request')
      call MPI_SENDRECV(numbers(2), 1, MPI_INTEGER,
     &  mod(rank + 1, ranks), 8, others, 10, MPI_INTEGER, i, 8,
     &  MPI_COMM_WORLD, status, ierror)
      call MPI_GET_COUNT(status, MPI_INTEGER, size, ierror)
      call check(size .eq. 1 .and. others(1) .eq. 100 * i + 2, 'one')
      call MPI_WAITANY(2, request, index, MPI_STATUS_IGNORE, ierror)
      call check(index .eq. MPI_UNDEFINED, 'no request')

C     Constants at addresses.
      values(1) = rank
      values(2) = 1
      values(3) = -rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, values, 3, MPI_DOUBLE_PRECISION,
     &                   MPI_MAX, MPI_COMM_WORLD, ierror)
      call check(values(1) .eq. ranks - 1 .and. values(3) .eq. 0d0,
     &           'in place')
      call MPI_GET_ADDRESS(numbers, address, ierror)
      call MPI_GET_ADDRESS(numbers(3), other, ierror)
      call check(MPI_AINT_DIFF(other, address) .eq. 8, 'addresses')
      call check(MPI_AINT_ADD(address, other - address) .eq. other,
     &           'a sum')
      call MPI_TYPE_CREATE_HINDEXED(1, 1, address, MPI_INTEGER, type,
     &                              ierror)
      call MPI_TYPE_COMMIT(type, ierror)
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
      call check(numbers(1) .eq. 1, 'an absolute address')
      call MPI_TYPE_FREE(type, ierror)
      call check(type .eq. MPI_DATATYPE_NULL, 'a type')

C     Strings.
      call MPI_COMM_SET_NAME(MPI_COMM_WORLD, 'all of us  ', ierror)
      text = 'x'
      call MPI_COMM_GET_NAME(MPI_COMM_WORLD, text, length, ierror)
      call check(length .eq. 9 .and. text .eq. 'all of us', 'a name')
      position = 0
      call MPI_PACK(numbers, 10, MPI_INTEGER, packed, 100, position,
     &              MPI_COMM_WORLD, ierror)
      call check(position .eq. 40, 'a position')

C     Attributes as before MPI 2.
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0,
     &                       ierror)
      call MPI_ATTR_PUT(MPI_COMM_SELF, keyval, -17, ierror)
      call MPI_COMM_DUP(MPI_COMM_SELF, i, ierror)
      call MPI_ATTR_GET(i, keyval, attribute, flag, ierror)
      call check(flag .and. attribute .eq. -17, 'an attribute')
      call MPI_COMM_FREE(i, ierror)
      call MPI_ATTR_DELETE(MPI_COMM_SELF, keyval, ierror)
      call MPI_ATTR_GET(MPI_COMM_SELF, keyval, attribute, flag, ierror)
      call check(.not. flag, 'no attribute')
      call MPI_KEYVAL_FREE(keyval, ierror)
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, attribute, flag,
     &                  ierror)
      call check(flag .and. attribute .ge. 32767, 'the largest tag')

C     Errors.
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &                             ierror)
      call MPI_SEND(numbers, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD,
     &              code)
      call MPI_ERROR_CLASS(code, class, ierror)
      call check(class .eq. MPI_ERR_RANK, 'an error')

      call MPI_BARRIER(MPI_COMM_WORLD, ierror)
      if (rank .eq. 0) print '(a)', 'all is right'
      call MPI_FINALIZE(ierror)
      end

      subroutine check(is_true, what)
      logical is_true
      character*(*) what
      if (.not. is_true) then
        write (0, *) 'not as it should be: ', what
        error stop 1
      end if
      end
