//! One simulation by several processes: each has some of the blocks, and all go through the same windows.
//!
//! At a window's edge a process exchanges the messages of its blocks with those of its *neighbours*, and all
//! find the start of the next window: the earliest event anywhere. As blocks do not affect each other within
//! a window, the result does not depend on who simulates them.

use crate::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The processes of a simulation, as one of them sees them. All call the same functions in the same order.
pub trait Peers: Send + Sync + std::fmt::Debug {
    /// This process, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn count(&self) -> usize;

    /// Sends bytes to processes, in rising order of their numbers; returns those that each sends to this one.
    /// Each of them exchanges with this one, too.
    fn exchange(&self, with: &[usize], bytes: Vec<Vec<u8>>) -> Vec<Vec<u8>>;

    /// For each number the least that any process has.
    fn least(&self, own: [u64; 2]) -> [u64; 2];

    /// The bytes of all processes, by their numbers.
    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>>;
}

/// The values of all processes, by their numbers.
///
/// # Panics
/// If the other processes do not run the same program.
pub fn gather<T: Serialize + DeserializeOwned>(peers: &dyn Peers, own: &T) -> Vec<T> {
    peers.gather(encode(own)).iter().map(|bytes| decode(bytes)).collect()
}

/// The bytes of all processes, by their numbers, at the first one; nothing at the others. All call it.
pub fn collect(peers: &dyn Peers, own: Vec<u8>) -> Vec<Vec<u8>> {
    // MPI counts to 2 GiB.
    collect_by(peers, own, 256 << 20)
}

/// The same in pieces of this length: nobody has more than one besides the whole.
fn collect_by(peers: &dyn Peers, own: Vec<u8>, piece_bytes: usize) -> Vec<Vec<u8>> {
    if peers.rank() > 0 {
        let send = |bytes: Vec<u8>| drop(peers.exchange(&[0], vec![bytes]));
        send(encode(&own.len()));
        own.chunks(piece_bytes).for_each(|piece| send(piece.to_vec()));
        return vec![];
    }
    let others = (1..peers.count()).map(|rank| {
        let receive = || peers.exchange(&[rank], vec![vec![]]).concat();
        let length: usize = decode(&receive());
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            bytes.extend(receive());
        }
        bytes
    });
    std::iter::once(own).chain(others.collect::<Vec<_>>()).collect()
}

/// A value as bytes for another process.
///
/// # Panics
/// If it has sequences whose length is not known before their end.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("values without a length of their own are not sent")
}

/// The value of another process's bytes.
///
/// # Panics
/// If it does not run the same program.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("all processes run the same program")
}

/// The blocks of a process, of `blocks` in all.
pub fn own_blocks(blocks: usize, rank: usize, count: usize) -> Range<usize> {
    blocks * rank / count..blocks * (rank + 1) / count
}

/// State that blocks of several processes read, besides messages: each process passes on how its own blocks
/// changed it in a window.
pub trait SharedState: Send + Sync + std::fmt::Debug {
    /// The changes since the last call.
    fn take(&self) -> Vec<u8>;

    /// Makes the changes of another process.
    fn apply(&self, changes: &[u8]);
}

/// The part of a simulation that is another process's, as far as this one has to do with it.
pub(crate) struct Remote<M> {
    pub peers: Arc<dyn Peers>,
    /// Its own blocks.
    pub own: Range<usize>,
    blocks: usize,
    /// The processes with which it exchanges messages, in rising order.
    neighbours: Vec<usize>,
    /// Messages for each of them: block, time, message.
    messages: Vec<Mutex<Vec<(u32, Time, M)>>>,
    shared_states: Vec<Arc<dyn SharedState>>,
}

impl<M: Serialize + DeserializeOwned> Remote<M> {
    /// For the blocks of this process, of `blocks` in all, that send to these blocks. A block sends to all
    /// that send to it.
    pub fn new(
        peers: Arc<dyn Peers>,
        blocks: usize,
        lanes: &[Vec<u32>],
        shared_states: Vec<Arc<dyn SharedState>>,
    ) -> Self {
        let (rank, count) = (peers.rank(), peers.count());
        let own = own_blocks(blocks, rank, count);
        let mut neighbours: Vec<usize> =
            lanes.iter().flatten().map(|&block| owner(block, blocks, count)).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours.retain(|&other| other != rank);
        let messages = neighbours.iter().map(|_| Mutex::new(vec![])).collect();
        Remote { peers, own, blocks, neighbours, messages, shared_states }
    }

