//! Communicators (MPI 5.0, chapter 7).

use crate::abi::*;
use crate::comm::{Comm, Origin};
use crate::environment::write;
use crate::library::{CommId, Library, USER_COMM};
use crate::operations::Combining;
use crate::pami::Pami;
use netloom_mpi::collective::inter::Inter;
use netloom_mpi::collective::{self, Operation, inter};
use netloom_mpi::contexts::{self, Contexts, UnderWay};
use netloom_mpi::datatype::PREDEFINED;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Processes};
use netloom_mpi::op::Op;
use netloom_mpi::transport::Transport;
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

/// The greater of two contexts.
pub fn greater(own: &mut [u8], other: &[u8]) -> Result<(), Error> {
    let [a, b] = [&*own, other].map(|of| u32::from_ne_bytes(of.try_into().expect("four bytes")));
    own.copy_from_slice(&a.max(b).to_ne_bytes());
    Ok(())
}

/// A context that no member of a communicator uses.
pub fn agree_context(library: &mut Library, comm: CommId) -> Result<u32, Error> {
    let contexts = Rc::clone(&library.contexts);
    if library.of(comm).remote.is_none() {
        let operation = library.operation(comm);
        return library.block_on(agreed(&contexts, operation));
    }
    let inter = library.inter_operation(comm);
    library.block_on(agreed_inter(&contexts, inter))
}

/// A context that no process of an operation uses.
pub fn agree(library: &mut Library, operation: Operation<Pami>) -> Result<u32, Error> {
    let contexts = Rc::clone(&library.contexts);
    library.block_on(agreed(&contexts, operation))
}

async fn agreed(contexts: &Contexts, operation: Operation<Pami>) -> Result<u32, Error> {
    let uint32 = PREDEFINED.iter().find(|of| of.name == "UINT32_T").expect("it is one of them");
    let greatest = Combining::Predefined(Op::Max, uint32);
    contexts::agree(contexts, async |context| collective::all_reduce(&operation, context, &greatest).await)
        .await
}

async fn agreed_inter(contexts: &Contexts, inter: Inter<Pami>) -> Result<u32, Error> {
    contexts::agree(contexts, async |context| inter::agree(&inter, context, &greater).await).await
}

/// The handle of a communicator of the same group.
pub fn dup(library: &mut Library, comm: CommId) -> Result<usize, Error> {
    let context = agree_context(library, comm)?;
    let (group, origin) = (library.of(comm).group.clone(), library.of(comm).origin());
    let handle = library.add_comm(Group { context, ..group }, origin);
    library.set_parts(handle, comm);
    Ok(handle)
}

/// The same while the program goes on: the communicator can be used when the future has ended. Its
/// collectives are not the network's, for that other members make it in the same order is not known.
pub fn idup(library: &mut Library, comm: CommId) -> (usize, impl Future<Output = Result<(), Error>> + use<>) {
    // As the collective of another thread would be, it is not the network's.
    let of_comm = match library.of(comm).remote {
        None => Ok(library.operation(comm).of_team(None)),
        Some(_) => Err(library.inter_operation(comm)),
    };
    let (group, origin) = (library.of(comm).group.clone(), library.of(comm).origin());
    let handle = library.place_comm(Comm::new(group, None, origin));
    library.set_parts(handle, comm);
    let call = crate::waiting::current();
    let agreement = UnderWay::new(Rc::clone(&library.contexts));
    let future = async move {
        let context = match of_comm {
            Ok(operation) => agreed(agreement.contexts(), operation).await?,
            Err(inter) => agreed_inter(agreement.contexts(), inter).await?,
        };
        // SAFETY: whoever polls it has nothing of the library borrowed.
        let library = unsafe { crate::library::library() };
        let mut library = library.expect("requests end before the library does");
        library.set_context(handle, context);
        library.note_maker(context, call);
        Ok(())
    };
    (handle, future)
}

/// Contexts of the operations that make a communicator without its parent's other members: the parent's, with
/// this bit, so that they meet no others.
pub use netloom_mpi::waits::WITHIN_GROUP;

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
    library.check_intra(comm)?;
    let origin = library.of(comm).origin();
    let parent = library.of(comm).group.context | WITHIN_GROUP;
    let own = library.own_process();
    let handle = match group.rank_of(own) {
        None => COMM_NULL,
        Some(rank) => {
            let mut group =
                Group { members: group.members().clone(), rank, size: group.size(), context: parent };
            let point_to_point = Rc::clone(&library.point_to_point);
            let operation = Operation::new(point_to_point, group.clone(), tag as u32);
            group.context = agree(library, operation.between_processes())?;
            library.add_comm(group, origin)
        }
    };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// The number of an operation by a string that tells it from others.
