//! How files are opened, closed and deleted.

use super::errors::of_system;
use super::members::{Members, agree, barrier, broadcast, not_same};
use super::shared::{self, SharedPointer};
use super::view::View;
use super::{FILE_NULL, File};
use crate::communicators::agree_context;
use crate::library::{CommId, Library};
use crate::memory;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Group;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub const APPEND: c_int = 1;
const CREATE: c_int = 2;
const DELETE_ON_CLOSE: c_int = 4;
const EXCL: c_int = 8;
pub const RDONLY: c_int = 16;
const RDWR: c_int = 32;
pub const SEQUENTIAL: c_int = 64;
const UNIQUE_OPEN: c_int = 128;
pub const WRONLY: c_int = 256;

fn check_mode(mode: c_int) -> Result<(), Error> {
    let access = mode & (RDONLY | RDWR | WRONLY);
    let known = APPEND | CREATE | DELETE_ON_CLOSE | EXCL | SEQUENTIAL | UNIQUE_OPEN | access;
    let wrong = match access {
        RDONLY if mode & (CREATE | EXCL) != 0 => "a file that is only read cannot be created",
        RDWR if mode & SEQUENTIAL != 0 => "a sequential file is read or written, not both",
        RDONLY | RDWR | WRONLY if mode & !known != 0 => "it has bits that no mode has",
        RDONLY | RDWR | WRONLY => return Ok(()),
        _ => "it must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR",
    };
    Err(Error::new(Class::Amode, format!("amode is {mode}: {wrong}")))
}

/// A path that the program gave.
///
/// # Safety
/// It is a string, or NULL.
unsafe fn path_of(filename: *const c_char) -> Result<PathBuf, Error> {
    // SAFETY: the caller's promise.
    let bytes = if filename.is_null() { &[] } else { unsafe { CStr::from_ptr(filename) }.to_bytes() };
    match bytes {
        [] => Err(Error::new(Class::BadFile, "filename is NULL or empty")),
        _ => Ok(PathBuf::from(OsStr::from_bytes(bytes))),
    }
}

/// Opens a file; the first process creates it.
fn open_here(path: &Path, mode: c_int, is_first: bool) -> Result<std::fs::File, Error> {
    let mut options = std::fs::File::options();
    options.read(mode & WRONLY == 0).write(mode & RDONLY == 0);
    if is_first && mode & CREATE != 0 {
        options.create(true).create_new(mode & EXCL != 0);
    }
    let failed = |error| of_system(format_args!("filename is {}", path.display()), &error);
    let file = options.open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        let text = format!("filename is {}, which is a directory", path.display());
        return Err(Error::new(Class::BadFile, text));
    }
    Ok(file)
}

pub unsafe fn open(
    library: &mut Library,
    comm: CommId,
    filename: *const c_char,
    amode: c_int,
    info: usize,
    fh: *mut usize,
) -> Result<(), Error> {
    library.check_intra(comm)?;
    let context = agree_context(library, comm)?;
    let group = Group { context, ..library.of(comm).group.clone() };
    let mut members = Members { group, session: library.of(comm).session, operations: 0 };
    let point_to_point = Rc::clone(&library.point_to_point);

    let of_first = broadcast(library, &members.operation(&point_to_point), amode as u64)?;
    let checked = check_mode(amode).and_then(|()| {
        // SAFETY: the program gave a string.
        let (path, info) = (unsafe { path_of(filename)? }, crate::info::copy(info)?);
        if of_first == amode as u64 {
            Ok((path, info))
        } else {
            Err(not_same("amode", amode.into(), of_first as i64))
        }
    });
    let (path, info) = agree(library, &members.operation(&point_to_point), checked)?;

    // The first process creates the file, and others open what is there then.
    let of_pointer = |error| of_system("the shared file pointer", &error);
    let first = || Ok((open_here(&path, amode, true)?, shared::create().map_err(of_pointer)?));
    let begun = members.is_first().then(first).transpose();
    let begun = agree(library, &members.operation(&point_to_point), begun)?;
    let key = begun.as_ref().map_or(0, |(_, pointer)| memory::key(pointer));
    let key = broadcast(library, &members.operation(&point_to_point), key)?;
    let opened = match begun {
        Some(begun) => Ok(begun),
        None => {
            open_here(&path, amode, false).and_then(|file| Ok((file, memory::open(key).map_err(of_pointer)?)))
        }
    };
    // Nobody writes before all have seen the length.
    let opened = opened.and_then(|(file, pointer)| {
        let failed = |error| of_system(path.display(), &error);
        let bytes = if amode & APPEND != 0 { file.metadata().map_err(failed)?.len() } else { 0 };
        let shared = SharedPointer::of(&pointer).map_err(of_pointer)?;
        if members.is_first() {
            shared.set(bytes as i64);
        }
        // The first process keeps this file until others have opened theirs.
        Ok((file, (shared, pointer), bytes as i64))
    });
    let (file, (shared, _), position) = agree(library, &members.operation(&point_to_point), opened)?;

    library.note_file(&members.group, &path);
    let errhandler = library.null_file_errhandler;
    let made = library.files.insert(File {
        file,
        path,
        mode: amode,
        members,
        errhandler,
        info,
        is_atomic: false,
        view: View::bytes(),
        position,
        shared,
        split: None,
    });
    // SAFETY: the program gave the place.
    unsafe { *fh = made };
    Ok(())
}

/// A file that is to be deleted is when all are in the call, and before they return.
pub unsafe fn close(library: &mut Library, fh: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    let handle = unsafe { &mut *fh };
    let file = library.file("fh", *handle)?;
    if library.of_file(file).split.is_some() {
        return Err(Error::new(Class::Io, "fh has a split collective that has begun and not ended"));
    }
    barrier(library, file)?;
    let deleted = {
        let File { mode, members, path, .. } = library.of_file(file);
        let is_deleted = *mode & DELETE_ON_CLOSE != 0;
        let own = if is_deleted && members.is_first() { remove(path) } else { Ok(()) };
        is_deleted.then_some(own)
    };
    let deleted = deleted.map_or(Ok(()), |own| {
        let operation = super::members::operation(library, file);
        agree(library, &operation, own)
    });
    let closed = library.files.remove(*handle).expect("it was found");
    library.note_freed(closed.members.group.context);
    *handle = FILE_NULL;
    deleted
}

fn remove(path: &Path) -> Result<(), Error> {
    std::fs::remove_file(path)
        .map_err(|error| of_system(format_args!("filename is {}", path.display()), &error))
}

pub unsafe fn delete(_: &mut Library, filename: *const c_char, info: usize) -> Result<(), Error> {
    crate::info::check(info)?;
    // SAFETY: the program gave a string.
    remove(&unsafe { path_of(filename) }?)
}
