//! Programs of ranks, skeletons, traces and benchmarks, on any machine: by themselves, or beside synthetic
//! traffic on other nodes. What carries their messages is a file for each network interface in `nics/`.

use super::course::Run;
use super::driver::Driver;
use super::family::RouterFamily;
use super::hosts::{FifoTraffic, SwitchedHosts};
use super::processes::Processes;
use super::ranks::Ranks;
use super::{RunOptions, jobs, nics, switched};
use crate::measure::Readout;
use crate::measure::switched::SwitchedReadout;
use crate::measure::torus::TorusReadout;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::{BuildOptions, Network, RouterBlock};
use netloom_nic::fifo::FifoNic;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_study::run::ProgressSink;
use netloom_workload::traffic::{Beside, Jobs, SwitchedPlan, SwitchedTraffic, TorusPlan, TorusTraffic};
use std::sync::Arc;

/// Injection FIFOs of nodes of networks of switches: for requests and for responses.
const FIFOS_OF_SWITCHES: usize = 2;

/// The observer of a run, and its number of threads, where one process runs it.
pub type To<'a> = (&'a dyn ProgressSink, usize);

/// Several jobs, some of which are programs, the plan of all of them, and the one that runs if it is only
/// one.
type Several<'a, P> = (&'a Arc<P>, &'a Jobs, Option<usize>);

/// Runs the program of a study, or several jobs. `on` runs ranks, with the traffic that is beside them.
fn run<P>(
    study: &ResolvedStudy,
    several: Option<Several<P>>,
    to: RunOptions,
    on: impl Fn(&Ranks, Option<&Arc<P>>, RunOptions) -> Result<RunResult, Problem>,
) -> Result<RunResult, Problem> {
    let ranks = match several {
        None => Ranks::new(study)?,
        Some((_, placed, only)) => {
            Ranks::of_jobs(study, jobs::of(study).expect("several jobs"), placed, only)?
        }
    };
    let ranks = ranks.in_processes(to.among.is_some());
    ranks.run(to, |ranks, is_alone, to| on(ranks, several.map(|(plan, ..)| plan).filter(|_| !is_alone), to))
}

/// Runs the program of a study on a torus; or several jobs, by their plan, or only one of them.
pub(super) fn on_torus<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    several: Option<(&Arc<TorusPlan>, Option<usize>)>,
    to: RunOptions,
) -> Result<RunResult, Problem> {
    let several = several.map(|(plan, only)| (plan, plan.plan().jobs().expect("several jobs"), only));
    run(study, several, to, |ranks, traffic, to| {
        let on = OnTorus { ranks, traffic, to };
        nics::over_torus().into_iter().find_map(|over| over(family, &on)).expect("the last is for all")
    })
}

/// The same on a network of switches.
pub(super) fn on_switches(
    study: &ResolvedStudy,
    several: Option<(&Arc<SwitchedPlan>, Option<usize>)>,
    to: RunOptions,
) -> Result<RunResult, Problem> {
    let several = several.map(|(plan, only)| (plan, plan.plan().jobs().expect("several jobs"), only));
    run(study, several, to, |ranks, traffic, to| {
        let on = OnSwitches { ranks, traffic, to };
        nics::OVER_SWITCHES.into_iter().find_map(|over| over(&on)).expect("the last is for all")
    })
}

/// Runs ranks, or a caller's own processes, on a torus, by themselves.
pub(super) fn own_on_torus<F: RouterFamily>(
    family: &F,
    ranks: &Ranks,
    to: RunOptions,
) -> Result<RunResult, Problem> {
    let on = OnTorus { ranks, traffic: None, to };
    nics::over_torus().into_iter().find_map(|over| over(family, &on)).expect("the last is for all")
}

/// The same on a network of switches.
pub(super) fn own_on_switches(ranks: &Ranks, to: RunOptions) -> Result<RunResult, Problem> {
    let on = OnSwitches { ranks, traffic: None, to };
    nics::OVER_SWITCHES.into_iter().find_map(|over| over(&on)).expect("the last is for all")
}

/// Ranks on a torus, and the traffic that is beside them.
pub(super) struct OnTorus<'a> {
    pub ranks: &'a Ranks<'a>,
    traffic: Option<&'a Arc<TorusPlan>>,
    to: RunOptions<'a>,
}

