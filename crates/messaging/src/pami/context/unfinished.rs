//! What a context's operations wait for, in words.

use super::one_sided::{Movement, Purpose};
use super::{Arriving, Context, Pending, Request, Waiting};
use crate::pami::Endpoint;
use crate::pami::device::PamiDevice;

/// An endpoint, as programs know it.
fn name(endpoint: Endpoint) -> String {
    match endpoint.offset() {
        0 => format!("task {}", endpoint.task()),
        context => format!("context {context} of task {}", endpoint.task()),
    }
}

fn of_movement(Movement { purpose, with, .. }: &Movement) -> String {
    let with = name(*with);
    match purpose {
        Purpose::Receive(Arriving { bytes, .. }) => {
            format!("{bytes} B from {with} (the Message Unit has not fetched all)")
        }
        Purpose::Put { .. } => format!("put to {with} (the Message Unit has not sent all)"),
        Purpose::Flush { .. } => format!("earlier puts to {with} (not acknowledged)"),
    }
}

impl<D: PamiDevice> Context<D> {
    /// Operations that are not complete, and why.
    pub fn unfinished(&self) -> Vec<String> {
        let mut list = vec![];
        for Request { to, data, is_rendezvous, .. } in self.requests.values.iter().flatten() {
            let to = name(*to);
            list.push(match data.bytes {
                0 => format!("operation at {to} (not answered)"),
                bytes if *is_rendezvous => {
                    format!("send of {bytes} B to {to} (rendezvous: its receiver has not fetched it)")
                }
                bytes => format!("send of {bytes} B to {to} (not acknowledged)"),
            });
        }
        for (to, waiting) in self.waiting.iter().filter(|(_, waiting)| !waiting.is_empty()) {
            let bytes: u64 = waiting
                .iter()
                .map(|w| if let Waiting::Eager { data, sent, .. } = w { data.bytes - sent } else { 0 })
                .sum();
            let rest = if bytes > 0 { format!(", {bytes} B") } else { String::new() };
            list.push(format!(
                "{} sends to {}{rest} (no space in the injection FIFO)",
                waiting.len(),
                name(*to)
            ));
        }
        let of_packets = self.arriving.iter().map(|(from, arriving)| (*from, arriving));
        let of_streams =
            self.streams.values.iter().flatten().map(|streamed| (streamed.from, &streamed.arriving));
        for (from, Arriving { bytes, arrived, .. }) in of_packets.chain(of_streams) {
            list.push(format!("receive of {bytes} B from {} ({arrived} B have arrived)", name(from)));
        }
        list.extend(self.movements.iter().chain(self.paced.movements()).map(of_movement));
        for pending in self.pending.values() {
            list.push(match pending {
                Pending::Paced { .. } => continue,
                Pending::Eager { .. } => "eager send (the Message Unit has not read its data)".into(),
                Pending::Movement(movement) => of_movement(movement),
                Pending::Collective { .. } => "collective operation of the network".into(),
            });
        }
        if !self.fences.is_empty() {
            list.push(format!("{} fences", self.fences.len()));
        }
        if self.is_postponed {
            list.push("message whose dispatch identifier is not set".into());
        }
        list.sort();
        list
    }
}
