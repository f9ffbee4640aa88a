//! The nodes of a block on a machine of switches, each with its NIC and its processes, as the fabric sees them: the same for every
//! NIC, which says what is its own.

use crate::agenda::{Agenda, TICK};
use crate::program::{Note, Task, lock};
use netloom_engine::Time;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::{Data, Meta};
use netloom_fabric::router::tiled::TiledHeader;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// Packets that wait for the network, each with the microtick from which it may go.
pub(crate) type Outgoing = VecDeque<(u64, TiledHeader, Meta, Option<Data>)>;

/// What a NIC asks of the fabric.
#[derive(Default)]
pub(crate) struct Asks {
    /// Whether there may be a packet for an injection FIFO again: requests, responses.
    pub fills: [bool; 2],
    /// Classes of packets that it takes from now on, or no longer.
    pub opens: Vec<(usize, bool)>,
}

/// A NIC, as far as the fabric and its node's processes go.
pub(crate) trait Interface: Send {
    /// What all NICs of a block have in common.
    type Common: Send + Sync;
    /// What a node's processes and its NIC both look at.
    type Here: Send;
    /// What a process may ask for.
    type Call: Send;
    /// What is on its agenda.
    type Action;

    /// A NIC that has not been used.
    fn new(number: u32, here: &Arc<Mutex<Self::Here>>, seed: u64) -> Self;

    fn agenda(&mut self) -> &mut Agenda<Self::Action>;

    fn asks(&mut self) -> &mut Asks;

    /// The packets for an injection FIFO, and whether the fabric waits for one.
    fn way(&mut self, fifo: usize) -> (&mut Outgoing, &mut bool);

    /// The process that goes on, if that is the action.
    fn goes_on(action: &Self::Action) -> Option<u8>;

    /// Does what is on its agenda.
    fn act(&mut self, c: &Self::Common, t: u64, action: Self::Action);

    /// Starts what a process has asked for.
    fn call(&mut self, c: &Self::Common, t: u64, process: u8, call: Self::Call);

    /// A packet has left for an injection FIFO.
    fn left(&mut self, c: &Self::Common, t: u64, fifo: usize);

    /// A packet has come out of the network.
    fn arrived(&mut self, c: &Self::Common, now: Time, delivery: &Delivery<TiledHeader>);
}

/// A node: its processes, and its NIC once it has been used.
pub(crate) struct Place<N: Interface> {
    pub number: u32,
    pub here: Arc<Mutex<N::Here>>,
    tasks: Box<[Task<N::Call>]>,
    is_started: bool,
    pub nic: Option<Box<N>>,
}

/// The nodes' side of a block: a NIC each, and so many processes.
pub(crate) struct Nics<N: Interface> {
    common: Arc<N::Common>,
    pub list: Vec<Place<N>>,
    seed: u64,
    /// Nodes whose NICs answer nothing.
    pub dead: BTreeSet<u32>,
    /// When a process last went on or a packet last left or came: what happens behind that are only looks at what is overdue.
    pub last: Time,
}

impl<N: Interface<Here: Default>> Nics<N> {
    /// Of these numbers in the machine, with so many processes each; `task` makes the program of a node's process.
    pub fn new(
        common: Arc<N::Common>,
        numbers: &[u32],
        processes: u8,
        seed: u64,
        mut task: impl FnMut(u32, u8, &Arc<Mutex<N::Here>>) -> Task<N::Call>,
    ) -> Self {
        let place = |&number: &u32| {
            let here = Arc::default();
            let tasks = (0..processes).map(|process| task(number, process, &here)).collect();
            Place { number, here, tasks, is_started: false, nic: None }
        };
        let list = numbers.iter().map(place).collect();
        Nics { list, common, seed, dead: BTreeSet::new(), last: 0 }
    }
}

impl<N: Interface> Nics<N> {
    /// What the programs measured: node, process, figures.
    pub fn notes(&self) -> impl Iterator<Item = (u32, u32, Vec<Note>)> {
        self.list.iter().flat_map(|place| {
            let tasks = place.tasks.iter().enumerate();
            tasks.map(|(process, task)| (place.number, process as u32, lock(&task.mailbox).notes.clone()))
        })
    }

