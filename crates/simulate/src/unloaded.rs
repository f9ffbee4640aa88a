//! Times of messages on an otherwise empty machine, measured before the programs of a study run: the
//! first rank exchanges messages of several lengths with the rank nearest to it and the one farthest, one at
//! a time. This divides a rank's time in the network into wire and queueing.

use netloom_fabric::config::SwitchedFaults;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::transit::Hops;
use netloom_nic::detour;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::run::{Progress, ProgressSink};
use netloom_workload::program::{Operation, Program, Serial};
use netloom_workload::shape::Shape;
use std::sync::{Arc, OnceLock};

/// Lengths of the messages, bytes; beyond the last, times lie on a line through the last two.
const LENGTHS: [u64; 7] = [0, 64, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];
/// Number of times that each is sent: the first may set something up.
const TIMES: u64 = 2;

/// Fewest hops between the nodes of two ranks: on a torus from node to node, on a network of switches from
/// router to router.
pub(super) fn hops(study: &ResolvedStudy, nodes: &[u32]) -> Hops {
    let nodes: Arc<[u32]> = nodes.into();
    if let Some(torus) = study.network.torus() {
        let shape = Shape::of_torus(&Torus::new(&torus.topology));
        return Arc::new(move |a, b| shape.hops(nodes[a as usize], nodes[b as usize]));
    }
    let wiring = Arc::clone(&study.switched().wiring);
    // Found when first asked for: of a large machine few pairs are.
    let from: Box<[OnceLock<Box<[u8]>>]> = (0..wiring.routers()).map(|_| OnceLock::new()).collect();
    Arc::new(move |a, b| {
        let [a, b] = [a, b].map(|rank| wiring.home(nodes[rank as usize]).0);
        from[a as usize].get_or_init(|| wiring.links_from(a))[b as usize].into()
    })
}

/// The programs that send messages one at a time, one per rank; `None` if there is no partner.
pub(super) fn programs(ranks: u32, hops: &Hops) -> Option<Vec<Box<dyn Program>>> {
    let near = (1..ranks).min_by_key(|&rank| hops(0, rank))?;
    let far = (1..ranks).max_by_key(|&rank| hops(0, rank))?;
    let mut operations: Vec<Vec<Operation>> = (0..ranks).map(|_| vec![]).collect();
    let peers = if hops(0, near) == hops(0, far) { vec![near] } else { vec![near, far] };
    for peer in peers {
        for bytes in LENGTHS.into_iter().flat_map(|bytes| (0..TIMES).map(move |_| bytes)) {
            let receive = |from, bytes| Operation::Receive { from: Some(from), bytes, tag: Some(0) };
            operations[0].extend([Operation::Send { to: peer, bytes, tag: 0 }, receive(peer, 0)]);
            operations[peer as usize]
                .extend([receive(0, bytes), Operation::Send { to: 0, bytes: 0, tag: 0 }]);
        }
    }
    Some(operations.into_iter().map(|own| Box::new(Serial::new(own)) as Box<dyn Program>).collect())
}

/// Whether everything on a study's machine works all the time: on other machines a message of the first rank
/// might find no route.
pub(super) fn is_possible(study: &ResolvedStudy) -> bool {
    match study.network.torus() {
        Some(torus) => detour::planner(torus).is_none(),
        None => study.switched().config.faults == SwitchedFaults::default(),
    }
}

/// Shows nothing, and stops when the run is to stop.
pub(super) struct Unseen<'a>(pub &'a dyn ProgressSink);

impl ProgressSink for Unseen<'_> {
    fn update(&self, _: Progress) {}

    fn stop(&self) -> bool {
        self.0.stop()
    }
}
