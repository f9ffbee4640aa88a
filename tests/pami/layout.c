/* Checks that pami.h has the layout of the public V1R2M2 header on 64-bit machines: constants, sizes, offsets
 * and the places of bit fields. The numbers were read off that header. Most checks are made by the compiler;
 * the program checks the bit fields (least significant bit first) and exits with 0 if they are right. */

#include <pami.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define VALUE(name, value) _Static_assert((name) == (value), #name)
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define FIELD(type, field, offset, size)                                                                    \
  _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *) 0)->field) == (size), #type "." #field)

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8 && sizeof(int) == 4, "needs a 64-bit machine");

/* pami_result_t */
SIZE(pami_result_t, 4);
VALUE(PAMI_SUCCESS, 0);
VALUE(PAMI_NERROR, -1);
VALUE(PAMI_ERROR, 1);
VALUE(PAMI_INVAL, 2);
VALUE(PAMI_UNIMPL, 3);
VALUE(PAMI_EAGAIN, 4);
VALUE(PAMI_ENOMEM, 5);
VALUE(PAMI_SHUTDOWN, 6);
VALUE(PAMI_CHECK_ERRNO, 7);
VALUE(PAMI_OTHER, 8);
VALUE(PAMI_RESULT_EXT, 1000);

/* pami_attribute_name_t */
SIZE(pami_attribute_name_t, 4);
VALUE(PAMI_CLIENT_CLOCK_MHZ, 100);
VALUE(PAMI_CLIENT_CONST_CONTEXTS, 101);
VALUE(PAMI_CLIENT_HWTHREADS_AVAILABLE, 102);
VALUE(PAMI_CLIENT_MEMREGION_SIZE, 103);
VALUE(PAMI_CLIENT_MEM_SIZE, 104);
VALUE(PAMI_CLIENT_NUM_TASKS, 105);
VALUE(PAMI_CLIENT_NUM_LOCAL_TASKS, 106);
VALUE(PAMI_CLIENT_LOCAL_TASKS, 107);
VALUE(PAMI_CLIENT_NUM_CONTEXTS, 108);
VALUE(PAMI_CLIENT_PROCESSOR_NAME, 109);
VALUE(PAMI_CLIENT_TASK_ID, 110);
VALUE(PAMI_CLIENT_WTIMEBASE_MHZ, 111);
VALUE(PAMI_CLIENT_WTICK, 112);
VALUE(PAMI_CLIENT_NONCONTIG, 113);
VALUE(PAMI_CLIENT_MEMORY_OPTIMIZE, 114);
VALUE(PAMI_CONTEXT_DISPATCH_ID_MAX, 200);
VALUE(PAMI_DISPATCH_RECV_IMMEDIATE_MAX, 300);
VALUE(PAMI_DISPATCH_SEND_IMMEDIATE_MAX, 301);
VALUE(PAMI_DISPATCH_ATOM_SIZE_MAX, 302);
VALUE(PAMI_GEOMETRY_OPTIMIZE, 400);
VALUE(PAMI_GEOMETRY_NONCONTIG, 401);
VALUE(PAMI_GEOMETRY_MEMORY_OPTIMIZE, 402);
VALUE(PAMI_TYPE_DATA_SIZE, 500);
VALUE(PAMI_TYPE_DATA_EXTENT, 501);
VALUE(PAMI_TYPE_ATOM_SIZE, 502);
VALUE(PAMI_ATTRIBUTE_NAME_EXT, 1000);

/* pami_hint_t */
SIZE(pami_hint_t, 4);
VALUE(PAMI_HINT_DEFAULT, 0);
VALUE(PAMI_HINT_ENABLE, 1);
VALUE(PAMI_HINT_DISABLE, 2);
VALUE(PAMI_HINT_INVALID, 3);

