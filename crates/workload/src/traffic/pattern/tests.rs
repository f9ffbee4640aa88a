use super::*;
use crate::config::{AllToAll, GroupShift, HotNode, HotRegion, Over, Shift};
use netloom_fabric::config::{DragonflyConfig, FatTreeConfig, SwitchedTopology, TorusConfig};
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;

fn torus(dims: &[u32]) -> Shape {
    Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(dims).topology))
}

/// Three groups of 384, 384 and 128 nodes.
fn dragonfly() -> Shape {
    let config = DragonflyConfig { last_group_chassis: Some(2), ..DragonflyConfig::cray_xc(3, 12) };
    Shape::of_switches(&Arc::new(config.wiring()))
}

/// 144 leaves' nodes: a square.
fn fat_tree() -> Shape {
    let tree = FatTreeConfig { down: vec![6, 4, 6], up: vec![2, 2], link_classes: vec![] };
    Shape::of_switches(&Arc::new(SwitchedTopology::FatTree(tree).wiring()))
}

fn pattern(config: &WorkloadConfig, shape: &Shape) -> Pattern {
    config.check(shape).expect("fits");
    Pattern::new(config, shape, 240, 7).expect("readable").expect("a pattern")
}

/// Every pattern, for machines with this number of dimensions.
fn all(dimensions: usize) -> Vec<WorkloadConfig> {
    let region = HotRegion { fraction: 0.5, region: vec![2; dimensions], origin: vec![] };
    vec![
        WorkloadConfig::Uniform {},
        WorkloadConfig::HotRegion(region),
        WorkloadConfig::AllToAll(AllToAll::default()),
        WorkloadConfig::NearestNeighbour {},
        WorkloadConfig::Transpose {},
        WorkloadConfig::BitComplement {},
        WorkloadConfig::Tornado {},
        WorkloadConfig::Shift(Shift { by: vec![1; dimensions] }),
        WorkloadConfig::RandomPermutation {},
        WorkloadConfig::GroupShift(GroupShift { by: 1 }),
        WorkloadConfig::HotNode(HotNode { node: 1, fraction: 0.5 }),
    ]
}

/// Each pattern that fits: no node sends to itself or to no node, shares match what is drawn, permutations
/// are permutations.
fn hold(shape: &Shape) {
    for config in all(shape.dimensions()).iter().filter(|config| config.check(shape).is_ok()) {
        let (p, kind) = (pattern(config, shape), config.kind());
        let mut reached = vec![0; shape.nodes() as usize];
        for node in 0..shape.nodes() {
            let (mut stream, order) = (Stream::new(3, 0, node.into()), p.order(7, node));
            let mut shares = std::collections::BTreeMap::new();
            p.shares(node, &mut |to, share| *shares.entry(to).or_insert(0.0) += share);
            let sum: f64 = shares.values().sum();
            for index in 0..20 {
                let to = p.destination(node, index, Some(&order), &mut stream);
                let Some(to) = to else { continue };
                assert!(to < shape.nodes() && to != node, "{kind}: {node} to {to}");
                assert!(shares.contains_key(&to), "{kind}: {node} to {to} has no share");
                reached[to as usize] += u32::from(index == 0);
            }
            assert!(shares.is_empty() || (sum - 1.0).abs() < 1e-9, "{kind}: {sum}");
        }
        let fixed = ["transpose", "bit-complement", "tornado", "shift", "random-permutation"];
        assert!(!fixed.contains(&kind) || reached.iter().all(|&n| n <= 1), "{kind} is no permutation");
    }
}

