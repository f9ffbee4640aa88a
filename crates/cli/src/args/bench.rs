//! What `netloom bench` measures besides the engine.
// The comments below are the help that people read: brackets in them are brackets.
#![allow(rustdoc::broken_intra_doc_links)]

use super::values::two_cores;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What else can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchAction {
    /// Measure messages between two processes of this computer, beside its hardware
    #[command(after_long_help = "Examples:\n  \
        netloom bench messaging\n  \
        netloom bench messaging --cores 2,3\n  \
        netloom bench messaging --quick --json\n\n\
        Half round trip and rate of short messages, and bandwidth of long ones, from one core to another; beside them a bare \
        ping-pong of one cache line between the same cores, and memcpy of the same lengths. Where ucx_perftest is installed, \
        UCX's figures over shared memory follow. Last comes the rate of one task that sends to itself by one context, and by two \
        at a time. Each figure is the best of \
        several repetitions, with its ratio in that repetition.")]
    Messaging(MessagingBenchArgs),
    /// Measure the memory of the tasks of a simulated machine, few and many of them
    #[command(after_long_help = "Examples:\n  \
        netloom bench memory\n  \
        netloom bench memory --quick --json\n\n\
        Barriers of all tasks of a program on PAMI, and of ranks of MPI, on a Blue Gene/Q, 4,096 and 65,536 of them, with eight and with one on each \
        node. Each run is a process of its own: bytes per task are its maximum memory without that of a run with two tasks.")]
    Memory(MemoryBenchArgs),
    /// Measure calls of MPI on this computer, beside other MPI libraries
    #[command(after_long_help = "Examples:\n  \
        netloom bench mpi\n  \
        netloom bench mpi --beside /opt/mpich/bin/mpiexec --beside /usr/bin/mpiexec.openmpi\n  \
        netloom bench mpi --quick --json\n\n\
        Half round trips, bandwidth, messages per second, puts, barriers, all-reduces and packing of derived types, between \
        two ranks; collectives of up to eight where there are as many cores. The same program in C runs on this library and on \
        the others in turns, three times each; a figure is the best of a library's runs. Libraries with the standard ABI, such \
        as MPICH 5, run the same executable; for others the mpicc beside their mpiexec compiles one. The speedup is how many \
        times as fast this library is as the best of the others.")]
    Mpi(MpiBenchArgs),
}

/// What the measurement of MPI takes.
#[derive(Clone, Debug, Args)]
pub struct MpiBenchArgs {
    /// The mpiexec of another library, as often as there are some; those in PATH, if omitted
    #[arg(long, value_name = "MPIEXEC")]
    pub beside: Vec<PathBuf>,
    /// Collectives alone, once
    #[arg(long)]
    pub quick: bool,
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    pub json: bool,
}

/// What the measurement of memory takes.
#[derive(Clone, Debug, Args)]
pub struct MemoryBenchArgs {
    /// The smaller number of tasks only
    #[arg(long)]
    pub quick: bool,
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    pub json: bool,
    /// The size that this process runs
    #[arg(long, hide = true)]
    pub size: Option<usize>,
}

/// What the measurement of messages takes.
#[derive(Clone, Debug, Args)]
pub struct MessagingBenchArgs {
    /// The cores of the two processes; the first two that this process may use, if omitted
    #[arg(long, value_name = "A,B", value_parser = two_cores)]
    pub cores: Option<[usize; 2]>,
    /// A twentieth of the messages, once
    #[arg(long)]
    pub quick: bool,
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    pub json: bool,
    /// The file that the tasks of the benchmark share: this process is one of them
    #[arg(long, hide = true)]
    pub task: Option<i32>,
}
