//! Partitioned messages (MPI 5.0, chapter 4): a persistent send whose partitions become ready one by one. The
//! message leaves in one piece when all are, so the partitions of a receive arrive together.

use crate::abi::*;
use crate::buffer::Buffer;
use crate::library::{CommId, Library, PARTITIONED};
use crate::persistent::Plan;
use crate::requests::Request;
use crate::sends::Mode;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::Pattern;
use std::ffi::c_int;

/// A message that is planned.
#[derive(Clone)]
pub struct Message {
    buf: Buffer,
    partitions: u32,
    /// The other rank, or `MPI_PROC_NULL`.
    peer: c_int,
    tag: c_int,
    /// The tag that it has on its way: messages match in the order in which they were planned, not in that in
    /// which they are started.
    number: c_int,
    comm: CommId,
}

/// A send that is started.
pub struct Active {
    message: Message,
    ready: Vec<bool>,
    /// The whole message, when all partitions are ready.
    pub sent: Option<Request>,
}

/// How many messages of a tag were planned with a rank of a communicator: to it and from it.
pub type Planned = std::collections::BTreeMap<(c_int, c_int, bool), u32>;

/// A tag of its own for the n-th message of a tag, alike at both ranks.
fn number(tag: c_int, count: u32) -> c_int {
    let mixed = (u64::from(tag as u32) << 32 | u64::from(count)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 33) as c_int
}

impl Message {
    /// # Errors
    /// If the arguments are wrong.
    fn plan(
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
        let buf = buf.of_count(buf.count().checked_mul(partitions.into()).ok_or_else(too_long)?);
        buf.check()?;
        let count = library.of(comm).planned.entry((peer, tag, name == "dest")).or_default();
        *count += 1;
        let number = number(tag, *count);
        Ok(Message { buf, partitions, peer, tag, number, comm })
    }

    pub fn comm(&self) -> CommId {
        self.comm
    }

    /// The tag that the program gave.
    pub fn tag(&self) -> c_int {
        self.tag
    }
}

impl Library {
    /// A partitioned send waits for its partitions.
    pub fn start_partitioned_send(&mut self, message: Message) -> Result<Request, Error> {
        let ready = vec![false; message.partitions as usize];
        let mut active = Active { message, ready, sent: None };
        self.mark(&mut active, 0..0)?;
        Ok(Request::Partitioned(Box::new(active)))
    }

    pub fn start_partitioned_receive(&mut self, message: &Message) -> Result<Request, Error> {
        let context = self.of(message.comm).group.context + PARTITIONED;
        let pattern = Pattern { context, source: message.peer, tag: message.number };
        self.start_receive_of((message.peer != PROC_NULL).then_some(pattern), &message.buf)
    }

    /// Partitions are ready; the message leaves with the last.
    fn mark(&mut self, active: &mut Active, ready: impl Iterator<Item = c_int>) -> Result<(), Error> {
        for partition in ready {
            let count = active.ready.len();
            let place = usize::try_from(partition).ok().and_then(|at| active.ready.get_mut(at));
            let Some(place) = place else {
                let text = format!("partition is {partition}, and there are {count}, from 0 on");
                return Err(Error::new(Class::Arg, text));
            };
            if std::mem::replace(place, true) {
                return Err(Error::new(Class::Arg, format!("partition {partition} is ready already")));
            }
        }
        if active.sent.is_none() && active.ready.iter().all(|&ready| ready) {
            let &Message { ref buf, peer, number, comm, .. } = &active.message;
            let context = self.of(comm).group.context + PARTITIONED;
            active.sent = Some(self.start_send_in(context, Mode::Standard, buf, (peer, number), comm)?);
        }
        Ok(())
    }

    fn ready(&mut self, handle: usize, partitions: impl Iterator<Item = c_int>) -> Result<(), Error> {
        let text = || format!("request is {handle:#x}, which is no partitioned send that is started");
        let wrong = || Error::new(Class::Request, text());
        let at = self.request_at(handle)?.ok_or_else(wrong)?;
        // Another thread may wait for the whole.
        crate::threads::note_change();
        let mut request = self.requests[at].take().expect("it was found");
        let end = match &mut request {
            Request::Persistent(_, Some(active)) => match &mut **active {
                Request::Partitioned(active) => self.mark(active, partitions),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        };
        self.requests[at] = Some(request);
        end
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
    let message = Message::plan(library, &buf, partitions, ("dest", dest), tag, comm)?;
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Persistent(Box::new(Plan::PartitionedSend(message)), None), request) }
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
    let message = Message::plan(library, &buf, partitions, ("source", source), tag, comm)?;
    // SAFETY: the program gave the place.
    unsafe {
        library.hand_out(Request::Persistent(Box::new(Plan::PartitionedReceive(message)), None), request)
    }
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

/// Whether a partition of a receive is there: all are, when the message is.
pub unsafe fn arrived(
    library: &mut Library,
    request: usize,
    partition: c_int,
    flag: *mut c_int,
) -> Result<(), Error> {
    let wrong =
        || Error::new(Class::Request, format!("request is {request:#x}, which is no partitioned receive"));
    let at = library.request_at(request)?.ok_or_else(wrong)?;
    let Some(Request::Persistent(plan, _)) = library.requests[at].as_ref() else { return Err(wrong()) };
    let Plan::PartitionedReceive(Message { partitions, .. }) = **plan else { return Err(wrong()) };
    if partition < 0 || partition as u32 >= partitions {
        let text = format!("partition is {partition}, and there are {partitions}, from 0 on");
        return Err(Error::new(Class::Arg, text));
    }
    library.poll();
    let end = library.end_of(request)?;
    // SAFETY: the program gave the place.
    unsafe { *flag = end.is_some().into() };
    Ok(())
}
