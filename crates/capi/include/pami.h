/* pami.h: the C interface of PAMI, the Parallel Active Messaging Interface of Blue Gene/Q.
 *
 * Names, values, argument orders and structure layouts are those of the public V1R2M2 header, so a program
 * written for PAMI compiles against this file and links with libpami.so.
 *
 * Part 1 declares types, constants and data symbols. Part 2 declares the 66 functions.
 *
 * Three rules hold for all functions unless their comment says otherwise:
 *  - A function that takes a context is a critical section of that context. Only one thread may be in it.
 *    PAMI_Context_post, the lock functions and PAMI_Context_trylock_advancev are the exceptions.
 *  - A callback runs in the thread that advances the context. It may start operations on its context. It must
 *    not advance its context.
 *  - Parameter structures are read during the call. The caller may reuse them when the call returns. Buffers
 *    that they point to stay in use until the completion callback.
 */

#ifndef PAMI_H
#define PAMI_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "pami_sys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===================================== Part 1: types and constants ====================================== */

/* ----------------------------------------------- Results ------------------------------------------------ */

/** Result of a call, and the argument that reports the outcome of an operation to its callback. */
typedef enum
{
  PAMI_SUCCESS     = 0,    /**< done, or accepted and to be completed later */
  PAMI_NERROR      = -1,   /**< unspecified error, negative variant */
  PAMI_ERROR       = 1,    /**< unspecified error */
  PAMI_INVAL       = 2,    /**< an argument is invalid */
  PAMI_UNIMPL      = 3,    /**< not offered by this implementation or device */
  PAMI_EAGAIN      = 4,    /**< nothing done now; the same call may succeed later */
  PAMI_ENOMEM      = 5,    /**< out of memory */
  PAMI_SHUTDOWN    = 6,    /**< the peer task is gone */
  PAMI_CHECK_ERRNO = 7,    /**< the reason is in errno */
  PAMI_OTHER       = 8,    /**< error of another kind */
  PAMI_RESULT_EXT  = 1000  /**< extensions number their results from here */
} pami_result_t;

/* ----------------------------------------------- Handles ------------------------------------------------ */

typedef void *   pami_client_t;    /**< one network instance: its tasks, contexts and geometries */
typedef void *   pami_context_t;   /**< an independent communication channel of a client; unit of threading */
typedef void *   pami_type_t;      /**< a layout of data in memory */
typedef uint32_t pami_task_t;      /**< a process of the job, numbered from 0 */
typedef uint32_t pami_endpoint_t;  /**< one context of one task: the address of point-to-point operations */
typedef void *   pami_geometry_t;  /**< an ordered set of tasks or endpoints for collectives */
typedef size_t   pami_algorithm_t; /**< a collective algorithm of a geometry */
typedef void *   pami_extension_t; /**< an open extension */

/* Values of handles that name nothing. They are variables of the library, not constants of the compiler. */
extern pami_client_t    PAMI_CLIENT_NULL;
extern pami_type_t      PAMI_TYPE_NULL;
extern pami_context_t   PAMI_CONTEXT_NULL;
extern pami_geometry_t  PAMI_GEOMETRY_NULL;
extern pami_algorithm_t PAMI_ALGORITHM_NULL;
extern pami_endpoint_t  PAMI_ENDPOINT_NULL;

/** Context offset that selects every context of each task when a geometry is created. */
extern size_t PAMI_ALL_CONTEXTS;

/* As on Blue Gene/Q, the null endpoint is also a constant. It has the bits of task 0, offset 0. */
#define PAMI_ENDPOINT_NULL 0

/** Buffer address of a collective that means: the data is already in the other buffer. */
#define PAMI_IN_PLACE ((void *) -1L)

/** Storage for one posted work item. The library owns it from PAMI_Context_post until the work is done. */
typedef uintptr_t pami_work_t[PAMI_WORK_SIZE_STATIC / sizeof(uintptr_t)];

/** A registered range of memory. The bytes of the handle may be sent to other tasks, which then name the
 *  range in Rput and Rget. */
typedef uintptr_t pami_memregion_t[PAMI_CLIENT_MEMREGION_SIZE_STATIC / sizeof(uintptr_t)];

/* ---------------------------------------------- Callbacks ----------------------------------------------- */

/** Reports that an operation or a phase of it is complete. `cookie` is the one given with the operation. */
typedef void (*pami_event_function)(pami_context_t context, void * cookie, pami_result_t result);

/** Combines `bytes` of contiguous data from `source` into `target`: a copy, a reduction, or what the program
 *  needs. `bytes` is a multiple of the atom size of the type in use. */
typedef void (*pami_data_function)(void * target, void * source, size_t bytes, void * cookie);

/** Work that a context runs when advanced. PAMI_SUCCESS ends it and hands the pami_work_t back to the
 *  program; PAMI_EAGAIN keeps it queued for the next advance. */
typedef pami_result_t (*pami_work_function)(pami_context_t context, void * cookie);

/* ---------------------------------------------- Attributes ---------------------------------------------- */

typedef char * pami_user_key_t;
typedef char * pami_user_value_t;

/** A pair of strings for configuration by the user. No function of this header takes it. */
typedef struct
{
  pami_user_key_t   key;
  pami_user_value_t value;
} pami_user_config_t;

/** Names of attributes. The comment gives the member of pami_attribute_value_t that holds the value. The
 *  hundreds tell the kind of object: 1 client, 2 context, 3 dispatch, 4 geometry, 5 type. */
