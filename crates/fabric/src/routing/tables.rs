//! Route tables of any switched topology: the outputs on minimal ways from a router.

use super::dragonfly::DragonflyRoutes;
use super::fat_tree::FatTreeRoutes;
use super::router_torus::RouterTorusRoutes;
use crate::topology::wiring::Wiring;

/// Where a packet is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A router.
    Router(u32),
    /// Any router of a group.
    Group(u32),
}

/// The route tables of all routers.
#[derive(Clone, Debug)]
pub enum Routes {
    /// Of a dragonfly.
    Dragonfly(DragonflyRoutes),
    /// Of a fat tree.
    FatTree(FatTreeRoutes),
    /// Of a torus.
    Torus(RouterTorusRoutes),
}

impl Routes {
    /// The outputs on minimal ways from a router to another or to a group, a bit a port, for a packet that has `stage` dimensions of a
    /// dragonfly's group behind it on this stretch of its way.
    #[inline]
    pub fn ports(&self, wiring: &Wiring, router: u32, target: Target, stage: usize) -> u64 {
        match (self, target) {
            (Routes::Dragonfly(routes), _) => routes.ports(wiring, router, target, stage),
            (Routes::FatTree(routes), Target::Router(to)) => routes.ports(router, to),
            (Routes::Torus(routes), Target::Router(to)) => routes.ports(router, to),
            (Routes::FatTree(_) | Routes::Torus(_), Target::Group(_)) => 0,
        }
    }

    /// Dimensions of a dragonfly's group: links of a class of at least this many are global ones. All classes of fat trees and tori are local.
    #[inline]
    pub fn dimensions(&self) -> usize {
        match self {
            Routes::Dragonfly(routes) => routes.dimensions(),
            Routes::FatTree(_) | Routes::Torus(_) => usize::MAX,
        }
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        match self {
            Routes::Dragonfly(routes) => routes.bytes(),
            Routes::FatTree(routes) => routes.bytes(),
            Routes::Torus(routes) => routes.bytes(),
        }
    }
}
