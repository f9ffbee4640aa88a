//! Reduce-scatter. Where operands may be combined in any order, long data goes in pairs: each rank gets its
//! part from every other and combines them, so that no rank sends or combines more than another. Other data
//! is reduced at rank 0, which gives each rank its part.

use super::Operation;
use super::equal_parts::scatter_equal;
use super::movement::scatter;
use super::reduction::{Combine, reduce};
use crate::error::Error;
use crate::transport::Transport;

/// From this length on, the messages of all pairs take less time than the data of all at one rank, bytes.
const PAIRS_FROM_BYTES: usize = 8192;

/// Combines the data of all ranks, and gives each its part, of these lengths.
///
/// # Errors
/// As [`reduce`].
pub async fn reduce_scatter<T: Transport>(
    operation: &Operation<T>,
    data: &mut [u8],
    lengths: &[usize],
    own: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    if combine.predefined().is_some() && data.len() >= PAIRS_FROM_BYTES {
        return in_pairs(operation, &split(data, lengths), own, combine).await;
    }
    reduce(operation, data, 0, combine).await?;
    let parts = if operation.rank() == 0 { split(data, lengths) } else { vec![] };
    match lengths.iter().all(|&bytes| bytes == lengths[0]) {
        true => scatter_equal(operation, &parts, own, 0).await,
        false => scatter(operation, &parts, own, 0).await,
    }
}

/// Parts of these lengths.
pub(super) fn split<'a>(data: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = data;
    lengths.iter().map(|&bytes| rest.split_off(..bytes).expect("the sum of all")).collect()
}

async fn in_pairs<T: Transport>(
    operation: &Operation<T>,
    parts: &[&[u8]],
    own: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    own.copy_from_slice(parts[rank as usize]);
    let mut other = operation.point_to_point.take_scratch(own.len());
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        operation.exchange(to, parts[to as usize], from, &mut other).await?;
        combine.combine(own, &other)?;
    }
    operation.point_to_point.give_scratch(other);
    Ok(())
}
