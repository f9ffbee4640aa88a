//! Errors of the operating system as classes of MPI.

use netloom_mpi::error::{Class, Error};
use std::io;

/// The class of an error number.
fn class(error: &io::Error) -> Class {
    match error.raw_os_error() {
        Some(libc::ENOENT) => Class::NoSuchFile,
        Some(libc::EEXIST) => Class::FileExists,
        Some(libc::EACCES | libc::EPERM) => Class::Access,
        Some(libc::EROFS) => Class::ReadOnly,
        Some(libc::ENOSPC) => Class::NoSpace,
        Some(libc::EDQUOT) => Class::Quota,
        Some(libc::EISDIR | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP) => Class::BadFile,
        Some(libc::ETXTBSY | libc::EBUSY) => Class::FileInUse,
        _ => Class::Io,
    }
}

/// An error of the operating system, with what was done to what.
pub fn of_system(what: impl std::fmt::Display, error: &io::Error) -> Error {
    Error::new(class(error), format!("{what}: {error}"))
}

/// The error of another process, of which the class alone is known here.
pub fn of_another(code: i32) -> Error {
    const CLASSES: [Class; 14] = [
        Class::Type,
        Class::Arg,
        Class::Access,
        Class::Amode,
        Class::BadFile,
        Class::FileExists,
        Class::FileInUse,
        Class::NotSame,
        Class::NoSpace,
        Class::NoSuchFile,
        Class::Quota,
        Class::ReadOnly,
        Class::UnsupportedDatarep,
        Class::UnsupportedOperation,
    ];
    let class = CLASSES.into_iter().find(|&class| class as i32 == code).unwrap_or(Class::Io);
    Error::new(class, "it failed at another process of the file")
}
