//! Route planning around dead nodes and links, by software at the sender.
//!
//! "The hardware does not have the capability to route around "dead" nodes or links, however, software can
//! set the hint bits appropriately so that such nodes are avoided" (Blumrich et al., section 2). This is that
//! software: for each pair of nodes it finds hint bits with which a packet always arrives, over working links
//! and with a working escape route from every node that the packet may reach; or a relay that receives the
//! packet and forwards it. `docs/faults.md` shows why the routes that it considers safe are deadlock-free,
//! and gives measurements.

use super::hints;
use crate::config::{EscapeOrder, HalfwayTie};
use crate::packet::Header;
use crate::topology::torus::{Coordinates, Torus};
use std::collections::HashSet;

/// One packet's route through the network: from an injection FIFO to a reception FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The node that injects it.
    pub from: u32,
    /// The node that receives it.
    pub to: u32,
    /// Its hint bits; in some rings they may select the longer direction.
    pub hints: u16,
    /// Whether it must be statically routed.
    pub fixed: bool,
    /// Links on its route.
    pub hops: u32,
}

/// How a node reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// By one packet.
    Direct(Leg),
    /// Through a relay, whose software receives the whole packet and forwards it.
    Relay(Leg, Leg),
}

impl Plan {
    /// The leg that the sender injects.
    pub fn first(&self) -> Leg {
        match *self {
            Plan::Direct(leg) | Plan::Relay(leg, _) => leg,
        }
    }

    /// The leg that the relay injects, if any.
    pub fn second(&self) -> Option<Leg> {
        match *self {
            Plan::Direct(_) => None,
            Plan::Relay(_, leg) => Some(leg),
        }
    }

    /// Links on the whole route.
    pub fn hops(&self) -> u32 {
        self.first().hops + self.second().map_or(0, |leg| leg.hops)
    }
}

/// Which alternative is preferred if the minimal route is not safe for a dynamic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Any dynamic route, however long, before a static one.
    Dynamic,
    /// The fewest hops, and among equals dynamic before static.
    Short,
}

/// Finds plans. It stores only the list of dead nodes and links: plans are computed on demand, and depend
/// only on the machine and the pair.
#[derive(Clone, Debug)]
pub struct Planner {
    torus: Torus,
    order: EscapeOrder,
    tie: HalfwayTie,
    preference: Preference,
    dead_nodes: Vec<Coordinates>,
    /// Each direction of each dead link between working nodes: the node at which it begins, and the port.
    dead_links: Vec<(Coordinates, usize)>,
}

impl Planner {
    /// A planner for a machine whose escape and static routes follow `order` and whose hardware breaks ties
    /// by `tie`. It prefers short routes, which were measured to be faster under load.
    pub fn new(torus: &Torus, order: EscapeOrder, tie: HalfwayTie) -> Self {
        let mut dead_links = vec![];
        for node in 0..torus.nodes() {
            let is_dead = |n| torus.dead_nodes().binary_search(&n).is_ok();
            if is_dead(node) {
                continue;
            }
            for port in (0..torus.ports()).filter(|&p| torus.is_dead(node, p)) {
                if torus.neighbour(node, port).is_some_and(|n| !is_dead(n)) {
                    dead_links.push((torus.coordinates(node), port));
                }
            }
        }
        let mut dead_nodes: Vec<_> = torus.dead_nodes().iter().map(|&n| torus.coordinates(n)).collect();
        dead_nodes.dedup();
        Planner { torus: torus.clone(), order, tie, preference: Preference::Short, dead_nodes, dead_links }
    }

    /// The same planner with another preference.
    pub fn prefer(self, preference: Preference) -> Self {
        Planner { preference, ..self }
    }

    /// The best route from one node to another: minimal and dynamic if that is safe; otherwise another single
    /// packet, dynamic or static according to the preference; otherwise the relay with the fewest hops in
    /// total. `None` if there is no route: see [`Planner::unreachable`].
    pub fn plan(&self, from: u32, to: u32) -> Option<Plan> {
        self.search(from, to, true)
    }

