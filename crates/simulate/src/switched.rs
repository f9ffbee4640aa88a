//! Studies on machines of switches: nodes that put packets straight into the network, and programs on their
//! network interfaces.

use super::RunOptions;
use super::course::{Run, beside_the_study};
use super::hosts::SwitchedHosts;
use super::observed::Scope;
use super::packaging;
use super::{jobs, nics, programs};
use crate::measure::switched::SwitchedReadout;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_workload::config::Runs;
use netloom_workload::traffic::{SwitchedPlan, SwitchedTraffic};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a machine of switches.
pub(crate) fn simulate(study: &ResolvedStudy, how: RunOptions) -> Result<RunResult, Problem> {
    let workload = beside_the_study(study);
    match workload.runs() {
        Runs::OnInterface(program) => return nics::on_switches(study, program, how),
        Runs::Ranks(_) => return programs::on_switches(study, None, how),
        Runs::Packaging(sizes) => return packaging::count(study, sizes),
        Runs::Traffic => {}
    }
    let problem = |e: ConfigError| study.impossible(e);
    let (outline, s) = (study.switched(), &study.study);
    let plan = SwitchedPlan::new(&workload, &s.traffic, &outline.config, &outline.wiring, s.seed);
    let plan = plan.map_err(problem)?.watch_order(s.measure.reordering);
    let has_programs = s.workload.runs_programs();
    jobs::each_alone(study, |study, only| {
        let plan = Arc::new(only.map_or_else(|| plan.clone(), |job| plan.alone(job)));
        match has_programs {
            true => programs::on_switches(study, Some((&plan, only)), how),
            false => run(study, &plan, how.of_job(only)),
        }
    })
}

/// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
pub(crate) fn build(
    study: &ResolvedStudy,
    options: &BuildOptions,
    host: &mut dyn FnMut(&[u32]) -> SwitchedHosts,
) -> Result<TiledNetwork<SwitchedHosts>, ConfigError> {
    let scope = Scope::of(study).map(Arc::new);
    let observed = |numbers: &[u32]| host(numbers).observed(scope.as_ref(), numbers);
    TiledNetwork::new(&study.switched().config, options, observed)
}

/// Runs the nodes of a machine of switches.
fn run(study: &ResolvedStudy, plan: &Arc<SwitchedPlan>, how: RunOptions) -> Result<RunResult, Problem> {
    let (begin, s) = (Instant::now(), &study.study);
    let options = how.build(BuildOptions {
        seed: s.seed,
        injection_fifos: plan.injection_fifos(),
        window: study.window(),
        ..BuildOptions::default()
    });
    let built = build(study, &options, &mut |numbers| SwitchedTraffic::new(plan, numbers).into());
    let readout = SwitchedReadout { offered: plan.plan().offered(), plan: Some(Arc::clone(plan)) };
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, readout, built, plan.packets(), how, begin.elapsed().as_secs_f64());
    run.until_the_end()
}
