
/* Handles and statuses of C in Fortran and the other way round (section 19.3.4 of the standard). They are not
 * part of the binary interface, whose functions have int for MPI_Fint: so they are inline, and nothing of them is
 * linked. An INTEGER of Fortran is an int. A program may define macros of these names instead.
 */
#ifndef MPI_Fint
typedef int MPI_Fint;
#endif

#ifndef MPI_Comm_c2f
#define NETLOOM_HANDLE_OF_FORTRAN(Name, Handle)                                                            \
  static __inline__ MPI_Fint MPI_##Name##_c2f(Handle handle) { return MPI_##Name##_toint(handle); }        \
  static __inline__ Handle MPI_##Name##_f2c(MPI_Fint handle) { return MPI_##Name##_fromint(handle); }      \
  static __inline__ MPI_Fint PMPI_##Name##_c2f(Handle handle) { return PMPI_##Name##_toint(handle); }      \
  static __inline__ Handle PMPI_##Name##_f2c(MPI_Fint handle) { return PMPI_##Name##_fromint(handle); }

NETLOOM_HANDLE_OF_FORTRAN(Comm, MPI_Comm)
NETLOOM_HANDLE_OF_FORTRAN(Errhandler, MPI_Errhandler)
NETLOOM_HANDLE_OF_FORTRAN(File, MPI_File)
NETLOOM_HANDLE_OF_FORTRAN(Group, MPI_Group)
NETLOOM_HANDLE_OF_FORTRAN(Info, MPI_Info)
NETLOOM_HANDLE_OF_FORTRAN(Message, MPI_Message)
NETLOOM_HANDLE_OF_FORTRAN(Op, MPI_Op)
NETLOOM_HANDLE_OF_FORTRAN(Request, MPI_Request)
NETLOOM_HANDLE_OF_FORTRAN(Session, MPI_Session)
NETLOOM_HANDLE_OF_FORTRAN(Type, MPI_Datatype)
NETLOOM_HANDLE_OF_FORTRAN(Win, MPI_Win)
#undef NETLOOM_HANDLE_OF_FORTRAN

/* The addresses of Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE: NULL in a program without the library
 * for Fortran. */
extern MPI_Fint mpifort_status_ignore_[MPI_F_STATUS_SIZE] __attribute__((weak));
extern MPI_Fint mpifort_statuses_ignore_[MPI_F_STATUS_SIZE] __attribute__((weak));
#define MPI_F_STATUS_IGNORE   ((MPI_Fint *) mpifort_status_ignore_)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *) mpifort_statuses_ignore_)

static __inline__ int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
  int i;
  f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
  f_status[MPI_F_TAG] = c_status->MPI_TAG;
  f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
  for (i = 0; i < 5; i++)
    f_status[3 + i] = c_status->MPI_internal[i];
  return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
  int i;
  c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
  c_status->MPI_TAG = f_status[MPI_F_TAG];
  c_status->MPI_ERROR = f_status[MPI_F_ERROR];
  for (i = 0; i < 5; i++)
    c_status->MPI_internal[i] = f_status[3 + i];
  return MPI_SUCCESS;
}

/* A status of the module mpi_f08 has the same parts in the same order. */
typedef MPI_Status MPI_F08_status;
extern MPI_Fint mpifort_status_ignore_f08_[MPI_F_STATUS_SIZE] __attribute__((weak));
extern MPI_Fint mpifort_statuses_ignore_f08_[MPI_F_STATUS_SIZE] __attribute__((weak));
#define MPI_F08_STATUS_IGNORE   ((MPI_F08_status *) mpifort_status_ignore_f08_)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *) mpifort_statuses_ignore_f08_)

static __inline__ int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
  *f08_status = *c_status;
  return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
  *c_status = *f08_status;
  return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
  return MPI_Status_f2c(f_status, f08_status);
}

static __inline__ int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
  return MPI_Status_c2f(f08_status, f_status);
}

#define PMPI_Status_c2f   MPI_Status_c2f
#define PMPI_Status_f2c   MPI_Status_f2c
#define PMPI_Status_c2f08 MPI_Status_c2f08
#define PMPI_Status_f082c MPI_Status_f082c
#define PMPI_Status_f2f08 MPI_Status_f2f08
#define PMPI_Status_f082f MPI_Status_f082f
#endif
