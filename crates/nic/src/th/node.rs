//! What a node's processes and its NIC share: its memory, its virtual ports with their queues (sections 2.1 and 2.7), and what is
//! registered.

use super::atc::Atc;
use super::checker::{Checker, Item, PAGE_B};
use super::config::ThConfig;
use super::descriptor::Descriptor;
use super::status::{Refusal, Status};
use crate::contents::Contents;
pub(super) use crate::program::lock;
use netloom_fabric::config::FlitFormat;
use std::collections::VecDeque;

/// Virtual ports that take descriptors by PIO writes.
pub const PIO_PORTS: u8 = 8;
/// Virtual ports in all; the others fetch descriptors by DMA.
pub const PORTS: u8 = 40;

/// What all nodes of a block have in common.
pub(super) struct Common {
    pub config: ThConfig,
    pub packet: FlitFormat,
    pub nodes: u32,
    pub processes: u8,
}

/// How a virtual port gets its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Written by the core, into the port's HDQ on the chip.
    Pio,
    /// Fetched by the NIC from the port's SDQ in host memory.
    Dma,
}

/// What an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An operation of this port.
    Local,
    /// An operation of another's on memory of this port.
    Remote,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is of.
    pub kind: EventKind,
    /// What its descriptor gave it.
    pub user: u32,
    /// How the operation ended.
    pub status: Status,
}

/// A mini-packet that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiniPacket {
    /// Node and port that it is from.
    pub from: (u32, u8),
    /// Its data, as much as the sender had.
    pub data: Vec<u8>,
}

/// A queue in host memory, which the NIC writes and software reads.
pub(super) struct Queue<T> {
    room: usize,
    list: VecDeque<T>,
    is_overflown: bool,
}

impl<T> Queue<T> {
    pub fn new(room: usize) -> Self {
        Queue { room, list: VecDeque::new(), is_overflown: false }
    }

    /// Whether there was room.
    pub fn push(&mut self, item: T) -> bool {
        let fits = self.list.len() < self.room;
        if fits {
            self.list.push_back(item);
        }
        self.is_overflown |= !fits;
        fits
    }

    /// Something was lost for want of room.
    pub fn overflow(&mut self) {
        self.is_overflown = true;
    }

    pub fn has_room(&self, under_way: usize) -> bool {
        self.list.len() + under_way < self.room
    }

    pub fn is_quiet(&self) -> bool {
        self.list.is_empty() && !self.is_overflown
    }

    /// What software finds. That something was lost it hears once, behind what came before.
    pub fn pop(&mut self) -> Result<T, Refusal> {
        match self.list.pop_front() {
            Some(item) => Ok(item),
            None if std::mem::take(&mut self.is_overflown) => Err(Refusal::Overflow),
            None => Err(Refusal::Empty),
        }
    }
}

/// A virtual port.
pub(super) struct Port {
    pub process: u8,
    pub key: u16,
    pub events: Queue<Event>,
    pub mini_packets: Queue<MiniPacket>,
    /// Mini-packets on their way to memory.
    pub mini_under_way: usize,
    /// Descriptors in host memory that the NIC has not fetched.
    pub sdq: VecDeque<Descriptor>,
    /// Descriptors on their way to the chip, or there.
    pub held: u32,
}

/// A node.
#[derive(Default)]
pub(super) struct Node {
    pub contents: Contents,
    /// By number.
    pub ports: Vec<Option<Port>>,
    pub checker: Checker,
    pub atc: Atc,
}

/// Where an address of a process lies among the contents of its node.
pub(super) fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

/// How a port of that number gets its descriptors.
pub(super) fn submission_of(vp: u8) -> Submission {
    if vp < PIO_PORTS { Submission::Pio } else { Submission::Dma }
}

impl Node {
    pub fn port(&mut self, vp: u8) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(vp))?.as_mut()
    }

    /// Gives a process a port that is free.
    pub fn take_port(&mut self, submission: Submission, port: Port) -> Result<u8, Refusal> {
        self.ports.resize_with(PORTS.into(), || None);
        let free = (0..PORTS)
            .find(|&vp| submission_of(vp) == submission && self.ports[usize::from(vp)].is_none())
            .ok_or(Refusal::Exhausted)?;
        self.ports[usize::from(free)] = Some(port);
        Ok(free)
    }

    /// Registers memory of a port: an item of the checker, and in a buffer its translations too.
    pub fn register(
        &mut self,
        c: &ThConfig,
        vp: u8,
        (address, bytes): (u64, u64),
        may_write: bool,
    ) -> Result<u16, Refusal> {
        let key = self.port(vp).ok_or(Refusal::NotOwned)?.key;
        let (base, top) = (address / PAGE_B, (address + bytes - 1) / PAGE_B);
        let item = self.checker.insert(Item { vp, key, may_write, base, top }, c.checker_items)?;
        if c.is_buffer
            && let Err(refusal) = self.atc.hold(top - base + 1, c.cache_entries)
        {
            self.checker.remove(item, vp)?;
            return Err(refusal);
        }
        Ok(item)
    }

    /// Forgets memory: first the checker, then what the cache has of it.
    pub fn deregister(&mut self, c: &ThConfig, vp: u8, item: u16) -> Result<(), Refusal> {
        let item = self.checker.remove(item, vp)?;
        self.atc.forget(vp, item.base, item.top, c.is_buffer);
        Ok(())
    }
}
