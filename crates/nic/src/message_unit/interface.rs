//! The Message Unit's interfaces to its node and to the fabric.

use super::commands::{Command, Setting, Shared, Watch, status_of};
use super::common::Common;
use super::config::MessageUnitConfig;
use super::interrupts::Interrupt;
use super::protection::Violation;
use super::reception::Outcome;
use super::{Alarm, NETWORK_FIFOS, Out, Unit, UnitCounters, lock};
use netloom_engine::{Time, prefetch};
use netloom_fabric::config::Outline;
use netloom_fabric::host::{Delivery, Pull, Signals};
use netloom_fabric::router::queued::{BarrierStatus, QueuedFamily, QueuedSignal};
use netloom_fabric::topology::torus::Torus;
use netloom_node::cores::CoresConfig;
use netloom_node::nodes::{NetworkInterface, Nodes, ProcessOf, ProcessSlot, Submitted};
use netloom_node::polling::Polling;
use netloom_node::process::{Failure, ProcessId};
use netloom_node::schedule::Schedule;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex};

/// The nodes' side of a block: each node has a Message Unit and its processes.
pub type MessageUnits = Nodes<MessageUnit>;

/// Creates the nodes' side of a block, by the machine's node numbers, with `processes` processes each;
/// `process` creates each of them.
///
/// # Panics
/// If there are more than 255 processes per node.
pub fn units_of(
    config: &MessageUnitConfig,
    network: &Outline,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    process: impl FnMut(ProcessSlot<MessageUnit>) -> Box<ProcessOf<MessageUnit>>,
) -> MessageUnits {
    let torus = Arc::new(Torus::new(&network.topology));
    let processes = u8::try_from(processes).expect("at most 255 processes per node");
    let common = Arc::new(Common { config: config.clone(), torus, tie: network.halfway_tie, processes });
    Nodes::from_slots(common, numbers, processes, seed, process)
}

/// Packets that the units of a block have stored, and their data, bytes.
pub fn stored_so_far(units: &MessageUnits) -> (u64, u64) {
    units.counters().map(|(_, c)| (c.stored_packets, c.stored_B)).fold((0, 0), |s, x| (s.0 + x.0, s.1 + x.1))
}

/// Descriptors that a node's unit has injected from a FIFO: the counter that software reads.
pub fn injected(units: &MessageUnits, here: usize, fifo: u16) -> u64 {
    units.list[here].interface.as_ref().map_or(0, |unit| unit.unit.injected(fifo))
}

/// Violations of the units: node, reason, count.
pub fn refused(units: &MessageUnits) -> impl Iterator<Item = (u32, Violation, u64)> {
    units
        .list
        .iter()
        .filter_map(|node| Some((node.number, node.interface.as_ref()?)))
        .flat_map(|(number, unit)| unit.unit.refused.iter().map(move |(&why, &times)| (number, why, times)))
}

/// A Message Unit on its node.
pub struct MessageUnit {
    unit: Unit,
    out: Out,
    shared: Arc<Mutex<Shared>>,
}

/// How processes poll.
fn polling(c: &MessageUnitConfig, watch: Watch) -> Polling {
    let ticks = |ticks: u32| Microticks::of_ticks(u64::from(ticks));
    let (slave, poll, found) =
        (ticks(c.slave_ticks), ticks(c.software.poll_ticks), ticks(c.software.found_ticks));
    match watch {
        Watch::Counter(_) | Watch::Word(..) => Polling::memory(poll, found),
        Watch::Interrupt(_) => Polling::asleep(slave + found),
        // Each load of a register makes a round trip through the slave port, and samples the register
        // half-way.
        _ => Polling::register(slave, poll, found),
    }
}

impl MessageUnit {
    /// A condition holds: the processes that wait for it are resumed.
    fn found(&mut self, c: &Common, now: Time, is_it: impl Fn(Watch) -> bool) {
        self.out.schedule.found(
            Microticks::at(now),
            |watch| polling(&c.config, watch),
            |_, watch| is_it(watch),
        );
    }

