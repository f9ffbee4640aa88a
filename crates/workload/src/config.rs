//! What a study may say that the nodes do, and with what traffic.
//!
//! Each kind of workload is defined in one file: its keys, which machines take it, what fits them, and what runs it ([`Workload`]). The
//! list of all is at the end of `registry.rs`.

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
pub use traffic::{Load, PacketMix, Priority, Routing, TrafficConfig};

use crate::glex::GlexConfig;
use crate::gni::GniConfig;
use crate::program::Program;
use crate::spi::SpiConfig;
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;

/// What a kind of workload says of itself. Nothing else asks which kind it is.
pub trait Workload {
    /// The machines that take it.
    fn machines() -> Machines
    where
        Self: Sized;

    /// Whether it may be one of several jobs side by side.
    fn may_be_job() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Refuses what does not fit a torus with dimensions of these lengths.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    fn check_torus(&self, _dims: &[u32]) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Refuses what does not fit a machine of switches.
    ///
    /// # Errors
    /// As [`Self::check_torus`].
    fn check_switched(&self, _wiring: &Wiring) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Refuses what does not fit a job of so many nodes.
    ///
    /// # Errors
    /// As [`Self::check_torus`].
    fn check_job(&self, _nodes: u32) -> Result<(), ConfigError> {
        Ok(())
    }

    /// What runs it.
    fn runs(&self) -> Runs<'_> {
        Runs::Traffic
    }

    /// Whether there is a last packet where all are offered at the start.
    fn ends(&self) -> bool {
        false
    }

    /// The file that it reads, if it does.
    fn file(&mut self) -> Option<&mut String> {
        None
    }
}

/// Machines that take a kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// All.
    All,
    /// Tori whose nodes have routers of their own.
    Tori,
    /// Machines of switches.
    Switches,
}

/// What runs a workload.
pub enum Runs<'a> {
    /// Nodes that send packets by a pattern.
    Traffic,
    /// Programs of ranks that send messages.
    Ranks(&'a dyn Ranks),
    /// A program on Message Units.
    MessageUnits(&'a SpiConfig),
    /// A program on Aries NICs.
    Aries(&'a GniConfig),
    /// A program on TH Express NICs.
    ThExpress(&'a GlexConfig),
    /// Nothing: cabinets and cables are counted.
    Packaging(&'a PackagingConfig),
}

/// Programs of ranks.
pub trait Ranks {
    /// The programs, in the order of ranks.
    ///
    /// # Errors
    /// A file that cannot be read; values that are impossible.
    fn rank_programs(&self) -> Result<RankPrograms, ConfigError>;
}

/// The programs of all ranks.
pub struct RankPrograms {
    /// In the order of ranks.
    pub programs: Vec<Box<dyn Program>>,
    /// All messages as (from, to, bytes); none where only a run tells them.
    pub messages: Vec<(u32, u32, u64)>,
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// The same error under `workload`.
pub(crate) fn of_workload(e: ConfigError) -> ConfigError {
    ConfigError { key: format!("workload.{}", e.key), ..e }
}

/// Lengths of a torus as people write them: `8x8x4`.
pub(crate) fn shape(dims: &[u32]) -> String {
    dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

/// Refuses a list that does not have one value for each dimension.
fn one_each<T>(key: &str, dims: &[u32], found: usize) -> Result<T, ConfigError> {
    let message = format!(
        "expected {} values, one for each dimension of the {} machine, found {found}",
        dims.len(),
        shape(dims)
    );
    refuse(key, message)
}

pub use netloom_fabric::config::LETTERS;

/// The letter of dimension `d`.
pub fn letter(d: usize) -> char {
    char::from(LETTERS.as_bytes()[d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_must_fit_the_machine() {
        let hot = |region: &[u32]| {
            WorkloadConfig::HotRegion(HotRegion { fraction: 0.25, region: region.to_vec(), origin: vec![] })
        };
        assert_eq!(hot(&[8, 8, 8]).check(&[16, 16, 16]), Ok(()));
        assert_eq!(hot(&[8, 8]).check(&[16, 16, 16]).unwrap_err().key, "workload.region");
        assert_eq!(hot(&[8, 8, 17]).check(&[16, 16, 16]).unwrap_err().key, "workload.region");
    }

    #[test]
    fn planes_and_lines_name_their_dimensions() {
        let over =
            |over, dims: &str| WorkloadConfig::AllToAll(AllToAll { over, dims: dims.into(), bytes: None });
        assert!(over(Over::Planes, "xz").check(&[4, 4, 4]).is_ok());
        assert!(over(Over::Planes, "xx").check(&[4, 4, 4]).is_err());
        assert!(over(Over::Lines, "z").check(&[4, 4]).is_err());
        assert!(over(Over::Machine, "x").check(&[4, 4]).is_err());
    }
}
