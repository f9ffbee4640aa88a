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
use crate::persistent::Plan;
use crate::requests::Request;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::point_to_point::partitions::{Header, Tags};
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
    /// Those of the partitions of all sends.
    tags: Tags,
    /// Receives, by source and tag.
    headers: BTreeMap<(c_int, c_int), Rc<RefCell<Headers>>>,
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
