//! Programs that are written for one network interface: a file for each interface, with how its programs are built, run and read out,
//! and the memory that they take.
//!
//! | file | interface | `kind` of its programs |
//! |---|---|---|
//! | `message_unit.rs` | Blue Gene/Q's Message Unit | `spi` |
//! | `aries.rs` | Cray XC's Aries NIC | `gni` |
//! | `th.rs` | MilkyWay-2's TH Express NIC | `glex` |

pub(super) mod aries;
pub(super) mod message_unit;
mod on_switches;
pub(super) mod th;

use netloom_workload::config::Runs;

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