    /// Takes the messages for a block of another process.
    pub fn send(&self, to: u32, lane: &mut Vec<(Time, M)>) {
        let owner = owner(to, self.blocks, self.peers.count());
        let place = self.neighbours.binary_search(&owner).expect("lanes lead to neighbours");
        let mut list = self.messages[place].lock().unwrap_or_else(PoisonError::into_inner);
        list.extend(lane.drain(..).map(|(time, message)| (to, time, message)));
    }

    /// Exchanges all messages with the neighbours; calls the function with each that arrives.
    pub fn exchange(&self, mut receive: impl FnMut(usize, Time, M)) {
        let bytes = self.messages.iter().map(|list| {
            let list = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
            encode(&list)
        });
        for bytes in self.peers.exchange(&self.neighbours, bytes.collect()) {
            for (to, time, message) in decode::<Vec<(u32, Time, M)>>(&bytes) {
                receive(to as usize - self.own.start, time, message);
            }
        }
        if self.shared_states.is_empty() {
            return;
        }
        // Those of all: a message may have come from far.
        let changes: Vec<Vec<u8>> =
            self.shared_states.iter().map(|shared_state| shared_state.take()).collect();
        let all = gather(&*self.peers, &changes).into_iter().enumerate();
        for (_, changes) in all.filter(|&(rank, _)| rank != self.peers.rank()) {
            self.shared_states
                .iter()
                .zip(changes)
                .for_each(|(shared_state, changes)| shared_state.apply(&changes));
        }
    }
}

/// The process that has a block.
fn owner(block: u32, blocks: usize, count: usize) -> usize {
    // The largest rank whose share begins at or before the block, and is not empty.
    let mut rank = (block as usize * count / blocks).min(count - 1);
    while own_blocks(blocks, rank, count).end <= block as usize {
        rank += 1;
    }
    rank
}

const ENDED: &str = "another thread has ended";

/// Threads of one process in place of processes, for tests.
#[derive(Debug)]
pub struct ThreadPeers {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl ThreadPeers {
    /// So many, each for a thread of its own.
    pub fn all(count: usize) -> Vec<Self> {
        let mut all: Vec<ThreadPeers> =
            (0..count).map(|rank| ThreadPeers { rank, to: vec![], from: vec![] }).collect();
        for from in 0..count {
            for to in 0..count {
                let (sender, receiver) = channel();
                all[from].to.push(sender);
                all[to].from.push(Mutex::new(receiver));
            }
        }
        all
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        self.from[from].lock().unwrap_or_else(PoisonError::into_inner).recv().expect(ENDED)
    }
}

impl Peers for ThreadPeers {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, with: &[usize], bytes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        with.iter().zip(bytes).for_each(|(&to, bytes)| self.to[to].send(bytes).expect(ENDED));
        with.iter().map(|&from| self.receive(from)).collect()
    }

    fn least(&self, own: [u64; 2]) -> [u64; 2] {
        let all = gather(self, &own);
        [0, 1].map(|at| all.iter().map(|of| of[at]).min().unwrap_or(own[at]))
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let all: Vec<usize> = (0..self.count()).collect();
        self.exchange(&all, vec![own; self.count()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_collects_in_pieces() {
        let own = |rank: usize| vec![rank as u8; [3, 0, 10, 11, 1][rank]];
        std::thread::scope(|scope| {
            let all = ThreadPeers::all(5).into_iter();
            let all = all.map(|peers| scope.spawn(move || collect_by(&peers, own(peers.rank()), 5)));
            for (rank, found) in all.collect::<Vec<_>>().into_iter().enumerate() {
                let expected = if rank == 0 { (0..5).map(own).collect() } else { vec![] };
                assert_eq!(found.join().expect("no panic"), expected, "{rank}");
            }
        });
    }

    #[test]
    fn each_block_has_one_owner() {
        for blocks in 1..40 {
            for count in 1..10 {
                let mut next = 0;
                for rank in 0..count {
                    let own = own_blocks(blocks, rank, count);
                    assert_eq!(own.start, next);
                    own.clone().for_each(|block| assert_eq!(owner(block as u32, blocks, count), rank));
                    next = own.end;
                }
                assert_eq!(next, blocks);
            }
        }
    }
}
