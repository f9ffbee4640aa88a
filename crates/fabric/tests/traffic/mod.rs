//! Simple hosts that generate traffic: for tests and performance measurements of the fabric alone.
#![allow(dead_code)]

pub mod crowd;
pub mod script;
pub mod scripted;

use netloom_engine::{Stream, Time};
use netloom_fabric::config::{HalfwayTie, TorusConfig};
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;

/// The traffic of every node.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Mean ticks between a node's packets; 0: as fast as the network accepts them.
    pub interval: f64,
    /// Total number of packets per node.
    pub packets: u64,
    /// Sizes, chosen with equal probability.
    pub chunks: Vec<u32>,
    /// STATIC, HIGH.
    pub flags: u16,
    /// All other nodes in turn from a random one on, or each at random.
    pub all_to_all: bool,
    pub seed: u64,
}

/// Per node: its stream, packets created, creation time of the next one.
struct Sender {
    stream: Stream,
    made: u64,
    next: f64,
}

pub struct TrafficHost {
    traffic: Traffic,
    torus: Torus,
    numbers: Vec<u32>,
    senders: Vec<Sender>,
    /// (source, destination, message) of all deliveries, if kept.
    pub received: Option<Vec<(u32, u32, u64)>>,
    pub delivered: u64,
}

impl TrafficHost {
    pub fn new(config: &TorusConfig, traffic: &Traffic, numbers: &[u32], keep: bool) -> Self {
        let torus = Torus::new(&config.topology);
        let senders = numbers
            .iter()
            .map(|&n| {
                let mut stream = Stream::new(traffic.seed, 2, n.into());
                let next = traffic.interval * stream.exponential();
                Sender { stream, made: 0, next }
            })
            .collect();
        TrafficHost {
            traffic: traffic.clone(),
            torus,
            numbers: numbers.to_vec(),
            senders,
            received: keep.then(Vec::new),
            delivered: 0,
        }
    }
}

impl<F: Family<Header = Header>> Host<F> for TrafficHost {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals<F::Signal>) -> Pull {
        let sender = &mut self.senders[node as usize];
        if sender.made >= self.traffic.packets || (fifo < 6) == (self.traffic.flags & Header::HIGH != 0) {
            return Pull::Empty;
        }
        if self.traffic.interval > 0.0 && sender.next > now.ticks() as f64 {
            return Pull::NotBefore(Time::at(sender.next.ceil() as u64));
        }
        let nodes = u64::from(self.torus.nodes());
        let own = self.numbers[node as usize];
        let step = if self.traffic.all_to_all {
            (sender.made + u64::from(own) * 7) % (nodes - 1)
        } else {
            sender.stream.below(nodes - 1)
        };
        let to = ((u64::from(own) + 1 + step) % nodes) as u32;
        let made = if self.traffic.interval > 0.0 { Time::at(sender.next.ceil() as u64) } else { now };
        sender.next += self.traffic.interval * sender.stream.exponential();
        let message = sender.made;
        sender.made += 1;
        let sizes = &self.traffic.chunks;
        let chunks =
            sizes[if sizes.len() > 1 { sender.stream.below(sizes.len() as u64) as usize } else { 0 }];
        let (from, to) = (self.torus.coordinates(own), self.torus.coordinates(to));
        let hints = hints::minimal(&self.torus, from, to, HalfwayTie::Parity);
        let header = Header::new(to, hints, chunks, self.traffic.flags);
        Pull::Packet(header, Meta { made, source: own, message: [message, 0], ..Meta::default() })
    }

    fn deliver(&mut self, _: Time, node: u32, delivery: &Delivery, _: &mut Signals<F::Signal>) {
        self.delivered += 1;
        let own = self.torus.coordinates(self.numbers[node as usize]);
        assert!((0..5).all(|d| delivery.header.destination(d) == own[d]), "a packet at the wrong node");
        if let Some(received) = &mut self.received {
            received.push((delivery.meta.source, self.numbers[node as usize], delivery.meta.message[0]));
        }
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}
