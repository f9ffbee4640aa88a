//! What statuses tell (MPI 5.0, sections 3.2.5 and 13.3), and what is written to them.

use crate::abi::Status;
use crate::numbers::{Count, CountPlace};
use crate::types::Type;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;

/// Elements of a message: `MPI_UNDEFINED` if they are not a whole number.
pub unsafe fn count(status: *const Status, of: Type, count: CountPlace) -> Result<(), Error> {
    // SAFETY: the program gave the status and the place.
    unsafe {
        let (bytes, size) = ((*status).bytes(), of.size() as u64);
        let is_whole = if size == 0 { bytes == 0 } else { bytes.is_multiple_of(size) };
        count.set(is_whole.then(|| bytes.checked_div(size).unwrap_or(0)));
    }
    Ok(())
}

/// Elements of a message that are predefined types: `MPI_UNDEFINED` if the last is not whole.
pub unsafe fn elements(status: *const Status, of: Type, count: impl Into<CountPlace>) -> Result<(), Error> {
    // SAFETY: the program gave the status and the place.
    unsafe { count.into().set(of.datatype().elements_within((*status).bytes())) };
    Ok(())
}

/// The reverse of [`elements`]: elements of a predefined type, or whole ones of another, which is as exact as
/// sizes are.
pub unsafe fn set_elements(status: *mut Status, of: Type, Count(count): Count) -> Result<(), Error> {
    let bytes = of.datatype().bytes_of_elements(count as u64).ok_or_else(|| {
        Error::new(Class::Count, format!("{count} elements of datatype are longer than memory"))
    })?;
    // SAFETY: the program gave the status.
    unsafe { (*status).set_bytes(bytes) };
    Ok(())
}

pub unsafe fn set_elements_long(status: *mut Status, of: Type, count: i64) -> Result<(), Error> {
    // SAFETY: the program gave the status.
    unsafe { set_elements(status, of, Count::check("count", count)?) }
}

pub unsafe fn cancelled(status: *const Status, flag: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave both.
    unsafe { *flag = (*status).is_cancelled().into() };
    Ok(())
}

pub unsafe fn set_cancelled(status: *mut Status, flag: c_int) -> Result<(), Error> {
    // SAFETY: the program gave the status.
    unsafe { (*status).set_cancelled(flag != 0) };
    Ok(())
}

pub unsafe fn source(status: *const Status, source: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave both.
    unsafe { *source = (*status).source };
    Ok(())
}

pub unsafe fn tag(status: *const Status, tag: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave both.
    unsafe { *tag = (*status).tag };
    Ok(())
}

pub unsafe fn error(status: *const Status, error: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave both.
    unsafe { *error = (*status).error };
    Ok(())
}

pub unsafe fn set_source(status: *mut Status, source: c_int) -> Result<(), Error> {
    // SAFETY: the program gave the status.
    unsafe { (*status).source = source };
    Ok(())
}

pub unsafe fn set_tag(status: *mut Status, tag: c_int) -> Result<(), Error> {
    // SAFETY: the program gave the status.
    unsafe { (*status).tag = tag };
    Ok(())
}

pub unsafe fn set_error(status: *mut Status, error: c_int) -> Result<(), Error> {
    // SAFETY: the program gave the status.
    unsafe { (*status).error = error };
    Ok(())
}
