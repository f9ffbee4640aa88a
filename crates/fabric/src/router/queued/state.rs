//! The state of a node: its links, and its receivers with their queues.

use super::trees::{Central, Interrupts};
pub(super) use super::vcs::*;
use crate::packet::Header;
use crate::router::bits::{bits, with_any};
use crate::router::event::{self, OwnKind};
pub(super) use crate::router::event::{FROM_INJECTION, Leaving};
pub(super) use crate::router::partition::NOWHERE;
use crate::router::port::Port;
use crate::topology::torus::Coordinates;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Stream, Time, prefetch, prefetch_lines};

/// Source of a transfer, like [`FROM_INJECTION`]: the central collective logic.
pub(super) const FROM_CENTRAL: u8 = 0xfe;

/// How far ahead nearly all events are, ticks: a full packet takes about 2,200 on a link.
pub(super) const HORIZON: usize = 4096;

/// Events specific to these nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, BorshSerialize, BorshDeserialize)]
pub enum QueuedKind {
    /// The node's arbiters act again.
    Retry,
    /// The central collective logic has finished reading, or may grant again (see `slot`).
    Central,
    /// A collective packet is complete in the reception FIFO `port`.
    Collected,
    /// A barrier packet has arrived at this port.
    Interrupt,
}

impl OwnKind for QueuedKind {
    const ALL: &'static [Self] =
        &[QueuedKind::Retry, QueuedKind::Central, QueuedKind::Collected, QueuedKind::Interrupt];

    #[inline]
    fn number(self) -> u64 {
        self as u64
    }
}

pub(super) type Kind = event::Kind<QueuedKind>;
pub(super) type Event = event::Event<QueuedKind>;
pub(super) type Message = event::Message<QueuedKind>;

/// The VC of a packet that is not routed dynamically, determined by its class.
pub(super) fn fixed_vc(header: Header) -> usize {
    match header {
        _ if header.is_system() => SYSTEM,
        _ if header.head() & Header::HIGH != 0 => HIGH,
        _ => DETERMINISTIC,
    }
}

/// The four bytes that arbitration needs of a packet at the head of a queue or injection FIFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct Head {
    /// Directions allowed on the dynamic VC, and above them two flags.
    dynamic_flags: u16,
    /// The direction on its fixed VC, and above it that VC.
    fixed: u8,
    /// Its sequence number among the deterministic packets that arrived in its VC for the same direction.
    pub ticket: u8,
}

impl Head {
    const ORDERED: u16 = 1 << 14;
    const DEPOSIT: u16 = 1 << 15;

    /// `dynamic` has the directions allowed on the dynamic VC, one bit each: the hinted ones in the first set
    /// of its zone that has any left; `fixed` is the direction otherwise, or [`LOCAL`], and `vc` the VC in
    /// that direction.
    pub fn new(dynamic: u16, (fixed, vc): (u8, usize), is_ordered: bool, is_deposit: bool) -> Self {
        let flag = |is: bool, flag: u16| if is { flag } else { 0 };
        Head {
            dynamic_flags: dynamic | flag(is_ordered, Self::ORDERED) | flag(is_deposit, Self::DEPOSIT),
            fixed: fixed | (vc as u8) << 4,
            ticket: 0,
        }
    }

    /// Directions allowed on the dynamic VC.
    #[inline]
    pub fn dynamic(self) -> u16 {
        self.dynamic_flags & ((1 << PORTS) - 1)
    }

    /// The direction on its fixed VC, or [`LOCAL`].
    #[inline]
    pub fn fixed(self) -> usize {
        usize::from(self.fixed & 15)
    }

    /// Its fixed VC.
    #[inline]
    pub fn vc(self) -> usize {
        usize::from(self.fixed >> 4) % VCS
    }

    /// The directions that it may take, by VC (see [`by_vc`]).
    #[inline]
    pub fn wanted(self) -> u64 {
        by_vc(self.dynamic(), DYNAMIC) | by_vc(1 << self.fixed(), self.vc())
    }

