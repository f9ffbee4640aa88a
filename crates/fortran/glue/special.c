/* Calls whose arguments differ from those in C by more than conversions of each. */
#include "support.h"

static inline void end(int result, int * ierror)
{
  if (ierror) *ierror = result;
}

/* Start: without the command line, and with facts of the compiler. */

static inline int started(int result)
{
  if (result == MPI_SUCCESS) register_compiler();
  return result;
}

EXPORT void NAME(init_)(int * ierror)
{
  end(started(CALL(Init)(NULL, NULL)), ierror);
}
SAME(init_f08_, init_, ());

EXPORT void NAME(init_thread_)(int * required, int * provided, int * ierror)
{
  end(started(CALL(Init_thread)(NULL, NULL, *required, provided)), ierror);
}
SAME(init_thread_f08_, init_thread_, ());

EXPORT void NAME(session_init_)(int * info, int * errhandler, int * session, int * ierror)
{
  MPI_Session made;
  int         result = started(CALL(Session_init)(MPI_Info_fromint(*info), MPI_Errhandler_fromint(*errhandler), &made));
  if (result == MPI_SUCCESS) *session = MPI_Session_toint(made);
  end(result, ierror);
}
SAME(session_init_f08_, session_init_, ());

EXPORT void NAME(info_create_env_)(int * info, int * ierror)
{
  MPI_Info made;
  int      result = CALL(Info_create_env)(0, NULL, &made);
  if (result == MPI_SUCCESS) *info = MPI_Info_toint(made);
  end(result, ierror);
}
SAME(info_create_env_f08_, info_create_env_, ());

EXPORT void NAME(pcontrol_)(int * level)
{
  CALL(Pcontrol)(*level);
}
SAME(pcontrol_f08_, pcontrol_, ());

/* Functions with results. */

EXPORT double NAME(wtime_)(void)
{
  return CALL(Wtime)();
}
EXPORT double NAME(wtime_f08_)(void) __attribute__((alias(TEXT(NAME(wtime_)))));

EXPORT double NAME(wtick_)(void)
{
  return CALL(Wtick)();
}
EXPORT double NAME(wtick_f08_)(void) __attribute__((alias(TEXT(NAME(wtick_)))));

EXPORT MPI_Aint NAME(aint_add_)(MPI_Aint * base, MPI_Aint * displacement)
{
  return CALL(Aint_add)(*base, *displacement);
}
EXPORT MPI_Aint NAME(aint_add_f08_)(MPI_Aint *, MPI_Aint *) __attribute__((alias(TEXT(NAME(aint_add_)))));

EXPORT MPI_Aint NAME(aint_diff_)(MPI_Aint * a, MPI_Aint * b)
{
  return CALL(Aint_diff)(*a, *b);
}
EXPORT MPI_Aint NAME(aint_diff_f08_)(MPI_Aint *, MPI_Aint *) __attribute__((alias(TEXT(NAME(aint_diff_)))));

/* Of Fortran alone. */

EXPORT void NAME(f_sync_reg_)(void * buffer)
{
}
SAME(f_sync_reg_f08ts_, f_sync_reg_, ());

EXPORT void NAME(sizeof_)(CFI_cdesc_t * x, int * size, int * ierror)
{
  *size = (int) x->elem_len;
  end(MPI_SUCCESS, ierror);
}

EXPORT void NAME(status_f2f08_)(const int * from, int * to, int * ierror)
{
  memcpy(to, from, sizeof(MPI_Status));
  end(MPI_SUCCESS, ierror);
}
SAME(status_f082f_, status_f2f08_, ());

/* Strings whose length is an argument, too. In C it counts the final NUL. */

EXPORT void NAME(info_get_)(int * info, char * key, int * valuelen, char * value, int * flag, int * ierror, size_t key_length,
                            size_t value_length)
{
  char   key_s[TEXT_ROOM];
  char * key_c  = to_c_text(key_s, key, key_length, 1);
  char * copy   = allocate((size_t) at_least_none(*valuelen) + 1);
  int    is_set = 0;
  int    result = CALL(Info_get)(MPI_Info_fromint(*info), key_c, *valuelen, copy, &is_set);
  if (result == MPI_SUCCESS)
  {
    *flag = to_logical(is_set);
    if (is_set) to_text(value, value_length, copy);
  }
  free(copy);
  give(key_s, key_c);
  end(result, ierror);
}
SAME(info_get_f08_, info_get_, ());

