//! The nodes of a torus: the generator's packets with headers, by lane, and the arrivals.

use super::counts::JobCounts;
use super::order::Order;
use super::phases::{Forwarded, Held};
use super::source::{Next, Request, Source};
use super::torus_plan::TorusPlan;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::{State, load_each, store_each};
use netloom_engine::{Time, prefetch};
use netloom_fabric::host::{Delivery, Pull};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::hints::Origin;
use netloom_nic::fifo::{Calls, Software};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Number of consecutive random packets outside a lane after which the lane has none: the rarest direction of
/// the largest machine has one in 5,000.
const RARE: u64 = 200_000;

/// A node, by its index in the machine.
struct Sender {
    number: u32,
    /// Start of its lanes among those of the plan.
    lanes: u32,
    origin: Origin,
}

/// The traffic of a block's nodes.
pub struct TorusTraffic {
    plan: Arc<TorusPlan>,
    senders: Vec<Sender>,
    /// The order of each node's destinations; empty unless the pattern is ordered.
    orders: Vec<Order>,
    /// By node and lane.
    sources: Vec<Source>,
    /// Number of arrived packets.
    pub delivered: u64,
    /// Payload that arrived, bytes.
    pub payload_bytes: u64,
    /// Packets that nodes forward.
    forwarded: Forwarded,
    /// Arrivals of each job since the statistics were restarted; empty without jobs.
    jobs: Vec<JobCounts>,
}

impl TorusTraffic {
    /// For the nodes of a block, by the machine's numbers.
    pub fn new(plan: &Arc<TorusPlan>, numbers: &[u32]) -> Self {
        let sources = numbers.iter().flat_map(|&number| {
            let lanes = plan.lanes_of(number);
            let lanes = plan.lanes[lanes..lanes + plan.lanes_each].iter().enumerate();
            lanes.map(move |(lane, dealt)| Source::new(plan.plan.stream(number, lane), &dealt.share))
        });
        let sender = |&number: &u32| Sender {
            number,
            lanes: plan.lanes_of(number) as u32,
            origin: plan.compass.origin(plan.torus.coordinates(number)),
        };
        TorusTraffic {
            senders: numbers.iter().map(sender).collect(),
            orders: numbers.iter().filter_map(|&number| plan.plan.order(number)).collect(),
            sources: sources.collect(),
            forwarded: plan.phases.as_ref().map_or(Forwarded::default(), |_| Forwarded::new(numbers.len())),
            delivered: 0,
            payload_bytes: 0,
            jobs: vec![JobCounts::default(); plan.plan.jobs().map_or(0, |_| plan.plan.rates().len())],
            plan: Arc::clone(plan),
        }
    }

    /// Arrivals of each job since the statistics were restarted; empty without jobs.
    pub fn jobs(&self) -> &[JobCounts] {
        &self.jobs
    }

    /// Packets that have left their sender and wait in the node that forwards them.
    pub fn forwarded(&self) -> u64 {
        let of_others = |(sender, held): (&Sender, &VecDeque<Held>)| {
            held.iter().filter(|packet| packet.source != sender.number).count() as u64
        };
        self.senders.iter().zip(self.forwarded.by_node()).map(of_others).sum()
    }

    /// Restarts the statistics of jobs.
    pub fn restart(&mut self) {
        self.jobs.fill(JobCounts::default());
    }

