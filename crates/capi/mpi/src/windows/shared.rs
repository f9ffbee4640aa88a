//! Memory that all processes of a communicator have, which are on one node.

use super::create::greatest;
use crate::library::{CommId, Library};
use crate::memory::{self, SharedMemory};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::one_sided::{Addresses, Extents, Mapped};
use std::fs::File;

/// Memory that other processes have too.
pub struct Mapping {
    /// It stays mapped.
    _memory: SharedMemory,
    /// Where that of each rank is.
    pub ranks: Mapped,
}

impl Mapping {
    fn of(file: &File, bytes: usize, places: &Places) -> std::io::Result<Self> {
        let shared = SharedMemory::of(file, bytes)?;
        let first = shared.address() as u64;
        let memory = match &places.starts {
            &Starts::Uniform(stride) => Addresses::Uniform(first, stride),
            Starts::Listed(list) => Addresses::Listed(list.iter().map(|start| first + start).collect()),
        };
        let locks = Addresses::Uniform(first + places.locks, LOCK_B);
        let ranks = Mapped { memory, locks };
        Ok(Mapping { _memory: shared, ranks })
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
    let file = if group.rank == 0 { memory::create(c"window", bytes).ok() } else { None };
    // All ranks hear of it if there is none.
    const NONE: u64 = u64::MAX;
    let mut key = file.as_ref().map_or(NONE, memory::key).to_ne_bytes();
    let operation = library.operation(comm);
    library.block_on(collective::broadcast(&operation, &mut key, 0))?;
    let key = u64::from_ne_bytes(key);
    if key == NONE {
        let text = format!("there is no memory for {bytes} B that is shared");
        return Err(Error::new(Class::NoMem, text));
    }
    let mapping = file.as_ref().map_or_else(
        || memory::open(key).and_then(|file| Mapping::of(&file, bytes, places)),
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
