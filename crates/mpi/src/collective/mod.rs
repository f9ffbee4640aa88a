//! Collective operations, as `async fn` over point-to-point messages: they wait by returning to whoever polls
//! them, so a blocking call polls one until it has ended, and several may be under way.
//!
//! - `barrier` – dissemination.
//! - `flags` – short ones through memory that processes share.
//! - `equal_parts` – gather and scatter along a binomial tree.
//! - `inter` – between two groups.
//! - `movement` – broadcast and scatter along a binomial tree, gather, all-gather in a ring, all-to-all in
//!   pairs.
//! - `neighborhood` – messages with some of the ranks.
//! - `reduce_scatter` – in pairs, or by reduce and scatter.
//! - `reduction` – reduce along a binomial tree, all-reduce by recursive doubling, scans.
//!
//! Where the communicator has a team, the transport is asked first whether it carries out the collective.
//!
//! Each collective of a communicator has a tag of its own, by its number there, so that those that follow
//! each other do not take each other's messages.

mod barrier;
mod equal_parts;
mod flags;
pub mod inter;
mod movement;
mod neighborhood;
mod reduce_scatter;
mod reduction;

pub use barrier::barrier;
pub use equal_parts::{gather_equal, scatter_equal};
pub use flags::Flags;
pub use movement::{all_gather, all_to_all, broadcast, gather, parts, scatter};
pub use neighborhood::exchange;
pub use reduce_scatter::reduce_scatter;
pub use reduction::{Combine, all_reduce, all_reduce_from, reduce, scan};

use crate::error::{Class, Error};
use crate::group::{Group, Processes};
use crate::matching::{Envelope, Pattern};
use crate::point_to_point::{Number, PointToPoint};
use crate::transport::{Collective, Memory, Process, Team, Transport};
use std::cell::OnceCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

fn memory(space: &mut [u8]) -> Memory {
    Memory { address: space.as_mut_ptr() as u64, bytes: space.len() as u64 }
}

/// How a message of a collective has ended.
enum End {
    /// With this length, bytes.
    Good(u64),
    /// It was longer than its space.
    TooLong,
    /// Its other process has ended.
    Cut,
}

/// A message of another length than expected.
#[derive(Debug)]
struct WrongLength {
    /// Its length, bytes; without one, only that it was longer is known.
    bytes: Option<u64>,
    expected_bytes: u64,
    /// The rank, or process, that sent it; of collectives of the transport, nobody knows.
    source: Option<i32>,
}

#[cold]
fn cut() -> Error {
    Error::new(Class::ProcAborted, "another process of the communicator has ended")
}

/// One collective operation of a communicator.
#[derive(Debug)]
pub struct Operation<T> {
    point_to_point: Rc<PointToPoint<T>>,
    group: Group,
    /// The other group, if messages go to one.
    remote: Option<Processes>,
    tag: i32,
    /// The transport's team of the group.
    team: Option<Team>,
    /// What the communicator has of flags.
    flags: Option<Rc<Flags>>,
    /// Whether messages tell of the process that sent them instead of its rank.
    is_between_processes: bool,
    /// The first message of another length than this rank expected.
    wrong_length: OnceCell<Box<WrongLength>>,
}

impl<T: Transport> Operation<T> {
    /// The `number`-th collective of a group.
    #[inline(always)]
    pub fn new(point_to_point: Rc<PointToPoint<T>>, group: Group, number: u32) -> Self {
        Self::between(point_to_point, group, None, None, number)
    }

    /// The same of a group with a team of the transport, or with messages to and from the ranks of another
    /// group.
    #[inline(always)]
    pub fn between(
        point_to_point: Rc<PointToPoint<T>>,
        group: Group,
        remote: Option<Processes>,
        team: Option<Team>,
        number: u32,
    ) -> Self {
        let tag = (number & 0x7fff_ffff) as i32;
        point_to_point.collective_begins(group.context, tag as u32);
        let team = team.filter(|_| remote.is_none());
        // Made at once, and not changed: it is read soon, and what is stored in parts is read late.
        Operation {
            point_to_point,
            group,
            remote,
            tag,
            team,
            flags: None,
            is_between_processes: false,
            wrong_length: OnceCell::new(),
        }
    }

