//! Ways round dead nodes and links, by software at the sender.
//!
//! "The hardware does not have the capability to route around "dead" nodes or links, however, software can set the hint
//! bits appropriately so that such nodes are avoided" (Blumrich et al., section 2). This is that software: for each pair
//! of nodes it finds hint bits with which a packet always arrives, over links that work and with an escape route that
//! works from wherever the packet may be; or a relay that receives the packet and sends it on. `docs/faults.md` argues why
//! what it calls safe is free of deadlock, and gives numbers.

use super::hints;
use crate::config::{EscapeOrder, HalfwayTie};
use crate::packet::Header;
use crate::topology::torus::{Coordinates, Torus};
use std::collections::HashSet;

/// One packet's way through the network: from an injection FIFO to a reception FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Where it is injected.
    pub from: u32,
    /// Where it is received.
    pub to: u32,
    /// Its hint bits; in some rings they may lead the long way round.
    pub hints: u16,
    /// Whether it must be statically routed.
    pub fixed: bool,
    /// Links on its way.
    pub hops: u32,
}

/// How a node reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// By one packet.
    Direct(Leg),
    /// By way of a node whose software receives the packet whole and sends it on.
    Relay(Leg, Leg),
}

impl Plan {
    /// The packet that the sender injects.
    pub fn first(&self) -> Leg {
        match *self {
            Plan::Direct(leg) | Plan::Relay(leg, _) => leg,
        }
    }

    /// The packet that the relay injects, if there is one.
    pub fn second(&self) -> Option<Leg> {
        match *self {
            Plan::Direct(_) => None,
            Plan::Relay(_, leg) => Some(leg),
        }
    }

    /// Links on the whole way.
    pub fn hops(&self) -> u32 {
        self.first().hops + self.second().map_or(0, |leg| leg.hops)
    }
}

/// What comes before what where the minimal way is not safe for a dynamic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Any dynamic way, however long, before a static one.
    Dynamic,
    /// The fewest hops, and among those dynamic before static.
    Short,
}

/// Finds plans. Its memory is that of the list of what is dead: plans are computed, not stored, and depend on nothing but the
/// machine and the pair.
#[derive(Clone, Debug)]
pub struct Planner {
    torus: Torus,
    order: EscapeOrder,
    tie: HalfwayTie,
    preference: Preference,
    dead_nodes: Vec<Coordinates>,
    /// Each direction of each dead link between nodes that work: where it begins, and the port there.
    dead_links: Vec<(Coordinates, usize)>,
}

impl Planner {
    /// For a machine whose escape and static routes keep to `order` and whose hardware breaks ties as `tie` says. It prefers
    /// short ways, which were measured to be faster under load.
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

    /// The same with another preference.
    pub fn prefer(self, preference: Preference) -> Self {
        Planner { preference, ..self }
    }

    /// The best way from one node to another: minimal and dynamic if that is safe; else another by one packet, dynamic or
    /// static as the planner prefers; else by the relay with the fewest hops in all. None if there is none: see
    /// [`Planner::unreachable`].
    pub fn plan(&self, from: u32, to: u32) -> Option<Plan> {
        self.search(from, to, true)
    }

    /// The same for packets that must be statically routed anyway, such as high-priority ones.
    pub fn plan_static(&self, from: u32, to: u32) -> Option<Plan> {
        self.search(from, to, false)
    }

    /// A plan for packets that are routed statically anyway, or for the others.
    pub fn plan_for(&self, from: u32, to: u32, fixed: bool) -> Option<Plan> {
        self.search(from, to, !fixed)
    }

    /// Whether no plan exists: one of the two is dead, or not even a relay helps.
    pub fn unreachable(&self, from: u32, to: u32) -> bool {
        self.plan(from, to).is_none()
    }

    /// All ordered pairs of nodes that work, but that have no plan.
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

