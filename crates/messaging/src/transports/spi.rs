//! Messages over Blue Gene/Q's Message Unit, in the manner of PAMI's two protocols (Kumar et al., section III.E): eager messages go into a
//! reception FIFO in the receiver's memory, packet by packet; the data of longer ones are fetched by an RDMA read. Both keep the injection
//! FIFO of a destination, and packets of eager messages one way.

use super::packets::Placement;
use crate::config::Steps;
use crate::program::Collective;
use crate::spi::Spi;
use crate::transport::{Envelope, Event, KINDS, Kind as What, Transport};
use netloom_engine::Time;
use netloom_fabric::collective::route::Rectangle;
use netloom_fabric::collective::{Delivers, Operation as Combine, RouteKind};
use netloom_nic::message_unit::commands::{Command, Watch};
use netloom_nic::message_unit::descriptor::{
    ANY_DIRECTION, COLLECTIVE, Descriptor, Kind, Network, PAYLOAD_MAX,
};
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet, Priority};
use netloom_node::process::Operation;
use netloom_node::program::{Core, queued};
use netloom_node::time::Microticks;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Injection FIFOs for messages, to which destinations are pinned, and that for the descriptors of others' RDMA reads.
const FIFOS: u32 = 8;
const FETCHES: u16 = 32;
/// The reception FIFO.
const RECEPTION: u16 = 0;

/// Where things lie in a node's memory: data that leave and that come, by request; counters; descriptors for RDMA reads; the FIFO for them.
const OUT: u64 = 1 << 34;
const IN: u64 = 1 << 35;
const BUFFER_B: u64 = 1 << 24;
const BUFFERS: u32 = 64;
const COUNTERS: u64 = 1 << 20;
const DESCRIPTORS: u64 = 1 << 21;
const FETCH_FIFO: u64 = 1 << 30;
const FETCH_FIFO_B: u64 = 1 << 20;

/// A rank's messages on its Message Unit.
pub struct SpiTransport {
    spi: Spi,
    placement: Arc<Placement>,
    steps: Steps,
    /// RDMA reads under way, by request: when each was asked for.
    fetches: BTreeMap<u32, Time>,
    /// Of messages that some packets of have come: packets that are missing.
    missing: HashMap<(u32, u8, u32), u64>,
    /// The collective operation by hardware that is under way, and how many barriers and others there were.
    collective: Option<Pending>,
    barriers: u64,
    writes: u64,
    /// Whether the reception FIFO is to be looked at, and whether it has been.
    looks: bool,
    has_looked: bool,
}

/// The class route and barrier class of all nodes, and where the counters of its sums lie, two in turn.
const CLASS: u8 = 0;
const SUMS: u64 = 3 << 20;

/// A collective operation under way.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Barrier { turn: u64 },
    Sum { counter: u64, asked: Time },
}

fn buffer(base: u64, request: u32) -> u64 {
    base + u64::from(request % BUFFERS) * BUFFER_B
}

/// The envelope in the fourteen bytes that a packet's header has for software.
fn to_software(e: &Envelope) -> u128 {
    let fields = [
        (e.kind as u128, 4),
        (e.sequence.into(), 28),
        (e.tag.into(), 32),
        (e.bytes.into(), 32),
        (e.request.into(), 16),
    ];
    let (mut word, mut at) = (0u128, 0);
    for (value, bits) in fields {
        word |= (value & ((1 << bits) - 1)) << at;
        at += bits;
    }
    word
}

/// The reverse.
fn of_software(word: u128) -> Envelope {
    let field = |at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as u64;
    Envelope {
        kind: KINDS[field(0, 4) as usize % KINDS.len()],
        sequence: field(4, 28) as u32,
        tag: field(32, 32) as u32,
        bytes: field(64, 32),
        request: field(96, 16) as u32,
    }
}

