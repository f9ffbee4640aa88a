//! A node's memory. Stored bytes are kept here; everything else is zeros and takes no space. Memory that is
//! kept elsewhere, such as that of a real process, is an [`AddressSpace`] that is mapped into it. Network
//! interfaces access both by the node's addresses.

use netloom_fabric::packet::Data;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Page size, bytes; mappings start and end at multiples of it.
pub const PAGE: u64 = 512;

/// Memory of a process.
pub trait AddressSpace: Send {
    /// Reads bytes, starting at an address of the process.
    fn load(&self, address: u64, into: &mut [u8]);

    /// Writes bytes, starting at an address of the process.
    fn store(&mut self, address: u64, bytes: &[u8]);
}

/// A part of an address space, from this address on, up to the end of this page of the node's memory.
struct Mapped {
    end: u64,
    address: u64,
    space: Box<dyn AddressSpace>,
}

/// A node's memory.
#[derive(Default)]
pub struct Contents {
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
    /// Mappings, by their first page.
    mapped: BTreeMap<u64, Mapped>,
}

impl Contents {
    /// Maps `bytes` of an address space, starting at its `address`, to the node's addresses from `start` on.
    /// Previous contents become inaccessible.
    ///
    /// # Panics
    /// If it does not start and end at multiples of [`PAGE`], or overlaps another mapping.
    pub fn map(&mut self, start: u64, bytes: u64, space: Box<dyn AddressSpace>, address: u64) {
        assert!(
            [start, bytes].iter().all(|x| x.is_multiple_of(PAGE)) && bytes > 0,
            "only whole pages can be mapped"
        );
        let (first, end) = (start / PAGE, (start + bytes) / PAGE);
        let is_free = self.mapped.range(..end).next_back().is_none_or(|(_, before)| before.end <= first);
        assert!(is_free, "part of it is mapped already");
        self.mapped.insert(first, Mapped { end, address, space });
    }

    /// The mapping of a page: its first page, and the page's address in the mapped space.
    fn mapping(&self, page: u64) -> Option<(u64, u64)> {
        let (&first, mapped) = self.mapped.range(..=page).next_back()?;
        (page < mapped.end).then(|| (first, mapped.address + (page - first) * PAGE))
    }

    /// Whether an address is in the memory of a process.
    pub fn is_elsewhere(&self, address: u64) -> bool {
        self.mapping(address / PAGE).is_some()
    }

    /// Bytes from `start` on; `None` if nothing has been stored there.
    pub fn load(&self, start: u64, length: usize) -> Option<Data> {
        self.spans(start, length)
            .any(|(at, _, mapping)| mapping.is_some() || self.pages.contains_key(&(at / PAGE)))
            .then(|| self.load_all(start, length).into())
    }

    /// A range in pieces of which each lies in one page or in one mapping: where it starts, its length, and
    /// the mapping with the address in its space.
    fn spans(&self, start: u64, length: usize) -> impl Iterator<Item = (u64, usize, Option<(u64, u64)>)> {
        let (mut at, end) = (start, start + length as u64);
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let (page, inside) = (at / PAGE, at % PAGE);
                let mapping = self.mapping(page).map(|(first, address)| (first, address + inside));
                let until = mapping.map_or(page + 1, |(first, _)| self.mapped[&first].end) * PAGE;
                let span = (at, (until.min(end) - at) as usize, mapping);
                at += span.1 as u64;
                span
            })
        })
    }

    /// Bytes from `start` on, with zeros where nothing has been stored.
    pub fn load_all(&self, start: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut left = &mut bytes[..];
        for (at, count, mapping) in self.spans(start, length) {
            let (now, rest) = left.split_at_mut(count);
            if let Some((first, address)) = mapping {
                self.mapped[&first].space.load(address, now);
            } else if let Some(page) = self.pages.get(&(at / PAGE)) {
                let inside = (at % PAGE) as usize;
                now.copy_from_slice(&page[inside..inside + count]);
            }
            left = rest;
        }
        bytes
    }

    /// Stores bytes; `None` stores zeros.
    pub fn store(&mut self, start: u64, length: usize, bytes: Option<&[u8]>) {
        let spans: SmallVec<[_; 4]> = self.spans(start, length).collect();
        let mut from = 0;
        for (at, count, mapping) in spans {
            let part = bytes.map(|bytes| &bytes[from..from + count]);
            from += count;
            if let Some((first, address)) = mapping {
                let space = &mut self.mapped.get_mut(&first).expect("just found").space;
                match part {
                    Some(part) => space.store(address, part),
                    None => space.store(address, &vec![0; count]),
                }
                continue;
            }
            let (page, inside) = (at / PAGE, (at % PAGE) as usize);
            let room = inside..inside + count;
            match part {
                Some(part) => {
                    let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE as usize]));
                    page[room].copy_from_slice(part);
                }
                None => {
                    if let Some(page) = self.pages.get_mut(&page) {
                        page[room].fill(0);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    /// Memory of a process that is not part of the node's.
    #[derive(Clone)]
    struct Elsewhere(Arc<Mutex<Vec<u8>>>);

    impl AddressSpace for Elsewhere {
        fn load(&self, address: u64, into: &mut [u8]) {
            into.copy_from_slice(&self.0.lock().unwrap()[address as usize..][..into.len()]);
        }

        fn store(&mut self, address: u64, bytes: &[u8]) {
            self.0.lock().unwrap()[address as usize..][..bytes.len()].copy_from_slice(bytes);
        }
    }

    #[test]
    fn what_is_mapped_lies_in_its_process() {
        let space = Elsewhere(Arc::new(Mutex::new(vec![7; 4096])));
        let mut memory = Contents::default();
        memory.map(3 * PAGE, 2 * PAGE, Box::new(space.clone()), 100);
        // Half before it and half in it; and up to its last byte.
        memory.store(3 * PAGE - 2, 4, Some(&[1, 2, 3, 4]));
        memory.store(5 * PAGE - 1, 3, Some(&[5, 6, 8]));
        assert_eq!(memory.load_all(3 * PAGE - 2, 5), [1, 2, 3, 4, 7]);
        assert_eq!(memory.load_all(5 * PAGE - 2, 4), [7, 5, 6, 8]);
        memory.store(3 * PAGE, 1, None);
        assert!(memory.load(3 * PAGE, 8).is_some() && memory.load(9 * PAGE, 8).is_none());
        let bytes = space.0.lock().unwrap();
        assert_eq!((&bytes[98..103], bytes[100 + 1023], bytes[100 + 1024]), (&[7, 7, 0, 4, 7][..], 5, 7));
    }

    #[test]
    #[should_panic(expected = "part of it is mapped already")]
    fn nothing_is_mapped_twice() {
        let (mut memory, space) = (Contents::default(), Elsewhere(Arc::default()));
        memory.map(0, 4 * PAGE, Box::new(space.clone()), 0);
        memory.map(3 * PAGE, PAGE, Box::new(space), 0);
    }

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
