/* What exists once: variables, strings, functions of the program, values of attributes, and what is registered of the compiler. */
#include "support.h"

#include <pthread.h>
#include <stdio.h>

int  mpifort_bottom_, mpifort_in_place_, mpifort_buffer_automatic_, mpifort_unweighted_, mpifort_weights_empty_;
int  mpifort_errcodes_ignore_, mpifort_status_ignore_[8], mpifort_statuses_ignore_[8];
int  mpifort_status_ignore_f08_[8], mpifort_statuses_ignore_f08_[8];
char mpifort_argv_null_, mpifort_argvs_null_;
int  fortran_true = 1, fortran_false = 0;

static void end_program(const char * why)
{
  fprintf(stderr, "libmpifort_abi: %s\n", why);
  abort();
}

void * allocate(size_t bytes)
{
  void * space = malloc(bytes ? bytes : 1);
  if (!space) end_program("there is no memory for the arguments of a call");
  return space;
}

char * to_c_text(char small[TEXT_ROOM], const char * text, size_t length, int is_stripped)
{
  while (length > 0 && text[length - 1] == ' ') length--;
  while (is_stripped && length > 0 && *text == ' ') text++, length--;
  char * c = take(small, TEXT_ROOM, (long) length + 1, 1);
  memcpy(c, text, length);
  c[length] = '\0';
  return c;
}

void to_text(char * to, size_t length, const char * from)
{
  size_t used = strlen(from);
  if (used > length) used = length;
  memcpy(to, from, used);
  memset(to + used, ' ', length - used);
}

/* Errors are the call's that follows: it has the same communicator. */
void peers(MPI_Comm comm, int is_neighborhood, int * from, int * to)
{
  int is_inter = 0, kind = MPI_UNDEFINED, weighted;
  *from = *to = 0;
  if (!is_neighborhood)
  {
    if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return;
    if (is_inter) PMPI_Comm_remote_size(comm, from);
    else PMPI_Comm_size(comm, from);
    *to = *from;
    return;
  }
  if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return;
  if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, from, to, &weighted);
  else if (kind == MPI_CART)
  {
    PMPI_Cartdim_get(comm, from);
    *to = *from *= 2;
  }
  else if (kind == MPI_GRAPH)
  {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, from);
    *to = *from;
  }
}

int dimensions(MPI_Comm comm)
{
  int count = 0, kind = MPI_UNDEFINED;
  if (PMPI_Topo_test(comm, &kind) == MPI_SUCCESS && kind == MPI_CART) PMPI_Cartdim_get(comm, &count);
  return count;
}

/* Functions that C calls, for those of the program that take handles as integers. C gives them no value by which they could know
 * which one they stand for, so there are a few of them, each for one function. */

/* 64 numbers, in octal. */
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) \
  EIGHT(X, 00) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03) EIGHT(X, 04) EIGHT(X, 05) EIGHT(X, 06) EIGHT(X, 07)
enum { FUNCTIONS = 64 };

typedef void (*any_function)(void);

