//! What programs on nodes with TH Express NICs call, after libglex (section 3.1): endpoints, which are virtual ports; registered memory;
//! mini-packets, puts and gets, all of which are submitted and not waited for; events.
//!
//! A program is an `async fn`, one for each process. There is no runtime: its node's host polls it when what it waits for has happened.
//!
//! ```
//! use netloom_messaging::glex::Glex;
//! use netloom_nic::th::{Address, Options, Submission};
//!
//! /// Node 0 puts 8 bytes into node 1's memory, and node 1 hears of it by an event.
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

mod memory;
mod post;
mod queues;
pub mod tree;

use netloom_fabric::config::TiledConfig;
use netloom_nic::th::config::{ThConfig, ThCoreConfig};
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{
    Address, Common, EVENT_B, EndpointConfig, Nic, Node, Port, Submission, ThNics, Watch, nics_of, place,
};
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use std::future::Future;
use std::sync::{Arc, Mutex};

pub use memory::Memory;

/// Most children of a collective descriptor: as `glex.h` (Xie, 2012) has for a set of addresses.
pub const CHILDREN: usize = 14;

/// Makes the nodes' side of a block, by the machine's numbers, with so many processes each; `program` is what each of them runs.
///
/// # Panics
/// If there are more processes than a node's numbers can tell, 255.
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
        Box::new(Program::new(glex.process_core().clone(), program(glex)))
    })
}

/// A process, as its program sees it.
#[derive(Clone)]
pub struct Glex {
    node: u32,
    process: u8,
    core: CoreOf<Nic>,
    here: Arc<Mutex<Node>>,
    common: Arc<Common>,
}

impl Glex {
    /// That of a process.
    pub fn new(slot: ProcessSlot<Nic>) -> Self {
        let ProcessSlot { node, process, core, shared, common } = slot;
        Glex { node, process, core, here: shared, common }
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

    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.common.nodes
    }

    /// What its instructions cost.
    pub fn core(&self) -> &ThCoreConfig {
        &self.common.config.core
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Keeps a figure that the program measured.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.core.measure(key, value);
    }

    /// Limits of the NIC and its software.
    pub fn device(&self) -> &ThConfig {
        &self.common.config
    }

    /// Makes an endpoint: a virtual port with a key and queues for so many events and as many mini-packets (the kernel's part: not timed).
    ///
    /// # Errors
    /// If all ports of the kind are taken, or the queues are too large for memory in one piece.
    pub fn create_endpoint(&self, submission: Submission, key: u16, entries: usize) -> Result<u8, Refusal> {
        self.create_endpoint_with(EndpointConfig::new(submission, key, entries))
    }

    /// Makes an endpoint with queues of their own sizes, at virtual addresses if wanted, and in the memory of either CPU.
    ///
    /// # Errors
    /// As [`Self::create_endpoint`]; if a queue has no room at all, or no address at the begin of a page.
    pub fn create_endpoint_with(&self, config: EndpointConfig) -> Result<u8, Refusal> {
        let c = &self.common.config;
        config.events.check(c, EVENT_B)?;
        config.mini_packets.check(c, c.mini_packet_B)?;
        lock(&self.here).take_port(config.submission, Port::new(self.process, config))
    }

    /// How an endpoint was made.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn endpoint(&self, endpoint: u8) -> Result<EndpointConfig, Refusal> {
        Ok(self.own(&mut lock(&self.here), endpoint)?.config)
    }

    /// The address by which others reach an endpoint.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn address(&self, endpoint: u8) -> Result<Address, Refusal> {
        let key = self.own(&mut lock(&self.here), endpoint)?.config.key;
        Ok(Address { node: self.node, vp: endpoint, key })
    }

    /// Gives an endpoint back.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn destroy_endpoint(&self, endpoint: u8) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?;
        lock(&self.here).free_port(endpoint);
        Ok(())
    }

    fn own<'a>(&self, here: &'a mut Node, endpoint: u8) -> Result<&'a mut Port, Refusal> {
        here.port(endpoint).filter(|port| port.process == self.process).ok_or(Refusal::NotOwned)
    }

    /// Waits for something in memory, for so long at most.
    async fn wait(&self, watch: Watch, milliticks: Option<u64>) {
        self.core.wait(watch, milliticks.map(Microticks::of_milliticks)).await;
    }

    /// Polls memory until what lies there is what is waited for.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.wait(Watch::Memory { address, bytes }, None).await;
        }
    }

    /// Runs instructions of its own for so long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        self.core.spend(Microticks::of_milliticks(milliticks)).await;
    }

    /// Stores bytes in the process' memory (not timed: see [`Self::compute_milliticks`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process' memory; zeros where nothing was ever stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }
}
