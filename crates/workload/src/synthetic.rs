//! Synthetic traffic: a pattern, packets of given sizes, a load.
//!
//! Nothing is stored of packets that have not entered the network. Each lane of a node (an injection FIFO, while FIFOs are
//! endless) goes through its own packets: those numbered `lane, lane + lanes, ...` of the node's sequence, as if software had
//! dealt them to the FIFOs in turn, as early as possible (Blumrich et al., section 3); or those of its direction, passing over the
//! others.

use crate::config::{Load, Priority, Routing, TrafficConfig};
use crate::pattern::Pattern;
use crate::permutation::Permutation;
use netloom_engine::{Stream, Time, prefetch};
use netloom_fabric::config::Outline;
use netloom_fabric::host::{Delivery, Pull};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::faults::Planner;
use netloom_fabric::routing::hints::{Compass, Origin};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig};
use netloom_nic::detour;
use netloom_nic::fifo::{Calls, FifoNic, Software};
use std::sync::Arc;

/// What all nodes' synthetic traffic has in common.
#[derive(Debug)]
pub struct Plan {
    pattern: Pattern,
    torus: Torus,
    compass: Compass,
    /// Who is within whose reach, where something is out of order.
    planner: Option<Planner>,
    network: Outline,
    traffic: TrafficConfig,
    seed: u64,
    lanes: Vec<Share>,
    dealing: Dealing,
    /// Packets that a node sends in all, of each priority; none: no end.
    limit: [Option<u64>; 2],
    /// Packets that a node that sends generates per tick; none: as many as the network takes.
    rate: Option<f64>,
}

/// The packets of a node's sequence that a lane goes through: `start, start + step, ...` of those of its priority.
#[derive(Debug)]
struct Share {
    high: bool,
    start: u64,
    step: u64,
    /// The lane's place among the FIFOs of a set and priority, and how many those are, where it takes some of these packets
    /// only.
    fifo: Option<(usize, usize)>,
    /// Mean ticks between these packets; 0: as fast as the network takes them.
    interval: f64,
    /// How many packets of its priority the node sends.
    end: u64,
    /// How many of the sequence come before them: high-priority packets are the last ones of a sequence that ends.
    before: u64,
    /// Flags of a header.
    flags: u16,
}

impl Plan {
    /// From checked configurations.
    pub fn new(
        pattern: Pattern,
        traffic: &TrafficConfig,
        network: &Outline,
        nic: &FifoConfig,
        seed: u64,
    ) -> Self {
        let mut traffic = traffic.clone();
        traffic.packet_chunks.or_full(network.packet.chunks_max);
        let torus = Torus::new(&network.topology);
        let count = FifoNic::<Synthetic>::lanes(nic);
        let is_high = |lane: usize| {
            if nic.injection_fifo_B.is_some() {
                lane % 2 == 1
            } else {
                lane % (nic.injection_normal + nic.injection_high) as usize >= nic.injection_normal as usize
            }
        };
        // Where the interface deals into finite FIFOs, and where packets are dealt in turn, lanes share by number alone.
        let by_direction = nic.dealing == Dealing::FirstDirection && nic.injection_fifo_B.is_none();
        let of_set = [nic.injection_normal as usize, nic.injection_high as usize];
        let mut peers = [0; 2];
        let mut lanes: Vec<Share> = (0..count)
            .map(|lane| {
                let high = is_high(lane);
                let place = peers[usize::from(high)];
                peers[usize::from(high)] += 1;
                let fifos = of_set[usize::from(high)];
                let fifo = by_direction.then(|| (place % fifos, fifos));
                let start = if by_direction { place / fifos } else { place };
                let mut flags = if high { Header::HIGH } else { 0 };
                if traffic.routing == Routing::Static {
                    flags |= Header::STATIC;
                }
                Share { high, start: start as u64, step: 1, fifo, interval: 0.0, end: 0, before: 0, flags }
            })
            .collect();
        let high = match traffic.priority {
            Priority::High => 1.0,
            Priority::Normal => traffic.high_fraction,
        };
        let rate = packets_a_tick(&pattern, &traffic, network, &torus, seed);
        let interval = [1.0 - high, high].map(|share| rate.map_or(0.0, |r| 1.0 / (r * share)));
        let limit =
            [(0, 1.0 - high), (1, high)].map(|(_, share)| match (traffic.packets_per_node, traffic.load) {
                _ if share == 0.0 => Some(0),
                (Some(n), _) => Some((n as f64 * share).round() as u64),
                (None, Load::Burst) => pattern.period(0).map(|n| (n as f64 * share).round() as u64),
                _ => None,
            });
        for lane in &mut lanes {
            let high = usize::from(lane.high);
            lane.step = if by_direction { nic.sets().into() } else { peers[high] as u64 };
            lane.interval = interval[high] * lane.step as f64;
            lane.end = limit[high].unwrap_or(u64::MAX);
            lane.before = limit[0].filter(|_| lane.high).unwrap_or(0);
        }
        Plan {
            planner: detour::planner(network),
            compass: Compass::new(&torus, network.halfway_tie),
            pattern,
            torus,
            network: network.clone(),
            traffic,
            seed,
            lanes,
            dealing: nic.dealing,
            limit,
            rate,
        }
    }