/* The number of a function, which gets one if it has none; -1 if all are used. */
static int number_of(any_function * list, any_function function)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int                    found = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < FUNCTIONS && found < 0; i++)
  {
    if (!list[i]) list[i] = function;
    if (list[i] == function) found = i;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static any_function user[FUNCTIONS], user_long[FUNCTIONS], error_of[4][FUNCTIONS];

#define USER(i)                                                                       \
  static void user_##i(void * in, void * inout, int * count, MPI_Datatype * type)     \
  {                                                                                   \
    int type_f = MPI_Type_toint(*type);                                               \
    ((void (*)(void *, void *, int *, int *)) user[i])(in, inout, count, &type_f);    \
  }
#define USER_LONG(i)                                                                             \
  static void user_long_##i(void * in, void * inout, MPI_Count * count, MPI_Datatype * type)     \
  {                                                                                              \
    int type_f = MPI_Type_toint(*type);                                                          \
    ((void (*)(void *, void *, MPI_Count *, int *)) user_long[i])(in, inout, count, &type_f);    \
  }
#define ERROR(kind, index, i)                                             \
  static void kind##_##i(MPI_##kind * handle, int * code, ...)            \
  {                                                                       \
    int handle_f = MPI_##kind##_toint(*handle);                           \
    ((void (*)(int *, int *)) error_of[index][i])(&handle_f, code);       \
  }
#define ERROR_COMM(i) ERROR(Comm, ERROR_OF_COMM, i)
#define ERROR_WIN(i) ERROR(Win, ERROR_OF_WIN, i)
#define ERROR_FILE(i) ERROR(File, ERROR_OF_FILE, i)
#define ERROR_SESSION(i) ERROR(Session, ERROR_OF_SESSION, i)
ALL(USER)
ALL(USER_LONG)
ALL(ERROR_COMM)
ALL(ERROR_WIN)
ALL(ERROR_FILE)
ALL(ERROR_SESSION)

#define LISTED_USER(i) (void *) user_##i,
#define LISTED_USER_LONG(i) (void *) user_long_##i,
#define LISTED_COMM(i) (void *) Comm_##i,
#define LISTED_WIN(i) (void *) Win_##i,
#define LISTED_FILE(i) (void *) File_##i,
#define LISTED_SESSION(i) (void *) Session_##i,

void * user_function(any_function function, int is_long)
{
  static void * const of[2][FUNCTIONS] = { { ALL(LISTED_USER) }, { ALL(LISTED_USER_LONG) } };
  int                 number           = number_of(is_long ? user_long : user, function);
  return number < 0 ? NULL : of[is_long][number];
}

void * error_function(any_function function, enum error_of kind)
{
  static void * const of[4][FUNCTIONS] = { { ALL(LISTED_COMM) }, { ALL(LISTED_WIN) }, { ALL(LISTED_FILE) }, { ALL(LISTED_SESSION) } };
  int                 number           = number_of(error_of[kind], function);
  return number < 0 ? NULL : of[kind][number];
}

/* Values of attributes (MPI 5.0, section 19.3.7): of one that Fortran has set, C gets the address of the integer; of one that C
 * has set, Fortran gets the pointer. So an integer of Fortran is stored here, once for each value, and known by its address. */

enum { VALUES = 1024, BUCKETS = 4096 };

struct value
{
  MPI_Aint       value;
  struct value * next;
};

struct values
{
  struct values * next;
  size_t          used;
  struct value    of[VALUES];
};

static struct values * values;
static struct value *  buckets[BUCKETS];
static pthread_mutex_t values_lock = PTHREAD_MUTEX_INITIALIZER;

void * to_attribute(MPI_Aint value)
{
  struct value ** bucket = &buckets[((uint64_t) value * 0x9E3779B97F4A7C15u) >> 52];
  struct value *  found;
  pthread_mutex_lock(&values_lock);
  for (found = *bucket; found && found->value != value;) found = found->next;
  if (!found)
  {
    if (!values || values->used == VALUES)
    {
      struct values * more = allocate(sizeof *more);
      more->next           = values;
      more->used           = 0;
      values               = more;
    }
    found        = &values->of[values->used++];
    found->value = value;
    found->next  = *bucket;
    *bucket      = found;
  }
  pthread_mutex_unlock(&values_lock);
  return &found->value;
}

MPI_Aint from_attribute(void * value)
{
  int is_stored = 0;
  pthread_mutex_lock(&values_lock);
  for (struct values * part = values; part && !is_stored; part = part->next)
    is_stored = (char *) value >= (char *) part->of && (char *) value < (char *) (part->of + part->used);
  pthread_mutex_unlock(&values_lock);
  return is_stored ? *(MPI_Aint *) value : (MPI_Aint) value;
}

/* What is registered of the compiler. Its facts come from functions in Fortran, so that they are this compiler's. */

void netloom_fortran_logicals(int * is_true, int * is_false);
int  netloom_fortran_kind(int what, int kind);

static void set_size(MPI_Info info, const char * key, int what)
{
  char value[8];
  snprintf(value, sizeof value, "%d", netloom_fortran_kind(what, 0));
  PMPI_Info_set(info, key, value);
}

__attribute__((constructor)) static void begin(void)
{
  netloom_fortran_logicals(&fortran_true, &fortran_false);
}

/* When the library in C runs: other libraries than Netloom's take nothing before. */
void register_compiler(void)
{
  static const struct { const char * name; int what, kind, bytes; } types[] = {
    { "integer", 1, 1, 1 },  { "integer", 1, 2, 2 },  { "integer", 1, 4, 4 },   { "integer", 1, 8, 8 },
    { "integer", 1, 16, 16 }, { "real", 2, 2, 2 },    { "real", 2, 4, 4 },      { "real", 2, 8, 8 },
    { "real", 2, 16, 16 },   { "complex", 2, 2, 4 },  { "complex", 2, 4, 8 },   { "complex", 2, 8, 16 },
    { "complex", 2, 16, 32 }, { "logical", 3, 1, 1 }, { "logical", 3, 2, 2 },   { "logical", 3, 4, 4 },
    { "logical", 3, 8, 8 },  { "logical", 3, 16, 16 },
  };
  int      is_set = 0, t, f;
  MPI_Info info;
  /* A program may have registered them itself. */
  PMPI_Abi_get_fortran_booleans(sizeof(int), &t, &f, &is_set);
  if (!is_set && PMPI_Abi_set_fortran_booleans(sizeof(int), &fortran_true, &fortran_false) != MPI_SUCCESS)
    fprintf(stderr, "libmpifort_abi: the MPI library does not take the logical values of the Fortran compiler\n");
  if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) return;
  if (info != MPI_INFO_NULL)
  {
    PMPI_Info_free(&info);
    return;
  }
  PMPI_Info_create(&info);
  set_size(info, "mpi_logical_size", 4);
  set_size(info, "mpi_integer_size", 5);
  set_size(info, "mpi_real_size", 6);
  set_size(info, "mpi_double_precision_size", 7);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
  {
    char key[64];
    snprintf(key, sizeof key, "mpi_%s%d_supported", types[i].name, types[i].bytes);
    PMPI_Info_set(info, key, netloom_fortran_kind(types[i].what, types[i].kind) ? "true" : "false");
  }
  if (PMPI_Abi_set_fortran_info(info) != MPI_SUCCESS)
    fprintf(stderr, "libmpifort_abi: the MPI library does not take the sizes of the Fortran compiler's types\n");
  PMPI_Info_free(&info);
}
