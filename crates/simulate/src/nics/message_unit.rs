//! Programs on Message Units (`kind = "spi"`), and ranks over them.

use super::Ran;
use crate::RunOptions;
use crate::course::Run;
use crate::driver::Driver;
use crate::family::{Queued, RouterFamily};
use crate::measure::torus::TorusReadout;
use crate::processes::Processes;
use crate::programs::OnTorus;
use netloom_fabric::collective::ByteOrder;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::device::Simulated;
use netloom_messaging::spi::{self, Spi};
use netloom_messaging::transports::collectives::{OfProgram, RankCollectives};
use netloom_messaging::transports::spi::SpiTransport;
use netloom_nic::message_unit::protection::Violation;
use netloom_nic::message_unit::{self, MessageUnit, MessageUnits, NETWORK_FIFOS};
use netloom_node::nodes::ProcessOf;
use netloom_node::program::Program;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_workload::mpi::MpiProgram;
use netloom_workload::pami::PamiProgram;
use netloom_workload::spi::SpiConfig;
use std::any::Any;
use std::time::Instant;

/// Runs a program for Message Units, if it is one.
pub(super) fn program<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    program: &dyn Any,
    to: RunOptions,
) -> Option<Ran> {
    if let Some(config) = program.downcast_ref() {
        return Some(run_pami(family.with_message_units(), study, config, to));
    }
    if let Some(config) = program.downcast_ref() {
        return Some(run_mpi(family.with_message_units(), study, config, to));
    }
    program.downcast_ref().map(|config| run(family.with_message_units(), study, config, to))
}

/// The same on PAMI.
fn run_pami(family: Option<Queued>, study: &ResolvedStudy, program: &PamiProgram, to: RunOptions) -> Ran {
    let tick_ns = study.micros(1) * 1e3;
    let torus = Torus::new(&study.torus().topology);
    let job = program.job(&torus, study.machine.messaging(), study.machine.ticks_per_second());
    let (mut result, of_run) =
        processes(family, study, program.processes(), (to, to.threads), ByteOrder::Big, &mut |spi| {
            Box::new(Program::new(&spi.core().clone(), program.program(spi, &job)))
        })?;
    result.measured.push(program.measured(&of_run.measurements, tick_ns).into());
    of_run.judge(&mut result, study.torus().nodes() as u32 * program.processes());
    Ok(result)
}

/// The same of MPI.
fn run_mpi(family: Option<Queued>, study: &ResolvedStudy, program: &MpiProgram, to: RunOptions) -> Ran {
    let tick_ns = study.micros(1) * 1e3;
    let torus = Torus::new(&study.torus().topology);
    let mut job = program.job(&torus, study.machine.messaging(), study.machine.ticks_per_second());
    let threads = job.hardware_threads();
    let (mut result, of_run) =
        processes(family, study, threads, (to, to.threads), ByteOrder::Big, &mut |spi| {
            program.hardware_thread(&mut job, spi)
        })?;
    result.measured.push(program.measured(&of_run.measurements, tick_ns).into());
    of_run.judge(&mut result, study.torus().nodes() as u32 * threads);
    Ok(result)
}

fn run(family: Option<Queued>, study: &ResolvedStudy, program: &SpiConfig, to: RunOptions) -> Ran {
    let (dims, tick_ns) = (&study.torus().topology.dims, study.micros(1) * 1e3);
    let (mut result, of_run) = processes(family, study, 1, (to, to.threads), ByteOrder::Big, &mut |spi| {
        Box::new(Program::new(&spi.core().clone(), program.program(spi, dims, tick_ns)))
    })?;
    let measured = program.measured(&study.torus().topology, &of_run.measurements, tick_ns);
    result.measured.push(measured.into());
    of_run.judge(&mut result, study.torus().nodes() as u32);
    Ok(result)
}

/// Runs processes on Message Units, as many on each node, in so many blocks of nodes at least.
pub(crate) fn processes(
    family: Option<Queued>,
    study: &ResolvedStudy,
    per_node: u32,
    (to, blocks): (RunOptions, usize),
    byte_order: ByteOrder,
    process: &mut dyn FnMut(Spi) -> Box<ProcessOf<MessageUnit>>,
) -> Result<(RunResult, Processes), Problem> {
    let begin = Instant::now();
    let s = &study.study;
    let (Some(unit), Some(family)) = (&study.torus_machine().message_unit, family) else {
        let message = "this machine has no Message Units: give it a table [message_unit], or take bgq".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let options = to.build(BuildOptions {
        seed: s.seed,
        injection_fifos: NETWORK_FIFOS,
        window: study.window(),
        counters: s.measure.counters.then(CounterMasks::default),
        byte_order,
        blocks,
        ..BuildOptions::default()
    });
    let built = family.build(study, &options, &mut |nodes| {
        spi::units_of(unit, study.torus(), nodes, per_node, s.seed, &mut *process).into()
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, TorusReadout::default(), built, None, to, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end()?;
    let of_run = Processes::of(&mut run.network);
    let refused: Vec<_> = run.network.blocks().flat_map(|b| b.host().refused()).collect();
    let refused = run.network.gather(refused).concat();
    if let Some((node, why, _)) = refused.iter().min()
        && result.partial.is_none()
    {
        let times: u64 = refused.iter().map(|r| r.2).sum();
        let why = format!(
            "Message Units refused {times} packets or descriptors, the first that of node {node}: {why}"
        );
        result.ended_early(Ended::Failed, why);
    }
    Ok((result, of_run))
}

/// Runs ranks over Message Units, if the machine has them.
pub(super) fn ranks<F: RouterFamily>(family: &F, on: &OnTorus) -> Option<Ran> {
    on_queued(&family.with_message_units()?, on)
}

/// The same on routers that have them; compiled once.
fn on_queued(family: &Queued, on: &OnTorus) -> Option<Ran> {
    let (ranks, study) = (on.ranks, on.ranks.study);
    let unit = study.torus_machine().message_unit.as_ref()?;
    let torus = Torus::new(&study.torus().topology);
    let program = ranks.placement.has_collectives().then(|| {
        let (machine, nodes) = (&study.machine, ranks.placement.nodes());
        OfProgram::new(nodes, &torus, machine.messaging(), machine.ticks_per_second())
    });
    let program = program.flatten();
    let units = |numbers: &[u32]| {
        spi::units_of(unit, study.torus(), numbers, ranks.per_node().into(), study.study.seed, |spi| {
            let transport = |_| {
                let device = spi.device().clone();
                let collectives = program.as_ref().map(|program| RankCollectives::new(&device, program));
                SpiTransport::new(device, &ranks.placement, ranks.steps(), collectives)
            };
            ranks.process((spi.node(), spi.process()), spi.device().thread(), transport, |own, slot| {
                own.on_unit(slot)
            })
        })
    };
    Some(on.run(family, NETWORK_FIFOS, units))
}

impl Driver for MessageUnits {
    fn arrived_so_far(&self) -> (u64, u64) {
        let (packets, bytes) = message_unit::stored_so_far(self);
        (bytes, packets)
    }

    fn add_to(&self, all: &mut Processes) {
        all.add(self);
    }

    fn refused(&self) -> Vec<(u32, Violation, u64)> {
        message_unit::refused(self).collect()
    }
}
