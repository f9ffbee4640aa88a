//! Programs of ranks, skeletons and traces, on any machine: over the packet layer of tori without a network interface of their own and of
//! plain networks of switches, over Message Units, over Aries, over TH Express NICs; by themselves, or beside synthetic traffic on other
//! nodes.

use super::course::Run;
use super::driver::{Driver, Programs, TimeOuts};
use super::family::RouterFamily;
use super::jobs;
use super::processes::Processes;
use super::ranks::Ranks;
use crate::diagnose::Problem;
use crate::measure::switched::SwitchedReadout;
use crate::measure::torus::TorusReadout;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_engine::Time;
use netloom_fabric::config::{ConfigError, Outline, TiledConfig};
use netloom_fabric::host::Host;
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, Network, NodeBlock, RouterBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::glex::Glex;
use netloom_messaging::gni;
use netloom_messaging::spi;
use netloom_messaging::transports::glex::GlexTransport;
use netloom_messaging::transports::gni::{COOKIE, GniTransport, PTAG};
use netloom_messaging::transports::packets::PacketFormat;
use netloom_messaging::transports::spi::SpiTransport;
use netloom_nic::aries::address::Job;
use netloom_nic::fifo::FifoNic;
use netloom_nic::message_unit::NETWORK_FIFOS;
use netloom_nic::packet_port::{OnFifos, PacketPort};
use netloom_nic::th;
use netloom_node::nodes::Nodes;
use netloom_workload::config::{Priority, Routing};
use netloom_workload::traffic::{Beside, SwitchedPlan, SwitchedTraffic, TorusPlan, TorusTraffic};
use std::sync::Arc;

/// Injection FIFOs of nodes of networks of switches: for requests and for responses.
const FIFOS_OF_SWITCHES: usize = 2;

/// Who watches a run, and on how many threads it is.
type To<'a> = (&'a dyn ProgressSink, usize);

/// Packets of a torus.
struct TorusPackets {
    network: Outline,
    torus: Torus,
    flags: u16,
}

impl PacketFormat<Header> for TorusPackets {
    fn data_max(&self) -> u64 {
        let p = &self.network.packet;
        u64::from(p.chunks_max * p.chunk_B - p.header_B - p.software_header_B)
    }

    fn header(&self, from: u32, to: u32, bytes: u32, _: u64) -> Header {
        let p = &self.network.packet;
        let chunks = (p.header_B + p.software_header_B + bytes).div_ceil(p.chunk_B);
        let (from, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        let hints = hints::minimal(&self.torus, from, to, self.network.halfway_tie);
        Header::new(to, hints, chunks, self.flags)
    }
}

/// Packets of a network of switches.
struct FlitPackets {
    network: Arc<TiledConfig>,
    mode: Mode,
}

impl PacketFormat<TiledHeader> for FlitPackets {
    fn data_max(&self) -> u64 {
        self.network.packet.data_max_B.into()
    }

    fn header(&self, from: u32, to: u32, bytes: u32, draw: u64) -> TiledHeader {
        // Packets of a pair of nodes stay in order where their routing promises that: then their draw is the same.
        let seed = if self.mode.is_in_order() { from.wrapping_mul(0x9e37_79b9) ^ to } else { draw as u32 };
        TiledHeader::new(to, self.network.packet.request_flits(bytes), Class::Request, self.mode, seed)
    }
}

/// Runs the program of a study on a torus.
pub(super) fn on_torus<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    Ranks::new(study)?.run((progress, threads), |ranks, _, to| ranks_on_torus(family, ranks, None, to))
}

/// Runs several jobs on a torus, some of which are programs; or only one of them.
pub(super) fn jobs_on_torus<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    (plan, only): (&Arc<TorusPlan>, Option<usize>),
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let config = jobs::of(study).expect("several jobs");
    let placed = plan.plan().jobs().expect("several jobs");
    let ranks = Ranks::of_jobs(study, config, placed, only)?;
    ranks.run((progress, threads), |ranks, is_alone, to| {
        ranks_on_torus(family, ranks, Some(plan).filter(|_| !is_alone), to)
    })
}