    /// The best way without a relay between nodes that work.
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
        // The other ways round its rings. Of those equally long, pairs take different ones, so that none is crowded.
        let mut ways = vec![usual];
        for d in (0..self.torus.dimensions()).filter(|&d| self.torus.wraps(d)) {
            let both = 0b11 << (2 * d);
            if usual & both != 0 {
                ways.extend_from_within(..);
                let half = ways.len() / 2;
                ways[half..].iter_mut().for_each(|hints| *hints ^= both);
            }
        }
        let pair = mix(u64::from(self.torus.node(from)) << 32 | u64::from(self.torus.node(to)));
        let mut ways: Vec<(u32, bool, u64, u16)> = ways
            .into_iter()
            .map(|hints| (make(hints, false).hops, hints != usual, mix(pair ^ u64::from(hints)), hints))
            .collect();
        ways.sort_unstable();
        let areas: Vec<Area> = ways.iter().map(|way| self.area(from, to, way.3)).collect();
        let found = |fixed: bool| areas.iter().position(if fixed { Area::fixed } else { Area::dynamic });
        let (dynamic, fixed) = (if dynamic { found(false) } else { None }, found(true));
        match (dynamic, fixed) {
            (Some(i), Some(j)) if self.preference == Preference::Short && ways[j].0 < ways[i].0 => {
                Some(make(ways[j].3, true))
            }
            (Some(i), _) => Some(make(ways[i].3, false)),
            (None, j) => j.map(|j| make(ways[j].3, true)),
        }
    }

    /// The relay that makes the shortest way. Relays are tried in the order of the least that a way by them may take, so the
    /// search ends soon if one is near; the pair decides where in that order it begins, so that relays share the work.
    fn relay(&self, from: Coordinates, to: Coordinates, dynamic: bool) -> Option<(Leg, Leg)> {
        let dimensions = self.torus.dimensions();
        let apart = |d: usize, a: u8, b: u8| {
            let (direct, k) = (u32::from(a.abs_diff(b)), self.torus.length(d));
            if self.torus.wraps(d) { direct.min(k - direct) } else { direct }
        };
        let mut seed = mix(u64::from(self.torus.node(from)) << 32 | u64::from(self.torus.node(to)));
        // What each coordinate adds to the shortest way.
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

    /// Where a packet with these hint bits may come, and what is dead there.
    fn area(&self, from: Coordinates, to: Coordinates, hints: u16) -> Area {
        let mut area = Area::default();
        let mut ports = [None; 5];
        // The directions in the order in which escape and static routes take them.
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

/// Calls `f` with all coordinates that add `more` to the shortest way, until it says that it has enough.
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

/// Spreads pairs over choices that are equally good, the same in every run (the finaliser of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The nodes to which a packet may come that keeps to its hint bits: a box, with the sender at one corner and the
/// destination at the opposite one. Nodes are named by their hops from the sender in each dimension, so that every move adds
/// one to a coordinate, whichever direction is hinted.
#[derive(Default)]
struct Area {
    /// The hinted dimensions in the order of the escape route.
    order: [usize; 5],
    directions: usize,
    /// The destination.
    size: Coordinates,
    /// Dead nodes in the box.
    nodes: Vec<Coordinates>,
    /// Dead links in the box: where they begin and their dimension.
    links: Vec<(Coordinates, usize)>,
}

impl Area {
    /// Whether nothing in it is dead.
    fn clear(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty()
    }

    /// Whether the link from `at` in dimension `d`, and the node at its other end, work.
    fn alive(&self, at: Coordinates, d: usize) -> bool {
        let mut next = at;
        next[d] += 1;
        !self.nodes.contains(&next) && !self.links.contains(&(at, d))
    }

    /// Whether the one route of a static packet works.
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

    /// Whether a dynamic packet always has a move, and an escape route that works, wherever its moves have brought it. At the
    /// sender a move is enough: there it holds no buffer of the network.
    ///
    /// All escape routes work if none of the nodes to which the packet may come has a dead link as its next on the escape
    /// route: the node behind that link is one to which the packet may come too. Then there is always a move as well. So
    /// only what is dead has to be looked at, and the nodes from which an escape route leads into it.
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

    /// Whether any moves over links that work bring a packet to `at`; searched backwards, which leads straight to the sender
    /// unless dead nodes stand close together. `cut_off` collects nodes for which the answer is no.
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
