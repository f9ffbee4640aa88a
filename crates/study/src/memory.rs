//! Memory that a run will take, estimated before anything is built, so that a machine that will not fit is refused instead of
//! being killed half-way.
//!
//! The figures are measured peaks of the built-in machines at their largest, per node, port or tile; a run takes up to half more
//! or less, by its load.

use crate::diagnose::Problem;
use crate::machine::{Machine, TorusNetwork};
use crate::number::{counted, scaled};
use crate::resolve::ResolvedStudy;
use netloom_workload::config::{Load, WorkloadConfig};

/// Memory of one part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// Bytes.
    pub bytes: f64,
}

/// Bytes of a port of BlueGene/L's router and its link: 2,500 B for the six of a node.
const TORUS_PORT: f64 = 420.0;
/// The same of Blue Gene/Q's: 6,704 B for the ten of a node.
const QUEUED_PORT: f64 = 670.0;
/// Bytes of a virtual channel of a tile: 65,380 B for the 48 tiles of an Aries router with 8 VCs each.
const TILE_VC: f64 = 170.0;

/// The parts of a run, in bytes.
pub fn estimate(study: &ResolvedStudy) -> Vec<Part> {
    let (nodes, s) = (study.network.nodes() as f64, &study.study);
    if let WorkloadConfig::Packaging(_) = s.workload {
        return vec![];
    }
    let full = matches!(s.traffic.load, Load::Burst | Load::Infinite) && !s.workload.is_program();
    let (routers, packets) = match &study.machine {
        Machine::Torus(machine) => {
            let ports = 2.0 * study.torus().topology.dims.len() as f64;
            match machine.network() {
                TorusNetwork::Torus(_) => (nodes * ports * TORUS_PORT, 11_000.0),
                TorusNetwork::Queued(_) if full => (nodes * ports * QUEUED_PORT, 77_000.0),
                TorusNetwork::Queued(_) => (nodes * ports * QUEUED_PORT, 10_000.0),
            }
        }
        Machine::Switched(machine) => {
            let config = &study.switched().config;
            let tiles = f64::from(machine.router.rows * machine.router.columns);
            let routers = f64::from(study.switched().wiring.routers());
            let packets = if s.workload.is_program() { 22_000.0 } else { 72_000.0 };
            (routers * tiles * f64::from(config.vcs()) * TILE_VC, packets)
        }
    };
    let (nics, workload) = match &s.workload {
        WorkloadConfig::Skeleton(_) | WorkloadConfig::Trace(_) => (1000.0, 16_000.0),
        WorkloadConfig::Jobs(jobs) if jobs.has_programs() => (1300.0, 16_500.0),
        WorkloadConfig::Spi(_) => (3000.0, 4000.0),
        WorkloadConfig::Gni(_) => (20_000.0, 14_000.0),
        WorkloadConfig::Glex(_) => (30_000.0, 15_000.0),
        _ => (300.0, 500.0),
    };
    vec![
        Part { name: "routers and links", bytes: routers },
        Part { name: "packets and events", bytes: packets * nodes },
        Part { name: "network interfaces", bytes: nics * nodes },
        Part { name: "workload", bytes: workload * nodes },
    ]
}

/// Refuses runs side by side that will not fit into the memory that is available, where that is known.
///
/// # Errors
/// What they are estimated to take, by part, beside what there is.
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

/// Memory that new programs can have, bytes, as Linux tells it.
pub fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}
