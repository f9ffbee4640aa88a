//! Networks of tiled routers, whose unit of flow control is a flit: Cray XC's Aries (Alverson et al., "Cray
//! XC Series Network"), and other high-radix routers described by the same parameters.

use super::{
    ConfigError, DragonflyConfig, FatTreeConfig, LinkControl, RouterTorusConfig, SwitchedFaults, at_most,
    refuse,
};
use crate::router::tiled::{Class, TiledHeader};
use crate::topology::fat_tree::FatTree;
use crate::topology::router_torus;
use crate::topology::wiring::Wiring;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most VCs of a port, of all classes together.
pub const TILED_VCS_MAX: u32 = 8;

/// Most rows and columns of tiles.
pub const SIDE_MAX: u32 = 8;

/// The topology.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SwitchedTopology {
    /// Groups of routers, all connected to all.
    Dragonfly(DragonflyConfig),
    /// Levels of switches above the nodes.
    FatTree(FatTreeConfig),
    /// Rings of routers in several dimensions.
    Torus(RouterTorusConfig),
}

crate::tagged_table!(
    SwitchedTopology,
    "kind",
    TopologyKind,
    Dragonfly(DragonflyConfig),
    FatTree(FatTreeConfig),
    Torus(RouterTorusConfig),
);

impl SwitchedTopology {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            SwitchedTopology::Dragonfly(config) => config.check(),
            SwitchedTopology::FatTree(config) => config.check(),
            SwitchedTopology::Torus(config) => config.check(),
        }
    }

    /// The routers and links of a checked configuration.
    pub fn wiring(&self) -> Wiring {
        match self {
            SwitchedTopology::Dragonfly(config) => config.wiring(),
            SwitchedTopology::FatTree(config) => FatTree::new(config).wiring(),
            SwitchedTopology::Torus(config) => router_torus::wiring(config),
        }
    }

    /// Routers of a checked configuration.
    pub fn routers(&self) -> u32 {
        match self {
            SwitchedTopology::Dragonfly(config) => config.routers(),
            SwitchedTopology::FatTree(config) => FatTree::new(config).switches(),
            SwitchedTopology::Torus(config) => config.routers(),
        }
    }

    /// Nodes of a checked configuration.
    pub fn nodes(&self) -> u32 {
        match self {
            SwitchedTopology::Dragonfly(config) => config.nodes(),
            SwitchedTopology::FatTree(config) => config.down.iter().product(),
            SwitchedTopology::Torus(config) => config.nodes(),
        }
    }
}

/// Packets, counted in flits ("Aries Performance").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct FlitFormat {
    /// Bits of a flit.
    pub flit_bits: u32,
    /// Data of a full packet, bytes.
    pub data_max_B: u32,
    /// Flits of a request before its data: destination, address, what is asked.
    pub request_header_flits: u32,
    /// Flits of a response before its data.
    pub response_header_flits: u32,
}

impl FlitFormat {
    /// Flits of a request with so much data.
    pub fn request_flits(&self, bytes: u32) -> u32 {
        self.request_header_flits + self.data_flits(bytes)
    }

    /// Flits of the header of a packet of a class.
    pub fn header_flits(&self, class: Class) -> u32 {
        match class {
            Class::Request => self.request_header_flits,
            Class::Response => self.response_header_flits,
        }
    }

    /// Flits of a response with so much data.
    pub fn response_flits(&self, bytes: u32) -> u32 {
        self.response_header_flits + self.data_flits(bytes)
    }

    fn data_flits(&self, bytes: u32) -> u32 {
        (8 * bytes).div_ceil(self.flit_bits)
    }

    /// Flits of the longest packet.
    pub fn flits_max(&self) -> u32 {
        self.request_flits(self.data_max_B).max(self.response_flits(self.data_max_B))
    }