typedef enum
{
  PAMI_CLIENT_CLOCK_MHZ            = 100,  /**< intval: clock rate of a core, MHz */
  PAMI_CLIENT_CONST_CONTEXTS       = 101,  /**< intval: 1 if every task has the same NUM_CONTEXTS */
  PAMI_CLIENT_HWTHREADS_AVAILABLE  = 102,  /**< intval: hardware threads of this process, at least 1 */
  PAMI_CLIENT_MEMREGION_SIZE       = 103,  /**< intval: bytes of a pami_memregion_t */
  PAMI_CLIENT_MEM_SIZE             = 104,  /**< intval: main memory, MiB */
  PAMI_CLIENT_NUM_TASKS            = 105,  /**< intval: tasks of the job */
  PAMI_CLIENT_NUM_LOCAL_TASKS      = 106,  /**< intval: tasks on this node, including this one */
  PAMI_CLIENT_LOCAL_TASKS          = 107,  /**< intarray: tasks on this node; NUM_LOCAL_TASKS elements */
  PAMI_CLIENT_NUM_CONTEXTS         = 108,  /**< intval: most contexts this process may create */
  PAMI_CLIENT_PROCESSOR_NAME       = 109,  /**< chararray: a name unique to this process; not to be freed */
  PAMI_CLIENT_TASK_ID              = 110,  /**< intval: number of this task */
  PAMI_CLIENT_WTIMEBASE_MHZ        = 111,  /**< intval: rate of PAMI_Wtimebase, MHz */
  PAMI_CLIENT_WTICK                = 112,  /**< doubleval: resolution of PAMI_Wtime, seconds */
  PAMI_CLIENT_NONCONTIG            = 113,  /**< intval: 1 (default) if the world geometry lists algorithms for
                                                non-contiguous data; may be set at PAMI_Client_create */
  PAMI_CLIENT_MEMORY_OPTIMIZE      = 114,  /**< intval: level from 0; higher levels use less memory and may be
                                                slower; may be set at PAMI_Client_create */

  PAMI_CONTEXT_DISPATCH_ID_MAX     = 200,  /**< intval: greatest dispatch identifier */

  PAMI_DISPATCH_RECV_IMMEDIATE_MAX = 300,  /**< intval: most bytes, header and data together, that a dispatch
                                                function can receive at once */
  PAMI_DISPATCH_SEND_IMMEDIATE_MAX = 301,  /**< intval: most bytes, header and data together, that
                                                PAMI_Send_immediate takes */
  PAMI_DISPATCH_ATOM_SIZE_MAX      = 302,  /**< intval: greatest atom size for PAMI_Send_typed */

  PAMI_GEOMETRY_OPTIMIZE           = 400,  /**< intval: 1 if the geometry holds collective hardware and lists
                                                its algorithms; 0 releases the hardware */
  PAMI_GEOMETRY_NONCONTIG          = 401,  /**< intval: as PAMI_CLIENT_NONCONTIG, for one geometry */
  PAMI_GEOMETRY_MEMORY_OPTIMIZE    = 402,  /**< intval: as PAMI_CLIENT_MEMORY_OPTIMIZE, for one geometry */

  PAMI_TYPE_DATA_SIZE              = 500,  /**< intval: bytes of data in one copy of the type */
  PAMI_TYPE_DATA_EXTENT            = 501,  /**< intval: distance between copies of the type, bytes */
  PAMI_TYPE_ATOM_SIZE              = 502,  /**< intval: atom size of the type, bytes */

  PAMI_ATTRIBUTE_NAME_EXT          = 1000  /**< extensions number their attributes from here */
} pami_attribute_name_t;

/** Value of an attribute. The name tells which member is in use. Arrays and strings belong to the library. */
typedef union
{
  size_t         intval;
  double         doubleval;
  const char   * chararray;
  const size_t * intarray;
} pami_attribute_value_t;

/** An attribute to query or to update. */
typedef struct
{
  pami_attribute_name_t  name;
  pami_attribute_value_t value;
} pami_configuration_t;

/* ------------------------------------------------ Hints ------------------------------------------------- */

/** Value of the two-bit fields of the hint structures. */
typedef enum
{
  PAMI_HINT_DEFAULT = 0,  /**< the implementation decides, or uses the documented default */
  PAMI_HINT_ENABLE  = 1,
  PAMI_HINT_DISABLE = 2,
  PAMI_HINT_INVALID = 3   /**< never valid */
} pami_hint_t;

/** Hints of a dispatch identifier. They bind: PAMI_Dispatch_set fails if it cannot honour one. All tasks must
 *  give the same hints for an identifier. */
typedef struct
{
  unsigned multicontext          : 2;  /**< sends may use other contexts, so all contexts must be advanced;
                                            default: enable */
  unsigned long_header           : 2;  /**< headers may exceed RECV_IMMEDIATE_MAX; default: enable */
  unsigned recv_contiguous       : 2;  /**< receives are contiguous bytes: `type` and `offset` of pami_recv_t
                                            are not read; default: disable */
  unsigned recv_copy             : 2;  /**< receives copy: `data_fn` and `data_cookie` of pami_recv_t are not
                                            read; default: disable */
  unsigned recv_immediate        : 2;  /**< enable: every message is received at once and fits in
                                            RECV_IMMEDIATE_MAX; disable: none is, not even one of 0 bytes;
                                            default: either */
  unsigned consistency           : 2;  /**< dispatch functions run in the order of the sends for each pair of
                                            endpoints; default: disable */
  unsigned buffer_registered     : 2;  /**< all buffers lie in memory regions; default: disable */
  unsigned remote_async_progress : 2;  /**< the target makes progress without advancing; default: disable */
  unsigned use_rdma              : 2;  /**< enable: must use RDMA; disable: must not; default: either */
  unsigned use_shmem             : 2;  /**< enable: must use shared memory; disable: must not; default:
                                            either */
  unsigned queue_immediate       : 2;  /**< PAMI_Send_immediate queues when resources are short; if disabled
                                            it returns PAMI_EAGAIN; default: enable */
} pami_dispatch_hint_t;

/** Hints of one send. They do not bind. The fields sit where they sit in pami_dispatch_hint_t. */
typedef struct
{
  unsigned reserved0             : 12;
  unsigned buffer_registered     : 2;
  unsigned remote_async_progress : 2;
  unsigned use_rdma              : 2;
  unsigned use_shmem             : 2;
  unsigned reserved1             : 2;
} pami_send_hint_t;

/** Hints of one collective. They do not bind. */
typedef struct
{
  unsigned multicontext : 2;
  unsigned reserved0    : 20;
} pami_collective_hint_t;

/* ------------------------------------------- Active messages -------------------------------------------- */

/** Parameters of PAMI_Send_immediate, and the first part of those of the other sends. */
typedef struct
{
  struct iovec     header;    /**< header that the dispatch function sees whole; length may be 0 */
  struct iovec     data;      /**< data; length may be 0 */
  size_t           dispatch;  /**< dispatch identifier at the target */
  pami_send_hint_t hints;
  pami_endpoint_t  dest;
} pami_send_immediate_t;

/** Callbacks of a send. Each may be NULL. */
typedef struct
{
  void *              cookie;     /**< passed to both callbacks */
  pami_event_function local_fn;   /**< header and data buffers may be reused */
  pami_event_function remote_fn;  /**< the target has received all data */
} pami_send_event_t;

/** Parameters of PAMI_Send. */
typedef struct
{
  pami_send_immediate_t send;
  pami_send_event_t     events;
} pami_send_t;

/** Parameters of PAMI_Send_typed. `send.data.iov_len` counts bytes of data, gaps excluded. */
typedef struct
{
  pami_send_immediate_t send;
  pami_send_event_t     events;
  struct
  {
    pami_type_t        type;         /**< layout of the data at `send.data.iov_base` */
    size_t             offset;       /**< bytes of data to skip at the start of the type */
    pami_data_function data_fn;      /**< produces the bytes to send */
    void *             data_cookie;
  } typed;
} pami_send_typed_t;

/** Filled in by a dispatch function to say where the data of a message goes. */
typedef struct
{
  void *              cookie;       /**< passed to `local_fn` */
  pami_event_function local_fn;     /**< all data has arrived and the buffer is the program's; may be NULL */
  void *              addr;         /**< buffer */
  pami_type_t         type;         /**< layout of the buffer */
  size_t              offset;       /**< bytes of data to skip at the start of the type */
  pami_data_function  data_fn;      /**< consumes the bytes received */
  void *              data_cookie;
} pami_recv_t;

/** Receives a point-to-point message. If `pipe_addr` is not NULL, all data is there now and only now, and
 *  `recv` is NULL. Otherwise the function fills in `recv`. `header_addr` is valid only during the call. */
