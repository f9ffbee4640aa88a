//! Where things are in a dragonfly: the numbers of routers and ports, the places of groups.

use crate::config::DragonflyConfig;

/// Where a router is. In a general dragonfly, whose groups have one dimension, the blade is the router's number in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// Which group.
    pub group: u32,
    /// Which chassis of the group: the coordinate in the second dimension.
    pub chassis: u32,
    /// Which blade of the chassis: the coordinate in the first dimension.
    pub blade: u32,
}

/// The number of the router there: blade by blade, chassis by chassis, group by group.
pub fn router(config: &DragonflyConfig, at: Coordinates) -> u32 {
    (at.group * config.chassis() + at.chassis) * config.blades() + at.blade
}

/// Where a router is. That only the last group may lack chassis keeps this simple.
pub fn coordinates(config: &DragonflyConfig, router: u32) -> Coordinates {
    let (blades, chassis) = (config.blades(), config.chassis());
    Coordinates {
        group: router / (blades * chassis),
        chassis: router / blades % chassis,
        blade: router % blades,
    }
}

/// The first of a router's ports in dimension `d` of its group; with one past the last dimension, its first global port.
pub fn first_port(config: &DragonflyConfig, d: usize) -> usize {
    (0..d).map(|d| ((config.group[d] - 1) * config.links_in(d)) as usize).sum()
}

/// An end of a global link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalEnd {
    /// The router.
    pub router: Coordinates,
    /// Which of its global ports.
    pub port: u32,
}

/// The place of group `other` among those that a group is joined with: all but itself. It does not depend on how many there are
/// after it, so that it stays when a machine grows.
pub fn slot(group: u32, other: u32) -> u32 {
    debug_assert_ne!(group, other);
    other - u32::from(other > group)
}
