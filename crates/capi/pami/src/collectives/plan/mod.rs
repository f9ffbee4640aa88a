//! Plans of collectives: which memory the areas of a schedule are, what is packed and unpacked, and the
//! schedule.
//!
//! Contiguous data is used where it lies. Other data is packed into a buffer at the call, and unpacked at the
//! end.

mod memory;

use super::algorithms::{Algorithm, Method, commutes};
use super::{Plan, selection};
use crate::typed::{Buffer, Combine};
use crate::xfer::{Command, Data, kind};
use memory::{Planner, Side, addresses, equal, overlap, vector};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::collectives::halving::*;
use netloom_messaging::pami::collectives::movement::*;
use netloom_messaging::pami::collectives::reduction::*;
use netloom_messaging::pami::collectives::tree::*;
use netloom_messaging::pami::collectives::{Area, Block, Blocks, Place, Schedule};
use netloom_messaging::pami::device::{Collective, GroupLimits};
use netloom_messaging::pami::geometry::Topology;
use netloom_messaging::pami::reduce::{Element, Operation, reduction};
use std::ops::Range;

/// Why a collective is refused.
pub type Refusal = &'static str;
type Planned<T> = std::result::Result<T, Refusal>;

const NO_TYPE: Refusal = "a type is not complete";
const NO_MEMORY: Refusal = "a buffer or an array is NULL";
const LENGTHS: Refusal = "the lengths of what is sent and received differ";

/// `PAMI_IN_PLACE`.
fn is_in_place(buffer: *mut u8) -> bool {
    buffer.addr() == usize::MAX
}

/// The plan of a barrier.
pub fn barrier(count: usize, me: usize) -> Plan {
    let schedule = dissemination(Place { me, count }, 2);
    let areas = [std::ptr::null_mut(); 3];
    Plan {
        areas,
        _buffers: vec![],
        unpacks: vec![],
        combine: Combine::Noop,
        schedule,
        by_device: None,
        algorithm: u16::MAX,
    }
}

/// The plan of an allreduce of a mask, bit by bit: what this member has, and what all have.
pub fn agreement(count: usize, me: usize, [own, all]: [*mut u8; 2]) -> Plan {
    let bytes = size_of::<u64>();
    let schedule = recursive_doubling_allreduce(Place { me, count }, bytes);
    let mut scratch = Buffer::uninitialised(scratch_bytes(bytes));
    let areas = [own, all, scratch.address()];
    let (operation, element) = (Operation::Band, Element::UnsignedLong);
    let reduction = reduction(operation, element).expect("integers have bits");
    let combine = Combine::Reduce { reduction, operation, element };
    let (_buffers, unpacks) = (vec![scratch], vec![]);
    Plan { areas, _buffers, unpacks, combine, schedule, by_device: None, algorithm: u16::MAX }
}

/// The method of an algorithm, chosen now if it is automatic; `bytes` as for [`selection::choose`].
fn method(algorithm: &Algorithm, place: Place, bytes: usize, is_commutative: bool) -> Method {
    device_or_method(algorithm, place, bytes, is_commutative, false)
}

/// The same where the device may do it.
fn device_or_method(
    algorithm: &Algorithm,
    place: Place,
    bytes: usize,
    is_commutative: bool,
    can_device: bool,
) -> Method {
    match algorithm.method {
        Method::Automatic if can_device => Method::Device,
        Method::Automatic => selection::choose(algorithm.kind, place.count, bytes, is_commutative),
        method => method,
    }
}

/// The list of algorithms names a method that the collective does not have.
fn not_listed(method: Method) -> ! {
    unreachable!("{method:?} is not a method of this collective")
}

/// Nothing to do with messages.
fn by_device() -> Schedule {
    Box::new(std::iter::empty())
}

