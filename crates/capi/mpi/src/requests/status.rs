//! How requests have ended, while they stay (MPI 5.0, section 3.7.6).

use super::several::status_at;
use super::{set_empty, set_status};
use crate::abi::*;
use crate::library::Library;
use crate::numbers::Count;
use netloom_mpi::error::Error;
use netloom_mpi::point_to_point::Ended;
use std::ffi::c_int;

/// As a test, but the request stays.
pub unsafe fn get_status(
    library: &mut Library,
    request: usize,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    library.poll();
    let end = library.end_of(request)?;
    // SAFETY: the program gave both; the status may be NULL.
    unsafe {
        *flag = end.is_some().into();
        if let Some(end) = end {
            set_status_of(library, request, status, &end?);
        }
    }
    Ok(())
}

/// Writes how a request has ended: an inactive one, and `MPI_REQUEST_NULL`, with an empty status.
///
/// # Safety
/// The program gave the place, which may be NULL.
unsafe fn set_status_of(library: &Library, request: usize, status: *mut Status, end: &Ended) {
    // SAFETY: the caller's promise.
    unsafe { if library.is_inactive(request) { set_empty(status) } else { set_status(status, end) } }
}

/// As [`get_status`], of all requests of an array or none.
pub unsafe fn get_status_all(
    library: &mut Library,
    count: c_int,
    requests: *const usize,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Result<(), Error> {
    library.poll();
    let Count(count) = Count::check("count", count)?;
    // SAFETY: the program gave the arrays and the place.
    unsafe {
        let mut ends = vec![];
        for at in 0..count {
            ends.extend(library.end_of(*requests.add(at))?);
        }
        *flag = (ends.len() == count).into();
        if ends.len() == count {
            for (at, end) in ends.into_iter().enumerate() {
                set_status_of(library, *requests.add(at), status_at(statuses, at), &end?);
            }
        }
    }
    Ok(())
}

/// As [`get_status`], of the first request that has ended.
pub unsafe fn get_status_any(
    library: &mut Library,
    count: c_int,
    requests: *const usize,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    let mut some = 0;
    // SAFETY: the program gave the array and the places.
    unsafe {
        *index = UNDEFINED;
        get_status_some_of(library, count, requests, &mut some, index, status, 1)?;
        *flag = c_int::from(some != 0);
        if some == UNDEFINED {
            set_empty(status);
        }
    }
    Ok(())
}

/// As [`get_status`], of all requests that have ended.
pub unsafe fn get_status_some(
    library: &mut Library,
    count: c_int,
    requests: *const usize,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave the arrays and the place.
    unsafe { get_status_some_of(library, count, requests, outcount, indices, statuses, usize::MAX) }
}

/// Up to `most` of them.
///
/// # Safety
/// The program gave the arrays and the place.
unsafe fn get_status_some_of(
    library: &mut Library,
    count: c_int,
    requests: *const usize,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
    most: usize,
) -> Result<(), Error> {
    library.poll();
    let Count(count) = Count::check("incount", count)?;
    let (mut ended, mut is_any) = (0, false);
    // SAFETY: the caller's promise.
    unsafe {
        for at in 0..count {
            let handle = *requests.add(at);
            if ended == most || library.is_inactive(handle) {
                continue;
            }
            is_any = true;
            if let Some(end) = library.end_of(handle)? {
                *indices.add(ended) = at as c_int;
                set_status(status_at(statuses, ended), &end?);
                ended += 1;
            }
        }
        *outcount = if is_any { ended as c_int } else { UNDEFINED };
    }
    Ok(())
}