    /// Packets that a node offers per tick, mean over the machine; none where it is as many as the network takes.
    pub fn offered(&self) -> Option<f64> {
        let rate = self.rate?;
        let sends = |&node: &u32| {
            let mut stream = Stream::new(self.seed, 4, u64::from(node) << 8);
            let order = self.pattern.order(self.seed, node);
            !self.torus.dead_nodes().contains(&node)
                && self.pattern.destination(node, 0, order.as_ref(), &mut stream).is_some()
        };
        let senders = (0..self.torus.nodes()).filter(sends).count();
        Some(rate * senders as f64 / f64::from(self.torus.nodes()))
    }

    /// The destination of a lane's next packet; none if it has no more.
    #[inline]
    fn draw(&self, share: &Share, from: u32, order: Option<&Permutation>, lane: &mut Lane) -> Option<u32> {
        let index = share.start + lane.made * share.step;
        if index >= share.end {
            return None;
        }
        lane.made += 1;
        self.pattern.destination(from, share.before + index, order, &mut lane.stream)
    }

    /// The same where something is out of order: what is out of reach is passed over, and a node that finds nobody sends
    /// nothing.
    fn draw_in_reach(
        &self,
        planner: &Planner,
        share: &Share,
        from: u32,
        order: Option<&Permutation>,
        lane: &mut Lane,
    ) -> Option<u32> {
        let fixed = share.flags != 0;
        for _ in 0..TRIES {
            let to = self.draw(share, from, order, lane)?;
            if planner.plan_for(from, to, fixed).is_some() {
                return Some(to);
            }
        }
        None
    }

    /// Packets that the whole machine will send; none if there is no end.
    pub fn packets(&self) -> Option<u64> {
        let nodes = u64::from(self.torus.nodes()) - self.torus.dead_nodes().len() as u64;
        Some((self.limit[0]? + self.limit[1]?) * nodes)
    }
}

/// The packets that a node makes a tick for the load that is aimed at; none if it is as much as goes.
fn packets_a_tick(
    pattern: &Pattern,
    traffic: &TrafficConfig,
    network: &Outline,
    torus: &Torus,
    seed: u64,
) -> Option<f64> {
    match traffic.load {
        Load::Burst | Load::Infinite => None,
        Load::Injection(_) | Load::GbPerS(_) => unreachable!("a torus refused it"),
        Load::PacketsPerKilotick(n) => Some(n / 1000.0),
        Load::LinkUtilization(u) => {
            let hops: f64 = pattern.mean_hops(seed).iter().sum();
            let links = (0..torus.nodes())
                .map(|n| (0..torus.ports()).filter(|&p| torus.neighbour(n, p).is_some()).count())
                .sum::<usize>() as f64
                / f64::from(torus.nodes());
            // A packet's bytes on a link, and the token-ack that answers it.
            let packet = &network.packet;
            let bytes = traffic.packet_chunks.mean_chunks() * f64::from(packet.chunk_B)
                + f64::from(packet.trailer_B + packet.ack_wire_B());
            Some(u * links / (hops * bytes * f64::from(network.link.ticks_per_byte)))
        }
    }
}

/// Destinations out of reach in a row after which a node gives up.
const TRIES: u32 = 10_000;

/// Random packets in a row, none of them a lane's own, after which it has none: the rarest direction of the largest machine has
/// one in 5,000.
const RARE: u64 = 200_000;

/// A node, by its place in the machine.
struct Sender {
    number: u32,
    origin: Origin,
}

/// A lane of a node.
struct Lane {
    stream: Stream,
    /// Packets made.
    made: u64,
    /// When the next one is made, in open loop.
    next: f64,
    /// The first tick that is not before that.
    due: u64,
}

/// The traffic of a block's nodes.
pub struct Synthetic {
    plan: Arc<Plan>,
    senders: Vec<Sender>,
    /// The order in which each node takes its destinations; empty if the pattern wants none.
    orders: Vec<Permutation>,
    lanes: Vec<Lane>,
    lanes_each: usize,
    /// Packets that arrived.
    pub delivered: u64,
    /// Payload that arrived, bytes.
    pub payload_bytes: u64,
}

