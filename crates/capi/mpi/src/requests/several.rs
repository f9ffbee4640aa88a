//! Calls that wait for several requests, or look whether they have ended.

use super::*;

/// The place of a status in an array, or NULL.
pub(super) fn status_at(statuses: *mut Status, at: usize) -> *mut Status {
    if statuses.is_null() { statuses } else { statuses.wrapping_add(at) }
}

/// The error of a call that has ended several requests: each status says how its own has ended.
///
/// # Safety
/// The program gave as many statuses as have ended, or NULL.
unsafe fn in_statuses(failed: &[(usize, Error)], statuses: *mut Status, ended: usize) -> Result<(), Error> {
    let Some((first, error)) = failed.first() else { return Ok(()) };
    if !statuses.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            (0..ended).for_each(|at| (*statuses.add(at)).error = SUCCESS);
            failed.iter().for_each(|(at, error)| (*statuses.add(*at)).error = error.code());
        }
    }
    let (others, text) = (failed.len() - 1, error.to_string());
    let more = if others > 0 { format!(", and {others} others failed") } else { String::new() };
    let text = format!("status {first}: {text} ({}){more}", error.class.name());
    Err(Error::new(Class::InStatus, text).with_object(error.object))
}

/// That an array has valid handles.
///
/// # Safety
/// The program gave `count` requests.
unsafe fn check_all(library: &Library, count: usize, requests: *const usize) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    (0..count).try_for_each(|at| library.request_at(unsafe { *requests.add(at) }).map(|_| ()))
}

/// With communication threads (section IV.A of the PAMI paper): first all handles become requests, and those
/// end that these threads have completed; then the others are waited for.
///
/// # Safety
/// The program gave `count` requests and as many statuses, or NULL.
unsafe fn wait_in_two_phases(
    library: &mut Library,
    count: usize,
    requests: *mut usize,
    statuses: *mut Status,
    failed: &mut Vec<(usize, Error)>,
) {
    let mut left = vec![];
    for at in 0..count {
        // SAFETY: the caller's promise.
        match unsafe { library.try_end(&mut *requests.add(at), status_at(statuses, at)) } {
            Some(end) => failed.extend(end.err().map(|error| (at, error))),
            None => left.push(at),
        }
    }
    for at in left {
        // SAFETY: the same.
        let end = unsafe { wait(library, requests.add(at), status_at(statuses, at)) };
        failed.extend(end.err().map(|error| (at, error)));
    }
    failed.sort_by_key(|&(at, _)| at);
}

pub unsafe fn wait_all(
    library: &mut Library,
    Count(count): Count,
    requests: *mut usize,
    statuses: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave `count` requests.
    unsafe { check_all(library, count, requests)? };
    let mut failed = vec![];
    if crate::threads::has_background() {
        // SAFETY: the program gave `count` requests and as many statuses, or NULL.
        unsafe { wait_in_two_phases(library, count, requests, statuses, &mut failed) };
    } else {
        for at in 0..count {
            // SAFETY: the same.
            if let Err(error) = unsafe { wait(library, requests.add(at), status_at(statuses, at)) } {
                failed.push((at, error));
            }
        }
    }
    // SAFETY: as above.
    unsafe { in_statuses(&failed, statuses, count) }
}

pub unsafe fn wait_any(
    library: &mut Library,
    Count(count): Count,
    requests: *mut usize,
    index: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave `count` requests.
    unsafe { check_all(library, count, requests)? };
    loop {
        // SAFETY: the program gave the array and the places.
        unsafe {
            let some = end_some(library, count, requests, index, status, 1);
            if some.ended > 0 {
                return of_one(some.failed);
            }
            if !some.is_any {
                *index = UNDEFINED;
                set_empty(status);
                return Ok(());
            }
        }
        library.progress();
    }
}

