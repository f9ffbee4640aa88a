//! The state of a node: receivers with their VCs, senders with their token counters, injection FIFOs.

use super::ends::{InjectionFifo, Reception};
pub use super::link::Place;
use super::link::{self, Carried};
use super::statistics::Counted;
use std::collections::VecDeque;

/// The source of a transfer's packet.
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

    /// The filled quarters of the VC, 0 to 3, as the longest-queue arbiters see it.
    pub fn fullness(&self) -> u32 {
        self.chunks * 4 / (self.capacity + 1)
    }
}

/// The receiving side of a port.
#[derive(Default)]
pub struct Receiver {
    /// The VCs: dynamic, escape, high-priority.
    pub vcs: Vec<VirtualChannel>,
    /// The packet that flows past the VCs, or that has arrived in this tick and may do so.
    pub bypass: Option<Place>,
    /// Whether the packet in the bypass slot is being transferred.
    pub bypass_moving: bool,
    /// Number of paths to the senders in use.
    pub paths_busy: u32,
    /// The transfers to the normal and the high-priority reception FIFO.
    pub reception: [Option<Reception<Source>>; 2],
    /// For the arbitration gap: no head had an available direction at the receiver's last opportunity to
    /// request.
    pub found_nothing: bool,
}

/// The sending side of a port, and the link that leaves from it.
pub type Sender = link::Sender<Source>;

/// One direction of one dimension.
#[derive(Default)]
pub struct Port {
    /// From the neighbour.
    pub receiver: Receiver,
    /// To the neighbour.
    pub sender: Sender,
}

impl Counted for Port {
    fn is_linked(&self) -> bool {
        self.sender.neighbour.is_some()
    }

    fn carried(&self) -> Carried {
        self.sender.carried
    }

    fn chunks(&self) -> impl Iterator<Item = u32> {
        self.receiver.vcs.iter().map(|vc| vc.chunks)
    }
}

/// A node.
pub struct Node {
    /// Port `2 d` leads in the plus direction of dimension `d`, port `2 d + 1` in the minus direction.
    pub ports: Vec<Port>,
    /// Six normal FIFOs, then two for high-priority packets.
    pub fifos: Vec<InjectionFifo>,
}

impl Node {
    /// Removes the packet of a transfer that has ended. Its tokens become due.
    pub fn release(&mut self, source: Source, over_link: bool) {
        let (port, place) = match source {
            Source::Injection { fifo } => {
                self.fifos[fifo].leave();
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
