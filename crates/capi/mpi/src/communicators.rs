//! Communicators (MPI 5.0, chapter 7).

use crate::abi::*;
use crate::environment::write;
use crate::library::{Comm, CommId, Library};
use crate::pami::Pami;
use netloom_mpi::collective::{self, Operation};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Members, Processes};
use std::ffi::{CStr, c_char, c_int};
use std::rc::Rc;

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

/// A context that no member of a communicator uses.
pub fn agree_context(library: &mut Library, comm: CommId) -> Result<u32, Error> {
    let operation = library.operation(comm);
    agree(library, operation, []).map(|(context, [])| context)
}

/// A context that no process of an operation uses: the greatest of those that they would take next; and the greatest
/// of some values.
pub fn agree<const N: usize>(
    library: &mut Library,
    operation: Operation<Pami>,
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
    library.block_on(collective::all_reduce(&operation, &mut all, &greatest))?;
    let context = word(&all[..8]) as u32;
    library.next_context = context + 2;
    Ok((context, std::array::from_fn(|at| word(&all[8 + 8 * at..][..8]))))
}

/// The handle of a communicator of the same group.
pub fn dup(library: &mut Library, comm: CommId) -> Result<usize, Error> {
    let context = agree_context(library, comm)?;
    let &mut Comm { ref group, errhandler, ref topology, .. } = library.of(comm);
    let (group, topology) = (Group { context, ..group.clone() }, topology.clone());
    let handle = library.add_comm(group, errhandler);
    library.set_topology(handle, topology);
    Ok(handle)
}

/// Contexts of the operations that make a communicator without its parent's other members: the parent's, with
/// this bit, so that they meet no others.
pub const WITHIN_GROUP: u32 = 1 << 31;

/// A communicator of a group, which its members make without the other members of `comm`.
pub unsafe fn create_group(
    library: &mut Library,
    comm: CommId,
    group: Processes,
    tag: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag is {tag}, which is negative")));
    }
    let &mut Comm { group: ref all, errhandler, .. } = library.of(comm);
    let parent = all.context | WITHIN_GROUP;
    let own = library.of(CommId(0)).group.rank;
    let handle = match group.rank_of(own) {
        None => COMM_NULL,
        Some(rank) => {
            let mut group =
                Group { members: group.members().clone(), rank, size: group.size(), context: parent };
            let point_to_point = Rc::clone(&library.point_to_point);
            let operation = Operation::new(point_to_point, group.clone(), tag as u32);
            (group.context, []) = agree(library, operation, [])?;
            library.add_comm(group, errhandler)
        }
    };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

const SHARED: c_int = 221;
const HW_UNGUIDED: c_int = 222;
const HW_GUIDED: c_int = 223;
const RESOURCE_GUIDED: c_int = 224;

/// Ranks that share memory: those of a node. Nodes have no parts here that could be told apart.
pub unsafe fn split_type(
    library: &mut Library,
    comm: CommId,
    kind: c_int,
    key: c_int,
    info: usize,
    made: *mut usize,
) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    let is_memory = |key: &str| info.get(key) == Some("mpi_shared_memory");
    let is_member = match kind {
        SHARED | HW_UNGUIDED => true,
        HW_GUIDED => is_memory("mpi_hw_resource_type"),
        RESOURCE_GUIDED => is_memory("mpi_hw_resource_type") || is_memory("mpi_pset_name"),
        UNDEFINED => false,
        _ => return Err(Error::new(Class::Arg, format!("split_type is {kind}, which is no kind of split"))),
    };
    let node = library.point_to_point.transport().node() as c_int;
    let (group, size) = (
        split_group(library, comm, if is_member { node } else { UNDEFINED }, key)?,
        library.of(comm).group.size,
    );
    let errhandler = library.of(comm).errhandler;
    let is_part = kind != HW_UNGUIDED || group.size < size;
    let handle = if is_member && is_part { library.add_comm(group, errhandler) } else { COMM_NULL };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
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

/// Hints replace those of the same keys.
pub unsafe fn set_info(library: &mut Library, comm: CommId, info: usize) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    library.of(comm).info.add(&info);
    Ok(())
}

pub unsafe fn get_info(library: &mut Library, comm: CommId, info: *mut usize) -> Result<(), Error> {
    let copy = library.of(comm).info.clone();
    // SAFETY: the program gave the place.
    unsafe { *info = crate::info::add(copy) };
    Ok(())
}

/// This process was not spawned by others.
pub unsafe fn parent(_: &mut Library, parent: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *parent = COMM_NULL };
    Ok(())
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
    library.detach_freed(comm);
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
