//! The command line: what may be asked, and the help that teaches it.
// The comments below are the help that people read: brackets in them are brackets.
#![allow(rustdoc::broken_intra_doc_links)]

mod bench;
mod values;

pub use bench::{BenchAction, MemoryBenchArgs, MessagingBenchArgs, MpiBenchArgs};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use netloom_report::sweep::Shard;
use netloom_study::machine::NEW;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use values::{compute, mapping, patience, seconds, time_limit, variable};

/// The interconnect of a supercomputer, in software.
#[derive(Debug, Parser)]
#[command(
    name = "netloom",
    version,
    disable_help_subcommand = true,
    about = "Simulates the interconnect of a supercomputer",
    long_about = "Simulates the interconnect of a supercomputer: BlueGene/L's and Blue Gene/Q's tori, Cray XC's dragonfly and TH Express-2's fat tree, packet by packet, \
        with their virtual channels, tokens and arbiters.\n\nA study (a TOML file) names a machine, what its nodes do, and what to measure. \
        A run writes a folder with a summary, tables, plots and a report that opens in a browser.",
    after_help = "Without a command, netloom runs its main example: an all-to-all on a 32x32x32 BlueGene/L.",
    after_long_help = "Without a command, netloom runs its main example: an all-to-all on a 32x32x32 BlueGene/L.\n\n\
        Examples:\n  \
        netloom studies                             the built-in studies\n  \
        netloom run hot-region                      one of them, by name\n  \
        netloom run my.toml --set router.paths=1    your own study, with one change\n  \
        netloom sweep light-traffic --threads 8     every combination of a study's [sweep]\n  \
        netloom machines describe bgl               facts about a machine, without a run\n  \
        netloom validate bgl                        the paper's figures beside the simulated ones\n  \
        netloom help keys measure                   the keys of a study's [measure] table\n  \
        netloom exec -n 4 ./program                 an MPI or PAMI program, as 4 processes of this computer\n\n\
        Exit status: 0 success; 1 a run stalled or failed, a claim does not hold, an expectation was not met, a published figure \
        failed or a result could not be written; 2 a mistake in a file or a flag; 130 interrupted, with a partial result."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What netloom can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a study and write its result into a folder
    #[command(after_long_help = "Examples:\n  \
        netloom run all-to-all\n  \
        netloom run my.toml --out results/first\n  \
        netloom run all-to-all --set topology.dims=[16,16,16] --set traffic.routing=static\n  \
        netloom run light-traffic --set sweep={}    one run of a study that sweeps\n  \
        netloom run all-to-all --json | jq .links.mean_utilization\n\n\
        A study that has a [sweep] table is swept, as `netloom sweep` does it.\n\n\
        The study's [[claim]] tables are judged at the end, except those that compare points of a sweep.\n\n\
        Ctrl-C or SIGTERM stops a run and keeps the results so far, marked as partial; the status is then 130. It is 1 when the run \
        stalls or fails, a claim does not hold, an expectation of the study is not met, or the result cannot be written.")]
    Run(RunArgs),
    /// Run a study at every combination of the values in its [sweep] table
    #[command(
        after_long_help = "Points run side by side, one thread each. A sweep that was stopped resumes where it \
        was when the same command is given again. A study without a [sweep] table is run once. The study's [[claim]] tables are judged at the end.\n\n\
        The status is 1 when a point stalls or fails, a claim does not hold, an expectation is not met or a result cannot be \
        written; 130 when the sweep was interrupted.\n\nExamples:\n  \
        netloom sweep light-traffic\n  \
        netloom sweep my.toml --threads 16 --out results/sweep\n  \
        netloom sweep my.toml --set 'sweep.router.paths=[1,2]'"
    )]
    Sweep(RunArgs),
    /// List the built-in studies, or print one
    #[command(after_long_help = "Examples:\n  \
        netloom studies\n  \
        netloom studies show xc/put-rates > mine.toml\n  \
        netloom run xc/put-rates")]
    Studies {
        /// What to do with studies; `list` if omitted
        #[command(subcommand)]
        action: Option<StudiesAction>,
    },
    /// List, show, start, check or describe machines
    #[command(after_long_help = "Examples:\n  \
        netloom machines\n  \
        netloom machines new dragonfly > mine.toml\n  \
        netloom machines check mine.toml\n  \
        netloom machines describe bgl --set topology.dims=[8,8,8]\n  \
        netloom machines describe xc --groups 8 --cables 34")]
    Machines {
        /// What to do with machines; `list` if omitted
        #[command(subcommand)]
        action: Option<MachinesAction>,
    },
    /// Compare results: what differs in configuration and in figures
    #[command(after_long_help = "Examples:\n  \
        netloom compare netloom-out/all-to-all netloom-out/all-to-all-2\n  \
        netloom compare before/ after/ --html comparison.html\n  \
        netloom compare static/ dynamic/ --json\n\n\
        A result is the folder of a run or of a sweep, or a summary.json. Sweeps are compared point by point. Of the figures \
        whose confidence intervals are known, the comparison shows whether they differ by more than the intervals explain.")]
    Compare {
        /// Two or more results; the first is what the others are compared with
        #[arg(required = true, num_args = 2..)]
        results: Vec<PathBuf>,
        /// Also show the figures that are the same
        #[arg(long)]
        all: bool,
        /// Print JSON for programs instead of text for people
        #[arg(long)]
        json: bool,
        /// Write the comparison as a page into this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Compare published figures with simulated ones
    #[command(after_long_help = "Examples:\n  \
        netloom validate                            everything\n  \
        netloom validate bgl                        one paper\n  \
        netloom validate xc                         another, by its machine\n  \
        netloom validate bgl.all_to_all_32k         one table of it\n  \
        netloom validate bgl --quick --json         smaller runs; one object for each figure\n  \
        netloom validate bgl --quick --against published/bgl.verdicts.toml\n\n\
        An entry's name is paper.table[row].column. `difference` is in the figure's unit where the tolerance is \
        absolute, else a fraction of the published figure. `pass` is a prediction that a run confirms; `echo` a parameter \
        read back, `derived` another entry's figure in other units, `closed-form` computed without a run, `calibrated` \
        fitted, `loose-bound` further than a factor of three within a bound, `proxy` a quick run of another machine. The \
        status is 1 when an entry fails.")]
    Validate {
        /// A paper, a table (PAPER.FIGURE) or an entry; all if omitted
        what: Option<String>,
        /// Smaller machines and shorter runs
        #[arg(long)]
        quick: bool,
        /// Compare the verdicts with a list of them: the status is 1 if one is worse or a figure differs, not
        /// if one fails
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
        /// Write the verdicts and figures into a list of them, table by table
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        /// Leave out the tables that this version has written into the list within the last day
        #[arg(long, requires = "record", conflicts_with = "against")]
        resume: bool,
        /// Output and threads
        #[command(flatten)]
        common: Common,
    },
    /// Measure the simulator's own speed beside its budgets, or that of messages between processes
    #[command(
        args_conflicts_with_subcommands = true,
        after_long_help = "Examples:\n  \
        netloom bench\n  \
        netloom bench --quick --json\n  \
        netloom bench messaging                     messages between two cores of this computer\n  \
        netloom bench memory                        bytes per task, up to 65,536 simulated tasks"
    )]
    Bench {
        /// What to measure; the simulator if omitted
        #[command(subcommand)]
        what: Option<BenchAction>,
        /// A quarter of the simulated time, once
        #[arg(long)]
        quick: bool,
        /// Output and threads
        #[command(flatten)]
        common: Common,
    },
    /// Run a program as the tasks of a job on this computer, with MPI or PAMI between them
    #[command(after_long_help = "Examples:\n  \
        netloom exec -n 4 ./program\n  \
        netloom exec -n 4 -l ./program -x its-own-option     options after PROGRAM are the program's\n  \
        netloom exec -n 2 --timeout 60 -x DEBUG=1 ./program < input\n  \
        netloom exec -n 64 --bind none ./program\n  \
        netloom exec -n 1 --universe 8 ./manager             it may start seven workers\n  \
        netloom exec -n 2 sh -c 'echo task $NETLOOM_TASK of $PMI_SIZE'\n\n\
        Each task is a process. All share one segment of memory, which has no name in any file system, so nothing is left \
        over. Task 0 reads netloom's standard input; the others read nothing. LD_LIBRARY_PATH gets the folder of Netloom's \
        libmpi_abi.so.1 and libpami.so. A task finds its number in PMI_RANK and OMPI_COMM_WORLD_RANK, among others.\n\n\
        When a task fails, the others have a second (--grace) to end, then get SIGTERM, and SIGKILL after 2 more seconds. SIGINT, \
        SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 go to all tasks. Processes that tasks start and leave behind are ended with the job.\n\n\
        At the time limit (--timeout) a line says what each task waits for in MPI or PAMI; further lines say why, where it is known.\n\n\
        Tasks can start others by MPI_Comm_spawn. Those are tasks like all: labelled, pinned if cores are free, and ended \
        with the others. MPI_UNIVERSE_SIZE is --universe, or the environment variable NETLOOM_UNIVERSE; without these it is \
        the number of cores, or that of tasks if it is greater, and no limit. A job has 4,096 tasks at most, with those that have \
        ended.\n\n\
        Exit status: that of the first task that fails, or 128 + the number of its signal; 124 when the time limit is reached; 2 \
        when the program cannot be started.")]
    Exec(ExecArgs),
    /// Run an MPI or PAMI program, unchanged, on a simulated machine
    #[command(after_long_help = "Examples:\n  \
        netloom mpirun -n 2 --machine bgq ./ping\n  \
        netloom mpirun -n 64 --ppn 4 --machine bgq --set topology.dims=[2,2,2,2,1] ./solver\n  \
        netloom mpirun -n 32 --ppn 16 --machine xc ./solver\n  \
        netloom mpirun -n 8 --machine bgq --compute 1 ./solver     # its computing counts, as fast as here\n  \
        netloom mpirun -n 16 --machine bgq --out profile ./solver  # where its time goes, with a timeline\n\n\
        Each task is a process of this computer; its messages cross the simulated machine, and MPI_Wtime and PAMI_Wtime are that \
        machine's time. Computing takes no simulated time unless --compute counts it; without it the times are the same on every run.\n\n\
        Exit status: as `netloom exec`; 1 when a task fails on the machine, for example because it waits for ever.")]
    Mpirun(MpirunArgs),
    /// Compile and link a C program that uses MPI or PAMI
    #[command(after_long_help = "Examples:\n  \
        netloom cc -O2 -o program program.c\n  \
        netloom cc -c part.c\n  \
        netloom cc --show -o program program.c      the command line, without running it\n  \
        netloom cc --install-links ~/mpi            for `cmake -DMPI_HOME=~/mpi` and PKG_CONFIG_PATH=~/mpi/lib/pkgconfig\n  \
        CC='clang -g' netloom cc -o program program.c\n\n\
        It runs $CC, or cc, with the folder of mpi.h and pami.h before the arguments and the libraries after them. With -c, -E, -S, -M, -MM \
        or -fsyntax-only nothing is linked. The exit status is the compiler's.\n\n\
        It answers -show, -compile-info and -link-info as MPICH's mpicc does, and -showme:compile, -showme:link and their kin as Open MPI's. \
        Called as mpicc or mpicxx, through a link, netloom is this command, but the compiler is $MPI_CC or $MPI_CXX; called as mpiexec or \
        mpirun, it is `netloom exec`, and knows the usual options of other launchers.")]
    Cc(CompilerArgs),
    /// Compile and link a C++ program that uses MPI or PAMI
    #[command(
        name = "c++",
        after_long_help = "Examples:\n  \
        netloom c++ -O2 -o program program.cpp\n  \
        CXX=clang++ netloom c++ -o program program.cpp\n\n\
        As `netloom cc`, with $CXX, or c++."
    )]
    Cxx(CompilerArgs),
    /// Compile and link a Fortran program that uses MPI
    #[command(after_long_help = "Examples:\n  \
        netloom fc -O2 -o program program.f90\n  \
        FC=gfortran-14 netloom fc -o program program.f90\n\n\
        As `netloom cc`, with $FC, or gfortran, for programs that `use mpi`, `use mpi_f08` or include 'mpif.h'. GNU Fortran 12 or later is \
        needed. The first call compiles the modules for this compiler, into the folder `fortran` beside MPI's library, or, where that cannot \
        be written, $XDG_CACHE_HOME/netloom/fortran or ~/.cache/netloom/fortran; it takes some seconds. Called as mpifort, mpif90 or mpif77, \
        through a link, netloom is this command, but the compiler is $MPI_FC.")]
    Fc(CompilerArgs),
    /// Print the help of a command, or what keys and metrics mean
    #[command(after_long_help = "Examples:\n  \
        netloom help run\n  \
        netloom help keys                           all keys, a line each\n  \
        netloom help keys measure                   a table's keys, with type, unit, default and choices\n  \
        netloom help keys workload.kind             one key\n  \
        netloom help metrics latency                the figures of a result, with unit and definition")]
    Help {
        /// A command; or `keys` or `metrics`, and which
        topic: Vec<String>,
    },
    /// Print netloom's manual page, or that of a command
    #[command(after_long_help = "Examples:\n  \
        netloom man > ~/.local/share/man/man1/netloom.1\n  \
        netloom man run > ~/.local/share/man/man1/netloom-run.1")]
    Man {
        /// The command
        command: Option<String>,
    },
    /// Print a script that completes netloom's commands in a shell
    #[command(after_long_help = "Examples:\n  \
        netloom completions bash > ~/.local/share/bash-completion/completions/netloom\n  \
        netloom completions zsh > ~/.zfunc/_netloom\n  \
        netloom completions fish > ~/.config/fish/completions/netloom.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What can be done with studies.