impl SpiTransport {
    /// That of a process.
    pub fn new(spi: Spi, placement: &Arc<Placement>, steps: Steps) -> Self {
        SpiTransport {
            spi,
            placement: Arc::clone(placement),
            steps,
            fetches: BTreeMap::new(),
            missing: HashMap::new(),
            collective: None,
            barriers: 0,
            writes: 0,
            looks: false,
            has_looked: false,
        }
    }

    /// Whether the ranks are all nodes: what class routes are set up for.
    fn is_whole_machine(&self) -> bool {
        self.placement.is_one_program()
            && self.placement.nodes().len() as u64 == u64::from(self.spi.torus().nodes())
    }

    /// Whether the collective operation under way has ended.
    fn has_collected(&self) -> bool {
        match self.collective {
            None => false,
            Some(Pending::Barrier { turn }) => self.spi.has_passed_barrier(CLASS, turn),
            Some(Pending::Sum { counter, asked }) => self.spi.counted_down(counter) > asked,
        }
    }

    fn inject(&mut self, to: u32, fifo: u16, descriptor: Descriptor) {
        debug_assert!(u32::from(fifo) < FIFOS, "the FIFO of rank {to}");
        queued(self.spi.inject(fifo, descriptor));
    }

    /// A packet has been taken. Returns its message, if that is now whole.
    fn came(&mut self, packet: &Packet) -> Option<Event> {
        self.looks = true;
        if !self.steps.packet_receive.is_zero() {
            self.spi.core().ask(Operation::Spend(self.steps.packet_receive));
        }
        let envelope = of_software(packet.software);
        let from = self.placement.rank(packet.source)?;
        let packets = match envelope.carries_data() {
            true => envelope.bytes.div_ceil(PAYLOAD_MAX.into()).max(1),
            false => 1,
        };
        if packets > 1 {
            let key = (from, envelope.kind as u8, envelope.sequence);
            let missing = self.missing.entry(key).or_insert(packets);
            *missing -= 1;
            if *missing > 0 {
                return None;
            }
            self.missing.remove(&key);
        }
        Some(Event::Arrived { from, envelope })
    }
}

impl Transport for SpiTransport {
    type Command = Command;
    type Watch = Watch;

    fn core(&self) -> &Core<Command, Watch> {
        self.spi.core()
    }

    fn start(&mut self) {
        self.spi.set_base_address(0, 0);
        let fetches = InjectionFifo {
            start: FETCH_FIFO,
            size_B: FETCH_FIFO_B,
            priority: Priority::User,
            remote_get: true,
            threshold_B: None,
        };
        self.spi.set_injection_fifo(FETCHES, fetches);
        if self.is_whole_machine() {
            let torus = self.spi.torus();
            let (all, at) = (Rectangle::whole(torus), torus.coordinates(self.spi.node()));
            if let Some(route) = all.route(torus, all.middle(), at, RouteKind::UserSubcomm) {
                self.spi.set_class_route(CLASS, route);
                self.spi.set_barrier(CLASS, route);
            }
        }
    }

    fn eager_max_bytes(&self) -> u64 {
        (1 << 32) - 1
    }

