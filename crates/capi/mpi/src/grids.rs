//! Cartesian topologies (MPI 5.0, section 8.5). Ranks are never reordered.

use crate::abi::*;
use crate::communicators::{agree_context, split_group};
use crate::library::{CommId, Library};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Processes};
use netloom_mpi::topology::{Cartesian, Topology, balanced};
use std::ffi::c_int;
use std::rc::Rc;

const CARTESIAN: c_int = 211;
const GRAPH: c_int = 212;
const DIST_GRAPH: c_int = 213;

impl Library {
    pub fn set_topology(&mut self, handle: usize, topology: Option<Rc<Topology>>) {
        if let Some(comm) = Self::comm_at(handle).and_then(|at| self.comms[at].as_mut()) {
            comm.topology = topology;
        }
    }

    fn grid(&mut self, comm: CommId) -> Result<Cartesian, Error> {
        match self.of(comm).topology.as_deref() {
            Some(Topology::Cartesian(grid)) => Ok(grid.clone()),
            _ => Err(Error::new(Class::Topology, "comm has no Cartesian topology")),
        }
    }
}

/// The numbers of an array.
///
/// # Safety
/// The program gave so many.
pub unsafe fn list(numbers: *const c_int, count: usize) -> Vec<c_int> {
    // SAFETY: the caller's promise.
    (0..count).map(|at| unsafe { *numbers.add(at) }).collect()
}

/// # Safety
/// The program gave arrays of this length.
unsafe fn planned(
    library: &mut Library,
    comm: CommId,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
) -> Result<(Cartesian, u32), Error> {
    let Ok(count) = usize::try_from(ndims) else {
        return Err(Error::new(Class::Dims, format!("ndims is {ndims}, which is negative")));
    };
    // SAFETY: the caller's promise.
    let (dims, periods) = unsafe { (list(dims, count), list(periods, count)) };
    let lengths = dims.iter().map(|&length| u32::try_from(length).ok().filter(|&length| length > 0));
    let lengths: Option<Vec<u32>> = lengths.collect();
    let all =
        lengths.as_ref().and_then(|list| list.iter().try_fold(1u32, |all, &length| all.checked_mul(length)));
    let size = library.of(comm).group.size;
    let (Some(lengths), Some(all)) = (lengths, all.filter(|&all| all <= size)) else {
        return Err(Error::new(
            Class::Dims,
            format!("dims is {dims:?}, which is no grid of at most {size} ranks"),
        ));
    };
    let dimensions = lengths.into_iter().zip(periods.into_iter().map(|period| period != 0)).collect();
    Ok((Cartesian { dimensions }, all))
}

pub unsafe fn create(
    library: &mut Library,
    comm: CommId,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    _reorder: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave arrays of this length.
    let (grid, size) = unsafe { planned(library, comm, ndims, dims, periods)? };
    let handle = first_ranks(library, comm, size, Topology::Cartesian(grid))?;
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// A communicator of the first ranks of another, with a topology; the others get `MPI_COMM_NULL`.
pub fn first_ranks(
    library: &mut Library,
    comm: CommId,
    size: u32,
    topology: Topology,
) -> Result<usize, Error> {
    library.check_intra(comm)?;
    let context = agree_context(library, comm)?;
    let (all, rank) = (Processes::from(&library.of(comm).group), library.of(comm).group.rank);
    let origin = library.of(comm).origin();
    if rank >= size {
        return Ok(COMM_NULL);
    }
    let ranks: Vec<u32> = (0..size).collect();
    let members = all.including(&ranks).members().clone();
    let handle = library.add_comm(Group { members, rank, size, context }, origin);
    library.set_topology(handle, Some(Rc::new(topology)));
    Ok(handle)
}

pub unsafe fn map(
    library: &mut Library,
    comm: CommId,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    rank: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave arrays of this length, and the place.
    unsafe {
        let (_, size) = planned(library, comm, ndims, dims, periods)?;
        let own = library.of(comm).group.rank;
        *rank = if own < size { own as c_int } else { UNDEFINED };
    }
    Ok(())
}

pub unsafe fn sub(
    library: &mut Library,
    comm: CommId,
    remains: *const c_int,
    made: *mut usize,
) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    // SAFETY: the program gave a number for each dimension.
    let remains = unsafe { list(remains, grid.dimensions.len()) };
    let own = grid.coordinates(library.of(comm).group.rank);
    let (mut color, mut key) = (0, 0);
    for ((&remains, &at), &(length, _)) in remains.iter().zip(&own).zip(&grid.dimensions) {
        let of = if remains != 0 { &mut key } else { &mut color };
        *of = *of * length as c_int + at as c_int;
    }
    let group = split_group(library, comm, color, key)?;
    let kept = grid.dimensions.iter().zip(&remains).filter(|of| *of.1 != 0);
    let dimensions = kept.map(|(&dimension, _)| dimension).collect();
    let origin = library.of(comm).origin();
    let handle = library.add_comm(group, origin);
    library.set_topology(handle, Some(Rc::new(Topology::Cartesian(Cartesian { dimensions }))));
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

pub unsafe fn dimensions(library: &mut Library, comm: CommId, ndims: *mut c_int) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    // SAFETY: the program gave the place.
    unsafe { *ndims = grid.dimensions.len() as c_int };
    Ok(())
}

