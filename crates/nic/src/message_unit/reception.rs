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
}

/// A counter that has come to zero, or below.
pub(super) struct CountedDown {
    pub address: u64,
}

impl Unit {
    /// A packet is whole in a network reception FIFO.
    pub fn arrived(&mut self, common: &Common, now: Time, delivery: &Delivery, out: &mut Out) {
        let c = &common.config;
        // The network has one reception FIFO for high priority, whatever link a packet came by.
        let is_high = delivery.header.head() & Header::HIGH != 0;
        let engine = if is_high { HIGH_PRIORITY.trailing_zeros() as usize } else { delivery.port };
        // An engine reads faster than the network writes, so that it is done when the packet's end has come.
        let begin = (now + u64::from(c.receive_ticks)).max(self.reception_free[engine]);
        let put = PutHeader::unpack(delivery.meta.message);
        let stored = self.ports.write(c, begin, engine, put.valid.into());
        self.reception_free[engine] = stored - u64::from(c.write_ticks);
        // The counter follows when the data is there.
        let counted = self.ports.write(c, stored, engine, 8);
        let slot = self.storing.iter().position(Option::is_none).unwrap_or_else(|| {
            self.storing.push(None);
            self.storing.len() - 1
        });
        assert!(slot < 1 << 16, "packets being stored are few");
        self.storing[slot] = Some(Store { put });
        out.at(counted, Alarm::Stored(slot as u16));
    }

    /// A packet has been stored and its counter counted down. Answers with its bytes, and the counter if it has just come to
    /// zero.
    pub fn stored(&mut self, slot: u16) -> (u32, Option<CountedDown>) {
        let Store { put } = self.storing[usize::from(slot)].take().expect("an alarm for each packet");
        let base = self.base.get(&put.counter_base).copied().unwrap_or(0);
        let address = base + put.counter_offset;
        let counter = self.counters.entry(address).or_insert(0);
        let before = *counter;
        *counter -= i64::from(put.valid);
        (put.valid, (before > 0 && *counter <= 0).then_some(CountedDown { address }))
    }
}
