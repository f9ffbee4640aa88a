//! Collective operations in the network (Chen et al., section II.C): packets travel up a tree embedded in the
//! torus, are combined at each node with those of the other inputs, turn round at the root and are broadcast
//! back down.
//!
//! This module has the parts that do not depend on any router: the trees ([`route`]), the packet header
//! ([`header`]), and the arithmetic that combines data ([`combine`]).

mod combine;
mod float;
pub mod header;
mod integer;
pub mod route;
pub mod trees;

pub use combine::{ByteOrder, Combined, combine};
pub use header::{CollectiveHeader, Delivers, Flags, Operation};
pub use route::{CLASS_ROUTES, ClassRoute, RouteKind};