    /// The same, where groups of several operations share context and tag: a rank is then another process in
    /// each of them.
    #[inline]
    pub fn between_processes(mut self) -> Self {
        self.is_between_processes = true;
        self
    }

    /// The same for a group with a team of the transport.
    #[inline(always)]
    pub fn of_team(mut self, team: Option<Team>) -> Self {
        self.team = team;
        self
    }

    /// The same of a communicator that has flags.
    #[inline(always)]
    pub fn with_flags(mut self, flags: Option<&Rc<Flags>>) -> Self {
        self.flags = flags.cloned();
        self
    }

    /// This process's rank.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.group.rank
    }

    /// Number of ranks that messages go to.
    #[inline]
    pub fn size(&self) -> u32 {
        self.remote.as_ref().map_or(self.group.size, Processes::size)
    }

    #[inline]
    fn process(&self, rank: u32) -> Process {
        self.remote.as_ref().map_or_else(|| self.group.process(rank), |remote| remote.process(rank))
    }

    /// Has the transport carry out the collective, and waits for its end; returns whether it has done so.
    /// This is the first thing that an operation does: later the program may have freed the communicator at
    /// some ranks.
    async fn by_transport(&self, collective: Collective) -> Result<bool, Error> {
        match self.team {
            // In a box: without a team, collectives are the smaller, and they are moved now and then.
            Some(team) => Box::pin(self.by_team(team, collective)).await,
            None => Ok(false),
        }
    }

    async fn by_team(&self, team: Team, collective: Collective) -> Result<bool, Error> {
        let of = (self.group.context, self.tag as u32);
        match self.point_to_point.start_collective(team, of, &collective)? {
            Some(number) => {
                self.wait(number).await?;
                self.check_lengths().map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Notes what must be the same at all ranks, for reports of those that wait for ever.
    #[inline]
    fn note(&self, root: Option<u32>, bytes: Option<usize>) {
        if self.remote.is_none() {
            self.point_to_point.note_collective(self.group.context, self.tag as u32, root, bytes);
        }
    }

    /// The same where elements are combined, in place; a root of `None` stands for all ranks.
    async fn reduced_by_transport(
        &self,
        data: &mut [u8],
        root: Option<u32>,
        combine: &impl Combine,
    ) -> Result<bool, Error> {
        let Some((op, of)) = combine.predefined().filter(|_| self.team.is_some()) else { return Ok(false) };
        let root = root.map(|root| self.process(root));
        self.by_transport(Collective::Reduce { root, data: memory(data), op, of }).await
    }

    /// What messages have as their source.
    #[inline]
    fn source(&self, rank: u32, process: impl FnOnce() -> Process) -> i32 {
        if self.is_between_processes { process() as i32 } else { rank as i32 }
    }

    #[inline(always)]
    fn start_send(&self, to: u32, data: &[u8]) -> Result<Option<Number>, Error> {
        let envelope = Envelope {
            context: self.group.context + 1,
            source: self.source(self.group.rank, || self.group.process(self.group.rank)),
            tag: self.tag,
            bytes: data.len() as u64,
            acknowledge: 0,
        };
        let data = Memory { address: data.as_ptr() as u64, bytes: data.len() as u64 };
        self.point_to_point.send(self.process(to), envelope, data)
    }

    #[inline(always)]
    fn start_receive(&self, from: u32, space: &mut [u8]) -> Number {
        let source = self.source(from, || self.process(from));
        let pattern = Pattern { context: self.group.context + 1, source, tag: self.tag };
        self.point_to_point.receive(pattern, memory(space))
    }

    /// How a message has ended, if it has.
    #[inline(always)]
    fn poll_end(&self, number: Number) -> Poll<End> {
        match self.point_to_point.take_good(number) {
            Some(end) => Poll::Ready(End::Good(end.bytes)),
            None => self.poll_bad_end(number),
        }
    }

    #[inline(never)]
    fn poll_bad_end(&self, number: Number) -> Poll<End> {
        let Some(end) = self.point_to_point.test(number) else { return Poll::Pending };
        self.point_to_point.free(number);
        Poll::Ready(if end.is_cut { End::Cut } else { End::TooLong })
    }

    async fn wait(&self, number: Number) -> Result<(), Error> {
        match poll_fn(|_| self.poll_end(number)).await {
            End::Good(_) => return Ok(()),
            End::TooLong => self.note_wrong_length(None, None, 0),
            End::Cut => return Err(cut()),
        }
        Ok(())
    }

    /// The same for a message of a rank that should fill its space.
    async fn wait_for(&self, number: Number, from: u32, bytes: usize) -> Result<(), Error> {
        match poll_fn(|_| self.poll_end(number)).await {
            End::Good(length) if length == bytes as u64 => return Ok(()),
            End::Good(length) => self.note_wrong_length(Some(from), Some(length), bytes),
            End::TooLong => self.note_wrong_length(Some(from), None, bytes),
            End::Cut => return Err(cut()),
        }
        Ok(())
    }

    /// Notes a message of another length than expected; without a length, one that was longer.
    #[cold]
    fn note_wrong_length(&self, from: Option<u32>, bytes: Option<u64>, expected: usize) {
        let source = from.map(|rank| self.source(rank, || self.process(rank)));
        let expected_bytes = expected as u64;
        // The first one tells most: those after it follow from it.
        _ = self.wrong_length.set(Box::new(WrongLength { bytes, expected_bytes, source }));
    }

    /// Whether all lengths were as this rank expected: asked at the end, so that other ranks do not wait for
    /// the messages of one that finds a mistake.
    ///
    /// # Errors
    /// If they were not.
    pub fn check_lengths(&self) -> Result<(), Error> {
        match self.wrong_length.get() {
            Some(message) => Err(self.lengths_differ(message)),
            None => Ok(()),
        }
    }

    #[cold]
    fn lengths_differ(&self, message: &WrongLength) -> Error {
        let mut text = "ranks give different lengths to a collective operation".to_owned();
        if let Some(source) = message.source {
            let sender = if self.is_between_processes { "process" } else { "rank" };
            let expected = message.expected_bytes;
            text += &match message.bytes {
                Some(bytes) => {
                    format!(": {sender} {source} sends {bytes} B where this rank expects {expected} B")
                }
                None => {
                    format!(": {sender} {source} sends more than the {expected} B that this rank expects")
                }
            };
        }
        Error::new(Class::Truncate, text)
    }

    async fn send(&self, to: u32, data: &[u8]) -> Result<(), Error> {
        match self.start_send(to, data)? {
            Some(number) => self.wait(number).await,
            None => Ok(()),
        }
    }

    /// Sends to several ranks at the same time.
    async fn send_all<'a>(&self, messages: impl Iterator<Item = (u32, &'a [u8])>) -> Result<(), Error> {
        let mut sends = vec![];
        for (to, data) in messages {
            sends.extend(self.start_send(to, data)?);
        }
        for send in sends {
            self.wait(send).await?;
        }
        Ok(())
    }

    async fn receive(&self, from: u32, space: &mut [u8]) -> Result<(), Error> {
        let number = self.start_receive(from, space);
        self.wait_for(number, from, space.len()).await
    }

    /// Sends and receives at the same time.
    async fn exchange(&self, to: u32, data: &[u8], from: u32, space: &mut [u8]) -> Result<(), Error> {
        let receive = self.start_receive(from, space);
        if let Some(send) = self.start_send(to, data)? {
            self.wait(send).await?;
        }
        self.wait_for(receive, from, space.len()).await
    }
}
