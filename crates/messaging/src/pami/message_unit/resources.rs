//! How the unit's FIFOs are shared out among the contexts of a node (Kumar et al., section III.E): each
//! context has its own, so that no two need a lock. All nodes share them out alike, so that senders know the
//! numbers.

use netloom_fabric::collective::CLASS_ROUTES;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, LOCAL};

/// FIFOs that programs may use; the rest is the kernel's.
const INJECTION: u16 = 544 - 16;
/// The first of those for collective operations, one a class; the others are for contexts.
pub const COLLECTIVE_FIFOS: u16 = INJECTION - CLASS_ROUTES as u16;
/// Hardware threads of a node: a process has no more contexts than its part of them, and at most this many.
pub const THREADS: u16 = 64;
const CONTEXTS_MAX: u16 = 16;
/// Most FIFOs for one purpose: enough for the ten directions.
const FIFOS_MAX: u16 = 16;

/// The FIFOs of each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Contexts that a process may have.
    pub contexts: u16,
    /// Injection FIFOs of a process.
    share: u16,
    /// Of these, for the descriptors of RDMA reads by others.
    fetches: u16,
    /// And for the sends of each context.
    pub sends: u16,
}

impl Resources {
    /// Those of nodes with this number of processes, 1 to 64.
    pub fn new(processes: u8) -> Self {
        let share = COLLECTIVE_FIFOS / u16::from(processes);
        let contexts = (THREADS / u16::from(processes)).clamp(1, CONTEXTS_MAX);
        let fetches = (share / 4).clamp(1, FIFOS_MAX);
        Resources { contexts, share, fetches, sends: ((share - fetches) / contexts).min(FIFOS_MAX) }
    }

    /// The reception FIFO of a context.
    pub fn reception(&self, process: u8, context: u16) -> u16 {
        u16::from(process) * self.contexts + context
    }

    /// Injection FIFO `n` for the sends of a context.
    pub fn send(&self, process: u8, context: u16, n: u16) -> u16 {
        u16::from(process) * self.share + self.fetches + context * self.sends + n % self.sends
    }

    /// Injection FIFO `n` for RDMA reads of a process's memory.
    pub fn fetch(&self, process: u8, n: u16) -> u16 {
        u16::from(process) * self.share + n % self.fetches
    }

    /// The number of the latter.
    pub fn fetches(&self) -> u16 {
        self.fetches
    }
}

/// A number for a process of a node, as another node sees it, which tells the ten directions of the first hop
/// apart: messages to it, and reads by it, always use the FIFO of this number, except halves of reads, which
/// use those of their links. So neighbours on different links never share a FIFO, where there are ten. Where
/// both directions are as short, the processes of the node take turns.
pub fn pin(torus: &Torus, here: u32, (there, process): (u32, u8)) -> u16 {
    let (from, to) = (torus.coordinates(here), torus.coordinates(there));
    let first = (0..torus.dimensions()).find_map(|d| {
        let length = torus.length(d) as u8;
        let up = (to[d] + length - from[d]) % length;
        let is_down = 2 * up > length || 2 * up == length && process % 2 == 1;
        (up > 0).then_some(2 * d as u16 + u16::from(is_down))
    });
    first.unwrap_or(0)
}

/// The network FIFOs for bulk data, which may take any route: of one direction to a node on an axis, where
/// packets to other nodes would wait behind those of a busy link; otherwise all.
pub fn bulk_map(torus: &Torus, here: u32, to: (u32, u8)) -> u16 {
    let (from, at) = (torus.coordinates(here), torus.coordinates(to.0));
    match (0..torus.dimensions()).filter(|&d| from[d] != at[d]).count() {
        0 => LOCAL,
        1 => 1 << pin(torus, here, to),
        _ => ANY_DIRECTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::Topology;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_contexts_share_a_fifo() {
        for processes in [1, 2, 4, 7, 16, 32, 64] {
            let r = Resources::new(processes);
            let (mut injection, mut reception) = (BTreeSet::new(), BTreeSet::new());
            for process in 0..processes {
                assert!((0..r.fetches()).all(|n| injection.insert(r.fetch(process, n))));
                for context in 0..r.contexts {
                    assert!(reception.insert(r.reception(process, context)));
                    assert!((0..r.sends).all(|n| injection.insert(r.send(process, context, n))));
                }
            }
            assert!(
                injection.last() < Some(&COLLECTIVE_FIFOS) && reception.last() < Some(&264),
                "{processes}"
            );
        }
        assert_eq!(Resources::new(1), Resources { contexts: 16, share: 512, fetches: 16, sends: 16 });
        assert_eq!(Resources::new(64).contexts, 1);
    }

    #[test]
    fn neighbours_have_different_numbers() {
        let torus = Torus::new(&Topology { dims: vec![4, 4, 4], ..Topology::default() });
        let neighbours = (0..6).filter_map(|port| torus.neighbour(21, port));
        assert_eq!(neighbours.map(|there| pin(&torus, 21, (there, 0))).collect::<BTreeSet<_>>().len(), 6);
        assert_eq!(pin(&torus, 21, (21, 0)), 0);
        assert_eq!([0, 1, 2].map(|process| pin(&torus, 0, (2, process))), [0, 1, 0]);
    }
}
