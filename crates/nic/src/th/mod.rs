//! The TH Express-2 network interface (Pang et al., "The TH Express high performance interconnect networks",
//! section 2): virtual ports whose descriptors are written or fetched, one-sided transfers between them,
//! mini-packets, and reliable connections.
//!
//! The stations of an operation:
//!
//! | station | file |
//! |---|---|
//! | descriptors; their submission by PIO or DMA | `descriptor.rs`, `submit.rs` |
//! | sequences of descriptors, and control packets | `sequence.rs` |
//! | the RDMA engine: packets and their data | `engine.rs` |
//! | end-to-end connections | `connection.rs` |
//! | packet formats | `packet.rs` |
//! | packets at their destination | `receive.rs` |
//! | keys and the memory checker; address translation | `checker.rs`, `atc.rs` |
//! | the host interface; writes to memory, and polling | `../pcie.rs`, `memory.rs` |
//! | queues of events, mini-packets, interrupts and error packets | `queue.rs` |
//! | memory, virtual ports | `node.rs` |
//! | its interfaces to its node and the fabric | `interface.rs` |
//!
//! The programming interface, modelled on libglex (section 3.1), is in the crate `messaging`.

mod atc;
mod checker;
pub mod config;
mod connection;
mod descriptor;
mod engine;
mod interface;
mod memory;
mod node;
mod packet;
mod queue;
mod receive;
mod sequence;
pub mod status;
mod submit;

pub use checker::PAGE_B;
pub use descriptor::{Address, Descriptor, Operation, Options};
pub use interface::{NicCounters, ThNics, nics_of};
pub use node::{
    Common, EndpointConfig, Event, EventKind, FailedRequest, MiniPacket, Node, PIO_PORTS, PORTS, Port,
    Submission, place, submission_of,
};
pub use queue::{EVENT_B, ErrorKind, ErrorPacket, Interrupt, InterruptKind, Queue, QueueConfig};
pub use sequence::{REDUCED_WORDS, Reduction, Request, Step, Swap, swap_address};
pub use submit::Write;

use crate::arrivals::Arrivals;
use crate::outgoing::{Outgoing, Requests};
use crate::pcie::Pcie;
use connection::Coming;
use engine::{Expected, Read, Transfer};
use memory::MemoryWrite;
use netloom_engine::Stream;
use netloom_fabric::packet::Data;
use netloom_fabric::router::tiled::{Class, Mode, TiledHeader};
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use packet::{Id, Packet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// An action of a NIC.
#[doc(hidden)]
pub enum Action {
    /// A command has arrived at the NIC, or a descriptor has been fetched.
    Arrived(submit::Write),
    /// Requests the next descriptor of the DMA ports.
    Schedule,
    /// The host's memory has the descriptor.
    DescriptorAtHost(Box<Descriptor>),
    /// A descriptor has been decoded.
    Begin(Id),
    /// A packet's address has been translated.
    Read(Box<Read>),
    /// The host's memory has its data.
    AtHost(Box<Read>),
    /// The NIC has the data.
    ReadDone(Box<Read>),
    /// Processes arrived packets of a class.
    Serve(usize),
    /// Executes an arrived packet.
    Commit(Box<receive::Arrival>, status::Status),
    /// A write whose address has been translated.
    Write(u32, Box<MemoryWrite>),
    /// A write has reached memory.
    WriteDone(Box<MemoryWrite>),
    /// The cache has been searched for the pages of an item.
    Refreshed(u16),
    /// Requests a connection again.
    Retry(Id),
    /// A transfer has received no answer.
    Timeout(Id, u32),
    /// The data of a get, by its ticket, should have arrived from there by now.
    GetTimeout(u32, (u32, u8)),
}

/// A condition that a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// An event in the queue of a virtual port.
    Events(u8),
    /// A mini-packet in the queue of a virtual port.
    MiniPackets(u8),
    /// An interrupt in the node's queue.
    Interrupts,
    /// A write to memory of the process.
    Memory {
        /// Start of the memory.
        address: u64,
        /// Its length.
        bytes: u64,
    },
}

