//! Plans around dead nodes and links, checked by following every route that a packet may take.

use netloom_engine::Stream;
use netloom_fabric::config::{DeadLink, EscapeOrder, HalfwayTie, Topology};
use netloom_fabric::packet::Header;
use netloom_fabric::routing::faults::{Leg, Plan, Planner, Preference};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::HashSet;

const ORDERS: [EscapeOrder; 2] = [EscapeOrder::Dimension, EscapeOrder::Direction];

fn topology(dims: &[u32], wrap: bool, dead: &[Vec<u32>]) -> Topology {
    Topology {
        dims: dims.into(),
        wrap: vec![wrap; dims.len()],
        loopback: false,
        dead_nodes: dead.into(),
        dead_links: vec![],
        ..Topology::default()
    }
}

/// Where a packet goes through `port`, and its header there.
fn hop(torus: &Torus, node: u32, header: Header, port: usize) -> (u32, Header) {
    let next = torus.neighbour(node, port).expect("a link that works");
    (next, header.after_hop(port, torus.coordinates(next)[port / 2], false))
}

fn ports(mask: u16) -> impl Iterator<Item = usize> {
    (0..10).filter(move |p| mask >> p & 1 != 0)
}

/// Whether a packet on the single route arrives over working links.
fn escapes(torus: &Torus, order: EscapeOrder, mut node: u32, mut header: Header) -> bool {
    while header.hints() != 0 {
        let port = hints::first(header.head(), order).trailing_zeros() as usize;
        if torus.is_dead(node, port) {
            return false;
        }
        (node, header) = hop(torus, node, header, port);
    }
    (0..torus.dimensions()).all(|d| header.destination(d) == torus.coordinates(node)[d])
}

/// Whether a leg is safe, by following all possible moves of its packet. Independent of boxes.
fn is_safe(torus: &Torus, order: EscapeOrder, from: u32, header: Header) -> bool {
    let works = |node: u32, port: usize| !torus.is_dead(node, port);
    if header.head() & Header::STATIC != 0 {
        return escapes(torus, order, from, header);
    }
    let mut seen = HashSet::from([from]);
    let mut left = vec![(from, header)];
    while let Some((node, header)) = left.pop() {
        if header.hints() == 0 {
            if (0..torus.dimensions()).any(|d| header.destination(d) != torus.coordinates(node)[d]) {
                return false;
            }
            continue;
        }
        if node != from && !escapes(torus, order, node, header) {
            return false;
        }
        let mut stuck = true;
        for port in ports(header.hints()).filter(|&p| works(node, p)) {
            stuck = false;
            let (next, header) = hop(torus, node, header, port);
            if seen.insert(next) {
                left.push((next, header));
            }
        }
        if stuck {
            return false;
        }
    }
    true
}

fn header(torus: &Torus, to: u32, hints: u16, fixed: bool) -> Header {
    Header::new(torus.coordinates(to), hints, 1, if fixed { Header::STATIC } else { 0 })
}

/// A request to a planner.
#[derive(Clone, Copy)]
struct Wish {
    order: EscapeOrder,
    preference: Preference,
    dynamic: bool,
}

impl Wish {
    fn worth(&self, (fixed, hops): (bool, u32)) -> (u32, u32) {
        match self.preference {
            Preference::Dynamic => (fixed.into(), hops),
            Preference::Short => (hops, fixed.into()),
        }
    }
}

