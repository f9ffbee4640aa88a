//! Communicators (MPI 5.0, chapter 7).

use crate::abi::*;
use crate::environment::write;
use crate::library::{Comm, CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Members};
use std::ffi::{CStr, c_char, c_int};

pub unsafe fn rank(library: &mut Library, comm: CommId, rank: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *rank = library.of(comm).group.rank as c_int };
    Ok(())
}

pub unsafe fn size(library: &mut Library, comm: CommId, size: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *size = library.of(comm).group.size as c_int };
    Ok(())
}

/// A context that no member of a communicator uses: the greatest of those that they would take next.
pub fn agree_context(library: &mut Library, comm: CommId) -> Result<u32, Error> {
    agree(library, comm, []).map(|(context, [])| context)
}

/// The same, and the greatest of some values.
pub fn agree<const N: usize>(
    library: &mut Library,
    comm: CommId,
    values: [u64; N],
) -> Result<(u32, [u64; N]), Error> {
    let own = [u64::from(library.next_context)].into_iter().chain(values);
    let mut all: Vec<u8> = own.flat_map(u64::to_ne_bytes).collect();
    let word = |of: &[u8]| u64::from_ne_bytes(of.try_into().expect("eight bytes"));
    let greatest = |own: &mut [u8], other: &[u8]| {
        for (own, other) in own.chunks_exact_mut(8).zip(other.chunks_exact(8)) {
            own.copy_from_slice(&word(own).max(word(other)).to_ne_bytes());
        }
        Ok(())
    };
    let operation = library.operation(comm);
    library.block_on(collective::all_reduce(&operation, &mut all, &greatest))?;
    let context = word(&all[..8]) as u32;
    library.next_context = context + 2;
    Ok((context, std::array::from_fn(|at| word(&all[8 + 8 * at..][..8]))))
}

/// The handle of a communicator of the same group.
pub fn dup(library: &mut Library, comm: CommId) -> Result<usize, Error> {
    let context = agree_context(library, comm)?;
    let &mut Comm { ref group, errhandler, ref grid, .. } = library.of(comm);
    let (group, grid) = (Group { context, ..group.clone() }, grid.clone());
    let handle = library.add_comm(group, errhandler);
    library.set_grid(handle, grid);
    Ok(handle)
}

/// Ranks of one colour, by key, and by their old ranks where keys are equal.
pub unsafe fn split(
    library: &mut Library,
    comm: CommId,
    color: c_int,
    key: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    if color < 0 && color != UNDEFINED {
        return Err(Error::new(Class::Arg, format!("color is {color}, which is negative")));
    }
    let group = split_group(library, comm, color, key)?;
    let errhandler = library.of(comm).errhandler;
    let handle = if color == UNDEFINED { COMM_NULL } else { library.add_comm(group, errhandler) };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// The group of the ranks of this colour.
pub fn split_group(library: &mut Library, comm: CommId, color: c_int, key: c_int) -> Result<Group, Error> {
    const BYTES: usize = 8;
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    let mut all = vec![0; BYTES * size as usize];
    all[rank as usize * BYTES..][..4].copy_from_slice(&color.to_ne_bytes());
    all[rank as usize * BYTES + 4..][..4].copy_from_slice(&key.to_ne_bytes());
    let operation = library.operation(comm);
    library.block_on(collective::all_gather(&operation, collective::parts(&mut all, size)))?;
    let context = agree_context(library, comm)?;
    let number = |at: usize| c_int::from_ne_bytes(all[at..at + 4].try_into().expect("four bytes"));
    let of_rank = |rank: u32| (number(rank as usize * BYTES), number(rank as usize * BYTES + 4), rank);
    let mut same: Vec<_> = (0..size).map(of_rank).filter(|of| of.0 == color).collect();
    same.sort_by_key(|&(_, key, rank)| (key, rank));
    let group = &library.of(comm).group;
    let members = same.iter().map(|&(_, _, rank)| group.process(rank)).collect();
    let new_rank = same.iter().position(|of| of.2 == rank).expect("this rank has its colour") as u32;
    Ok(Group { members: Members::List(members), rank: new_rank, size: same.len() as u32, context })
}

pub unsafe fn test_inter(_: &mut Library, _comm: CommId, flag: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *flag = 0 };
    Ok(())
}

/// That a communicator can be freed.
pub fn check_free(comm: CommId) -> Result<(), Error> {
    match comm.0 {
        0 | 1 => Err(Error::new(Class::Comm, "comm is predefined, and stays")),
        _ => Ok(()),
    }
}

pub fn free(library: &mut Library, comm: CommId) {
    let freed = library.comms[comm.0].take();
    crate::waiting::names().remove(&freed.expect("it was found").group.context);
}

pub unsafe fn set_name(library: &mut Library, comm: CommId, name: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    library.of(comm).name = Some(name);
    Ok(())
}

pub unsafe fn get_name(
    library: &mut Library,
    comm: CommId,
    name: *mut c_char,
    length: *mut c_int,
) -> Result<(), Error> {
    let predefined = ["MPI_COMM_WORLD", "MPI_COMM_SELF"].get(comm.0).copied().unwrap_or_default();
    let given = library.of(comm).name.as_deref().unwrap_or(predefined);
    // SAFETY: the program gave the places.
    unsafe { write(given, MAX_OBJECT_NAME, name, length) };
    Ok(())
}
