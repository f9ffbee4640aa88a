//! Messages over Blue Gene/Q's Message Unit, modelled on PAMI's two protocols (Kumar et al., section III.E):
//! eager messages go to a reception FIFO in the receiver's memory, packet by packet; the data of longer ones
//! is fetched by an RDMA read. Both use the injection FIFO of a destination, and packets of eager messages
//! use a fixed route.

use super::collectives::RankCollectives;
use super::packets::Placement;
use crate::config::Steps;
use crate::device::{MuDevice, Simulated};
use crate::double_link;
use crate::program::Collective;
use crate::spi::Step;
use crate::transport::{Envelope, Event, KINDS, Kind as What, Transport};
use netloom_nic::message_unit::commands::{Command, Watch};
use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network, PAYLOAD_MAX};
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet, Priority};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Injection FIFOs for messages, to which destinations are pinned; and, from this number on, as many for the
/// descriptors of RDMA reads by others, to which the readers are pinned: a FIFO's descriptors are executed
/// one after the other, each over the links to one reader. Behind them are two for the halves of reads by a
/// neighbour with two links.
const FIFOS: u32 = 8;
const FETCHES: u16 = 32;
const HALVES: u16 = FETCHES + FIFOS as u16;
/// The reception FIFO.
const RECEPTION: u16 = 0;

/// Addresses in a node's memory: outgoing and incoming data, by request; counters; descriptors for RDMA
/// reads; the FIFOs for them.
const OUT: u64 = 1 << 34;
const IN: u64 = 1 << 35;
const BUFFER_B: u64 = 1 << 24;
const BUFFERS: u32 = 64;
const COUNTERS: u64 = 1 << 20;
const DESCRIPTORS: u64 = 1 << 21;
const DESCRIPTOR_B: u64 = 64;
const FETCH_FIFO: u64 = 1 << 30;
const FETCH_FIFO_B: u64 = 1 << 20;

/// A rank's messages on its Message Unit.
pub struct SpiTransport<D> {
    device: D,
    placement: Arc<Placement>,
    steps: Steps,
    /// Descriptors for which their injection FIFOs have no space.
    waiting: BTreeMap<u16, VecDeque<Descriptor>>,
    /// RDMA reads in progress, by request: their start times.
    fetches: BTreeMap<u32, u64>,
    /// For messages of which some packets have arrived: number of missing packets.
    missing: HashMap<(u32, u8, u32), u64>,
    /// Collective operations by hardware, if the ranks' nodes permit them.
    collectives: Option<RankCollectives>,
    /// Whether the reception FIFO is to be polled, and whether it has been.
    looks: bool,
    has_looked: bool,
}

fn buffer(base: u64, request: u32) -> u64 {
    base + u64::from(request % BUFFERS) * BUFFER_B
}

/// Encodes the envelope in a packet header's fourteen bytes for software.
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

/// The reverse of [`to_software`].
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

impl<D: MuDevice> SpiTransport<D> {
    /// For a process.
    pub fn new(
        device: D,
        placement: &Arc<Placement>,
        steps: Steps,
        collectives: Option<RankCollectives>,
    ) -> Self {
        SpiTransport {
            device,
            placement: Arc::clone(placement),
            steps,
            waiting: BTreeMap::new(),
            fetches: BTreeMap::new(),
            missing: HashMap::new(),
            collectives,
            looks: false,
            has_looked: false,
        }
    }

    /// Adds a descriptor to an injection FIFO, after those that wait for space there.
    fn inject(&mut self, fifo: u16, descriptor: Descriptor) {
        self.waiting.entry(fifo).or_default().push_back(descriptor);
        self.inject_waiting();
    }

    fn inject_waiting(&mut self) {
        let device = &self.device;
        self.waiting.retain(|&fifo, list| {
            while let Some(descriptor) = list.front()
                && device.inject(fifo, descriptor).is_ok()
            {
                list.pop_front();
            }
            !list.is_empty()
        });
    }

