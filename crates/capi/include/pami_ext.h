/* The extensions of PAMI that this library has: their names, and the types of their symbols. The reference has no
 * header for them, so programs that were written for it declare these types themselves; they do not include this
 * file. A program that includes it opens an extension and casts what PAMI_Extension_symbol() returns:
 *
 *   pami_extension_t extension;
 *   torus_information_fn information;
 *   if (PAMI_Extension_open(client, "EXT_torus_network", &extension) == PAMI_SUCCESS)
 *     information = (torus_information_fn) PAMI_Extension_symbol(extension, "information");
 */

#ifndef PAMI_EXT_H
#define PAMI_EXT_H

#include <pami.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------- EXT_torus_network ----------------------------------------- */

/* The torus that the job runs on. PAMI_Extension_open() returns PAMI_UNIMPL where there is none. */

/** A torus. Its last dimension counts the tasks of a node. */
typedef struct
{
  size_t   dims;  /**< number of dimensions: 6 on Blue Gene/Q, A to E and T */
  size_t * coord; /**< coordinates of the calling task */
  size_t * size;  /**< lengths */
  size_t * torus; /**< for each dimension: 1 if it closes into a ring, 0 if it is a line */
} torus_info_t;

/** Symbol "information". @return the torus; it stays valid. */
typedef const torus_info_t * (*torus_information_fn)(void);

/** Symbol "task2torus": coordinates of a task. The array has `dims` elements.
 *  @return PAMI_SUCCESS; PAMI_INVAL if there is no such task. */
typedef pami_result_t (*task2torus_fn)(pami_task_t task, size_t coordinates[]);

/** Symbol "torus2task": the task at these coordinates.
 *  @return PAMI_SUCCESS; PAMI_INVAL if there is none. */
typedef pami_result_t (*torus2task_fn)(size_t coordinates[], pami_task_t * task);

/* -------------------------------------------- EXT_async_progress ---------------------------------------- */

/* Communication threads: contexts make progress in the background. While it is enabled for a context, a thread of
 * the library advances the context whenever there is something to do: functions that PAMI_Context_post() queued,
 * dispatch functions and callbacks run there. It holds the context's lock while it does so. All other threads take
 * the lock, too (PAMI_Context_lock), around calls of functions that are not thread-safe, or post work instead.
 *
 * The three functions may be called from any thread, with or without the lock. */

/** Attribute of a client: 1 if progress is never suspended, so that `suspend_fn` and `resume_fn` never run. */
#define PAMIX_CLIENT_ASYNC_GUARANTEE 1016

/** Kinds of events. */
typedef enum
{
  PAMIX_ASYNC_ALL            = 0,   /**< all events: the only kind that is supported */
  PAMIX_ASYNC_RECV_INTERRUPT = 1,   /**< arrival of a message */
  PAMIX_ASYNC_TIMER          = 2,   /**< a time has passed */
  PAMIX_ASYNC_EXT            = 1000 /**< extensions number theirs from here */
} pamix_async_t;

/** Handler of an event of a context. The context is not locked. */
typedef void (*pamix_async_function)(pami_context_t context, void * cookie);

/** Symbol "register": sets the handlers of a context; optional.
 *  @param[in] progress_fn runs when the context should be advanced, instead of the library's own advance; it or
 *             another thread advances the context, with the lock. NULL: the library advances.
 *  @param[in] suspend_fn, resume_fn run when progress is suspended and resumed; here neither ever runs.
 *  @return PAMI_SUCCESS; PAMI_INVAL if there is no such context. */
typedef pami_result_t (*async_progress_register_function)(pami_context_t       context,
                                                          pamix_async_function progress_fn,
                                                          pamix_async_function suspend_fn,
                                                          pamix_async_function resume_fn,
                                                          void *               cookie);

/** Symbol "enable": starts background progress of a context.
 *  @return PAMI_SUCCESS; PAMI_UNIMPL for a kind of events that is not supported; PAMI_INVAL if there is no such
 *          context; PAMI_ERROR if there can be no thread. */
typedef pami_result_t (*async_progress_enable_function)(pami_context_t context, pamix_async_t events);

/** Symbol "disable": ends background progress of a context. After it has returned, no thread of the library uses
 *  the context, unless the calling thread is that thread.
 *  @return PAMI_SUCCESS, also if it was not enabled; PAMI_UNIMPL; PAMI_INVAL. */
typedef pami_result_t (*async_progress_disable_function)(pami_context_t context, pamix_async_t events);

/* --------------------------------------------- EXT_bgq_l2atomic ----------------------------------------- */

/* Memory for the operations of <spi/include/l2/atomic.h>. All memory here permits them. New memory is zero. */

/** Symbols "node_memalign", "proc_memalign": memory that tasks of a node which give the same key share; memory of
 *  this process, whatever the key. Tasks that give the same key ask for the same length.
 *  @param[out] memory    its address
 *  @param[in]  alignment a power of two, of at least sizeof(void *); for a node at most 4096
 *  @return PAMI_SUCCESS; PAMI_INVAL for arguments that cannot be; PAMI_ENOMEM: a node has 4 MiB. */
