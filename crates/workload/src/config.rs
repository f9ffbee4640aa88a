//! The workloads of a study, and their traffic.
//!
//! Each kind of workload is defined in one file: its keys, the machines that support it, its checks, its
//! destinations, and what runs it ([`Workload`]). The list of all kinds is at the end of `registry.rs`.

mod jobs;
mod kinds;
mod packaging;
mod registry;
mod switched;
mod traffic;

pub use jobs::{JobConfig, JobsConfig, Placement};
pub use kinds::all_to_all::{AllToAll, Over};
pub use kinds::group_shift::GroupShift;
pub use kinds::hot_node::HotNode;
pub use kinds::hot_region::HotRegion;
pub use kinds::permutation::Permutation;
pub use kinds::shift::Shift;
pub use kinds::trace::Trace;
pub use packaging::PackagingConfig;
pub use registry::{KINDS, Kind, KindEntry, WorkloadConfig};
pub(crate) use traffic::per_tick;
pub use traffic::{Load, PacketMix, Priority, Routing, TrafficConfig};

use crate::measured::Measured;
use crate::processes::Marks;
use crate::program::Program;
use crate::shape::Shape;
use crate::traffic::pattern::{Among, Destinations};
use netloom_fabric::config::ConfigError;
use netloom_messaging::transit::Hops;
use std::any::Any;
use std::sync::Arc;

/// A kind of workload. No other code distinguishes the kinds.
pub trait Workload {
    /// The machines that support it.
    fn machines() -> Machines
    where
        Self: Sized,
    {
        Machines::All
    }

    /// Whether it may be one of several jobs side by side.
    fn may_be_job() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Checks it against a machine, or the nodes of a job.
    ///
    /// # Errors
    /// The first invalid value, with its key (`workload.…`) and what was expected.
    fn check_on(&self, _shape: &Shape) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Its destinations, if it is a pattern; it must have been checked.
    ///
    /// # Errors
    /// A file that cannot be read.
    fn destinations(&self, _among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        Ok(None)
    }

    /// What runs it.
    fn runs(&self) -> Runs<'_> {
        Runs::Traffic
    }

    /// Whether it runs programs, alone or as some of several jobs: then the run ends when they do.
    fn runs_programs(&self) -> bool {
        !matches!(self.runs(), Runs::Traffic)
    }

    /// Whether it ends by itself with this traffic.
    fn ends(&self, traffic: &TrafficConfig) -> bool {
        self.runs_programs() || is_limited(traffic)
    }

    /// Changes the names of its input files.
    fn each_file(&mut self, _change: &dyn Fn(&mut String)) {}
}

/// Whether nodes send a limited number of packets.
pub(crate) fn is_limited(traffic: &TrafficConfig) -> bool {
    traffic.packets_per_node.is_some()
}

/// The machines that support a kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// All machines.
    All,
    /// Tori with a router per node.
    Tori,
    /// Switched networks.
    Switches,
}