typedef void (*pami_dispatch_p2p_function)(pami_context_t context, void * cookie, const void * header_addr,
                                           size_t header_size, const void * pipe_addr, size_t data_size,
                                           pami_endpoint_t origin, pami_recv_t * recv);

/* ----------------------------------------- Remote memory access ----------------------------------------- */

/** What all one-sided transfers have in common. */
typedef struct
{
  pami_endpoint_t     dest;     /**< the other side */
  pami_send_hint_t    hints;
  size_t              bytes;    /**< bytes of data; 0 is not allowed */
  void *              cookie;   /**< passed to all callbacks of the transfer */
  pami_event_function done_fn;  /**< put: the local buffer may be reused; get: it holds the data */
} pami_rma_t;

/** Virtual addresses, each valid in its own task. */
typedef struct
{
  void * local;
  void * remote;
} pami_rma_addr_t;

/** Layouts of the two buffers. */
typedef struct
{
  pami_type_t local;
  pami_type_t remote;
} pami_rma_typed_t;

/** What all puts have in common. */
typedef struct
{
  pami_event_function rdone_fn;  /**< runs here when all data is in the memory of the target; may be NULL */
} pami_rma_put_t;

/** A place in a memory region. */
typedef struct
{
  pami_memregion_t * mr;
  size_t             offset;  /**< bytes from the start of the region */
} pami_rma_mr_t;

/** Places in memory regions, each of its own task. */
typedef struct
{
  pami_rma_mr_t local;
  pami_rma_mr_t remote;
} pami_rdma_t;

/** Parameters of PAMI_Put. */
typedef struct
{
  pami_rma_t      rma;
  pami_rma_addr_t addr;
  pami_rma_put_t  put;
} pami_put_simple_t;

/** Parameters of PAMI_Put_typed. */
typedef struct
{
  pami_rma_t       rma;
  pami_rma_addr_t  addr;
  pami_rma_typed_t type;
  pami_rma_put_t   put;
} pami_put_typed_t;

/** Parameters of PAMI_Get. */
typedef struct
{
  pami_rma_t      rma;
  pami_rma_addr_t addr;
} pami_get_simple_t;

/** Parameters of PAMI_Get_typed. */
typedef struct
{
  pami_rma_t       rma;
  pami_rma_addr_t  addr;
  pami_rma_typed_t type;
} pami_get_typed_t;

/** Parameters of PAMI_Rput. */
typedef struct
{
  pami_rma_t     rma;
  pami_rdma_t    rdma;
  pami_rma_put_t put;
} pami_rput_simple_t;

/** Parameters of PAMI_Rput_typed. */
typedef struct
{
  pami_rma_t       rma;
  pami_rdma_t      rdma;
  pami_rma_typed_t type;
  pami_rma_put_t   put;
} pami_rput_typed_t;

/** Parameters of PAMI_Rget. */
typedef struct
{
  pami_rma_t  rma;
  pami_rdma_t rdma;
} pami_rget_simple_t;

/** Parameters of PAMI_Rget_typed. */
typedef struct
{
  pami_rma_t       rma;
  pami_rdma_t      rdma;
  pami_rma_typed_t type;
} pami_rget_typed_t;

/** Operations of PAMI_Rmw. Bit 0: copy the old value to `local`. Bit 1: modify only if the old value equals
 *  `test`. Bits 2 to 4: the modification, with `value` as its operand. */
typedef enum
{
  PAMI_ATOMIC_FETCH             = 1,
  PAMI_ATOMIC_COMPARE           = 2,  /**< only together with a modification */

  PAMI_ATOMIC_SET               = 1 << 2,
  PAMI_ATOMIC_ADD               = 2 << 2,
  PAMI_ATOMIC_OR                = 3 << 2,
  PAMI_ATOMIC_AND               = 4 << 2,
  PAMI_ATOMIC_XOR               = 5 << 2,

  PAMI_ATOMIC_FETCH_SET         = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_SET,
  PAMI_ATOMIC_FETCH_ADD         = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_ADD,
  PAMI_ATOMIC_FETCH_OR          = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_OR,
  PAMI_ATOMIC_FETCH_AND         = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_AND,
  PAMI_ATOMIC_FETCH_XOR         = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_XOR,

  PAMI_ATOMIC_COMPARE_SET       = PAMI_ATOMIC_COMPARE | PAMI_ATOMIC_SET,
  PAMI_ATOMIC_COMPARE_ADD       = PAMI_ATOMIC_COMPARE | PAMI_ATOMIC_ADD,
  PAMI_ATOMIC_COMPARE_OR        = PAMI_ATOMIC_COMPARE | PAMI_ATOMIC_OR,
  PAMI_ATOMIC_COMPARE_AND       = PAMI_ATOMIC_COMPARE | PAMI_ATOMIC_AND,
  PAMI_ATOMIC_COMPARE_XOR       = PAMI_ATOMIC_COMPARE | PAMI_ATOMIC_XOR,

  PAMI_ATOMIC_FETCH_COMPARE_SET = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_COMPARE_SET,
  PAMI_ATOMIC_FETCH_COMPARE_ADD = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_COMPARE_ADD,
  PAMI_ATOMIC_FETCH_COMPARE_OR  = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_COMPARE_OR,
  PAMI_ATOMIC_FETCH_COMPARE_AND = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_COMPARE_AND,
  PAMI_ATOMIC_FETCH_COMPARE_XOR = PAMI_ATOMIC_FETCH | PAMI_ATOMIC_COMPARE_XOR
} pami_atomic_t;

/** Parameters of PAMI_Rmw. */
typedef struct
{
  pami_endpoint_t     dest;
  pami_send_hint_t    hints;
  void *              cookie;
  pami_event_function done_fn;    /**< the operation is complete and `local` holds the old value if fetched */
  void *              local;      /**< where the old value goes; read only by fetching operations */
  void *              remote;     /**< address of the operand in the memory of the target */
  void *              value;      /**< address of the operand of the modification */
  void *              test;       /**< address of the value to compare with */
  pami_atomic_t       operation;
  pami_type_t         type;       /**< PAMI_TYPE_{SIGNED,UNSIGNED}_{INT,LONG,LONG_LONG} */
} pami_rmw_t;

/* --------------------------------------------- Collectives ---------------------------------------------- */

