//! Message injection (section III.C). An injection FIFO in memory holds descriptors; when its tail has moved
//! past its head, the unit fetches the next one. Each idle messaging engine takes one of the fetched
//! descriptors that may use its network FIFO, at random among those of the highest priority, and creates one
//! packet from it; then the selection is repeated, so that messages interleave.

use super::common::Common;
use super::descriptor::{CHUNK, Descriptor, Network, PAYLOAD_MAX, SYSTEM, SYSTEM_COLLECTIVE};
use super::fifos::{Active, Injection, InjectionFifo, Priority, check_injection};
use super::interrupts::Interrupt;
use super::protection::Violation;
use super::reception::FULL_B;
use super::{Alarm, DESCRIPTOR_B, NETWORK_FIFOS, Out, Packet, Unit};
use netloom_engine::{Stream, Time};
use netloom_fabric::collective::RouteKind;
use netloom_fabric::packet::{Data, Meta};
use netloom_node::memory::Contents;
use std::collections::VecDeque;

/// The engine number of the logic that fetches descriptors, which has a master port like the engines.
const FETCHER: usize = NETWORK_FIFOS - 1;
/// The system's network FIFOs.
const SYSTEM_FIFOS: u16 = SYSTEM | SYSTEM_COLLECTIVE;

/// A descriptor on the chip with packets left for engines.
struct Ready {
    fifo: u16,
    map: u16,
    priority: Priority,
}

/// The descriptors on the chip with packets left for engines, in the order of arrival.
#[derive(Default)]
pub(super) struct ReadyList {
    list: Vec<Ready>,
    /// For each engine and priority, the number of descriptors that it may take, so that engines need not
    /// search all of them.
    able: [[u16; Priority::ALL.len()]; NETWORK_FIFOS],
    /// The engines that may take any, one bit each.
    wanted: u16,
}

impl ReadyList {
    fn push(&mut self, ready: Ready) {
        self.able_of(&ready).for_each(|able| *able += 1);
        self.wanted |= ready.map;
        self.list.push(ready);
    }

    fn remove(&mut self, fifo: u16) {
        if let Some(at) = self.list.iter().position(|ready| ready.fifo == fifo) {
            let ready = self.list.remove(at);
            self.able_of(&ready).for_each(|able| *able -= 1);
            self.wanted = self.list.iter().fold(0, |all, ready| all | ready.map);
        }
    }

    fn able_of(&mut self, ready: &Ready) -> impl Iterator<Item = &mut u16> {
        let (map, priority) = (ready.map, ready.priority as usize);
        let able = self.able.iter_mut().enumerate();
        able.filter(move |(engine, _)| map >> engine & 1 != 0).map(move |(_, able)| &mut able[priority])
    }

    /// The injection FIFO whose descriptor an engine takes next: at random among those of the highest
    /// priority that may use its network FIFO.
    fn choose(&self, engine: usize, random: &mut Stream) -> Option<(u16, Priority)> {
        let able = &self.able[engine];
        let highest = Priority::ALL.into_iter().rev().find(|&priority| able[priority as usize] > 0)?;
        let n = able[highest as usize];
        let pick = if n > 1 { random.below(n.into()) } else { 0 };
        // Mostly all may be taken.
        if usize::from(n) == self.list.len() {
            return Some((self.list[pick as usize].fifo, highest));
        }
        let may = |ready: &&Ready| ready.map >> engine & 1 != 0 && ready.priority == highest;
        self.list.iter().filter(may).nth(pick as usize).map(|ready| (ready.fifo, highest))
    }
}

