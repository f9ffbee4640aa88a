//! Collectives (MPI 5.0, chapter 6). Each function plans one: what it returns does the work when it is
//! polled, within the call or as a request. All that the program gives but its data is read when it is
//! planned.

use crate::abi::IN_PLACE;
use crate::buffer::{Array, Buffer, Counted, Operand, Pieces, Space, check_apart};
use crate::library::{CommId, Library};
use crate::operations::{Reduction, combining};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use std::borrow::Cow;
use std::ffi::{c_int, c_void};

/// A collective that is planned.
pub trait Plan: Future<Output = Result<(), Error>> + 'static {}
impl<F: Future<Output = Result<(), Error>> + 'static> Plan for F {}

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

/// What a rank sends to itself is as long as what it receives from itself, and elsewhere.
fn check_own_part(sent: &[u8], received: &[u8]) -> Result<(), Error> {
    if sent.len() != received.len() {
        let [sent, received] = [sent, received].map(<[u8]>::len);
        let text = format!("this rank sends {sent} B where {received} B are received");
        return Err(Error::new(Class::Truncate, text));
    }
    check_apart(sent.as_ptr_range(), received.as_ptr_range())
}

#[inline(always)]
pub unsafe fn barrier(library: &mut Library, comm: CommId) -> Result<impl Plan + use<>, Error> {
    Ok(collective::barrier(library.operation(comm)))
}

pub unsafe fn bcast(
    library: &mut Library,
    buffer: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let root = check_root(library, root, comm)?;
    // SAFETY: the program gave the buffer.
    let mut data = unsafe { buffer.space(1)? };
    let operation = library.operation(comm);
    Ok(async move {
        collective::broadcast(&operation, &mut data, root).await?;
        operation.check_lengths()?;
        data.finish();
        Ok(())
    })
}

/// The operand of this rank, and where its result goes.
#[inline(always)]
fn operand(sendbuf: *const c_void, recvbuf: &Buffer) -> Result<[Array; 2], Error> {
    // Most are such; the others are described in full, and checked.
    if let Some([from, result]) = recvbuf.plain_arrays(sendbuf) {
        if sendbuf as usize != IN_PLACE {
            from.check_apart(&result)?;
        }
        return Ok([from, result]);
    }
    any_operand(sendbuf, recvbuf)
}

#[inline(never)]
fn any_operand(sendbuf: *const c_void, recvbuf: &Buffer) -> Result<[Array; 2], Error> {
    let from = recvbuf.at("sendbuf", sendbuf);
    if from.is_in_place() {
        return Ok([recvbuf.array()?, recvbuf.array()?]);
    }
    let (from, result) = (from.array()?, recvbuf.array()?);
    from.check_apart(&result)?;
    Ok([from, result])
}

pub unsafe fn reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let root = check_root(library, root, comm)?;
    let combine = combining(op, &recvbuf)?;
    let is_root = place(library, comm).0 == root;
    // SAFETY: the program gave the buffers; that of the result is the root's.
    let (mut copy, result) = unsafe {
        if is_root {
            let [from, result] = operand(sendbuf, &recvbuf)?;
            (vec![], Some(Operand::new(&from, result)))
        } else {
            (recvbuf.at("sendbuf", sendbuf).array()?.copy(), None)
        }
    };
    let operation = library.operation(comm);
    Ok(async move {
        let mut result = result;
        let data = result.as_deref_mut().unwrap_or(&mut copy);
        collective::reduce(&operation, data, root, &combine).await?;
        operation.check_lengths()?;
        result.into_iter().for_each(Operand::finish);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn all_reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let combine = combining(op, &recvbuf)?;
    let [from, result] = operand(sendbuf, &recvbuf)?;
    // SAFETY: the program gave the buffers.
    let mut data = unsafe { Operand::apart(&from, result) };
    let operation = library.operation(comm);
    Ok(async move {
        match &mut data {
            Operand::Apart(data, from) => {
                Box::pin(collective::all_reduce_from(&operation, from, data, &combine)).await?;
            }
            data => collective::all_reduce(&operation, data, &combine).await?,
        }
        operation.check_lengths()?;
        data.finish();
        Ok(())
    })
}

pub unsafe fn scan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    // SAFETY: the program gave the buffers.
    unsafe { any_scan(library, sendbuf, recvbuf, op, false, comm) }
}

/// At rank 0 the result is undefined, so it stays as it was.
pub unsafe fn exscan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    // SAFETY: the program gave the buffers.
    unsafe { any_scan(library, sendbuf, recvbuf, op, true, comm) }
}

unsafe fn any_scan(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    is_exclusive: bool,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let combine = combining(op, &recvbuf)?;
    let [from, result] = operand(sendbuf, &recvbuf)?;
    // SAFETY: the program gave the buffers.
    let mut data = unsafe { from.copy() };
    let has_result = !is_exclusive || place(library, comm).0 > 0;
    let operation = library.operation(comm);
    Ok(async move {
        collective::scan(&operation, &mut data, is_exclusive, &combine).await?;
        operation.check_lengths()?;
        if has_result {
            // SAFETY: as above.
            unsafe { result.set(&data) };
        }
        Ok(())
    })
}

