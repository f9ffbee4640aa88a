/* Reductions by the program's operations on types whose data is not between 0 and their extent: before the address of an
 * element, beyond the next one, in the reverse order, at absolute addresses. An element is a function x -> a x + b of
 * integers modulo 2^32, and the operation composes functions: the order of ranks matters. */
#include "common.h"

enum { COUNT = 5, BYTES = 512, BASE = 256 };

typedef struct
{
  int lower, extent; /* of an element */
  int a, b;          /* where its numbers are */
} Form;

static const Form forms[] = {
  {0, 8, 0, 4},     /* no gaps */
  {0, 16, 4, 8},    /* gaps */
  {0, 4, 0, 24},    /* elements lie between one another */
  {-8, 16, -8, 0},  /* a lower bound */
  {0, 8, 4, 0},     /* the second number first */
  {0, 8, -64, 64},  /* elements begin before their address, and end beyond the next one */
  {40, 12, 44, 40}, /* a lower bound beyond the address */
};
static const Form * form;
static int          rank, size;

static int * number(const void * base, int element, int displacement)
{
  return (int *) ((char *) base + element * form->extent + displacement);
}

/* The first operand is that of lower ranks: it is applied first. */
static void compose(void * in, void * inout, int * len, MPI_Datatype * type)
{
  (void) type;
  for (int n = 0; n < *len; n++)
  {
    unsigned a = *number(in, n, form->a), b = *number(in, n, form->b);
    unsigned c = *number(inout, n, form->a), d = *number(inout, n, form->b);
    *number(inout, n, form->a) = c * a;
    *number(inout, n, form->b) = c * b + d;
  }
}

static void fill(char * memory, int from, int n)
{
  memset(memory, 0x5a, BYTES);
  for (int k = 0; k < n; k++)
  {
    *number(memory + BASE, k, form->a) = 2 * from + 3 + k;
    *number(memory + BASE, k, form->b) = 7 * from + 11 * k;
  }
}

/* What elements `first` and on of ranks `from` to `to` give; nothing else may have changed. */
static void expect(char * memory, int first, int n, int from, int to)
{
  char expected[BYTES];
  memset(expected, 0x5a, BYTES);
  for (int k = 0; k < n; k++)
  {
    unsigned a = 1, b = 0;
    for (int r = from; r <= to; r++)
    {
      unsigned c = 2 * r + 3 + first + k, d = 7 * r + 11 * (first + k);
      a = c * a, b = c * b + d;
    }
    *number(expected + BASE, k, form->a) = a;
    *number(expected + BASE, k, form->b) = b;
  }
  CHECK(memcmp(memory, expected, BYTES) == 0);
}

static void all(MPI_Datatype type, MPI_Op op)
{
  char sent[BYTES], received[BYTES], *in = sent + BASE, *out = received + BASE;
  int  last = size - 1;
  MPI_Comm    world = MPI_COMM_WORLD;
  MPI_Request request;
  fill(sent, rank, COUNT);
  memset(received, 0x5a, BYTES);
  MPI_Reduce(in, out, COUNT, type, op, last, world);
  expect(received, 0, rank == last ? COUNT : 0, 0, last);
  memset(received, 0x5a, BYTES);
  MPI_Allreduce(in, out, COUNT, type, op, world);
  expect(received, 0, COUNT, 0, last);
  fill(received, rank, COUNT);
  MPI_Allreduce(MPI_IN_PLACE, out, COUNT, type, op, world);
  expect(received, 0, COUNT, 0, last);
  memset(received, 0x5a, BYTES);
  MPI_Iallreduce(in, out, COUNT, type, op, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(received, 0, COUNT, 0, last);
  memset(received, 0x5a, BYTES);
  MPI_Allreduce_init(in, out, COUNT, type, op, world, MPI_INFO_NULL, &request);
  for (int round = 0; round < 2; round++)
  {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(received, 0, COUNT, 0, last);
  }
  MPI_Request_free(&request);
  memset(received, 0x5a, BYTES);
  MPI_Scan(in, out, COUNT, type, op, world);
  expect(received, 0, COUNT, 0, rank);
  memset(received, 0x5a, BYTES);
  MPI_Exscan(in, out, COUNT, type, op, world);
  expect(received, 0, rank > 0 ? COUNT : 0, 0, rank - 1);
  /* One element for each of the first ranks. */
  if (size <= COUNT)
  {
    memset(received, 0x5a, BYTES);
    MPI_Reduce_scatter_block(in, out, 1, type, op, world);
    expect(received, rank, 1, 0, last);
    int counts[COUNT] = {0};
    counts[last] = COUNT;
    memset(received, 0x5a, BYTES);
    MPI_Reduce_scatter(in, out, counts, type, op, world);
    expect(received, 0, rank == last ? COUNT : 0, 0, last);
  }
  if (size == 1)
  {
    fill(received, 1, COUNT);
    MPI_Reduce_local(in, out, COUNT, type, op);
    expect(received, 0, COUNT, 0, 1);
  }
  memset(received, 0x5a, BYTES);
  MPI_Allreduce(in, out, 0, type, op, world);
  expect(received, 0, 0, 0, 0);
}

/* Elements of a type with addresses: all operands are at MPI_BOTTOM, so each is in place. */
static MPI_Aint at[2];

static void add(void * in, void * inout, int * len, MPI_Datatype * type)
{
  (void) len, (void) type;
  for (int k = 0; k < 2; k++) *(int *) ((char *) inout + at[k]) += *(int *) ((char *) in + at[k]);
}

static void addresses(void)
{
  int          pair[2] = {rank, 10 * rank}, ones[2] = {1, 1};
  MPI_Datatype type;
  MPI_Op       op;
  MPI_Get_address(&pair[0], &at[1]), MPI_Get_address(&pair[1], &at[0]);
  MPI_Type_create_hindexed(2, ones, at, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD);
  CHECK(pair[0] == size * (size - 1) / 2 && pair[1] == 10 * pair[0]);
  MPI_Op_free(&op), MPI_Type_free(&type);
}

int main(int argc, char ** argv)
{
  MPI_Op op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(compose, 0, &op);
  for (size_t n = 0; n < sizeof forms / sizeof *forms; n++)
  {
    MPI_Datatype numbers, type;
    MPI_Aint     places[2] = {forms[n].a, forms[n].b};
    int          ones[2]   = {1, 1};
    form = &forms[n];
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &numbers);
    MPI_Type_create_resized(numbers, form->lower, form->extent, &type);
    MPI_Type_commit(&type);
    all(type, op);
    MPI_Type_free(&numbers), MPI_Type_free(&type);
  }
  MPI_Op_free(&op);
  addresses();
  MPI_Finalize();
  return 0;
}
