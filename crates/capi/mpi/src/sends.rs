//! Sends, receives, probes (MPI 5.0, chapter 3).

use crate::abi::*;
use crate::buffer::{Buffer, PLAIN_BYTES_MAX};
use crate::library::{CommId, Library};
use crate::requests::{EMPTY, Request, set_status};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::{Envelope, Pattern};
use netloom_mpi::point_to_point::{Ended, Number};
use netloom_mpi::transport::Transport;
use std::ffi::c_int;

fn check_tag(tag: c_int) -> Result<(), Error> {
    if tag < 0 { Err(Error::new(Class::Tag, format!("tag is {tag}, which is negative"))) } else { Ok(()) }
}

/// When a send ends. A ready send is a standard one: that a receive waits for it changes nothing here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When its data may be reused.
    Standard,
    /// When a receive has taken the message, too.
    Synchronous,
    /// At once: its data is copied.
    Buffered,
}

impl Library {
    pub fn check_rank(&mut self, name: &str, comm: CommId, rank: c_int, lowest: c_int) -> Result<(), Error> {
        let size = self.of(comm).peers();
        if rank < lowest || rank >= size as c_int {
            let text = format!("{name} is {rank}, and the communicator has the ranks 0 to {}", size - 1);
            return Err(Error::new(Class::Rank, text));
        }
        Ok(())
    }

    /// What is known of a send before it begins.
    pub fn check_send(&mut self, dest: c_int, tag: c_int, comm: CommId) -> Result<(), Error> {
        check_tag(tag)?;
        if dest == PROC_NULL { Ok(()) } else { self.check_rank("dest", comm, dest, 0) }
    }

