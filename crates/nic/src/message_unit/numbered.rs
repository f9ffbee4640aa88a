//! What has a number from a small range, as the FIFOs in memory and the base addresses, of which a node uses
//! few: found by a look into a table.

/// Values by number.
#[derive(Clone, Debug)]
pub(super) struct Numbered<T> {
    /// By number up to the greatest one: the place in the list, from one on; 0 for none.
    places: Vec<u16>,
    /// The values with their numbers, in no order.
    list: Vec<(u16, T)>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { places: vec![], list: vec![] }
    }
}

impl<T> Numbered<T> {
    #[inline]
    fn place(&self, number: u16) -> Option<usize> {
        usize::from(*self.places.get(usize::from(number))?).checked_sub(1)
    }

    /// The value with a number.
    #[inline]
    pub fn get(&self, number: u16) -> Option<&T> {
        Some(&self.list.get(self.place(number)?)?.1)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u16) -> Option<&mut T> {
        let place = self.place(number)?;
        Some(&mut self.list.get_mut(place)?.1)
    }

    /// Gives a number a value, instead of the one that it may have.
    pub fn insert(&mut self, number: u16, value: T) {
        match self.get_mut(number) {
            Some(old) => *old = value,
            None => self.add(number, value),
        }
    }

    fn add(&mut self, number: u16, value: T) {
        let needed = usize::from(number) + 1;
        self.places.resize(self.places.len().max(needed), 0);
        self.list.push((number, value));
        self.places[usize::from(number)] = self.list.len() as u16;
    }

    /// Takes a number's value away.
    pub fn remove(&mut self, number: u16) {
        let Some(place) = self.place(number) else { return };
        self.list.swap_remove(place);
        self.places[usize::from(number)] = 0;
        if let Some(&(moved, _)) = self.list.get(place) {
            self.places[usize::from(moved)] = place as u16 + 1;
        }
    }

    /// The value with a number, made now if there is none.
    pub fn get_or_insert_with(&mut self, number: u16, make: impl FnOnce() -> T) -> &mut T {
        if self.place(number).is_none() {
            self.add(number, make());
        }
        self.get_mut(number).expect("it has one now")
    }

    /// All values with their numbers, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &T)> {
        (0..self.places.len() as u16).filter_map(|number| Some((number, self.get(number)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Compared with a map.
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u16..20, 0u8..4), 0..100)) {
            let (mut numbered, mut map) = (Numbered::default(), BTreeMap::new());
            for (step, (number, what)) in steps.into_iter().enumerate() {
                match what {
                    0 => {
                        numbered.insert(number, step);
                        map.insert(number, step);
                    }
                    1 => {
                        numbered.remove(number);
                        map.remove(&number);
                    }
                    2 => {
                        prop_assert_eq!(numbered.get_or_insert_with(number, || step), map.entry(number).or_insert(step));
                    }
                    _ => prop_assert_eq!(numbered.get_mut(number), map.get_mut(&number)),
                }
                prop_assert_eq!(numbered.get(number), map.get(&number));
                let all: Vec<_> = numbered.iter().map(|(number, &step)| (number, step)).collect();
                prop_assert_eq!(all, map.clone().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
