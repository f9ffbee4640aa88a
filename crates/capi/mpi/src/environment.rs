//! Time, names, versions, error text, integers of handles (MPI 5.0, chapters 9 and 20).

use crate::abi::*;
use crate::library::{Library, library};
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_char, c_int, c_void};

/// Time of the machine, s; before `MPI_Init` that of this computer.
pub unsafe fn wtime() -> f64 {
    // SAFETY: the program makes one call at a time.
    match unsafe { library() } {
        Some(library) => library.point_to_point.transport().time_s()[0],
        None => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(0.0, |now| now.as_secs_f64())
        }
    }
}

pub unsafe fn wtick() -> f64 {
    // SAFETY: the program makes one call at a time.
    unsafe { library() }.map_or(1e-9, |library| library.point_to_point.transport().time_s()[1])
}

/// Writes a string and its length, without the final NUL.
///
/// # Safety
/// The program gave both places; that of the string has `space` bytes.
pub unsafe fn write(text: &str, space: usize, to: *mut c_char, length: *mut c_int) {
    let bytes = &text.as_bytes()[..text.len().min(space - 1)];
    // SAFETY: the caller's promise.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        *to.add(bytes.len()) = 0;
        *length = bytes.len() as c_int;
    }
}

/// The name of this computer.
pub fn host_name() -> String {
    let mut host = [0u8; MAX_PROCESSOR_NAME];
    // SAFETY: a place of that length.
    unsafe { libc::gethostname(host.as_mut_ptr().cast(), host.len() - 1) };
    let end = host.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&host[..end]).into_owned()
}

pub unsafe fn processor_name(
    library: &mut Library,
    name: *mut c_char,
    length: *mut c_int,
) -> Result<(), Error> {
    let node = library.point_to_point.transport().simulated_node().unwrap_or_else(host_name);
    // SAFETY: the program gave the places.
    unsafe { write(&node, MAX_PROCESSOR_NAME, name, length) };
    Ok(())
}

pub unsafe fn version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    // SAFETY: the program gave the places.
    unsafe { (*version, *subversion) = (5, 0) };
    SUCCESS
}

pub unsafe fn abi_version(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: the program gave the places.
    unsafe { (*major, *minor) = (1, 0) };
    SUCCESS
}

pub unsafe fn library_version(text: *mut c_char, length: *mut c_int) -> c_int {
    // SAFETY: the program gave the places.
    unsafe { write(concat!("Netloom ", env!("CARGO_PKG_VERSION")), 8192, text, length) };
    SUCCESS
}

pub unsafe fn pcontrol(_level: c_int) -> c_int {
    SUCCESS
}

/// A huge page, bytes. From half of one on, memory lies in such pages: the kernel copies from process to
/// process two to three times as fast between them as between pages of 4 KiB, each of which it looks up.
const HUGE_PAGE_B: usize = 2 << 20;

/// Memory that begins a cache line, or huge pages if it is large.
pub unsafe fn alloc_mem(size: isize, _info: usize, base: *mut c_void) -> Result<(), Error> {
    let Ok(bytes) = usize::try_from(size) else {
        return Err(Error::new(Class::Arg, format!("size is {size}, which is negative")));
    };
    let is_large = bytes >= HUGE_PAGE_B / 2;
    let alignment = if is_large { HUGE_PAGE_B } else { 64 };
    let whole = if is_large { bytes.next_multiple_of(HUGE_PAGE_B) } else { bytes.max(1) };
    let mut memory = std::ptr::null_mut();
    // SAFETY: a place of this function, memory that was just allocated, and the program's place of a pointer.
    unsafe {
        if libc::posix_memalign(&mut memory, alignment, whole) != 0 {
            return Err(Error::new(Class::NoMem, format!("there is no memory for {size} B")));
        }
        if is_large {
            // Where the kernel has no huge pages, the memory is as good as any.
            libc::madvise(memory, whole, libc::MADV_HUGEPAGE);
        }
        *base.cast::<*mut c_void>() = memory;
    }
    Ok(())
}

pub unsafe fn free_mem(base: *mut c_void) -> Result<(), Error> {
    // SAFETY: the program has it from `alloc_mem`.
    unsafe { libc::free(base) };
    Ok(())
}

/// Handles are integers already.
pub unsafe fn to_int(handle: usize) -> c_int {
    handle as c_int
}

pub unsafe fn from_int(handle: c_int) -> usize {
    handle as u32 as usize
}