/* pami_atomic_t */
SIZE(pami_atomic_t, 4);
VALUE(PAMI_ATOMIC_FETCH, 1);
VALUE(PAMI_ATOMIC_COMPARE, 2);
VALUE(PAMI_ATOMIC_SET, 4);
VALUE(PAMI_ATOMIC_ADD, 8);
VALUE(PAMI_ATOMIC_OR, 12);
VALUE(PAMI_ATOMIC_AND, 16);
VALUE(PAMI_ATOMIC_XOR, 20);
VALUE(PAMI_ATOMIC_FETCH_SET, 5);
VALUE(PAMI_ATOMIC_FETCH_ADD, 9);
VALUE(PAMI_ATOMIC_FETCH_OR, 13);
VALUE(PAMI_ATOMIC_FETCH_AND, 17);
VALUE(PAMI_ATOMIC_FETCH_XOR, 21);
VALUE(PAMI_ATOMIC_COMPARE_SET, 6);
VALUE(PAMI_ATOMIC_COMPARE_ADD, 10);
VALUE(PAMI_ATOMIC_COMPARE_OR, 14);
VALUE(PAMI_ATOMIC_COMPARE_AND, 18);
VALUE(PAMI_ATOMIC_COMPARE_XOR, 22);
VALUE(PAMI_ATOMIC_FETCH_COMPARE_SET, 7);
VALUE(PAMI_ATOMIC_FETCH_COMPARE_ADD, 11);
VALUE(PAMI_ATOMIC_FETCH_COMPARE_OR, 15);
VALUE(PAMI_ATOMIC_FETCH_COMPARE_AND, 19);
VALUE(PAMI_ATOMIC_FETCH_COMPARE_XOR, 23);

/* pami_xfer_type_t */
SIZE(pami_xfer_type_t, 4);
VALUE(PAMI_XFER_BROADCAST, 0);
VALUE(PAMI_XFER_ALLREDUCE, 1);
VALUE(PAMI_XFER_REDUCE, 2);
VALUE(PAMI_XFER_ALLGATHER, 3);
VALUE(PAMI_XFER_ALLGATHERV, 4);
VALUE(PAMI_XFER_ALLGATHERV_INT, 5);
VALUE(PAMI_XFER_SCATTER, 6);
VALUE(PAMI_XFER_SCATTERV, 7);
VALUE(PAMI_XFER_SCATTERV_INT, 8);
VALUE(PAMI_XFER_GATHER, 9);
VALUE(PAMI_XFER_GATHERV, 10);
VALUE(PAMI_XFER_GATHERV_INT, 11);
VALUE(PAMI_XFER_BARRIER, 12);
VALUE(PAMI_XFER_ALLTOALL, 13);
VALUE(PAMI_XFER_ALLTOALLV, 14);
VALUE(PAMI_XFER_ALLTOALLV_INT, 15);
VALUE(PAMI_XFER_SCAN, 16);
VALUE(PAMI_XFER_REDUCE_SCATTER, 17);
VALUE(PAMI_XFER_AMBROADCAST, 18);
VALUE(PAMI_XFER_AMSCATTER, 19);
VALUE(PAMI_XFER_AMGATHER, 20);
VALUE(PAMI_XFER_AMREDUCE, 21);
VALUE(PAMI_XFER_COUNT, 22);
VALUE(PAMI_XFER_TYPE_EXT, 1000);

/* Handles and opaque objects */
SIZE(pami_client_t, 8);
SIZE(pami_context_t, 8);
SIZE(pami_type_t, 8);
SIZE(pami_geometry_t, 8);
SIZE(pami_algorithm_t, 8);
SIZE(pami_extension_t, 8);
SIZE(pami_task_t, 4);
SIZE(pami_endpoint_t, 4);
SIZE(pami_work_t, 48);
SIZE(pami_memregion_t, 8);

/* pami_user_config_t */
SIZE(pami_user_config_t, 16);
FIELD(pami_user_config_t, key, 0, 8);
FIELD(pami_user_config_t, value, 8, 8);

/* pami_attribute_value_t */
SIZE(pami_attribute_value_t, 8);
FIELD(pami_attribute_value_t, intval, 0, 8);
FIELD(pami_attribute_value_t, doubleval, 0, 8);
FIELD(pami_attribute_value_t, chararray, 0, 8);
FIELD(pami_attribute_value_t, intarray, 0, 8);

/* pami_configuration_t */
SIZE(pami_configuration_t, 16);
FIELD(pami_configuration_t, name, 0, 4);
FIELD(pami_configuration_t, value, 8, 8);

/* metadata_result_t */
SIZE(metadata_result_t, 4);
FIELD(metadata_result_t, bitmask, 0, 4);
FIELD(metadata_result_t, check, 0, 4);

