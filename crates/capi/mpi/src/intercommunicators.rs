//! Intercommunicators (MPI 5.0, section 7.6): two groups whose ranks send to the other.

use crate::abi::*;
use crate::comm::{Comm, Origin};
use crate::communicators::{
    SPLIT_BYTES, WITHIN_GROUP, agree_context, greater, members, number_of, of_color, operation_of,
    split_bytes,
};
use crate::library::{CONTEXTS, CommId, Library};
use crate::pami::Pami;
use netloom_mpi::collective::{self, Operation, inter};
use netloom_mpi::contexts;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Processes};
use netloom_mpi::transport::{Process, Transport};
use std::ffi::{c_char, c_int};
use std::rc::Rc;

impl Library {
    pub fn set_remote(&mut self, handle: usize, remote: Option<Processes>) {
        if let Some(remote) = &remote {
            self.note_members(remote.iter());
        }
        if let Some(comm) = Self::comm_at(handle).and_then(|at| self.comms[at].as_ref()) {
            self.note_remote(comm.group.context, remote.as_ref());
        }
        let Some(comm) = Self::comm_at(handle).and_then(|at| self.comms[at].as_mut()) else { return };
        comm.remote = remote;
        crate::handoff::note_change();
        // The transport has no collectives between groups.
        if comm.remote.is_some()
            && let Some(team) = comm.team.take()
        {
            self.point_to_point.transport().free_team(team);
        }
    }

    /// That a communicator has one group.
    pub fn check_intra(&mut self, comm: CommId) -> Result<(), Error> {
        match self.of(comm).remote {
            None => Ok(()),
            Some(_) => Err(Error::new(Class::Comm, "comm is an intercommunicator")),
        }
    }

    fn remote(&mut self, comm: CommId) -> Result<Processes, Error> {
        let intra = || Error::new(Class::Comm, "comm is an intracommunicator: it has no remote group");
        let Comm { remote, session, .. } = self.of(comm);
        remote.clone().map(|remote| remote.in_session(*session)).ok_or_else(intra)
    }
}

pub unsafe fn remote_size(library: &mut Library, comm: CommId, size: *mut c_int) -> Result<(), Error> {
    let remote = library.remote(comm)?;
    // SAFETY: the program gave the place.
    unsafe { *size = remote.size() as c_int };
    Ok(())
}

pub unsafe fn remote_group(library: &mut Library, comm: CommId, group: *mut usize) -> Result<(), Error> {
    let remote = library.remote(comm)?;
    // SAFETY: the program gave the place.
    unsafe { library.hand_out_group(remote, group) }
}

/// Processes as bytes.
fn to_bytes(processes: &Processes) -> Vec<u8> {
    processes.iter().flat_map(Process::to_ne_bytes).collect()
}

fn of_bytes(bytes: &[u8]) -> Processes {
    let (chunks, _) = bytes.as_chunks::<4>();
    Processes::of(chunks.iter().map(|&of| Process::from_ne_bytes(of)))
}

/// What the leaders tell each other first: a context, and how many processes follow.
type Head = [u8; 8];

