//! Groups of tasks whose nodes form a box: the network's registers are set up for them, and each of their
//! nodes has words of shared memory.

use super::super::Placement;
use crate::device::{Device, MuDevice};
use crate::spi::device::UnitDevice;
use crate::spi::kernel::Resource;
use netloom_fabric::collective::route::Rectangle;
use netloom_fabric::collective::{CLASS_ROUTES, RouteKind};
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::collections::BTreeMap;

/// Where the members of a group are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The box of their nodes.
    pub nodes: Rectangle,
    /// Their numbers on each node, the same everywhere, in order.
    pub processes: Vec<u8>,
}

impl Members {
    /// Where these tasks are; `None` if their nodes form no box, or have tasks that are no members: two
    /// groups with the same nodes could begin their operations in different orders, and would wait for each
    /// other.
    pub fn of_tasks(
        tasks: impl IntoIterator<Item = u32>,
        placement: &Placement,
        torus: &Torus,
    ) -> Option<Self> {
        let mut nodes: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for (node, process) in tasks.into_iter().map(|task| placement.of_task(task)) {
            nodes.entry(node).or_default().push(process);
        }
        let processes: Vec<u8> = (0..placement.processes).collect();
        let corner = |pick: fn(u8, u8) -> u8| {
            let all = nodes.keys().map(|&node| torus.coordinates(node));
            all.reduce(|a, b| -> Coordinates { std::array::from_fn(|d| pick(a[d], b[d])) })
        };
        let nodes_of_box = Rectangle { low: corner(u8::min)?, high: corner(u8::max)? };
        let is_alike = |list: &Vec<u8>| {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            sorted == processes
        };
        let is_box = nodes_of_box.nodes() == nodes.len() as u64 && nodes.values().all(is_alike);
        is_box.then_some(Members { nodes: nodes_of_box, processes })
    }

    /// All tasks of a job, if their nodes form a box.
    pub fn of_job(placement: &Placement, torus: &Torus) -> Option<Self> {
        Members::of_tasks(0..placement.tasks, placement, torus)
    }
}

/// A group, as one of its processes sees it.
pub struct Group {
    /// Its class route and barrier class, and the number of its words in shared memory.
    pub class: u8,
    /// The place of this process among those of its node; the first is the master.
    pub index: usize,
    /// Its members on each node.
    pub processes: Vec<u8>,
    /// The number of its nodes, and their box.
    pub nodes: u64,
    /// See `nodes`.
    pub rectangle: Rectangle,
    /// Barriers entered.
    pub turn: u64,
    /// What the words of shared memory add up to when all operations so far have ended.
    pub totals: Totals,
}

/// See the module of the words of a node.
#[derive(Default)]
pub struct Totals {
    /// Arrivals of members.
    pub arrived: u64,
    /// Times that the master has let the others go on.
    pub released: u64,
    /// Members that have copied.
    pub copied: u64,
    /// Slices that each member has summed, by place on the node.
    pub summed: Vec<u64>,
}

impl Group {
    /// A process's part of a group; `None` if it is no member. The master sets up the network, before any
    /// other node uses it.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn new(members: &Members, class: u8, device: &UnitDevice) -> Option<Self> {
        assert!(usize::from(class) < CLASS_ROUTES, "class {class}");
        let at = device.torus().coordinates(device.node());
        let index = members.processes.iter().position(|&process| process == device.process())?;
        let root = members.nodes.middle();
        let route = members.nodes.route(device.torus(), root, at, RouteKind::UserSubcomm)?;
        let nodes = members.nodes.nodes();
        if index == 0 {
            // Who names a class that is taken, or not the program's to take, uses it at its own risk.
            let number = u16::from(class);
            let kernel =
                [Resource::ClassRoute, Resource::Barrier].map(|what| device.allocate_this(what, number));
            if kernel.iter().all(Result::is_ok) && nodes > 1 {
                MuDevice::set_class(device, class, route);
            }
        }
        let totals = Totals { summed: vec![0; members.processes.len()], ..Totals::default() };
        let processes = members.processes.clone();
        Some(Group { class, index, processes, nodes, rectangle: members.nodes, turn: 0, totals })
    }

    /// The classes that are free on this node, one bit each.
    pub fn free_classes(device: &UnitDevice) -> u64 {
        let is_free = |class: u16| {
            [Resource::ClassRoute, Resource::Barrier].into_iter().all(|what| device.is_free(what, class))
        };
        (0..CLASS_ROUTES as u16).filter(|&class| is_free(class)).map(|class| 1 << class).sum()
    }

    /// Frees the class on this node.
    pub fn free(&self, device: &UnitDevice) {
        if self.is_master() {
            // Members that do not agree on their last operation may still send packets of it.
            let freed = device.free_class_route(self.class);
            if let Err(refusal) = freed.and_then(|()| device.free(Resource::Barrier, self.class.into())) {
                device.fail("free", refusal);
            }
        }
    }

    /// Members on this node.
    pub fn members(&self) -> usize {
        self.processes.len()
    }

    /// Whether this process uses the network for its node.
    pub fn is_master(&self) -> bool {
        self.index == 0
    }
}