/// A messaging engine with its network FIFO. It reads a packet's data, and is free for the next packet when
/// it has; the logic that follows takes each packet its time and holds none up, as that of reception **(ours:
/// the paper says what an engine does, not how long)**.
#[derive(Default)]
#[repr(align(64))]
#[allow(non_snake_case)]
pub(super) struct Engine {
    /// The packets in its network FIFO, then those that it has begun and that are not complete, each with its
    /// injection FIFO; no packet if data is only fetched into the L2.
    packets: VecDeque<(u16, Option<Packet>)>,
    /// Number of packets in its network FIFO.
    complete: u16,
    /// Whether it is reading a packet's data.
    is_reading: bool,
    /// Bytes of all packets, and of the packet that the network is taking.
    held_B: u32,
    /// Bytes of the packet that the network is taking.
    leaving_B: u32,
    /// When the last packet is complete: they stay in order.
    last_complete: Time,
}

// One line of a cache.
const _: () = assert!(size_of::<Engine>() == 64);

/// Most bytes that are read at once from the memory of a process of this computer: each read is a system
/// call.
const AHEAD_B: u64 = 1 << 14;

/// The data of a descriptor's next packet. A process must not change the data of a message before the unit
/// has read it, so that of several packets can be read at once.
fn load(contents: &Contents, active: &mut Active, descriptor: &Descriptor, bytes: u64) -> Option<Data> {
    let address = descriptor.payload + active.taken;
    let left = descriptor.length - active.taken;
    if left == bytes && active.ahead.is_none() || !contents.is_elsewhere(address) {
        return contents.load(address, bytes as usize);
    }
    let is_there = |(first, data): &&(u64, Data)| active.taken + bytes <= first + data.len() as u64;
    if active.ahead.as_ref().filter(is_there).is_none() {
        active.ahead = contents.load(address, left.min(AHEAD_B) as usize).map(|data| (active.taken, data));
    }
    let (first, data) = active.ahead.as_ref()?;
    let place = (active.taken - first) as usize;
    Some(data[place..place + bytes as usize].into())
}

fn bytes_of(packet: &Packet) -> u32 {
    packet.0.chunks() * CHUNK
}

impl Unit {
    pub(super) fn injection_fifo(&mut self, fifo: u16) -> &mut Injection {
        self.injection.get_or_insert_with(fifo, || Injection::new(InjectionFifo::usual(fifo)))
    }

    /// Software sets up an injection FIFO.
    pub fn set_injection_fifo(&mut self, fifo: u16, settings: InjectionFifo) -> Result<(), String> {
        let others = self.injection.iter().map(|(n, f)| (n, &f.settings));
        if let Some(problem) = check_injection(fifo, &settings, others) {
            return Err(format!("injection FIFO {fifo}: {problem}"));
        }
        self.injection.insert(fifo, Injection::new(settings));
        Ok(())
    }

    /// Software frees an injection FIFO.
    pub fn free_injection_fifo(&mut self, fifo: u16) -> Result<(), String> {
        match self.injection.get(fifo).map_or(0, |memory| memory.descriptors_B()) {
            0 => {
                self.injection.remove(fifo);
                Ok(())
            }
            left => Err(format!("injection FIFO {fifo} is freed with {left} B of descriptors in it")),
        }
    }

    /// Whether an injection FIFO has space for one more descriptor.
    pub fn has_room(&mut self, fifo: u16) -> bool {
        self.injection_fifo(fifo).free_B() >= DESCRIPTOR_B
    }

    /// Whether remote gets of other nodes may put descriptors into an injection FIFO.
    pub fn accepts_remote_gets(&self, fifo: u16) -> bool {
        self.injection.get(fifo).is_some_and(|memory| memory.settings.remote_get)
    }

    /// Number of injected descriptors of an injection FIFO.
    pub fn injected(&self, fifo: u16) -> u64 {
        self.injection.get(fifo).map_or(0, |memory| memory.injected)
    }

    /// Software has written a descriptor after the tail of an injection FIFO; its store to the tail is in
    /// flight.
    pub fn write_descriptor(&mut self, common: &Common, now: Time, fifo: u16, descriptor: Descriptor) {
        let memory = self.injection_fifo(fifo);
        let tail = memory.tail_address();
        memory.descriptors.push_back(descriptor);
        self.ports.stored_by_core(&common.config, now, tail, DESCRIPTOR_B);
    }

