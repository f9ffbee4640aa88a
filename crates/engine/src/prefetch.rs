//! Prefetching. A machine of tens of thousands of nodes does not fit a core's caches, and its events access
//! it in no order that a processor could predict; but the calendar knows which events come next.
//!
//! Measured on a saturated 32x32x32 BlueGene/L: see `docs/performance.md`.
#![allow(unsafe_code)]

/// Prefetches all cache lines of a value. It has no visible effect on the program.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let base = std::ptr::from_ref(value).cast::<i8>();
    let size = size_of::<T>();
    // A plain loop: a chain of iterators was not unrolled, and took most of the time of prefetching.
    let mut offset = 0;
    while offset < size {
        fetch_line(base, offset);
        offset += LINE;
    }
    // If it does not start at a line boundary, its last byte may be in one more line.
    if size > align_of::<T>() && !align_of::<T>().is_multiple_of(LINE) {
        fetch_line(base, size - 1);
    }
}

/// Prefetches the first lines of a value that starts at a line.
#[inline(always)]
pub fn prefetch_lines<T>(value: &T, lines: usize) {
    debug_assert!(align_of::<T>().is_multiple_of(LINE) && lines * LINE <= size_of::<T>());
    let base = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..lines {
        fetch_line(base, line * LINE);
    }
}

/// Bytes per cache line.
const LINE: usize = 64;

/// Prefetches the line `offset` bytes after `base`.
#[inline(always)]
fn fetch_line(base: *const i8, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is not a memory access in the language's sense: any address is allowed.
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
