/* What the calls share: conversions between the arguments of Fortran and those of C. */
#ifndef NETLOOM_FORTRAN_SUPPORT_H
#define NETLOOM_FORTRAN_SUPPORT_H

#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* This file's callers are compiled twice: as MPI_X, which calls the functions in C by the names that tools replace, and as PMPI_X,
 * which calls those beneath. */
#ifdef PROFILED
#define NAME(name) pmpi_##name
#define CALL(name) PMPI_##name
#else
#define NAME(name) mpi_##name
#define CALL(name) MPI_##name
#endif

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
/* The same function by another name. */
#define SAME(name, as, parameters) EXPORT void NAME(name) parameters __attribute__((alias(TEXT(NAME(as)))))

/* Variables of Fortran whose addresses have a meaning. A program may have them as common blocks of its own. */
EXPORT extern int  mpifort_bottom_, mpifort_in_place_, mpifort_buffer_automatic_, mpifort_unweighted_, mpifort_weights_empty_;
EXPORT extern int  mpifort_errcodes_ignore_, mpifort_status_ignore_[8], mpifort_statuses_ignore_[8];
EXPORT extern int  mpifort_status_ignore_f08_[8], mpifort_statuses_ignore_f08_[8];
EXPORT extern char mpifort_argv_null_, mpifort_argvs_null_;

/* The logical values of the compiler. */
HIDDEN extern int fortran_true, fortran_false;

/* The length after which strings and arrays of handles are allocated. */
enum { TEXT_ROOM = 256, HANDLE_ROOM = 64 };

static inline void * c_address(const void * at)
{
  if (at == &mpifort_bottom_) return MPI_BOTTOM;
  if (at == &mpifort_in_place_) return MPI_IN_PLACE;
  if (at == &mpifort_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
  return (void *) at;
}

static inline MPI_Status * c_status(void * at)
{
  const int is_ignored = at == mpifort_status_ignore_ || at == mpifort_statuses_ignore_ || at == mpifort_status_ignore_f08_
    || at == mpifort_statuses_ignore_f08_;
  return is_ignored ? MPI_STATUS_IGNORE : at;
}

static inline int * c_weights(const int * at)
{
  if (at == &mpifort_unweighted_) return MPI_UNWEIGHTED;
  if (at == &mpifort_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return (int *) at;
}

static inline int to_c_logical(int logical)
{
  return logical != fortran_false;
}

static inline int to_logical(int flag)
{
  return flag ? fortran_true : fortran_false;
}

/* Positions are counted from 1 in Fortran. */
static inline int to_index(int at)
{
  return at == MPI_UNDEFINED ? at : at + 1;
}

/* Memory that ends the program where there is none. */
HIDDEN void * allocate(size_t bytes);

/* An array on the stack, or a longer one. */
static inline void * take(void * small, size_t room, long count, size_t bytes)
{
  return count <= (long) room ? small : allocate((size_t) count * bytes);
}

static inline void give(void * small, void * taken)
{
  if (taken != small) free(taken);
}

static inline long at_least_none(long count)
{
  return count < 0 ? 0 : count;
}

/* A string without the blanks at its end, and `stripped` those at its beginning, too. */
HIDDEN char * to_c_text(char small[TEXT_ROOM], const char * text, size_t length, int is_stripped);
/* A string with blanks up to its end. */
HIDDEN void to_text(char * to, size_t length, const char * from);

/* The number of neighbours of a rank, or of ranks in the group that a collective exchanges data with. */
HIDDEN void peers(MPI_Comm comm, int is_neighborhood, int * from, int * to);
/* Dimensions of a grid. */
HIDDEN int dimensions(MPI_Comm comm);

/* Sections of arrays. */

/* How a section with gaps is passed: described by a datatype, if the call's is that of its elements, or as a copy. */
enum strategy
{
  TYPES,          /* a datatype, or an error */
  TYPES_OR_COPY,  /* a datatype, or a copy that ends with the call */
  TYPES_OR_LATER, /* a datatype, or a copy that ends with the request */
  COPY,
  LATER,
  NEITHER /* an error */
};

struct section
{
  void *              at;
  MPI_Count           count;
  MPI_Datatype        type;
  int                 is_made; /* the type is freed */
  char *              copy; /* and, of what is written, how it was at first */
  const CFI_cdesc_t * of;
  int                 is_read_only;
};

HIDDEN int  open_irregular(struct section * section, const CFI_cdesc_t * of, MPI_Count count, MPI_Datatype type,
                           enum strategy strategy);
HIDDEN void close_irregular(struct section * section);
HIDDEN void leave_irregular(struct section * section, int request);

static inline int is_contiguous(const CFI_cdesc_t * of)
{
  CFI_index_t expected = (CFI_index_t) of->elem_len;
  for (int i = 0; i < of->rank; i++)
  {
    CFI_index_t extent = of->dim[i].extent;
    /* An array of assumed size. */
    if (extent < 0) return 1;
    if (extent == 0) return 1;
    if (extent != 1 && of->dim[i].sm != expected) return 0;
    expected *= extent;
  }
  return 1;
}

/* The buffer of a call: as it is, or, of a section with gaps, by a datatype or a copy. */
static inline int open_section(struct section * section, const CFI_cdesc_t * of, MPI_Count count, MPI_Datatype type,
                               enum strategy strategy, int is_read_only)
{
  section->at           = c_address(of->base_addr);
  section->count        = count;
  section->type         = type;
  section->is_made      = 0;
  section->copy         = NULL;
  section->of           = of;
  section->is_read_only = is_read_only;
  if (__builtin_expect(is_contiguous(of), 1)) return MPI_SUCCESS;
  /* Elements of no rank are not looked at. */
  return open_irregular(section, of, count, type, strategy);
}

static inline void close_section(struct section * section)
{
  if (section->is_made || section->copy) close_irregular(section);
}

/* At the end of a call that returns early: a copy stays until its request is done. */
static inline void leave_section(struct section * section, int code, MPI_Request request)
{
  if (!section->is_made && !section->copy) return;
  if (code == MPI_SUCCESS) leave_irregular(section, MPI_Request_toint(request));
  else close_irregular(section);
}

/* How many copies wait for requests. */
HIDDEN extern int left_sections;
HIDDEN void       finish_left(int request);
HIDDEN void       forget_left(int request);

/* A request was `before` and is `now` a call has returned: if it is another one, it is done. */
static inline void finish_request(int before, int now)
{
  if (__builtin_expect(__atomic_load_n(&left_sections, __ATOMIC_RELAXED) != 0, 0) && before != now) finish_left(before);
}

/* Requests that a call has looked at, and which stay. */
HIDDEN void finish_if_done(long count, const int * requests);

/* Registers what is known of the compiler, once. */
HIDDEN void register_compiler(void);

/* Functions of the program. */
HIDDEN void * user_function(void (*function)(void), int is_long);
enum error_of { ERROR_OF_COMM, ERROR_OF_WIN, ERROR_OF_FILE, ERROR_OF_SESSION };
HIDDEN void *   error_function(void (*function)(void), enum error_of of);
HIDDEN MPI_Aint from_attribute(void * value);
HIDDEN void *   to_attribute(MPI_Aint value);

#endif
