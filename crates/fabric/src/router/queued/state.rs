//! The state of a node: its links, and its receivers with their queues.

use super::trees::{Central, Interrupts};
pub(super) use super::vcs::*;
use crate::packet::Header;
use crate::router::bits::bits;
use crate::router::event::{self, OwnKind};
pub(super) use crate::router::event::{FROM_INJECTION, Leaving};
pub(super) use crate::router::partition::NOWHERE;
use crate::router::port::Port;
use crate::topology::torus::Coordinates;
use netloom_engine::{Stream, prefetch};

/// Source of a transfer, like [`FROM_INJECTION`]: the central collective logic.
pub(super) const FROM_CENTRAL: u8 = 0xfe;

/// Events specific to these nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// A queue of packets, by their numbers in the block's arena, excluding one that is leaving.
#[derive(Clone, Copy, Default)]
pub(super) struct Queue {
    pub first: u32,
    pub last: u32,
}

/// A receiver: the queues of its VCs.
#[derive(Clone)]
pub(super) struct Receiver {
    /// The heads that are ready.
    pub heads: [Head; SLOTS],
    /// Queues with a packet that is leaving, whose space is not free yet.
    pub leaving: u32,
    /// Packets in each queue, including one that is leaving.
    pub count: [u8; SLOTS],
    pub queues: [Queue; SLOTS],
    /// Tokens due to the sender at the other end, one byte per VC.
    pub due: u64,
    /// By VC and direction, deterministic packets that have arrived and left, modulo 256.
    pub came: [[u8; PORTS + 1]; VCS],
    pub departed: [[u8; PORTS + 1]; VCS],
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            heads: [Head::default(); SLOTS],
            leaving: 0,
            count: [0; SLOTS],
            queues: [Queue::default(); SLOTS],
            due: 0,
            came: [[0; PORTS + 1]; VCS],
            departed: [[0; PORTS + 1]; VCS],
        }
    }
}

impl Receiver {
    /// The queue of a VC with the fewest packets, among its first `queues` queues.
    #[inline]
    pub fn shortest(&self, vc: usize, queues: usize) -> usize {
        let first = vc * SLOTS_OF_VC;
        (first..first + queues).min_by_key(|&slot| self.count[slot]).expect("a VC has queues")
    }
}

/// The state of a node; the part that every event touches comes first. Masks have one bit per port.
#[repr(C, align(64))]
pub(super) struct Node {
    /// The node's own random stream.
    pub random: Stream,
    /// Its index in its block.
    pub here: u32,
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
    /// Paths to senders in use, by receiver.
    pub paths: [u8; PORTS],
    /// For each receiver and VC, the directions that any head may take there.
    pub wanted: [[u16; VCS]; PORTS],
    /// For each receiver, the queues with ready heads.
    pub standing: [u32; PORTS],
    /// The collective logic of a node that is in a class route.
    pub central: Option<Box<Central>>,
    /// The barrier logic of a node that is in a barrier class.
    pub interrupts: Option<Box<Interrupts>>,
    /// The links whose neighbours need a barrier update.
    pub barrier_updates: u16,
    /// The node's coordinates, and its number.
    pub at: Coordinates,
    pub number: u32,
    /// Tokens held for each VC at the other end of each link: chunks for the dynamic VC, packets for the
    /// others.
    pub tokens: [[u8; ALL_VCS]; PORTS],
    /// For each sender, grants to packets in the network since the last one to a packet at injection.
    pub through: [u8; PORTS],
    /// The neighbours' coordinates, each in its link's dimension.
    pub ahead: [u8; PORTS],
    /// The port at the other end of each link; and the IO links, one bit each.
    pub far: [u8; PORTS],
    pub io_links: u16,
    /// Additional wire delay of each link over the common one, ticks.
    pub wires: [u32; PORTS],
    /// Heads of the injection FIFOs.
    pub heads: [Head; 16],
    pub ports: [Port; PORTS],
    pub receivers: [Receiver; PORTS],
}

impl Node {
    /// A head of a receiver becomes ready.
    pub fn set_head(&mut self, port: usize, slot: usize, head: Head) {
        let r = &mut self.receivers[port];
        debug_assert!(self.standing[port] >> slot & 1 == 0, "one head per queue");
        r.heads[slot] = head;
        self.standing[port] |= 1 << slot;
        self.asking |= 1 << port;
        self.want(port, head);
    }

    /// A head is no longer ready: its packet is leaving.
    pub fn clear_head(&mut self, port: usize, slot: usize) {
        self.standing[port] &= !(1 << slot);
        let mut left = self.standing[port];
        self.asking &= !(u16::from(left == 0) << port);
        self.wanted[port] = [0; VCS];
        while left != 0 {
            let head = self.receivers[port].heads[left.trailing_zeros() as usize];
            self.want(port, head);
            left &= left - 1;
        }
    }

    fn want(&mut self, port: usize, head: Head) {
        self.wanted[port][DYNAMIC] |= head.dynamic();
        self.wanted[port][head.vc()] |= 1 << head.fixed();
    }

    /// Whether any head of a receiver may move, if these links are free: a quick check before the full one.
    #[inline]
    pub fn may_move(&self, port: usize, links: u16) -> bool {
        let wanted = &self.wanted[port];
        (0..VCS).fold(0, |any, vc| any | wanted[vc] & (links & self.room_one[vc] | LOCALLY)) != 0
    }

    /// Brings the heads that the arbiters will look at into the cache; what [`Self::fetch`] asked for is
    /// there.
    #[inline]
    pub fn fetch_heads(&self) {
        for port in bits(self.asking) {
            if self.may_move(port, self.open) {
                prefetch(&self.receivers[port].heads);
            }
        }
    }

    /// Brings what an event will touch into the cache.
    #[inline]
    pub fn fetch(&self, event: &Event) {
        prefetch(&self.random);
        prefetch(&self.wanted);
        prefetch(&self.standing);
        prefetch(&self.tokens);
        let port = event.port() % PORTS;
        match event.kind() {
            Kind::Sent => {
                prefetch(&self.ports[port]);
                let from = Leaving::of(event.word).from;
                if let Some(r) = self.receivers.get(usize::from(from)) {
                    prefetch(r);
                }
            }
            Kind::Arrived | Kind::Received => prefetch(&self.receivers[port]),
            _ => {}
        }
    }
}

/// A packet in a queue or at the head of an injection FIFO, by its number in the block's arena.
#[derive(Clone, Copy, Default)]
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
