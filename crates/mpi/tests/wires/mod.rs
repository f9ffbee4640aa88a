//! A transport in memory that delivers in a random order, and ranks over it that are polled in a random
//! order.
#![allow(dead_code)] // Each test uses a part.

use netloom_mpi::collective::{Flags, Operation};
use netloom_mpi::group::{Group, Members};
use netloom_mpi::matching::Envelope;
use netloom_mpi::point_to_point::PointToPoint;
use netloom_mpi::transport::{FlagAt, FlagSpace, Memory, Process, Refused, Transport};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A message under way. Of a long one, the data is read when it is delivered.
enum Packet {
    Short(Envelope, Vec<u8>),
    Long(Envelope, Memory, u64),
}

/// A put or a get, done when it is delivered.
struct Transfer {
    from: Memory,
    to: u64,
    origin: Process,
    number: u64,
}

/// Addresses are others where they are exposed.
const EXPOSED: u64 = 1 << 60;

/// A flag, by process, set, side and round.
type FlagKey = (Process, u32, u64, u32);

/// Messages under way, by sender and receiver.
struct Wires {
    processes: u32,
    short_max_bytes: usize,
    /// Whether processes reach memory of others.
    is_reaching: bool,
    transfers: RefCell<Vec<Transfer>>,
    queues: RefCell<Vec<VecDeque<Packet>>>,
    flags: RefCell<HashMap<FlagKey, (u64, Vec<u8>)>>,
    /// How many sets a process has.
    sets: u32,
    /// A process that has none.
    without_sets: Process,
    random: Cell<u64>,
}

impl Wires {
    fn random(&self) -> u64 {
        // Knuth's linear congruential generator, of which the upper bits are good.
        let next =
            self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        next >> 33
    }

    fn push(&self, from: Process, to: Process, packet: Packet) {
        self.queues.borrow_mut()[(from * self.processes + to) as usize].push_back(packet);
    }
}

pub struct Wire {
    own: Process,
    wires: Rc<Wires>,
}

/// A copy of memory.
pub fn bytes_of(memory: Memory) -> Vec<u8> {
    let at = memory.address as *const u8;
    // SAFETY: the tests keep what they send until it is delivered.
    #[allow(unsafe_code)]
    unsafe {
        if memory.bytes == 0 {
            vec![]
        } else {
            std::slice::from_raw_parts(at, memory.bytes as usize).to_vec()
        }
    }
}

