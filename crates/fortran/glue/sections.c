/* Sections of arrays that have gaps: the elements of a buffer follow one another in the order of the array, and lie elsewhere. */
#include "support.h"

#include <pthread.h>
#include <stddef.h>

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

/* The type of the first `count` elements of the first `rank` dimensions. */
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

/* From the section to its copy. */
static void copy_out(const CFI_cdesc_t * of, int rank, const char * section, char ** copy)
{
  if (rank == 0)
  {
    memcpy(*copy, section, of->elem_len);
    *copy += of->elem_len;
    return;
  }
  for (CFI_index_t i = 0; i < of->dim[rank - 1].extent; i++) copy_out(of, rank - 1, section + i * of->dim[rank - 1].sm, copy);
}

/* And back: what the call has changed, since other calls may have written the rest in the meantime. */
static void copy_back(const CFI_cdesc_t * of, int rank, char * section, const char ** copy, const char ** before)
{
  if (rank == 0)
  {
    for (size_t i = 0; i < of->elem_len; i++)
      if ((*copy)[i] != (*before)[i]) section[i] = (*copy)[i];
    *copy += of->elem_len;
    *before += of->elem_len;
    return;
  }
  for (CFI_index_t i = 0; i < of->dim[rank - 1].extent; i++)
    copy_back(of, rank - 1, section + i * of->dim[rank - 1].sm, copy, before);
}

int open_irregular(struct section * section, const CFI_cdesc_t * of, MPI_Count count, MPI_Datatype type, enum strategy strategy)
{
  const MPI_Count total = elements(of, of->rank);
  if (strategy == TYPES || strategy == TYPES_OR_COPY || strategy == TYPES_OR_LATER)
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
      return refused("a section of an array with gaps can be the buffer of a persistent request, of a window or of a split collective, if the "
                     "datatype is that of its elements: pass an array without gaps");
  }
  if (strategy == NEITHER)
    return refused("a section of an array with gaps cannot be this buffer of a persistent request or of a window: pass an array without gaps");
  const size_t bytes = (size_t) total * of->elem_len;
  char *       copy  = allocate(section->is_read_only ? bytes : 2 * bytes);
  section->at = section->copy = copy;
  copy_out(of, of->rank, of->base_addr, &copy);
  if (!section->is_read_only) memcpy(copy, section->copy, bytes);
  return MPI_SUCCESS;
}

void close_irregular(struct section * section)
{
  if (section->is_made) PMPI_Type_free(&section->type);
  if (!section->copy) return;
  if (!section->is_read_only)
  {
    const CFI_cdesc_t * of   = section->of;
    const char *        copy = section->copy, *before = copy + (size_t) elements(of, of->rank) * of->elem_len;
    copy_back(of, of->rank, of->base_addr, &copy, &before);
  }
  free(section->copy);
}

/* Copies of requests that are not done. Requests that were done within their calls may share a handle. */

struct left
{
  int            request;
  struct section section;
  struct left *  next;
  CFI_cdesc_t    of; /* with its dimensions after it */
};

int                    left_sections;
static struct left *   left;
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

void leave_irregular(struct section * section, int request)
{
  if (!section->copy)
  {
    close_irregular(section);
    return;
  }
  const size_t  dimensions = (size_t) section->of->rank * sizeof section->of->dim[0];
  struct left * more       = allocate(sizeof *more + dimensions);
  more->request            = request;
  more->section            = *section;
  memcpy(&more->of, section->of, offsetof(CFI_cdesc_t, dim) + dimensions);
  more->section.of = &more->of;
  pthread_mutex_lock(&left_lock);
  more->next = left;
  left       = more;
  __atomic_add_fetch(&left_sections, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&left_lock);
}

void finish_left(int request)
{
  struct left * done = NULL;
  pthread_mutex_lock(&left_lock);
  for (struct left ** at = &left; *at;)
  {
    struct left * found = *at;
    if (found->request != request)
    {
      at = &found->next;
      continue;
    }
    *at         = found->next;
    found->next = done;
    done        = found;
    __atomic_sub_fetch(&left_sections, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&left_lock);
  while (done)
  {
    struct left * next = done->next;
    close_irregular(&done->section);
    free(done);
    done = next;
  }
}

/* A request that is freed may still use its buffer, so a copy stays for ever. */
void forget_left(int request)
{
  pthread_mutex_lock(&left_lock);
  for (struct left ** at = &left; *at;)
  {
    if ((*at)->request != request)
    {
      at = &(*at)->next;
      continue;
    }
    *at = (*at)->next;
    __atomic_sub_fetch(&left_sections, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&left_lock);
}

void finish_if_done(long count, const int * requests)
{
  for (long i = 0; i < count && __atomic_load_n(&left_sections, __ATOMIC_RELAXED) != 0; i++)
  {
    int          is_done = 0;
    MPI_Request  request = MPI_Request_fromint(requests[i]);
    if (PMPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done) finish_left(requests[i]);
  }
}
