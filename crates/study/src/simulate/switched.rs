//! Studies on machines of switches: nodes that put packets straight into the network, and programs on their network interfaces.

use super::course::{Run, beside_the_study};
use super::packaging;
use super::{nics, programs};
use crate::diagnose::Problem;
use crate::measure::switched::SwitchedReadout;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_workload::config::{Runs, WorkloadConfig};
use netloom_workload::flits::{Nodes, Plan};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a machine of switches.
pub(crate) fn simulate(
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let workload = beside_the_study(study);
    match workload.runs() {
        Runs::Aries(program) => return nics::aries::run(study, program, progress, threads),
        Runs::ThExpress(program) => return nics::th::run(study, program, progress, threads),
        Runs::Ranks(ranks) => return programs::on_switches(study, ranks, progress, threads),
        Runs::Packaging(sizes) => return packaging::count(study, sizes),
        Runs::Traffic => {}
        Runs::MessageUnits(_) => unreachable!("machines of switches do not take it"),
    }
    let problem = |e: ConfigError| study.impossible(e);
    let (outline, s) = (study.switched(), &study.study);
    let plan = Plan::new(&workload, &s.traffic, &outline.config, &outline.wiring, s.seed);
    let plan = Arc::new(plan.map_err(problem)?.watch_order(s.measure.reordering));
    let mut result = run(study, &plan, progress, threads)?;
    let alone = matches!(&s.workload, WorkloadConfig::Jobs(jobs) if jobs.alone && jobs.jobs.len() > 1);
    let Some(switched) = result.switched.as_mut().filter(|_| alone && result.partial.is_none()) else {
        return Ok(result);
    };
    for (number, job) in switched.jobs.iter_mut().enumerate() {
        let alone = run(study, &Arc::new(plan.alone(number)), progress, threads)?;
        if let Some(reason) = alone.partial {
            result.partial = Some(format!("{} alone: {reason}", job.name));
            result.simulated.ended = alone.simulated.ended;
            break;
        }
        job.beside(&alone.switched.expect("of a machine of switches").jobs[number]);
    }
    Ok(result)
}

/// Runs the nodes of a machine of switches.
fn run(
    study: &ResolvedStudy,
    plan: &Arc<Plan>,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let (begin, outline, s) = (Instant::now(), study.switched(), &study.study);
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: plan.injection_fifos(),
        window: study.window(),
        ..BuildOptions::default()
    };
    let built = TiledNetwork::new(&outline.config, &options, |numbers| Nodes::new(plan, numbers));
    let readout = SwitchedReadout { offered: plan.offered(), plan: Some(Arc::clone(plan)) };
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, readout, built, plan.packets(), threads, begin.elapsed().as_secs_f64());
    Ok(run.until_the_end(progress))
}
