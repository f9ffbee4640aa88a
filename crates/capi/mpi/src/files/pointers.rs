//! File pointers: each process's own, and the one that all share.

use super::members::{by_first, check_same};
use super::open::SEQUENTIAL;
use super::{File, FileId};
use crate::library::Library;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;

const SEEK_CUR: c_int = 401;
const SEEK_END: c_int = 402;
const SEEK_SET: c_int = 403;

impl File {
    /// That the file has places to go to.
    pub(super) fn check_places(&self) -> Result<(), Error> {
        if self.mode & SEQUENTIAL != 0 {
            let text = "the file was opened with MPI_MODE_SEQUENTIAL: it has no places";
            return Err(Error::new(Class::UnsupportedOperation, text));
        }
        Ok(())
    }

    /// Where a pointer goes that is at `current`.
    fn sought(&self, offset: i64, whence: c_int, current: i64) -> Result<i64, Error> {
        self.check_places()?;
        let base = match whence {
            SEEK_SET => 0,
            SEEK_CUR => current,
            SEEK_END => self.view.end(self.bytes()?),
            _ => return Err(Error::new(Class::Arg, format!("whence is {whence}, which is no place"))),
        };
        base.checked_add(offset).filter(|&position| position >= 0).ok_or_else(|| {
            let text = format!("offset is {offset}, which is before the beginning of the view");
            Error::new(Class::Arg, text)
        })
    }
}

pub unsafe fn seek(library: &mut Library, file: FileId, offset: i64, whence: c_int) -> Result<(), Error> {
    let of = library.of_file(file);
    of.position = of.sought(offset, whence, of.position)?;
    Ok(())
}

pub unsafe fn position(library: &mut Library, file: FileId, offset: *mut i64) -> Result<(), Error> {
    let of = library.of_file(file);
    of.check_places()?;
    // SAFETY: the program gave the place.
    unsafe { *offset = of.position };
    Ok(())
}

pub unsafe fn seek_shared(
    library: &mut Library,
    file: FileId,
    offset: i64,
    whence: c_int,
) -> Result<(), Error> {
    let same = check_same(library, file, "offset", offset);
    let checked = check_same(library, file, "whence", whence.into()).and(same);
    by_first(library, file, checked, |of| {
        of.shared.set(of.sought(offset, whence, of.shared.get())?);
        Ok(())
    })
}

pub unsafe fn position_shared(library: &mut Library, file: FileId, offset: *mut i64) -> Result<(), Error> {
    let of = library.of_file(file);
    of.check_places()?;
    // SAFETY: the program gave the place.
    unsafe { *offset = of.shared.get() };
    Ok(())
}
