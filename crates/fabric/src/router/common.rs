//! State and operations that the nodes of a block of a torus share, whatever their router: packets, pending
//! events, counters, and the exchange between hosts and network.

use super::errors::Errors;
use super::event::{Event, Kind, Message, OwnKind};
use super::partition::remote;
use super::port::Port;
use super::statistics::{Recorder, Totals};
use crate::host::{Delivery, Family, Host, Pull, Request, Signals};
use crate::packet::{Arena, Data, Header, Meta};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::State;
use netloom_engine::{Calendar, Outbox, Time};
use std::io;

/// The state that the nodes of a block share, except for what is specific to their family. `Own` are the
/// events specific to the family, of which few are `HORIZON` ticks ahead.
pub(in crate::router) struct Common<F: Family, Own, H, const HORIZON: usize> {
    pub arena: Arena,
    pub calendar: Calendar<Event<Own>, HORIZON>,
    pub recorder: Recorder,
    /// The state of links with bit errors.
    pub errors: Option<Box<Errors>>,
    pub host: H,
    pub signals: Signals<F::Signal>,
    /// Injection FIFOs per node.
    pub fifos: usize,
    /// Packets that have started to leave for other blocks in this tick: lane, arrival, event. They are
    /// handed over at the end of the tick, when the prefetched memory has arrived.
    outgoing: Vec<(usize, Time, Event<Own>)>,
}

impl<F: Family<Header = Header>, Own: OwnKind, H: Host<F>, const HORIZON: usize> Common<F, Own, H, HORIZON> {
    /// For `nodes` nodes with `fifos` injection FIFOs each, all of which are to be filled from the host.
    pub fn new(nodes: usize, fifos: usize, recorder: Recorder, errors: Option<Box<Errors>>, host: H) -> Self {
        let mut calendar = Calendar::new();
        for node in 0..nodes as u32 {
            for fifo in 0..fifos {
                calendar.push(Time::ZERO, Event::at(Kind::Fill, node, fifo / 8, fifo % 8, 0, 0));
            }
        }
        Common {
            arena: Arena::default(),
            calendar,
            recorder,
            errors,
            host,
            signals: Signals::default(),
            fifos,
            outgoing: vec![],
        }
    }

    /// Delivers a packet to the host of a node.
    #[inline(always)]
    pub fn hand_over(
        &mut self,
        now: Time,
        node: u32,
        port: usize,
        header: Header,
        (meta, data): (Meta, Option<Data>),
    ) {
        self.recorder.delivered(now, header.chunks(), &meta);
        let delivery = Delivery { port, header, meta, data: data.as_ref() };
        self.host.deliver(now, node, &delivery, &mut self.signals);
    }

    /// A wake-up requested by the host of a node is due.
    pub fn wake(&mut self, now: Time, node: u32, token: u32) {
        self.host.wake(now, node, token, &mut self.signals);
    }

    /// Carries out the host's requests for a node that will still act in this tick; FIFOs to be filled are
    /// added to `refill`. Returns the signals specific to the family.
    #[inline]
    pub fn obey(
        &mut self,
        request: Request<F::Signal>,
        here: u32,
        refill: &mut u16,
        now: Time,
    ) -> Option<F::Signal> {
        let (node, own) = match request {
            Request::Fill { node, fifo, at } => {
                if at > now {
                    self.fill_at(node, fifo, at);
                } else {
                    *refill |= 1 << fifo;
                }
                (node, None)
            }
            Request::Wake { node, at, token } => {
                assert!(at > now, "a host may be woken in the future only");
                self.calendar.push(at, Event::at(Kind::Wake, node, 0, 0, token, 0));
                (node, None)
            }
            Request::Own { node, signal } => (node, Some(signal)),
        };
        debug_assert_eq!(node, here, "a host may signal only for the node for which it was called");
        own
    }

    /// Schedules a request to the host of a node for a packet of an injection FIFO at this time.
    fn fill_at(&mut self, node: u32, fifo: usize, at: Time) {
        self.calendar.push(at, Event::at(Kind::Fill, node, fifo / 8, fifo % 8, 0, 0));
    }

