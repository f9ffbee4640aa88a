//! PAMI's protocols over a device of this file: tasks with small queues and a memory each, in one thread.
//! Whatever the order of polls, messages of any length arrive once, whole and in order, and each operation
//! reports its end once.

use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Context, Event, Limits, Outcome, Receive, Rma, Send};
use netloom_messaging::pami::device::{Arrival, Begun, Full, PamiDevice, Piece, Range, Remote, Transfer};
use netloom_messaging::pami::packet::{Head, Kind};
use netloom_messaging::pami::rmw::{Modify, Rmw};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

mod one_sided;

const MEMORY_B: usize = 1 << 16;
/// The longest message of the tests: longer than several packets, shorter than a rendezvous' piece and not.
const DATA_MAX: u64 = 900;

/// Most bytes of a packet.
const PACKET_MAX: usize = 64;

struct World {
    queues: Vec<VecDeque<(Head, Vec<u8>)>>,
    memory: Vec<Vec<u8>>,
    slots: usize,
    reads_remote: bool,
    /// Whether operations are done when they begin, and reach all memory.
    finishes_at_once: bool,
    gone: Option<u32>,
}

/// Added to the address of memory that is exposed.
const EXPOSED: u64 = 1 << 32;

/// Operations under way that a device has space for, where they end later.
const OPERATIONS: usize = 3;

/// What an operation does when it ends.
enum Later {
    /// Nothing: it has read memory.
    Nothing,
    /// It copies: which way, the other side, the pieces.
    Copy(Transfer, Endpoint, Vec<Piece>),
    /// It has read the data of a put, which is on its way.
    Put(Endpoint, Vec<Piece>),
    /// Puts arrive that are on their way to an endpoint.
    Flush(Endpoint),
}

struct TestDevice {
    world: Rc<RefCell<World>>,
    task: u32,
    polled: Vec<u8>,
    tickets: u64,
    /// Operations that end at later polls.
    later: VecDeque<(u64, Later)>,
    /// Data of puts that has left, and where it goes.
    on_its_way: Vec<(Endpoint, u64, Vec<u8>)>,
}

impl PamiDevice for TestDevice {
    type Payload = ();

    fn packet_max(&self) -> usize {
        PACKET_MAX
    }

