//! Routes around dead nodes and links, chosen by the sender's software (Blumrich et al., section 2).
//!
//! Software sets hint bits as if all nodes and links worked; on a machine with failures, they are replanned
//! here. A packet that no hint bits can deliver goes through a relay, whose software receives and forwards it
//! (`docs/faults.md`).

use crate::fifo::Packet;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::State;
use netloom_fabric::config::Outline;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::faults::{Leg, Plan, Planner};
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::collections::VecDeque;
use std::io;

/// The planner for a network, if anything in it has failed.
pub fn planner(network: &Outline) -> Option<Planner> {
    let topology = &network.topology;
    let whole = topology.dead_nodes.is_empty() && topology.dead_links.is_empty();
    (!whole).then(|| Planner::new(&Torus::new(topology), network.order, network.halfway_tie))
}

/// In [`Meta::auxiliary`], in addition to the destination: the sender requested static routing.
const STATIC: u32 = 1 << 31;

/// The route planning of a block's nodes.
pub(crate) struct Detours {
    planner: Planner,
    torus: Torus,
    numbers: Vec<u32>,
    /// Packets that each node forwards as a relay.
    relaying: Vec<VecDeque<Packet>>,
}

impl State for Detours {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let Detours { planner: _, torus: _, numbers: _, relaying } = self;
        relaying.serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        self.relaying = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Detours {
    pub(crate) fn new(network: &Outline, numbers: &[u32]) -> Option<Self> {
        Some(Detours {
            planner: planner(network)?,
            torus: Torus::new(&network.topology),
            numbers: numbers.to_vec(),
            relaying: vec![VecDeque::new(); numbers.len()],
        })
    }

    fn destination(&self, header: Header) -> u32 {
        let mut c = Coordinates::default();
        (0..c.len()).for_each(|d| c[d] = header.destination(d));
        self.torus.node(c)
    }

    /// The header of a packet on one leg of its route: static if the leg must be, or if the packet itself is.
    fn along(&self, leg: &Leg, header: Header, is_static: bool) -> Header {
        let flags = header.head() & (Header::HIGH | Header::DEPOSIT);
        self.planner.header(leg, header.chunks(), if is_static { flags | Header::STATIC } else { flags })
    }

    /// A packet's plan from here. Static packets take only static legs; so do high-priority ones, which keep
    /// to one VC.
    fn plan(&self, node: u32, to: u32, header: Header, is_static: bool) -> Option<Plan> {
        let fixed = is_static || header.head() & Header::HIGH != 0;
        self.planner.plan_for(self.numbers[node as usize], to, fixed)
    }

    /// The packet with hint bits that lead around failures.
    ///
    /// # Panics
    /// If there is no route: software checks with [`planner`] before it sends.
    pub(crate) fn direct(&self, node: u32, header: Header, mut meta: Meta) -> (Header, Meta) {
        let (to, is_static) = (self.destination(header), header.head() & Header::STATIC != 0);
        let plan = self.plan(node, to, header, is_static).expect("software sends only to nodes within reach");
        if plan.second().is_some() {
            meta.auxiliary = to | if is_static { STATIC } else { 0 };
            meta.is_forwarded = true;
        }
        (self.along(&plan.first(), header, is_static), meta)
    }

    /// Accepts a packet at a relay, to be forwarded. False if it has arrived at its destination.
    pub(crate) fn relay(&mut self, node: u32, delivery: &Delivery) -> bool {
        let Delivery { header, meta, data, .. } = *delivery;
        if meta.auxiliary == Meta::NOWHERE {
            return false;
        }
        // A static first leg does not imply a static second leg.
        let (to, is_static) = (meta.auxiliary & !STATIC, meta.auxiliary & STATIC != 0);
        // The second leg of a plan is itself a plan with one leg.
        let plan = self.plan(node, to, header, is_static).expect("a relay reaches what it was chosen for");
        let meta = Meta { auxiliary: Meta::NOWHERE, is_forwarded: false, ..meta };
        let header = self.along(&plan.first(), header, is_static);
        self.relaying[node as usize].push_back((header, meta, data.cloned()));
        true
    }

    /// The next packet that a node forwards.
    pub(crate) fn next(&mut self, node: u32, high: bool) -> Option<Packet> {
        let queue = &mut self.relaying[node as usize];
        let at = queue.iter().position(|p| (p.0.head() & Header::HIGH != 0) == high)?;
        queue.remove(at)
    }
}