    /// The head of an injection FIFO has moved.
    fn head_moved(&mut self, c: &Common, now: Time, fifo: u16) {
        let injected = self.unit.injected(fifo);
        lock(&self.shared).set_injected(fifo, Some(injected));
        self.found(c, now, |watch| match watch {
            Watch::Room(f) => f == fifo,
            Watch::Injected(f, n) => f == fifo && injected >= n,
            _ => false,
        });
        if self.unit.accepts_remote_gets(fifo) {
            self.resume_storing(c, now);
        }
    }

    /// Engines that waited for space in a FIFO go on.
    fn resume_storing(&mut self, c: &Common, now: Time) {
        let refused = self.unit.resume_storing(c, now, &mut self.out);
        refused.into_iter().for_each(|why| self.refuse(c, now, why));
    }

    /// The unit raises an interrupt.
    fn raise(&mut self, c: &Common, now: Time, interrupt: Interrupt) {
        if let Some(group) = self.unit.interrupts.raise(interrupt) {
            self.found(c, now, |watch| watch == Watch::Interrupt(group));
        }
    }

    /// The unit rejects a request.
    fn refuse(&mut self, c: &Common, now: Time, why: Violation) {
        self.unit.counters.violations += 1;
        *self.unit.refused.entry(why).or_insert(0) += 1;
        self.raise(c, now, Interrupt::Refused);
    }

    /// A packet has been received: the processes that wait for its data are resumed.
    fn received(&mut self, c: &Common, now: Time, outcome: Outcome) {
        self.unit.counters.stored_packets += 1;
        match outcome {
            Outcome::Stored { bytes, zero } => {
                self.unit.counters.stored_B += u64::from(bytes);
                if let Some(zero) = zero {
                    lock(&self.shared).counts_down(zero, now);
                    self.found(c, now, |watch| watch == Watch::Counter(zero));
                }
            }
            Outcome::Queued { bytes, fifo, moved, raises } => {
                self.unit.counters.stored_B += u64::from(bytes);
                if moved > 0 {
                    self.found(c, now, |watch| watch == Watch::Packet(fifo));
                }
                raises.into_iter().for_each(|interrupt| self.raise(c, now, interrupt));
            }
        }
    }

    /// The oldest addition to a word of memory is done.
    fn added(&mut self, c: &Common, now: Time) {
        let Some((address, value)) = self.unit.adding.pop_front() else { return };
        let sum = {
            let mut shared = lock(&self.shared);
            let word = shared.words.entry(address).or_insert(0);
            *word += value;
            *word
        };
        self.found(c, now, |watch| matches!(watch, Watch::Word(a, least) if a == address && sum >= least));
    }

    /// Applies a setting by the kernel's side of the interface.
    fn set(&mut self, setting: Setting) -> Result<(), String> {
        let (unit, out) = (&mut self.unit, &mut self.out);
        match setting {
            Setting::Base(entry, address) => {
                unit.base.insert(entry, address);
                unit.base_ends.remove(entry);
            }
            Setting::BaseEnd(entry, end) => {
                unit.base_ends.insert(entry, end);
            }
            Setting::Counter(address, bytes) => {
                unit.memory_counters.insert(address, bytes);
            }
            Setting::ClassRoute(class, route) => out.class_route(class.into(), route),
            Setting::Injection(fifo, settings) => {
                unit.set_injection_fifo(fifo, settings)?;
                lock(&self.shared).set_injected(fifo, None);
            }
            Setting::Reception(fifo, settings) => unit.set_reception_fifo(fifo, settings)?,
            Setting::Range(register, range) => unit.ranges.set(register, range),
            Setting::Interrupt(like, group) => unit.interrupts.lead(like, group),
            Setting::FreeBarrier(class) => {
                out.barrier_class(class.into(), None, 0);
                lock(&self.shared).status &= !(7 << (4 * u32::from(class)));
            }
            Setting::FreeBase(entry) => {
                unit.base.remove(entry);
                unit.base_ends.remove(entry);
            }
            Setting::FreeInjection(fifo) => {
                unit.free_injection_fifo(fifo)?;
                lock(&self.shared).set_injected(fifo, None);
            }
            Setting::FreeReception(fifo) => unit.free_reception_fifo(fifo)?,
            Setting::Barrier(class, route, start) => {
                out.barrier_class(class.into(), route, start);
                lock(&self.shared).status |= start << (4 * u32::from(class));
            }
        }
        Ok(())
    }
}

