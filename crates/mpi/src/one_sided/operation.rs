//! Operations of an origin: put, get, accumulates.

use super::message::{FIXED, Header, Kind, Label, NO_TOKEN, Token};
use super::state::{Access, Held, take_one};
use super::target::{Exposed, Place, Reply, carry_out, exclusively, write};
use super::{Window, wrong_synchronization};
use crate::datatype::{Layout, Predefined};
use crate::error::{Class, Error};
use crate::op::Op;
use crate::paths::Path;
use crate::transport::{Memory, Process, Refused, Transport};

/// Where an operation is carried out.
#[derive(Clone, Debug)]
pub struct At {
    /// The rank of the target.
    pub rank: u32,
    /// From its base, in its units; in a dynamic window the address.
    pub displacement: i64,
    /// Where data is from there on.
    pub layout: Layout,
}

/// Data that an origin writes, one piece.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// It stays as it is.
    Stays(&'a [u8]),
    /// It is only lent to the call.
    Lent(&'a [u8]),
}

impl<'a> Data<'a> {
    fn as_slice(&self) -> &'a [u8] {
        match self {
            Data::Stays(bytes) | Data::Lent(bytes) => bytes,
        }
    }
}

/// What an accumulate does.
#[derive(Clone, Copy, Debug)]
pub struct Accumulate {
    /// The reduction.
    pub op: Op,
    /// The type of all elements; not needed by [`Op::Replace`] and [`Op::NoOp`].
    pub element: Option<&'static Predefined>,
}

/// What an origin waits for before it accesses a target.
#[derive(PartialEq)]
enum Missing {
    Nothing,
    Post,
    Lock,
}

const PLAIN: Accumulate = Accumulate { op: Op::Replace, element: None };

impl<T: Transport> Window<T> {
    /// Checks the memory of an operation; its offset from the target's base, bytes.
    fn offset(&self, at: &At) -> Result<i64, Error> {
        let Some((bytes, unit)) = self.extents.of(at.rank) else { return Ok(at.displacement) };
        if at.displacement < 0 {
            let text = format!("target_disp is {}, which is negative", at.displacement);
            return Err(Error::new(Class::Disp, text));
        }
        let base = i128::from(at.displacement) * i128::from(unit);
        let is_within = at
            .layout
            .span()
            .is_none_or(|[first, end]| base + first as i128 >= 0 && base + end as i128 <= i128::from(bytes));
        if !is_within {
            let text = format!(
                "target_disp is {} with units of {unit} B, so data of the target would be outside of its window of {bytes} B",
                at.displacement
            );
            return Err(Error::new(Class::RmaRange, text));
        }
        Ok(i64::try_from(base).unwrap_or(0))
    }

    /// Whether a target may be accessed. Before its operations the program waits for it, if not.
    ///
    /// # Errors
    /// If no epoch allows it.
    #[inline]
    pub fn may_access(&self, rank: u32) -> Result<bool, Error> {
        Ok(self.accessible.get() == Some(rank) || self.missing(rank)? == Missing::Nothing)
    }

    /// Waits until a target may be accessed.
    ///
    /// # Errors
    /// As [`Self::may_access`].
    pub async fn wait_for_access(&self, rank: u32) -> Result<(), Error> {
        match self.missing(rank)? {
            Missing::Nothing => {}
            Missing::Post => self.wait_for_post(self.process(rank)).await,
            Missing::Lock => self.acquire(self.process(rank), false).await,
        }
        self.accessible.set(Some(rank));
        Ok(())
    }

    fn missing(&self, rank: u32) -> Result<Missing, Error> {
        let process = self.process(rank);
        let missing = self.state(|state| {
            let lock = state.held(process);
            match &mut state.access {
                Access::None => {
                    Err(wrong_synchronization("no epoch is open: there was no fence, start or lock"))
                }
                Access::Fence { is_used } => {
                    *is_used = true;
                    Ok(Missing::Nothing)
                }
                Access::Started { group, is_unchecked } if group.contains(&process) => {
                    Ok(if *is_unchecked { Missing::Nothing } else { Missing::Post })
                }
                Access::Started { .. } => Err(wrong_synchronization(format!(
                    "the target, rank {rank}, is not in the group of MPI_Win_start"
                ))),
                Access::LockAll { is_unchecked: false } if matches!(lock, Held::No | Held::Asked) => {
                    Ok(Missing::Lock)
                }
                Access::LockAll { .. } => Ok(Missing::Nothing),
                Access::Locks if lock != Held::No => Ok(Missing::Nothing),
                Access::Locks => {
                    Err(wrong_synchronization(format!("the target, rank {rank}, is not locked by this rank")))
                }
            }
        })?;
        if missing == Missing::Nothing {
            self.accessible.set(Some(rank));
        }
        Ok(missing)
    }

