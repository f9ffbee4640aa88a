//! The FIFO network interface of the tori: software writes packets one by one to injection FIFOs and reads
//! them from reception FIFOs (Blumrich et al., section 2).
//!
//! Without a size, FIFOs are infinite, as in the authors' own simulator (section 3). In an infinite FIFO a
//! packet is determined by its number, so packets are created when the network takes them, and 10^9 of them
//! need no memory.

use crate::config::FifoConfig;
use crate::detour::Detours;
use crate::window::{ACKNOWLEDGEMENT, Windows};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_engine::checkpoint::State;
use netloom_fabric::config::Outline;
use netloom_fabric::host::{Delivery, Family, Host, Pull, Reception, Request, Signals};
use netloom_fabric::packet::{Data, Header, Meta};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;

/// The software that drives the network interfaces of a block's nodes.
pub trait Software: Send {
    /// The next packet of a lane. With infinite FIFOs each injection FIFO is a lane, in FIFO order; with
    /// finite ones software writes its packets in one order, and there is one lane each for normal and
    /// high-priority packets.
    fn next(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull;

    /// A packet has been taken from a reception FIFO.
    fn arrived(&mut self, now: Time, node: u32, delivery: &Delivery, calls: &mut Calls);

    /// A wake-up requested with [`Calls::wake`].
    fn wake(&mut self, now: Time, node: u32, token: u32, calls: &mut Calls);

    /// [`Self::next`] will be called soon: prefetch the memory that it needs. Must not change any state.
    fn prepare(&self, _node: u32, _lane: usize) {}
}

/// A family of networks whose nodes may have these interfaces.
pub trait Fifos: Family<Header = Header, Signal: From<Reception>> {}

impl<F: Family<Header = Header, Signal: From<Reception>>> Fifos for F {}

/// The interface as its software sees it: a network with lanes instead of injection FIFOs, which always
/// accepts packets.
pub enum Lanes {}

impl Family for Lanes {
    type Header = Header;
    type Signal = Infallible;
    type Event = Infallible;
}

/// Requests of software to the interface: [`Signals::fill`] if a lane whose last answer was [`Pull::Empty`]
/// may have a packet now, and [`Signals::wake`] with tokens below 2^31.
pub type Calls = Signals<Infallible>;

/// Marks the interface's own wake-ups.
const OWN: u32 = 1 << 31;

/// The network interfaces of a block's nodes, and the software that drives them.
pub struct FifoNic<S> {
    software: S,
    calls: Calls,
    config: FifoConfig,
    /// Injection FIFOs per set.
    fifos: usize,
    /// The injection FIFO for acknowledgements: the first high-priority one, so that they do not wait behind
    /// the packets that wait for them. (A FIFO's priority is that of its packets, and these are normal ones.)
    acknowledging: usize,
    chunk_bytes: u32,
    full_bytes: u32,
    /// Whether FIFOs are infinite, nodes have no windows and nothing has failed: then software and network
    /// exchange packets directly, and this is the only check on a packet's path.
    open: bool,
    /// One per node; empty with infinite FIFOs.
    injection: Vec<InjectionFifos>,
    reception: Vec<ReceptionFifos>,
    windows: Option<Windows>,
    /// Present only if anything has failed.
    detours: Option<Detours>,
}

/// A packet in an injection FIFO, with its payload.
pub(crate) type Packet = (Header, Meta, Option<Data>);

/// A packet in a reception FIFO, with its payload.
#[derive(BorshSerialize, BorshDeserialize)]
struct Received {
    port: usize,
    header: Header,
    meta: Meta,
    data: Option<Data>,
}

impl Received {
    fn new(delivery: &Delivery) -> Self {
        let Delivery { port, header, meta, data } = *delivery;
        Received { port, header, meta, data: data.cloned() }
    }

    fn delivery(&self) -> Delivery<'_> {
        Delivery { port: self.port, header: self.header, meta: self.meta, data: self.data.as_ref() }
    }
}

