//! Huge pages for the large arrays of a machine's state.
//!
//! Events of a large machine access its state at random, so with 4 KB pages nearly each access also misses
//! the TLB. Linux provides huge pages for memory if a program requests them; allocators do not request them
//! for all large allocations. Small allocations come from mimalloc, with which programs on NICs take 3% less
//! time and a quarter less memory than with glibc's. Measured gain: see `docs/performance.md`.
#![allow(unsafe_code)]

// Miri cannot call C.
#[cfg(not(miri))]
use mimalloc::MiMalloc as Small;
#[cfg(miri)]
use std::alloc::System as Small;
use std::alloc::{GlobalAlloc, Layout};

/// Size of a huge page.
const HUGE: usize = 2 << 20;
/// Allocations of at least this size are rounded up to huge pages.
const LARGE: usize = HUGE / 8;

/// An allocator that places large allocations on huge pages if the system has them. A program uses it as its
/// `#[global_allocator]`.
pub struct HugePages;

/// The layout of a large allocation rounded up; smaller ones are unchanged.
fn rounded(layout: Layout) -> Layout {
    if layout.size() < LARGE {
        return layout;
    }
    layout
        .align_to(HUGE)
        .ok()
        .and_then(|l| Layout::from_size_align(l.size().checked_next_multiple_of(HUGE)?, l.align()).ok())
        .unwrap_or(layout)
}

// SAFETY: every call is forwarded to `Small` with a layout that is at least as large and as aligned as
// requested, and that depends on the requested layout alone, so memory is freed with the layout that it was
// allocated with. Small allocations are reallocated in place if possible; for others `realloc` allocates,
// copies and frees through these functions.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = rounded(layout);
        // SAFETY: the caller's layout has a size above zero, and so has this one.
        let memory = unsafe { Small.alloc(layout) };
        advise(memory, layout);
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let layout = rounded(layout);
        // SAFETY: as above.
        let memory = unsafe { Small.alloc_zeroed(layout) };
        advise(memory, layout);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it was allocated by the functions above with the same rounded layout.
        unsafe { Small.dealloc(memory, rounded(layout)) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() < LARGE && size < LARGE {
            // SAFETY: neither layout is rounded, so the memory was allocated with this one, and may be freed
            // with the new one.
            return unsafe { Small.realloc(memory, layout, size) };
        }
        // SAFETY: the caller's size, rounded up to the layout's alignment, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the new layout has a size above zero; both are at least as long as the copied range, and do
        // not overlap; the old one is freed with its own layout.
        unsafe {
            let to = self.alloc(new);
            if !to.is_null() {
                std::ptr::copy_nonoverlapping(memory, to, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            to
        }
    }
}

fn advise(memory: *mut u8, layout: Layout) {
    if memory.is_null() || layout.align() < HUGE {
        return;
    }
    // Miri has no such call.
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the range was just allocated and is ours; the advice does not change its contents. If it is
    // refused, the memory is unaffected.
    unsafe {
        libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small, grown, made large, and small again: the contents are preserved.
    #[test]
    fn what_grows_keeps_its_contents() {
        let sizes = [100, 5000, LARGE - 1, LARGE, 3 * HUGE, 200];
        let layout = |size| Layout::from_size_align(size, 8).expect("valid");
        // SAFETY: sizes are above zero, and each call has the layout that the memory was last allocated with.
        unsafe {
            let mut memory = HugePages.alloc(layout(sizes[0]));
            (0..100).for_each(|at| memory.add(at).write(at as u8));
            for pair in sizes.windows(2) {
                memory = HugePages.realloc(memory, layout(pair[0]), pair[1]);
                assert!((0..100).all(|at| memory.add(at).read() == at as u8), "{pair:?}");
            }
            HugePages.dealloc(memory, layout(200));
        }
    }

    #[test]
    fn layouts_grow_to_whole_pages() {
        let layout = |size, align| Layout::from_size_align(size, align).expect("valid");
        assert_eq!(rounded(layout(1000, 8)), layout(1000, 8));
        assert_eq!(rounded(layout(LARGE, 8)), layout(HUGE, HUGE));
        assert_eq!(rounded(layout(HUGE + 1, 64)), layout(2 * HUGE, HUGE));
        let huge = layout(isize::MAX as usize - 100, 8);
        assert_eq!(rounded(huge), huge);
    }

    #[test]
    fn memory_can_be_used_and_freed() {
        for size in [10, LARGE - 1, LARGE, 3 * HUGE + 5] {
            let layout = Layout::from_size_align(size, 64).expect("valid");
            // SAFETY: the layout's size is above zero; the last byte lies inside; freed with the same layout.
            unsafe {
                let memory = HugePages.alloc_zeroed(layout);
                assert!(!memory.is_null() && *memory.add(size - 1) == 0);
                *memory.add(size - 1) = 7;
                HugePages.dealloc(memory, layout);
            }
        }
    }
}