/// All or nothing: no request is ended unless all can be.
pub unsafe fn test_all(
    library: &mut Library,
    count: Count,
    requests: *mut usize,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Result<(), Error> {
    library.poll();
    let mut is_ended = true;
    for at in 0..count.0 {
        // SAFETY: the program gave `count` requests.
        if let Some(at) = library.request_at(unsafe { *requests.add(at) })? {
            let request = library.requests[at].as_ref().expect("it was found");
            is_ended &= library.has_ended(request);
        }
    }
    // SAFETY: the program gave the place and the arrays.
    unsafe {
        *flag = is_ended.into();
        if is_ended { wait_all(library, count, requests, statuses) } else { Ok(()) }
    }
}

/// Which requests of an array have ended.
struct Endings {
    /// How many.
    ended: usize,
    /// Whether any was there to wait for.
    is_any: bool,
    /// The places among those that have ended of those that failed.
    failed: Vec<(usize, Error)>,
}

/// Ends the requests of an array that can be, up to `most`, and writes their indices.
///
/// # Safety
/// The program gave `count` requests, as many indices, and statuses or NULL.
unsafe fn end_some(
    library: &mut Library,
    count: usize,
    requests: *mut usize,
    indices: *mut c_int,
    statuses: *mut Status,
    most: usize,
) -> Endings {
    let mut some = Endings { ended: 0, is_any: false, failed: vec![] };
    for at in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            if some.ended == most || library.is_inactive(*requests.add(at)) {
                continue;
            }
            some.is_any = true;
            if let Some(end) = library.try_end(&mut *requests.add(at), status_at(statuses, some.ended)) {
                *indices.add(some.ended) = at as c_int;
                some.failed.extend(end.err().map(|error| (some.ended, error)));
                some.ended += 1;
            }
        }
    }
    some
}

/// The error of the one request that a call has ended.
fn of_one(mut failed: Vec<(usize, Error)>) -> Result<(), Error> {
    failed.pop().map_or(Ok(()), |(_, error)| Err(error))
}

/// Ends those requests of an array that can be; `None` if none of those that are there can.
///
/// # Safety
/// As [`end_some`]; and the program gave the place of their number.
unsafe fn end_all_that_can(
    library: &mut Library,
    count: usize,
    requests: *mut usize,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Option<Result<(), Error>> {
    // SAFETY: the caller's promise.
    unsafe {
        let some = end_some(library, count, requests, indices, statuses, count);
        *outcount = if some.is_any { some.ended as c_int } else { UNDEFINED };
        (some.ended > 0 || !some.is_any).then(|| in_statuses(&some.failed, statuses, some.ended))
    }
}

pub unsafe fn wait_some(
    library: &mut Library,
    Count(count): Count,
    requests: *mut usize,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave `count` requests.
    unsafe { check_all(library, count, requests)? };
    loop {
        // SAFETY: the program gave the arrays and the place.
        if let Some(end) = unsafe { end_all_that_can(library, count, requests, outcount, indices, statuses) }
        {
            return end;
        }
        library.progress();
    }
}

pub unsafe fn test_some(
    library: &mut Library,
    Count(count): Count,
    requests: *mut usize,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave `count` requests.
    unsafe { check_all(library, count, requests)? };
    library.poll();
    // SAFETY: the program gave the arrays and the place.
    let end = unsafe { end_all_that_can(library, count, requests, outcount, indices, statuses) };
    end.unwrap_or(Ok(()))
}

pub unsafe fn test_any(
    library: &mut Library,
    Count(count): Count,
    requests: *mut usize,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    // SAFETY: the program gave `count` requests.
    unsafe { check_all(library, count, requests)? };
    library.poll();
    // SAFETY: the program gave the array and the places.
    unsafe {
        let some = end_some(library, count, requests, index, status, 1);
        *flag = c_int::from(some.ended > 0 || !some.is_any);
        if some.ended == 0 {
            *index = UNDEFINED;
            if !some.is_any {
                set_empty(status);
            }
        }
        of_one(some.failed)
    }
}
