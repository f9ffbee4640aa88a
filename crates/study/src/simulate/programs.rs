//! Programs of ranks, skeletons and traces, on any machine: over the packet layer of tori without a network interface of their own and of
//! plain networks of switches, over Message Units, over Aries, over TH Express NICs.

use super::course::Run;
use super::driver::{Driver, TimeOuts};
use super::family::RouterFamily;
use super::processes::Processes;
use super::reach;
use super::unloaded;
use crate::diagnose::Problem;
use crate::measure::switched::SwitchedReadout;
use crate::measure::torus::TorusReadout;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, ProgramFigures, RunResult};
use crate::run::ProgressSink;
use netloom_engine::Time;
use netloom_fabric::config::{ConfigError, Outline, TiledConfig};
use netloom_fabric::host::Family;
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::Steps;
use netloom_messaging::glex::Glex;
use netloom_messaging::gni;
use netloom_messaging::rank::{Rank, RankReport};
use netloom_messaging::spi;
use netloom_messaging::transit::{Hops, Transit, Unloaded};
use netloom_messaging::transport::Transport;
use netloom_messaging::transports::glex::GlexTransport;
use netloom_messaging::transports::gni::{COOKIE, GniTransport, PTAG};
use netloom_messaging::transports::packets::{PacketFormat, Packets, Placement};
use netloom_messaging::transports::spi::SpiTransport;
use netloom_nic::aries::address::Job;
use netloom_nic::detour;
use netloom_nic::fifo::FifoNic;
use netloom_nic::message_unit::NETWORK_FIFOS;
use netloom_nic::packet_port::{NewPacket, OnFifos, PacketPort, PortMemory, Watch};
use netloom_nic::th;
use netloom_node::nodes::{CoreOf, NetworkInterface, NewProcess, Nodes};
use netloom_node::process::{Operations, Process, Resumed, Step};
use netloom_node::time::Microticks;
use netloom_workload::config::{Priority, Routing, WorkloadConfig};
use netloom_workload::goal::{self, replay::Replay};
use netloom_workload::mapping::{HopStatistics, Mapping, MappingConfig, MappingError, Shape};
use netloom_workload::program::Program;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Messages as (from, to, bytes).
type Messages = Vec<(u32, u32, u64)>;

/// The ranks of a run: their programs until nodes are made of them, and their reports.
struct Ranks<'a> {
    study: &'a ResolvedStudy,
    programs: Vec<Mutex<Option<Box<dyn Program>>>>,
    reports: Vec<Arc<Mutex<RankReport>>>,
    placement: Arc<Placement>,
    transit: Arc<Transit>,
    hops: Option<HopStatistics>,
    begin: Instant,
}

/// A node without a rank.
struct Nobody;

impl<C, W> Process<C, W> for Nobody {
    fn resume(&mut self, _: Microticks, _: Resumed, _: &mut Operations<C, W>) -> Step {
        Step::Ended(Ok(()))
    }
}

impl<'a> Ranks<'a> {
    /// Those of a study.
    fn new(study: &'a ResolvedStudy, workload: &WorkloadConfig) -> Result<Self, Problem> {
        let (begin, s) = (Instant::now(), &study.study);
        let at = |key: &str, message: String| study.impossible(ConfigError { key: key.into(), message });
        let (programs, messages) = programs(workload, &study.directory).map_err(|e| study.impossible(e))?;
        let ranks = programs.len() as u32;
        // A network of switches is to the mapping a line of nodes.
        let (dims, wraps) = match study.network.torus() {
            Some(torus) => (
                torus.topology.dims.clone(),
                (0..torus.topology.dims.len()).map(|d| study.torus().wraps(d)).collect(),
            ),
            None => (vec![study.network.nodes() as u32], vec![false]),
        };
        let shape = Shape::new(&dims, &wraps).map_err(|e| Problem::new(e.to_string()))?;
        let mut mapping = s.mapping.clone();
        if let MappingConfig::File(file) = &mut mapping {
            *file = study.directory.join(&*file).to_string_lossy().into_owned();
        }
        let mapping = Mapping::new(&mapping, &shape, ranks, s.seed).map_err(|e| match e {
            MappingError::TooManyRanks { .. } => at("workload", e.to_string()),
            _ => at("mapping", e.to_string()),
        })?;
        if study.network.torus().is_some() {
            reach::check(study, mapping.nodes(), &messages).map_err(|e| study.impossible(e))?;
        }
        let hops = study.network.torus().map(|_| mapping.hop_statistics(&shape, messages.iter().copied()));
        let placement = Arc::new(Placement::new(mapping.nodes()));
        let transit =
            Transit::new(ranks, unloaded::hops(study, &shape, mapping.nodes()), Unloaded::default());
        Ok(Ranks { hops, begin, ..Ranks::of(study, programs, &placement, transit) })
    }