    /// More to some of the others.
    fn data_max(&self, to: Endpoint) -> usize {
        PACKET_MAX * (1 + to.task() as usize % 3)
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.task, 0).unwrap()
    }

    fn has(&self, endpoint: Endpoint) -> bool {
        (endpoint.task() as usize) < self.world.borrow().queues.len() && endpoint.offset() == 0
    }

    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full> {
        let mut world = self.world.borrow_mut();
        let slots = world.slots;
        let queue = &mut world.queues[to.task() as usize];
        if queue.len() >= slots {
            return Err(Full);
        }
        let bytes = parts.concat();
        let has_data = matches!(head.kind(), Kind::First | Kind::More | Kind::Store | Kind::Stream);
        let most = if has_data { self.data_max(to) } else { PACKET_MAX };
        assert!(bytes.len() <= most, "{} B in a packet of {:?}", bytes.len(), head.kind());
        queue.push_back((head, bytes));
        Ok(())
    }

    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full> {
        let at = data.address as usize;
        let data = self.world.borrow().memory[self.task as usize][at..][..data.bytes as usize].to_vec();
        self.inject(to, head, [bytes, &data])
    }

    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        let part = data.bytes.min(PACKET_MAX as u64);
        self.inject_memory(to, head, &[], data.part(0, part))?;
        Ok((part, self.begun(Later::Nothing)))
    }

    fn poll(&mut self) -> Option<Arrival<()>> {
        if let Some((ticket, later)) = self.later.pop_front() {
            self.end(later);
            return Some(Arrival::Finished(ticket));
        }
        let world = self.world.borrow();
        let (head, bytes) = world.queues[self.task as usize].front()?;
        self.polled.clone_from(bytes);
        Some(Arrival::Packet(*head, ()))
    }

    fn release(&mut self) {
        self.world.borrow_mut().queues[self.task as usize].pop_front().expect("a packet was polled");
    }

    fn bytes(&self, (): ()) -> &[u8] {
        &self.polled
    }

    fn load(&mut self, data: Range, packet: &mut Vec<u8>) {
        let world = self.world.borrow();
        packet.extend(&world.memory[self.task as usize][data.address as usize..][..data.bytes as usize]);
    }

    fn store(&mut self, (): (), part: std::ops::Range<usize>, to: u64) {
        let data = &self.polled[part];
        let mut world = self.world.borrow_mut();
        world.memory[self.task as usize][to as usize..][..data.len()].copy_from_slice(data);
    }

    fn reaches_all(&self) -> bool {
        self.world.borrow().finishes_at_once
    }

    /// Where a task cannot reach all, addresses of exposed memory are others than those of the program.
    fn expose(&mut self, memory: Range) -> u64 {
        memory.address + if self.reaches_all() { 0 } else { EXPOSED }
    }

    fn transfer(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer_pieces(way, with, &[(local, remote)]).map(|(_, begun)| begun)
    }

    /// Where operations end later, it takes at most two pieces at once.
    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        if self.world.borrow().gone == Some(with.task()) {
            return Err(Remote::Gone);
        }
        if !self.world.borrow().reads_remote {
            return Err(Remote::Unsupported);
        }
        if self.reaches_all() {
            self.copy(way, with, pieces);
            return Ok((pieces.len(), Begun::Done));
        }
        if self.later.len() >= OPERATIONS {
            return Err(Remote::Full);
        }
        let of = |&(local, remote): &Piece| {
            (local, remote.checked_sub(EXPOSED).expect("memory that is not exposed"))
        };
        let taken: Vec<Piece> = pieces.iter().take(2).map(of).collect();
        let count = taken.len();
        let later = match way {
            Transfer::Put => Later::Put(with, taken),
            Transfer::Get => Later::Copy(way, with, taken),
        };
        Ok((count, self.begun(later)))
    }

    fn flush(&mut self, with: Endpoint) -> Result<Begun, Remote> {
        match self.later.len() >= OPERATIONS {
            true => Err(Remote::Full),
            false => Ok(self.begun(Later::Flush(with))),
        }
    }

    fn is_gone(&self, task: u32) -> bool {
        self.world.borrow().gone == Some(task)
    }
}

impl TestDevice {
    /// An operation begins: it is done at once or at a later poll.
    fn begun(&mut self, later: Later) -> Begun {
        if self.world.borrow().finishes_at_once {
            return Begun::Done;
        }
        self.tickets += 1;
        self.later.push_back((self.tickets, later));
        Begun::Later(self.tickets)
    }

    fn end(&mut self, later: Later) {
        match later {
            Later::Nothing => {}
            Later::Copy(way, with, pieces) => self.copy(way, with, &pieces),
            Later::Put(with, pieces) => {
                for (local, remote) in pieces {
                    let mut data = vec![];
                    self.load(local, &mut data);
                    self.on_its_way.push((with, remote, data));
                }
            }
            Later::Flush(with) => {
                let mut world = self.world.borrow_mut();
                for (_, remote, data) in self.on_its_way.extract_if(.., |(to, _, _)| *to == with) {
                    world.memory[with.task() as usize][remote as usize..][..data.len()]
                        .copy_from_slice(&data);
                }
            }
        }
    }

    fn copy(&self, way: Transfer, with: Endpoint, pieces: &[Piece]) {
        let mut world = self.world.borrow_mut();
        for (local, remote) in pieces {
            let (ours, theirs) = ((self.task, local.address), (with.task(), *remote));
            let (from, to) = if way == Transfer::Get { (theirs, ours) } else { (ours, theirs) };
            let data = world.memory[from.0 as usize][from.1 as usize..][..local.bytes as usize].to_vec();
            world.memory[to.0 as usize][to.1 as usize..][..data.len()].copy_from_slice(&data);
        }
    }
}

/// What a task has seen.
#[derive(Default)]
struct Seen {
    /// Numbers of messages in the order of their dispatch, by sender.
    begun: BTreeMap<u32, Vec<u64>>,
    sent: BTreeMap<u64, u32>,
    completed: BTreeMap<u64, u32>,
    received: BTreeMap<u64, u32>,
    outcomes: Vec<Outcome>,
}