/// The best leg by exhaustive search: (static, hops).
fn best_leg(torus: &Torus, wish: Wish, from: u32, to: u32) -> Option<(bool, u32)> {
    let usual = hints::minimal(torus, torus.coordinates(from), torus.coordinates(to), HalfwayTie::Parity);
    let mut best = None;
    for flip in 0..1u16 << torus.dimensions() {
        let both = (0..torus.dimensions()).filter(|d| flip >> d & 1 != 0).fold(0, |m, d| m | 0b11 << (2 * d));
        let allowed = (0..torus.dimensions())
            .all(|d| flip >> d & 1 == 0 || torus.wraps(d) && usual >> (2 * d) & 3 != 0);
        for fixed in [false, true] {
            let header = header(torus, to, usual ^ both, fixed);
            if allowed && (wish.dynamic || fixed) && is_safe(torus, wish.order, from, header) {
                let found = (fixed, hints::hops(torus, torus.coordinates(from), header));
                if best.is_none_or(|b| wish.worth(found) < wish.worth(b)) {
                    best = Some(found);
                }
            }
        }
    }
    best
}

/// Checks that a leg has its stated properties.
fn check_leg(torus: &Torus, planner: &Planner, order: EscapeOrder, leg: &Leg) {
    let header = planner.header(leg, 8, 0);
    let (from, to) = (torus.coordinates(leg.from), torus.coordinates(leg.to));
    for d in 0..torus.dimensions() {
        let bits = leg.hints >> (2 * d) & 3;
        assert!(if from[d] == to[d] { bits == 0 } else { bits == 1 || bits == 2 }, "{leg:?}");
    }
    assert_eq!(header.head() & Header::STATIC != 0, leg.fixed);
    assert_eq!(hints::hops(torus, from, header), leg.hops);
    assert!(torus.dead_nodes().binary_search(&leg.from).is_err());
    assert!(torus.dead_nodes().binary_search(&leg.to).is_err());
    assert!(is_safe(torus, order, leg.from, header), "{leg:?}");
}

fn check_plan(torus: &Torus, planner: &Planner, order: EscapeOrder, from: u32, to: u32, plan: &Plan) {
    assert_eq!(plan.first().from, from);
    check_leg(torus, planner, order, &plan.first());
    if let Some(second) = plan.second() {
        assert_eq!(plan.first().to, second.from);
        assert!(second.from != from && second.from != to, "a relay is a third node");
        check_leg(torus, planner, order, &second);
    }
    assert_eq!(plan.second().unwrap_or(plan.first()).to, to);
}

