//! The state of a node: receivers with their VCs, senders with their token counters, injection FIFOs.

use netloom_fabric::config::VCS_MAX;
use std::collections::VecDeque;

/// Tokens of each VC.
pub type Tokens = [u32; VCS_MAX];

/// A packet's place: on its way over a link, in a VC, or in a bypass slot.
#[derive(Clone, Copy)]
pub struct Place {
    /// Which packet.
    pub packet: usize,
    /// The VC that it was granted.
    pub vc: usize,
    /// The room that it takes.
    pub chunks: u32,
    /// The tokens that its grant took and that its leaving returns: not `chunks` under the corrected bubble rule.
    pub tokens: u32,
}

/// Where a transfer takes its packet from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The head of a VC of the receiver of a port.
    Vc { port: usize, vc: usize },
    /// The bypass slot of the receiver of a port.
    Bypass { port: usize },
    /// The head of an injection FIFO.
    Injection { fifo: usize },
}

/// A virtual channel of a receiver.
#[derive(Default)]
pub struct VirtualChannel {
    /// The packets, the head first. A head that is being transferred keeps its place until the end.
    pub queue: VecDeque<Place>,
    /// Chunks of all packets in the queue.
    pub chunks: u32,
    /// Whether the head is being transferred.
    pub moving: bool,
    /// Chunks that fit.
    pub capacity: u32,
}

impl VirtualChannel {
    /// Puts a packet at the end.
    pub fn push(&mut self, place: Place) {
        self.chunks += place.chunks;
        assert!(self.chunks <= self.capacity, "tokens let a VC overflow");
        self.queue.push_back(place);
    }

    /// Which quarter of the VC is filled, 0 to 3, as the longest-queue arbiters see it.
    pub fn fullness(&self) -> u32 {
        self.chunks * 4 / (self.capacity + 1)
    }
}

/// A transfer to a reception FIFO.
#[derive(Clone, Copy)]
pub struct Reception {
    /// What holds the packet until the end.
    pub source: Source,
    /// The packet.
    pub packet: usize,
    /// The tick at which the last byte is there.
    pub end: u64,
}

/// The receiving side of a port.
#[derive(Default)]
pub struct Receiver {
    /// The VCs: dynamic, escape, high-priority.
    pub vcs: Vec<VirtualChannel>,
    /// The packet that flows past the VCs, or that has arrived in this tick and may.
    pub bypass: Option<Place>,
    /// Whether the packet in the bypass slot is being transferred.
    pub bypass_moving: bool,
    /// Paths to the senders that transfers hold.
    pub paths_busy: u32,
    /// The transfers to the normal and the high-priority reception FIFO.
    pub reception: [Option<Reception>; 2],
    /// For the arbitration gap: no head had an offered direction when the receiver last could have asked.
    pub found_nothing: bool,
}

/// What a link carries in a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// Nothing.
    #[default]
    Nothing,
    /// A data packet.
    Data,
    /// A token-ack.
    Ack,
}

/// A transfer over a link, from the grant to the last byte.
#[derive(Clone, Copy)]
pub struct Transfer {
    /// What holds the packet at this end.
    pub source: Source,
    /// The packet, until its first byte leaves: then it is on its way.
    pub waiting: Option<Place>,
    /// Whether tokens were due already at the grant, and leave before the packet.
    pub after_tokens: bool,
}

/// The sending side of a port, and the link that leaves from it.
#[derive(Default)]
pub struct Sender {
    /// The node at the other end; none where there is no link.
    pub neighbour: Option<usize>,
    /// Free room in each VC of the receiver at the other end, chunks.
    pub tokens: Tokens,
    /// The transfer that holds the link.
    pub transfer: Option<Transfer>,
    /// What the link carries, until `busy_until`.
    pub carried: Carried,
    /// The first tick at which what the link carries is over.
    pub busy_until: u64,
    /// Tokens that the next token-ack will carry to the sender at the other end of this port's receiver.
    pub due: Tokens,
    /// Packets on their way with the tick of their arrival at the other end.
    pub packets_under_way: VecDeque<(u64, Place)>,
    /// Tokens on their way with the tick at which they count at the other end.
    pub tokens_under_way: VecDeque<(u64, Tokens)>,
}

impl Sender {
    /// Whether the arbiters may grant the link.
    pub fn available(&self) -> bool {
        self.neighbour.is_some() && self.transfer.is_none()
    }

    /// Whether tokens wait for a token-ack.
    pub fn owes(&self) -> bool {
        self.due.iter().any(|&n| n > 0)
    }
}

/// One direction of one dimension.
#[derive(Default)]
pub struct Port {
    /// From the neighbour.
    pub receiver: Receiver,
    /// To the neighbour.
    pub sender: Sender,
}

/// An injection FIFO, of unlimited size.
#[derive(Default)]
pub struct InjectionFifo {
    /// The packets, the head first. A head that is being transferred keeps its place until the end.
    pub queue: VecDeque<usize>,
    /// Whether the head is being transferred.
    pub moving: bool,
}

/// A node.
pub struct Node {
    /// Port `2 d` leads in the plus direction of dimension `d`, port `2 d + 1` in the minus direction.
    pub ports: Vec<Port>,
    /// Six normal FIFOs, then two for high-priority packets.
    pub fifos: Vec<InjectionFifo>,
}

impl Node {
    /// Takes the packet of a transfer that has ended from where it was. Its tokens fall due.
    pub fn release(&mut self, source: Source, over_link: bool) {
        let (port, place) = match source {
            Source::Injection { fifo } => {
                let fifo = &mut self.fifos[fifo];
                fifo.queue.pop_front();
                fifo.moving = false;
                return;
            }
            Source::Vc { port, vc } => {
                let vc = &mut self.ports[port].receiver.vcs[vc];
                let place = vc.queue.pop_front().expect("a transfer's packet keeps its place");
                vc.chunks -= place.chunks;
                vc.moving = false;
                (port, place)
            }
            Source::Bypass { port } => {
                let receiver = &mut self.ports[port].receiver;
                receiver.bypass_moving = false;
                (port, receiver.bypass.take().expect("a transfer's packet keeps its place"))
            }
        };
        self.ports[port].receiver.paths_busy -= u32::from(over_link);
        self.ports[port].sender.due[place.vc] += place.tokens;
    }
}
