//! What carries messages between processes: the narrow interface between MPI and a machine's messaging
//! library.

use crate::datatype::Predefined;
use crate::group::Group;
use crate::matching::Envelope;
use crate::op::Op;
use crate::paths::Path;
use std::time::Duration;

/// A process of the job, by its number in `MPI_COMM_WORLD`.
pub type Process = u32;

/// Memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its address.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// Error: a message cannot be sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// The number of a group whose collectives a transport can carry out: of a team.
pub type Team = u64;

/// A collective of a team. All its members start the same ones in the same order, with as many bytes.
#[derive(Clone, Copy, Debug)]
pub enum Collective {
    /// It ends when all have started it.
    Barrier,
    /// The root's data goes to all.
    Broadcast {
        /// Who has it.
        root: Process,
        /// Where it is, or goes.
        data: Memory,
    },
    /// The data of all is combined. The order of operands is the transport's.
    Reduce {
        /// Who gets the result; `None` if all do. The others have anything then.
        root: Option<Process>,
        /// This process's operand, and where the result goes.
        data: Memory,
        /// How elements are combined.
        op: Op,
        /// Their type.
        of: &'static Predefined,
    },
}

/// A flag of a process: a sequence number with a few bytes, which another process polls. A communicator takes a set of
/// them for good. Each of its collectives through flags has the next sequence number, and rounds, in each of which a
/// process writes its flag and another reads it. Two collectives later the flag is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagAt {
    /// The communicator's set, at all its processes.
    pub set: u32,
    /// The first is 1.
    pub sequence: u64,
    /// From 0 on.
    pub round: u32,
}

/// What processes have of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagSpace {
    /// Sets of this process: as many as others have, or none.
    pub sets: u32,
    /// Rounds of a collective, at all processes.
    pub rounds: u32,
    /// Most bytes with a flag, at all processes.
    pub bytes: usize,
}

/// How a collective of a transport has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// A member has given another length.
    LengthsDiffer,
    /// A member has ended.
    MemberGone,
}

/// What happens to a message of the program or of a collective, as a profile shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEvent {
    /// It is sent to a process.
    Sent(Process, Envelope),
    /// A receive takes it, from a process. Its data is there, or follows to the request with this number.
    Taken(Process, Envelope, Option<u32>),
    /// The data of one that was taken is there.
    Received(u32),
}

/// Steps of MPI's own software. On a simulated machine their time passes; natively the step itself takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A send begins: arguments are checked, the communicator's object is found, a request is made.
    Send,
    /// A receive begins, likewise.
    Receive,
    /// A queue is searched for a match, and this number of its elements is looked at.
    Search(u32),
    /// A message has found its receive, which is completed.
    Complete,
    /// A collective begins.
    Collective,
    /// The handle of a request becomes its object.
    Handle,
    /// A call that waits for a request has found it completed, and frees it.
    Free,
}

impl Step {
    /// As a number, for interfaces in C: the kind, and from bit 8 on the number of elements.
    pub fn to_number(self) -> u64 {
        match self {
            Step::Send => 0,
            Step::Receive => 1,
            Step::Search(elements) => 2 | u64::from(elements) << 8,
            Step::Complete => 3,
            Step::Collective => 4,
            Step::Handle => 5,
            Step::Free => 6,
        }
    }

    /// The reverse; `None` if there is no such step.
    pub fn of_number(number: u64) -> Option<Self> {
        let elements = number >> 8;
        Some(match number & 0xff {
            0 => Step::Send,
            1 => Step::Receive,
            2 => Step::Search(u32::try_from(elements).ok()?),
            3 => Step::Complete,
            4 => Step::Collective,
            5 => Step::Handle,
            6 => Step::Free,
            _ => return None,
        })
    }
}

/// A transport. Nothing here waits.
///
/// Messages between two processes arrive in the order of their sends. What arrives and what ends is reported
/// from within [`Self::advance`] only, to [`PointToPoint`](crate::point_to_point::PointToPoint).
pub trait Transport {
    /// The number of processes of the job.
    fn processes(&self) -> u32;

    /// This process.
    fn own(&self) -> Process;

    /// Most bytes of data that [`Self::send_short`] takes.
    fn short_max_bytes(&self) -> usize;

    /// Sends a message whose data may be reused when the call returns.
    ///
    /// # Errors
    /// If it cannot be sent.
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused>;

    /// The length of messages, bytes, in which long data is best exchanged if each is worked on when it has
    /// arrived.
    #[inline]
    fn piece_bytes(&self) -> usize {
        usize::MAX
    }

    /// Most bytes of data that [`Self::send_whole`] may take.
    #[inline]
    fn whole_max_bytes(&self) -> usize {
        0
    }

    /// As [`Self::send_short`], of longer messages, if the path to the target carries them at once. If not,
    /// nothing is sent, and the result is `false`.
    ///
    /// # Errors
    /// If the message is refused.
    fn send_whole(&self, to: Process, envelope: Envelope, data: Memory) -> Result<bool, Refused> {
        let _ = (to, envelope, data);
        Ok(false)
    }

