//! The simplest interface: software writes packets to injection FIFOs one by one, and reads arrived packets
//! from memory. It models the FIFO interface of the tori (with [`OnFifos`]), and nodes of switched networks
//! without a NIC of their own.

use crate::fifo::{Calls, Lanes, Software};
use netloom_engine::Time;
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_node::cores::CoresConfig;
use netloom_node::nodes::{NetworkInterface, Nodes, Submitted};
use netloom_node::polling::Polling;
use netloom_node::process::ProcessId;
use netloom_node::program::lock;
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A packet for the network.
#[derive(Clone, Copy, Debug)]
pub struct NewPacket<H> {
    /// Injection FIFO, or lane if there are several.
    pub lane: usize,
    /// Its header.
    pub header: H,
    /// Its metadata for the destination.
    pub meta: Meta,
}

/// State shared by software and its interface.
#[derive(Debug)]
pub struct PortMemory<H> {
    /// By lane: the packet that the network takes next.
    next: Vec<Option<(H, Meta)>>,
    /// Packets that have arrived, in order, by the process that they are for.
    arrived: Vec<VecDeque<Meta>>,
}

impl<H> Default for PortMemory<H> {
    fn default() -> Self {
        PortMemory { next: vec![], arrived: vec![] }
    }
}

impl<H> PortMemory<H> {
    /// Whether a lane has space for a packet.
    pub fn has_room(&self, lane: usize) -> bool {
        self.next.get(lane).is_none_or(Option::is_none)
    }

    /// Whether a packet for a process has arrived.
    pub fn has_packet(&self, process: ProcessId) -> bool {
        self.arrived.get(usize::from(process)).is_some_and(|packets| !packets.is_empty())
    }

    /// Takes the next of a process's packets.
    pub fn take_packet(&mut self, process: ProcessId) -> Option<Meta> {
        self.arrived.get_mut(usize::from(process))?.pop_front()
    }

    fn add(&mut self, meta: Meta) {
        let place = usize::from(meta.processes[1]);
        if self.arrived.len() <= place {
            self.arrived.resize_with(place + 1, VecDeque::new);
        }
        self.arrived[place].push_back(meta);
    }
}

/// A condition that software may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The arrival of a packet for this process.
    Packet(ProcessId),
    /// Space in any full lane.
    Room,
}

/// The interface of a node.
pub struct PacketPort<F: Family> {
    memory: Arc<Mutex<PortMemory<F::Header>>>,
    schedule: Schedule<(), Watch>,
    fills: Vec<usize>,
}

impl<F: Family> PacketPort<F> {
    fn found(&mut self, t: Microticks, watch: Watch) {
        self.schedule.found(t, |_| Polling::asleep(Microticks::ZERO), |_, w| w == watch);
    }
}

impl<F: Family<Header: 'static>> NetworkInterface for PacketPort<F> {
    type Family = F;
    type Common = Option<CoresConfig>;
    type Shared = PortMemory<F::Header>;
    type Command = NewPacket<F::Header>;
    type Watch = Watch;
    type Action = ();
    type Counters = ();

    const CLOCKED: bool = true;

    fn new(_: &Self::Common, _: u32, memory: &Arc<Mutex<PortMemory<F::Header>>>, _: u64) -> Self {
        let (memory, schedule) = (Arc::clone(memory), Schedule::clocked());
        PacketPort { memory, schedule, fills: vec![] }
    }

    fn schedule(&mut self) -> &mut Schedule<(), Watch> {
        &mut self.schedule
    }

    fn cores(common: &Self::Common) -> Option<&CoresConfig> {
        common.as_ref()
    }

    fn ready(&mut self, _: &Self::Common, t: Microticks, _: ProcessId, watch: Watch) -> Option<Microticks> {
        let is_there = match watch {
            Watch::Packet(process) => lock(&self.memory).has_packet(process),
            // A process that waits for space has seen that there is none.
            Watch::Room => false,
        };
        is_there.then_some(t)
    }

    fn submit(
        &mut self,
        _: &Self::Common,
        _: Microticks,
        _: ProcessId,
        packet: NewPacket<F::Header>,
    ) -> Submitted<NewPacket<F::Header>, Watch> {
        let mut memory = lock(&self.memory);
        if !memory.has_room(packet.lane) {
            return Submitted::Full(packet, Watch::Room);
        }
        if memory.next.len() <= packet.lane {
            memory.next.resize(packet.lane + 1, None);
        }
        memory.next[packet.lane] = Some((packet.header, packet.meta));
        self.fills.push(packet.lane);
        Submitted::Done
    }

    fn act(&mut self, _: &Self::Common, _: Microticks, (): ()) {}

    fn pull(
        &mut self,
        _: &Self::Common,
        now: Time,
        lane: usize,
        _: &mut Signals<F::Signal>,
    ) -> Pull<F::Header> {
        let next = lock(&self.memory).next.get_mut(lane).and_then(Option::take);
        match next {
            Some((header, meta)) => {
                self.found(Microticks::at(now), Watch::Room);
                Pull::Packet(header, meta)
            }
            None => Pull::Empty,
        }
    }

    fn arrived(&mut self, _: &Self::Common, now: Time, delivery: &Delivery<F::Header>) {
        lock(&self.memory).add(delivery.meta);
        self.found(Microticks::at(now), Watch::Packet(delivery.meta.processes[1]));
    }

    fn counters(&self) {}

    fn signal(&mut self, node: u32, signals: &mut Signals<F::Signal>) {
        self.fills.drain(..).for_each(|lane| signals.fill(node, lane));
    }
}

/// Nodes whose software fills and drains the FIFOs of a torus ([`crate::fifo`]).
pub struct OnFifos {
    /// The nodes.
    pub nodes: Nodes<PacketPort<Lanes>>,
    /// Number of arrived packets.
    pub delivered: u64,
}

impl OnFifos {
    /// For these nodes.
    pub fn new(nodes: Nodes<PacketPort<Lanes>>) -> Self {
        OnFifos { nodes, delivered: 0 }
    }
}

impl Software for OnFifos {
    fn next(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull {
        self.nodes.pull(now, node, lane, calls)
    }

    fn arrived(&mut self, now: Time, node: u32, delivery: &Delivery, calls: &mut Calls) {
        self.delivered += 1;
        self.nodes.deliver(now, node, delivery, calls);
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, calls: &mut Calls) {
        self.nodes.wake(now, node, token, calls);
    }
}
