//! The barrier.

use super::Operation;
use crate::error::Error;
use crate::transport::{Collective, Transport};

/// Ends when all ranks have called it: by the transport, or dissemination, in log2(p) rounds.
///
/// # Errors
/// If a process has ended.
pub async fn barrier<T: Transport>(operation: Operation<T>) -> Result<(), Error> {
    if operation.by_transport(Collective::Barrier).await? {
        return Ok(());
    }
    let (rank, size) = (operation.rank(), operation.size());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        operation.exchange(to, &[], from, &mut []).await?;
        distance *= 2;
    }
    Ok(())
}
