//! Fast memory access ("Remote Memory Access"): descriptors and their windows, the stores of cores to them,
//! and the resulting requests.

use super::atomic::Amo;
use super::bte::Transfer;
use super::orb::{Notice, Outstanding, Then};
use super::packet::{Op, Request, Tag};
use super::status::Status;
use super::{Action, Common, Nic, Ready};
use netloom_fabric::packet::Data;
use netloom_fabric::router::tiled::Mode;
use netloom_node::time::Microticks;

/// Size of a window, bytes **(ours)**.
pub const WINDOW_B: u64 = 1 << 32;
/// Maximum data of a packet, bytes.
pub const LINE_B: u64 = 64;

/// The window of an FMA descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The virtual node at the base of the window.
    pub node: u32,
    /// Memory domain handle of the remote memory, and whether it is virtual.
    pub mdh: u16,
    /// See `mdh`.
    pub is_virtual: bool,
    /// Offset in that memory at which the window starts.
    pub offset: u64,
    /// The bits of an address in the window that select the node: the first, and their number. The remaining
    /// bits are added to the offset.
    pub node_bits: (u32, u32),
    /// Routing mode of its packets.
    pub mode: Mode,
    /// Whether each put generates an event at its destination, and that event's data.
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
    /// The virtual node and the offset of an address in the window.
    pub fn target(&self, at: u64) -> (u32, u64) {
        let (first, count) = self.node_bits;
        let low = at & ((1 << first) - 1);
        let node = at >> first & ((1 << count) - 1);
        let high = at >> (first + count) << first;
        (self.node + node as u32, self.offset + (high | low))
    }
}

/// The target of a request.
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

/// The operation of a request.
#[derive(Clone, Debug)]
pub enum What {
    /// A put.
    Put {
        /// Its length.
        bytes: u32,
        /// Its data; `None` for zeros.
        data: Option<Data>,
    },
    /// A get.
    Get {
        /// Its length.
        bytes: u32,
        /// The process that receives its data.
        process: u8,
        /// The address for its data.
        address: u64,
        /// A flag to be written after it: address and value.
        flag: Option<(u64, u64)>,
    },
    /// An atomic operation.
    Amo {
        /// The operation.
        amo: Amo,
        /// Its operands.
        operands: [u64; 2],
        /// Process and address for the old value.
        answer: Option<(u8, u64)>,
    },
    /// Only an event at the destination.
    Event {
        /// Its data.
        user: u32,
    },
}

/// A core's store to the NIC.
#[derive(Debug)]
pub enum Command {
    /// Sets the descriptor's window.
    Set {
        /// The FMA descriptor.
        descriptor: u8,
        /// The protection tag of its job.
        ptag: u8,
        /// The window.
        window: Window,
    },
    /// Sets only its MDH.
    SetMdh {
        /// The FMA descriptor.
        descriptor: u8,
        /// The memory domain handle.
        mdh: u16,
        /// Whether that is virtual.
        is_virtual: bool,
    },
    /// Sets the window and opens a transaction: where its completion is reported, and the number of requests
    /// after which it is closed, which generate one event at the destination if requested; 0 if it is closed
    /// explicitly.
    Open {
        /// The FMA descriptor.
        descriptor: u8,
        /// The protection tag of its job.
        ptag: u8,
        /// The window.
        window: Window,
        /// Where the transaction's completion is reported.
        notice: Notice,
        /// Number of its requests.
        packets: u32,
    },
    /// A request.
    Remote {
        /// The FMA descriptor.
        descriptor: u8,
        /// Its target.
        target: Target,
        /// Its operation.
        what: What,
    },
    /// Delays what follows until all earlier requests of the transaction have completed.
    Chain {
        /// The FMA descriptor.
        descriptor: u8,
    },
    /// Closes the transaction: it has no more requests.
    Close {
        /// The FMA descriptor.
        descriptor: u8,
    },
    /// A block transfer, fully written to the NIC, or (`false`) in a queue in memory.
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
    /// Internal to the NIC: requests the event of a sequence that its destination could not track.
    AskEvent(u16),
}

/// The descriptors of a NIC that have been used, by number.
#[derive(Default)]
pub struct Descriptors(Vec<Descriptor>);

impl Descriptors {
    /// A descriptor.
    pub fn of(&mut self, descriptor: u8) -> &mut Descriptor {
        let place = usize::from(descriptor);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Descriptor::default);
        }
        &mut self.0[place]
    }
}

/// State of a descriptor in use.
#[derive(Clone, Copy, Default)]
pub struct Descriptor {
    ptag: u8,
    window: Window,
    /// Its open transaction, and its number of packets if its destination is to generate one event for them.
    open: Option<u16>,
    packets: u32,
    /// Requests until it is closed.
    left: u32,
    /// Requests without a response.
    pub outstanding: u32,
}

impl Nic {
    /// Executes the commands that need no packet up to the next request; returns whether there is a request.
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

    /// Whether a request of the descriptor's transaction has no response yet.
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

    /// Passes requests to the network, those of FMA and of the block transfer and collective engines in turn,
    /// as long as the output request buffer and the pipeline have space.
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

    /// A transaction with a fixed number of requests has issued one more.
    fn one_less(&mut self, c: &Common, t: Microticks, descriptor: u8) {
        let d = self.descriptors.of(descriptor);
        if d.left > 0 {
            d.left -= 1;
            if d.left == 0 {
                self.close(c, t, descriptor);
            }
        }
    }

    /// Converts a core's store to a request.
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
        let own_event = if let What::Event { user } = what { Some(user) } else { None };
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
            user: own_event.or(remote).unwrap_or(0),
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

    /// Sync waits until a descriptor has no outstanding requests: its count is then written to memory.
    pub(super) fn sync_changed(&mut self, c: &Common, t: Microticks, descriptor: u8) {
        let d = self.descriptors.of(descriptor);
        if d.outstanding == 0 && self.schedule.is_awaited(|watch| watch == super::Watch::Sync(descriptor)) {
            self.write(c, t, 8, super::MemoryWrite::Sync(descriptor));
        }
    }

    /// A core issues a command, which counts as outstanding for its descriptor from now on.
    pub(super) fn asked(&mut self, command: &Command) {
        if let Command::Remote { descriptor, .. } = command {
            self.descriptors.of(*descriptor).outstanding += 1;
        }
    }

    /// Commands issued through a descriptor without a response.
    pub(super) fn outstanding_of(&mut self, descriptor: u8) -> u32 {
        self.descriptors.of(descriptor).outstanding
    }

    /// A core's store waits for a PCI-Express credit, or is sent.
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
        let (start, end) = self.pcie.send(&c.config.pcie, crate::pcie::Direction::Down, t, bytes);
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

    /// The selected bits of an address choose the node, and the others are joined.
    #[test]
    fn address_bits_choose_node_and_offset() {
        let window = Window { node: 10, offset: 0x1000, node_bits: (6, 4), ..Window::default() };
        assert_eq!(window.target(0), (10, 0x1000));
        // Consecutive lines go to consecutive nodes.
        assert_eq!(window.target(64 * 15 + 8), (25, 0x1008));
        assert_eq!(window.target(64 * 16 + 8), (10, 0x1048));
        let plain = Window { node: 3, ..Window::default() };
        assert_eq!(plain.target(0x1_2345), (3, 0x1_2345));
        let high = Window { node_bits: (30, 2), ..Window::default() };
        assert_eq!(high.target(3 << 30 | 17), (3, 17));
    }
}