pub unsafe fn reduce_scatter_block(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let size = place(library, comm).1;
    let counts = vec![recvbuf.count(); size as usize];
    // SAFETY: the program gave the buffers.
    unsafe { any_reduce_scatter(library, sendbuf, recvbuf, &counts, op, comm) }
}

pub unsafe fn reduce_scatter(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Counted,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers, and a count for each rank.
    unsafe {
        let (counts, recvbuf) = recvbuf.of_rank(rank, size);
        any_reduce_scatter(library, sendbuf, recvbuf, &counts, op, comm)
    }
}

/// The lengths of the parts of a buffer, bytes, and the elements of all.
pub fn lengths(from: &Buffer, counts: &[i64]) -> Result<(Vec<usize>, i64), Error> {
    let mut lengths = vec![];
    for &count in counts {
        lengths.push(from.of_count(count).array()?.bytes());
    }
    let all = counts.iter().try_fold(0i64, |all, &count| all.checked_add(count));
    Ok((lengths, all.ok_or_else(|| Error::new(Class::Count, "the counts are more than memory has"))?))
}

unsafe fn any_reduce_scatter(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    counts: &[i64],
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let combine = combining(op, &recvbuf)?;
    let from = recvbuf.at("sendbuf", sendbuf);
    let is_in_place = from.is_in_place();
    let from = if is_in_place { recvbuf.clone() } else { from };
    let (lengths, all) = lengths(&from, counts)?;
    let (from, result) = (from.of_count(all).array()?, recvbuf.array()?);
    if !is_in_place {
        from.check_apart(&result)?;
    }
    // SAFETY: the program gave the buffer.
    let mut data = unsafe { from.copy() };
    let operation = library.operation(comm);
    Ok(async move {
        let mut own = vec![0; lengths[operation.rank() as usize]];
        collective::reduce_scatter(&operation, &mut data, &lengths, &mut own, &combine).await?;
        operation.check_lengths()?;
        // SAFETY: as above.
        unsafe { result.set(&own) };
        Ok(())
    })
}

/// Data of each rank: as long for all, or different.
pub enum Parts {
    Equal(Buffer),
    Different(Pieces),
}

impl From<Buffer> for Parts {
    fn from(buffer: Buffer) -> Self {
        Parts::Equal(buffer)
    }
}

impl From<Pieces> for Parts {
    fn from(pieces: Pieces) -> Self {
        Parts::Different(pieces)
    }
}

impl Parts {
    pub unsafe fn spaces<'a>(&self, ranks: u32) -> Result<Spaces<'a>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => Spaces::split(buffer, ranks),
                Parts::Different(pieces) => Spaces::of(pieces, ranks),
            }
        }
    }

    pub unsafe fn bytes<'a>(&self, ranks: u32) -> Result<Pieced<'a>, Error> {
        // SAFETY: the program gave them.
        unsafe {
            match self {
                Parts::Equal(buffer) => Pieced::split(buffer, ranks),
                Parts::Different(pieces) => Pieced::of(pieces, ranks),
            }
        }
    }

    pub fn is_in_place(&self) -> bool {
        match self {
            Parts::Equal(buffer) => buffer.is_in_place(),
            Parts::Different(pieces) => pieces.is_in_place(),
        }
    }
}

/// Space for what comes from each rank: one for each, or one to be split.
pub struct Spaces<'a> {
    list: Vec<Space<'a>>,
    split: Option<u32>,
}

impl Spaces<'_> {
    /// For no ranks.
    pub fn none() -> Self {
        Spaces { list: vec![], split: None }
    }

    /// A buffer for each rank, one after the other.
    ///
    /// # Safety
    /// As [`Buffer::space`].
    pub unsafe fn split(buffer: &Buffer, ranks: u32) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        Ok(Spaces { list: vec![unsafe { buffer.space(ranks)? }], split: Some(ranks) })
    }

    /// # Safety
    /// As [`Pieces::spaces`].
    pub unsafe fn of(pieces: &Pieces, ranks: u32) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        Ok(Spaces { list: unsafe { pieces.spaces(ranks)? }, split: None })
    }

    pub fn finish(self) {
        self.list.into_iter().for_each(Space::finish);
    }

    pub fn parts(&mut self) -> Vec<&mut [u8]> {
        match self.split {
            Some(ranks) => collective::parts(&mut self.list[0], ranks),
            None => self.list.iter_mut().map(|space| &mut **space).collect(),
        }
    }
}

/// What goes to each rank: one for each, or one to be split.
pub struct Pieced<'a> {
    list: Vec<Cow<'a, [u8]>>,
    split: Option<u32>,
}

impl<'a> Pieced<'a> {
    /// For no ranks.
    pub fn none() -> Self {
        Pieced { list: vec![], split: None }
    }

