//! What a rank's waits were for: a partner that had not sent, the wire, queues, or the interface.

use super::{Rank, Receive};
use crate::program::Collective;
use crate::transit::{Part, Passage};
use crate::transport::{Event, Transport};
use netloom_node::program::lock;
use netloom_node::time::Microticks;

impl<T: Transport> Rank<T> {
    /// This event ended the rank's wait: attributes the waiting time.
    pub(super) fn waited_for(&mut self, event: &Event, now: Microticks) {
        let waits = self.waits.take();
        let (passage, sent) = match event {
            Event::Arrived { from, envelope } => {
                let Some(sent) = self.transit.arrives(*from, self.rank, envelope) else { return };
                let (part, bytes) = Part::of(envelope);
                (Passage { part, bytes, from: *from, to: self.rank }, sent)
            }
            Event::Fetched { request } => {
                let Some(&Receive { from, announced, met_at, .. }) = self.receives.get((*request).into())
                else {
                    return;
                };
                (Passage { part: Part::Bulk, bytes: announced.bytes, from, to: self.rank }, met_at)
            }
            // A reduction ends where its result does not come when the interface has taken the data.
            Event::Collected if self.rank > 0 && self.joined(Collective::Reduce) => {
                self.waited_for_the_interface(waits);
                return;
            }
            Event::Sent { .. } | Event::Read { .. } => {
                self.waited_for_the_interface(waits);
                return;
            }
            Event::Collected => {
                let (began, waited) = waits.unwrap_or((now, Microticks::ZERO));
                let entered = self.collective.map_or(began, |own| self.transit.last_to_enter(own.number));
                let in_flight = waited.min(now.saturating_sub(entered.max(began)));
                let mut report = lock(&self.report);
                let partner = waited.saturating_sub(in_flight);
                report.partner += partner;
                // The hardware has paths and buffers of its own for it.
                report.wire += in_flight;
                report.waited(partner, in_flight, Microticks::ZERO);
                return;
            }
        };
        // Divides the waiting time into the parts before and after the message was sent.
        let (began, waited) = waits.unwrap_or((now, Microticks::ZERO));
        let in_flight = waited.min(now.saturating_sub(sent.max(began)));
        let (wire, queueing) = self.transit.passed(passage, (sent, now), in_flight);
        let mut report = lock(&self.report);
        let partner = waited.saturating_sub(in_flight);
        report.partner += partner;
        report.wire += wire;
        report.queueing += queueing;
        report.waited(partner, wire, queueing);
    }

    /// Whether this operation is the one in which the rank takes part.
    fn joined(&self, what: Collective) -> bool {
        self.collective.is_some_and(|own| own.what == what)
    }

    /// The rank has waited until the interface had taken its data.
    pub(super) fn waited_for_the_interface(&self, waits: Option<(Microticks, Microticks)>) {
        let (_, waited) = waits.unwrap_or_default();
        let mut report = lock(&self.report);
        report.injection += waited;
        report.waited(Microticks::ZERO, Microticks::ZERO, Microticks::ZERO);
    }
}
