//! The IOMMU ("Address Translation"): translates user virtual addresses to physical ones with a cache of page
//! table entries, four-way set associative, with 128 entries of eight PTEs each. Misses are fetched from the
//! host's memory, with many fetches in flight.

use super::address::PageSize;
use netloom_node::time::Microticks;

/// Entries of the cache, each with eight PTEs.
pub const PTE_CACHE_ENTRIES: usize = 128;
/// Associativity of the cache.
pub const PTE_CACHE_WAYS: usize = 4;
/// PTEs per entry.
pub const PTES_PER_ENTRY: u64 = 8;

const SETS: usize = PTE_CACHE_ENTRIES / PTE_CACHE_WAYS;

/// The set of an entry **(ours)**: processes use the same addresses, and must not conflict in one set for
/// that reason.
fn set_of(process: u8, block: u64) -> usize {
    (block as usize + 11 * usize::from(process)) % SETS
}

#[derive(Clone, Copy)]
struct Entry {
    process: u8,
    /// Level and page size.
    level: u8,
    /// Number of its first page, divided by eight.
    block: u64,
    used: u64,
    /// Arrival time of the entry.
    ready_at: Microticks,
}

/// The cache, once an address has been translated.
#[derive(Default)]
pub struct Iommu {
    sets: Vec<[Option<Entry>; PTE_CACHE_WAYS]>,
    uses: u64,
    pub hits: u64,
    pub misses: u64,
}

impl Iommu {
    /// Looks up an entry. A missing one arrives at the time that `fetch` returns.
    fn touch(
        &mut self,
        (process, level, block): (u8, u8, u64),
        now: Microticks,
        fetch: &mut impl FnMut(Microticks) -> Microticks,
    ) -> Microticks {
        if self.sets.is_empty() {
            self.sets = vec![[None; PTE_CACHE_WAYS]; SETS];
        }
        self.uses += 1;
        let uses = self.uses;
        let set = &mut self.sets[set_of(process, block)];
        let is_it = |e: &&mut Entry| (e.process, e.level, e.block) == (process, level, block);
        if let Some(entry) = set.iter_mut().flatten().find(is_it) {
            entry.used = uses;
            self.hits += 1;
            return entry.ready_at.max(now);
        }
        self.misses += 1;
        let ready_at = fetch(now);
        let oldest = set.iter_mut().min_by_key(|e| e.map_or(0, |e| e.used)).expect("four ways");
        *oldest = Some(Entry { process, level, block, used: uses, ready_at });
        ready_at
    }

    /// When the translation of an address is known: `fetch` starts a fetch of PTEs at a time and returns
    /// their arrival. For a small page the upper level's entry is fetched first.
    pub fn translate(
        &mut self,
        process: u8,
        address: u64,
        page: PageSize,
        now: Microticks,
        mut fetch: impl FnMut(Microticks) -> Microticks,
    ) -> Microticks {
        let number = address >> page.log2();
        let mut at = now;
        let lower = (process, page.log2() as u8, number / PTES_PER_ENTRY);
        if page.levels() == 2 && !self.holds(lower) {
            // An upper entry points to a page of 512 PTEs (x86).
            at = self.touch((process, 1, number / 512 / PTES_PER_ENTRY), at, &mut fetch);
        }
        self.touch(lower, at, &mut fetch)
    }

    fn holds(&self, (process, level, block): (u8, u8, u64)) -> bool {
        let set = self.sets.get(set_of(process, block));
        set.is_some_and(|s| {
            s.iter().flatten().any(|e| (e.process, e.level, e.block) == (process, level, block))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within the cache's reach each entry is fetched once; with one more block in a set, that set misses in
    /// every round.
    #[test]
    fn the_cache_holds_128_entries_of_eight() {
        let page = PageSize::HUGE;
        let rounds = |blocks: u64| {
            let mut iommu = Iommu::default();
            for _ in 0..3 {
                for number in 0..blocks * PTES_PER_ENTRY {
                    iommu.translate(0, number * page.bytes(), page, Microticks::ZERO, |now| {
                        now + Microticks(5)
                    });
                }
            }
            iommu.misses
        };
        assert_eq!(rounds(PTE_CACHE_ENTRIES as u64), 128);
        // One set has five blocks for four ways.
        assert_eq!(rounds(PTE_CACHE_ENTRIES as u64 + 1), 129 + 2 * 5);
        assert_eq!(rounds(2 * PTE_CACHE_ENTRIES as u64), 3 * 256);
    }

    #[test]
    fn small_pages_take_two_levels() {
        let mut iommu = Iommu::default();
        let fetch = |now: Microticks| now + Microticks(100);
        assert_eq!(iommu.translate(0, 0, PageSize::SMALL, Microticks(10), fetch), Microticks(210));
        // Its neighbours were fetched with it, and so was the upper level for others.
        assert_eq!(iommu.translate(0, 7 * 4096, PageSize::SMALL, Microticks(300), fetch), Microticks(300));
        assert_eq!(iommu.translate(0, 8 * 4096, PageSize::SMALL, Microticks(300), fetch), Microticks(400));
        // A fetch in flight is waited for.
        assert_eq!(iommu.translate(0, 9 * 4096, PageSize::SMALL, Microticks(350), fetch), Microticks(400));
        assert_eq!(iommu.translate(0, 0, PageSize::HUGE, Microticks(500), fetch), Microticks(600));
    }
}
