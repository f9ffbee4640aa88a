//! Which of PAMI's algorithms a collective takes. All members of a communicator come to the same: only what
//! is the same at all of them counts.
//!
//! On a simulated machine PAMI carries out what it can. The first algorithm that it lists, the automatic one,
//! chooses among the others by length, and takes the collective network where the geometry has a class of it.
//! A request must not wait for the network: it takes the first algorithm over messages that is meant for its
//! length. Natively PAMI has algorithms over messages only, which take longer than MPI's own (`docs/mpi.md`),
//! so no geometry is made.
//!
//! As with IBM's MPI, `PAMID_COLLECTIVES` is 0 for MPI's own algorithms and 1 for PAMI's, and
//! `PAMID_COLLECTIVE_BCAST` and its like name an algorithm of PAMI's list, or `MPICH` for MPI's own.

use super::SUCCESS;
use crate::pami_interface::abi::{AttributeValue, Configuration, attribute};
use crate::pami_interface::xfer::{CheckFunction, Metadata, Xfer, kind};
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;

unsafe extern "C" {
    fn PAMI_Geometry_query(geometry: *mut c_void, configuration: *mut Configuration, count: usize) -> c_int;
    fn PAMI_Geometry_algorithms_num(geometry: *mut c_void, kind: u32, lengths: *mut usize) -> c_int;
    fn PAMI_Geometry_algorithms_query(
        geometry: *mut c_void,
        kind: u32,
        always: *mut usize,
        always_metadata: *mut Metadata,
        always_count: usize,
        checked: *mut usize,
        checked_metadata: *mut Metadata,
        checked_count: usize,
    ) -> c_int;
}

/// The collectives that PAMI is asked for, and their variables.
const KINDS: [(u32, &str); 4] = [
    (kind::BARRIER, "PAMID_COLLECTIVE_BARRIER"),
    (kind::BROADCAST, "PAMID_COLLECTIVE_BCAST"),
    (kind::REDUCE, "PAMID_COLLECTIVE_REDUCE"),
    (kind::ALLREDUCE, "PAMID_COLLECTIVE_ALLREDUCE"),
];

fn place(of: u32) -> usize {
    KINDS.iter().position(|&(kind, _)| kind == of).expect("it is one of those that are asked for")
}

/// What the environment says: the same for all ranks.
#[derive(Debug, Default)]
pub struct Settings {
    /// Whether PAMI carries out collectives.
    pub is_on: bool,
    /// The algorithm of each.
    names: [Option<String>; KINDS.len()],
}

impl Settings {
    /// Reads it.
    pub fn new(is_simulated: bool) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let is_on = variable("PAMID_COLLECTIVES").map_or(is_simulated, |value| value != "0");
        Settings { is_on, names: KINDS.map(|(_, name)| variable(name)) }
    }
}

/// An algorithm of a geometry.
#[derive(Clone, Copy, Debug)]
struct Algorithm {
    handle: usize,
    name: &'static CStr,
    /// Lengths for which it is meant, bytes.
    range: [usize; 2],
    /// Whether it can do a collective: 0 if so. Others can always.
    check: Option<CheckFunction>,
}

impl Algorithm {
    fn is_over_messages(&self) -> bool {
        self.name.to_bytes().ends_with(b":P2P:P2P")
    }

    /// Whether it can do this, once it is the algorithm.
    fn can(&self, xfer: &mut Xfer) -> bool {
        xfer.algorithm = self.handle;
        // SAFETY: PAMI gave the function for this algorithm.
        self.check.is_none_or(|check| unsafe { check(xfer) == 0 })
    }
}

/// The algorithms of a collective.
#[derive(Debug)]
struct Listed {
    /// PAMI's own choice.
    automatic: Algorithm,
    /// The others; those that must be checked are last.
    others: Box<[Algorithm]>,
    /// What the environment names.
    named: Named,
}

#[derive(Clone, Copy, Debug)]
enum Named {
    Nothing,
    Messages,
    This(Algorithm),
}

/// The algorithms of a geometry.
#[derive(Debug)]
pub struct Algorithms {
    /// Whether it has a class of the collective network.
    has_class: bool,
    listed: [Option<Listed>; KINDS.len()],
}

impl Algorithms {
    /// Those of a geometry that has been made.
    pub fn of(geometry: *mut c_void, settings: &Settings) -> Self {
        let mut class =
            Configuration { name: attribute::GEOMETRY_OPTIMIZE, value: AttributeValue { intval: 0 } };
        // SAFETY: the geometry lives; its attribute is a number.
        let has_class =
            unsafe { PAMI_Geometry_query(geometry, &mut class, 1) == SUCCESS && class.value.intval != 0 };
        let listed =
            std::array::from_fn(|at| Listed::of(geometry, KINDS[at].0, settings.names[at].as_deref()));
        Algorithms { has_class, listed }
    }