/** The collective operations. */
typedef enum
{
  PAMI_XFER_BROADCAST      = 0,
  PAMI_XFER_ALLREDUCE      = 1,
  PAMI_XFER_REDUCE         = 2,
  PAMI_XFER_ALLGATHER      = 3,
  PAMI_XFER_ALLGATHERV     = 4,
  PAMI_XFER_ALLGATHERV_INT = 5,
  PAMI_XFER_SCATTER        = 6,
  PAMI_XFER_SCATTERV       = 7,
  PAMI_XFER_SCATTERV_INT   = 8,
  PAMI_XFER_GATHER         = 9,
  PAMI_XFER_GATHERV        = 10,
  PAMI_XFER_GATHERV_INT    = 11,
  PAMI_XFER_BARRIER        = 12,
  PAMI_XFER_ALLTOALL       = 13,
  PAMI_XFER_ALLTOALLV      = 14,
  PAMI_XFER_ALLTOALLV_INT  = 15,
  PAMI_XFER_SCAN           = 16,
  PAMI_XFER_REDUCE_SCATTER = 17,
  PAMI_XFER_AMBROADCAST    = 18,
  PAMI_XFER_AMSCATTER      = 19,
  PAMI_XFER_AMGATHER       = 20,
  PAMI_XFER_AMREDUCE       = 21,
  PAMI_XFER_COUNT          = 22,   /**< number of collective operations */
  PAMI_XFER_TYPE_EXT       = 1000  /**< extensions number their operations from here */
} pami_xfer_type_t;

/** Tasks `lo` to `hi`, both included. */
typedef struct
{
  pami_task_t lo;
  pami_task_t hi;
} pami_geometry_range_t;

/* Buffers are described by a type and a count of it. Arrays have one element per member of the geometry, in
 * its order. Displacements count copies of the type, not bytes. The _INT operations differ only in taking
 * `int` instead of `size_t`. `sndbuf` may be PAMI_IN_PLACE in alltoall, reduce, allreduce, scan, allgather,
 * gather and their variants; `rcvbuf` may be PAMI_IN_PLACE in scatter and its variants. Type and counts of
 * that buffer are then not read. */

/** Each member sends a block to each member; sizes vary. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  size_t *    stypecounts;
  size_t *    sdispls;
  char *      rcvbuf;
  pami_type_t rtype;
  size_t *    rtypecounts;
  size_t *    rdispls;
} pami_alltoallv_t;

/** As pami_alltoallv_t, with `int` arrays. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  int *       stypecounts;
  int *       sdispls;
  char *      rcvbuf;
  pami_type_t rtype;
  int *       rtypecounts;
  int *       rdispls;
} pami_alltoallv_int_t;

/** Each member sends a block of `stypecount` to each member. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  size_t      stypecount;  /**< per destination */
  char *      rcvbuf;
  pami_type_t rtype;
  size_t      rtypecount;  /**< per source */
} pami_alltoall_t;

/** The reduction of all send buffers goes to the root. */
typedef struct
{
  pami_endpoint_t    root;
  char *             sndbuf;
  pami_type_t        stype;
  size_t             stypecount;
  char *             rcvbuf;       /**< used at the root */
  pami_type_t        rtype;
  size_t             rtypecount;
  pami_data_function op;
  void *             data_cookie;  /**< passed to `op` */
  int                commutative;  /**< not 0: operands may be taken in any order */
} pami_reduce_t;

/** The reduction of all send buffers is divided among the members. */
typedef struct
{
  char *             sndbuf;
  pami_type_t        stype;
  size_t             stypecount;
  char *             rcvbuf;
  pami_type_t        rtype;
  size_t *           rcounts;      /**< elements per member; the same at all members */
  pami_data_function op;
  void *             data_cookie;
  int                commutative;
} pami_reduce_scatter_t;

/** The buffer of the root goes to all members. */
typedef struct
{
  pami_endpoint_t root;
  char *          buf;        /**< source at the root, destination elsewhere */
  pami_type_t     type;
  size_t          typecount;
} pami_broadcast_t;

/** The blocks of all members go to all members. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  size_t      stypecount;
  char *      rcvbuf;
  pami_type_t rtype;
  size_t      rtypecount;  /**< per source */
} pami_allgather_t;

/** The blocks of all members go to the root. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;
  pami_type_t     stype;
  size_t          stypecount;
  char *          rcvbuf;      /**< used at the root */
  pami_type_t     rtype;
  size_t          rtypecount;  /**< per source */
} pami_gather_t;

/** As pami_gather_t; sizes vary. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;
  pami_type_t     stype;
  size_t          stypecount;
  char *          rcvbuf;
  pami_type_t     rtype;
  size_t *        rtypecounts;
  size_t *        rdispls;
} pami_gatherv_t;

/** As pami_gatherv_t, with `int`. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;
  pami_type_t     stype;
  int             stypecount;
  char *          rcvbuf;
  pami_type_t     rtype;
  int *           rtypecounts;
  int *           rdispls;
} pami_gatherv_int_t;

/** As pami_allgather_t; sizes vary. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  size_t      stypecount;
  char *      rcvbuf;
  pami_type_t rtype;
  size_t *    rtypecounts;
  size_t *    rdispls;
} pami_allgatherv_t;

/** As pami_allgatherv_t, with `int`. */
typedef struct
{
  char *      sndbuf;
  pami_type_t stype;
  int         stypecount;
  char *      rcvbuf;
  pami_type_t rtype;
  int *       rtypecounts;
  int *       rdispls;
} pami_allgatherv_int_t;

/** The blocks of the root go to one member each. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;      /**< used at the root */
  pami_type_t     stype;
  size_t          stypecount;  /**< per destination */
  char *          rcvbuf;
  pami_type_t     rtype;
  size_t          rtypecount;
} pami_scatter_t;

/** As pami_scatter_t; sizes vary. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;
  pami_type_t     stype;
  size_t *        stypecounts;
  size_t *        sdispls;
  char *          rcvbuf;
  pami_type_t     rtype;
  size_t          rtypecount;
} pami_scatterv_t;

/** As pami_scatterv_t, with `int`. */
typedef struct
{
  pami_endpoint_t root;
  char *          sndbuf;
  pami_type_t     stype;
  int *           stypecounts;
  int *           sdispls;
  char *          rcvbuf;
  pami_type_t     rtype;
  int             rtypecount;
} pami_scatterv_int_t;

/** The reduction of all send buffers goes to all members. */
typedef struct
{
  char *             sndbuf;
  pami_type_t        stype;
  size_t             stypecount;
  char *             rcvbuf;
  pami_type_t        rtype;
  size_t             rtypecount;
  pami_data_function op;
  void *             data_cookie;
  int                commutative;
} pami_allreduce_t;

/** Each member receives the reduction over the members up to itself. */
typedef struct
{
  char *             sndbuf;
  pami_type_t        stype;
  size_t             stypecount;
  char *             rcvbuf;
  pami_type_t        rtype;
  size_t             rtypecount;
  pami_data_function op;
  void *             data_cookie;
  int                exclusive;    /**< not 0: the member's own buffer is left out */
} pami_scan_t;

/** A barrier has no parameters. The structure is empty as in the reference. */
#ifdef __GNUC__
__extension__
#endif
typedef struct
{
} pami_barrier_t;

/** Header and data of the caller go to all members, whose dispatch functions receive them. */
typedef struct
{
  size_t      dispatch;
  void *      user_header;
  size_t      headerlen;    /**< may be 0 */
  void *      sndbuf;
  pami_type_t stype;
  size_t      stypecount;
} pami_ambroadcast_t;