/// The plan of a member for the command of a collective. The device may do it if it has a group for the
/// geometry.
///
/// # Safety
/// The program gave the command, for a geometry of these members.
pub unsafe fn plan(
    algorithm: &'static Algorithm,
    command: &Command,
    members: &Topology,
    me: usize,
    group: Option<(usize, GroupLimits)>,
) -> Planned<Plan> {
    let place = Place { me, count: members.len() };
    let mut planner = Planner {
        areas: [std::ptr::null_mut(); 3],
        buffers: vec![],
        unpacks: vec![],
        limits: group.map(|(_, limits)| limits),
        by_device: None,
    };
    let mut combine = Combine::Noop;
    // SAFETY: the caller's promise; the kind says which member of the union there is.
    let schedule = unsafe {
        match algorithm.kind {
            kind::BARRIER => match device_or_method(algorithm, place, 0, true, planner.limits.is_some()) {
                Method::Device => {
                    planner.by_device = Some(Collective::Barrier);
                    by_device()
                }
                Method::Along(tree) => tree_barrier(tree, place),
                Method::Dissemination(radix) => dissemination(place, radix),
                other => not_listed(other),
            },
            kind::BROADCAST => broadcast(&mut planner, algorithm, command, members, place)?,
            kind::ALLREDUCE | kind::REDUCE | kind::SCAN | kind::REDUCE_SCATTER => {
                reduce(&mut planner, &mut combine, algorithm, command, members, place)?
            }
            kind::GATHER..=kind::GATHERV_INT => gather(&mut planner, algorithm, command, members, place)?,
            kind::SCATTER..=kind::SCATTERV_INT => scatter(&mut planner, algorithm, command, members, place)?,
            _ => exchange(&mut planner, algorithm, command, place)?,
        }
    };
    let Planner { areas, buffers, unpacks, by_device, .. } = planner;
    let algorithm = algorithm.number();
    Ok(Plan {
        areas,
        _buffers: buffers,
        unpacks,
        combine,
        schedule,
        by_device: group.map(|(group, _)| group).zip(by_device),
        algorithm,
    })
}

fn member(members: &Topology, root: u32) -> Planned<usize> {
    members.member(Endpoint(root)).ok_or("the root is not a member")
}

/// # Safety
/// As [`plan`].
unsafe fn broadcast(
    planner: &mut Planner,
    algorithm: &Algorithm,
    command: &Command,
    members: &Topology,
    place: Place,
) -> Planned<Schedule> {
    // SAFETY: the caller's promise.
    let (command, side) = unsafe { (&command.broadcast, side(&command.broadcast.data)?) };
    let (root, bytes) = (member(members, command.root)?, side.bytes(command.data.count));
    // The network carries whole words; the library's buffers have space for them.
    let network_bytes = bytes.next_multiple_of(4);
    let can_device = bytes > 0 && planner.limits.is_some_and(|limits| limits.permit_broadcast(bytes as u64));
    let method = device_or_method(algorithm, place, bytes, true, can_device);
    let method = match (algorithm.method, method) {
        (Method::Automatic, Method::Device) => selection::broadcast_by_device(bytes),
        (_, method) => method,
    };
    let is_copied = matches!(method, Method::Device | Method::Rectangle) && network_bytes != bytes;
    match place.me == root {
        true => planner.read(Area::Target, &side, bytes, is_copied)?,
        false => planner.write(Area::Target, &side, bytes, is_copied)?,
    }
    Ok(match method {
        Method::Device | Method::Rectangle => {
            let root = Endpoint(command.root).task();
            let data = planner.range(Area::Target, network_bytes);
            planner.by_device = Some(match method {
                Method::Device => Collective::Broadcast { root, data },
                _ => Collective::Rectangle { root, data },
            });
            by_device()
        }
        Method::ScatterAllgather => scatter_allgather_broadcast(place, root, bytes),
        Method::ScatterDoubling => scatter_doubling_broadcast(place, root, bytes),
        Method::Along(tree) => tree_broadcast(tree, place, root, bytes),
        other => not_listed(other),
    })
}

/// # Safety
/// The program gave the type.
unsafe fn side(data: &Data) -> Planned<Side> {
    // SAFETY: the caller's promise.
    unsafe { Side::new(data.buffer, data.kind) }
}

