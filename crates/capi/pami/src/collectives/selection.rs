//! What the automatic algorithms run. All members choose alike, so only what all of them know counts. The
//! limits are measured: see `docs/performance.md`.

use super::algorithms::Method;
use crate::xfer::kind;
use netloom_messaging::pami::collectives::tree::Tree;
use netloom_messaging::pami::message_unit::collective::RECTANGLE_FROM_B;

/// Length of data from which a broadcast takes a flat tree, bytes: members read long data from the memory of
/// the member above, all at the same time.
const BROADCAST_FLAT: usize = 4 << 10;
/// Length of data from which an allreduce divides it, bytes.
const ALLREDUCE_LONG: usize = 2 << 10;
/// Length of all blocks up to which an allgather sends several blocks as one message, bytes: by recursive
/// doubling if the number of members is a power of two, else by Bruck's algorithm.
const ALLGATHER_DOUBLING: usize = 8 << 10;
const ALLGATHER_BRUCK: usize = 1 << 10;
/// Length of a block up to which an alltoall sends all of them at the same time, bytes.
const ALLTOALL_LINEAR: usize = 1 << 10;
/// Length of data up to which a reduce-scatter takes few steps, bytes.
const REDUCE_SCATTER_SHORT: usize = 2 << 10;

const BINOMIAL: Method = Method::Along(Tree::Knomial(2));
const EIGHT_NOMIAL: Method = Method::Along(Tree::Knomial(8));

/// How a device broadcasts data of this length.
pub fn broadcast_by_device(bytes: usize) -> Method {
    if bytes as u64 >= RECTANGLE_FROM_B { Method::Rectangle } else { Method::Device }
}

/// The method of a collective. `bytes` is the length of the data: of a block in gathers, scatters and
/// alltoalls, of all blocks in allgathers, of the whole operand in reductions.
pub fn choose(collective: u32, members: usize, bytes: usize, is_commutative: bool) -> Method {
    let is_power = members.is_power_of_two();
    match collective {
        kind::BROADCAST if bytes >= BROADCAST_FLAT => EIGHT_NOMIAL,
        kind::BROADCAST | kind::REDUCE => BINOMIAL,
        kind::ALLREDUCE if bytes >= ALLREDUCE_LONG => Method::Rabenseifner,
        kind::ALLREDUCE => Method::RecursiveDoubling,
        kind::ALLGATHER | kind::ALLGATHERV | kind::ALLGATHERV_INT => match bytes {
            ..=ALLGATHER_DOUBLING if is_power => Method::RecursiveDoubling,
            ..=ALLGATHER_BRUCK => Method::Bruck,
            _ => Method::Pairwise,
        },
        kind::ALLTOALL if bytes <= ALLTOALL_LINEAR => Method::Linear,
        kind::ALLTOALL => Method::Pairwise,
        kind::REDUCE_SCATTER if !is_commutative => Method::ReduceThenScatter,
        kind::REDUCE_SCATTER if is_power && bytes <= REDUCE_SCATTER_SHORT => Method::RecursiveHalving,
        kind::REDUCE_SCATTER => Method::Pairwise,
        kind::BARRIER => Method::Dissemination(2),
        _ => Method::Linear,
    }
}
