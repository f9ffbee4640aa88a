//! Libraries on Blue Gene/Q's Message Units. One program, so that the simulator is compiled for its nodes once.

mod collectives;
mod hardware_threads;
mod io_nodes;
mod memory_fifos;
mod message_unit;
mod mpi;
mod pami_collectives;
mod rdma;
mod shared_memory;
mod units;