    /// The next packet of a lane that accepts only those in its direction.
    fn next_of(&mut self, now: Time, node: u32, lane: usize, fifo: usize, fifos: usize) -> Pull {
        let (plan, sender) = (&*self.plan, &self.senders[node as usize]);
        // In a sequence without end, a lane that never finds one gives up.
        let passes = match plan.plan.pattern().cycle(sender.number) {
            _ if plan.lanes[sender.lanes as usize + lane].share.end != u64::MAX => u64::MAX,
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

    /// The next packet in a lane's sequence, whether it belongs to the lane or not.
    #[inline(always)]
    fn candidate(&mut self, now: Time, node: u32, lane: usize) -> Pull {
        let plan = &*self.plan;
        let sender = &self.senders[node as usize];
        let dealt = &plan.lanes[sender.lanes as usize + lane];
        let source = &mut self.sources[node as usize * plan.lanes_each + lane];
        let from = (sender.number, self.orders.get(node as usize));
        let next = match &plan.planner {
            None => source.next(now, &plan.plan, &dealt.share, from, |_| true),
            Some(planner) => source.next(now, &plan.plan, &dealt.share, from, |to| {
                planner.plan_for(from.0, to, dealt.flags != 0).is_some()
            }),
        };
        match next {
            Next::Packet(request) => {
                let (to, hints) = plan.compass.to(&sender.origin, request.to);
                Pull::Packet(
                    Header::new(to, hints, request.size, dealt.flags).in_zone(plan.zone),
                    Meta { made: request.made, source: sender.number, ..Meta::default() },
                )
            }
            Next::NotBefore(time) => Pull::NotBefore(time),
            Next::Nothing => Pull::Empty,
        }
    }

    /// The next packet of a lane where packets have two phases.
    #[inline(never)]
    fn next_in_phases(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull {
        if self.plan.lanes[lane].forwards {
            let Some(Held { to, chunks, made, source }) = self.forwarded.pop(node) else {
                return Pull::Empty;
            };
            let (to, hints) = self.plan.compass.to(&self.senders[node as usize].origin, to);
            let header = Header::new(to, hints, chunks, self.plan.lanes[lane].flags).in_zone(self.plan.zone);
            return Pull::Packet(header, Meta { made, source, ..Meta::default() });
        }
        let plan = Arc::clone(&self.plan);
        let phases = plan.phases.as_ref().expect("it is called with them only");
        loop {
            let sender = &self.senders[node as usize];
            let dealt = &plan.lanes[sender.lanes as usize + lane];
            let source = &mut self.sources[node as usize * plan.lanes_each + lane];
            let from = (sender.number, self.orders.get(node as usize));
            let Request { made, to, size } = match source.next(now, &plan.plan, &dealt.share, from, |_| true)
            {
                Next::Packet(request) => request,
                Next::NotBefore(time) => return Pull::NotBefore(time),
                Next::Nothing => return Pull::Empty,
            };
            let (intermediate, source) = (phases.intermediate(sender.number, to), sender.number);
            if intermediate == source {
                self.forward(node, Held { to, chunks: size, made, source }, calls);
                continue;
            }
            let (next, hints) = plan.compass.to(&sender.origin, intermediate);
            let header = Header::new(next, hints, size, dealt.flags).in_zone(plan.zone);
            let is_forwarded = intermediate != to;
            return Pull::Packet(
                header,
                Meta { made, source, auxiliary: to, is_forwarded, ..Meta::default() },
            );
        }
    }

    /// A node has a packet to forward.
    fn forward(&mut self, node: u32, held: Held, calls: &mut Calls) {
        if self.forwarded.push(node, held) {
            let lanes = self.plan.lanes[..self.plan.lanes_each].iter().enumerate();
            lanes.filter(|(_, lane)| lane.forwards).for_each(|(lane, _)| calls.fill(node, lane));
        }
    }

    /// Counts a packet of a job.
    #[cold]
    fn count(&mut self, now: Time, delivery: &Delivery, payload_bytes: u64) {
        let Some(job) = self.plan.plan.jobs().and_then(|jobs| jobs.of(delivery.meta.source)) else { return };
        let packet = (delivery.header.chunks(), payload_bytes);
        self.jobs[job].count(packet, now - delivery.meta.made, now);
    }
}

impl State for TorusTraffic {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let TorusTraffic {
            plan: _,
            senders: _,
            orders: _,
            sources,
            forwarded,
            delivered,
            payload_bytes,
            jobs,
        } = self;
        store_each(sources, to)?;
        forwarded.store(to)?;
        (delivered, payload_bytes, jobs).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        load_each(&mut self.sources, from)?;
        self.forwarded.load(from)?;
        (self.delivered, self.payload_bytes, self.jobs) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Software for TorusTraffic {
    // Called from several places of the interface, one of which is on the path of every packet.
    #[inline(always)]
    fn next(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull {
        if self.plan.phases.is_some() {
            return self.next_in_phases(now, node, lane, calls);
        }
        // Whether lanes accept packets by direction is the same for all nodes.
        match self.plan.lanes[lane].fifo {
            None => self.candidate(now, node, lane),
            Some((fifo, fifos)) => self.next_of(now, node, lane, fifo, fifos),
        }
    }

    #[inline]
    fn prepare(&self, node: u32, lane: usize) {
        prefetch(&self.sources[node as usize * self.plan.lanes_each + lane]);
        prefetch(&self.senders[node as usize]);
        self.orders.get(node as usize).into_iter().for_each(prefetch);
    }

    fn arrived(&mut self, now: Time, node: u32, delivery: &Delivery, calls: &mut Calls) {
        if delivery.meta.is_forwarded {
            let Meta { made, source, auxiliary: to, .. } = delivery.meta;
            return self.forward(node, Held { to, chunks: delivery.header.chunks(), made, source }, calls);
        }
        let bytes = delivery.header.chunks() * self.plan.chunk_bytes;
        let payload_bytes = u64::from(bytes.saturating_sub(self.plan.header_bytes));
        self.delivered += 1;
        self.payload_bytes += payload_bytes;
        if !self.jobs.is_empty() {
            self.count(now, delivery, payload_bytes);
        }
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Calls) {}
}
