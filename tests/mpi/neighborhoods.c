/* Graph topologies, and collectives of neighborhoods: on grids, rings of any length, graphs and distributed graphs. */
#include "common.h"

enum { MOST = 128 };
static int rank, size;

/* Exchanges by all forms; `from[k]` is the rank and the block that block k receives, rank -1 if none. */
static void exchange(MPI_Comm comm, int indegree, const int from[][2], int outdegree)
{
  int          out[MOST], in[MOST], counts[MOST], places[MOST], value, own;
  MPI_Aint     bytes[MOST];
  MPI_Datatype types[MOST];
  MPI_Request  requests[5];
  MPI_Comm_rank(comm, &own);
  for (int n = 0; n < MOST; n++) counts[n] = 1, places[n] = n, bytes[n] = n * sizeof(int), types[n] = MPI_INT;
  for (int how = 0; how < 3; how++)
    for (int form = 0; form < 5; form++)
    {
      MPI_Request request = MPI_REQUEST_NULL;
      value = 100 * own + 77;
      for (int n = 0; n < outdegree; n++) out[n] = 100 * own + n;
      for (int n = 0; n < MOST; n++) in[n] = -1;
      if (form == 0)
      {
        if (how == 0) MPI_Neighbor_allgather(&value, 1, MPI_INT, in, 1, MPI_INT, comm);
        if (how == 1) MPI_Ineighbor_allgather(&value, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
        if (how == 2) MPI_Neighbor_allgather_init(&value, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
      }
      if (form == 1)
      {
        if (how == 0) MPI_Neighbor_allgatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm);
        if (how == 1) MPI_Ineighbor_allgatherv(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm, &request);
        if (how == 2)
          MPI_Neighbor_allgatherv_init(&value, 1, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL, &request);
      }
      if (form == 2)
      {
        if (how == 0) MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
        if (how == 1) MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
        if (how == 2) MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
      }
      if (form == 3)
      {
        if (how == 0) MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
        if (how == 1) MPI_Ineighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm, &request);
        if (how == 2)
          MPI_Neighbor_alltoallv_init(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL,
                                      &request);
      }
      if (form == 4)
      {
        if (how == 0) MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm);
        if (how == 1) MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm, &request);
        if (how == 2)
          MPI_Neighbor_alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, comm, MPI_INFO_NULL, &request);
      }
      if (how == 2) MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (how == 2) MPI_Request_free(&request);
      for (int n = 0; n < MOST; n++)
      {
        int there = n < indegree && from[n][0] >= 0;
        CHECK(in[n] == (there ? 100 * from[n][0] + (form < 2 ? 77 : from[n][1]) : -1));
      }
    }
  /* Several at once. */
  int all[5][MOST];
  for (int k = 0; k < 5; k++) MPI_Ineighbor_alltoall(out, 1, MPI_INT, all[k], 1, MPI_INT, comm, &requests[k]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  for (int n = 0; n < indegree; n++)
    for (int k = 0; k < 5; k++) CHECK(from[n][0] < 0 || all[k][n] == 100 * from[n][0] + from[n][1]);
}

/* What a rank sends down comes to its lower neighbor from above. */
static void grid(int ndims, const int dims[], const int periods[])
{
  MPI_Comm comm;
  int      from[MOST][2], own;
  MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm);
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &own);
  for (int d = 0; d < ndims; d++)
  {
    int below, above;
    MPI_Cart_shift(comm, d, 1, &below, &above);
    from[2 * d][0] = below == MPI_PROC_NULL ? -1 : below, from[2 * d][1] = 2 * d + 1;
    from[2 * d + 1][0] = above == MPI_PROC_NULL ? -1 : above, from[2 * d + 1][1] = 2 * d;
  }
  exchange(comm, 2 * ndims, (const int(*)[2])from, 2 * ndims);
  MPI_Comm_free(&comm);
}