/// # Safety
/// As [`plan`].
unsafe fn reduce(
    planner: &mut Planner,
    combine: &mut Combine,
    algorithm: &Algorithm,
    command: &Command,
    members: &Topology,
    place: Place,
) -> Planned<Schedule> {
    // SAFETY: the caller's promise.
    let (root, send, receive, op, cookie) = unsafe {
        match algorithm.kind {
            kind::REDUCE => {
                let crate::xfer::Reduce { root, all } = command.reduce;
                (Some(member(members, root)?), all.send, all.receive, all.op, all.cookie)
            }
            kind::REDUCE_SCATTER => {
                let all = command.reduce_scatter;
                let receive = Data { buffer: all.buffer, kind: all.kind, count: 0 };
                (None, all.send, receive, all.op, all.cookie)
            }
            _ => {
                let all = command.allreduce;
                (None, all.send, all.receive, all.op, all.cookie)
            }
        }
    };
    // SAFETY: the caller's promise.
    let (is_commutative, is_exclusive) = unsafe {
        let is_scan = algorithm.kind == kind::SCAN;
        (!is_scan && commutes(algorithm.kind, command), is_scan && command.allreduce.flag != 0)
    };
    let is_receiving = root.is_none_or(|root| root == place.me);
    let in_place = is_in_place(send.buffer);
    // SAFETY: the caller's promise. The side that is not used may have any type.
    let (from, to) = unsafe {
        let to = if is_receiving { Some(side(&receive)?) } else { None };
        let from = if in_place { to.clone().ok_or(NO_MEMORY)? } else { side(&send)? };
        (from.clone(), to.unwrap_or(from))
    };
    *combine =
        Combine::new(op, cookie, [from.handle, to.handle]).ok_or("the types do not permit the operation")?;
    if algorithm.kind == kind::REDUCE_SCATTER {
        // SAFETY: the caller's promise.
        let counts = unsafe { command.reduce_scatter.counts };
        if counts.is_null() {
            return Err(NO_MEMORY);
        }
        // SAFETY: the caller's promise.
        let counts = unsafe { std::slice::from_raw_parts(counts, place.count) };
        let mut total = 0;
        let block = |&count: &usize| {
            let bytes = to.bytes(count);
            total += bytes;
            (total - bytes, bytes)
        };
        let blocks = Blocks::Each(counts.iter().map(block).collect());
        let own = blocks.of(Area::Target, place.me).bytes;
        planner.write(Area::Target, &to, own, false)?;
        let target = addresses(planner.areas[Area::Target as usize], &Blocks::Equal(own), 1);
        planner.read(Area::Source, &from, total, in_place || planner.covers(&from, total, &target))?;
        planner.scratch(scratch_bytes(total));
        return Ok(match method(algorithm, place, total, is_commutative) {
            Method::Pairwise => pairwise_reduce_scatter(place, blocks),
            Method::RecursiveHalving => halving_reduce_scatter(place, blocks, total),
            Method::ReduceThenScatter => reduce_then_scatter(place, &blocks, total),
            other => not_listed(other),
        });
    }
    let bytes = if is_receiving { to.bytes(receive.count) } else { from.bytes(send.count) };
    if !in_place && from.bytes(send.count) != bytes {
        return Err(LENGTHS);
    }
    planner.read(Area::Source, &from, bytes, false)?;
    // An exclusive scan gives member 0 nothing.
    if is_receiving && !(is_exclusive && place.me == 0) {
        planner.write(Area::Target, &to, bytes, false)?;
    }
    planner.scratch(scratch_bytes(bytes));
    let unit = combine.unit_bytes([&from.kind, &to.kind]);
    let result = Block::first(Area::Target, bytes);
    let is_scan = algorithm.kind == kind::SCAN;
    let words = combine.words().filter(|_| algorithm.kind == kind::ALLREDUCE);
    let limits = planner.limits.zip(words);
    let can_device =
        bytes > 0 && limits.is_some_and(|(limits, words)| limits.permit_allreduce(words, bytes as u64));
    let method = device_or_method(algorithm, place, bytes, is_commutative, can_device);
    if let (Method::Device, Some(combine)) = (method, words) {
        let [source, target] = [Area::Source, Area::Target].map(|area| planner.range(area, bytes));
        planner.by_device = Some(Collective::Allreduce { source, target, combine });
        return Ok(by_device());
    }
    Ok(match (method, root) {
        (Method::RecursiveDoubling, None) if is_scan => scan(place, bytes, is_exclusive),
        (Method::Chain, None) => chain_scan(place, bytes, is_exclusive),
        (Method::Rabenseifner, Some(root)) => rabenseifner_reduce(place, root, result, unit),
        (Method::Along(tree), Some(root)) => tree_reduce(tree, place, root, result, is_commutative),
        (Method::RecursiveDoubling, None) => recursive_doubling_allreduce(place, bytes),
        (Method::Rabenseifner, None) => rabenseifner_allreduce(place, bytes, unit),
        (Method::ReduceBroadcast, None) => reduce_broadcast(place, bytes),
        (Method::Ring, None) => ring_allreduce(place, bytes, unit),
        (other, _) => not_listed(other),
    })
}