/* pami_metadata_t */
SIZE(pami_metadata_t, 80);
FIELD(pami_metadata_t, name, 0, 8);
FIELD(pami_metadata_t, version, 8, 4);
FIELD(pami_metadata_t, check_fn, 16, 8);
FIELD(pami_metadata_t, range_lo, 24, 8);
FIELD(pami_metadata_t, range_hi, 32, 8);
FIELD(pami_metadata_t, send_min_align, 40, 4);
FIELD(pami_metadata_t, recv_min_align, 44, 4);
FIELD(pami_metadata_t, check_correct, 48, 4);
FIELD(pami_metadata_t, check_correct.bitmask_correct, 48, 4);
FIELD(pami_metadata_t, check_correct.values, 48, 4);
FIELD(pami_metadata_t, check_perf, 52, 4);
FIELD(pami_metadata_t, check_perf.bitmask_perf, 52, 4);
FIELD(pami_metadata_t, check_perf.values, 52, 4);
FIELD(pami_metadata_t, range_lo_perf, 56, 8);
FIELD(pami_metadata_t, range_hi_perf, 64, 8);
FIELD(pami_metadata_t, min_align_perf, 72, 4);

/* pami_dispatch_hint_t */
SIZE(pami_dispatch_hint_t, 4);

/* pami_send_hint_t */
SIZE(pami_send_hint_t, 4);

/* pami_collective_hint_t */
SIZE(pami_collective_hint_t, 4);

/* pami_send_immediate_t */
SIZE(pami_send_immediate_t, 48);
FIELD(pami_send_immediate_t, header, 0, 16);
FIELD(pami_send_immediate_t, data, 16, 16);
FIELD(pami_send_immediate_t, dispatch, 32, 8);
FIELD(pami_send_immediate_t, hints, 40, 4);
FIELD(pami_send_immediate_t, dest, 44, 4);

/* pami_send_event_t */
SIZE(pami_send_event_t, 24);
FIELD(pami_send_event_t, cookie, 0, 8);
FIELD(pami_send_event_t, local_fn, 8, 8);
FIELD(pami_send_event_t, remote_fn, 16, 8);

/* pami_send_t */
SIZE(pami_send_t, 72);
FIELD(pami_send_t, send, 0, 48);
FIELD(pami_send_t, events, 48, 24);

/* pami_send_typed_t */
SIZE(pami_send_typed_t, 104);
FIELD(pami_send_typed_t, send, 0, 48);
FIELD(pami_send_typed_t, events, 48, 24);
FIELD(pami_send_typed_t, typed, 72, 32);
FIELD(pami_send_typed_t, typed.type, 72, 8);
FIELD(pami_send_typed_t, typed.offset, 80, 8);
FIELD(pami_send_typed_t, typed.data_fn, 88, 8);
FIELD(pami_send_typed_t, typed.data_cookie, 96, 8);

/* pami_recv_t */
SIZE(pami_recv_t, 56);
FIELD(pami_recv_t, cookie, 0, 8);
FIELD(pami_recv_t, local_fn, 8, 8);
FIELD(pami_recv_t, addr, 16, 8);
FIELD(pami_recv_t, type, 24, 8);
FIELD(pami_recv_t, offset, 32, 8);
FIELD(pami_recv_t, data_fn, 40, 8);
FIELD(pami_recv_t, data_cookie, 48, 8);

/* pami_rma_t */
SIZE(pami_rma_t, 32);
FIELD(pami_rma_t, dest, 0, 4);
FIELD(pami_rma_t, hints, 4, 4);
FIELD(pami_rma_t, bytes, 8, 8);
FIELD(pami_rma_t, cookie, 16, 8);
FIELD(pami_rma_t, done_fn, 24, 8);

/* pami_rma_addr_t */
SIZE(pami_rma_addr_t, 16);
FIELD(pami_rma_addr_t, local, 0, 8);
FIELD(pami_rma_addr_t, remote, 8, 8);

/* pami_rma_typed_t */
SIZE(pami_rma_typed_t, 16);
FIELD(pami_rma_typed_t, local, 0, 8);
FIELD(pami_rma_typed_t, remote, 8, 8);

/* pami_rma_put_t */
SIZE(pami_rma_put_t, 8);
FIELD(pami_rma_put_t, rdone_fn, 0, 8);

/* pami_put_simple_t */
SIZE(pami_put_simple_t, 56);
FIELD(pami_put_simple_t, rma, 0, 32);
FIELD(pami_put_simple_t, addr, 32, 16);
FIELD(pami_put_simple_t, put, 48, 8);

/* pami_put_typed_t */
SIZE(pami_put_typed_t, 72);
FIELD(pami_put_typed_t, rma, 0, 32);
FIELD(pami_put_typed_t, addr, 32, 16);
FIELD(pami_put_typed_t, type, 48, 16);
FIELD(pami_put_typed_t, put, 64, 8);