/** A header and a block of data per member, each to its member. */
typedef struct
{
  size_t      dispatch;
  void *      headers;      /**< one header per member, back to back */
  size_t      headerlen;    /**< of each header */
  void *      sndbuf;       /**< one block per member */
  pami_type_t stype;
  size_t      stypecount;   /**< per member */
} pami_amscatter_t;

/** A header per member goes out; each dispatch function names the data that comes back. */
typedef struct
{
  size_t      dispatch;
  void *      headers;
  size_t      headerlen;
  void *      rcvbuf;       /**< one block per member */
  pami_type_t rtype;
  size_t      rtypecount;   /**< per member */
} pami_amgather_t;

/** A header goes out; the data that the dispatch functions name is reduced and comes back. */
typedef struct
{
  size_t      dispatch;
  void *      user_header;
  size_t      headerlen;
  void *      rcvbuf;
  pami_type_t rtype;
  size_t      rtypecount;
  void *      data_cookie;
  int         commutative;
} pami_amreduce_t;

/** Receives an active-message broadcast. Works like pami_dispatch_p2p_function. */
typedef void (*pami_dispatch_ambroadcast_function)(pami_context_t context, void * cookie,
                                                   const void * header_addr, size_t header_size,
                                                   const void * pipe_addr, size_t data_size,
                                                   pami_endpoint_t origin, pami_geometry_t geometry,
                                                   pami_recv_t * recv);

/** Receives an active-message scatter. Works like pami_dispatch_p2p_function. */
typedef void (*pami_dispatch_amscatter_function)(pami_context_t context, void * cookie,
                                                 const void * header_addr, size_t header_size,
                                                 const void * pipe_addr, size_t data_size,
                                                 pami_endpoint_t origin, pami_geometry_t geometry,
                                                 pami_recv_t * recv);

/** Answers an active-message gather: fills in `send` with the data to send back. */
typedef void (*pami_dispatch_amgather_function)(pami_context_t context, void * cookie,
                                                const void * header_addr, size_t header_size,
                                                size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_recv_t * send);

/** Answers an active-message reduce: fills in `send` with the data to reduce and `op` with the operation. The
 *  buffer named in `send` may be overwritten. */
typedef void (*pami_dispatch_amreduce_function)(pami_context_t context, void * cookie,
                                                const void * header_addr, size_t header_size,
                                                size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_data_function * op,
                                                pami_recv_t * send);

/** The dispatch function of an identifier. Which member counts follows from how it is registered. */
typedef union
{
  pami_dispatch_p2p_function         p2p;
  pami_dispatch_ambroadcast_function ambroadcast;
  pami_dispatch_amscatter_function   amscatter;
  pami_dispatch_amgather_function    amgather;
  pami_dispatch_amreduce_function    amreduce;
} pami_dispatch_callback_function;

/** Parameters that depend on the collective operation. */
typedef union
{
  pami_allreduce_t      xfer_allreduce;
  pami_broadcast_t      xfer_broadcast;
  pami_reduce_t         xfer_reduce;
  pami_allgather_t      xfer_allgather;
  pami_allgatherv_t     xfer_allgatherv;
  pami_allgatherv_int_t xfer_allgatherv_int;
  pami_scatter_t        xfer_scatter;
  pami_scatterv_t       xfer_scatterv;
  pami_scatterv_int_t   xfer_scatterv_int;
  pami_gather_t         xfer_gather;
  pami_gatherv_t        xfer_gatherv;
  pami_gatherv_int_t    xfer_gatherv_int;
  pami_alltoall_t       xfer_alltoall;
  pami_alltoallv_t      xfer_alltoallv;
  pami_alltoallv_int_t  xfer_alltoallv_int;
  pami_ambroadcast_t    xfer_ambroadcast;
  pami_amscatter_t      xfer_amscatter;
  pami_amgather_t       xfer_amgather;
  pami_amreduce_t       xfer_amreduce;
  pami_scan_t           xfer_scan;
  pami_barrier_t        xfer_barrier;
  pami_reduce_scatter_t xfer_reduce_scatter;
} pami_collective_t;

/** Parameters of PAMI_Collective. */
typedef struct pami_xfer_t
{
  pami_event_function    cb_done;    /**< this member is done with the operation and its buffers */
  void *                 cookie;     /**< passed to `cb_done` */
  pami_algorithm_t       algorithm;  /**< from PAMI_Geometry_algorithms_query; tells geometry and operation */
  pami_collective_hint_t options;
  pami_collective_t      cmd;
} pami_xfer_t;

typedef struct pami_xfer_t * xfer_p;

/** Reasons why an algorithm cannot run with given parameters. 0: it can. */
typedef union metadata_result_t
{
  unsigned bitmask;
  struct
  {
    unsigned unspecified       : 1;
    unsigned range             : 1;  /**< bytes outside range_lo to range_hi */
    unsigned align_send_buffer : 1;
    unsigned align_recv_buffer : 1;
    unsigned datatype_op       : 1;  /**< type and operation do not go together or are not supported */
    unsigned contiguous_send   : 1;  /**< send data must be contiguous */
    unsigned contiguous_recv   : 1;  /**< receive data must be contiguous */
    unsigned continuous_send   : 1;  /**< blocks of the send buffer must adjoin */
    unsigned continuous_recv   : 1;  /**< blocks of the receive buffer must adjoin */
    unsigned nonlocal          : 1;  /**< valid only if the result is 0 at all members */
  } check;
} metadata_result_t;

/** Checks the parameters of a collective before the call. */
typedef metadata_result_t (*pami_metadata_function)(struct pami_xfer_t * in);

/** What is known about an algorithm. */
typedef struct
{
  char *                 name;            /**< belongs to the library */
  unsigned               version;
  pami_metadata_function check_fn;        /**< NULL if there is nothing to call */
  size_t                 range_lo;        /**< fewest bytes */
  size_t                 range_hi;        /**< most bytes */
  unsigned               send_min_align;  /**< bytes */
  unsigned               recv_min_align;  /**< bytes */
  union
  {
    unsigned bitmask_correct;
    struct
    {
      unsigned checkrequired : 1;  /**< check_fn must be called before every use */
      unsigned nonlocal      : 1;  /**< results of check_fn must be combined over all members */
      unsigned rangeminmax   : 1;  /**< range_lo and range_hi apply */
      unsigned sendminalign  : 1;  /**< send_min_align applies */
      unsigned recvminalign  : 1;  /**< recv_min_align applies */
      unsigned alldtop       : 1;  /**< takes all types and operations of reductions */
      unsigned contigsflags  : 1;  /**< needs contiguous send data */
      unsigned contigrflags  : 1;  /**< needs contiguous receive data */
      unsigned continsflags  : 1;  /**< needs adjoining send blocks */
      unsigned continrflags  : 1;  /**< needs adjoining receive blocks */
      unsigned blocking      : 1;  /**< may block */
      unsigned inplace       : 1;  /**< send and receive buffers may overlap */
      unsigned asyncflowctl  : 1;  /**< may need barriers now and then to bound unexpected data */
      unsigned oneatatime    : 1;  /**< only one at a time may be in progress */
      unsigned global_order  : 4;  /**< not 0: must be started in the same order everywhere, also across
                                        geometries */
    } values;
  } check_correct;
  union
  {
    unsigned bitmask_perf;
    struct
    {
      unsigned hw_accel : 1;       /**< uses collective hardware */
    } values;
  } check_perf;
  size_t                 range_lo_perf;   /**< fewest bytes at which it does well */
  size_t                 range_hi_perf;   /**< most bytes at which it does well */
  unsigned               min_align_perf;  /**< alignment with which it does well, bytes */
} pami_metadata_t;

