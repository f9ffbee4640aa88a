//! A host that sends a list of packets.
#![allow(dead_code)]

use netloom_engine::Time;
use netloom_fabric::collective::{ClassRoute, CollectiveHeader, Operation};
use netloom_fabric::config::{HalfwayTie, Topology};
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::queued::{QueuedFamily, QueuedSignal};
use netloom_fabric::router::torus::TorusFamily;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use std::collections::VecDeque;

/// A packet to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    pub made: u64,
    pub source: u32,
    pub fifo: usize,
    pub destination: u32,
    pub chunks: u32,
    /// STATIC, HIGH, DEPOSIT.
    pub flags: u16,
    /// The zone of the packet, and whether it is a system packet, for routers with these.
    pub zone: u8,
    pub system: bool,
    /// In place of a destination and all these, the header of a collective packet.
    pub collective: Option<CollectiveHeader>,
}

/// A node's class route: node, class.
pub type Routed = (u32, usize, ClassRoute);

/// An arrived collective packet.
pub struct Collected {
    pub node: u32,
    /// The reception FIFO.
    pub port: usize,
    pub header: CollectiveHeader,
    /// Creation time of the oldest packet combined in it, and its arrival time.
    pub made: u64,
    pub at: u64,
    /// The first word of its data.
    pub word: Option<u64>,
}

/// Whether a packet carries a word, its number in the list: sums of integers do, if they have a payload.
pub fn carries_a_word(header: &CollectiveHeader) -> bool {
    header.chunks > 1 && header.operation == Operation::AddUnsigned
}

/// Sends a block's part of a list, each FIFO's packets in the list's order.
pub struct ScriptHost {
    torus: Torus,
    numbers: Vec<u32>,
    queues: Vec<Vec<VecDeque<(u64, Packet)>>>,
    /// Class routes to be set, by node.
    routes: Vec<Vec<(usize, ClassRoute)>>,
    /// Number of the packet in the list, node, time.
    pub delivered: Vec<(u64, u32, u64)>,
    pub collected: Vec<Collected>,
}

impl ScriptHost {
    pub fn new(topology: &Topology, list: &[Packet], numbers: &[u32]) -> Self {
        let torus = Torus::new(topology);
        let mut local = vec![usize::MAX; torus.nodes() as usize];
        numbers.iter().enumerate().for_each(|(i, &n)| local[n as usize] = i);
        let mut queues = vec![vec![VecDeque::new(); 16]; numbers.len()];
        for (i, packet) in list.iter().enumerate() {
            if let Some(queue) = queues.get_mut(local[packet.source as usize]) {
                queue[packet.fifo].push_back((i as u64, *packet));
            }
        }
        let routes = vec![vec![]; numbers.len()];
        ScriptHost { torus, numbers: numbers.to_vec(), queues, routes, delivered: vec![], collected: vec![] }
    }

    /// The same, with these class routes from the start.
    pub fn with_routes(mut self, routed: &[Routed]) -> Self {
        for (routes, &number) in self.routes.iter_mut().zip(&self.numbers) {
            routes.extend(routed.iter().filter(|r| r.0 == number).map(|&(_, class, route)| (class, route)));
        }
        self
    }
}

/// Families of networks that a script may run on.
pub trait Scripted: Family<Header = Header> {
    /// Sets a class route.
    fn set_route(signals: &mut Signals<Self::Signal>, node: u32, class: usize, route: ClassRoute);
}

impl Scripted for QueuedFamily {
    fn set_route(signals: &mut Signals<QueuedSignal>, node: u32, class: usize, route: ClassRoute) {
        signals.class_route(node, class, Some(route));
    }
}

impl Scripted for TorusFamily {
    fn set_route(_: &mut Signals, _: u32, _: usize, _: ClassRoute) {
        panic!("a script with class routes on a network without collectives");
    }
}

impl<F: Scripted> Host<F> for ScriptHost {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals<F::Signal>) -> Pull {
        for (class, route) in std::mem::take(&mut self.routes[node as usize]) {
            F::set_route(signals, node, class, route);
        }
        let queue = &mut self.queues[node as usize][fifo];
        let Some(&(number, p)) = queue.front() else { return Pull::Empty };
        let made = Time::at(p.made);
        if made > now {
            return Pull::NotBefore(made);
        }
        queue.pop_front();
        let meta = Meta { made, source: p.source, message: [number, 0], ..Meta::default() };
        if let Some(header) = p.collective {
            if carries_a_word(&header) {
                signals.attach(number.to_be_bytes().as_slice().into());
            }
            return Pull::Packet(header.pack(), meta);
        }
        let (from, to) = (self.torus.coordinates(p.source), self.torus.coordinates(p.destination));
        let hints = hints::minimal(&self.torus, from, to, HalfwayTie::Parity);
        let header = Header::new(to, hints, p.chunks, p.flags).in_zone(p.zone);
        let header = if p.system { header.of_system() } else { header };
        Pull::Packet(header, meta)
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, _: &mut Signals<F::Signal>) {
        let number = self.numbers[node as usize];
        if let Some(header) = CollectiveHeader::unpack(delivery.header) {
            let word = delivery.data.map(|d| u64::from_be_bytes(d[..8].try_into().expect("a word")));
            let (port, made) = (delivery.port, delivery.meta.made.ticks());
            self.collected.push(Collected { node: number, port, header, made, at: now.ticks(), word });
            return;
        }
        self.delivered.push((delivery.meta.message[0], number, now.ticks()));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}