/* pami_get_simple_t */
SIZE(pami_get_simple_t, 48);
FIELD(pami_get_simple_t, rma, 0, 32);
FIELD(pami_get_simple_t, addr, 32, 16);

/* pami_get_typed_t */
SIZE(pami_get_typed_t, 64);
FIELD(pami_get_typed_t, rma, 0, 32);
FIELD(pami_get_typed_t, addr, 32, 16);
FIELD(pami_get_typed_t, type, 48, 16);

/* pami_rmw_t */
SIZE(pami_rmw_t, 72);
FIELD(pami_rmw_t, dest, 0, 4);
FIELD(pami_rmw_t, hints, 4, 4);
FIELD(pami_rmw_t, cookie, 8, 8);
FIELD(pami_rmw_t, done_fn, 16, 8);
FIELD(pami_rmw_t, local, 24, 8);
FIELD(pami_rmw_t, remote, 32, 8);
FIELD(pami_rmw_t, value, 40, 8);
FIELD(pami_rmw_t, test, 48, 8);
FIELD(pami_rmw_t, operation, 56, 4);
FIELD(pami_rmw_t, type, 64, 8);

/* pami_rma_mr_t */
SIZE(pami_rma_mr_t, 16);
FIELD(pami_rma_mr_t, mr, 0, 8);
FIELD(pami_rma_mr_t, offset, 8, 8);

/* pami_rdma_t */
SIZE(pami_rdma_t, 32);
FIELD(pami_rdma_t, local, 0, 16);
FIELD(pami_rdma_t, remote, 16, 16);

/* pami_rput_simple_t */
SIZE(pami_rput_simple_t, 72);
FIELD(pami_rput_simple_t, rma, 0, 32);
FIELD(pami_rput_simple_t, rdma, 32, 32);
FIELD(pami_rput_simple_t, put, 64, 8);

/* pami_rput_typed_t */
SIZE(pami_rput_typed_t, 88);
FIELD(pami_rput_typed_t, rma, 0, 32);
FIELD(pami_rput_typed_t, rdma, 32, 32);
FIELD(pami_rput_typed_t, type, 64, 16);
FIELD(pami_rput_typed_t, put, 80, 8);

/* pami_rget_simple_t */
SIZE(pami_rget_simple_t, 64);
FIELD(pami_rget_simple_t, rma, 0, 32);
FIELD(pami_rget_simple_t, rdma, 32, 32);

/* pami_rget_typed_t */
SIZE(pami_rget_typed_t, 80);
FIELD(pami_rget_typed_t, rma, 0, 32);
FIELD(pami_rget_typed_t, rdma, 32, 32);
FIELD(pami_rget_typed_t, type, 64, 16);

/* pami_geometry_range_t */
SIZE(pami_geometry_range_t, 8);
FIELD(pami_geometry_range_t, lo, 0, 4);
FIELD(pami_geometry_range_t, hi, 4, 4);

/* pami_alltoallv_t */
SIZE(pami_alltoallv_t, 64);
FIELD(pami_alltoallv_t, sndbuf, 0, 8);
FIELD(pami_alltoallv_t, stype, 8, 8);
FIELD(pami_alltoallv_t, stypecounts, 16, 8);
FIELD(pami_alltoallv_t, sdispls, 24, 8);
FIELD(pami_alltoallv_t, rcvbuf, 32, 8);
FIELD(pami_alltoallv_t, rtype, 40, 8);
FIELD(pami_alltoallv_t, rtypecounts, 48, 8);
FIELD(pami_alltoallv_t, rdispls, 56, 8);

/* pami_alltoallv_int_t */
SIZE(pami_alltoallv_int_t, 64);
FIELD(pami_alltoallv_int_t, sndbuf, 0, 8);
FIELD(pami_alltoallv_int_t, stype, 8, 8);
FIELD(pami_alltoallv_int_t, stypecounts, 16, 8);
FIELD(pami_alltoallv_int_t, sdispls, 24, 8);
FIELD(pami_alltoallv_int_t, rcvbuf, 32, 8);
FIELD(pami_alltoallv_int_t, rtype, 40, 8);
FIELD(pami_alltoallv_int_t, rtypecounts, 48, 8);
FIELD(pami_alltoallv_int_t, rdispls, 56, 8);

