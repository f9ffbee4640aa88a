//! How windows are made and freed.

use super::shared::{self, Mapping, Places};
use super::{Facts, WIN_NULL, Win, WinId};
use crate::abi::*;
use crate::attributes;
use crate::communicators::agree_context;
use crate::info::Info;
use crate::library::{CommId, Library, library};
use crate::numbers::CountPlace;
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Group;
use netloom_mpi::one_sided::{Exposed, Extents, Window};
use netloom_mpi::transport::Memory;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

pub const FLAVOR_CREATE: c_int = 311;
pub const FLAVOR_ALLOCATE: c_int = 312;
pub const FLAVOR_DYNAMIC: c_int = 313;
pub const FLAVOR_SHARED: c_int = 314;
const UNIFIED: c_int = 321;

/// Memory that goes with a window.
pub enum Owned {
    None,
    Allocated(*mut c_void),
    Shared(Mapping),
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Owned::Allocated(memory) = self {
            // SAFETY: it is from `allocated`, and the window is freed.
            unsafe { libc::free(*memory) };
        }
    }
}

/// Memory that begins a page, of zeros.
fn allocated(bytes: usize) -> Result<*mut c_void, Error> {
    let mut memory = std::ptr::null_mut();
    // SAFETY: a place of this function.
    if unsafe { libc::posix_memalign(&mut memory, 4096, bytes.max(1)) } != 0 {
        return Err(Error::new(Class::NoMem, format!("there is no memory for {bytes} B")));
    }
    // SAFETY: it has that length.
    unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
    Ok(memory)
}

/// A size and a unit of displacements.
fn check(size: isize, unit: i64) -> Result<(u64, c_int), Error> {
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Error::new(Class::Size, format!("size is {size}, which is negative")));
    };
    match c_int::try_from(unit) {
        Ok(unit) if unit > 0 => Ok((bytes, unit)),
        _ => Err(Error::new(Class::Disp, format!("disp_unit is {unit}, and must be a positive int"))),
    }
}

/// What is known of memory and unit of all ranks, and a context.
fn agree_extents(
    library: &mut Library,
    comm: CommId,
    (bytes, unit): (u64, c_int),
) -> Result<(u32, Extents), Error> {
    library.check_intra(comm)?;
    let own = (bytes, unit as u32);
    // The greatest, and with all bits inverted the smallest.
    let values = [bytes, !bytes, u64::from(own.1), !u64::from(own.1)];
    let [most, least, largest, smallest] = greatest(library, comm, values)?;
    let context = agree_context(library, comm)?;
    if most == !least && largest == !smallest {
        return Ok((context, Extents::Uniform(bytes, own.1)));
    }
    Ok((context, Extents::Listed(gather(library, comm, own)?)))
}

/// The greatest of the values of all ranks.
pub fn greatest<const N: usize>(
    library: &mut Library,
    comm: CommId,
    values: [u64; N],
) -> Result<[u64; N], Error> {
    let word = |of: &[u8]| u64::from_ne_bytes(of.try_into().expect("eight bytes"));
    let greater = |own: &mut [u8], other: &[u8]| {
        for (own, other) in own.chunks_exact_mut(8).zip(other.chunks_exact(8)) {
            own.copy_from_slice(&word(own).max(word(other)).to_ne_bytes());
        }
        Ok(())
    };
    let mut all = values.map(u64::to_ne_bytes).concat();
    let operation = library.operation(comm);
    library.block_on(collective::all_reduce(&operation, &mut all, &greater))?;
    Ok(std::array::from_fn(|at| word(&all[8 * at..][..8])))
}

/// Memory and unit of all ranks.
fn gather(library: &mut Library, comm: CommId, own: (u64, u32)) -> Result<Rc<[(u64, u32)]>, Error> {
    const BYTES: usize = 12;
    let group = &library.of(comm).group;
    let (rank, size) = (group.rank as usize, group.size);
    let mut all = vec![0; BYTES * size as usize];
    all[rank * BYTES..][..8].copy_from_slice(&own.0.to_ne_bytes());
    all[rank * BYTES + 8..][..4].copy_from_slice(&own.1.to_ne_bytes());
    let operation = library.operation(comm);
    library.block_on(collective::all_gather(&operation, collective::parts(&mut all, size)))?;
    let extent = |of: &[u8]| {
        let bytes = u64::from_ne_bytes(of[..8].try_into().expect("eight bytes"));
        (bytes, u32::from_ne_bytes(of[8..].try_into().expect("four bytes")))
    };
    Ok(all.chunks_exact(BYTES).map(extent).collect())
}

