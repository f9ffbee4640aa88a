//! Ways round dead nodes and links, chosen by the sender's software (Blumrich et al., section 2).
//!
//! Software gives packets for their destinations as if all were well; where something is out of order, the hint bits are
//! planned anew here. A packet that no hint bits can bring there goes by way of a relay, whose software receives it and sends
//! it on (`docs/faults.md`).

use netloom_fabric::config::TorusConfig;
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::faults::{Leg, Planner};
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::collections::VecDeque;

/// The planner for a network, if anything in it is out of order.
pub fn planner(network: &TorusConfig) -> Option<Planner> {
    let topology = &network.topology;
    let whole = topology.dead_nodes.is_empty() && topology.dead_links.is_empty();
    let router = &network.router;
    (!whole).then(|| Planner::new(&Torus::new(topology), router.escape_order, router.halfway_tie))
}

/// What the software of a block's nodes knows of ways round.
pub(crate) struct Detours {
    planner: Planner,
    torus: Torus,
    numbers: Vec<u32>,
    /// Packets that each node sends on as a relay.
    relaying: Vec<VecDeque<(Header, Meta)>>,
}

impl Detours {
    pub(crate) fn new(network: &TorusConfig, numbers: &[u32]) -> Option<Self> {
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

    fn along(&self, leg: &Leg, header: Header) -> Header {
        let flags = header.head() & (Header::STATIC | Header::HIGH | Header::DEPOSIT);
        self.planner.header(leg, header.chunks(), flags)
    }

    /// The packet with hint bits that lead round what is dead.
    ///
    /// # Panics
    /// If there is no way: software asks [`planner`] before it sends.
    pub(crate) fn direct(&self, node: u32, header: Header, mut meta: Meta) -> (Header, Meta) {
        let (own, to) = (self.numbers[node as usize], self.destination(header));
        // A high-priority packet keeps to one VC: all its legs are static.
        let high = header.head() & Header::HIGH != 0;
        let plan = if high { self.planner.plan_static(own, to) } else { self.planner.plan(own, to) };
        let plan = plan.expect("software sends only to nodes within reach");
        if plan.second().is_some() {
            meta.beyond = to;
        }
        (self.along(&plan.first(), header), meta)
    }

    /// Takes a packet that has come to a relay, to be sent on. False if it has arrived.
    pub(crate) fn relay(&mut self, node: u32, header: Header, meta: &Meta) -> bool {
        if meta.beyond == Meta::NOWHERE {
            return false;
        }
        let own = self.numbers[node as usize];
        let high = header.head() & Header::HIGH != 0;
        let plan = if high {
            self.planner.plan_static(own, meta.beyond)
        } else {
            self.planner.plan(own, meta.beyond)
        };
        // The second leg of a plan is a plan of one leg itself.
        let leg = plan.expect("a relay reaches what it was chosen for").first();
        let meta = Meta { beyond: Meta::NOWHERE, ..*meta };
        let header = self.along(&leg, header);
        self.relaying[node as usize].push_back((header, meta));
        true
    }

    /// The next packet that a node sends on.
    pub(crate) fn next(&mut self, node: u32, high: bool) -> Option<(Header, Meta)> {
        let queue = &mut self.relaying[node as usize];
        let at = queue.iter().position(|p| (p.0.head() & Header::HIGH != 0) == high)?;
        queue.remove(at)
    }
}
