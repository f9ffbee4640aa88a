//! Message patterns that several skeletons share.

use super::Rank;

/// Sends a block to every other member of a group and receives one from each, all at the same time: `block`
/// is its length, bytes, by sender and receiver; `None` if nothing is sent. `me` is this rank's index in the
/// group, `member` returns the rank with an index. Each rank starts with its successor, so that no member is
/// the first target of all.
pub(super) async fn all_to_all<R: Rank>(
    rank: &R,
    members: u32,
    me: u32,
    member: impl Fn(u32) -> u32 + Send,
    tag: u32,
    block: impl Fn(u32, u32) -> Option<u64> + Send,
) {
    let mut requests = Vec::with_capacity(2 * (members as usize - 1));
    for i in 1..members {
        let from = member((me + members - i) % members);
        requests.extend(block(from, member(me)).map(|bytes| rank.irecv(Some(from), Some(tag), bytes)));
    }
    for i in 1..members {
        let to = member((me + i) % members);
        requests.extend(block(member(me), to).map(|bytes| rank.isend(to, tag, bytes)));
    }
    rank.wait_all(requests).await;
}