struct Task {
    context: Context<TestDevice>,
    seen: Seen,
    /// Where the next data goes, and what was expected there, by cookie.
    next: u64,
    expected: BTreeMap<u64, (u64, Vec<u8>)>,
}

fn tasks(
    count: u32,
    slots: usize,
    reads_remote: bool,
    finishes_at_once: bool,
    rendezvous_from_bytes: u64,
) -> (Rc<RefCell<World>>, Vec<Task>) {
    let world = Rc::new(RefCell::new(World {
        queues: vec![VecDeque::new(); count as usize],
        memory: vec![vec![0; MEMORY_B]; count as usize],
        slots,
        reads_remote,
        finishes_at_once,
        gone: None,
    }));
    let limits = Limits { rendezvous_from_bytes, piece_bytes: 100, pacing: None };
    let device = |task| TestDevice {
        world: Rc::clone(&world),
        task,
        polled: vec![],
        tickets: 0,
        later: VecDeque::new(),
        on_its_way: vec![],
    };
    let task = |task| Task {
        context: Context::new(device(task), limits),
        seen: Seen::default(),
        next: MEMORY_B as u64 / 2,
        expected: BTreeMap::new(),
    };
    let list = (0..count).map(task).collect();
    (world, list)
}

/// Data and header of a message by its number.
fn data_of(number: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (number * 31 + i * 7 + i / 61) as u8).collect()
}

fn header_of(number: u64, extra: usize) -> Vec<u8> {
    let mut header = number.to_le_bytes().to_vec();
    header.extend((0..extra).map(|i| (i as u64 + number) as u8));
    header
}

impl Task {
    /// Handles one event; returns whether there was one.
    fn step(&mut self, world: &RefCell<World>) -> bool {
        let Some(event) = self.context.poll() else { return false };
        match event {
            Event::Message(message) => {
                let packet = self.context.device().polled.clone();
                let header = match message.has_long_header {
                    true => self.context.long_header().to_vec(),
                    false => packet[message.header_from..][..message.header_bytes].to_vec(),
                };
                let number = u64::from_le_bytes(header[..8].try_into().unwrap());
                assert_eq!(header, header_of(number, header.len() - 8));
                assert_eq!(u64::from(message.dispatch), number % 100);
                self.seen.begun.entry(message.origin.task()).or_default().push(number);
                let expected = data_of(number, message.data_bytes);
                if message.is_whole && number.is_multiple_of(2) {
                    assert_eq!(packet[message.header_from + message.header_bytes..], expected);
                    self.context.consumed();
                    *self.seen.received.entry(number).or_default() += 1;
                } else {
                    let address = self.next;
                    self.next += message.data_bytes;
                    self.expected.insert(number, (address, expected));
                    self.context.accept(Receive { address, cookie: number });
                }
            }
            Event::Sent(cookie, outcome) => {
                *self.seen.sent.entry(cookie).or_default() += 1;
                self.seen.outcomes.push(outcome);
            }
            Event::Completed(cookie, outcome) => {
                *self.seen.completed.entry(cookie).or_default() += 1;
                self.seen.outcomes.push(outcome);
            }
            Event::Received(cookie, outcome) => {
                *self.seen.received.entry(cookie).or_default() += 1;
                self.seen.outcomes.push(outcome);
                if let Some((address, expected)) = self.expected.get(&cookie) {
                    let me = self.context.device().task as usize;
                    let memory = &world.borrow().memory[me];
                    assert_eq!(&memory[*address as usize..][..expected.len()], expected);
                }
            }
            Event::Fetched(cookie, value) => {
                self.seen.received.insert(cookie, value as u32);
            }
            Event::Progress => {}
            Event::Collected(_) => unreachable!("this device has no groups"),
            Event::Rmw { origin, request, rmw } => {
                let me = self.context.device().task as usize;
                let at = rmw.address as usize;
                let mut world = world.borrow_mut();
                let word = &mut world.memory[me][at..at + 8];
                let old = u64::from_le_bytes((&*word).try_into().unwrap());
                if let Some(new) = rmw.apply(old) {
                    word.copy_from_slice(&new.to_le_bytes());
                }
                drop(world);
                self.context.answer_rmw(origin, request, old);
            }
        }
        true
    }
}

