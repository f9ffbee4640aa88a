//! The programming interface of nodes with Aries NICs, modelled on the generic network interface (uGNI,
//! `gni_pub.h`): communication domains, registered memory, completion queues, posted operations; and, below
//! it, FMA windows and launches. Each call costs the time of its instructions.
//!
//! A program is an `async fn`, one for each process. There is no async runtime: its node polls it when the
//! condition that it waits for holds.
//!
//! ```
//! use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
//!
//! /// Node 0 puts 8 bytes into node 1's memory, which has the same virtual handle on all nodes, and node 1 sees them come.
//! async fn put(gni: Gni) {
//!     gni.cdm_attach(1, 0).expect("of this job");
//!     gni.reserve_virtual_handles(1).expect("free");
//!     let options = MemOptions { virtual_mdh: Some(0), ..MemOptions::default() };
//!     let memory = gni.mem_register(0x1000, 4096, options).expect("free");
//!     if gni.place() == 0 {
//!         let queue = gni.cq_create(16);
//!         gni.store(0x1000, &7u64.to_le_bytes());
//!         let to = Endpoint::new(1, 0);
//!         let post = Post { queue: Some(queue), ..Post::new(PostKind::FmaPut, 0x1000, 0x1000, memory, 8) };
//!         gni.post_fma(to, post).await.expect("possible");
//!         gni.cq_wait_event(queue).await.expect("it comes");
//!     } else if gni.place() == 1 {
//!         gni.wait_memory(0x1000, 8, |bytes| bytes[0] == 7).await;
//!     }
//! }
//! # let _ = put;
//! ```

mod clock;
mod datagrams;
pub mod device;
mod engines;
mod errors;
mod msgq;
mod node_messages;
mod post;
mod queues;
mod windows;

pub use datagrams::{Datagram, DatagramKey, DatagramState};
pub use msgq::{Msgq, QueuedMessage};
pub use netloom_nic::aries::QueueMode;
pub use netloom_nic::aries::errors::{ErrorEvent, ErrorKind, ErrorMask};
pub use node_messages::NODE_MESSAGE_MAX_B;
pub use post::{Post, PostKind};

use crate::device::Device;
use device::AriesDevice;
use netloom_fabric::config::TiledConfig;
use netloom_nic::aries::address::{Job, PageSize};
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{self, AriesNics, Nic, Watch};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::process::Wait;
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use node_messages::NodeMessages;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each, all of
/// which run `program`.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn nics<F>(
    config: &AriesConfig,
    network: &TiledConfig,
    jobs: &Arc<[Job]>,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut program: impl FnMut(Gni) -> F,
) -> AriesNics
where
    F: Future<Output: IntoOutcome> + Send + 'static,
{
    nics_of(config, network, jobs, numbers, processes, seed, |gni| -> Box<ProcessOf<Nic>> {
        Box::new(Program::new(&gni.core.clone(), program(gni)))
    })
}

/// The same with any processes.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn nics_of(
    config: &AriesConfig,
    network: &TiledConfig,
    jobs: &Arc<[Job]>,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut process: impl FnMut(Gni) -> Box<ProcessOf<Nic>>,
) -> AriesNics {
    // The processes of a node are created consecutively.
    let mut library = Arc::default();
    aries::nics_of(config, network, jobs, numbers, processes, seed, |slot| {
        if slot.process == 0 {
            library = Arc::default();
        }
        process(Gni::new(slot, &library))
    })
}

/// State of the library and the kernel shared by the processes of a node: node messages between nodes, and
/// the services built on them.
#[derive(Default)]
struct Shared {
    node_messages: NodeMessages,
    /// Datagrams of its processes, and the number of datagrams so far.
    datagrams: Vec<datagrams::Posted>,
    datagram_numbers: u64,
    /// Message counts for each other node.
    links: BTreeMap<u32, msgq::Link>,
}

/// The steps of the interface's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The library's instructions for an operation.
    Library,
    /// A store to the NIC followed by an sfence.
    Store,
    /// A line stored without an sfence.
    Line,
    /// A poll of memory.
    Poll,
    /// A system call.
    SystemCall,
    /// Instructions of the layers above, for this long.
    Compute(Microticks),
}

/// A process as its program sees it: its device, and calls that wait.
#[derive(Clone)]
pub struct Gni {
    device: AriesDevice,
    core: CoreOf<Nic>,
    library: Arc<Mutex<Shared>>,
}

/// The calls that do not wait.
impl Deref for Gni {
    type Target = AriesDevice;

    fn deref(&self) -> &AriesDevice {
        &self.device
    }
}

/// The remote side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Virtual node.
    pub node: u32,
    /// Process there.
    pub process: u8,
    /// The data of its events for this side's operations.
    pub remote_event: u32,
}

impl Endpoint {
    /// A process of a virtual node.
    pub fn new(node: u32, process: u8) -> Self {
        Endpoint { node, process, remote_event: 0 }
    }
}

/// Options of a memory registration.
#[derive(Clone, Copy, Debug)]
pub struct MemOptions {
    /// Completion queue for remote events.
    pub queue: Option<u16>,
    /// Its page size: large pages are the default of the programming environment.
    pub page: PageSize,
    /// Whether others may only read it.
    pub is_read_only: bool,
    /// The virtual handle of the job that it uses.
    pub virtual_mdh: Option<u16>,
}

impl Default for MemOptions {
    fn default() -> Self {
        MemOptions { queue: None, page: PageSize::HUGE, is_read_only: false, virtual_mdh: None }
    }
}

/// The resources of a NIC in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// FMA descriptors, out of 127.
    pub descriptors: usize,
    /// Memory domain handles, out of 4,096.
    pub segments: usize,
    /// Completion queues.
    pub queues: usize,
}

impl Gni {
    fn new(slot: ProcessSlot<Nic>, library: &Arc<Mutex<Shared>>) -> Self {
        let core = CoreOf::<Nic>::new(slot.thread.clone());
        Gni { device: AriesDevice::new(slot), core, library: Arc::clone(library) }
    }

    /// The device.
    pub fn device(&self) -> &AriesDevice {
        &self.device
    }

    /// Continues when the requested steps are complete, unless the call was rejected.
    pub(crate) async fn after<T>(&self, asked: Result<T, Refusal>) -> Result<T, Refusal> {
        let answer = asked?;
        self.core.done().await;
        Ok(answer)
    }

    /// Takes a software step.
    pub(crate) async fn step(&self, step: Step) {
        self.device.spend(step);
        self.core.done().await;
    }

    /// Computes for this long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        self.step(Step::Compute(Microticks::of_milliticks(milliticks))).await;
    }

    /// The same for a time.
    pub async fn compute(&self, time: Microticks) {
        self.step(Step::Compute(time)).await;
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Ends a store to memory that the processes of the node share: this process of the node is notified of
    /// it, with a number.
    pub async fn notify(&self, process: u8, number: u32) {
        self.core.thread().notify(process, number);
        self.core.done().await;
    }

    /// Polls until other processes of the node have notified this one. Returns their numbers, in order.
    pub async fn wait_notices(&self) -> Vec<u32> {
        let thread = self.core.thread();
        loop {
            let notices = thread.take_notices();
            if !notices.is_empty() {
                return notices;
            }
            thread.wait(Wait { listens: Some(self.process()), ..Wait::for_any([]) });
            self.core.done().await;
        }
    }

    /// Polls memory until its contents match.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.core.wait(Watch::Memory { process: self.process(), address, bytes }, None).await;
        }
    }
}
