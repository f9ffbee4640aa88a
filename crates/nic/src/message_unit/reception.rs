//! Message reception (section III.D): an engine for each network reception FIFO reads its packets and stores them; an RDMA
//! write then counts its counter down by an atomic operation of the L2.

use super::descriptor::{CHUNK, HIGH_PRIORITY, PutHeader};
use super::host::Common;
use super::{Alarm, Out, Unit};
use netloom_engine::Time;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::{Data, Header};

/// A packet on its way into memory.
#[derive(Clone)]
pub(super) struct Store {
    put: PutHeader,
    engine: usize,
    data: Option<Data>,
}

/// Bytes that an engine reads from its network FIFO in a cycle of the unit (section III.D).
const READ_B: u64 = 4;

/// A counter that has come to zero, or below.
pub(super) struct CountedDown {
    pub address: u64,
}

impl Unit {
    /// A packet is whole in a network reception FIFO: only now is it known that its check bytes are right, and its engine begins to read
    /// it **(ours: the paper does not say when)**.
    pub fn arrived(&mut self, common: &Common, now: Time, delivery: &Delivery, out: &mut Out) {
        // The network has one reception FIFO for high priority, whatever link a packet came by.
        let is_collective = delivery.header.is_collective();
        let is_high = !is_collective && delivery.header.head() & Header::HIGH != 0;
        let engine = if is_high { HIGH_PRIORITY.trailing_zeros() as usize } else { delivery.port };
        let put = PutHeader::unpack(delivery.meta.message);
        let store = Store { put, engine, data: delivery.data.cloned() };
        let slot = self.storing.iter().position(Option::is_none).unwrap_or_else(|| {
            self.storing.push(None);
            self.storing.len() - 1
        });
        assert!(slot < 1 << 16, "packets being stored are few");
        self.storing[slot] = Some(store);
        let c = &common.config;
        let bytes = u64::from(delivery.header.chunks() * CHUNK);
        let read = self.reading[engine].max(now) + bytes.div_ceil(READ_B) * u64::from(c.cycle_ticks);
        self.reading[engine] = read;
        let logic = if is_collective { c.collective_ticks } else { c.receive_ticks };
        out.at(read + u64::from(logic), Alarm::Received(slot as u16));
    }

    /// An engine writes a packet's data.
    pub fn received(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) {
        let Store { put, engine, data } =
            self.storing[usize::from(slot)].clone().expect("an alarm for each packet");
        let address = self.address(put.base, put.offset);
        super::lock(&self.contents).store(address, put.valid as usize, data.as_deref());
        let stored = self.ports.write(&common.config, now, engine, address, put.valid.into());
        out.at(stored, Alarm::Stored(slot));
    }

    /// A packet's data is in memory: its counter follows, by an atomic operation through the same port.
    pub fn stored(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) {
        let Store { put, engine, .. } =
            self.storing[usize::from(slot)].clone().expect("an alarm for each packet");
        let address = self.address(put.counter_base, put.counter_offset);
        out.at(self.ports.write(&common.config, now, engine, address, 8), Alarm::Counted(slot));
    }

    /// A packet's counter has been counted down. Answers with its bytes, and the counter if it has just come to zero.
    pub fn counted(&mut self, slot: u16) -> (u32, Option<CountedDown>) {
        let Store { put, .. } = self.storing[usize::from(slot)].take().expect("an alarm for each packet");
        let address = self.address(put.counter_base, put.counter_offset);
        let counter = self.counters.entry(address).or_insert(0);
        let before = *counter;
        *counter -= i64::from(put.valid);
        (put.valid, (before > 0 && *counter <= 0).then_some(CountedDown { address }))
    }

    /// Where in memory an offset behind an entry of the base address table is.
    fn address(&self, entry: u16, offset: u64) -> u64 {
        self.base.get(&entry).copied().unwrap_or(0) + offset
    }
}
