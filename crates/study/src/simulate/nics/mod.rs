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

mod aries;
mod fifos;
mod message_unit;
mod on_switches;
mod ports;
mod th;

use super::family::RouterFamily;
use super::programs::{OnSwitches, OnTorus, To};
use crate::diagnose::Problem;
use crate::machine::Machine;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use netloom_workload::config::Runs;
use std::any::Any;

/// What came of programs.
pub(super) type Ran = Result<RunResult, Problem>;

/// Runs ranks over a network interface of a torus, or of a network of switches; none if the machine has not that.
type OverTorus<F> = fn(&OnTorus<F>) -> Option<Ran>;
type OverSwitches = fn(&OnSwitches) -> Option<Ran>;

/// Runs a program that is written for a network interface; none if it is written for another.
type ForTorus<F> = fn(&F, &ResolvedStudy, &dyn Any, To) -> Option<Ran>;
type ForSwitches = fn(&ResolvedStudy, &dyn Any, To) -> Option<Ran>;

/// Memory of a node whose program is written for a network interface; none if it is written for another.
type MemoryOf = fn(&dyn Any) -> Option<NodeMemory>;

/// The network interfaces of tori. Ranks run over the first that the machine has; the last is for all. Whoever adds one adds it here.
pub(super) fn over_torus<F: RouterFamily>() -> [OverTorus<F>; 2] {
    [message_unit::ranks, fifos::ranks]
}

/// The same of networks of switches.
pub(super) const OVER_SWITCHES: [OverSwitches; 3] = [aries::ranks, th::ranks, ports::ranks];

/// The network interfaces of tori that programs are written for. Whoever adds one adds it here and to [`MEMORY`].
fn for_torus<F: RouterFamily>() -> [ForTorus<F>; 1] {
    [message_unit::program]
}

/// The same of networks of switches.
const FOR_SWITCHES: [ForSwitches; 2] = [aries::program, th::program];

/// Memory of a node with each of them.
const MEMORY: [MemoryOf; 3] = [message_unit::memory, aries::memory, th::memory];

/// Whether a machine has an interface.
type IsOn = fn(&Machine) -> bool;

/// The kinds of workload that are programs for one interface, and whether a machine has it. Whoever adds one adds it here.
const KINDS_FOR: [(&str, IsOn); 3] = [
    ("spi", |machine| machine.torus().is_some_and(|m| m.message_unit.is_some())),
    ("gni", |machine| machine.switched().is_some_and(|m| m.aries.is_some())),
    ("glex", |machine| machine.switched().is_some_and(|m| m.th.is_some())),
];

/// Whether a machine has the interface that a kind of workload is written for, if it is written for one.
pub(crate) fn has_interface_for(machine: &Machine, kind: &str) -> bool {
    KINDS_FOR.iter().find(|(name, _)| *name == kind).is_none_or(|(_, has)| has(machine))
}

/// Runs a program that is written for an interface of a torus.
pub(super) fn on_torus<F: RouterFamily>(family: &F, study: &ResolvedStudy, program: &dyn Any, to: To) -> Ran {
    let ran = for_torus().into_iter().find_map(|run| run(family, study, program, to));
    ran.expect("a kind of workload is taken by the machines that have its interface")
}

/// Runs a program that is written for an interface of a network of switches.
pub(super) fn on_switches(study: &ResolvedStudy, program: &dyn Any, to: To) -> Ran {
    let ran = FOR_SWITCHES.into_iter().find_map(|run| run(study, program, to));
    ran.expect("a kind of workload is taken by the machines that have its interface")
}

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
        Runs::OnInterface(program) => MEMORY
            .into_iter()
            .find_map(|of| of(*program))
            .expect("an interface that programs are written for"),
        Runs::Traffic | Runs::Packaging(_) => NodeMemory { nic: 300.0, workload: 500.0 },
    }
}
