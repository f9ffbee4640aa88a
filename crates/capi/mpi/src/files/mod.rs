//! Files (MPI 5.0, chapter 14): their handles, and what belongs to one.
//!
//! A file is a POSIX file that each process has open. Processes exchange messages where a call needs all of
//! them, and share memory for the shared file pointer; data goes from each process to the file and back,
//! without others.

mod access;
mod errors;
mod members;
mod open;
mod pointers;
mod representation;
mod shared;
mod size;
mod transfer;
mod view;

pub use access::*;
pub use open::{close, delete, open};
pub use pointers::*;
pub use representation::register_datarep;
pub use size::*;
pub use view::{byte_offset, get_view, set_view, type_extent};

use crate::info::Info;
use crate::library::{Library, bad_handle};
use crate::requests::EMPTY;
use members::Members;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Processes;
use netloom_mpi::point_to_point::Ended;
use shared::SharedPointer;
use std::ffi::c_int;
use std::path::PathBuf;
use transfer::Direction;
use view::View;

/// Handles of files: see [`crate::handles`].
pub const USER_FILE: usize = 0x0b00_0000;
/// The part of a handle that says what it is of.
const KIND: usize = 0xff00_0000;
pub const FILE_NULL: usize = 0x118;

/// A file that was found, by its handle.
#[derive(Clone, Copy, Debug)]
pub struct FileId(usize);

/// An open file.
pub struct File {
    file: std::fs::File,
    path: PathBuf,
    /// Access mode.
    mode: c_int,
    members: Members,
    pub errhandler: usize,
    info: Info,
    is_atomic: bool,
    view: View,
    /// The individual file pointer, in elementary types of the view.
    position: i64,
    shared: SharedPointer,
    /// The split collective that has begun, with its status.
    split: Option<(Split, Ended)>,
}

/// Which split collective it is: a begin and an end of one kind belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    direction: Direction,
    /// The end of the function's name.
    place: &'static str,
}

/// That a handle is no file.
#[cold]
pub fn no_file(name: &str, handle: usize) -> Error {
    bad_handle(Class::File, name, handle, "MPI_FILE_NULL", FILE_NULL, "file")
}

impl Library {
    pub fn find_file(&self, handle: usize) -> Option<&File> {
        self.files.get(handle)
    }

    /// The file of a handle.
    pub fn file(&self, name: &str, handle: usize) -> Result<FileId, Error> {
        match self.find_file(handle) {
            Some(_) => Ok(FileId(handle)),
            None => Err(no_file(name, handle)),
        }
    }

    /// The error handler of a file. One that is closed, and so `MPI_FILE_NULL`, has that of files to come.
    pub fn errhandler_of_file(&self, handle: usize) -> Option<usize> {
        let is_file = handle == FILE_NULL || handle & KIND == USER_FILE;
        let of_others = is_file.then_some(self.null_file_errhandler);
        self.find_file(handle).map(|file| file.errhandler).or(of_others)
    }

    /// Its place.
    pub fn errhandler_place(&mut self, name: &str, handle: usize) -> Result<&mut usize, Error> {
        match handle {
            FILE_NULL => Ok(&mut self.null_file_errhandler),
            _ => {
                let file = self.file(name, handle)?;
                Ok(&mut self.of_file(file).errhandler)
            }
        }
    }

    pub fn of_file(&mut self, FileId(handle): FileId) -> &mut File {
        self.files.get_mut(handle).expect("it is there while the program makes a call with it")
    }
}

pub unsafe fn mode(library: &mut Library, file: FileId, amode: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *amode = library.of_file(file).mode };
    Ok(())
}

pub unsafe fn group(library: &mut Library, file: FileId, group: *mut usize) -> Result<(), Error> {
    let members = &library.of_file(file).members;
    let processes = Processes::from(&members.group).in_session(members.session);
    // SAFETY: the program gave the place.
    unsafe { library.hand_out_group(processes, group) }
}

/// Hints replace those of the same keys.
pub unsafe fn set_info(library: &mut Library, file: FileId, info: usize) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    library.of_file(file).info.add(&info);
    Ok(())
}

pub unsafe fn get_info(library: &mut Library, file: FileId, info: *mut usize) -> Result<(), Error> {
    let copy = library.of_file(file).info.clone();
    // SAFETY: the program gave the place.
    unsafe { *info = crate::info::add(copy) };
    Ok(())
}

pub unsafe fn set_atomicity(library: &mut Library, file: FileId, flag: c_int) -> Result<(), Error> {
    let checked = members::check_same(library, file, "flag", (flag != 0).into());
    let operation = members::operation(library, file);
    members::agree(library, &operation, checked)?;
    library.of_file(file).is_atomic = flag != 0;
    Ok(())
}

pub unsafe fn get_atomicity(library: &mut Library, file: FileId, flag: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *flag = library.of_file(file).is_atomic.into() };
    Ok(())
}

/// The status of an access to so many bytes.
fn status_of(bytes: u64) -> Ended {
    Ended { bytes, ..EMPTY }
}
