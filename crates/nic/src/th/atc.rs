//! The address translation cache (section 2.3): a million physical page addresses, eight-way set associative
//! with LRU replacement; or, as a buffer, all translations, written when memory is registered.

use super::checker::Item;
use super::node::{Common, lock};
use super::status::Refusal;
use super::{Action, Nic};
use crate::pcie::{Direction, at_host};
use netloom_node::time::Microticks;
use std::collections::BTreeMap;

/// A page of a virtual port.
type Page = (u8, u64);

#[derive(Clone, Copy)]
struct Entry {
    page: Page,
    used: u64,
    /// Arrival time of the translation.
    ready_at: Microticks,
}

/// The cache: unused sets take no memory.
#[derive(Default)]
pub struct Atc {
    sets: BTreeMap<u32, Vec<Entry>>,
    uses: u64,
    /// Number of translations in the buffer.
    held: u64,
    pub hits: u64,
    pub misses: u64,
}

/// The set of a page **(ours)**: ports use the same addresses, and must not conflict in one set for that
/// reason.
fn set_of((vp, page): Page, sets: u32) -> u32 {
    ((page + 7919 * u64::from(vp)) % u64::from(sets)) as u32
}

impl Atc {
    /// When the translation of a page is known: `fetch` reads it from the table in host memory and returns
    /// its arrival.
    pub fn translate(
        &mut self,
        page: Page,
        now: Microticks,
        (sets, ways): (u32, u32),
        fetch: impl FnOnce() -> Microticks,
    ) -> Microticks {
        self.uses += 1;
        let uses = self.uses;
        let set = self.sets.entry(set_of(page, sets)).or_default();
        if let Some(entry) = set.iter_mut().find(|e| e.page == page) {
            entry.used = uses;
            self.hits += 1;
            return entry.ready_at.max(now);
        }
        self.misses += 1;
        let entry = Entry { page, used: uses, ready_at: fetch() };
        let ready_at = entry.ready_at;
        if set.len() < ways as usize {
            set.push(entry);
        } else if let Some(oldest) = set.iter_mut().min_by_key(|e| e.used) {
            *oldest = entry;
        }
        ready_at
    }

    /// As a buffer: allocates space for more pages.
    pub fn hold(&mut self, pages: u64, entries: u32) -> Result<(), Refusal> {
        if self.held + pages > entries.into() {
            return Err(Refusal::Exhausted);
        }
        self.held += pages;
        Ok(())
    }

    /// Memory has been deregistered: its pages are removed.
    pub fn forget(&mut self, vp: u8, base: u64, top: u64, is_buffer: bool) {
        if is_buffer {
            self.held -= top - base + 1;
        }
        self.drop_tags(vp, base, top);
    }

    /// Removes tags between base and top.
    pub fn drop_tags(&mut self, vp: u8, base: u64, top: u64) {
        for set in self.sets.values_mut() {
            set.retain(|e| e.page.0 != vp || !(base..=top).contains(&e.page.1));
        }
    }
}

impl Nic {
    /// The first step of a refresh (section 2.3): an item of the memory checker becomes valid or invalid. The
    /// second: the cache is searched for tags of its pages, one set per check time **(ours)**. A buffer is
    /// written first, a line of eight items at a time.
    pub(super) fn refresh(&mut self, c: &Common, t: Microticks, item: u16, is_valid: bool) {
        let (config, sets) = (&c.config, u64::from((c.config.cache_entries / c.config.cache_ways).max(1)));
        let pages = {
            let mut here = lock(&self.here);
            let Some(item) = here.checker.item(item) else { return };
            item.is_valid = is_valid;
            item.top - item.base + 1
        };
        let mut start = self.refresh_free.max(t);
        if config.is_buffer && is_valid {
            let mut end = start;
            for _ in 0..pages.div_ceil(8) {
                end = self.pcie.send(&config.pcie, Direction::Down, start, 64).1;
            }
            start = end + at_host(&config.pcie) + Microticks::of_milliticks(config.pcie.crossing_milliticks);
        }
        self.refresh_free = start + pages.min(sets) * Microticks::of_milliticks(config.check_milliticks);
        self.schedule.at(self.refresh_free, Action::Refreshed(item));
    }

    /// The third step: matching tags are removed, and the global register is updated.
    pub(super) fn refreshed(&mut self, item: u16) {
        let mut here = lock(&self.here);
        if let Some(&mut Item { vp, base, top, .. }) = here.checker.item(item) {
            here.atc.drop_tags(vp, base, top);
        }
        here.refreshes_done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_eight_and_loses_the_oldest() {
        let (mut atc, shape) = (Atc::default(), (4, 8));
        let look =
            |atc: &mut Atc, page: u64| atc.translate((0, page), Microticks(10), shape, || Microticks(110)).0;
        for page in 0..8 {
            assert_eq!(look(&mut atc, page * 4), 110);
        }
        // The first is used again, so that the second is the least recently used when a ninth arrives.
        look(&mut atc, 0);
        look(&mut atc, 8 * 4);
        assert_eq!((atc.hits, atc.misses), (1, 9));
        look(&mut atc, 0);
        look(&mut atc, 4);
        assert_eq!((atc.hits, atc.misses), (2, 10));
        atc.forget(0, 0, 0, false);
        look(&mut atc, 0);
        assert_eq!((atc.hits, atc.misses), (2, 11));
    }

    /// All of its 2^20 entries: each page still hits, and one more page evicts only the oldest of its set.
    #[test]
    fn a_full_cache_loses_one_page_for_one_more() {
        let (mut atc, shape) = (Atc::default(), (1 << 17, 8));
        let pages = 1 << 20;
        assert_eq!(atc.sets.len(), 0, "unused sets take no memory");
        for _ in 0..2 {
            (0..pages).for_each(|page| {
                atc.translate((3, page), Microticks::ZERO, shape, || Microticks(1));
            });
        }
        assert_eq!((atc.hits, atc.misses), (pages, pages));
        let mut look = |page: u64| {
            let before = atc.misses;
            atc.translate((3, page), Microticks::ZERO, shape, || Microticks(1));
            atc.misses > before
        };
        assert!(look(pages), "it misses");
        assert!(!look(1) && !look(2 << 17), "others still hit");
        assert!(look(0), "it evicted the oldest of its set");
        assert!(look(1 << 17), "and that evicted the next oldest");
        assert!(!look(2 << 17), "which was used in between");
    }

    #[test]
    fn a_buffer_holds_no_more_than_its_entries() {
        let mut atc = Atc::default();
        assert_eq!(atc.hold(1 << 20, 1 << 20), Ok(()));
        assert_eq!(atc.hold(1, 1 << 20), Err(Refusal::Exhausted));
        atc.forget(0, 0, (1 << 20) - 1, true);
        assert_eq!(atc.hold(1, 1 << 20), Ok(()));
    }
}
