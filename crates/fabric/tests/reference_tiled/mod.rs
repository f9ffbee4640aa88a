//! A second, clocked model of the tiled router, as plain as can be: every cycle, every flit. It shares no
//! code with the fabric's but the configuration and the wiring.
//!
//! A packet holds a bus or a link from its first flit to its last, gets it when there is room for all of it
//! behind, and each flit gives its room back as it leaves. Where the fabric counts a bus as taken for as many
//! cycles as a packet has flits, here it waits for flits that are late. For networks in which each router has
//! one route to each other.

mod link;
mod queues;
mod routes;
mod stages;

pub use link::LinkCounts;
use link::{Link, News};
use netloom_fabric::config::TiledConfig;
use netloom_fabric::topology::wiring::Wiring;
use queues::{Arbiter, Queue, Room};
use routes::Routes;
use std::collections::{HashMap, VecDeque};

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub at: u64,
    pub from: u32,
    pub to: u32,
    pub flits: u32,
    pub response: bool,
}

#[derive(Clone, Copy)]
struct Flit {
    packet: usize,
    /// Whether it is a packet's first, and its last.
    first: bool,
    last: bool,
    /// The cycle from which it is there.
    at: u64,
    /// The tile and the VC by which it leaves this router, once it has left the input queue.
    out: usize,
    vc: usize,
}

struct Tile {
    /// Input queue, by VC, and its row bus.
    input: Vec<Queue>,
    row_bus: Arbiter,
    /// Sub-switch: by column of the row and VC; a bus to each row.
    switch: Vec<Queue>,
    column_buses: Vec<Arbiter>,
    /// Column buffer: by row and VC; the link.
    buffer: Vec<Queue>,
    output: Arbiter,
    /// Flits in each of the three.
    held: [u32; 3],
    /// Thousandths of a cycle that a flit takes on the link, or to a node, and those of which it has not yet
    /// made use.
    costs: u64,
    budget: u64,
    /// Room at the other end, or in this tile's own input for its node.
    room: Room,
    /// The link control block, where bits may be wrong.
    link: Option<Link>,
    sent: u64,
}

/// A network of such routers.
pub struct Reference {
    config: TiledConfig,
    wiring: Wiring,
    tiles: Vec<Vec<Tile>>,
    packets: Vec<Spec>,
    routes: Routes,
    /// The waiting packets of each node, and the flits of the one that enters.
    sources: Vec<VecDeque<usize>>,
    entering: Vec<Option<(usize, u32)>>,
    entry_budget: Vec<u64>,
    /// Flits, credits and load reports in flight, by the cycle of their arrival.
    due: HashMap<u64, Vec<Due>>,
    now: u64,
    /// The cycle in which each packet was whole at its node.
    pub arrived: Vec<Option<u64>>,
}

enum Due {
    Flit { router: usize, tile: usize, vc: usize, flit: Flit },
    Credit { router: usize, tile: usize, vc: usize },
    News { router: usize, tile: usize, news: News },
    Whole { packet: usize },
}

impl Reference {
    /// `seed` decides which sets come wrong.
    pub fn new(config: &TiledConfig, packets: &[Spec], seed: u64) -> Self {
        let wiring = config.topology.wiring();
        let r = &config.router;
        assert!(r.bus_flits_per_tick == 1 && r.nodes_per_share == 1 && r.tiles_per_share == 1);
        let nodes = wiring.nodes() as usize;
        let mut sources = vec![VecDeque::new(); nodes];
        for (i, packet) in packets.iter().enumerate() {
            sources[packet.from as usize].push_back(i);
        }
        let tile = |router, tile| Tile::new(config, &wiring, (router, tile), seed);
        let tiles = (0..wiring.routers() as usize)
            .map(|router| (0..(r.rows * r.columns) as usize).map(|t| tile(router, t)).collect())
            .collect();
        Reference {
            routes: Routes::new(&config.topology, &wiring),
            tiles,
            wiring,
            packets: packets.to_vec(),
            sources,
            entering: vec![None; nodes],
            entry_budget: vec![0; nodes],
            due: HashMap::new(),
            now: 0,
            arrived: vec![None; packets.len()],
            config: config.clone(),
        }
    }

