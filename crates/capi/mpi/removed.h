
/* Functions that MPI 3.0 removed (chapter 17 of the standard), for older programs: each calls its replacement, which
 * the compiler's warning names. A program may define macros of these names instead.
 */
#define NETLOOM_REMOVED(now) static __inline__ __attribute__((deprecated("removed by MPI 3.0, use " now)))

typedef MPI_Comm_errhandler_function MPI_Handler_function;

#ifndef MPI_Address
NETLOOM_REMOVED("MPI_Get_address") int MPI_Address(void *location, MPI_Aint *address)
{
  return MPI_Get_address(location, address);
}
#endif
#ifndef MPI_Errhandler_create
NETLOOM_REMOVED("MPI_Comm_create_errhandler")
int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
  return MPI_Comm_create_errhandler(function, errhandler);
}
#endif
#ifndef MPI_Errhandler_get
NETLOOM_REMOVED("MPI_Comm_get_errhandler") int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
  return MPI_Comm_get_errhandler(comm, errhandler);
}
#endif
#ifndef MPI_Errhandler_set
NETLOOM_REMOVED("MPI_Comm_set_errhandler") int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
  return MPI_Comm_set_errhandler(comm, errhandler);
}
#endif
#ifndef MPI_Type_extent
NETLOOM_REMOVED("MPI_Type_get_extent") int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
  MPI_Aint lb;
  return MPI_Type_get_extent(datatype, &lb, extent);
}
#endif
#ifndef MPI_Type_lb
NETLOOM_REMOVED("MPI_Type_get_extent") int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *lb)
{
  MPI_Aint extent;
  return MPI_Type_get_extent(datatype, lb, &extent);
}
#endif
#ifndef MPI_Type_ub
NETLOOM_REMOVED("MPI_Type_get_extent") int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *ub)
{
  MPI_Aint lb, extent;
  int      result = MPI_Type_get_extent(datatype, &lb, &extent);
  if (result == MPI_SUCCESS) *ub = lb + extent;
  return result;
}
#endif
#ifndef MPI_Type_hvector
NETLOOM_REMOVED("MPI_Type_create_hvector")
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
  return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}
#endif
#ifndef MPI_Type_hindexed
NETLOOM_REMOVED("MPI_Type_create_hindexed")
int MPI_Type_hindexed(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
  return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}
#endif
#ifndef MPI_Type_struct
NETLOOM_REMOVED("MPI_Type_create_struct")
int MPI_Type_struct(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype *types, MPI_Datatype *newtype)
{
  return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}
#endif
#undef NETLOOM_REMOVED
