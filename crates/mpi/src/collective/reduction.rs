//! Collectives that combine data: reduce, all-reduce, scans. The order of operands is that of the ranks, so
//! that operations that do not commute come out right, and each result is the same at all ranks and in all
//! runs. Where the transport carries out a predefined operation, the order is the transport's.

use super::Operation;
use super::flags::{ByMessages, Rounds, SHORT_BYTES, ThroughFlags};
use super::movement::{broadcast_along_tree, children, parent};
use crate::datatype::Predefined;
use crate::error::Error;
use crate::op::Op;
use crate::transport::Transport;
use smallvec::SmallVec;
use std::ops::Range;

/// Combines: the first operand is replaced by first op second.
pub trait Combine {
    /// The operation of each element.
    ///
    /// # Errors
    /// If it is not defined for the type.
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error>;

    /// The predefined operation and type, if it is one whose operands may be combined in any order.
    fn predefined(&self) -> Option<(Op, &'static Predefined)> {
        None
    }
}

impl<F: Fn(&mut [u8], &[u8]) -> Result<(), Error>> Combine for F {
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error> {
        self(first, second)
    }
}

/// Combines the data of all ranks at the root, in place: by the transport, or along a binomial tree with the
/// root 0; another root gets it from there.
///
/// # Errors
/// If a process has ended, lengths differ, or the operation is not defined.
pub async fn reduce<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    root: u32,
    combine: &impl Combine,
) -> Result<(), Error> {
    operation.note(Some(root), Some(data.len()));
    if operation.reduced_by_transport(data, Some(root), combine).await? {
        return Ok(());
    }
    reduce_along_tree(operation, data, root, combine).await
}

async fn reduce_along_tree<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    root: u32,
    combine: &impl Combine,
) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    // The smallest subtree is the next in order.
    let below: Vec<u32> = children(rank, size).map(|child| child.0).collect();
    if !below.is_empty() {
        let mut other = operation.point_to_point.take_scratch(data.len());
        for &child in below.iter().rev() {
            operation.receive(child, &mut other).await?;
            combine.combine(data, &other)?;
        }
        operation.point_to_point.give_scratch(other);
    }
    if let Some((above, _)) = parent(rank, size) {
        operation.send(above, data).await?;
    }
    match (rank, root) {
        (0, 0) => Ok(()),
        (0, root) => operation.send(root, data).await,
        (rank, root) if rank == root => operation.receive(0, data).await,
        _ => Ok(()),
    }
}

/// The ranks of a step in which pairs exchange data: a power of two takes part, and of the first ranks each
/// odd one of those beyond it joins the one before it.
struct Pairs {
    /// How many take part.
    whole: u32,
    /// How many have one that joins them.
    joined: u32,
}

impl Pairs {
    fn of(size: u32) -> Self {
        let whole = 1 << size.ilog2();
        Pairs { whole, joined: size - whole }
    }

    /// Whether a rank joins the one before it.
    fn joins(&self, rank: u32) -> bool {
        rank < 2 * self.joined && rank % 2 == 1
    }

    /// Whether a rank, which takes part, has one that joins it.
    fn is_joined(&self, rank: u32) -> bool {
        rank < 2 * self.joined
    }

    /// The number of a rank among those that take part.
    fn number(&self, rank: u32) -> u32 {
        if self.is_joined(rank) { rank / 2 } else { rank - self.joined }
    }

    /// The number of the last round of recursive doubling; the first is 0.
    fn last_round(&self) -> u32 {
        self.whole.ilog2() + 1
    }

    fn rank(&self, number: u32) -> u32 {
        if number < self.joined { 2 * number } else { number + self.joined }
    }
}

/// Combines the data of all ranks at all of them, in place: by the transport, or by recursive doubling, where
/// ranks beyond a power of two join a neighbour; long data in parts, each at one rank, or by reduce and
/// broadcast.
///
/// # Errors
/// As [`reduce`].
pub async fn all_reduce<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    operation.note(None, Some(data.len()));
    if let Some(place) = operation.take_flags(data.len()) {
        let mut other = Space([0; SHORT_BYTES]);
        let other = &mut other.0[..data.len()];
        return double(operation, &ThroughFlags(operation, place), data, other, combine).await;
    }
    if operation.team.is_some() && operation.reduced_by_transport(data, None, combine).await? {
        return Ok(());
    }
    all_reduce_by_messages(operation, data, combine).await?;
    operation.end_without_flags(data.len()).await
}

/// What another rank has written, aligned as the elements of all types are.
#[repr(align(16))]
struct Space([u8; SHORT_BYTES]);

/// The same by messages.
pub(super) async fn all_reduce_by_messages<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    let is_long = data.len() >= LONG_FROM_BYTES;
    // In boxes, so that the path of short data is a small future.
    if is_long {
        return Box::pin(all_reduce_long(operation, data, combine)).await;
    }
    let mut other = operation.point_to_point.take_scratch(data.len());
    double(operation, &ByMessages(operation), data, &mut other, combine).await?;
    operation.point_to_point.give_scratch(other);
    Ok(())
}

