//! Studies on machines of switches: nodes that put packets straight into the network, and programs on their network interfaces.

use super::course::{Run, beside_the_study};
use super::driver::{Driver, TimeOuts};
use super::jobs;
use super::packaging;
use super::processes::Processes;
use super::programs;
use crate::diagnose::Problem;
use crate::measure::switched::SwitchedReadout;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, MeasuredTable, RunResult};
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::tiled::{TiledFamily, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_nic::aries::address::Job;
use netloom_node::nodes::{NetworkInterface, Nodes as NicNodes};
use netloom_workload::config::WorkloadConfig;
use netloom_workload::glex::{self, GlexConfig};
use netloom_workload::gni::{self, GniConfig};
use netloom_workload::processes::Measurements;
use netloom_workload::spi::Measured;
use netloom_workload::traffic::{SwitchedPlan, SwitchedTraffic};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a machine of switches.
pub(super) fn simulate(
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    match &study.study.workload {
        WorkloadConfig::Gni(program) => return on_aries(study, program, progress, threads),
        WorkloadConfig::Glex(program) => return on_th(study, program, progress, threads),
        WorkloadConfig::Skeleton(_) | WorkloadConfig::Trace(_) => {
            return programs::on_switches(study, progress, threads);
        }
        WorkloadConfig::Packaging(sizes) => return packaging::count(study, sizes),
        _ => {}
    }
    let problem = |e: ConfigError| study.impossible(e);
    let (outline, s) = (study.switched(), &study.study);
    let plan =
        SwitchedPlan::new(&beside_the_study(study), &s.traffic, &outline.config, &outline.wiring, s.seed);
    let plan = plan.map_err(problem)?.watch_order(s.measure.reordering);
    let has_programs = s.workload.runs_programs();
    jobs::each_alone(study, |study, only| {
        let plan = Arc::new(only.map_or_else(|| plan.clone(), |job| plan.alone(job)));
        match has_programs {
            true => programs::jobs_on_switches(study, (&plan, only), progress, threads),
            false => run(study, &plan, progress, threads),
        }
    })
}

/// Runs the nodes of a machine of switches.
fn run(
    study: &ResolvedStudy,
    plan: &Arc<SwitchedPlan>,
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
    let built = TiledNetwork::new(&outline.config, &options, |numbers| SwitchedTraffic::new(plan, numbers));
    let readout = SwitchedReadout { offered: plan.plan().offered(), plan: Some(Arc::clone(plan)) };
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, readout, built, plan.packets(), threads, begin.elapsed().as_secs_f64());
    Ok(run.until_the_end(progress))
}

/// Runs programs on Aries NICs.
fn on_aries(
    study: &ResolvedStudy,
    config: &GniConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (outline, s) = (study.switched(), &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.aries.as_ref()) else {
        let message = "this machine has no Aries NICs: give it a table [aries], or take xc".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let (network, nodes) = (&outline.config, outline.wiring.nodes());
    let jobs: Arc<[Job]> = [gni::job(nodes)].into();
    let built = TiledNetwork::new(network, &of_programs(study), |numbers| {
        let program = |gni| gni::program(config, gni, network.ticks_per_second);
        netloom_messaging::gni::nics(nic, network, &jobs, numbers, config.processes(), s.seed, program)
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    run_programs(study, built, config.processes(), measured, (progress, threads), begin)
}

/// Runs programs on TH Express NICs.
fn on_th(
    study: &ResolvedStudy,
    config: &GlexConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, s) = (&study.switched().config, &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.th.as_ref()) else {
        let message = "this machine has no TH Express NICs: give it a table [th], or take th".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let built = TiledNetwork::new(network, &of_programs(study), |numbers| {
        let program = |glex| glex::program(config, glex, network.ticks_per_second);
        netloom_messaging::glex::nics(nic, network, numbers, 1, s.seed, program)
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    run_programs(study, built, 1, measured, (progress, threads), begin)
}

/// Requests and responses have an injection FIFO each.
fn of_programs(study: &ResolvedStudy) -> BuildOptions {
    let s = &study.study;
    BuildOptions { seed: s.seed, injection_fifos: 2, window: study.window(), ..BuildOptions::default() }
}

/// Runs programs of so many processes a node to their end; `measured` makes a table of what they noted.
fn run_programs<N: NetworkInterface<Family = TiledFamily>>(
    study: &ResolvedStudy,
    built: Result<TiledNetwork<NicNodes<N>>, ConfigError>,
    processes: u32,
    measured: impl Fn(&Measurements) -> Measured,
    (progress, threads): (&dyn ProgressSink, usize),
    begin: Instant,
) -> Result<RunResult, Problem>
where
    NicNodes<N>: Driver + TimeOuts,
{
    let built = built.map_err(|e| study.impossible(e))?;
    let readout = SwitchedReadout { offered: None, plan: None };
    let mut run = Run::new(study, readout, built, None, threads, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end(progress);
    let timeouts = run.network.blocks().map(|block| block.host().timeouts()).sum();
    let of_run = Processes::of(&mut run.network);
    if let Some(faults) = result.switched.as_mut().and_then(|switched| switched.faults.as_mut()) {
        faults.timeouts = timeouts;
    } else if result.partial.is_none() && timeouts != 0 {
        result.ended_early(Ended::Failed, format!("{timeouts} requests had no answer in time"));
    }
    of_run.judge(&mut result, study.switched().wiring.nodes() * processes);
    if result.partial.is_none() && of_run.all_ended() {
        let Measured { title, columns, rows } = measured(&of_run.measurements);
        result.measured.push(MeasuredTable { title, columns, rows, published: vec![] });
    }
    Ok(result)
}
