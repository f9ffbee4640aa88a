//! Runs of both models on a list of packets, and their means.

use crate::agreement_queued::load::{FIFOS_NORMAL, SYSTEM_COLLECTIVE};
use crate::agreement_queued::reference_queued::collective::{
    Arrival, CollectivePacket, Kind, Purpose, Words,
};
use crate::agreement_queued::reference_queued::packet::{Class, PacketSpec};
use crate::agreement_queued::reference_queued::rules::VCS;
use crate::agreement_queued::reference_queued::{self, Reference};
use crate::traffic::script::{Collected, Packet, Routed, ScriptHost, carries_a_word};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::collective::{ClassRoute, Delivers, RouteKind};
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock, WindowRecord};
use netloom_fabric::topology::torus::Torus;
use std::collections::HashMap;

/// Ticks of a cycle.
pub const CYCLE: u64 = 16;

/// Means over a window, of either model.
#[derive(Debug, Default)]
pub struct Figures {
    pub utilization: f64,
    /// Packets per cycle.
    pub delivered: f64,
    /// Chunks, by VC of a receiver.
    pub occupancy: [f64; VCS],
    /// Latency of the packets delivered in the window, cycles.
    pub latency: f64,
}

impl Figures {
    pub fn mean(runs: &[Figures]) -> Self {
        let mean = |f: &dyn Fn(&Figures) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
        Figures {
            utilization: mean(&|r| r.utilization),
            delivered: mean(&|r| r.delivered),
            occupancy: std::array::from_fn(|vc| mean(&|r| r.occupancy[vc])),
            latency: mean(&|r| r.latency),
        }
    }
}

/// A run of a model.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub config: &'a QueuedConfig,
    pub routed: &'a [Routed],
    pub list: &'a [Packet],
    /// The last cycle, or until the model is idle.
    pub to: Option<u64>,
    /// Seed of the model's own choices.
    pub seed: u64,
}

impl<'a> Run<'a> {
    /// A list of packets, until all is idle.
    pub fn new(config: &'a QueuedConfig, list: &'a [Packet]) -> Self {
        Run { config, routed: &[], list, to: None, seed: 1 }
    }
}

/// A collective packet that arrived in a node's reception FIFO, in either model. Times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrived {
    pub node: u32,
    pub class: usize,
    pub at: u64,
    /// Creation time of the oldest packet combined in it.
    pub made: u64,
    pub is_system: bool,
    /// The sum of these packets' numbers in the list, if they carry them.
    pub sum: u64,
}

/// A class route's kind in the reference.
fn kind_of(kind: RouteKind) -> Kind {
    match kind {
        RouteKind::UserCommworld => Kind::Commworld,
        RouteKind::System => Kind::System,
        RouteKind::UserSubcomm => Kind::Subcomm,
    }
}

/// The reference with class routes, before anything is sent.
fn reference(run: &Run) -> Reference {
    let mut reference = Reference::new(run.config, 10 + run.seed);
    for &(node, class, ClassRoute { kind, inputs, output, local }) in run.routed {
        let inputs = (0..16).filter(|port| inputs >> port & 1 != 0).collect();
        let route = reference_queued::collective::ClassRoute {
            kind: kind_of(kind),
            inputs,
            output: output.map(usize::from),
            local,
        };
        reference.set_class_route(node as usize, class, route);
    }
    reference
}

/// A collective packet of a list in the reference's form.
fn collective(config: &QueuedConfig, packet: &Packet, number: usize) -> Option<CollectivePacket> {
    let header = packet.collective?;
    Some(CollectivePacket {
        class: header.class.into(),
        kind: kind_of(header.kind),
        purpose: match header.delivers {
            Delivers::Broadcast => Purpose::Broadcast,
            Delivers::AllReduce => Purpose::AllReduce,
            Delivers::Reduce(to) => Purpose::Reduce(Torus::new(&config.topology).node(to) as usize),
        },
        words: if header.operation.is_double() { Words::Doubles } else { Words::Integers },
        chunks: header.chunks,
        made_at: packet.made / CYCLE,
        value: if carries_a_word(&header) { number as u64 } else { 0 },
    })
}

/// The reference, and the tick at which each point-to-point packet of the list was delivered.
pub fn run_reference(run: &Run) -> (Reference, Vec<Option<u64>>) {
    let mut reference = reference(run);
    // An injection FIFO has its packets in the list's order, like the fabric's hosts.
    let inject = |(i, p): (usize, &Packet)| {
        if let Some(packet) = collective(run.config, p, i) {
            reference.contribute(p.source as usize, packet);
            return None;
        }
        let class = match p.flags {
            _ if p.system => Class::System,
            Header::HIGH => Class::High,
            Header::STATIC => Class::Deterministic,
            _ => Class::Dynamic { zone: p.zone.into() },
        };
        let (destination, made_at) = (p.destination as usize, p.made / CYCLE);
        let spec = PacketSpec { destination, chunks: p.chunks, class, made_at };
        Some(reference.inject(p.source as usize, p.fifo, spec))
    };
    let numbers: Vec<Option<usize>> = run.list.iter().enumerate().map(inject).collect();
    while run.to.map_or(!reference.at_rest(), |to| reference.now < to) {
        reference.step();
        assert!(reference.now < 10_000_000, "the reference does not drain");
    }
    let delivered = |n: &Option<usize>| Some(reference.packets[(*n)?].delivered_at? * CYCLE);
    let delivered = numbers.iter().map(delivered).collect();
    (reference, delivered)
}