    /// A buffer for each rank, one after the other.
    ///
    /// # Safety
    /// As [`Buffer::bytes`].
    pub unsafe fn split(buffer: &Buffer, ranks: u32) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        Ok(Pieced { list: vec![unsafe { buffer.bytes(ranks)? }], split: Some(ranks) })
    }

    /// # Safety
    /// As [`Pieces::bytes`].
    pub unsafe fn of(pieces: &Pieces, ranks: u32) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        Ok(Pieced { list: unsafe { pieces.bytes(ranks)? }, split: None })
    }

    /// The same for all.
    pub fn repeated(bytes: Cow<'a, [u8]>, ranks: u32) -> Self {
        Pieced { list: vec![bytes; ranks as usize], split: None }
    }

    pub fn parts(&self) -> Vec<&[u8]> {
        match self.split {
            Some(ranks) => {
                let part = self.list[0].len() / ranks.max(1) as usize;
                (0..ranks as usize).map(|rank| &self.list[0][rank * part..][..part]).collect()
            }
            None => self.list.iter().map(|bytes| &**bytes).collect(),
        }
    }
}

pub unsafe fn gather<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: P,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let recvbuf = recvbuf.into();
    let is_equal = matches!(recvbuf, Parts::Equal(_));
    let root = check_root(library, root, comm)?;
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers; that of the result is the root's.
    let (own, mut spaces) = unsafe {
        if rank == root {
            let mut spaces = recvbuf.spaces(size)?;
            let of_own = &spaces.parts()[rank as usize];
            let own = if sendbuf.is_in_place() { Cow::Owned(of_own.to_vec()) } else { sendbuf.bytes(1)? };
            check_own_part(&own, of_own)?;
            (own, spaces)
        } else {
            (sendbuf.bytes(1)?, Spaces::none())
        }
    };
    let operation = library.operation(comm);
    Ok(async move {
        match is_equal {
            true => collective::gather_equal(&operation, &own, spaces.parts(), root).await?,
            false => collective::gather(&operation, &own, spaces.parts(), root).await?,
        }
        operation.check_lengths()?;
        spaces.finish();
        Ok(())
    })
}

pub unsafe fn scatter<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: P,
    recvbuf: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let sendbuf = sendbuf.into();
    let is_equal = matches!(sendbuf, Parts::Equal(_));
    let root = check_root(library, root, comm)?;
    let (rank, size) = place(library, comm);
    let is_root = rank == root;
    // SAFETY: the program gave the buffers; that of all data is the root's.
    let (pieces, mut own) = unsafe {
        let pieces = if is_root { sendbuf.bytes(size)? } else { Pieced::none() };
        let own = if is_root && recvbuf.is_in_place() { None } else { Some(recvbuf.space(1)?) };
        (pieces, own)
    };
    if let (true, Some(own)) = (is_root, &own) {
        check_own_part(pieces.parts()[rank as usize], own)?;
    }
    let operation = library.operation(comm);
    Ok(async move {
        let parts = pieces.parts();
        // The root's own part stays where it is.
        let mut unused = vec![];
        let space = match &mut own {
            Some(own) => &mut own[..],
            None => {
                unused.resize(parts[rank as usize].len(), 0);
                &mut unused[..]
            }
        };
        match is_equal {
            true => collective::scatter_equal(&operation, &parts, space, root).await?,
            false => collective::scatter(&operation, &parts, space, root).await?,
        }
        operation.check_lengths()?;
        own.into_iter().for_each(Space::finish);
        Ok(())
    })
}

pub unsafe fn all_gather<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let recvbuf = recvbuf.into();
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers, which do not overlap.
    let mut spaces = unsafe {
        let mut spaces = recvbuf.spaces(size)?;
        if !sendbuf.is_in_place() {
            let own = sendbuf.bytes(1)?;
            let part = &mut *spaces.parts()[rank as usize];
            check_own_part(&own, part)?;
            part.copy_from_slice(&own);
        }
        spaces
    };
    let operation = library.operation(comm);
    Ok(async move {
        collective::all_gather(&operation, spaces.parts()).await?;
        operation.check_lengths()?;
        spaces.finish();
        Ok(())
    })
}

pub unsafe fn all_to_all<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: P,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let (sendbuf, recvbuf) = (sendbuf.into(), recvbuf.into());
    let (rank, size) = place(library, comm);
    // SAFETY: the program gave the buffers, which do not overlap.
    let (pieces, mut spaces) = unsafe {
        let mut spaces = recvbuf.spaces(size)?;
        let to = spaces.parts();
        let pieces = if sendbuf.is_in_place() {
            Pieced { list: to.iter().map(|part| Cow::Owned(part.to_vec())).collect(), split: None }
        } else {
            sendbuf.bytes(size)?
        };
        check_own_part(pieces.parts()[rank as usize], to[rank as usize])?;
        (pieces, spaces)
    };
    let operation = library.operation(comm);
    Ok(async move {
        collective::all_to_all(&operation, &pieces.parts(), spaces.parts()).await?;
        operation.check_lengths()?;
        spaces.finish();
        Ok(())
    })
}