/* ------------------------------------ Predefined types and functions ------------------------------------ */

/* Integers: for all predefined functions but MAXLOC and MINLOC. */
extern pami_type_t PAMI_TYPE_BYTE;
extern pami_type_t PAMI_TYPE_SIGNED_CHAR;
extern pami_type_t PAMI_TYPE_UNSIGNED_CHAR;
extern pami_type_t PAMI_TYPE_SIGNED_SHORT;
extern pami_type_t PAMI_TYPE_UNSIGNED_SHORT;
extern pami_type_t PAMI_TYPE_SIGNED_INT;
extern pami_type_t PAMI_TYPE_UNSIGNED_INT;
extern pami_type_t PAMI_TYPE_SIGNED_LONG;
extern pami_type_t PAMI_TYPE_UNSIGNED_LONG;
extern pami_type_t PAMI_TYPE_SIGNED_LONG_LONG;
extern pami_type_t PAMI_TYPE_UNSIGNED_LONG_LONG;

/* Floating point: for COPY, NOOP, MAX, MIN, SUM and PROD. */
extern pami_type_t PAMI_TYPE_FLOAT;
extern pami_type_t PAMI_TYPE_DOUBLE;
extern pami_type_t PAMI_TYPE_LONG_DOUBLE;

/* Logical values of 1, 2, 4 and 8 bytes: for COPY, NOOP, LAND, LOR and LXOR. */
extern pami_type_t PAMI_TYPE_LOGICAL1;
extern pami_type_t PAMI_TYPE_LOGICAL2;
extern pami_type_t PAMI_TYPE_LOGICAL4;
extern pami_type_t PAMI_TYPE_LOGICAL8;

/* Complex numbers of two floats and of two doubles: for COPY, NOOP, SUM and PROD. */
extern pami_type_t PAMI_TYPE_SINGLE_COMPLEX;
extern pami_type_t PAMI_TYPE_DOUBLE_COMPLEX;

/* Pairs (value, location): for COPY, NOOP, MAXLOC and MINLOC. */
extern pami_type_t PAMI_TYPE_LOC_2INT;
extern pami_type_t PAMI_TYPE_LOC_2FLOAT;
extern pami_type_t PAMI_TYPE_LOC_2DOUBLE;
extern pami_type_t PAMI_TYPE_LOC_SHORT_INT;
extern pami_type_t PAMI_TYPE_LOC_FLOAT_INT;
extern pami_type_t PAMI_TYPE_LOC_DOUBLE_INT;
extern pami_type_t PAMI_TYPE_LOC_LONG_INT;
extern pami_type_t PAMI_TYPE_LOC_LONGDOUBLE_INT;

/* Predefined data functions: target = target OP source, element by element. They are symbols that the library
 * recognises together with a predefined type, not functions that a program calls. */
extern pami_data_function PAMI_DATA_COPY;
extern pami_data_function PAMI_DATA_NOOP;
extern pami_data_function PAMI_DATA_MAX;
extern pami_data_function PAMI_DATA_MIN;
extern pami_data_function PAMI_DATA_SUM;
extern pami_data_function PAMI_DATA_PROD;
extern pami_data_function PAMI_DATA_LAND;
extern pami_data_function PAMI_DATA_LOR;
extern pami_data_function PAMI_DATA_LXOR;
extern pami_data_function PAMI_DATA_BAND;
extern pami_data_function PAMI_DATA_BOR;
extern pami_data_function PAMI_DATA_BXOR;
extern pami_data_function PAMI_DATA_MAXLOC;
extern pami_data_function PAMI_DATA_MINLOC;

/* ========================================== Part 2: functions =========================================== */

/* ----------------------------------------------- Clients ------------------------------------------------ */

/** Creates a client named `name` and its world geometry. All tasks create the same clients in the same order
 *  with the same configuration; clients of different names do not see each other's messages.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the name or an attribute is not accepted. */
pami_result_t PAMI_Client_create(const char * name, pami_client_t * client,
                                 pami_configuration_t configuration[], size_t num_configs);

/** Destroys a client and sets the handle to an invalid value. Its contexts must be destroyed before.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the client is invalid. */
pami_result_t PAMI_Client_destroy(pami_client_t * client);

/** Reads PAMI_CLIENT_* attributes into the values of `configuration`.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is not one of a client. */
pami_result_t PAMI_Client_query(pami_client_t client, pami_configuration_t configuration[],
                                size_t num_configs);

/** Sets attributes of a client. None of the reference's can be set after creation.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is unknown or read-only. */
pami_result_t PAMI_Client_update(pami_client_t client, pami_configuration_t configuration[],
                                 size_t num_configs);

/* ----------------------------------------------- Contexts ----------------------------------------------- */

/** Creates `ncontexts` contexts, at most PAMI_CLIENT_NUM_CONTEXTS, in one call by one thread. The call is
 *  local. The index in `context` is the offset that endpoints name.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the configuration cannot be met or an argument is invalid. */
pami_result_t PAMI_Context_createv(pami_client_t client, pami_configuration_t configuration[],
                                   size_t num_configs, pami_context_t context[], size_t ncontexts);

/** Destroys contexts and sets their handles to an invalid value. One thread calls it, and no other may be in
 *  any function of the contexts.
 *  @return PAMI_SUCCESS; PAMI_INVAL if a context is invalid. */
pami_result_t PAMI_Context_destroyv(pami_context_t * contexts, size_t ncontexts);

/** Reads PAMI_CONTEXT_* attributes.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is not one of a context. */
pami_result_t PAMI_Context_query(pami_context_t context, pami_configuration_t configuration[],
                                 size_t num_configs);

/** Sets attributes of a context. The reference's are read-only.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is unknown or read-only. */
pami_result_t PAMI_Context_update(pami_context_t context, pami_configuration_t configuration[],
                                  size_t num_configs);

/** Queues `fn` to run when the context is advanced, again and again until it does not return PAMI_EAGAIN. Any
 *  thread may call this at any time without a lock. `work` must stay untouched until `fn` is done.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an argument is invalid. */
pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t * work, pami_work_function fn,
                                void * cookie);

/** Makes progress: runs callbacks, dispatch functions and posted work. Polls up to `maximum` times and
 *  returns after the first poll that processed something.
 *  @return PAMI_SUCCESS if something was processed; PAMI_EAGAIN if not. */
pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum);

/** Advances `count` contexts in turn, up to `maximum` rounds, and returns after the first round that
 *  processed something. The caller must have all of them to itself.
 *  @return PAMI_SUCCESS if something was processed; PAMI_EAGAIN if not. */
pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count, size_t maximum);

/** As PAMI_Context_advancev, but takes the lock of each context for the time of its advance and passes over
 *  contexts whose lock is held. Safe from several threads if all of them use the context locks.
 *  @return PAMI_SUCCESS if something was processed; PAMI_EAGAIN if not. */
pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count, size_t maximum);

/** Waits for the lock of a context and takes it. Whether the owner may take it again is unspecified.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the context is invalid. */
pami_result_t PAMI_Context_lock(pami_context_t context);

/** Takes the lock of a context if it is free.
 *  @return PAMI_SUCCESS if taken; PAMI_EAGAIN if it is held; PAMI_INVAL if the context is invalid. */
pami_result_t PAMI_Context_trylock(pami_context_t context);

/** Releases the lock of a context.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the context is invalid. */
pami_result_t PAMI_Context_unlock(pami_context_t context);

/* ---------------------------------------------- Endpoints ----------------------------------------------- */

/** Makes the endpoint of context `offset` of `task`. Local; the context need not exist yet. Endpoints hold no
 *  pointers and mean the same in all tasks.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Endpoint_create(pami_client_t client, pami_task_t task, size_t offset,
                                   pami_endpoint_t * endpoint);

/** Splits an endpoint into task and context offset.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Endpoint_query(pami_endpoint_t endpoint, pami_task_t * task, size_t * offset);

/* ----------------------------------------------- Dispatch ----------------------------------------------- */

/** Registers `fn.p2p` for point-to-point messages of an identifier, on one context. Both sides must register
 *  it, with the same hints, before use. Local.
 *  @return PAMI_SUCCESS; another code if the identifier is too great or a hint cannot be honoured. */
pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch, pami_dispatch_callback_function fn,
                                void * cookie, pami_dispatch_hint_t options);

/** Reads PAMI_DISPATCH_* attributes of an identifier, which depend on its hints.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an argument is invalid. */
pami_result_t PAMI_Dispatch_query(pami_context_t context, size_t dispatch,
                                  pami_configuration_t configuration[], size_t num_configs);

/** Sets attributes of an identifier. The reference's are read-only.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is unknown or read-only. */
pami_result_t PAMI_Dispatch_update(pami_context_t context, size_t dispatch,
                                   pami_configuration_t configuration[], size_t num_configs);

/** Registers the dispatch function of an active-message collective algorithm. All members must register it
 *  before one of them starts the collective. Local.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_AMCollective_dispatch_set(pami_context_t context, pami_algorithm_t algorithm,
                                             size_t dispatch, pami_dispatch_callback_function fn,
                                             void * cookie, pami_collective_hint_t options);

/* ------------------------------------------- Active messages -------------------------------------------- */

/** Sends header and data of any size. Returns at once; `local_fn` runs when the buffers may be reused and
 *  `remote_fn` when the target has all data. The target may be the sending endpoint itself.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Send(pami_context_t context, pami_send_t * parameters);

/** Sends header and data of together at most PAMI_DISPATCH_SEND_IMMEDIATE_MAX bytes. The buffers may be
 *  reused on return and there is no callback.
 *  @return PAMI_SUCCESS if sent or queued; PAMI_INVAL if too long or otherwise invalid; PAMI_EAGAIN if there
 *  is no room now and the hint queue_immediate is disabled. */
pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t * parameters);

/** As PAMI_Send, with data laid out by a type. The target receives the bytes as a stream and may lay them out
 *  in another way.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t * parameters);

/* ----------------------------------------- Remote memory access ----------------------------------------- */

/** Writes local memory to an address of another task.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Put(pami_context_t context, pami_put_simple_t * parameters);

/** As PAMI_Put, with a type on each side.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Put_typed(pami_context_t context, pami_put_typed_t * parameters);

/** Reads memory at an address of another task into local memory.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Get(pami_context_t context, pami_get_simple_t * parameters);

/** As PAMI_Get, with a type on each side.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t * parameters);

/** Modifies an integer in the memory of another task atomically, on a condition if asked, and returns the old
 *  value if asked. Not ordered with any other operation, not even another of its kind.
 *  @return PAMI_SUCCESS if accepted; PAMI_INVAL if a parameter is invalid. */
pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t * parameters);

/** Registers memory for Rput and Rget. `*bytes_out` tells how much was registered, from `address` on; it may
 *  be less than asked for. Regions may overlap.
 *  @return PAMI_SUCCESS; PAMI_EAGAIN if a resource is short now; PAMI_INVAL if an argument is invalid;
 *  PAMI_ERROR if the memory cannot be registered. Only after PAMI_SUCCESS is there a region to destroy. */
pami_result_t PAMI_Memregion_create(pami_context_t context, void * address, size_t bytes_in,
                                    size_t * bytes_out, pami_memregion_t * memregion);

/** Unregisters memory and sets the handle to an invalid value. Overlapping regions stay usable.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Memregion_destroy(pami_context_t context, pami_memregion_t * memregion);

/** Writes from a local memory region to one of another task.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Rput(pami_context_t context, pami_rput_simple_t * parameters);

/** As PAMI_Rput, with a type on each side.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t * parameters);

/** Reads from a memory region of another task into a local one.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Rget(pami_context_t context, pami_rget_simple_t * parameters);

/** As PAMI_Rget, with a type on each side.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t * parameters);

/* ---------------------------------------- Connections and fences ---------------------------------------- */

/** Frees what this context holds for the endpoints, before their tasks stop or are checkpointed. The program
 *  has fenced and synchronised before. Endpoints of the context itself are not allowed.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Purge(pami_context_t context, pami_endpoint_t * dest, size_t count);

/** Sets up again what PAMI_Purge freed, when tasks start or resume. Endpoints of the context itself are not
 *  allowed.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Resume(pami_context_t context, pami_endpoint_t * dest, size_t count);

/** Opens a fence region of the context. Regions do not nest.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Fence_begin(pami_context_t context);

/** Closes the fence region of the context.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Fence_end(pami_context_t context);

/** Runs `done_fn` when all transfers that the context started before are complete at their targets. Meant for
 *  a fence region, but completes outside one as well.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Fence_all(pami_context_t context, pami_event_function done_fn, void * cookie);

/** As PAMI_Fence_all, for transfers to one endpoint.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Fence_endpoint(pami_context_t context, pami_event_function done_fn, void * cookie,
                                  pami_endpoint_t target);

/* ---------------------------------------------- Geometries ---------------------------------------------- */

/* Creation takes an identifier above 0 that is unique among geometries that share tasks. All members call,
 * and so do all tasks of the parent if there is one; a task of the parent that is no member passes NULL for
 * `geometry`. The arrays of members are not copied: they must live as long as the geometry. `context_offset`
 * tells which context of each task is the member; PAMI_ALL_CONTEXTS makes all contexts members and needs the
 * parent PAMI_GEOMETRY_NULL. `fn` runs on `context` when the geometry is ready. */