pub unsafe fn number_of(stringtag: *const c_char) -> u32 {
    // SAFETY: the program gave a string.
    let text = unsafe { CStr::from_ptr(stringtag) }.to_bytes();
    // FNV-1a.
    let hash =
        text.iter().fold(0x811c_9dc5u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash >> 2
}

/// An operation of a group that has no communicator, by number.
pub fn operation_of(library: &Library, group: &Group, number: u32) -> Operation<Pami> {
    let group = Group { context: WITHIN_GROUP, ..group.clone() };
    Operation::new(Rc::clone(&library.point_to_point), group, number).between_processes()
}

/// The members of a group that the program made, of which this process is one.
pub fn members(library: &mut Library, group: &Processes) -> Result<Group, Error> {
    let own = library.own_process();
    let outside = || Error::new(Class::Group, "this process is not in the group");
    let rank = group.rank_of(own).ok_or_else(outside)?;
    Ok(Group { members: group.members().clone(), rank, size: group.size(), context: 0 })
}

/// A communicator of a group, without a parent.
pub unsafe fn create_from_group(
    library: &mut Library,
    group: Processes,
    stringtag: *const c_char,
    info: usize,
    errhandler: usize,
    made: *mut usize,
) -> Result<(), Error> {
    crate::info::check(info)?;
    crate::errhandlers::check(errhandler)?;
    let handle = if group.size() == 0 {
        COMM_NULL
    } else {
        let origin = Origin { errhandler, session: group.session() };
        let group = members(library, &group)?;
        // SAFETY: the program gave the string.
        let number = unsafe { number_of(stringtag) };
        let operation = operation_of(library, &group, number);
        let context = agree(library, operation)?;
        library.add_comm(Group { context, ..group }, origin)
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
    hints: usize,
    made: *mut usize,
) -> Result<(), Error> {
    let info = crate::info::copy(hints)?;
    let is_memory = |key: &str| info.get(key) == Some("mpi_shared_memory");
    let is_member = match kind {
        SHARED | HW_UNGUIDED => true,
        HW_GUIDED => is_memory("mpi_hw_resource_type"),
        RESOURCE_GUIDED => is_memory("mpi_hw_resource_type") || is_memory("mpi_pset_name"),
        UNDEFINED => false,
        _ => return Err(Error::new(Class::Arg, format!("split_type is {kind}, which is no kind of split"))),
    };
    let node = library.point_to_point.transport().node() as c_int;
    let color = if is_member { node } else { UNDEFINED };
    if library.of(comm).remote.is_some() {
        let handle = crate::intercommunicators::split(library, comm, color, key)?;
        // SAFETY: the program gave the place.
        unsafe { *made = handle };
        return Ok(());
    }
    let (group, size) = (split_group(library, comm, color, key)?, library.of(comm).group.size);
    let origin = library.of(comm).origin();
    let is_part = kind != HW_UNGUIDED || group.size < size;
    if kind == HW_UNGUIDED && is_part {
        crate::info::tell_in(hints, "mpi_hw_resource_type", "mpi_shared_memory")?;
    }
    let handle = if is_member && is_part { library.add_comm(group, origin) } else { COMM_NULL };
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
    let origin = library.of(comm).origin();
    let handle = if library.of(comm).remote.is_some() {
        crate::intercommunicators::split(library, comm, color, key)?
    } else {
        let group = split_group(library, comm, color, key)?;
        if color == UNDEFINED { COMM_NULL } else { library.add_comm(group, origin) }
    };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// The colour and the key of a rank.
pub const SPLIT_BYTES: usize = 8;

pub fn split_bytes(color: c_int, key: c_int) -> [u8; SPLIT_BYTES] {
    let mut bytes = [0; SPLIT_BYTES];
    bytes[..4].copy_from_slice(&color.to_ne_bytes());
    bytes[4..].copy_from_slice(&key.to_ne_bytes());
    bytes
}

/// The ranks of a colour, by key, and by rank where keys are equal.
pub fn of_color(all: &[u8], color: c_int) -> Vec<u32> {
    let number = |bytes: &[u8]| c_int::from_ne_bytes(bytes.try_into().expect("four bytes"));
    let ranks =
        (0..).zip(all.chunks(SPLIT_BYTES)).map(|(rank, of)| (number(&of[..4]), number(&of[4..]), rank));
    let mut same: Vec<_> = ranks.filter(|of| of.0 == color).collect();
    same.sort_by_key(|&(_, key, rank)| (key, rank));
    same.into_iter().map(|of| of.2).collect()
}

/// The group of the ranks of this colour.
pub fn split_group(library: &mut Library, comm: CommId, color: c_int, key: c_int) -> Result<Group, Error> {
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    let mut all = vec![0; SPLIT_BYTES * size as usize];
    all[rank as usize * SPLIT_BYTES..][..SPLIT_BYTES].copy_from_slice(&split_bytes(color, key));
    let operation = library.operation(comm);
    library.block_on(collective::all_gather(&operation, collective::parts(&mut all, size)))?;
    let context = agree_context(library, comm)?;
    let ranks = of_color(&all, color);
    let members = Processes::from(&library.of(comm).group).including(&ranks).members().clone();
    let new_rank = ranks.iter().position(|&of| of == rank).expect("this rank has its colour") as u32;
    Ok(Group { members, rank: new_rank, size: ranks.len() as u32, context })
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

pub unsafe fn test_inter(library: &mut Library, comm: CommId, flag: *mut c_int) -> Result<(), Error> {
    let is_inter = library.of(comm).remote.is_some();
    // SAFETY: the program gave the place.
    unsafe { *flag = is_inter.into() };
    Ok(())
}

/// That a communicator can be freed.
pub fn check_free(comm: CommId) -> Result<(), Error> {
    match comm.0 {
        0 | 1 => Err(Error::new(Class::Comm, "comm is predefined, and stays")),
        _ => Ok(()),
    }
}

/// Its handle is gone. Requests that use it go on, and persistent ones may be started: then it stays until they
/// have been freed, with its error handler.
pub fn free(library: &mut Library, comm: CommId) {
    library.detach_freed(comm);
    library.forget_parent(comm);
    library.of(comm).is_freed = true;
    crate::handoff::note_change();
    library.remove_unused_comms();
}

impl Library {
    /// Removes communicators that the program has freed and no request uses any more.
    pub fn remove_unused_comms(&mut self) {
        let mut unused = self.freed_comms();
        if unused.is_empty() {
            return;
        }
        let requests = self.requests.iter().zip(&self.request_objects);
        for (_, object) in requests.filter(|(request, _)| request.is_some()) {
            unused.retain(|at| USER_COMM | at != *object);
        }
        self.remove_comms(unused);
    }

    /// Removes all that the program has freed, at the end.
    pub fn remove_freed_comms(&mut self) {
        let freed = self.freed_comms();
        self.remove_comms(freed);
    }

    fn freed_comms(&self) -> Vec<usize> {
        let is_freed = |at: &usize| self.comms[*at].as_ref().is_some_and(|comm| comm.is_freed);
        (0..self.comms.len()).filter(is_freed).collect()
    }

    fn remove_comms(&mut self, places: Vec<usize>) {
        for at in places {
            let Some(freed) = self.comms[at].take() else { continue };
            self.free_comms.push(at);
            self.note_freed(freed.group.context);
            if let Some(team) = freed.team {
                self.point_to_point.transport().free_team(team);
            }
        }
    }
}

pub unsafe fn set_name(library: &mut Library, comm: CommId, name: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let context = library.of(comm).group.context;
    library.note_name(context, &name);
    library.of(comm).name = Some(name);
    Ok(())
}

pub unsafe fn get_name(
    library: &mut Library,
    handle: usize,
    name: *mut c_char,
    length: *mut c_int,
) -> Result<(), Error> {
    if handle == COMM_NULL {
        // SAFETY: the program gave the places.
        unsafe { write("MPI_COMM_NULL", MAX_OBJECT_NAME, name, length) };
        return Ok(());
    }
    let comm = library.comm("comm", handle)?;
    let predefined = ["MPI_COMM_WORLD", "MPI_COMM_SELF"].get(comm.0).copied().unwrap_or_default();
    let given = library.of(comm).name.as_deref().unwrap_or(predefined);
    // SAFETY: the program gave the places.
    unsafe { write(given, MAX_OBJECT_NAME, name, length) };
    Ok(())
}