    /// Waits until a target of this epoch has posted.
    pub(super) async fn wait_for_post(&self, process: Process) {
        self.until(|state| {
            let is_posted = state.target(process).is_posted || take_one(&mut state.posts, process);
            state.target(process).is_posted = is_posted;
            is_posted
        })
        .await;
    }

    /// Asks for the lock of a target, and waits for it.
    pub(super) async fn acquire(&self, process: Process, is_exclusive: bool) {
        let kind = if is_exclusive { Kind::LockExclusive } else { Kind::LockShared };
        // Another thread of the program may have asked for it.
        let asks = self.state(|state| {
            let lock = &mut state.target(process).lock;
            !matches!(std::mem::replace(lock, Held::Asked), Held::Asked)
        });
        if asks {
            self.send(process, kind, 0, vec![]);
        }
        self.until(|state| state.target(process).lock == Held::Yes).await;
    }

    pub(super) fn send(&self, to: Process, kind: Kind, token: Token, data: Vec<u8>) {
        let label = Label { kind, window: self.group.context, token };
        self.with(|tables| tables.send(to, label, data));
        self.point_to_point.send_of_windows();
    }

    /// Sends an operation; without a token, one without a result.
    fn operate(&self, to: Process, kind: Kind, token: Option<Token>, header: Header, data: &[&[u8]]) {
        let bytes: usize = data.iter().map(|part| part.len()).sum();
        let token = token.or_else(|| self.with(|tables| tables.expect_answer(self.group.context, to)));
        let token = token.unwrap_or(NO_TOKEN);
        let fill = |message: &mut Vec<u8>| {
            // Of just this length if the data of the target is one piece, so it is not moved again.
            message.reserve_exact(FIXED + bytes);
            header.encode(message);
            data.iter().for_each(|part| message.extend_from_slice(part));
        };
        let transport = self.point_to_point.transport();
        let most = transport.short_max_bytes();
        if bytes <= most && to != transport.own() && self.with(|tables| tables.outgoing.is_empty()) {
            // It is copied when it is sent, so the next one is made in the same memory.
            let mut message = self.message.borrow_mut();
            message.clear();
            fill(&mut message);
            if message.len() <= most {
                let label = Label { kind, window: self.group.context, token };
                let memory = Memory { address: message.as_ptr() as u64, bytes: message.len() as u64 };
                // Who has ended waits for nothing: see `send_of_windows`.
                let _ = transport.send_short(to, label.envelope(message.len()), memory);
                return;
            }
        }
        let mut message = vec![];
        fill(&mut message);
        self.send(to, kind, token, message);
    }

    fn header(&self, at: At, how: Accumulate) -> Result<Header, Error> {
        Ok(Header::new(self.offset(&at)?, how, at.layout))
    }

    /// The memory of a target, if this process has it too.
    fn mapped(&self, rank: u32) -> Option<u64> {
        self.mapped.as_ref().map(|mapped| mapped.memory.of(rank))
    }

    /// Carries out an atomic operation at a target whose memory this process has too; returns whether it has
    /// it.
    fn combine(&self, rank: u32, kind: Kind, header: &Header, data: &[u8], place: Option<&Place>) -> bool {
        let Some(mapped) = &self.mapped else { return false };
        let bytes = self.extents.of(rank).map_or(0, |of| of.0);
        let exposed = Exposed::Static(Memory { address: mapped.memory.of(rank), bytes });
        let end = exclusively(mapped.locks.of(rank), || carry_out(&exposed, kind, header, data));
        // The range was checked before.
        if let (Ok(Some(Reply::Bytes(old))), Some(place)) = (end, place) {
            place.store(&old);
        }
        true
    }

    /// Where the transport finds memory of a target; `None` if it is not known yet, or not to be reached.
    fn located(&self, process: Process) -> Option<u64> {
        if process == self.point_to_point.transport().own() {
            return None;
        }
        let known = self.state(|state| state.located.get(&process).copied());
        if known.is_none() {
            // Messages are sent until it answers, and if it cannot expose its memory, for ever.
            self.state(|state| state.located.insert(process, None));
            self.send(process, Kind::Locate, 0, vec![]);
        }
        known.flatten()
    }

