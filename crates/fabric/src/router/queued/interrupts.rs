//! Barriers and global interrupts (section II.D): sixteen classes, each a tree like a class route. A node ORs
//! the bits of its inputs and its own bits of a class; when the result changes, it sends a special packet up
//! the tree, which turns around at the root and distributes the OR of all nodes.
//!
//! A class has three bits (the public driver's `GIBarrier.h`). A packet carries those of all sixteen classes,
//! which fit its eight bytes with one spare bit each; it is as long as a token-ack and, like that, is sent
//! between data packets **(ours)**. Changes while a link is busy go with the next packet.

use super::BarrierStatus;
use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use super::trees::Interrupts;
use crate::collective::ClassRoute;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Outbox, Time};

/// Bits per class in a word.
const CLASS_BITS: u32 = 4;
/// The used ones of them.
const VALUE: u64 = 0b111;

fn value(word: u64, class: usize) -> u64 {
    word >> (CLASS_BITS * class as u32) & VALUE
}

fn with(word: u64, class: usize, value: u64) -> u64 {
    let shift = CLASS_BITS * class as u32;
    word & !(VALUE << shift) | (value & VALUE) << shift
}

impl Interrupts {
    /// The OR of the node's own bits of a class and those of its inputs.
    fn up(&self, class: usize, route: &ClassRoute) -> u64 {
        let own = if route.local { value(self.own, class) } else { 0 };
        bits(route.inputs).fold(own, |or, port| or | value(self.from[port], class))
    }

    /// The words to send to all neighbours and to the node itself.
    fn words_to_send(&self) -> ([u64; PORTS], u64) {
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
    /// Sets a node's registers for a barrier class, with the initial bits of all its nodes.
    pub(super) fn set_barrier(&mut self, n: &mut Node, class: usize, route: Option<ClassRoute>, start: u64) {
        if let Some(route) = &route
            && let Err(problem) = n.check_route(route)
        {
            panic!("node {}: barrier class {class}: {}: {}", n.number, problem.field, problem.message);
        }
        let i = n.interrupts.get_or_insert_default();
        for port in bits(route.map_or(0, |route| route.ports())) {
            i.from[port] = with(i.from[port], class, start);
            i.sent[port] = with(i.sent[port], class, start);
        }
        i.own = with(i.own, class, start);
        i.routes[class] = route;
        i.status = i.words_to_send().1;
    }

    /// Changes the node's own bits of a class.
    pub(super) fn set_barrier_bits(&mut self, n: &mut Node, class: usize, bits: u64, now: Time) {
        let Some(i) = &mut n.interrupts else {
            panic!("node {}: barrier class {class} is not set", n.number)
        };
        assert!(i.routes[class].is_some(), "node {}: barrier class {class} is not set", n.number);
        i.own = with(i.own, class, bits);
        self.update_barriers(n, now);
    }

    /// A barrier packet has arrived from a neighbour.
    pub(super) fn interrupted(&mut self, n: &mut Node, port: usize, word: u64, now: Time) {
        n.interrupts.get_or_insert_default().from[port] = word;
        self.update_barriers(n, now);
    }

    /// Determines which neighbours need an update, and notifies the host.
    fn update_barriers(&mut self, n: &mut Node, now: Time) {
        let Some(i) = &mut n.interrupts else { return };
        let (to, status) = i.words_to_send();
        for (port, (to, sent)) in to.iter().zip(&i.sent).enumerate() {
            n.barrier_updates = n.barrier_updates & !(1 << port) | u16::from(to != sent) << port;
        }
        if status != i.status {
            i.status = status;
            self.common.host.event(now, n.here, BarrierStatus(status), &mut self.common.signals);
            self.obey(n, now);
        }
    }

    /// Sends the updates that are due on these links, after their current packets.
    pub(super) fn send_interrupts(&mut self, n: &mut Node, ports: u16, now: Time, out: &mut Outbox<Message>) {
        for port in bits(n.barrier_updates & ports) {
            let Some(i) = &mut n.interrupts else { return };
            let word = i.words_to_send().0[port];
            i.sent[port] = word;
            let (to, at) = self.send_short(n, port, now);
            if self.common.errors.is_some() && !self.send_barrier_unreliably(n, port) {
                continue;
            }
            let there = n.far[port].into();
            let event = |node, _| Event::at(Kind::Own(QueuedKind::Interrupt), node, there, 0, 0, word);
            // Unlike a token-ack it continues: through the logic, and to a sender.
            let onward = self.tables.central + self.tables.hop - self.tables.token_delay;
            self.common.send(to, at + onward, event, u32::MAX, out);
        }
        n.barrier_updates &= !ports;
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
