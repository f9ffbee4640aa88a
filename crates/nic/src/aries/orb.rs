//! The output request buffer ("Ordering and Completion"): up to 1,024 outstanding requests, and the
//! transactions that they belong to, which generate an event on completion.

use super::packet::{SSIDS, Tag};
use super::status::Status;
use netloom_node::time::Microticks;

/// Maximum number of outstanding packets per NIC.
pub const OUTSTANDING: usize = 1024;

/// How a response is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is only counted.
    Count,
    /// Its data is written to a process's memory, followed by a flag if one was requested.
    Store { process: u8, address: u64, bytes: u32, flag: Option<(u64, u64)> },
}

#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    pub transaction: Option<u16>,
    pub then: Then,
    pub issued_at: Microticks,
    /// The FMA descriptor that issued it.
    pub descriptor: Option<u8>,
}

/// The buffer. Entries are created when needed.
#[derive(Default)]
pub struct Orb {
    entries: Vec<(u8, Option<Outstanding>)>,
    free: Vec<u16>,
    /// Maximum number of outstanding requests so far.
    pub peak: usize,
}

impl Orb {
    /// Number of outstanding requests.
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is a free entry.
    pub fn has_room(&self) -> bool {
        self.used() < OUTSTANDING
    }

    /// Allocates an entry; there must be a free one.
    pub fn insert(&mut self, what: Outstanding) -> Tag {
        let entry = self.free.pop().unwrap_or_else(|| {
            self.entries.push((0, None));
            (self.entries.len() - 1) as u16
        });
        let place = &mut self.entries[usize::from(entry)];
        place.1 = Some(what);
        let tag = Tag { entry, use_: place.0 };
        self.peak = self.peak.max(self.used());
        tag
    }

    /// Frees an entry at its response; `None` if the response is no longer awaited.
    pub fn remove(&mut self, tag: Tag) -> Option<Outstanding> {
        let place = self.entries.get_mut(usize::from(tag.entry)).filter(|place| place.0 == tag.use_)?;
        let what = place.1.take()?;
        place.0 = place.0.wrapping_add(1);
        self.free.push(tag.entry);
        Some(what)
    }

    /// Records when a request was issued, from which on its response is awaited.
    pub fn issued(&mut self, tag: Tag, at: Microticks) {
        if let Some(what) = &mut self.entries[usize::from(tag.entry)].1 {
            what.issued_at = at;
        }
    }

    /// Requests issued before a time.
    pub fn older_than(&self, time: Microticks) -> Vec<Tag> {
        let old = self.entries.iter().enumerate().filter_map(|(entry, (use_, what))| {
            what.filter(|w| w.issued_at < time).map(|_| Tag { entry: entry as u16, use_: *use_ })
        });
        old.collect()
    }
}

/// Where the completion of a transaction is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Queue of the initiator.
    pub queue: Option<u16>,
    /// The data of its event.
    pub user: u64,
    /// The data of an event at the destination, if requested.
    pub remote: Option<u32>,
    /// The destination node.
    pub node: u32,
    /// The memory domain handle there.
    pub mdh: u16,
    /// Whether the handle is virtual.
    pub is_virtual: bool,
    /// The protection tag of the job.
    pub ptag: u8,
}

/// A set of requests that completes as a whole.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub notice: Notice,
    pub outstanding: u32,
    /// Whether it has no further requests.
    pub closed: bool,
    pub status: Status,
    /// The destination could not track it: the event must be requested.
    pub event_missed: bool,
    /// The channel of the block transfer engine that it occupies.
    pub channel: Option<u8>,
    pub bytes: u64,
}

/// The transactions of a NIC, by SSID.
#[derive(Default)]
pub struct Transactions {
    slots: Vec<Option<Transaction>>,
    free: Vec<u16>,
}

impl Transactions {
    /// Opens a transaction, if an SSID is free.
    pub fn open(&mut self, notice: Notice) -> Option<u16> {
        let ssid = match self.free.pop() {
            Some(ssid) => ssid,
            None if self.slots.len() < SSIDS => {
                self.slots.push(None);
                (self.slots.len() - 1) as u16
            }
            None => return None,
        };
        self.slots[usize::from(ssid)] = Some(Transaction {
            notice,
            outstanding: 0,
            closed: false,
            status: Status::Success,
            event_missed: false,
            channel: None,
            bytes: 0,
        });
        Some(ssid)
    }

    /// Whether no SSID is free.
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.slots.len() == SSIDS
    }

    pub fn get(&mut self, ssid: u16) -> &mut Transaction {
        self.slots[usize::from(ssid)].as_mut().expect("it is open")
    }

    /// Removes it if it is complete.
    pub fn completed(&mut self, ssid: u16) -> Option<Transaction> {
        let slot = &mut self.slots[usize::from(ssid)];
        if !slot.as_ref().is_some_and(|t| t.closed && t.outstanding == 0) {
            return None;
        }
        self.free.push(ssid);
        slot.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_has_1024_places() {
        let mut orb = Orb::default();
        let what =
            Outstanding { transaction: None, then: Then::Count, issued_at: Microticks(7), descriptor: None };
        let tags: Vec<Tag> = (0..OUTSTANDING).map(|_| orb.insert(what)).collect();
        assert!(
            !orb.has_room()
                && orb.older_than(Microticks(8)).len() == OUTSTANDING
                && orb.older_than(Microticks(7)).is_empty()
        );
        assert!(orb.remove(tags[5]).is_some() && orb.has_room());
        // The entry is reused, and a late response does not affect its new use.
        let again = orb.insert(what);
        assert_eq!(again.entry, tags[5].entry);
        assert!(orb.remove(tags[5]).is_none() && orb.remove(again).is_some());
        assert_eq!(orb.peak, OUTSTANDING);
    }

    #[test]
    fn transactions_end_when_they_are_closed_and_all_is_back() {
        let mut all = Transactions::default();
        let ssid = all.open(Notice::default()).expect("free");
        all.get(ssid).outstanding = 1;
        assert!(all.completed(ssid).is_none());
        all.get(ssid).outstanding = 0;
        assert!(all.completed(ssid).is_none());
        all.get(ssid).closed = true;
        assert!(all.completed(ssid).is_some());
        assert!((0..SSIDS).all(|_| all.open(Notice::default()).is_some()));
        assert!(all.open(Notice::default()).is_none());
    }
}
