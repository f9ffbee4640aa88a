//! The traffic of a torus: the plan of all machines, distributed over lanes.
//!
//! Each lane of a node (an injection FIFO, if FIFOs are infinite) goes through its own packets: those
//! numbered `lane, lane + lanes, ...` in the node's sequence, as if software had distributed them over the
//! FIFOs in turn, as early as possible (Blumrich et al., section 3); or those in its direction, skipping the
//! others.

use super::pattern::Pattern;
use super::phases::Phases;
use super::plan::{Plan, Rate, Streams};
use super::source::Share;
use super::torus::TorusTraffic;
use crate::config::{Load, Priority, Routing, TrafficConfig, WorkloadConfig, per_tick};
use netloom_fabric::config::Outline;
use netloom_fabric::packet::Header;
use netloom_fabric::routing::faults::Planner;
use netloom_fabric::routing::hints::Compass;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig};
use netloom_nic::detour;
use netloom_nic::fifo::FifoNic;

/// The random streams of nodes of tori: one for each lane.
const STREAMS: Streams = Streams { purpose: 4, lane_bits: 8 };

/// The traffic of a torus.
#[derive(Debug)]
pub struct TorusPlan {
    pub(super) plan: Plan,
    pub(super) torus: Torus,
    pub(super) compass: Compass,
    /// Reachability, if anything has failed.
    pub(super) planner: Option<Planner>,
    pub(super) zone: u8,
    /// The phases of an all-to-all, if it has several.
    pub(super) phases: Option<Phases>,
    /// Bytes of a chunk, and of a packet's headers.
    pub(super) chunk_bytes: u32,
    pub(super) header_bytes: u32,
    /// The lanes of a node: for each rate of the plan, and last those of a silent node.
    pub(super) lanes: Vec<Lane>,
    pub(super) lanes_each: usize,
    pub(super) dealing: Dealing,
}

/// The part of a node's packets in a lane.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub share: Share,
    /// The lane's index among the FIFOs of a set and priority, and the number of those, if it accepts only
    /// some of the packets of its share.
    pub fifo: Option<(usize, usize)>,
    /// Flags of a header.
    pub flags: u16,
    /// Whether it is for packets that the node forwards, and not for its own.
    pub forwards: bool,
}

impl Lane {
    fn is_high(&self) -> bool {
        self.flags & Header::HIGH != 0
    }
}

impl TorusPlan {
    /// From checked configurations.
    pub fn new(
        pattern: Pattern,
        (workload, traffic): (&WorkloadConfig, &TrafficConfig),
        network: &Outline,
        nic: &FifoConfig,
        seed: u64,
    ) -> Self {
        let mut sizes = traffic.packet_chunks.clone();
        sizes.or_full(network.packet.chunks_max);
        let torus = Torus::new(&network.topology);
        let rate = |pattern: &Pattern, traffic: &TrafficConfig| {
            let offered = packets_a_tick(pattern, traffic, sizes.mean_chunks(), network, &torus, seed);
            Rate { offered, interval: offered.map_or(0.0, |rate| 1.0 / rate), ..Rate::default() }
        };
        let plan = Plan::new(pattern, (workload, traffic), sizes.0.clone(), (seed, STREAMS), rate);
        let phases = Phases::new(workload, &torus);
        let deal = dealt(traffic, nic, phases.is_some());
        let mut lanes = vec![];
        for rate in plan.rates() {
            lanes.extend(deal.iter().map(|lane| lane_at(lane, rate, &deal, traffic, nic)));
        }
        lanes.extend(deal.iter().cloned());
        let packet = &network.packet;
        TorusPlan {
            planner: detour::planner(network),
            compass: Compass::new(&torus, network.halfway_tie),
            torus,
            zone: traffic.zone,
            phases,
            chunk_bytes: packet.chunk_B,
            header_bytes: packet.header_B + packet.software_header_B,
            lanes,
            lanes_each: deal.len(),
            dealing: nic.dealing,
            plan,
        }
    }

    /// The same with only one job sending.
    pub fn alone(self, job: usize) -> Self {
        TorusPlan { plan: self.plan.alone(job), ..self }
    }

    /// The machine-independent part.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Start of a node's lanes.
    pub(super) fn lanes_of(&self, node: u32) -> usize {
        let silent = self.plan.rates().len();
        self.plan.rate_of(node).unwrap_or(silent) * self.lanes_each
    }
}

