/* What a library of Fortran registers of its compiler, before MPI_Init and after it. */
#include "common.h"

int main(int argc, char ** argv)
{
  const int32_t yes = -1, no = 0;
  int32_t       is_yes = 7, is_no = 7;
  int64_t       wide[2];
  int           is_set, size, flag, length = 8;
  char          value[8];
  MPI_Info      info, known;

  CHECK(MPI_Abi_get_fortran_info(&known) == MPI_SUCCESS && known == MPI_INFO_NULL);
  CHECK(MPI_Abi_get_fortran_booleans(4, &is_yes, &is_no, &is_set) == MPI_SUCCESS && !is_set && is_yes == 7);
  CHECK(MPI_Abi_set_fortran_booleans(4, (void *) &yes, (void *) &no) == MPI_SUCCESS);
  CHECK(MPI_Abi_get_fortran_booleans(4, &is_yes, &is_no, &is_set) == MPI_SUCCESS);
  CHECK(is_set && is_yes == -1 && is_no == 0);

  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  /* Once. */
  CHECK(class_of(MPI_Abi_set_fortran_booleans(4, (void *) &no, (void *) &yes)) == MPI_ERR_ABI);
  CHECK(MPI_Abi_get_fortran_booleans(4, &is_yes, &is_no, &is_set) == MPI_SUCCESS && is_set && is_yes == -1);
  /* Of another size nothing is known. */
  CHECK(MPI_Abi_get_fortran_booleans(8, &wide[0], &wide[1], &is_set) == MPI_SUCCESS && !is_set);
  CHECK(class_of(MPI_Abi_get_fortran_booleans(3, &wide[0], &wide[1], &is_set)) == MPI_ERR_ARG);

  MPI_Type_size(MPI_INTEGER16, &size);
  CHECK(size == 16);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_integer_size", "4");
  MPI_Info_set(info, "mpi_real_size", "three");
  CHECK(class_of(MPI_Abi_set_fortran_info(MPI_INFO_NULL)) == MPI_ERR_INFO);
  CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ARG);
  MPI_Info_set(info, "mpi_real_size", "8");
  CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Info_set(info, "mpi_real_size", "4");
  MPI_Info_set(info, "mpi_integer16_supported", "maybe");
  CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ARG);
  CHECK(MPI_Abi_get_fortran_info(&known) == MPI_SUCCESS && known == MPI_INFO_NULL);
  MPI_Info_set(info, "mpi_integer16_supported", "false");
  MPI_Info_set(info, "mpi_real8_supported", "true");
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ABI);
  /* A copy: what becomes of the program's object does not matter. */
  MPI_Info_set(info, "mpi_real_size", "16");
  CHECK(MPI_Abi_get_fortran_info(&known) == MPI_SUCCESS && known != MPI_INFO_NULL && known != info);
  MPI_Info_get_string(known, "mpi_real_size", &length, value, &flag);
  CHECK(flag && strcmp(value, "4") == 0);
  MPI_Info_free(&known);
  MPI_Info_free(&info);
  /* A type that the compiler does not have. */
  MPI_Type_size(MPI_INTEGER16, &size);
  CHECK(size == MPI_UNDEFINED);
  MPI_Type_size(MPI_REAL8, &size);
  CHECK(size == 8);
  MPI_Finalize();
  return 0;
}
