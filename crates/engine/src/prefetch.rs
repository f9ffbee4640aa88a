//! Fetching memory ahead of its use. A machine of tens of thousands of nodes does not fit a core's caches, and its
//! events touch it in no order that a processor could guess; but the calendar knows what comes next.
//!
//! Measured on a saturated 32x32x32 BlueGene/L: see `docs/performance.md`.
#![allow(unsafe_code)]

/// Asks for all cache lines of a value to be brought into the cache. Changes nothing that a program can see.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let base = std::ptr::from_ref(value).cast::<i8>();
    // Where it may begin inside a line, its last byte may lie in one more.
    let last = size_of::<T>().checked_sub(1).filter(|_| align_of::<T>() < 64);
    for offset in (0..size_of::<T>()).step_by(64).chain(last) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch does not access memory as far as the language is concerned, and the address lies inside
        // `value`, so computing it is sound.
        unsafe {
            std::arch::x86_64::_mm_prefetch(base.add(offset), std::arch::x86_64::_MM_HINT_T0);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (base, offset);
    }
}
