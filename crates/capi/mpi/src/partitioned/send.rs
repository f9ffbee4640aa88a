//! The side that sends.

use super::{Header, Message};
use crate::abi::*;
use crate::library::{CommId, Library, USER_REQUEST};
use crate::requests::Request;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::Envelope;
use netloom_mpi::transport::{Memory, Process};
use std::ffi::c_int;

/// A send that is planned.
#[derive(Clone)]
pub struct Outgoing {
    pub(super) message: Message,
    /// The tag of the first partition; those of the others follow.
    first: c_int,
}

/// A send that is started.
pub struct Active {
    of: Outgoing,
    /// Context, rank and receiver, which stay what they are if the program frees the communicator; no
    /// receiver if that is `MPI_PROC_NULL`.
    context: u32,
    source: i32,
    to: Option<Process>,
    ready: Vec<bool>,
    /// How many are not ready.
    left: usize,
    /// Partitions that had not been sent when their call returned.
    sent: Vec<Request>,
}

impl Active {
    /// Its messages, once all of its partitions are ready.
    pub fn all_sent(&self) -> Option<&[Request]> {
        (self.left == 0).then_some(&self.sent)
    }

    pub fn into_sent(self) -> Vec<Request> {
        self.sent
    }
}

impl Outgoing {
    /// Plans a send, and tells the other side of it.
    pub(super) fn plan(library: &mut Library, message: Message) -> Result<Self, Error> {
        let &Message { partitions, peer, tag, comm, .. } = &message;
        let first = library.of(comm).planned.tags.take(partitions)?;
        if peer != PROC_NULL {
            let header = Header { first, partitions, bytes: message.bytes()? as u64 };
            library.send_header(header, (peer, tag), comm)?;
        }
        Ok(Outgoing { message, first })
    }

    pub fn comm(&self) -> CommId {
        self.message.comm
    }
}

impl Library {
    fn send_header(
        &mut self,
        header: Header,
        (dest, tag): (c_int, c_int),
        comm: CommId,
    ) -> Result<(), Error> {
        let context = self.partitioned_context(comm);
        let (source, to) = (self.of(comm).group.rank as i32, self.of(comm).peer(dest as u32));
        self.point_to_point.note_partitions(context, None, header, tag);
        let bytes = header.to_bytes().to_vec();
        let data = Memory { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 };
        let envelope = Envelope { context, source, tag, bytes: data.bytes, acknowledge: 0 };
        if let Some(number) = self.point_to_point.send(to, envelope, data)? {
            let handle = self.insert(Request::Send(number, Some(bytes)));
            self.freed_requests.push(handle - USER_REQUEST);
        }
        Ok(())
    }

    /// A partitioned send waits for its partitions.
    pub fn start_partitioned_send(&mut self, of: Outgoing) -> Result<Request, Error> {
        let &Message { partitions, peer, comm, .. } = &of.message;
        let left = partitions as usize;
        let (context, source) = (self.partitioned_context(comm), self.of(comm).group.rank as i32);
        let to = u32::try_from(peer).ok().map(|peer| self.of(comm).peer(peer));
        let active = Active { of, context, source, to, ready: vec![false; left], left, sent: vec![] };
        self.note_unready(&active);
        Ok(Request::Partitioned(Box::new(active)))
    }

    /// For reports of what waits for ever.
    fn note_unready(&mut self, active: &Active) {
        if let Some(to) = active.to.filter(|_| !active.ready.is_empty()) {
            self.point_to_point.note_unready(active.context, active.of.first, to, active.left as u32);
        }
    }

    /// Partitions are ready, and leave.
    fn mark(&mut self, active: &mut Active, ready: impl Iterator<Item = c_int>) -> Result<(), Error> {
        for partition in ready {
            let at = active.of.message.check_partition(partition)?;
            if active.ready[at as usize] {
                return Err(Error::new(Class::Arg, format!("partition {partition} is ready already")));
            }
            if let Some(to) = active.to {
                let &mut Active { of: Outgoing { ref message, first }, context, source, .. } = active;
                // SAFETY: the program gave the buffer.
                let (data, kept) = unsafe { message.buf.outgoing_part(message.partition(at))? };
                let tag = first.wrapping_add_unsigned(at);
                let envelope = Envelope { context, source, tag, bytes: data.bytes, acknowledge: 0 };
                let sent = self.point_to_point.send(to, envelope, data)?;
                active.sent.extend(sent.map(|number| Request::Send(number, kept)));
            }
            active.ready[at as usize] = true;
            active.left -= 1;
        }
        Ok(())
    }

    pub(super) fn ready(
        &mut self,
        handle: usize,
        partitions: impl Iterator<Item = c_int>,
    ) -> Result<(), Error> {
        let text = || format!("request is {handle:#x}, which is no partitioned send that is started");
        let wrong = || Error::new(Class::Request, text());
        let at = self.request_at(handle)?.ok_or_else(wrong)?;
        // Another thread may wait for the whole.
        crate::threads::note_change();
        let mut request = self.requests[at].take().expect("it was found");
        let end = match &mut request {
            Request::Persistent(_, Some(active)) => match &mut **active {
                Request::Partitioned(active) => {
                    let end = self.mark(active, partitions);
                    self.note_unready(active);
                    end
                }
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        };
        self.requests[at] = Some(request);
        end
    }
}
