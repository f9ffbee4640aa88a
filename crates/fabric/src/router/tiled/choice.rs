//! Routing: the pipeline of a tile that selects a packet's output ("Aries Router", "Cray XC Routing").
//!
//! At its first router an adaptively routed packet is offered two minimal and two non-minimal outputs at
//! random, and takes the one with the lowest load; later it takes the better of two outputs on its route, see
//! [`route`](super::route).

use super::TiledFamily;
use super::block::TiledBlock;
use super::header::{Mode, TiledHeader};
use super::route::Via;
use crate::config::VcDiscrimination;
use crate::host::Host;
use crate::router::bits::nth;
use crate::routing::Routes;
use netloom_engine::Time;

/// An output that a packet may take.
#[derive(Clone, Copy)]
struct Candidate {
    port: usize,
    /// Its intermediate router or group.
    via: Via,
}

/// Random numbers that depend only on a packet and a router.
struct Draw(u64);

impl Draw {
    fn new(header: TiledHeader, router: u32) -> Self {
        Draw(mix(u64::from(header.seed) << 32 | u64::from(router)))
    }

    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        self.0 = mix(self.0);
        (((self.0 >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A bit of a mask, if it has any.
    #[inline]
    fn bit(&mut self, mask: u64) -> Option<usize> {
        let n = self.below(mask.count_ones());
        (mask != 0).then(|| nth(mask, n.into()))
    }
}

/// Maximum number of draws until an intermediate is found that is still connected.
const ROOTS: usize = 8;

/// The candidate with the lowest load, the first of equals. A loop, because `min_by_key` is a call where the
/// compiler sees one crate at a time.
#[inline]
fn lowest<T>(candidates: impl Iterator<Item = (u32, T)>) -> Option<(u32, T)> {
    let mut best: Option<(u32, T)> = None;
    for candidate in candidates {
        if best.as_ref().is_none_or(|best| candidate.0 < best.0) {
            best = Some(candidate);
        }
    }
    best
}

/// A mixing function (of SplitMix64).
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Selects the tile and VC on which a packet at the head of an input queue leaves; returns whether there
    /// is a route, as there always is without failures.
    pub(super) fn route(&mut self, router: u32, tile: usize, packet: u32, now: Time) -> bool {
        let number = self.first + router;
        let mut header = self.tables.come_to(self.cells[packet as usize].header, number);
        let (home, slot) = self.tables.wiring.home(header.destination());
        let out;
        let vc;
        if header.via().is_none() && home == number {
            out = self.pick_exit(router, slot, header);
            vc = self.cells[packet as usize].came.into();
        } else {
            let mut draw = Draw::new(header, number);
            let port = if header.is_decided() {
                let ports = self.minimal_ports(router, header.via(), home, header.stage());
                self.pick_port(router, ports, header.mode(), &mut draw, now)
            } else {
                let from_node = !self.is_link(router, tile);
                let chosen = self.decide(router, home, from_node, &mut header, &mut draw, now);
                header = self.settled(router, home, header, chosen.and_then(|chosen| chosen.via));
                chosen.map(|chosen| chosen.port)
            };
            let Some(port) = port else { return false };
            (header, vc) = self.tables.leave(header, (number, port), self.class_of(router, port));
            out = port;
        }
        let cell = &mut self.cells[packet as usize];
        (cell.header, cell.out, cell.vc) = (header, out as u8, vc as u8);
        let flits = i32::from(cell.flits);
        self.change_load(router, out, vc, flits, now);
        true
    }

    /// The outputs on minimal routes to where a packet goes next, over links that work.
    #[inline]
    fn minimal_ports(&self, router: u32, via: Via, home: u32, stage: usize) -> u64 {
        self.tables.minimal_ports(self.first + router, via, home, stage) & self.works(router)
    }

    /// The class of the link at a port.
    fn class_of(&self, router: u32, port: usize) -> usize {
        self.outputs[router as usize * self.k.tiles + port].class.into()
    }

    /// The processor tile through which a packet leaves for its node: that of the share with the lowest load.
    fn pick_exit(&self, router: u32, slot: usize, header: TiledHeader) -> usize {
        let tiles = self.k.tiles_of(slot / self.k.nodes_per_share);
        if header.mode().is_in_order() {
            return tiles.start + header.seed as usize % self.k.tiles_per_share;
        }
        let first = router as usize * self.k.tiles;
        let load = |tile: &usize| self.outputs[first + tile].load_all;
        // Any first one among equals would do, but it must not always be the same.
        let turn = header.seed as usize % self.k.tiles_per_share;
        let count = self.k.tiles_per_share;
        (0..count).map(|i| tiles.start + (turn + i) % count).min_by_key(load).expect("at least one tile")
    }

    /// One of several outputs on a packet's route.
    fn pick_port(&self, router: u32, ports: u64, mode: Mode, draw: &mut Draw, now: Time) -> Option<usize> {
        if ports.count_ones() < 2 {
            return (ports != 0).then(|| ports.trailing_zeros() as usize);
        }
        match mode {
            Mode::Adaptive0 | Mode::Adaptive1 | Mode::Adaptive2 | Mode::Adaptive3 => {
                let count = self.tables.config.routing.minimal_candidates;
                let candidates = (0..count).filter_map(|_| draw.bit(ports));
                lowest(candidates.map(|port| (self.load_of(router, port, now), port))).map(|c| c.1)
            }
            _ => draw.bit(ports),
        }
    }

    /// The known load behind an output: near-end, far-end and downstream.
    fn load_of(&self, router: u32, port: usize, now: Time) -> u32 {
        let weights = &self.tables.config.routing.weights;
        let output = &self.outputs[router as usize * self.k.tiles + port];
        let mut load = weights.near * u32::from(output.load_all);
        if weights.far != 0 {
            load += weights.far * output.room.in_all();
        }
        if weights.downstream != 0 {
            let then = Time::at(now.ticks().saturating_sub(self.k.latency[usize::from(output.class)]));
            load += weights.downstream * u32::from(self.router_loads.at(output.to_number as usize, then));
        }
        load
    }

    /// Minimal or non-minimal, and the output. The decision is final, except for PAR in the first group.
    fn decide(
        &self,
        router: u32,
        home: u32,
        from_node: bool,
        header: &mut TiledHeader,
        draw: &mut Draw,
        now: Time,
    ) -> Option<Candidate> {
        let mode = header.mode();
        let routing = &self.tables.config.routing;
        let stage = header.stage();
        let minimal = |draw: &mut Draw| self.straight(router, home, stage, draw);
        // Only in a dragonfly's first group a packet may reconsider.
        if mode != Mode::Par || matches!(self.tables.routes, Routes::Torus(_)) {
            *header = header.decided();
        }
        if let Routes::FatTree(_) = self.tables.routes {
            // All routes are minimal.
            let ports = self.minimal_ports(router, None, home, 0);
            *header = header.decided();
            return self.pick_port(router, ports, mode, draw, now).map(|port| Candidate { port, via: None });
        }
        match mode {
            // Where links have failed a detour may be the only one.
            Mode::Minimal | Mode::MinimalHash => minimal(draw).or_else(|| self.by_router(router, home, draw)),
            Mode::Valiant | Mode::NonminimalHash => {
                self.by_router(router, home, draw).or_else(|| minimal(draw))
            }
            Mode::ValiantGroup => self.by_group(router, home, stage, draw).or_else(|| minimal(draw)),
            Mode::Adaptive0 | Mode::Adaptive1 | Mode::Adaptive2 | Mode::Adaptive3 => {
                let (times, more) = routing.bias[mode as usize];
                let light = (0..routing.minimal_candidates).filter_map(|_| minimal(draw));
                let light = lowest(light.map(|c| (self.load_of(router, c.port, now), c)));
                let far = (0..routing.nonminimal_candidates)
                    .filter_map(|_| self.by_router(router, home, draw))
                    .map(|c| (self.load_of(router, c.port, now) * times / 16 + more, c));
                // Among equal loads the minimal one.
                lowest(light.into_iter().chain(lowest(far))).map(|c| c.1)
            }
            Mode::UgalL | Mode::UgalG | Mode::Par => {
                let (near, far) = (minimal(draw), self.by_group(router, home, stage, draw));
                let same_output = near.zip(far).is_some_and(|(near, far)| near.port == far.port);
                let by_vc = match routing.vc_discrimination {
                    VcDiscrimination::Off => false,
                    VcDiscrimination::Always => true,
                    VcDiscrimination::SameOutput => same_output,
                };
                let cost = |c: Candidate| {
                    let queue = match mode {
                        Mode::UgalG => self.global_queue(router, home, c, now),
                        _ => self.local_queue(router, home, by_vc.then_some(*header), c),
                    };
                    queue * self.hops(router, home, c)
                };
                let chosen = near.into_iter().chain(far).min_by_key(|&c| cost(c))?;
                if mode == Mode::Par && !header.is_decided() {
                    *header = if chosen.via.is_some() { header.decided() } else { *header };
                    if chosen.via.is_some() && !from_node {
                        // It reconsiders, on a leg of its own.
                        *header = header.at_level(1);
                    }
                }
                Some(chosen)
            }
        }
    }

    /// A route through a random router: of the same group for a destination there, otherwise of the whole
    /// system.
    fn by_router(&self, router: u32, home: u32, draw: &mut Draw) -> Option<Candidate> {
        let (number, wiring) = (self.first + router, &self.tables.wiring);
        let group = wiring.group(number);
        let among = if wiring.group(home) == group { wiring.routers_of(group) } else { 0..wiring.routers() };
        for _ in 0..self.draws() {
            let root = among.start + draw.below(among.end - among.start);
            // Its own router, and the destination's, are on a minimal route anyway.
            let via = (root != number && root != home).then_some((root, false));
            let leads_on = via.is_none_or(|via| self.tables.leads_on(via, home));
            if let Some(port) = draw.bit(self.minimal_ports(router, via, home, 0)).filter(|_| leads_on) {
                return Some(Candidate { port, via });
            }
        }
        None
    }

    /// A route through a random group other than the packet's own and its destination's; through a router if
    /// both are the same.
    fn by_group(&self, router: u32, home: u32, stage: usize, draw: &mut Draw) -> Option<Candidate> {
        let (number, wiring) = (self.first + router, &self.tables.wiring);
        let (from, to) = (wiring.group(number), wiring.group(home));
        if from == to {
            return if stage == 0 {
                self.by_router(router, home, draw)
            } else {
                self.straight(router, home, stage, draw)
            };
        }
        if wiring.groups() < 3 {
            return self.straight(router, home, stage, draw);
        }
        let (low, high) = (from.min(to), from.max(to));
        for _ in 0..self.draws() {
            let mut group = draw.below(wiring.groups() - 2);
            group += u32::from(group >= low);
            group += u32::from(group >= high);
            let via = (group, true);
            let leads_on = self.tables.leads_on(via, home);
            // A packet that reconsiders starts a leg of its own.
            if let Some(port) = draw.bit(self.minimal_ports(router, Some(via), home, 0)).filter(|_| leads_on)
            {
                return Some(Candidate { port, via: Some(via) });
            }
        }
        None
    }

    /// Number of draws of an intermediate: tables with failures do not continue from everywhere.
    fn draws(&self) -> usize {
        if self.tables.is_patched { ROOTS } else { 1 }
    }

    fn straight(&self, router: u32, home: u32, stage: usize, draw: &mut Draw) -> Option<Candidate> {
        let port = draw.bit(self.minimal_ports(router, None, home, stage))?;
        Some(Candidate { port, via: None })
    }

    /// Flits that wait for an output of this router and, according to credits, behind it: all, or those of
    /// the VC that a packet with this header would take. The flits in flight on a long link do not wait: if
    /// they counted as a queue, packets would avoid every global link that is in use **(ours)**.
    fn local_queue(&self, router: u32, home: u32, of: Option<TiledHeader>, c: Candidate) -> u32 {
        let output = &self.outputs[router as usize * self.k.tiles + c.port];
        let class = usize::from(output.class);
        let in_flight = self.k.in_flight[class];
        let Some(header) = of else {
            return u32::from(output.load_all) + output.room.in_all().saturating_sub(in_flight);
        };
        let header = self.settled(router, home, header, c.via);
        let (_, vc) = self.tables.leave(header, (self.first + router, c.port), class);
        u32::from(output.load[vc]) + u32::from(output.room.used[vc]).saturating_sub(in_flight)
    }

    /// A packet's header once its intermediate is decided.
    #[inline]
    fn settled(&self, router: u32, home: u32, header: TiledHeader, via: Via) -> TiledHeader {
        let wiring = &self.tables.wiring;
        if wiring.group(home) == wiring.group(self.first + router) {
            return header.with_via(via);
        }
        self.tables.settled(header, via)
    }

    /// Flits that wait for the first global link on a candidate's route, as of the previous update period; on
    /// a route without one, those that wait for its output of this router.
    fn global_queue(&self, router: u32, home: u32, c: Candidate, now: Time) -> u32 {
        let period = u64::from(self.tables.config.routing.global_load_period_ticks);
        let then = Time::at((now.ticks() / period).saturating_sub(1) * period);
        let mut found = None;
        self.walk(router, home, c, |at, port, class| {
            if class >= self.tables.routes.dimensions() {
                found.get_or_insert((at, port));
            }
        });
        match found {
            Some((at, port)) => {
                let link = at as usize * self.k.globals + port - self.k.first_global;
                self.link_loads.at(link, then).into()
            }
            None => self.outputs[router as usize * self.k.tiles + c.port].load_all.into(),
        }
    }

    /// Hops of a candidate's route, as a packet on it would find them.
    fn hops(&self, router: u32, home: u32, c: Candidate) -> u32 {
        let mut hops = 0;
        self.walk(router, home, c, |_, _, _| hops += 1);
        hops
    }

    /// Follows a candidate's route to its end, by the first of the outputs at each router, and calls `visit`
    /// with the router, port and class of each link.
    fn walk(&self, router: u32, home: u32, c: Candidate, mut visit: impl FnMut(u32, usize, usize)) {
        let (mut at, mut port, mut via) = (self.first + router, c.port, c.via);
        let wiring = &self.tables.wiring;
        loop {
            let end = wiring.end(at, port).expect("a link");
            let class = usize::from(end.class);
            visit(at, port, class);
            let came = (at, port);
            at = end.router;
            let mut stage = self.tables.stage_after(came.0, came.1, class);
            if via.is_some_and(|(to, is_group)| to == if is_group { wiring.group(at) } else { at }) {
                (via, stage) = (None, 0);
            }
            if via.is_none() && at == home {
                return;
            }
            let ports = self.tables.minimal_ports(at, via, home, stage);
            if ports == 0 {
                return;
            }
            port = ports.trailing_zeros() as usize;
        }
    }
}
