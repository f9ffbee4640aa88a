//! The Aries network interface (Alverson et al., "Cray XC Series Network", "Aries NIC"): cores issue commands
//! by stores across the host interface; the NIC turns them into packets; the destination executes each
//! request and returns a response.
//!
//! The stations of a request:
//!
//! | station | file |
//! |---|---|
//! | the host interface; its memory reads and writes | `../pcie.rs`, `memory.rs` |
//! | FMA: descriptors, windows, launch | `fma.rs` |
//! | block transfers | `bte.rs` |
//! | outstanding requests and their transactions | `orb.rs`, `initiator.rs` |
//! | packet formats | `packet.rs` |
//! | requests at their destination; sequences and posted receives | `target.rs`, `message_table.rs` |
//! | network addresses, handles, jobs; address translation | `address.rs`, `iommu.rs` |
//! | atomic operations and their cache | `atomic.rs`, `amo_cache.rs` |
//! | reductions and barriers | `collective.rs` |
//! | event timers and the global clock | `clock.rs` |
//! | memory, completion queues | `node.rs` |
//! | errors and their subscriptions; receives of the node itself | `errors.rs`, `system.rs` |
//! | its interfaces to its node and the fabric | `interface.rs` |
//!
//! The programming interfaces (uGNI, short messages, DMAPP) are in the crate `messaging`.

pub mod address;
mod amo_cache;
pub mod atomic;
mod bte;
pub mod clock;
pub mod collective;
pub mod config;
pub mod errors;
mod fma;
mod initiator;
mod interface;
mod iommu;
mod memory;
mod message_table;
mod node;
mod orb;
mod packet;
pub mod status;
pub mod system;
mod target;

pub use amo_cache::AMO_CACHE_ENTRIES;
pub use bte::{CHANNELS, Move, TRANSFER_MAX_B, Transfer};
pub use fma::{Command, LINE_B, Target, WINDOW_B, What, Window};
pub use interface::{AriesNics, NicCounters, Submission, nics_of};
pub use iommu::{PTE_CACHE_ENTRIES, PTE_CACHE_WAYS, PTES_PER_ENTRY};
pub use node::{Common, Event, EventKind, FMA_DESCRIPTORS, Node, Queue, QueueMode, Receive, place};
pub use orb::{Notice, OUTSTANDING};

use crate::arrivals::Arrivals;
use crate::outgoing::{Outgoing, Requests};
use config::AriesConfig;
use netloom_engine::Stream;
use netloom_fabric::packet::{Data, Meta};
use netloom_fabric::router::tiled::{Class, Mode, TiledHeader};
use netloom_node::process::ProcessId;
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use packet::{Request, Tag};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Packets in the pipeline towards the network **(ours)**.
const PIPELINE: usize = 64;

/// An action of a NIC.
#[doc(hidden)]
pub enum Action {
    /// A command has arrived at the NIC.
    Arrived(Box<Command>),
    /// Processes arrived packets of a class.
    Serve(usize),
    /// Executes a request whose address has been translated.
    Commit(Box<target::Located>),
    /// Writes the data of a response whose address has been translated.
    Deposit(Box<initiator::Deposit>),
    /// A read request has reached the host's memory.
    AtHost(Box<memory::Reading>),
    /// The data of a read has arrived.
    ReadDone(Box<memory::Reading>),
    /// The address of a block has been translated.
    Block(Box<bte::Block>),
    /// A write has reached memory.
    WriteDone(Box<MemoryWrite>),
    /// The block transfer engine requests its next packet's data.
    Step,
    /// Writes a variable of the AMO cache to memory.
    WriteWord(u64),
    /// A collective engine has all contributions.
    Reduced(u8),
    /// Checks for requests without a response.
    Sweep,
}

// Agendas move actions, so large ones are boxed.
const _: () = assert!(size_of::<Action>() <= 16);

/// A write to memory.
#[doc(hidden)]
pub enum MemoryWrite {
    /// Data, at a process's address.
    Data { process: u8, address: u64, bytes: u32, data: Option<Data> },
    /// An event, in a queue.
    Event { queue: u16, event: Event },
    /// A descriptor has no outstanding requests.
    Sync(u8),
    /// The result of a collective engine, with its event.
    Result { engine: u8, value: [u64; 2], status: status::Status },
}

/// A condition that a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// An event in a completion queue.
    Queue(u16),
    /// An event in any completion queue of the process.
    AnyQueue,
    /// An error of its subscriptions.
    Errors,
    /// A write to memory of the process.
    Memory {
        /// Its number.
        process: ProcessId,
        /// Start of the memory.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// Completion of all requests of an FMA descriptor.
    Sync(u8),
}

/// A request that is ready, with its tag if it has one already.
struct Ready {
    request: Request,
    node: u32,
    mode: Mode,
    data: Option<Data>,
    tag: Option<Tag>,
    outstanding: orb::Outstanding,
}

/// Outgoing packets.
struct Port {
    list: Outgoing,
    free_at: Microticks,
    /// Whether the network must be notified of a packet.
    network_waits: bool,
}

impl Default for Port {
    fn default() -> Self {
        Port { list: VecDeque::new(), free_at: Microticks::ZERO, network_waits: true }
    }
}

impl Port {
    fn is_full(&self) -> bool {
        self.list.len() >= PIPELINE
    }
}