impl NetworkInterface for MessageUnit {
    type Family = QueuedFamily;
    type Common = Common;
    type Shared = Shared;
    type Command = Command;
    type Watch = Watch;
    type Action = Alarm;
    type Counters = UnitCounters;

    const CLOCKED: bool = true;
    const IS_LARGE: bool = true;

    fn new(_: &Common, number: u32, shared: &Arc<Mutex<Shared>>, seed: u64) -> Self {
        let contents = Arc::clone(&lock(shared).contents);
        let out = Out { schedule: Schedule::clocked(), requests: vec![] };
        MessageUnit { unit: Unit::new(number, seed, contents), out, shared: Arc::clone(shared) }
    }

    #[inline]
    fn prepare(&self, fifo: usize) {
        self.unit.engines.get(fifo).into_iter().for_each(prefetch);
    }

    #[inline]
    fn prefetch(&self) {
        prefetch(&self.out);
        self.unit.prefetch();
    }

    #[inline]
    fn prefetch_first(&self) {
        self.out.schedule.prefetch();
    }

    #[inline]
    fn prefetch_action(&self) {
        if let Some(&action) = self.out.schedule.first_action() {
            self.unit.prefetch_for(action);
        }
    }

    fn schedule(&mut self) -> &mut Schedule<Alarm, Watch> {
        &mut self.out.schedule
    }

    fn cores(c: &Common) -> Option<&CoresConfig> {
        Some(&c.config.cores)
    }

    fn ready(&mut self, c: &Common, t: Microticks, _: ProcessId, watch: Watch) -> Option<Microticks> {
        let unit = &mut self.unit;
        let is_there = match watch {
            // Software tracks the free space itself.
            Watch::Room(fifo) => return unit.has_room(fifo).then_some(t),
            Watch::Interrupt(group) => {
                let found = Microticks::of_ticks(u64::from(c.config.software.found_ticks));
                return unit.interrupts.is_pending(group).then_some(t + found);
            }
            Watch::Injected(fifo, descriptors) => unit.injected(fifo) >= descriptors,
            Watch::Packet(fifo) => unit.packets_for_software(fifo) > 0,
            Watch::Counter(address) => unit.memory_counters.get(&address).is_none_or(|&counter| counter <= 0),
            Watch::Barrier(class, bits) => status_of(lock(&self.shared).status, class) & bits == 0,
            Watch::Word(address, least) => lock(&self.shared).word(address) >= least,
        };
        is_there.then(|| polling(&c.config, watch).seen(t, t))
    }

