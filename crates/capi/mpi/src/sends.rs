//! Sends, receives, probes (MPI 5.0, chapter 3).

use crate::abi::*;
use crate::library::{CommId, Library};
use crate::numbers::{Count, Result32or64};
use crate::requests::{Request, set_status};
use netloom_mpi::datatype::{Predefined, predefined};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::{Envelope, Pattern};
use netloom_mpi::point_to_point::Ended;
use netloom_mpi::transport::Memory;
use std::ffi::{c_int, c_void};

type Type = &'static Predefined;

/// The memory of a buffer.
pub fn memory(name: &str, buffer: *const c_void, Count(count): Count, of: Type) -> Result<Memory, Error> {
    let bytes = (count as u64).checked_mul(of.extent as u64).ok_or_else(|| {
        Error::new(Class::Count, format!("count is {count}: {name} would be longer than memory"))
    })?;
    if buffer.is_null() && bytes > 0 {
        return Err(Error::new(Class::Buffer, format!("{name} is NULL, with {bytes} B of data")));
    }
    Ok(Memory { address: buffer as u64, bytes })
}

fn check_tag(tag: c_int) -> Result<(), Error> {
    if tag < 0 { Err(Error::new(Class::Tag, format!("tag is {tag}, which is negative"))) } else { Ok(()) }
}

impl Library {
    fn check_rank(&mut self, name: &str, comm: CommId, rank: c_int, lowest: c_int) -> Result<(), Error> {
        let size = self.of(comm).group.size;
        if rank < lowest || rank >= size as c_int {
            let text = format!("{name} is {rank}, and the communicator has the ranks 0 to {}", size - 1);
            return Err(Error::new(Class::Rank, text));
        }
        Ok(())
    }

    pub fn start_send(
        &mut self,
        data: Memory,
        dest: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<Request, Error> {
        check_tag(tag)?;
        if dest == PROC_NULL {
            return Ok(Request::Ended(Ok(())));
        }
        self.check_rank("dest", comm, dest, 0)?;
        let group = &self.of(comm).group;
        let envelope = Envelope { context: group.context, source: group.rank as i32, tag, bytes: data.bytes };
        let to = group.process(dest as u32);
        let number = self.point_to_point.send(to, envelope, data)?;
        Ok(number.map_or(Request::Ended(Ok(())), Request::Send))
    }

    fn pattern(&mut self, source: c_int, tag: c_int, comm: CommId) -> Result<Pattern, Error> {
        if tag != ANY_TAG {
            check_tag(tag)?;
        }
        self.check_rank("source", comm, source, ANY_SOURCE)?;
        Ok(Pattern { context: self.of(comm).group.context, source, tag })
    }

    pub fn start_receive(
        &mut self,
        space: Memory,
        source: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<Request, Error> {
        if source == PROC_NULL {
            return Ok(Request::NoReceive);
        }
        let pattern = self.pattern(source, tag, comm)?;
        Ok(Request::Receive(self.point_to_point.receive(pattern, space)))
    }
}

pub unsafe fn send(
    library: &mut Library,
    buf: *const c_void,
    count: Count,
    of: Type,
    dest: c_int,
    tag: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let data = memory("buf", buf, count, of)?;
    let request = library.start_send(data, dest, tag, comm)?;
    library.finish(request).map(|_| ())
}

pub unsafe fn isend(
    library: &mut Library,
    buf: *const c_void,
    count: Count,
    of: Type,
    dest: c_int,
    tag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    let data = memory("buf", buf, count, of)?;
    let started = library.start_send(data, dest, tag, comm)?;
    // SAFETY: the program gave the place.
    unsafe { *request = library.insert(started) };
    Ok(())
}

pub unsafe fn recv(
    library: &mut Library,
    buf: *mut c_void,
    count: Count,
    of: Type,
    source: c_int,
    tag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    let space = memory("buf", buf, count, of)?;
    let request = library.start_receive(space, source, tag, comm)?;
    let end = library.finish(request)?;
    // SAFETY: the program gave the place, or NULL.
    unsafe { set_status(status, &end) };
    Ok(())
}

pub unsafe fn irecv(
    library: &mut Library,
    buf: *mut c_void,
    count: Count,
    of: Type,
    source: c_int,
    tag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    let space = memory("buf", buf, count, of)?;
    let started = library.start_receive(space, source, tag, comm)?;
    // SAFETY: the program gave the place.
    unsafe { *request = library.insert(started) };
    Ok(())
}

pub unsafe fn sendrecv(
    library: &mut Library,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: Type,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: Type,
    source: c_int,
    recvtag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    let (data, space) =
        (memory("sendbuf", sendbuf, sendcount, sendtype)?, memory("recvbuf", recvbuf, recvcount, recvtype)?);
    let receive = library.start_receive(space, source, recvtag, comm)?;
    let send = library.start_send(data, dest, sendtag, comm)?;
    library.finish(send)?;
    let end = library.finish(receive)?;
    // SAFETY: the program gave the place, or NULL.
    unsafe { set_status(status, &end) };
    Ok(())
}

fn found(envelope: Envelope) -> Ended {
    Ended { source: envelope.source, tag: envelope.tag, bytes: envelope.bytes, ..Ended::default() }
}

pub unsafe fn probe(
    library: &mut Library,
    source: c_int,
    tag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    let end = if source == PROC_NULL {
        crate::requests::NO_MESSAGE
    } else {
        let pattern = library.pattern(source, tag, comm)?;
        loop {
            if let Some(envelope) = library.point_to_point.probe(&pattern) {
                break found(envelope);
            }
            library.progress();
        }
    };
    // SAFETY: the program gave the place, or NULL.
    unsafe { set_status(status, &end) };
    Ok(())
}

pub unsafe fn iprobe(
    library: &mut Library,
    source: c_int,
    tag: c_int,
    comm: CommId,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    let end = if source == PROC_NULL {
        Some(crate::requests::NO_MESSAGE)
    } else {
        let pattern = library.pattern(source, tag, comm)?;
        library.look();
        library.point_to_point.probe(&pattern).map(found)
    };
    // SAFETY: the program gave the places; that of the status may be NULL.
    unsafe {
        *flag = end.is_some().into();
        if let Some(end) = end {
            set_status(status, &end);
        }
    }
    Ok(())
}

/// Elements of a message: `MPI_UNDEFINED` if they are not a whole number.
pub unsafe fn get_count(
    _: &mut Library,
    status: *const Status,
    of: Type,
    count: Result32or64,
) -> Result<(), Error> {
    // SAFETY: the program gave the status and the place.
    unsafe {
        let bytes = (*status).bytes();
        let extent = predefined(of.handle).map_or(1, |of| of.extent as u64);
        count.set(bytes.is_multiple_of(extent).then_some(bytes / extent));
    }
    Ok(())
}
