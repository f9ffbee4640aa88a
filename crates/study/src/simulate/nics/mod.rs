//! Network interfaces: a file for each, with how ranks run over it, how programs that are written for it are built, run and read out, and
//! the memory that these take.
//!
//! | file | interface | `kind` of its own programs |
//! |---|---|---|
//! | `message_unit.rs` | Blue Gene/Q's Message Unit | `spi` |
//! | `aries.rs` | Cray XC's Aries NIC | `gni` |
//! | `th.rs` | MilkyWay-2's TH Express NIC | `glex` |
//! | `fifos.rs` | injection FIFOs of other tori | none |
//! | `ports.rs` | none, of plain networks of switches | none |

pub(super) mod aries;
mod fifos;
pub(super) mod message_unit;
mod on_switches;
mod ports;
pub(super) mod th;

use super::family::RouterFamily;
use super::programs::{OnSwitches, OnTorus};
use crate::diagnose::Problem;
use crate::result::RunResult;
use netloom_workload::config::Runs;

/// What came of ranks.
pub(super) type Ran = Result<RunResult, Problem>;

/// Runs ranks over a network interface of a torus, or of a network of switches; none if the machine has not that.
type OverTorus<F> = fn(&OnTorus<F>) -> Option<Ran>;
type OverSwitches = fn(&OnSwitches) -> Option<Ran>;

/// The network interfaces of tori. Ranks run over the first that the machine has; the last is for all. Whoever adds one adds it here.
pub(super) fn over_torus<F: RouterFamily>() -> [OverTorus<F>; 2] {
    [message_unit::ranks, fifos::ranks]
}

/// The same of networks of switches.
pub(super) const OVER_SWITCHES: [OverSwitches; 3] = [aries::ranks, th::ranks, ports::ranks];

/// Memory of a node, bytes.
#[derive(Clone, Copy)]
pub(crate) struct NodeMemory {
    /// Its network interface.
    pub nic: f64,
    /// What drives it.
    pub workload: f64,
}

/// Memory of a node that runs this.
pub(crate) fn memory(runs: &Runs) -> NodeMemory {
    match runs {
        Runs::Ranks(_) => NodeMemory { nic: 1000.0, workload: 16_000.0 },
        Runs::MessageUnits(_) => message_unit::MEMORY,
        Runs::Aries(_) => aries::MEMORY,
        Runs::ThExpress(_) => th::MEMORY,
        Runs::Traffic | Runs::Packaging(_) => NodeMemory { nic: 300.0, workload: 500.0 },
    }
}
