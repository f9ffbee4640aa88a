//! Names of services (MPI 5.0, section 11.9.4): the launcher knows them, for the processes of a job.

use super::{text, write_port};
use crate::info;
use crate::library::Library;
use netloom_mpi::error::{Class, Error};
use netloom_shm::launch::{Answer, Request};
use std::ffi::c_char;

/// # Safety
/// The program gave the strings.
unsafe fn pair(service: *const c_char, port: *const c_char) -> Result<[String; 2], Error> {
    // SAFETY: the caller's promise.
    unsafe { Ok([text(Class::Service, "service_name", service)?, text(Class::Port, "port_name", port)?]) }
}

pub unsafe fn publish(
    library: &mut Library,
    service: *const c_char,
    info: usize,
    port: *const c_char,
) -> Result<(), Error> {
    library.check_native()?;
    info::check(info)?;
    // SAFETY: the program gave the strings.
    let pair = unsafe { pair(service, port)? };
    let request = Request::Publish(library.own_process(), pair);
    library.launcher(&request, Class::Service).map(|_| ())
}

pub unsafe fn unpublish(
    library: &mut Library,
    service: *const c_char,
    info: usize,
    port: *const c_char,
) -> Result<(), Error> {
    library.check_native()?;
    info::check(info)?;
    // SAFETY: the program gave the strings.
    let pair = unsafe { pair(service, port)? };
    library.launcher(&Request::Unpublish(pair), Class::Service).map(|_| ())
}

pub unsafe fn lookup(
    library: &mut Library,
    service: *const c_char,
    info: usize,
    port: *mut c_char,
) -> Result<(), Error> {
    library.check_native()?;
    info::check(info)?;
    // SAFETY: the program gave the string.
    let service = unsafe { text(Class::Name, "service_name", service)? };
    match library.launcher(&Request::Lookup(service), Class::Name)? {
        // SAFETY: the program gave the place.
        Answer::Name(name) => unsafe { write_port(&name, port) },
        other => return Err(Error::new(Class::Intern, format!("the launcher answers {other:?}"))),
    }
    Ok(())
}
