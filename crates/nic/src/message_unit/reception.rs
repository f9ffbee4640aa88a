//! Message reception (section III.D): an engine for each network reception FIFO reads its packets and stores them; an RDMA
//! write then counts its counter down by an atomic operation of the L2.

use super::descriptor::{HIGH_PRIORITY, PutHeader};
use super::host::Common;
use super::{Alarm, Out, Unit};
use netloom_engine::Time;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::Header;

/// A packet on its way into memory.
#[derive(Clone, Copy)]
pub(super) struct Store {
    put: PutHeader,
    engine: usize,
}

/// A counter that has come to zero, or below.
pub(super) struct CountedDown {
    pub address: u64,
}

impl Unit {
    /// A packet is whole in a network reception FIFO. Its engine reads faster than the network writes, so that it is done with
    /// it when the packet's end has come.
    pub fn arrived(&mut self, common: &Common, now: Time, delivery: &Delivery, out: &mut Out) {
        // The network has one reception FIFO for high priority, whatever link a packet came by.
        let is_high = delivery.header.head() & Header::HIGH != 0;
        let engine = if is_high { HIGH_PRIORITY.trailing_zeros() as usize } else { delivery.port };
        let store = Store { put: PutHeader::unpack(delivery.meta.message), engine };
        let slot = self.storing.iter().position(Option::is_none).unwrap_or_else(|| {
            self.storing.push(None);
            self.storing.len() - 1
        });
        assert!(slot < 1 << 16, "packets being stored are few");
        self.storing[slot] = Some(store);
        out.at(now + u64::from(common.config.receive_ticks), Alarm::Received(slot as u16));
    }

    /// An engine writes a packet's data.
    pub fn received(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) {
        let Store { put, engine } = self.storing[usize::from(slot)].expect("an alarm for each packet");
        let address = self.address(put.base, put.offset);
        let stored = self.ports.write(&common.config, now, engine, address, put.valid.into());
        out.at(stored, Alarm::Stored(slot));
    }

    /// A packet's data is in memory: its counter follows, by an atomic operation through the same port.
    pub fn stored(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) {
        let Store { put, engine } = self.storing[usize::from(slot)].expect("an alarm for each packet");
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
