//! The Message Units of a block's nodes with their programs, as the fabric sees them.

use super::common::Common;
use super::config::MessageUnitConfig;
use super::interrupts::Interrupt;
use super::kernel::Resource;
use super::protection::Violation;
use super::reception::Outcome;
use super::spi::{Call, Note, Setting, Spi, Task, status_of};
use super::{Alarm, NETWORK_FIFOS, Out, Unit, UnitCounters, lock};
use netloom_engine::Time;
use netloom_fabric::config::Outline;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::topology::torus::Torus;
use std::future::Future;
use std::sync::Arc;

/// The nodes' side of a block: a Message Unit and a program each.
pub struct MessageUnits {
    common: Arc<Common>,
    units: Vec<Unit>,
    tasks: Vec<Task>,
    /// Packets that have been stored, and their data, bytes.
    delivered: u64,
    payload_bytes: u64,
}

impl MessageUnits {
    /// For the nodes of a block, by the machine's numbers; `program` is what each of them runs.
    pub fn new<F>(
        config: &MessageUnitConfig,
        network: &Outline,
        numbers: &[u32],
        seed: u64,
        mut program: impl FnMut(Spi) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let torus = Arc::new(Torus::new(&network.topology));
        let common = Common { config: config.clone(), torus, tie: network.halfway_tie };
        let units: Vec<Unit> = numbers.iter().map(|&n| Unit::new(n, seed)).collect();
        let common = Arc::new(common);
        let task = |unit: &Unit| Task::new(unit.number, &common, &unit.contents, &mut program);
        MessageUnits {
            tasks: units.iter().map(task).collect(),
            common,
            units,
            delivered: 0,
            payload_bytes: 0,
        }
    }

    /// Packets that have been stored, and their data, bytes.
    pub fn stored_so_far(&self) -> (u64, u64) {
        (self.delivered, self.payload_bytes)
    }

    /// What the programs measured: node, figures.
    pub fn notes(&self) -> impl Iterator<Item = (u32, Vec<Note>)> {
        self.units.iter().zip(&self.tasks).map(|(unit, task)| (unit.number, lock(&task.shared).notes.clone()))
    }

