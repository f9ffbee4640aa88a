//! Items put together by their owners without comparing them: they are counted, then placed.

use std::ops::Range;

/// A list of items of a fixed number of owners. First [`add`](Self::add) items, then [`place`](Self::place) them
/// by owner; then ask for each [`next_owner`](Self::next_owner), until there is none. Then it is empty again.
#[derive(Clone, Debug)]
pub struct Grouped<T> {
    added: Vec<T>,
    placed: Vec<T>,
    /// By owner: how many items it has, then where they begin, then where they end.
    ends: Vec<u32>,
    /// The owners of items, and how many of them have been asked for.
    owners: Vec<u32>,
    begun: usize,
    /// The end of the items of the last of these.
    end: usize,
}

impl<T: Copy + Default> Grouped<T> {
    /// Of so many owners.
    pub fn new(owners: usize) -> Self {
        Grouped { added: vec![], placed: vec![], ends: vec![0; owners], owners: vec![], begun: 0, end: 0 }
    }

    /// Adds an item.
    ///
    /// # Panics
    /// If there is no such owner.
    #[inline]
    pub fn add(&mut self, owner: u32, item: T) {
        let count = &mut self.ends[owner as usize];
        if *count == 0 {
            self.owners.push(owner);
        }
        *count += 1;
        self.added.push(item);
    }

    /// Whether nothing has been added.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
    }

    /// Items that have been added.
    #[inline]
    pub fn len(&self) -> usize {
        self.added.len()
    }

    /// The owners will come by number, not in the order of their first items.
    pub fn sort_owners(&mut self) {
        self.owners.sort_unstable();
    }

    /// Places the items by owner; those of one are in the order in which they were added.
    pub fn place(&mut self, owner_of: impl Fn(&T) -> u32) {
        let mut place = 0;
        for &owner in &self.owners {
            place += std::mem::replace(&mut self.ends[owner as usize], place);
        }
        if self.placed.len() < self.added.len() {
            self.placed.resize(self.added.len(), T::default());
        }
        for &item in &self.added {
            let place = &mut self.ends[owner_of(&item) as usize];
            self.placed[*place as usize] = item;
            *place += 1;
        }
        (self.begun, self.end) = (0, 0);
    }

    /// The next owner, and where its items are among the [`placed`](Self::placed).
    #[inline]
    pub fn next_owner(&mut self) -> Option<(u32, Range<usize>)> {
        let Some(&owner) = self.owners.get(self.begun) else {
            self.owners.clear();
            self.added.clear();
            return None;
        };
        self.begun += 1;
        let first = self.end;
        self.end = std::mem::take(&mut self.ends[owner as usize]) as usize;
        Some((owner, first..self.end))
    }

    /// All items, by owner. Those after [`len`](Self::len) are of no meaning.
    #[inline]
    pub fn placed(&self) -> &[T] {
        &self.placed
    }

    /// The same, to be ordered among those of an owner.
    #[inline]
    pub fn placed_mut(&mut self) -> &mut [T] {
        &mut self.placed
    }

    /// Memory that it occupies, bytes.
    pub fn bytes(&self) -> usize {
        (self.added.capacity() + self.placed.capacity()) * size_of::<T>()
            + (self.ends.len() + self.owners.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Twice, so that nothing is left of the first list.
        #[test]
        fn each_owner_has_its_items_in_order(lists in prop::array::uniform2(prop::collection::vec(0..7u32, 0..40)), sorts: bool) {
            let mut grouped = Grouped::<(u32, usize)>::new(7);
            for list in lists {
                prop_assert!(grouped.is_empty());
                list.iter().enumerate().for_each(|(i, &owner)| grouped.add(owner, (owner, i)));
                prop_assert_eq!(grouped.len(), list.len());
                let mut expected: Vec<u32> = vec![];
                list.iter().for_each(|owner| if !expected.contains(owner) { expected.push(*owner) });
                if sorts {
                    grouped.sort_owners();
                    expected.sort_unstable();
                }
                grouped.place(|item| item.0);
                let mut owners = vec![];
                while let Some((owner, items)) = grouped.next_owner() {
                    owners.push(owner);
                    let all = list.iter().copied().enumerate().map(|(i, owner)| (owner, i));
                    let its: Vec<(u32, usize)> = all.filter(|item| item.0 == owner).collect();
                    prop_assert_eq!(&grouped.placed()[items], &its[..]);
                }
                prop_assert_eq!(owners, expected);
            }
        }
    }
}
