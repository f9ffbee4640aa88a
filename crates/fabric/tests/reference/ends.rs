//! Where packets enter and leave a node: its injection and reception FIFOs.

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
    /// Takes out the head, whose transfer has ended.
    pub fn leave(&mut self) {
        self.queue.pop_front();
        self.moving = false;
    }
}

/// A transfer to a reception FIFO, of a packet that `S` holds.
#[derive(Clone, Copy)]
pub struct Reception<S> {
    /// What holds the packet until the end.
    pub source: S,
    /// The packet.
    pub packet: usize,
    /// The time at which the last byte is there.
    pub end: u64,
}
