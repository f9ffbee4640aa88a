//! Processes of a caller's own on the nodes of a machine with Message Units.

use crate::family::Queued;
use crate::nics::message_unit::processes;
use crate::own::blocks;
use crate::programs::To;
use netloom_fabric::collective::ByteOrder;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use netloom_node::process::Failure;
use netloom_study::diagnose::Problem;
use netloom_study::machine::{Machine, TorusNetwork};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;

/// Processes that failed: node, process, reason.
pub type Failures = Vec<(u32, u32, Failure)>;

/// Runs processes until all have ended, `per_node` on each node of a study's machine, in place of the study's
/// own workload. Returns the result, and which processes failed. `byte_order` is that of their memory.
///
/// # Errors
/// If the machine has no Message Units, or cannot be built.
pub fn processes_on_units(
    study: &ResolvedStudy,
    per_node: u32,
    byte_order: ByteOrder,
    mut process: impl FnMut(Spi) -> Box<ProcessOf<MessageUnit>>,
    to: To,
) -> Result<(RunResult, Failures), Problem> {
    let network = match &study.machine {
        Machine::Torus(machine) => Some(machine.network()),
        Machine::Switched(_) => None,
    };
    let family = match &network {
        Some(TorusNetwork::Queued(config)) => Some(Queued(config)),
        _ => None,
    };
    let (mut result, ran) =
        processes(family, study, per_node, (to.into(), blocks(to.1)), byte_order, &mut process)?;
    let failures = ran.failures().to_vec();
    ran.judge(&mut result, study.torus().nodes() as u32 * per_node);
    Ok((result, failures))
}
