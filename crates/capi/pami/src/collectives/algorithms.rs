//! The algorithms of each collective, by name, and what each needs.

use crate::geometry::Geometry;
use crate::symbols;
use crate::typed::Combine;
use crate::types::complete;
use crate::xfer::kind::*;
use crate::xfer::{Command, Data, Xfer};
use netloom_messaging::pami::collectives::tree::Tree;
use netloom_messaging::pami::device::GroupLimits;
use std::ffi::CStr;

/// How a collective runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The library chooses among the others: see [`super::selection`].
    Automatic,
    /// The radix.
    Dissemination(usize),
    Along(Tree),
    ScatterAllgather,
    ScatterDoubling,
    RecursiveDoubling,
    RecursiveHalving,
    Rabenseifner,
    Ring,
    Bruck,
    Pairwise,
    ExclusiveOr,
    Linear,
    Chain,
    ReduceBroadcast,
    ReduceThenScatter,
    ActiveMessage,
    /// The device does it: by a class route, or a barrier class.
    Device,
    /// The device does it: by edge-disjoint spanning trees.
    Rectangle,
}

/// An algorithm of a collective.
pub struct Algorithm {
    pub kind: u32,
    pub method: Method,
    pub name: &'static CStr,
    /// Lengths at which it does well, bytes.
    pub range: [usize; 2],
    /// What it needs; [`NOTHING`] if it always works.
    pub needs: Needs,
}

/// What an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The number of members is a power of two.
    pub power_of_two: bool,
    /// The operation commutes.
    pub commutative: bool,
    /// The greatest length of a block, bytes.
    pub bytes_max: usize,
    /// The geometry has a class of the collective network.
    pub class: bool,
    /// The network combines words of the type by the operation.
    pub words: bool,
}

const NOTHING: Needs =
    Needs { power_of_two: false, commutative: false, bytes_max: usize::MAX, class: false, words: false };
const POWER_OF_TWO: Needs = Needs { power_of_two: true, ..NOTHING };
const COMMUTATIVE: Needs = Needs { commutative: true, ..NOTHING };
const COMMUTATIVE_POWER_OF_TWO: Needs = Needs { commutative: true, ..POWER_OF_TWO };
/// Blocks that are copied about in memory of the library.
const SHORT_BLOCKS: Needs = Needs { bytes_max: 32 << 10, ..NOTHING };

const CLASS: Needs = Needs { class: true, ..NOTHING };
const CLASS_AND_WORDS: Needs = Needs { words: true, ..CLASS };

/// Length of data from which algorithms that move each byte seldom are better than those of few steps, bytes.
const LONG: usize = 4 << 10;
const ALL: [usize; 2] = [0, usize::MAX];
const SHORT: [usize; 2] = [0, LONG - 1];
const FROM_LONG: [usize; 2] = [LONG, usize::MAX];

const BINOMIAL: Method = Method::Along(Tree::Knomial(2));
const FOUR_NOMIAL: Method = Method::Along(Tree::Knomial(4));
const EIGHT_NOMIAL: Method = Method::Along(Tree::Knomial(8));
const BINARY: Method = Method::Along(Tree::Kary(2));
const FOUR_ARY: Method = Method::Along(Tree::Kary(4));

macro_rules! algorithms {
    ($($kind:ident $method:expr, $name:literal $range:ident $needs:ident;)*) => {
        /// All algorithms: those of a collective one after the other, those that always work first.
        pub static ALGORITHMS: &[Algorithm] = {
            #[allow(unused_imports)]
            use Method::*;
            &[$(Algorithm { kind: $kind, method: $method, name: $name, range: $range, needs: $needs }),*]
        };
    };
}