    /// Ranks with these programs on the nodes of a placement.
    fn of(
        study: &'a ResolvedStudy,
        programs: Vec<Box<dyn Program>>,
        placement: &Arc<Placement>,
        transit: Transit,
    ) -> Self {
        Ranks {
            study,
            reports: programs.iter().map(|_| Arc::default()).collect(),
            programs: programs.into_iter().map(|p| Mutex::new(Some(p))).collect(),
            placement: Arc::clone(placement),
            transit: Arc::new(transit),
            hops: None,
            begin: Instant::now(),
        }
    }

    /// Runs these ranks: before, others on the same nodes measure what messages take when there is nothing else.
    fn run(
        mut self,
        on: impl Fn(&Self, &dyn ProgressSink) -> Result<RunResult, Problem>,
        progress: &dyn ProgressSink,
    ) -> Result<RunResult, Problem> {
        let ranks = self.reports.len() as u32;
        let hops = Arc::clone(&self.transit);
        let hops = move || -> Hops {
            let hops = Arc::clone(&hops);
            Box::new(move |a, b| hops.hops(a, b))
        };
        // Where something is out of order, a rank may be out of the first one's reach.
        let is_whole = self.study.network.torus().is_none_or(|torus| detour::planner(torus).is_none());
        if is_whole && let Some(programs) = unloaded::programs(ranks, &hops()) {
            let transit = Transit::new(ranks, hops(), Unloaded::default()).observing();
            let alone = Ranks::of(self.study, programs, &self.placement, transit);
            on(&alone, &unloaded::Unseen(progress))?;
            self.transit = Arc::new(Transit::new(ranks, hops(), alone.transit.unloaded()));
        }
        self.begin = Instant::now();
        on(&self, progress)
    }

    fn steps(&self) -> Steps {
        Steps::new(self.study.machine.messaging(), self.study.machine.ticks_per_second())
    }

