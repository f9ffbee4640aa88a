//! Partitioned messages (MPI 5.0, chapter 4): persistent messages whose partitions become ready, and arrive, one
//! by one. Each partition of the send is a message of its own, which leaves when it is ready. The receive may have
//! another number of partitions: when the send is planned, a header tells which messages will come. Headers match
//! in the order in which sends and receives of a tag are planned, whatever is started first.

mod receive;
mod send;

pub use receive::{Headers, Incoming};
pub use send::{Active, Outgoing};

use crate::abi::*;
use crate::buffer::Buffer;
use crate::library::{CommId, Library};
use crate::pami::Pami;
use crate::persistent::Plan;
use crate::requests::Request;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::point_to_point::PointToPoint;
use netloom_mpi::waits::PARTITIONED;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

/// A message that is planned.
#[derive(Clone)]
pub struct Message {
    /// All partitions.
    buf: Buffer,
    partitions: u32,
    /// Elements of each.
    count: i64,
    /// The other rank, or `MPI_PROC_NULL`.
    peer: c_int,
    tag: c_int,
    comm: CommId,
}

/// What is planned on a communicator.
#[derive(Default)]
pub struct Planned {
    /// Partitions of all sends.
    partitions: u32,
    /// Receives, by source and tag.
    headers: BTreeMap<(c_int, c_int), Rc<RefCell<Headers>>>,
}

/// The lowest tag of a partition: programs have those from 0 on, and wildcards are -1 and -2.
const FIRST_TAG: c_int = c_int::MIN;
const TAGS: u32 = FIRST_TAG.unsigned_abs() - 2;

impl Planned {
    /// Tags of so many partitions: the first one.
    fn tags(&mut self, partitions: u32) -> Result<c_int, Error> {
        let left = TAGS - self.partitions;
        if partitions > left {
            let text = format!(
                "partitions is {partitions}, and only {left} are left of the {TAGS} that all sends of a communicator may have"
            );
            return Err(Error::new(Class::Arg, text));
        }
        let first = FIRST_TAG.wrapping_add_unsigned(self.partitions);
        self.partitions += partitions;
        Ok(first)
    }
}

/// What a send tells when it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// The tag of the first partition.
    first: c_int,
    partitions: u32,
    /// Data of each, bytes.
    bytes: u64,
}

impl Header {
    const BYTES: usize = 16;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let low = u64::from(self.first as u32) | u64::from(self.partitions) << 32;
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    /// For reports: which tags the partitions have.
    fn note(&self, point_to_point: &PointToPoint<Pami>, context: u32, source: Option<i32>, tag: c_int) {
        if self.partitions > 0 {
            point_to_point.note_partitions(context, source, self.first, self.partitions, tag);
        }
    }

    fn of_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Header { first: word(0) as c_int, partitions: (word(0) >> 32) as u32, bytes: word(8) }
    }
}

impl Message {
    /// Checks and keeps what the program gave: the buffer of a partition, and how many there are.
    ///
    /// # Errors
    /// If the arguments are wrong.
    fn new(
        library: &mut Library,
        buf: &Buffer,
        partitions: c_int,
        (name, peer): (&str, c_int),
        tag: c_int,
        comm: CommId,
    ) -> Result<Self, Error> {
        let Ok(partitions) = u32::try_from(partitions) else {
            return Err(Error::new(Class::Arg, format!("partitions is {partitions}, which is negative")));
        };
        if tag < 0 {
            return Err(Error::new(Class::Tag, format!("tag is {tag}, which is negative")));
        }
        if peer != PROC_NULL {
            library.check_rank(name, comm, peer, 0)?;
        }
        let too_long = || Error::new(Class::Count, "the partitions are longer than memory");
        let all = buf.of_count(buf.count().checked_mul(partitions.into()).ok_or_else(too_long)?);
        all.check()?;
        Ok(Message { buf: all, partitions, count: buf.count(), peer, tag, comm })
    }

