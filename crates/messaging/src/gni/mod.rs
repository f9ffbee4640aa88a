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

use letters::Letters;
use netloom_fabric::config::TiledConfig;
use netloom_nic::aries::address::{Job, MemHandle, PageSize, Segment};
use netloom_nic::aries::config::{AriesConfig, CoreConfig};
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{self, AriesNics, Command, Common, Nic, Node, Queue, Submission, Watch, place};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

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
        Box::new(Program::new(gni.process_core().clone(), program(gni)))
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

/// A process, as its program sees it.
#[derive(Clone)]
pub struct Gni {
    node: u32,
    process: u8,
    core: CoreOf<Nic>,
    here: Arc<Mutex<Node>>,
    library: Arc<Mutex<Shared>>,
    common: Arc<Common>,
    /// The process' own FMA descriptor.
    descriptor: Arc<OnceLock<u8>>,
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
        let ProcessSlot { node, process, core, shared, common } = slot;
        let (library, descriptor) = (Arc::clone(library), Arc::new(OnceLock::new()));
        Gni { node, process, core, here: shared, library, common, descriptor }
    }

    /// The process' side of its node.
    pub fn process_core(&self) -> &CoreOf<Nic> {
        &self.core
    }

    /// The machine's number of the node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Which of the node's processes this is.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Processes of each node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// The job that it has signed on to.
    ///
    /// # Panics
    /// If it has not.
    pub fn job(&self) -> &Job {
        let ptag = self.ptag().expect("signed on");
        self.common.job(ptag).expect("it exists")
    }

    /// Which of its job's virtual nodes this is.
    ///
    /// # Panics
    /// If it has not signed on.
    pub fn place(&self) -> u32 {
        self.job().place(self.node).expect("of the job")
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Keeps a figure that the program measured.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.core.measure(key, value);
    }

    /// What its instructions cost.
    pub fn core(&self) -> &CoreConfig {
        &self.common.config.core
    }

    fn ptag(&self) -> Result<u8, Refusal> {
        lock(&self.here).attached.get(&self.process).copied().ok_or(Refusal::Permission)
    }

    /// Signs on to a communication domain, with which comes an FMA descriptor (the kernel's part: it is not timed).
    ///
    /// # Errors
    /// If there is none of this ptag and cookie for this node; if all 127 FMA descriptors of the NIC are taken.
    pub fn cdm_attach(&self, ptag: u8, cookie: u32) -> Result<(), Refusal> {
        let job = self.common.job(ptag).filter(|job| job.cookie == cookie && job.place(self.node).is_some());
        job.ok_or(Refusal::Permission)?;
        let mut here = lock(&self.here);
        if here.attached.contains_key(&self.process) {
            return Err(Refusal::InvalidState);
        }
        let descriptor = here.take_descriptor()?;
        self.descriptor.set(descriptor).map_err(|_| Refusal::InvalidState)?;
        here.attached.insert(self.process, ptag);
        Ok(())
    }

    /// Signs off (the kernel's part): the process' memory, queues and FMA descriptor are free again. It does not sign on once more.
    ///
    /// # Errors
    /// If it has not signed on.
    pub fn cdm_destroy(&self) -> Result<(), Refusal> {
        self.ptag()?;
        let mut here = lock(&self.here);
        here.attached.remove(&self.process);
        here.domains.forget(self.process);
        here.receives.remove(&self.process);
        here.descriptors &= !(1 << self.descriptor());
        let own = |queue: &mut Option<Queue>| queue.take_if(|q| q.process == self.process);
        here.queues.iter_mut().for_each(|queue| drop(own(queue)));
        Ok(())
    }

    /// What of the NIC is in use (`GNI_GetDevResInfo`).
    pub fn resources(&self) -> Resources {
        let here = lock(&self.here);
        let queues = here.queues.iter().flatten().count();
        let (descriptors, segments) = (here.descriptors.count_ones() as usize, here.domains.segments());
        Resources { descriptors, segments, queues }
    }

    /// Sets aside memory domain handles of this NIC for the job's virtual ones (the kernel's part). One process of a node does it.
    ///
    /// # Errors
    /// If that many in a row are not free, or it has been done.
    pub fn reserve_virtual_handles(&self, count: u16) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.reserve(ptag, count)
    }

    /// Registers memory of the process (the kernel's part).
    ///
    /// # Errors
    /// If it is empty or longer than an offset can tell, if all 4,096 handles are taken, or if the virtual one is not the job's or taken.
    pub fn mem_register(&self, address: u64, bytes: u64, options: MemOptions) -> Result<MemHandle, Refusal> {
        let MemOptions { queue, page, is_read_only, virtual_mdh } = options;
        let (process, ptag) = (self.process, self.ptag()?);
        if address + bytes > 1 << 48 {
            return Err(Refusal::InvalidParam);
        }
        let segment = Segment { process, ptag, address, bytes, page, is_read_only, queue };
        lock(&self.here).domains.register(segment, virtual_mdh)
    }

    /// Forgets memory that was registered.
    ///
    /// # Errors
    /// If it was not.
    pub fn mem_deregister(&self, memory: MemHandle) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.deregister(ptag, memory)
    }

    /// Stores bytes in the process' memory (not timed: see [`Self::compute_milliticks`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process' memory; zeros where nothing was ever stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }

    /// Stores a word, little-endian as the machine has it.
    pub fn store_word(&self, address: u64, word: u64) {
        self.store(address, &word.to_le_bytes());
    }

    /// A word of memory.
    pub fn load_word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.load(address, 8).try_into().expect("eight bytes"))
    }

    /// Polls memory until what lies there is what is waited for.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.core.wait(Watch::Memory { address, bytes }, None).await;
        }
    }

    /// Runs instructions of its own for so long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        self.core.spend(Microticks::of_milliticks(milliticks) * self.threads_of_core()).await;
    }

    /// The process' own FMA descriptor.
    ///
    /// # Panics
    /// If it has not signed on.
    pub fn descriptor(&self) -> u8 {
        *self.descriptor.get().expect("signed on")
    }

    /// One more FMA descriptor, for a thread of its own (the kernel's part).
    ///
    /// # Errors
    /// If all 127 are taken.
    pub fn fma_descriptor(&self) -> Result<u8, Refusal> {
        self.ptag()?;
        lock(&self.here).take_descriptor()
    }

    /// Gives it back.
    pub fn free_fma_descriptor(&self, descriptor: u8) {
        lock(&self.here).descriptors &= !(1 << descriptor);
    }

    async fn write(&self, bytes: u32, command: Command, milliticks: u64) {
        let cost = Microticks::of_milliticks(milliticks) * self.threads_of_core();
        self.core.submit_after(cost, Submission::Write { bytes, command: Box::new(command) }).await;
    }

    /// Processes that share this one's core.
    fn threads_of_core(&self) -> u64 {
        let cores = 2 * self.core().cores_per_cpu;
        let own = u32::from(self.process) % cores;
        u64::from((u32::from(self.processes()) - own).div_ceil(cores))
    }
}