    /// A packet has been taken. Returns its message, if that is now complete.
    fn came(&mut self, packet: &Packet) -> Option<Event> {
        self.looks = true;
        self.device.spend(Step::Compute(self.steps.packet_receive));
        let envelope = of_software(packet.software);
        let from = self.placement.rank(packet.source, 0)?;
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

impl<D: MuDevice + Simulated<Command = Command, Watch = Watch>> Transport for SpiTransport<D> {
    type Command = Command;
    type Watch = Watch;

    fn thread(&self) -> &Thread<Command, Watch> {
        self.device.thread()
    }

    fn start(&mut self) {
        self.device.set_base_address(0, 0);
        for fifo in 0..FIFOS + 2 {
            let fetches = InjectionFifo {
                start: FETCH_FIFO + u64::from(fifo) * FETCH_FIFO_B,
                size_B: FETCH_FIFO_B,
                priority: Priority::User,
                remote_get: true,
                threshold_B: None,
            };
            self.device.set_injection_fifo(FETCHES + fifo as u16, fetches);
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
        self.inject((to % FIFOS) as u16, descriptor);
    }

    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        let counter = COUNTERS + 8 * u64::from(request);
        let put = Descriptor {
            payload: buffer(OUT, remote),
            length: bytes,
            map: ANY_DIRECTION,
            network: Network::to(self.device.node()),
            kind: Kind::DirectPut {
                base: 0,
                offset: buffer(IN, request),
                counter_base: 0,
                counter_offset: counter,
            },
            prefetch_only: false,
        };
        self.device.set_counter(counter, bytes);
        let (own, target) = (self.device.node(), self.placement.node(from));
        let parts: SmallVec<[(u16, Descriptor); 2]> =
            match double_link::ports(self.device.torus(), target, own) {
                Some(ports) if bytes >= double_link::DIVIDED_MIN_B => {
                    (HALVES..).zip(double_link::halves(&put, ports)).collect()
                }
                _ => smallvec![(FETCHES + (own % FIFOS) as u16, put)],
            };
        for (n, (fifo, put)) in (0..).zip(parts) {
            let payload = DESCRIPTORS + DESCRIPTOR_B * (2 * u64::from(request) + n);
            let length = self.device.store_descriptors(payload, &[put]);
            let read = Descriptor {
                payload,
                length,
                map: ANY_DIRECTION,
                network: Network::in_order(target),
                kind: Kind::RemoteGet { fifo },
                prefetch_only: false,
            };
            self.inject((from % FIFOS) as u16, read);
        }
        self.fetches.insert(request, self.device.now().ticks());
    }

    fn collective_max_bytes(&self, _: Collective) -> Option<u64> {
        self.collectives.as_ref().map(|_| BUFFER_B)
    }

    /// "MPI_Barrier, MPI_Bcast, MPI_Reduce, and MPI_Allreduce directly use the hardware collective network"
    /// (Kumar et al., section IV.B).
    fn prefers_hardware(&self, _: Collective) -> bool {
        true
    }

    fn collective_time(&self, what: Collective) -> Option<Microticks> {
        self.collectives.as_ref()?.time(what)
    }

    fn collective(&mut self, what: Collective, bytes: u64) {
        let collectives = self.collectives.as_mut().expect("it supports them");
        collectives.begin(what, bytes, [OUT, IN].map(|base| buffer(base, 0)));
    }

    fn found(&mut self, place: usize) {
        self.looks |= place == 0;
    }

    fn advance(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.has_looked)
            && let Some(packet) = self.device.polled()
        {
            let event = self.came(&packet);
            if event.is_some() || self.device.thread().has_pending() {
                return event;
            }
        }
        let device = &self.device;
        let counted_down = |request: u32| device.counted_down(COUNTERS + 8 * u64::from(request));
        let done = self.fetches.iter().find(|&(&request, &asked)| counted_down(request) > asked);
        let done = done.map(|(&request, _)| request);
        if let Some(request) = done {
            self.fetches.remove(&request);
            return Some(Event::Fetched { request });
        }
        if self.collectives.as_mut().is_some_and(RankCollectives::advance) {
            return Some(Event::Collected);
        }
        self.inject_waiting();
        if std::mem::take(&mut self.looks) {
            self.has_looked = true;
            self.device.poll(RECEPTION);
        }
        None
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let mut any: SmallVec<[Watch; 2]> = smallvec![Watch::Packet(RECEPTION)];
        any.extend(self.fetches.keys().map(|&request| Watch::Counter(COUNTERS + 8 * u64::from(request))));
        any.extend(self.waiting.keys().map(|&fifo| Watch::Room(fifo)));
        any.extend(self.collectives.iter().flat_map(RankCollectives::watches));
        (any, None)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Full};
    use netloom_engine::Time;
    use netloom_fabric::collective::ClassRoute;
    use netloom_fabric::topology::torus::Torus;
    use netloom_node::process::Operations;
    use proptest::prelude::*;
    use std::cell::RefCell;

    /// A Message Unit without a machine: injection FIFOs with two places, which the test empties, and a
    /// reception FIFO that it fills.
    struct Bench {
        torus: Torus,
        thread: Thread<Command, Watch>,
        injected: RefCell<Vec<(u16, Descriptor)>>,
        packets: RefCell<VecDeque<Packet>>,
    }

    impl Device for Bench {
        type Step = Step;

        fn now(&self) -> Microticks {
            self.thread.now()
        }

        fn spend(&self, _: Step) {}

        fn fail(&self, call: &str, reason: impl std::fmt::Display) {
            panic!("{call}: {reason}");
        }
    }

    impl Simulated for Bench {
        type Command = Command;
        type Watch = Watch;

        fn thread(&self) -> &Thread<Command, Watch> {
            &self.thread
        }
    }

    impl MuDevice for Bench {
        fn node(&self) -> u32 {
            0
        }

        fn torus(&self) -> &Torus {
            &self.torus
        }

        fn set_base_address(&self, _: u16, _: u64) {}
        fn set_base_end(&self, _: u16, _: u64) {}

        fn set_injection_fifo(&self, _: u16, _: InjectionFifo) {}

        fn set_class(&self, _: u8, _: ClassRoute) {}

        fn set_counter(&self, _: u64, _: u64) {}

        fn counted_down(&self, _: u64) -> u64 {
            0
        }

        fn store_descriptors(&self, _: u64, descriptors: &[Descriptor]) -> u64 {
            64 * descriptors.len() as u64
        }

        fn inject(&self, fifo: u16, descriptor: &Descriptor) -> Result<(), Full> {
            let mut injected = self.injected.borrow_mut();
            if injected.iter().filter(|(in_it, _)| *in_it == fifo).count() == 2 {
                return Err(Full);
            }
            injected.push((fifo, descriptor.clone()));
            Ok(())
        }

        fn poll(&self, _: u16) {}

        fn polled(&self) -> Option<Packet> {
            self.packets.borrow_mut().pop_front()
        }

        fn enter_barrier(&self, _: u8, _: u64) {}

        fn has_passed_barrier(&self, _: u8, _: u64) -> bool {
            false
        }
    }

    fn bench() -> SpiTransport<Bench> {
        let torus = Torus::new(&netloom_fabric::config::QueuedConfig::bluegene_q(&[4]).topology);
        let (injected, packets) = (RefCell::default(), RefCell::default());
        let device = Bench { torus, thread: Thread::default(), injected, packets };
        let steps = Steps::new(&crate::config::MessagingConfig::default(), 1_000_000_000);
        SpiTransport::new(device, &Arc::new(Placement::new(&[0, 1, 2, 3])), steps, None)
    }

    fn eager(sequence: u32, bytes: u64) -> Envelope {
        Envelope { kind: What::Eager, sequence, tag: 5, bytes, request: 0 }
    }

    /// Descriptors without space wait, in order, and block neither other FIFOs nor arriving packets.
    #[test]
    fn a_full_fifo_holds_up_nothing_else() {
        let mut transport = bench();
        (0..4).for_each(|sequence| transport.send(1, eager(sequence, 8)));
        transport.send(2, eager(0, 8));
        let to = |t: &SpiTransport<Bench>| {
            t.device.injected.borrow().iter().map(|(fifo, _)| *fifo).collect::<Vec<_>>()
        };
        assert_eq!((to(&transport), transport.is_idle()), (vec![1, 1, 2], false));
        assert!(transport.watches().0.contains(&Watch::Room(1)));
        let software = to_software(&eager(7, 600));
        let packet =
            |offset| Packet { source: 3, made: Time::ZERO, software, offset, chunks: 16, data: None };
        transport.device.packets.borrow_mut().extend([packet(0), packet(512)]);
        transport.found(0);
        let mut arrived = vec![];
        for _ in 0..6 {
            arrived.extend(transport.advance());
        }
        assert_eq!(
            arrived,
            [Event::Arrived { from: 3, envelope: eager(7, 600) }],
            "complete with its second packet"
        );
        let first = transport.device.injected.borrow_mut().remove(0);
        assert_eq!(first.1.network, Network::in_order(1));
        transport.advance();
        assert_eq!(to(&transport), [1, 2, 1]);
        let sent = |t: &SpiTransport<Bench>| -> Vec<u32> {
            let injected = t.device.injected.borrow();
            let mine = injected.iter().filter(|(fifo, _)| *fifo == 1);
            mine.map(|(_, d)| match d.kind {
                Kind::MemoryFifo { software, .. } => of_software(software).sequence,
                _ => panic!("a message"),
            })
            .collect()
        };
        assert_eq!(sent(&transport), [1, 2]);
        transport.device.injected.borrow_mut().clear();
        transport.advance();
        assert_eq!((sent(&transport), transport.is_idle()), (vec![3], true));
        let mut operations = Operations::new();
        transport.thread().take(&mut operations);
        assert!(operations.is_empty(), "this device takes no time");
    }

    proptest! {
        #[test]
        fn envelopes_fit_the_header(kind in 0usize..5, sequence in 0u32..1 << 28, tag: u32, bytes in 0u64..1 << 32, request in 0u32..1 << 16) {
            let envelope = Envelope { kind: KINDS[kind], sequence, tag, bytes, request };
            prop_assert_eq!(of_software(to_software(&envelope)), envelope);
            prop_assert!(to_software(&envelope) >> 112 == 0);
        }
    }
}