fn machines() -> impl Strategy<Value = Topology> {
    let shape = proptest::collection::vec((1u32..6, any::<bool>()), 1..=4)
        .prop_filter("small", |s| s.iter().map(|x| x.0).product::<u32>() <= 72);
    (
        shape,
        proptest::collection::vec(any::<u32>(), 0..6),
        proptest::collection::vec(any::<(u32, u8)>(), 0..5),
    )
        .prop_map(|(shape, nodes, links)| {
            let at = |mut n: u32| -> Vec<u32> {
                shape
                    .iter()
                    .map(|&(k, _)| {
                        let x = n % k;
                        n /= k;
                        x
                    })
                    .collect()
            };
            let link = |(n, p): (u32, u8)| {
                let d = p as usize / 2 % shape.len();
                let sign = if p % 2 == 0 { '+' } else { '-' };
                DeadLink { node: at(n), direction: format!("{sign}{}", &"xyzuv"[d..=d]) }
            };
            Topology {
                dims: shape.iter().map(|x| x.0).collect(),
                wrap: shape.iter().map(|x| x.1).collect(),
                loopback: false,
                dead_nodes: nodes.into_iter().map(at).collect(),
                dead_links: links.into_iter().map(link).collect(),
                ..Topology::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every plan is safe and optimal, and where there is none, none exists.
    #[test]
    fn plans_are_safe_and_best(topology in machines(), direction in any::<bool>(), short in any::<bool>(), pick in any::<u32>()) {
        let torus = Torus::new(&topology);
        let order = ORDERS[usize::from(direction)];
        let preference = if short { Preference::Short } else { Preference::Dynamic };
        let planner = Planner::new(&torus, order, HalfwayTie::Parity).prefer(preference);
        let nodes = torus.nodes();
        let alive = |n: &u32| torus.dead_nodes().binary_search(n).is_err();
        let from = pick % nodes;
        for to in 0..nodes {
            for dynamic in [true, false] {
                let plan = if dynamic { planner.plan(from, to) } else { planner.plan_static(from, to) };
                if !alive(&from) || !alive(&to) {
                    prop_assert_eq!(plan, None);
                    continue;
                }
                let wish = Wish { order, preference, dynamic };
                let best = best_leg(&torus, wish, from, to);
                if let Some(best) = best {
                    let Some(Plan::Direct(leg)) = plan else { panic!("{from} {to}: {best:?}, not {plan:?}") };
                    prop_assert_eq!((leg.fixed, leg.hops), best);
                } else {
                    let relayed = (0..nodes).filter(|r| alive(r) && *r != from && *r != to).filter_map(|relay| {
                        let first = best_leg(&torus, wish, from, relay)?;
                        Some(first.1 + best_leg(&torus, wish, relay, to)?.1)
                    });
                    prop_assert_eq!(plan.map(|p| p.hops()), relayed.min());
                    prop_assert!(plan.is_none_or(|p| p.second().is_some()));
                }
                if let Some(plan) = plan {
                    check_plan(&torus, &planner, order, from, to, &plan);
                    prop_assert!(dynamic || plan.first().fixed && plan.second().is_none_or(|leg| leg.fixed));
                }
            }
        }
    }
}

#[test]
fn nothing_dead_leaves_all_to_the_hardware() {
    for (dims, wrap) in [(vec![8, 5, 4], true), (vec![4, 3, 3], false), (vec![3, 2, 4, 2, 3], true)] {
        let torus = Torus::new(&topology(&dims, wrap, &[]));
        for tie in [HalfwayTie::Parity, HalfwayTie::Plus] {
            let planner = Planner::new(&torus, EscapeOrder::Dimension, tie);
            for (from, to) in (0..torus.nodes()).flat_map(|a| (0..torus.nodes()).map(move |b| (a, b))) {
                let hints = hints::minimal(&torus, torus.coordinates(from), torus.coordinates(to), tie);
                let leg = Leg { from, to, hints, fixed: false, hops: torus.distance(from, to) };
                assert_eq!(planner.plan(from, to), Some(Plan::Direct(leg)));
                assert!(!planner.unreachable(from, to));
            }
        }
    }
}

/// Numbers of pairs by kind of plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needs {
    minimal: u32,
    longer: u32,
    fixed: u32,
    relay: u32,
    none: u32,
    /// Hops in excess of the distance, of all pairs.
    more_hops: u32,
    /// Maximum number of pairs that one relay serves.
    busiest_relay: u32,
}

fn needs(torus: &Torus, planner: &Planner) -> Needs {
    let mut needs = Needs::default();
    let mut serves = vec![0; torus.nodes() as usize];
    let alive: Vec<u32> =
        (0..torus.nodes()).filter(|n| torus.dead_nodes().binary_search(n).is_err()).collect();
    for &from in &alive {
        for &to in alive.iter().filter(|&&to| to != from) {
            let plan = planner.plan(from, to);
            let distance = torus.distance(from, to);
            needs.more_hops += plan.map_or(0, |p| p.hops() - distance);
            match plan {
                None => needs.none += 1,
                Some(Plan::Relay(first, _)) => {
                    needs.relay += 1;
                    serves[first.to as usize] += 1;
                }
                Some(Plan::Direct(leg)) if leg.fixed => needs.fixed += 1,
                Some(Plan::Direct(leg)) if leg.hops > distance => needs.longer += 1,
                Some(_) => needs.minimal += 1,
            }
        }
    }
    needs.busiest_relay = serves.into_iter().max().unwrap_or(0);
    needs
}

fn on_one_line(a: &[u32], b: &[u32]) -> bool {
    a.iter().zip(b).filter(|(a, b)| a != b).count() <= 1
}

fn any_node(stream: &mut Stream, low: &[u32], span: u32) -> Vec<u32> {
    low.iter().map(|l| (l + stream.below(span.into()) as u32) % 8).collect()
}

/// `count` nodes of an 8x8x8 torus, no two on one line, within a cube of side `span` somewhere.
fn dead_nodes(stream: &mut Stream, count: usize, span: u32) -> Vec<Vec<u32>> {
    let low = any_node(stream, &[0; 3], 8);
    loop {
        let dead: Vec<_> = (0..count).map(|_| any_node(stream, &low, span)).collect();
        if (0..count).all(|i| (0..i).all(|j| !on_one_line(&dead[i], &dead[j]))) {
            return dead;
        }
    }
}

fn long() -> bool {
    std::env::var("NETLOOM_LONG").is_ok_and(|v| v == "1")
}

/// Up to three dead nodes in an 8x8x8 torus, no two on one line.
#[test]
fn with_three_dead_nodes_every_pair_has_a_plan() {
    let mut stream = Stream::new(3, 0, 0);
    let triples = if long() { 100 } else { 4 };
    let preferences = [Preference::Short, Preference::Dynamic];
    for (order, preference) in ORDERS.into_iter().flat_map(|o| preferences.map(|p| (o, p))) {
        for (name, count, span) in
            [("1", 1, 8), ("2", 2, 8), ("3 random", 3, 8), ("3 within 3x3x3", 3, 3), ("3 within 2x2x2", 3, 2)]
        {
            let (mut low, mut high) = ([u32::MAX; 6], [0; 6]);
            for _ in 0..triples {
                let dead = dead_nodes(&mut stream, count, span);
                let torus = Torus::new(&topology(&[8, 8, 8], true, &dead));
                let planner = Planner::new(&torus, order, HalfwayTie::Parity).prefer(preference);
                let n = needs(&torus, &planner);
                assert_eq!(n.none, 0, "{dead:?}");
                let all = [n.minimal, n.longer, n.fixed, n.relay, n.more_hops, n.busiest_relay];
                (0..6).for_each(|i| (low[i], high[i]) = (low[i].min(all[i]), high[i].max(all[i])));
            }
            println!("{order:?}, {preference:?}, {name}: from {low:?} to {high:?}");
        }
    }
}

/// The same plans followed hop by hop: a triple of each kind, all pairs.
#[test]
fn every_route_around_three_dead_nodes_arrives() {
    let mut stream = Stream::new(4, 0, 0);
    for order in ORDERS {
        for span in [8, 2] {
            let dead = dead_nodes(&mut stream, 3, span);
            let torus = Torus::new(&topology(&[8, 8, 8], true, &dead));
            let planner = Planner::new(&torus, order, HalfwayTie::Parity);
            let start = stream.below(17) as u32;
            for from in (start..512).step_by(17) {
                for to in 0..512 {
                    if let Some(plan) = planner.plan(from, to) {
                        check_plan(&torus, &planner, order, from, to, &plan);
                    }
                }
            }
        }
    }
}

/// Every triple around one corner, except for the rotations and translations of the torus.
#[test]
fn every_cluster_round_a_corner() {
    let corners: Vec<Vec<u32>> = (0..8u32).map(|c| vec![c & 1, c >> 1 & 1, c >> 2]).collect();
    let mut tried = 0;
    for order in ORDERS {
        for a in 0..8 {
            for b in 0..a {
                for c in 0..b {
                    let dead = [corners[a].clone(), corners[b].clone(), corners[c].clone()];
                    if on_one_line(&dead[0], &dead[1])
                        || on_one_line(&dead[0], &dead[2])
                        || on_one_line(&dead[1], &dead[2])
                    {
                        continue;
                    }
                    let torus = Torus::new(&topology(&[8, 8, 8], true, &dead));
                    let planner = Planner::new(&torus, order, HalfwayTie::Parity);
                    assert_eq!(needs(&torus, &planner).none, 0, "{dead:?}");
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 2 * 8);
}

/// Further cases: unreachable pairs; printed for the document.
#[test]
fn more_and_in_line() {
    let mut stream = Stream::new(5, 0, 0);
    let print = |name: &str, dims: &[u32], wrap: bool, dead: &[Vec<u32>]| {
        let torus = Torus::new(&topology(dims, wrap, dead));
        let planner = Planner::new(&torus, EscapeOrder::Dimension, HalfwayTie::Parity);
        let n = needs(&torus, &planner);
        println!("{name}: {n:?}");
        n.none
    };
    let torus = |name: &str, dead: &[Vec<u32>]| print(name, &[8, 8, 8], true, dead);
    assert_eq!(torus("two in line", &[vec![2, 3, 3], vec![6, 3, 3]]), 0);
    assert_eq!(torus("neighbours", &[vec![3, 3, 2], vec![3, 3, 3]]), 0);
    assert_eq!(torus("three in line", &[vec![0, 3, 3], vec![2, 3, 3], vec![4, 3, 3]]), 0);
    let row: Vec<_> = (0..8).map(|x| vec![x, 3, 3]).collect();
    assert_eq!(torus("a row", &row), 0);
    let plane: Vec<_> = (0..64).map(|i| vec![i % 8, i / 8, 3]).collect();
    assert_eq!(torus("a plane", &plane), 0);
    let round = [[2, 3, 3], [4, 3, 3], [3, 2, 3], [3, 4, 3], [3, 3, 2], [3, 3, 4]].map(|c| c.to_vec());
    assert_eq!(torus("all around a node", &round), 2 * 505);
    for leave in if long() { 0..6 } else { 5..6 } {
        let mut round = round.to_vec();
        round.remove(leave);
        assert_eq!(torus("around a node but one", &round), 0);
    }
    for count in if long() { &[4, 8, 16, 32, 64][..] } else { &[4, 16] } {
        let dead: Vec<_> = (0..*count).map(|_| any_node(&mut stream, &[0; 3], 8)).collect();
        assert_eq!(torus(&format!("random {count}"), &dead), 0);
    }
    assert_eq!(print("mesh", &[6, 6, 6], false, &[vec![1, 0, 0], vec![0, 1, 0]]), 0);
}

/// Pairs that need a second relay: exactly those of the document.
#[test]
fn out_of_reach() {
    let pairs = |dims: &[u32], wrap: bool, order: EscapeOrder, dead: &[Vec<u32>]| -> Vec<[[u8; 3]; 2]> {
        let torus = Torus::new(&topology(dims, wrap, dead));
        let at = |n: u32| torus.coordinates(n)[..3].try_into().expect("three coordinates");
        let planner = Planner::new(&torus, order, HalfwayTie::Parity);
        planner.out_of_reach().map(|(a, b)| [at(a), at(b)]).collect()
    };
    let [dimension, direction] = ORDERS;
    let mesh = pairs(&[6, 6, 6], false, dimension, &[vec![1, 2, 1], vec![0, 2, 0], vec![0, 1, 1]]);
    assert_eq!(mesh, [[[0, 2, 1], [0, 1, 0]]]);
    let mesh = pairs(&[6, 6, 6], false, direction, &[vec![0, 0, 0], vec![1, 0, 1], vec![0, 1, 1]]);
    assert_eq!(mesh, [[[0, 0, 1], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]]]);
    let flat = [vec![5, 2], vec![4, 4], vec![4, 6], vec![2, 5], vec![6, 5]];
    assert_eq!(pairs(&[8, 8], true, dimension, &flat), [[[0, 5, 0], [4, 5, 0]]]);
    let enclosed = [vec![1, 2], vec![0, 1], vec![1, 0], vec![2, 1]];
    assert_eq!(pairs(&[8, 8], true, dimension, &enclosed).len(), 2 * 59);
}
