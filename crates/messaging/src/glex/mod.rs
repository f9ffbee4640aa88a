//! The programming interface of nodes with TH Express NICs, modelled on libglex (section 3.1): endpoints,
//! which are virtual ports; registered memory; mini-packets, puts and gets, all non-blocking; events.
//!
//! A program is an `async fn`, one for each process. There is no async runtime: its node polls it when the
//! condition that it waits for holds.
//!
//! ```
//! use netloom_messaging::glex::Glex;
//! use netloom_nic::th::{Address, Options, Submission};
//!
//! /// Node 0 puts 8 bytes into node 1's memory, and an event notifies node 1.
//! async fn put(glex: Glex) {
//!     let endpoint = glex.create_endpoint(Submission::Pio, 7, 64).expect("free");
//!     glex.register(endpoint, 0x1000, 4096, true).expect("free");
//!     if glex.node() == 0 {
//!         let to = Address { node: 1, vp: endpoint, key: 7 };
//!         let options = Options { remote_event: Some(1), ..Options::default() };
//!         glex.put_immediate(endpoint, to, 0x1000, &7u64.to_le_bytes(), options).await.expect("possible");
//!     } else if glex.node() == 1 {
//!         glex.wait_event(endpoint).await.expect("it comes");
//!         assert_eq!(glex.load(0x1000, 1), [7]);
//!     }
//! }
//! # let _ = put;
//! ```

pub mod device;
mod memory;
mod post;
mod queues;
pub mod tree;

use crate::device::Device;
use device::ThDevice;
use netloom_fabric::config::TiledConfig;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{Nic, ThNics, Watch, nics_of};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use std::future::Future;
use std::ops::Deref;

pub use memory::Memory;

/// Maximum number of children of a collective descriptor: that of `glex.h` (Xie, 2012) for a set of
/// addresses.
pub const CHILDREN: usize = 14;

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each, all of
/// which run `program`.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn nics<F>(
    config: &ThConfig,
    network: &TiledConfig,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut program: impl FnMut(Glex) -> F,
) -> ThNics
where
    F: Future<Output: IntoOutcome> + Send + 'static,
{
    nics_of(config, network, numbers, processes, seed, |slot| -> Box<ProcessOf<Nic>> {
        let glex = Glex::new(slot);
        Box::new(Program::new(&glex.core.clone(), program(glex)))
    })
}

/// The steps of the interface's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The library's instructions for an operation.
    Library,
    /// Lines of 64 B stored to the NIC.
    Lines(u64),
    /// Lines copied in memory: data to a descriptor, or from a queue.
    CopyLines(u64),
    /// A poll of memory.
    Poll,
    /// Instructions of the layers above, for this long.
    Compute(Microticks),
}

/// A process as its program sees it: its device, and calls that wait.
#[derive(Clone)]
pub struct Glex {
    device: ThDevice,
    core: CoreOf<Nic>,
}

/// The calls that do not wait.
impl Deref for Glex {
    type Target = ThDevice;

    fn deref(&self) -> &ThDevice {
        &self.device
    }
}

impl Glex {
    /// For a process.
    pub fn new(slot: ProcessSlot<Nic>) -> Self {
        let core = CoreOf::<Nic>::new(slot.thread.clone());
        Glex { device: ThDevice::new(slot), core }
    }

    /// The device.
    pub fn device(&self) -> &ThDevice {
        &self.device
    }

    /// Takes a step of its software.
    async fn step(&self, step: Step) {
        self.device.spend(step);
        self.core.done().await;
    }

    /// Computes for this long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        self.step(Step::Compute(Microticks::of_milliticks(milliticks))).await;
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Waits for a condition in memory, up to a time limit.
    async fn wait(&self, watch: Watch, milliticks: Option<u64>) {
        self.core.wait(watch, milliticks.map(Microticks::of_milliticks)).await;
    }

    /// Polls memory until its contents match.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.wait(Watch::Memory { address, bytes }, None).await;
        }
    }
}
