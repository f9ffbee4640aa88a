//! Blue Gene/Q's Message Unit (Chen et al., section III): software writes descriptors to injection FIFOs in
//! memory; the unit fetches them, divides messages into packets, reads their data and injects them into the
//! network; at the other end it stores arriving packets, and decrements the counters that software polls.
//!
//! The stations of a message:
//!
//! | station | file |
//! |---|---|
//! | descriptors; their encoding in memory and in packets | `descriptor.rs`, `encoding.rs`, `packet.rs` |
//! | FIFOs in memory: start, size, head, tail, shadow tail | `fifos.rs` |
//! | the tail of an injection FIFO moves (a store through the slave port); descriptors are fetched; messaging engines (iMEs) make packets | `injection.rs` |
//! | packets are stored and counters counted down by reception engines (rMEs) | `reception.rs` |
//! | reads and writes through the master ports | `memory.rs` |
//! | contents of memory | `memory.rs` of the crate `node` |
//! | protection, interrupts, performance counters | `protection.rs`, `interrupts.rs`, `counters.rs` |
//! | commands of processes, and the state that they share with the unit | `commands.rs` |
//! | its interfaces to its node and the fabric | `interface.rs` |
//!
//! The programming interface, and the kernel's side of it, are in the crate `messaging`.

mod atomic;
pub mod commands;
mod common;
pub mod config;

mod counters;
pub mod descriptor;
pub mod encoding;
pub mod fifos;
mod injection;
mod interface;
pub mod interrupts;
mod l2;
mod memory;
mod numbered;
mod packet;
pub mod protection;
mod reception;

pub use common::Common;
pub use counters::UnitCounters;
pub use interface::{MessageUnit, MessageUnits, injected, refused, stored_so_far, units_of};

use netloom_engine::{Stream, Time, prefetch};
use netloom_fabric::collective::ClassRoute;
use netloom_fabric::host::Signals;
use netloom_fabric::packet::{Data, Header, Meta};
use netloom_fabric::router::queued::QueuedSignal;
use netloom_node::memory::Contents;
use netloom_node::program::lock;
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use numbered::Numbered;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Network injection FIFOs, and the same number of network reception FIFOs: ten directions, two for local
/// transfers, high priority, system, user collective, system collective (`MU_Descriptor.h` of the public
/// driver gives their numbers).
pub const NETWORK_FIFOS: usize = 16;
/// Injection FIFOs in memory of a node (section III.A).
pub const INJECTION_FIFOS: u16 = 544;
/// Reception FIFOs in memory of a node (section III.A).
pub const RECEPTION_FIFOS: u16 = 272;
/// Entries of a node's base address table.
pub const BASE_ADDRESSES: u16 = 544;
/// Bytes of a descriptor.
pub const DESCRIPTOR_B: u64 = 64;

/// The unit of one node. Unused parts take no memory.
struct Unit {
    /// The machine's number of the node.
    number: u32,
    random: Stream,
    /// Injection FIFOs in memory that have been used.
    injection: Numbered<fifos::Injection>,
    /// Reception FIFOs in memory that have been used.
    reception: Numbered<fifos::Reception>,
    /// Descriptors from which engines may take packets.
    ready: injection::ReadyList,
    /// When the next descriptor may be fetched, and the next assigned to an engine: one per cycle.
    fetch_free: Time,
    assign_free: Time,
    /// When the slave port accepts the next access.
    slave_free: Time,
    engines: [injection::Engine; NETWORK_FIFOS],
    /// Engines that are idle and have space for a packet, one bit each.
    idle: u16,
    network_reception: [reception::NetworkReception; NETWORK_FIFOS],
    ports: memory::MasterPorts,
    /// Packets being stored, by a number that is reused.
    storing: Vec<Option<reception::Store>>,
    /// Additions to words of memory that are under way to the L2, in order, and when it may begin the next.
    adding: VecDeque<(u64, u64)>,
    add_free: Time,
    /// The base address table.
    base: Numbered<u64>,
    /// The ends of buffers at its entries, where software has set any.
    base_ends: Numbered<u64>,
    /// Words of memory that serve as counters.
    /// By hash: a process may wait for thousands of them, and each is looked at when a wait begins.
    memory_counters: HashMap<u64, i64, FxBuildHasher>,
    ranges: protection::Ranges,
    interrupts: interrupts::Interrupts,
    counters: UnitCounters,
    /// Violations and their counts.
    refused: BTreeMap<protection::Violation, u64>,
    /// Contents of memory, shared with the node's program.
    contents: Arc<Mutex<Contents>>,
}

