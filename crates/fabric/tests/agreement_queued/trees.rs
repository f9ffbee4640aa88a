//! Class routes over boxes of nodes, and the collective packets of their nodes, as a list.

use crate::agreement_queued::load::{SYSTEM_COLLECTIVE, USER_COLLECTIVE};
use crate::agreement_queued::models::CYCLE;
use crate::traffic::script::{Packet, Routed};
use netloom_engine::Stream;
use netloom_fabric::collective::route::{Rectangle, check};
use netloom_fabric::collective::{CollectiveHeader, Delivers, Flags, Operation, RouteKind};
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::topology::torus::{Coordinates, Torus};

/// All nodes of a machine.
pub fn whole(config: &QueuedConfig) -> Rectangle {
    Rectangle::whole(&Torus::new(&config.topology))
}

/// A class route at all nodes of a tree.
#[derive(Clone)]
pub struct Tree {
    pub class: u8,
    pub kind: RouteKind,
    pub routed: Vec<Routed>,
}

impl Tree {
    /// Over the whole machine, with its root in the middle.
    pub fn whole(config: &QueuedConfig, class: u8, kind: RouteKind) -> Self {
        let all = whole(config);
        Tree::rooted(config, (class, kind), all, all.middle())
    }

    /// Over a box of nodes, with this root.
    pub fn rooted(
        config: &QueuedConfig,
        (class, kind): (u8, RouteKind),
        nodes: Rectangle,
        root: Coordinates,
    ) -> Self {
        let torus = Torus::new(&config.topology);
        let route = |n| Some((n, class.into(), nodes.route(&torus, root, torus.coordinates(n), kind)?));
        let routed: Vec<Routed> = (0..torus.nodes()).filter_map(route).collect();
        let tree = Tree { class, kind, routed };
        tree.check(&torus);
        tree
    }

    /// The same, with only some of the nodes taking part.
    pub fn among(mut self, config: &QueuedConfig, takes_part: impl Fn(u32) -> bool) -> Self {
        self.routed.iter_mut().for_each(|(node, _, route)| route.local = takes_part(*node));
        // A branch without participants has no packets to wait for.
        let torus = Torus::new(&config.topology);
        while let Some(i) = self.routed.iter().position(|(_, _, r)| !r.local && r.inputs == 0) {
            let (node, _, route) = self.routed.remove(i);
            let output = usize::from(route.output.expect("somebody takes part"));
            let parent = torus.neighbour(node, output);
            let parent = self.routed.iter_mut().find(|(n, ..)| Some(*n) == parent).expect("in the tree");
            parent.2.inputs &= !(1 << (output ^ 1));
        }
        self.check(&torus);
        self
    }

    fn check(&self, torus: &Torus) {
        let routes: Vec<_> = self.routed.iter().map(|&(node, _, route)| (node, route)).collect();
        assert_eq!(check(torus, &routes), Ok(()));
    }

    /// The nodes that take part.
    pub fn members(&self) -> Vec<u32> {
        self.routed.iter().filter(|(_, _, route)| route.local).map(|&(node, ..)| node).collect()
    }
}

/// The repeated operation of the nodes of a tree.
#[derive(Clone)]
pub struct Collectives {
    pub tree: Tree,
    pub operation: Operation,
    pub delivers: Delivers,
    pub chunks: u32,
    /// Number of operations, their distance in cycles, and the maximum delay of a node in cycles.
    pub count: u64,
    pub interval: u64,
    pub skew: u64,
}

impl Collectives {
    /// Full allreduces of integers, back to back.
    pub fn new(tree: &Tree) -> Self {
        let (operation, delivers) = (Operation::AddUnsigned, Delivers::AllReduce);
        Collectives { tree: tree.clone(), operation, delivers, chunks: 17, count: 1000, interval: 0, skew: 0 }
    }

    /// The packets of one operation: all nodes broadcast in turn.
    fn packets(&self, number: u64, stream: &mut Stream) -> Vec<Packet> {
        let Tree { class, kind, .. } = self.tree;
        let header = CollectiveHeader {
            class,
            kind,
            operation: self.operation,
            word_B: 8,
            delivers: self.delivers,
            chunks: self.chunks,
            flags: Flags::default(),
        };
        let mut members = self.tree.members();
        if self.delivers == Delivers::Broadcast {
            members = vec![members[number as usize % members.len()]];
        }
        let mut packet = |source| Packet {
            made: CYCLE * (number * self.interval + stream.below(self.skew + 1)),
            source,
            fifo: if kind == RouteKind::System { SYSTEM_COLLECTIVE } else { USER_COLLECTIVE },
            chunks: self.chunks,
            collective: Some(header),
            ..Packet::default()
        };
        members.into_iter().map(&mut packet).collect()
    }
}

/// The packets of several trees' nodes: all nodes have the operations in the same order, so that they cannot
/// wait for each other.
pub fn packets(collectives: &[Collectives], seed: u64) -> Vec<Packet> {
    let mut stream = Stream::new(seed, 8, 8);
    let operations = collectives.iter().flat_map(|c| (0..c.count).map(move |number| (number, c)));
    let mut operations: Vec<_> = operations.collect();
    operations.sort_by_key(|(number, c)| (number * c.interval, *number));
    operations.into_iter().flat_map(|(number, c)| c.packets(number, &mut stream)).collect()
}

/// The class routes of several trees.
pub fn routed(collectives: &[Collectives]) -> Vec<Routed> {
    collectives.iter().flat_map(|c| c.tree.routed.iter().copied()).collect()
}