    /// Nodes whose programs have not returned.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        self.units.iter().zip(&self.tasks).filter(|(_, task)| !task.is_done()).map(|(unit, _)| unit.number)
    }

    /// Descriptors that the unit of a node has injected from a FIFO: the counter that software reads.
    pub fn injected(&self, here: usize, fifo: u16) -> u64 {
        self.units[here].injected(fifo)
    }

    /// What the units have counted, by the machine's numbers of their nodes.
    pub fn counters(&self) -> impl Iterator<Item = (u32, UnitCounters)> {
        self.units
            .iter()
            .map(|unit| (unit.number, UnitCounters { requests: unit.ports.requests, ..unit.counters }))
    }

    /// What the units have refused: node, why, how often.
    pub fn refused(&self) -> impl Iterator<Item = (u32, Violation, u64)> {
        self.units.iter().flat_map(|unit| unit.refused.iter().map(|(&why, &times)| (unit.number, why, times)))
    }

    /// The unit of a node raises an interrupt.
    fn raise(&mut self, now: Time, node: u32, interrupt: Interrupt, signals: &mut Signals) {
        let Some(group) = self.units[node as usize].interrupts.raise(interrupt) else { return };
        if let Some((Call::WaitInterrupt(waits), _)) = self.tasks[node as usize].waiting
            && waits == group
        {
            let c = &self.common.config;
            let at = now + u64::from(c.slave_ticks + c.software.found_ticks);
            signals.wake(node, at, Alarm::Program.token());
        }
    }

    /// The unit of a node refuses something.
    fn refuse(&mut self, now: Time, node: u32, why: Violation, signals: &mut Signals) {
        let unit = &mut self.units[node as usize];
        unit.counters.violations += 1;
        *unit.refused.entry(why).or_insert(0) += 1;
        self.raise(now, node, Interrupt::Refused, signals);
    }

    /// A reception FIFO's tail has moved, an injection FIFO's head: whoever polls for it finds it.
    fn register_changed(&self, now: Time, node: u32, is_it: impl Fn(&Call) -> bool, signals: &mut Signals) {
        if let Some((call, since)) = &self.tasks[node as usize].waiting
            && is_it(call)
        {
            signals.wake(node, found_in_register(&self.common.config, *since, now), Alarm::Program.token());
        }
    }

    /// Does what a node's program asked for, now that it may be done. Returns whether its call has so ended.
    fn end_call(&mut self, now: Time, node: u32, signals: &mut Signals) -> bool {
        let (unit, task) = (&mut self.units[node as usize], &mut self.tasks[node as usize]);
        let (c, mut out) = (&self.common.config, Out { here: node, signals });
        match task.waiting.take() {
            // There is room now: the descriptor is written.
            Some((Call::WaitRoom(fifo, descriptor), _)) => {
                out.at(now + u64::from(c.software.inject_ticks), Alarm::Program);
                task.waiting = Some((Call::Inject(fifo, descriptor), now));
                return false;
            }
            Some((Call::Inject(fifo, descriptor), _)) => {
                unit.write_descriptor(&self.common, now, fifo, *descriptor);
                let at = unit.through_slave_port(c, now);
                out.at(at, Alarm::TailMoved(fifo));
            }
            Some((Call::WaitPacket(fifo) | Call::Poll(fifo), _)) => {
                lock(&task.shared).packet = unit.take_packet(fifo);
                let refused = unit.go_on_storing(&self.common, now, &mut out);
                refused.into_iter().for_each(|why| self.refuse(now, node, why, signals));
            }
            Some((Call::WaitInterrupt(group), _)) => {
                lock(&task.shared).interrupt = unit.interrupts.take(group);
            }
            _ => {}
        }
        true
    }

    /// What a node's program waits for has happened: it goes on until its next call.
    fn go_on(&mut self, now: Time, node: u32, signals: &mut Signals) {
        if !self.end_call(now, node, signals) {
            return;
        }
        let (unit, task) = (&mut self.units[node as usize], &mut self.tasks[node as usize]);
        let (c, mut out) = (&self.common.config, Out { here: node, signals });
        {
            let mut shared = lock(&task.shared);
            (shared.now, shared.done) = (now, task.started);
        }
        task.started = true;
        task.poll();
        let mut guard = lock(&task.shared);
        let shared = &mut *guard;
        for setting in shared.settings.drain(..) {
            match setting {
                Setting::Base(entry, address) => {
                    unit.base.insert(entry, address);
                }
                Setting::Counter(address, bytes) => {
                    unit.memory_counters.insert(address, bytes);
                }
                Setting::ClassRoute(class, route) => out.signals.class_route(node, class.into(), route),
                Setting::Injection(fifo, settings) => unit.set_injection_fifo(fifo, settings),
                Setting::Reception(fifo, settings) => unit.set_reception_fifo(fifo, settings),
                Setting::Range(register, range) => unit.ranges.set(register, range),
                Setting::Interrupt(like, group) => unit.interrupts.lead(like, group),
                Setting::Free(Resource::ClassRoute, class) => {
                    out.signals.class_route(node, class.into(), None)
                }
                Setting::Free(Resource::Barrier, class) => {
                    out.signals.barrier_class(node, class.into(), None, 0);
                    shared.status &= !(7 << (4 * u32::from(class)));
                }
                Setting::Free(Resource::BaseAddress, entry) => {
                    unit.base.remove(&entry);
                }
                Setting::Free(Resource::InjectionFifo, fifo) => unit.free_injection_fifo(fifo),
                Setting::Free(Resource::ReceptionFifo, fifo) => unit.free_reception_fifo(fifo),
                Setting::Barrier(class, route, start) => {
                    out.signals.barrier_class(node, class.into(), route, start);
                    shared.status |= start << (4 * u32::from(class));
                }
            }
        }
        let Some(mut call) = shared.call.take() else { return };
        if let Call::WaitRoom(fifo, descriptor) = call {
            let has_room = unit.has_room(fifo);
            call = if has_room { Call::Inject(fifo, descriptor) } else { Call::WaitRoom(fifo, descriptor) };
        }
        let wake = match &call {
            Call::Compute(ticks) => Some(now + ticks),
            Call::Inject(..) => Some(now + u64::from(c.software.inject_ticks)),
            Call::WaitCounter(address) => {
                let is_zero = unit.memory_counters.get(address).is_none_or(|&counter| counter <= 0);
                is_zero.then(|| found(c, now, now))
            }
            Call::WaitRoom(..) => None,
            Call::WaitInjected(fifo, descriptors) => {
                (unit.injected(*fifo) >= *descriptors).then(|| found_in_register(c, now, now))
            }
            Call::Poll(_) => Some(found_in_register(c, now, now)),
            Call::WaitPacket(fifo) => {
                (unit.packets_for_software(*fifo) > 0).then(|| found_in_register(c, now, now))
            }
            Call::WaitInterrupt(group) => {
                unit.interrupts.is_pending(*group).then(|| now + u64::from(c.software.found_ticks))
            }
            Call::Say(class, says) => {
                let at = unit.through_slave_port(c, now);
                out.at(at, Alarm::Says(u16::from(*class) * 8 + *says as u16));
                Some(now + u64::from(c.software.store_ticks))
            }
            Call::WaitBarrier(class, bits) => {
                (status_of(shared.status, *class) & bits == 0).then(|| found_in_register(c, now, now))
            }
        };
        task.waiting = Some((call, now));
        if let Some(at) = wake {
            out.at(at.max(now + 1), Alarm::Program);
        }
    }
}

