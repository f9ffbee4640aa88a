/* Functions that MPI 3.0 removed, as older programs call them. */
#include "common.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int errors;

static void count_error(MPI_Comm *comm, int *code, ...)
{
  (void) comm;
  (void) code;
  errors++;
}

int main(int argc, char ** argv)
{
  struct { double x; int n[2]; } pair = {1.5, {7, 8}}, other;
  int            lengths[2] = {1, 2}, blocks[2] = {1, 1}, size;
  MPI_Aint       at[2], extent, lb, ub, gaps[2] = {0, 24};
  MPI_Datatype   types[2] = {MPI_DOUBLE, MPI_INT}, type, columns;
  MPI_Errhandler handler, has;

  MPI_Init(&argc, &argv);
  MPI_Address(&pair.x, &at[0]);
  MPI_Address(&pair.n, &at[1]);
  at[1] -= at[0];
  at[0] = 0;
  MPI_Type_struct(2, lengths, at, types, &type);
  MPI_Type_commit(&type);
  CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS && extent == sizeof pair);
  CHECK(MPI_Type_lb(type, &lb) == MPI_SUCCESS && lb == 0);
  CHECK(MPI_Type_ub(type, &ub) == MPI_SUCCESS && ub == extent);
  MPI_Sendrecv(&pair, 1, type, 0, 3, &other, 1, type, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(other.x == 1.5 && other.n[0] == 7 && other.n[1] == 8);
  MPI_Type_free(&type);
  MPI_Type_hvector(3, 1, 16, MPI_INT, &type);
  MPI_Type_hindexed(2, blocks, gaps, type, &columns);
  CHECK(MPI_Type_extent(columns, &extent) == MPI_SUCCESS && extent == 24 + 36);
  MPI_Type_size(columns, &size);
  CHECK(size == 6 * (int) sizeof(int));
  MPI_Type_free(&columns);
  MPI_Type_free(&type);

  MPI_Errhandler_create(count_error, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &has);
  CHECK(has == handler);
  MPI_Send(&size, 1, MPI_INT, -7, 0, MPI_COMM_WORLD);
  CHECK(errors == 1);
  MPI_Errhandler_free(&has);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
