//! The NICs of a block's nodes with their programs, as the fabric sees them.

use super::address::Job;
use super::config::{AriesConfig, MILLI, TICK};
use super::gni::{Call, Gni, Note, Task, task};
use super::node::{Common, Node, lock};
use super::{Action, Nic, Watch};
use netloom_engine::Time;
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::router::tiled::TiledHeader;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex};

/// What a NIC has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Requests that it has sent, and responses that have come to them.
    pub requests: u64,
    /// See `requests`.
    pub responses: u64,
    /// Requests of others that it has looked at.
    pub served: u64,
    /// Requests that had no response in time.
    pub timeouts: u64,
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
}

/// A node: its processes, and its NIC once it has been used.
struct Place {
    number: u32,
    here: Arc<Mutex<Node>>,
    tasks: Box<[Task]>,
    is_started: bool,
    nic: Option<Box<Nic>>,
}

/// The nodes' side of a block: a NIC each, and so many processes.
pub struct AriesNics {
    common: Arc<Common>,
    places: Vec<Place>,
    seed: u64,
    /// Nodes whose NICs answer nothing.
    dead: BTreeSet<u32>,
}

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
        });
        let place = |&number: &u32| {
            let here = Arc::default();
            let task = |process| task(number, process, &common, &here, &mut program);
            let tasks = (0..common.processes).map(task).collect();
            Place { number, here, tasks, is_started: false, nic: None }
        };
        let places = numbers.iter().map(place).collect();
        AriesNics { common, places, seed, dead: BTreeSet::new() }
    }

    /// Nodes whose NICs answer nothing: whoever asks them anything hears of it by a time-out.
    #[must_use]
    pub fn with_dead(mut self, dead: impl IntoIterator<Item = u32>) -> Self {
        self.dead = dead.into_iter().collect();
        self
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
            let counters = NicCounters {
                outstanding_peak: nic.orb.peak as u64,
                channels_peak: nic.bte.peak as u64,
                pte_hits: nic.iommu.hits,
                pte_misses: nic.iommu.misses,
                amo_hits: nic.amo.hits,
                amo_misses: nic.amo.misses,
                pcie_bytes: nic.pcie.carried,
                ..nic.counters
            };
            (place.number, counters)
        })
    }

    /// Bytes of memory of a node that does nothing, besides its programs'.
    pub fn bytes_when_idle(processes: usize) -> usize {
        size_of::<Place>() + size_of::<Node>() + 2 * size_of::<usize>() + processes * Task::bytes()
    }

    /// Does what is due at a node, and tells the fabric what it needs to know.
    fn run(&mut self, now: Time, node: u32, signals: &mut Signals) {
        let place = &mut self.places[node as usize];
        let Some(nic) = &mut place.nic else { return };
        while let Some((t, action)) = nic.agenda.due(now) {
            match action {
                Action::Program(process) => go_on(&self.common, t, process, &place.tasks, nic),
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
        let place = &mut self.places[node as usize];
        let seed = self.seed;
        place.nic.get_or_insert_with(|| Box::new(Nic::new(place.number, &place.here, seed)))
    }

    /// Lets the processes of a node begin.
    fn start(&mut self, now: Time, node: u32) {
        let at = node as usize;
        if std::mem::replace(&mut self.places[at].is_started, true) {
            return;
        }
        for process in 0..self.places[at].tasks.len() {
            let task = &self.places[at].tasks[process];
            if self.dead.contains(&self.places[at].number) {
                task.end();
                continue;
            }
            if let Some(call) = task.go_on(now * TICK, false) {
                let common = Arc::clone(&self.common);
                do_call(&common, now * TICK, process as u8, call, self.nic(node));
            }
        }
    }
}

/// A process goes on until its next call.
fn go_on(c: &Common, t: u64, process: u8, tasks: &[Task], nic: &mut Nic) {
    if let Some(call) = tasks[usize::from(process)].go_on(t, true) {
        do_call(c, t, process, call, nic);
    }
}

/// Starts what a process has asked for.
fn do_call(c: &Common, t: u64, process: u8, call: Call, nic: &mut Nic) {
    match call {
        Call::Compute(microticks) => nic.agenda.at(t + microticks, Action::Program(process)),
        Call::Write { bytes, command, cost } => {
            nic.asked(&command);
            nic.agenda.at(t + cost, Action::CoreWrites(process, bytes, command));
        }
        Call::Wait(watch) => {
            let is_there = match watch {
                Watch::Queue(queue) => {
                    lock(&nic.here).queue(queue).is_none_or(|q| !q.events.is_empty() || q.is_overrun)
                }
                Watch::Sync(descriptor) => nic.outstanding_of(descriptor) == 0,
                Watch::Memory { .. } => false,
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

impl Host<TiledHeader> for AriesNics {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        self.start(now, node);
        self.run(now, node, signals);
        let Some(nic) = &mut self.places[node as usize].nic else { return Pull::Empty };
        let port = if fifo == 0 { &mut nic.requests } else { &mut nic.responses };
        let answer = match port.list.front() {
            None => {
                port.is_hungry = true;
                return Pull::Empty;
            }
            Some(&(ready, ..)) if ready > now * TICK => return Pull::NotBefore(ready.div_ceil(TICK)),
            Some(_) => {
                let (_, header, meta, data) = port.list.pop_front().expect("it is there");
                data.into_iter().for_each(|data| signals.attach(data));
                Pull::Packet(header, meta)
            }
        };
        if fifo == 0 {
            nic.feed(&self.common, now * TICK);
        } else {
            nic.serve(&self.common, now * TICK, 0);
        }
        self.run(now, node, signals);
        answer
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        if self.dead.contains(&self.places[node as usize].number) {
            return;
        }
        self.run(now, node, signals);
        let common = Arc::clone(&self.common);
        self.nic(node).arrived(&common, now, delivery);
        self.run(now, node, signals);
    }

    fn wake(&mut self, now: Time, node: u32, _: u32, signals: &mut Signals) {
        self.run(now, node, signals);
    }
}
