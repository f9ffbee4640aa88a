//! Fast memory access ("Remote Memory Access"): descriptors and their windows, what cores write to them, and the requests that come of it.

use super::atomic::Amo;
use super::bte::Transfer;
use super::orb::{Notice, Outstanding, Then};
use super::packet::{Op, Request, Tag};
use super::status::Status;
use super::{Action, Common, Nic, Ready};
use netloom_fabric::packet::Data;
use netloom_fabric::router::tiled::Mode;
use netloom_node::time::Microticks;

/// Bytes of a window **(ours)**.
pub const WINDOW_B: u64 = 1 << 32;
/// Most data of a packet.
pub const LINE_B: u64 = 64;

/// What an FMA descriptor says of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The virtual node at the base of the window.
    pub node: u32,
    /// Memory domain handle of the remote memory, and whether it is virtual.
    pub mdh: u16,
    /// See `mdh`.
    pub is_virtual: bool,
    /// Where in that memory the window begins.
    pub offset: u64,
    /// Which bits of an address in the window choose the node: the first, and how many. What is left of the others is added to the offset.
    pub node_bits: (u32, u32),
    /// How its packets are routed.
    pub mode: Mode,
    /// Whether each put makes an event at its destination, and what that says.
    pub remote_event: Option<u32>,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            node: 0,
            mdh: 0,
            is_virtual: false,
            offset: 0,
            node_bits: (0, 0),
            mode: Mode::Adaptive0,
            remote_event: None,
        }
    }
}

impl Window {
    /// The virtual node and the offset that an address in the window means.
    pub fn target(&self, at: u64) -> (u32, u64) {
        let (first, count) = self.node_bits;
        let low = at & ((1 << first) - 1);
        let node = at >> first & ((1 << count) - 1);
        let high = at >> (first + count) << first;
        (self.node + node as u32, self.offset + (high | low))
    }
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// An address in the window.
    Window(u64),
    /// FMA launch: any virtual node and offset.
    Launch {
        /// The virtual node.
        node: u32,
        /// The offset in its memory.
        offset: u64,
    },
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum What {
    /// A put.
    Put {
        /// Its length.
        bytes: u32,
        /// Its data; none of zeros.
        data: Option<Data>,
    },
    /// A get.
    Get {
        /// Its length.
        bytes: u32,
        /// The process to which its data comes.
        process: u8,
        /// Where to.
        address: u64,
        /// A word to be written behind it: address and value.
        flag: Option<(u64, u64)>,
    },
    /// An atomic operation.
    Amo {
        /// Which.
        amo: Amo,
        /// Its operands.
        operands: [u64; 2],
        /// Process and address for the old value.
        answer: Option<(u8, u64)>,
    },
    /// An event at the destination, and nothing else.
    Event {
        /// What it says.
        user: u32,
    },
}

/// What a core's write to the NIC says.
#[derive(Debug)]
pub enum Command {
    /// The descriptor's window.
    Set {
        /// The FMA descriptor.
        descriptor: u8,
        /// The protection tag of its job.
        ptag: u8,
        /// The window.
        window: Window,
    },
    /// Its MDH alone.
    SetMdh {
        /// The FMA descriptor.
        descriptor: u8,
        /// The memory domain handle.
        mdh: u16,
        /// Whether that is virtual.
        is_virtual: bool,
    },
    /// Sets the window and opens a transaction: where its end is told, and after how many requests it is closed, which make one event at the
    /// destination if one is asked for; 0 if it is to be closed by itself.
    Open {
        /// The FMA descriptor.
        descriptor: u8,
        /// The protection tag of its job.
        ptag: u8,
        /// The window.
        window: Window,
        /// Where the transaction's end is told.
        notice: Notice,
        /// Its requests.
        packets: u32,
    },
    /// A request.
    Remote {
        /// The FMA descriptor.
        descriptor: u8,
        /// Where it goes.
        target: Target,
        /// What it asks for.
        what: What,
    },
    /// What follows waits until all of the transaction before it is back.
    Chain {
        /// The FMA descriptor.
        descriptor: u8,
    },
    /// No more requests are part of the transaction.
    Close {
        /// The FMA descriptor.
        descriptor: u8,
    },
    /// A block transfer, written to the NIC whole, or (`false`) lying in a queue in memory.
    Transfer(Box<Transfer>, bool),
    /// A contribution to a collective operation.
    Join {
        /// The collective engine.
        engine: u8,
        /// The number of the operation.
        operation: u8,
        /// Value and identifier.
        value: [u64; 2],
    },
    /// The NIC's own: the event of a sequence that its destination could not follow.
    AskEvent(u16),
}

/// The descriptors of a NIC, by number, as far as they have been used.
#[derive(Default)]
pub struct Descriptors(Vec<Descriptor>);

impl Descriptors {
    /// One of them.
    pub fn of(&mut self, descriptor: u8) -> &mut Descriptor {
        let place = usize::from(descriptor);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Descriptor::default);
        }
        &mut self.0[place]
    }
}

