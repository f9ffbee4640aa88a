/* Barriers and all-reduces of few bytes, often and on many communicators that overlap: natively these go through memory that
   ranks share, once a communicator has had a few of them. Ranks are late by turns, other collectives and requests come in
   between, and communicators are made and freed until there are more than may have such memory. */
#include "common.h"

enum { TIMES = 40, COMMS = 150, MOST = 20 };
static int      rank, size;
static unsigned random_state;

static unsigned draw(void)
{
  random_state = random_state * 1103515245u + 12345u;
  return random_state >> 16;
}

/* Some ranks are late now and then. */
static void be_late(void)
{
  volatile unsigned x = 0;
  if (draw() % 4 == 0)
    for (unsigned n = draw() % 2000; n > 0; n--) x += n;
}

/* Not commutative: of two affine maps x -> a x + b the one after the other. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
  (void)type;
  unsigned *first = in, *second = inout;
  for (int n = 0; n + 1 < *count * 2; n += 2)
  {
    unsigned a = first[n] * second[n], b = second[n] * first[n + 1] + second[n + 1];
    second[n] = a;
    second[n + 1] = b;
  }
}

/* All-reduces of `length` numbers in one of several operations, with the result known. */
static void sums(MPI_Comm comm, int length, int round)
{
  int    ranks, own;
  double in[MOST], out[MOST];
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  for (int n = 0; n < length; n++) in[n] = own * (n + 1) + round;
  be_late();
  if (round % 3 == 0)
  {
    memcpy(out, in, sizeof in);
    MPI_Allreduce(MPI_IN_PLACE, out, length, MPI_DOUBLE, MPI_SUM, comm);
  }
  else MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, comm);
  for (int n = 0; n < length; n++) CHECK(out[n] == (n + 1) * (ranks * (ranks - 1) / 2.0) + ranks * (double)round);
}

static void odd_lengths(MPI_Comm comm, int round)
{
  int           ranks, own;
  unsigned char in[125], out[125];
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  for (int length = 1; length <= 125; length += 31)
  {
    for (int n = 0; n < length; n++) in[n] = (unsigned char)(own ^ n ^ round);
    MPI_Allreduce(in, out, length, MPI_UNSIGNED_CHAR, MPI_BXOR, comm);
    for (int n = 0; n < length; n++)
    {
      int expected = 0;
      for (int r = 0; r < ranks; r++) expected ^= r ^ n ^ round;
      CHECK(out[n] == (unsigned char)expected);
    }
  }
}

static void first_and_last(MPI_Comm comm, int round)
{
  struct { double value; int at; } in, out;
  int ranks, own;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  in.value = (own * 7 + round) % ranks;
  in.at = own;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  int best = 0;
  for (int r = 1; r < ranks; r++)
    if ((r * 7 + round) % ranks > (best * 7 + round) % ranks) best = r;
  CHECK(out.at == best && out.value == (best * 7 + round) % ranks);
}

static void in_order(MPI_Comm comm, MPI_Datatype pair, MPI_Op op, int round)
{
  int      ranks, own;
  unsigned in[2], out[2], a = 1, b = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  in[0] = 3 + 2 * own + round, in[1] = own * own;
  MPI_Allreduce(in, out, 1, pair, op, comm);
  for (int r = 0; r < ranks; r++)
  {
    unsigned next = 3 + 2 * r + round;
    b = next * b + r * r, a *= next;
  }
  CHECK(out[0] == a && out[1] == b);
}

/* Nobody leaves a barrier before all have come: each rank tells the next one before it, and has been told after it. */
static void barriers(MPI_Comm comm, int round)
{
  int         ranks, own, told = -1, is_told = 0;
  MPI_Request sent;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  MPI_Isend(&round, 1, MPI_INT, (own + 1) % ranks, 5, comm, &sent);
  be_late();
  MPI_Barrier(comm);
  while (!is_told) MPI_Iprobe((own + ranks - 1) % ranks, 5, comm, &is_told, MPI_STATUS_IGNORE);
  MPI_Recv(&told, 1, MPI_INT, (own + ranks - 1) % ranks, 5, comm, MPI_STATUS_IGNORE);
  CHECK(told == round);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

/* Requests and other collectives are under way meanwhile. */
static void with_others(MPI_Comm comm, int round)
{
  int         ranks, own, sum, one = 1, root_has = 0;
  MPI_Request requests[2];
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &own);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  if (own == round % ranks) root_has = round;
  MPI_Bcast(&root_has, 1, MPI_INT, round % ranks, comm);
  CHECK(root_has == round);
  MPI_Ibarrier(comm, &requests[1]);
  sums(comm, 1, round);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == ranks);
}

static void all(MPI_Comm comm, MPI_Datatype pair, MPI_Op op, int round)
{
  sums(comm, 1 + round % 15, round);
  barriers(comm, round);
  first_and_last(comm, round);
  in_order(comm, pair, op, round);
  with_others(comm, round);
  sums(comm, MOST, round);
}

int main(int argc, char **argv)
{
  MPI_Comm     comms[3], parity, reversed;
  MPI_Datatype pair;
  MPI_Op       op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  random_state = rank + 1;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &op);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  comms[0] = MPI_COMM_WORLD, comms[1] = parity, comms[2] = reversed;
  for (int round = 0; round < TIMES; round++)
  {
    all(comms[round % 3], pair, op, round);
    all(comms[rank % 2 ? 1 : (round / 2) % 2], pair, op, round);
    all(comms[rank % 2 ? (round / 2) % 2 : 1], pair, op, round);
  }
  odd_lengths(reversed, 3);
  /* A rank may be in a later communicator while another is still in the one before. */
  for (int n = 0; n < COMMS; n++)
  {
    MPI_Comm comm;
    MPI_Comm_split(n % 2 ? MPI_COMM_WORLD : parity, (rank + n) % 3 == 0, rank, &comm);
    for (int round = 0; round < 6; round++) sums(comm, 2, n + round);
    barriers(comm, n);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&parity);
  MPI_Comm_free(&reversed);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  MPI_Finalize();
  return 0;
}