/// Recursive doubling; `other` is as long as the data.
#[inline(always)]
async fn double<T: Transport>(
    operation: &Operation<T>,
    rounds: &impl Rounds,
    data: &mut [u8],
    other: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    let (rank, pairs) = (operation.rank(), Pairs::of(operation.size()));
    if !join(rounds, &pairs, rank, data, other, combine).await? {
        return Ok(());
    }
    let number = pairs.number(rank);
    let (mut round, mut distance) = (1, 1);
    while distance < pairs.whole {
        let partner = number ^ distance;
        let with = pairs.rank(partner);
        rounds.exchange(round, (with, data), (with, other)).await?;
        if partner < number {
            // The partner's ranks come first.
            combine.combine(other, data)?;
            data.copy_from_slice(other);
        } else {
            combine.combine(data, other)?;
        }
        (round, distance) = (round + 1, 2 * distance);
    }
    end_joined(rounds, &pairs, rank, data).await
}

/// The first round: ranks beyond a power of two join others, and get the result from them in the last one. Returns
/// whether this rank takes part in those between.
#[inline(always)]
async fn join(
    rounds: &impl Rounds,
    pairs: &Pairs,
    rank: u32,
    data: &mut [u8],
    other: &mut [u8],
    combine: &impl Combine,
) -> Result<bool, Error> {
    if pairs.joins(rank) {
        rounds.send(0, rank - 1, data).await?;
        rounds.receive(pairs.last_round(), rank - 1, data).await?;
        return Ok(false);
    }
    if pairs.is_joined(rank) {
        rounds.receive(0, rank + 1, other).await?;
        combine.combine(data, other)?;
    }
    Ok(true)
}

/// The last round of a rank that has taken part.
#[inline(always)]
async fn end_joined(rounds: &impl Rounds, pairs: &Pairs, rank: u32, data: &[u8]) -> Result<(), Error> {
    if pairs.is_joined(rank) { rounds.send(pairs.last_round(), rank + 1, data).await } else { Ok(()) }
}

async fn all_reduce_long<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    let Some((_, of)) = combine.predefined() else {
        reduce_along_tree(operation, data, 0, combine).await?;
        return broadcast_along_tree(operation, data, 0).await;
    };
    let (rank, pairs, rounds) = (operation.rank(), Pairs::of(operation.size()), ByMessages(operation));
    let mut other = operation.point_to_point.take_scratch(data.len());
    if join(&rounds, &pairs, rank, data, &mut other, combine).await? {
        all_reduce_parts(operation, &pairs, (None, &mut *data), &mut other, of.size, combine).await?;
        end_joined(&rounds, &pairs, rank, data).await?;
    }
    operation.point_to_point.give_scratch(other);
    Ok(())
}

/// The same for data that is in other memory, of the same length: what goes in parts is combined on its way
/// from there, and is not copied first.
///
/// # Errors
/// As [`reduce`].
pub async fn all_reduce_from<T: Transport>(
    operation: &Operation<T>,
    from: &[u8],
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    let pairs = Pairs::of(operation.size());
    let in_parts = combine.predefined().filter(|_| data.len() >= LONG_FROM_BYTES);
    let Some((_, of)) = in_parts.filter(|_| pairs.whole > 1 && pairs.joined == 0 && operation.team.is_none())
    else {
        data.copy_from_slice(from);
        return all_reduce(operation, data, combine).await;
    };
    operation.note(None, Some(data.len()));
    // The first step needs none.
    let scratch_bytes = if pairs.whole > 2 { data.len() / 2 } else { 0 };
    let mut other = operation.point_to_point.take_scratch(scratch_bytes);
    all_reduce_parts(operation, &pairs, (Some(from), data), &mut other, of.size, combine).await?;
    operation.point_to_point.give_scratch(other);
    Ok(())
}

/// From this length on, each step of recursive doubling sends more than parts or a tree do in all.
const LONG_FROM_BYTES: usize = 64 << 10;

/// Takes the first bytes of a range, at most so many.
fn take_first(range: &mut Range<usize>, bytes: usize) -> Range<usize> {
    let first = range.start..range.start.saturating_add(bytes).min(range.end);
    range.start = first.end;
    first
}