    /// Where one piece of a target's memory is, for the transport.
    fn piece(&self, process: Process, layout: &Layout, offset: i64) -> Option<u64> {
        let at = layout.as_run().filter(|_| self.extents != super::Extents::Dynamic)?;
        let base = match self.reached.get() {
            Some((reached, base)) if reached == process => base,
            _ => {
                let base = self.located(process)?;
                self.reached.set(Some((process, base)));
                base
            }
        };
        Some(base.wrapping_add_signed(offset).wrapping_add_signed(at as i64))
    }

    /// Writes data to a target that [may be accessed](Self::may_access), as for the other operations. A copy
    /// may be reused when this ends, and other data when the token has ended that somebody waits for, or at
    /// the next synchronization.
    ///
    /// # Errors
    /// If it is not within the window.
    pub fn put(&self, at: At, data: Data<'_>, is_awaited: bool) -> Result<Option<Token>, Error> {
        let length = data.as_slice().len();
        check_length(length <= at.layout.bytes(), length, &at)?;
        let (rank, offset) = (at.rank, self.offset(&at)?);
        let to = self.process(rank);
        if let Some(memory) = self.mapped(rank) {
            let data = data.as_slice();
            write(&at.layout, memory.wrapping_add_signed(offset), data);
            return Ok(None);
        }
        let transport = self.point_to_point.transport();
        let (path, is_trial) = transport.put_path(to, length as u64, self.puts.is_alone());
        if let Data::Stays(bytes) = data
            && (length >= transport.transfer_min_bytes().max(1) || path == Path::Copy)
            && let Some(exposed) = self.piece(to, &at.layout, offset)
        {
            let memory = Memory { address: bytes.as_ptr() as u64, bytes: length as u64 };
            if let Some(put) = self.put_to(to, memory, exposed, (path, is_trial), is_awaited) {
                return put;
            }
        }
        self.puts.begin();
        if is_trial && path == Path::Packets {
            self.puts.begin_trial(to, length as u64, path);
        }
        self.operate(to, Kind::Put, None, Header::new(offset, PLAIN, at.layout), &[data.as_slice()]);
        Ok(None)
    }

    /// The same for one piece at both sides, if nothing has to be asked or waited for and nothing is wrong, else
    /// `None`: what most puts of some length are. No function is called on the path to a copy by the kernel,
    /// after which the processor predicts no return.
    #[inline(always)]
    pub fn put_known(
        &self,
        rank: u32,
        displacement: i64,
        data: Memory,
        is_awaited: bool,
    ) -> Option<Result<Option<Token>, Error>> {
        let transport = self.point_to_point.transport();
        let (to, base) = self.reached.get()?;
        if self.accessible.get() != Some(rank) || self.process(rank) != to || self.mapped.is_some() {
            return None;
        }
        let (bytes, unit) = self.extents.of(rank)?;
        let offset = u64::try_from(displacement).ok()?.checked_mul(u64::from(unit))?;
        let is_within = offset.checked_add(data.bytes)? <= bytes;
        let path = transport.put_path(to, data.bytes, self.puts.is_alone());
        let is_short = data.bytes < transport.transfer_min_bytes().max(1) as u64;
        if !is_within || (is_short && path.0 == Path::Packets) {
            return None;
        }
        self.put_to(to, data, base.wrapping_add(offset), path, is_awaited)
    }

    /// Writes data to exposed memory of another process; `None` if it is to be a message, as short data is
    /// that the kernel does not copy.
    #[inline(always)]
    fn put_to(
        &self,
        to: Process,
        data: Memory,
        exposed: u64,
        (path, is_trial): (Path, bool),
        is_awaited: bool,
    ) -> Option<Result<Option<Token>, Error>> {
        let transport = self.point_to_point.transport();
        if is_trial {
            self.puts.begin_trial(to, data.bytes, path);
        }
        if path == Path::Copy {
            if transport.copy_to(to, data, exposed) {
                self.puts.begin();
                return Some(Ok(None));
            }
            self.copy_failed(to, data.bytes, is_trial);
        }
        if data.bytes < transport.transfer_min_bytes() as u64 {
            return None;
        }
        self.puts.begin();
        Some(self.transfer(to, is_awaited, |token| transport.put(to, data, exposed, token)).map(Some))
    }

    /// The kernel refused to copy the data of a put: the trial counts as the slowest possible.
    #[cold]
    fn copy_failed(&self, to: Process, bytes: u64, is_trial: bool) {
        if is_trial {
            self.puts.end_trial();
            self.point_to_point.transport().note_put(to, bytes, Path::Copy, None);
        }
    }

