//! What lies in a node's memory, where anybody has stored anything: all else is zeros, and takes no room.

use netloom_fabric::packet::Data;
use std::collections::BTreeMap;

/// Bytes that are kept together.
const PAGE: u64 = 512;

/// A node's memory.
#[derive(Debug, Default)]
pub struct Contents {
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

/// Pages that hold bytes from `start` on: which, where in it, and how many.
fn pieces(start: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let (mut at, end) = (start, start + length as u64);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (page, inside) = (at / PAGE, at % PAGE);
            let count = (PAGE - inside).min(end - at);
            at += count;
            (page, inside as usize, count as usize)
        })
    })
}

impl Contents {
    /// Bytes from `start` on; none if nothing has been stored there.
    pub fn load(&self, start: u64, length: usize) -> Option<Data> {
        pieces(start, length)
            .any(|(page, ..)| self.pages.contains_key(&page))
            .then(|| self.load_all(start, length).into())
    }

    /// Bytes from `start` on, zeros where nothing has been stored.
    pub fn load_all(&self, start: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut left = &mut bytes[..];
        for (page, inside, count) in pieces(start, length) {
            let (now, rest) = left.split_at_mut(count);
            if let Some(page) = self.pages.get(&page) {
                now.copy_from_slice(&page[inside..inside + count]);
            }
            left = rest;
        }
        bytes
    }

    /// Stores bytes; no bytes are so many zeros.
    pub fn store(&mut self, start: u64, length: usize, bytes: Option<&[u8]>) {
        let mut from = 0;
        for (page, inside, count) in pieces(start, length) {
            let room = inside..inside + count;
            match bytes {
                Some(bytes) => {
                    let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE as usize]));
                    page[room].copy_from_slice(&bytes[from..from + count]);
                }
                None => {
                    if let Some(page) = self.pages.get_mut(&page) {
                        page[room].fill(0);
                    }
                }
            }
            from += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As an array has it.
        #[test]
        fn memory_keeps_what_is_stored(stores in proptest::collection::vec((0usize..3000, 0usize..1200, any::<Option<u8>>()), 0..20)) {
            let (mut memory, mut array) = (Contents::default(), vec![0u8; 5000]);
            for (start, length, value) in stores {
                let bytes: Option<Vec<u8>> = value.map(|v| (0..length).map(|i| v.wrapping_add(i as u8)).collect());
                memory.store(start as u64, length, bytes.as_deref());
                match bytes {
                    Some(bytes) => array[start..start + length].copy_from_slice(&bytes),
                    None => array[start..start + length].fill(0),
                }
                prop_assert_eq!(&memory.load_all(0, 5000), &array);
                let part = memory.load(start as u64, length).unwrap_or_else(|| vec![0; length].into());
                prop_assert_eq!(&part[..], &array[start..start + length]);
            }
        }
    }
}