/// A node's injection FIFOs, which software fills as space allows.
#[derive(BorshSerialize, BorshDeserialize)]
struct InjectionFifos {
    queues: Vec<VecDeque<Packet>>,
    free_bytes: Vec<u32>,
    /// For normal and high-priority packets of each set: the FIFO that gets the next one.
    turn: [usize; 4],
    /// When a lane's next packet is created, if the interface has requested a wake-up for it.
    asked: [Option<Time>; 4],
    /// A packet that has been created but is not in a FIFO yet, by lane.
    held: [Option<Packet>; 4],
}

/// A node's reception FIFOs, which software empties at a given rate.
#[derive(BorshSerialize, BorshDeserialize)]
struct ReceptionFifos {
    /// By group, port and priority.
    queues: Vec<VecDeque<Received>>,
    used_bytes: Vec<u32>,
    turn: usize,
    /// Whether software is reading a packet.
    busy: bool,
}

impl<S: Software> FifoNic<S> {
    /// Interfaces for the nodes of a block, by the machine's numbers. The configuration must be valid.
    pub fn new(config: &FifoConfig, network: &Outline, numbers: &[u32], software: S) -> Self {
        let nodes = numbers.len();
        let sets = config.sets() as usize;
        let fifos = (config.injection_normal + config.injection_high) as usize;
        let ports = 2 * network.topology.dims.len();
        let finite_reception = config.reception_fifo_B.is_some() || config.drain_bytes_per_tick.is_some();
        let room = config.injection_fifo_B.unwrap_or(u32::MAX);
        let detours = Detours::new(network, numbers);
        let endless = config.injection_fifo_B.is_none() && !finite_reception;
        FifoNic {
            open: endless && config.window_packets.is_none() && detours.is_none(),
            software,
            calls: Calls::default(),
            config: config.clone(),
            fifos,
            acknowledging: (config.injection_normal as usize).min(fifos - 1),
            chunk_bytes: network.packet.chunk_B,
            full_bytes: network.packet.chunk_B * network.packet.chunks_max,
            injection: (0..if config.injection_fifo_B.is_some() { nodes } else { 0 })
                .map(|_| InjectionFifos {
                    queues: vec![VecDeque::new(); sets * fifos],
                    free_bytes: vec![room; sets * fifos],
                    turn: [0; 4],
                    asked: [None; 4],
                    held: [const { None }; 4],
                })
                .collect(),
            reception: (0..if finite_reception { nodes } else { 0 })
                .map(|_| ReceptionFifos {
                    queues: (0..sets * ports * 2).map(|_| VecDeque::new()).collect(),
                    used_bytes: vec![0; sets * ports * 2],
                    turn: 0,
                    busy: false,
                })
                .collect(),
            detours,
            windows: config.window_packets.map(|most| Windows::new(network, numbers, most)),
        }
    }

