//! Sends, receives and their requests. A short message is sent within the call; a longer one keeps its data
//! until the transport has read it. A message that nobody waits for is kept until it is received.

use crate::error::{Class, Error};
use crate::group::Group;
use crate::matching::{Envelope, Matching, Pattern};
use crate::one_sided;
use crate::transport::{Collective, Memory, MessageEvent, Outcome, Process, Refused, Step, Team, Transport};
use crate::unexpected::Messages;
use crate::waits::Sent;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

mod begun;
pub mod partitions;
mod pending;
mod reports;

pub use partitions::is_partitioned;

/// A request by number. The number of one that has been taken is used again.
pub type Number = u32;

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The sender of the message that was received.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// Length of the data that was received, bytes.
    pub bytes: u64,
    /// Whether the message was longer than the space for it.
    pub is_truncated: bool,
    /// Whether the other process has ended.
    pub is_cut: bool,
    /// Whether the receive was cancelled.
    pub is_cancelled: bool,
}

/// What has become of a request. It owns nothing, so that one state replaces another by storing its parts:
/// made elsewhere and moved, they would be loaded as larger words than were stored, for which the processor
/// waits.
#[derive(Clone, Copy, Debug)]
enum State {
    Free,
    Sending(Sent),
    /// Ends when the data may be reused and a receive has taken the message.
    SendingSynchronous(Synchronous),
    /// Nobody asks for its end; the data is in [`Tables::buffers`] until then, unless it stays anyway.
    SendingKept(Sent),
    /// Waits for a message, or for the rest of its data.
    Receiving(Memory),
    /// Data of a message that is longer than the space for it arrives in one of [`Tables::buffers`].
    ReceivingLong(Memory, Ended),
    /// Data arrives where it belongs.
    Arriving(Ended),
    /// The transport carries out a collective.
    Collective {
        context: u32,
        number: u32,
    },
    /// The transport makes the team of this context.
    Team(u32),
    Ended(Ended),
}

/// A synchronous send, and what has happened of what it waits for.
#[derive(Clone, Copy, Debug)]
struct Synchronous {
    is_sent: bool,
    is_taken: bool,
    of: Sent,
}

#[derive(Debug, Default)]
struct Tables {
    matching: Matching,
    requests: Vec<State>,
    /// Data of few requests, by their numbers.
    buffers: BTreeMap<Number, Box<[u8]>>,
    free: Vec<Number>,
    unexpected: Messages,
    partitions: partitions::Partitions,
}

/// Where the data of a message goes that is longer than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: u64,
    /// The number with which its arrival is to be reported.
    pub number: u64,
    /// Whether it is a buffer of this library, of a message that no receive waits for or has space for.
    pub is_buffer: bool,
}

/// A message that has been taken and not been received.
#[derive(Debug)]
pub struct Taken {
    /// What it is.
    pub envelope: Envelope,
    at: u32,
}

/// The context of answers to synchronous sends.
const ANSWERS: u32 = u32::MAX;

/// Numbers of the transport: a request's, or with this bit that of an unexpected message.
const UNEXPECTED: u64 = 1 << 32;
/// Or with this bit that of data of a window.
const ONE_SIDED: u64 = 1 << 33;

/// Sends and receives of a process.
#[derive(Debug)]
pub struct PointToPoint<T> {
    transport: T,
    tables: RefCell<Tables>,
    /// Windows, whose messages have a context of their own.
    pub(crate) one_sided: RefCell<one_sided::Tables>,
    is_blocking: Cell<bool>,
    /// What the last probe looked for, if it was not there.
    probed: Cell<Option<Pattern>>,
    /// Memory that the last collective needed for what it received.
    scratch: RefCell<Vec<u8>>,
    /// The first set of flags that this process has given to no communicator.
    pub(crate) next_set: Cell<u32>,
    counters: Counters,
    begun: begun::Histories,
}

/// What has been done so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Messages that this process has begun to send.
    pub sends: Cell<u64>,
    /// The bytes of their data.
    pub sent_bytes: Cell<u64>,
    /// Messages that arrived before a receive of theirs was posted.
    pub unexpected: Cell<u64>,
}

impl Counters {
    fn count_send(&self, data: Memory) {
        self.sends.set(self.sends.get() + 1);
        self.sent_bytes.set(self.sent_bytes.get() + data.bytes);
    }

    fn count_unexpected(&self) {
        self.unexpected.set(self.unexpected.get() + 1);
    }
}

impl Tables {
    #[inline(always)]
    fn insert(&mut self, state: State) -> Number {
        match self.free.pop() {
            Some(number) => {
                self.requests[number as usize] = state;
                number
            }
            None => {
                self.requests.push(state);
                self.requests.len() as Number - 1
            }
        }
    }
}