/* A star: rank 0 and all others. */
static void graph(void)
{
  MPI_Comm comm, copy;
  int      ends[MOST], edges[2 * MOST], n = 0, count, nodes, all, kind, list[MOST], from[MOST][2], new;
  for (int r = 1; r < size; r++) edges[n++] = r;
  ends[0] = n;
  for (int r = 1; r < size; r++) edges[n++] = 0, ends[r] = n;
  MPI_Graph_map(MPI_COMM_WORLD, size, ends, edges, &new);
  CHECK(new == rank);
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &comm);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_GRAPH);
  MPI_Graphdims_get(comm, &nodes, &all);
  CHECK(nodes == size && all == 2 * (size - 1));
  MPI_Comm_dup(comm, &copy);
  memset(list, 0, sizeof list);
  int ends2[MOST], edges2[2 * MOST];
  MPI_Graph_get(copy, size, all, ends2, edges2);
  CHECK(memcmp(ends, ends2, size * sizeof(int)) == 0 && memcmp(edges, edges2, all * sizeof(int)) == 0);
  MPI_Graph_neighbors_count(copy, rank, &count);
  CHECK(count == (rank ? 1 : size - 1));
  MPI_Graph_neighbors(copy, rank, count, list);
  for (int k = 0; k < count; k++)
  {
    CHECK(list[k] == (rank ? 0 : k + 1));
    from[k][0] = list[k], from[k][1] = rank ? rank - 1 : 0;
  }
  exchange(copy, count, (const int(*)[2])from, count);
  MPI_Comm_free(&comm), MPI_Comm_free(&copy);
  /* Of the first rank alone. */
  ends[0] = 0;
  MPI_Graph_create(MPI_COMM_WORLD, 1, ends, edges, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank > 0));
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

/* Two edges to the next rank, one to itself. */
static void distributed(void)
{
  MPI_Comm comm;
  int      next = (rank + 1) % size, last = (rank + size - 1) % size, in, out, weighted, kind;
  int      sources[3] = {last, rank, last}, destinations[3] = {next, next, rank}, weights[3] = {4, 5, 6};
  int      got[2][3], of[2][3], from[3][2] = {{last, 0}, {rank, 2}, {last, 1}};
  if (size == 1) from[1][1] = 1, from[2][1] = 2; /* All three are edges to itself. */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, destinations, weights, MPI_INFO_NULL, 0, &comm);
  MPI_Topo_test(comm, &kind);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  CHECK(kind == MPI_DIST_GRAPH && in == 3 && out == 3 && weighted);
  MPI_Dist_graph_neighbors(comm, 3, got[0], of[0], 3, got[1], of[1]);
  for (int n = 0; n < 3; n++) CHECK(got[0][n] == sources[n] && got[1][n] == destinations[n] && of[0][n] == 4 + n && of[1][n] == 4 + n);
  exchange(comm, 3, (const int(*)[2])from, 3);
  MPI_Comm_free(&comm);
  /* Each rank tells of the edge between its neighbors: last to next. */
  int one = 1, there = (rank + 2) % size, back = (rank + size - 2) % size;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &last, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && !weighted);
  MPI_Dist_graph_neighbors(comm, 1, got[0], MPI_UNWEIGHTED, 1, got[1], MPI_UNWEIGHTED);
  CHECK(got[0][0] == back && got[1][0] == there);
  int from_back[1][2] = {{back, 0}};
  exchange(comm, 1, (const int(*)[2])from_back, 1);
  MPI_Comm_free(&comm);
  /* No edges at all. */
  MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  CHECK(in == 0 && out == 0 && weighted);
  exchange(comm, 0, NULL, 0);
  MPI_Comm_free(&comm);
}

static void errors(void)
{
  int in, out, weighted;
  set_errhandlers(MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted)) == MPI_ERR_TOPOLOGY);
  CHECK(class_of(MPI_Neighbor_allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_WORLD)) == MPI_ERR_TOPOLOGY);
  set_errhandlers(MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int one[3] = {size, 1, 1}, ring[3] = {1, 1, 1}, line[3] = {0, 0, 0}, mixed[3] = {0, 1, 0};
  grid(1, one, ring);
  grid(1, one, line);
  grid(3, one, ring);
  grid(3, one, mixed);
  if (size >= 2)
  {
    int two[2] = {2, size / 2};
    grid(2, two, ring);
    grid(2, two, line);
  }
  graph();
  distributed();
  errors();
  MPI_Finalize();
  return 0;
}
