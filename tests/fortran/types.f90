! Datatypes by the module `mpi_f08`: of structures, what they are made of, long counts, kinds.
program types
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32
  implicit none
  type, bind(C) :: particle
    real(c_double) :: x(3)
    integer(c_int) :: id
    character(c_char) :: kind
  end type particle
  type(particle) :: mine(4), theirs(4)
  integer :: rank, ranks, left, right, i, size, numbers, addresses, datatypes, combiner
  integer :: integers(8)
  integer(kind=MPI_ADDRESS_KIND) :: displacements(3), lb, extent, base
  integer(kind=MPI_COUNT_KIND) :: long, counts(8), long_numbers, long_addresses, long_counts, long_datatypes
  type(MPI_Datatype) :: made, struct, parts(3), vector, chosen
  type(MPI_Status) :: status
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=64) :: external
  integer(int64) :: big(3)
  integer(selected_int_kind(15)) :: chosen_integer
  logical :: is_same

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)

  call MPI_Get_address(mine(1), base)
  call MPI_Get_address(mine(1)%x, displacements(1))
  call MPI_Get_address(mine(1)%id, displacements(2))
  call MPI_Get_address(mine(1)%kind, displacements(3))
  displacements = displacements - base
  parts = [MPI_DOUBLE, MPI_INTEGER, MPI_CHARACTER]
  call MPI_Type_create_struct(3, [3, 1, 1], displacements, parts, made)
  call MPI_Get_address(mine(2), extent)
  call MPI_Type_create_resized(made, 0_MPI_ADDRESS_KIND, extent - base, struct)
  call MPI_Type_commit(struct)
  call MPI_Type_get_extent(struct, lb, extent)
  if (lb /= 0 .or. extent /= 32) error stop 'an extent'
  do i = 1, 4
    mine(i) = particle([1d0 * i, 2d0 * i, 1d0 * rank], 100 * rank + i, 'k')
    theirs(i) = particle([0d0, 0d0, 0d0], 0, ' ')
  end do
  call MPI_Sendrecv(mine, 4, struct, right, 0, theirs, 4, struct, left, 0, MPI_COMM_WORLD, status)
  do i = 1, 4
    if (any(theirs(i)%x /= [1d0 * i, 2d0 * i, 1d0 * left]) .or. theirs(i)%id /= 100 * left + i) error stop 'structures'
    if (theirs(i)%kind /= 'k') error stop 'a character'
  end do
  call MPI_Get_elements(status, struct, size)
  if (size /= 20) error stop 'elements'

  ! What a type is made of.
  call MPI_Type_get_envelope(made, numbers, addresses, datatypes, combiner)
  if (numbers /= 4 .or. addresses /= 3 .or. datatypes /= 3 .or. combiner /= MPI_COMBINER_STRUCT) error stop 'an envelope'
  displacements = 0
  parts = MPI_DATATYPE_NULL
  call MPI_Type_get_contents(made, numbers, addresses, datatypes, integers, displacements, parts)
  if (any(integers(:4) /= [3, 3, 1, 1]) .or. displacements(2) /= 24) error stop 'contents'
  if (parts(1) /= MPI_DOUBLE .or. parts(2) /= MPI_INTEGER .or. parts(3) /= MPI_CHARACTER) error stop 'types within a type'

  ! Long counts.
  long = 3
  call MPI_Type_vector(long, 2_MPI_COUNT_KIND, 4_MPI_COUNT_KIND, MPI_INTEGER, vector)
  call MPI_Type_size(vector, long)
  if (long /= 24) error stop 'a long size'
  call MPI_Type_get_envelope(vector, long_numbers, long_addresses, long_counts, long_datatypes, combiner)
  if (combiner /= MPI_COMBINER_VECTOR .or. long_counts /= 3 .or. long_datatypes /= 1) error stop 'a long envelope'
  call MPI_Type_get_contents(vector, long_numbers, long_addresses, long_counts, long_datatypes, integers, displacements, &
                             counts, parts)
  if (any(counts(:3) /= [3, 2, 4]) .or. parts(1) /= MPI_INTEGER) error stop 'long contents'
  call MPI_Type_free(vector)
  call MPI_Type_contiguous(2_MPI_COUNT_KIND**33, MPI_INTEGER, vector)
  call MPI_Type_size(vector, size)
  call MPI_Type_size(vector, long)
  if (size /= MPI_UNDEFINED .or. long /= 2_MPI_COUNT_KIND**35) error stop 'a size that is too long'
  call MPI_Type_free(vector)
  big = [1_int64, 2_int64**40, int(rank, int64)]
  call MPI_Allreduce(MPI_IN_PLACE, big, 3_MPI_COUNT_KIND, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
  if (any(big /= [int(ranks, int64), ranks * 2_int64**40, ranks * (ranks - 1_int64) / 2])) error stop 'a sum of long integers'

  ! Kinds.
  call MPI_Type_create_f90_integer(15, chosen)
  call MPI_Type_size(chosen, size)
  if (size /= storage_size(chosen_integer) / 8) error stop 'an integer of 15 digits'
  call MPI_Type_create_f90_real(6, 30, chosen)
  call MPI_Type_size(chosen, size)
  if (size /= storage_size(1.0_real32) / 8) error stop 'a real of 6 digits'
  call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, chosen)
  if (chosen /= MPI_COMPLEX16 .and. chosen /= MPI_DOUBLE_COMPLEX) error stop 'a complex type of 16 bytes'
  call MPI_Sizeof(big, size)
  if (size /= 8) error stop 'the size of a variable'
  call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, size)
  if (size /= 20 .or. name /= 'MPI_DOUBLE_PRECISION') error stop 'a name'

  ! As other computers store it.
  lb = 0
  call MPI_Pack_external('external32  ', [1, 2, 3], 3, MPI_INTEGER, external, 64_MPI_ADDRESS_KIND, lb)
  if (lb /= 12 .or. ichar(external(4:4)) /= 1) error stop 'packed'
  lb = 0
  call MPI_Unpack_external('external32', external, 12_MPI_ADDRESS_KIND, lb, integers, 3_MPI_COUNT_KIND, MPI_INTEGER)
  if (any(integers(:3) /= [1, 2, 3])) error stop 'unpacked'

  is_same = made == struct
  if (is_same) error stop 'two types'
  call MPI_Type_free(made)
  call MPI_Type_free(struct)
  if (rank == 0) print '(a)', 'all is right'
  call MPI_Finalize()
end program types
