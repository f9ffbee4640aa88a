//! Reads and writes of another process's memory, in one copy by the kernel.
//!
//! The kernel permits it between processes of one user, unless it is configured otherwise (containers without
//! `CAP_SYS_PTRACE`, Yama): then callers send the data through queues, in two copies. [`permit_all`] asks for
//! the permission that Yama wants.
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
/// As of `process_vm_readv`: `EPERM` if the kernel does not permit it, `ESRCH` if the process is gone,
/// `EFAULT` if the other process has no memory there.
///
/// # Safety
/// `local` must be valid for `bytes`, for reads or writes as the direction says, and the other process must
/// expect the access at `remote`.
#[inline(always)]
pub unsafe fn copy(direction: Direction, pid: i32, local: u64, remote: u64, bytes: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    let moved = unsafe { copy_once(direction, pid, local, remote, bytes) };
    if moved == bytes as isize {
        return Ok(());
    }
    // SAFETY: the same.
    unsafe { copy_rest(direction, pid, [local, remote], bytes, moved) }
}

/// One system call; what it returns. All that is around it is made for its callers: after it the processor
/// predicts no return, so each function in between takes 10 ns.
#[inline(always)]
unsafe fn copy_once(direction: Direction, pid: i32, local: u64, remote: u64, bytes: usize) -> isize {
    let part = |base: u64| libc::iovec { iov_base: base as usize as *mut libc::c_void, iov_len: bytes };
    let (ours, theirs) = (part(local), part(remote));
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            Direction::Read => libc::process_vm_readv(pid, &raw const ours, 1, &raw const theirs, 1, 0),
            Direction::Write => libc::process_vm_writev(pid, &raw const ours, 1, &raw const theirs, 1, 0),
        }
    }
}

/// [`copy`] after a first call that has moved this, or failed.
#[cold]
unsafe fn copy_rest(
    direction: Direction,
    pid: i32,
    [local, remote]: [u64; 2],
    bytes: usize,
    mut moved: isize,
) -> io::Result<()> {
    let mut done = 0;
    loop {
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
        if done == bytes {
            return Ok(());
        }
        let at = done as u64;
        // SAFETY: the caller's promise.
        moved = unsafe { copy_once(direction, pid, local + at, remote + at, bytes - done) };
    }
}

/// Pieces that one system call takes.
const PIECES_MAX: usize = 1024;

/// Copies several pieces, each an address of this process, one of process `pid` and a length. After an error,
/// some may have been copied.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// As [`copy`], for each piece.
pub unsafe fn copy_pieces(direction: Direction, pid: i32, pieces: &[(u64, u64, usize)]) -> io::Result<()> {
    for batch in pieces.chunks(PIECES_MAX) {
        let part = |base: u64, bytes| libc::iovec { iov_base: base as usize as *mut _, iov_len: bytes };
        let ours: Vec<libc::iovec> = batch.iter().map(|piece| part(piece.0, piece.2)).collect();
        let theirs: Vec<libc::iovec> = batch.iter().map(|piece| part(piece.1, piece.2)).collect();
        let (ours, theirs, count) = (ours.as_ptr(), theirs.as_ptr(), batch.len() as libc::c_ulong);
        // SAFETY: the caller's promise.
        let moved = unsafe {
            match direction {
                Direction::Read => libc::process_vm_readv(pid, ours, count, theirs, count, 0),
                Direction::Write => libc::process_vm_writev(pid, ours, count, theirs, count, 0),
            }
        };
        if usize::try_from(moved) != Ok(batch.iter().map(|piece| piece.2).sum()) {
            // One by one, which finds out what is wrong.
            for &(local, remote, bytes) in batch {
                // SAFETY: the caller's promise.
                unsafe { copy(direction, pid, local, remote, bytes) }?;
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

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no process_vm_readv")]
    fn pieces_move_and_a_wrong_address_among_them_is_an_error() {
        let source: Vec<u8> = (0..30_000).map(|n| n as u8).collect();
        let mut target = vec![0u8; 30_000];
        let pid = std::process::id() as i32;
        let [from, to] = [source.as_ptr() as u64, target.as_mut_ptr() as u64];
        // More than one call takes; each third byte, in reverse.
        let mut pieces: Vec<(u64, u64, usize)> =
            (0..10_000).map(|n| (to + 3 * n, from + 3 * (9_999 - n), 1)).collect();
        // SAFETY: both are this process's own.
        unsafe { copy_pieces(Direction::Read, pid, &pieces) }.unwrap();
        for n in 0..10_000 {
            assert_eq!(target[3 * n..3 * n + 3], [source[3 * (9_999 - n)], 0, 0]);
        }
        pieces[5_000].1 = 8;
        // SAFETY: the same; one address is not this process's, which the call finds out.
        let error = unsafe { copy_pieces(Direction::Read, pid, &pieces) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
