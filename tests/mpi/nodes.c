/* Ranks of a node: communicators split by node, messages within nodes and between them, and memory that the
 * ranks of a node share. The environment's RANKS_PER_NODE says how many they are; without it they may be any. */
#include "common.h"

#define LENGTH 100000

static unsigned char part(int from, int to, int place)
{
  return (unsigned char) (31 * from + 7 * to + place % 251);
}

/* Every rank sends to every other one, of which some are on its node. */
static void exchange(int rank, int size, int length)
{
  unsigned char * sent = malloc((size_t) size * length + 1), *received = malloc((size_t) size * length + 1);
  MPI_Request *   requests = malloc(2 * size * sizeof *requests);
  for (int peer = 0; peer < size; peer++)
  {
    for (int i = 0; i < length; i++)
      sent[(size_t) peer * length + i] = part(rank, peer, i);
    MPI_Irecv(received + (size_t) peer * length, length, MPI_BYTE, peer, length % 1000, MPI_COMM_WORLD,
              requests + 2 * peer);
  }
  for (int peer = 0; peer < size; peer++)
    MPI_Isend(sent + (size_t) peer * length, length, MPI_BYTE, peer, length % 1000, MPI_COMM_WORLD,
              requests + 2 * peer + 1);
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; peer++)
    for (int i = 0; i < length; i++)
      CHECK(received[(size_t) peer * length + i] == part(peer, rank, i));
  free(sent);
  free(received);
  free(requests);
}

int main(int argc, char ** argv)
{
  MPI_Init(&argc, &argv);
  int rank, size, local, locals;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  MPI_Comm node, leaders;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &locals);
  const char * expected = getenv("RANKS_PER_NODE");
  if (expected)
  {
    /* The last node may have fewer. */
    const int per_node = atoi(expected), first = rank / per_node * per_node;
    CHECK(locals == (size - first < per_node ? size - first : per_node));
    CHECK(local == rank - first);
  }
  char name[MPI_MAX_PROCESSOR_NAME], of_first[MPI_MAX_PROCESSOR_NAME];
  int  length;
  MPI_Get_processor_name(name, &length);
  memcpy(of_first, name, sizeof name);
  MPI_Bcast(of_first, sizeof of_first, MPI_CHAR, 0, node);
  CHECK(strcmp(name, of_first) == 0);

  /* Eager and by rendezvous, of one packet and of several. */
  const int lengths[] = {0, 1, 100, 5000, 20000, LENGTH};
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
    exchange(rank, size, lengths[n]);

  /* Many short ones to one neighbour, which takes them late and in order. */
  enum { MANY = 300 };
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < MANY; i++)
    MPI_Send(&i, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  for (int i = 0; i < MANY; i++)
  {
    int found = -1;
    MPI_Recv(&found, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(found == i);
  }

  /* A sum over nodes: within each, between their first ranks, and back. */
  MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  long sum = rank, all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, node);
  if (local == 0)
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG, MPI_SUM, leaders);
  MPI_Bcast(&all, 1, MPI_LONG, 0, node);
  CHECK(all == (long) size * (size - 1) / 2);

  /* Memory of the node's ranks: stores of one are loads of others, and puts end in it. */
  int *   own, *first;
  MPI_Win win;
  MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &win);
  MPI_Aint bytes;
  int      unit;
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_fence(0, win);
  own[0] = 100 + rank;
  MPI_Win_fence(0, win);
  for (int i = 0; i < locals; i++)
    CHECK(first[2 * i] == 100 + rank - local + i);
  const int next = (local + 1) % locals;
  MPI_Put(&rank, 1, MPI_INT, next, 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(own[1] == rank - local + (local + locals - 1) % locals);
  MPI_Win_free(&win);

  /* One-sided within nodes and between them. */
  int target[64] = {0}, got = -1;
  MPI_Win_create(target, sizeof target, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  for (int peer = 0; peer < size && peer < 64; peer++)
    if (rank < 64)
      MPI_Put(&rank, 1, MPI_INT, peer, rank, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int peer = 0; peer < size && peer < 64; peer++)
    CHECK(target[peer] == peer);
  MPI_Get(&got, 1, MPI_INT, right, left % 64, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(size > 64 || got == left);
  MPI_Win_free(&win);

  if (leaders != MPI_COMM_NULL)
    MPI_Comm_free(&leaders);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