    /// Starts to send a message whose data stays as it is until the end is reported, with this number.
    ///
    /// # Errors
    /// If it cannot be sent.
    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused>;

    /// Starts to make a team of a group, at all its processes at the same time; the end is reported with this
    /// number as that of a collective. `None` if the transport has no collectives, for any process of the
    /// group.
    fn create_team(&self, _group: &Group, _number: u64) -> Option<Team> {
        None
    }

    /// Frees a team, at all its processes, when the collectives that have been started have ended.
    fn free_team(&self, _team: Team) {}

    /// Starts a collective of a team;
    /// [`PointToPoint::collected`](crate::point_to_point::PointToPoint::collected) hears of its end with this
    /// number. Memory stays until then. Returns false if messages are to do it: the same at all members. If
    /// it is `blocking`, the program starts no other until it has ended. Blocking collectives meet blocking
    /// ones only.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start_collective(
        &self,
        _team: Team,
        _collective: &Collective,
        _is_blocking: bool,
        _number: u64,
    ) -> Result<bool, Refused> {
        Ok(false)
    }

    /// What there is of flags, by which processes carry out short collectives without messages. `None` if no
    /// process of the job has any.
    fn flag_space(&self) -> Option<FlagSpace> {
        None
    }

    /// Writes this process's flag, which that process reads.
    fn write_flag(&self, _at: FlagAt, _data: &[u8], _reader: Process) {}

    /// Reads a flag of another process, after a while of looking if need be; returns the length of what has been
    /// written, of which as much is read as there is space. `None` if it is not there.
    fn read_flag(&self, _at: FlagAt, _of: Process, _space: &mut [u8]) -> Option<usize> {
        None
    }

    /// [`Self::advance`] returns when there is something in this flag; with `None` it does no longer.
    fn await_flag(&self, _awaited: Option<(FlagAt, Process)>) {}

    /// Whether a process takes part no more, and writes no flags.
    fn has_left(&self, _process: Process) -> bool {
        false
    }

    /// Makes progress, and waits for some if there is none at once; it may return without any.
    fn advance(&self);

    /// Makes progress without waiting.
    fn poll(&self);

    /// Lets others [put](Self::put) to memory and [get](Self::get) from it without this process; under which
    /// address. `None` if the transport cannot.
    fn expose(&self, _memory: Memory) -> Option<u64> {
        None
    }

    /// Puts and gets that are shorter are messages.
    fn transfer_min_bytes(&self) -> usize {
        0
    }

    /// The path of a put, which may be alone between two flushes; and whether its time from the begin to the
    /// end of the flush is to be [noted](Self::note_put).
    #[inline(always)]
    fn put_path(&self, _to: Process, _bytes: u64, _is_alone: bool) -> (Path, bool) {
        (Path::Packets, false)
    }

    /// A put that was alone took so long; not at all, if it failed.
    fn note_put(&self, _to: Process, _bytes: u64, _way: Path, _time: Option<Duration>) {}

    /// Copies to exposed memory of another process; returns whether all has been copied.
    fn copy_to(&self, _to: Process, _data: Memory, _exposed: u64) -> bool {
        false
    }

    /// The same from there, if it can be done at once, and is the fastest path.
    fn copy_from(&self, _from: Process, _exposed: u64, _space: Memory) -> bool {
        false
    }

    /// Starts to write to exposed memory of another process. The data stays as it is until the end is
    /// reported, with this number: then all is there.
    ///
    /// # Errors
    /// If it cannot be done.
    fn put(&self, _to: Process, _data: Memory, _exposed: u64, _number: u64) -> Result<(), Refused> {
        Err(Refused("this transport does not reach memory of others".into()))
    }

    /// Starts to read exposed memory of another process. The end is reported with this number.
    ///
    /// # Errors
    /// If it cannot be done.
    fn get(&self, _from: Process, _exposed: u64, _space: Memory, _number: u64) -> Result<(), Refused> {
        Err(Refused("this transport does not reach memory of others".into()))
    }

    /// Hears what happens to messages. The event is made only for somebody who listens: made for all, its
    /// parts would be stored and loaded again as larger words, for which the processor waits.
    #[inline]
    fn observe(&self, _event: impl FnOnce() -> MessageEvent) {}

    /// The software takes a step.
    #[inline]
    fn spend(&self, _step: Step) {}

    /// The process does something that involves no other one: where those that wait in vain are found, it does
    /// not.
    #[inline]
    fn acts(&self) {}

    /// The call of the program that this thread is in, where waits for ever are reported.
    #[inline]
    fn call(&self) -> Option<&'static str> {
        None
    }

    /// Copies the bytes into memory of this process.
    fn store(&self, bytes: &[u8], to: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_as_numbers() {
        let steps = [Step::Send, Step::Receive, Step::Search(0), Step::Search(u32::MAX), Step::Complete];
        for step in steps.into_iter().chain([Step::Collective, Step::Handle, Step::Free]) {
            assert_eq!(Step::of_number(step.to_number()), Some(step));
        }
        assert_eq!([7, 2 | 1 << 40].map(Step::of_number), [None, None]);
    }
}
