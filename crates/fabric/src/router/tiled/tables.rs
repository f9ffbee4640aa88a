//! Constants of a network in the form that the path of a packet needs.

use super::state::{Leaving, Room, Rules, VCS};
use crate::config::{LinkClass, SwitchedTopology, TiledConfig};
use crate::routing::Routes;
use crate::routing::dragonfly::DragonflyRoutes;
use crate::routing::fat_tree::FatTreeRoutes;
use crate::routing::router_torus::RouterTorusRoutes;
use crate::topology::fat_tree::FatTree;
use crate::topology::wiring::Wiring;
use netloom_engine::Time;

/// Maximum number of link classes.
pub(super) const CLASSES: usize = 4;

/// State shared by all routers of a network.
pub(super) struct Tables {
    pub config: TiledConfig,
    pub wiring: Wiring,
    pub routes: Routes,
    pub constants: Constants,
    /// Whether they route around failures, so that not every drawn route exists.
    pub is_patched: bool,
}

/// The constants for each step of a packet.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    /// Rows and columns of tiles, and tiles; some may have neither link nor node.
    pub rows: usize,
    pub columns: usize,
    pub tiles: usize,
    /// Row and column of each tile: a table, since divisions are slow.
    row_of: [u8; 64],
    column_of: [u8; 64],
    /// Tiles of links come first, global links behind the others; then the tiles of each share of nodes.
    pub ports: usize,
    /// Tiles of links of a router that has nodes: where its processor tiles begin.
    pub ports_beside_nodes: usize,
    pub first_global: usize,
    /// Global links of a router.
    pub globals: usize,
    pub shares: usize,
    pub nodes_per_share: usize,
    pub tiles_per_share: usize,
    /// VCs of a class, and of both classes.
    pub vcs: usize,
    pub all_vcs: usize,
    /// VCs that a packet of the first group may use before its first global link, less one: where PAR has a
    /// VC more.
    pub extra: u32,
    /// How the VCs of an input queue share it, and its shared flits.
    pub rules: Rules,
    pub shared: u32,
    /// Flits per tick on a bus.
    pub bus: u32,
    pub route_ticks: u64,
    pub row_ticks: u64,
    pub column_ticks: u64,
    pub netlink_ticks: u64,
    /// Thousandths of a tick that a flit takes to or from a node; on a link, by class.
    pub netlink_flit: u64,
    pub flit: [u64; CLASSES],
    pub latency: [u64; CLASSES],
    /// Flits whose credits are not back only because a link that never rests is so long, by class.
    pub in_flight: [u32; CLASSES],
}

impl Tables {
    /// From a checked configuration.
    pub fn new(config: &TiledConfig) -> Self {
        let wiring = config.topology.wiring();
        let routes = routes(config, &wiring, |_, _| true);
        let globals = match &config.topology {
            SwitchedTopology::Dragonfly(dragonfly) => dragonfly.global_ports as usize,
            SwitchedTopology::FatTree(_) | SwitchedTopology::Torus(_) => 0,
        };
        let r = &config.router;
        let most = (0..wiring.routers()).map(|router| wiring.nodes_at(router).len()).max().unwrap_or(0);
        let shares = most.div_ceil(r.nodes_per_share as usize);
        let ports = wiring.ports();
        let class = |i: usize| wiring.classes().get(i).map(|class| &config.link[class]);
        let all_vcs = config.vcs();
        let constants = Constants {
            rows: r.rows as usize,
            columns: r.columns as usize,
            tiles: (r.rows * r.columns) as usize,
            row_of: std::array::from_fn(|tile| (tile / r.columns as usize) as u8),
            column_of: std::array::from_fn(|tile| (tile % r.columns as usize) as u8),
            ports,
            ports_beside_nodes: config.ports_beside_nodes(&wiring),
            first_global: ports - globals,
            globals,
            shares,
            nodes_per_share: r.nodes_per_share as usize,
            tiles_per_share: r.tiles_per_share as usize,
            vcs: r.vcs as usize,
            all_vcs: all_vcs as usize,
            extra: u32::from(r.vcs > 4),
            rules: Rules { reserved: r.input_reserved_flits, times: r.input_share },
            shared: r.input_flits - all_vcs * r.input_reserved_flits,
            bus: r.bus_flits_per_tick,
            route_ticks: r.route_ticks.into(),
            row_ticks: r.row_ticks.into(),
            column_ticks: r.column_ticks.into(),
            netlink_ticks: r.netlink_ticks.into(),
            netlink_flit: r.netlink_flit_milliticks.into(),
            flit: std::array::from_fn(|i| class(i).map_or(0, |c| c.flit_milliticks.into())),
            latency: std::array::from_fn(|i| class(i).map_or(0, |c| c.latency_ticks.into())),
            in_flight: std::array::from_fn(|i| class(i).map_or(0, |c| in_flight(config, c))),
        };
        Tables { config: config.clone(), wiring, routes, constants, is_patched: false }
    }

