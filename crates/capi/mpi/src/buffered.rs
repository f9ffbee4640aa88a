//! Buffered sends (MPI 5.0, section 3.6): the data is copied, and the program goes on. Copies are in memory
//! of the library; the buffer that the program attaches says how much it may be.

use crate::buffer::Buffer;
use crate::library::{CommId, Library};
use crate::numbers::{Count, CountPlace};
use crate::requests::Request;
use crate::sends::Mode;
use crate::sessions::SessionId;
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};

/// `MPI_BUFFER_AUTOMATIC`: as much as is needed.
const AUTOMATIC: usize = 2;
/// `MPI_BSEND_OVERHEAD`.
const OVERHEAD: usize = 512;

/// Whose messages a buffer is for: those of a communicator, by its index, of those of a session, by its
/// handle, or of all others.
type Key = Option<usize>;

/// A buffer that the program attached.
pub struct Attached {
    of: Key,
    address: usize,
    bytes: usize,
    /// Sends that have not ended, and the room that they take.
    sends: Vec<(Request, usize)>,
}

impl Library {
    fn attached(&mut self, of: Key) -> Option<&mut Attached> {
        self.attached.iter_mut().find(|attached| attached.of == of)
    }

    /// Sends a copy of the data.
    pub fn start_buffered(
        &mut self,
        buf: &Buffer,
        dest: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<(), Error> {
        // SAFETY: the program gave the buffer.
        let data = unsafe { buf.bytes(1)? }.into_owned();
        // The buffer of the communicator, of its session, or of the process.
        let keys = [Some(comm.0), self.of(comm).session];
        let of = keys.into_iter().flatten().find(|&key| self.attached(Some(key)).is_some());
        let room = data.len() + OVERHEAD;
        self.release_sent();
        if self.attached(of).is_some_and(|attached| attached.free() < room) {
            self.poll();
            self.release_sent();
        }
        match self.attached(of).map(|attached| attached.free()) {
            None => return Err(Error::new(Class::Buffer, "no buffer is attached for buffered sends")),
            Some(free) if free < room => {
                let text = format!("the attached buffer has {free} B left, and the message needs {room} B");
                return Err(Error::new(Class::Buffer, text));
            }
            Some(_) => {}
        }
        let mut send =
            self.start_send(Mode::Standard, Buffer::of_bytes(buf.clone(), &data), dest, tag, comm)?;
        if let Request::Send(_, kept) = &mut send {
            *kept = Some(data);
            self.attached(of).expect("it was found").sends.push((send, room));
        }
        Ok(())
    }

    /// Ends the sends that can be.
    fn release_sent(&mut self) {
        let mut attached = std::mem::take(&mut self.attached);
        for buffer in &mut attached {
            for (send, _) in buffer.sends.extract_if(.., |(send, _)| self.has_ended(send)) {
                drop(self.release_request(send));
            }
        }
        self.attached = attached;
    }

    /// Whether all that was sent from a buffer has left.
    pub fn is_flushed(&self, of: Key) -> bool {
        let mut buffers = self.attached.iter().filter(|attached| attached.of == of);
        buffers.all(|attached| attached.sends.iter().all(|(send, _)| self.has_ended(send)))
    }

    fn flush(&mut self, of: Key) {
        while !self.is_flushed(of) {
            self.progress();
        }
        self.release_sent();
    }

    /// Waits for all buffered sends.
    pub fn flush_all(&mut self) {
        let all: Vec<Key> = self.attached.iter().map(|attached| attached.of).collect();
        all.into_iter().for_each(|of| self.flush(of));
    }

    fn attach(&mut self, of: Key, buffer: *mut c_void, Count(bytes): Count) -> Result<(), Error> {
        if self.attached(of).is_some() {
            return Err(Error::new(Class::Buffer, "a buffer is attached already"));
        }
        self.attached.push(Attached { of, address: buffer as usize, bytes, sends: vec![] });
        Ok(())
    }

    /// # Safety
    /// The program gave the places.
    unsafe fn detach(&mut self, of: Key, buffer: *mut c_void, size: CountPlace) -> Result<(), Error> {
        if self.attached(of).is_none() {
            return Err(Error::new(Class::Buffer, "no buffer is attached"));
        }
        self.flush(of);
        let at = self.attached.iter().position(|attached| attached.of == of).expect("it was found");
        let attached = self.attached.remove(at);
        // SAFETY: the caller's promise; that of the buffer is for a pointer.
        unsafe {
            *buffer.cast::<usize>() = attached.address;
            size.set(Some(attached.bytes as u64));
        }
        Ok(())
    }

    /// A communicator is freed: its messages are sent, and its buffer is the program's again.
    pub fn detach_freed(&mut self, comm: CommId) {
        self.flush(Some(comm.0));
        self.attached.retain(|attached| attached.of != Some(comm.0));
    }
}

impl Attached {
    fn free(&self) -> usize {
        let used: usize = self.sends.iter().map(|send| send.1).sum();
        if self.address == AUTOMATIC { usize::MAX } else { self.bytes.saturating_sub(used) }
    }
}

pub unsafe fn attach(library: &mut Library, buffer: *mut c_void, size: Count) -> Result<(), Error> {
    library.attach(None, buffer, size)
}

pub unsafe fn attach_comm(
    library: &mut Library,
    comm: CommId,
    buffer: *mut c_void,
    size: Count,
) -> Result<(), Error> {
    library.attach(Some(comm.0), buffer, size)
}

pub unsafe fn detach(library: &mut Library, buffer: *mut c_void, size: CountPlace) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe { library.detach(None, buffer, size) }
}

pub unsafe fn detach_comm(
    library: &mut Library,
    comm: CommId,
    buffer: *mut c_void,
    size: CountPlace,
) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe { library.detach(Some(comm.0), buffer, size) }
}

pub unsafe fn flush(library: &mut Library) -> Result<(), Error> {
    library.flush(None);
    Ok(())
}

pub unsafe fn flush_comm(library: &mut Library, comm: CommId) -> Result<(), Error> {
    library.flush(Some(comm.0));
    Ok(())
}

pub unsafe fn iflush(library: &mut Library, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Flush(None), request) }
}

pub unsafe fn iflush_comm(library: &mut Library, comm: CommId, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Flush(Some(comm.0)), request) }
}

pub unsafe fn attach_session(
    library: &mut Library,
    session: SessionId,
    buffer: *mut c_void,
    size: Count,
) -> Result<(), Error> {
    library.attach(Some(session.0), buffer, size)
}

pub unsafe fn detach_session(
    library: &mut Library,
    session: SessionId,
    buffer: *mut c_void,
    size: CountPlace,
) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe { library.detach(Some(session.0), buffer, size) }
}

pub unsafe fn flush_session(library: &mut Library, session: SessionId) -> Result<(), Error> {
    library.flush(Some(session.0));
    Ok(())
}

pub unsafe fn iflush_session(
    library: &mut Library,
    session: SessionId,
    request: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Flush(Some(session.0)), request) }
}