    /// Variables of the environment that name no algorithm of this geometry, with what they are.
    pub fn unknown<'a>(&self, settings: &'a Settings) -> impl Iterator<Item = (&'static str, &'a str)> {
        let is_unknown =
            |at: usize| self.listed[at].as_ref().is_some_and(|of| matches!(of.named, Named::Nothing));
        let given: Vec<_> = (0..KINDS.len()).filter(|&at| is_unknown(at)).collect();
        given.into_iter().filter_map(|at| Some((KINDS[at].1, settings.names[at].as_deref()?)))
    }

    /// Sets the algorithm of a collective; returns false if MPI's own is to do it.
    pub fn choose(&self, kind: u32, bytes: usize, is_blocking: bool, xfer: &mut Xfer) -> bool {
        let Some(listed) = &self.listed[place(kind)] else { return false };
        match listed.named {
            Named::Messages => return false,
            Named::This(named) if (is_blocking || named.is_over_messages()) && named.can(xfer) => {
                return true;
            }
            Named::This(_) | Named::Nothing => {}
        }
        if self.has_class && is_blocking {
            if kind == kind::REDUCE {
                return self.reduce_by_network(xfer);
            }
            return listed.automatic.can(xfer);
        }
        let is_meant = |other: &&Algorithm| {
            other.is_over_messages()
                && other.check.is_none()
                && (other.range[0]..=other.range[1]).contains(&bytes)
        };
        let algorithm =
            if self.has_class { listed.others.iter().find(is_meant) } else { Some(&listed.automatic) };
        algorithm.is_some_and(|algorithm| algorithm.can(xfer))
    }

    /// A reduction to one rank is one to all, of which the others forget the result: PAMI's has no other for
    /// geometries that may share nodes, because ranks that are done early could begin one of another.
    fn reduce_by_network(&self, xfer: &mut Xfer) -> bool {
        let Some(listed) = &self.listed[place(kind::ALLREDUCE)] else { return false };
        // SAFETY: the command is a reduction's.
        let to_all = unsafe { xfer.command.reduce.all };
        let to_one = xfer.command;
        xfer.command.allreduce = to_all;
        let network = listed.others.iter().find(|other| !other.is_over_messages());
        if network.is_some_and(|network| network.can(xfer)) {
            return true;
        }
        xfer.command = to_one;
        let own = self.listed[place(kind::REDUCE)].as_ref();
        own.is_some_and(|own| own.automatic.can(xfer))
    }
}

impl Listed {
    fn of(geometry: *mut c_void, kind: u32, named: Option<&str>) -> Option<Self> {
        let mut counts = [0; 2];
        // SAFETY: the geometry lives; space for two.
        if unsafe { PAMI_Geometry_algorithms_num(geometry, kind, counts.as_mut_ptr()) } != SUCCESS {
            return None;
        }
        let [always, all] = [counts[0], counts[0] + counts[1]];
        let mut handles = vec![0; all];
        let mut metadata: Vec<MaybeUninit<Metadata>> = (0..all).map(|_| MaybeUninit::uninit()).collect();
        // SAFETY: space for as many as there are.
        let result = unsafe {
            let (handles, metadata) = (handles.as_mut_ptr(), metadata.as_mut_ptr().cast::<Metadata>());
            let checked = (handles.add(always), metadata.add(always), counts[1]);
            PAMI_Geometry_algorithms_query(
                geometry, kind, handles, metadata, always, checked.0, checked.1, checked.2,
            )
        };
        if result != SUCCESS {
            return None;
        }
        let algorithm = |(at, metadata): (usize, MaybeUninit<Metadata>)| {
            // SAFETY: the query has written all, and names are there for ever.
            unsafe {
                let metadata = metadata.assume_init();
                let name = if metadata.name.is_null() { c"" } else { CStr::from_ptr(metadata.name) };
                let range = [metadata.range_low_perf, metadata.range_high_perf];
                Algorithm { handle: handles[at], name, range, check: metadata.check_fn }
            }
        };
        let mut list = metadata.into_iter().enumerate().map(algorithm);
        let automatic = list.next()?;
        let others: Box<[Algorithm]> = list.collect();
        let is_named =
            |algorithm: &&Algorithm| named.is_some_and(|named| algorithm.name.to_bytes() == named.as_bytes());
        let named = match others.iter().chain([&automatic]).find(is_named) {
            _ if named == Some("MPICH") => Named::Messages,
            Some(&this) => Named::This(this),
            None => Named::Nothing,
        };
        Some(Listed { automatic, others, named })
    }
}