    /// The process of a node: its rank over a transport, if it has one.
    fn process<T: Transport + 'static>(
        &self,
        node: u32,
        transport: impl FnOnce(u32) -> T,
    ) -> Box<dyn Process<T::Command, T::Watch>> {
        let Some(rank) = self.placement.rank(node) else { return Box::new(Nobody) };
        let program = self.programs[rank as usize].lock().expect("no panic before").take();
        let program = program.expect("each rank runs on one node");
        let machine = &self.study.machine;
        let report = &self.reports[rank as usize];
        let (config, second) = (machine.messaging(), machine.ticks_per_second());
        Box::new(Rank::new(rank, transport(rank), program, config, second, &self.transit, report))
    }

    /// Nodes that put packets into the network themselves.
    fn port_nodes<F: Family<Header: 'static>>(
        &self,
        numbers: &[u32],
        format: &Arc<dyn PacketFormat<F::Header>>,
        lanes: &[usize],
    ) -> Nodes<PacketPort<F>> {
        let process = |node, _, memory: &Arc<Mutex<PortMemory<F::Header>>>| {
            let core = CoreOf::<PacketPort<F>>::default();
            let own = (node, self.study.study.seed);
            let packets =
                |_| Packets::new(core.clone(), memory, format, &self.placement, own, lanes, self.steps());
            let process: Box<dyn Process<NewPacket<F::Header>, Watch>> = self.process(node, packets);
            NewProcess { process, core }
        };
        Nodes::new(Arc::new(()), numbers, 1, self.study.study.seed, process)
    }

    /// Adds to a result what the programs did, once they have run.
    fn finish(&self, result: &mut RunResult, processes: &Processes) {
        let ranks = self.reports.len() as u32;
        let us = |time: Microticks| self.study.micros(1) * time.0 as f64 / 1e6;
        let mut figures = ProgramFigures { ranks, ..ProgramFigures::default() };
        let (mut ends, mut waiting) = (vec![], vec![]);
        for (rank, report) in self.reports.iter().enumerate() {
            let report = report.lock().expect("the run is over");
            figures.messages += report.messages;
            figures.message_bytes += report.message_bytes;
            figures.rendezvous += report.rendezvous;
            figures.compute_us += us(report.compute) / f64::from(ranks);
            figures.software_us += us(report.software) / f64::from(ranks);
            figures.injection_us += us(report.injection) / f64::from(ranks);
            figures.partner_us += us(report.partner) / f64::from(ranks);
            figures.wire_us += us(report.wire) / f64::from(ranks);
            figures.queueing_us += us(report.queueing) / f64::from(ranks);
            match report.ended_at {
                Some(end) => ends.push(us(end)),
                None => waiting.push((rank, report.waits_for)),
            }
        }
        figures.last_end_us = ends.iter().copied().fold(0.0, f64::max);
        figures.mean_end_us = ends.iter().sum::<f64>() / (ends.len() as f64).max(1.0);
        if let Some(hops) = &self.hops {
            figures.mean_hops_by_bytes = hops.mean_of_bytes();
            figures.mean_hops_by_messages = hops.mean_of_messages();
        }
        result.totals.payload_bytes = result.totals.payload_bytes.max(figures.message_bytes);
        result.simulated.run_time_us = result.simulated.run_time_us.map(|_| figures.last_end_us);
        result.programs = Some(figures);
        if processes.has_failures() {
            processes.judge(result, ranks);
        } else if result.simulated.ended == Ended::Finished && !waiting.is_empty() {
            let told = waiting.iter().take(4).map(|(rank, awaited)| {
                let receive = awaited.map_or("nothing that can come".into(), |(source, tag)| {
                    let word = |x: Option<u32>| x.map_or("any".to_owned(), |x| x.to_string());
                    format!("a message from rank {} with tag {}", word(source), word(tag))
                });
                format!("rank {rank} waits for {receive}")
            });
            let told: Vec<String> = told.collect();
            let why = format!("{} of {ranks} ranks never end: {}", waiting.len(), told.join("; "));
            result.ended_early(Ended::Stalled, why);
        }
    }
}

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

/// Runs the programs of a study on a torus.
pub(super) fn on_torus<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    workload: &WorkloadConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    Ranks::new(study, workload)?
        .run(|ranks, progress| ranks_on_torus(family, ranks, progress, threads), progress)
}

