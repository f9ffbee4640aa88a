//! Communicators (MPI 5.0, chapter 7).

use crate::abi::*;
use crate::library::{Comm, CommId, Library, USER_COMM};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;

pub unsafe fn rank(library: &mut Library, comm: CommId, rank: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *rank = library.of(comm).group.rank as c_int };
    Ok(())
}

pub unsafe fn size(library: &mut Library, comm: CommId, size: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *size = library.of(comm).group.size as c_int };
    Ok(())
}

/// A communicator of the same group, with a context that none of its members uses: the greatest of those that they would take.
pub unsafe fn dup(library: &mut Library, comm: CommId, made: *mut usize) -> Result<(), Error> {
    let mut context = library.next_context.to_ne_bytes();
    let operation = library.operation(comm);
    let greatest = |own: &mut [u8], other: &[u8]| {
        let [a, b] = [&*own, other].map(|of| u32::from_ne_bytes(of.try_into().expect("four bytes")));
        own.copy_from_slice(&a.max(b).to_ne_bytes());
        Ok(())
    };
    library.block_on(collective::all_reduce(&operation, &mut context, &greatest))?;
    let context = u32::from_ne_bytes(context);
    library.next_context = context + 2;
    let &mut Comm { ref group, errhandler, .. } = library.of(comm);
    let mut group = group.clone();
    group.context = context;
    let at = library.comms.iter().position(Option::is_none).unwrap_or(library.comms.len());
    if at == library.comms.len() {
        library.comms.push(None);
    }
    library.comms[at] = Some(Comm { group, collectives: 0, errhandler });
    // SAFETY: the program gave the place.
    unsafe { *made = USER_COMM | at };
    Ok(())
}

pub unsafe fn free(library: &mut Library, comm: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    let handle = unsafe { &mut *comm };
    let CommId(at) = library.comm("comm", *handle)?;
    if at < 2 {
        return Err(Error::new(Class::Comm, "comm is predefined, and stays"));
    }
    library.comms[at] = None;
    *handle = COMM_NULL;
    Ok(())
}

pub unsafe fn set_errhandler(library: &mut Library, comm: CommId, errhandler: usize) -> Result<(), Error> {
    match errhandler {
        ERRORS_ARE_FATAL | ERRORS_ABORT | ERRORS_RETURN => {
            library.of(comm).errhandler = errhandler;
            Ok(())
        }
        _ => Err(Error::new(
            Class::Errhandler,
            format!("errhandler is {errhandler:#x}, which is no error handler"),
        )),
    }
}

pub unsafe fn get_errhandler(
    library: &mut Library,
    comm: CommId,
    errhandler: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *errhandler = library.of(comm).errhandler };
    Ok(())
}
