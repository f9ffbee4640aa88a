//! What processes and their unit say to each other: commands, what may be waited for, and what both look at.

use super::descriptor::Descriptor;
use super::fifos::{InjectionFifo, Packet, ReceptionFifo};
use super::interrupts::{Group, Interrupt};
use super::protection::Range;
use netloom_engine::Time;
use netloom_fabric::collective::ClassRoute;
use netloom_node::memory::Contents;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a process submits to the unit.
#[derive(Debug)]
pub enum Command {
    /// What the kernel's side of the interface sets up, for a call: it takes no time.
    Set(&'static str, Setting),
    /// A descriptor is written into an injection FIFO, and its tail moved.
    Inject(u16, Box<Descriptor>),
    /// The tail of a reception FIFO is read.
    Poll(u16),
    /// A packet is taken out of a reception FIFO, if one lies there.
    Take(u16),
    /// A pending interrupt of a group is cleared.
    TakeInterrupt(Group),
    /// A store to the control register of a barrier class.
    Say(u8, u64),
}

/// What a process may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Room for a descriptor in an injection FIFO.
    Room(u16),
    /// So many descriptors of an injection FIFO to be injected.
    Injected(u16, u64),
    /// A packet in a reception FIFO.
    Packet(u16),
    /// An interrupt of a group.
    Interrupt(Group),
    /// A counter at an address to come to zero.
    Counter(u64),
    /// These bits of the status register of a barrier class to be zero.
    Barrier(u8, u64),
}

/// What a program asked for that takes no time.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// An entry of the base address table.
    Base(u16, u64),
    /// A counter, and what it counts down from.
    Counter(u64, i64),
    /// A class route.
    ClassRoute(u8, Option<ClassRoute>),
    /// A barrier class, and what all its nodes say at first.
    Barrier(u8, Option<ClassRoute>, u64),
    /// An injection FIFO.
    Injection(u16, InjectionFifo),
    /// A reception FIFO.
    Reception(u16, ReceptionFifo),
    /// A range register.
    Range(usize, Option<Range>),
    /// The group of interrupts of a kind.
    Interrupt(Interrupt, Option<Group>),
    /// That an injection FIFO is given back.
    FreeInjection(u16),
    /// That a reception FIFO is given back.
    FreeReception(u16),
    /// That an entry of the base address table is given back.
    FreeBase(u16),
    /// That a barrier class is given back.
    FreeBarrier(u8),
}

/// The bits of a class in the status of all.
pub(super) fn status_of(status: u64, class: u8) -> u64 {
    status >> (4 * u32::from(class)) & 7
}

/// What the processes of a node and its unit share.
#[derive(Default)]
pub struct Shared {
    /// What lies in memory.
    pub(super) contents: Arc<Mutex<Contents>>,
    /// By injection FIFO: descriptors that have been injected, which its head tells.
    pub(super) injected: BTreeMap<u16, u64>,
    /// When each counter came to zero last.
    pub(super) counted_down: BTreeMap<u64, Time>,
    /// What came of the last calls of each process: a packet of a reception FIFO, an interrupt.
    pub(super) packets: BTreeMap<u8, Option<Packet>>,
    pub(super) interrupts: BTreeMap<u8, Option<Interrupt>>,
    /// What each barrier class's status register says, four bits each, and when it last changed.
    pub(super) status: u64,
    pub(super) status_changed: Time,
    /// When the PCIe has moved what it was told to, by [`Pcie`].
    pcie_free: [Time; 2],
}

/// The two ways over an IO node's PCIe (section II.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pcie {
    /// To the file system.
    Out,
    /// From it.
    In,
}

impl Shared {
    /// What lies in memory.
    pub fn contents(&self) -> &Arc<Mutex<Contents>> {
        &self.contents
    }

    /// The packet that the last [`Command::Take`] of a process took, if there was one.
    pub fn taken(&mut self, process: u8) -> Option<Packet> {
        self.packets.remove(&process).flatten()
    }

    /// The interrupt that the last [`Command::TakeInterrupt`] of a process cleared, if there was one.
    pub fn taken_interrupt(&mut self, process: u8) -> Option<Interrupt> {
        self.interrupts.remove(&process).flatten()
    }

    /// Descriptors of an injection FIFO that have been injected since it was set up.
    pub fn injected(&self, fifo: u16) -> u64 {
        self.injected.get(&fifo).copied().unwrap_or(0)
    }

    /// What the status register of a barrier class says, and when any class's last changed.
    pub fn status(&self, class: u8) -> (u64, Time) {
        (status_of(self.status, class), self.status_changed)
    }

    /// When a counter came to zero last; at the begin of time if it never has.
    pub fn counted_down(&self, address: u64) -> Time {
        self.counted_down.get(&address).copied().unwrap_or(Time::ZERO)
    }

    /// Has the PCIe move so many bytes, behind what it moves already that way; returns when it has.
    pub fn pcie(&mut self, way: Pcie, now: Time, bytes: u64, bytes_per_tick: f64) -> Time {
        let begin = self.pcie_free[way as usize].max(now);
        let end = begin + (bytes as f64 / bytes_per_tick).ceil() as u64;
        self.pcie_free[way as usize] = end;
        end
    }
}