impl Tables {
    /// The number may be used again.
    #[inline]
    fn free(&mut self, number: Number) {
        self.requests[number as usize] = State::Free;
        self.free.push(number);
    }

    /// One of the two things has happened for which a synchronous send waits.
    fn end_synchronous(&mut self, number: Number, happened: impl Fn(bool, bool) -> (bool, bool)) {
        let Some(state) = self.requests.get_mut(number as usize) else { return };
        let State::SendingSynchronous(send) = state else { return };
        (send.is_sent, send.is_taken) = happened(send.is_sent, send.is_taken);
        if send.is_sent && send.is_taken {
            *state = State::Ended(Ended::default());
        }
    }
}

fn sent(to: Process, envelope: &Envelope) -> Sent {
    let Envelope { context, tag, bytes, .. } = *envelope;
    Sent { to, context, tag, bytes }
}

/// How a receive of a message into space of this length ends.
#[inline]
fn ended(envelope: &Envelope, space_bytes: u64) -> Ended {
    Ended {
        source: envelope.source,
        tag: envelope.tag,
        bytes: envelope.bytes.min(space_bytes),
        is_truncated: envelope.bytes > space_bytes,
        ..Ended::default()
    }
}

impl<T: Transport> PointToPoint<T> {
    /// Over a transport.
    pub fn new(transport: T) -> Self {
        PointToPoint {
            transport,
            tables: RefCell::default(),
            is_blocking: Cell::new(false),
            probed: Cell::new(None),
            scratch: RefCell::default(),
            next_set: Cell::new(0),
            counters: Counters::default(),
            one_sided: RefCell::default(),
            begun: begun::Histories::default(),
        }
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// What has been done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many receives wait for a message, and how many messages for a receive.
    pub fn waiting(&self) -> [u64; 2] {
        let matching = &self.tables.borrow().matching;
        [matching.posted().count() as u64, matching.unexpected().count() as u64]
    }

    #[inline(always)]
    fn begin_send(&self, to: Process, envelope: Envelope, data: Memory) {
        self.counters.count_send(data);
        self.transport.observe(|| MessageEvent::Sent(to, envelope));
        self.transport.spend(Step::Send);
    }

    /// Sends a message that is no longer than the transport's short ones: it has ended when this returns.
    ///
    /// # Errors
    /// If the transport refuses it.
    #[inline(always)]
    pub fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Error> {
        self.begin_send(to, envelope, data);
        self.transport.send_short(to, envelope, data).map_err(|refused| Error::new(Class::Other, refused.0))
    }

    /// Sends a message that is longer, if the transport carries it at once; `None` if it does not.
    #[inline(always)]
    pub fn send_whole(&self, to: Process, envelope: Envelope, data: Memory) -> Option<Result<(), Error>> {
        if data.bytes as usize > self.transport.whole_max_bytes() {
            return None;
        }
        match self.transport.send_whole(to, envelope, data) {
            Ok(false) => None,
            Ok(true) => {
                self.begin_send(to, envelope, data);
                Some(Ok(()))
            }
            Err(refused) => Some(Err(Error::new(Class::Other, refused.0))),
        }
    }

    /// Starts to send; `None` if it has ended.
    ///
    /// # Errors
    /// If the transport refuses it.
    #[inline(always)]
    pub fn send(&self, to: Process, envelope: Envelope, data: Memory) -> Result<Option<Number>, Error> {
        if data.bytes as usize <= self.transport.short_max_bytes() {
            return self.send_short(to, envelope, data).map(|()| None);
        }
        if let Some(sent) = self.send_whole(to, envelope, data) {
            return sent.map(|()| None);
        }
        self.send_long(to, envelope.to_bytes(), data).map(Some)
    }

    /// The envelope comes as bytes: its address would have the envelope of short messages in memory, too.
    #[inline(never)]
    fn send_long(&self, to: Process, envelope: [u8; Envelope::BYTES], data: Memory) -> Result<Number, Error> {
        let envelope = Envelope::of_bytes(&envelope).expect("they are as many");
        let refused = |e: Refused| Error::new(Class::Other, e.0);
        self.begin_send(to, envelope, data);
        let number = self.tables.borrow_mut().insert(State::Sending(sent(to, &envelope)));
        let sent = self.transport.send(to, envelope, data, u64::from(number));
        if sent.is_err() {
            self.free(number);
        }
        sent.map_err(refused)?;
        Ok(number)
    }

    /// Starts to send; the request ends when a receive has taken the message.
    ///
    /// # Errors
    /// If the transport refuses it.
    pub fn send_synchronous(&self, to: Process, envelope: Envelope, data: Memory) -> Result<Number, Error> {
        self.begin_send(to, envelope, data);
        let is_sent = data.bytes as usize <= self.transport.short_max_bytes();
        let send = Synchronous { is_sent, is_taken: false, of: sent(to, &envelope) };
        let number = self.tables.borrow_mut().insert(State::SendingSynchronous(send));
        let envelope = Envelope { acknowledge: number + 1, ..envelope };
        let sent = match is_sent {
            true => self.transport.send_short(to, envelope, data),
            false => self.transport.send(to, envelope, data, u64::from(number)),
        };
        if let Err(refused) = sent {
            self.free(number);
            return Err(Error::new(Class::Other, refused.0));
        }
        Ok(number)
    }

    /// Makes the request of a send that another thread [carries out](Self::carry_out).
    pub fn hand_over(&self, to: Process, envelope: &Envelope, data: Memory) -> Number {
        self.counters.count_send(data);
        self.transport.spend(Step::Send);
        self.tables.borrow_mut().insert(State::Sending(sent(to, envelope)))
    }

    /// Starts a send that was handed over.
    ///
    /// # Errors
    /// If the transport refuses it.
    pub fn carry_out(
        &self,
        number: Number,
        to: Process,
        envelope: Envelope,
        data: Memory,
    ) -> Result<(), Refused> {
        if data.bytes as usize > self.transport.short_max_bytes() {
            return self.transport.send(to, envelope, data, u64::from(number));
        }
        self.transport.send_short(to, envelope, data)?;
        self.tables.borrow_mut().requests[number as usize] = State::Ended(Ended::default());
        Ok(())
    }

    /// Sends a message of whose end nobody wants to know.
    pub(crate) fn send_and_forget(
        &self,
        to: Process,
        envelope: Envelope,
        data: Memory,
        kept: Option<Box<[u8]>>,
    ) -> Result<(), Refused> {
        if data.bytes as usize <= self.transport.short_max_bytes() {
            return self.transport.send_short(to, envelope, data);
        }
        if data.bytes as usize <= self.transport.whole_max_bytes()
            && self.transport.send_whole(to, envelope, data)?
        {
            return Ok(());
        }
        let number = {
            let mut tables = self.tables.borrow_mut();
            let number = tables.insert(State::SendingKept(sent(to, &envelope)));
            tables.buffers.extend(kept.map(|data| (number, data)));
            number
        };
        let sent = self.transport.send(to, envelope, data, u64::from(number));
        if sent.is_err() {
            self.free(number);
        }
        sent
    }

    /// A receive has taken a message. Its data is there, or follows to this request.
    #[inline(always)]
    fn taken(&self, from: Process, envelope: &Envelope, rest: Option<Number>) {
        self.transport.observe(|| MessageEvent::Taken(from, *envelope, rest));
        if envelope.acknowledge == 0 {
            return;
        }
        let answer =
            Envelope { context: ANSWERS, source: 0, tag: 0, bytes: 0, acknowledge: envelope.acknowledge };
        // A sender that has ended does not wait.
        let _ = self.transport.send_short(from, answer, Memory { address: 0, bytes: 0 });
    }

    /// Starts to receive.
    #[inline(always)]
    pub fn receive(&self, pattern: Pattern, space: Memory) -> Number {
        self.transport.spend(Step::Receive);
        if let Some(message) = self.take(&pattern) {
            return self.receive_taken(message, space);
        }
        let mut tables = self.tables.borrow_mut();
        let number = tables.insert(State::Receiving(space));
        tables.matching.post(pattern, u64::from(number));
        number
    }

    /// Takes the first message that a receive of this pattern would get: no other receive gets it.
    #[inline(always)]
    pub fn take(&self, pattern: &Pattern) -> Option<Taken> {
        let mut tables = self.tables.borrow_mut();
        let found = tables.matching.take_unexpected(pattern);
        self.transport.spend(Step::Search(tables.matching.searched()));
        let (envelope, at) = found?;
        Some(Taken { envelope, at: at as u32 })
    }

    /// Starts to receive a message that has been taken.
    pub fn receive_taken(&self, Taken { envelope, at }: Taken, space: Memory) -> Number {
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        let end = ended(&envelope, space.bytes);
        self.transport.spend(Step::Complete);
        let from = tables.unexpected[at].from;
        if !tables.unexpected[at].is_complete {
            let number = tables.insert(State::Receiving(space));
            self.taken(from, &envelope, Some(number));
            tables.unexpected[at].receive = Some((number, envelope));
            return number;
        }
        self.taken(from, &envelope, None);
        let message = &tables.unexpected[at];
        let end = Ended { is_cut: message.is_cut, ..end };
        self.transport.store(&message.data[..end.bytes as usize], space.address);
        tables.unexpected.remove(at);
        tables.insert(State::Ended(end))
    }

    /// The first message that a receive of this pattern would get.
    pub fn probe(&self, pattern: &Pattern) -> Option<Envelope> {
        let found = self.tables.borrow().matching.probe(pattern);
        self.note_probe(pattern, found.is_some());
        found
    }

    /// A probe has looked for a message, which is [pending](Self::pending) if it is not there.
    pub fn note_probe(&self, pattern: &Pattern, is_there: bool) {
        self.probed.set((!is_there).then_some(*pattern));
    }

    /// Ends a receive, if no message has matched it yet.
    pub fn cancel(&self, number: Number) {
        let mut tables = self.tables.borrow_mut();
        if tables.matching.cancel(number.into()) {
            tables.requests[number as usize] = State::Ended(Ended { is_cancelled: true, ..Ended::default() });
        }
    }

    /// How a request has ended, if it has.
    #[inline]
    pub fn test(&self, number: Number) -> Option<Ended> {
        match &self.tables.borrow().requests[number as usize] {
            State::Ended(end) => Some(*end),
            _ => None,
        }
    }

    /// Frees a request if it has ended as it should; returns how.
    #[inline]
    pub fn take_good(&self, number: Number) -> Option<Ended> {
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        match tables.requests[number as usize] {
            State::Ended(end) if !end.is_cut && !end.is_truncated => {
                tables.free(number);
                Some(end)
            }
            _ => None,
        }
    }

    /// Frees a request that has ended.
    #[inline]
    pub fn free(&self, number: Number) {
        let mut tables = self.tables.borrow_mut();
        tables.buffers.remove(&number);
        tables.free(number);
    }
}

/// Collectives of the transport.
impl<T: Transport> PointToPoint<T> {
    /// Starts to make a team of a group, if the transport has collectives for it.
    pub fn create_team(&self, group: &Group) -> Option<(Team, Number)> {
        let number = self.tables.borrow_mut().insert(State::Team(group.context));
        let team = self.transport.create_team(group, u64::from(number));
        if team.is_none() {
            self.free(number);
        }
        team.map(|team| (team, number))
    }

