//! `MPI_Comm_join` (MPI 5.0, section 11.10.4): the processes at the two ends of a socket connect. Each tells
//! the other its job and its number there; the socket is then as it was.

use super::Exchange;
use crate::abi::COMM_NULL;
use crate::library::{CommId, Library};
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;

/// What a process says of itself.
const MAGIC: [u8; 8] = *b"netloom1";
const GREETING_B: usize = 32;

/// The job, as a number: processes without a launcher are jobs of their own.
fn job() -> u64 {
    let name = std::env::var("NETLOOM_LAUNCHER").unwrap_or_else(|_| format!("{}", std::process::id()));
    // FNV-1a.
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Sends all bytes, or receives as many, with progress meanwhile.
fn transfer(
    library: &mut Library,
    fd: RawFd,
    count: usize,
    mut part: impl FnMut(usize) -> isize,
) -> Result<(), Error> {
    let mut done = 0;
    while done < count {
        match part(done) {
            0 => return Err(Error::new(Class::Other, format!("the other end of socket {fd} is closed"))),
            moved if moved > 0 => done += moved as usize,
            _ => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => {
                    library.pause();
                }
                e => return Err(Error::new(Class::Other, format!("socket {fd}: {e}"))),
            },
        }
    }
    Ok(())
}

pub unsafe fn join(library: &mut Library, fd: c_int, made: *mut usize) -> Result<(), Error> {
    library.check_native()?;
    let (mut kind, mut length) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: a system call with a place of this length.
    let is_socket = unsafe {
        let place = (&raw mut kind).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, place, &raw mut length) == 0
    };
    if !is_socket || kind != libc::SOCK_STREAM {
        return Err(Error::new(Class::Arg, format!("fd is {fd}, which is no socket of a connection")));
    }
    let (own, request) = (library.own_process(), library.worlds.next_exchange());
    let mut greeting = [0; GREETING_B];
    greeting[..8].copy_from_slice(&MAGIC);
    greeting[8..16].copy_from_slice(&job().to_ne_bytes());
    greeting[16..20].copy_from_slice(&own.to_ne_bytes());
    greeting[20..24].copy_from_slice(&request.to_ne_bytes());
    let mut other = [0; GREETING_B];
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: system calls on parts of arrays.
    transfer(library, fd, GREETING_B, |at| unsafe {
        libc::send(fd, greeting[at..].as_ptr().cast(), GREETING_B - at, flags)
    })?;
    // SAFETY: the same.
    transfer(library, fd, GREETING_B, |at| unsafe {
        libc::recv(fd, other[at..].as_mut_ptr().cast(), GREETING_B - at, flags)
    })?;
    if other[..8] != MAGIC {
        return Err(Error::new(
            Class::Other,
            format!("the other end of socket {fd} is no process of MPI_Comm_join"),
        ));
    }
    let [process, its_request] = super::words(&other[16..]);
    // The standard has it so where no intercommunicator can be made and the socket is as it was.
    let handle = if other[8..16] != greeting[8..16] || process == own {
        COMM_NULL
    } else {
        let number = if own < process { request } else { its_request };
        library.connect_to(CommId(1), 0, process, Exchange::Join.number(number))?
    };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}