    /// Runs until every packet has arrived; returns the cycles that it took.
    pub fn run(&mut self) -> u64 {
        while self.arrived.iter().any(Option::is_none) {
            // The list of arrivals is long to look through.
            (0..64).for_each(|_| self.cycle());
            assert!(self.now < 3_000_000, "the reference never ends");
        }
        self.arrived.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Flits that each link has carried, by router and port, each once.
    pub fn carried(&self) -> Vec<(u32, usize, u64)> {
        let ports = self.wiring.ports();
        let link = |router: usize, port: usize| {
            self.wiring.end(router as u32, port).map(|_| (router as u32, port, self.tiles[router][port].sent))
        };
        (0..self.tiles.len()).flat_map(|r| (0..ports).filter_map(move |p| link(r, p))).collect()
    }

    /// The errors on all links.
    pub fn link_counts(&self) -> LinkCounts {
        let mut sum = LinkCounts::default();
        self.tiles
            .iter()
            .flatten()
            .filter_map(|tile| tile.link.as_ref())
            .for_each(|link| sum.add(&link.counts));
        sum
    }

    /// Tiles of a router that are for links.
    fn links_of(&self, router: usize) -> usize {
        links_of(&self.config, &self.wiring, router)
    }

    /// The first VC of a packet's class.
    fn first_vc(&self, packet: usize) -> usize {
        if self.packets[packet].response {
            self.config.vcs() as usize - self.config.router.vcs as usize
        } else {
            0
        }
    }

    /// The tile and the VC by which a packet leaves a router to which it came by this tile and VC.
    fn output_of(&self, router: usize, packet: usize, (tile, vc): (usize, usize)) -> (usize, usize) {
        let (home, slot) = self.wiring.home(self.packets[packet].to);
        if home as usize == router {
            return (self.config.ports_beside_nodes(&self.wiring) + slot, vc);
        }
        let first = self.first_vc(packet);
        let came = (tile < self.links_of(router)).then(|| (tile, vc - first));
        let (port, vc) = self.routes.next(router, home as usize, came);
        (port, first + vc)
    }

    /// Each stage acts on what was there when the cycle began: those before it first, so that they hear a
    /// cycle later of what it frees.
    fn cycle(&mut self) {
        for due in self.due.remove(&self.now).unwrap_or_default() {
            match due {
                Due::Flit { router, tile, vc, flit } => {
                    let tile = &mut self.tiles[router][tile];
                    tile.input[vc].flits.push_back(flit);
                    tile.held[0] += 1;
                }
                Due::Credit { router, tile, vc } => self.tiles[router][tile].room.used[vc] -= 1,
                Due::News { router, tile, news } => {
                    self.tiles[router][tile].link.as_mut().expect("its link control block").hear(news);
                }
                Due::Whole { packet } => self.arrived[packet] = Some(self.now),
            }
        }
        (0..self.sources.len()).for_each(|node| self.enter(node));
        for router in 0..self.tiles.len() {
            let tiles = self.tiles[router].len();
            (0..tiles).for_each(|tile| self.row_bus(router, tile));
            (0..tiles).for_each(|tile| self.column_buses(router, tile));
            (0..tiles).for_each(|tile| self.output(router, tile));
        }
        self.now += 1;
    }

    fn later(&mut self, at: u64, due: Due) {
        self.due.entry(at).or_default().push(due);
    }
}

/// Tiles of a router that are for links.
fn links_of(config: &TiledConfig, wiring: &Wiring, router: usize) -> usize {
    if wiring.nodes_at(router as u32).is_empty() { wiring.ports() } else { config.ports_beside_nodes(wiring) }
}

impl Tile {
    fn new(config: &TiledConfig, wiring: &Wiring, (router, tile): (usize, usize), seed: u64) -> Self {
        let (r, vcs) = (&config.router, config.vcs() as usize);
        let queues = |count: usize, room: u32| (0..count).map(|_| Queue::new(room)).collect();
        let end =
            (tile < links_of(config, wiring, router)).then(|| wiring.end(router as u32, tile)).flatten();
        let class = end.map(|end| &config.link[&wiring.classes()[usize::from(end.class)]]);
        let flit = class.map_or(r.netlink_flit_milliticks, |class| class.flit_milliticks);
        let costs = link::costs(config, wiring, (router, tile), flit);
        Tile {
            input: queues(vcs, 0),
            row_bus: Arbiter::default(),
            switch: queues(r.columns as usize * vcs, r.subswitch_flits),
            column_buses: vec![Arbiter::default(); r.rows as usize],
            buffer: queues(r.rows as usize * vcs, r.column_flits),
            output: Arbiter::default(),
            held: [0; 3],
            costs,
            budget: 0,
            room: Room::new(config),
            link: class
                .and_then(|class| Link::new(config, class, costs, seed << 32 | (router << 8 | tile) as u64)),
            sent: 0,
        }
    }
}