#[derive(Debug, Subcommand)]
pub enum StudiesAction {
    /// List the built-in studies
    List {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Print a study's TOML file
    Show {
        /// A built-in study
        study: String,
    },
}

/// What can be done with machines.
#[derive(Debug, Subcommand)]
pub enum MachinesAction {
    /// List the built-in machines
    List {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Print a machine's TOML file, with the source of each constant
    Show {
        /// A built-in machine, or the path of a TOML file
        machine: String,
    },
    /// Print a commented TOML file to start a machine of your own from
    #[command(
        after_long_help = "Example:\n  netloom machines new dragonfly > mine.toml\n  netloom machines check mine.toml"
    )]
    New {
        /// The kind of network
        #[arg(value_parser = PossibleValuesParser::new(NEW.iter().map(|(kind, _)| *kind)))]
        kind: String,
    },
    /// Check a machine's TOML file
    Check {
        /// A built-in machine, or the path of a TOML file
        machine: String,
        /// Changes
        #[command(flatten)]
        sets: Sets,
    },
    /// Print nodes, links, bandwidth, latency, buffers and, where known, cabinets and cables of a machine
    #[command(after_long_help = "Examples:\n  \
        netloom machines describe bgl --set topology.dims=[8,8,8]\n  \
        netloom machines describe xc --groups 8 --cables 34\n  \
        netloom machines describe xc --groups 6 --cables 12 --upgrade-to-groups 8")]
    Describe {
        /// A built-in machine, or the path of a TOML file
        machine: String,
        /// Its size, if it has groups
        #[command(flatten)]
        size: Size,
        /// Changes
        #[command(flatten)]
        sets: Sets,
        /// Print what is simulated in place of each time, rate and size: ticks, flits, chunks
        #[arg(long)]
        ticks: bool,
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
}

/// Changes to a study or machine.
#[derive(Clone, Debug, Default, Args)]
pub struct Sets {
    /// Change one value, by its dotted key: router.paths=1, traffic.load=burst, topology.dims=[8,8,8].
    /// Files are relative to the current folder. Repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The size of a machine whose routers stand in groups.
#[derive(Clone, Debug, Default, Args)]
pub struct Size {
    /// Groups: the same as --set topology.groups=N
    #[arg(long, value_name = "N")]
    pub groups: Option<u32>,
    /// Cables between each two groups: the same as --set topology.cables=N
    #[arg(long, value_name = "N")]
    pub cables: Option<u32>,
    /// Report which cables stay in place when the machine grows to this number of groups
    #[arg(long, value_name = "N")]
    pub upgrade_to_groups: Option<u32>,
}

impl Size {
    /// As changes, with others after them.
    pub fn sets(&self, others: &Sets) -> Vec<String> {
        let own = [("groups", self.groups), ("cables", self.cables)];
        let own = own.into_iter().filter_map(|(key, value)| Some(format!("topology.{key}={}", value?)));
        own.chain(others.set.iter().cloned()).collect()
    }
}

/// What several commands take.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    pub json: bool,
    /// Threads to use; all of this computer if omitted
    #[arg(long, value_name = "N", env = "NETLOOM_THREADS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
}

/// What a run or a sweep takes.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Path of a study's TOML file, or the name of a built-in one (`netloom studies`)
    pub study: String,
    /// Output and threads
    #[command(flatten)]
    pub common: Common,
    /// Changes
    #[command(flatten)]
    pub sets: Sets,
    /// Folder for the result; netloom-out/NAME if omitted
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the result in the folder
    #[arg(long)]
    pub force: bool,
    /// Run even if the estimated memory exceeds what is available
    #[arg(long)]
    pub force_memory: bool,
    /// Of a sweep, run the Ith of N parts only, such as 2/10
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Write a timeline of some nodes into this file, for ui.perfetto.dev; `netloom help keys timeline` has
    /// its keys
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Write the state of the run into this file from time to time and when it is stopped; if the file is
    /// there, the run continues from it. For synthetic traffic
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// The time between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "600", requires = "checkpoint", value_parser = seconds, allow_negative_numbers = true)]
    pub checkpoint_every: Duration,
    /// Simulate on this computer's graphics processor: synthetic traffic on BlueGene/L's torus. Of a netloom
    /// with the feature `gpu`
    #[arg(long, conflicts_with = "checkpoint")]
    pub gpu: bool,
}

