//! Message patterns that several skeletons share.

use super::Rank;

/// Sends `bytes` to every other member of a group and receives as much from each, all at once. `me` is this rank's
/// place in the group, `member` the rank at a place. Each rank begins with its successor, so that no member is
/// everybody's first target.
pub(super) async fn all_to_all<R: Rank>(
    rank: &R,
    members: u32,
    me: u32,
    member: impl Fn(u32) -> u32 + Send,
    tag: u32,
    bytes: u64,
) {
    let mut requests = Vec::with_capacity(2 * (members as usize - 1));
    for i in 1..members {
        requests.push(rank.irecv(Some(member((me + members - i) % members)), Some(tag), bytes));
    }
    for i in 1..members {
        requests.push(rank.isend(member((me + i) % members), tag, bytes));
    }
    rank.wait_all(requests).await;
}