    /// Leaves an operation to the transport.
    fn transfer(
        &self,
        with: Process,
        is_awaited: bool,
        start: impl FnOnce(u64) -> Result<(), Refused>,
    ) -> Result<Token, Error> {
        let window = self.group.context;
        let token = self.with(|tables| tables.expect(window, with, None, is_awaited));
        if let Err(refused) = start(token.into()) {
            self.with(|tables| tables.withdraw(token));
            return Err(Error::new(Class::Other, refused.0));
        }
        Ok(token)
    }

    /// Reads data of a target. Somebody may wait for the token; without one it has ended.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn get(&self, at: At, place: Place, is_awaited: bool) -> Result<Option<Token>, Error> {
        let space = place.layout.bytes();
        check_length(at.layout.bytes() <= space, space, &at)?;
        let (rank, offset) = (at.rank, self.offset(&at)?);
        let to = self.process(rank);
        if let Some(memory) = self.mapped(rank) {
            place.copy_from(&at.layout, memory.wrapping_add_signed(offset));
            return Ok(None);
        }
        let bytes = at.layout.bytes() as u64;
        if bytes >= self.point_to_point.transport().transfer_min_bytes().max(1) as u64
            && let Some(address) = place.as_run(bytes)
            && let Some(exposed) = self.piece(to, &at.layout, offset)
        {
            let (space, transport) = (Memory { address, bytes }, self.point_to_point.transport());
            if transport.copy_from(to, exposed, space) {
                return Ok(None);
            }
            return self.transfer(to, is_awaited, |token| transport.get(to, exposed, space, token)).map(Some);
        }
        Ok(Some(self.ask(to, Kind::Get, Header::new(offset, PLAIN, at.layout), &[], place, is_awaited)))
    }

    fn ask(
        &self,
        to: Process,
        kind: Kind,
        header: Header,
        data: &[&[u8]],
        place: Place,
        is_awaited: bool,
    ) -> Token {
        let window = self.group.context;
        let token = self.with(|tables| tables.expect(window, to, Some(place), is_awaited));
        self.operate(to, kind, Some(token), header, data);
        token
    }

    /// Combines packed data into that of a target; it may be reused when this ends.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn accumulate(&self, at: At, data: &[u8], how: Accumulate) -> Result<(), Error> {
        check_length(data.len() == at.layout.bytes(), data.len(), &at)?;
        let rank = at.rank;
        let header = self.header(at, how)?;
        let to = self.process(rank);
        if how.op != Op::NoOp && !self.combine(rank, Kind::Accumulate, &header, data, None) {
            self.operate(to, Kind::Accumulate, None, header, &[data]);
        }
        Ok(())
    }

    /// The same, and reads what was there before. Without an operation the data is not used.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn get_accumulate(
        &self,
        at: At,
        data: &[u8],
        how: Accumulate,
        place: Place,
        is_awaited: bool,
    ) -> Result<Option<Token>, Error> {
        let space = place.layout.bytes();
        check_length(space == at.layout.bytes(), space, &at)?;
        let data = if how.op == Op::NoOp { &[] } else { data };
        check_length(how.op == Op::NoOp || data.len() == space, data.len(), &at)?;
        let rank = at.rank;
        let header = self.header(at, how)?;
        let to = self.process(rank);
        if self.combine(rank, Kind::GetAccumulate, &header, data, Some(&place)) {
            return Ok(None);
        }
        Ok(Some(self.ask(to, Kind::GetAccumulate, header, &[data], place, is_awaited)))
    }

    /// Writes an element if the one there is equal to another, and reads what was there before.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn compare_and_swap(&self, at: At, [new, compared]: [&[u8]; 2], place: Place) -> Result<(), Error> {
        let rank = at.rank;
        let header = self.header(at, PLAIN)?;
        let to = self.process(rank);
        let operands = [new, compared].concat();
        if !self.combine(rank, Kind::CompareAndSwap, &header, &operands, Some(&place)) {
            self.ask(to, Kind::CompareAndSwap, header, &[&operands], place, false);
        }
        Ok(())
    }
}

fn check_length(is_right: bool, own: usize, at: &At) -> Result<(), Error> {
    if is_right {
        return Ok(());
    }
    let text = format!(
        "this rank's data has {own} B and that of the target, rank {}, {} B",
        at.rank,
        at.layout.bytes()
    );
    Err(Error::new(Class::Truncate, text))
}
