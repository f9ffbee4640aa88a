//! The barrier.

use super::Operation;
use super::cells::{InTurn, Messages, Steps};
use crate::error::Error;
use crate::transport::{Collective, Transport};

/// Ends when all ranks have called it: by the transport, or dissemination, in log2(p) rounds.
///
/// # Errors
/// If a process has ended.
pub async fn barrier<T: Transport>(operation: Operation<T>) -> Result<(), Error> {
    if let Some(turn) = operation.turn(0) {
        disseminate(&operation, &InTurn(&operation, turn)).await?;
        return operation.check_lengths();
    }
    if operation.by_transport(Collective::Barrier).await? {
        return Ok(());
    }
    disseminate(&operation, &Messages(&operation)).await?;
    operation.end_without_cells(0).await
}

#[inline(always)]
async fn disseminate<T: Transport>(operation: &Operation<T>, steps: &impl Steps) -> Result<(), Error> {
    let (rank, size) = (operation.rank(), operation.size());
    let (mut step, mut distance) = (0, 1);
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        steps.exchange(step, to, &[], from, &mut []).await?;
        (step, distance) = (step + 1, 2 * distance);
    }
    Ok(())
}
