//! Collectives (MPI 5.0, chapter 6).

use crate::buffer::{Buffer, Pieces, Space};
use crate::library::{CommId, Library};
use crate::operations::{Reduction, combining};
use crate::requests::Request;
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use std::borrow::Cow;
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
    let mut data = unsafe { buffer.space(1)? };
    let operation = library.operation(comm);
    library.block_on(collective::broadcast(&operation, &mut data, root))
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
    let combine = combining(op, &recvbuf)?;
    let is_root = place(library, comm).0 == root;
    let mut from = recvbuf.at("sendbuf", sendbuf);
    if from.is_in_place() && is_root {
        from = recvbuf;
    }
    // SAFETY: the program gave the buffers; that of the result is the root's.
    unsafe {
        let mut data = from.operands()?;
        let operation = library.operation(comm);
        library.block_on(collective::reduce(&operation, &mut data, root, &combine))?;
        if is_root {
            recvbuf.set_result(&data)?;
        }
    }
    Ok(())
}

/// The operand of this rank, where its result goes, or a copy if the type has gaps.
///
/// # Safety
/// The program gave the buffers, which do not overlap.
unsafe fn operand<'a>(sendbuf: *const c_void, recvbuf: Buffer) -> Result<Operand<'a>, Error> {
    let from = recvbuf.at("sendbuf", sendbuf);
    let from = if from.is_in_place() { recvbuf } else { from };
    // SAFETY: the caller's promise.
    unsafe {
        let Some(data) = recvbuf.result_in_place()? else {
            return Ok(Operand { result: recvbuf, copy: from.operands()?, data: None });
        };
        if sendbuf as usize != crate::abi::IN_PLACE {
            from.operands_to(data)?;
        }
        Ok(Operand { result: recvbuf, copy: vec![], data: Some(data) })
    }
}

/// An operand of a reduction that becomes its result.
struct Operand<'a> {
    result: Buffer,
    copy: Vec<u8>,
    data: Option<&'a mut [u8]>,
}

impl Operand<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        match &mut self.data {
            Some(data) => data,
            None => &mut self.copy,
        }
    }

    /// # Safety
    /// The program gave the buffer.
    unsafe fn finish(self) -> Result<(), Error> {
        match self.data {
            Some(_) => Ok(()),
            // SAFETY: the caller's promise.
            None => unsafe { self.result.set_result(&self.copy) },
        }
    }
}

pub unsafe fn all_reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, &recvbuf)?;
    // SAFETY: the program gave the buffers.
    let mut operand = unsafe { operand(sendbuf, recvbuf)? };
    let operation = library.operation(comm);
    library.block_on(collective::all_reduce(&operation, operand.bytes(), &combine))?;
    // SAFETY: as above.
    unsafe { operand.finish() }
}

pub unsafe fn scan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, &recvbuf)?;
    // SAFETY: the program gave the buffers.
    let mut operand = unsafe { operand(sendbuf, recvbuf)? };
    let operation = library.operation(comm);
    library.block_on(collective::scan(&operation, operand.bytes(), false, &combine))?;
    // SAFETY: as above.
    unsafe { operand.finish() }
}

/// At rank 0 the result is undefined, so it stays as it was.
pub unsafe fn exscan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<(), Error> {
    let combine = combining(op, &recvbuf)?;
    let mut from = recvbuf.at("sendbuf", sendbuf);
    if from.is_in_place() {
        from = recvbuf;
    }
    // SAFETY: the program gave the buffers.
    unsafe {
        let mut data = from.operands()?;
        let operation = library.operation(comm);
        library.block_on(collective::scan(&operation, &mut data, true, &combine))?;
        if place(library, comm).0 > 0 {
            recvbuf.set_result(&data)?;
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
    unsafe fn spaces<'a>(&self, ranks: u32) -> Result<Spaces<'a>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => Ok(Spaces { list: vec![buffer.space(ranks)?], split: Some(ranks) }),
                Parts::Different(pieces) => Ok(Spaces { list: pieces.spaces(ranks)?, split: None }),
            }
        }
    }

    unsafe fn bytes<'a>(&self, ranks: u32) -> Result<Pieced<'a>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => Ok(Pieced { list: vec![buffer.bytes(ranks)?], split: Some(ranks) }),
                Parts::Different(pieces) => Ok(Pieced { list: pieces.bytes(ranks)?, split: None }),
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

/// Space for what comes from each rank: one for each, or one to be split.
struct Spaces<'a> {
    list: Vec<Space<'a>>,
    split: Option<u32>,
}

impl Spaces<'_> {
    fn parts(&mut self) -> Vec<&mut [u8]> {
        match self.split {
            Some(ranks) => collective::parts(&mut self.list[0], ranks),
            None => self.list.iter_mut().map(|space| &mut **space).collect(),
        }
    }
}

/// What goes to each rank: one for each, or one to be split.
struct Pieced<'a> {
    list: Vec<Cow<'a, [u8]>>,
    split: Option<u32>,
}

impl Pieced<'_> {
    fn parts(&self) -> Vec<&[u8]> {
        match self.split {
            Some(ranks) => {
                let part = self.list[0].len() / ranks as usize;
                (0..ranks as usize).map(|rank| &self.list[0][rank * part..][..part]).collect()
            }
            None => self.list.iter().map(|bytes| &**bytes).collect(),
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
        let mut spaces;
        let (own, parts) = if rank != root {
            (sendbuf.bytes(1)?, vec![])
        } else {
            spaces = recvbuf.spaces(size)?;
            let parts = spaces.parts();
            let of_own = &parts[rank as usize];
            let own = if sendbuf.is_in_place() { Cow::Owned(of_own.to_vec()) } else { sendbuf.bytes(1)? };
            check_lengths(own.len(), of_own.len())?;
            (own, parts)
        };
        let operation = library.operation(comm);
        library.block_on(collective::gather(&operation, &own, parts, root))
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
        let pieces = if rank == root { Some(sendbuf.bytes(size)?) } else { None };
        let parts = pieces.as_ref().map(Pieced::parts).unwrap_or_default();
        let mut unused = vec![];
        let mut own = if recvbuf.is_in_place() && rank == root {
            unused.resize(parts[rank as usize].len(), 0);
            Space::Here(&mut unused)
        } else {
            recvbuf.space(1)?
        };
        if rank == root {
            check_lengths(parts[rank as usize].len(), own.len())?;
        }
        let operation = library.operation(comm);
        library.block_on(collective::scatter(&operation, &parts, &mut own, root))
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
        let mut spaces = recvbuf.spaces(size)?;
        let mut parts = spaces.parts();
        if !sendbuf.is_in_place() {
            let own = sendbuf.bytes(1)?;
            check_lengths(own.len(), parts[rank as usize].len())?;
            parts[rank as usize].copy_from_slice(&own);
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
        let mut spaces = recvbuf.spaces(size)?;
        let to = spaces.parts();
        let pieces = if sendbuf.is_in_place() {
            Pieced { list: to.iter().map(|part| Cow::Owned(part.to_vec())).collect(), split: None }
        } else {
            sendbuf.bytes(size)?
        };
        let from = pieces.parts();
        check_lengths(from[rank as usize].len(), to[rank as usize].len())?;
        let operation = library.operation(comm);
        library.block_on(collective::all_to_all(&operation, &from, to))
    }
}