    /// All outputs that it may take, each a port and a VC; none if it is for this node.
    pub fn outputs(self) -> Vec<(usize, usize)> {
        let dynamic = bits(self.dynamic()).map(|port| (port, DYNAMIC));
        let fixed = (self.fixed() != LOCAL).then(|| (self.fixed(), self.vc()));
        dynamic.chain(fixed).collect()
    }

    /// Whether it stays in order among packets in the same direction.
    #[inline]
    pub fn is_ordered(self) -> bool {
        self.dynamic_flags & Self::ORDERED != 0
    }

    /// Whether a copy is delivered here as it passes.
    #[inline]
    pub fn is_deposit(self) -> bool {
        self.dynamic_flags & Self::DEPOSIT != 0
    }
}

/// Directions in a VC, in a word that has sixteen bits for each VC.
#[inline]
pub(super) fn by_vc(directions: u16, vc: usize) -> u64 {
    u64::from(directions) << (16 * vc)
}
/// The first direction in all VCs.
const IN_EACH_VC: u64 = 0x0001_0001_0001_0001;
/// The direction to the reception FIFO, in all VCs.
pub(super) const LOCALLY_IN_ANY_VC: u64 = IN_EACH_VC * LOCALLY as u64;
/// The injection FIFOs, in [`Node::wanted`].
pub(super) const INJECTION: usize = PORTS;

/// A queue of packets, by their numbers in the block's arena, excluding one that is leaving.
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Queue {
    pub first: u32,
    pub last: u32,
}

/// A receiver: the queues of its VCs.
///
/// Four lines have what most events touch: the heads, the counts, and the queues of the dynamic VC.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
#[repr(C, align(64))]
pub(super) struct Receiver {
    /// The heads that are ready.
    pub heads: [Head; SLOTS],
    /// Tokens due to the sender at the other end, one byte per VC.
    pub due: u64,
    /// Queues with a packet that is leaving, whose space is not free yet; and those with any packet.
    pub leaving: u32,
    pub occupied: u32,
    /// Packets in each queue, including one that is leaving.
    pub count: [u8; SLOTS],
    pub queues: [Queue; SLOTS],
    /// By VC and direction, deterministic packets that have arrived and left, modulo 256.
    pub came: [[u8; PORTS + 1]; VCS],
    pub departed: [[u8; PORTS + 1]; VCS],
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            heads: [Head::default(); SLOTS],
            leaving: 0,
            occupied: 0,
            count: [0; SLOTS],
            queues: [Queue::default(); SLOTS],
            due: 0,
            came: [[0; PORTS + 1]; VCS],
            departed: [[0; PORTS + 1]; VCS],
        }
    }
}

impl Receiver {
    /// A packet is in a queue from now on.
    #[inline]
    pub fn add_to(&mut self, slot: usize) {
        self.count[slot] += 1;
        self.occupied |= 1 << slot;
    }

    /// A packet is in a queue no more.
    #[inline]
    pub fn remove_from(&mut self, slot: usize) {
        self.count[slot] -= 1;
        self.occupied &= !(u32::from(self.count[slot] == 0) << slot);
    }

    /// The queue of a VC with the fewest packets, among its first `queues` queues.
    #[inline]
    pub fn shortest(&self, vc: usize, queues: usize) -> usize {
        let first = vc * SLOTS_OF_VC;
        let empty = !(self.occupied >> first) & ((1 << queues) - 1);
        if empty != 0 {
            return first + empty.trailing_zeros() as usize;
        }
        (first..first + queues).min_by_key(|&slot| self.count[slot]).expect("a VC has queues")
    }
}

