//! A host that sends what a list says.
#![allow(dead_code)]

use netloom_engine::Time;
use netloom_fabric::config::{HalfwayTie, Topology};
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use std::collections::VecDeque;

/// A packet to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    pub made: Time,
    pub source: u32,
    pub fifo: usize,
    pub destination: u32,
    pub chunks: u32,
    /// STATIC, HIGH, DEPOSIT.
    pub flags: u16,
    /// The zone that it names, and whether it is the system's, where routers know of such.
    pub zone: u8,
    pub system: bool,
}

/// Sends a block's part of a list, each FIFO's packets in the list's order.
pub struct ScriptHost {
    torus: Torus,
    numbers: Vec<u32>,
    queues: Vec<Vec<VecDeque<(u64, Packet)>>>,
    /// Number of the packet in the list, node, time.
    pub delivered: Vec<(u64, u32, Time)>,
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
        ScriptHost { torus, numbers: numbers.to_vec(), queues, delivered: vec![] }
    }
}

impl Host for ScriptHost {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull {
        let queue = &mut self.queues[node as usize][fifo];
        let Some(&(number, p)) = queue.front() else { return Pull::Empty };
        if p.made > now {
            return Pull::NotBefore(p.made);
        }
        queue.pop_front();
        let (from, to) = (self.torus.coordinates(p.source), self.torus.coordinates(p.destination));
        let hints = hints::minimal(&self.torus, from, to, HalfwayTie::Parity);
        let header = Header::new(to, hints, p.chunks, p.flags).in_zone(p.zone);
        let header = if p.system { header.of_system() } else { header };
        Pull::Packet(header, Meta { made: p.made, source: p.source, message: [number, 0], ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, _: &mut Signals) {
        self.delivered.push((delivery.meta.message[0], self.numbers[node as usize], now));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}