    fn check(&self) -> Result<(), ConfigError> {
        at_most(&[
            ("packet.flit_bits", self.flit_bits, 4096),
            ("packet.data_max_B", self.data_max_B, 65_536),
            ("packet.request_header_flits", self.request_header_flits, 64),
            ("packet.response_header_flits", self.response_header_flits, 64),
        ])?;
        if self.flit_bits == 0 {
            return refuse("packet.flit_bits", "expected at least 1 bit");
        }
        if self.request_header_flits == 0 || self.response_header_flits == 0 {
            return refuse(
                "packet.request_header_flits",
                "expected at least 1 flit, also of a response's header",
            );
        }
        if self.flits_max() > FLITS_MAX {
            let message =
                format!("expected packets of at most {FLITS_MAX} flits, found {}", self.flits_max());
            return refuse("packet.data_max_B", message);
        }
        Ok(())
    }
}

/// Maximum packet length that a header can encode, flits.
pub const FLITS_MAX: u32 = 63;

/// The common properties of a class's links: green, black and blue ones; those of a group and global ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkClass {
    /// From a packet's first bit at the sending tile to its head in the queue of the receiving one: both link
    /// control blocks, SerDes, wire.
    pub latency_ticks: u32,
    /// The rate of packets' flits on the link, with all that the link adds to them.
    // Here the time of a flit.
    pub flit_milliticks: u32,
}

/// A router of tiles ("Aries Router"): each an input queue with a bus along its row, a sub-switch, and a
/// buffer at the end of its column's buses, in front of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TiledRouter {
    /// Rows of tiles.
    pub rows: u32,
    /// Columns of tiles.
    pub columns: u32,
    /// Nodes that share their processor tiles: the ports of the router that lead to nodes.
    pub nodes_per_share: u32,
    /// Processor tiles that they share.
    pub tiles_per_share: u32,
    /// VCs of each class of packets.
    pub vcs: u32,
    /// Whether responses have VCs of their own.
    pub response_vcs: bool,
    /// Room of an input queue, which all VCs share.
    pub input_flits: u32,
    /// The part of that reserved for each VC.
    pub input_reserved_flits: u32,
    /// Maximum use of the shared space by one VC, as a multiple of the space that is then left.
    pub input_share: u32,
    /// Room of a sub-switch for each of its row's inputs and each VC.
    pub subswitch_flits: u32,
    /// Room of a column buffer for each row of its column and each VC.
    pub column_flits: u32,
    /// The rate of a row or column bus: a whole number of flits per tick.
    pub bus_flits_per_tick: u32,
    /// From a packet's arrival in an input queue to its request for the row bus: the route tables.
    pub route_ticks: u32,
    /// Along the row bus into the sub-switch.
    pub row_ticks: u32,
    /// Along the column bus into the column buffer.
    pub column_ticks: u32,
    /// Between a processor tile and a node's interface.
    pub netlink_ticks: u32,
    /// The rate of flits there.
    // Here the time of a flit.
    pub netlink_flit_milliticks: u32,
}

/// Which global links to a group are on minimal paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MinimalPaths {
    /// Those that the fewest hops lead to from where the packet is.
    Nearest,
    /// All of them.
    Any,
}

/// Whether UGAL-L distinguishes the queues of minimal packets from those of others (Kim et al. 2008, section
/// 4.3.1): minimal ones then begin where the last leg of other routes does, in other VCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcDiscrimination {
    /// It takes all that waits for an output.
    #[default]
    Off,
    /// It takes what waits in the packet's own VC (their UGAL-L VC).
    Always,
    /// The same where both paths begin with the same output, else all that waits (their UGAL-L VC H).
    SameOutput,
}

/// How adaptive routing weighs what it knows of loads ("Cray XC Routing").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadWeights {
    /// Weight of flits that wait in this router for the output: near-end load.
    pub near: u32,
    /// Weight of flits sent and not yet known to have left the next router's input queue, by its credits:
    /// far-end load.
    pub far: u32,
    /// Weight of the load that the next router reports: downstream load.
    pub downstream: u32,
}

