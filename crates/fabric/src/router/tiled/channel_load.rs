//! Throughput bound of links: the load of each channel if packets choose their routes at random, regardless
//! of loads (Dally and Towles, Principles and Practices of Interconnection Networks, 3.3.1). The channel with
//! the highest load saturates first, which bounds the rate at which all nodes can send.
//!
//! Routes are followed as routers would choose them, with probabilities instead of random draws: a
//! non-minimal route consists of two minimal ones, to the random router or group and on from there, and the
//! loads of all packets on either add up.

use super::header::{Class, Mode, TiledHeader};
use super::route::Via;
use super::tables::Tables;
use crate::config::TiledConfig;
use crate::router::bits::bits;
use crate::routing::Routes;

/// Maximum number of routers of a network that is analysed: the work grows with the third power.
const ROUTERS_MAX: u32 = 1024;
/// Number of stages that a header can express.
const STAGES: usize = 16;

/// Injection bandwidth at which the first link, of a node or of the network, saturates, flits per tick and
/// node, if all sending nodes send at the same rate: `rates` returns, for a node, its destinations and the
/// fraction of its packets for each. `None` for routing that depends on loads, and for networks that are too
/// large.
pub fn channel_bound(
    config: &TiledConfig,
    mode: Mode,
    rates: impl Fn(u32, &mut dyn FnMut(u32, f64)),
) -> Option<f64> {
    if config.topology.routers() > ROUTERS_MAX
        || !matches!(mode, Mode::Minimal | Mode::Valiant | Mode::ValiantGroup)
    {
        return None;
    }
    let tables = Tables::new(config);
    let w = &tables.wiring;
    let mut traffic = Matrix::new(w.routers());
    let (mut out, mut into) = (vec![0.0; w.nodes() as usize], vec![0.0; w.nodes() as usize]);
    for node in 0..w.nodes() {
        rates(node, &mut |to, rate| {
            *traffic.at(w.home(node).0, w.home(to).0) += rate;
            out[node as usize] += rate;
            into[to as usize] += rate;
        });
    }
    let mut walk = Walk { loads: vec![0.0; w.routers() as usize * w.ports()], tables: &tables };
    let legs = walk.parts(&traffic, mode);
    for to in 0..w.routers() {
        let from: Vec<(u32, f64)> = (0..w.routers()).map(|from| (from, legs.of(from, to))).collect();
        walk.spread(None, to, from.into_iter().filter(|&(from, rate)| from != to && rate > 0.0));
    }
    let most = walk.busiest().max(tables.busiest_share(&out)).max(tables.busiest_share(&into));
    (most > 0.0).then(|| 1.0 / most)
}

/// A number for each pair of routers.
struct Matrix {
    routers: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(routers: u32) -> Self {
        let routers = routers as usize;
        Matrix { routers, values: vec![0.0; routers * routers] }
    }

    fn at(&mut self, from: u32, to: u32) -> &mut f64 {
        &mut self.values[from as usize * self.routers + to as usize]
    }

    fn of(&self, from: u32, to: u32) -> f64 {
        self.values[from as usize * self.routers + to as usize]
    }
}

/// The state of the traversal of routes.
struct Walk<'a> {
    tables: &'a Tables,
    /// By router and port.
    loads: Vec<f64>,
}

