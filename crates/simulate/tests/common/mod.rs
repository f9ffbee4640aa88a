//! Helpers of several tests.
#![allow(dead_code, reason = "each test that includes this module uses a part of it")]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks each case, two at a time, so that a long test leaves no core idle at the end.
pub fn check_each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(case);
        }
    };
    std::thread::scope(|scope| _ = [scope.spawn(work), scope.spawn(work)]);
}

/// Every machine, smaller where its own size takes long to build.
pub const MACHINES: [&[&str]; 7] = [
    &["machine=bgl"],
    &["machine=bgp"],
    &["machine=bgq"],
    &["machine=xc"],
    &["machine=th", "topology.down=[8,2]"],
    &[
        "machine=dragonfly",
        "topology.nodes_per_router=2",
        "topology.group=[4]",
        "topology.global_ports=2",
        "topology.groups=9",
    ],
    &["machine=fat-tree", "topology.down=[4,4]", "topology.up=[4]"],
];