impl Unit {
    fn new(number: u32, seed: u64, contents: Arc<Mutex<Contents>>) -> Self {
        Unit {
            number,
            random: Stream::new(seed, 5, number.into()),
            injection: Numbered::default(),
            reception: Numbered::default(),
            ready: injection::ReadyList::default(),
            fetch_free: Time::ZERO,
            assign_free: Time::ZERO,
            slave_free: Time::ZERO,
            engines: Default::default(),
            idle: u16::MAX,
            network_reception: Default::default(),
            ports: memory::MasterPorts::default(),
            storing: vec![],
            adding: VecDeque::new(),
            add_free: Time::ZERO,
            base: Numbered::default(),
            base_ends: Numbered::default(),
            memory_counters: HashMap::default(),
            ranges: protection::Ranges::default(),
            interrupts: interrupts::Interrupts::default(),
            counters: UnitCounters::default(),
            refused: BTreeMap::new(),
            contents,
        }
    }

    /// Prefetches what any action touches.
    fn prefetch(&self) {
        prefetch(&self.ready);
        prefetch(&self.idle);
        prefetch(&self.assign_free);
        prefetch(&self.storing);
        prefetch(&self.injection);
        prefetch(&self.base);
    }

    /// Prefetches what an action touches.
    fn prefetch_for(&self, alarm: Alarm) {
        match alarm {
            Alarm::Read(engine) | Alarm::Built(engine) => prefetch(&self.engines[usize::from(engine)]),
            Alarm::Received(slot) | Alarm::Stored(slot) | Alarm::Counted(slot) => {
                self.storing.get(usize::from(slot)).into_iter().for_each(prefetch);
            }
            Alarm::TailMoved(fifo) | Alarm::Fetched(fifo) => {
                self.injection.get(fifo).into_iter().for_each(prefetch);
            }
            Alarm::BarrierBits(_) | Alarm::Added => {}
        }
    }

    /// A core stores to a register. The slave port accepts 8 B per cycle, in order, so accesses reach one
    /// subunit at a time (section III.B). Returns when the store takes effect. Polling loads do not delay it
    /// here: only one process would be affected.
    fn through_slave_port(&mut self, c: &config::MessageUnitConfig, now: Time) -> Time {
        let begin = self.slave_free.max(now);
        self.slave_free = begin + u64::from(c.cycle_ticks);
        begin + u64::from(c.slave_ticks)
    }

    /// A core adds to a word of memory: the L2 does one addition a cycle **(ours)**, in order. Returns when
    /// other cores see it.
    fn add_word(&mut self, c: &config::MessageUnitConfig, now: Time, address: u64, value: u64) -> Time {
        let begin = self.add_free.max(now);
        self.add_free = begin + u64::from(c.cycle_ticks);
        self.adding.push_back((address, value));
        begin + u64::from(c.write_ticks)
    }
}