    /// Writes the state of the interfaces, for a checkpoint; that of the software is its own.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        (&self.injection, &self.reception).serialize(to)?;
        self.windows.iter().try_for_each(|windows| windows.store(to))?;
        self.detours.iter().try_for_each(|detours| detours.store(to))
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is not that of such interfaces.
    pub fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.injection, self.reception) = BorshDeserialize::deserialize(from)?;
        self.windows.iter_mut().try_for_each(|windows| windows.load(from))?;
        self.detours.iter_mut().try_for_each(|detours| detours.load(from))
    }

    /// The software.
    pub fn software(&self) -> &S {
        &self.software
    }

    /// The software, for reading results.
    pub fn software_mut(&mut self) -> &mut S {
        &mut self.software
    }

    /// Injection FIFOs per node, over all sets: the number that the fabric must be built with.
    pub fn injection_fifos(config: &FifoConfig) -> usize {
        (config.sets() * (config.injection_normal + config.injection_high)) as usize
    }

    /// Lanes of a node's software: see [`Software::next`].
    pub fn lanes(config: &FifoConfig) -> usize {
        if config.injection_fifo_B.is_some() {
            2 * config.sets() as usize
        } else {
            Self::injection_fifos(config)
        }
    }

    /// The next packet of a lane, directly into the network.
    #[inline(always)]
    fn next_of_software<G>(&mut self, now: Time, node: u32, lane: usize, signals: &mut Signals<G>) -> Pull {
        let answer = self.software.next(now, node, lane, &mut self.calls);
        if let Some(data) = self.calls.take_data() {
            signals.attach(data);
        }
        answer
    }

    fn bytes(&self, header: Header) -> u32 {
        header.chunks() * self.chunk_bytes
    }

    /// Carries out the software's requests: usually none.
    #[inline]
    fn obey<G: From<Reception>>(&mut self, now: Time, signals: &mut Signals<G>) {
        if !self.calls.requests.is_empty() {
            self.obey_all(now, signals);
        }
    }

    fn obey_all<G: From<Reception>>(&mut self, now: Time, signals: &mut Signals<G>) {
        // Requests made meanwhile are processed next.
        let mut list = std::mem::take(&mut self.calls.requests);
        while !list.is_empty() {
            for call in list.drain(..) {
                match call {
                    Request::Fill { node, fifo, at } if self.injection.is_empty() => {
                        signals.fill_at(node, fifo, at);
                    }
                    Request::Fill { node, fifo: lane, .. } => self.write(now, node, lane, signals),
                    Request::Wake { node, at, token } => {
                        debug_assert!(token & OWN == 0);
                        signals.wake(node, at, token);
                    }
                }
            }
            std::mem::swap(&mut list, &mut self.calls.requests);
        }
    }

    /// The FIFOs of a lane among all FIFOs of a node.
    fn range(&self, lane: usize) -> std::ops::Range<usize> {
        let (set, normal) = (lane / 2, self.config.injection_normal as usize);
        let start = set * self.fifos;
        if lane.is_multiple_of(2) { start..start + normal } else { start + normal..start + self.fifos }
    }

    /// Software writes packets of a lane to FIFOs with space, in turn, as long as there are any.
    fn write<G: From<Reception>>(&mut self, now: Time, node: u32, lane: usize, signals: &mut Signals<G>) {
        let range = self.range(lane);
        if range.is_empty() {
            return;
        }
        loop {
            let node_fifos = &mut self.injection[node as usize];
            if node_fifos.held[lane].is_none() {
                if node_fifos.asked[lane].is_some_and(|at| at > now) {
                    return;
                }
                node_fifos.asked[lane] = None;
                match self.software.next(now, node, lane, &mut self.calls) {
                    Pull::Packet(header, meta) => {
                        self.injection[node as usize].held[lane] =
                            Some((header, meta, self.calls.take_data()))
                    }
                    Pull::NotBefore(at) => {
                        self.calls.refuse_data(node);
                        let at = at.max(now + 1);
                        self.injection[node as usize].asked[lane] = Some(at);
                        signals.wake(node, at, OWN | lane as u32);
                        return;
                    }
                    Pull::Empty => {
                        self.calls.refuse_data(node);
                        return;
                    }
                }
            }
            let fifos = &mut self.injection[node as usize];
            let header = fifos.held[lane].as_ref().expect("just made or held").0;
            let bytes = header.chunks() * self.chunk_bytes;
            let n = range.len();
            let has_room = |fifo: &usize| fifos.free_bytes[range.start + fifo] >= bytes;
            let chosen = match self.config.dealing.fifo(header.hints(), n) {
                Some(fifo) => Some(fifo).filter(has_room),
                None => (0..n).map(|i| (fifos.turn[lane] + i) % n).find(has_room),
            };
            let Some(chosen) = chosen else { return };
            fifos.turn[lane] = (chosen + 1) % n;
            let fifo = range.start + chosen;
            fifos.free_bytes[fifo] -= bytes;
            fifos.queues[fifo].extend(fifos.held[lane].take());
            signals.fill(node, fifo);
        }
    }

    fn queue(&self, delivery: &Delivery) -> usize {
        let high = usize::from(delivery.header.head() & Header::HIGH != 0);
        let ports = self.reception[0].queues.len() / 2 / self.config.sets() as usize;
        (usize::from(delivery.meta.group) * ports + delivery.port) * 2 + high
    }

    /// Takes a packet from a finite injection FIFO, to which software writes as space allows.
    fn take<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<G>,
    ) -> Pull {
        let lane =
            2 * (fifo / self.fifos) + usize::from(fifo % self.fifos >= self.config.injection_normal as usize);
        if self.injection[node as usize].queues[fifo].is_empty() {
            self.write(now, node, lane, signals);
        }
        let chunk = self.chunk_bytes;
        let fifos = &mut self.injection[node as usize];
        let Some((header, meta, data)) = fifos.queues[fifo].pop_front() else { return Pull::Empty };
        fifos.free_bytes[fifo] += header.chunks() * chunk;
        self.write(now, node, lane, signals);
        data.into_iter().for_each(|data| signals.attach(data));
        Pull::Packet(header, meta)
    }

    /// Software starts to read the next packet from a node's reception FIFOs, one FIFO after the other.
    fn begin_drain<G: From<Reception>>(&mut self, now: Time, node: u32, signals: &mut Signals<G>) {
        let rate = self.config.drain_bytes_per_tick.unwrap_or(f64::INFINITY);
        let chunk = self.chunk_bytes;
        let fifos = &mut self.reception[node as usize];
        if fifos.busy {
            return;
        }
        let n = fifos.queues.len();
        let Some(next) = (0..n).map(|i| (fifos.turn + i) % n).find(|&q| !fifos.queues[q].is_empty()) else {
            return;
        };
        fifos.turn = next;
        fifos.busy = true;
        let bytes = fifos.queues[next][0].header.chunks() * chunk;
        let ticks = (f64::from(bytes) / rate).ceil().max(1.0) as u64;
        signals.wake(node, now + ticks, OWN | DRAINED);
    }

    fn end_drain<G: From<Reception>>(&mut self, now: Time, node: u32, signals: &mut Signals<G>) {
        let chunk = self.chunk_bytes;
        let room = self.config.reception_fifo_B.unwrap_or(u32::MAX);
        let fifos = &mut self.reception[node as usize];
        let q = fifos.turn;
        let packet = fifos.queues[q].pop_front().expect("a packet was being taken out");
        let delivery = packet.delivery();
        fifos.used_bytes[q] -= delivery.header.chunks() * chunk;
        fifos.busy = false;
        fifos.turn = (q + 1) % fifos.queues.len();
        if room - fifos.used_bytes[q] >= self.full_bytes {
            let high = delivery.header.head() & Header::HIGH != 0;
            signals.reception(node, delivery.port, high, true);
        }
        self.hand_over(now, node, &delivery, signals);
        self.begin_drain(now, node, signals);
    }

    fn hand_over<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery,
        signals: &mut Signals<G>,
    ) {
        if let Some(windows) = &mut self.windows {
            if delivery.meta.kind == ACKNOWLEDGEMENT {
                if windows.acknowledged(node) {
                    (0..self.fifos * self.config.sets() as usize).for_each(|fifo| signals.fill(node, fifo));
                }
                return;
            }
            windows.owe(node, delivery.meta.source);
            signals.fill(node, self.acknowledging);
        }
        self.software.arrived(now, node, delivery, &mut self.calls);
        self.obey(now, signals);
    }
}

