//! Barriers and global interrupts (section II.D): sixteen classes, each a tree like a class route. A node ORs what its inputs and
//! the node itself say of a class; when that changes, a packet of its own kind goes up the tree, turns round at the root, and tells everybody
//! the OR of all.
//!
//! A class has three bits (the public driver's `GIBarrier.h`). A packet carries those of all sixteen classes, which fit its eight
//! bytes with room for one more bit each; it is as long as a token-ack and goes, like that, between data packets **(ours)**. What changes
//! while a link is busy goes with the next packet.

use super::BarrierStatus;
use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use super::trees::Interrupts;
use crate::collective::ClassRoute;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Outbox, Time};

/// Bits of a class in a word.
const CLASS_BITS: u32 = 4;
/// Those of them that are used.
const VALUE: u64 = 0b111;

fn value(word: u64, class: usize) -> u64 {
    word >> (CLASS_BITS * class as u32) & VALUE
}

fn with(word: u64, class: usize, value: u64) -> u64 {
    let shift = CLASS_BITS * class as u32;
    word & !(VALUE << shift) | (value & VALUE) << shift
}

impl Interrupts {
    /// What the node says of a class and what comes up to it.
    fn up(&self, class: usize, route: &ClassRoute) -> u64 {
        let own = if route.local { value(self.own, class) } else { 0 };
        bits(route.inputs).fold(own, |or, port| or | value(self.from[port], class))
    }

    /// What all neighbours and the node itself are to be told.
    fn telling(&self) -> ([u64; PORTS], u64) {
        let (mut to, mut status) = ([0; PORTS], 0);
        for (class, route) in self.routes.iter().enumerate().filter_map(|(c, r)| Some((c, r.as_ref()?))) {
            let up = self.up(class, route);
            let down = match route.output {
                Some(port) => {
                    to[usize::from(port)] = with(to[usize::from(port)], class, up);
                    value(self.from[usize::from(port)], class)
                }
                None => up,
            };
            bits(route.inputs).for_each(|port| to[port] = with(to[port], class, down));
            if route.local {
                status = with(status, class, down);
            }
        }
        (to, status)
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    /// Sets a node's registers of a barrier class, with what all its nodes say at the start and know of each other.
    pub(super) fn set_barrier(&mut self, n: &mut Node, class: usize, route: Option<ClassRoute>, start: u64) {
        if let Some(route) = &route
            && let Err(problem) = n.check_route(route)
        {
            panic!("node {}: barrier class {class}: {}: {}", n.number, problem.field, problem.message);
        }
        let i = n.interrupts.get_or_insert_default();
        for port in bits(route.map_or(0, |route| route.ports())) {
            i.from[port] = with(i.from[port], class, start);
            i.told[port] = with(i.told[port], class, start);
        }
        i.own = with(i.own, class, start);
        i.routes[class] = route;
        i.status = i.telling().1;
    }

    /// The node says something else of a class.
    pub(super) fn say(&mut self, n: &mut Node, class: usize, says: u64, now: Time) {
        let Some(i) = &mut n.interrupts else {
            panic!("node {}: barrier class {class} is not set", n.number)
        };
        assert!(i.routes[class].is_some(), "node {}: barrier class {class} is not set", n.number);
        i.own = with(i.own, class, says);
        self.tell(n, now);
    }

    /// A packet has come from a neighbour.
    pub(super) fn interrupted(&mut self, n: &mut Node, port: usize, word: u64, now: Time) {
        n.interrupts.get_or_insert_default().from[port] = word;
        self.tell(n, now);
    }

    /// Notes which neighbours are to be told something new, and tells the host.
    fn tell(&mut self, n: &mut Node, now: Time) {
        let Some(i) = &mut n.interrupts else { return };
        let (to, status) = i.telling();
        for (port, (to, told)) in to.iter().zip(&i.told).enumerate() {
            n.telling = n.telling & !(1 << port) | u16::from(to != told) << port;
        }
        if status != i.status {
            i.status = status;
            self.common.host.event(now, n.here, BarrierStatus(status), &mut self.common.signals);
            self.obey(n, now);
        }
    }

    /// Sends what is to be told on these links, behind what they now carry.
    pub(super) fn send_interrupts(&mut self, n: &mut Node, ports: u16, now: Time, out: &mut Outbox<Message>) {
        for port in bits(n.telling & ports) {
            let Some(i) = &mut n.interrupts else { return };
            let word = i.telling().0[port];
            i.told[port] = word;
            let (to, at) = self.send_short(n, port, now);
            if self.common.errors.is_some() && !self.tell_unsure(n, port) {
                continue;
            }
            let there = n.far[port].into();
            let event = |node, _| Event::at(Kind::Own(QueuedKind::Interrupt), node, there, 0, 0, word);
            // Unlike a token-ack it goes on from there: through the logic, and to a sender.
            let onward = self.tables.central + self.tables.hop - self.tables.token_delay;
            self.common.send(to, at + onward, event, u32::MAX, out);
        }
        n.telling &= !ports;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_do_not_mix() {
        let word = (0..16).fold(0, |word, class| with(word, class, class as u64));
        (0..16).for_each(|class| assert_eq!(value(word, class), class as u64 & VALUE));
        let word = with(word, 5, 0);
        assert_eq!([4, 5, 6].map(|class| value(word, class)), [4, 0, 6]);
    }
}