/// What a window is made of.
struct Parts {
    base: *mut c_void,
    bytes: u64,
    unit: c_int,
    flavor: c_int,
    memory: Owned,
    context: u32,
    extents: Extents,
    info: Info,
}

/// The handle of a new window; no rank has it before all are ready.
fn add(library: &mut Library, comm: CommId, parts: Parts) -> Result<usize, Error> {
    let Parts { base, bytes, unit, flavor, memory, context, extents, info } = parts;
    let exposed = match extents {
        Extents::Dynamic => Exposed::Dynamic(vec![]),
        _ => Exposed::Static(Memory { address: base as u64, bytes }),
    };
    let group = Group { context, ..library.of(comm).group.clone() };
    // Where a simulated node's memory is shared, operations take simulated time all the same.
    let is_simulated = library.point_to_point.transport().simulated_node().is_some();
    let mapped = match &memory {
        Owned::Shared(mapping) if !is_simulated => Some(mapping.ranks.clone()),
        _ => None,
    };
    let window = Rc::new(Window::new(Rc::clone(&library.point_to_point), group, exposed, extents, mapped));
    let session = library.of(comm).session;
    let handle = library.windows.insert(Win {
        window: Rc::clone(&window),
        session,
        errhandler: ERRORS_ARE_FATAL,
        attributes: vec![],
        name: None,
        info,
        base: base as usize,
        facts: Box::new(Facts { size: bytes as isize, unit, flavor, model: UNIFIED }),
        memory,
    });
    library.note_window(window.group());
    library.block_on(window.barrier())?;
    Ok(handle)
}

pub unsafe fn create(
    library: &mut Library,
    base: *mut c_void,
    size: isize,
    unit: i64,
    info: usize,
    comm: CommId,
    win: *mut usize,
) -> Result<(), Error> {
    let ((bytes, unit), info) = (check(size, unit)?, crate::info::copy(info)?);
    if base.is_null() && bytes > 0 {
        return Err(Error::new(Class::Buffer, format!("base is NULL, with {bytes} B")));
    }
    let (context, extents) = agree_extents(library, comm, (bytes, unit))?;
    let (flavor, memory) = (FLAVOR_CREATE, Owned::None);
    let made = add(library, comm, Parts { base, bytes, unit, flavor, memory, context, extents, info })?;
    // SAFETY: the program gave the place.
    unsafe { *win = made };
    Ok(())
}

pub unsafe fn allocate(
    library: &mut Library,
    size: isize,
    unit: i64,
    info: usize,
    comm: CommId,
    baseptr: *mut c_void,
    win: *mut usize,
) -> Result<(), Error> {
    let ((bytes, unit), info) = (check(size, unit)?, crate::info::copy(info)?);
    let (context, extents) = agree_extents(library, comm, (bytes, unit))?;
    let is_simulated = library.point_to_point.transport().simulated_node().is_some();
    // Natively all processes have the memory, if the system lets them; a simulated network moves data itself.
    let near = if is_simulated { None } else { shared(library, comm, &extents, 4096).ok() };
    let (base, memory) = match near {
        Some(shared) => shared,
        None => {
            let base = allocated(bytes as usize)?;
            (base, Owned::Allocated(base))
        }
    };
    let parts = Parts { base, bytes, unit, flavor: FLAVOR_ALLOCATE, memory, context, extents, info };
    let made = add(library, comm, parts)?;
    // SAFETY: the program gave the places; the first is for a pointer.
    unsafe { (*baseptr.cast::<*mut c_void>(), *win) = (base, made) };
    Ok(())
}

/// Memory that all ranks have, and where this rank's is.
fn shared(
    library: &mut Library,
    comm: CommId,
    extents: &Extents,
    alignment: u64,
) -> Result<(*mut c_void, Owned), Error> {
    let group = &library.of(comm).group;
    let (rank, places) = (group.rank, Places::new(extents, group.size, alignment)?);
    let mapping = shared::map(library, comm, &places)?;
    Ok((mapping.ranks.memory.of(rank) as *mut c_void, Owned::Shared(mapping)))
}

