//! Gather and scatter of parts that are as long at all ranks: short ones along a binomial tree, where each
//! rank handles the parts of its subtree as one message; long ones would be copied at each level, and go
//! between the root and each rank.

use super::Operation;
use super::movement::{children, gather, parent, scatter, shifted};
use crate::error::Error;
use crate::transport::Transport;

/// The longest part that is sent along a tree, bytes: longer ones take more time than a message begins in.
const TREE_MAX_BYTES: usize = 2048;

fn is_by_tree(size: u32, part: usize) -> bool {
    size > 2 && part <= TREE_MAX_BYTES
}

/// Collects the data of all ranks in the root's parts, of which others have none.
///
/// # Errors
/// As [`broadcast`](super::broadcast).
pub async fn gather_equal<T: Transport>(
    operation: &Operation<T>,
    own: &[u8],
    mut parts: Vec<&mut [u8]>,
    root: u32,
) -> Result<(), Error> {
    let (size, length) = (operation.size(), own.len());
    if !is_by_tree(size, length) {
        return gather(operation, own, parts, root).await;
    }
    operation.note(Some(root), None);
    let place = shifted(operation.rank(), root, size);
    let above = parent(place, size);
    let ranks = above.map_or(size, |(_, ranks)| ranks);
    let mut subtree = operation.point_to_point.take_scratch(ranks as usize * length);
    subtree[..length].copy_from_slice(own);
    let mut receives = vec![];
    let mut rest = &mut subtree[..];
    // The largest subtree is the farthest.
    for (child, below) in children(place, size) {
        let from = (child - place) as usize * length;
        let space = rest.split_off_mut(from..).expect("within the subtree");
        debug_assert_eq!(space.len(), below as usize * length);
        let rank = (child + root) % size;
        receives.push((operation.start_receive(rank, space), rank, space.len()));
    }
    for (receive, rank, bytes) in receives {
        operation.wait_for(receive, rank, bytes).await?;
    }
    match above {
        Some((above, _)) => operation.send((above + root) % size, &subtree).await?,
        None => {
            for (place, data) in subtree.chunks_exact(length.max(1)).enumerate() {
                parts[(place as u32 + root) as usize % size as usize].copy_from_slice(data);
            }
        }
    }
    operation.point_to_point.give_scratch(subtree);
    Ok(())
}

/// Gives each rank its part from the root, of which others have none.
///
/// # Errors
/// As [`broadcast`](super::broadcast).
pub async fn scatter_equal<T: Transport>(
    operation: &Operation<T>,
    parts: &[&[u8]],
    own: &mut [u8],
    root: u32,
) -> Result<(), Error> {
    let (size, length) = (operation.size(), own.len());
    if !is_by_tree(size, length) {
        return scatter(operation, parts, own, root).await;
    }
    operation.note(Some(root), None);
    let place = shifted(operation.rank(), root, size);
    let mut subtree;
    match parent(place, size) {
        Some((above, ranks)) => {
            subtree = operation.point_to_point.take_scratch(ranks as usize * length);
            operation.receive((above + root) % size, &mut subtree).await?;
        }
        None => {
            subtree = operation.point_to_point.take_scratch(0);
            (0..size).for_each(|place| subtree.extend_from_slice(parts[((place + root) % size) as usize]));
        }
    }
    let below = children(place, size).map(|(child, ranks)| {
        let from = (child - place) as usize * length;
        ((child + root) % size, &subtree[from..from + ranks as usize * length])
    });
    operation.send_all(below).await?;
    own.copy_from_slice(&subtree[..length]);
    operation.point_to_point.give_scratch(subtree);
    Ok(())
}
