//! Route tables of any switched topology: the outputs on minimal routes from a router.

use super::dragonfly::DragonflyRoutes;
use super::fat_tree::FatTreeRoutes;
use super::router_torus::RouterTorusRoutes;
use crate::topology::wiring::Wiring;

/// The target of a route.
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
    /// The outputs on minimal routes from a router to another router or group, one bit per port, for a packet
    /// that has completed `stage` dimensions of a dragonfly's group on this leg of its route.
    #[inline]
    pub fn ports(&self, wiring: &Wiring, router: u32, target: Target, stage: usize) -> u64 {
        match (self, target) {
            (Routes::Dragonfly(routes), _) => routes.ports(wiring, router, target, stage),
            (Routes::FatTree(routes), Target::Router(to)) => routes.ports(router, to),
            (Routes::Torus(routes), Target::Router(to)) => routes.ports(router, to),
            (Routes::FatTree(_) | Routes::Torus(_), Target::Group(_)) => 0,
        }
    }

    /// Dimensions of a dragonfly's group: links of at least this class are global. In fat trees and tori all
    /// links are local.
    #[inline]
    pub fn dimensions(&self) -> usize {
        match self {
            Routes::Dragonfly(routes) => routes.dimensions(),
            Routes::FatTree(_) | Routes::Torus(_) => usize::MAX,
        }
    }

    /// Memory of the tables, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Routes::Dragonfly(routes) => routes.bytes(),
            Routes::FatTree(routes) => routes.bytes(),
            Routes::Torus(routes) => routes.bytes(),
        }
    }
}