impl Synthetic {
    /// For the nodes of a block, by the machine's numbers.
    pub fn new(plan: &Arc<Plan>, numbers: &[u32]) -> Self {
        let lanes_each = plan.lanes.len();
        let lanes = numbers.iter().flat_map(|&number| (0..lanes_each).map(move |lane| (number, lane)));
        let lanes = lanes
            .map(|(number, lane)| {
                let mut stream = Stream::new(plan.seed, 4, u64::from(number) << 8 | lane as u64);
                let interval = plan.lanes[lane].interval;
                let next = if interval > 0.0 { interval * stream.exponential() } else { 0.0 };
                Lane { stream, made: 0, next, due: next.ceil() as u64 }
            })
            .collect();
        let senders = numbers
            .iter()
            .map(|&number| Sender { number, origin: plan.compass.origin(plan.torus.coordinates(number)) })
            .collect();
        Synthetic {
            plan: Arc::clone(plan),
            senders,
            orders: numbers.iter().filter_map(|&n| plan.pattern.order(plan.seed, n)).collect(),
            lanes,
            lanes_each,
            delivered: 0,
            payload_bytes: 0,
        }
    }
}

impl Software for Synthetic {
    // Called from several places of the interface, one of which is on the path of every packet.
    #[inline(always)]
    fn next(&mut self, now: Time, node: u32, lane: usize, _: &mut Calls) -> Pull {
        match self.plan.lanes[lane].fifo {
            None => self.candidate(now, node, lane),
            Some((fifo, fifos)) => self.next_of(now, node, lane, fifo, fifos),
        }
    }

    #[inline]
    fn prepare(&self, node: u32, lane: usize) {
        prefetch(&self.lanes[node as usize * self.lanes_each + lane]);
        prefetch(&self.senders[node as usize]);
        self.orders.get(node as usize).into_iter().for_each(prefetch);
    }

    fn arrived(&mut self, _: Time, _: u32, delivery: &Delivery, _: &mut Calls) {
        let packet = &self.plan.network.packet;
        self.delivered += 1;
        self.payload_bytes += u64::from(
            (delivery.header.chunks() * packet.chunk_B)
                .saturating_sub(packet.header_B + packet.software_header_B),
        );
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Calls) {}
}

impl Synthetic {
    /// The next packet of a lane that takes those of its direction only.
    fn next_of(&mut self, now: Time, node: u32, lane: usize, fifo: usize, fifos: usize) -> Pull {
        let plan = &self.plan;
        // In a sequence without end, a lane that never finds one gives up.
        let passes = match plan.pattern.cycle(self.senders[node as usize].number) {
            _ if plan.limit[usize::from(plan.lanes[lane].high)].is_some() => u64::MAX,
            Some(cycle) => cycle,
            None => RARE,
        };
        for _ in 0..passes {
            match self.candidate(now, node, lane) {
                Pull::Packet(header, _) if self.plan.dealing.fifo(header.hints(), fifos) != Some(fifo) => {}
                found => return found,
            }
        }
        Pull::Empty
    }

    /// The next packet that a lane goes through, whether it is its own or not.
    #[inline(always)]
    fn candidate(&mut self, now: Time, node: u32, lane: usize) -> Pull {
        let plan = &*self.plan;
        let share = &plan.lanes[lane];
        let state = &mut self.lanes[node as usize * self.lanes_each + lane];
        let mut made = now;
        if share.interval > 0.0 {
            made = state.due;
            if made > now {
                return Pull::NotBefore(made);
            }
            state.next += share.interval * state.stream.exponential();
            state.due = state.next.ceil() as u64;
        } else if matches!(plan.traffic.load, Load::Burst) {
            // It was there from the start.
            made = 0;
        }
        let sender = &self.senders[node as usize];
        let order = self.orders.get(node as usize);
        let to = match &plan.planner {
            None => plan.draw(share, sender.number, order, state),
            Some(planner) => plan.draw_in_reach(planner, share, sender.number, order, state),
        };
        let Some(to) = to else { return Pull::Empty };
        let chunks = match plan.traffic.packet_chunks.0[..] {
            [(chunks, _)] => chunks,
            ref mix => weighted(mix, &mut state.stream),
        };
        let (to, hints) = plan.compass.to(&sender.origin, to);
        Pull::Packet(
            Header::new(to, hints, chunks, share.flags).in_zone(plan.traffic.zone),
            Meta { made, source: sender.number, ..Meta::default() },
        )
    }
}

fn weighted(mix: &[(u32, f64)], stream: &mut Stream) -> u32 {
    let mut at = stream.unit() * mix.iter().map(|m| m.1).sum::<f64>();
    for &(chunks, weight) in mix {
        at -= weight;
        if at < 0.0 {
            return chunks;
        }
    }
    mix[mix.len() - 1].0
}