fn ranks_on_torus<F: RouterFamily>(
    family: &F,
    ranks: &Ranks,
    traffic: Option<&Arc<TorusPlan>>,
    to: To,
) -> Result<RunResult, Problem> {
    let study = ranks.study;
    let (network, machine, s) = (study.torus(), study.torus_machine(), &study.study);
    let nic = &machine.nic;
    let options = BuildOptions {
        seed: s.seed,
        window: study.window(),
        unblocking: s.measure.unblocking,
        counters: s.measure.counters.then(CounterMasks::default),
        smallest_chunks: 1,
        ..BuildOptions::default()
    };
    if let (Some(unit), Some(family)) = (&machine.message_unit, family.with_message_units()) {
        let units = |numbers: &[u32]| {
            spi::units_of(unit, network, numbers, 1, s.seed, |spi| {
                ranks.process(spi.node(), |_| {
                    SpiTransport::new(spi.device().clone(), &ranks.placement, ranks.steps())
                })
            })
        };
        return nodes_on_torus(&family, ranks, (options, NETWORK_FIFOS), traffic, units, to);
    }
    let high = s.traffic.priority == Priority::High;
    let normal = nic.injection_normal as usize;
    let lanes: Vec<usize> = match (nic.injection_fifo_B.is_some(), high) {
        (true, _) => vec![usize::from(high)],
        (false, false) => (0..normal).collect(),
        (false, true) => (normal..normal + nic.injection_high as usize).collect(),
    };
    if lanes.is_empty() {
        let message = "high priority needs nic.injection_high of at least 1".into();
        return Err(study.impossible(ConfigError { key: "traffic.priority".into(), message }));
    }
    let flags = if high { Header::HIGH } else { 0 }
        | if s.traffic.routing == Routing::Static { Header::STATIC } else { 0 };
    let torus = Torus::new(&network.topology);
    let format: Arc<dyn PacketFormat<Header>> =
        Arc::new(TorusPackets { network: network.clone(), torus, flags });
    let nics = |numbers: &[u32]| {
        FifoNic::new(nic, network, numbers, OnFifos::new(ranks.port_nodes(numbers, &format, &lanes)))
    };
    let fifos = FifoNic::<OnFifos>::injection_fifos(nic);
    nodes_on_torus(family, ranks, (options, fifos), traffic, nics, to)
}

/// Runs nodes of a torus, which `host` makes and which have so many injection FIFOs, to the end of their programs.
fn nodes_on_torus<F: RouterFamily, H: Host<F::Family> + Driver + Programs>(
    family: &F,
    ranks: &Ranks,
    (options, fifos): (BuildOptions, usize),
    traffic: Option<&Arc<TorusPlan>>,
    host: impl Fn(&[u32]) -> H,
    to: To,
) -> Result<RunResult, Problem> {
    let (network, nic) = (ranks.study.torus(), &ranks.study.torus_machine().nic);
    let Some(plan) = traffic else {
        let options = BuildOptions { injection_fifos: fifos, ..options };
        return torus_to_the_end(ranks, None, family.build(&options, host), to);
    };
    let own = FifoNic::<TorusTraffic>::injection_fifos(nic);
    let options = BuildOptions { injection_fifos: fifos.max(own), ..options };
    let built = family.build(&options, |numbers| {
        let traffic = FifoNic::new(nic, network, numbers, TorusTraffic::new(plan, numbers));
        let jobs = plan.plan().jobs().expect("several jobs");
        Beside::new(host(numbers), traffic, (fifos, own), jobs, numbers)
    });
    torus_to_the_end(ranks, traffic, built, to)
}

fn torus_to_the_end<B: NodeBlock<Host: Driver + Programs>>(
    ranks: &Ranks,
    traffic: Option<&Arc<TorusPlan>>,
    built: Result<Network<B>, ConfigError>,
    (progress, threads): To,
) -> Result<RunResult, Problem> {
    let built = built.map_err(|e| ranks.study.impossible(e))?;
    let readout = TorusReadout { offered: None, plan: traffic.cloned() };
    let build_s = ranks.begin.elapsed().as_secs_f64();
    let mut run = Run::new(ranks.study, readout, built, None, threads, build_s);
    let mut result = run.until_the_end(progress);
    ranks.finish(&mut result, &Processes::of(&mut run.network));
    Ok(result)
}

/// Runs the program of a study on a network of switches.
pub(super) fn on_switches(
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    Ranks::new(study)?.run((progress, threads), |ranks, _, to| ranks_on_switches(ranks, None, to))
}

/// Runs several jobs on a network of switches, some of which are programs; or only one of them.
pub(super) fn jobs_on_switches(
    study: &ResolvedStudy,
    (plan, only): (&Arc<SwitchedPlan>, Option<usize>),
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let config = jobs::of(study).expect("several jobs");
    let placed = plan.plan().jobs().expect("several jobs");
    let ranks = Ranks::of_jobs(study, config, placed, only)?;
    ranks.run((progress, threads), |ranks, is_alone, to| {
        ranks_on_switches(ranks, Some(plan).filter(|_| !is_alone), to)
    })
}