/// What a job is.
#[derive(Clone, Debug, Args)]
pub struct JobArgs {
    /// Number of tasks; also -np N
    #[arg(short = 'n', long, visible_alias = "np", value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    pub tasks: u32,
    /// Begin each line of output with its task: `3| text`
    #[arg(short, long)]
    pub label: bool,
    /// End the job after this time; the exit status is then 124
    #[arg(long, value_name = "SECONDS", value_parser = time_limit, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// Time that the other tasks have to end by themselves after one has failed
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds, allow_negative_numbers = true)]
    pub grace: Duration,
    /// Set an environment variable of all tasks. Repeatable
    #[arg(short = 'x', value_name = "NAME=VALUE", value_parser = variable)]
    pub environment: Vec<(String, String)>,
    /// The error handler that programs of MPI begin with, instead of mpi_errors_are_fatal
    #[arg(long, value_name = "NAME", ignore_case = true,
        value_parser = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"])]
    pub initial_errhandler: Option<String>,
    /// Folder that tasks start in
    #[arg(long, value_name = "DIR")]
    pub wdir: Option<PathBuf>,
    /// The program, by its path or its name in PATH, and its arguments
    #[arg(value_names = ["PROGRAM", "ARGS"], required = true, trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

/// What the launcher takes.
#[derive(Clone, Debug, Args)]
pub struct ExecArgs {
    /// The job
    #[command(flatten)]
    pub job: JobArgs,
    /// Where tasks run: each on a core of its own, or anywhere; on cores if there are enough, if omitted
    #[arg(long, value_name = "WHERE", value_enum)]
    pub bind: Option<BindTo>,
    /// Most tasks that run at the same time, with those that tasks start by MPI_Comm_spawn; without it, or
    /// NETLOOM_UNIVERSE, as many as fit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub universe: Option<u32>,
}