/// The same for an operation whose operands may be combined in any order, of elements of this length: each
/// rank combines a part of the data, which is halved in each step, and all gather the parts in the reverse
/// order (Rabenseifner). Each rank so sends and combines about as much as one rank has, however many there
/// are. This rank's data may be in other memory; of that, only what it combines is copied.
async fn all_reduce_parts<T: Transport>(
    operation: &Operation<T>,
    pairs: &Pairs,
    (mut from, data): (Option<&[u8]>, &mut [u8]),
    other: &mut [u8],
    element_bytes: usize,
    combine: &impl Combine,
) -> Result<(), Error> {
    let number = pairs.number(operation.rank());
    // Of whole elements: what a piece brings is combined while it is in the caches.
    let pieces = operation.point_to_point.transport().piece_bytes() / element_bytes;
    let piece_bytes = pieces.max(1).saturating_mul(element_bytes);
    let (mut own, mut distance) = (0..data.len(), 1);
    // The partner of each step, whether its data has the same length, and the part that it has had since.
    let mut steps: SmallVec<[(u32, bool, Range<usize>); 16]> = SmallVec::new();
    while distance < pairs.whole {
        let with = pairs.rank(number ^ distance);
        let middle = own.start + own.len() / element_bytes / 2 * element_bytes;
        let halves = [own.start..middle, middle..own.end];
        let [kept, given] = match (number & distance, halves) {
            (0, halves) => halves,
            (_, [first, second]) => [second, first],
        };
        distance *= 2;
        // One of another length would send another number of pieces.
        let is_same = data.len() <= piece_bytes || has_same_length(operation, with, data.len()).await?;
        let piece_bytes = step_bytes(own.len(), piece_bytes);
        let [mut to_send, mut to_combine] = [given.clone(), kept.clone()];
        while is_same && !(to_send.is_empty() && to_combine.is_empty()) {
            let [sent, combined] = [&mut to_send, &mut to_combine].map(|rest| take_first(rest, piece_bytes));
            match from {
                Some(from) => {
                    let space = &mut data[combined.clone()];
                    operation.exchange(with, &from[sent], with, space).await?;
                    combine.combine(space, &from[combined])?;
                }
                None => {
                    let space = &mut other[..combined.len()];
                    operation.exchange(with, &data[sent], with, space).await?;
                    combine.combine(&mut data[combined], space)?;
                }
            }
        }
        from = None;
        steps.push((with, is_same, given));
        own = kept;
    }
    for (with, is_same, theirs) in steps.into_iter().rev() {
        let (mine, space) = if own.end <= theirs.start {
            let (first, second) = data.split_at_mut(theirs.start);
            (&mut first[own.clone()], &mut second[..theirs.len()])
        } else {
            let (first, second) = data.split_at_mut(own.start);
            (&mut second[..own.len()], &mut first[theirs.clone()])
        };
        let piece_bytes = step_bytes(mine.len() + space.len(), piece_bytes);
        let [mut to_send, mut to_receive] = [0..mine.len(), 0..space.len()];
        while is_same && !(to_send.is_empty() && to_receive.is_empty()) {
            let [sent, received] = [&mut to_send, &mut to_receive].map(|rest| take_first(rest, piece_bytes));
            operation.exchange(with, &mine[sent], with, &mut space[received]).await?;
        }
        own = own.start.min(theirs.start)..own.end.max(theirs.end);
    }
    Ok(())
}

/// Length of the pieces in which a step of all-reduce exchanges data. Many go faster in one, by which each of
/// two ranks has one long copy to make.
fn step_bytes(bytes: usize, piece_bytes: usize) -> usize {
    /// Of each of both halves.
    const PIECES_MAX: usize = 4;
    if bytes > piece_bytes.saturating_mul(2 * PIECES_MAX) { usize::MAX } else { piece_bytes }
}

/// Whether another rank has data of the same length; if not, the operation ends with that error.
async fn has_same_length<T: Transport>(
    operation: &Operation<T>,
    with: u32,
    bytes: usize,
) -> Result<bool, Error> {
    let (own, mut other) = ((bytes as u64).to_ne_bytes(), [0; 8]);
    operation.exchange(with, &own, with, &mut other).await?;
    let is_same = other == own;
    if !is_same {
        operation.note_wrong_length(Some(with), Some(u64::from_ne_bytes(other)), bytes);
    }
    Ok(is_same)
}

/// Combines the data of the ranks up to this one, in place; of those before it, if `is_exclusive`, where rank
/// 0 keeps its own. The partial results pass along the ranks.
///
/// # Errors
/// As [`reduce`].
pub async fn scan<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    is_exclusive: bool,
    combine: &impl Combine,
) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    let mut before = vec![0; data.len()];
    if rank > 0 {
        operation.receive(rank - 1, &mut before).await?;
    }
    let mut whole = data.to_vec();
    if rank > 0 {
        whole.copy_from_slice(&before);
        combine.combine(&mut whole, data)?;
    }
    if rank + 1 < size {
        operation.send(rank + 1, &whole).await?;
    }
    match (is_exclusive, rank) {
        (true, 0) => {}
        (true, _) => data.copy_from_slice(&before),
        (false, _) => data.copy_from_slice(&whole),
    }
    Ok(())
}