#[test]
fn every_pattern_holds_on_every_machine() {
    for shape in [torus(&[4, 4, 4]), torus(&[5, 3]), torus(&[8]), torus(&[2, 3, 2, 2, 2])] {
        hold(&shape);
    }
    hold(&dragonfly());
    hold(&fat_tree());
    let kinds = |shape: &Shape| {
        let refused = |config: &WorkloadConfig| config.check(shape).is_err();
        all(shape.dimensions()).iter().filter(|c| refused(c)).map(WorkloadConfig::kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&torus(&[4, 4, 4])), Vec::<&str>::new());
    // 896 nodes are no square; the levels of a fat tree are no groups.
    assert_eq!(kinds(&dragonfly()), ["transpose"]);
    assert_eq!(kinds(&fat_tree()), ["group-shift"]);
    assert_eq!(kinds(&Shape::of_job(36)), ["group-shift"]);
}

proptest! {
    #[test]
    fn every_pattern_holds_among_any_nodes(nodes in 2u32..70, dims in proptest::collection::vec(1u32..6, 1..4)) {
        hold(&Shape::of_job(nodes));
        hold(&torus(&dims));
    }
}

#[test]
fn an_all_to_all_reaches_every_node_once_per_round() {
    for (over, dims, members) in [(Over::Machine, "", 24), (Over::Planes, "xz", 8), (Over::Lines, "y", 3)] {
        let config = AllToAll { over, dims: dims.into(), bytes: Some(500), ..AllToAll::default() };
        let shape = torus(&[2, 3, 4]);
        let p = pattern(&WorkloadConfig::AllToAll(config), &shape);
        for node in 0..24 {
            assert_eq!(p.period(node), Some((members - 1) * 3));
            let order = p.order(7, node);
            let mut stream = Stream::new(1, 0, 0);
            let mut to: Vec<u32> = (0..(members - 1) * 3)
                .map(|i| p.destination(node, i, Some(&order), &mut stream).expect("a destination"))
                .collect();
            to.sort_unstable();
            assert!(to.chunks(3).all(|c| c[0] == c[2] && c[0] != node));
            to.dedup();
            assert_eq!(to.len() as u64, members - 1);
            let (own, at) = (shape.coordinates(node), |n| shape.coordinates(n));
            let kept: Vec<usize> = match over {
                Over::Machine => vec![],
                Over::Planes => vec![1],
                Over::Lines => vec![0, 2],
            };
            assert!(to.iter().all(|&n| kept.iter().all(|&d| at(n)[d] == own[d])));
        }
    }
}

#[test]
fn the_hot_region_gets_its_share() {
    let hot = HotRegion { fraction: 0.25, region: vec![4, 4, 4], origin: vec![2, 0, 0] };
    let shape = torus(&[8, 8, 8]);
    let p = pattern(&WorkloadConfig::HotRegion(hot), &shape);
    let mut stream = Stream::new(1, 0, 0);
    let n = 100_000;
    let inside = (0..n)
        .filter(|&i| {
            let c = shape.coordinates(p.destination(500, i, None, &mut stream).expect("one"));
            (2..6).contains(&c[0]) && c[1] < 4 && c[2] < 4
        })
        .count();
    let expected = 0.25 + 0.75 * 0.125;
    assert!((inside as f64 / n as f64 - expected).abs() < 0.005, "{inside}");
}

#[test]
fn fixed_patterns_on_tori() {
    let mut stream = Stream::new(1, 0, 0);
    let mut to = |config: WorkloadConfig, dims: &[u32], from: Coordinates| {
        let shape = torus(dims);
        let to = pattern(&config, &shape).destination(shape.node_at(from), 0, None, &mut stream);
        to.map(|n| shape.coordinates(n))
    };
    assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4, 4], [1, 2, 3, 0, 0]), Some([2, 3, 1, 0, 0]));
    assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4], [2, 2, 0, 0, 0]), None);
    assert_eq!(to(WorkloadConfig::BitComplement {}, &[4, 8], [1, 2, 0, 0, 0]), Some([2, 5, 0, 0, 0]));
    assert_eq!(to(WorkloadConfig::Tornado {}, &[8, 5], [7, 3, 0, 0, 0]), Some([2, 0, 0, 0, 0]));
    let shift = WorkloadConfig::Shift(Shift { by: vec![-1, 9] });
    assert_eq!(to(shift, &[4, 8], [0, 0, 0, 0, 0]), Some([3, 1, 0, 0, 0]));
}

