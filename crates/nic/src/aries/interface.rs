//! The NIC's interfaces to its node and to the fabric.

use super::address::Job;
use super::config::AriesConfig;
use super::fma::Command;
use super::node::{Common, Node, lock};
use super::{Action, Nic, Watch};
use crate::outgoing;
use netloom_engine::Time;
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Pull, Signals};
use netloom_fabric::router::tiled::{TiledFamily, TiledHeader};
use netloom_node::cores::CoresConfig;
use netloom_node::nodes::{NetworkInterface, Nodes, ProcessOf, ProcessSlot, Submitted};
use netloom_node::polling::Polling;
use netloom_node::process::ProcessId;
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex, OnceLock};

/// A submission of a process.
pub enum Submission {
    /// A store to the NIC.
    Write {
        /// Its size, bytes.
        bytes: u32,
        /// Its content.
        command: Box<Command>,
    },
    /// Queries whether an FMA descriptor has no outstanding requests: the node holds the answer.
    IsSynced(u8),
}

/// Counters of a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Requests sent, and responses received.
    pub requests: u64,
    /// See `requests`.
    pub responses: u64,
    /// Requests of other nodes processed.
    pub served: u64,
    /// Interrupts to processes.
    pub interrupts: u64,
    /// Requests that had no response in time.
    pub timeouts: u64,
    /// Packets that arrived corrupted.
    pub damaged: u64,
    /// Maximum number of outstanding requests.
    pub outstanding_peak: u64,
    /// Maximum number of block transfers at the same time.
    pub channels_peak: u64,
    /// Hits and misses of the cache of page table entries.
    pub pte_hits: u64,
    /// See `pte_hits`.
    pub pte_misses: u64,
    /// Hits and misses of the AMO cache; its writes to memory.
    pub amo_hits: u64,
    /// See `amo_hits`.
    pub amo_misses: u64,
    /// See `amo_hits`.
    pub amo_writes: u64,
    /// Bytes over PCI-Express, from the host and to it, including overhead.
    pub pcie_bytes: [u64; 2],
    /// PCI-Express transfers with errors, which were retransmitted, from the host and to it.
    pub pcie_retries: [u64; 2],
}

/// The nodes' side of a block: each node has an Aries NIC and its processes.
pub type AriesNics = Nodes<Nic>;

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each;
/// `process` creates each of them.
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
    process: impl FnMut(ProcessSlot<Nic>) -> Box<ProcessOf<Nic>>,
) -> AriesNics {
    let processes = u8::try_from(processes).expect("at most 255 processes per node");
    let common = Arc::new(Common {
        config: config.clone(),
        packet: network.packet.clone(),
        jobs: Arc::clone(jobs),
        processes,
        seed,
        topology: network.topology.clone(),
        links: OnceLock::new(),
    });
    Nodes::from_slots(common, numbers, processes, seed, process)
}

impl NetworkInterface for Nic {
    type Family = TiledFamily;
    type Common = Common;
    type Shared = Node;
    type Command = Submission;
    type Watch = Watch;
    type Action = Action;
    type Counters = NicCounters;

    fn new(_: &Common, number: u32, here: &Arc<Mutex<Node>>, seed: u64) -> Self {
        Nic::new(number, here, seed)
    }

    fn schedule(&mut self) -> &mut Schedule<Action, Watch> {
        &mut self.schedule
    }

    fn cores(c: &Common) -> Option<&CoresConfig> {
        Some(&c.config.cores)
    }

    fn polling(c: &Common) -> Polling {
        c.config.core.polling()
    }

    fn ready(&mut self, c: &Common, t: Microticks, _: ProcessId, watch: Watch) -> Option<Microticks> {
        let is_there = match watch {
            Watch::Queue(queue) => lock(&self.here).queue(queue).is_none_or(|q| q.wakes().0),
            Watch::Sync(descriptor) => self.outstanding_of(descriptor) == 0,
            Watch::Memory { .. } | Watch::AnyQueue | Watch::Errors => false,
        };
        is_there.then(|| c.config.core.polling().seen(t, t))
    }

    fn submit(
        &mut self,
        c: &Common,
        t: Microticks,
        process: ProcessId,
        submission: Submission,
    ) -> Submitted<Submission, Watch> {
        match submission {
            Submission::Write { bytes, command } => {
                self.asked(&command);
                self.core_writes(c, t, process, bytes, command);
            }
            Submission::IsSynced(descriptor) => {
                lock(&self.here).is_synced = self.outstanding_of(descriptor) == 0;
                self.schedule
                    .resume_at(t + Microticks::of_milliticks(c.config.core.poll_milliticks), process);
            }
        }
        Submitted::Pending
    }

    fn act(&mut self, c: &Common, t: Microticks, action: Action) {
        Nic::act(self, c, t, action);
    }

    #[inline]
    fn pull(&mut self, c: &Common, now: Time, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        let port = if fifo == 0 { &mut self.requests } else { &mut self.responses };
        let answer = outgoing::pull(&mut port.list, &mut port.network_waits, now, signals);
        match answer {
            Pull::Packet(..) if fifo == 0 => self.feed(c, Microticks::at(now)),
            Pull::Packet(..) => self.serve(c, Microticks::at(now), 0, false),
            _ => {}
        }
        answer
    }

    fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        Nic::arrived(self, c, now, delivery);
    }

    fn counters(&self) -> NicCounters {
        NicCounters {
            outstanding_peak: self.orb.peak as u64,
            channels_peak: self.bte.peak as u64,
            pte_hits: self.iommu.hits,
            pte_misses: self.iommu.misses,
            amo_hits: self.amo.hits,
            amo_misses: self.amo.misses,
            pcie_bytes: self.pcie.carried,
            pcie_retries: self.pcie.retries,
            ..self.counters
        }
    }

    fn signal(&mut self, node: u32, signals: &mut Signals) {
        self.asks.signal(node, signals);
    }
}