EXPORT void NAME(info_get_string_)(int * info, char * key, int * buflen, char * value, int * flag, int * ierror, size_t key_length,
                                   size_t value_length)
{
  char   key_s[TEXT_ROOM];
  char * key_c  = to_c_text(key_s, key, key_length, 1);
  int    given  = *buflen, length = given > 0 ? given + 1 : 0, is_set = 0;
  char * copy   = allocate((size_t) length + 1);
  int    result = CALL(Info_get_string)(MPI_Info_fromint(*info), key_c, &length, copy, &is_set);
  if (result == MPI_SUCCESS)
  {
    *flag = to_logical(is_set);
    if (is_set) *buflen = length > 0 ? length - 1 : 0;
    if (is_set && given > 0) to_text(value, value_length, copy);
  }
  free(copy);
  give(key_s, key_c);
  end(result, ierror);
}
SAME(info_get_string_f08_, info_get_string_, ());

EXPORT void NAME(session_get_nth_pset_)(int * session, int * info, int * n, int * pset_len, char * pset_name, int * ierror,
                                        size_t pset_name_length)
{
  int    given = *pset_len, length = given > 0 ? given + 1 : 0;
  char * copy   = allocate((size_t) length + 1);
  int    result = CALL(Session_get_nth_pset)(MPI_Session_fromint(*session), MPI_Info_fromint(*info), *n, &length, copy);
  if (result == MPI_SUCCESS)
  {
    *pset_len = length > 0 ? length - 1 : 0;
    if (given > 0) to_text(pset_name, pset_name_length, copy);
  }
  free(copy);
  end(result, ierror);
}
SAME(session_get_nth_pset_f08_, session_get_nth_pset_, ());

/* Functions of the program. */

static inline int no_more(void)
{
  int code = MPI_ERR_NO_MEM;
  if (PMPI_Add_error_code(MPI_ERR_NO_MEM, &code) == MPI_SUCCESS)
    PMPI_Add_error_string(code, "a program in Fortran may have 64 different functions of a kind, and has more");
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
  return code;
}

static inline void create_op(void (*function)(void), int is_long, int * commute, int * op, int * ierror)
{
  void * c      = user_function(function, is_long);
  int    result = MPI_SUCCESS;
  MPI_Op made;
  if (!c) result = no_more();
  else
  {
    result = is_long ? CALL(Op_create_c)((MPI_User_function_c *) c, to_c_logical(*commute), &made)
                     : CALL(Op_create)((MPI_User_function *) c, to_c_logical(*commute), &made);
    if (result == MPI_SUCCESS) *op = MPI_Op_toint(made);
  }
  end(result, ierror);
}

EXPORT void NAME(op_create_)(void (*function)(void), int * commute, int * op, int * ierror)
{
  create_op(function, 0, commute, op, ierror);
}
SAME(op_create_f08_, op_create_, ());

EXPORT void NAME(op_create_c_f08_)(void (*function)(void), int * commute, int * op, int * ierror)
{
  create_op(function, 1, commute, op, ierror);
}

