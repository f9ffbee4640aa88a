//! The state of a node: its links, and its receivers with their queues.

use crate::config::QUEUES_MAX;
use crate::packet::Header;
pub(super) use crate::router::event::{Event, FROM_INJECTION, Kind, Leaving};
pub(super) use crate::router::partition::NOWHERE;
use crate::router::port::Port;
use netloom_engine::Stream;

/// Ports of a node: two for each of five dimensions.
pub(super) const PORTS: usize = 10;
/// Point-to-point VCs (section II.B).
pub(super) const VCS: usize = 4;
/// Their numbers, as the hardware has them.
pub(super) const DYNAMIC: usize = 0;
pub(super) const DETERMINISTIC: usize = 1;
pub(super) const HIGH: usize = 2;
pub(super) const SYSTEM: usize = 3;

/// Places for a receiver's queues: eight a VC, of which the last is not used.
pub(super) const SLOTS: usize = VCS * SLOTS_OF_VC;
pub(super) const SLOTS_OF_VC: usize = 8;
const _: () = assert!(QUEUES_MAX <= SLOTS_OF_VC);

/// As the direction of a deterministic packet, or in a mask of directions as a bit: to its reception FIFO.
pub(super) const LOCAL: usize = PORTS;
/// As a bit among directions.
pub(super) const LOCALLY: u16 = 1 << LOCAL;

/// The reception FIFOs (section II.A): one for each receiver, one for high priority, one for the system.
pub(super) const RECEPTION_HIGH: usize = PORTS;
pub(super) const RECEPTION_SYSTEM: usize = PORTS + 1;

/// The VC on which a packet travels if it is not free to choose: what it is for.
pub(super) fn fixed_vc(header: Header) -> usize {
    match header {
        _ if header.is_system() => SYSTEM,
        _ if header.head() & Header::HIGH != 0 => HIGH,
        _ => DETERMINISTIC,
    }
}

/// What arbitration needs of a packet at the head of a queue or injection FIFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Directions that it may take on the dynamic VC, a bit each: hinted, and of its zone's first set that has any left.
    pub dynamic: u16,
    /// The direction that it takes otherwise, or [`LOCAL`].
    pub fixed: u8,
    /// The VC that it takes there.
    pub vc: u8,
    /// Its place among the deterministic packets that came to its VC for the same direction.
    pub ticket: u8,
    /// Whether it is one of these, and whether a copy stays here as it goes by.
    pub is_ordered: bool,
    pub is_deposit: bool,
}

/// A queue of packets, by their numbers in the block's arena, without one that is on its way.
#[derive(Clone, Copy, Default)]
pub(super) struct Queue {
    pub first: u32,
    pub last: u32,
}

/// A receiver: the queues of its VCs.
#[derive(Clone)]
pub(super) struct Receiver {
    /// The heads that are free to ask.
    pub heads: [Head; SLOTS],
    /// Which of them there are.
    pub standing: u32,
    /// By VC, the directions that any of them may take there.
    pub wanted: [u16; VCS],
    /// Queues of which a packet is on its way, so that its place is not free yet.
    pub leaving: u32,
    /// Packets in each queue, such a one included.
    pub count: [u8; SLOTS],
    pub queues: [Queue; SLOTS],
    /// Tokens due to the sender at the other end, a byte a VC.
    pub due: u32,
    /// By VC and direction, deterministic packets that came and that have gone, modulo 256.
    pub came: [[u8; PORTS + 1]; VCS],
    pub gone: [[u8; PORTS + 1]; VCS],
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            heads: [Head::default(); SLOTS],
            standing: 0,
            wanted: [0; VCS],
            leaving: 0,
            count: [0; SLOTS],
            queues: [Queue::default(); SLOTS],
            due: 0,
            came: [[0; PORTS + 1]; VCS],
            gone: [[0; PORTS + 1]; VCS],
        }
    }
}

impl Receiver {
    /// A head begins to ask.
    pub fn set_head(&mut self, slot: usize, head: Head) {
        debug_assert!(self.standing >> slot & 1 == 0, "one head a queue");
        self.heads[slot] = head;
        self.standing |= 1 << slot;
        self.want(&head);
    }

    /// A head asks no longer: its packet is on its way.
    pub fn clear_head(&mut self, slot: usize) {
        self.standing &= !(1 << slot);
        self.wanted = [0; VCS];
        let mut left = self.standing;
        while left != 0 {
            let head = self.heads[left.trailing_zeros() as usize];
            self.want(&head);
            left &= left - 1;
        }
    }

    fn want(&mut self, head: &Head) {
        self.wanted[DYNAMIC] |= head.dynamic;
        self.wanted[usize::from(head.vc)] |= 1 << head.fixed;
    }

    /// The queue of a VC with the fewest packets, of so many queues.
    pub fn shortest(&self, vc: usize, queues: usize) -> usize {
        let first = vc * SLOTS_OF_VC;
        (first..first + queues).min_by_key(|&slot| self.count[slot]).expect("a VC has queues")
    }
}

/// All of a node. Masks have a bit a port.
pub(super) struct Node {
    /// The node's own random choices.
    pub random: Stream,
    /// Its place in its block.
    pub here: u32,
    /// Links that carry no data packet.
    pub open: u16,
    /// By VC, links with tokens for a full packet, and for two.
    pub room_one: [u16; VCS],
    pub room_two: [u16; VCS],
    /// Receivers with heads that are free to ask.
    pub asking: u16,
    /// Receivers with tokens due to the other end.
    pub due: u16,
    /// Injection FIFOs to be filled from the host, those with a head that is free to ask, and those whose head is being sent.
    pub refill: u16,
    pub waiting: u16,
    pub injecting: u16,
    /// Paths to reception FIFOs that are idle, and reception FIFOs that have no room.
    pub reception_idle: u16,
    pub reception_full: u16,
    /// Whether the arbiters will act again by themselves.
    pub retries: bool,
    /// Paths to senders in use, by receiver.
    pub paths: [u8; PORTS],
    /// Grants to packets in the network since the last one to a packet being injected, by sender.
    pub through: [u8; PORTS],
    /// Tokens held for each VC at the other end of each link: chunks of the dynamic VC, packets of the others.
    pub tokens: [[u8; VCS]; PORTS],
    /// The neighbours' coordinates, each in its link's dimension.
    pub ahead: [u8; PORTS],
    /// Wires of each link beyond those that all have, ticks.
    pub wires: [u32; PORTS],
    /// Heads of the injection FIFOs.
    pub heads: [Head; 16],
    pub ports: [Port; PORTS],
    pub receivers: [Receiver; PORTS],
}

/// A packet in a queue or at the head of an injection FIFO, by its number in the block's arena.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    pub header: Header,
    /// The next of its queue.
    pub next: u32,
    /// Low bits of the time at which it arrived here.
    pub arrived: u32,
    /// See [`Head::ticket`].
    pub ticket: u8,
    /// The queue in which it stands.
    pub slot: u8,
}