/// A descriptor that is in use.
#[derive(Clone, Copy, Default)]
pub struct Descriptor {
    ptag: u8,
    window: Window,
    /// Its open transaction, and the packets of which its destination makes one event.
    open: Option<u16>,
    packets: u32,
    /// Requests after which it is closed.
    left: u32,
    /// Requests without their responses yet.
    pub outstanding: u32,
}

impl Nic {
    /// Does what needs no packet, as far as it comes first; says whether a request is next.
    fn next_is_request(&mut self, c: &Common, t: Microticks) -> bool {
        loop {
            let chained = match self.commands.front().map(|command| &**command) {
                Some(Command::Chain { descriptor }) => Some(*descriptor),
                _ => None,
            };
            if chained.is_some_and(|descriptor| self.is_open(descriptor)) {
                return false;
            }
            let is_request = match self.commands.front().map(|command| &**command) {
                None => return false,
                Some(Command::Open { .. }) if self.transactions.is_full() => return false,
                Some(Command::Remote { .. } | Command::AskEvent(_)) => true,
                Some(_) => false,
            };
            if is_request {
                return true;
            }
            match *self.commands.pop_front().expect("it is there") {
                Command::Set { descriptor, ptag, window } => {
                    let d = self.descriptors.of(descriptor);
                    (d.ptag, d.window) = (ptag, window);
                }
                Command::SetMdh { descriptor, mdh, is_virtual } => {
                    let window = &mut self.descriptors.of(descriptor).window;
                    (window.mdh, window.is_virtual) = (mdh, is_virtual);
                }
                Command::Open { descriptor, ptag, window, notice, packets } => {
                    self.close(c, t, descriptor);
                    let ssid = self.transactions.open(notice);
                    let d = self.descriptors.of(descriptor);
                    (d.ptag, d.window, d.open) = (ptag, window, ssid);
                    (d.packets, d.left) = (packets, packets);
                }
                Command::Close { descriptor } => self.close(c, t, descriptor),
                Command::Chain { .. } => {}
                Command::Transfer(transfer, true) => self.post_transfer(c, t, *transfer),
                Command::Transfer(transfer, false) => self.fetch_transfer(c, t, transfer),
                Command::Join { engine, operation, value } => {
                    self.join(c, t, engine.into(), None, operation, value);
                }
                Command::Remote { .. } | Command::AskEvent(_) => unreachable!("they are requests"),
            }
            self.return_credit(c, t);
        }
    }

    /// Whether something of the descriptor's transaction has no response yet.
    fn is_open(&mut self, descriptor: u8) -> bool {
        let ssid = self.descriptors.of(descriptor).open;
        ssid.is_some_and(|ssid| self.transactions.get(ssid).outstanding > 0)
    }

    fn close(&mut self, c: &Common, t: Microticks, descriptor: u8) {
        let d = self.descriptors.of(descriptor);
        if let Some(ssid) = d.open.take() {
            self.transactions.get(ssid).closed = true;
            self.finish(c, t, ssid);
        }
    }

