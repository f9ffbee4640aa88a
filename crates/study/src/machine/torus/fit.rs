//! Checks of a study against its torus.

use super::TorusMachine;
use crate::study::{MeasureConfig, Study};
use netloom_fabric::config::{ConfigError, Outline};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig};
use netloom_workload::config::{Runs, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::spi::SpiConfig;

/// Checks a study against its torus, and fills in the size of its packets.
///
/// # Errors
/// The first invalid value, with its key and what was expected.
pub(super) fn fit(study: &mut Study, machine: &TorusMachine, network: &Outline) -> Result<(), ConfigError> {
    let dims = &network.topology.dims;
    if !study.workload.is_program() {
        study.traffic.packet_chunks.or_full(network.packet.chunks_max);
    }
    study.workload.check(&Shape::of_torus(&Torus::new(&network.topology)))?;
    of_switches(&study.measure)?;
    io_program(&study.workload, network)?;
    io_nodes(&study.workload, network)?;
    study.traffic.check(network)?;
    if let WorkloadConfig::Jobs(jobs) = &study.workload {
        jobs.check_loads(&study.traffic, |own| own.check(network))?;
    }
    dealing(&machine.nic, &study.workload)?;
    study.mapping.check(dims)
}

/// Refuses what is measured of machines of switches only.
fn of_switches(measure: &MeasureConfig) -> Result<(), ConfigError> {
    let asked = [("measure.reordering", measure.reordering), ("measure.bound", measure.bound)];
    let message = "expected false on a torus, found true: it is for machines of switches".into();
    match asked.iter().find(|(_, asked)| *asked) {
        Some((key, _)) => Err(ConfigError { key: (*key).into(), message }),
        None => Ok(()),
    }
}

/// What a program on Message Units is set to.
fn on_message_units(workload: &WorkloadConfig) -> Option<&SpiConfig> {
    match workload.runs() {
        Runs::OnInterface(program) => program.downcast_ref(),
        _ => None,
    }
}

/// Checks a program against the machine's IO nodes.
fn io_program(workload: &WorkloadConfig, network: &Outline) -> Result<(), ConfigError> {
    let Some(program) = on_message_units(workload) else { return Ok(()) };
    let under = |e: ConfigError| ConfigError { key: format!("workload.{}", e.key), ..e };
    program.check_io(network.topology.io.as_ref()).map_err(under)
}

/// Refuses IO nodes that nothing would use.
fn io_nodes(workload: &WorkloadConfig, network: &Outline) -> Result<(), ConfigError> {
    if network.topology.io.is_none() || on_message_units(workload).is_some() {
        return Ok(());
    }
    let message =
        "expected none with this workload: only programs on Message Units (kind = \"spi\") run on IO nodes";
    Err(ConfigError { key: "topology.io".into(), message: message.into() })
}

/// Programs send a message through one endless FIFO, so nothing is left to deal.
fn dealing(nic: &FifoConfig, workload: &WorkloadConfig) -> Result<(), ConfigError> {
    if !workload.runs_programs() || nic.dealing == Dealing::InTurn || nic.injection_fifo_B.is_some() {
        return Ok(());
    }
    let message = "programs deal their messages to endless FIFOs in turn; expected \"in-turn\", or FIFOs with a size \
                   (`nic.injection_fifo_B`)";
    Err(ConfigError { key: "nic.dealing".into(), message: message.into() })
}
