//! Memory that all processes of a communicator have, which are on one node: a file without a name, which rank 0 makes and
//! the others open through its process, so that nothing is left when a process dies.

use crate::communicators::agree;
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd as _, FromRawFd as _};

/// Memory that other processes have too.
pub struct Mapping {
    address: *mut c_void,
    bytes: usize,
}

impl Mapping {
    /// An address within.
    pub fn at(&self, offset: usize) -> *mut c_void {
        self.address.wrapping_byte_add(offset)
    }

    fn of(file: &File, bytes: usize) -> std::io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (shared, descriptor) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a new mapping of a file of that length.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, shared, descriptor, 0) };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Mapping { address, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is mapped, and the window is freed.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

fn made(bytes: usize) -> std::io::Result<File> {
    // SAFETY: a name, and a descriptor that nobody else has.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"window".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_len(bytes as u64)?;
    Ok(file)
}

/// Memory for all ranks of a communicator.
pub fn map(library: &mut Library, comm: CommId, bytes: usize) -> Result<Mapping, Error> {
    let bytes = bytes.max(1);
    let group = library.of(comm).group.clone();
    let node = u64::from(library.point_to_point.transport().node());
    // The greatest, and with all bits inverted the least.
    let operation = library.operation(comm);
    let (_, [greatest, least]) = agree(library, operation, [node, !node])?;
    if greatest != !least {
        return Err(Error::new(Class::RmaShared, "the processes of comm are not all on one node"));
    }
    let failed = |error: std::io::Error| {
        Error::new(Class::RmaShared, format!("memory of {bytes} B cannot be shared: {error}"))
    };
    let file = if group.rank == 0 { made(bytes).ok() } else { None };
    // All ranks hear of it if there is none: then the descriptor is negative.
    let descriptor = file.as_ref().map_or(-1, |file| file.as_raw_fd());
    let mut name = [std::process::id().to_ne_bytes(), descriptor.to_ne_bytes()].concat();
    let operation = library.operation(comm);
    library.block_on(collective::broadcast(&operation, &mut name, 0))?;
    let number = |at: usize| i32::from_ne_bytes(name[at..at + 4].try_into().expect("four bytes"));
    let (process, descriptor) = (number(0), number(4));
    if descriptor < 0 {
        return Err(Error::new(Class::NoMem, format!("there is no memory for {bytes} B that is shared")));
    }
    let open = || OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"));
    let mapping = file
        .as_ref()
        .map_or_else(|| open().and_then(|file| Mapping::of(&file, bytes)), |file| Mapping::of(file, bytes));
    // Rank 0 keeps its file until all have opened it.
    let operation = library.operation(comm);
    library.block_on(collective::barrier(operation))?;
    mapping.map_err(failed)
}
