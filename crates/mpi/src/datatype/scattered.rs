//! An array of elements as a function of the program finds it, wherever the data of its type lies: before the
//! array's address, beyond the extent, between the data of other elements.
#![allow(unsafe_code)] // What is between the data is nobody's, so no slice can stand for the memory.

use super::Layout;
use crate::error::{Class, Error};
use std::alloc::{alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The strictest alignment that elements may expect of an array's address, bytes.
const ALIGNMENT: usize = 64;

/// Memory in which an array has its data where its layout says, and zeros elsewhere.
pub struct Scattered {
    layout: Layout,
    memory: NonNull<u8>,
    allocated: std::alloc::Layout,
    base: *mut u8,
}

impl Scattered {
    /// With this data, which has the length of the layout's.
    ///
    /// # Errors
    /// If there is not as much memory as the data spans: a type of absolute addresses may span all of it.
    ///
    /// # Panics
    /// If the data has another length.
    pub fn new(layout: Layout, packed: &[u8]) -> Result<Self, Error> {
        assert_eq!(packed.len(), layout.bytes());
        let [first, end] = layout.span().unwrap_or_default();
        // The array's address is aligned, not that of its first byte of data.
        let before = first.rem_euclid(ALIGNMENT as isize);
        let bytes =
            end.checked_sub(first).and_then(|bytes| bytes.checked_add(before)).map(isize::cast_unsigned);
        let allocated =
            bytes.and_then(|bytes| std::alloc::Layout::from_size_align(bytes.max(1), ALIGNMENT).ok());
        let no_memory = || {
            let text = format!(
                "the elements of an operand lie from {first} B to {end} B, more than there is memory for"
            );
            Error::new(Class::NoMem, text)
        };
        let allocated = allocated.ok_or_else(no_memory)?;
        // SAFETY: it has one byte or more.
        let memory = NonNull::new(unsafe { alloc_zeroed(allocated) }).ok_or_else(no_memory)?;
        let base = memory.as_ptr().wrapping_offset(before - first);
        // SAFETY: the span of the layout is within the memory, which nobody else has.
        unsafe { layout.unpack(packed, base) };
        Ok(Scattered { layout, memory, allocated, base })
    }

    /// The array's address. It need not be within the memory.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Copies the data.
    ///
    /// # Panics
    /// If there is another length of space.
    pub fn pack(&self, to: &mut [u8]) {
        // SAFETY: the span of the layout is within the memory.
        unsafe { self.layout.pack(self.base, to) };
    }
}

impl Drop for Scattered {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.allocated) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Datatype, predefined};

    fn int() -> Datatype {
        Datatype::from(predefined(0x250).expect("MPI_INT32_T"))
    }

    /// Two integers at these displacements, with these bounds.
    fn pair(at: [i64; 2], [lower, extent]: [i64; 2]) -> Datatype {
        let int = int();
        let made = Datatype::of_blocks(at.iter().map(|&at| (1, at, &int))).unwrap();
        made.resized(lower, extent).unwrap()
    }

    #[test]
    fn data_is_where_the_layout_says_and_comes_back() {
        for (at, bounds) in [
            ([0, 12], [0, 4]),
            ([-8, 0], [-8, 16]),
            ([4, 0], [0, 8]),
            ([0, 4], [0, -8]),
            ([-100, 100], [3, 8]),
            ([1 << 40, (1 << 40) + 4], [0, 8]),
        ] {
            let made = pair(at, bounds);
            let packed: Vec<u8> = (1..=24).collect();
            let scattered = Scattered::new(made.layout(3), &packed).unwrap();
            assert_eq!(scattered.base() as usize % ALIGNMENT, 0);
            for element in 0..3 {
                for part in 0..2 {
                    let place = (element as i64 * bounds[1] + at[part]) as isize;
                    let from = (element * 2 + part) * 4;
                    // SAFETY: data of the array.
                    let found = unsafe { scattered.base().wrapping_offset(place).cast::<[u8; 4]>().read() };
                    assert_eq!(found, packed[from..from + 4], "{at:?} {bounds:?} {element} {part}");
                }
            }
            let mut back = [0; 24];
            scattered.pack(&mut back);
            assert_eq!(back[..], packed);
        }
    }

    #[test]
    fn no_data_needs_no_memory_and_too_much_is_an_error() {
        Scattered::new(Layout::default(), &[]).unwrap().pack(&mut []);
        let far = pair([0, 1 << 60], [0, 8]);
        let error = Scattered::new(far.layout(1), &[0; 8]).err().expect("an error");
        assert!(
            error.class == Class::NoMem && error.text.contains("1152921504606846980 B"),
            "{}",
            error.text
        );
    }

    #[test]
    fn arrays_of_bytes_are_those_whose_data_lies_within_their_elements() {
        for (at, bounds, expected) in [
            ([0, 4], [0, 8], true),
            ([0, 4], [0, 16], true),
            ([4, 8], [0, 12], true),
            ([0, 12], [0, 4], false),
            ([-8, 0], [-8, 16], false),
            ([0, 4], [0, -8], false),
            ([0, 4], [-4, 12], false),
        ] {
            assert_eq!(pair(at, bounds).is_within_extent(), expected, "{at:?} {bounds:?}");
        }
    }
}
