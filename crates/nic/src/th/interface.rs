//! The NIC's interfaces to its node and to the fabric.

use super::config::ThConfig;
use super::node::{Common, Node, lock};
use super::submit::Write;
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
use std::sync::{Arc, Mutex};

/// Counters of a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Packets sent.
    pub packets: u64,
    /// Packets of others rejected because of their key or address.
    pub errors: u64,
    /// Losses for lack of space: in queues of events, mini-packets, interrupts and error packets, and of
    /// control packets.
    pub overflows: u64,
    /// Number of times that descriptors waited for a sender context.
    pub pauses: u64,
    /// Number of interrupts to cores.
    pub interrupts: u64,
    /// Connections rejected for lack of a receiver context.
    pub refused: u64,
    /// Maximum number of sender contexts in use, and of receiver contexts.
    pub senders_peak: u32,
    /// See `senders_peak`.
    pub receivers_peak: u32,
    /// Packets that arrived with a wrong CRC, lost packets, packets requested again, and timeouts.
    pub corrupted: u64,
    /// See `corrupted`.
    pub lost: u64,
    /// See `corrupted`.
    pub resent: u64,
    /// See `corrupted`.
    pub timeouts: u64,
    /// Transfers given up because the other side did not respond.
    pub given_up: u64,
    /// Hits and misses of the translation cache.
    pub cache_hits: u64,
    /// See `cache_hits`.
    pub cache_misses: u64,
    /// Bytes over PCI-Express, from the host and to it, including overhead.
    pub pcie_bytes: [u64; 2],
    /// PCI-Express transfers with errors, which were retransmitted, from the host and to it.
    pub pcie_retries: [u64; 2],
}

/// The nodes' side of a block: each node has a TH Express NIC and its processes.
pub type ThNics = Nodes<Nic>;

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each;
/// `process` creates each of them.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn nics_of(
    config: &ThConfig,
    network: &TiledConfig,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    process: impl FnMut(ProcessSlot<Nic>) -> Box<ProcessOf<Nic>>,
) -> ThNics {
    let processes = u8::try_from(processes).expect("at most 255 processes per node");
    let common = Arc::new(Common {
        config: config.clone(),
        packet: network.packet.clone(),
        nodes: network.topology.nodes(),
        processes,
    });
    Nodes::from_slots(common, numbers, processes, seed, process)
}

impl NetworkInterface for Nic {
    type Family = TiledFamily;
    type Common = Common;
    type Shared = Node;
    type Command = Write;
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
        let mut here = lock(&self.here);
        let is_there = match watch {
            Watch::Events(vp) => here.port(vp).is_none_or(|port| !port.events.is_quiet()),
            Watch::MiniPackets(vp) => here.port(vp).is_none_or(|port| !port.mini_packets.is_quiet()),
            Watch::Interrupts => !here.interrupts.is_quiet(),
            Watch::Memory { .. } => false,
        };
        is_there.then(|| c.config.core.polling().seen(t, t))
    }

    fn submit(
        &mut self,
        c: &Common,
        t: Microticks,
        process: ProcessId,
        write: Write,
    ) -> Submitted<Write, Watch> {
        self.core_writes(c, t, write);
        self.schedule.resume_at(t, process);
        Submitted::Pending
    }

    fn act(&mut self, c: &Common, t: Microticks, action: Action) {
        Nic::act(self, c, t, action);
    }

    #[inline]
    fn pull(&mut self, c: &Common, now: Time, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        let outgoing = if fifo == 0 { &mut self.requests } else { &mut self.responses };
        let answer = outgoing::pull(outgoing, &mut self.network_waits[fifo], now, signals);
        if let Pull::Packet(..) = answer {
            self.fetch(c, Microticks::at(now));
        }
        answer
    }

    fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        Nic::arrived(self, c, now, delivery);
    }

    fn counters(&self) -> NicCounters {
        let atc = &lock(&self.here).atc;
        let (cache_hits, cache_misses) = (atc.hits, atc.misses);
        let (pcie_bytes, pcie_retries) = (self.pcie.carried, self.pcie.retries);
        NicCounters { cache_hits, cache_misses, pcie_bytes, pcie_retries, ..self.counters }
    }

    #[inline]
    fn signal(&mut self, node: u32, signals: &mut Signals) {
        self.asks.signal(node, signals);
    }
}
