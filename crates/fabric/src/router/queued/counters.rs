//! Performance counters (section II.F): four per sender, for traffic on the VCs that each is programmed for,
//! and two per receiver: packets that arrived, and the time integral of packets in queue. The second divided
//! by time is the mean queue length L, and divided by the first it is the mean waiting time W = L / λ
//! (Little's law).

use super::vcs::*;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_engine::checkpoint::{State, load_each, store_each};
use serde::{Deserialize, Serialize};
use std::io;

/// The VCs that counters are programmed for, one bit each (the public driver's `upc_nw.h` has such masks, in
/// another order).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterMasks {
    /// Masks of a sender's four counters.
    pub sender: [u8; 4],
    /// Mask of a receiver's two counters.
    pub receiver: u8,
}

impl Default for CounterMasks {
    /// The senders' counters: user point-to-point packets, system packets, collective packets of whole
    /// partitions, collective packets of other sets. The receivers': all packets.
    fn default() -> Self {
        let of = |vcs: &[usize]| vcs.iter().fold(0, |mask, vc| mask | 1 << vc);
        CounterMasks {
            sender: [of(&[DYNAMIC, DETERMINISTIC, HIGH]), of(&[SYSTEM]), of(&[COMMWORLD]), of(&[SUBCOMM])],
            receiver: (1 << ALL_VCS) - 1,
        }
    }
}

/// The counters of a port's sender and receiver.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub struct PortCounters {
    /// Chunks sent, by the sender's counters.
    pub chunks: [u64; 4],
    /// Packets that arrived.
    pub packets: u64,
    /// Packet-ticks in queue: from a packet's arrival until it leaves.
    pub queued: u64,
}

/// The counters of a block's nodes.
pub(super) struct Counters {
    masks: CounterMasks,
    ports: Vec<[Counting; PORTS]>,
}

#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
struct Counting {
    counts: PortCounters,
    /// Packets in queue now, and the time of the last change.
    length: u64,
    since: Time,
}

impl Counting {
    fn reach(&mut self, now: Time) {
        self.counts.queued += self.length * (now - self.since);
        self.since = now;
    }
}

impl State for Counters {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        store_each(&self.ports, to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        load_each(&mut self.ports, from)
    }
}

impl Counters {
    pub fn new(masks: CounterMasks, nodes: usize) -> Self {
        Counters { masks, ports: vec![[Counting::default(); PORTS]; nodes] }
    }

    /// A packet starts on a link.
    pub fn sent(&mut self, node: u32, port: usize, vc: usize, chunks: u32) {
        let counts = &mut self.ports[node as usize][port].counts;
        for (count, mask) in counts.chunks.iter_mut().zip(self.masks.sender) {
            *count += u64::from(chunks) * u64::from(mask >> vc & 1);
        }
    }

    /// A packet has arrived at a receiver.
    pub fn queued(&mut self, node: u32, port: usize, vc: usize, now: Time) {
        if self.masks.receiver >> vc & 1 != 0 {
            let counting = &mut self.ports[node as usize][port];
            counting.reach(now);
            counting.length += 1;
            counting.counts.packets += 1;
        }
    }

    /// A packet leaves a receiver.
    pub fn departed(&mut self, node: u32, port: usize, vc: usize, now: Time) {
        if self.masks.receiver >> vc & 1 != 0 {
            let counting = &mut self.ports[node as usize][port];
            counting.reach(now);
            counting.length -= 1;
        }
    }

    /// The counters of a port at `now`.
    pub fn read(&self, node: usize, port: usize, now: Time) -> PortCounters {
        let mut counting = self.ports[node][port];
        counting.reach(now);
        counting.counts
    }

    /// Restarts the counters; packets in queue stay there.
    pub fn restart(&mut self, now: Time) {
        for counting in self.ports.iter_mut().flatten() {
            (counting.counts, counting.since) = (PortCounters::default(), now);
        }
    }
}
