//! Reads and writes of another process's memory, in one copy by the kernel.
//!
//! The kernel permits it between processes of one user, unless it is configured otherwise (containers without
//! `CAP_SYS_PTRACE`, Yama): then callers send the data through queues, in two copies. [`permit_all`] asks for the
//! permission that Yama wants.
#![allow(unsafe_code)]

use std::io;

/// Permits other processes of the same user to access this one's memory, where Yama restricts it to parents.
pub fn permit_all() {
    // SAFETY: a system call without pointers. An error means that there is no Yama, so no restriction.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0);
    }
}

/// Which way data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the other process.
    Read,
    /// To the other process.
    Write,
}

/// Copies `bytes` between an address of this process and one of process `pid`.
///
/// # Errors
/// As of `process_vm_readv`: `EPERM` if the kernel does not permit it, `ESRCH` if the process is gone, `EFAULT`
/// if the other process has no memory there.
///
/// # Safety
/// `local` must be valid for `bytes`, for reads or writes as the direction says, and the other process must
/// expect the access at `remote`.
pub unsafe fn copy(direction: Direction, pid: i32, local: u64, remote: u64, bytes: usize) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let part = |base: u64| libc::iovec {
            iov_base: (base as usize + done) as *mut libc::c_void,
            iov_len: bytes - done,
        };
        let (ours, theirs) = (part(local), part(remote));
        // SAFETY: the caller's promise.
        let moved = unsafe {
            match direction {
                Direction::Read => libc::process_vm_readv(pid, &raw const ours, 1, &raw const theirs, 1, 0),
                Direction::Write => libc::process_vm_writev(pid, &raw const ours, 1, &raw const theirs, 1, 0),
            }
        };
        match moved {
            // Nothing moved although there is more: the range ends in memory that does not exist.
            0 => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            n if n > 0 => done += n as usize,
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no process_vm_readv")]
    fn data_moves_both_ways_and_a_wrong_address_is_an_error() {
        let source = vec![7u8; 100_000];
        let mut target = vec![0u8; 100_000];
        let pid = std::process::id() as i32;
        let [from, to] = [source.as_ptr() as u64, target.as_mut_ptr() as u64];
        // SAFETY: both are this process's own.
        unsafe { copy(Direction::Read, pid, to, from, 50_000) }.unwrap();
        // SAFETY: the same.
        unsafe { copy(Direction::Write, pid, from + 50_000, to + 50_000, 50_000) }.unwrap();
        assert_eq!(source, target);
        // SAFETY: nothing is there, so nothing is written.
        let error = unsafe { copy(Direction::Read, pid, to, 8, 8) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