    /// Memory that a collective receives to, so that not each has the kernel make new pages.
    pub fn take_scratch(&self, bytes: usize) -> Vec<u8> {
        let mut scratch = self.scratch.take();
        scratch.resize(bytes, 0);
        scratch
    }

    /// The reverse. Much memory is not kept.
    pub fn give_scratch(&self, scratch: Vec<u8>) {
        const MAX_BYTES: usize = 4 << 20;
        if scratch.capacity() <= MAX_BYTES {
            self.scratch.replace(scratch);
        }
    }

    /// Whether the program waits for the collectives that are started from now on before it starts others.
    pub fn set_blocking(&self, is_blocking: bool) {
        self.is_blocking.set(is_blocking);
    }

    /// What was set last.
    pub fn is_blocking(&self) -> bool {
        self.is_blocking.get()
    }

    /// Starts a collective of a team, the `number`-th of a context; `None` if messages are to do it.
    ///
    /// # Errors
    /// If the transport refuses it.
    pub fn start_collective(
        &self,
        team: Team,
        (context, number): (u32, u32),
        collective: &Collective,
    ) -> Result<Option<Number>, Error> {
        let number = self.hand_over_collective(context, number);
        let started = self.carry_out_collective(number, team, collective);
        let is_started = started.map_err(|refused| Error::new(Class::Other, refused.0))?;
        Ok(is_started.then_some(number))
    }

    /// Makes the request of a collective, the `number`-th of a context, that another thread [carries
    /// out](Self::carry_out_collective).
    pub fn hand_over_collective(&self, context: u32, number: u32) -> Number {
        self.transport.spend(Step::Collective);
        self.tables.borrow_mut().insert(State::Collective { context, number })
    }

    /// Starts a collective that was handed over; returns false, and frees its request, if messages are to do
    /// it.
    ///
    /// # Errors
    /// If the transport refuses it.
    pub fn carry_out_collective(
        &self,
        number: Number,
        team: Team,
        collective: &Collective,
    ) -> Result<bool, Refused> {
        let is_blocking = self.is_blocking.get();
        let started = self.transport.start_collective(team, collective, is_blocking, u64::from(number));
        if started != Ok(true) {
            self.free(number);
        }
        started
    }

    /// A collective of the transport has ended.
    pub fn collected(&self, number: u64, outcome: Outcome) {
        let (is_truncated, is_cut) = (outcome == Outcome::LengthsDiffer, outcome == Outcome::MemberGone);
        let end = Ended { is_truncated, is_cut, ..Ended::default() };
        self.tables.borrow_mut().requests[number as usize] = State::Ended(end);
    }
}
