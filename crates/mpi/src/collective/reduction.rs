//! Collectives that combine data: reduce, all-reduce, scans. The order of operands is that of the ranks, so
//! that operations that do not commute come out right, and each result is the same at all ranks and in all
//! runs. Where the transport carries out a predefined operation, the order is the transport's.

use super::Operation;
use super::movement::{broadcast_along_tree, children, parent};
use crate::datatype::Predefined;
use crate::error::Error;
use crate::op::Op;
use crate::transport::Transport;

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

/// Combines the data of all ranks at all of them, in place: by the transport, or by recursive doubling, where
/// ranks beyond a power of two join a neighbour; long data, by reduce and broadcast.
///
/// # Errors
/// As [`reduce`].
pub async fn all_reduce<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    /// From this length on, each step of recursive doubling sends more than a tree does in all, bytes.
    const TREE_FROM: usize = 64 << 10;
    operation.note(None, Some(data.len()));
    if operation.reduced_by_transport(data, None, combine).await? {
        return Ok(());
    }
    let (rank, size) = (operation.rank(), operation.size());
    if data.len() >= TREE_FROM {
        // In boxes, so that the path of short data is a small future.
        Box::pin(reduce_along_tree(operation, data, 0, combine)).await?;
        return Box::pin(broadcast_along_tree(operation, data, 0)).await;
    }
    let whole = 1 << size.ilog2();
    // Of the first ranks, each odd one joins the one before it.
    let joined = size - whole;
    if rank < 2 * joined && rank % 2 == 1 {
        operation.send(rank - 1, data).await?;
        return operation.receive(rank - 1, data).await;
    }
    let mut other = operation.point_to_point.take_scratch(data.len());
    if rank < 2 * joined {
        operation.receive(rank + 1, &mut other).await?;
        combine.combine(data, &other)?;
    }
    let number = if rank < 2 * joined { rank / 2 } else { rank - joined };
    let rank_of = |number: u32| if number < joined { 2 * number } else { number + joined };
    let mut distance = 1;
    while distance < whole {
        let partner = number ^ distance;
        let with = rank_of(partner);
        operation.exchange(with, data, with, &mut other).await?;
        if partner < number {
            // The partner's ranks come first.
            combine.combine(&mut other, data)?;
            data.copy_from_slice(&other);
        } else {
            combine.combine(data, &other)?;
        }
        distance *= 2;
    }
    operation.point_to_point.give_scratch(other);
    if rank < 2 * joined { operation.send(rank + 1, data).await } else { Ok(()) }
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
