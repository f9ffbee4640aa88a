//! The words of a node's state, by name, for the kernel and for who reads what it counted.

use crate::parameters::Parameters;
use std::fmt::Write;

/// Ports of a router: two for each dimension.
pub const PORTS: u32 = 6;
/// Injection FIFOs for normal packets.
pub const FIFOS: u32 = 6;
/// Bins of a histogram: those of `netloom_fabric::histogram` for numbers of 32 bits.
pub const BINS: u32 = 256;
/// Words of a packet.
const PACKET: u32 = 3;
/// Words of a link's mail before its token-acks: flags, time of arrival, packet.
pub const MAIL_ACKS: u32 = 2 + PACKET;

/// The numbers of the words.
pub struct Words {
    names: Vec<(&'static str, u32)>,
    /// Words of counts, which come first.
    pub counted: u32,
    /// Words of a node.
    pub total: u32,
    /// Words of the mail of a link in a window.
    pub mail: u32,
}

/// Numbers names in turn.
fn numbered(from: u32, list: &[(&'static str, u32)], to: &mut Vec<(&'static str, u32)>) -> u32 {
    list.iter().fold(from, |next, &(name, words)| {
        to.push((name, next));
        next + words
    })
}

impl Words {
    /// The words of a machine with these parameters.
    pub fn new(of: &Parameters) -> Self {
        let mut names = vec![];
        let vcs = of.dynamic_vcs + 1;
        // Packets by VC, then these.
        let link_words = numbered(vcs, &[("LINK_ACKS", 1), ("LINK_LEFT", 1)], &mut names);
        let counts = [
            ("DELIVERED", 1),
            ("INJECTIONS", 1),
            ("LATENCY", 2),
            ("LATENCY_MIN", 1),
            ("LATENCY_MAX", 1),
            ("NETWORK_LATENCY", 2),
            ("NETWORK_MIN", 1),
            ("NETWORK_MAX", 1),
            ("OCCUPANCY", vcs),
            ("LINK", PORTS * link_words),
        ];
        let counted = numbered(0, &counts, &mut names);
        let port = [
            ("TOKENS", 1),
            ("DUE", 1),
            ("CARRIED", 1),
            ("BUSY_UNTIL", 1),
            ("TRANSFER", 1 + PACKET),
            ("PATHS_BUSY", 1),
            ("RECEPTION", 1),
            ("RECEPTION_FROM", 1),
            ("RECEPTION_MADE", 2),
            ("BYPASS", 1 + PACKET),
            ("FLYING", 2 + PACKET),
            ("ACKS", 1 + 2 * of.acks_in_flight()),
            ("VC", vcs),
            ("QUEUES", vcs * of.slots() * PACKET),
        ];
        let port_words = numbered(0, &port, &mut names);
        let fifo = [("HELD", 1), ("FIFO_PACKET", PACKET), ("NEXT", 1), ("FRACTION", 1), ("INDEX", 1)];
        let fifo_words = numbered(0, &fifo, &mut names);
        let own = [
            ("NOW", 1),
            ("PARITY", 1),
            ("ASKS", 1),
            ("RANDOM", 2),
            ("ORDER", 4),
            ("PORT", PORTS * port_words),
            ("FIFO", FIFOS * fifo_words),
        ];
        let total = numbered(counted, &own, &mut names);
        let mail = MAIL_ACKS + 2 * of.acks_in_window();
        names.extend([("PORT_WORDS", port_words), ("FIFO_WORDS", fifo_words), ("MAIL_WORDS", mail)]);
        names.push(("LINK_WORDS", link_words));
        Words { names, counted, total, mail }
    }

    /// The number of a word, within a node, a port or a FIFO.
    pub fn at(&self, name: &str) -> usize {
        let (_, number) = self.names.iter().find(|(known, _)| *known == name).expect("a word of the list");
        *number as usize
    }

    /// As constants of the kernel.
    pub fn constants(&self) -> String {
        self.names.iter().fold(String::new(), |mut text, (name, number)| {
            let _ = writeln!(text, "const {name}: u32 = {number}u;");
            text
        })
    }
}
