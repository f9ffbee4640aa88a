//! Deadlock check: the channel dependency graph (a channel is a VC of a link) of the route tables as they are
//! filled (Dally and Seitz 1987).
//!
//! Every route that any packet may take is traversed, for all sources, destinations, intermediate routers and
//! decisions. A packet holds its current channel and waits for the next; if no channel can come to wait for
//! itself, there is no deadlock.
//!
//! A packet's route consists of legs: to the intermediate router or group, and on to its destination. Its
//! path on a leg depends only on the leg's end and on the level at which it started. So each leg is traversed
//! once, from everywhere, and where one leg may end and another begin, every packet that arrives on the first
//! may take the second. That joins legs that no packet combines (back to where it came from), so the graph
//! has all actual edges, and a few more.

use super::failover::around;
use super::header::{Class, Mode, TiledHeader};
use super::state::VCS;
use super::tables::Tables;
use crate::config::{ConfigError, TiledConfig, VcDiscrimination};
use crate::router::bits::bits;
use crate::routing::Routes;
use crate::topology::wiring::Wiring;
use std::collections::HashMap;

/// A VC of a link: sending router, its port, VC.
pub type Channel = (u32, usize, usize);

/// A cycle of channels, each of which may wait for the next, if there is one; if the configuration has
/// failing links, for the tables that route around all of them. For networks of a few thousand routers: the
/// work grows with the square.
///
/// # Errors
/// An invalid configuration.
pub fn ring_of_channels(config: &TiledConfig) -> Result<Option<Vec<Channel>>, ConfigError> {
    config.check()?;
    Ok(Legs::walk(&tables_of(config)).waits.ring())
}

/// The tables that route around all failures.
fn tables_of(config: &TiledConfig) -> Tables {
    let tables = Tables::new(config);
    let failures = config.faults.schedule(&tables.wiring, 1, config.ticks_per_second, 1);
    if failures.is_empty() { tables } else { around(&tables, &failures) }
}

/// Outputs of a router: one bit per port, for each VC.
type Outputs = [u64; VCS];

fn add(to: &mut Outputs, more: &Outputs) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to |= more);
}

/// For each channel, the channels that its packets may wait for, at the router where it ends.
struct Waits<'a> {
    wiring: &'a Wiring,
    next: Vec<Outputs>,
}

impl Waits<'_> {
    fn index(&self, (router, port, vc): Channel) -> usize {
        (router as usize * self.wiring.ports() + port) * VCS + vc
    }

    fn channel(&self, index: usize) -> Channel {
        let (link, vc) = (index / VCS, index % VCS);
        ((link / self.wiring.ports()) as u32, link % self.wiring.ports(), vc)
    }

    /// The channels that a channel may wait for.
    fn after(&self, index: usize) -> impl Iterator<Item = usize> {
        let (router, port, _) = self.channel(index);
        let end = self.wiring.end(router, port).map_or(0, |end| end.router);
        let next = &self.next[index];
        (0..VCS).flat_map(move |vc| bits(next[vc]).map(move |port| self.index((end, port, vc))))
    }

    /// A cycle, found by depth-first search.
    fn ring(&self) -> Option<Vec<Channel>> {
        let mut done = vec![false; self.next.len()];
        let mut place = vec![usize::MAX; self.next.len()];
        for start in 0..self.next.len() {
            if done[start] {
                continue;
            }
            let mut path = vec![(start, self.after(start))];
            place[start] = 0;
            while let Some((index, after)) = path.last_mut() {
                let Some(next) = after.next() else {
                    (done[*index], place[*index]) = (true, usize::MAX);
                    path.pop();
                    continue;
                };
                if place[next] != usize::MAX {
                    return Some(path[place[next]..].iter().map(|(index, _)| self.channel(*index)).collect());
                }
                if !done[next] {
                    place[next] = path.len();
                    path.push((next, self.after(next)));
                }
            }
        }
        None
    }
}

/// The channels of packets that change from one leg to another.
#[derive(Clone, Default)]
struct Change {
    /// The channels on which they arrive.
    came: Vec<usize>,
    /// The outputs on which they may continue.
    out: Outputs,
}

/// The end of a leg: a router, or (`true`) a group.
type Goal = (u32, bool);

/// The state of the traversal.
struct Legs<'a> {
    tables: &'a Tables,
    waits: Waits<'a>,
    /// By router and the level of the leg that begins.
    changes: HashMap<(u32, u32), Change>,
    /// Routers and goals of packets for which the tables have no route onwards.
    dead_ends: Vec<(u32, Goal)>,
}

/// A position of a packet on a leg.
struct Place {
    router: u32,
    header: TiledHeader,
    came: Vec<usize>,
    out: Outputs,
}

