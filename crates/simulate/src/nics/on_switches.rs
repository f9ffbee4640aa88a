//! What programs on the network interfaces of machines of switches have in common: their run, and what is
//! reported of it.

use crate::RunOptions;
use crate::course::Run;
use crate::hosts::SwitchedHosts;
use crate::measure::switched::SwitchedReadout;
use crate::processes::Processes;
use crate::programs::timeouts;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::Ended;
use netloom_study::result::RunResult;
use netloom_workload::measured::Measured;
use netloom_workload::processes::Measurements;
use std::time::Instant;

/// Requests and responses have an injection FIFO each.
pub(super) fn options(study: &ResolvedStudy, to: RunOptions) -> BuildOptions {
    let s = &study.study;
    to.build(BuildOptions {
        seed: s.seed,
        injection_fifos: 2,
        window: study.window(),
        ..BuildOptions::default()
    })
}

/// Runs programs of `processes` processes per node to their end; `measured` makes a table of what they noted.
pub(super) fn run(
    study: &ResolvedStudy,
    built: Result<TiledNetwork<SwitchedHosts>, ConfigError>,
    processes: u32,
    measured: &dyn Fn(&Measurements) -> Measured,
    to: RunOptions,
    begin: Instant,
) -> Result<RunResult, Problem> {
    let built = built.map_err(|e| study.impossible(e))?;
    let readout = SwitchedReadout { offered: None, plan: None };
    let mut run = Run::new(study, readout, built, None, to, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end()?;
    let timeouts = timeouts(&mut run.network);
    let of_run = Processes::of(&mut run.network);
    if let Some(faults) = result.switched.as_mut().and_then(|switched| switched.faults.as_mut()) {
        faults.timeouts = timeouts;
    } else if result.partial.is_none() && timeouts != 0 {
        result.ended_early(Ended::Failed, format!("{timeouts} requests had no answer in time"));
    }
    of_run.judge(&mut result, study.switched().wiring.nodes() * processes);
    if result.partial.is_none() && of_run.all_ended() {
        result.measured.push(measured(&of_run.measurements).into());
    }
    Ok(result)
}