/* pami_alltoall_t */
SIZE(pami_alltoall_t, 48);
FIELD(pami_alltoall_t, sndbuf, 0, 8);
FIELD(pami_alltoall_t, stype, 8, 8);
FIELD(pami_alltoall_t, stypecount, 16, 8);
FIELD(pami_alltoall_t, rcvbuf, 24, 8);
FIELD(pami_alltoall_t, rtype, 32, 8);
FIELD(pami_alltoall_t, rtypecount, 40, 8);

/* pami_reduce_t */
SIZE(pami_reduce_t, 80);
FIELD(pami_reduce_t, root, 0, 4);
FIELD(pami_reduce_t, sndbuf, 8, 8);
FIELD(pami_reduce_t, stype, 16, 8);
FIELD(pami_reduce_t, stypecount, 24, 8);
FIELD(pami_reduce_t, rcvbuf, 32, 8);
FIELD(pami_reduce_t, rtype, 40, 8);
FIELD(pami_reduce_t, rtypecount, 48, 8);
FIELD(pami_reduce_t, op, 56, 8);
FIELD(pami_reduce_t, data_cookie, 64, 8);
FIELD(pami_reduce_t, commutative, 72, 4);

/* pami_reduce_scatter_t */
SIZE(pami_reduce_scatter_t, 72);
FIELD(pami_reduce_scatter_t, sndbuf, 0, 8);
FIELD(pami_reduce_scatter_t, stype, 8, 8);
FIELD(pami_reduce_scatter_t, stypecount, 16, 8);
FIELD(pami_reduce_scatter_t, rcvbuf, 24, 8);
FIELD(pami_reduce_scatter_t, rtype, 32, 8);
FIELD(pami_reduce_scatter_t, rcounts, 40, 8);
FIELD(pami_reduce_scatter_t, op, 48, 8);
FIELD(pami_reduce_scatter_t, data_cookie, 56, 8);
FIELD(pami_reduce_scatter_t, commutative, 64, 4);

/* pami_broadcast_t */
SIZE(pami_broadcast_t, 32);
FIELD(pami_broadcast_t, root, 0, 4);
FIELD(pami_broadcast_t, buf, 8, 8);
FIELD(pami_broadcast_t, type, 16, 8);
FIELD(pami_broadcast_t, typecount, 24, 8);

/* pami_allgather_t */
SIZE(pami_allgather_t, 48);
FIELD(pami_allgather_t, sndbuf, 0, 8);
FIELD(pami_allgather_t, stype, 8, 8);
FIELD(pami_allgather_t, stypecount, 16, 8);
FIELD(pami_allgather_t, rcvbuf, 24, 8);
FIELD(pami_allgather_t, rtype, 32, 8);
FIELD(pami_allgather_t, rtypecount, 40, 8);

/* pami_gather_t */
SIZE(pami_gather_t, 56);
FIELD(pami_gather_t, root, 0, 4);
FIELD(pami_gather_t, sndbuf, 8, 8);
FIELD(pami_gather_t, stype, 16, 8);
FIELD(pami_gather_t, stypecount, 24, 8);
FIELD(pami_gather_t, rcvbuf, 32, 8);
FIELD(pami_gather_t, rtype, 40, 8);
FIELD(pami_gather_t, rtypecount, 48, 8);

/* pami_gatherv_t */
SIZE(pami_gatherv_t, 64);
FIELD(pami_gatherv_t, root, 0, 4);
FIELD(pami_gatherv_t, sndbuf, 8, 8);
FIELD(pami_gatherv_t, stype, 16, 8);
FIELD(pami_gatherv_t, stypecount, 24, 8);
FIELD(pami_gatherv_t, rcvbuf, 32, 8);
FIELD(pami_gatherv_t, rtype, 40, 8);
FIELD(pami_gatherv_t, rtypecounts, 48, 8);
FIELD(pami_gatherv_t, rdispls, 56, 8);

/* pami_gatherv_int_t */
SIZE(pami_gatherv_int_t, 64);
FIELD(pami_gatherv_int_t, root, 0, 4);
FIELD(pami_gatherv_int_t, sndbuf, 8, 8);
FIELD(pami_gatherv_int_t, stype, 16, 8);
FIELD(pami_gatherv_int_t, stypecount, 24, 4);
FIELD(pami_gatherv_int_t, rcvbuf, 32, 8);
FIELD(pami_gatherv_int_t, rtype, 40, 8);
FIELD(pami_gatherv_int_t, rtypecounts, 48, 8);
FIELD(pami_gatherv_int_t, rdispls, 56, 8);