algorithms! {
    BROADCAST Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    BROADCAST Device, c"I0:MultiCastDput:SHMEM:MU" ALL CLASS;
    BROADCAST Rectangle, c"I0:RectangleDput:SHMEM:MU" FROM_LONG CLASS;
    BROADCAST BINOMIAL, c"I0:Binomial:P2P:P2P" SHORT NOTHING;
    BROADCAST FOUR_NOMIAL, c"I0:4-nomial:P2P:P2P" ALL NOTHING;
    BROADCAST EIGHT_NOMIAL, c"I0:8-nomial:P2P:P2P" FROM_LONG NOTHING;
    BROADCAST BINARY, c"I0:2-ary:P2P:P2P" SHORT NOTHING;
    BROADCAST FOUR_ARY, c"I0:4-ary:P2P:P2P" ALL NOTHING;
    BROADCAST ScatterAllgather, c"I0:ScatterRingAllgather:P2P:P2P" FROM_LONG NOTHING;
    BROADCAST ScatterDoubling, c"I0:BinomialScatterRecursiveDoublingAllgather:P2P:P2P" FROM_LONG POWER_OF_TWO;
    ALLREDUCE Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    ALLREDUCE RecursiveDoubling, c"I0:RecursiveDoubling:P2P:P2P" SHORT NOTHING;
    ALLREDUCE Rabenseifner, c"I0:Rabenseifner:P2P:P2P" FROM_LONG NOTHING;
    ALLREDUCE ReduceBroadcast, c"I0:BinomialReduceBroadcast:P2P:P2P" SHORT NOTHING;
    ALLREDUCE Device, c"I0:MultiCombineDput:SHMEM:MU" ALL CLASS_AND_WORDS;
    ALLREDUCE Ring, c"I0:RingReduceScatterAllgather:P2P:P2P" FROM_LONG COMMUTATIVE;
    REDUCE Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    REDUCE BINOMIAL, c"I0:Binomial:P2P:P2P" ALL NOTHING;
    REDUCE FOUR_NOMIAL, c"I0:4-nomial:P2P:P2P" SHORT NOTHING;
    REDUCE Rabenseifner, c"I0:Rabenseifner:P2P:P2P" FROM_LONG NOTHING;
    REDUCE BINARY, c"I0:2-ary:P2P:P2P" SHORT COMMUTATIVE;
    REDUCE FOUR_ARY, c"I0:4-ary:P2P:P2P" SHORT COMMUTATIVE;
    ALLGATHER Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    ALLGATHER Ring, c"I0:Ring:P2P:P2P" FROM_LONG NOTHING;
    ALLGATHER Bruck, c"I0:Bruck:P2P:P2P" SHORT NOTHING;
    ALLGATHER Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLGATHER RecursiveDoubling, c"I0:RecursiveDoubling:P2P:P2P" SHORT POWER_OF_TWO;
    ALLGATHERV Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    ALLGATHERV Ring, c"I0:Ring:P2P:P2P" FROM_LONG NOTHING;
    ALLGATHERV Bruck, c"I0:Bruck:P2P:P2P" SHORT NOTHING;
    ALLGATHERV Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLGATHERV RecursiveDoubling, c"I0:RecursiveDoubling:P2P:P2P" SHORT POWER_OF_TWO;
    ALLGATHERV_INT Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    ALLGATHERV_INT Ring, c"I0:Ring:P2P:P2P" FROM_LONG NOTHING;
    ALLGATHERV_INT Bruck, c"I0:Bruck:P2P:P2P" SHORT NOTHING;
    ALLGATHERV_INT Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLGATHERV_INT RecursiveDoubling, c"I0:RecursiveDoubling:P2P:P2P" SHORT POWER_OF_TWO;
    SCATTER Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    SCATTER Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    SCATTER BINOMIAL, c"I0:Binomial:P2P:P2P" SHORT NOTHING;
    SCATTERV Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    SCATTERV_INT Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    GATHER Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    GATHER Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    GATHER BINOMIAL, c"I0:Binomial:P2P:P2P" SHORT NOTHING;
    GATHERV Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    GATHERV_INT Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    BARRIER Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    BARRIER Device, c"I0:MultiSync2Device:SHMEM:GI" ALL CLASS;
    BARRIER Dissemination(2), c"I0:Dissemination:P2P:P2P" ALL NOTHING;
    BARRIER Dissemination(4), c"I0:4-wayDissemination:P2P:P2P" ALL NOTHING;
    BARRIER BINOMIAL, c"I0:Binomial:P2P:P2P" ALL NOTHING;
    BARRIER FOUR_ARY, c"I0:4-ary:P2P:P2P" ALL NOTHING;
    ALLTOALL Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    ALLTOALL Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLTOALL Linear, c"I0:Linear:P2P:P2P" SHORT NOTHING;
    ALLTOALL Bruck, c"I0:Bruck:P2P:P2P" SHORT SHORT_BLOCKS;
    ALLTOALL ExclusiveOr, c"I0:ExclusiveOr:P2P:P2P" ALL POWER_OF_TWO;
    ALLTOALLV Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLTOALLV Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    ALLTOALLV ExclusiveOr, c"I0:ExclusiveOr:P2P:P2P" ALL POWER_OF_TWO;
    ALLTOALLV_INT Pairwise, c"I0:Pairwise:P2P:P2P" ALL NOTHING;
    ALLTOALLV_INT Linear, c"I0:Linear:P2P:P2P" ALL NOTHING;
    ALLTOALLV_INT ExclusiveOr, c"I0:ExclusiveOr:P2P:P2P" ALL POWER_OF_TWO;
    SCAN RecursiveDoubling, c"I0:RecursiveDoubling:P2P:P2P" ALL NOTHING;
    SCAN Chain, c"I0:Chain:P2P:P2P" ALL NOTHING;
    REDUCE_SCATTER Automatic, c"I0:Automatic:P2P:P2P" ALL NOTHING;
    REDUCE_SCATTER ReduceThenScatter, c"I0:BinomialReduceScatter:P2P:P2P" SHORT NOTHING;
    REDUCE_SCATTER Pairwise, c"I0:Pairwise:P2P:P2P" FROM_LONG COMMUTATIVE;
    REDUCE_SCATTER RecursiveHalving, c"I0:RecursiveHalving:P2P:P2P" ALL COMMUTATIVE_POWER_OF_TWO;
    AMBROADCAST ActiveMessage, c"I0:Linear:P2P:P2P" ALL NOTHING;
    AMSCATTER ActiveMessage, c"I0:Linear:P2P:P2P" ALL NOTHING;
    AMGATHER ActiveMessage, c"I0:Linear:P2P:P2P" ALL NOTHING;
    AMREDUCE ActiveMessage, c"I0:Linear:P2P:P2P" ALL NOTHING;
}