    /// Data of each partition, bytes.
    fn bytes(&self) -> Result<usize, Error> {
        self.buf.of_count(self.count).layout().map(|layout| layout.bytes())
    }

    /// One of its partitions: its first element and how many it has.
    fn partition(&self, at: u32) -> (i64, i64) {
        (i64::from(at) * self.count, self.count)
    }

    /// A partition that the program names.
    fn check_partition(&self, partition: c_int) -> Result<u32, Error> {
        let partitions = self.partitions;
        match u32::try_from(partition) {
            Ok(at) if at < partitions => Ok(at),
            _ => {
                let text = format!("partition is {partition}, and there are {partitions}, from 0 on");
                Err(Error::new(Class::Arg, text))
            }
        }
    }
}

impl Library {
    /// The context of partitioned messages and their headers.
    fn partitioned_context(&mut self, comm: CommId) -> u32 {
        self.of(comm).group.context + PARTITIONED
    }
}

pub unsafe fn send_init(
    library: &mut Library,
    buf: Buffer,
    partitions: c_int,
    dest: c_int,
    tag: c_int,
    comm: CommId,
    info: usize,
    request: *mut usize,
) -> Result<(), Error> {
    crate::info::check(info)?;
    let message = Message::new(library, &buf, partitions, ("dest", dest), tag, comm)?;
    let plan = Plan::PartitionedSend(Outgoing::plan(library, message)?);
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Persistent(Box::new(plan), None), request) }
}

pub unsafe fn receive_init(
    library: &mut Library,
    buf: Buffer,
    partitions: c_int,
    source: c_int,
    tag: c_int,
    comm: CommId,
    info: usize,
    request: *mut usize,
) -> Result<(), Error> {
    crate::info::check(info)?;
    let message = Message::new(library, &buf, partitions, ("source", source), tag, comm)?;
    let plan = Plan::PartitionedReceive(Incoming::plan(library, message));
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Persistent(Box::new(plan), None), request) }
}

pub unsafe fn ready(library: &mut Library, partition: c_int, request: usize) -> Result<(), Error> {
    library.ready(request, std::iter::once(partition))
}

/// From the first to the last, which is ready too.
pub unsafe fn ready_range(
    library: &mut Library,
    low: c_int,
    high: c_int,
    request: usize,
) -> Result<(), Error> {
    library.ready(request, low..=high)
}

pub unsafe fn ready_list(
    library: &mut Library,
    length: c_int,
    partitions: *const c_int,
    request: usize,
) -> Result<(), Error> {
    // SAFETY: the program gave so many.
    let list: Vec<c_int> = (0..length.max(0) as usize).map(|at| unsafe { *partitions.add(at) }).collect();
    library.ready(request, list.into_iter())
}

/// Whether a partition of a receive is there.
pub unsafe fn arrived(
    library: &mut Library,
    request: usize,
    partition: c_int,
    flag: *mut c_int,
) -> Result<(), Error> {
    let has_arrived = library.has_arrived(request, partition)?;
    // SAFETY: the program gave the place.
    unsafe { *flag = has_arrived.into() };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_bytes() {
        let header = Header { first: FIRST_TAG + 5, partitions: u32::MAX, bytes: 1 << 40 };
        assert_eq!(Header::of_bytes(header.to_bytes()), header);
    }

    /// No two sends share tags, and none of a program's is used.
    #[test]
    fn tags_follow_each_other() {
        let mut planned = Planned::default();
        assert_eq!(planned.tags(6).unwrap(), FIRST_TAG);
        assert_eq!(planned.tags(0).unwrap(), FIRST_TAG + 6);
        assert_eq!(planned.tags(TAGS - 6).unwrap(), FIRST_TAG + 6);
        assert!(FIRST_TAG.wrapping_add_unsigned(TAGS - 1) < ANY_TAG.min(ANY_SOURCE));
        assert!(planned.tags(1).is_err());
    }
}
