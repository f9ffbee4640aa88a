//! Network interfaces: a file for each, with how ranks run over it, and how programs that are written for it
//! are built, run and read out.
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
pub(crate) mod message_unit;
mod on_switches;
mod ports;
mod th;

use super::RunOptions;
use super::family::RouterFamily;
use super::programs::{OnSwitches, OnTorus};
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use std::any::Any;

/// The outcome of programs.
pub(super) type Ran = Result<RunResult, Problem>;

/// Runs ranks over a network interface of a torus, or of a network of switches; none if the machine has not
/// that.
type OverTorus<F> = fn(&F, &OnTorus) -> Option<Ran>;
type OverSwitches = fn(&OnSwitches) -> Option<Ran>;

/// Runs a program that is written for a network interface; none if it is written for another.
type ForTorus<F> = fn(&F, &ResolvedStudy, &dyn Any, RunOptions) -> Option<Ran>;
type ForSwitches = fn(&ResolvedStudy, &dyn Any, RunOptions) -> Option<Ran>;

/// The network interfaces of tori. Ranks run over the first that the machine has; the last is for all.
/// Whoever adds one adds it here.
pub(super) fn over_torus<F: RouterFamily>() -> [OverTorus<F>; 2] {
    [message_unit::ranks, fifos::ranks]
}

/// The same of networks of switches.
pub(super) const OVER_SWITCHES: [OverSwitches; 3] = [aries::ranks, th::ranks, ports::ranks];

/// The network interfaces of tori that programs are written for. A new one is added here and
/// to the list of interfaces in the crate `netloom-study`.
fn for_torus<F: RouterFamily>() -> [ForTorus<F>; 1] {
    [message_unit::program]
}

/// The same of networks of switches.
const FOR_SWITCHES: [ForSwitches; 2] = [aries::program, th::program];

/// Runs a program that is written for an interface of a torus.
pub(super) fn on_torus<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    program: &dyn Any,
    to: RunOptions,
) -> Ran {
    let ran = for_torus().into_iter().find_map(|run| run(family, study, program, to));
    ran.expect("a kind of workload is taken by the machines that have its interface")
}

/// Runs a program that is written for an interface of a network of switches.
pub(super) fn on_switches(study: &ResolvedStudy, program: &dyn Any, to: RunOptions) -> Ran {
    let ran = FOR_SWITCHES.into_iter().find_map(|run| run(study, program, to));
    ran.expect("a kind of workload is taken by the machines that have its interface")
}
