//! The L2 as seen by the Message Unit's memory traffic: the stretches of memory that it holds, in the order
//! of their last use, and which of them are dirty. Neighbouring stretches are in a page, so that each takes
//! eight bytes and mostly needs no map lookup.

use rustc_hash::FxBuildHasher;
use std::collections::HashMap;

/// Size of a stretch, bytes: the L2 is modelled in units of a packet's data rather than lines **(ours)**.
pub const STRETCH: u64 = 512;

/// Stretches of a page.
const PAGE: u64 = 32;

/// No slot.
const NONE: u32 = u32::MAX;

/// The neighbours of a stretch in the order of use: slots, each a page's index times [`PAGE`] plus a position
/// in the page.
#[derive(Clone, Copy)]
struct Links {
    newer: u32,
    older: u32,
}

/// Consecutive stretches.
struct Page {
    number: u64,
    links: [Links; PAGE as usize],
    /// One bit per stretch: whether it is held, and whether it is dirty.
    held: u32,
    written: u32,
}

impl Page {
    fn new(number: u64) -> Self {
        let links = [Links { newer: NONE, older: NONE }; PAGE as usize];
        Page { number, links, held: 0, written: 0 }
    }
}

/// See the module.
pub struct L2 {
    pages: Vec<Page>,
    /// The index of each page, by its number.
    places: HashMap<u64, u32, FxBuildHasher>,
    /// Pages without held stretches.
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// Number of held stretches.
    held: u64,
}

impl Default for L2 {
    fn default() -> Self {
        let places = HashMap::default();
        L2 { pages: vec![], places, free: vec![], newest: NONE, oldest: NONE, held: 0 }
    }
}

impl L2 {
    /// Accesses a stretch of an L2 with a capacity of `room` bytes; returns the bytes that the DDR must
    /// transfer. A fully written stretch need not be read first; a dirty one is written back when it is
    /// evicted.
    pub fn touch(&mut self, stretch: u64, writes: bool, room: u64) -> u64 {
        let place = self.page(stretch / PAGE);
        let bit = 1 << (stretch % PAGE);
        let slot = place * PAGE as u32 + (stretch % PAGE) as u32;
        let page = &mut self.pages[place as usize];
        if page.held & bit != 0 {
            page.written |= if writes { bit } else { 0 };
            if self.newest != slot {
                self.unlink(slot);
                self.link_newest(slot);
            }
            return 0;
        }
        page.held |= bit;
        page.written = if writes { page.written | bit } else { page.written & !bit };
        self.link_newest(slot);
        self.held += 1;
        let moved = if writes { 0 } else { STRETCH };
        let displaces_written = self.held * STRETCH > room && self.drop_oldest();
        moved + if displaces_written { STRETCH } else { 0 }
    }

    /// The index of a page, which is created if necessary.
    fn page(&mut self, number: u64) -> u32 {
        // The most recently used stretch, or its neighbour, is likely to be used again.
        if let Some(page) = self.pages.get((self.newest / PAGE as u32) as usize)
            && page.number == number
        {
            return self.newest / PAGE as u32;
        }
        let (pages, free) = (&mut self.pages, &mut self.free);
        *self.places.entry(number).or_insert_with(|| match free.pop() {
            Some(place) => {
                pages[place as usize] = Page::new(number);
                place
            }
            None => {
                pages.push(Page::new(number));
                pages.len() as u32 - 1
            }
        })
    }

    /// Evicts the least recently used stretch; returns whether it was dirty.
    fn drop_oldest(&mut self) -> bool {
        let slot = self.oldest;
        self.unlink(slot);
        self.held -= 1;
        let (place, bit) = (slot / PAGE as u32, 1 << (slot % PAGE as u32));
        let page = &mut self.pages[place as usize];
        page.held &= !bit;
        if page.held == 0 {
            self.places.remove(&page.number);
            self.free.push(place);
        }
        page.written & bit != 0
    }

    fn links(&mut self, slot: u32) -> &mut Links {
        &mut self.pages[(slot / PAGE as u32) as usize].links[(slot % PAGE as u32) as usize]
    }

    fn link_newest(&mut self, slot: u32) {
        let older = self.newest;
        *self.links(slot) = Links { newer: NONE, older };
        match older {
            NONE => self.oldest = slot,
            _ => self.links(older).newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Links { newer, older } = *self.links(slot);
        match newer {
            NONE => self.newest = older,
            _ => self.links(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.links(older).newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_engine::Stream;

    #[test]
    fn what_it_does_not_hold_is_moved() {
        let (mut l2, room) = (L2::default(), 4 * STRETCH);
        // Read once, then held; fully written ones need not be read.
        assert_eq!([0, 1, 0, 1].map(|s| l2.touch(s, false, room)), [512, 512, 0, 0]);
        assert_eq!([2, 3].map(|s| l2.touch(s, true, room)), [0, 0]);
        // The fifth evicts the least recently used one, which was only read; the next two write back.
        assert_eq!([4, 5, 6, 7].map(|s| l2.touch(s, false, room)), [512, 512, 1024, 1024]);
        assert_eq!(l2.held, 4);
    }

    /// For any accesses, near one another and far apart, the bytes moved are the same as with a list searched
    /// from its end.
    #[test]
    fn it_holds_what_was_used_last() {
        let mut random = Stream::new(1, 2, 3);
        for stretches in [1, 2, 7, 40, 500] {
            let (mut l2, room) = (L2::default(), stretches * STRETCH + 100);
            let mut list: Vec<(u64, bool)> = vec![];
            for _ in 0..5000 {
                let far = random.below(3) * 1_000_003;
                let (stretch, writes) = (far + random.below(2 * stretches), random.below(2) == 0);
                let mut moved = 0;
                if let Some(at) = list.iter().position(|held| held.0 == stretch) {
                    let (_, was_written) = list.remove(at);
                    list.push((stretch, was_written || writes));
                } else {
                    moved += if writes { 0 } else { STRETCH };
                    list.push((stretch, writes));
                    if list.len() as u64 > stretches && list.remove(0).1 {
                        moved += STRETCH;
                    }
                }
                assert_eq!(l2.touch(stretch, writes, room), moved);
                assert_eq!(l2.held, list.len() as u64);
            }
            // Pages without held stretches are reused.
            assert!(l2.pages.len() as u64 <= stretches + 2 + 3 * (2 * stretches).div_ceil(PAGE));
        }
    }
}