/* pami_allgatherv_t */
SIZE(pami_allgatherv_t, 56);
FIELD(pami_allgatherv_t, sndbuf, 0, 8);
FIELD(pami_allgatherv_t, stype, 8, 8);
FIELD(pami_allgatherv_t, stypecount, 16, 8);
FIELD(pami_allgatherv_t, rcvbuf, 24, 8);
FIELD(pami_allgatherv_t, rtype, 32, 8);
FIELD(pami_allgatherv_t, rtypecounts, 40, 8);
FIELD(pami_allgatherv_t, rdispls, 48, 8);

/* pami_allgatherv_int_t */
SIZE(pami_allgatherv_int_t, 56);
FIELD(pami_allgatherv_int_t, sndbuf, 0, 8);
FIELD(pami_allgatherv_int_t, stype, 8, 8);
FIELD(pami_allgatherv_int_t, stypecount, 16, 4);
FIELD(pami_allgatherv_int_t, rcvbuf, 24, 8);
FIELD(pami_allgatherv_int_t, rtype, 32, 8);
FIELD(pami_allgatherv_int_t, rtypecounts, 40, 8);
FIELD(pami_allgatherv_int_t, rdispls, 48, 8);

/* pami_scatter_t */
SIZE(pami_scatter_t, 56);
FIELD(pami_scatter_t, root, 0, 4);
FIELD(pami_scatter_t, sndbuf, 8, 8);
FIELD(pami_scatter_t, stype, 16, 8);
FIELD(pami_scatter_t, stypecount, 24, 8);
FIELD(pami_scatter_t, rcvbuf, 32, 8);
FIELD(pami_scatter_t, rtype, 40, 8);
FIELD(pami_scatter_t, rtypecount, 48, 8);

/* pami_scatterv_t */
SIZE(pami_scatterv_t, 64);
FIELD(pami_scatterv_t, root, 0, 4);
FIELD(pami_scatterv_t, sndbuf, 8, 8);
FIELD(pami_scatterv_t, stype, 16, 8);
FIELD(pami_scatterv_t, stypecounts, 24, 8);
FIELD(pami_scatterv_t, sdispls, 32, 8);
FIELD(pami_scatterv_t, rcvbuf, 40, 8);
FIELD(pami_scatterv_t, rtype, 48, 8);
FIELD(pami_scatterv_t, rtypecount, 56, 8);

/* pami_scatterv_int_t */
SIZE(pami_scatterv_int_t, 64);
FIELD(pami_scatterv_int_t, root, 0, 4);
FIELD(pami_scatterv_int_t, sndbuf, 8, 8);
FIELD(pami_scatterv_int_t, stype, 16, 8);
FIELD(pami_scatterv_int_t, stypecounts, 24, 8);
FIELD(pami_scatterv_int_t, sdispls, 32, 8);
FIELD(pami_scatterv_int_t, rcvbuf, 40, 8);
FIELD(pami_scatterv_int_t, rtype, 48, 8);
FIELD(pami_scatterv_int_t, rtypecount, 56, 4);

/* pami_allreduce_t */
SIZE(pami_allreduce_t, 72);
FIELD(pami_allreduce_t, sndbuf, 0, 8);
FIELD(pami_allreduce_t, stype, 8, 8);
FIELD(pami_allreduce_t, stypecount, 16, 8);
FIELD(pami_allreduce_t, rcvbuf, 24, 8);
FIELD(pami_allreduce_t, rtype, 32, 8);
FIELD(pami_allreduce_t, rtypecount, 40, 8);
FIELD(pami_allreduce_t, op, 48, 8);
FIELD(pami_allreduce_t, data_cookie, 56, 8);
FIELD(pami_allreduce_t, commutative, 64, 4);

/* pami_scan_t */
SIZE(pami_scan_t, 72);
FIELD(pami_scan_t, sndbuf, 0, 8);
FIELD(pami_scan_t, stype, 8, 8);
FIELD(pami_scan_t, stypecount, 16, 8);
FIELD(pami_scan_t, rcvbuf, 24, 8);
FIELD(pami_scan_t, rtype, 32, 8);
FIELD(pami_scan_t, rtypecount, 40, 8);
FIELD(pami_scan_t, op, 48, 8);
FIELD(pami_scan_t, data_cookie, 56, 8);
FIELD(pami_scan_t, exclusive, 64, 4);

/* pami_barrier_t */
SIZE(pami_barrier_t, 0);

