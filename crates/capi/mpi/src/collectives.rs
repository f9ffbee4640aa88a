//! Collectives (MPI 5.0, chapter 6).

use crate::buffer::{Buffer, Pieces};
use crate::library::{CommId, Library};
use crate::operations::{Reduction, combining};
use crate::requests::Request;
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};

fn check_root(library: &mut Library, root: c_int, comm: CommId) -> Result<u32, Error> {
    let size = library.of(comm).group.size;
    if root < 0 || root >= size as c_int {
        let text = format!("root is {root}, and the communicator has the ranks 0 to {}", size - 1);
        return Err(Error::new(Class::Root, text));
    }
    Ok(root as u32)
}

/// Rank and size.
fn place(library: &mut Library, comm: CommId) -> (u32, u32) {
    let group = &library.of(comm).group;
    (group.rank, group.size)
}

/// What a rank sends to one is as long as what one receives from it.
fn check_lengths(own: usize, other: usize) -> Result<(), Error> {
    if own == other {
        return Ok(());
    }
    Err(Error::new(Class::Truncate, format!("this rank sends {own} B where {other} B are received")))
}

pub unsafe fn barrier(library: &mut Library, comm: CommId) -> Result<(), Error> {
    let operation = library.operation(comm);
    library.block_on(collective::barrier(operation))
}

pub unsafe fn start_barrier(library: &mut Library, comm: CommId, request: *mut usize) -> Result<(), Error> {
    let operation = library.operation(comm);
    let started = library.insert(Request::Collective(Box::pin(collective::barrier(operation))));
    library.poll_collectives();
    // SAFETY: the program gave the place.
    unsafe { *request = started };
    Ok(())
}

pub unsafe fn bcast(library: &mut Library, buffer: Buffer, root: c_int, comm: CommId) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    // SAFETY: the program gave the buffer.
    let data = unsafe { buffer.space(1)? };
    let operation = library.operation(comm);
    library.block_on(collective::broadcast(&operation, data, root))
}

pub unsafe fn reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    let combine = combining(op, recvbuf.of()?)?;
    let is_root = place(library, comm).0 == root;
    let mut from = recvbuf.at("sendbuf", sendbuf);
    if from.is_in_place() && is_root {
        from = recvbuf;
    }
    // SAFETY: the program gave the buffers; that of the result is the root's.
    unsafe {
        let mut data = from.bytes(1)?.to_vec();
        let operation = library.operation(comm);
        library.block_on(collective::reduce(&operation, &mut data, root, &combine))?;
        if is_root {
            recvbuf.space(1)?.copy_from_slice(&data);
        }
    }
    Ok(())
}

/// The operand of this rank, where its result goes.
///
/// # Safety
/// The program gave the buffers, which do not overlap.
unsafe fn operand<'a>(sendbuf: *const c_void, recvbuf: Buffer) -> Result<&'a mut [u8], Error> {
    let from = recvbuf.at("sendbuf", sendbuf);
    // SAFETY: the caller's promise.
    unsafe {
        let data = recvbuf.space(1)?;
        if !from.is_in_place() {
            data.copy_from_slice(from.bytes(1)?);
        }
        Ok(data)
    }
}

pub unsafe fn all_reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, recvbuf.of()?)?;
    // SAFETY: the program gave the buffers.
    let data = unsafe { operand(sendbuf, recvbuf)? };
    let operation = library.operation(comm);
    library.block_on(collective::all_reduce(&operation, data, &combine))
}

pub unsafe fn scan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, recvbuf.of()?)?;
    // SAFETY: the program gave the buffers.
    let data = unsafe { operand(sendbuf, recvbuf)? };
    let operation = library.operation(comm);
    library.block_on(collective::scan(&operation, data, false, &combine))
}

/// At rank 0 the result is undefined, so it stays as it was.
pub unsafe fn exscan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, recvbuf.of()?)?;
    let mut from = recvbuf.at("sendbuf", sendbuf);
    if from.is_in_place() {
        from = recvbuf;
    }
    // SAFETY: the program gave the buffers.
    unsafe {
        let mut data = from.bytes(1)?.to_vec();
        let operation = library.operation(comm);
        library.block_on(collective::scan(&operation, &mut data, true, &combine))?;
        if place(library, comm).0 > 0 {
            recvbuf.space(1)?.copy_from_slice(&data);
        }
    }
    Ok(())
}

/// What the root receives.
enum Parts {
    Equal(Buffer),
    Different(Pieces),
}