/// How packets are routed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchedRouting {
    /// Which global links are on minimal paths to another group.
    pub minimal_paths: MinimalPaths,
    /// Minimal outputs that are compared for a packet.
    pub minimal_candidates: u32,
    /// Non-minimal outputs that are compared for a packet.
    pub nonminimal_candidates: u32,
    /// Weights of loads.
    pub weights: LoadWeights,
    /// Bias of each of the four adaptive modes that a packet may name: the load of a non-minimal output is
    /// multiplied by the first number, in sixteenths, and the second, in flits, is added.
    pub bias: Vec<(u32, u32)>,
    /// The period at which routers send their load to their neighbours.
    pub load_period_ticks: u32,
    /// The period at which UGAL-G learns the loads of other routers' global links.
    pub global_load_period_ticks: u32,
    /// Whether UGAL-L counts only the VC that a packet would take (Kim et al., "VC discrimination").
    pub vc_discrimination: VcDiscrimination,
    /// Whether credits are held back by what they are late, so that a full link behind a link is felt sooner
    /// (Kim et al., "credit round trip").
    pub credit_round_trip: bool,
}

/// A network of tiled routers: everything that the fabric needs to build it.
#[derive(Clone, Debug, PartialEq)]
pub struct TiledConfig {
    /// Ticks per second; a tick is a cycle of the router.
    pub ticks_per_second: u64,
    /// The topology.
    pub topology: SwitchedTopology,
    /// The packets.
    pub packet: FlitFormat,
    /// The links, by class.
    pub link: BTreeMap<String, LinkClass>,
    /// The routers.
    pub router: TiledRouter,
    /// How packets are routed.
    pub routing: SwitchedRouting,
    /// The link control blocks, where what they do can be seen.
    pub link_control: Option<LinkControl>,
    /// Errors and failures.
    pub faults: SwitchedFaults,
}

impl TiledConfig {
    /// A Cray XC with `groups` groups and `cables` cables between each two; the same values as
    /// `machines/xc.toml`, whose comments give each source.
    pub fn cray_xc(groups: u32, cables: u32) -> Self {
        let class = |latency_ticks, flit_milliticks| LinkClass { latency_ticks, flit_milliticks };
        TiledConfig {
            ticks_per_second: 875_000_000,
            topology: SwitchedTopology::Dragonfly(DragonflyConfig::cray_xc(groups, cables)),
            packet: FlitFormat {
                flit_bits: 48,
                data_max_B: 64,
                request_header_flits: 3,
                response_header_flits: 1,
            },
            link: [
                ("green".into(), class(50, 1111)),
                ("black".into(), class(56, 1111)),
                ("blue".into(), class(62, 1244)),
            ]
            .into(),
            router: TiledRouter {
                rows: 6,
                columns: 8,
                nodes_per_share: 2,
                tiles_per_share: 4,
                vcs: 4,
                response_vcs: true,
                input_flits: 640,
                input_reserved_flits: 14,
                input_share: 4,
                subswitch_flits: 28,
                column_flits: 28,
                bus_flits_per_tick: 1,
                route_ticks: 12,
                row_ticks: 10,
                column_ticks: 10,
                netlink_ticks: 20,
                netlink_flit_milliticks: 1000,
            },
            routing: SwitchedRouting {
                minimal_paths: MinimalPaths::Nearest,
                minimal_candidates: 2,
                nonminimal_candidates: 2,
                weights: LoadWeights { near: 1, far: 1, downstream: 1 },
                bias: vec![(32, 16), (24, 8), (16, 0), (8, 0)],
                load_period_ticks: 10,
                global_load_period_ticks: 50,
                vc_discrimination: VcDiscrimination::Off,
                credit_round_trip: false,
            },
            link_control: Some(LinkControl {
                set_flits: 9,
                set_bits: 480,
                crc_bits: 20,
                lanes: 3,
                send_buffer_flits: 160,
            }),
            faults: SwitchedFaults::default(),
        }
    }

    /// Where the processor tiles of a router that has nodes begin: behind the tiles of as many links as any
    /// router has if the matrix has room for both, otherwise as far ahead as the router's own links allow.
    pub fn ports_beside_nodes(&self, wiring: &Wiring) -> usize {
        let r = &self.router;
        let nodes =
            (0..wiring.routers()).map(|router| wiring.nodes_at(router).len() as u32).max().unwrap_or(0);
        let of_nodes = nodes.div_ceil(r.nodes_per_share) * r.tiles_per_share;
        let room = (r.rows * r.columns).saturating_sub(of_nodes) as usize;
        wiring.ports().min(room).max(wiring.ports_beside_nodes())
    }