/// Polls all tasks until nothing is left to do.
fn settle(world: &RefCell<World>, tasks: &mut [Task]) {
    loop {
        let mut is_busy = false;
        for task in tasks.iter_mut() {
            while task.step(world) {
                is_busy = true;
            }
        }
        // A packet that waited for space may have been sent after its receiver looked.
        let is_empty = world.borrow().queues.iter().all(VecDeque::is_empty);
        if !is_busy && is_empty && tasks.iter().all(|task| task.context.is_idle()) {
            return;
        }
    }
}

#[derive(Clone, Debug)]
struct Message {
    from: u32,
    to: u32,
    bytes: u64,
    extra_header: usize,
    is_immediate: bool,
    is_acknowledged: bool,
    /// Events that are handled by which task before the next message.
    polls: Vec<u32>,
}

fn message(tasks: u32) -> impl Strategy<Value = Message> {
    let header = prop_oneof![Just(0usize), 0usize..30, 0usize..300];
    let polls = prop::collection::vec(0..tasks, 0..4);
    let bytes = prop_oneof![Just(0u64), 1..40u64, 1..DATA_MAX];
    (0..tasks, 0..tasks, bytes, header, any::<bool>(), any::<bool>(), polls).prop_map(
        |(from, to, bytes, extra_header, is_immediate, is_acknowledged, polls)| Message {
            from,
            to,
            bytes,
            extra_header,
            is_immediate,
            is_acknowledged,
            polls,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn messages_arrive_once_whole_and_in_order(
        list in prop::collection::vec(message(3), 1..30),
        slots in 1usize..6,
        reads_remote: bool,
        finishes_at_once: bool,
        rendezvous in prop_oneof![Just(0u64), Just(200), Just(5000)],
    ) {
        let (world, mut tasks) = tasks(3, slots, reads_remote, finishes_at_once, rendezvous);
        let mut sent: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
        let mut used = [0u64; 3];
        let mut acknowledged: Vec<(u32, u64)> = vec![];
        let mut sends: Vec<(u32, u64)> = vec![];
        for (number, m) in list.iter().enumerate() {
            let number = number as u64;
            let from = m.from as usize;
            let header = header_of(number, m.extra_header);
            let data = data_of(number, m.bytes);
            let to = Endpoint::new(m.to, 0).unwrap();
            let dispatch = (number % 100) as u16;
            sent.entry((m.from, m.to)).or_default().push(number);
            if m.is_immediate && header.len() + data.len() <= 64 {
                let went = tasks[from].context.send_immediate(to, dispatch, [&header, &data], true);
                prop_assert_eq!(went, Ok(true));
            } else {
                let address = used[from];
                used[from] += m.bytes;
                world.borrow_mut().memory[from][address as usize..][..data.len()].copy_from_slice(&data);
                let data = Range { address, bytes: m.bytes };
                let (header, is_acknowledged) = (&header[..], m.is_acknowledged);
                let send = Send { to, dispatch, header, data, cookie: number, is_acknowledged };
                tasks[from].context.send(send).unwrap();
                sends.push((m.from, number));
                if m.is_acknowledged {
                    acknowledged.push((m.from, number));
                }
            }
            for &task in &m.polls {
                tasks[task as usize].step(&world);
            }
        }
        settle(&world, &mut tasks);
        for (&(from, to), numbers) in &sent {
            prop_assert_eq!(tasks[to as usize].seen.begun.get(&from), Some(numbers));
            for number in numbers {
                prop_assert_eq!(tasks[to as usize].seen.received.get(number), Some(&1), "of {}", number);
            }
        }
        for (from, number) in sends {
            prop_assert_eq!(tasks[from as usize].seen.sent.get(&number), Some(&1), "of {}", number);
        }
        let reports: usize = tasks.iter().map(|task| task.seen.completed.len()).sum();
        prop_assert_eq!(reports, acknowledged.len());
        for (from, number) in acknowledged {
            prop_assert_eq!(tasks[from as usize].seen.completed.get(&number), Some(&1), "of {}", number);
        }
    }
}