    /// Pulls the next packet of an injection FIFO from the host; returns its number in the arena. Without a
    /// packet, the FIFO is filled when the host requests it.
    #[inline(always)]
    pub fn pull(&mut self, node: u32, fifo: usize, now: Time) -> Option<(Header, u32)> {
        match self.host.pull(now, node, fifo, &mut self.signals) {
            Pull::Packet(header, meta) => {
                Some((header, self.arena.insert_with(meta, self.signals.take_data())))
            }
            Pull::NotBefore(at) => {
                self.signals.refuse_data(node);
                self.fill_at(node, fifo, at.max(now + 1));
                None
            }
            Pull::Empty => {
                self.signals.refuse_data(node);
                None
            }
        }
    }

    /// A packet of `chunks` for a VC, counted in a class, occupies a link for `time`, as soon as the link is
    /// free and not before `start`. Returns the actual start.
    #[inline]
    pub fn occupy(
        &mut self,
        link: &mut Port,
        (vc, class): (usize, usize),
        chunks: u32,
        time: u64,
        start: Time,
    ) -> Time {
        let start = link.free_at.max(start);
        let end = start + time;
        link.free_at = end;
        link.packets += 1;
        link.sent[class] += chunks;
        self.recorder.busy(start, end);
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[vc] += u64::from(chunks);
        start
    }

    /// Sends a short packet on a link for `time`, after the current one. Returns its end.
    #[inline]
    pub fn send_short(&mut self, link: &mut Port, time: u64, now: Time) -> Time {
        let end = link.free_at.max(now) + time;
        link.free_at = end;
        link.acks += 1;
        self.recorder.current.acks += 1;
        self.recorder.busy(end - time, end);
        end
    }

    /// Restarts the statistics.
    pub fn restart_counting(&mut self) {
        self.recorder.totals = Totals::default();
        self.errors.iter_mut().for_each(|errors| errors.restart_counting());
    }

    /// Memory of the state of links with bit errors, and of packets, bytes.
    pub fn bytes(&self) -> (usize, usize) {
        let errors = self.errors.as_ref().map_or(0, |errors| errors.bytes());
        (errors, self.arena.bytes() + self.calendar.bytes())
    }

    /// Sends an event to the other end of a link, with a packet or with [`u32::MAX`] for none.
    #[inline]
    pub fn send(
        &mut self,
        to: u32,
        at: Time,
        event: impl FnOnce(u32, u32) -> Event<Own>,
        packet: u32,
        out: &mut Outbox<Message<Own>>,
    ) {
        let Some((lane, place)) = remote(to) else {
            self.calendar.push(at, event(to, packet));
            return;
        };
        let event = event(place, packet);
        if packet == u32::MAX {
            out.send(lane, at, Message::new(event, u32::MAX, &mut self.arena));
        } else {
            self.arena.fetch(packet);
            self.outgoing.push((lane, at, event));
        }
    }

    /// Hands over packets that leave for other blocks.
    #[inline(always)]
    pub fn hand_out(&mut self, out: &mut Outbox<Message<Own>>) {
        for &(lane, at, event) in &self.outgoing {
            out.send(lane, at, Message::new(event, event.packet(), &mut self.arena));
        }
        self.outgoing.clear();
    }
}

impl<F: Family<Header = Header>, Own: OwnKind, H: Host<F>, const HORIZON: usize> State
    for Common<F, Own, H, HORIZON>
{
    /// Between two ticks.
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let Common { arena, calendar, recorder, errors, host: _, signals, fifos: _, outgoing } = self;
        debug_assert!(signals.requests.is_empty() && outgoing.is_empty(), "a tick has not ended");
        (arena, calendar, recorder).serialize(to)?;
        errors.iter().try_for_each(|errors| errors.store(to))
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.arena, self.calendar, self.recorder) = BorshDeserialize::deserialize(from)?;
        self.errors.iter_mut().try_for_each(|errors| errors.load(from))
    }
}
