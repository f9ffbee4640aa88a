//! What programs on nodes with Aries NICs call, after the generic network interface (uGNI, `gni_pub.h`): communication domains, registered
//! memory, completion queues, posted operations; and below it FMA's own windows and launches. Each call costs the time of its instructions.
//!
//! A program is an `async fn`, one for each process. There is no runtime: its node's host polls it when what it waits for has happened.
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
mod letters;
mod msgq;
mod post;
mod queues;
mod windows;

pub use datagrams::{Datagram, DatagramKey, DatagramState};
pub use letters::LETTER_MAX_B;
pub use msgq::{Msgq, QueuedMessage};
pub use netloom_nic::aries::QueueMode;
pub use netloom_nic::aries::errors::{ErrorEvent, ErrorKind, ErrorMask};
pub use post::{Post, PostKind};

use crate::device::Device;
use device::AriesDevice;
use letters::Letters;
use netloom_fabric::config::TiledConfig;
use netloom_nic::aries::address::{Job, PageSize};
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{self, AriesNics, Nic, Watch};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// Makes the nodes' side of a block, by the machine's numbers, with so many processes each; `program` is what each of them runs.
///
/// # Panics
/// If there are more processes than a node's numbers can tell, 255.
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
/// If there are more processes than a node's numbers can tell, 255.
pub fn nics_of(
    config: &AriesConfig,
    network: &TiledConfig,
    jobs: &Arc<[Job]>,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut process: impl FnMut(Gni) -> Box<ProcessOf<Nic>>,
) -> AriesNics {
    // The processes of a node are made one after another.
    let mut library = Arc::default();
    aries::nics_of(config, network, jobs, numbers, processes, seed, |slot| {
        if slot.process == 0 {
            library = Arc::default();
        }
        process(Gni::new(slot, &library))
    })
}

/// What the library and the kernel keep for the processes of a node together: letters between nodes, and what is made of them.
#[derive(Default)]
struct Shared {
    letters: Letters,
    /// Datagrams of its processes, and how many there ever were.
    datagrams: Vec<datagrams::Posted>,
    datagram_numbers: u64,
    /// What it knows of messages to other nodes.
    links: BTreeMap<u32, msgq::Link>,
}

/// The steps of the interface's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The library's instructions for an operation.
    Library,
    /// A store to the NIC with the sfence behind it.
    Store,
    /// A line stored without one.
    Line,
    /// A look at memory.
    Poll,
    /// A system call.
    SystemCall,
    /// Instructions of the layers above, for this long.
    Compute(Microticks),
}

/// A process, as its program sees it: its device, and calls that wait.
#[derive(Clone)]
pub struct Gni {
    device: AriesDevice,
    core: CoreOf<Nic>,
    library: Arc<Mutex<Shared>>,
}

/// All that does not wait.
impl Deref for Gni {
    type Target = AriesDevice;

    fn deref(&self) -> &AriesDevice {
        &self.device
    }
}

/// The other side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Virtual node.
    pub node: u32,
    /// Process there.
    pub process: u8,
    /// What its events of this side's operations say.
    pub remote_event: u32,
}

impl Endpoint {
    /// A process of a virtual node.
    pub fn new(node: u32, process: u8) -> Self {
        Endpoint { node, process, remote_event: 0 }
    }
}

/// How memory is registered.
#[derive(Clone, Copy, Debug)]
pub struct MemOptions {
    /// Where events of it go that others ask for.
    pub queue: Option<u16>,
    /// Its pages: large ones are the default of the programming environment.
    pub page: PageSize,
    /// Whether others may only read it.
    pub is_read_only: bool,
    /// Which of the job's virtual handles it has.
    pub virtual_mdh: Option<u16>,
}

impl Default for MemOptions {
    fn default() -> Self {
        MemOptions { queue: None, page: PageSize::HUGE, is_read_only: false, virtual_mdh: None }
    }
}

/// How much of a NIC is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// FMA descriptors, of 127.
    pub descriptors: usize,
    /// Memory domain handles with memory, of 4,096.
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

    /// Continues when what was asked for is done, unless it was refused.
    pub(crate) async fn after<T>(&self, asked: Result<T, Refusal>) -> Result<T, Refusal> {
        let answer = asked?;
        self.core.done().await;
        Ok(answer)
    }

    /// Takes a step of its software.
    pub(crate) async fn step(&self, step: Step) {
        self.device.spend(step);
        self.core.done().await;
    }

    /// Runs instructions of its own for so long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        self.step(Step::Compute(Microticks::of_milliticks(milliticks))).await;
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Polls memory until what lies there is what is waited for.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.core.wait(Watch::Memory { address, bytes }, None).await;
        }
    }
}