/// The algorithms of a collective in a geometry, by number: those that always work there, and those that must
/// be checked. The geometry's group is given, if it has one: on machines where it has limits there are no
/// spanning trees of a rectangle.
pub fn of_kind(kind: u32, group: Option<(usize, GroupLimits)>) -> [Vec<usize>; 2] {
    let is_limited = group.is_some_and(|(_, limits)| limits != GroupLimits::default());
    let own = ALGORITHMS.iter().enumerate().filter(|(_, algorithm)| algorithm.kind == kind);
    let listed = own.filter(|(_, algorithm)| {
        !algorithm.needs.class || group.is_some() && !(is_limited && algorithm.method == Method::Rectangle)
    });
    let (always, checked): (Vec<_>, Vec<_>) = listed.partition(|(_, algorithm)| {
        algorithm.is_always_listed() && !(is_limited && algorithm.needs.class && kind != BARRIER)
    });
    [always, checked].map(|list| list.into_iter().map(|(number, _)| number).collect())
}

/// Reasons why an algorithm cannot run, as in `metadata_result_t`.
pub mod reason {
    pub const UNSPECIFIED: u32 = 1 << 0;
    pub const RANGE: u32 = 1 << 1;
    pub const OPERATION: u32 = 1 << 4;
}

impl Algorithm {
    /// Its number in the list.
    pub fn number(&'static self) -> u16 {
        let offset = std::ptr::from_ref(self) as usize - ALGORITHMS.as_ptr() as usize;
        (offset / size_of::<Algorithm>()) as u16
    }

    /// Whether it works for all parameters in all geometries that list it.
    pub const fn is_always_listed(&self) -> bool {
        let Needs { power_of_two, commutative, bytes_max, words, .. } = self.needs;
        !power_of_two && !commutative && !words && bytes_max == usize::MAX
    }

