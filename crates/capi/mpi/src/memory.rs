//! Memory that several processes of this computer have: a file without a name, which one process makes and
//! the others open through it, so that nothing is left when a process dies.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};

/// Such memory in this process.
pub struct SharedMemory {
    address: *mut c_void,
    bytes: usize,
}

/// A new file. Its maker keeps it until the others have opened theirs.
pub fn create(name: &CStr, bytes: usize) -> io::Result<File> {
    // SAFETY: a name, and a descriptor that nobody else has.
    let file = unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_len(bytes as u64)?;
    Ok(file)
}

/// What the others find a file by: its maker, and its descriptor there.
pub fn key(file: &File) -> u64 {
    u64::from(std::process::id()) << 32 | file.as_raw_fd() as u64
}

/// The file of another process.
pub fn open(key: u64) -> io::Result<File> {
    let path = format!("/proc/{}/fd/{}", key >> 32, key as u32);
    File::options().read(true).write(true).open(path)
}

impl SharedMemory {
    /// The memory of a file, which has this length.
    pub fn of(file: &File, bytes: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (shared, descriptor) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a new mapping of a file of that length.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, shared, descriptor, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMemory { address, bytes })
    }

    pub fn address(&self) -> *mut c_void {
        self.address
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: it is mapped, and whoever used it has ended that.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}