impl Parts {
    unsafe fn spaces<'a>(&self, ranks: u32) -> Result<Vec<&'a mut [u8]>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => Ok(collective::parts(buffer.space(ranks)?, ranks)),
                Parts::Different(pieces) => pieces.spaces(ranks),
            }
        }
    }

    unsafe fn bytes<'a>(&self, ranks: u32) -> Result<Vec<&'a [u8]>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => {
                    let all = buffer.bytes(ranks)?;
                    let part = all.len() / ranks as usize;
                    Ok((0..ranks as usize).map(|rank| &all[rank * part..][..part]).collect())
                }
                Parts::Different(pieces) => pieces.bytes(ranks),
            }
        }
    }

    fn is_in_place(&self) -> bool {
        match self {
            Parts::Equal(buffer) => buffer.is_in_place(),
            Parts::Different(pieces) => pieces.is_in_place(),
        }
    }
}

pub unsafe fn gather(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { gather_parts(library, sendbuf, &Parts::Equal(recvbuf), root, comm) }
}

pub unsafe fn gatherv(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Pieces,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { gather_parts(library, sendbuf, &Parts::Different(recvbuf), root, comm) }
}

unsafe fn gather_parts(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: &Parts,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers; that of the result is the root's.
    unsafe {
        let kept;
        let (own, parts) = if rank != root {
            (sendbuf.bytes(1)?, vec![])
        } else {
            let parts = recvbuf.spaces(size)?;
            let own = if sendbuf.is_in_place() {
                kept = parts[rank as usize].to_vec();
                &kept
            } else {
                sendbuf.bytes(1)?
            };
            check_lengths(own.len(), parts[rank as usize].len())?;
            (own, parts)
        };
        let operation = library.operation(comm);
        library.block_on(collective::gather(&operation, own, parts, root))
    }
}

pub unsafe fn scatter(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { scatter_parts(library, &Parts::Equal(sendbuf), recvbuf, root, comm) }
}

pub unsafe fn scatterv(
    library: &mut Library,
    sendbuf: Pieces,
    recvbuf: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { scatter_parts(library, &Parts::Different(sendbuf), recvbuf, root, comm) }
}

unsafe fn scatter_parts(
    library: &mut Library,
    sendbuf: &Parts,
    recvbuf: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers; that of all data is the root's.
    unsafe {
        let parts = if rank == root { sendbuf.bytes(size)? } else { vec![] };
        let mut unused = vec![];
        let own = if recvbuf.is_in_place() && rank == root {
            unused.resize(parts[rank as usize].len(), 0);
            &mut unused[..]
        } else {
            recvbuf.space(1)?
        };
        if rank == root {
            check_lengths(parts[rank as usize].len(), own.len())?;
        }
        let operation = library.operation(comm);
        library.block_on(collective::scatter(&operation, &parts, own, root))
    }
}

pub unsafe fn all_gather(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Buffer,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { all_gather_parts(library, sendbuf, &Parts::Equal(recvbuf), comm) }
}

pub unsafe fn all_gatherv(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Pieces,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { all_gather_parts(library, sendbuf, &Parts::Different(recvbuf), comm) }
}

unsafe fn all_gather_parts(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: &Parts,
    comm: CommId,
) -> Result<(), Error> {
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let mut parts = recvbuf.spaces(size)?;
        if !sendbuf.is_in_place() {
            let own = sendbuf.bytes(1)?;
            check_lengths(own.len(), parts[rank as usize].len())?;
            parts[rank as usize].copy_from_slice(own);
        }
        let operation = library.operation(comm);
        library.block_on(collective::all_gather(&operation, parts))
    }
}

pub unsafe fn all_to_all(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: Buffer,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { all_to_all_parts(library, &Parts::Equal(sendbuf), &Parts::Equal(recvbuf), comm) }
}

pub unsafe fn all_to_allv(
    library: &mut Library,
    sendbuf: Pieces,
    recvbuf: Pieces,
    comm: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers.
    unsafe { all_to_all_parts(library, &Parts::Different(sendbuf), &Parts::Different(recvbuf), comm) }
}

unsafe fn all_to_all_parts(
    library: &mut Library,
    sendbuf: &Parts,
    recvbuf: &Parts,
    comm: CommId,
) -> Result<(), Error> {
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let to = recvbuf.spaces(size)?;
        let kept: Vec<Vec<u8>>;
        let from: Vec<&[u8]> = if sendbuf.is_in_place() {
            kept = to.iter().map(|part| part.to_vec()).collect();
            kept.iter().map(|part| &part[..]).collect()
        } else {
            sendbuf.bytes(size)?
        };
        check_lengths(from[rank as usize].len(), to[rank as usize].len())?;
        let operation = library.operation(comm);
        library.block_on(collective::all_to_all(&operation, &from, to))
    }
}