    fn submit(
        &mut self,
        c: &Common,
        t: Microticks,
        process: ProcessId,
        command: Command,
    ) -> Submitted<Command, Watch> {
        let now = t.tick();
        match command {
            Command::Set(call, setting) => {
                if let Err(reason) = self.set(setting) {
                    return Submitted::Failed(Failure::new(call, reason));
                }
            }
            Command::Inject(fifo, _) if !self.unit.has_room(fifo) => {
                return Submitted::Full(command, Watch::Room(fifo));
            }
            Command::Inject(fifo, descriptor) => {
                self.unit.write_descriptor(c, now, fifo, *descriptor);
                let at = self.unit.through_slave_port(&c.config, now);
                self.out.at(at, Alarm::TailMoved(fifo));
            }
            Command::Poll(fifo) => {
                let at = polling(&c.config, Watch::Packet(fifo)).seen(t, t);
                self.out.schedule.resume_at(at, process);
                return Submitted::Pending;
            }
            Command::Take(fifo) => {
                let packet = self.unit.take_packet(fifo);
                lock(&self.shared).packets.insert(process, packet);
                self.resume_storing(c, now);
            }
            Command::TakeInterrupt(group) => {
                let interrupt = self.unit.interrupts.take(group);
                lock(&self.shared).interrupts.insert(process, interrupt);
            }
            Command::BarrierBits(class, bits) => {
                let at = self.unit.through_slave_port(&c.config, now);
                self.out.at(at, Alarm::BarrierBits(u16::from(class) * 8 + bits as u16));
            }
            Command::AddWord(address, value) => {
                let at = self.unit.add_word(&c.config, now, address, value);
                self.out.at(at, Alarm::Added);
            }
        }
        Submitted::Done
    }

    fn act(&mut self, c: &Common, t: Microticks, alarm: Alarm) {
        let (unit, out, now) = (&mut self.unit, &mut self.out, t.tick());
        match alarm {
            Alarm::TailMoved(fifo) => unit.tail_moved(c, now, fifo, out),
            Alarm::Fetched(fifo) => {
                if let Some(why) = unit.fetched(c, now, fifo, out) {
                    // Its descriptor is skipped, and the head advances past it.
                    self.head_moved(c, now, fifo);
                    self.refuse(c, now, why);
                }
            }
            Alarm::Read(engine) => unit.read(c, now, engine.into(), out),
            Alarm::Built(engine) => {
                if let Some((fifo, raises)) = unit.built(c, now, engine.into(), out) {
                    self.head_moved(c, now, fifo);
                    raises.into_iter().for_each(|interrupt| self.raise(c, now, interrupt));
                }
            }
            Alarm::Received(slot) => {
                let refused = unit.received(c, now, slot, out);
                refused.into_iter().for_each(|why| self.refuse(c, now, why));
            }
            Alarm::Stored(slot) => match unit.stored(c, now, slot, out) {
                Ok(outcome) => outcome.into_iter().for_each(|outcome| self.received(c, now, outcome)),
                Err(why) => self.refuse(c, now, why),
            },
            Alarm::Counted(slot) => {
                let outcome = unit.counted(slot);
                self.received(c, now, outcome);
            }
            Alarm::BarrierBits(what) => {
                unit.counters.slave_stores += 1;
                out.set_barrier_bits(usize::from(what / 8), u64::from(what % 8));
            }
            Alarm::Added => self.added(c, now),
        }
    }

    fn pull(&mut self, c: &Common, now: Time, fifo: usize, signals: &mut Signals<QueuedSignal>) -> Pull {
        if fifo >= NETWORK_FIFOS {
            return Pull::Empty;
        }
        let Some((header, meta, data)) = self.unit.pull(c, now, fifo, &mut self.out) else {
            return Pull::Empty;
        };
        data.into_iter().for_each(|data| signals.attach(data));
        Pull::Packet(header, meta)
    }

    fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery) {
        let raises = self.unit.arrived(c, now, delivery, &mut self.out);
        raises.into_iter().for_each(|interrupt| self.raise(c, now, interrupt));
    }

    fn event(&mut self, c: &Common, now: Time, BarrierStatus(status): BarrierStatus) {
        let before = {
            let mut shared = lock(&self.shared);
            shared.status_changed = now;
            std::mem::replace(&mut shared.status, status)
        };
        self.found(c, now, |watch| match watch {
            Watch::Barrier(class, bits) => {
                status_of(before, class) & bits != 0 && status_of(status, class) & bits == 0
            }
            _ => false,
        });
    }

    fn counters(&self) -> UnitCounters {
        UnitCounters { requests: self.unit.ports.requests(), ..self.unit.counters }
    }

    fn signal(&mut self, node: u32, signals: &mut Signals<QueuedSignal>) {
        self.out.signal(node, signals);
    }
}
