//! Fetching memory ahead of its use. A machine of tens of thousands of nodes does not fit a core's caches, and its
//! events touch it in no order that a processor could guess; but the calendar knows what comes next.
//!
//! Measured on a saturated 32x32x32 BlueGene/L: see `docs/performance.md`.
#![allow(unsafe_code)]

/// Asks for all cache lines of a value to be brought into the cache. Changes nothing that a program can see.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let base = std::ptr::from_ref(value).cast::<i8>();
    let size = size_of::<T>();
    // A plain loop: as a chain of iterators it was not unrolled, and took most of the time of fetching.
    let mut offset = 0;
    while offset < size {
        fetch_line(base, offset);
        offset += LINE;
    }
    // Where it may begin inside a line, its last byte may lie in one more.
    if size > align_of::<T>() && !align_of::<T>().is_multiple_of(LINE) {
        fetch_line(base, size - 1);
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the line `offset` bytes behind `base`.
#[inline(always)]
fn fetch_line(base: *const i8, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not access memory as far as the language is concerned: any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch(base.wrapping_add(offset), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (base, offset);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_can_be_fetched() {
        prefetch(&());
        prefetch(&7u8);
        let lines = [1u64; 1000];
        prefetch(&lines);
        assert_eq!(lines.iter().sum::<u64>(), 1000);
    }
}
