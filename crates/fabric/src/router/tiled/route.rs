//! A packet's route, hop by hop: the outputs that the route tables give, and the changes of its header and
//! VC.
//!
//! The route of a non-minimal packet of a dragonfly leads "up" to a random router or group and from there
//! "down" to its destination, both minimally ("Cray XC Routing"). Its VC counts the completed legs of the
//! route, so that no packet waits for one that is less advanced:
//!
//! | leg | VC |
//! |---|---|
//! | first group | 0 |
//! | first global link | 0 |
//! | second group up to the random router | 1 |
//! | second group down | 2 |
//! | second global link | 2 |
//! | last group | 3 |
//!
//! **(ours: the paper gives four VCs, not their use.)** PAR, which may reconsider in the first group, has one
//! more VC there, and all later VCs are one higher. If UGAL-L distinguishes the queues of minimal packets
//! from those of others (`vc_discrimination`), minimal ones take VC 2 up to their global link and over it,
//! and VC 3 in the last group. In a fat tree all routes lead up and then down, which needs one VC. On a torus
//! each leg, to the random router and on from there, has two VCs: up to the dateline of a ring, and after it.

use super::header::{Class, Mode, TiledHeader};
use super::tables::Tables;
use crate::config::VcDiscrimination;
use crate::routing::{Routes, Target};

/// A packet's intermediate: a router, or (`true`) a group.
pub(super) type Via = Option<(u32, bool)>;

impl Tables {
    /// The header of a packet that has arrived at a router: past the intermediate, if this is it.
    #[inline]
    pub fn come_to(&self, header: TiledHeader, router: u32) -> TiledHeader {
        let is_there = |(to, is_group)| to == if is_group { self.wiring.group(router) } else { router };
        if !header.via().is_some_and(is_there) {
            return header;
        }
        let extra = self.constants.extra;
        let level = if header.level() <= extra { 1 + extra } else { header.level() + 1 };
        header.with_via(None).at_level(level).at_stage(0)
    }

    /// The outputs on minimal routes to a packet's next target, which is not this router. 0 only after
    /// failures.
    #[inline]
    pub fn minimal_ports(&self, router: u32, via: Via, home: u32, stage: usize) -> u64 {
        let target = match via {
            None => Target::Router(home),
            Some((to, false)) => Target::Router(to),
            Some((to, true)) => Target::Group(to),
        };
        let ports = self.routes.ports(&self.wiring, router, target, stage);
        debug_assert!(
            ports != 0 || self.is_patched,
            "no route from router {router} to {target:?} at stage {stage}"
        );
        ports
    }

    /// Whether a packet with a route to an intermediate router or group then has a route on to its
    /// destination's router.
    #[inline]
    pub fn leads_on(&self, (by, is_group): (u32, bool), home: u32) -> bool {
        match &self.routes {
            // Failures may have cut it off.
            Routes::Dragonfly(routes) if self.is_patched => match is_group {
                true => routes.leads_on(&self.wiring, by, self.wiring.group(home)),
                false => routes.is_joined(by) && self.minimal_ports(by, None, home, 0) != 0,
            },
            _ => true,
        }
    }

    /// The first VC of a packet's class.
    #[inline]
    pub fn class_vcs(&self, header: TiledHeader) -> usize {
        let k = &self.constants;
        if header.class() == Class::Response { k.all_vcs - k.vcs } else { 0 }
    }

    /// A packet's header once its intermediate on the route to another group is decided. If minimal packets
    /// are distinguished from others, they start where the last leg of the others' routes does, in later VCs:
    /// this cannot create a cycle.
    #[inline]
    pub fn settled(&self, header: TiledHeader, via: Via) -> TiledHeader {
        let discriminates = self.config.routing.vc_discrimination != VcDiscrimination::Off;
        if discriminates && via.is_none() && header.mode() == Mode::UgalL {
            return header.apart(2 + self.constants.extra);
        }
        header.with_via(via)
    }

    /// The stage of a packet after a link, if that is a dragonfly's local link.
    #[inline]
    pub fn stage_after(&self, router: u32, port: usize, class: usize) -> usize {
        match &self.routes {
            Routes::Dragonfly(routes) if class < routes.dimensions() => {
                routes.stage_after(&self.wiring, router, port, class)
            }
            _ => 0,
        }
    }

