//! Collective operations of all tasks that the network interface executes, one after the other.

use super::{Arrival, Messages};
use crate::pami::device::{Collective, Range};
use crate::program::Collective as ByHardware;

impl<C: Send + 'static, W: Copy + Send + 'static> Messages<C, W> {
    /// Maximum data of a collective operation that the machine's library executes by hardware, bytes.
    pub(super) fn by_hardware(&self, what: ByHardware) -> Option<u64> {
        self.transport.collective_max_bytes(what).filter(|_| self.transport.prefers_hardware(what))
    }

    /// Begins the first collective operation.
    pub(super) fn begin_collective(&mut self) {
        let Some(&(_, _, operation)) = self.collectives.front() else { return };
        let (what, bytes, data) = match operation {
            // Each word of a reduction is one of 8 B there.
            Collective::Allreduce { source, combine, .. } => {
                (ByHardware::Allreduce, source.bytes / u64::from(combine.word_B) * 8, self.loaded(source))
            }
            _ => (ByHardware::Barrier, 0, vec![]),
        };
        match self.in_flight.collectives.enter(self.collective, self.own, &operation, data) {
            Ok(()) => self.transport.collective(what, bytes),
            Err(differs) => self.transport.thread().fail("PAMI_Collective", differs),
        }
    }

    fn loaded(&self, source: Range) -> Vec<u8> {
        let mut bytes = vec![0; source.bytes as usize];
        (self.memory_of)(self.own).load(source.address, &mut bytes);
        bytes
    }

    /// The first collective operation has ended.
    pub(super) fn end_collective(&mut self) {
        let Some((context, ticket, operation)) = self.collectives.pop_front() else { return };
        match operation {
            Collective::Allreduce { target, combine, .. } => {
                let result = self.in_flight.collectives.leave(self.collective, combine);
                (self.memory_of)(self.own).store(target.address, &result);
            }
            _ => self.in_flight.collectives.leave_barrier(self.collective),
        }
        self.collective += 1;
        self.inbox(context).arrivals.push_back(Arrival::Finished(ticket));
        self.begin_collective();
    }
}