/// An action of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Alarm {
    /// A store to the tail of an injection FIFO has passed the slave port.
    TailMoved(u16),
    /// A descriptor of an injection FIFO has arrived from memory.
    Fetched(u16),
    /// An engine has read a packet's data.
    Read(u16),
    /// An engine has put a packet into its network FIFO.
    Built(u16),
    /// An engine has taken a packet from its network FIFO.
    Received(u16),
    /// A packet has been stored.
    Stored(u16),
    /// Its counter has been decremented.
    Counted(u16),
    /// A store to the control register of a barrier class has passed the slave port: eight times the class,
    /// plus the bits.
    BarrierBits(u16),
    /// The next addition to a word of memory is done.
    Added,
}

impl Alarm {
    /// Its rank among the actions of a tick: by station in this order, and within a station by lowest number.
    fn rank(self) -> u32 {
        let (station, number) = match self {
            Alarm::TailMoved(fifo) => (0, fifo),
            Alarm::Fetched(fifo) => (1, fifo),
            Alarm::Built(engine) => (2, engine),
            Alarm::Received(slot) => (3, slot),
            Alarm::Stored(slot) => (4, slot),
            Alarm::Counted(slot) => (5, slot),
            Alarm::BarrierBits(what) => (6, what),
            Alarm::Added => (7, 0),
            Alarm::Read(engine) => (8, engine),
        };
        station << 16 | u32::from(number)
    }
}

/// Requests of a unit to its node and to the fabric.
struct Out {
    schedule: Schedule<Alarm, commands::Watch>,
    requests: Vec<Request>,
}

/// A request to the fabric.
enum Request {
    Fill(usize),
    Reception { fifo: usize, open: bool },
    ClassRoute(usize, Option<ClassRoute>),
    Barrier(usize, Option<ClassRoute>, u64),
    BarrierBits(usize, u64),
}

impl Out {
    fn at(&mut self, time: Time, alarm: Alarm) {
        self.schedule.at_ranked(Microticks::at(time), alarm.rank(), alarm);
    }

    fn fill(&mut self, fifo: usize) {
        self.requests.push(Request::Fill(fifo));
    }

    /// Reports whether a network reception FIFO has space for a full packet.
    fn reception(&mut self, fifo: usize, open: bool) {
        self.requests.push(Request::Reception { fifo, open });
    }

    fn class_route(&mut self, class: usize, route: Option<ClassRoute>) {
        self.requests.push(Request::ClassRoute(class, route));
    }

    fn barrier_class(&mut self, class: usize, route: Option<ClassRoute>, start: u64) {
        self.requests.push(Request::Barrier(class, route, start));
    }

    fn set_barrier_bits(&mut self, class: usize, bits: u64) {
        self.requests.push(Request::BarrierBits(class, bits));
    }

    /// Passes the requests for a node to the fabric.
    fn signal(&mut self, node: u32, signals: &mut Signals<QueuedSignal>) {
        for request in self.requests.drain(..) {
            match request {
                Request::Fill(fifo) => signals.fill(node, fifo),
                Request::Reception { fifo, open } => {
                    let is_high = fifo == descriptor::HIGH_PRIORITY.trailing_zeros() as usize;
                    signals.reception(node, fifo, is_high, open);
                }
                Request::ClassRoute(class, route) => signals.class_route(node, class, route),
                Request::Barrier(class, route, start) => signals.barrier_class(node, class, route, start),
                Request::BarrierBits(class, bits) => signals.set_barrier_bits(node, class, bits),
            }
        }
    }
}

/// A packet in transit to the network, with its payload.
type Packet = (Header, Meta, Option<Data>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slave_port_takes_one_access_a_cycle() {
        let (mut unit, c) = (Unit::new(0, 1, Arc::default()), memory::tests::config());
        let (cycle, there) = (u64::from(c.cycle_ticks), u64::from(c.slave_ticks));
        assert_eq!(
            [5, 5, 6].map(|now| (unit.through_slave_port(&c, Time::at(now)) - there).ticks()),
            [5, 5 + cycle, 5 + 2 * cycle]
        );
        assert_eq!(unit.through_slave_port(&c, Time::at(1000)), Time::at(1000 + there));
    }
}