    /// A packet's header as seen by the router behind the link at a router's port, of this class, and the VC
    /// of the link.
    #[inline]
    pub fn leave(
        &self,
        header: TiledHeader,
        (router, port): (u32, usize),
        class: usize,
    ) -> (TiledHeader, usize) {
        let first = self.class_vcs(header);
        let routes = match &self.routes {
            Routes::Dragonfly(routes) => routes,
            Routes::FatTree(_) => return (header, first),
            Routes::Torus(routes) => {
                // Past the dateline of its current ring.
                let was = header.stage() == 2 * class + 2;
                let crossed = usize::from(was || routes.crosses(router, port, class));
                let second = usize::from(header.level() > self.constants.extra);
                return (header.at_stage(2 * class + 1 + crossed), first + 2 * second + crossed);
            }
        };
        let (extra, level) = (self.constants.extra, header.level());
        if class < routes.dimensions() {
            return (header.at_stage(self.stage_after(router, port, class)), first + level as usize);
        }
        let second = level > extra;
        let header = header.at_level(if second { 3 + extra } else { 1 + extra }).at_stage(0).decided();
        (header, first + (if second { 2 + extra } else { extra }) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::Mode;
    use super::*;
    use crate::config::TiledConfig;

    /// The VC of each link of a packet's route, and the kind of link: local or global, number of preceding
    /// global links, and whether the intermediate has been passed.
    fn links(tables: &Tables, from: u32, via: Via, home: u32) -> Vec<(bool, usize, bool, usize)> {
        let w = &tables.wiring;
        let mut header = TiledHeader::new(w.nodes_at(home).start, 1, Class::Request, Mode::Valiant, 0);
        header = header.with_via(via);
        let (mut at, mut globals, mut list) = (from, 0, vec![]);
        loop {
            header = tables.come_to(header, at);
            if header.via().is_none() && at == home {
                return list;
            }
            let port = tables.minimal_ports(at, header.via(), home, header.stage()).trailing_zeros() as usize;
            let end = w.end(at, port).expect("a link");
            let is_global = w.group(end.router) != w.group(at);
            let (after, vc) = tables.leave(header, (at, port), end.class.into());
            list.push((is_global, globals, header.via().is_none(), vc));
            globals += usize::from(is_global);
            (header, at) = (after, end.router);
        }
    }

    /// The table above, for the packets of all pairs of a set of routers through some others.
    #[test]
    fn vcs_count_the_legs_of_a_route() {
        for extra in [0, 1] {
            let mut config = TiledConfig::cray_xc(3, 12);
            (config.router.vcs, config.router.response_vcs) = (4 + extra, false);
            let (tables, extra) = (Tables::new(&config), extra as usize);
            let mut met = [0; 8];
            for (from, root, home) in (0..3000).map(|i| (i * 7 % 288, i * 31 % 288, i * 101 % 288)) {
                let group = |router| tables.wiring.group(router);
                // Within a group the intermediate is in that group.
                if root == from || root == home || group(from) == group(home) && group(root) != group(from) {
                    continue;
                }
                let root_is_here = group(root) == group(from);
                for (is_global, globals, is_down, vc) in links(&tables, from, Some((root, false)), home) {
                    let stretch = match (is_global, globals, is_down) {
                        (false, 0, false) => 0,
                        (true, 0, false) => extra,
                        // Down from an intermediate in the first group.
                        (false, 0, true) => 1 + extra,
                        (true, 0, true) => 2 + extra,
                        (false, 1, false) => 1 + extra,
                        (false, 1, true) if root_is_here => 3 + extra,
                        (false | true, 1, true) => 2 + extra,
                        (false, 2, true) => 3 + extra,
                        other => panic!("{other:?} on the route from {from} by {root} to {home}"),
                    };
                    assert_eq!(vc, stretch, "from {from} by {root} to {home}");
                    met[vc] += 1;
                }
            }
            assert!(met[..4].iter().all(|&links| links > 100), "{met:?}");
        }
    }
}
