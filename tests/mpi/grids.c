/* Cartesian topologies. */
#include "common.h"

int main(int argc, char ** argv)
{
  int      rank, size, kind, n, own, got, sum, source, dest;
  int      dims[2] = {0, 0}, periods[2] = {1, 0}, lengths[2], rings[2], coords[2], other[2];
  MPI_Comm grid, row, copy;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Topo_test(grid, &kind);
  CHECK(kind == MPI_CART);
  MPI_Cartdim_get(grid, &n);
  CHECK(n == 2);
  MPI_Cart_get(grid, 2, lengths, rings, coords);
  CHECK(lengths[0] == dims[0] && lengths[1] == dims[1] && rings[0] && !rings[1]);
  CHECK(coords[0] == rank / dims[1] && coords[1] == rank % dims[1]);
  for (int r = 0; r < size; r++)
  {
    MPI_Cart_coords(grid, r, 2, other);
    MPI_Cart_rank(grid, other, &own);
    CHECK(own == r);
  }
  other[0] = coords[0] + dims[0], other[1] = coords[1];
  MPI_Cart_rank(grid, other, &own);
  CHECK(own == rank);

  /* Along the ring, and along the line, whose ends have no neighbours. */
  MPI_Cart_shift(grid, 0, 1, &source, &dest);
  MPI_Sendrecv(&rank, 1, MPI_INT, dest, 1, &got, 1, MPI_INT, source, 1, grid, MPI_STATUS_IGNORE);
  CHECK(got == (rank + size - dims[1]) % size);
  MPI_Cart_shift(grid, 1, 1, &source, &dest);
  CHECK((source == MPI_PROC_NULL) == (coords[1] == 0) && (dest == MPI_PROC_NULL) == (coords[1] == dims[1] - 1));
  got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, dest, 2, &got, 1, MPI_INT, source, 2, grid, MPI_STATUS_IGNORE);
  CHECK(got == (coords[1] == 0 ? -1 : rank - 1));

  /* Rows. A copy of a grid is a grid. */
  int remains[2] = {0, 1};
  MPI_Cart_sub(grid, remains, &row);
  MPI_Allreduce(&coords[0], &sum, 1, MPI_INT, MPI_SUM, row);
  CHECK(sum == coords[0] * dims[1]);
  MPI_Comm_dup(row, &copy);
  MPI_Cart_get(copy, 1, lengths, rings, other);
  CHECK(lengths[0] == dims[1] && !rings[0] && other[0] == coords[1]);

  /* Fewer places than ranks. */
  MPI_Comm part;
  int      less = (size + 1) / 2, ring = 1;
  MPI_Cart_map(MPI_COMM_WORLD, 1, &less, &ring, &own);
  CHECK(own == (rank < less ? rank : MPI_UNDEFINED));
  MPI_Cart_create(MPI_COMM_WORLD, 1, &less, &ring, 1, &part);
  CHECK((part == MPI_COMM_NULL) == (rank >= less));
  if (part != MPI_COMM_NULL)
  {
    MPI_Cart_shift(part, 0, -1, &source, &dest);
    CHECK(source == (rank + 1) % less && dest == (rank + less - 1) % less);
    MPI_Comm_free(&part);
  }
  set_errhandlers(MPI_ERRORS_RETURN);
  n = size + 1;
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &ring, 0, &part) != MPI_SUCCESS);
  other[0] = size + 1, other[1] = 0;
  CHECK(class_of(MPI_Dims_create(size, 2, other)) == MPI_ERR_DIMS);
  CHECK(class_of(MPI_Cartdim_get(MPI_COMM_WORLD, &n)) == MPI_ERR_TOPOLOGY);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&grid), MPI_Comm_free(&row), MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