/// Writes to memory.
pub fn write(bytes: &[u8], to: u64) {
    // SAFETY: a receive has this space.
    #[allow(unsafe_code)]
    unsafe {
        (to as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
}

impl Transport for Wire {
    fn processes(&self) -> u32 {
        self.wires.processes
    }
    fn own(&self) -> Process {
        self.own
    }
    fn short_max_bytes(&self) -> usize {
        self.wires.short_max_bytes
    }
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused> {
        self.wires.push(self.own, to, Packet::Short(envelope, bytes_of(data)));
        Ok(())
    }
    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused> {
        self.wires.push(self.own, to, Packet::Long(envelope, data, number));
        Ok(())
    }
    fn flag_space(&self) -> Option<FlagSpace> {
        let sets = if self.own == self.wires.without_sets { 0 } else { self.wires.sets };
        (self.wires.sets > 0).then_some(FlagSpace { sets, rounds: 5, bytes: 100 })
    }
    fn write_flag(&self, FlagAt { set, sequence, round }: FlagAt, data: &[u8], _: Process) {
        let key = (self.own, set, sequence % 2, round);
        let before = self.wires.flags.borrow_mut().insert(key, (sequence, data.to_vec()));
        assert!(before.is_none_or(|(before, _)| before + 2 <= sequence), "sequences go up");
    }
    fn read_flag(
        &self,
        FlagAt { set, sequence, round }: FlagAt,
        of: Process,
        space: &mut [u8],
    ) -> Option<usize> {
        let flags = self.wires.flags.borrow();
        let (written, data) = flags.get(&(of, set, sequence % 2, round))?;
        assert!(*written <= sequence, "written again before it was read");
        let taken = data.len().min(space.len());
        (*written == sequence).then(|| {
            space[..taken].copy_from_slice(&data[..taken]);
            data.len()
        })
    }
    fn advance(&self) {}
    fn poll(&self) {}
    fn expose(&self, memory: Memory) -> Option<u64> {
        self.wires.is_reaching.then_some(memory.address + EXPOSED)
    }
    fn put(&self, _: Process, data: Memory, exposed: u64, number: u64) -> Result<(), Refused> {
        let (from, to, origin) = (data, exposed - EXPOSED, self.own);
        self.wires.transfers.borrow_mut().push(Transfer { from, to, origin, number });
        Ok(())
    }
    fn get(&self, _: Process, exposed: u64, space: Memory, number: u64) -> Result<(), Refused> {
        let (from, to, origin) = (Memory { address: exposed - EXPOSED, ..space }, space.address, self.own);
        self.wires.transfers.borrow_mut().push(Transfer { from, to, origin, number });
        Ok(())
    }
    fn store(&self, bytes: &[u8], to: u64) {
        write(bytes, to);
    }
}

/// Data of a long message that was announced and is not there yet.
struct Moving {
    from: Process,
    sent: u64,
    to: Process,
    received: u64,
    data: Vec<u8>,
    address: u64,
}

pub struct Job {
    wires: Rc<Wires>,
    pub ranks: Vec<Rc<PointToPoint<Wire>>>,
    moving: RefCell<Vec<Moving>>,
}

impl Job {
    /// So many processes; messages up to a length are sent within the call. With an odd seed processes reach
    /// memory of others.
    pub fn new(processes: u32, short_max_bytes: usize, seed: u64) -> Self {
        Self::with_flags(processes, short_max_bytes, seed, (0, 0))
    }

    /// The same where processes have so many sets of flags, but one of them has none, if there is such a process.
    pub fn with_flags(
        processes: u32,
        short_max_bytes: usize,
        seed: u64,
        (sets, without_sets): (u32, Process),
    ) -> Self {
        let (is_reaching, transfers) = (seed % 2 == 1, RefCell::default());
        let queues = RefCell::new((0..processes * processes).map(|_| VecDeque::new()).collect());
        let wires = Rc::new(Wires {
            processes,
            short_max_bytes,
            is_reaching,
            transfers,
            queues,
            flags: RefCell::default(),
            sets,
            without_sets,
            random: Cell::new(seed),
        });
        let rank = |own| Rc::new(PointToPoint::new(Wire { own, wires: Rc::clone(&wires) }));
        let ranks = (0..processes).map(rank).collect();
        Job { wires, ranks, moving: RefCell::default() }
    }

    /// The seventh collective of all ranks.
    pub fn operation(&self, rank: u32) -> Operation<Wire> {
        let size = self.wires.processes;
        let group = Group { members: Members::World, rank, size, context: 4 };
        Operation::new(Rc::clone(&self.ranks[rank as usize]), group, 7)
    }

    /// The `number`-th collective of a communicator of all ranks, for which they wait.
    pub fn waited_for(&self, rank: u32, context: u32, number: u32, flags: &Rc<Flags>) -> Operation<Wire> {
        let group = Group { members: Members::World, rank, size: self.wires.processes, context };
        let point_to_point = &self.ranks[rank as usize];
        point_to_point.set_blocking(true);
        Operation::new(Rc::clone(point_to_point), group, number).with_flags(Some(flags))
    }

    /// Whether anything went through flags.
    pub fn has_used_flags(&self) -> bool {
        !self.wires.flags.borrow().is_empty()
    }

    /// Delivers one of the messages under way; returns whether there was one.
    pub fn deliver(&self) -> bool {
        let transfers = self.wires.transfers.borrow().len();
        if transfers > 0 && self.wires.random().is_multiple_of(3) {
            let at = self.wires.random() as usize % transfers;
            let Transfer { from, to, origin, number } = self.wires.transfers.borrow_mut().swap_remove(at);
            write(&bytes_of(from), to);
            self.ranks[origin as usize].transferred(number, false);
            return true;
        }
        let moving = self.moving.borrow().len();
        if moving > 0 && self.wires.random().is_multiple_of(3) {
            let at = self.wires.random() as usize % moving;
            let Moving { from, sent, to, received, data, address } = self.moving.borrow_mut().swap_remove(at);
            write(&data, address);
            self.ranks[to as usize].received(received, false);
            self.ranks[from as usize].sent(sent, false);
            return true;
        }
        let (size, mut queues) = (self.wires.processes, self.wires.queues.borrow_mut());
        let ready: Vec<usize> = (0..queues.len()).filter(|&at| !queues[at].is_empty()).collect();
        if ready.is_empty() {
            return moving + transfers > 0;
        }
        let at = ready[self.wires.random() as usize % ready.len()];
        let packet = queues[at].pop_front().expect("it is not empty");
        drop(queues);
        let (from, to) = (at as u32 / size, at as u32 % size);
        let receiver = &self.ranks[to as usize];
        match packet {
            Packet::Short(envelope, data) => drop(receiver.arrived(from, envelope, &data)),
            Packet::Long(envelope, data, number) => {
                let place = receiver.announced(from, envelope);
                let (received, address) = (place.number, place.address);
                let moving = Moving { from, sent: number, to, received, data: bytes_of(data), address };
                self.moving.borrow_mut().push(moving);
            }
        }
        true
    }

    /// Runs what all ranks do to its end, polling them in a random order.
    pub fn run<'a>(&self, program: impl Fn(u32) -> Pin<Box<dyn Future<Output = ()> + 'a>>) {
        let mut list: Vec<_> = (0..self.wires.processes).map(|rank| Some(program(rank))).collect();
        let mut idle = 0;
        while list.iter().any(Option::is_some) {
            let at = self.wires.random() as usize % list.len();
            if let Some(future) = &mut list[at]
                && let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                list[at] = None;
            }
            let is_busy = self.wires.random().is_multiple_of(2) && self.deliver();
            idle = if is_busy { 0 } else { idle + 1 };
            assert!(idle < 100_000, "all wait for ever");
        }
        // What a window asked for may still be on its way when the window is freed; all else was received.
        while self.deliver() {}
        let waiting = self.ranks.iter().map(|rank| rank.waiting());
        assert!(waiting.eq(self.ranks.iter().map(|_| [0, 0])), "a message was not received");
    }
}