    /// VCs of a port.
    pub fn vcs(&self) -> u32 {
        self.router.vcs * if self.router.response_vcs { 2 } else { 1 }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.topology.check()?;
        self.packet.check()?;
        // Before anything is wired, which takes memory.
        let (routers, nodes) = (self.topology.routers(), self.topology.nodes());
        if routers >= TiledHeader::ROUTERS_MAX || nodes > TiledHeader::NODES_MAX {
            let message = format!(
                "expected fewer than {} routers and at most {} nodes, found {routers} and {nodes}",
                TiledHeader::ROUTERS_MAX,
                TiledHeader::NODES_MAX
            );
            return refuse("topology", message);
        }
        let wiring = self.topology.wiring();
        for class in wiring.classes() {
            if !self.link.contains_key(class) {
                return refuse(
                    &format!("link.{class}"),
                    "expected the latency_ticks and flit_milliticks of these links",
                );
            }
        }
        for (class, link) in &self.link {
            if !(1..=100_000).contains(&link.latency_ticks) {
                let message = format!("expected 1 to 100000 ticks, found {}", link.latency_ticks);
                return refuse(&format!("link.{class}.latency_ticks"), message);
            }
            if !(1..=1_000_000).contains(&link.flit_milliticks) {
                let message = format!("expected 1 to 1000000, found {}", link.flit_milliticks);
                return refuse(&format!("link.{class}.flit_milliticks"), message);
            }
        }
        self.check_router(&wiring)?;
        self.check_routing()?;
        self.check_link_control()?;
        if matches!(self.topology, SwitchedTopology::Torus(_)) && self.faults.manager.is_some() {
            return refuse(
                "faults.manager",
                "expected none on a torus, whose route tables lead around nothing",
            );
        }
        self.faults.check(&wiring, self.link_control.as_ref())
    }

    fn check_link_control(&self) -> Result<(), ConfigError> {
        let Some(control) = &self.link_control else { return Ok(()) };
        for (key, value, most) in [
            ("link_control.set_flits", control.set_flits, 1000),
            ("link_control.set_bits", control.set_bits, 65_536),
            ("link_control.crc_bits", control.crc_bits, 64),
            ("link_control.lanes", control.lanes, 64),
        ] {
            if !(1..=most).contains(&value) {
                return refuse(key, format!("expected 1 to {most}, found {value}"));
            }
        }
        // With less a link would wait for acknowledgements.
        for (class, link) in self.link.iter().filter(|_| self.faults.bit_error_rate > 0.0) {
            let round_trip = 2000 * u64::from(link.latency_ticks);
            let flits = round_trip.div_ceil(link.flit_milliticks.into()) + u64::from(control.set_flits);
            if u64::from(control.send_buffer_flits) < flits {
                let message = format!(
                    "expected at least {flits} flits, a round trip on {class} links, found {}",
                    control.send_buffer_flits
                );
                return refuse("link_control.send_buffer_flits", message);
            }
        }
        Ok(())
    }

    fn check_router(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        let r = &self.router;
        // First what else is multiplied.
        at_most(&[
            ("router.vcs", r.vcs, TILED_VCS_MAX),
            ("router.rows", r.rows, 64),
            ("router.columns", r.columns, 64),
            ("router.nodes_per_share", r.nodes_per_share, 64),
            ("router.tiles_per_share", r.tiles_per_share, 64),
            ("router.input_reserved_flits", r.input_reserved_flits, 60_000),
        ])?;
        let vcs = self.vcs();
        if r.vcs == 0 || vcs > TILED_VCS_MAX {
            let message = format!("expected 1 to {TILED_VCS_MAX} VCs of all classes, found {vcs}");
            return refuse("router.vcs", message);
        }
        if matches!(self.topology, SwitchedTopology::Torus(_)) && r.vcs < 4 {
            let message = format!(
                "expected at least 4 on a torus, two on each side of a dateline for each leg of a route, found {}",
                r.vcs
            );
            return refuse("router.vcs", message);
        }
        self.check_tiles(wiring)?;
        self.check_room()
    }