/// How a workload is run.
pub enum Runs<'a> {
    /// Nodes send packets by a pattern.
    Traffic,
    /// Ranks run programs that send messages.
    Ranks(&'a dyn Ranks),
    /// A program for one network interface: its configuration, of a type known to that interface's file.
    OnInterface(&'a dyn Any),
    /// Nothing is run: cabinets and cables are counted.
    Packaging(&'a PackagingConfig),
}

/// Programs of ranks.
pub trait Ranks {
    /// The programs, on a machine or a job with this number of nodes.
    ///
    /// # Errors
    /// A file that cannot be read, or invalid values.
    fn rank_programs(&self, nodes: u32) -> Result<RankPrograms, ConfigError>;
}

/// The programs of all ranks, before they are mapped to nodes.
pub struct RankPrograms {
    /// Number of ranks.
    pub ranks: u32,
    /// All messages as (from, to, bytes); empty if only a run determines them.
    pub messages: Vec<(u32, u32, u64)>,
    /// Creates the programs in the order of ranks, given the hops between them.
    pub programs: MakePrograms,
    /// Converts the ranks' marks to a table, if the programs measure anything.
    pub measured: Option<ReadMarks>,
}

/// Creates the programs of ranks, given the hops between them.
pub type MakePrograms = Box<dyn Fn(&Hops) -> Vec<Box<dyn Program>>>;

/// Reads the ranks' marks, given the hops between them.
pub type ReadMarks = Box<dyn Fn(&Hops, &Marks) -> Measured + Send + Sync>;

pub(crate) fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// The same error with its key under `workload`.
pub(crate) fn of_workload(e: ConfigError) -> ConfigError {
    ConfigError { key: format!("workload.{}", e.key), ..e }
}

/// Checks a fraction.
fn fraction(fraction: f64) -> Result<(), ConfigError> {
    match (0.0..=1.0).contains(&fraction) {
        true => Ok(()),
        false => refuse("workload.fraction", format!("expected a fraction from 0 to 1, found {fraction}")),
    }
}

/// Checks that a list has one value for each dimension.
fn one_each(key: &str, found: usize, shape: &Shape) -> Result<(), ConfigError> {
    let n = shape.dimensions();
    match shape.torus() {
        _ if found == n => Ok(()),
        Some(_) => refuse(
            key,
            format!("expected {n} values, one for each dimension of the {}, found {found}", shape.words()),
        ),
        None => refuse(key, format!("expected one value, a number of nodes, found {found}")),
    }
}

pub use netloom_fabric::config::LETTERS;

/// The letter of dimension `d`.
pub fn letter(d: usize) -> char {
    char::from(LETTERS.as_bytes()[d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::{DragonflyConfig, TorusConfig};
    use netloom_fabric::topology::torus::Torus;

    fn torus(dims: &[u32]) -> Shape {
        Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(dims).topology))
    }

    #[test]
    fn a_region_must_fit_the_machine() {
        let hot = |region: &[u32]| {
            WorkloadConfig::HotRegion(HotRegion { fraction: 0.25, region: region.to_vec(), origin: vec![] })
        };
        let machine = torus(&[16, 16, 16]);
        assert_eq!(hot(&[8, 8, 8]).check(&machine), Ok(()));
        assert_eq!(hot(&[8, 8]).check(&machine).unwrap_err().key, "workload.region");
        assert_eq!(hot(&[8, 8, 17]).check(&machine).unwrap_err().key, "workload.region");
        let job = Shape::of_job(40);
        assert_eq!(hot(&[40]).check(&job), Ok(()));
        assert!(hot(&[41]).check(&job).unwrap_err().message.contains("job of 40 nodes; it would reach"));
    }

    #[test]
    fn planes_and_lines_name_their_dimensions() {
        let over = |over, dims: &str| {
            WorkloadConfig::AllToAll(AllToAll { over, dims: dims.into(), ..AllToAll::default() })
        };
        let (cube, square) = (torus(&[4, 4, 4]), torus(&[4, 4]));
        assert!(over(Over::Planes, "xz").check(&cube).is_ok());
        assert!(over(Over::Planes, "xx").check(&cube).is_err());
        assert!(over(Over::Lines, "z").check(&square).is_err());
        assert!(over(Over::Machine, "x").check(&square).is_err());
        assert_eq!(over(Over::Lines, "x").check(&Shape::of_job(9)).unwrap_err().key, "workload.over");
    }

    #[test]
    fn patterns_without_a_meaning_are_refused() {
        let dragonfly = Shape::of_switches(&Arc::new(DragonflyConfig::cray_xc(3, 12).wiring()));
        assert!(WorkloadConfig::Transpose {}.check(&dragonfly).unwrap_err().message.contains("found 1152"));
        assert_eq!(WorkloadConfig::Transpose {}.check(&Shape::of_job(144)), Ok(()));
        assert!(WorkloadConfig::Transpose {}.check(&torus(&[4, 8])).unwrap_err().message.contains("4x8"));
        let shift = |by| WorkloadConfig::GroupShift(GroupShift { by });
        assert_eq!(shift(1).check(&dragonfly), Ok(()));
        assert_eq!(shift(1).check(&torus(&[4, 4])), Ok(()));
        assert_eq!(shift(-4).check(&torus(&[8, 4])).unwrap_err().key, "workload.by");
        assert_eq!(shift(1).check(&Shape::of_job(9)).unwrap_err().key, "workload.kind");
    }

    #[test]
    fn jobs_are_no_larger_than_the_machine() {
        let job = |nodes, workload| JobConfig {
            name: String::new(),
            nodes,
            placement: None,
            load: None,
            workload: Box::new(workload),
        };
        let jobs =
            |jobs| WorkloadConfig::Jobs(JobsConfig { placement: Default::default(), alone: true, jobs });
        let fits = jobs(vec![job(10, WorkloadConfig::Uniform {}), job(6, WorkloadConfig::Tornado {})]);
        assert_eq!(fits.check(&torus(&[4, 4])), Ok(()));
        let message = fits.check(&torus(&[5, 3])).unwrap_err().message;
        assert!(message.contains("expected 2 to 5 nodes of job 2"), "{message}");
        let square = jobs(vec![job(10, WorkloadConfig::Transpose {})]).check(&torus(&[4, 4]));
        assert!(square.unwrap_err().message.contains("job 1, workload.kind: transpose needs a square"));
    }
}
