//! What the automatic algorithms run. All members choose alike, so only what all of them know counts. The limits are
//! measured: see `docs/performance.md`.

use super::algorithms::Method;
use crate::xfer::kind;
use netloom_messaging::pami::collectives::tree::Tree;

/// Length of data from which a broadcast divides it, bytes.
const BROADCAST_LONG: usize = 64 << 10;
/// Length of data from which an allreduce or a reduce divides it, bytes.
const REDUCTION_LONG: usize = 8 << 10;
/// Length of a block up to which an alltoall sends several blocks as one message, bytes; and the fewest members.
const ALLTOALL_SHORT: usize = 64;
const ALLTOALL_MANY: usize = 8;
/// Length of all blocks up to which an allgather sends several blocks as one message, bytes.
const ALLGATHER_SHORT: usize = 1 << 10;
/// Length of a block up to which gathers and scatters send several blocks as one message, bytes; and the fewest members.
const ROOTED_SHORT: usize = 64;
const ROOTED_MANY: usize = 64;
/// Length of data from which a reduce-scatter divides it, bytes.
const REDUCE_SCATTER_LONG: usize = 4 << 10;

const BINOMIAL: Method = Method::Along(Tree::Knomial(2));

/// The method of a collective. `bytes` is the length of the data: of a block in gathers, scatters and alltoalls, of all
/// blocks in allgathers, of the whole operand in reductions.
pub fn choose(collective: u32, members: usize, bytes: usize, is_commutative: bool) -> Method {
    match collective {
        kind::BROADCAST if bytes >= BROADCAST_LONG && members > 2 => Method::ScatterAllgather,
        kind::BROADCAST => BINOMIAL,
        kind::ALLREDUCE if bytes >= REDUCTION_LONG => Method::Rabenseifner,
        kind::ALLREDUCE => Method::RecursiveDoubling,
        kind::REDUCE if bytes >= REDUCTION_LONG => Method::Rabenseifner,
        kind::REDUCE => BINOMIAL,
        kind::ALLGATHER | kind::ALLGATHERV | kind::ALLGATHERV_INT if bytes <= ALLGATHER_SHORT => {
            Method::Bruck
        }
        kind::ALLGATHER | kind::ALLGATHERV | kind::ALLGATHERV_INT => Method::Pairwise,
        kind::GATHER | kind::SCATTER if bytes <= ROOTED_SHORT && members >= ROOTED_MANY => BINOMIAL,
        kind::ALLTOALL if bytes <= ALLTOALL_SHORT && members >= ALLTOALL_MANY => Method::Bruck,
        kind::ALLTOALL => Method::Pairwise,
        kind::REDUCE_SCATTER if is_commutative && bytes >= REDUCE_SCATTER_LONG => Method::Pairwise,
        kind::REDUCE_SCATTER => Method::ReduceThenScatter,
        kind::BARRIER => Method::Dissemination(2),
        _ => Method::Linear,
    }
}