    /// The shortest time in which routers hear of one another, ticks.
    pub fn shortest(&self) -> u64 {
        let links = self.constants.latency.iter().take(self.wiring.classes().len());
        // They know the loads of remote routers' links as of at least one period ago.
        let period = self.config.routing.global_load_period_ticks.into();
        links.fold(period, |shortest, &latency| latency.min(shortest))
    }

    /// The same with routes over working links only; `works` takes a router and a port.
    pub fn around(&self, works: impl Fn(u32, usize) -> bool) -> Self {
        Tables {
            config: self.config.clone(),
            wiring: self.wiring.clone(),
            routes: routes(&self.config, &self.wiring, works),
            constants: self.constants,
            is_patched: true,
        }
    }
}

/// Fills the route tables.
fn routes(config: &TiledConfig, wiring: &Wiring, works: impl Fn(u32, usize) -> bool) -> Routes {
    match &config.topology {
        SwitchedTopology::Dragonfly(dragonfly) => {
            let paths = config.routing.minimal_paths;
            Routes::Dragonfly(DragonflyRoutes::new(wiring, &dragonfly.group, paths, works))
        }
        SwitchedTopology::FatTree(tree) => {
            Routes::FatTree(FatTreeRoutes::new(&FatTree::new(tree), wiring, works))
        }
        SwitchedTopology::Torus(torus) => Routes::Torus(RouterTorusRoutes::new(torus)),
    }
}

/// Flits that leave while the first of them crosses the link and the route tables and its credit returns,
/// plus one packet, since a packet's credits return together.
fn in_flight(config: &TiledConfig, link: &LinkClass) -> u32 {
    let round_trip = 2 * link.latency_ticks + config.router.route_ticks;
    let flits = (u64::from(round_trip) * 1000).div_ceil(link.flit_milliticks.into());
    u32::try_from(flits).unwrap_or(u32::MAX).saturating_add(config.packet.flits_max())
}

impl Constants {
    /// The space of an empty input queue.
    pub fn room(&self) -> Room {
        Room { used: [0; VCS], shared: self.shared, all: 0, leaving: (0, Leaving::default(), Time::ZERO) }
    }

    /// The row of a tile.
    #[inline]
    pub fn row(&self, tile: usize) -> usize {
        self.row_of[tile % 64].into()
    }

    /// The column of a tile.
    #[inline]
    pub fn column(&self, tile: usize) -> usize {
        self.column_of[tile % 64].into()
    }

    /// Ticks that a packet takes on a row or column bus.
    #[inline]
    pub fn bus_ticks(&self, flits: u32) -> u64 {
        flits.div_ceil(self.bus).into()
    }

    /// Tiles of links of a router with or without nodes.
    pub fn links_of(&self, has_nodes: bool) -> usize {
        if has_nodes { self.ports_beside_nodes } else { self.ports }
    }

    /// The processor tiles of a share.
    pub fn tiles_of(&self, share: usize) -> std::ops::Range<usize> {
        let first = self.ports_beside_nodes + share * self.tiles_per_share;
        first..first + self.tiles_per_share
    }
}