impl MessageUnits {
    /// A packet has been received: whoever waits for what it brought is told.
    fn received(&mut self, now: Time, node: u32, outcome: Outcome, signals: &mut Signals) {
        self.delivered += 1;
        match outcome {
            Outcome::Stored { bytes, zero } => {
                self.payload_bytes += u64::from(bytes);
                let Some(zero) = zero else { return };
                let task = &self.tasks[node as usize];
                lock(&task.shared).counted_down.insert(zero, now);
                if let Some((Call::WaitCounter(address), since)) = task.waiting
                    && address == zero
                {
                    signals.wake(node, found(&self.common.config, since, now), Alarm::Program.token());
                }
            }
            Outcome::Queued { bytes, fifo, moved, raises } => {
                self.payload_bytes += u64::from(bytes);
                let waits = |call: &Call| matches!(call, Call::WaitPacket(f) if *f == fifo);
                // What was there before has woken the program already.
                if moved > 0 && self.units[node as usize].packets_for_software(fifo) == moved {
                    self.register_changed(now, node, waits, signals);
                }
                raises.into_iter().for_each(|interrupt| self.raise(now, node, interrupt, signals));
            }
        }
    }
}

/// When a program that polls since `since` goes on, if what it polls for is there from `at` on.
fn found(c: &MessageUnitConfig, since: Time, at: Time) -> Time {
    let turn = u64::from(c.software.poll_ticks);
    since + (at - since).div_ceil(turn).max(1) * turn + u64::from(c.software.found_ticks)
}

/// The same for one that polls a register of the unit: each load goes there and back through the slave port, and tells what it was half-way.
fn found_in_register(c: &MessageUnitConfig, since: Time, at: Time) -> Time {
    let (there, turn) = (u64::from(c.slave_ticks), u64::from(2 * c.slave_ticks + c.software.poll_ticks));
    let turns = at.saturating_sub(since + there).div_ceil(turn);
    since + turns * turn + 2 * there + u64::from(c.software.found_ticks)
}

impl Host for MessageUnits {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull {
        if !self.tasks[node as usize].started {
            self.go_on(now, node, signals);
        }
        if fifo >= NETWORK_FIFOS {
            return Pull::Empty;
        }
        let mut out = Out { here: node, signals };
        let next = self.units[node as usize].pull(&self.common, now, fifo, &mut out);
        let Some((header, meta, data)) = next else { return Pull::Empty };
        data.into_iter().for_each(|data| out.signals.attach(data));
        Pull::Packet(header, meta)
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, signals: &mut Signals) {
        let unit = &mut self.units[node as usize];
        let raises = unit.arrived(&self.common, now, delivery, &mut Out { here: node, signals });
        raises.into_iter().for_each(|interrupt| self.raise(now, node, interrupt, signals));
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals) {
        let unit = &mut self.units[node as usize];
        let mut out = Out { here: node, signals };
        match Alarm::of(token) {
            Alarm::TailMoved(fifo) => unit.tail_moved(&self.common, now, fifo, &mut out),
            Alarm::Fetched(fifo) => {
                let refused = unit.fetched(&self.common, now, fifo, &mut out);
                refused.into_iter().for_each(|why| self.refuse(now, node, why, signals));
            }
            Alarm::Built(engine) => {
                let moved = unit.built(&self.common, now, engine.into(), &mut out);
                if let Some((fifo, raises)) = moved {
                    let injected = unit.injected(fifo);
                    let waits = |call: &Call| match call {
                        Call::WaitRoom(f, _) => *f == fifo,
                        Call::WaitInjected(f, n) => *f == fifo && injected >= *n,
                        _ => false,
                    };
                    self.register_changed(now, node, waits, signals);
                    raises.into_iter().for_each(|interrupt| self.raise(now, node, interrupt, signals));
                }
            }
            Alarm::Received(slot) => {
                let refused = unit.received(&self.common, now, slot, &mut out);
                refused.into_iter().for_each(|why| self.refuse(now, node, why, signals));
            }
            Alarm::Stored(slot) => match unit.stored(&self.common, now, slot, &mut out) {
                Ok(outcome) => {
                    outcome.into_iter().for_each(|outcome| self.received(now, node, outcome, signals))
                }
                Err(why) => self.refuse(now, node, why, signals),
            },
            Alarm::Counted(slot) => {
                let outcome = unit.counted(slot);
                self.received(now, node, outcome, signals);
            }
            Alarm::Says(what) => {
                unit.counters.slave_stores += 1;
                out.signals.say(node, usize::from(what / 8), u64::from(what % 8));
            }
            Alarm::Program => self.go_on(now, node, signals),
        }
    }

    fn interrupted(&mut self, now: Time, node: u32, status: u64, signals: &mut Signals) {
        let task = &self.tasks[node as usize];
        let mut shared = lock(&task.shared);
        let before = std::mem::replace(&mut shared.status, status);
        shared.status_changed = now;
        if let Some((Call::WaitBarrier(class, bits), since)) = task.waiting
            && status_of(before, class) & bits != 0
            && status_of(status, class) & bits == 0
        {
            signals.wake(node, found_in_register(&self.common.config, since, now), Alarm::Program.token());
        }
    }
}