/// # Safety
/// As [`plan`].
unsafe fn gather(
    planner: &mut Planner,
    algorithm: &Algorithm,
    command: &Command,
    members: &Topology,
    place: Place,
) -> Planned<Schedule> {
    let is_int = algorithm.kind == kind::GATHERV_INT;
    // SAFETY: the caller's promise; the variants begin alike.
    let (root, send) = unsafe { (member(members, command.rooted.root)?, command.rooted.send) };
    let send_count = if is_int { send.count as u32 as usize } else { send.count };
    if place.me != root {
        // SAFETY: the caller's promise.
        let from = unsafe { side(&send)? };
        let bytes = from.bytes(send_count);
        planner.read(Area::Source, &from, bytes, false)?;
        return Ok(match method(algorithm, place, bytes, true) {
            Method::Along(_) => {
                planner.scratch(binomial_scratch_bytes(place, root, bytes));
                binomial_gather(place, root, bytes, None)
            }
            Method::Linear => linear_gather(place, root, bytes, None),
            other => not_listed(other),
        });
    }
    // SAFETY: the caller's promise.
    let (to, list) = unsafe {
        match algorithm.kind {
            kind::GATHER => {
                let receive = command.rooted.receive;
                (side(&receive)?, equal(receive.count, place.count))
            }
            _ => {
                let receive = command.gatherv.receive;
                (Side::new(receive.buffer, receive.kind)?, vector(&receive, place.count, is_int)?)
            }
        }
    };
    let blocks = planner.blocks(Area::Target, &to, &list, false, false)?;
    let target = addresses(planner.areas[Area::Target as usize], &blocks, place.count);
    // SAFETY: the caller's promise.
    let bytes = unsafe { contribution(planner, &send, send_count, &to, list[root], &target)? };
    Ok(match method(algorithm, place, bytes, true) {
        Method::Along(_) => {
            planner.scratch(binomial_scratch_bytes(place, root, bytes));
            binomial_gather(place, root, bytes, Some(&blocks))
        }
        Method::Linear => linear_gather(place, root, bytes, Some(&blocks)),
        other => not_listed(other),
    })
}

/// The member's own block as the source, which may be in place in its target.
///
/// # Safety
/// As [`plan`].
unsafe fn contribution(
    planner: &mut Planner,
    send: &Data,
    send_count: usize,
    to: &Side,
    (first, count): (isize, usize),
    target: &Range<usize>,
) -> Planned<usize> {
    let bytes = to.bytes(count);
    if is_in_place(send.buffer) {
        let own = Side { base: to.copy(first), ..to.clone() };
        planner.read(Area::Source, &own, bytes, false)?;
        return Ok(bytes);
    }
    // SAFETY: the caller's promise.
    let from = unsafe { side(send)? };
    if from.bytes(send_count) != bytes {
        return Err(LENGTHS);
    }
    // Blocks of others arrive before the last of the member's own has left.
    let is_overwritten = from.base != to.copy(first) && planner.covers(&from, bytes, target);
    planner.read(Area::Source, &from, bytes, is_overwritten)?;
    Ok(bytes)
}

/// # Safety
/// As [`plan`].
unsafe fn scatter(
    planner: &mut Planner,
    algorithm: &Algorithm,
    command: &Command,
    members: &Topology,
    place: Place,
) -> Planned<Schedule> {
    let is_int = algorithm.kind == kind::SCATTERV_INT;
    // SAFETY: the caller's promise.
    let (root, mut receive) = unsafe {
        match algorithm.kind {
            kind::SCATTER => (command.rooted.root, command.rooted.receive),
            _ => (command.scatterv.root, command.scatterv.receive),
        }
    };
    let root = member(members, root)?;
    if is_int {
        receive.count = receive.count as u32 as usize;
    }
    let in_place = is_in_place(receive.buffer);
    let mut bytes = 0;
    if !in_place {
        // SAFETY: the caller's promise.
        let to = unsafe { side(&receive)? };
        bytes = to.bytes(receive.count);
        planner.write(Area::Target, &to, bytes, false)?;
    }
    if place.me != root {
        return Ok(match method(algorithm, place, bytes, true) {
            Method::Along(_) => {
                planner.scratch(binomial_scratch_bytes(place, root, bytes));
                binomial_scatter(place, root, bytes, None, false)
            }
            Method::Linear => linear_scatter(place, root, bytes, None, false),
            other => not_listed(other),
        });
    }
    // SAFETY: the caller's promise.
    let (from, list) = unsafe {
        match algorithm.kind {
            kind::SCATTER => {
                let send = command.rooted.send;
                (side(&send)?, equal(send.count, place.count))
            }
            _ => {
                let send = command.scatterv.send;
                (Side::new(send.buffer, send.kind)?, vector(&send, place.count, is_int)?)
            }
        }
    };
    if !in_place && from.bytes(list[root].1) != bytes {
        return Err(LENGTHS);
    }
    let blocks = planner.blocks(Area::Source, &from, &list, true, false)?;
    bytes = from.bytes(list[root].1);
    Ok(match method(algorithm, place, bytes, true) {
        Method::Along(_) => {
            planner.scratch(binomial_scratch_bytes(place, root, bytes));
            binomial_scatter(place, root, bytes, Some(&blocks), in_place)
        }
        Method::Linear => linear_scatter(place, root, bytes, Some(&blocks), in_place),
        other => not_listed(other),
    })
}