/// The state of a node; the part that every event touches comes first. Masks have one bit per port.
#[repr(C, align(64))]
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct Node {
    /// The node's own random stream.
    pub random: Stream,
    /// Its index in its block.
    pub here: u32,
    /// Its events in the current tick that have not been applied, up to 255.
    pub events: u8,
    /// Links that carry no data packet.
    pub open: u16,
    /// By VC, links with tokens for one full packet, and for two.
    pub room_one: [u16; ALL_VCS],
    pub room_two: [u16; ALL_VCS],
    /// Links reserved for collective packets: no other packet starts on them.
    pub claimed: u16,
    /// Links still busy with one packet while the collective logic has already started the next.
    pub booked: u16,
    /// Receivers with ready heads.
    pub asking: u16,
    /// Receivers with tokens due to the other end.
    pub due: u16,
    /// Injection FIFOs to be filled from the host, those with a ready head, and those whose head is being
    /// sent.
    pub refill: u16,
    pub waiting: u16,
    pub injecting: u16,
    /// Receivers that have stopped at an error.
    pub stopped: u16,
    /// Injection FIFOs whose head waits for the central collective logic.
    pub contributing: u16,
    /// Idle paths to reception FIFOs, and full reception FIFOs.
    pub reception_idle: u16,
    pub reception_full: u16,
    /// Whether the arbiters are scheduled to act again.
    pub retries: bool,
    /// Whether nothing has come since the arbiters last acted that could let a packet move: most wake-ups of hosts.
    pub settled: bool,
    /// Paths to senders in use, by receiver; and the receivers that have none left.
    pub paths: [u8; PORTS],
    pub without_path: u16,
    /// For each receiver, and last for the injection FIFOs: the directions that any ready head may take, by VC
    /// (see [`by_vc`]).
    pub wanted: [u64; PORTS + 1],
    /// For each receiver, the queues with ready heads.
    pub standing: [u32; PORTS],
    /// The collective logic of a node that is in a class route.
    pub central: Option<Box<Central>>,
    /// The links whose neighbours need a barrier update.
    pub barrier_updates: u16,
    /// Tokens held for each VC at the other end of each link: chunks for the dynamic VC, packets for the
    /// others.
    pub tokens: [[u8; ALL_VCS]; PORTS],
    /// For each sender, grants to packets in the network since the last one to a packet at injection.
    pub through: [u8; PORTS],
    /// The barrier logic of a node that is in a barrier class.
    pub interrupts: Option<Box<Interrupts>>,
    /// The node's coordinates, and its number.
    pub at: Coordinates,
    pub number: u32,
    /// The neighbours' coordinates, each in its link's dimension.
    pub ahead: [u8; PORTS],
    /// The port at the other end of each link; and the IO links, one bit each.
    pub far: [u8; PORTS],
    pub io_links: u16,
    /// Additional wire delay of each link over the common one, ticks.
    pub wires: [u32; PORTS],
    /// Heads of the injection FIFOs.
    pub heads: [Head; 16],
    /// For each link, the end of the gap after its last data packet.
    pub ready_at: [Time; PORTS],
    pub ports: [Port; PORTS],
    pub receivers: [Receiver; PORTS],
}

/// The lines of a node, and of a receiver, that nearly every event touches.
const HOT_LINES: usize = 5;
const HOT_RECEIVER_LINES: usize = 4;
const _: () = assert!(
    std::mem::offset_of!(Node, through) <= 64 * HOT_LINES
        && std::mem::offset_of!(Receiver, queues) + SLOTS_OF_VC * size_of::<Queue>()
            <= 64 * HOT_RECEIVER_LINES
);

impl Node {
    /// A head of a receiver becomes ready.
    pub fn set_head(&mut self, port: usize, slot: usize, head: Head) {
        let r = &mut self.receivers[port];
        debug_assert!(self.standing[port] >> slot & 1 == 0, "one head per queue");
        r.heads[slot] = head;
        self.standing[port] |= 1 << slot;
        self.asking |= 1 << port;
        self.wanted[port] |= head.wanted();
    }

