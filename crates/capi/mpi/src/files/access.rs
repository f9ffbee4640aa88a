//! The functions that read and write (MPI 5.0, section 14.4). Each carries its access out: what does not
//! block returns a request that has ended, and a split collective is done when it has begun.

use super::transfer::{Direction, Place};
use super::{FileId, Split};
use crate::abi::Status;
use crate::buffer::Buffer;
use crate::library::Library;
use crate::requests::{Request, set_status};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::point_to_point::Ended;
use std::ffi::c_void;

/// Functions that carry an access out and then say how it has ended, in a status or by a request.
macro_rules! accesses {
    ($place_of_end:ident: $type:ty, $say:ident; $($name:ident($($offset:ident)?) = $direction:ident, $place:expr;)*) => {$(
        pub unsafe fn $name(
            library: &mut Library,
            file: FileId,
            $($offset: i64,)?
            buf: Buffer,
            $place_of_end: $type,
        ) -> Result<(), Error> {
            // SAFETY: the program gave the buffer, and the place of the status or of the request.
            unsafe {
                let end = library.transfer(file, Direction::$direction, $place, &buf)?;
                $say(library, end, $place_of_end)
            }
        }
    )*};
}
accesses! {
    status: *mut Status, by_status;
    read_at(offset) = Read, Place::At(offset);
    write_at(offset) = Write, Place::At(offset);
    read() = Read, Place::Own;
    write() = Write, Place::Own;
    read_shared() = Read, Place::Shared;
    write_shared() = Write, Place::Shared;
    read_ordered() = Read, Place::Ordered;
    write_ordered() = Write, Place::Ordered;
}
accesses! {
    request: *mut usize, by_request;
    iread_at(offset) = Read, Place::At(offset);
    iwrite_at(offset) = Write, Place::At(offset);
    iread() = Read, Place::Own;
    iwrite() = Write, Place::Own;
    iread_shared() = Read, Place::Shared;
    iwrite_shared() = Write, Place::Shared;
}

/// # Safety
/// The program gave the place, or NULL.
unsafe fn by_status(_: &mut Library, end: Ended, status: *mut Status) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { set_status(status, &end) };
    Ok(())
}

/// # Safety
/// The program gave the place.
unsafe fn by_request(library: &mut Library, end: Ended, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { library.hand_out(Request::Ended(Ok(end)), request) }
}

macro_rules! begins {
    ($($name:ident($($offset:ident)?) = $direction:ident, $place:expr, $split:literal;)*) => {$(
        pub unsafe fn $name(
            library: &mut Library,
            file: FileId,
            $($offset: i64,)?
            buf: Buffer,
        ) -> Result<(), Error> {
            let split = Split { direction: Direction::$direction, place: $split };
            // SAFETY: the program gave the buffer.
            unsafe { begin(library, file, split, $place, &buf) }
        }
    )*};
}
begins! {
    read_all_begin() = Read, Place::Own, "all";
    write_all_begin() = Write, Place::Own, "all";
    read_at_all_begin(offset) = Read, Place::At(offset), "at_all";
    write_at_all_begin(offset) = Write, Place::At(offset), "at_all";
    read_ordered_begin() = Read, Place::Ordered, "ordered";
    write_ordered_begin() = Write, Place::Ordered, "ordered";
}

macro_rules! ends {
    ($($name:ident($space:ty) = $direction:ident, $split:literal;)*) => {$(
        pub unsafe fn $name(
            library: &mut Library,
            file: FileId,
            _: $space,
            status: *mut Status,
        ) -> Result<(), Error> {
            let split = Split { direction: Direction::$direction, place: $split };
            // SAFETY: the program gave the place of the status, which may be NULL.
            unsafe { end(library, file, split, status) }
        }
    )*};
}
ends! {
    read_all_end(*mut c_void) = Read, "all";
    write_all_end(*const c_void) = Write, "all";
    read_at_all_end(*mut c_void) = Read, "at_all";
    write_at_all_end(*const c_void) = Write, "at_all";
    read_ordered_end(*mut c_void) = Read, "ordered";
    write_ordered_end(*const c_void) = Write, "ordered";
}

unsafe fn begin(
    library: &mut Library,
    file: FileId,
    split: Split,
    place: Place,
    buf: &Buffer,
) -> Result<(), Error> {
    if let Some((begun, _)) = &library.of_file(file).split {
        return Err(Error::new(Class::Io, format!("{begun} has begun on fh and not ended")));
    }
    // SAFETY: the program gave the buffer.
    let end = unsafe { library.transfer(file, split.direction, place, buf)? };
    library.of_file(file).split = Some((split, end));
    Ok(())
}

unsafe fn end(library: &mut Library, file: FileId, split: Split, status: *mut Status) -> Result<(), Error> {
    let begun = &mut library.of_file(file).split;
    match begun {
        Some((of, end)) if *of == split => {
            // SAFETY: the program gave the place, or NULL.
            unsafe { set_status(status, end) };
            *begun = None;
            Ok(())
        }
        Some((other, _)) => Err(Error::new(Class::Io, format!("{other} has begun on fh, and not {split}"))),
        None => Err(Error::new(Class::Io, format!("{split} has not begun on fh"))),
    }
}

impl std::fmt::Display for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = if self.direction == Direction::Read { "read" } else { "write" };
        write!(f, "MPI_File_{direction}_{}", self.place)
    }
}