fn ranks_on_torus<F: RouterFamily>(
    family: &F,
    ranks: &Ranks,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let study = ranks.study;
    let (network, machine, s) = (study.torus(), study.torus_machine(), &study.study);
    let nic = &machine.nic;
    let mut options = BuildOptions {
        seed: s.seed,
        window: study.window(),
        unblocking: s.measure.unblocking,
        counters: s.measure.counters.then(CounterMasks::default),
        smallest_chunks: 1,
        ..BuildOptions::default()
    };
    let seconds = |ranks: &Ranks| ranks.begin.elapsed().as_secs_f64();
    if let (Some(unit), Some(family)) = (&machine.message_unit, family.with_message_units()) {
        options.injection_fifos = NETWORK_FIFOS;
        let built = family.build(&options, |numbers| {
            spi::units_of(unit, network, numbers, 1, s.seed, |spi| {
                ranks.process(spi.node(), |_| SpiTransport::new(spi.clone(), &ranks.placement, ranks.steps()))
            })
        });
        let built = built.map_err(|e| study.impossible(e))?;
        let mut run = Run::new(study, TorusReadout::default(), built, None, threads, seconds(ranks));
        let mut result = run.until_the_end(progress);
        let processes = Processes::of(&mut run.network);
        ranks.finish(&mut result, &processes);
        return Ok(result);
    }
    options.injection_fifos = FifoNic::<OnFifos>::injection_fifos(nic);
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
    let built = family.build(&options, |numbers| {
        FifoNic::new(nic, network, numbers, OnFifos::new(ranks.port_nodes(numbers, &format, &lanes)))
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, TorusReadout::default(), built, None, threads, seconds(ranks));
    let mut result = run.until_the_end(progress);
    let mut processes = Processes::default();
    run.network.blocks().for_each(|block| processes.add(&block.host().software().nodes));
    ranks.finish(&mut result, &processes);
    Ok(result)
}

/// Runs the programs of a study on a network of switches.
pub(super) fn on_switches(
    study: &ResolvedStudy,
    workload: &WorkloadConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    Ranks::new(study, workload)?.run(|ranks, progress| ranks_on_switches(ranks, progress, threads), progress)
}

fn ranks_on_switches(
    ranks: &Ranks,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let study = ranks.study;
    let (outline, s) = (study.switched(), &study.study);
    let machine = study.machine.switched().expect("a network of switches");
    let (network, nodes) = (&outline.config, outline.wiring.nodes());
    let options =
        BuildOptions { seed: s.seed, injection_fifos: 2, window: study.window(), ..BuildOptions::default() };
    let to = (progress, threads);
    if let Some(nic) = &machine.aries {
        let jobs: Arc<[Job]> = [Job::new(PTAG, COOKIE, 0..nodes)].into();
        let (eager, credits) = (machine.messaging.eager_max_B, machine.messaging.credits);
        let built = TiledNetwork::new(network, &options, |numbers| {
            gni::nics_of(nic, network, &jobs, numbers, 1, s.seed, |gni| {
                let transport = |rank| GniTransport::new(gni.clone(), &ranks.placement, rank, eager, credits);
                ranks.process(gni.node(), transport)
            })
        });
        return on_nics(ranks, built, to);
    }
    if let Some(nic) = &machine.th {
        let built = TiledNetwork::new(network, &options, |numbers| {
            th::nics_of(nic, network, numbers, 1, s.seed, |slot| {
                let glex = Glex::new(slot);
                ranks.process(glex.node(), |rank| GlexTransport::new(glex.clone(), &ranks.placement, rank))
            })
        });
        return on_nics(ranks, built, to);
    }
    let mode = s.traffic.routing.mode().expect("it was checked");
    let format: Arc<dyn PacketFormat<TiledHeader>> =
        Arc::new(FlitPackets { network: Arc::clone(network), mode });
    let built = TiledNetwork::new(network, &options, |numbers| ranks.port_nodes(numbers, &format, &[0]));
    on_nics(ranks, built, to)
}

/// Runs nodes of a network of switches to the end of their programs.
fn on_nics<N: NetworkInterface<Family = TiledFamily>>(
    ranks: &Ranks,
    built: Result<TiledNetwork<Nodes<N>>, ConfigError>,
    (progress, threads): (&dyn ProgressSink, usize),
) -> Result<RunResult, Problem>
where
    Nodes<N>: Driver + TimeOuts,
{
    let built = built.map_err(|e| ranks.study.impossible(e))?;
    let readout = SwitchedReadout { offered: None, plan: None };
    let build_s = ranks.begin.elapsed().as_secs_f64();
    let mut run = Run::new(ranks.study, readout, built, None, threads, build_s);
    let mut result = run.until_the_end(progress);
    let timeouts: u64 = run.network.blocks().map(|block| block.host().timeouts()).sum();
    if let Some(faults) = result.switched.as_mut().and_then(|switched| switched.faults.as_mut()) {
        faults.timeouts = timeouts;
    }
    let processes = Processes::of(&mut run.network);
    ranks.finish(&mut result, &processes);
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

/// The programs of a skeleton or a trace, and the messages that are known beforehand, for the statistics of the mapping.
fn programs(
    workload: &WorkloadConfig,
    directory: &std::path::Path,
) -> Result<(Vec<Box<dyn Program>>, Messages), ConfigError> {
    match workload {
        WorkloadConfig::Trace(trace) => {
            let loaded = goal::load(directory.join(&trace.file))
                .map_err(|e| ConfigError { key: "workload.file".into(), message: e.to_string() })?;
            let messages = loaded.messages().collect();
            let programs = Replay::programs(&Arc::new(loaded)).into_iter().map(|p| Box::new(p) as Box<_>);
            Ok((programs.collect(), messages))
        }
        WorkloadConfig::Skeleton(skeleton) => {
            let programs = skeleton.programs()?.into_iter().map(|p| Box::new(p) as Box<_>);
            Ok((programs.collect(), vec![]))
        }
        _ => unreachable!("only these are programs of ranks"),
    }
}