/* pami_ambroadcast_t */
SIZE(pami_ambroadcast_t, 48);
FIELD(pami_ambroadcast_t, dispatch, 0, 8);
FIELD(pami_ambroadcast_t, user_header, 8, 8);
FIELD(pami_ambroadcast_t, headerlen, 16, 8);
FIELD(pami_ambroadcast_t, sndbuf, 24, 8);
FIELD(pami_ambroadcast_t, stype, 32, 8);
FIELD(pami_ambroadcast_t, stypecount, 40, 8);

/* pami_amscatter_t */
SIZE(pami_amscatter_t, 48);
FIELD(pami_amscatter_t, dispatch, 0, 8);
FIELD(pami_amscatter_t, headers, 8, 8);
FIELD(pami_amscatter_t, headerlen, 16, 8);
FIELD(pami_amscatter_t, sndbuf, 24, 8);
FIELD(pami_amscatter_t, stype, 32, 8);
FIELD(pami_amscatter_t, stypecount, 40, 8);

/* pami_amgather_t */
SIZE(pami_amgather_t, 48);
FIELD(pami_amgather_t, dispatch, 0, 8);
FIELD(pami_amgather_t, headers, 8, 8);
FIELD(pami_amgather_t, headerlen, 16, 8);
FIELD(pami_amgather_t, rcvbuf, 24, 8);
FIELD(pami_amgather_t, rtype, 32, 8);
FIELD(pami_amgather_t, rtypecount, 40, 8);

/* pami_amreduce_t */
SIZE(pami_amreduce_t, 64);
FIELD(pami_amreduce_t, dispatch, 0, 8);
FIELD(pami_amreduce_t, user_header, 8, 8);
FIELD(pami_amreduce_t, headerlen, 16, 8);
FIELD(pami_amreduce_t, rcvbuf, 24, 8);
FIELD(pami_amreduce_t, rtype, 32, 8);
FIELD(pami_amreduce_t, rtypecount, 40, 8);
FIELD(pami_amreduce_t, data_cookie, 48, 8);
FIELD(pami_amreduce_t, commutative, 56, 4);

/* pami_collective_t */
SIZE(pami_collective_t, 80);
FIELD(pami_collective_t, xfer_allreduce, 0, 72);
FIELD(pami_collective_t, xfer_broadcast, 0, 32);
FIELD(pami_collective_t, xfer_reduce, 0, 80);
FIELD(pami_collective_t, xfer_allgather, 0, 48);
FIELD(pami_collective_t, xfer_allgatherv, 0, 56);
FIELD(pami_collective_t, xfer_allgatherv_int, 0, 56);
FIELD(pami_collective_t, xfer_scatter, 0, 56);
FIELD(pami_collective_t, xfer_scatterv, 0, 64);
FIELD(pami_collective_t, xfer_scatterv_int, 0, 64);
FIELD(pami_collective_t, xfer_gather, 0, 56);
FIELD(pami_collective_t, xfer_gatherv, 0, 64);
FIELD(pami_collective_t, xfer_gatherv_int, 0, 64);
FIELD(pami_collective_t, xfer_alltoall, 0, 48);
FIELD(pami_collective_t, xfer_alltoallv, 0, 64);
FIELD(pami_collective_t, xfer_alltoallv_int, 0, 64);
FIELD(pami_collective_t, xfer_ambroadcast, 0, 48);
FIELD(pami_collective_t, xfer_amscatter, 0, 48);
FIELD(pami_collective_t, xfer_amgather, 0, 48);
FIELD(pami_collective_t, xfer_amreduce, 0, 64);
FIELD(pami_collective_t, xfer_scan, 0, 72);
FIELD(pami_collective_t, xfer_barrier, 0, 0);
FIELD(pami_collective_t, xfer_reduce_scatter, 0, 72);

/* pami_xfer_t */
SIZE(pami_xfer_t, 112);
FIELD(pami_xfer_t, cb_done, 0, 8);
FIELD(pami_xfer_t, cookie, 8, 8);
FIELD(pami_xfer_t, algorithm, 16, 8);
FIELD(pami_xfer_t, options, 24, 4);
FIELD(pami_xfer_t, cmd, 32, 80);

/* pami_dispatch_callback_function */
SIZE(pami_dispatch_callback_function, 8);
FIELD(pami_dispatch_callback_function, p2p, 0, 8);
FIELD(pami_dispatch_callback_function, ambroadcast, 0, 8);
FIELD(pami_dispatch_callback_function, amscatter, 0, 8);
FIELD(pami_dispatch_callback_function, amgather, 0, 8);
FIELD(pami_dispatch_callback_function, amreduce, 0, 8);

