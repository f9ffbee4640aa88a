//! The programming interface of nodes with Message Units, modelled on the machine's system programming
//! interface (section IV): the kernel's part sets up base addresses; the user's part injects descriptors and
//! waits for counters. Each call costs the time of its instructions.
//!
//! A program is an `async fn`. There is no async runtime: its node polls it when the condition that it waits
//! for holds.
//!
//! ```
//! use netloom_messaging::spi::Spi;
//! use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network};
//!
//! /// Node 0 writes 32 bytes into node 1's memory, and node 1 waits for them.
//! async fn put(spi: Spi) {
//!     spi.set_base_address(0, 0x1000);
//!     spi.set_counter(0x1000, 32);
//!     let kind = Kind::DirectPut { base: 0, offset: 64, counter_base: 0, counter_offset: 0 };
//!     match spi.node() {
//!         0 => {
//!             let (payload, length) = (0x2000, 32);
//!             let map = ANY_DIRECTION;
//!             let network = Network::in_order(1);
//!             spi.inject(0, Descriptor { payload, length, map, network, kind, prefetch_only: false }).await;
//!         }
//!         1 => spi.wait_counter(0x1000).await,
//!         _ => {}
//!     }
//! }
//! # let _ = put;
//! ```

pub mod device;
pub mod kernel;

use crate::device::MuDevice;
use device::UnitDevice;
use kernel::Kernel;
use netloom_fabric::config::Outline;
use netloom_nic::message_unit::commands::Watch;
use netloom_nic::message_unit::config::MessageUnitConfig;
use netloom_nic::message_unit::descriptor::Descriptor;
use netloom_nic::message_unit::fifos::Packet;
use netloom_nic::message_unit::interrupts::{Group, Interrupt};
use netloom_nic::message_unit::{self, MessageUnit, MessageUnits};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::process::Wait;
use netloom_node::program::{IntoOutcome, Program};
use netloom_node::time::Microticks;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

pub use netloom_nic::message_unit::commands::Pcie;

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each, all of
/// which run `program`.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn units<F>(
    config: &MessageUnitConfig,
    network: &Outline,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut program: impl FnMut(Spi) -> F,
) -> MessageUnits
where
    F: Future<Output: IntoOutcome> + Send + 'static,
{
    units_of(config, network, numbers, processes, seed, |spi| -> Box<ProcessOf<MessageUnit>> {
        Box::new(Program::new(&spi.core.clone(), program(spi)))
    })
}

/// The same with any processes.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn units_of(
    config: &MessageUnitConfig,
    network: &Outline,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut process: impl FnMut(Spi) -> Box<ProcessOf<MessageUnit>>,
) -> MessageUnits {
    // The processes of a node are created consecutively.
    let mut kernel = Arc::default();
    message_unit::units_of(config, network, numbers, processes, seed, |slot| {
        if slot.process == 0 {
            kernel = Arc::default();
        }
        process(Spi::new(slot, &kernel))
    })
}

/// The steps of the interface's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A descriptor is built in an injection FIFO, and its tail stored.
    Inject,
    /// A store to a register of the unit.
    Store,
    /// Instructions of the layers above, for this long.
    Compute(Microticks),
}

/// A process as its program sees it: its device, and calls that wait.
#[derive(Clone)]
pub struct Spi {
    device: UnitDevice,
    core: CoreOf<MessageUnit>,
}

/// The calls that do not wait.
impl Deref for Spi {
    type Target = UnitDevice;

    fn deref(&self) -> &UnitDevice {
        &self.device
    }
}

impl Spi {
    fn new(slot: ProcessSlot<MessageUnit>, kernel: &Arc<Mutex<Kernel>>) -> Self {
        let core = CoreOf::<MessageUnit>::new(slot.thread.clone());
        Spi { device: UnitDevice::new(slot, kernel), core }
    }

    /// The device.
    pub fn device(&self) -> &UnitDevice {
        &self.device
    }

    /// The core.
    pub fn core(&self) -> &CoreOf<MessageUnit> {
        &self.core
    }

    /// The time, ticks: the core's own counter.
    pub fn now(&self) -> u64 {
        self.core.now().ticks()
    }

    /// Enters the barrier of a class for the `turn`-th time, from 0: one store to a register of the unit,
    /// which clears the node's bit of this barrier and sets that of the next.
    pub async fn enter_barrier(&self, class: u8, turn: u64) {
        MuDevice::enter_barrier(&self.device, class, turn);
        self.core.done().await;
    }

    /// Polls the status register of a class until all have entered its barrier for the `turn`-th time.
    pub async fn wait_barrier(&self, class: u8, turn: u64) {
        self.core.wait(self.barrier_watch(class, turn), None).await;
    }

    /// Sets three bits for a class of global interrupts: one store to a register of the unit.
    pub async fn set_barrier_bits(&self, class: u8, bits: u64) {
        self.device.set_barrier_bits(class, bits);
        self.core.done().await;
    }

    /// Polls the tail of a reception FIFO until it has a packet, takes it, and advances the head past it.
    ///
    /// The program fails if the FIFO does not exist.
    pub async fn receive(&self, fifo: u16) -> Packet {
        self.check_reception("receive", fifo);
        loop {
            self.core.thread().wait(Wait::for_one(Watch::Packet(fifo)));
            self.device.take(fifo);
            self.core.done().await;
            // Another process of the node may have taken it in the meantime.
            if let Some(packet) = self.polled() {
                return packet;
            }
        }
    }

    /// Sleeps until the unit raises an interrupt of a group, and clears it.
    pub async fn wait_interrupt(&self, group: Group) -> Interrupt {
        loop {
            self.core.thread().wait(Wait::for_one(Watch::Interrupt(group)));
            self.device.take_interrupt(group);
            self.core.done().await;
            if let Some(interrupt) = self.taken_interrupt() {
                return interrupt;
            }
        }
    }

    /// Writes a descriptor to an injection FIFO and advances its tail, when there is space.
    ///
    /// The program fails if the FIFO does not exist, or the descriptor is invalid.
    pub async fn inject(&self, fifo: u16, descriptor: Descriptor) {
        self.device.write(fifo, descriptor);
        self.core.done().await;
    }

    /// Polls the descriptor counter of an injection FIFO until this number have been injected since the
    /// start.
    pub async fn wait_injected(&self, fifo: u16, descriptors: u64) {
        self.core.wait(Watch::Injected(fifo, descriptors), None).await;
    }

    /// Polls a reception FIFO once for a packet, and takes it, like [`Self::receive`].
    pub async fn poll(&self, fifo: u16) -> Option<Packet> {
        MuDevice::poll(&self.device, fifo);
        self.core.done().await;
        self.polled()
    }

    /// Is busy otherwise until a time, unless it is past.
    pub async fn wait_until(&self, time: u64) {
        self.compute(time.saturating_sub(self.now())).await;
    }

    /// Polls a counter until it is zero or below.
    pub async fn wait_counter(&self, address: u64) {
        self.core.wait(Watch::Counter(address), None).await;
    }

    /// Computes for this number of ticks.
    pub async fn compute(&self, ticks: u64) {
        self.core.spend(Microticks::of_ticks(ticks)).await;
    }
}