/// The memory of each rank follows that of the rank before it.
pub unsafe fn allocate_shared(
    library: &mut Library,
    size: isize,
    unit: i64,
    info: usize,
    comm: CommId,
    baseptr: *mut c_void,
    win: *mut usize,
) -> Result<(), Error> {
    let ((bytes, unit), info) = (check(size, unit)?, crate::info::copy(info)?);
    let (context, extents) = agree_extents(library, comm, (bytes, unit))?;
    // Ranks follow each other without gaps.
    let (base, memory) = shared(library, comm, &extents, 1)?;
    let parts = Parts { base, bytes, unit, flavor: FLAVOR_SHARED, memory, context, extents, info };
    let made = add(library, comm, parts)?;
    // SAFETY: the program gave the places; the first is for a pointer.
    unsafe { (*baseptr.cast::<*mut c_void>(), *win) = (base, made) };
    Ok(())
}

/// Where the memory of a rank is that this process has too, which may be its own alone; for `MPI_PROC_NULL`
/// that of the lowest rank that has some.
pub unsafe fn shared_query(
    library: &mut Library,
    win: WinId,
    rank: c_int,
    size: *mut isize,
    unit: CountPlace,
    baseptr: *mut c_void,
) -> Result<(), Error> {
    let target = library.target("rank", win, rank)?;
    let Win { window, memory, base, .. } = &*library.of_win(win);
    let (extents, group) = (window.extents(), window.group());
    if matches!(extents, Extents::Dynamic) {
        return Err(Error::new(Class::RmaFlavor, "the window was made by MPI_Win_create_dynamic"));
    }
    let found = |rank: u32| {
        let (bytes, unit) = extents.of(rank).unwrap_or_default();
        match memory {
            // There is nothing to point to.
            Owned::Shared(_) if bytes == 0 => (0, unit, 0),
            Owned::Shared(mapping) => (bytes, unit, mapping.ranks.memory.of(rank) as usize),
            _ if rank == group.rank => (bytes, unit, *base),
            _ => (0, unit, 0),
        }
    };
    let lowest = || (0..group.size).find(|&rank| extents.of(rank).is_some_and(|of| of.0 > 0));
    let (bytes, of_unit, address) = found(target.or_else(lowest).unwrap_or(0));
    // SAFETY: the program gave the places; the last is for a pointer.
    unsafe {
        *size = bytes as isize;
        unit.set(Some(of_unit.into()));
        *baseptr.cast::<usize>() = address;
    }
    Ok(())
}

pub unsafe fn create_dynamic(
    library: &mut Library,
    info: usize,
    comm: CommId,
    win: *mut usize,
) -> Result<(), Error> {
    library.check_intra(comm)?;
    let info = crate::info::copy(info)?;
    let context = agree_context(library, comm)?;
    let made = add(
        library,
        comm,
        Parts {
            base: std::ptr::null_mut(),
            bytes: 0,
            unit: 1,
            flavor: FLAVOR_DYNAMIC,
            memory: Owned::None,
            context,
            extents: Extents::Dynamic,
            info,
        },
    )?;
    // SAFETY: the program gave the place.
    unsafe { *win = made };
    Ok(())
}

pub unsafe fn attach(library: &mut Library, win: WinId, base: *mut c_void, size: isize) -> Result<(), Error> {
    let (bytes, _) = check(size, 1)?;
    library.window(win).attach(Memory { address: base as u64, bytes })
}

pub unsafe fn detach(library: &mut Library, win: WinId, base: *const c_void) -> Result<(), Error> {
    library.window(win).detach(base as u64)
}

/// Functions of the program that delete attributes may make calls, so the library is borrowed only between
/// them.
pub unsafe fn free(win: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        let library = || library().expect("calls before MPI_Init and after MPI_Finalize are refused");
        let id = library().win("win", *win)?;
        library().window(id).check_free()?;
        attributes::delete_all(attributes::Carrier::Win, *win)?;
        let mut library = library();
        let window = library.window(id);
        let end = library.block_on(window.free());
        library.note_freed(window.group().context);
        drop(library.windows.remove(*win));
        *win = WIN_NULL;
        end
    }
}
