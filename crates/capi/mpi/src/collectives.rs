//! Collectives (MPI 5.0, chapter 6).

use crate::abi::IN_PLACE;
use crate::library::{CommId, Library};
use crate::numbers::Count;
use crate::requests::Request;
use crate::sends::memory;
use netloom_mpi::collective;
use netloom_mpi::datatype::Predefined;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::op::{Op, reduce as combine};
use netloom_mpi::transport::Memory;
use std::ffi::{c_int, c_void};

type Type = &'static Predefined;

/// The bytes of a buffer.
///
/// # Safety
/// The program has this memory, and leaves it as it is during the call.
unsafe fn bytes<'a>(of: Memory) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if of.bytes == 0 {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(of.address as *const u8, of.bytes as usize) }
    }
}

/// The same, to be written.
///
/// # Safety
/// As [`bytes`].
unsafe fn space<'a>(of: Memory) -> &'a mut [u8] {
    // SAFETY: the caller's promise.
    if of.bytes == 0 {
        &mut []
    } else {
        unsafe { std::slice::from_raw_parts_mut(of.address as *mut u8, of.bytes as usize) }
    }
}

fn is_in_place(buffer: *const c_void) -> bool {
    buffer as usize == IN_PLACE
}

fn check_root(library: &mut Library, root: c_int, comm: CommId) -> Result<u32, Error> {
    let size = library.of(comm).group.size;
    if root < 0 || root >= size as c_int {
        let text = format!("root is {root}, and the communicator has the ranks 0 to {}", size - 1);
        return Err(Error::new(Class::Root, text));
    }
    Ok(root as u32)
}

/// How elements of a type are combined.
fn combining(op: Op, of: Type) -> impl Fn(&mut [u8], &[u8]) -> Result<(), Error> {
    move |own, other| match combine(op, of, own, other) {
        true => Ok(()),
        false => Err(undefined(op, of)),
    }
}

fn undefined(op: Op, of: Type) -> Error {
    Error::new(
        Class::Op,
        format!("MPI_{} is not defined for MPI_{}", format!("{op:?}").to_uppercase(), of.name),
    )
}

/// An error that all ranks see alike, before any has sent something.
fn check_defined(op: Op, of: Type) -> Result<(), Error> {
    let mut none = vec![0; of.extent];
    let other = none.clone();
    if combine(op, of, &mut none, &other) { Ok(()) } else { Err(undefined(op, of)) }
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

pub unsafe fn bcast(
    library: &mut Library,
    buffer: *mut c_void,
    count: Count,
    of: Type,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let data = memory("buffer", buffer, count, of)?;
    let root = check_root(library, root, comm)?;
    let operation = library.operation(comm);
    // SAFETY: the program gave the buffer.
    library.block_on(collective::broadcast(&operation, unsafe { space(data) }, root))
}

pub unsafe fn reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    of: Type,
    op: Op,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    check_defined(op, of)?;
    let is_root = library.of(comm).group.rank == root;
    let from = if is_in_place(sendbuf) && is_root { recvbuf.cast_const() } else { sendbuf };
    // SAFETY: the program gave the buffers.
    unsafe {
        let mut data = bytes(memory("sendbuf", from, count, of)?).to_vec();
        let operation = library.operation(comm);
        library.block_on(collective::reduce(&operation, &mut data, root, &combining(op, of)))?;
        if is_root {
            space(memory("recvbuf", recvbuf, count, of)?).copy_from_slice(&data);
        }
    }
    Ok(())
}

/// The operand of this rank, where its result goes.
unsafe fn operand<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    of: Type,
) -> Result<&'a mut [u8], Error> {
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let data = space(memory("recvbuf", recvbuf, count, of)?);
        if !is_in_place(sendbuf) {
            data.copy_from_slice(bytes(memory("sendbuf", sendbuf, count, of)?));
        }
        Ok(data)
    }
}

pub unsafe fn all_reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    of: Type,
    op: Op,
    comm: CommId,
) -> Result<(), Error> {
    check_defined(op, of)?;
    // SAFETY: the program gave the buffers.
    let data = unsafe { operand(sendbuf, recvbuf, count, of)? };
    let operation = library.operation(comm);
    library.block_on(collective::all_reduce(&operation, data, &combining(op, of)))
}

pub unsafe fn scan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    of: Type,
    op: Op,
    comm: CommId,
) -> Result<(), Error> {
    check_defined(op, of)?;
    // SAFETY: the program gave the buffers.
    let data = unsafe { operand(sendbuf, recvbuf, count, of)? };
    let operation = library.operation(comm);
    library.block_on(collective::scan(&operation, data, false, &combining(op, of)))
}

