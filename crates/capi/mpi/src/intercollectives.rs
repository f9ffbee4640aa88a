//! Collectives of intercommunicators (MPI 5.0, section 6.2.2), planned as those of [`crate::collectives`].

use crate::abi::PROC_NULL;
use crate::buffer::{Buffer, Counted};
use crate::collectives::{Parts, Pieced, Plan, Spaces};
use crate::library::{CommId, Library};
use crate::operations::{Reduction, combining};
use netloom_mpi::collective;
use netloom_mpi::collective::inter::{self, Role};
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};

/// `MPI_ROOT`.
pub const ROOT: c_int = -4;

fn role(library: &mut Library, root: c_int, comm: CommId) -> Result<Role, Error> {
    let ranks = library.of(comm).peers();
    match root {
        ROOT => Ok(Role::Root),
        PROC_NULL => Ok(Role::Idle),
        _ if root >= 0 && root < ranks as c_int => Ok(Role::Other(root as u32)),
        _ => {
            let text = format!(
                "root is {root}, neither MPI_ROOT nor MPI_PROC_NULL nor a rank of the other group, which has \
                 the ranks 0 to {}",
                ranks - 1
            );
            Err(Error::new(Class::Root, text))
        }
    }
}

/// How many ranks the other group has, and how many this one.
fn sizes(library: &mut Library, comm: CommId) -> [u32; 2] {
    let comm = library.of(comm);
    [comm.peers(), comm.group.size]
}

/// That a buffer is not `MPI_IN_PLACE`, which has no meaning between groups.
fn check_in_place(is_in_place: bool) -> Result<(), Error> {
    match is_in_place {
        false => Ok(()),
        true => Err(Error::new(Class::Buffer, "MPI_IN_PLACE is not for intercommunicators")),
    }
}

pub unsafe fn barrier(library: &mut Library, comm: CommId) -> Result<impl Plan + use<>, Error> {
    let inter = library.inter_operation(comm);
    Ok(async move { inter::barrier(&inter).await })
}

pub unsafe fn bcast(
    library: &mut Library,
    buffer: Buffer,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let role = role(library, root, comm)?;
    // SAFETY: the program gave the buffer, unless it does nothing.
    let mut data = unsafe { if role == Role::Idle { None } else { Some(buffer.space(1)?) } };
    let inter = library.inter_operation(comm);
    Ok(async move {
        inter::broadcast(&inter, data.as_deref_mut().unwrap_or_default(), role).await?;
        inter.check_lengths()?;
        if let (Role::Other(_), Some(data)) = (role, data) {
            data.finish();
        }
        Ok(())
    })
}

pub unsafe fn reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let role = role(library, root, comm)?;
    let from = recvbuf.at("sendbuf", sendbuf);
    let (mut data, result, combine) = match role {
        Role::Idle => (vec![], None, None),
        // SAFETY: the program gave the buffer.
        Role::Other(_) => (unsafe { from.array()?.copy() }, None, Some(combining(op, &recvbuf)?)),
        Role::Root => {
            let result = recvbuf.array()?;
            (vec![0; result.bytes()], Some(result), Some(combining(op, &recvbuf)?))
        }
    };
    let inter = library.inter_operation(comm);
    Ok(async move {
        let Some(combine) = combine else { return Ok(()) };
        inter::reduce(&inter, &mut data, role, &combine).await?;
        inter.check_lengths()?;
        // SAFETY: the program gave the buffer of the result.
        result.iter().for_each(|result| unsafe { result.set(&data) });
        Ok(())
    })
}

