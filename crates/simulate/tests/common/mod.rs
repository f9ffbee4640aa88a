//! Helpers of several tests.

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
