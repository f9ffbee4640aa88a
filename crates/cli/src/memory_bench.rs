//! `netloom bench memory`: memory of the tasks of a program on PAMI, and of ranks of MPI, on a simulated
//! Blue Gene/Q, few and many of them.
//!
//! The command starts itself once per size, since the maximum memory of a process never decreases.

use crate::args::MemoryBenchArgs;
use crate::{OK, Trouble, World, print_json};
use netloom_report::text_table::aligned;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::number::scaled;
use netloom_study::resolve::resolve;
use netloom_study::run::Quiet;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The tasks of a job.
#[derive(Clone, Copy)]
struct Size {
    dims: [u32; 5],
    per_node: u32,
}

impl Size {
    fn nodes(self) -> u32 {
        self.dims.iter().product()
    }

    fn tasks(self) -> u32 {
        self.nodes() * self.per_node
    }
}

/// What Netloom takes by itself: its maximum memory with so few tasks is subtracted from that of the others.
const BASE: Size = Size { dims: [2, 1, 1, 1, 1], per_node: 1 };
const SIZES: [Size; 4] = [
    Size { dims: [4, 4, 4, 4, 2], per_node: 8 },
    Size { dims: [8, 8, 8, 8, 2], per_node: 8 },
    Size { dims: [8, 8, 8, 4, 2], per_node: 1 },
    Size { dims: [16, 16, 16, 8, 2], per_node: 1 },
];

/// What the tasks are programs of: the name, and the workload's kind.
const LIBRARIES: [(&str, &str); 2] = [("PAMI", "pami"), ("MPI", "mpi")];

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Case {
    library: &'static str,
    tasks: u32,
    nodes: u32,
    /// Maximum memory of the run, bytes.
    peak_memory_bytes: u64,
    /// Of it, what each task takes, with its share of its node.
    bytes_per_task: f64,
}

/// All figures: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Figures {
    /// In the order in which they were measured.
    cases: Vec<Case>,
}

/// Runs the benchmark, or one of its sizes.
pub fn bench(
    args: &MemoryBenchArgs,
    world: &World,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Trouble> {
    if let Some(index) = args.size {
        let none = || Problem::new("no such size");
        let (_, kind) = *LIBRARIES.get(index / (1 + SIZES.len())).ok_or_else(none)?;
        let of_library = index % (1 + SIZES.len());
        let size = *[BASE].iter().chain(&SIZES).nth(of_library).ok_or_else(none)?;
        writeln!(out, "{}", peak(kind, size, world)?)?;
        return Ok(OK);
    }
    let mut cases = vec![];
    for (at, (library, _)) in LIBRARIES.into_iter().enumerate() {
        let first = at * (1 + SIZES.len());
        let base = peak_of_another(first)?;
        // Pairs of few and many tasks: of each the first if it must be quick.
        let sizes = SIZES.into_iter().enumerate().filter(|(index, _)| !args.quick || index % 2 == 0);
        for (index, size) in sizes {
            let (tasks, nodes) = (size.tasks(), size.nodes());
            writeln!(err, "netloom: {library}, {tasks} tasks on {nodes} nodes")?;
            let peak_memory_bytes = peak_of_another(first + 1 + index)?;
            let bytes_per_task = peak_memory_bytes.saturating_sub(base) as f64 / f64::from(tasks);
            cases.push(Case { library, tasks, nodes, peak_memory_bytes, bytes_per_task });
        }
    }
    if args.json {
        print_json(out, &Figures { cases })?;
        return Ok(OK);
    }
    let head = ["library", "tasks", "nodes", "memory, B", "bytes per task"].map(str::to_owned);
    let rows = cases.iter().map(|case| {
        let memory = scaled(case.peak_memory_bytes as f64);
        vec![
            case.library.to_owned(),
            case.tasks.to_string(),
            case.nodes.to_string(),
            memory,
            format!("{:.0}", case.bytes_per_task),
        ]
    });
    write!(out, "{}", aligned(&head, &rows.collect::<Vec<_>>()))?;
    Ok(OK)
}

/// The maximum memory of another process that runs the size of this number.
fn peak_of_another(index: usize) -> Result<u64, Problem> {
    let run = || -> std::io::Result<_> {
        let size = format!("--size={index}");
        Command::new(std::env::current_exe()?).args(["bench", "memory", &size]).output()
    };
    let output = run().map_err(|error| Problem::new(format!("cannot start this program again: {error}")))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        Problem::new(format!("a run of the benchmark failed: {}", errors.trim()))
    })
}

/// The maximum memory of this process, which runs one barrier of all tasks.
fn peak(kind: &str, size: Size, world: &World) -> Result<u64, Problem> {
    let text = format!(
        "name = 'memory'\nmachine = 'bgq'\nset.topology.dims = {:?}\n\
         workload = {{ kind = '{kind}', program = 'collective', operation = 'barrier', rounds = 1, warm_up = 0, processes = {} }}\n\
         measure = {{ until = 'finished', per_link = false, window_us = 10 }}\n",
        size.dims, size.per_node
    );
    let study = resolve(SourceFile::new("memory", text), Path::new("."), &[])?;
    let result = world.simulator.simulate(&study, &Quiet(world.stop), 1)?;
    let unknown = || Problem::new("this system does not report the memory of a process");
    result.host.peak_memory_bytes.ok_or_else(unknown)
}