pub unsafe fn all_reduce(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let from = recvbuf.at("sendbuf", sendbuf);
    check_in_place(from.is_in_place())?;
    let combine = combining(op, &recvbuf)?;
    // SAFETY: the program gave the buffers.
    let (mut data, result) = unsafe { (from.array()?.copy(), recvbuf.array()?) };
    let inter = library.inter_operation(comm);
    Ok(async move {
        inter::all_reduce(&inter, &mut data, &combine).await?;
        inter.check_lengths()?;
        // SAFETY: as above.
        unsafe { result.set(&data) };
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
    let counts = vec![recvbuf.count(); library.of(comm).group.size as usize];
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
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    // SAFETY: the program gave the buffers, and a count for each rank of this group.
    unsafe {
        let (counts, recvbuf) = recvbuf.of_rank(rank, size);
        any_reduce_scatter(library, sendbuf, recvbuf, &counts, op, comm)
    }
}

unsafe fn any_reduce_scatter(
    library: &mut Library,
    sendbuf: *const c_void,
    recvbuf: Buffer,
    counts: &[i64],
    op: Reduction,
    comm: CommId,
) -> Result<impl Plan + use<>, Error> {
    let from = recvbuf.at("sendbuf", sendbuf);
    check_in_place(from.is_in_place())?;
    let combine = combining(op, &recvbuf)?;
    let (lengths, all) = crate::collectives::lengths(&from, counts)?;
    // SAFETY: the program gave the buffers.
    let (mut data, result) = unsafe { (from.of_count(all).array()?.copy(), recvbuf.array()?) };
    let inter = library.inter_operation(comm);
    Ok(async move {
        let mut own = vec![0; lengths[inter.within.rank() as usize]];
        inter::reduce_scatter(&inter, &mut data, &lengths, &mut own, &combine).await?;
        inter.check_lengths()?;
        // SAFETY: as above.
        unsafe { result.set(&own) };
        Ok(())
    })
}

pub unsafe fn scan(
    _: &mut Library,
    _: *const c_void,
    _: Buffer,
    _: Reduction,
    _: CommId,
) -> Result<impl Plan + use<>, Error> {
    Err::<std::future::Ready<Result<(), Error>>, Error>(Error::new(
        Class::Comm,
        "comm is an intercommunicator, for which there are no scans",
    ))
}

pub use scan as exscan;

pub unsafe fn gather<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: P,
    root: c_int,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let recvbuf = recvbuf.into();
    let role = role(library, root, comm)?;
    let [peers, _] = sizes(library, comm);
    // SAFETY: the program gave the buffers; that of the result is the root's.
    let (own, mut spaces) = unsafe {
        match role {
            Role::Root => (None, recvbuf.spaces(peers)?),
            Role::Idle => (None, Spaces::none()),
            Role::Other(_) => (Some(sendbuf.bytes(1)?), Spaces::none()),
        }
    };
    let inter = library.inter_operation(comm);
    Ok(async move {
        inter::gather(&inter, own.as_deref().unwrap_or_default(), spaces.parts(), role).await?;
        inter.check_lengths()?;
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
    let role = role(library, root, comm)?;
    let [peers, _] = sizes(library, comm);
    // SAFETY: the program gave the buffers; that of all data is the root's.
    let (pieces, mut own) = unsafe {
        match role {
            Role::Root => (sendbuf.bytes(peers)?, None),
            Role::Idle => (Pieced::none(), None),
            Role::Other(_) => (Pieced::none(), Some(recvbuf.space(1)?)),
        }
    };
    let inter = library.inter_operation(comm);
    Ok(async move {
        inter::scatter(&inter, &pieces.parts(), own.as_deref_mut().unwrap_or_default(), role).await?;
        inter.check_lengths()?;
        own.into_iter().for_each(crate::buffer::Space::finish);
        Ok(())
    })
}

/// Sends a piece to each rank of the other group, and receives one from each.
unsafe fn exchange(
    library: &mut Library,
    comm: CommId,
    pieces: Pieced<'static>,
    mut spaces: Spaces<'static>,
) -> impl Plan + use<> {
    let operation = library.operation(comm);
    async move {
        let sends: Vec<(u32, &[u8])> = (0..).zip(pieces.parts()).collect();
        collective::exchange(&operation, &sends, (0..).zip(spaces.parts()).collect()).await?;
        operation.check_lengths()?;
        spaces.finish();
        Ok(())
    }
}

pub unsafe fn all_gather<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let [peers, _] = sizes(library, comm);
    check_in_place(sendbuf.is_in_place())?;
    // SAFETY: the program gave the buffers, which do not overlap.
    unsafe {
        let (own, spaces) = (sendbuf.bytes(1)?, recvbuf.into().spaces(peers)?);
        Ok(exchange(library, comm, Pieced::repeated(own, peers), spaces))
    }
}

pub unsafe fn all_to_all<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: P,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let [peers, _] = sizes(library, comm);
    let (sendbuf, recvbuf) = (sendbuf.into(), recvbuf.into());
    check_in_place(sendbuf.is_in_place())?;
    // SAFETY: as above.
    unsafe {
        let (pieces, spaces) = (sendbuf.bytes(peers)?, recvbuf.spaces(peers)?);
        Ok(exchange(library, comm, pieces, spaces))
    }
}