fn ranks_on_switches(
    ranks: &Ranks,
    traffic: Option<&Arc<SwitchedPlan>>,
    to: To,
) -> Result<RunResult, Problem> {
    let study = ranks.study;
    let (outline, s) = (study.switched(), &study.study);
    let machine = study.machine.switched().expect("a network of switches");
    let (network, nodes) = (&outline.config, outline.wiring.nodes());
    if let Some(nic) = &machine.aries {
        let jobs: Arc<[Job]> = [Job::new(PTAG, COOKIE, 0..nodes)].into();
        let (eager, credits) = (machine.messaging.eager_max_B, machine.messaging.credits);
        let nics = |numbers: &[u32]| {
            gni::nics_of(nic, network, &jobs, numbers, 1, s.seed, |gni| {
                let transport =
                    |rank| GniTransport::new(gni.device().clone(), &ranks.placement, rank, eager, credits);
                ranks.process(gni.node(), transport)
            })
        };
        return nodes_on_switches(ranks, traffic, nics, to);
    }
    if let Some(nic) = &machine.th {
        let nics = |numbers: &[u32]| {
            th::nics_of(nic, network, numbers, 1, s.seed, |slot| {
                let glex = Glex::new(slot);
                ranks.process(glex.node(), |rank| {
                    GlexTransport::new(glex.device().clone(), &ranks.placement, rank)
                })
            })
        };
        return nodes_on_switches(ranks, traffic, nics, to);
    }
    let mode = s.traffic.routing.mode().expect("it was checked");
    let format: Arc<dyn PacketFormat<TiledHeader>> =
        Arc::new(FlitPackets { network: Arc::clone(network), mode });
    nodes_on_switches(ranks, traffic, |numbers: &[u32]| ranks.port_nodes(numbers, &format, &[0]), to)
}

/// Runs nodes of a network of switches, which `host` makes, to the end of their programs.
fn nodes_on_switches<H: Host<TiledFamily> + Driver + TimeOuts + Programs>(
    ranks: &Ranks,
    traffic: Option<&Arc<SwitchedPlan>>,
    host: impl Fn(&[u32]) -> H,
    to: To,
) -> Result<RunResult, Problem> {
    let (network, s) = (&ranks.study.switched().config, &ranks.study.study);
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: FIFOS_OF_SWITCHES,
        window: ranks.study.window(),
        ..BuildOptions::default()
    };
    let Some(plan) = traffic else {
        return switches_to_the_end(ranks, None, TiledNetwork::new(network, &options, host), to);
    };
    let built = TiledNetwork::new(network, &options, |numbers| {
        let jobs = plan.plan().jobs().expect("several jobs");
        let fifos = (FIFOS_OF_SWITCHES, plan.injection_fifos());
        Beside::new(host(numbers), SwitchedTraffic::new(plan, numbers), fifos, jobs, numbers)
    });
    switches_to_the_end(ranks, traffic, built, to)
}

fn switches_to_the_end<H: Host<TiledFamily> + Driver + TimeOuts + Programs>(
    ranks: &Ranks,
    traffic: Option<&Arc<SwitchedPlan>>,
    built: Result<TiledNetwork<H>, ConfigError>,
    (progress, threads): To,
) -> Result<RunResult, Problem> {
    let built = built.map_err(|e| ranks.study.impossible(e))?;
    let readout = SwitchedReadout { offered: None, plan: traffic.cloned() };
    let build_s = ranks.begin.elapsed().as_secs_f64();
    let mut run = Run::new(ranks.study, readout, built, None, threads, build_s);
    let mut result = run.until_the_end(progress);
    let timeouts: u64 = run.network.blocks().map(|block| block.host().timeouts()).sum();
    if let Some(faults) = result.switched.as_mut().and_then(|switched| switched.faults.as_mut()) {
        faults.timeouts = timeouts;
    }
    ranks.finish(&mut result, &Processes::of(&mut run.network));
    Ok(result)
}

impl Driver for Nodes<PacketPort<TiledFamily>> {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, 0)
    }

    fn last(&self) -> Option<Time> {
        Some(Nodes::last(self))
    }
}

impl TimeOuts for Nodes<PacketPort<TiledFamily>> {
    fn timeouts(&self) -> u64 {
        0
    }
}