/// At rank 0 the result is undefined, so it stays as it was.
pub unsafe fn exscan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    of: Type,
    op: Op,
    comm: CommId,
) -> Result<(), Error> {
    check_defined(op, of)?;
    let from = if is_in_place(sendbuf) { recvbuf.cast_const() } else { sendbuf };
    // SAFETY: the program gave the buffers.
    unsafe {
        let mut data = bytes(memory("sendbuf", from, count, of)?).to_vec();
        let operation = library.operation(comm);
        library.block_on(collective::scan(&operation, &mut data, true, &combining(op, of)))?;
        if library.of(comm).group.rank > 0 {
            space(memory("recvbuf", recvbuf, count, of)?).copy_from_slice(&data);
        }
    }
    Ok(())
}

/// The memory of `parts` parts.
fn all_of(
    name: &str,
    buffer: *const c_void,
    Count(count): Count,
    of: Type,
    parts: u32,
) -> Result<Memory, Error> {
    let count = count
        .checked_mul(parts as usize)
        .ok_or_else(|| Error::new(Class::Count, format!("count is {count}")))?;
    memory(name, buffer, Count(count), of)
}

pub unsafe fn gather(
    library: &mut Library,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: Type,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: Type,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    // SAFETY: the program gave the buffers; only the root has one for all parts.
    unsafe {
        let all = match rank == root {
            true => space(all_of("recvbuf", recvbuf, recvcount, recvtype, size)?),
            false => &mut [],
        };
        let kept: Vec<u8>;
        let own = if is_in_place(sendbuf) && rank == root {
            let part = all.len() / size as usize;
            kept = all[rank as usize * part..][..part].to_vec();
            &kept
        } else {
            bytes(memory("sendbuf", sendbuf, sendcount, sendtype)?)
        };
        if rank == root && own.len() * size as usize != all.len() {
            return Err(Error::new(Class::Truncate, "the root sends itself another length than it receives"));
        }
        let operation = library.operation(comm);
        library.block_on(collective::gather(&operation, own, all, root))
    }
}

pub unsafe fn scatter(
    library: &mut Library,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: Type,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: Type,
    root: c_int,
    comm: CommId,
) -> Result<(), Error> {
    let root = check_root(library, root, comm)?;
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    // SAFETY: the program gave the buffers; only the root has one for all parts.
    unsafe {
        let all = match rank == root {
            true => bytes(all_of("sendbuf", sendbuf, sendcount, sendtype, size)?),
            false => &[],
        };
        let mut kept: Vec<u8>;
        let own = if is_in_place(recvbuf) && rank == root {
            kept = vec![0; all.len() / size as usize];
            &mut kept[..]
        } else {
            space(memory("recvbuf", recvbuf, recvcount, recvtype)?)
        };
        if rank == root && own.len() * size as usize != all.len() {
            return Err(Error::new(Class::Truncate, "the root sends itself another length than it receives"));
        }
        let operation = library.operation(comm);
        library.block_on(collective::scatter(&operation, all, own, root))
    }
}

pub unsafe fn all_gather(
    library: &mut Library,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: Type,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: Type,
    comm: CommId,
) -> Result<(), Error> {
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let all = space(all_of("recvbuf", recvbuf, recvcount, recvtype, size)?);
        let part = all.len() / size as usize;
        if !is_in_place(sendbuf) {
            let own = bytes(memory("sendbuf", sendbuf, sendcount, sendtype)?);
            if own.len() != part {
                return Err(Error::new(
                    Class::Truncate,
                    "a rank sends another length than it receives from each",
                ));
            }
            all[rank as usize * part..][..part].copy_from_slice(own);
        }
        let operation = library.operation(comm);
        library.block_on(collective::all_gather(&operation, all, part))
    }
}

pub unsafe fn all_to_all(
    library: &mut Library,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: Type,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: Type,
    comm: CommId,
) -> Result<(), Error> {
    let size = library.of(comm).group.size;
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let to = space(all_of("recvbuf", recvbuf, recvcount, recvtype, size)?);
        let kept: Vec<u8>;
        let from = if is_in_place(sendbuf) {
            kept = to.to_vec();
            &kept
        } else {
            bytes(all_of("sendbuf", sendbuf, sendcount, sendtype, size)?)
        };
        if from.len() != to.len() {
            return Err(Error::new(
                Class::Truncate,
                "a rank sends each another length than it receives from each",
            ));
        }
        let part = to.len() / size as usize;
        let operation = library.operation(comm);
        library.block_on(collective::all_to_all(&operation, from, to, part))
    }
}
