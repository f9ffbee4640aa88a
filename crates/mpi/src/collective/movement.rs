//! Collectives that move data: broadcast, gather, scatter, all-gather, all-to-all.

use super::{Operation, memory};
use crate::error::Error;
use crate::transport::{Collective, Transport};

/// Rank in a tree whose root is 0.
pub(super) fn shifted(rank: u32, root: u32, size: u32) -> u32 {
    (rank + size - root) % size
}

/// Ranks below this one in a binomial tree with the root 0, the largest subtree first, and the number of
/// ranks of each.
pub(super) fn children(rank: u32, size: u32) -> impl Iterator<Item = (u32, u32)> {
    let bits = if rank == 0 { size.next_power_of_two().trailing_zeros() } else { rank.trailing_zeros() };
    (0..bits)
        .rev()
        .map(move |bit| (rank + (1 << bit), 1 << bit))
        .filter(move |child| child.0 < size)
        .map(move |(child, ranks)| (child, ranks.min(size - child)))
}

/// The rank above this one, and the number of ranks of this one's subtree.
pub(super) fn parent(rank: u32, size: u32) -> Option<(u32, u32)> {
    let bit = 1 << rank.trailing_zeros().min(31);
    (rank > 0).then(|| (rank - bit, bit.min(size - rank)))
}

/// Sends the root's data to all: by the transport, or along a binomial tree.
///
/// # Errors
/// If a process has ended, or lengths differ.
pub async fn broadcast<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    root: u32,
) -> Result<(), Error> {
    operation.note(Some(root), Some(data.len()));
    let by_transport = Collective::Broadcast { root: operation.process(root), data: memory(data) };
    if operation.by_transport(by_transport).await? {
        return Ok(());
    }
    broadcast_along_tree(operation, data, root).await
}

/// The same over messages.
pub(super) async fn broadcast_along_tree<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    root: u32,
) -> Result<(), Error> {
    let size = operation.size();
    let own = shifted(operation.rank(), root, size);
    let rank = |shifted: u32| (shifted + root) % size;
    if let Some((above, _)) = parent(own, size) {
        operation.receive(rank(above), data).await?;
    }
    let below = children(own, size).map(|(child, _)| (rank(child), &*data));
    operation.send_all(below).await
}

/// A part of a buffer for each of `ranks`: also parts of no bytes.
pub fn parts(all: &mut [u8], ranks: u32) -> Vec<&mut [u8]> {
    let bytes = all.len() / ranks.max(1) as usize;
    let mut rest = all;
    (0..ranks).map(|_| rest.split_off_mut(..bytes).expect("there is one for each rank")).collect()
}

/// Collects the data of all ranks in the root's parts, of which others have none. Parts may differ in length.
///
/// # Errors
/// As [`broadcast`].
pub async fn gather<T: Transport>(
    operation: &Operation<T>,
    own: &[u8],
    parts: Vec<&mut [u8]>,
    root: u32,
) -> Result<(), Error> {
    operation.note(Some(root), None);
    if operation.rank() != root {
        return operation.send(root, own).await;
    }
    let mut receives = vec![];
    for (rank, space) in (0..operation.size()).zip(parts) {
        if rank == root {
            space.copy_from_slice(own);
        } else {
            receives.push((operation.start_receive(rank, space), rank, space.len()));
        }
    }
    for (receive, from, bytes) in receives {
        operation.wait_for(receive, from, bytes).await?;
    }
    Ok(())
}

/// Gives each rank its part from the root, of which others have none.
///
/// # Errors
/// As [`broadcast`].
pub async fn scatter<T: Transport>(
    operation: &Operation<T>,
    parts: &[&[u8]],
    own: &mut [u8],
    root: u32,
) -> Result<(), Error> {
    operation.note(Some(root), None);
    if operation.rank() != root {
        return operation.receive(root, own).await;
    }
    own.copy_from_slice(parts[root as usize]);
    operation
        .send_all((0..).zip(parts).filter(|&(rank, _)| rank != root).map(|(rank, &part)| (rank, part)))
        .await
}

/// Collects the data of all ranks at all of them: each has filled in its own part, and passes on in a ring
/// what it received last.
///
/// # Errors
/// As [`broadcast`].
pub async fn all_gather<T: Transport>(
    operation: &Operation<T>,
    mut parts: Vec<&mut [u8]>,
) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
    for step in 0..size - 1 {
        let [sent, received] = [step, step + 1].map(|back| ((rank + size - back) % size) as usize);
        let [data, space] = parts.get_disjoint_mut([sent, received]).expect("two ranks at least");
        operation.exchange(to, data, from, space).await?;
    }
    Ok(())
}

/// Each rank sends a part to each: in as many steps as there are ranks, in pairs.
///
/// # Errors
/// As [`broadcast`].
pub async fn all_to_all<T: Transport>(
    operation: &Operation<T>,
    data: &[&[u8]],
    mut spaces: Vec<&mut [u8]>,
) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    for step in 0..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let (data, space) = (data[to as usize], &mut *spaces[from as usize]);
        if step == 0 {
            space.copy_from_slice(data);
        } else {
            operation.exchange(to, data, from, space).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_one_parent_and_subtrees_hold_all() {
        for size in 1..70 {
            let mut seen = vec![0; size as usize];
            for rank in 0..size {
                let mut ranks = 1;
                for (child, below) in children(rank, size) {
                    assert_eq!(parent(child, size), Some((rank, below)), "{child} of {size}");
                    seen[child as usize] += 1;
                    ranks += below;
                }
                assert_eq!(ranks, parent(rank, size).map_or(size, |of| of.1), "{rank} of {size}");
            }
            assert_eq!(seen.iter().sum::<u32>(), size - 1);
            assert!(seen[1..].iter().all(|&times| times == 1));
        }
    }
}