/// The NIC of one node, created when it has something to do.
pub struct Nic {
    number: u32,
    here: Arc<Mutex<Node>>,
    random: Stream,
    schedule: Schedule<Action, Watch>,
    pcie: Pcie,
    checker_free: Microticks,
    /// When the cache can be searched for the next refresh.
    refresh_free: Microticks,
    /// Of the DMA ports: descriptors announced by doorbells and not yet requested; the port served last.
    doorbells: BTreeMap<u8, u32>,
    fetch_turn: u8,
    /// Descriptors on the chip, by port; the port served last; responses to gets.
    buffers: BTreeMap<u8, VecDeque<Descriptor>>,
    serve_turn: u8,
    answers: VecDeque<Descriptor>,
    /// Descriptors in execution, with the count of the uses of each number.
    transfers: BTreeMap<u16, Transfer>,
    uses: BTreeMap<u16, u8>,
    /// Number of them with a connection.
    senders: u32,
    /// Pending operations of each port; gets among them without their data, by number; the last such number.
    in_flight: BTreeMap<u8, u32>,
    expected: BTreeMap<u32, Expected>,
    ticket: u32,
    /// Number of packets whose data is being read; the transfer served last.
    reads: usize,
    read_turn: u16,
    /// To the network: requests, responses; whether it must be notified of the next packet.
    requests: Outgoing,
    responses: Outgoing,
    network_waits: [bool; 2],
    arrivals: [Arrivals<receive::Arrival>; 2],
    /// Incoming transfers without a connection and with several packets; receiver contexts.
    coming: BTreeMap<(u32, Id), Coming>,
    receivers: BTreeMap<(u32, Id), Coming>,
    asks: Requests,
    counters: NicCounters,
}

impl Nic {
    fn new(number: u32, here: &Arc<Mutex<Node>>, seed: u64) -> Self {
        Nic {
            number,
            here: Arc::clone(here),
            random: Stream::new(seed, 12, number.into()),
            schedule: Schedule::default(),
            pcie: Pcie::new(seed, number),
            checker_free: Microticks::ZERO,
            refresh_free: Microticks::ZERO,
            doorbells: BTreeMap::new(),
            fetch_turn: 0,
            buffers: BTreeMap::new(),
            serve_turn: 0,
            answers: VecDeque::new(),
            transfers: BTreeMap::new(),
            uses: BTreeMap::new(),
            senders: 0,
            in_flight: BTreeMap::new(),
            expected: BTreeMap::new(),
            ticket: 0,
            reads: 0,
            read_turn: 0,
            requests: VecDeque::new(),
            responses: VecDeque::new(),
            network_waits: [true; 2],
            arrivals: Default::default(),
            coming: BTreeMap::new(),
            receivers: BTreeMap::new(),
            asks: Requests::default(),
            counters: NicCounters::default(),
        }
    }

    /// Executes an action.
    fn act(&mut self, c: &Common, t: Microticks, action: Action) {
        match action {
            Action::Arrived(write) => self.write_arrived(c, t, write),
            Action::Schedule => self.ask_for_descriptor(c, t),
            Action::DescriptorAtHost(descriptor) => self.descriptor_at_host(c, t, descriptor),
            Action::Begin(id) => self.begin(c, t, id),
            Action::Read(read) => self.read(c, t, read),
            Action::AtHost(read) => self.at_host(c, t, read),
            Action::ReadDone(read) => self.read_done(c, t, &read),
            Action::Serve(class) => {
                self.arrivals[class].called(t);
                self.serve(c, t, class);
            }
            Action::Commit(arrival, status) => self.commit(c, t, *arrival, status),
            Action::Write(bytes, memory_write) => self.write(c, t, bytes, *memory_write),
            Action::WriteDone(memory_write) => self.write_done(c, t, *memory_write),
            Action::Refreshed(item) => self.refreshed(item),
            Action::Retry(id) => self.ask_for_connection(c, t, id),
            Action::Timeout(id, attempt) => self.timeout(c, t, id, attempt),
            Action::GetTimeout(ticket, from) => self.get_timeout(c, t, ticket, from),
        }
    }

    /// Puts a packet into the pipeline to the network, with its payload after the header.
    fn send(&mut self, c: &Common, t: Microticks, to: u32, packet: Packet, carried: u32, data: Option<Data>) {
        let is_answer = packet.kind.is_answer();
        let (class, flits) = match is_answer {
            true => (Class::Response, c.packet.response_flits(carried)),
            false => (Class::Request, c.packet.request_flits(carried)),
        };
        // Packets of a pair of nodes use different routes, and may overtake one another (section 4.5).
        let header = TiledHeader::new(to, flits, class, Mode::Adaptive0, self.random.draw() as u32);
        let which = usize::from(is_answer);
        let queue = if is_answer { &mut self.responses } else { &mut self.requests };
        let meta = packet.to_meta(self.number, t.tick());
        let ready = t + Microticks::of_milliticks(c.config.out_milliticks);
        queue.push_back((ready, header, meta, data));
        if std::mem::take(&mut self.network_waits[which]) {
            self.asks.fills[which] = Some(ready.tick_up());
        }
        self.counters.packets += 1;
    }
}