    /// Sends a message that the transport takes at once and that needs no packing within the call. `None` if
    /// it is not such a message, or not a valid one: then nothing has been done.
    #[inline(always)]
    fn send_short(
        &mut self,
        buf: &Buffer,
        dest: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Option<Result<(), Error>> {
        let transport = self.point_to_point.transport();
        let short_max = transport.short_max_bytes();
        let data = buf.plain(short_max.max(transport.whole_max_bytes()))?;
        let of = self.of(comm);
        let to = u32::try_from(dest).ok().filter(|&dest| tag >= 0 && dest < of.peers())?;
        let (to, context, source) = (of.peer(to), of.group.context, of.group.rank as i32);
        let envelope = Envelope { context, source, tag, bytes: data.bytes, acknowledge: 0 };
        match data.bytes as usize <= short_max {
            true => Some(self.point_to_point.send_short(to, envelope, data)),
            false => self.point_to_point.send_whole(to, envelope, data),
        }
    }

    /// Starts to receive a message that needs no unpacking; `None` as for [`Self::send_short`].
    #[inline]
    fn receive_plain(&mut self, buf: &Buffer, source: c_int, tag: c_int, comm: CommId) -> Option<Number> {
        let space = buf.plain(PLAIN_BYTES_MAX)?;
        let of = self.of(comm);
        let is_tag = tag >= 0 || tag == ANY_TAG;
        let is_valid = is_tag && source >= ANY_SOURCE && source < of.peers() as c_int;
        let pattern = Pattern { context: of.group.context, source, tag };
        is_valid.then(|| self.point_to_point.receive(pattern, space))
    }

    pub fn start_send(
        &mut self,
        mode: Mode,
        buf: Buffer,
        dest: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<Request, Error> {
        self.check_send(dest, tag, comm)?;
        if mode == Mode::Buffered && dest != PROC_NULL {
            return self.start_buffered(&buf, dest, tag, comm).map(|()| Request::Ended(Ok(EMPTY)));
        }
        let context = self.of(comm).group.context;
        self.start_send_in(context, mode, &buf, (dest, tag), comm)
    }

    /// The same in a context of the communicator, with what is checked.
    pub fn start_send_in(
        &mut self,
        context: u32,
        mode: Mode,
        buf: &Buffer,
        (dest, tag): Side,
        comm: CommId,
    ) -> Result<Request, Error> {
        // SAFETY: the program gave the buffer.
        let (data, kept) = unsafe { buf.outgoing()? };
        if dest == PROC_NULL {
            return Ok(Request::Ended(Ok(EMPTY)));
        }
        let (source, bytes) = (self.of(comm).group.rank as i32, data.bytes);
        let envelope = Envelope { context, source, tag, bytes, acknowledge: 0 };
        let to = self.of(comm).peer(dest as u32);
        let number = match mode {
            Mode::Standard | Mode::Buffered => self.point_to_point.send(to, envelope, data)?,
            Mode::Synchronous => Some(self.point_to_point.send_synchronous(to, envelope, data)?),
        };
        Ok(number.map_or(Request::Ended(Ok(EMPTY)), |number| Request::Send(number, kept)))
    }

    /// What a receive wants.
    pub fn pattern(&mut self, source: c_int, tag: c_int, comm: CommId) -> Result<Pattern, Error> {
        if tag != ANY_TAG {
            check_tag(tag)?;
        }
        self.check_rank("source", comm, source, ANY_SOURCE)?;
        Ok(Pattern { context: self.of(comm).group.context, source, tag })
    }

    pub fn start_receive(
        &mut self,
        buf: Buffer,
        source: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<Request, Error> {
        let pattern = match source {
            PROC_NULL => None,
            _ => Some(self.pattern(source, tag, comm)?),
        };
        self.start_receive_of(pattern, &buf)
    }

    /// The same of a message that is known to be possible; of none, from `MPI_PROC_NULL`.
    pub fn start_receive_of(&mut self, pattern: Option<Pattern>, buf: &Buffer) -> Result<Request, Error> {
        let (space, unpacking) = buf.incoming()?;
        Ok(match pattern {
            Some(pattern) => {
                Request::Receive(self.point_to_point.receive(pattern, space), unpacking.map(Box::new))
            }
            None => Request::NoReceive,
        })
    }
}

macro_rules! sends {
    ($($blocking:ident $starting:ident = $mode:ident;)*) => {$(
        pub unsafe fn $blocking(
            library: &mut Library,
            buf: Buffer,
            dest: c_int,
            tag: c_int,
            comm: CommId,
        ) -> Result<(), Error> {
            if Mode::$mode == Mode::Standard
                && let Some(sent) = library.send_short(&buf, dest, tag, comm)
            {
                return sent;
            }
            let request = library.start_send(Mode::$mode, buf, dest, tag, comm)?;
            library.finish(request).map(|_| ())
        }

        pub unsafe fn $starting(
            library: &mut Library,
            buf: Buffer,
            dest: c_int,
            tag: c_int,
            comm: CommId,
            request: *mut usize,
        ) -> Result<(), Error> {
            if Mode::$mode == Mode::Standard
                && let Some(sent) = library.send_short(&buf, dest, tag, comm)
            {
                // SAFETY: the program gave the place.
                return sent.map(|()| unsafe { library.hand_out_ended_send(request) });
            }
            let started = library.start_send(Mode::$mode, buf, dest, tag, comm)?;
            // SAFETY: the program gave the place.
            unsafe { library.hand_out(started, request) }
        }
    )*};
}
sends! {
    send isend = Standard;
    ssend issend = Synchronous;
    bsend ibsend = Buffered;
}

pub unsafe fn recv(
    library: &mut Library,
    buf: Buffer,
    source: c_int,
    tag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    let end = match library.receive_plain(&buf, source, tag, comm) {
        Some(number) => library.finish_receive(number)?,
        None => {
            let request = library.start_receive(buf, source, tag, comm)?;
            library.finish(request)?
        }
    };
    // SAFETY: the program gave the place, or NULL.
    unsafe { set_status(status, &end) };
    Ok(())
}

pub unsafe fn irecv(
    library: &mut Library,
    buf: Buffer,
    source: c_int,
    tag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    if let Some(number) = library.receive_plain(&buf, source, tag, comm) {
        // SAFETY: the program gave the place.
        return unsafe { library.hand_out(Request::Receive(number, None), request) };
    }
    let started = library.start_receive(buf, source, tag, comm)?;
    // SAFETY: the same.
    unsafe { library.hand_out(started, request) }
}

/// One side of a call that sends and receives: a rank and a tag.
type Side = (c_int, c_int);

impl Library {
    /// Starts to send and to receive. Both are checked before one begins: a receive of a call that failed
    /// would still write to its buffer.
    fn start_both(
        &mut self,
        sendbuf: Buffer,
        (dest, sendtag): Side,
        recvbuf: Buffer,
        (source, recvtag): Side,
        comm: CommId,
    ) -> Result<[Request; 2], Error> {
        recvbuf.check()?;
        if source != PROC_NULL {
            self.pattern(source, recvtag, comm)?;
        }
        let send = self.start_send(Mode::Standard, sendbuf, dest, sendtag, comm)?;
        Ok([send, self.start_receive(recvbuf, source, recvtag, comm)?])
    }

    /// The same with one buffer, of which a copy is sent.
    ///
    /// # Safety
    /// The program gave the buffer.
    unsafe fn start_replacing(
        &mut self,
        buf: Buffer,
        to: Side,
        from: Side,
        comm: CommId,
    ) -> Result<[Request; 2], Error> {
        // SAFETY: the caller's promise.
        let data = unsafe { buf.bytes(1)? }.into_owned();
        let [mut send, receive] =
            self.start_both(Buffer::of_bytes(buf.clone(), &data), to, buf, from, comm)?;
        if let Request::Send(_, kept) = &mut send {
            *kept = Some(data);
        }
        Ok([send, receive])
    }

    /// # Safety
    /// The program gave the place, or NULL.
    unsafe fn finish_both(
        &mut self,
        [send, receive]: [Request; 2],
        status: *mut Status,
    ) -> Result<(), Error> {
        self.finish(send)?;
        let end = self.finish(receive)?;
        // SAFETY: the caller's promise.
        unsafe { set_status(status, &end) };
        Ok(())
    }
}

pub unsafe fn sendrecv(
    library: &mut Library,
    sendbuf: Buffer,
    dest: c_int,
    sendtag: c_int,
    recvbuf: Buffer,
    source: c_int,
    recvtag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    let both = library.start_both(sendbuf, (dest, sendtag), recvbuf, (source, recvtag), comm)?;
    // SAFETY: the program gave the place, or NULL.
    unsafe { library.finish_both(both, status) }
}

pub unsafe fn isendrecv(
    library: &mut Library,
    sendbuf: Buffer,
    dest: c_int,
    sendtag: c_int,
    recvbuf: Buffer,
    source: c_int,
    recvtag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    let both = library.start_both(sendbuf, (dest, sendtag), recvbuf, (source, recvtag), comm)?;
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::SendReceive(Box::new(both)), request) }
}

pub unsafe fn sendrecv_replace(
    library: &mut Library,
    buf: Buffer,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: CommId,
    status: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffer, and the place or NULL.
    unsafe {
        let both = library.start_replacing(buf, (dest, sendtag), (source, recvtag), comm)?;
        library.finish_both(both, status)
    }
}

pub unsafe fn isendrecv_replace(
    library: &mut Library,
    buf: Buffer,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffer and the place.
    unsafe {
        let both = library.start_replacing(buf, (dest, sendtag), (source, recvtag), comm)?;
        library.hand_out(Request::SendReceive(Box::new(both)), request)
    }
}

/// How a receive of a message would end.
pub fn found(envelope: Envelope) -> Ended {
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
        library.poll();
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