    /// The same for packets that must be statically routed, such as high-priority ones.
    pub fn plan_static(&self, from: u32, to: u32) -> Option<Plan> {
        self.search(from, to, false)
    }

    /// A plan for packets that must be statically routed (`fixed`), or for others.
    pub fn plan_for(&self, from: u32, to: u32, fixed: bool) -> Option<Plan> {
        self.search(from, to, !fixed)
    }

    /// Whether there is no plan: one of the two is dead, or no relay connects them.
    pub fn unreachable(&self, from: u32, to: u32) -> bool {
        self.plan(from, to).is_none()
    }

    /// All ordered pairs of working nodes without a plan.
    pub fn out_of_reach(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let nodes = self.torus.nodes();
        (0..nodes).filter(|&a| !self.is_dead(a)).flat_map(move |a| {
            (0..nodes).filter(move |&b| !self.is_dead(b) && self.unreachable(a, b)).map(move |b| (a, b))
        })
    }

    /// The header of a leg's packet of `chunks`; `flags` of HIGH and STATIC.
    pub fn header(&self, leg: &Leg, chunks: u32, flags: u16) -> Header {
        let flags = if leg.fixed { flags | Header::STATIC } else { flags };
        Header::new(self.torus.coordinates(leg.to), leg.hints, chunks, flags)
    }

    fn is_dead(&self, node: u32) -> bool {
        self.torus.dead_nodes().binary_search(&node).is_ok()
    }

    fn search(&self, from: u32, to: u32, dynamic: bool) -> Option<Plan> {
        if self.is_dead(from) || self.is_dead(to) {
            return None;
        }
        let (a, b) = (self.torus.coordinates(from), self.torus.coordinates(to));
        if let Some(leg) = self.leg(a, b, dynamic) {
            return Some(Plan::Direct(leg));
        }
        self.relay(a, b, dynamic).map(|(first, second)| Plan::Relay(first, second))
    }

    /// The best route without a relay between working nodes.
    fn leg(&self, from: Coordinates, to: Coordinates, dynamic: bool) -> Option<Leg> {
        let make = |hints: u16, fixed: bool| {
            let header = Header::new(to, hints, 1, 0);
            let hops = hints::hops(&self.torus, from, header);
            Leg { from: self.torus.node(from), to: self.torus.node(to), hints, fixed, hops }
        };
        let usual = hints::minimal(&self.torus, from, to, self.tie);
        let area = self.area(from, to, usual);
        if area.clear() || dynamic && area.dynamic() {
            return Some(make(usual, !dynamic));
        }
        // The other directions around its rings. Among equally long ones, pairs choose different ones to
        // spread the load.
        let mut candidates = vec![usual];
        for d in (0..self.torus.dimensions()).filter(|&d| self.torus.wraps(d)) {
            let both = 0b11 << (2 * d);
            if usual & both != 0 {
                candidates.extend_from_within(..);
                let half = candidates.len() / 2;
                candidates[half..].iter_mut().for_each(|hints| *hints ^= both);
            }
        }
        let pair = mix(u64::from(self.torus.node(from)) << 32 | u64::from(self.torus.node(to)));
        let mut candidates: Vec<(u32, bool, u64, u16)> = candidates
            .into_iter()
            .map(|hints| (make(hints, false).hops, hints != usual, mix(pair ^ u64::from(hints)), hints))
            .collect();
        candidates.sort_unstable();
        let areas: Vec<Area> = candidates.iter().map(|candidate| self.area(from, to, candidate.3)).collect();
        let found = |fixed: bool| areas.iter().position(if fixed { Area::fixed } else { Area::dynamic });
        let (dynamic, fixed) = (if dynamic { found(false) } else { None }, found(true));
        match (dynamic, fixed) {
            (Some(i), Some(j))
                if self.preference == Preference::Short && candidates[j].0 < candidates[i].0 =>
            {
                Some(make(candidates[j].3, true))
            }
            (Some(i), _) => Some(make(candidates[i].3, false)),
            (None, j) => j.map(|j| make(candidates[j].3, true)),
        }
    }

