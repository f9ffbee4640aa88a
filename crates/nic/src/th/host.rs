//! The NICs of a block's nodes with their programs, as the fabric sees them.

use super::config::ThConfig;
use super::glex::{Call, Glex};
use super::node::{Common, Node, lock};
use super::{Action, Nic, Watch};
use crate::agenda::{Agenda, MILLI};
use crate::nics::{Asks, Interface, Nics, Outgoing, nodes_side};
use crate::program::{Mailbox, Task};
use netloom_engine::Time;
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::router::tiled::TiledHeader;
use std::future::Future;
use std::sync::{Arc, Mutex};

/// What a NIC has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Packets that it has sent.
    pub packets: u64,
    /// Packets of others that it has refused, by key or address.
    pub errors: u64,
    /// What was lost for want of room: in queues of events, mini-packets, interrupts, error packets, and of control packets.
    pub overflows: u64,
    /// Times at which descriptors waited for a sender context.
    pub pauses: u64,
    /// Times at which it has interrupted a core.
    pub interrupts: u64,
    /// Connections that it has refused for want of a receiver context.
    pub refused: u64,
    /// Most sender contexts in use, and receiver contexts.
    pub senders_peak: u32,
    /// See `senders_peak`.
    pub receivers_peak: u32,
    /// Packets that came with a wrong CRC, packets that were lost, packets that were asked for again, and time-outs.
    pub corrupted: u64,
    /// See `corrupted`.
    pub lost: u64,
    /// See `corrupted`.
    pub resent: u64,
    /// See `corrupted`.
    pub timeouts: u64,
    /// Transfers that were given up, since the other side did not answer.
    pub given_up: u64,
    /// Translations that the cache had, and that it had not.
    pub cache_hits: u64,
    /// See `cache_hits`.
    pub cache_misses: u64,
    /// Bytes over PCI-Express, from the host and to it, with all that it adds.
    pub pcie_bytes: [u64; 2],
    /// Transfers over it that came broken and were sent again, likewise.
    pub pcie_retries: [u64; 2],
}

/// The nodes' side of a block: a NIC each, and so many processes.
pub struct ThNics(Nics<Nic>);

nodes_side!(ThNics);

impl ThNics {
    /// For the nodes of a block, by the machine's numbers, with so many processes each; `program` is what each of them runs.
    ///
    /// # Panics
    /// If there are more processes than a node's numbers can tell, 255.
    pub fn new<F>(
        config: &ThConfig,
        network: &TiledConfig,
        numbers: &[u32],
        processes: u32,
        seed: u64,
        mut program: impl FnMut(Glex) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let common = Arc::new(Common {
            config: config.clone(),
            packet: network.packet.clone(),
            nodes: network.topology.nodes(),
            processes: u8::try_from(processes).expect("at most 255 processes a node"),
        });
        let of = Arc::clone(&common);
        let task = |number, process, here: &_| {
            let mailbox: Arc<Mutex<Mailbox<Call>>> = Arc::default();
            let glex = Glex::new(number, process, &mailbox, here, &of);
            Task::new(mailbox, program(glex))
        };
        let processes = common.processes;
        ThNics(Nics::new(common, numbers, processes, seed, task))
    }

    /// What the NICs have counted, by node.
    pub fn counters(&self) -> impl Iterator<Item = (u32, NicCounters)> {
        self.0.list.iter().map(|place| {
            let Some(nic) = &place.nic else { return (place.number, NicCounters::default()) };
            let atc = &lock(&place.here).atc;
            let (cache_hits, cache_misses) = (atc.hits, atc.misses);
            let (pcie_bytes, pcie_retries) = (nic.pcie.carried, nic.pcie.retries);
            (place.number, NicCounters { cache_hits, cache_misses, pcie_bytes, pcie_retries, ..nic.counters })
        })
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
        let way = if fifo == 0 { &mut self.requests } else { &mut self.responses };
        (way, &mut self.is_hungry[fifo])
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
            Call::Write { write, cost } => self.agenda.at(t + cost, Action::CoreWrites(process, write)),
            Call::Wait(watch, most) => {
                let is_there = {
                    let mut here = lock(&self.here);
                    match watch {
                        Watch::Events(vp) => here.port(vp).is_none_or(|port| !port.events.is_quiet()),
                        Watch::MiniPackets(vp) => {
                            here.port(vp).is_none_or(|port| !port.mini_packets.is_quiet())
                        }
                        Watch::Interrupts => !here.interrupts.is_quiet(),
                        Watch::Memory { .. } => false,
                    }
                };
                if is_there {
                    let core = &c.config.core;
                    let at = t + (core.poll_milliticks + core.found_milliticks) * MILLI;
                    self.agenda.at(at, Action::Program(process));
                } else {
                    self.watches.wait(process, t, watch);
                    most.into_iter().for_each(|most| self.agenda.at(t + most, Action::GiveUp(process, t)));
                }
            }
        }
    }

    fn left(&mut self, c: &Common, t: u64, _: usize) {
        self.fetch(c, t);
    }

    fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        Nic::arrived(self, c, now, delivery);
    }
}
