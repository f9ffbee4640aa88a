//! The algorithms of each collective, by name.

use crate::xfer::kind::*;
use std::ffi::CStr;

/// How a collective runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Dissemination,
    Binomial,
    ScatterAllgather,
    RecursiveDoubling,
    Ring,
    Pairwise,
    Linear,
    ReduceThenScatter,
    ActiveMessage,
}

/// An algorithm of a collective.
pub struct Algorithm {
    pub kind: u32,
    pub method: Method,
    pub name: &'static CStr,
    /// Lengths for which it is meant, bytes.
    pub range: [usize; 2],
}

/// Length of data from which algorithms that move each byte seldom are better than those of few steps, bytes.
const LONG: usize = 32 << 10;

macro_rules! algorithms {
    ($($kind:ident $method:ident $name:literal $range:expr;)*) => {
        /// All algorithms, those of a collective one after the other. All of them always work.
        pub static ALGORITHMS: &[Algorithm] =
            &[$(Algorithm { kind: $kind, method: Method::$method, name: $name, range: $range }),*];
    };
}

const ALL: [usize; 2] = [0, usize::MAX];
const SHORT: [usize; 2] = [0, LONG - 1];
const FROM_LONG: [usize; 2] = [LONG, usize::MAX];

algorithms! {
    BROADCAST Binomial c"I0:Binomial:P2P:P2P" SHORT;
    BROADCAST ScatterAllgather c"I0:ScatterAllgather:P2P:P2P" FROM_LONG;
    ALLREDUCE RecursiveDoubling c"I0:RecursiveDoubling:P2P:P2P" SHORT;
    ALLREDUCE Ring c"I0:RingReduceScatterAllgather:P2P:P2P" FROM_LONG;
    REDUCE Binomial c"I0:Binomial:P2P:P2P" ALL;
    ALLGATHER Ring c"I0:Ring:P2P:P2P" FROM_LONG;
    ALLGATHER Pairwise c"I0:Pairwise:P2P:P2P" SHORT;
    ALLGATHERV Ring c"I0:Ring:P2P:P2P" FROM_LONG;
    ALLGATHERV Pairwise c"I0:Pairwise:P2P:P2P" SHORT;
    ALLGATHERV_INT Ring c"I0:Ring:P2P:P2P" FROM_LONG;
    ALLGATHERV_INT Pairwise c"I0:Pairwise:P2P:P2P" SHORT;
    SCATTER Linear c"I0:Linear:P2P:P2P" ALL;
    SCATTERV Linear c"I0:Linear:P2P:P2P" ALL;
    SCATTERV_INT Linear c"I0:Linear:P2P:P2P" ALL;
    GATHER Linear c"I0:Linear:P2P:P2P" ALL;
    GATHERV Linear c"I0:Linear:P2P:P2P" ALL;
    GATHERV_INT Linear c"I0:Linear:P2P:P2P" ALL;
    BARRIER Dissemination c"I0:Dissemination:P2P:P2P" ALL;
    ALLTOALL Pairwise c"I0:Pairwise:P2P:P2P" ALL;
    ALLTOALLV Pairwise c"I0:Pairwise:P2P:P2P" ALL;
    ALLTOALLV_INT Pairwise c"I0:Pairwise:P2P:P2P" ALL;
    SCAN RecursiveDoubling c"I0:RecursiveDoubling:P2P:P2P" ALL;
    REDUCE_SCATTER ReduceThenScatter c"I0:ReduceThenScatter:P2P:P2P" SHORT;
    REDUCE_SCATTER Pairwise c"I0:Pairwise:P2P:P2P" FROM_LONG;
    AMBROADCAST ActiveMessage c"I0:Linear:P2P:P2P" ALL;
    AMSCATTER ActiveMessage c"I0:Linear:P2P:P2P" ALL;
    AMGATHER ActiveMessage c"I0:Linear:P2P:P2P" ALL;
    AMREDUCE ActiveMessage c"I0:Linear:P2P:P2P" ALL;
}

/// The algorithms of a collective: the number of the first, and how many.
pub fn of_kind(kind: u32) -> (usize, usize) {
    let first = ALGORITHMS.iter().position(|algorithm| algorithm.kind == kind).unwrap_or(0);
    (first, ALGORITHMS.iter().filter(|algorithm| algorithm.kind == kind).count())
}