    /// The relay with the shortest route. Relays are tried in the order of the lower bounds of their routes,
    /// so the search ends soon if one is close; each pair starts at a different position in that order, which
    /// spreads the load over relays.
    fn relay(&self, from: Coordinates, to: Coordinates, dynamic: bool) -> Option<(Leg, Leg)> {
        let dimensions = self.torus.dimensions();
        let apart = |d: usize, a: u8, b: u8| {
            let (direct, k) = (u32::from(a.abs_diff(b)), self.torus.length(d));
            if self.torus.wraps(d) { direct.min(k - direct) } else { direct }
        };
        let mut seed = mix(u64::from(self.torus.node(from)) << 32 | u64::from(self.torus.node(to)));
        // The extra hops of each coordinate over the shortest route.
        let extra: Vec<Vec<(u32, u8)>> = (0..dimensions)
            .map(|d| {
                let k = self.torus.length(d);
                seed = mix(seed);
                let of = |x| apart(d, from[d], x) + apart(d, x, to[d]) - apart(d, from[d], to[d]);
                (0..k).map(|i| ((u64::from(i) + seed) % u64::from(k)) as u8).map(|x| (of(x), x)).collect()
            })
            .collect();
        let least: u32 = (0..dimensions).map(|d| apart(d, from[d], to[d])).sum();
        let most: u32 = extra.iter().map(|e| e.iter().map(|x| x.0).max().unwrap_or(0)).sum();
        let mut best: Option<(Leg, Leg)> = None;
        for more in 0..=most {
            let done = |best: &Option<(Leg, Leg)>| {
                best.is_some_and(|(first, second)| first.hops + second.hops <= least + more)
            };
            if done(&best) {
                break;
            }
            each(&extra, more, &mut Coordinates::default(), 0, &mut |at| {
                if at != from && at != to && !self.dead_nodes.contains(&at) {
                    let first = self.leg(from, at, dynamic);
                    if let Some(first) = first
                        && let Some(second) = self.leg(at, to, dynamic)
                        && best.is_none_or(|b| first.hops + second.hops < b.0.hops + b.1.hops)
                    {
                        best = Some((first, second));
                    }
                }
                done(&best)
            });
        }
        best
    }

    /// The nodes that a packet with these hint bits may reach, and the dead ones among them.
    fn area(&self, from: Coordinates, to: Coordinates, hints: u16) -> Area {
        let mut area = Area::default();
        let mut ports = [None; 5];
        // The directions in the order of escape and static routes.
        let mut left = hints;
        while left != 0 {
            let port = hints::first(left, self.order).trailing_zeros() as usize;
            left &= !(1 << port);
            ports[port / 2] = Some(port);
            area.order[area.directions] = port / 2;
            area.directions += 1;
        }
        let offset = |c: &Coordinates| {
            let mut offset = [0; 5];
            for d in 0..self.torus.dimensions() {
                let k = self.torus.length(d);
                let (c, from) = (u32::from(c[d]), u32::from(from[d]));
                offset[d] = match ports[d] {
                    None if c == from => 0,
                    None => return None,
                    Some(port) if port % 2 == 0 => ((c + k - from) % k) as u8,
                    Some(_) => ((from + k - c) % k) as u8,
                };
            }
            Some(offset)
        };
        area.size = offset(&to).expect("hint bits for each dimension in which the two differ");
        let inside = |o: &Coordinates| o.iter().zip(&area.size).all(|(o, size)| o <= size);
        area.nodes = self.dead_nodes.iter().filter_map(offset).filter(inside).collect();
        area.links = self
            .dead_links
            .iter()
            .filter(|link| ports[link.1 / 2] == Some(link.1))
            .filter_map(|link| Some((offset(&link.0)?, link.1 / 2)))
            .filter(|(o, d)| inside(o) && o[*d] < area.size[*d])
            .collect();
        area
    }
}

