//! Exclusive channels (sections 4.3 and 4.6): rings of buffers at the receiver that belong to one sender, who
//! fills them by puts with events. Short messages are in the descriptors of their puts. Long ones are divided.
//!
//! A rank asks for a channel with a mini-packet that has the number of its own ring, and the answer has that
//! of the other. Until then messages go by the shared channel. Where both ask at once, neither answers. The
//! memory of all rings is registered at the start **(ours)**.

use super::header::{Header, Packet};
use super::peer::{Exclusive, Outgoing, Ring};
use super::{GlexTransport, RING, RINGS_IN, RINGS_OUT};
use crate::config::Channel;
use crate::device::GlexDevice;
use crate::transport::{ENVELOPE_B, Envelope, Event};
use netloom_nic::th::{Options, Request};
use netloom_node::time::Microticks;

impl<D: GlexDevice> GlexTransport<D> {
    /// A message is about to be sent to a rank: creates a channel to it if that is due.
    pub(super) fn want_channel(&mut self, to: u32) {
        let due = match self.settings.channels.channel {
            Channel::Shared => return,
            Channel::Exclusive => 0,
            Channel::Hybrid => self.settings.channels.exclusive_after,
        };
        let peer = self.peer(to);
        let is_due = peer.messages >= due && matches!(peer.exclusive, Exclusive::None);
        peer.messages = peer.messages.saturating_add(1);
        if is_due && let Some(own) = self.make_ring(to) {
            self.peer(to).waiting.push_back(Outgoing::About(Packet::Connect(own)));
        }
    }

    /// Takes a ring for a channel with a rank, if there is one.
    fn make_ring(&mut self, with: u32) -> Option<u32> {
        let buffers = self.settings.channels.ring_buffers;
        let free = self.rings.iter().position(Option::is_none);
        if let Some(own) = free {
            self.rings[own] = Some(with);
        }
        let ring = free.map(|own| Ring::new(own as u32, buffers));
        self.peer(with).exclusive = ring.map_or(Exclusive::Refused, Exclusive::Ring);
        free.map(|own| own as u32)
    }

    /// A mini-packet about a channel has come.
    pub(super) fn about_channel(&mut self, from: u32, packet: Packet) {
        match packet {
            Packet::Connect(theirs) => {
                let has_asked = self.peer(from).ring().is_some();
                let own = if has_asked { None } else { self.make_ring(from) };
                match self.peer(from).ring() {
                    Some(ring) => ring.theirs = Some(theirs),
                    None => self.peer(from).waiting.push_back(Outgoing::About(Packet::Refuse)),
                }
                if let Some(own) = own {
                    self.peer(from).waiting.push_back(Outgoing::About(Packet::Accept(own)));
                }
            }
            Packet::Accept(theirs) => {
                if let Some(ring) = self.peer(from).ring() {
                    ring.theirs = Some(theirs);
                }
            }
            _ => {
                if let Some(own) = self.peer(from).ring().map(|ring| ring.own) {
                    self.rings[own as usize] = None;
                }
                self.peer(from).exclusive = Exclusive::Refused;
            }
        }
    }

    /// The library's own instructions for a message, at either end.
    fn spend_on_message(&mut self) {
        let ns = self.settings.channels.exclusive_ns;
        self.spend(Microticks::of_f64(ns * self.settings.steps.nanosecond));
    }

    /// Sends a part of a message by the channel. Returns its length, bytes, if there is a free buffer.
    pub(super) fn send_exclusive(&mut self, to: u32, envelope: Envelope, left: u64) -> Option<u64> {
        let (buffers, size) = (self.settings.channels.ring_buffers, self.settings.channels.ring_buffer_B);
        let part = left.min(u64::from(size) - ENVELOPE_B as u64);
        let peer = self.peer(to);
        let ring = peer.ring()?;
        let theirs = ring.theirs?;
        if !ring.credits.take() {
            return None;
        }
        let place = theirs * buffers + ring.next_out;
        let local = RINGS_OUT + u64::from(ring.own * buffers + ring.next_out) * u64::from(size);
        let remote = RINGS_IN + u64::from(place) * u64::from(size);
        ring.next_out = (ring.next_out + 1) % buffers;
        let header = peer.header(envelope, Packet::Message, part as u16);
        let mut data = header.to_bytes().to_vec();
        let length = data.len() as u64 + part;
        if left == envelope.data_bytes() {
            self.spend_on_message();
        }
        self.copy(part, envelope.bytes);
        let at = self.address(to);
        let options = Options { remote_event: Some(RING | place), ..self.options() };
        let request = if length <= self.device.immediate_max_bytes() {
            data.resize(length as usize, 0);
            Request::put_immediate(&[at], remote, &data)
        } else {
            self.device.store(local, &data);
            Request::put(&[at], (local, remote, length))
        };
        self.post(request.with(options));
        Some(part)
    }

    /// The buffer with this number among those of all rings has been filled.
    pub(super) fn take_from_ring(&mut self, place: u32) -> Option<Event> {
        let (buffers, size) = (self.settings.channels.ring_buffers, self.settings.channels.ring_buffer_B);
        let from = self.rings.get((place / buffers) as usize).copied().flatten()?;
        let bytes = self.device.load(RINGS_IN + u64::from(place) * u64::from(size), ENVELOPE_B);
        let Some(header) = Header::of_bytes(&bytes) else {
            self.fail("glex_poll_event", "a buffer of an exclusive channel without a message");
            return None;
        };
        self.copy(header.part.into(), header.envelope.data_bytes());
        if let Some(ring) = self.peer(from).ring() {
            ring.taken(place % buffers, buffers);
        }
        self.returned(from, &header);
        let arrived = self.part_arrived(from, header.envelope, header.part);
        if arrived.is_some() {
            self.spend_on_message();
        }
        arrived
    }
}
