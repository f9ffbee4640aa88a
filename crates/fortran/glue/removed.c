/* Functions that MPI 3.0 removed, for older programs: each calls its replacement. Addresses and extents are INTEGER
 * here, so there is no MPI_ADDRESS, whose results do not fit. */

static inline int to_integer(MPI_Aint value, int * to)
{
  *to = value == (int) value ? (int) value : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

EXPORT void NAME(type_extent_)(int * type, int * extent, int * ierror)
{
  MPI_Aint lb, all;
  int      result = CALL(Type_get_extent)(MPI_Type_fromint(*type), &lb, &all);
  end(result == MPI_SUCCESS ? to_integer(all, extent) : result, ierror);
}

EXPORT void NAME(type_lb_)(int * type, int * lower, int * ierror)
{
  MPI_Aint lb, all;
  int      result = CALL(Type_get_extent)(MPI_Type_fromint(*type), &lb, &all);
  end(result == MPI_SUCCESS ? to_integer(lb, lower) : result, ierror);
}

EXPORT void NAME(type_ub_)(int * type, int * upper, int * ierror)
{
  MPI_Aint lb, all;
  int      result = CALL(Type_get_extent)(MPI_Type_fromint(*type), &lb, &all);
  end(result == MPI_SUCCESS ? to_integer(lb + all, upper) : result, ierror);
}

static inline int made_type(int result, MPI_Datatype made, int * type)
{
  if (result == MPI_SUCCESS) *type = MPI_Type_toint(made);
  return result;
}

EXPORT void NAME(type_hvector_)(int * count, int * length, int * stride, int * old, int * type, int * ierror)
{
  MPI_Datatype made;
  int          result = CALL(Type_create_hvector)(*count, *length, *stride, MPI_Type_fromint(*old), &made);
  end(made_type(result, made, type), ierror);
}

/* Displacements of other integers, and types, for a call; they are freed after it. */
static inline MPI_Aint * wide(int count, const int * displacements)
{
  MPI_Aint * all = allocate(sizeof(MPI_Aint) * (size_t) (count > 0 ? count : 0));
  for (int i = 0; i < count; i++) all[i] = displacements[i];
  return all;
}

EXPORT void NAME(type_hindexed_)(int * count, int * lengths, int * displacements, int * old, int * type, int * ierror)
{
  MPI_Aint *   at = wide(*count, displacements);
  MPI_Datatype made;
  int          result = CALL(Type_create_hindexed)(*count, lengths, at, MPI_Type_fromint(*old), &made);
  free(at);
  end(made_type(result, made, type), ierror);
}

EXPORT void NAME(type_struct_)(int * count, int * lengths, int * displacements, int * types, int * type, int * ierror)
{
  MPI_Aint *     at = wide(*count, displacements);
  MPI_Datatype * of = allocate(sizeof(MPI_Datatype) * (size_t) (*count > 0 ? *count : 0));
  MPI_Datatype   made;
  for (int i = 0; i < *count; i++) of[i] = MPI_Type_fromint(types[i]);
  int result = CALL(Type_create_struct)(*count, lengths, at, of, &made);
  free(of);
  free(at);
  end(made_type(result, made, type), ierror);
}

EXPORT void NAME(errhandler_get_)(int * comm, int * errhandler, int * ierror)
{
  MPI_Errhandler has;
  int            result = CALL(Comm_get_errhandler)(MPI_Comm_fromint(*comm), &has);
  if (result == MPI_SUCCESS) *errhandler = MPI_Errhandler_toint(has);
  end(result, ierror);
}

EXPORT void NAME(errhandler_set_)(int * comm, int * errhandler, int * ierror)
{
  end(CALL(Comm_set_errhandler)(MPI_Comm_fromint(*comm), MPI_Errhandler_fromint(*errhandler)), ierror);
}
