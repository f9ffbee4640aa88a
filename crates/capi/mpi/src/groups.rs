//! Groups, and communicators that are made of them (MPI 5.0, section 7.3).

use crate::abi::*;
use crate::communicators::agree_context;
use crate::library::{CommId, Library, bad_handle};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Processes};
use std::ffi::c_int;

/// See [`crate::handles`].
pub const USER_GROUP: usize = 0x0600_0000;

const GROUP_NULL: usize = 0x108;
const GROUP_EMPTY: usize = 0x109;

const IDENT: c_int = 201;
const CONGRUENT: c_int = 202;
const SIMILAR: c_int = 203;
const UNEQUAL: c_int = 204;

impl Library {
    /// The group of a handle.
    pub fn group(&self, name: &str, handle: usize) -> Result<Processes, Error> {
        if handle == GROUP_EMPTY {
            return Ok(Processes::of([]));
        }
        let made = self.groups.get(handle).cloned();
        made.ok_or_else(|| bad_handle(Class::Group, name, handle, "MPI_GROUP_NULL", GROUP_NULL, "group"))
    }

    /// # Safety
    /// The program gave the place.
    pub unsafe fn hand_out_group(&mut self, group: Processes, place: *mut usize) -> Result<(), Error> {
        let handle = if group.size() == 0 { GROUP_EMPTY } else { self.groups.insert(group) };
        // SAFETY: the caller's promise.
        unsafe { *place = handle };
        Ok(())
    }

    fn own(&mut self) -> u32 {
        self.own_process()
    }
}

pub unsafe fn of_comm(library: &mut Library, comm: CommId, group: *mut usize) -> Result<(), Error> {
    let comm = library.of(comm);
    let processes = Processes::from(&comm.group).in_session(comm.session);
    // SAFETY: the program gave the place.
    unsafe { library.hand_out_group(processes, group) }
}

pub unsafe fn size(_: &mut Library, group: Processes, size: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *size = group.size() as c_int };
    Ok(())
}

pub unsafe fn rank(library: &mut Library, group: Processes, rank: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *rank = group.rank_of(library.own()).map_or(UNDEFINED, |rank| rank as c_int) };
    Ok(())
}

pub unsafe fn compare(
    _: &mut Library,
    first: Processes,
    second: Processes,
    result: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *result = compared(&first, &second, IDENT) };
    Ok(())
}

fn compared(first: &Processes, second: &Processes, same: c_int) -> c_int {
    match (first.is_same(second), first.is_similar(second)) {
        (true, _) => same,
        (_, true) => SIMILAR,
        _ => UNEQUAL,
    }
}

pub unsafe fn compare_comms(
    library: &mut Library,
    first: CommId,
    second: CommId,
    result: *mut c_int,
) -> Result<(), Error> {
    let groups = [first, second].map(|comm| Processes::from(&library.of(comm).group));
    let [remote, other_remote] = [first, second].map(|comm| library.of(comm).remote.clone());
    let of_locals = compared(&groups[0], &groups[1], CONGRUENT);
    let compared = match (remote, other_remote) {
        _ if first.0 == second.0 => IDENT,
        (None, None) => of_locals,
        // The less alike of the two pairs.
        (Some(one), Some(other)) => of_locals.max(compared(&one, &other, CONGRUENT)),
        _ => UNEQUAL,
    };
    // SAFETY: the program gave the place.
    unsafe { *result = compared };
    Ok(())
}

/// Functions that make a group of two.
macro_rules! of_two {
    ($($name:ident)*) => {$(
        pub unsafe fn $name(
            library: &mut Library,
            first: Processes,
            second: Processes,
            made: *mut usize,
        ) -> Result<(), Error> {
            // SAFETY: the program gave the place.
            unsafe { library.hand_out_group(first.$name(&second), made) }
        }
    )*};
}
of_two!(union intersection difference);

/// Ranks of a group, each once.
fn check_ranks(group: &Processes, ranks: impl Iterator<Item = i64>) -> Result<Vec<u32>, Error> {
    let mut is_there = vec![false; group.size() as usize];
    let mut list = vec![];
    for rank in ranks {
        let Some(place) = usize::try_from(rank).ok().and_then(|rank| is_there.get_mut(rank)) else {
            let text = format!("rank {rank} is not in the group, which has {} processes", group.size());
            return Err(Error::new(Class::Rank, text));
        };
        if std::mem::replace(place, true) {
            return Err(Error::new(Class::Rank, format!("rank {rank} is there twice")));
        }
        list.push(rank as u32);
    }
    Ok(list)
}