/// The fractions of normal and of high-priority packets.
fn by_priority(traffic: &TrafficConfig) -> [f64; 2] {
    let high = match traffic.priority {
        Priority::High => 1.0,
        Priority::Normal => traffic.high_fraction,
    };
    [1.0 - high, high]
}

/// If the interface distributes packets over finite FIFOs, or packets are distributed in turn, lanes share by
/// number alone.
fn is_by_direction(nic: &FifoConfig) -> bool {
    nic.dealing == Dealing::FirstDirection && nic.injection_fifo_B.is_none()
}

/// The lanes of a silent node: their FIFOs, and the first packet of each in a sequence.
fn dealt(traffic: &TrafficConfig, nic: &FifoConfig, in_phases: bool) -> Vec<Lane> {
    let is_high = |lane: usize| {
        if nic.injection_fifo_B.is_some() {
            lane % 2 == 1
        } else {
            lane % (nic.injection_normal + nic.injection_high) as usize >= nic.injection_normal as usize
        }
    };
    let by_direction = is_by_direction(nic);
    let of_set = [nic.injection_normal as usize, nic.injection_high as usize];
    let mut peers = [0; 2];
    let lane = |lane: usize| {
        let high = is_high(lane);
        let place = peers[usize::from(high)];
        peers[usize::from(high)] += 1;
        let fifos = of_set[usize::from(high)];
        let fifo = by_direction.then(|| (place % fifos, fifos));
        let in_phases = in_phases && !high;
        let start = match (by_direction, in_phases) {
            (true, _) => place / fifos,
            (false, true) => place / 2,
            (false, false) => place,
        };
        let forwards = in_phases && place % 2 == 1;
        let mut flags = if high { Header::HIGH } else { 0 };
        if traffic.routing == Routing::Static {
            flags |= Header::STATIC;
        }
        Lane { share: Share { start: start as u64, ..Share::default() }, fifo, flags, forwards }
    };
    (0..FifoNic::<TorusTraffic>::lanes(nic)).map(lane).collect()
}

/// A lane of a node that sends at a rate.
fn lane_at(lane: &Lane, rate: &Rate, all: &[Lane], traffic: &TrafficConfig, nic: &FifoConfig) -> Lane {
    let shares = by_priority(traffic);
    let limit = shares.map(|share| match rate.limit {
        _ if share == 0.0 => Some(0),
        limit => limit.map(|n| (n as f64 * share).round() as u64),
    });
    let high = lane.is_high();
    let step = match is_by_direction(nic) {
        true => nic.sets().into(),
        false => all.iter().filter(|peer| peer.is_high() == high && !peer.forwards).count() as u64,
    };
    let interval = rate.offered.map_or(0.0, |offered| 1.0 / (offered * shares[usize::from(high)]));
    let share = Share {
        step,
        interval: interval * step as f64,
        end: limit[usize::from(high)].unwrap_or(u64::MAX),
        // High-priority packets are the last ones of a finite sequence.
        before: limit[0].filter(|_| high).unwrap_or(0),
        is_burst: rate.is_burst,
        ..lane.share
    };
    Lane { share, ..lane.clone() }
}

/// The packets that a node creates per tick for the target load; `None` if it is as much as the network
/// accepts.
fn packets_a_tick(
    pattern: &Pattern,
    traffic: &TrafficConfig,
    mean_chunks: f64,
    network: &Outline,
    torus: &Torus,
    seed: u64,
) -> Option<f64> {
    match traffic.load {
        Load::Burst | Load::Infinite => None,
        Load::FlitsPerNs(_) | Load::GbPerS(_) => unreachable!("a torus refused it"),
        Load::PacketsPerUs(rate) => Some(per_tick(rate, network.ticks_per_second) / 1000.0),
        Load::LinkUtilization(u) => {
            let hops: f64 = pattern.mean_hops(seed).iter().sum();
            let links = (0..torus.nodes())
                .map(|n| (0..torus.ports()).filter(|&p| torus.neighbour(n, p).is_some()).count())
                .sum::<usize>() as f64
                / f64::from(torus.nodes());
            // A packet's bytes on a link, and those of its token-ack.
            let packet = &network.packet;
            let bytes =
                mean_chunks * f64::from(packet.chunk_B) + f64::from(packet.trailer_B + packet.ack_wire_B());
            Some(u * links / (hops * bytes * f64::from(network.link.ticks_per_byte)))
        }
    }
}