/// The collective packets that arrived in the reference, in order.
pub fn arrived_in_reference(reference: &Reference) -> Vec<Arrived> {
    let of = |a: &Arrival| Arrived {
        node: a.node as u32,
        class: a.packet.class,
        at: a.at * CYCLE,
        made: a.packet.made_at * CYCLE,
        is_system: a.packet.kind == Kind::System,
        sum: a.packet.value,
    };
    let mut arrived: Vec<Arrived> = reference.arrivals.iter().map(of).collect();
    arrived.sort_unstable();
    arrived
}

pub fn by_reference(config: &QueuedConfig, list: &[Packet], saturated: bool, from: u64, to: u64) -> Figures {
    let (reference, delivered) =
        run_reference(&Run { to: saturated.then_some(to), ..Run::new(config, list) });
    let fifos: Vec<_> = reference.nodes.iter().flat_map(|n| &n.fifos[..FIFOS_NORMAL]).collect();
    let idle = fifos.iter().filter(|fifo| fifo.queue.is_empty()).count();
    assert!(!saturated || 50 * idle < fifos.len(), "{idle} of {} FIFOs ran out of packets", fifos.len());
    let mut last = HashMap::new();
    for (p, at) in list.iter().zip(&delivered).filter_map(|(p, at)| Some((p, (*at)?))) {
        let ordered = p.system || p.flags != 0;
        // From one FIFO to one node on one VC. Packets created later are later in the list.
        let before = last.insert((p.source, p.fifo, p.destination, p.flags, p.system), at);
        assert!(!ordered || before.is_none_or(|b| b < at), "the reference let {p:?} overtake");
    }
    let means = reference.statistics.means(from, to);
    let of = list.iter().zip(&delivered).filter_map(|(p, at)| Some(((*at)? / CYCLE, p.made / CYCLE)));
    let latencies: Vec<u64> =
        of.filter(|(at, _)| (from..to).contains(at)).map(|(at, made)| at - made).collect();
    Figures {
        utilization: means.utilization(),
        delivered: means.delivered,
        occupancy: std::array::from_fn(|vc| means.chunks[vc]),
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
    }
}

/// The fabric, and the tick at which each point-to-point packet of the list was delivered.
pub fn run_fabric(run: &Run) -> (QueuedNetwork<ScriptHost>, Vec<Option<u64>>) {
    let &Run { config, routed, list, to, seed } = run;
    let options = BuildOptions { injection_fifos: 16, window: 100 * CYCLE, seed, ..BuildOptions::default() };
    let host = |n: &[u32]| ScriptHost::new(&config.topology, list, n).with_routes(routed);
    let mut network = QueuedNetwork::new(config, &options, host).expect("buildable");
    let reached = network.run_until(Time::at(to.map_or(u64::MAX, |to| to * CYCLE)), 1, &Progress::default());
    assert!(to.is_some() || (reached, network.unrest()) == (Reached::Idle, vec![]));
    let mut at = vec![None; list.len()];
    for &(number, _, tick) in network.blocks().flat_map(|b| &b.host().delivered) {
        at[number as usize] = Some(tick);
    }
    (network, at)
}

/// The collective packets that arrived in the fabric, in order.
pub fn arrived_in_fabric(network: &mut QueuedNetwork<ScriptHost>) -> Vec<Arrived> {
    let of = |c: &Collected| Arrived {
        node: c.node,
        class: c.header.class.into(),
        at: c.at,
        made: c.made,
        is_system: c.port == SYSTEM_COLLECTIVE,
        sum: c.word.unwrap_or(0),
    };
    let mut arrived: Vec<Arrived> =
        network.blocks().flat_map(|b| b.host().collected.iter().map(of).collect::<Vec<_>>()).collect();
    arrived.sort_unstable();
    arrived
}

/// Sums of the statistics between two cycles, and the ticks of all links in that time.
pub fn counted(network: &mut QueuedNetwork<ScriptHost>, from: u64, to: u64) -> (WindowRecord, f64) {
    let mut sum = WindowRecord::default();
    network.windows()[(from / 100) as usize..(to / 100) as usize].iter().for_each(|w| sum.merge(w));
    (sum, ((to - from) * CYCLE * network.links().len() as u64) as f64)
}

pub fn by_fabric(config: &QueuedConfig, list: &[Packet], saturated: bool, from: u64, to: u64) -> Figures {
    let run = Run { to: saturated.then_some(to), ..Run::new(config, list) };
    let mut network = run_fabric(&run).0;
    assert!(saturated || network.totals().latency.count() == list.len() as u64);
    let (sum, link_ticks) = counted(&mut network, from, to);
    Figures {
        utilization: sum.busy as f64 / link_ticks,
        delivered: sum.delivered as f64 / (to - from) as f64,
        occupancy: std::array::from_fn(|vc| sum.occupancy[vc] as f64 / link_ticks),
        latency: sum.latency as f64 / (sum.delivered * CYCLE) as f64,
    }
}