    /// Why it cannot run this command in this geometry: bits of [`reason`], 0 if it can.
    ///
    /// # Safety
    /// The program gave the command.
    pub unsafe fn obstacles(&self, command: &Command, geometry: &Geometry) -> u32 {
        let mut reasons = 0;
        let is_wrong_size = self.needs.power_of_two && !geometry.members.len().is_power_of_two();
        let group = geometry.limited_group().filter(|_| self.needs.class);
        if is_wrong_size || self.needs.class && group.is_none() {
            reasons |= reason::UNSPECIFIED;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if self.needs.commutative && !commutes(self.kind, command) {
                reasons |= reason::OPERATION;
            }
            if self.needs.words && !is_of_words(command) {
                reasons |= reason::OPERATION;
            }
            if self.needs.bytes_max < usize::MAX && block_bytes(command) > self.needs.bytes_max {
                reasons |= reason::RANGE;
            }
            if group.is_some_and(|(_, limits)| !self.is_permitted(command, limits)) {
                reasons |= reason::RANGE;
            }
        }
        reasons
    }

    /// Whether a group with these limits can do a command.
    ///
    /// # Safety
    /// The program gave the command.
    unsafe fn is_permitted(&self, command: &Command, limits: GroupLimits) -> bool {
        // SAFETY: the caller's promise; the kind says which member of the union there is.
        unsafe {
            match self.kind {
                BROADCAST => limits.permit_broadcast(data_bytes(command.broadcast.data) as u64),
                ALLREDUCE => {
                    let all = command.allreduce;
                    let combine = Combine::new(all.op, all.cookie, [all.send.kind, all.receive.kind]);
                    let words = combine.and_then(Combine::words);
                    words.is_none_or(|words| limits.permit_allreduce(words, data_bytes(all.receive) as u64))
                }
                _ => true,
            }
        }
    }
}

/// Whether the operation of a reduction commutes: a predefined one, or one of which the program says so.
///
/// # Safety
/// The command is that of a collective that reduces.
pub unsafe fn commutes(kind: u32, command: &Command) -> bool {
    // SAFETY: the caller's promise.
    let (op, flag) = unsafe {
        match kind {
            REDUCE => (command.reduce.all.op, command.reduce.all.flag),
            REDUCE_SCATTER => (command.reduce_scatter.op, command.reduce_scatter.commutative),
            _ => (command.allreduce.op, command.allreduce.flag),
        }
    };
    flag != 0 || op.is_none_or(|function| symbols::operation(function).is_some())
}

/// Whether the network combines the data of an allreduce.
///
/// # Safety
/// The command is that of an allreduce.
unsafe fn is_of_words(command: &Command) -> bool {
    // SAFETY: the caller's promise.
    let all = unsafe { command.allreduce };
    let combine = Combine::new(all.op, all.cookie, [all.send.kind, all.receive.kind]);
    combine.and_then(Combine::words).is_some()
}

/// The length of a block of an alltoall, bytes; 0 if its type is not complete.
///
/// # Safety
/// The command is that of an alltoall.
unsafe fn block_bytes(command: &Command) -> usize {
    // SAFETY: the caller's promise.
    unsafe { data_bytes(command.exchange.receive) }
}

/// The length of data, bytes; 0 if its type is not complete.
///
/// # Safety
/// The program gave the type.
unsafe fn data_bytes(Data { kind, count, .. }: Data) -> usize {
    // SAFETY: the caller's promise.
    unsafe { complete(kind) }.map_or(0, |kind| count.saturating_mul(kind.data_bytes() as usize))
}

/// `check_fn` of all algorithms that must be checked.
pub unsafe extern "C" fn check(xfer: *mut Xfer) -> u32 {
    // SAFETY: the program gave it.
    unsafe {
        let Some(xfer) = xfer.as_ref() else { return reason::UNSPECIFIED };
        match crate::geometry::algorithm(xfer.algorithm) {
            Some((geometry, algorithm)) => algorithm.obstacles(&xfer.command, geometry),
            None => reason::UNSPECIFIED,
        }
    }
}

/// The list is in order, and numbers fit beside the address of a geometry.
const _: () = {
    assert!(ALGORITHMS.len() <= 256);
    let mut n = 1;
    while n < ALGORITHMS.len() {
        let (last, next) = (&ALGORITHMS[n - 1], &ALGORITHMS[n]);
        assert!(last.kind == next.kind || last.kind + 1 == next.kind);
        n += 1;
    }
};