/// Calls `f` with all coordinates that add `more` hops to the shortest route, until it returns that it is
/// done.
fn each(
    extra: &[Vec<(u32, u8)>],
    more: u32,
    at: &mut Coordinates,
    d: usize,
    f: &mut dyn FnMut(Coordinates) -> bool,
) -> bool {
    if d == extra.len() {
        return more == 0 && f(*at);
    }
    extra[d].iter().filter(|x| x.0 <= more).any(|&(adds, x)| {
        at[d] = x;
        each(extra, more - adds, at, d + 1, f)
    })
}

/// Spreads pairs over equally good choices, deterministically (the finaliser of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The nodes that a packet may reach with its hint bits: a box with the sender at one corner and the
/// destination at the opposite one. Nodes are identified by their hops from the sender in each dimension, so
/// every move adds one to a coordinate, whichever direction is hinted.
#[derive(Default)]
struct Area {
    /// The hinted dimensions in the order of the escape route.
    order: [usize; 5],
    directions: usize,
    /// The destination.
    size: Coordinates,
    /// Dead nodes in the box.
    nodes: Vec<Coordinates>,
    /// Dead links in the box: start and dimension.
    links: Vec<(Coordinates, usize)>,
}

impl Area {
    /// Whether all nodes and links in it work.
    fn clear(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty()
    }

    /// Whether the link from `at` in dimension `d`, and the node at its other end, work.
    fn alive(&self, at: Coordinates, d: usize) -> bool {
        let mut next = at;
        next[d] += 1;
        !self.nodes.contains(&next) && !self.links.contains(&(at, d))
    }

    /// Whether the single route of a static packet works.
    fn fixed(&self) -> bool {
        let mut at = Coordinates::default();
        for &d in &self.order[..self.directions] {
            while at[d] < self.size[d] {
                if !self.alive(at, d) {
                    return false;
                }
                at[d] += 1;
            }
        }
        true
    }

    /// Whether a dynamic packet always has a move, and a working escape route, at every node that it may
    /// reach. At the sender a move is enough: there it holds no buffer of the network.
    ///
    /// All escape routes work if no reachable node has a dead link next on its escape route: the node behind
    /// that link is reachable too. Then there is always a move as well. So only the dead nodes and links need
    /// checking, and the nodes from which an escape route leads into them.
    fn dynamic(&self) -> bool {
        if self.clear() {
            return true;
        }
        let order = &self.order[..self.directions];
        if self.directions > 0 && !order.iter().any(|&d| self.alive(Coordinates::default(), d)) {
            return false;
        }
        let mut cut_off = HashSet::new();
        let mut comes_to = |at: Coordinates| at != Coordinates::default() && self.comes_to(at, &mut cut_off);
        for &node in &self.nodes {
            for &d in order {
                let mut before = node;
                if node[d] > 0 {
                    before[d] -= 1;
                    if comes_to(before) {
                        return false;
                    }
                }
                if node[d] < self.size[d] {
                    break;
                }
            }
        }
        for &(at, d) in &self.links {
            let is_next = order.iter().take_while(|&&e| e != d).all(|&e| at[e] == self.size[e]);
            if is_next && comes_to(at) {
                return false;
            }
        }
        true
    }

    /// Whether any moves over working links take a packet to `at`; searched backwards, which leads straight
    /// to the sender unless dead nodes are close together. `cut_off` collects nodes for which there are none.
    fn comes_to(&self, at: Coordinates, cut_off: &mut HashSet<Coordinates>) -> bool {
        if at == Coordinates::default() {
            return true;
        }
        if self.nodes.contains(&at) || cut_off.contains(&at) {
            return false;
        }
        for d in (0..at.len()).filter(|&d| at[d] > 0) {
            let mut before = at;
            before[d] -= 1;
            if !self.links.contains(&(before, d)) && self.comes_to(before, cut_off) {
                return true;
            }
        }
        cut_off.insert(at);
        false
    }
}
