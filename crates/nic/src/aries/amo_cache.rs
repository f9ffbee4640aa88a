//! The AMO unit and its cache ("Remote Memory Access"): 64 variables, an operation every two cycles; memory
//! is updated with each operation or, lazily, with several at once. The cache does not see stores by the
//! node's own cores.

use super::atomic::Amo;
use super::memory::Read;
use super::node::place;
use super::status::Status;
use super::target::{Located, two_words};
use super::{Action, Common, MemoryWrite, Nic};
use netloom_fabric::packet::Data;
use netloom_node::time::Microticks;
use std::collections::{BTreeMap, VecDeque};

/// Number of variables in the cache.
pub const AMO_CACHE_ENTRIES: usize = 64;

/// A variable: 64 bits at a multiple of 8 **(ours)**.
struct Word {
    /// `None` while it is being read.
    value: Option<u64>,
    used: u64,
    /// Operations that wait for it.
    waiting: VecDeque<Located>,
    /// Whether a write to memory is scheduled.
    is_due: bool,
}

/// The cache, by the variable's address in the node's memory.
#[derive(Default)]
pub struct AmoCache {
    words: BTreeMap<u64, Word>,
    uses: u64,
    /// Operations without an entry, in order.
    stalled: VecDeque<Located>,
    pub hits: u64,
    pub misses: u64,
}

impl AmoCache {
    pub fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Evicts a variable, if any can be: the least recently used one without pending reads or writes.
    fn make_room(&mut self) -> bool {
        if self.words.len() < AMO_CACHE_ENTRIES {
            return true;
        }
        let settled = self.words.iter().filter(|(_, word)| word.value.is_some() && !word.is_due);
        let oldest = settled.min_by_key(|(_, word)| word.used).map(|(&at, _)| at);
        oldest.is_some_and(|at| self.words.remove(&at).is_some())
    }
}

impl Nic {
    /// Executes an atomic operation. The data path has already paced it: two cycles for a packet of eight or
    /// sixteen bytes.
    pub(super) fn atomic(&mut self, c: &Common, t: Microticks, located: Located) {
        let amo = Amo::of(located.arrival.request.command);
        if !amo.exists() || !located.address.is_multiple_of(u64::from(amo.bytes())) {
            return self.respond(c, t, &located.arrival, Status::IllegalOp, false);
        }
        let at = place(located.process, located.address & !7);
        self.amo.uses += 1;
        let uses = self.amo.uses;
        if let Some(word) = self.amo.words.get_mut(&at) {
            word.used = uses;
            self.amo.hits += 1;
            if word.value.is_some() {
                self.operate(c, t, at, located);
            } else {
                word.waiting.push_back(located);
            }
        } else if self.amo.make_room() {
            self.amo.misses += 1;
            let word = Word { value: None, used: uses, waiting: [located].into(), is_due: false };
            self.amo.words.insert(at, word);
            self.read(c, t, Read::Word(at));
        } else {
            self.amo.stalled.push_back(located);
        }
    }

    /// A variable has arrived from memory: the operations that waited for it are executed.
    pub(super) fn word_read(&mut self, c: &Common, t: Microticks, at: u64, data: Option<Data>) {
        let word = self.amo.words.get_mut(&at).expect("it is being read");
        word.value = Some(two_words(data.as_deref())[0]);
        for located in std::mem::take(&mut word.waiting) {
            self.operate(c, t, at, located);
        }
        self.resume_stalled(c, t);
    }

    fn resume_stalled(&mut self, c: &Common, t: Microticks) {
        if !self.amo.is_stalled() {
            return;
        }
        // An operation that again finds no entry goes to the end; all compete for the same entries, so none
        // starves.
        let stalled = std::mem::take(&mut self.amo.stalled);
        let mut left = stalled.into_iter();
        while self.amo.stalled.is_empty()
            && let Some(located) = left.next()
        {
            self.atomic(c, t, located);
        }
        self.amo.stalled.extend(left);
        if !self.amo.is_stalled() {
            self.serve(c, t, 0, false);
        }
    }

    fn operate(&mut self, c: &Common, t: Microticks, at: u64, located: Located) {
        let r = located.arrival.request;
        let amo = Amo::of(r.command);
        let operands = two_words(located.arrival.data.as_deref());
        let Some(Word { value: Some(value), is_due, .. }) = self.amo.words.get_mut(&at) else { return };
        let (old, new) = if amo.is_short {
            let shift = 8 * (located.address & 4);
            let old = *value >> shift & u64::from(u32::MAX);
            let new = amo.apply(old, operands);
            (old, *value & !(u64::from(u32::MAX) << shift) | new << shift)
        } else {
            (*value, amo.apply(*value, operands))
        };
        *value = new;
        let lazy = Microticks::of_milliticks(c.config.amo_lazy_milliticks);
        let at_once = lazy.is_zero() || !amo.is_cached;
        if !at_once && !*is_due {
            *is_due = true;
            self.schedule.at(t + lazy, Action::WriteWord(at));
        }
        if at_once {
            self.write_word(c, t, at);
        }
        let missed = self.count(c, t, &located);
        let (bytes, data) = match amo.fetches {
            true => (amo.bytes(), Some(old.to_le_bytes()[..amo.bytes() as usize].into())),
            false => (0, None),
        };
        self.respond_with(c, t, &located.arrival, (Status::Success, missed), bytes, data);
        let is_idle = self.amo.words.get(&at).is_some_and(|w| w.waiting.is_empty() && !w.is_due);
        if !amo.is_cached && is_idle {
            self.amo.words.remove(&at);
        }
    }

    /// Updates a variable in memory.
    pub(super) fn write_word(&mut self, c: &Common, t: Microticks, at: u64) {
        let Some(word) = self.amo.words.get_mut(&at) else { return };
        let was_due = std::mem::take(&mut word.is_due);
        let value = word.value.expect("only loaded words are changed");
        let (process, address) = ((at >> 48) as u8, at & ((1 << 48) - 1));
        let data = Some(value.to_le_bytes()[..].into());
        self.write(c, t, 8, MemoryWrite::Data { process, address, bytes: 8, data });
        self.counters.amo_writes += 1;
        if was_due {
            self.resume_stalled(c, t);
        }
    }
}