    /// The matrix of tiles, and whether it has enough of them.
    fn check_tiles(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        let r = &self.router;
        for (key, side) in [("router.rows", r.rows), ("router.columns", r.columns)] {
            if !(1..=SIDE_MAX).contains(&side) {
                return refuse(key, format!("expected 1 to {SIDE_MAX}, found {side}"));
            }
        }
        if r.nodes_per_share == 0 || r.tiles_per_share == 0 {
            return refuse("router.nodes_per_share", "expected at least 1 node and 1 tile");
        }
        let tiles = |router: u32| {
            let nodes = wiring.nodes_at(router).len() as u32;
            (wiring.ports_of(router) as u32, nodes.div_ceil(r.nodes_per_share) * r.tiles_per_share)
        };
        let all = (0..wiring.routers()).map(tiles);
        let (links, of_nodes) = all.max_by_key(|(links, of_nodes)| links + of_nodes).unwrap_or((0, 0));
        if links + of_nodes > r.rows * r.columns || links + of_nodes > 64 {
            let message = format!(
                "expected tiles for {links} links and {of_nodes} for nodes, and 64 at most, found {}",
                r.rows * r.columns
            );
            return refuse("router.rows", message);
        }
        Ok(())
    }

    /// Queues and buses.
    fn check_room(&self) -> Result<(), ConfigError> {
        let (r, vcs) = (&self.router, self.vcs());
        let most = self.packet.flits_max();
        for (key, room) in [
            ("router.input_reserved_flits", r.input_reserved_flits),
            ("router.subswitch_flits", r.subswitch_flits),
            ("router.column_flits", r.column_flits),
        ] {
            if room < most {
                return refuse(key, format!("expected at least {most} flits, a full packet, found {room}"));
            }
        }
        at_most(&[
            ("router.subswitch_flits", r.subswitch_flits, 255),
            ("router.column_flits", r.column_flits, 255),
            ("router.input_flits", r.input_flits, 60_000),
            ("router.input_share", r.input_share, 1000),
            ("router.bus_flits_per_tick", r.bus_flits_per_tick, 64),
            ("router.route_ticks", r.route_ticks, 10_000),
            ("router.row_ticks", r.row_ticks, 10_000),
            ("router.column_ticks", r.column_ticks, 10_000),
            ("router.netlink_ticks", r.netlink_ticks, 100_000),
            ("router.netlink_flit_milliticks", r.netlink_flit_milliticks, 1_000_000),
        ])?;
        for (key, value) in [
            ("router.bus_flits_per_tick", r.bus_flits_per_tick),
            ("router.row_ticks", r.row_ticks),
            ("router.column_ticks", r.column_ticks),
            ("router.netlink_ticks", r.netlink_ticks),
            ("router.netlink_flit_milliticks", r.netlink_flit_milliticks),
            ("router.input_share", r.input_share),
        ] {
            if value == 0 {
                return refuse(key, "expected at least 1");
            }
        }
        if r.input_flits < vcs * r.input_reserved_flits {
            let message = format!(
                "expected at least {} flits, what is reserved for {vcs} VCs, found {}",
                vcs * r.input_reserved_flits,
                r.input_flits
            );
            return refuse("router.input_flits", message);
        }
        Ok(())
    }

    fn check_routing(&self) -> Result<(), ConfigError> {
        let r = &self.routing;
        for (key, count) in [
            ("routing.minimal_candidates", r.minimal_candidates),
            ("routing.nonminimal_candidates", r.nonminimal_candidates),
        ] {
            if !(1..=8).contains(&count) {
                return refuse(key, format!("expected 1 to 8, found {count}"));
            }
        }
        if r.bias.len() != 4 {
            return refuse("routing.bias", format!("expected four policies, found {}", r.bias.len()));
        }
        for &(sixteenths, flits) in &r.bias {
            at_most(&[("routing.bias", sixteenths, 1024), ("routing.bias", flits, 60_000)])?;
        }
        if r.load_period_ticks == 0 || r.global_load_period_ticks == 0 {
            return refuse(
                "routing.load_period_ticks",
                "expected at least 1 tick, also for global_load_period_ticks",
            );
        }
        at_most(&[
            ("routing.weights.near", r.weights.near, 1000),
            ("routing.weights.far", r.weights.far, 1000),
            ("routing.weights.downstream", r.weights.downstream, 1000),
        ])
    }
}
