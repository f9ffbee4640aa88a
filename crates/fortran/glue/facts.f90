! Facts of the compiler, for the library in C.
subroutine netloom_fortran_logicals(is_true, is_false) bind(C)
  implicit none
  logical, intent(out) :: is_true, is_false
  is_true = .true.
  is_false = .false.
end subroutine netloom_fortran_logicals

! Whether there is a kind (of integers, reals, logicals), or the bytes of a type.
integer(c_int) function netloom_fortran_kind(what, kind) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: integer_kinds, logical_kinds, real_kinds
  implicit none
  integer(c_int), value :: what, kind
  select case (what)
  case (1)
    netloom_fortran_kind = merge(1, 0, any(integer_kinds == kind))
  case (2)
    netloom_fortran_kind = merge(1, 0, any(real_kinds == kind))
  case (3)
    netloom_fortran_kind = merge(1, 0, any(logical_kinds == kind))
  case (4)
    netloom_fortran_kind = storage_size(.true.) / 8
  case (5)
    netloom_fortran_kind = storage_size(0) / 8
  case (6)
    netloom_fortran_kind = storage_size(0.0) / 8
  case default
    netloom_fortran_kind = storage_size(0d0) / 8
  end select
end function netloom_fortran_kind