/// What a compiler is told.
#[derive(Args, Debug, Default)]
pub struct CompilerArgs {
    /// Print the command line instead of running it
    #[arg(long)]
    pub show: bool,
    /// Make a folder that other build tools take for an installed MPI: mpicc, mpicxx, mpifort, mpiexec and
    /// mpirun in `bin`, headers, libraries, and files of pkg-config; with `netloom fc` modules, too
    #[arg(long, value_name = "DIR")]
    pub install_links: Option<PathBuf>,
    /// Called as `mpicc`, `mpicxx` or `mpifort`: CC, CXX or FC may be that name
    #[arg(long, hide = true)]
    pub wrapper: bool,
    /// The compiler's arguments
    #[arg(
        value_name = "ARGS",
        required_unless_present_any = ["install_links", "show"],
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,
}

/// What a job on a simulated machine takes.
#[derive(Clone, Debug, Args)]
pub struct MpirunArgs {
    /// The job
    #[command(flatten)]
    pub job: JobArgs,
    /// The machine: a name or a file; see `netloom machines list`
    #[arg(long, value_name = "MACHINE")]
    pub machine: String,
    /// Tasks on a node, at most as many as it has hardware threads; as few as the machine's nodes allow, if
    /// omitted
    #[arg(long, visible_alias = "ntasks-per-node", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=64), allow_negative_numbers = true)]
    pub ppn: Option<u32>,
    /// Nodes of the tasks: `in-order`, `random`, letters of dimensions in the order in which they are filled
    /// (`vuzyx`), or a file with a line for each node of the job, its number or coordinates
    #[arg(long, value_name = "HOW", default_value = "in-order", value_parser = mapping)]
    pub map: String,
    /// Change a value of the machine, such as `topology.dims=[2,2,2,2,2]`. Repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// How the programs' own computing counts: `ignore`, or a factor for its measured time
    #[arg(long, value_name = "HOW", default_value = "ignore", value_parser = compute, allow_negative_numbers = true)]
    pub compute: f64,
    /// Simulated time after which a task is reported as deadlocked: it polls in vain, and no other computes
    /// or sleeps
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = patience)]
    pub patience: Duration,
    /// Whose time the programs' clocks tell (clock_gettime, gettimeofday, time)
    #[arg(long, value_enum, value_name = "WHOSE", default_value_t = Clock::Host)]
    pub clock: Clock,
    /// Threads of the simulator; the results are the same for any number. If omitted, one for 8 tasks, at
    /// most all of this computer; one if computing counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Print a profile: the time in calls of MPI, by call and by rank
    #[arg(long)]
    pub profile: bool,
    /// Folder for the profile: a page, tables, and a timeline for ui.perfetto.dev
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the profile in the folder
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Write the timeline alone into this file: calls and messages, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Say nothing of the run's time and cost
    #[arg(short, long)]
    pub quiet: bool,
}

/// Whose time clocks tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// This computer's
    Host,
    /// The machine's, from the start of the year 2000
    Simulated,
}

/// Where tasks run.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum BindTo {
    /// Each on a core of its own
    Core,
    /// Anywhere
    None,
}
