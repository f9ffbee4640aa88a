//! The length of a file, and when its data is on the disk.

use super::errors::of_system;
use super::members::{by_first, check_same};
use super::open::{RDONLY, SEQUENTIAL};
use super::{File, FileId};
use crate::library::Library;
use netloom_mpi::error::{Class, Error};
use std::io;
use std::os::fd::AsRawFd as _;

impl File {
    /// An error of the operating system.
    pub(super) fn failed(&self, error: &io::Error) -> Error {
        of_system(self.path.display(), error)
    }

    /// Its length, bytes.
    pub(super) fn bytes(&self) -> Result<u64, Error> {
        self.file.metadata().map(|of| of.len()).map_err(|error| self.failed(&error))
    }

    /// That its length may be changed to this.
    fn check_size(&self, size: i64) -> Result<(), Error> {
        if size < 0 {
            return Err(Error::new(Class::Arg, format!("size is {size}, which is negative")));
        }
        if self.mode & RDONLY != 0 {
            return Err(Error::new(Class::ReadOnly, "the file was opened with MPI_MODE_RDONLY"));
        }
        if self.mode & SEQUENTIAL != 0 {
            let text = "the file was opened with MPI_MODE_SEQUENTIAL";
            return Err(Error::new(Class::UnsupportedOperation, text));
        }
        Ok(())
    }
}

pub unsafe fn get_size(library: &mut Library, file: FileId, size: *mut i64) -> Result<(), Error> {
    let bytes = library.of_file(file).bytes()?;
    // SAFETY: the program gave the place.
    unsafe { *size = bytes as i64 };
    Ok(())
}

/// The same at all processes.
fn check_size_of_all(library: &mut Library, file: FileId, size: i64) -> Result<(), Error> {
    // Where one process fails, it takes part all the same.
    let same = check_same(library, file, "size", size);
    library.of_file(file).check_size(size).and(same)
}

pub unsafe fn set_size(library: &mut Library, file: FileId, size: i64) -> Result<(), Error> {
    let checked = check_size_of_all(library, file, size);
    by_first(library, file, checked, |of| of.file.set_len(size as u64).map_err(|error| of.failed(&error)))
}

pub unsafe fn preallocate(library: &mut Library, file: FileId, size: i64) -> Result<(), Error> {
    let checked = check_size_of_all(library, file, size);
    by_first(library, file, checked, |of| {
        if size == 0 {
            return Ok(());
        }
        // SAFETY: a system call on a file that is open.
        match unsafe { libc::posix_fallocate(of.file.as_raw_fd(), 0, size) } {
            0 => Ok(()),
            code => Err(of.failed(&io::Error::from_raw_os_error(code))),
        }
    })
}

/// Other processes of this computer see what was written without it.
pub unsafe fn sync(library: &mut Library, file: FileId) -> Result<(), Error> {
    let of = library.of_file(file);
    if of.mode & RDONLY == 0 {
        of.file.sync_data().map_err(|error| of.failed(&error))?;
    }
    Ok(())
}
