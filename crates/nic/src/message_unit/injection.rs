//! Message injection (section III.C). An injection FIFO in memory holds descriptors; when its tail has moved past its head, the
//! unit fetches the next one. Of the descriptors that are there, each idle messaging engine takes one that may use its network
//! FIFO, at random; makes one packet of it; and the choice is made anew, so that messages interleave.

use super::config::MessageUnitConfig;
use super::descriptor::{Descriptor, Network, PAYLOAD_MAX};
use super::host::Common;
use super::{Alarm, NETWORK_FIFOS, NetworkFifo, Out, Unit};
use netloom_engine::Time;
use netloom_fabric::packet::Meta;
use std::collections::VecDeque;

/// Bytes of a descriptor.
const DESCRIPTOR: u64 = 64;
/// Where in memory FIFOs lie, which nobody tells: apart from all data.
const FIFOS_AT: u64 = 1 << 40;
/// The engine that stands for the logic that fetches descriptors: it has a master port like the others.
const FETCHER: usize = NETWORK_FIFOS - 1;

/// An injection FIFO in memory.
#[derive(Default)]
pub(super) struct MemoryFifo {
    /// Descriptors from its head to its tail as software sees it.
    descriptors: VecDeque<Descriptor>,
    /// How many of them lie before the tail as the unit sees it.
    visible: usize,
    /// The first of them, if it has been fetched: bytes of it that engines have taken, and packets that they are at.
    active: Option<Active>,
    /// Whether it is being fetched.
    fetching: bool,
    /// Descriptors whose messages have been injected whole.
    pub injected: u64,
}

/// A descriptor on the chip of which engines may take more.
pub(super) struct Ready {
    fifo: u16,
    map: u16,
}

#[derive(Default)]
struct Active {
    taken: u64,
    building: u32,
}

/// A messaging engine with its network FIFO.
#[derive(Default)]
pub(super) struct Engine {
    /// The packet that it makes, and for which injection FIFO.
    building: Option<(u16, super::Packet)>,
    /// Packets whole in its network FIFO.
    fifo: NetworkFifo,
    /// Whether the network is taking one.
    leaving: bool,
}

impl Unit {
    /// Software has written a descriptor behind the tail of an injection FIFO; its store to the tail is on its way.
    pub fn write_descriptor(&mut self, fifo: u16, descriptor: Descriptor) {
        self.injection.entry(fifo).or_default().descriptors.push_back(descriptor);
    }

    /// The tail of an injection FIFO has moved by a descriptor.
    pub fn tail_moved(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) {
        self.injection.entry(fifo).or_default().visible += 1;
        self.fetch(&common.config, now, fifo, out);
    }

    /// Fetches the next descriptor of a FIFO, unless one of it is in the unit or on its way: it holds one of each FIFO.
    fn fetch(&mut self, c: &MessageUnitConfig, now: Time, fifo: u16, out: &mut Out) {
        let Some(memory) = self.injection.get_mut(&fifo) else { return };
        if memory.visible == 0 || memory.fetching || memory.active.is_some() {
            return;
        }
        memory.fetching = true;
        let begin = self.fetch_free.max(now);
        self.fetch_free = begin + u64::from(c.cycle_ticks);
        let at = FIFOS_AT + u64::from(fifo) * DESCRIPTOR;
        out.at(self.ports.read(c, begin, FETCHER, at, DESCRIPTOR), Alarm::Fetched(fifo));
    }

    /// A descriptor has come from memory.
    pub fn fetched(&mut self, common: &Common, now: Time, fifo: u16, out: &mut Out) {
        if let Some(memory) = self.injection.get_mut(&fifo) {
            memory.fetching = false;
            memory.active = Some(Active::default());
            self.ready.push(Ready { fifo, map: memory.descriptors[0].map });
        }
        self.assign(common, now, out);
    }

    /// Gives descriptors to idle engines, one packet each.
    fn assign(&mut self, common: &Common, now: Time, out: &mut Out) {
        let c = &common.config;
        for engine in 0..NETWORK_FIFOS {
            let e = &self.engines[engine];
            let held = e.fifo.len() + usize::from(e.leaving);
            if e.building.is_some() || held >= c.network_fifo_packets as usize {
                continue;
            }
            let Some(fifo) = self.choose(engine) else { continue };
            self.build(common, now, engine, fifo, out);
        }
    }

    /// The injection FIFO whose descriptor an engine takes next: any that may use its network FIFO.
    fn choose(&mut self, engine: usize) -> Option<u16> {
        let able = |ready: &&Ready| ready.map >> engine & 1 != 0;
        let n = self.ready.iter().filter(able).count() as u64;
        let pick = if n > 1 { self.random.below(n) } else { 0 };
        self.ready.iter().filter(able).nth(pick as usize).map(|ready| ready.fifo)
    }

    /// An engine begins the next packet of a descriptor: it reads its data.
    fn build(&mut self, common: &Common, now: Time, engine: usize, fifo: u16, out: &mut Out) {
        let c = &common.config;
        let memory = self.injection.get_mut(&fifo).expect("chosen just now");
        let active = memory.active.as_mut().expect("chosen just now");
        let first = &memory.descriptors[0];
        let (chunks, meta) = first.packet(active.taken);
        let bytes = (first.length - active.taken).min(PAYLOAD_MAX.into());
        let address = first.payload + active.taken;
        let header = first.header(chunks, |to| common.way(self.number, to));
        let is_collective = matches!(first.network, Network::Collective { .. });
        let data = super::lock(&self.contents).load(address, bytes as usize);
        active.taken += bytes;
        active.building += 1;
        if active.taken == first.length {
            self.ready.retain(|ready| ready.fifo != fifo);
        }
        let begin = self.assign_free.max(now);
        self.assign_free = begin + u64::from(c.cycle_ticks);
        let read = self.ports.read(c, begin, engine, address, bytes);
        let meta = Meta { made: now, source: self.number, ..meta };
        self.engines[engine].building = Some((fifo, (header, meta, data)));
        let logic = if is_collective { c.collective_ticks } else { c.inject_ticks };
        out.at(read + u64::from(logic), Alarm::Built(engine as u16));
    }

    /// An engine's packet is whole in its network FIFO.
    pub fn built(&mut self, common: &Common, now: Time, engine: usize, out: &mut Out) {
        let e = &mut self.engines[engine];
        let (fifo, packet) = e.building.take().expect("an alarm for each packet");
        e.fifo.push_back(packet);
        out.fill(engine);
        let memory = self.injection.get_mut(&fifo).expect("its packet was made of it");
        let active = memory.active.as_mut().expect("it has not ended");
        active.building -= 1;
        if active.taken == memory.descriptors[0].length && active.building == 0 {
            memory.active = None;
            memory.visible -= 1;
            memory.descriptors.pop_front();
            memory.injected += 1;
            self.fetch(&common.config, now, fifo, out);
        }
        self.assign(common, now, out);
    }

    /// The network takes the next packet of a network FIFO: the one before has left.
    pub fn pull(
        &mut self,
        common: &Common,
        now: Time,
        engine: usize,
        out: &mut Out,
    ) -> Option<super::Packet> {
        let e = &mut self.engines[engine];
        let next = e.fifo.pop_front();
        let freed = std::mem::replace(&mut e.leaving, next.is_some());
        if freed {
            self.assign(common, now, out);
        }
        next
    }
}
