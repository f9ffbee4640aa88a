/* Sections of arrays that have gaps: the elements of a buffer follow one another in the order of the array, and lie elsewhere. */
#include "support.h"

#include <stdio.h>

/* Raises nothing: the caller knows where. */
static int refused(const char * why)
{
  int code = MPI_ERR_BUFFER;
  if (PMPI_Add_error_code(MPI_ERR_BUFFER, &code) == MPI_SUCCESS) PMPI_Add_error_string(code, why);
  return code;
}

static MPI_Count elements(const CFI_cdesc_t * of, int rank)
{
  MPI_Count count = 1;
  for (int i = 0; i < rank; i++) count *= of->dim[i].extent;
  return count;
}

/* The type of the first elements of so many dimensions. */
static int describe(const CFI_cdesc_t * of, int rank, MPI_Count count, MPI_Datatype element, MPI_Datatype * made)
{
  if (rank == 0) return PMPI_Type_contiguous_c(1, element, made);
  const MPI_Count below = elements(of, rank - 1), whole = count / below, rest = count % below;
  const MPI_Count stride = (MPI_Count) of->dim[rank - 1].sm;
  MPI_Datatype    parts[2];
  int             result = describe(of, rank - 1, below, element, &parts[1]);
  if (result != MPI_SUCCESS) return result;
  result = PMPI_Type_create_hvector_c(whole, 1, stride, parts[1], &parts[0]);
  PMPI_Type_free(&parts[1]);
  if (result != MPI_SUCCESS) return result;
  if (rest == 0)
  {
    *made = parts[0];
    return result;
  }
  result = describe(of, rank - 1, rest, element, &parts[1]);
  if (result == MPI_SUCCESS)
  {
    const MPI_Count lengths[2] = { 1, 1 }, at[2] = { 0, whole * stride };
    result = PMPI_Type_create_struct_c(2, lengths, at, parts, made);
    PMPI_Type_free(&parts[1]);
  }
  PMPI_Type_free(&parts[0]);
  return result;
}

/* A type of one element, if datatypes of this kind fill elements without gaps: `per` of them each. */
static MPI_Datatype element_type(MPI_Datatype type, size_t bytes, MPI_Count * per)
{
  MPI_Count    size, lb, extent, true_lb, true_extent;
  MPI_Datatype made;
  if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS || PMPI_Type_get_extent_c(type, &lb, &extent) != MPI_SUCCESS
      || PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent) != MPI_SUCCESS)
    return MPI_DATATYPE_NULL;
  if (size <= 0 || lb != 0 || true_lb != 0 || extent != size || true_extent != size || bytes % (size_t) size != 0)
    return MPI_DATATYPE_NULL;
  *per = (MPI_Count) bytes / size;
  return PMPI_Type_contiguous_c(*per, type, &made) == MPI_SUCCESS ? made : MPI_DATATYPE_NULL;
}

/* Between the section and its copy. */
static void move(const CFI_cdesc_t * of, int rank, char * section, char ** copy, int is_back)
{
  if (rank == 0)
  {
    if (is_back) memcpy(section, *copy, of->elem_len);
    else memcpy(*copy, section, of->elem_len);
    *copy += of->elem_len;
    return;
  }
  for (CFI_index_t i = 0; i < of->dim[rank - 1].extent; i++) move(of, rank - 1, section + i * of->dim[rank - 1].sm, copy, is_back);
}

int open_irregular(struct section * section, const CFI_cdesc_t * of, MPI_Count count, MPI_Datatype type, enum strategy strategy)
{
  const MPI_Count total = elements(of, of->rank);
  if (strategy == TYPES || strategy == TYPES_OR_COPY)
  {
    MPI_Count    per     = 1;
    MPI_Datatype element = element_type(type, of->elem_len, &per);
    if (count == 0)
    {
      if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
      return MPI_SUCCESS;
    }
    if (element != MPI_DATATYPE_NULL && count > 0 && count % per == 0)
    {
      if (count / per > total)
      {
        PMPI_Type_free(&element);
        return refused("count is larger than the section of an array that is the buffer");
      }
      int result = describe(of, of->rank, count / per, element, &section->type);
      PMPI_Type_free(&element);
      if (result == MPI_SUCCESS) result = PMPI_Type_commit(&section->type);
      section->is_made = result == MPI_SUCCESS;
      section->count   = 1;
      return result;
    }
    if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
    if (strategy == TYPES)
      return refused("a section of an array with gaps can be the buffer of a call that returns before it is done, or of a window's, if the "
                     "datatype is that of its elements: pass an array without gaps");
  }
  if (strategy == NEITHER)
    return refused("a section of an array with gaps cannot be this buffer of a call that returns before it is done: pass an array without "
                   "gaps");
  section->copy = allocate((size_t) total * of->elem_len);
  char * copy   = section->copy;
  move(of, of->rank, of->base_addr, &copy, 0);
  section->at = section->copy;
  return MPI_SUCCESS;
}

void close_irregular(struct section * section)
{
  if (section->is_made) PMPI_Type_free(&section->type);
  if (!section->copy) return;
  char * copy = section->copy;
  if (!section->is_read_only) move(section->of, section->of->rank, section->of->base_addr, &copy, 1);
  free(section->copy);
}