    /// The tail of an injection FIFO has advanced by a descriptor.
    pub fn tail_moved(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) {
        self.counters.slave_stores += 1;
        self.injection_fifo(fifo).visible += 1;
        self.fetch(common, now, fifo, out);
    }

    /// Fetches the next descriptor of a FIFO, unless the unit has one or is fetching one: it holds one per
    /// FIFO.
    pub(super) fn fetch(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) {
        let c = &common.config;
        let Some(memory) = self.injection.get_mut(fifo) else { return };
        if memory.visible == 0 || memory.fetching || memory.active.is_some() {
            return;
        }
        memory.fetching = true;
        // User descriptors are fetched before all traffic except the system's, so that there are always
        // messages to send.
        let priority = memory.settings.priority.max(Priority::UserHigh);
        let at = memory.head_address();
        let begin = self.fetch_free.max(now);
        self.fetch_free = begin + u64::from(c.cycle_ticks);
        let fetched = self.ports.read(c, begin, (FETCHER, priority), at, DESCRIPTOR_B);
        out.at(fetched, Alarm::Fetched(fifo));
    }

    /// A descriptor has arrived from memory. Returns whether it was rejected.
    pub fn fetched(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) -> Option<Violation> {
        let memory = self.injection.get_mut(fifo)?;
        memory.fetching = false;
        memory.active = Some(Active::default());
        let (first, priority) = (&memory.descriptors[0], memory.settings.priority);
        let is_system = first.map & SYSTEM_FIFOS != 0
            || matches!(first.network, Network::Collective { kind: RouteKind::System, .. });
        if is_system && priority != Priority::System {
            self.drop_descriptor(common, now, fifo, out);
            return Some(Violation::Permission);
        }
        if !self.ranges.allow(first.payload, first.length, false, priority == Priority::System) {
            self.drop_descriptor(common, now, fifo, out);
            return Some(Violation::Range);
        }
        self.ready.push(Ready { fifo, map: first.map, priority });
        self.assign(common, now, out);
        None
    }

    /// A descriptor is skipped: the head advances past it.
    fn drop_descriptor(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) {
        if let Some(memory) = self.injection.get_mut(fifo) {
            memory.active = None;
            memory.visible -= 1;
            memory.descriptors.pop_front();
            memory.injected += 1;
        }
        self.fetch(common, now, fifo, out);
    }

    /// Assigns descriptors to idle engines, one packet each.
    fn assign(&mut self, common: &Common, now: Time, out: &mut Out) {
        let mut engines = self.idle & self.ready.wanted;
        while engines != 0 {
            let engine = engines.trailing_zeros() as usize;
            if let Some((fifo, priority)) = self.ready.choose(engine, &mut self.random) {
                self.build(common, now, (engine, priority), fifo, out);
            }
            // The packet may have been its descriptor's last one, which others wanted, too.
            engines &= self.ready.wanted & !(1 << engine);
        }
    }

    /// An engine has less to do, and may be idle.
    #[inline]
    fn note_idle(&mut self, common: &Common, engine: usize) {
        let e = &self.engines[engine];
        let room = u64::from(common.config.network_fifo_packets) * FULL_B;
        let is_idle = !e.is_reading && u64::from(e.held_B) + FULL_B <= room;
        self.idle = self.idle & !(1 << engine) | u16::from(is_idle) << engine;
    }

