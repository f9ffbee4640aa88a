//! The NICs of a block's nodes with their programs, as the fabric sees them.

use super::config::ThConfig;
use super::glex::{Call, Glex};
use super::node::{Common, Node, lock};
use super::{Action, Nic, Watch};
use crate::agenda::{MILLI, TICK};
use crate::program::{Mailbox, Note, Task};
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
    /// Mini-packets and events that were lost in full queues.
    pub overflows: u64,
    /// Times at which descriptors waited for a sender context.
    pub pauses: u64,
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
    /// Translations that the cache had, and that it had not.
    pub cache_hits: u64,
    /// See `cache_hits`.
    pub cache_misses: u64,
    /// Bytes over PCI-Express, from the host and to it, with all that it adds.
    pub pcie_bytes: [u64; 2],
}

/// A node: its processes, and its NIC once it has been used.
struct Place {
    number: u32,
    here: Arc<Mutex<Node>>,
    tasks: Box<[Task<Call>]>,
    is_started: bool,
    nic: Option<Box<Nic>>,
}

/// The nodes' side of a block: a NIC each, and so many processes.
pub struct ThNics {
    common: Arc<Common>,
    places: Vec<Place>,
    seed: u64,
}

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
        let place = |&number: &u32| {
            let here = Arc::default();
            let task = |process| {
                let mailbox: Arc<Mutex<Mailbox<Call>>> = Arc::default();
                let glex = Glex::new(number, process, &mailbox, &here, &common);
                Task::new(mailbox, program(glex))
            };
            let tasks = (0..common.processes).map(task).collect();
            Place { number, here, tasks, is_started: false, nic: None }
        };
        let places = numbers.iter().map(place).collect();
        ThNics { common, places, seed }
    }

    /// What the programs measured: node, process, figures.
    pub fn notes(&self) -> impl Iterator<Item = (u32, u32, Vec<Note>)> {
        self.places.iter().flat_map(|place| {
            let tasks = place.tasks.iter().enumerate();
            tasks.map(|(process, task)| (place.number, process as u32, lock(&task.mailbox).notes.clone()))
        })
    }

    /// Processes that have not returned: node, process.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, u32)> {
        self.places.iter().flat_map(|place| {
            let tasks = place.tasks.iter().enumerate().filter(|(_, task)| !task.is_done());
            tasks.map(|(process, _)| (place.number, process as u32))
        })
    }

    /// What the NICs have counted, by node.
    pub fn counters(&self) -> impl Iterator<Item = (u32, NicCounters)> {
        self.places.iter().map(|place| {
            let Some(nic) = &place.nic else { return (place.number, NicCounters::default()) };
            let atc = &lock(&place.here).atc;
            let (cache_hits, cache_misses) = (atc.hits, atc.misses);
            let pcie_bytes = nic.pcie.carried;
            (place.number, NicCounters { cache_hits, cache_misses, pcie_bytes, ..nic.counters })
        })
    }

    /// Does what is due at a node, and tells the fabric what it needs to know.
    fn run(&mut self, now: Time, node: u32, signals: &mut Signals) {
        let place = &mut self.places[node as usize];
        let Some(nic) = &mut place.nic else { return };
        while let Some((t, action)) = nic.agenda.due(now) {
            match action {
                Action::Program(process) => {
                    if let Some(call) = place.tasks[usize::from(process)].go_on(t, true) {
                        do_call(&self.common, t, process, call, nic);
                    }
                }
                other => nic.act(&self.common, t, other),
            }
        }
        for (fifo, fill) in nic.fills.iter_mut().enumerate() {
            if std::mem::take(fill) {
                signals.fill(node, fifo);
            }
        }
        for (class, open) in nic.opens.drain(..) {
            signals.reception(node, 0, class == 1, open);
        }
        if let Some(at) = nic.agenda.arm(now) {
            signals.wake(node, at, 0);
        }
    }

    fn nic(&mut self, node: u32) -> &mut Nic {
        let (place, seed) = (&mut self.places[node as usize], self.seed);
        place.nic.get_or_insert_with(|| Box::new(Nic::new(place.number, &place.here, seed)))
    }

    /// Lets the processes of a node begin.
    fn start(&mut self, now: Time, node: u32) {
        let at = node as usize;
        if std::mem::replace(&mut self.places[at].is_started, true) {
            return;
        }
        for process in 0..self.places[at].tasks.len() {
            if let Some(call) = self.places[at].tasks[process].go_on(now * TICK, false) {
                let common = Arc::clone(&self.common);
                do_call(&common, now * TICK, process as u8, call, self.nic(node));
            }
        }
    }
}

/// Starts what a process has asked for.
fn do_call(c: &Common, t: u64, process: u8, call: Call, nic: &mut Nic) {
    match call {
        Call::Compute(microticks) => nic.agenda.at(t + microticks, Action::Program(process)),
        Call::Write { write, cost } => nic.agenda.at(t + cost, Action::CoreWrites(process, write)),
        Call::Wait(watch) => {
            let is_there = {
                let mut here = lock(&nic.here);
                match watch {
                    Watch::Events(vp) => here.port(vp).is_none_or(|port| !port.events.is_quiet()),
                    Watch::MiniPackets(vp) => here.port(vp).is_none_or(|port| !port.mini_packets.is_quiet()),
                    Watch::Memory { .. } => false,
                }
            };
            if is_there {
                let core = &c.config.core;
                let at = t + (core.poll_milliticks + core.found_milliticks) * MILLI;
                nic.agenda.at(at, Action::Program(process));
            } else {
                nic.watches.insert(process, (t, watch));
            }
        }
    }
}

impl Host<TiledHeader> for ThNics {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        self.start(now, node);
        self.run(now, node, signals);
        let Some(nic) = &mut self.places[node as usize].nic else { return Pull::Empty };
        let way = if fifo == 0 { &mut nic.requests } else { &mut nic.responses };
        let answer = match way.front() {
            None => {
                nic.is_hungry[fifo] = true;
                return Pull::Empty;
            }
            Some(&(ready, ..)) if ready > now * TICK => return Pull::NotBefore(ready.div_ceil(TICK)),
            Some(_) => {
                let (_, header, meta, data) = way.pop_front().expect("it is there");
                data.into_iter().for_each(|data| signals.attach(data));
                Pull::Packet(header, meta)
            }
        };
        nic.fetch(&self.common, now * TICK);
        self.run(now, node, signals);
        answer
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        self.run(now, node, signals);
        let common = Arc::clone(&self.common);
        self.nic(node).arrived(&common, now, delivery);
        self.run(now, node, signals);
    }

    fn wake(&mut self, now: Time, node: u32, _: u32, signals: &mut Signals) {
        self.run(now, node, signals);
    }
}