    /// Processes that have not returned: node, process.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, u32)> {
        self.list.iter().flat_map(|place| {
            let tasks = place.tasks.iter().enumerate().filter(|(_, task)| !task.is_done());
            tasks.map(|(process, _)| (place.number, process as u32))
        })
    }

    /// Does what is due at a node, and tells the fabric what it needs to know.
    fn run(&mut self, now: Time, node: u32, signals: &mut Signals) {
        let place = &mut self.list[node as usize];
        let Some(nic) = &mut place.nic else { return };
        while let Some((t, action)) = nic.agenda().due(now) {
            match N::goes_on(&action) {
                None => nic.act(&self.common, t, action),
                Some(process) => {
                    self.last = now;
                    if let Some(call) = place.tasks[usize::from(process)].go_on(t, true) {
                        nic.call(&self.common, t, process, call);
                    }
                }
            }
        }
        let asks = nic.asks();
        for (fifo, fill) in asks.fills.iter_mut().enumerate() {
            if std::mem::take(fill) {
                signals.fill(node, fifo);
            }
        }
        for (class, open) in asks.opens.drain(..) {
            signals.reception(node, 0, class == 1, open);
        }
        if let Some(at) = nic.agenda().arm(now) {
            signals.wake(node, at, 0);
        }
    }

    fn nic(&mut self, node: u32) -> &mut N {
        let (place, seed) = (&mut self.list[node as usize], self.seed);
        place.nic.get_or_insert_with(|| Box::new(N::new(place.number, &place.here, seed)))
    }

    /// Lets the processes of a node begin.
    fn start(&mut self, now: Time, node: u32) {
        let at = node as usize;
        if std::mem::replace(&mut self.list[at].is_started, true) {
            return;
        }
        let is_dead = self.dead.contains(&self.list[at].number);
        for process in 0..self.list[at].tasks.len() {
            let task = &self.list[at].tasks[process];
            if is_dead {
                task.end();
            } else if let Some(call) = task.go_on(now * TICK, false) {
                let common = Arc::clone(&self.common);
                self.nic(node).call(&common, now * TICK, process as u8, call);
            }
        }
    }
}

impl<N: Interface> Host<TiledHeader> for Nics<N> {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull<TiledHeader> {
        self.start(now, node);
        self.run(now, node, signals);
        let Some(nic) = &mut self.list[node as usize].nic else { return Pull::Empty };
        let (way, is_hungry) = nic.way(fifo);
        let answer = match way.front() {
            None => {
                *is_hungry = true;
                return Pull::Empty;
            }
            Some(&(ready, ..)) if ready > now * TICK => return Pull::NotBefore(ready.div_ceil(TICK)),
            Some(_) => {
                let (_, header, meta, data) = way.pop_front().expect("it is there");
                data.into_iter().for_each(|data| signals.attach(data));
                Pull::Packet(header, meta)
            }
        };
        self.last = now;
        nic.left(&self.common, now * TICK, fifo);
        self.run(now, node, signals);
        answer
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        if self.dead.contains(&self.list[node as usize].number) {
            return;
        }
        self.last = now;
        self.run(now, node, signals);
        let common = Arc::clone(&self.common);
        self.nic(node).arrived(&common, now, delivery);
        self.run(now, node, signals);
    }

    fn wake(&mut self, now: Time, node: u32, _: u32, signals: &mut Signals) {
        self.run(now, node, signals);
    }

    fn died(&mut self, _: Time, node: u32) {
        let place = &mut self.list[node as usize];
        self.dead.insert(place.number);
        place.tasks.iter().for_each(Task::end);
    }
}

/// What the nodes' side of a block is to the fabric and to who runs it, which is the same for any NICs: of a type that wraps [`Nics`].
macro_rules! nodes_side {
    ($type:ty) => {
        impl $type {
            /// Nodes whose NICs answer nothing: whoever asks them anything hears of it by a time-out.
            #[must_use]
            pub fn with_dead(mut self, dead: impl IntoIterator<Item = u32>) -> Self {
                self.0.dead = dead.into_iter().collect();
                self
            }

            /// What the programs measured: node, process, figures.
            pub fn notes(&self) -> impl Iterator<Item = (u32, u32, Vec<$crate::program::Note>)> {
                self.0.notes()
            }

            /// Processes that have not returned: node, process.
            pub fn unfinished(&self) -> impl Iterator<Item = (u32, u32)> {
                self.0.unfinished()
            }

            /// When anything last happened that a program or another node could tell, ticks.
            pub fn last(&self) -> Time {
                self.0.last
            }
        }

        impl Host<TiledHeader> for $type {
            fn pull(
                &mut self,
                now: Time,
                node: u32,
                fifo: usize,
                signals: &mut Signals,
            ) -> Pull<TiledHeader> {
                self.0.pull(now, node, fifo, signals)
            }

            fn deliver(
                &mut self,
                now: Time,
                node: u32,
                delivery: &Delivery<TiledHeader>,
                signals: &mut Signals,
            ) {
                self.0.deliver(now, node, delivery, signals);
            }

            fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals) {
                self.0.wake(now, node, token, signals);
            }

            fn died(&mut self, now: Time, node: u32) {
                self.0.died(now, node);
            }
        }
    };
}
pub(crate) use nodes_side;
