//! Matched probes and receives (MPI 5.0, section 3.8.2): who probes a message gets it, whatever others
//! receive.

use crate::abi::*;
use crate::buffer::Buffer;
use crate::library::{CommId, Library};
use crate::requests::{NO_MESSAGE, Request, set_status};
use crate::sends::found;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::Pattern;
use netloom_mpi::point_to_point::Ended;
use std::ffi::c_int;

/// See [`crate::handles`].
pub const USER_MESSAGE: usize = 0x0500_0000;

const MESSAGE_NULL: usize = 0x128;
/// A message from `MPI_PROC_NULL`.
const MESSAGE_NO_PROC: usize = 0x129;

impl Library {
    /// The handle of a message that is there, and how a receive of it would end.
    fn take(&mut self, pattern: &Pattern) -> Option<(usize, Ended)> {
        let message = self.point_to_point.take(pattern);
        self.point_to_point.note_probe(pattern, message.is_some());
        let message = message?;
        let end = found(message.envelope);
        Some((self.messages.insert(message), end))
    }

    /// Starts to receive a message that has been probed.
    ///
    /// # Safety
    /// The program gave the handle.
    unsafe fn receive_message(&mut self, buf: Buffer, message: *mut usize) -> Result<Request, Error> {
        let (space, unpacking) = buf.incoming()?;
        // SAFETY: the caller's promise.
        let handle = unsafe { &mut *message };
        if *handle == MESSAGE_NO_PROC {
            *handle = MESSAGE_NULL;
            return Ok(Request::NoReceive);
        }
        let taken = self.messages.remove(*handle);
        let Some(taken) = taken else {
            return Err(Error::new(
                Class::Request,
                format!("message is {handle:#x}, which no probe has returned"),
            ));
        };
        *handle = MESSAGE_NULL;
        Ok(Request::Receive(self.point_to_point.receive_taken(taken, space), unpacking.map(Box::new)))
    }
}

pub unsafe fn improbe(
    library: &mut Library,
    source: c_int,
    tag: c_int,
    comm: CommId,
    flag: *mut c_int,
    message: *mut usize,
    status: *mut Status,
) -> Result<(), Error> {
    let taken = if source == PROC_NULL {
        Some((MESSAGE_NO_PROC, NO_MESSAGE))
    } else {
        let pattern = library.pattern(source, tag, comm)?;
        library.poll();
        library.take(&pattern)
    };
    // SAFETY: the program gave the places; that of the status may be NULL.
    unsafe {
        *flag = taken.is_some().into();
        if let Some((handle, end)) = taken {
            *message = handle;
            set_status(status, &end);
        }
    }
    Ok(())
}

pub unsafe fn mprobe(
    library: &mut Library,
    source: c_int,
    tag: c_int,
    comm: CommId,
    message: *mut usize,
    status: *mut Status,
) -> Result<(), Error> {
    let mut flag = 0;
    loop {
        // SAFETY: the program gave the places; that of the status may be NULL.
        unsafe { improbe(library, source, tag, comm, &mut flag, message, status)? };
        if flag != 0 {
            return Ok(());
        }
        library.progress();
    }
}

pub unsafe fn mrecv(
    library: &mut Library,
    buf: Buffer,
    message: *mut usize,
    status: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave all; the status may be NULL.
    unsafe {
        let request = library.receive_message(buf, message)?;
        let end = library.finish(request)?;
        set_status(status, &end);
    }
    Ok(())
}

pub unsafe fn imrecv(
    library: &mut Library,
    buf: Buffer,
    message: *mut usize,
    request: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave all.
    unsafe {
        let started = library.receive_message(buf, message)?;
        library.hand_out(started, request)
    }
}
