//! What has not ended, as values.

use super::{PointToPoint, State, Synchronous};
use crate::matching::{Envelope, Pattern};
use crate::one_sided;
use crate::transport::{Process, Transport};
use crate::waits::{Pending, Stage};

impl<T: Transport> PointToPoint<T> {
    /// By window's context, processes that have this one's lock.
    pub fn locked_by(&self) -> Vec<(u32, Process)> {
        // Another thread may be in the middle of something.
        let Ok(one_sided) = self.one_sided.try_borrow() else { return vec![] };
        let all = one_sided.locks().flat_map(|(window, holders)| holders.iter().map(move |&of| (window, of)));
        all.collect()
    }

    /// Requests that have not ended, what the last probe looked for in vain if one `probes` now, and messages
    /// that nobody has received.
    pub fn pending(&self, probes: bool) -> Vec<Pending> {
        // Another thread may be in the middle of something.
        let (Ok(tables), Ok(one_sided)) = (self.tables.try_borrow(), self.one_sided.try_borrow()) else {
            return vec![Pending::OtherThread];
        };
        let mut list: Vec<Pending> = vec![];
        for (&pattern, _) in tables.matching.posted() {
            // The odd contexts are those of collectives.
            list.push(match pattern.context % 2 {
                0 => match tables.partitions.tag(pattern.context, Some(pattern.source), pattern.tag) {
                    Some(tag) => Pending::Receive(Pattern { tag, ..pattern }),
                    None => continue,
                },
                _ => {
                    let (context, number) = (pattern.context - 1, pattern.tag as u32);
                    Pending::Collective { context, number, from: Some(pattern.source) }
                }
            });
        }
        for state in &tables.requests {
            list.extend(match *state {
                State::Sending(sent) => Some(Pending::Send { sent, stage: Stage::Unread }),
                State::SendingKept(sent) if sent.context != one_sided::CONTEXT => {
                    Some(Pending::Send { sent, stage: Stage::Unread })
                }
                State::SendingSynchronous(Synchronous { is_taken, of: sent, .. }) => {
                    let stage = if is_taken { Stage::Matched } else { Stage::Unmatched };
                    Some(Pending::Send { sent, stage })
                }
                State::Collective { context, number } => {
                    Some(Pending::Collective { context, number, from: None })
                }
                State::Team(context) => Some(Pending::Team(context)),
                _ => None,
            });
        }
        for pending in &mut list {
            if let Pending::Send { sent, .. } = pending {
                sent.tag = tables.partitions.tag(sent.context, None, sent.tag).unwrap_or(sent.tag);
            }
        }
        list.extend(tables.partitions.unready());
        list.extend(one_sided.pending());
        if probes {
            list.extend(self.probed.get().map(Pending::Probe));
        }
        for (envelope, message) in tables.matching.unexpected() {
            let &Envelope { context, source, .. } = envelope;
            // Of partitions whose message is not known its header is listed.
            let tag = tables.partitions.tag(context, Some(source), envelope.tag);
            if let (0, Some(tag)) = (context % 2, tag) {
                let from = tables.unexpected[message as u32].from;
                let of = Pattern { context, source, tag };
                list.push(Pending::Unexpected { from, of, bytes: envelope.bytes });
            }
        }
        list
    }
}
