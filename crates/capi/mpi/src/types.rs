//! Datatypes (MPI 5.0, chapter 5): predefined ones.

use crate::abi::SUCCESS;
use crate::library::Library;
use crate::numbers::CountPlace;
use netloom_mpi::datatype::Predefined;
use netloom_mpi::error::Error;
use std::ffi::{c_int, c_void};

pub unsafe fn size(_: &mut Library, of: &'static Predefined, size: CountPlace) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { size.set(Some(of.size as u64)) };
    Ok(())
}

pub unsafe fn extent(
    _: &mut Library,
    of: &'static Predefined,
    lower: *mut i64,
    extent: *mut i64,
) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe { (*lower, *extent) = (0, of.extent as i64) };
    Ok(())
}

pub unsafe fn address(location: *const c_void, address: *mut isize) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *address = location as isize };
    SUCCESS
}

pub unsafe fn add(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

pub unsafe fn difference(first: isize, second: isize) -> isize {
    first.wrapping_sub(second)
}