    /// Hands requests on to the network, those of FMA and those of the block transfer and collective engines in turn, as long as the buffer of
    /// outstanding ones and the pipeline have room.
    pub(super) fn feed(&mut self, c: &Common, t: Microticks) {
        loop {
            let fma = self.next_is_request(c, t) && self.orb.has_room();
            let has_place = self.ready.front().is_some_and(|r| r.tag.is_some());
            let other = !self.ready.is_empty() && (has_place || self.orb.has_room());
            if self.requests.is_full() || !(fma || other) {
                return;
            }
            self.fma_first = !self.fma_first;
            if fma && (self.fma_first || !other) {
                match self.commands.pop_front().map(|command| *command) {
                    Some(Command::Remote { descriptor, target, what }) => {
                        self.issue_remote(c, t, descriptor, target, what);
                        self.one_less(c, t, descriptor);
                        self.return_credit(c, t);
                    }
                    Some(Command::AskEvent(ssid)) => self.issue_event(c, t, ssid),
                    _ => unreachable!("a request is next"),
                }
            } else if let Some(ready) = self.ready.pop_front() {
                self.issue(c, t, ready);
            }
        }
    }

    /// A transaction of so many requests has made one more.
    fn one_less(&mut self, c: &Common, t: Microticks, descriptor: u8) {
        let d = self.descriptors.of(descriptor);
        if d.left > 0 {
            d.left -= 1;
            if d.left == 0 {
                self.close(c, t, descriptor);
            }
        }
    }

    /// Makes a request of what a core has written.
    fn issue_remote(&mut self, c: &Common, t: Microticks, descriptor: u8, target: Target, what: What) {
        let d = *self.descriptors.of(descriptor);
        let window = d.window;
        let (place, offset) = match target {
            Target::Window(at) => window.target(at),
            Target::Launch { node, offset } => (node, offset),
        };
        let node = c.job(d.ptag).and_then(|job| job.node(place));
        let Some(node) = node.filter(|_| offset < 1 << super::address::OFFSET_BITS) else {
            if let Some(ssid) = d.open {
                let transaction = self.transactions.get(ssid);
                let why = if node.is_none() { Status::NoSuchNode } else { Status::OutOfBounds };
                transaction.status = transaction.status.and(why);
            }
            self.descriptors.of(descriptor).outstanding -= 1;
            self.sync_changed(c, t, descriptor);
            return;
        };
        let says = if let What::Event { user } = what { Some(user) } else { None };
        let (op, command, bytes, data, then) = match what {
            What::Put { bytes, data } => (Op::Put, 0, bytes, data, Then::Count),
            What::Get { bytes, process, address, flag } => {
                (Op::Get, 0, bytes, None, Then::Store { process, address, bytes, flag })
            }
            What::Amo { amo, operands, answer } => {
                let data: Vec<u8> = operands.iter().flat_map(|x| x.to_le_bytes()).collect();
                let two =
                    matches!(amo.kind, super::atomic::AmoKind::AndXor | super::atomic::AmoKind::CompareSwap);
                let (bytes, kept) = (amo.bytes(), if two { 16 } else { 8 });
                let then = match answer {
                    Some((process, address)) => Then::Store { process, address, bytes, flag: None },
                    None => Then::Count,
                };
                (Op::Amo, amo.number(), bytes, Some(data[..kept].into()), then)
            }
            What::Event { .. } => (Op::Event, 0, 0, None, Then::Count),
        };
        let remote = match d.open {
            Some(ssid) if d.packets > 0 => self.transactions.get(ssid).notice.remote,
            _ => window.remote_event,
        };
        let request = Request {
            op,
            command,
            ptag: d.ptag,
            mdh: window.mdh,
            is_virtual: window.is_virtual,
            offset,
            bytes,
            tag: Tag::default(),
            ssid: d.open.unwrap_or(0),
            event: remote.is_some() && op != Op::Get,
            packets: if d.open.is_some() { d.packets.max(1) } else { 1 },
            user: says.or(remote).unwrap_or(0),
        };
        if let Some(ssid) = d.open {
            let transaction = self.transactions.get(ssid);
            transaction.outstanding += 1;
            transaction.bytes += u64::from(bytes);
        }
        let outstanding =
            Outstanding { transaction: d.open, then, issued_at: t, descriptor: Some(descriptor) };
        self.issue(c, t, Ready { request, node, mode: window.mode, data, tag: None, outstanding });
    }