#define CREATE_ERRHANDLER(kind, lower, index)                                                                       \
  EXPORT void NAME(lower##_create_errhandler_)(void (*function)(void), int * errhandler, int * ierror)              \
  {                                                                                                                 \
    void *         c      = error_function(function, index);                                                        \
    int            result = MPI_SUCCESS;                                                                            \
    MPI_Errhandler made;                                                                                            \
    if (!c) result = no_more();                                                                              \
    else if ((result = CALL(kind##_create_errhandler)((MPI_##kind##_errhandler_function *) c, &made)) == MPI_SUCCESS) \
      *errhandler = MPI_Errhandler_toint(made);                                                                     \
    end(result, ierror);                                                                                            \
  }                                                                                                                 \
  SAME(lower##_create_errhandler_f08_, lower##_create_errhandler_, ());

CREATE_ERRHANDLER(Comm, comm, ERROR_OF_COMM)
CREATE_ERRHANDLER(Win, win, ERROR_OF_WIN)
CREATE_ERRHANDLER(File, file, ERROR_OF_FILE)
CREATE_ERRHANDLER(Session, session, ERROR_OF_SESSION)

/* Attributes. What C hands on to its functions is this, for the program's. It lives as long as the process: attributes may be
 * there after their key has been freed. */

struct keyval
{
  void (*copy)(void);
  void (*delete)(void);
  MPI_Aint extra_state;
  int      is_short; /* values are integers, as before MPI 2 */
};

#define KEYVALS(kind, lower, type, conversion, keyval_create)                                                                    \
  static int lower##_copies(type handle, int key, void * state, void * in, void * out, int * flag)                               \
  {                                                                                                                              \
    struct keyval * of      = state;                                                                                             \
    int             old     = MPI_##conversion##_toint(handle), is_kept = fortran_false, result = MPI_SUCCESS;                   \
    MPI_Aint        value   = from_attribute(in), made = 0;                                                                      \
    if (of->is_short)                                                                                                            \
    {                                                                                                                            \
      int extra = (int) of->extra_state, value_f = (int) value, made_f = 0;                                                      \
      ((void (*)(int *, int *, int *, int *, int *, int *, int *)) of->copy)(&old, &key, &extra, &value_f, &made_f, &is_kept,    \
                                                                             &result);                                           \
      made = made_f;                                                                                                             \
    }                                                                                                                            \
    else                                                                                                                         \
      ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, MPI_Aint *, int *, int *)) of->copy)(&old, &key, &of->extra_state, &value, \
                                                                                            &made, &is_kept, &result);           \
    *flag = to_c_logical(is_kept);                                                                                               \
    if (*flag) *(void **) out = to_attribute(made);                                                                              \
    return result;                                                                                                               \
  }                                                                                                                              \
  static int lower##_deletes(type handle, int key, void * at, void * state)                                                      \
  {                                                                                                                              \
    struct keyval * of    = state;                                                                                               \
    int             old   = MPI_##conversion##_toint(handle), result = MPI_SUCCESS;                                              \
    MPI_Aint        value = from_attribute(at);                                                                                  \
    if (of->is_short)                                                                                                            \
    {                                                                                                                            \
      int extra = (int) of->extra_state, value_f = (int) value;                                                                  \
      ((void (*)(int *, int *, int *, int *, int *)) of->delete)(&old, &key, &value_f, &extra, &result);                         \
    }                                                                                                                            \
    else                                                                                                                         \
      ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, int *)) of->delete)(&old, &key, &value, &of->extra_state, &result);       \
    return result;                                                                                                               \
  }                                                                                                                              \
  static int lower##_keyval(void (*copy)(void), void (*delete)(void), int * key, MPI_Aint extra_state, int is_short)             \
  {                                                                                                                              \
    struct keyval * of = allocate(sizeof *of);                                                                                   \
    int             result;                                                                                                      \
    *of    = (struct keyval) { copy, delete, extra_state, is_short };                                                            \
    result = CALL(keyval_create)(lower##_copies, lower##_deletes, key, of);                                                      \
    if (result != MPI_SUCCESS) free(of);                                                                                         \
    return result;                                                                                                               \
  }                                                                                                                              \
  EXPORT void NAME(lower##_create_keyval_)(void (*copy)(void), void (*delete)(void), int * key, MPI_Aint * extra_state,          \
                                           int * ierror)                                                                         \
  {                                                                                                                              \
    end(lower##_keyval(copy, delete, key, *extra_state, 0), ierror);                                                             \
  }                                                                                                                              \
  SAME(lower##_create_keyval_f08_, lower##_create_keyval_, ());                                                                  \
  static int lower##_value(int handle, int key, MPI_Aint * value, int * flag)                                                    \
  {                                                                                                                              \
    void * at     = NULL;                                                                                                        \
    int    is_set = 0;                                                                                                           \
    int    result = CALL(kind##_get_attr)(MPI_##conversion##_fromint(handle), key, &at, &is_set);                                \
    if (result != MPI_SUCCESS) return result;                                                                                    \
    *flag = to_logical(is_set);                                                                                                  \
    if (is_set) *value = attribute(key, at);                                                                                     \
    return result;                                                                                                               \
  }                                                                                                                              \
  EXPORT void NAME(lower##_get_attr_)(int * handle, int * key, MPI_Aint * value, int * flag, int * ierror)                       \
  {                                                                                                                              \
    end(lower##_value(*handle, *key, value, flag), ierror);                                                                      \
  }                                                                                                                              \
  SAME(lower##_get_attr_f08_, lower##_get_attr_, ());                                                                            \
  EXPORT void NAME(lower##_set_attr_)(int * handle, int * key, MPI_Aint * value, int * ierror)                                   \
  {                                                                                                                              \
    end(CALL(kind##_set_attr)(MPI_##conversion##_fromint(*handle), *key, to_attribute(*value)), ierror);                         \
  }                                                                                                                              \
  SAME(lower##_set_attr_f08_, lower##_set_attr_, ());

/* Of predefined ones C gets an address, but for that of a window. */
static inline MPI_Aint attribute(int key, void * at)
{
  switch (key)
  {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL: return *(int *) at;
    case MPI_WIN_SIZE: return *(MPI_Aint *) at;
    case MPI_WIN_BASE: return (MPI_Aint) at;
    default: return from_attribute(at);
  }
}

KEYVALS(Comm, comm, MPI_Comm, Comm, Comm_create_keyval)
KEYVALS(Type, type, MPI_Datatype, Type, Type_create_keyval)
KEYVALS(Win, win, MPI_Win, Win, Win_create_keyval)

EXPORT void NAME(keyval_create_)(void (*copy)(void), void (*delete)(void), int * key, int * extra_state, int * ierror)
{
  end(comm_keyval(copy, delete, key, *extra_state, 1), ierror);
}

EXPORT void NAME(attr_get_)(int * comm, int * key, int * value, int * flag, int * ierror)
{
  MPI_Aint found  = *value;
  int      result = comm_value(*comm, *key, &found, flag);
  *value          = (int) found;
  end(result, ierror);
}

EXPORT void NAME(attr_put_)(int * comm, int * key, int * value, int * ierror)
{
  end(CALL(Comm_set_attr)(MPI_Comm_fromint(*comm), *key, to_attribute(*value)), ierror);
}

#ifndef PROFILED
#define COPIES(prefix, value)                                                                                      \
  EXPORT void mpi_##prefix##null_copy_fn_(int * old, int * key, value * state, value * in, value * out, int * flag, int * ierror) \
  {                                                                                                                \
    *flag = fortran_false;                                                                                         \
    *ierror = MPI_SUCCESS;                                                                                         \
  }                                                                                                                \
  EXPORT void mpi_##prefix##dup_fn_(int * old, int * key, value * state, value * in, value * out, int * flag, int * ierror) \
  {                                                                                                                \
    *out  = *in;                                                                                                   \
    *flag = fortran_true;                                                                                          \
    *ierror = MPI_SUCCESS;                                                                                         \
  }                                                                                                                \
  EXPORT void mpi_##prefix##null_delete_fn_(int * old, int * key, value * at, value * state, int * ierror)         \
  {                                                                                                                \
    *ierror = MPI_SUCCESS;                                                                                         \
  }
COPIES(comm_, MPI_Aint)
COPIES(type_, MPI_Aint)
COPIES(win_, MPI_Aint)
COPIES(, int)

/* Known by their addresses alone. */
EXPORT void mpi_conversion_fn_null_(void)
{
}
EXPORT void mpi_conversion_fn_null_c_(void)
{
}
#else
EXPORT extern void mpi_conversion_fn_null_(void), mpi_conversion_fn_null_c_(void);
#endif

/* Generalized requests. */

struct grequest
{
  void (*query)(MPI_Aint *, MPI_Status *, int *);
  void (*free)(MPI_Aint *, int *);
  void (*cancel)(MPI_Aint *, int *, int *);
  MPI_Aint extra_state;
};

static int query(void * state, MPI_Status * status)
{
  struct grequest * of     = state;
  int               result = MPI_SUCCESS;
  of->query(&of->extra_state, status, &result);
  return result;
}

static int free_grequest(void * state)
{
  struct grequest * of     = state;
  int               result = MPI_SUCCESS;
  of->free(&of->extra_state, &result);
  free(of);
  return result;
}

static int cancel(void * state, int complete)
{
  struct grequest * of     = state;
  int               result = MPI_SUCCESS, complete_f = to_logical(complete);
  of->cancel(&of->extra_state, &complete_f, &result);
  return result;
}

EXPORT void NAME(grequest_start_)(void (*query_fn)(MPI_Aint *, MPI_Status *, int *), void (*free_fn)(MPI_Aint *, int *),
                                  void (*cancel_fn)(MPI_Aint *, int *, int *), MPI_Aint * extra_state, int * request, int * ierror)
{
  struct grequest * of = allocate(sizeof *of);
  MPI_Request       made;
  int               result;
  *of    = (struct grequest) { query_fn, free_fn, cancel_fn, *extra_state };
  result = CALL(Grequest_start)(query, free_grequest, cancel, of, &made);
  if (result == MPI_SUCCESS) *request = MPI_Request_toint(made);
  else free(of);
  end(result, ierror);
}
SAME(grequest_start_f08_, grequest_start_, ());

/* Data representations. They are never removed. */

struct datarep
{
  void (*read)(void);
  void (*write)(void);
  void (*extent)(int *, MPI_Aint *, MPI_Aint *, int *);
  MPI_Aint extra_state;
};

static int extent_of(MPI_Datatype datatype, MPI_Aint * extent, void * state)
{
  struct datarep * of     = state;
  int              result = MPI_SUCCESS, type = MPI_Type_toint(datatype);
  of->extent(&type, extent, &of->extra_state, &result);
  return result;
}

#define CONVERSION(name, which, number)                                                                                            \
  static int name(void * buffer, MPI_Datatype datatype, number count, void * file, MPI_Offset position, void * state)              \
  {                                                                                                                                \
    struct datarep * of     = state;                                                                                               \
    int              result = MPI_SUCCESS, type = MPI_Type_toint(datatype);                                                        \
    ((void (*)(void *, int *, number *, void *, MPI_Offset *, MPI_Aint *, int *)) of->which)(buffer, &type, &count, file, &position, \
                                                                                             &of->extra_state, &result);           \
    return result;                                                                                                                 \
  }
CONVERSION(reads, read, int)
CONVERSION(writes, write, int)
CONVERSION(reads_long, read, MPI_Count)
CONVERSION(writes_long, write, MPI_Count)

static void register_datarep(const char * name, void (*read)(void), void (*write)(void),
                             void (*extent)(int *, MPI_Aint *, MPI_Aint *, int *), MPI_Aint extra_state, int is_long, int * ierror,
                             size_t length)
{
  char             name_s[TEXT_ROOM];
  char *           name_c = to_c_text(name_s, name, length, 0);
  struct datarep * of     = allocate(sizeof *of);
  int              result;
  /* Of either kind: a program may take that without counts of its kind. */
  int no_read = read == mpi_conversion_fn_null_ || read == mpi_conversion_fn_null_c_;
  int no_write = write == mpi_conversion_fn_null_ || write == mpi_conversion_fn_null_c_;
  *of          = (struct datarep) { read, write, extent, extra_state };
  if (is_long)
    result = CALL(Register_datarep_c)(name_c, no_read ? MPI_CONVERSION_FN_NULL_C : reads_long,
                                      no_write ? MPI_CONVERSION_FN_NULL_C : writes_long, extent_of, of);
  else
    result = CALL(Register_datarep)(name_c, no_read ? MPI_CONVERSION_FN_NULL : reads, no_write ? MPI_CONVERSION_FN_NULL : writes,
                                    extent_of, of);
  if (result != MPI_SUCCESS) free(of);
  give(name_s, name_c);
  end(result, ierror);
}

EXPORT void NAME(register_datarep_)(char * name, void (*read)(void), void (*write)(void),
                                    void (*extent)(int *, MPI_Aint *, MPI_Aint *, int *), MPI_Aint * extra_state, int * ierror,
                                    size_t length)
{
  register_datarep(name, read, write, extent, *extra_state, 0, ierror, length);
}
SAME(register_datarep_f08_, register_datarep_, ());

EXPORT void NAME(register_datarep_c_f08_)(char * name, void (*read)(void), void (*write)(void),
                                          void (*extent)(int *, MPI_Aint *, MPI_Aint *, int *), MPI_Aint * extra_state,
                                          int * ierror, size_t length)
{
  register_datarep(name, read, write, extent, *extra_state, 1, ierror, length);
}

/* Processes that are started. Words follow one another at a distance, up to one of blanks alone. */

static char ** words(const char * from, size_t length, size_t distance)
{
  size_t count = 0;
  char   small[TEXT_ROOM];
  for (;; count++)
  {
    const char * word = from + count * distance;
    size_t       i    = 0;
    while (i < length && word[i] == ' ') i++;
    if (i == length) break;
  }
  char ** list = allocate((count + 1) * sizeof *list);
  for (size_t i = 0; i < count; i++)
  {
    char * word = to_c_text(small, from + i * distance, length, 1);
    list[i]     = strcpy(allocate(strlen(word) + 1), word);
    give(small, word);
  }
  list[count] = NULL;
  return list;
}

static void free_words(char ** list)
{
  if (!list) return;
  for (char ** word = list; *word; word++) free(*word);
  free(list);
}

EXPORT void NAME(comm_spawn_)(char * command, char * argv, int * maxprocs, int * info, int * root, int * comm, int * intercomm,
                              int * errcodes, int * ierror, size_t command_length, size_t argv_length)
{
  MPI_Comm made = MPI_COMM_NULL, of = MPI_Comm_fromint(*comm);
  int      rank = -1, result;
  char     command_s[TEXT_ROOM], *command_c = NULL, **argv_c = MPI_ARGV_NULL;
  /* Of other ranks nothing is read. */
  PMPI_Comm_rank(of, &rank);
  if (rank == *root)
  {
    command_c = to_c_text(command_s, command, command_length, 1);
    if (argv != &mpifort_argv_null_) argv_c = words(argv, argv_length, argv_length);
  }
  result = CALL(Comm_spawn)(command_c, argv_c, *maxprocs, MPI_Info_fromint(*info), *root, of, &made,
                            errcodes == &mpifort_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes);
  if (result == MPI_SUCCESS) *intercomm = MPI_Comm_toint(made);
  if (command_c) give(command_s, command_c);
  free_words(argv_c);
  end(result, ierror);
}
SAME(comm_spawn_f08_, comm_spawn_, ());

EXPORT void NAME(comm_spawn_multiple_)(int * count, char * commands, char * argvs, int * maxprocs, int * infos, int * root, int * comm,
                                       int * intercomm, int * errcodes, int * ierror, size_t commands_length, size_t argvs_length)
{
  MPI_Comm made = MPI_COMM_NULL, of = MPI_Comm_fromint(*comm);
  int      rank = -1, result;
  PMPI_Comm_rank(of, &rank);
  long       n           = rank == *root ? at_least_none(*count) : 0;
  char **    commands_c  = allocate((size_t) (n + 1) * sizeof *commands_c);
  char ***   argvs_c     = MPI_ARGVS_NULL;
  MPI_Info * infos_c     = allocate((size_t) (n + 1) * sizeof *infos_c);
  if (rank == *root && argvs != &mpifort_argvs_null_) argvs_c = allocate((size_t) (n + 1) * sizeof *argvs_c);
  for (long i = 0; i < n; i++)
  {
    char   small[TEXT_ROOM];
    char * command = to_c_text(small, commands + (size_t) i * commands_length, commands_length, 1);
    commands_c[i]  = strcpy(allocate(strlen(command) + 1), command);
    give(small, command);
    infos_c[i] = MPI_Info_fromint(infos[i]);
    /* The words of a command are a row. */
    if (argvs_c) argvs_c[i] = words(argvs + (size_t) i * argvs_length, argvs_length, (size_t) n * argvs_length);
  }
  result = CALL(Comm_spawn_multiple)(*count, commands_c, argvs_c, maxprocs, infos_c, *root, of, &made,
                                     errcodes == &mpifort_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes);
  if (result == MPI_SUCCESS) *intercomm = MPI_Comm_toint(made);
  for (long i = 0; i < n; i++)
  {
    free(commands_c[i]);
    if (argvs_c) free_words(argvs_c[i]);
  }
  free(commands_c);
  free(argvs_c);
  free(infos_c);
  end(result, ierror);
}
SAME(comm_spawn_multiple_f08_, comm_spawn_multiple_, ());