typedef pami_result_t (*pamix_proc_memalign_fn)(void ** memory, size_t alignment, size_t bytes, const char * key);
typedef pamix_proc_memalign_fn pamix_node_memalign_fn;

/** Symbols "node_free", "proc_free": frees such memory; that of a node when all that asked for it have freed it. */
typedef void (*pamix_proc_free_fn)(void * memory);
typedef pamix_proc_free_fn pamix_node_free_fn;

/* ------------------------------------- EXT_is_local_task, BGQ_bgq_mapping -------------------------------- */

/* EXT_is_local_task has the symbols "base", "stride" and "bitmask": a task runs on the node of the caller if
 * `bitmask & base[task * stride]` is not 0, where `base` is a uint8_t *. The other two are the numbers themselves,
 * cast to pointers.
 *
 * BGQ_bgq_mapping has the symbol "mapcache": a uint32_t for each task, in which this bit is set for tasks of the
 * caller's node. */
#define PAMI_EXTENSION_BGQ_MAPPING_IS_LOCAL_MASK 0x40000000

/* -------------------------------------------- NETLOOM_compute ------------------------------------------- */

/* An extension of this library: a program tells how long it computes on the simulated machine, by a model of its own.
 * With `netloom mpirun` its real computing takes no simulated time, unless `--compute` counts it; the two add up.
 * PAMI_Extension_open() returns PAMI_UNIMPL where the program runs for real. */

/** Symbol "seconds": the calling thread computes for so long, on its hardware thread, which shares a core with others.
 *  @return PAMI_SUCCESS; PAMI_INVAL if it is no time from 0 to 400 s. */
typedef pami_result_t (*pamix_compute_seconds_fn)(double seconds);

/* -------------------------------------------- NETLOOM_profile ------------------------------------------- */

/* An extension of this library: a library that stands on PAMI, such as MPI, marks the calls of its program and their messages, for a
 * profile. It is there in a run that has one (`netloom mpirun --profile`). Marks take no simulated time. */

/** Symbol "call_begins": the calling thread makes a call of this name, which stays; `is_first` is not 0 for the call that has started
 *  the library, which began with the thread. Calls are not nested. */
typedef void (*pamix_profile_call_begins_fn)(const char * name, size_t length, int is_first);

/** Symbol "call_ends": the call ends. */
typedef void (*pamix_profile_call_ends_fn)(void);

/** Symbol "sent": a message is sent to a task. */
typedef void (*pamix_profile_sent_fn)(pami_task_t task, uint32_t context, int tag, uint64_t bytes);

/** Symbol "taken": a receive takes the next message of this context and tag from a task. If its data follows, `number` says to which
 *  receive; else it is 0. */
typedef void (*pamix_profile_taken_fn)(pami_task_t task, uint32_t context, int tag, uint64_t bytes, uint64_t number);

/** Symbol "received": the data of a message that was taken is there. */
typedef void (*pamix_profile_received_fn)(uint64_t number);

/* --------------------------------------------- NETLOOM_poll --------------------------------------------- */

/* An extension of this library: progress for a program that has other things to do. PAMI_Context_advance cannot know
 * that: after many calls in vain it sleeps where tasks share cores, and takes longer on a simulated machine. */

/** Symbol "advance": makes progress of a context once.
 *  @return PAMI_SUCCESS if there was something, else PAMI_EAGAIN. */
typedef pami_result_t (*pamix_poll_advance_fn)(pami_context_t context);

/** Symbol "advancev": the same of several. */
typedef pami_result_t (*pamix_poll_advancev_fn)(pami_context_t * contexts, size_t count);

/* -------------------------------------------- NETLOOM_threads ------------------------------------------- */

/* An extension of this library: threads share a context under its lock, as those of MPI do. */

/** Symbol "lock": takes the lock. */
typedef void (*pamix_threads_lock_fn)(pami_context_t context);

/** Symbol "unlock": releases it, and wakes threads in "advance" if the context has handled events, or `has_changed` is
 *  not 0: then the caller has changed something for which they may wait.
 *  Symbol "advance": makes progress under the lock. Without any it releases the lock meanwhile, and waits for a moment, or
 *  until something arrives or changes. */
typedef void (*pamix_threads_change_fn)(pami_context_t context, int has_changed);

/* -------------------------------------------- NETLOOM_waiting ------------------------------------------- */

/* An extension of this library: a library that stands on PAMI, such as MPI, says in its own words for what its call waits.
 * It is asked when a task of a simulated machine waits for ever. */

/** Writes text of at most `length` bytes, without a final NUL.
 *  @return its length. */
typedef size_t (*pamix_waiting_text_fn)(char * text, size_t length);

/** Symbol "describe": this function is asked, from a call of PAMI that waits; NULL ends that. */
typedef void (*pamix_waiting_describe_fn)(pamix_waiting_text_fn function);

#ifdef __cplusplus
}
#endif

#endif