/// Allgather and alltoall.
///
/// # Safety
/// As [`plan`].
unsafe fn exchange(
    planner: &mut Planner,
    algorithm: &Algorithm,
    command: &Command,
    place: Place,
) -> Planned<Schedule> {
    let is_int = matches!(algorithm.kind, kind::ALLGATHERV_INT | kind::ALLTOALLV_INT);
    // SAFETY: the caller's promise.
    unsafe {
        let (to, list) = match algorithm.kind {
            kind::ALLGATHER | kind::ALLTOALL => {
                let receive = command.exchange.receive;
                (side(&receive)?, equal(receive.count, place.count))
            }
            _ => {
                let receive = match algorithm.kind {
                    kind::ALLTOALLV | kind::ALLTOALLV_INT => command.alltoallv.receive,
                    _ => command.allgatherv.receive,
                };
                (Side::new(receive.buffer, receive.kind)?, vector(&receive, place.count, is_int)?)
            }
        };
        let blocks = planner.blocks(Area::Target, &to, &list, false, false)?;
        let target = addresses(planner.areas[Area::Target as usize], &blocks, place.count);
        if matches!(algorithm.kind, kind::ALLGATHER | kind::ALLGATHERV | kind::ALLGATHERV_INT) {
            let send = command.exchange.send;
            let count = if is_int { send.count as u32 as usize } else { send.count };
            contribution(planner, &send, count, &to, list[place.me], &target)?;
            let total = list.iter().map(|&(_, count)| to.bytes(count)).sum();
            return Ok(match method(algorithm, place, total, true) {
                Method::Ring => ring_allgather(place, blocks),
                Method::RecursiveDoubling => recursive_doubling_allgather(place, blocks),
                Method::Bruck => {
                    planner.scratch(total);
                    bruck_allgather(place, &blocks)
                }
                Method::Pairwise => pairwise_allgather(place, blocks),
                other => not_listed(other),
            });
        }
        // The buffer is the first member of both.
        let in_place = is_in_place(command.exchange.send.buffer);
        let (from, sent) = match algorithm.kind {
            _ if in_place => (to, list),
            kind::ALLTOALL => {
                let send = command.exchange.send;
                (side(&send)?, equal(send.count, place.count))
            }
            _ => {
                let send = command.alltoallv.send;
                (Side::new(send.buffer, send.kind)?, vector(&send, place.count, is_int)?)
            }
        };
        let is_overwritten = in_place || {
            // In copies of the type, the blocks lie where dense data would.
            let extent = from.kind.extent() as isize;
            let block =
                |&(first, count): &(isize, usize)| (first.wrapping_mul(extent) as usize, from.bytes(count));
            let blocks = Blocks::Each(sent.iter().map(block).collect());
            from.dense().is_some_and(|base| overlap(&addresses(base, &blocks, place.count), &target))
        };
        let source = planner.blocks(Area::Source, &from, &sent, true, is_overwritten)?;
        if source.of(Area::Source, place.me).bytes != blocks.of(Area::Target, place.me).bytes {
            return Err(LENGTHS);
        }
        let bytes = blocks.of(Area::Target, place.me).bytes;
        Ok(match method(algorithm, place, bytes, true) {
            Method::Linear => linear_alltoall(place, &source, &blocks),
            Method::ExclusiveOr => exclusive_or_alltoall(place, source, blocks),
            Method::Bruck => {
                planner.scratch(bruck_alltoall_scratch_bytes(place.count, bytes));
                bruck_alltoall(place, &source, &blocks, bytes)
            }
            Method::Pairwise => pairwise_alltoall(place, source, blocks),
            other => not_listed(other),
        })
    }
}