/// The interface's own wake-up: a packet has been read from a reception FIFO.
const DRAINED: u32 = 16;

impl<S: Software, F: Fifos> Host<F> for FifoNic<S> {
    #[inline(always)]
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals<F::Signal>) -> Pull {
        if !self.open {
            return self.pull_past(now, node, fifo, signals);
        }
        let answer = self.next_of_software(now, node, fifo, signals);
        self.obey(now, signals);
        answer
    }

    #[inline]
    fn prepare(&self, node: u32, fifo: usize) {
        if self.injection.is_empty() {
            self.software.prepare(node, fifo);
        }
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, signals: &mut Signals<F::Signal>) {
        if !self.open {
            // A copy, so that the packet of the fast path need not be in memory.
            return self.deliver_past(now, node, *delivery, signals);
        }
        self.software.arrived(now, node, delivery, &mut self.calls);
        self.obey(now, signals);
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals<F::Signal>) {
        if token == OWN | DRAINED {
            self.end_drain(now, node, signals);
        } else if token & OWN != 0 {
            self.write(now, node, (token & !OWN) as usize, signals);
            self.obey(now, signals);
        } else {
            self.software.wake(now, node, token, &mut self.calls);
            self.obey(now, signals);
        }
    }
}

impl<S: Software> FifoNic<S> {
    /// Delivers an arrived packet when a FIFO, window or relay may be involved.
    fn deliver_past<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        delivery: Delivery,
        signals: &mut Signals<G>,
    ) {
        if let Some(detours) = &mut self.detours
            && detours.relay(node, &delivery)
        {
            (0..self.fifos).for_each(|fifo| signals.fill(node, fifo));
            return;
        }
        if self.reception.is_empty() {
            self.hand_over(now, node, &delivery, signals);
        } else {
            self.receive(now, node, &delivery, signals);
        }
    }

    /// The next packet of an injection FIFO when a FIFO, window or relay may be involved: one that the node
    /// relays, or one of its own software with its route planned.
    fn pull_past<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<G>,
    ) -> Pull {
        let high = fifo % self.fifos >= self.config.injection_normal as usize;
        if let Some((header, meta, data)) = self.detours.as_mut().and_then(|d| d.next(node, high)) {
            data.into_iter().for_each(|data| signals.attach(data));
            return Pull::Packet(header, meta);
        }
        match (self.pull_own(now, node, fifo, signals), &self.detours) {
            (Pull::Packet(header, meta), Some(detours)) => {
                let (header, meta) = detours.direct(node, header, meta);
                Pull::Packet(header, meta)
            }
            (answer, _) => answer,
        }
    }

    /// The next packet of an injection FIFO from the node's own software.
    fn pull_own<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<G>,
    ) -> Pull {
        if let Some(windows) = &mut self.windows {
            if fifo == self.acknowledging
                && let Some((header, meta)) = windows.next(now, node)
            {
                return Pull::Packet(header, meta);
            }
            if !windows.is_open(node) {
                return Pull::Empty;
            }
        }
        let answer = if self.injection.is_empty() {
            self.next_of_software(now, node, fifo, signals)
        } else {
            self.take(now, node, fifo, signals)
        };
        if let (Pull::Packet(..), Some(windows)) = (&answer, &mut self.windows) {
            windows.sent(node);
        }
        self.obey(now, signals);
        answer
    }

    /// A packet has arrived in a finite reception FIFO.
    fn receive<G: From<Reception>>(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery,
        signals: &mut Signals<G>,
    ) {
        let q = self.queue(delivery);
        let bytes = self.bytes(delivery.header);
        let room = self.config.reception_fifo_B.unwrap_or(u32::MAX);
        let fifos = &mut self.reception[node as usize];
        fifos.used_bytes[q] += bytes;
        fifos.queues[q].push_back(Received::new(delivery));
        debug_assert!(fifos.used_bytes[q] <= room, "the fabric delivers only to FIFOs with space");
        if room - fifos.used_bytes[q] < self.full_bytes {
            let high = delivery.header.head() & Header::HIGH != 0;
            signals.reception(node, delivery.port, high, false);
        }
        self.begin_drain(now, node, signals);
    }
}