/// The NIC of one node, created when it has something to do.
pub struct Nic {
    number: u32,
    here: Arc<Mutex<Node>>,
    random: Stream,
    schedule: Schedule<Action, Watch>,
    pcie: crate::pcie::Pcie,
    /// When the data path accepts the next read and the next write.
    read_free: Microticks,
    write_free: Microticks,
    iommu: iommu::Iommu,
    orb: orb::Orb,
    transactions: orb::Transactions,
    is_sweeping: bool,
    /// Stores of cores in the NIC, and those that wait for a credit.
    writes_held: u32,
    held: VecDeque<(u8, u32, Box<Command>)>,
    commands: VecDeque<Box<Command>>,
    descriptors: fma::Descriptors,
    ready: VecDeque<Ready>,
    fma_first: bool,
    /// To the network: requests, responses. From it: requests, responses.
    requests: Port,
    responses: Port,
    arrivals: [Arrivals<target::Arrival>; 2],
    /// When the data path accepts the next of each.
    arrivals_free: [Microticks; 2],
    bte: bte::Bte,
    table: message_table::MessageTable,
    amo: amo_cache::AmoCache,
    engines: [collective::Engine; collective::ENGINES],
    asks: Requests,
    counters: NicCounters,
}

/// Time from the end of a transfer to its effect, for a process's memory and cores.
fn crossing(c: &AriesConfig, process: u8) -> Microticks {
    let far = u64::from(c.cores.cpu(process));
    Microticks::of_milliticks(c.pcie.crossing_milliticks + far * c.pcie.qpi_milliticks)
}

impl Nic {
    fn new(number: u32, here: &Arc<Mutex<Node>>, seed: u64) -> Self {
        Nic {
            number,
            here: Arc::clone(here),
            random: Stream::new(seed, 11, number.into()),
            schedule: Schedule::default(),
            pcie: crate::pcie::Pcie::new(seed, number),
            read_free: Microticks::ZERO,
            write_free: Microticks::ZERO,
            iommu: iommu::Iommu::default(),
            orb: orb::Orb::default(),
            transactions: orb::Transactions::default(),
            is_sweeping: false,
            writes_held: 0,
            held: VecDeque::new(),
            commands: VecDeque::new(),
            descriptors: fma::Descriptors::default(),
            ready: VecDeque::new(),
            fma_first: false,
            requests: Port::default(),
            responses: Port::default(),
            arrivals: Default::default(),
            arrivals_free: [Microticks::ZERO; 2],
            bte: bte::Bte::default(),
            table: message_table::MessageTable::default(),
            amo: amo_cache::AmoCache::default(),
            engines: Default::default(),
            asks: Requests::default(),
            counters: NicCounters::default(),
        }
    }

    /// Executes an action.
    fn act(&mut self, c: &Common, t: Microticks, action: Action) {
        match action {
            Action::Arrived(command) => {
                self.commands.push_back(command);
                self.feed(c, t);
            }
            Action::Serve(class) => {
                let has_waited = self.arrivals[class].called(t);
                self.serve(c, t, class, has_waited);
            }
            Action::Commit(located) => self.commit(c, t, *located),
            Action::Deposit(deposit) => self.deposit(c, t, *deposit),
            Action::AtHost(read) => self.at_host(c, t, read),
            Action::ReadDone(reading) => self.read_done(c, t, reading.what, reading.data),
            Action::Block(block) => self.read(c, t, memory::Read::Block(*block)),
            Action::WriteDone(memory_write) => self.write_done(c, t, *memory_write),
            Action::Step => self.step(c, t),
            Action::WriteWord(word) => self.write_word(c, t, word),
            Action::Reduced(engine) => self.reduced(c, t, engine.into()),
            Action::Sweep => self.sweep(c, t),
        }
    }

    /// A random seed for a packet's path; the same for all packets of a pair of nodes if they are to stay in
    /// order.
    fn seed(&mut self, to: u32, mode: Mode) -> u32 {
        if mode.is_in_order() {
            self.number.wrapping_mul(2_654_435_769).rotate_left(7) ^ to.wrapping_mul(0x85eb_ca6b)
        } else {
            self.random.draw() as u32
        }
    }

    /// Puts a packet into the pipeline to the network.
    fn send(
        &mut self,
        c: &Common,
        t: Microticks,
        (to, class, mode): (u32, Class, Mode),
        (flits, carried): (u32, u32),
        meta: Meta,
        data: Option<Data>,
    ) {
        let header = TiledHeader::new(to, flits, class, mode, self.seed(to, mode));
        let which = usize::from(class == Class::Response);
        let port = if which == 0 { &mut self.requests } else { &mut self.responses };
        let start = port.free_at.max(t);
        port.free_at = start + c.config.passage(carried);
        let ready = start + Microticks::of_milliticks(c.config.out_milliticks);
        port.list.push_back((ready, header, meta, data));
        if std::mem::take(&mut port.network_waits) {
            self.asks.fills[which] = Some(ready.tick_up());
        }
    }

    /// Sends a request; there must be space for it.
    fn issue(&mut self, c: &Common, t: Microticks, ready: Ready) {
        let Ready { mut request, node, mode, data, tag, outstanding } = ready;
        request.tag = tag.unwrap_or_else(|| self.orb.insert(outstanding));
        self.orb.issued(request.tag, t);
        let carried = match request.op {
            packet::Op::Get | packet::Op::Event => 0,
            packet::Op::Amo | packet::Op::Join | packet::Op::Result => {
                data.as_ref().map_or(8, |d| d.len() as u32)
            }
            _ => request.bytes,
        };
        self.counters.requests += 1;
        let flits = c.packet.request_flits(carried);
        let meta = request.to_meta(self.number, t.tick());
        self.send(c, t, (node, Class::Request, mode), (flits, carried), meta, data);
        if !self.is_sweeping {
            self.is_sweeping = true;
            self.schedule.at(t + Microticks::of_milliticks(c.config.timeout_milliticks), Action::Sweep);
        }
    }
}
