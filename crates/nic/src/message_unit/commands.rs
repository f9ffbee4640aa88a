//! The interface between processes and their unit: commands, wait conditions, and shared state.

use super::descriptor::Descriptor;
use super::fifos::{InjectionFifo, Packet, ReceptionFifo};
use super::interrupts::{Group, Interrupt};
use super::numbered::Numbered;
use super::protection::Range;
use netloom_engine::Time;
use netloom_fabric::collective::ClassRoute;
use netloom_node::memory::Contents;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// A command of a process to the unit.
#[derive(Debug)]
pub enum Command {
    /// A setting by the kernel's side of the interface, for a call: it takes no time.
    Set(&'static str, Setting),
    /// Writes a descriptor to an injection FIFO, and advances its tail.
    Inject(u16, Box<Descriptor>),
    /// Reads the tail of a reception FIFO.
    Poll(u16),
    /// Takes a packet from a reception FIFO, if there is one.
    Take(u16),
    /// Clears a pending interrupt of a group.
    TakeInterrupt(Group),
    /// Stores to the control register of a barrier class.
    BarrierBits(u8, u64),
    /// Adds to a word of memory in the L2: an atomic operation of the core, which does not wait for its end.
    AddWord(u64, u64),
}

/// A condition that a process may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Space for a descriptor in an injection FIFO.
    Room(u16),
    /// The injection of this number of descriptors of an injection FIFO.
    Injected(u16, u64),
    /// A packet in a reception FIFO.
    Packet(u16),
    /// An interrupt of a group.
    Interrupt(Group),
    /// A zero counter at an address.
    Counter(u64),
    /// Zero bits in the status register of a barrier class.
    Barrier(u8, u64),
    /// A word of memory that cores add to, of at least this value.
    Word(u64, u64),
}

/// A setting of a program, which takes no time.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// An entry of the base address table.
    Base(u16, u64),
    /// The end of the buffer at an entry, beyond which nothing is stored **(ours)**. The hardware has none: if
    /// tasks of a collective operation give different lengths, it writes over what lies there.
    BaseEnd(u16, u64),
    /// A counter, and its initial value.
    Counter(u64, i64),
    /// A class route.
    ClassRoute(u8, Option<ClassRoute>),
    /// A barrier class, and the initial bits of all its nodes.
    Barrier(u8, Option<ClassRoute>, u64),
    /// An injection FIFO.
    Injection(u16, InjectionFifo),
    /// A reception FIFO.
    Reception(u16, ReceptionFifo),
    /// A range register.
    Range(usize, Option<Range>),
    /// The group of an interrupt's kind.
    Interrupt(Interrupt, Option<Group>),
    /// Frees an injection FIFO.
    FreeInjection(u16),
    /// Frees a reception FIFO.
    FreeReception(u16),
    /// Frees an entry of the base address table.
    FreeBase(u16),
    /// Frees a barrier class.
    FreeBarrier(u8),
}

/// The bits of one class in the status of all.
pub(super) fn status_of(status: u64, class: u8) -> u64 {
    status >> (4 * u32::from(class)) & 7
}

/// State shared by the processes of a node and its unit.
#[derive(Default)]
pub struct Shared {
    /// The contents of memory.
    pub(super) contents: Arc<Mutex<Contents>>,
    /// By injection FIFO: the number of injected descriptors, as its head shows.
    injected: Numbered<u64>,
    /// When each counter last reached zero.
    counted_down: HashMap<u64, Time, FxBuildHasher>,
    /// Changes of the two.
    changes: u64,
    /// Results of the last calls of each process: a packet of a reception FIFO, an interrupt.
    pub(super) packets: BTreeMap<u8, Option<Packet>>,
    pub(super) interrupts: BTreeMap<u8, Option<Interrupt>>,
    /// Status registers of the barrier classes, four bits each, and the time of their last change.
    pub(super) status: u64,
    pub(super) status_changed: Time,
    /// Words of memory that cores add to.
    pub(super) words: HashMap<u64, u64, FxBuildHasher>,
    /// When the PCIe has completed its transfers, by [`Pcie`].
    pcie_free: [Time; 2],
}

/// The two directions of an IO node's PCIe (section II.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pcie {
    /// To the file system.
    Out,
    /// From it.
    In,
}

impl Shared {
    /// The contents of memory.
    pub fn contents(&self) -> &Arc<Mutex<Contents>> {
        &self.contents
    }

    /// The packet taken by the last [`Command::Take`] of a process, if any.
    pub fn taken(&mut self, process: u8) -> Option<Packet> {
        self.packets.remove(&process).flatten()
    }

    /// The interrupt cleared by the last [`Command::TakeInterrupt`] of a process, if any.
    pub fn taken_interrupt(&mut self, process: u8) -> Option<Interrupt> {
        self.interrupts.remove(&process).flatten()
    }

    /// Descriptors of an injection FIFO injected since it was set up.
    pub fn injected(&self, fifo: u16) -> u64 {
        self.injected.get(fifo).copied().unwrap_or(0)
    }

    /// Sets that number; `None` for a FIFO that is set up anew or freed.
    pub(super) fn set_injected(&mut self, fifo: u16, descriptors: Option<u64>) {
        self.changes += 1;
        match descriptors {
            Some(descriptors) => self.injected.insert(fifo, descriptors),
            None => self.injected.remove(fifo),
        }
    }

    /// A counter reaches zero.
    pub(super) fn counts_down(&mut self, address: u64, now: Time) {
        self.changes += 1;
        self.counted_down.insert(address, now);
    }

    /// A number that changes with [`Self::injected`] and [`Self::counted_down`].
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The status register of a barrier class, and the time of the last change of any class.
    pub fn status(&self, class: u8) -> (u64, Time) {
        (status_of(self.status, class), self.status_changed)
    }

    /// A word of memory that cores add to.
    pub fn word(&self, address: u64) -> u64 {
        self.words.get(&address).copied().unwrap_or(0)
    }

    /// When a counter last reached zero; time zero if it never has.
    pub fn counted_down(&self, address: u64) -> Time {
        self.counted_down.get(&address).copied().unwrap_or(Time::ZERO)
    }

    /// Transfers bytes over the PCIe, after earlier transfers in the same direction; returns the time of
    /// completion.
    pub fn pcie(&mut self, direction: Pcie, now: Time, bytes: u64, bytes_per_tick: f64) -> Time {
        let begin = self.pcie_free[direction as usize].max(now);
        let end = begin + (bytes as f64 / bytes_per_tick).ceil() as u64;
        self.pcie_free[direction as usize] = end;
        end
    }
}
