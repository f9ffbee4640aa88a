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
    let mut requests = vec![];
    for (from, space) in receives {
        requests.push(operation.start_receive(from, space));
    }
    for &(to, data) in sends {
        requests.extend(operation.start_send(to, data)?);
    }
    let mut end = Ok(());
    for request in requests {
        // All end, so that none writes to a space that is not there any more.
        end = end.and(operation.wait(request).await);
    }
    end
}
