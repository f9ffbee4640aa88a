//! Numbering of a dragonfly: routers, ports and group slots.

use crate::config::DragonflyConfig;

/// A router's coordinates. In a general dragonfly, whose groups have one dimension, the blade is the router's
/// number in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// The group.
    pub group: u32,
    /// The chassis in the group: the coordinate in the second dimension.
    pub chassis: u32,
    /// The blade in the chassis: the coordinate in the first dimension.
    pub blade: u32,
}

/// The number of the router at these coordinates: blade by blade, chassis by chassis, group by group.
pub fn router(config: &DragonflyConfig, at: Coordinates) -> u32 {
    (at.group * config.chassis() + at.chassis) * config.blades() + at.blade
}

/// A router's coordinates. Only the last group may lack chassis, which keeps this simple.
pub fn coordinates(config: &DragonflyConfig, router: u32) -> Coordinates {
    let (blades, chassis) = (config.blades(), config.chassis());
    Coordinates {
        group: router / (blades * chassis),
        chassis: router / blades % chassis,
        blade: router % blades,
    }
}

/// A router's first port in dimension `d` of its group; for `d` one past the last dimension, its first global
/// port.
pub fn first_port(config: &DragonflyConfig, d: usize) -> usize {
    (0..d).map(|d| ((config.group[d] - 1) * config.links_in(d)) as usize).sum()
}

/// An end of a global link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalEnd {
    /// The router.
    pub router: Coordinates,
    /// Index among its global ports.
    pub port: u32,
}

/// The index of group `other` among the groups that a group connects to, which excludes itself. It does not
/// depend on the number of later groups, so it is stable when a machine grows.
pub fn slot(group: u32, other: u32) -> u32 {
    debug_assert_ne!(group, other);
    other - u32::from(other > group)
}