pub unsafe fn create(
    library: &mut Library,
    local: CommId,
    local_leader: c_int,
    peer_comm: usize,
    remote_leader: c_int,
    tag: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    library.check_intra(local)?;
    library.check_rank("local_leader", local, local_leader, 0)?;
    let group = library.of(local).group.clone();
    let origin = library.of(local).origin();
    let across = (group.rank == local_leader as u32).then(|| across(library, peer_comm, remote_leader, tag));
    let within = |library: &mut Library| library.operation(local);
    let handle = connect(library, &group, local_leader as u32, within, across, origin)?;
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

pub unsafe fn create_from_groups(
    library: &mut Library,
    local: Processes,
    local_leader: c_int,
    remote: Processes,
    remote_leader: c_int,
    stringtag: *const c_char,
    info: usize,
    errhandler: usize,
    made: *mut usize,
) -> Result<(), Error> {
    /// Keeps the leaders' messages apart from those within the groups.
    const ACROSS: u32 = 1 << 30;
    crate::info::check(info)?;
    crate::errhandlers::check(errhandler)?;
    let group = members(library, &local)?;
    for (name, leader, size) in
        [("local_leader", local_leader, local.size()), ("remote_leader", remote_leader, remote.size())]
    {
        if leader < 0 || leader >= size as c_int {
            let text = format!("{name} is {leader}, and its group has {size} processes");
            return Err(Error::new(Class::Rank, text));
        }
    }
    // SAFETY: the program gave the string.
    let number = unsafe { number_of(stringtag) };
    let all = library.all_processes(0);
    let to = remote.process(remote_leader as u32);
    let across =
        (group.rank == local_leader as u32).then(|| Ok((operation_of(library, &all, number | ACROSS), to)));
    let within = |library: &mut Library| operation_of(library, &group, number);
    let origin = Origin { errhandler, session: local.session() };
    let handle = connect(library, &group, local_leader as u32, within, across, origin)?;
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// The leaders' messages, and the rank there of the other leader.
pub type Across = (Operation<Pami>, u32);

/// Connects this group to another: the leaders swap contexts and members, and tell their groups.
pub fn connect(
    library: &mut Library,
    group: &Group,
    leader: u32,
    within: impl Fn(&mut Library) -> Operation<Pami>,
    across: Option<Result<Across, Error>>,
    origin: Origin,
) -> Result<usize, Error> {
    // The others of the group learn of an error of the leader, and do not wait for ever.
    let (across, mut failed) = match across.transpose() {
        Ok(across) => (across, None),
        Err(error) => (None, Some(error)),
    };
    let (contexts, operation) = (Rc::clone(&library.contexts), within(library));
    let mut size = 0;
    let agreed = contexts::agree(&contexts, async |context| {
        collective::reduce(&operation, context, leader, &greater).await?;
        let mut head: Head = [0; 8];
        if let Some((operation, to)) = &across {
            let mut own: Head = [0; 8];
            own[..4].copy_from_slice(context);
            own[4..].copy_from_slice(&group.size.to_ne_bytes());
            swap(operation, *to, &own, &mut head).await?;
            greater(&mut head[..4], context)?;
        }
        collective::broadcast(&operation, &mut head, leader).await?;
        let (greatest, of_other) = head.split_at(4);
        context.copy_from_slice(greatest);
        size = u32::from_ne_bytes(of_other.try_into().expect("four bytes"));
        match size {
            0 => Err(failed.take().unwrap_or_else(|| {
                Error::new(Class::Comm, "the leader of this group could not speak to the other's")
            })),
            _ => Ok(()),
        }
    });
    let context = library.block_on(agreed)?;
    let mut other = vec![0; 4 * size as usize];
    if let Some((operation, to)) = &across {
        library.block_on(swap(operation, *to, &to_bytes(&Processes::from(group)), &mut other))?;
    }
    library.block_on(collective::broadcast(&operation, &mut other, leader))?;
    let handle = library.add_comm(Group { context, ..group.clone() }, origin);
    library.set_remote(handle, Some(of_bytes(&other)));
    Ok(handle)
}

async fn swap(operation: &Operation<Pami>, with: u32, data: &[u8], other: &mut [u8]) -> Result<(), Error> {
    collective::exchange(operation, &[(with, data)], vec![(with, other)]).await
}

/// The leaders' messages, which meet no others of their communicator, and the other's rank.
fn across(
    library: &mut Library,
    peer_comm: usize,
    remote_leader: c_int,
    tag: c_int,
) -> Result<Across, Error> {
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag is {tag}, which is negative")));
    }
    let peer = library.comm("peer_comm", peer_comm)?;
    library.check_rank("remote_leader", peer, remote_leader, 0)?;
    let point_to_point = Rc::clone(&library.point_to_point);
    let peer = library.of(peer);
    let group = Group { context: peer.group.context | WITHIN_GROUP, ..peer.group.clone() };
    let operation = Operation::between(point_to_point, group, peer.remote.clone(), None, tag as u32);
    Ok((operation.between_processes(), remote_leader as u32))
}

/// A communicator of both groups: the one with a false `high` first, or that whose leader is the lower
/// process.
pub unsafe fn merge(library: &mut Library, comm: CommId, high: c_int, made: *mut usize) -> Result<(), Error> {
    let remote = library.remote(comm)?;
    let local = Processes::from(&library.of(comm).group);
    let inter = library.inter_operation(comm);
    let mut other = [0];
    library.block_on(inter::swap(&inter, &[u8::from(high != 0)], &mut other))?;
    let context = agree_context(library, comm)?;
    let place = |is_high: u8, group: &Processes| (is_high, group.process(0));
    let is_first = place((high != 0).into(), &local) < place(other[0], &remote);
    let (first, second) = if is_first { (&local, &remote) } else { (&remote, &local) };
    let group = library.of(comm).group.clone();
    let rank = group.rank + if is_first { 0 } else { first.size() };
    let members = Processes::of(first.iter().chain(second.iter()));
    let size = members.size();
    let origin = library.of(comm).origin();
    let handle = library.add_comm(Group { members: members.members().clone(), rank, size, context }, origin);
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// An intercommunicator of a part of each group.
fn part(library: &mut Library, comm: CommId, local: &Processes, remote: Processes, context: u32) -> usize {
    let own = library.own_process();
    let origin = library.of(comm).origin();
    match local.rank_of(own) {
        Some(rank) if remote.size() > 0 => {
            let (members, size) = (local.members().clone(), local.size());
            let handle = library.add_comm(Group { members, rank, size, context }, origin);
            library.set_remote(handle, Some(remote));
            handle
        }
        _ => COMM_NULL,
    }
}

/// Ranks of one colour in both groups.
pub fn split(library: &mut Library, comm: CommId, color: c_int, key: c_int) -> Result<usize, Error> {
    let (local, remote) = (Processes::from(&library.of(comm).group), library.remote(comm)?);
    let rank = library.of(comm).group.rank as usize;
    // The colours of this group, and then those of the other.
    let inter = library.inter_operation(comm);
    let mut own = vec![0; SPLIT_BYTES * local.size() as usize];
    own[rank * SPLIT_BYTES..][..SPLIT_BYTES].copy_from_slice(&split_bytes(color, key));
    library.block_on(collective::all_gather(&inter.within, collective::parts(&mut own, local.size())))?;
    let mut other = vec![0; SPLIT_BYTES * remote.size() as usize];
    library.block_on(inter::swap(&inter, &own, &mut other))?;
    let context = agree_context(library, comm)?;
    if color == UNDEFINED {
        return Ok(COMM_NULL);
    }
    let (local, remote) =
        (local.including(&of_color(&own, color)), remote.including(&of_color(&other, color)));
    Ok(part(library, comm, &local, remote, context))
}

/// The processes of a group, with those that the other group gives.
pub fn create_part(library: &mut Library, comm: CommId, group: &Processes) -> Result<usize, Error> {
    let inter = library.inter_operation(comm);
    let mut size = [0; 4];
    library.block_on(inter::swap(&inter, &group.size().to_ne_bytes(), &mut size))?;
    let mut other = vec![0; 4 * u32::from_ne_bytes(size) as usize];
    let inter = library.inter_operation(comm);
    library.block_on(inter::swap(&inter, &to_bytes(group), &mut other))?;
    let context = agree_context(library, comm)?;
    Ok(part(library, comm, group, of_bytes(&other), context))
}

const _: () = assert!(CONTEXTS == 4, "an intercommunicator's groups have contexts of their own");