#[test]
fn fixed_patterns_on_switches() {
    let to = |config: &WorkloadConfig, shape: &Shape, from| {
        pattern(config, shape).destination(from, 0, None, &mut Stream::new(1, 0, 0))
    };
    let (tree, xc) = (fat_tree(), dragonfly());
    // Row 3, column 5 of 12 by 12; the diagonal sends nothing.
    assert_eq!(to(&WorkloadConfig::Transpose {}, &tree, 3 * 12 + 5), Some(5 * 12 + 3));
    assert_eq!(to(&WorkloadConfig::Transpose {}, &tree, 13), None);
    assert_eq!(to(&WorkloadConfig::BitComplement {}, &tree, 10), Some(133));
    assert_eq!(to(&WorkloadConfig::Tornado {}, &tree, 100), Some(28));
    // Groups of different sizes.
    assert_eq!(to(&WorkloadConfig::Tornado {}, &xc, 3), Some(3 + 448));
    // Five equal ones: two of them on, to the same place.
    let five = Shape::of_switches(&Arc::new(DragonflyConfig::cray_xc(5, 12).wiring()));
    assert_eq!(to(&WorkloadConfig::Tornado {}, &five, 4 * 384 + 7), Some(384 + 7));
    let neighbours = |index| {
        let p = pattern(&WorkloadConfig::NearestNeighbour {}, &tree);
        p.destination(0, index, None, &mut Stream::new(1, 0, 0))
    };
    assert_eq!((neighbours(0), neighbours(1), neighbours(2)), (Some(1), Some(143), Some(1)));
    let shift = WorkloadConfig::Shift(Shift { by: vec![-1] });
    assert_eq!(to(&shift, &xc, 0), Some(895));
}

#[test]
fn groups_send_to_the_nodes_of_another() {
    let mut stream = Stream::new(1, 0, 0);
    for (shape, by, groups) in [(dragonfly(), -1, 3), (torus(&[4, 4, 6]), 2, 6)] {
        let shift = pattern(&WorkloadConfig::GroupShift(GroupShift { by }), &shape);
        for from in 0..shape.nodes() {
            let to = shift.destination(from, 0, None, &mut stream).expect("one");
            assert_eq!((shape.group(from) as i32 + by).rem_euclid(groups), shape.group(to) as i32);
        }
    }
    // The last group of the dragonfly has 128 nodes, and they are all drawn.
    let shift = pattern(&WorkloadConfig::GroupShift(GroupShift { by: -1 }), &dragonfly());
    let drawn: std::collections::HashSet<_> =
        (0..3000).filter_map(|i| shift.destination(5, i, None, &mut stream)).collect();
    assert_eq!(drawn.len(), 128);
}

#[test]
fn a_hot_node_does_not_send_to_itself() {
    let hot = pattern(&WorkloadConfig::HotNode(HotNode { node: 9, fraction: 1.0 }), &dragonfly());
    let mut stream = Stream::new(1, 0, 0);
    let mut to = |from| hot.destination(from, 0, None, &mut stream);
    assert_eq!((to(9), to(8)), (None, Some(9)));
    // It does send what is not for the hot node.
    let hot = pattern(&WorkloadConfig::HotNode(HotNode { node: 9, fraction: 0.5 }), &dragonfly());
    assert!((0..1000).all(|n| hot.destination(9, n, None, &mut stream).is_some_and(|to| to != 9)));
}

#[test]
fn mean_hops_of_uniform_traffic() {
    let hops = pattern(&WorkloadConfig::Uniform {}, &torus(&[8, 8, 4])).mean_hops(1);
    for (h, k) in hops.iter().zip([8.0, 8.0, 4.0]) {
        assert!((h / (k / 4.0 * 256.0 / 255.0) - 1.0).abs() < 0.02, "{hops:?}");
    }
}
