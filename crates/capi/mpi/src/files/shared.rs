//! The shared file pointer: memory that all processes of a file have, which the first of them makes. It has no
//! name in the file system, so nothing is left when a job is killed; and it is changed by atomic operations, so
//! no process waits for another.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};

const BYTES: usize = size_of::<AtomicI64>();

/// A number that several processes have, in elementary types of the view.
pub struct SharedPointer(NonNull<AtomicI64>);

impl SharedPointer {
    /// A new one, and the file by which others find it.
    pub fn create() -> io::Result<(Self, File)> {
        // SAFETY: a system call with a constant string.
        let fd = unsafe { libc::memfd_create(c"netloom-file-pointer".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(BYTES as u64)?;
        Ok((Self::map(&file)?, file))
    }

    /// What others find it by: the process that made it, and its descriptor there.
    pub fn key(file: &File) -> u64 {
        u64::from(std::process::id()) << 32 | file.as_raw_fd() as u64
    }

    /// That of another process, while it has the file open.
    pub fn open(key: u64) -> io::Result<Self> {
        let path = format!("/proc/{}/fd/{}", key >> 32, key as u32);
        Self::map(&File::options().read(true).write(true).open(path)?)
    }

    fn map(file: &File) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory, of a file that is so long.
        let memory = unsafe {
            libc::mmap(std::ptr::null_mut(), BYTES, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(memory.cast()).map(SharedPointer).ok_or_else(io::Error::last_os_error)
    }

    fn number(&self) -> &AtomicI64 {
        // SAFETY: it is mapped while this lives, and aligned to a page.
        unsafe { self.0.as_ref() }
    }

    pub fn get(&self) -> i64 {
        self.number().load(Ordering::SeqCst)
    }

    pub fn set(&self, position: i64) {
        self.number().store(position, Ordering::SeqCst);
    }

    /// Moves it, and returns where it was.
    pub fn advance(&self, by: i64) -> i64 {
        self.number().fetch_add(by, Ordering::SeqCst)
    }
}

impl Drop for SharedPointer {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), BYTES) };
    }
}
