//! Messages with some of the ranks: neighborhood collectives, which are one step, and steps of others.

use super::Operation;
use crate::error::Error;
use crate::transport::Transport;

/// Sends each piece to its rank, and receives a piece from each rank, all at the same time. Of the pieces
/// from one rank, the first is the first that it sent.
///
/// # Errors
/// If a process has ended, or lengths differ.
pub async fn exchange<T: Transport>(
    operation: &Operation<T>,
    sends: &[(u32, &[u8])],
    receives: Vec<(u32, &mut [u8])>,
) -> Result<(), Error> {
    let (mut received, mut sent) = (vec![], vec![]);
    for (from, space) in receives {
        received.push((operation.start_receive(from, space), from, space.len()));
    }
    for &(to, data) in sends {
        sent.extend(operation.start_send(to, data)?);
    }
    // All end, so that none writes to a space that is not there any more.
    let mut end = Ok(());
    for (number, from, bytes) in received {
        end = end.and(operation.wait_for(number, from, bytes).await);
    }
    for number in sent {
        end = end.and(operation.wait(number).await);
    }
    end
}
