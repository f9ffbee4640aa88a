//! Plans of collectives: which memory the areas of a schedule are, what is packed and unpacked, and the schedule.
//!
//! Contiguous data is used where it lies. Other data is packed into a buffer at the call, and unpacked at the end.

use super::algorithms::{Algorithm, Method, commutes};
use super::{Plan, Unpack, selection};
use crate::typed::{Buffer, Combine};
use crate::types::{complete, pack};
use crate::xfer::{Command, Data, Vector, kind};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::collectives::halving::*;
use netloom_messaging::pami::collectives::movement::*;
use netloom_messaging::pami::collectives::reduction::*;
use netloom_messaging::pami::collectives::tree::*;
use netloom_messaging::pami::collectives::{Area, Block, Blocks, Place, Schedule};
use netloom_messaging::pami::geometry::Topology;
use netloom_messaging::pami::types::Type;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

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
    Plan { areas, _buffers: vec![], unpacks: vec![], combine: Combine::Noop, schedule, algorithm: u16::MAX }
}

/// A buffer and the layout of its data.
#[derive(Clone)]
struct Side {
    base: *mut u8,
    kind: Arc<Type>,
    handle: *mut c_void,
}

impl Side {
    /// # Safety
    /// The program gave the type.
    unsafe fn new(base: *mut u8, handle: *mut c_void) -> Planned<Self> {
        // SAFETY: the caller's promise.
        let kind = unsafe { complete(handle) }.ok_or(NO_TYPE)?;
        Ok(Side { base, kind, handle })
    }

    fn bytes(&self, count: usize) -> usize {
        count.saturating_mul(self.kind.data_bytes() as usize)
    }

    /// The address of a copy of the type.
    fn copy(&self, number: isize) -> *mut u8 {
        self.base.wrapping_offset(number.wrapping_mul(self.kind.extent() as isize))
    }

    /// Where the data starts if copies of the type make up one contiguous piece.
    fn dense(&self) -> Option<*mut u8> {
        let offset = self.kind.contiguous_part(0, self.kind.data_bytes().max(1) * 2)?;
        Some(self.base.wrapping_offset(offset as isize))
    }
}

/// The memory of a plan, as it grows.
struct Planner {
    areas: [*mut u8; 3],
    buffers: Vec<Buffer>,
    unpacks: Vec<Unpack>,
}

impl Planner {
    fn buffer(&mut self, bytes: usize) -> *mut u8 {
        let mut buffer = Buffer::uninitialised(bytes);
        let address = buffer.address();
        self.buffers.push(buffer);
        address
    }

    fn scratch(&mut self, bytes: usize) {
        self.areas[Area::Scratch as usize] = self.buffer(bytes);
    }

    /// An area of this data; `is_copied` keeps it from changes to the program's memory.
    fn read(&mut self, area: Area, side: &Side, bytes: usize, is_copied: bool) -> Planned<()> {
        if side.base.is_null() && bytes > 0 {
            return Err(NO_MEMORY);
        }
        let direct = side.kind.contiguous_part(0, bytes as u64).filter(|_| !is_copied);
        self.areas[area as usize] = match direct {
            Some(offset) => side.base.wrapping_offset(offset as isize),
            None => {
                let buffer = self.buffer(bytes);
                // SAFETY: the program gave a buffer that the type describes; the new one is as long as the data.
                unsafe { pack(&side.kind, side.base, buffer, bytes) };
                buffer
            }
        };
        Ok(())
    }

    /// Whether contiguous data lies in this memory, at least in part.
    fn covers(&self, side: &Side, bytes: usize, memory: &Range<usize>) -> bool {
        side.kind.contiguous_part(0, bytes as u64).is_some_and(|offset| {
            let address = side.base.wrapping_offset(offset as isize) as usize;
            overlap(&(address..address.wrapping_add(bytes)), memory)
        })
    }

    /// An area whose data is the result.
    fn write(&mut self, area: Area, side: &Side, bytes: usize) -> Planned<()> {
        if side.base.is_null() && bytes > 0 {
            return Err(NO_MEMORY);
        }
        self.areas[area as usize] = match side.kind.contiguous_part(0, bytes as u64) {
            Some(offset) => side.base.wrapping_offset(offset as isize),
            None => {
                let from = self.buffer(bytes);
                self.unpacks.push(Unpack { from, to: side.base, kind: Arc::clone(&side.kind), bytes });
                from
            }
        };
        Ok(())
    }

    /// As [`Self::read`] or [`Self::write`] for blocks: the number of the first copy of each, and how many copies.
    fn blocks(
        &mut self,
        area: Area,
        side: &Side,
        list: &[(isize, usize)],
        is_read: bool,
        is_copied: bool,
    ) -> Planned<Blocks> {
        let total: usize = list.iter().map(|&(_, count)| side.bytes(count)).sum();
        if side.base.is_null() && total > 0 {
            return Err(NO_MEMORY);
        }
        if let Some(base) = side.dense().filter(|_| !is_copied) {
            self.areas[area as usize] = base;
            let extent = side.kind.extent() as isize;
            let block =
                |&(first, count): &(isize, usize)| (first.wrapping_mul(extent) as usize, side.bytes(count));
            return Ok(Blocks::Each(list.iter().map(block).collect()));
        }
        let buffer = self.buffer(total);
        self.areas[area as usize] = buffer;
        let mut at = 0;
        let mut blocks = vec![];
        for &(first, count) in list {
            let (bytes, packed, copy) = (side.bytes(count), buffer.wrapping_add(at), side.copy(first));
            if is_read {
                // SAFETY: the program gave blocks that the type describes; the buffer holds all of them.
                unsafe { pack(&side.kind, copy, packed, bytes) };
            } else {
                self.unpacks.push(Unpack { from: packed, to: copy, kind: Arc::clone(&side.kind), bytes });
            }
            blocks.push((at, bytes));
            at += bytes;
        }
        Ok(Blocks::Each(blocks))
    }
}