    fn issue_event(&mut self, c: &Common, t: Microticks, ssid: u16) {
        let n = self.transactions.get(ssid).notice;
        let request = Request {
            op: Op::Event,
            command: 0,
            ptag: n.ptag,
            mdh: n.mdh,
            is_virtual: n.is_virtual,
            offset: 0,
            bytes: 0,
            tag: Tag::default(),
            ssid,
            event: true,
            packets: 1,
            user: n.remote.unwrap_or(0),
        };
        let node = n.node;
        let outstanding =
            Outstanding { transaction: Some(ssid), then: Then::Count, issued_at: t, descriptor: None };
        self.issue(c, t, Ready { request, node, mode: Mode::Adaptive0, data: None, tag: None, outstanding });
    }

    /// A process waits until a descriptor has nothing outstanding: its count is written to memory when that is so.
    pub(super) fn sync_changed(&mut self, c: &Common, t: Microticks, descriptor: u8) {
        let d = self.descriptors.of(descriptor);
        if d.outstanding == 0 && self.schedule.is_awaited(|watch| watch == super::Watch::Sync(descriptor)) {
            self.write(c, t, 8, super::Landing::Sync(descriptor));
        }
    }

    /// A core asks for something: from now on its descriptor has it outstanding.
    pub(super) fn asked(&mut self, command: &Command) {
        if let Command::Remote { descriptor, .. } = command {
            self.descriptors.of(*descriptor).outstanding += 1;
        }
    }

    /// What was asked for by way of a descriptor and has no response yet.
    pub(super) fn outstanding_of(&mut self, descriptor: u8) -> u32 {
        self.descriptors.of(descriptor).outstanding
    }

    /// A core's write waits for a credit of PCI-Express, or goes.
    pub(super) fn core_writes(
        &mut self,
        c: &Common,
        t: Microticks,
        process: u8,
        bytes: u32,
        command: Box<Command>,
    ) {
        if self.writes_held >= c.config.pio_writes {
            self.held.push_back((process, bytes, command));
            return;
        }
        self.writes_held += 1;
        let (start, end) = self.pcie.send(&c.config.pcie, crate::pcie::Way::Down, t, bytes);
        let there = end + super::crossing(&c.config, process);
        self.schedule.at(there, Action::Arrived(command));
        self.schedule.resume_at(start, process);
    }

    fn return_credit(&mut self, c: &Common, t: Microticks) {
        self.writes_held = self.writes_held.saturating_sub(1);
        if let Some((process, bytes, command)) = self.held.pop_front() {
            self.core_writes(c, t, process, bytes, command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some bits of an address choose the node, and the others stay together.
    #[test]
    fn address_bits_choose_node_and_offset() {
        let window = Window { node: 10, offset: 0x1000, node_bits: (6, 4), ..Window::default() };
        assert_eq!(window.target(0), (10, 0x1000));
        // Line after line goes to node after node.
        assert_eq!(window.target(64 * 15 + 8), (25, 0x1008));
        assert_eq!(window.target(64 * 16 + 8), (10, 0x1048));
        let plain = Window { node: 3, ..Window::default() };
        assert_eq!(plain.target(0x1_2345), (3, 0x1_2345));
        let high = Window { node_bits: (30, 2), ..Window::default() };
        assert_eq!(high.target(3 << 30 | 17), (3, 17));
    }
}