impl OnTorus<'_> {
    /// Runs nodes, which `host` makes with the given number of injection FIFOs, to the end of their programs;
    /// on routers of this family, which are the machine's.
    pub fn run<F: RouterFamily<Hosts: From<P> + From<Beside<P, FifoTraffic>>>, P>(
        &self,
        family: &F,
        fifos: usize,
        host: impl Fn(&[u32]) -> P,
    ) -> Result<RunResult, Problem> {
        let study = self.ranks.study;
        let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
        let own = FifoNic::<TorusTraffic>::injection_fifos(nic);
        let options = self.to.build(BuildOptions {
            seed: s.seed,
            injection_fifos: self.traffic.map_or(fifos, |_| fifos.max(own)),
            window: study.window(),
            unblocking: s.measure.unblocking,
            counters: s.measure.counters.then(CounterMasks::default),
            smallest_chunks: 1,
            blocks: self.ranks.blocks(self.to.threads),
            shared_state: self.ranks.shared_state(),
            ..BuildOptions::default()
        });
        let readout = TorusReadout { offered: None, plan: self.traffic.cloned() };
        let Some(plan) = self.traffic else {
            return to_the_end(
                self.ranks,
                readout,
                family.build(study, &options, &mut |numbers| host(numbers).into()),
                self.to,
            );
        };
        let built = family.build(study, &options, &mut |numbers| {
            let traffic = FifoNic::new(nic, network, numbers, TorusTraffic::new(plan, numbers));
            let jobs = plan.plan().jobs().expect("several jobs");
            Beside::new(host(numbers), traffic, (fifos, own), jobs, numbers).into()
        });
        to_the_end(self.ranks, readout, built, self.to)
    }
}

/// Ranks on a network of switches, and the traffic that is beside them.
pub(super) struct OnSwitches<'a> {
    pub ranks: &'a Ranks<'a>,
    traffic: Option<&'a Arc<SwitchedPlan>>,
    to: RunOptions<'a>,
}

impl OnSwitches<'_> {
    /// Runs nodes, which `host` makes, to the end of their programs.
    pub fn run<P>(&self, host: impl Fn(&[u32]) -> P) -> Result<RunResult, Problem>
    where
        SwitchedHosts: From<P> + From<Beside<P, SwitchedTraffic>>,
    {
        let study = self.ranks.study;
        let s = &study.study;
        let options = self.to.build(BuildOptions {
            seed: s.seed,
            injection_fifos: FIFOS_OF_SWITCHES,
            window: study.window(),
            blocks: self.ranks.blocks(self.to.threads),
            shared_state: self.ranks.shared_state(),
            ..BuildOptions::default()
        });
        let readout = SwitchedReadout { offered: None, plan: self.traffic.cloned() };
        let Some(plan) = self.traffic else {
            let built = switched::build(study, &options, &mut |numbers| host(numbers).into());
            return to_the_end(self.ranks, readout, built, self.to);
        };
        let built = switched::build(study, &options, &mut |numbers| {
            let jobs = plan.plan().jobs().expect("several jobs");
            let fifos = (FIFOS_OF_SWITCHES, plan.injection_fifos());
            Beside::new(host(numbers), SwitchedTraffic::new(plan, numbers), fifos, jobs, numbers).into()
        });
        to_the_end(self.ranks, readout, built, self.to)
    }
}

/// Requests that had no answer in time.
pub(crate) fn timeouts<B: RouterBlock<Host: Driver>>(network: &mut Network<B>) -> u64 {
    let own: u64 = network.blocks().map(|block| block.host().timeouts()).sum();
    network.gather(own).into_iter().sum()
}

/// Puts the requests that had no answer among the faults of a result.
fn count_timeouts<B: RouterBlock<Host: Driver>>(network: &mut Network<B>, result: &mut RunResult) {
    let timeouts = timeouts(network);
    if let Some(faults) = result.switched.as_mut().and_then(|switched| switched.faults.as_mut()) {
        faults.timeouts = timeouts;
    }
}

/// Runs a network to the end of the programs on it.
fn to_the_end<B: RouterBlock<Host: Driver>, R: Readout<B>>(
    ranks: &Ranks,
    readout: R,
    built: Result<Network<B>, ConfigError>,
    to: RunOptions,
) -> Result<RunResult, Problem> {
    let built = built.map_err(|e| ranks.study.impossible(e))?;
    let build_s = ranks.begin.elapsed().as_secs_f64();
    let mut run = Run::new(ranks.study, readout, built, None, to, build_s);
    let mut result = run.until_the_end()?;
    count_timeouts(&mut run.network, &mut result);
    ranks.gather(&run.network);
    ranks.finish(&mut result, &Processes::of(&mut run.network));
    Ok(result)
}