/** Creates a geometry of ranges of tasks.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Geometry_create_taskrange(pami_client_t client, size_t context_offset,
                                             pami_configuration_t configuration[], size_t num_configs,
                                             pami_geometry_t * geometry, pami_geometry_t parent,
                                             unsigned id, pami_geometry_range_t * task_slices,
                                             size_t slice_count, pami_context_t context,
                                             pami_event_function fn, void * cookie);

/** Creates a geometry of a list of tasks.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Geometry_create_tasklist(pami_client_t client, size_t context_offset,
                                            pami_configuration_t configuration[], size_t num_configs,
                                            pami_geometry_t * geometry, pami_geometry_t parent, unsigned id,
                                            pami_task_t * tasks, size_t task_count, pami_context_t context,
                                            pami_event_function fn, void * cookie);

/** Creates a geometry of a list of endpoints, none of them twice. One call per task, whatever its number of
 *  endpoints; `context` need not be a member. All member contexts and `context` must be advanced until done.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Geometry_create_endpointlist(pami_client_t client, pami_configuration_t configuration[],
                                                size_t num_configs, pami_geometry_t * geometry, unsigned id,
                                                pami_endpoint_t * endpoints, size_t endpoint_count,
                                                pami_context_t context, pami_event_function fn,
                                                void * cookie);

/** Yields the geometry of all tasks of the client, context offset 0, identifier 0. It lives as long as the
 *  client and cannot be destroyed.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Geometry_world(pami_client_t client, pami_geometry_t * world_geometry);

/** Counts the algorithms for a collective: `lists_lengths[0]` that always work, `lists_lengths[1]` whose
 *  metadata must be checked before use.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an argument is invalid. */
pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry, pami_xfer_type_t coll_type,
                                           size_t * lists_lengths);

/** Lists algorithms: the first `num0` that always work and the first `num1` that must be checked. A metadata
 *  array may be NULL.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an argument is invalid. */
pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry, pami_xfer_type_t colltype,
                                             pami_algorithm_t * algs0, pami_metadata_t * mdata0, size_t num0,
                                             pami_algorithm_t * algs1, pami_metadata_t * mdata1, size_t num1);

/** Destroys a geometry and sets the handle to an invalid value. Once `fn` has run, the identifier is free. If
 *  `fn` is NULL, the identifier must not be used again. Not for the world geometry.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t * geometry, pami_context_t context,
                                    pami_event_function fn, void * cookie);

/** Reads PAMI_GEOMETRY_* attributes.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an attribute is not one of a geometry. */
pami_result_t PAMI_Geometry_query(pami_geometry_t geometry, pami_configuration_t configuration[],
                                  size_t num_configs);

/** Sets attributes of a geometry, such as PAMI_GEOMETRY_OPTIMIZE. All members call with the same values.
 *  Lists of algorithms queried before are void; query them again after `fn` has run.
 *  @return PAMI_SUCCESS if started; PAMI_INVAL if an attribute is unknown or read-only. */
pami_result_t PAMI_Geometry_update(pami_geometry_t geometry, pami_configuration_t configuration[],
                                   size_t num_configs, pami_context_t context, pami_event_function fn,
                                   void * cookie);

/** Starts a collective on a context that is a member of the geometry of `cmd->algorithm`. Each member makes
 *  one call on its own context.
 *  @return PAMI_SUCCESS if started. */
pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t * cmd);

/* ------------------------------------------------ Types ------------------------------------------------- */

/* A type is built by moving a cursor from 0 and placing blocks at it. Where the cursor ends is the extent of
 * the type. Offsets and strides may be negative, as the size_t of the same bits. In use, the type repeats
 * without end at steps of its extent. */

/** Creates an empty type.
 *  @return PAMI_SUCCESS; PAMI_ENOMEM. */
pami_result_t PAMI_Type_create(pami_type_t * type);

/** Moves the cursor by `offset`, then `count` times: places a block of `bytes` and moves the cursor by
 *  `stride`. With count 0 it only moves the cursor.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the type is complete; PAMI_ENOMEM. */
pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset, size_t count,
                                   size_t stride);

/** As PAMI_Type_add_simple, placing the blocks of `subtype`, which must be complete.
 *  @return PAMI_SUCCESS; PAMI_INVAL if `type` is complete or `subtype` is not; PAMI_ENOMEM. */
pami_result_t PAMI_Type_add_typed(pami_type_t type, pami_type_t subtype, size_t offset, size_t count,
                                  size_t stride);

/** Completes a type: it can be used, and shared, but no longer changed. `atom_size` must divide all block
 *  sizes; 1 is always valid.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the atom size is invalid or the type is complete already. */
pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size);

/** Destroys a type and sets the handle to an invalid value.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Type_destroy(pami_type_t * type);

/** Yields the serialized form of a complete type, as memory that belongs to the type. Its bytes may be sent.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the type is invalid; PAMI_ENOMEM. */
pami_result_t PAMI_Type_serialize(pami_type_t type, void ** address, size_t * size);

/** Creates a complete type from its serialized form, which it copies.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the bytes are no serialized type; PAMI_ENOMEM. */
pami_result_t PAMI_Type_deserialize(pami_type_t * type, void * address, size_t size);

/** Reads PAMI_TYPE_* attributes of a complete type.
 *  @return PAMI_SUCCESS; PAMI_INVAL if the type is not complete or an attribute is not one of a type. */
pami_result_t PAMI_Type_query(pami_type_t type, pami_configuration_t configuration[], size_t num_configs);

/** Moves `size` bytes of data from one layout to another within this task. Offsets count bytes of data.
 *  @return PAMI_SUCCESS; PAMI_INVAL if an argument is invalid, such as an incomplete type. */
pami_result_t PAMI_Type_transform_data(void * src_addr, pami_type_t src_type, size_t src_offset,
                                       void * dst_addr, pami_type_t dst_type, size_t dst_offset, size_t size,
                                       pami_data_function data_fn, void * cookie);

/* ----------------------------------------- Error text and time ------------------------------------------ */

/** Writes a description of the latest result of the calling thread.
 *  @return characters written. */
size_t PAMI_Error_text(char * string, size_t length);

/** Reads the clock.
 *  @return seconds since some time in the past. */
double PAMI_Wtime(pami_client_t client);

/** Reads a counter that runs at PAMI_CLIENT_WTIMEBASE_MHZ.
 *  @return ticks since some time in the past. */
unsigned long long PAMI_Wtimebase(pami_client_t client);

/* ---------------------------------------------- Extensions ---------------------------------------------- */

/** Opens an extension by its registered name, such as "EXT_torus_network".
 *  @return PAMI_SUCCESS; PAMI_UNIMPL if there is no such extension; PAMI_ERROR if it could not be set up. */
pami_result_t PAMI_Extension_open(pami_client_t client, const char * name, pami_extension_t * extension);

/** Closes an extension.
 *  @return PAMI_SUCCESS. */
pami_result_t PAMI_Extension_close(pami_extension_t extension);

/** Looks up a function or variable of an extension.
 *  @return its address, for the caller to cast; NULL if there is none of that name. */
void * PAMI_Extension_symbol(pami_extension_t extension, const char * name);

#ifdef __cplusplus
}
#endif

#endif