    /// A head is no longer ready: its packet is leaving.
    pub fn clear_head(&mut self, port: usize, slot: usize) {
        self.standing[port] &= !(1 << slot);
        let mut left = self.standing[port];
        self.asking &= !(u16::from(left == 0) << port);
        let mut wanted = 0;
        while left != 0 {
            wanted |= self.receivers[port].heads[left.trailing_zeros() as usize].wanted();
            left &= left - 1;
        }
        self.wanted[port] = wanted;
    }

    /// The head of an injection FIFO becomes ready.
    pub fn set_waiting(&mut self, fifo: usize, head: Head) {
        self.heads[fifo] = head;
        self.waiting |= 1 << fifo;
        self.settled = false;
        self.wanted[INJECTION] |= head.wanted();
    }

    /// The head of an injection FIFO is no longer ready: its packet is leaving.
    pub fn clear_waiting(&mut self, fifo: usize) {
        self.waiting &= !(1 << fifo);
        self.injecting |= 1 << fifo;
        self.wanted[INJECTION] =
            bits(self.waiting).fold(0, |wanted, fifo| wanted | self.heads[fifo].wanted());
    }

    /// By VC (see [`by_vc`]), the directions in which a packet could start if these links are free.
    #[inline]
    pub fn room(&self, links: u16) -> u64 {
        let room = (0..VCS).fold(0, |all, vc| all | by_vc(self.room_one[vc], vc));
        room & (IN_EACH_VC * u64::from(links))
    }

    /// Receivers of which any head may move if these links are free, or last the injection FIFOs: a quick check
    /// before the full one. It has no loop over those that ask: how many do cannot be predicted.
    #[inline]
    pub fn movers(&self, links: u16) -> u16 {
        let able = self.room(links & !LOCALLY) | LOCALLY_IN_ANY_VC;
        let movers = with_any(&self.wanted, able);
        if movers & self.without_path == 0 {
            return movers;
        }
        movers & !self.without_path | with_any(&self.wanted, LOCALLY_IN_ANY_VC) & self.without_path
    }

    /// A receiver uses another path to a sender, of `paths`; or one less.
    #[inline]
    pub fn take_path(&mut self, port: usize, paths: u8) {
        self.paths[port] += 1;
        self.without_path |= u16::from(self.paths[port] >= paths) << port;
    }

    #[inline]
    pub fn free_path(&mut self, port: usize) {
        self.paths[port] -= 1;
        self.without_path &= !(1 << port);
    }

    /// Brings the heads that the arbiters will look at into the cache; what [`Self::fetch`] asked for is
    /// there.
    #[inline]
    pub fn fetch_heads(&self, event: &Event) {
        // The arbiters mostly stay as they are.
        if event.kind() == Kind::Wake {
            return;
        }
        for port in bits(self.movers(self.open) & !(1 << INJECTION)) {
            prefetch(&self.receivers[port].heads);
        }
    }

    /// Brings what an event will touch into the cache.
    #[inline]
    pub fn fetch(&self, event: &Event) {
        prefetch_lines(self, HOT_LINES);
        let port = event.port() % PORTS;
        prefetch(&self.ports[port]);
        // The receiver that a packet has left, or has come to, without a branch on the event's kind.
        let from = usize::from(Leaving::of(event.word).from).min(PORTS - 1);
        let receiver = &self.receivers[if event.kind() == Kind::Sent { from } else { port }];
        prefetch_lines(receiver, HOT_RECEIVER_LINES);
    }
}

/// A packet in a queue or at the head of an injection FIFO, by its number in the block's arena.
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Cell {
    pub header: Header,
    /// The next packet in its queue.
    pub next: u32,
    /// Low bits of the time at which it arrived here.
    pub arrived: u32,
    /// See [`Head::ticket`].
    pub ticket: u8,
    /// The queue that holds it.
    pub slot: u8,
}
