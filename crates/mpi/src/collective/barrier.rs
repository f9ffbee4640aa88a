//! The barrier.

use super::Operation;
use super::flags::{ByMessages, Rounds, ThroughFlags};
use crate::error::Error;
use crate::transport::{Collective, Transport};

/// Ends when all ranks have called it: by the transport, or dissemination, in log2(p) rounds.
///
/// # Errors
/// If a process has ended.
pub async fn barrier<T: Transport>(operation: Operation<T>) -> Result<(), Error> {
    if let Some(place) = operation.take_flags(0) {
        disseminate(&operation, &ThroughFlags(&operation, place)).await?;
        return operation.check_lengths();
    }
    if operation.by_transport(Collective::Barrier).await? {
        return Ok(());
    }
    disseminate(&operation, &ByMessages(&operation)).await?;
    operation.end_without_flags(0).await
}

#[inline(always)]
async fn disseminate<T: Transport>(operation: &Operation<T>, rounds: &impl Rounds) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    let (mut round, mut distance) = (0, 1);
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        rounds.exchange(round, (to, &[]), (from, &mut [])).await?;
        (round, distance) = (round + 1, 2 * distance);
    }
    Ok(())
}