impl Walk<'_> {
    /// The minimal traffic from each router to each other, whole routes or legs. Legs to a group are
    /// traversed at once.
    fn parts(&mut self, traffic: &Matrix, mode: Mode) -> Matrix {
        let w = &self.tables.wiring;
        let mut legs = Matrix::new(w.routers());
        for from in 0..w.routers() {
            let mut by_group = vec![];
            for home in (0..w.routers()).filter(|&home| home != from) {
                let rate = traffic.of(from, home);
                let local = w.group(from) == w.group(home);
                if rate == 0.0 {
                    continue;
                }
                if mode == Mode::Minimal || matches!(self.tables.routes, Routes::FatTree(_)) {
                    *legs.at(from, home) += rate;
                } else if mode == Mode::Valiant || local {
                    let among = if local { w.routers_of(w.group(from)) } else { 0..w.routers() };
                    let share = rate / among.len() as f64;
                    for root in among {
                        if root == from || root == home {
                            *legs.at(from, home) += share;
                        } else {
                            *legs.at(from, root) += share;
                            *legs.at(root, home) += share;
                        }
                    }
                } else if w.groups() < 3 {
                    *legs.at(from, home) += rate;
                } else {
                    by_group.push((home, rate / f64::from(w.groups() - 2)));
                }
            }
            for group in (0..w.groups()).filter(|&group| group != w.group(from)) {
                let on: Vec<(u32, f64)> =
                    by_group.iter().filter(|on| w.group(on.0) != group).copied().collect();
                let sum: f64 = on.iter().map(|on| on.1).sum();
                if sum == 0.0 {
                    continue;
                }
                for (at, rate) in self.spread(Some((group, true)), on[0].0, [(from, sum)].into_iter()) {
                    on.iter().filter(|on| on.0 != at).for_each(|on| *legs.at(at, on.0) += on.1 * rate / sum);
                }
            }
        }
        legs
    }

    /// Traverses minimal legs from routers to a group or router; returns where they end, and with what rate.
    fn spread(&mut self, via: Via, home: u32, from: impl Iterator<Item = (u32, f64)>) -> Vec<(u32, f64)> {
        let w = &self.tables.wiring;
        let header = TiledHeader::new(0, 1, Class::Request, Mode::Minimal, 0);
        let mut there: Vec<(u32, f64)> = vec![];
        // The rate at each router and stage, and the nonzero ones among them.
        let mut rates = vec![0.0; w.routers() as usize * STAGES];
        let mut next: Vec<usize> = vec![];
        let add = |rates: &mut Vec<f64>, next: &mut Vec<usize>, at: usize, rate: f64| {
            if rates[at] == 0.0 {
                next.push(at);
            }
            rates[at] += rate;
        };
        from.for_each(|(router, rate)| add(&mut rates, &mut next, router as usize * STAGES, rate));
        while !next.is_empty() {
            let here: Vec<(usize, f64)> =
                next.drain(..).map(|at| (at, std::mem::take(&mut rates[at]))).collect();
            for (at, rate) in here {
                let (router, stage) = ((at / STAGES) as u32, at % STAGES);
                let is_there = via.map_or(router == home, |(group, _)| w.group(router) == group);
                if is_there {
                    there.push((router, rate));
                    continue;
                }
                let ports = self.tables.minimal_ports(router, via, home, stage);
                let share = rate / f64::from(ports.count_ones());
                for port in bits(ports) {
                    let end = w.end(router, port).expect("a link");
                    let after = self.tables.leave(header.at_stage(stage), (router, port), end.class.into()).0;
                    self.loads[router as usize * w.ports() + port] += share;
                    add(&mut rates, &mut next, end.router as usize * STAGES + after.stage(), share);
                }
            }
        }
        there
    }

    /// The utilization of the busiest link.
    fn busiest(&self) -> f64 {
        let w = &self.tables.wiring;
        let busy = |(place, load): (usize, &f64)| {
            let end = w.end((place / w.ports()) as u32, place % w.ports())?;
            Some(load * self.tables.constants.flit[usize::from(end.class)] as f64 / 1000.0)
        };
        self.loads.iter().enumerate().filter_map(busy).fold(0.0, f64::max)
    }
}

impl Tables {
    /// The utilization of the busiest processor tiles at these rates of nodes, in either direction.
    fn busiest_share(&self, of_nodes: &[f64]) -> f64 {
        let k = &self.constants;
        let mut most = 0.0f64;
        for router in 0..self.wiring.routers() {
            let nodes: Vec<f64> = self.wiring.nodes_at(router).map(|node| of_nodes[node as usize]).collect();
            for share in nodes.chunks(k.nodes_per_share) {
                let flits = share.iter().sum::<f64>() / k.tiles_per_share as f64;
                most = most.max(flits * k.netlink_flit as f64 / 1000.0);
            }
        }
        most
    }
}
