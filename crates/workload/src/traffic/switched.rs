//! The nodes of a switched network without a network interface model: the generator's packets as flits, their
//! responses, and the arrivals.

use super::counts::{Counts, HOPS_MAX, JobCounts};
use super::order::Order;
use super::reordering::{Flow, Reordering};
use super::source::{Next, Request, Source};
use super::switched_plan::SwitchedPlan;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::{State, load_each, store_each};
use netloom_engine::{Stream, Time};
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, TiledFamily, TiledHeader};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// The FIFO of requests, or of packets without responses.
const REQUESTS: usize = 0;
/// The FIFO of responses.
const RESPONSES: usize = 1;
/// Maximum number of waiting responses of a node, above which it accepts no requests **(ours)**.
const ANSWERS_MAX: usize = 64;
/// A sending node.
#[derive(BorshSerialize, BorshDeserialize)]
struct Sender {
    source: Source,
    /// Waiting responses: destination, and creation time of the request.
    answers: VecDeque<(u32, Time)>,
    /// Whether it accepts no requests.
    closed: bool,
}

/// The traffic of a block's nodes.
pub struct SwitchedTraffic {
    plan: Arc<SwitchedPlan>,
    /// The machine's number of the first node; the others are consecutive.
    first: u32,
    senders: Vec<Sender>,
    /// The order of each node's destinations; empty unless the pattern is ordered.
    orders: Vec<Order>,
    /// Arrivals since the statistics were restarted.
    pub counts: Counts,
    /// Arrived packets since the start, and their data, bytes.
    pub delivered: (u64, u64),
    /// The order of packets, if it is measured.
    reordering: Option<Reordering>,
}

impl State for SwitchedTraffic {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let SwitchedTraffic { plan: _, first: _, orders: _, senders, counts, delivered, reordering } = self;
        store_each(senders, to)?;
        (counts, delivered, reordering).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        load_each(&mut self.senders, from)?;
        (self.counts, self.delivered, self.reordering) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl SwitchedTraffic {
    /// For the nodes of a block, by the machine's numbers, which are consecutive.
    pub fn new(plan: &Arc<SwitchedPlan>, numbers: &[u32]) -> Self {
        let sender = |&number: &u32| Sender {
            source: Source::new(plan.plan.stream(number, 0), plan.share(number)),
            answers: VecDeque::new(),
            closed: false,
        };
        SwitchedTraffic {
            plan: Arc::clone(plan),
            first: numbers.first().copied().unwrap_or(0),
            senders: numbers.iter().map(sender).collect(),
            orders: numbers.iter().filter_map(|&number| plan.plan.order(number)).collect(),
            counts: Counts::default(),
            delivered: (0, 0),
            reordering: plan.reordering.then(Reordering::default),
        }
    }

    /// Restarts the statistics.
    pub fn restart(&mut self) {
        self.counts = Counts::default();
    }

    /// The next request, or packet without a response.
    fn request(&mut self, now: Time, node: u32) -> Pull<TiledHeader> {
        let (plan, own) = (&*self.plan, self.first + node);
        let share = plan.share(own);
        let source = &mut self.senders[node as usize].source;
        // With nothing left to send, a node does not wait for the time of another packet.
        if source.is_done(share) {
            return Pull::Empty;
        }
        let from = (own, self.orders.get(node as usize));
        match source.next(now, &plan.plan, share, from, |_| true) {
            Next::Packet(Request { made, to, size }) => {
                let seed = seed(plan, own, to, &mut source.stream);
                let header = TiledHeader::new(to, size, Class::Request, plan.mode, seed);
                let message = [0, self.number(own, to, false)];
                Pull::Packet(header, Meta { made, source: own, message, ..Meta::default() })
            }
            Next::NotBefore(time) => Pull::NotBefore(time),
            Next::Nothing => Pull::Empty,
        }
    }

    /// The next response.
    fn response(&mut self, now: Time, node: u32, signals: &mut Signals) -> Pull<TiledHeader> {
        let (plan, own) = (&*self.plan, self.first + node);
        let sender = &mut self.senders[node as usize];
        let (Some(flits), Some((to, asked))) = (plan.response_flits, sender.answers.pop_front()) else {
            return Pull::Empty;
        };
        if sender.closed && sender.answers.len() < ANSWERS_MAX / 2 {
            sender.closed = false;
            signals.reception(node, 0, false, true);
        }
        let header = TiledHeader::new(
            to,
            flits,
            Class::Response,
            plan.mode,
            seed(plan, own, to, &mut sender.source.stream),
        );
        let message = [asked.ticks(), self.number(own, to, true)];
        Pull::Packet(header, Meta { made: now, source: own, message, ..Meta::default() })
    }

    /// The sequence number of a packet among those that a node sends to another, if order is measured.
    fn number(&mut self, from: u32, to: u32, responses: bool) -> u64 {
        self.reordering.as_mut().map_or(0, |order| order.send(Flow { from, to, responses }).into())
    }
}

/// The seed of a packet's random choices. Packets that stay in order all use one path.
fn seed(plan: &SwitchedPlan, from: u32, to: u32, stream: &mut Stream) -> u32 {
    if plan.mode.is_in_order() { from.wrapping_mul(2_654_435_769) ^ to } else { stream.draw() as u32 }
}

impl Host<TiledFamily> for SwitchedTraffic {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        match fifo {
            REQUESTS => self.request(now, node),
            _ => self.response(now, node, signals),
        }
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        let (plan, header, meta) = (&*self.plan, delivery.header, &delivery.meta);
        debug_assert_eq!(header.destination(), self.first + node);
        let is_response = header.class() == Class::Response;
        let data = if is_response { 0 } else { plan.data };
        self.delivered.0 += 1;
        self.delivered.1 += u64::from(data);
        let packet = (header.flits(), data.into());
        let counts = if is_response { &mut self.counts.responses } else { &mut self.counts.requests };
        counts.count(packet);
        self.counts.hops[usize::from(meta.hops).min(HOPS_MAX)] += 1;
        if let Some(order) = &mut self.reordering {
            let flow = Flow { from: meta.source, to: self.first + node, responses: is_response };
            let extent = order.arrive(flow, meta.message[1] as u32);
            self.counts.reordering.record(extent.into());
        }
        if let (Some(jobs), false) = (plan.plan.jobs(), is_response) {
            let job = jobs.of(meta.source).expect("only jobs send");
            let of = &mut self.counts.jobs;
            of.resize(of.len().max(job + 1), JobCounts::default());
            of[job].count(packet, now - meta.made, now);
        }
        let group = |node: u32| plan.wiring.group(plan.wiring.home(node).0);
        let between_groups = group(meta.source) != group(self.first + node);
        self.counts.nonminimal += u64::from(!header.went_minimally(between_groups, plan.vcs));
        if is_response {
            self.counts.round_trip.record(now - Time::at(meta.message[0]));
        } else if plan.response_flits.is_some() {
            let sender = &mut self.senders[node as usize];
            sender.answers.push_back((meta.source, meta.made));
            if sender.answers.len() == 1 {
                signals.fill(node, RESPONSES);
            }
            if sender.answers.len() >= ANSWERS_MAX && !sender.closed {
                sender.closed = true;
                signals.reception(node, 0, false, false);
            }
        }
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}