/// The ranks of an array.
///
/// # Safety
/// The program gave so many.
unsafe fn listed(group: &Processes, n: c_int, ranks: *const c_int) -> Result<Vec<u32>, Error> {
    // SAFETY: the caller's promise.
    check_ranks(group, (0..n.max(0) as usize).map(|at| i64::from(unsafe { *ranks.add(at) })))
}

/// The ranks of ranges: first, last and stride of each.
///
/// # Safety
/// The program gave so many.
unsafe fn ranges(group: &Processes, n: c_int, ranges: *const c_int) -> Result<Vec<u32>, Error> {
    let mut ranks = vec![];
    for at in 0..n.max(0) as usize {
        // SAFETY: the caller's promise.
        let [first, last, stride] = [0, 1, 2].map(|part| i64::from(unsafe { *ranges.add(3 * at + part) }));
        if stride == 0 {
            return Err(Error::new(Class::Arg, format!("ranges[{at}] has the stride 0")));
        }
        // A wrong range is found at its first rank outside of the group.
        let steps = (last - first) / stride;
        ranks.extend((0..=steps.min(i64::from(group.size()))).map(|step| first + step * stride));
    }
    check_ranks(group, ranks.into_iter())
}

/// Functions that make a group of a part of another: with or without some ranks, which they read as they are
/// told.
macro_rules! of_part {
    ($($name:ident = $part:ident $read:ident;)*) => {$(
        pub unsafe fn $name(
            library: &mut Library,
            group: Processes,
            n: c_int,
            list: *const c_int,
            made: *mut usize,
        ) -> Result<(), Error> {
            // SAFETY: the program gave array and place.
            unsafe { library.hand_out_group(group.$part(&$read(&group, n, list)?), made) }
        }
    )*};
}
of_part! {
    include = including listed;
    exclude = excluding listed;
    include_ranges = including ranges;
    exclude_ranges = excluding ranges;
}

pub unsafe fn translate_ranks(
    _: &mut Library,
    from: Processes,
    n: c_int,
    ranks: *const c_int,
    to: Processes,
    translated: *mut c_int,
) -> Result<(), Error> {
    let processes: Vec<u32> = from.iter().collect();
    for at in 0..n.max(0) as usize {
        // SAFETY: the program gave arrays of this length.
        unsafe {
            let rank = *ranks.add(at);
            let process = usize::try_from(rank).ok().and_then(|rank| processes.get(rank));
            *translated.add(at) = match process {
                _ if rank == PROC_NULL => PROC_NULL,
                Some(&process) => to.rank_of(process).map_or(UNDEFINED, |rank| rank as c_int),
                None => {
                    let text = format!("ranks1[{at}] is {rank}, and group1 has {} processes", from.size());
                    return Err(Error::new(Class::Rank, text));
                }
            };
        }
    }
    Ok(())
}

pub unsafe fn free(library: &mut Library, group: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    let handle = unsafe { &mut *group };
    library.group("group", *handle)?;
    library.groups.remove(*handle);
    *handle = GROUP_NULL;
    Ok(())
}

/// A communicator of a part of another's processes; the others get `MPI_COMM_NULL`.
pub unsafe fn create_comm(
    library: &mut Library,
    comm: CommId,
    group: Processes,
    made: *mut usize,
) -> Result<(), Error> {
    let all = Processes::from(&library.of(comm).group);
    let strange = group.difference(&all).size();
    if strange > 0 {
        return Err(Error::new(Class::Group, format!("{strange} processes of group are not in comm")));
    }
    if library.of(comm).remote.is_some() {
        let handle = crate::intercommunicators::create_part(library, comm, &group)?;
        // SAFETY: the program gave the place.
        unsafe { *made = handle };
        return Ok(());
    }
    let context = agree_context(library, comm)?;
    let origin = library.of(comm).origin();
    let handle = match group.rank_of(library.own()) {
        None => COMM_NULL,
        Some(rank) => {
            let (members, size) = (group.members().clone(), group.size());
            library.add_comm(Group { members, rank, size, context }, origin)
        }
    };
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}
