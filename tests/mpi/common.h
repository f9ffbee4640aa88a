/* What the test programs share: a check that says where it failed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                          \
  do                                                                                              \
  {                                                                                               \
    if (!(condition))                                                                             \
    {                                                                                             \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                   \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

/* The class of what a function returned: a code may be more. */
static inline int class_of(int code)
{
  int class;
  MPI_Error_class(code, &class);
  return class;
}

/* That of MPI_COMM_WORLD, and that of MPI_COMM_SELF, which is told of errors without an object. */
static inline void set_errhandlers(MPI_Errhandler to)
{
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, to);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, to);
}