impl<'a> Legs<'a> {
    /// Traverses all legs.
    fn walk(tables: &'a Tables) -> Self {
        let w = &tables.wiring;
        let next = vec![Outputs::default(); w.routers() as usize * w.ports() * VCS];
        let waits = Waits { wiring: w, next };
        let mut legs = Legs { tables, waits, changes: HashMap::new(), dead_ends: vec![] };
        let extra = tables.constants.extra;
        let mut firsts: Vec<Goal> = (0..w.routers()).map(|router| (router, false)).collect();
        match tables.routes {
            Routes::FatTree(_) => firsts.retain(|goal| !w.nodes_at(goal.0).is_empty()),
            Routes::Dragonfly(_) if w.groups() > 2 => {
                firsts.extend((0..w.groups()).map(|group| (group, true)))
            }
            Routes::Dragonfly(_) | Routes::Torus(_) => {}
        }
        for level in 0..=if legs.may_change() { extra } else { 0 } {
            firsts.iter().for_each(|&goal| legs.leg(goal, level));
        }
        for level in [1 + extra, 2 + extra] {
            (0..w.routers()).for_each(|router| legs.leg((router, false), level));
        }
        for Change { came, out } in legs.changes.values() {
            came.iter().for_each(|&channel| add(&mut legs.waits.next[channel], out));
        }
        legs
    }

    /// Whether a packet may reconsider its route at a router of its first group, which needs a VC.
    fn may_change(&self) -> bool {
        self.tables.constants.extra == 1 && matches!(self.tables.routes, Routes::Dragonfly(_))
    }

    /// Whether another leg follows one of this level.
    fn leads_on(&self, level: u32) -> bool {
        level <= self.tables.constants.extra && !matches!(self.tables.routes, Routes::FatTree(_))
    }

    /// The routers at which a leg of this level may start, if there is any route to its goal.
    fn starts(&self, (to, is_group): Goal, level: u32) -> Vec<u32> {
        let w = &self.tables.wiring;
        // Minimal packets with VCs of their own start where the last leg of others does.
        let apart = self.tables.config.routing.vc_discrimination != VcDiscrimination::Off
            && level == 2 + self.tables.constants.extra;
        let begins = |router: u32| {
            (level == 0 || apart) && !w.nodes_at(router).is_empty()
                || self.changes.get(&(router, level)).is_some_and(|change| !change.came.is_empty())
        };
        let is_there = |router: u32| to == if is_group { w.group(router) } else { router };
        (0..w.routers()).filter(|&router| begins(router) && !is_there(router)).collect()
    }

    /// Traverses a leg that starts at a level.
    fn leg(&mut self, goal: Goal, level: u32) {
        let tables = self.tables;
        let w = &tables.wiring;
        // A packet on its last leg has no intermediate router; its outputs are those of a packet with its
        // destination as the intermediate.
        let begin = TiledHeader::new(0, 1, Class::Request, Mode::Adaptive0, 0);
        let begin = begin.with_via(Some(goal)).at_level(level);
        let starts = self.starts(goal, level);
        let mut places: Vec<Place> = vec![];
        let mut known: HashMap<(u32, u64), usize> = HashMap::new();
        let mut find = |places: &mut Vec<Place>, router: u32, header: TiledHeader| {
            *known.entry((router, header.bits())).or_insert_with(|| {
                places.push(Place { router, header, came: vec![], out: Outputs::default() });
                places.len() - 1
            })
        };
        for &router in &starts {
            find(&mut places, router, begin);
        }
        let mut walked = 0;
        while walked < places.len() {
            let Place { router, header, .. } = places[walked];
            for port in bits(tables.minimal_ports(router, header.via(), goal.0, header.stage())) {
                let end = w.end(router, port).expect("a link");
                let (after, vc) = tables.leave(header, (router, port), end.class.into());
                let channel = self.waits.index((router, port, vc));
                places[walked].out[vc] |= 1 << port;
                let there = tables.come_to(after, end.router);
                if there.via().is_some() {
                    let to = find(&mut places, end.router, after);
                    places[to].came.push(channel);
                } else if self.leads_on(level) {
                    self.changes.entry((end.router, there.level())).or_default().came.push(channel);
                }
                let in_first_group = w.group(end.router) == w.group(router);
                if level == 0 && header.level() == 0 && in_first_group && self.may_change() {
                    self.changes.entry((end.router, 1)).or_default().came.push(channel);
                }
            }
            walked += 1;
        }
        for place in &places {
            let is_lost = place.out == Outputs::default() && !place.came.is_empty();
            if is_lost {
                self.dead_ends.push((place.router, goal));
            }
            place.came.iter().for_each(|&channel| add(&mut self.waits.next[channel], &place.out));
        }
        for (place, &start) in places.iter().zip(&starts) {
            add(&mut self.changes.entry((start, level)).or_default().out, &place.out);
        }
    }
}

#[cfg(test)]
mod tests;
