//! Either model run on a list of packets, and its means.

use crate::load::FIFOS_NORMAL;
use crate::reference_queued::Reference;
use crate::reference_queued::packet::{Class, PacketSpec};
use crate::reference_queued::rules::VCS;
use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached};
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, NodeBlock, WindowRecord};
use std::collections::HashMap;

/// Ticks of a cycle.
pub const CYCLE: u64 = 16;

/// Means over a window, of either model.
#[derive(Debug, Default)]
pub struct Figures {
    pub utilization: f64,
    /// Packets a cycle.
    pub delivered: f64,
    /// Chunks, by VC of a receiver.
    pub occupancy: [f64; VCS],
    /// Of the packets delivered in the window, cycles.
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

/// The reference with a list of packets, until it has gone so many cycles, or else until it is at rest. When each packet of
/// the list was delivered.
pub fn run_reference(
    config: &QueuedConfig,
    list: &[Packet],
    to: Option<u64>,
) -> (Reference, Vec<Option<u64>>) {
    let mut reference = Reference::new(config, 11);
    // An injection FIFO has its packets in the list's order, like the fabric's hosts.
    let numbers: Vec<usize> = list
        .iter()
        .map(|p| {
            let class = match p.flags {
                _ if p.system => Class::System,
                Header::HIGH => Class::High,
                Header::STATIC => Class::Deterministic,
                _ => Class::Dynamic { zone: p.zone.into() },
            };
            let (destination, made_at) = (p.destination as usize, p.made / CYCLE);
            let spec = PacketSpec { destination, chunks: p.chunks, class, made_at };
            reference.inject(p.source as usize, p.fifo, spec)
        })
        .collect();
    while to.map_or(!reference.at_rest(), |to| reference.now < to) {
        reference.step();
        assert!(reference.now < 10_000_000, "the reference does not drain");
    }
    let delivered = numbers.iter().map(|&n| reference.packets[n].delivered_at).collect();
    (reference, delivered)
}

pub fn by_reference(config: &QueuedConfig, list: &[Packet], saturated: bool, from: u64, to: u64) -> Figures {
    let (reference, delivered) = run_reference(config, list, saturated.then_some(to));
    let fifos: Vec<_> = reference.nodes.iter().flat_map(|n| &n.fifos[..FIFOS_NORMAL]).collect();
    let idle = fifos.iter().filter(|fifo| fifo.queue.is_empty()).count();
    assert!(!saturated || 50 * idle < fifos.len(), "{idle} of {} FIFOs ran out of packets", fifos.len());
    let mut last = HashMap::new();
    for (p, at) in list.iter().zip(&delivered).filter_map(|(p, at)| Some((p, (*at)?))) {
        let ordered = p.system || p.flags != 0;
        // From one FIFO to one node on one VC. Packets that are made later are later in the list.
        let before = last.insert((p.source, p.fifo, p.destination, p.flags, p.system), at);
        assert!(!ordered || before.is_none_or(|b| b < at), "the reference let {p:?} overtake");
    }
    let means = reference.statistics.means(from, to);
    let latencies = list.iter().zip(&delivered).filter_map(|(p, at)| Some(((*at)?, p.made / CYCLE)));
    let latencies: Vec<u64> =
        latencies.filter(|(at, _)| (from..to).contains(at)).map(|(at, made)| at - made).collect();
    Figures {
        utilization: means.utilization(),
        delivered: means.delivered,
        occupancy: std::array::from_fn(|vc| means.chunks[vc]),
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
    }
}

fn fabric(config: &QueuedConfig, list: &[Packet]) -> QueuedNetwork<ScriptHost> {
    let options = BuildOptions { injection_fifos: 16, window: 100 * CYCLE, ..BuildOptions::default() };
    QueuedNetwork::new(config, &options, |n| ScriptHost::new(&config.topology, list, n)).expect("buildable")
}

/// When each packet of a list was delivered, cycles.
pub fn run_fabric(config: &QueuedConfig, list: &[Packet]) -> Vec<Option<u64>> {
    let mut network = fabric(config, list);
    assert_eq!(network.run_until(u64::MAX, 1, &Progress::default()), Reached::Idle);
    let mut at = vec![None; list.len()];
    for &(number, _, tick) in network.blocks().flat_map(|b| &b.host().delivered) {
        assert!(tick.is_multiple_of(CYCLE), "a delivery between cycles");
        at[number as usize] = Some(tick / CYCLE);
    }
    at
}

pub fn by_fabric(config: &QueuedConfig, list: &[Packet], saturated: bool, from: u64, to: u64) -> Figures {
    let mut network = fabric(config, list);
    let reached = network.run_until(if saturated { to * CYCLE } else { u64::MAX }, 1, &Progress::default());
    if !saturated {
        assert_eq!((reached, network.unrest()), (Reached::Idle, vec![]));
        assert_eq!(network.totals().latency.count(), list.len() as u64);
    }
    let links = network.links().len() as f64;
    let windows = &network.windows()[(from / 100) as usize..(to / 100) as usize];
    let sum = |f: &dyn Fn(&WindowRecord) -> u64| windows.iter().map(f).sum::<u64>() as f64;
    let ticks = ((to - from) * CYCLE) as f64;
    Figures {
        utilization: sum(&|w| w.busy) / (ticks * links),
        delivered: sum(&|w| w.delivered) / (to - from) as f64,
        occupancy: std::array::from_fn(|vc| sum(&|w| w.occupancy[vc]) / (ticks * links)),
        latency: sum(&|w| w.latency) / (sum(&|w| w.delivered) * CYCLE as f64),
    }
}