/// That an array has a place for each dimension.
fn check_length(grid: &Cartesian, most: c_int) -> Result<(), Error> {
    let needed = grid.dimensions.len();
    if (most as usize) < needed || most < 0 {
        return Err(Error::new(
            Class::Dims,
            format!("maxdims is {most}, and the grid has {needed} dimensions"),
        ));
    }
    Ok(())
}

pub unsafe fn get(
    library: &mut Library,
    comm: CommId,
    most: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    check_length(&grid, most)?;
    let own = grid.coordinates(library.of(comm).group.rank);
    for (at, (&(length, is_ring), place)) in grid.dimensions.iter().zip(own).enumerate() {
        // SAFETY: the program gave arrays of the checked length.
        unsafe {
            *dims.add(at) = length as c_int;
            *periods.add(at) = is_ring.into();
            *coords.add(at) = place as c_int;
        }
    }
    Ok(())
}

pub unsafe fn coords(
    library: &mut Library,
    comm: CommId,
    rank: c_int,
    most: c_int,
    coords: *mut c_int,
) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    check_length(&grid, most)?;
    library.check_rank("rank", comm, rank, 0)?;
    for (at, place) in grid.coordinates(rank as u32).into_iter().enumerate() {
        // SAFETY: the program gave an array of the checked length.
        unsafe { *coords.add(at) = place as c_int };
    }
    Ok(())
}

pub unsafe fn rank(
    library: &mut Library,
    comm: CommId,
    coords: *const c_int,
    rank: *mut c_int,
) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    // SAFETY: the program gave a number for each dimension, and the place.
    unsafe {
        let coords: Vec<i64> = list(coords, grid.dimensions.len()).into_iter().map(i64::from).collect();
        let outside =
            || Error::new(Class::Rank, format!("coords is {coords:?}, which is outside of the grid"));
        *rank = grid.rank(&coords).ok_or_else(outside)? as c_int;
    }
    Ok(())
}

pub unsafe fn shift(
    library: &mut Library,
    comm: CommId,
    direction: c_int,
    disp: c_int,
    source: *mut c_int,
    dest: *mut c_int,
) -> Result<(), Error> {
    let grid = library.grid(comm)?;
    let at = usize::try_from(direction).ok().filter(|&at| at < grid.dimensions.len());
    let Some(at) = at else {
        let text = format!("direction is {direction}, and the grid has {} dimensions", grid.dimensions.len());
        return Err(Error::new(Class::Dims, text));
    };
    let own = library.of(comm).group.rank;
    let neighbor = |steps| grid.neighbor(own, at, steps).map_or(PROC_NULL, |rank| rank as c_int);
    // SAFETY: the program gave the places.
    unsafe { (*source, *dest) = (neighbor(-i64::from(disp)), neighbor(disp.into())) };
    Ok(())
}

pub unsafe fn kind(library: &mut Library, comm: CommId, status: *mut c_int) -> Result<(), Error> {
    let kind = match library.of(comm).topology.as_deref() {
        None => UNDEFINED,
        Some(Topology::Cartesian(_)) => CARTESIAN,
        Some(Topology::Graph(_)) => GRAPH,
        Some(Topology::Distributed(_)) => DIST_GRAPH,
    };
    // SAFETY: the program gave the place.
    unsafe { *status = kind };
    Ok(())
}

/// Fills in the dimensions that are 0.
pub unsafe fn create_dimensions(nodes: c_int, ndims: c_int, dims: *mut c_int) -> Result<(), Error> {
    let count = ndims.max(0) as usize;
    // SAFETY: the program gave so many.
    let given = unsafe { list(dims, count) };
    let free = given.iter().filter(|&&length| length == 0).count();
    let fixed = given
        .iter()
        .filter(|&&length| length != 0)
        .try_fold(1, |all: c_int, &length| all.checked_mul(length));
    let fixed =
        fixed.filter(|&fixed| nodes > 0 && given.iter().all(|&length| length >= 0) && nodes % fixed == 0);
    let Some(fixed) = fixed.filter(|&fixed| free > 0 || fixed == nodes) else {
        return Err(Error::new(Class::Dims, format!("dims is {given:?}, which {nodes} nodes cannot fill")));
    };
    let mut lengths = balanced((nodes / fixed) as u32, free).into_iter();
    for at in (0..count).filter(|&at| given[at] == 0) {
        // SAFETY: as above.
        unsafe { *dims.add(at) = lengths.next().expect("one for each") as c_int };
    }
    Ok(())
}
