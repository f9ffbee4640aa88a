//! The NICs of a block's nodes with their programs, as the fabric sees them.

use super::address::Job;
use super::config::{AriesConfig, MILLI};
use super::gni::{Call, Gni, Task, task};
use super::node::{Common, Node, lock};
use super::{Action, Nic, Watch};
use crate::agenda::Agenda;
use crate::nics::{Asks, Interface, Nics, Outgoing, Place, nodes_side};
use netloom_engine::Time;
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::router::tiled::TiledHeader;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

/// What a NIC has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Requests that it has sent, and responses that have come to them.
    pub requests: u64,
    /// See `requests`.
    pub responses: u64,
    /// Requests of others that it has looked at.
    pub served: u64,
    /// Processes that it has woken.
    pub interrupts: u64,
    /// Requests that had no response in time.
    pub timeouts: u64,
    /// Packets that came damaged.
    pub damaged: u64,
    /// Most requests outstanding at once.
    pub outstanding_peak: u64,
    /// Most block transfers at once.
    pub channels_peak: u64,
    /// Translations that the cache of page table entries had, and that it had not.
    pub pte_hits: u64,
    /// See `pte_hits`.
    pub pte_misses: u64,
    /// Operations on variables that the AMO cache had, and that it had not; its writes to memory.
    pub amo_hits: u64,
    /// See `amo_hits`.
    pub amo_misses: u64,
    /// See `amo_hits`.
    pub amo_writes: u64,
    /// Bytes over PCI-Express, from the host and to it, with all that it adds.
    pub pcie_bytes: [u64; 2],
    /// Transfers over it that came broken and were sent again, likewise.
    pub pcie_retries: [u64; 2],
}

/// The nodes' side of a block: a NIC each, and so many processes.
pub struct AriesNics(Nics<Nic>);

nodes_side!(AriesNics);

impl AriesNics {
    /// For the nodes of a block, by the machine's numbers, with so many processes each; `program` is what each of them runs.
    ///
    /// # Panics
    /// If there are more processes than a node's numbers can tell, 255.
    pub fn new<F>(
        config: &AriesConfig,
        network: &TiledConfig,
        jobs: &Arc<[Job]>,
        numbers: &[u32],
        processes: u32,
        seed: u64,
        mut program: impl FnMut(Gni) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let common = Arc::new(Common {
            config: config.clone(),
            packet: network.packet.clone(),
            jobs: Arc::clone(jobs),
            processes: u8::try_from(processes).expect("at most 255 processes a node"),
            seed,
            topology: network.topology.clone(),
            links: OnceLock::new(),
        });
        let of = Arc::clone(&common);
        let task = |number, process, here: &_| task(number, process, &of, here, &mut program);
        let processes = common.processes;
        AriesNics(Nics::new(common, numbers, processes, seed, task))
    }

    /// What the NICs have counted, by node.
    pub fn counters(&self) -> impl Iterator<Item = (u32, NicCounters)> {
        self.0.list.iter().map(|place| {
            let Some(nic) = &place.nic else { return (place.number, NicCounters::default()) };
            let counters = NicCounters {
                outstanding_peak: nic.orb.peak as u64,
                channels_peak: nic.bte.peak as u64,
                pte_hits: nic.iommu.hits,
                pte_misses: nic.iommu.misses,
                amo_hits: nic.amo.hits,
                amo_misses: nic.amo.misses,
                pcie_bytes: nic.pcie.carried,
                pcie_retries: nic.pcie.retries,
                ..nic.counters
            };
            (place.number, counters)
        })
    }

    /// Bytes of memory of a node that does nothing, besides its programs'.
    pub fn bytes_when_idle(processes: usize) -> usize {
        size_of::<Place<Nic>>() + size_of::<Node>() + 2 * size_of::<usize>() + processes * Task::bytes()
    }
}

impl Interface for Nic {
    type Common = Common;
    type Here = Node;
    type Call = Call;
    type Action = Action;

    fn new(number: u32, here: &Arc<Mutex<Node>>, seed: u64) -> Self {
        Nic::new(number, here, seed)
    }

    fn agenda(&mut self) -> &mut Agenda<Action> {
        &mut self.agenda
    }

    fn asks(&mut self) -> &mut Asks {
        &mut self.asks
    }

    fn way(&mut self, fifo: usize) -> (&mut Outgoing, &mut bool) {
        let port = if fifo == 0 { &mut self.requests } else { &mut self.responses };
        (&mut port.list, &mut port.is_hungry)
    }

    fn goes_on(action: &Action) -> Option<u8> {
        if let Action::Program(process) = action { Some(*process) } else { None }
    }

    fn act(&mut self, c: &Common, t: u64, action: Action) {
        Nic::act(self, c, t, action);
    }

    fn call(&mut self, c: &Common, t: u64, process: u8, call: Call) {
        match call {
            Call::Compute(microticks) => self.agenda.at(t + microticks, Action::Program(process)),
            Call::Write { bytes, command, cost } => {
                self.asked(&command);
                self.agenda.at(t + cost, Action::CoreWrites(process, bytes, command));
            }
            Call::Wait(watch, most) => {
                let core = &c.config.core;
                let found = (core.poll_milliticks + core.found_milliticks) * MILLI;
                let is_there = match watch {
                    Watch::Queue(queue) => lock(&self.here).queue(queue).is_none_or(|q| q.wakes().0),
                    Watch::Sync(descriptor) => self.outstanding_of(descriptor) == 0,
                    Watch::Memory { .. } | Watch::AnyQueue | Watch::Errors => false,
                };
                if is_there {
                    self.agenda.at(t + found, Action::Program(process));
                } else {
                    self.watches.wait(process, t, watch);
                    most.into_iter().for_each(|most| self.agenda.at(t + most, Action::GiveUp(process, t)));
                }
            }
            Call::IsSynced(descriptor) => {
                lock(&self.here).is_synced = self.outstanding_of(descriptor) == 0;
                self.agenda.at(t + c.config.core.poll_milliticks * MILLI, Action::Program(process));
            }
        }
    }

    fn left(&mut self, c: &Common, t: u64, fifo: usize) {
        if fifo == 0 {
            self.feed(c, t);
        } else {
            self.serve(c, t, 0);
        }
    }

    fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        Nic::arrived(self, c, now, delivery);
    }
}