    fn fetches(&self) -> bool {
        true
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        let length = if envelope.kind == What::Eager { envelope.bytes } else { 0 };
        let descriptor = Descriptor {
            payload: buffer(OUT, envelope.sequence),
            length,
            map: ANY_DIRECTION,
            network: Network::in_order(self.placement.node(to)),
            kind: Kind::MemoryFifo { fifo: RECEPTION, software: to_software(&envelope), interrupt: false },
            prefetch_only: false,
        };
        self.inject(to, (to % FIFOS) as u16, descriptor);
    }

    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        let counter = COUNTERS + 8 * u64::from(request);
        let put = Descriptor {
            payload: buffer(OUT, remote),
            length: bytes,
            map: ANY_DIRECTION,
            network: Network::to(self.spi.node()),
            kind: Kind::DirectPut {
                base: 0,
                offset: buffer(IN, request),
                counter_base: 0,
                counter_offset: counter,
            },
            prefetch_only: false,
        };
        self.spi.set_counter(counter, bytes);
        let payload = DESCRIPTORS + 64 * u64::from(request);
        let length = self.spi.store_descriptors(payload, &[put]);
        let read = Descriptor {
            payload,
            length,
            map: ANY_DIRECTION,
            network: Network::in_order(self.placement.node(from)),
            kind: Kind::RemoteGet { fifo: FETCHES },
            prefetch_only: false,
        };
        self.fetches.insert(request, self.spi.now());
        self.inject(from, (from % FIFOS) as u16, read);
    }

    fn collective_max_bytes(&self, _: Collective) -> Option<u64> {
        self.is_whole_machine().then_some(BUFFER_B)
    }

    /// Barriers by the global barrier network. All contribute to a broadcast too, with zeros, so that nobody need be ready for it before.
    fn collective(&mut self, what: Collective, bytes: u64) {
        let operation = match what {
            Collective::Barrier => {
                let turn = self.barriers;
                self.barriers += 1;
                self.collective = Some(Pending::Barrier { turn });
                return queued(self.spi.enter_barrier(CLASS, turn));
            }
            Collective::Broadcast => Combine::Or,
            Collective::Allreduce => Combine::AddDouble,
        };
        // Words of 8 B; and at least one, which tells that all have entered.
        let length = bytes.next_multiple_of(8).max(8);
        let counter = SUMS + self.writes % 2 * 8;
        self.writes += 1;
        let network = Network::Collective {
            class: CLASS,
            kind: RouteKind::UserSubcomm,
            operation,
            word_B: 8,
            delivers: Delivers::AllReduce,
        };
        let kind =
            Kind::DirectPut { base: 0, offset: buffer(IN, 0), counter_base: 0, counter_offset: counter };
        let payload = buffer(OUT, 0);
        self.spi.set_counter(counter, length);
        self.collective = Some(Pending::Sum { counter, asked: self.spi.now() });
        queued(
            self.spi.inject(
                0,
                Descriptor { payload, length, map: COLLECTIVE, network, kind, prefetch_only: false },
            ),
        );
    }

    fn found(&mut self, place: usize) {
        self.looks |= place == 0;
    }

    fn advance(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.has_looked)
            && let Some(packet) = self.spi.taken()
        {
            let event = self.came(&packet);
            if event.is_some() || self.spi.core().has_asked() {
                return event;
            }
        }
        let spi = &self.spi;
        let counted_down = |request: u32| spi.counted_down(COUNTERS + 8 * u64::from(request));
        let done = self.fetches.iter().find(|&(&request, &asked)| counted_down(request) > asked);
        let done = done.map(|(&request, _)| request);
        if let Some(request) = done {
            self.fetches.remove(&request);
            return Some(Event::Fetched { request });
        }
        if self.has_collected() {
            self.collective = None;
            return Some(Event::Collected);
        }
        if std::mem::take(&mut self.looks) {
            self.has_looked = true;
            self.spi.ask_for_packet(RECEPTION);
        }
        None
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let mut any: SmallVec<[Watch; 2]> = smallvec![Watch::Packet(RECEPTION)];
        any.extend(self.fetches.keys().map(|&request| Watch::Counter(COUNTERS + 8 * u64::from(request))));
        any.extend(self.collective.map(|pending| match pending {
            Pending::Barrier { turn } => self.spi.barrier_watch(CLASS, turn),
            Pending::Sum { counter, .. } => Watch::Counter(counter),
        }));
        (any, None)
    }

    fn is_idle(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn envelopes_fit_the_header(kind in 0usize..5, sequence in 0u32..1 << 28, tag: u32, bytes in 0u64..1 << 32, request in 0u32..1 << 16) {
            let envelope = Envelope { kind: KINDS[kind], sequence, tag, bytes, request };
            prop_assert_eq!(of_software(to_software(&envelope)), envelope);
            prop_assert!(to_software(&envelope) >> 112 == 0);
        }
    }
}
