//! PAMI's contexts as MPI's transport (section IV.A): "The source PAMI context is computed by hashing the
//! destination rank and communicator id, and the destination context on the remote node is computed by
//! hashing the source MPI rank and communicator id." So messages of two ranks in a communicator stay in
//! order, and those to several ranks can be sent by several threads.

use super::costs::Costs;
use crate::device::Simulated;
use crate::pami::Endpoint;
use crate::pami::context::{Context, Send};
use crate::pami::device::{Collective as What, Combine, PamiDevice, Range, Step as Software};
use crate::pami::message_unit::UnitContext;
use netloom_fabric::collective::Operation;
use netloom_mpi::matching::Envelope;
use netloom_mpi::op::Op;
use netloom_mpi::transport::{Collective, Memory, Process, Refused, Step, Team, Transport};
use netloom_node::program::lock;
use std::cell::RefCell;

/// The dispatch of MPI's messages.
pub(super) const MESSAGE: u16 = 1;

/// The contexts of a rank.
pub(super) struct Contexts {
    pub(super) list: RefCell<Vec<Context<UnitContext>>>,
    pub(super) costs: Costs,
    processes: u32,
    own: Process,
    short_max_bytes: usize,
}

/// The number of the communicator of a message among those of its rank: each has several contexts of
/// matching.
const MATCHING_CONTEXTS: u32 = 4;

/// The context of a rank for messages with another one in a communicator.
pub(super) fn hash(rank: u32, matching_context: u32, contexts: usize) -> usize {
    (rank.wrapping_add(matching_context / MATCHING_CONTEXTS)) as usize & (contexts - 1)
}

pub(super) fn range(memory: Memory) -> Range {
    Range { address: memory.address, bytes: memory.bytes }
}

impl Contexts {
    pub(super) fn new(list: Vec<Context<UnitContext>>, costs: Costs, processes: u32) -> Self {
        assert!(list.len().is_power_of_two(), "the hash needs a power of two");
        let own = list[0].device().endpoint().task();
        let short_max_bytes = list[0].immediate_max() - Envelope::BYTES;
        Contexts { list: RefCell::new(list), costs, processes, own, short_max_bytes }
    }

    fn endpoints(&self, to: Process, context: u32) -> (usize, Endpoint) {
        let contexts = self.list.borrow().len();
        let there = hash(self.own, context, contexts) as u32;
        (hash(to, context, contexts), Endpoint::new(to, there).expect("few tasks and contexts"))
    }

    /// Bytes of the rank's memory (not timed).
    pub(super) fn load(&self, from: Memory) -> Vec<u8> {
        let list = self.list.borrow();
        let device = list[0].device();
        let at = lock(device.memory()).physical(range(from));
        device.device().load(at, from.bytes as usize)
    }
}

impl Transport for Contexts {
    fn processes(&self) -> u32 {
        self.processes
    }

    fn own(&self) -> Process {
        self.own
    }

    fn short_max_bytes(&self) -> usize {
        self.short_max_bytes
    }

    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused> {
        let (at, to) = self.endpoints(to, envelope.context);
        let bytes = self.load(data);
        let context = &mut self.list.borrow_mut()[at];
        let sent = context.send_immediate(to, MESSAGE, [&envelope.to_bytes(), &bytes], true);
        sent.map(|_| ()).map_err(|invalid| Refused(invalid.to_string()))
    }

    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused> {
        let (at, to) = self.endpoints(to, envelope.context);
        let header = envelope.to_bytes();
        let send = Send {
            to,
            dispatch: MESSAGE,
            header: &header,
            data: range(data),
            cookie: number,
            is_acknowledged: false,
        };
        self.list.borrow_mut()[at].send(send).map_err(|invalid| Refused(invalid.to_string()))
    }

    fn start_collective(
        &self,
        team: Team,
        collective: &Collective,
        _: bool,
        number: u64,
    ) -> Result<bool, Refused> {
        let what = match *collective {
            Collective::Barrier => What::Barrier,
            Collective::Broadcast { root, data } => What::Broadcast { root, data: range(data) },
            Collective::Reduce { root: None, data, op: Op::Sum, of } if of.name == "DOUBLE" => {
                let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
                What::Allreduce { source: range(data), target: range(data), combine }
            }
            Collective::Reduce { .. } => return Ok(false),
        };
        self.list.borrow_mut()[0].collective(team as usize, what, number);
        Ok(true)
    }

    // Hardware threads wait as `progress.rs` says.
    fn advance(&self) {}

    fn poll(&self) {}

    fn spend(&self, step: Step) {
        self.list.borrow()[0].device().device().thread().spend(self.costs.of(step));
    }

    fn store(&self, bytes: &[u8], to: u64) {
        if bytes.is_empty() {
            return;
        }
        let mut list = self.list.borrow_mut();
        let device = list[0].device_mut();
        let at = lock(device.memory()).physical(Range { address: to, bytes: bytes.len() as u64 });
        device.device().store(at, bytes);
        device.spend(Software::Copy(bytes.len() as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_message_agree_on_its_contexts_and_ranks_are_spread() {
        let contexts: Vec<usize> = (0..16).map(|rank| hash(rank, 0, 16)).collect();
        assert_eq!(contexts, (0..16).collect::<Vec<_>>());
        // Collectives of a communicator go by the same context as its messages, another one by the next.
        assert_eq!([0, 1, 4, 64].map(|context| hash(15, context, 16)), [15, 15, 0, 15]);
        assert_eq!(hash(u32::MAX, 4, 1), 0);
    }
}
