/* Platform part of the PAMI interface: sizes that the reference fixes per platform. The values are those of
 * Blue Gene/Q. pami.h includes this file; programs do not include it themselves. */

#ifndef PAMI_SYS_H
#define PAMI_SYS_H

#include <stdint.h>

/* Bytes of a pami_memregion_t. */
#define PAMI_CLIENT_MEMREGION_SIZE_STATIC (sizeof(uintptr_t))

/* Bytes of a pami_work_t. */
#define PAMI_WORK_SIZE_STATIC (6 * sizeof(uintptr_t))

/* Quadwords that the reference reserves for the state of one request. Nothing in pami.h depends on it. */
#define PAMI_REQUEST_NQUADS 512

/* An endpoint holds the task in its low 23 bits and the context offset in the 6 bits above them. Programs
 * compiled against the reference have this encoding inlined, so the library uses it too. Other programs call
 * PAMI_Endpoint_create and PAMI_Endpoint_query. */

#endif
