//! The nodes of a block: what they send, and what they answer.

use super::counts::{Counts, HOPS_MAX, JobCounts};
use super::order::{Flow, Order};
use super::plan::Plan;
use netloom_engine::{Stream, Time};
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, TiledFamily, TiledHeader};
use std::collections::VecDeque;
use std::sync::Arc;

/// The FIFO of requests, or of packets that nobody answers.
const REQUESTS: usize = 0;
/// The FIFO of responses.
const RESPONSES: usize = 1;
/// Responses that a node may have waiting; with more it takes no requests **(ours)**.
const ANSWERS_MAX: usize = 64;
/// What packets draw from, among the streams of a run.
const TRAFFIC: u64 = 12;

/// A node that sends.
struct Sender {
    stream: Stream,
    /// Packets made.
    made: u64,
    /// When the next one is made, in open loop.
    next: f64,
    /// Responses that wait: to whom, and when its request was made.
    answers: VecDeque<(u32, Time)>,
    /// Whether it takes no requests.
    closed: bool,
}

/// The nodes of a block.
pub struct Nodes {
    plan: Arc<Plan>,
    /// The machine's number of the first; the others follow.
    first: u32,
    senders: Vec<Sender>,
    /// What arrived since counting began.
    pub counts: Counts,
    /// Packets that arrived since the start, and their data, bytes.
    pub delivered: (u64, u64),
    /// The order of packets, where somebody asks for it.
    order: Option<Order>,
}

impl Nodes {
    /// For the nodes of a block, by the machine's numbers, which follow one another.
    pub fn new(plan: &Arc<Plan>, numbers: &[u32]) -> Self {
        let sender = |&number: &u32| {
            let mut stream = Stream::new(plan.seed, TRAFFIC, number.into());
            let interval = plan.rate(number).map_or(0.0, |rate| rate.interval);
            let next = if interval > 0.0 { interval * stream.exponential() } else { 0.0 };
            Sender { stream, made: 0, next, answers: VecDeque::new(), closed: false }
        };
        Nodes {
            plan: Arc::clone(plan),
            first: numbers.first().copied().unwrap_or(0),
            senders: numbers.iter().map(sender).collect(),
            counts: Counts::default(),
            delivered: (0, 0),
            order: plan.reordering.then(Order::default),
        }
    }

    /// Begins counting anew.
    pub fn restart(&mut self) {
        self.counts = Counts::default();
    }

    /// The next request, or packet that nobody answers.
    fn request(&mut self, now: Time, node: u32) -> Pull<TiledHeader> {
        let (plan, own) = (&*self.plan, self.first + node);
        let Some(rate) = plan.rate(own) else { return Pull::Empty };
        let sender = &mut self.senders[node as usize];
        if plan.limit.is_some_and(|limit| sender.made >= limit) {
            return Pull::Empty;
        }
        let mut made = if rate.burst { 0 } else { now };
        if rate.interval > 0.0 {
            made = sender.next.ceil() as Time;
            if made > now {
                return Pull::NotBefore(made);
            }
            sender.next += rate.interval * sender.stream.exponential();
        }
        sender.made += 1;
        let Some(to) = plan.destinations.draw(own, &mut sender.stream) else { return Pull::Empty };
        let header = TiledHeader::new(
            to,
            plan.flits,
            Class::Request,
            plan.mode,
            seed(plan, own, to, &mut sender.stream),
        );
        let message = [0, self.number(own, to, false)];
        Pull::Packet(header, Meta { made, source: own, message, ..Meta::default() })
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
        let header =
            TiledHeader::new(to, flits, Class::Response, plan.mode, seed(plan, own, to, &mut sender.stream));
        let message = [asked, self.number(own, to, true)];
        Pull::Packet(header, Meta { made: now, source: own, message, ..Meta::default() })
    }

    /// The place of a packet among those that a node sends to another, where order is watched.
    fn number(&mut self, from: u32, to: u32, responses: bool) -> u64 {
        self.order.as_mut().map_or(0, |order| order.send(Flow { from, to, responses }).into())
    }
}

/// What a packet's random choices follow from. Packets that keep their order all take one path.
fn seed(plan: &Plan, from: u32, to: u32, stream: &mut Stream) -> u32 {
    if plan.mode.is_in_order() { from.wrapping_mul(2_654_435_769) ^ to } else { stream.draw() as u32 }
}

impl Host<TiledFamily> for Nodes {
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
        let counts = if is_response { &mut self.counts.responses } else { &mut self.counts.requests };
        counts.packets += 1;
        counts.flits += u64::from(header.flits());
        counts.payload_bytes += u64::from(data);
        self.counts.hops[usize::from(meta.hops).min(HOPS_MAX)] += 1;
        if let Some(order) = &mut self.order {
            let flow = Flow { from: meta.source, to: self.first + node, responses: is_response };
            let extent = order.arrive(flow, meta.message[1] as u32);
            self.counts.reordering.record(extent.into());
        }
        if let (Some(jobs), false) = (plan.jobs(), is_response) {
            let job = jobs.of(meta.source).expect("only jobs send");
            let of = &mut self.counts.jobs;
            of.resize(of.len().max(job + 1), JobCounts::default());
            of[job].arrived.packets += 1;
            of[job].arrived.flits += u64::from(header.flits());
            of[job].arrived.payload_bytes += u64::from(data);
            of[job].latency.record(now - meta.made);
            of[job].last = now;
        }
        let group = |node: u32| plan.wiring.group(plan.wiring.home(node).0);
        let between_groups = group(meta.source) != group(self.first + node);
        self.counts.nonminimal += u64::from(!header.went_minimally(between_groups, plan.vcs));
        if is_response {
            self.counts.round_trip.record(now - meta.message[0]);
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