/* Fills the field with ones and checks that just `width` bits from bit `first` of the structure are set. */
#define BITS(type, field, first, width)                                                                     \
  do                                                                                                        \
  {                                                                                                         \
    type object;                                                                                            \
    memset(&object, 0, sizeof object);                                                                      \
    object.field = (1u << (width)) - 1;                                                                     \
    if (!only((const unsigned char *) &object, sizeof object, (first), (width)))                            \
    {                                                                                                       \
      fprintf(stderr, "layout: %s.%s is not at bit %d\n", #type, #field, (first));                          \
      wrong = 1;                                                                                            \
    }                                                                                                       \
  } while (0)

static int only(const unsigned char * bytes, size_t size, size_t first, size_t width)
{
  for (size_t i = 0; i < 8 * size; i++)
    if (((bytes[i / 8] >> (i % 8)) & 1) != (i >= first && i < first + width)) return 0;
  return 1;
}

int main(void)
{
  int wrong = 0;

  BITS(metadata_result_t, check.unspecified, 0, 1);
  BITS(metadata_result_t, check.range, 1, 1);
  BITS(metadata_result_t, check.align_send_buffer, 2, 1);
  BITS(metadata_result_t, check.align_recv_buffer, 3, 1);
  BITS(metadata_result_t, check.datatype_op, 4, 1);
  BITS(metadata_result_t, check.contiguous_send, 5, 1);
  BITS(metadata_result_t, check.contiguous_recv, 6, 1);
  BITS(metadata_result_t, check.continuous_send, 7, 1);
  BITS(metadata_result_t, check.continuous_recv, 8, 1);
  BITS(metadata_result_t, check.nonlocal, 9, 1);
  BITS(pami_metadata_t, check_correct.values.checkrequired, 384, 1);
  BITS(pami_metadata_t, check_correct.values.nonlocal, 385, 1);
  BITS(pami_metadata_t, check_correct.values.rangeminmax, 386, 1);
  BITS(pami_metadata_t, check_correct.values.sendminalign, 387, 1);
  BITS(pami_metadata_t, check_correct.values.recvminalign, 388, 1);
  BITS(pami_metadata_t, check_correct.values.alldtop, 389, 1);
  BITS(pami_metadata_t, check_correct.values.contigsflags, 390, 1);
  BITS(pami_metadata_t, check_correct.values.contigrflags, 391, 1);
  BITS(pami_metadata_t, check_correct.values.continsflags, 392, 1);
  BITS(pami_metadata_t, check_correct.values.continrflags, 393, 1);
  BITS(pami_metadata_t, check_correct.values.blocking, 394, 1);
  BITS(pami_metadata_t, check_correct.values.inplace, 395, 1);
  BITS(pami_metadata_t, check_correct.values.asyncflowctl, 396, 1);
  BITS(pami_metadata_t, check_correct.values.oneatatime, 397, 1);
  BITS(pami_metadata_t, check_correct.values.global_order, 398, 4);
  BITS(pami_metadata_t, check_perf.values.hw_accel, 416, 1);
  BITS(pami_dispatch_hint_t, multicontext, 0, 2);
  BITS(pami_dispatch_hint_t, long_header, 2, 2);
  BITS(pami_dispatch_hint_t, recv_contiguous, 4, 2);
  BITS(pami_dispatch_hint_t, recv_copy, 6, 2);
  BITS(pami_dispatch_hint_t, recv_immediate, 8, 2);
  BITS(pami_dispatch_hint_t, consistency, 10, 2);
  BITS(pami_dispatch_hint_t, buffer_registered, 12, 2);
  BITS(pami_dispatch_hint_t, remote_async_progress, 14, 2);
  BITS(pami_dispatch_hint_t, use_rdma, 16, 2);
  BITS(pami_dispatch_hint_t, use_shmem, 18, 2);
  BITS(pami_dispatch_hint_t, queue_immediate, 20, 2);
  BITS(pami_send_hint_t, reserved0, 0, 12);
  BITS(pami_send_hint_t, buffer_registered, 12, 2);
  BITS(pami_send_hint_t, remote_async_progress, 14, 2);
  BITS(pami_send_hint_t, use_rdma, 16, 2);
  BITS(pami_send_hint_t, use_shmem, 18, 2);
  BITS(pami_send_hint_t, reserved1, 20, 2);
  BITS(pami_collective_hint_t, multicontext, 0, 2);
  BITS(pami_collective_hint_t, reserved0, 2, 20);

  return wrong;
}