    /// An engine starts the next packet of a descriptor: it reads its data.
    fn build(
        &mut self,
        common: &Common,
        now: Time,
        (engine, priority): (usize, Priority),
        fifo: u16,
        out: &mut Out,
    ) {
        let c = &common.config;
        let memory = self.injection.get_mut(fifo).expect("chosen just now");
        let active = memory.active.as_mut().expect("chosen just now");
        let first = &memory.descriptors[0];
        let bytes = (first.length - active.taken).min(PAYLOAD_MAX.into());
        let address = first.payload + active.taken;
        let is_collective = matches!(first.network, Network::Collective { .. });
        let packet = (!first.prefetch_only).then(|| {
            let (chunks, meta) = first.packet(active.taken);
            let header = first.header(chunks, common, self.number);
            let data = load(&super::lock(&self.contents), active, first, bytes);
            (header, Meta { made: now, source: self.number, ..meta }, data)
        });
        if packet.is_some() {
            self.counters.packets += 1;
            self.counters.messages += u64::from(active.taken == 0);
        }
        active.taken += bytes;
        active.building += 1;
        if active.taken == first.length {
            self.ready.remove(fifo);
        }
        let begin = self.assign_free.max(now);
        self.assign_free = begin + u64::from(c.cycle_ticks);
        let read =
            if bytes > 0 { self.ports.read(c, begin, (engine, priority), address, bytes) } else { begin };
        let e = &mut self.engines[engine];
        e.is_reading = true;
        e.held_B += packet.as_ref().map_or(0, bytes_of);
        e.packets.push_back((fifo, packet));
        self.idle &= !(1 << engine);
        out.at(read, Alarm::Read(engine as u16));
        let logic = if is_collective { c.collective_ticks } else { c.inject_ticks };
        let complete = (read + u64::from(logic)).max(e.last_complete);
        e.last_complete = complete;
        out.at(complete, Alarm::Built(engine as u16));
    }

    /// An engine has read a packet's data: it is free for the next one.
    pub fn read(&mut self, common: &Common, now: Time, engine: usize, out: &mut Out) {
        self.engines[engine].is_reading = false;
        self.note_idle(common, engine);
        self.assign(common, now, out);
    }

    /// An engine's packet is complete in its network FIFO. Returns the injection FIFO if its head has moved,
    /// and any interrupt.
    pub fn built(
        &mut self,
        common: &Common,
        now: Time,
        engine: usize,
        out: &mut Out,
    ) -> Option<(u16, Option<Interrupt>)> {
        let e = &mut self.engines[engine];
        let place = usize::from(e.complete);
        let &(fifo, ref packet) = e.packets.get(place).expect("an alarm for each packet");
        if packet.is_some() {
            e.complete += 1;
            out.fill(engine);
        } else {
            e.packets.remove(place);
        }
        let memory = self.injection.get_mut(fifo).expect("its packet was made of it");
        let active = memory.active.as_mut().expect("it has not ended");
        active.building -= 1;
        let mut moved = None;
        if active.taken == memory.descriptors[0].length && active.building == 0 {
            let before = memory.free_B();
            memory.active = None;
            memory.visible -= 1;
            memory.descriptors.pop_front();
            memory.injected += 1;
            let crossed = memory.settings.threshold_B.is_some_and(|t| before <= t && memory.free_B() > t);
            moved = Some((fifo, crossed.then_some(Interrupt::InjectionRoom(fifo))));
            self.fetch(common, now, fifo, out);
        }
        self.assign(common, now, out);
        moved
    }

    /// The network takes the next packet of a network FIFO: the previous one has left.
    pub fn pull(&mut self, common: &Common, now: Time, engine: usize, out: &mut Out) -> Option<Packet> {
        let e = &mut self.engines[engine];
        let next = match e.complete {
            0 => None,
            _ => e.packets.pop_front().and_then(|(_, packet)| packet),
        };
        e.complete -= u16::from(next.is_some());
        let left = std::mem::replace(&mut e.leaving_B, next.as_ref().map_or(0, bytes_of));
        if left > 0 {
            e.held_B -= left;
            self.note_idle(common, engine);
            self.assign(common, now, out);
        }
        next
    }
}
