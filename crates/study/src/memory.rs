//! Memory that a run will take, estimated before anything is built, so that a machine that will not fit is
//! refused instead of being killed half-way.
//!
//! The figures are measured peaks of the built-in machines at their largest, per node, port or tile; a run
//! takes up to half more or less, by its load.

use crate::diagnose::Problem;
use crate::interfaces;
use crate::number::{counted, scaled};
use crate::resolve::ResolvedStudy;
use netloom_workload::config::Runs;

/// Memory of one part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// Bytes.
    pub bytes: f64,
}

/// Memory of a network, bytes.
pub(crate) struct Estimate {
    /// Memory of all routers and links.
    pub routers: f64,
    /// Memory of the packets and events per node.
    pub packets_per_node: f64,
}

/// The parts of a run, in bytes.
pub fn estimate(study: &ResolvedStudy) -> Vec<Part> {
    let (nodes, s) = (study.network.nodes() as f64, &study.study);
    if let Runs::Packaging(_) = s.workload.runs() {
        return vec![];
    }
    let Estimate { routers, packets_per_node } = study.machine.memory(study);
    let node = interfaces::memory(&s.workload.runs());
    vec![
        Part { name: "routers and links", bytes: routers },
        Part { name: "packets and events", bytes: packets_per_node * nodes },
        Part { name: "network interfaces", bytes: node.nic * nodes },
        Part { name: "workload", bytes: node.workload * nodes },
    ]
}

/// Refuses runs side by side that will not fit into the memory that is available, where that is known.
///
/// # Errors
/// The estimated memory, by part, and the available memory.
pub fn check(studies: &[&ResolvedStudy], side_by_side: usize, available: Option<u64>) -> Result<(), Problem> {
    let Some(available) = available.map(|bytes| bytes as f64) else { return Ok(()) };
    let sum = |parts: &[Part]| parts.iter().map(|part| part.bytes).sum::<f64>();
    let mut all: Vec<Vec<Part>> = studies.iter().map(|study| estimate(study)).collect();
    all.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    all.truncate(side_by_side);
    let total: f64 = all.iter().map(|parts| sum(parts)).sum();
    if total <= available {
        return Ok(());
    }
    let largest: Vec<String> =
        all[0].iter().map(|part| format!("{} {}B", part.name, scaled(part.bytes))).collect();
    let of = match all.len() {
        1 => String::new(),
        n => format!(", for {} side by side; the largest of them", counted(n, "run")),
    };
    let help = "take a smaller machine, fewer --threads for a sweep, or --force-memory to run it anyway";
    Err(Problem::new(format!(
        "this needs about {}B of memory, and {}B are available{of}: {}",
        scaled(total),
        scaled(available),
        largest.join(", ")
    ))
    .help(help))
}

/// Memory that new programs can have, bytes, as Linux reports it.
pub fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}
