//! Programs on Message Units (`kind = "spi"`).

use super::NodeMemory;
use crate::diagnose::Problem;
use crate::measure::torus::TorusReadout;
use crate::resolve::ResolvedStudy;
use crate::result::Ended;
use crate::result::RunResult;
use crate::run::ProgressSink;
use crate::simulate::course::Run;
use crate::simulate::family::RouterFamily;
use crate::simulate::processes::Processes;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_nic::message_unit::{self, NETWORK_FIFOS};
use netloom_workload::spi::SpiConfig;
use std::time::Instant;

/// Memory of a node.
pub(super) const MEMORY: NodeMemory = NodeMemory { nic: 3000.0, workload: 4000.0 };

/// Runs programs on Message Units.
pub(crate) fn run<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    program: &SpiConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let s = &study.study;
    let (Some(unit), Some(family)) = (&study.torus_machine().message_unit, family.with_message_units())
    else {
        let message = "this machine has no Message Units: give it a table [message_unit], or take bgq".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let dims = &study.torus().topology.dims;
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: NETWORK_FIFOS,
        window: study.window(),
        counters: s.measure.counters.then(CounterMasks::default),
        ..BuildOptions::default()
    };
    let built = family.build(&options, |nodes| {
        netloom_messaging::spi::units(unit, study.torus(), nodes, 1, s.seed, |spi| program.program(spi, dims))
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run =
        Run::new(study, TorusReadout::default(), built, None, threads, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end(progress);
    let of_run = Processes::of(&mut run.network);
    let measured = program.measured(&study.torus().topology, &of_run.measurements, study.micros(1) * 1e3);
    result.measured.push(measured.into());
    let refused: Vec<_> =
        run.network.blocks().flat_map(|b| message_unit::refused(b.host()).collect::<Vec<_>>()).collect();
    if let Some((node, why, _)) = refused.iter().min()
        && result.partial.is_none()
    {
        let times: u64 = refused.iter().map(|r| r.2).sum();
        let why = format!(
            "Message Units refused {times} packets or descriptors, the first that of node {node}: {why}"
        );
        result.ended_early(Ended::Failed, why);
    }
    of_run.judge(&mut result, study.torus().nodes() as u32);
    Ok(result)
}
