//! The ends of a packet's route: a node's injection and reception FIFOs.

use std::collections::VecDeque;

/// An injection FIFO, of unlimited size.
#[derive(Default)]
pub struct InjectionFifo {
    /// The packets, the head first. A head that is being transferred keeps its place until the end.
    pub queue: VecDeque<usize>,
    /// Whether the head is being transferred.
    pub moving: bool,
}

impl InjectionFifo {
    /// Removes the head, whose transfer has ended.
    pub fn leave(&mut self) {
        self.queue.pop_front();
        self.moving = false;
    }
}

/// A transfer to a reception FIFO, of a packet that `S` holds.
#[derive(Clone, Copy)]
pub struct Reception<S> {
    /// The holder of the packet until the end.
    pub source: S,
    /// The packet.
    pub packet: usize,
    /// Arrival time of the last byte.
    pub end: u64,
}
