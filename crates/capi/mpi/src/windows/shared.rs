//! Memory that all processes of a communicator have, which are on one node: a file without a name, which rank
//! 0 makes and the others open through its process, so that nothing is left when a process dies.

use super::create::greatest;
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::one_sided::{Addresses, Extents, Mapped};
use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd as _, FromRawFd as _};

/// Memory that other processes have too.
pub struct Mapping {
    address: *mut c_void,
    bytes: usize,
    /// Where that of each rank is.
    pub ranks: Mapped,
}

impl Mapping {
    fn of(file: &File, bytes: usize, places: &Places) -> std::io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (shared, descriptor) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a new mapping of a file of that length.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, shared, descriptor, 0) };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let first = address as u64;
        let memory = match &places.starts {
            &Starts::Uniform(stride) => Addresses::Uniform(first, stride),
            Starts::Listed(list) => Addresses::Listed(list.iter().map(|start| first + start).collect()),
        };
        let locks = Addresses::Uniform(first + places.locks, LOCK_B);
        let ranks = Mapped { memory, locks };
        Ok(Mapping { address, bytes, ranks })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is mapped, and the window is freed.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Where the memory of each rank begins.
enum Starts {
    /// As many bytes from one rank's to the next.
    Uniform(u64),
    Listed(Vec<u64>),
}

/// How the memory of several ranks is laid out.
pub struct Places {
    starts: Starts,
    /// Where the locks of accumulates begin.
    locks: u64,
    bytes: u64,
}

/// From one lock to the next: a cache line.
const LOCK_B: u64 = 64;

impl Places {
    /// One rank's after the other's, each at a multiple of an alignment.
    pub fn new(extents: &Extents, ranks: u32, alignment: u64) -> Result<Self, Error> {
        let too_long = || Error::new(Class::NoMem, "the window would be longer than memory");
        let rounded = |bytes: u64| bytes.checked_next_multiple_of(alignment).filter(|&all| all < 1 << 62);
        let checked = |bytes: Option<u64>| bytes.filter(|&all| all < 1 << 62).ok_or_else(too_long);
        if let &Extents::Uniform(bytes, _) = extents {
            let stride = checked(rounded(bytes))?;
            let end = checked(stride.checked_mul(ranks.into()))?;
            return Ok(Self::with_locks(Starts::Uniform(stride), end, ranks));
        }
        let (mut list, mut end) = (vec![], 0);
        for rank in 0..ranks {
            list.push(end);
            let own = extents.of(rank).map_or(0, |of| of.0);
            end = checked(rounded(own).and_then(|own| own.checked_add(end)))?;
        }
        Ok(Self::with_locks(Starts::Listed(list), end, ranks))
    }

    fn with_locks(starts: Starts, end: u64, ranks: u32) -> Self {
        let locks = end.next_multiple_of(LOCK_B);
        Places { starts, locks, bytes: locks + LOCK_B * u64::from(ranks) }
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
pub fn map(library: &mut Library, comm: CommId, places: &Places) -> Result<Mapping, Error> {
    let bytes = places.bytes as usize;
    let group = library.of(comm).group.clone();
    let node = u64::from(library.point_to_point.transport().node());
    // The greatest, and with all bits inverted the least.
    let [last, first] = greatest(library, comm, [node, !node])?;
    if last != !first {
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
        let text = format!("there is no memory for {bytes} B that is shared");
        return Err(Error::new(Class::NoMem, text));
    }
    let open = || OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"));
    let mapping = file.as_ref().map_or_else(
        || open().and_then(|file| Mapping::of(&file, bytes, places)),
        |file| Mapping::of(file, bytes, places),
    );
    // Rank 0 keeps its file until all have opened it; none has the memory if one has not.
    let [has_failed] = greatest(library, comm, [mapping.is_err().into()])?;
    let mapping = mapping.map_err(failed)?;
    match has_failed {
        0 => Ok(mapping),
        _ => Err(Error::new(Class::RmaShared, "another rank cannot share the memory")),
    }
}
