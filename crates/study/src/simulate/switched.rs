//! Studies on machines of switches: nodes that put packets straight into the network.

use super::course::{Run, beside_the_study};
use crate::diagnose::Problem;
use crate::measure::switched::SwitchedReadout;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_workload::flits::{Nodes, Plan};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a machine of switches.
pub(super) fn simulate(
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let problem = |e: ConfigError| study.impossible(e);
    let (outline, s) = (study.switched(), &study.study);
    let plan = Plan::new(&beside_the_study(study), &s.traffic, &outline.config, &outline.wiring, s.seed);
    let plan = Arc::new(plan.map_err(problem)?);
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: plan.injection_fifos(),
        window: s.measure.window_cycles,
        ..BuildOptions::default()
    };
    let built = TiledNetwork::new(&outline.config, &options, |numbers| Nodes::new(&plan, numbers));
    let readout = SwitchedReadout { offered: plan.offered() };
    let built = built.map_err(problem)?;
    let mut run = Run::new(study, readout, built, plan.packets(), threads, begin.elapsed().as_secs_f64());
    Ok(run.until_the_end(progress))
}