/// The addresses of the blocks of an area that starts here, from the lowest to the end of the highest.
fn addresses(base: *mut u8, blocks: &Blocks, count: usize) -> Range<usize> {
    let block = |member| {
        let Block { at, bytes, .. } = blocks.of(Area::Target, member);
        (bytes > 0).then(|| base.wrapping_add(at) as usize..base.wrapping_add(at) as usize + bytes)
    };
    let join = |all: Range<usize>, one: Range<usize>| all.start.min(one.start)..all.end.max(one.end);
    (0..count).filter_map(block).reduce(join).unwrap_or(0..0)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// The blocks of a vector operation: first copy and number of copies of each.
///
/// # Safety
/// The arrays have `count` elements, of `int` if `is_int`.
unsafe fn vector(vector: &Vector, count: usize, is_int: bool) -> Planned<Vec<(isize, usize)>> {
    if vector.counts.is_null() || vector.displacements.is_null() {
        return Err(NO_MEMORY);
    }
    let element = |array: *const c_void, at: usize| match is_int {
        // SAFETY: the caller's promise.
        true => unsafe { *array.cast::<c_int>().add(at) as isize },
        // SAFETY: the same.
        false => unsafe { *array.cast::<usize>().add(at) as isize },
    };
    let block = |at| (element(vector.displacements, at), element(vector.counts, at).max(0) as usize);
    Ok((0..count).map(block).collect())
}

/// The blocks of an operation with equal ones.
fn equal(copies: usize, count: usize) -> Vec<(isize, usize)> {
    (0..count).map(|member| ((member * copies) as isize, copies)).collect()
}

/// The method of an algorithm, chosen now if it is automatic; `bytes` as for [`selection::choose`].
fn method(algorithm: &Algorithm, place: Place, bytes: usize, is_commutative: bool) -> Method {
    match algorithm.method {
        Method::Automatic => selection::choose(algorithm.kind, place.count, bytes, is_commutative),
        method => method,
    }
}

/// The list of algorithms names a method that the collective does not have.
fn not_listed(method: Method) -> ! {
    unreachable!("{method:?} is not a method of this collective")
}

/// The plan of a member for the command of a collective.
///
/// # Safety
/// The program gave the command, for a geometry of these members.
pub unsafe fn plan(
    algorithm: &'static Algorithm,
    command: &Command,
    members: &Topology,
    me: usize,
) -> Planned<Plan> {
    let place = Place { me, count: members.len() };
    let mut planner = Planner { areas: [std::ptr::null_mut(); 3], buffers: vec![], unpacks: vec![] };
    let mut combine = Combine::Noop;
    // SAFETY: the caller's promise; the kind says which member of the union there is.
    let schedule = unsafe {
        match algorithm.kind {
            kind::BARRIER => match method(algorithm, place, 0, true) {
                Method::Along(tree) => tree_barrier(tree, place),
                Method::Dissemination(radix) => dissemination(place, radix),
                other => not_listed(other),
            },
            kind::BROADCAST => broadcast(&mut planner, algorithm, command, members, place)?,
            kind::ALLREDUCE | kind::REDUCE | kind::SCAN | kind::REDUCE_SCATTER => {
                reduction(&mut planner, &mut combine, algorithm, command, members, place)?
            }
            kind::GATHER..=kind::GATHERV_INT => gather(&mut planner, algorithm, command, members, place)?,
            kind::SCATTER..=kind::SCATTERV_INT => scatter(&mut planner, algorithm, command, members, place)?,
            _ => exchange(&mut planner, algorithm, command, place)?,
        }
    };
    let Planner { areas, buffers, unpacks } = planner;
    let algorithm = algorithm.number();
    Ok(Plan { areas, _buffers: buffers, unpacks, combine, schedule, algorithm })
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
    match place.me == root {
        true => planner.read(Area::Target, &side, bytes, false)?,
        false => planner.write(Area::Target, &side, bytes)?,
    }
    Ok(match method(algorithm, place, bytes, true) {
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
unsafe fn reduction(
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
        planner.write(Area::Target, &to, own)?;
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
        planner.write(Area::Target, &to, bytes)?;
    }
    planner.scratch(scratch_bytes(bytes));
    let unit = combine.unit_bytes([&from.kind, &to.kind]);
    let result = Block::first(Area::Target, bytes);
    let is_scan = algorithm.kind == kind::SCAN;
    Ok(match (method(algorithm, place, bytes, is_commutative), root) {
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
        planner.write(Area::Target, &to, bytes)?;
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
