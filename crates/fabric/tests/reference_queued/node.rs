//! The state of a node: receivers with the queues of their VCs, senders, injection and reception FIFOs.

use super::central::Central;
use super::ends::{InjectionFifo, Reception};
use super::link::{self, Carried, Place};
use super::statistics::Counted;
use std::collections::VecDeque;

/// The source of a transfer's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The head of a queue of a VC of the receiver of a port.
    Queue { port: usize, vc: usize, queue: usize },
    /// The head of an injection FIFO.
    Injection { fifo: usize },
    /// The head of a collective injection FIFO.
    Contribution { fifo: usize },
    /// The central collective logic, which holds no packets: those that pass through it keep their place
    /// where they are read.
    Central,
}

/// A packet in a queue.
#[derive(Clone, Copy)]
pub struct Queued {
    /// The packet and its space.
    pub place: Place,
    /// Number of packets that arrived in this VC before it.
    pub turn: u64,
}

/// A queue of a VC.
#[derive(Default)]
pub struct Queue {
    /// The packets, the head first. A head that is being transferred keeps its place until the end.
    pub packets: VecDeque<Queued>,
    /// Whether the head is being transferred.
    pub moving: bool,
}

impl Queue {
    /// The packet that may request a move.
    pub fn head(&self) -> Option<&Queued> {
        if self.moving { None } else { self.packets.front() }
    }

    /// The packets that have not started to leave.
    pub fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.packets.iter().skip(usize::from(self.moving))
    }
}

/// A virtual channel of a receiver.
pub struct VirtualChannel {
    /// Its queues.
    pub queues: Vec<Queue>,
    /// Packets that have arrived in it.
    pub came: u64,
    /// Chunks of all packets in it.
    pub chunks: u32,
    /// Tokens of all packets in it, and its capacity in tokens.
    pub tokens: u32,
    /// See `tokens`.
    pub capacity: u32,
}

impl VirtualChannel {
    /// An empty VC.
    pub fn new(queues: usize, capacity: u32) -> Self {
        let queues = (0..queues).map(|_| Queue::default()).collect();
        VirtualChannel { queues, came: 0, chunks: 0, tokens: 0, capacity }
    }

    /// Puts a packet into the queue with the fewest packets.
    pub fn join(&mut self, place: Place) {
        self.chunks += place.chunks;
        self.tokens += place.tokens;
        assert!(self.tokens <= self.capacity, "tokens let a VC overflow");
        let shortest = self.queues.iter_mut().min_by_key(|q| q.packets.len()).expect("a VC has queues");
        shortest.packets.push_back(Queued { place, turn: self.came });
        self.came += 1;
    }

    /// Removes the head of a queue, whose transfer has ended.
    fn leave(&mut self, queue: usize) -> Place {
        let queue = &mut self.queues[queue];
        queue.moving = false;
        let place = queue.packets.pop_front().expect("a transfer's packet keeps its place").place;
        self.chunks -= place.chunks;
        self.tokens -= place.tokens;
        place
    }
}

/// The receiving side of a port.
pub struct Receiver {
    /// The VCs: dynamic, deterministic, high-priority, system; two collective ones.
    pub vcs: Vec<VirtualChannel>,
    /// Number of paths to the senders in use.
    pub paths_busy: u32,
}

/// One direction of one dimension.
pub struct Port {
    /// From the neighbour.
    pub receiver: Receiver,
    /// To the neighbour.
    pub sender: link::Sender<Source>,
    /// Grants to packets in the network since the last injection here.
    pub through: u32,
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
    /// The injection FIFOs.
    pub fifos: Vec<InjectionFifo>,
    /// The transfers to the reception FIFOs: one for each receiver, then high-priority and system.
    pub receptions: Vec<Option<Reception<Source>>>,
    /// The collective logic.
    pub central: Central,
}

impl Node {
    /// The head of a source starts to leave.
    pub fn start(&mut self, source: Source) {
        match source {
            Source::Queue { port, vc, queue } => {
                self.ports[port].receiver.vcs[vc].queues[queue].moving = true;
            }
            Source::Injection { fifo } => self.fifos[fifo].moving = true,
            Source::Contribution { fifo } => self.central.own[fifo].moving = true,
            Source::Central => (),
        }
    }

    /// Removes the packet of a transfer that has ended. Its tokens become due.
    pub fn release(&mut self, source: Source, over_link: bool) {
        match source {
            Source::Injection { fifo } => self.fifos[fifo].leave(),
            Source::Contribution { fifo } => self.central.own[fifo].leave(),
            Source::Central => (),
            Source::Queue { port, vc, queue } => {
                let Port { receiver, sender, .. } = &mut self.ports[port];
                receiver.paths_busy -= u32::from(over_link);
                let place = receiver.vcs[vc].leave(queue);
                sender.due[vc] += place.tokens;
            }
        }
    }
}
