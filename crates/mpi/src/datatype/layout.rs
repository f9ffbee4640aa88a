//! Where data is in memory: loops over runs of bytes, in the order in which they are sent. A type is compiled
//! to them once.
#![allow(unsafe_code)] // Gaps between runs may not be accessed, so no slice can stand for the memory.

mod serialized;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Bytes that follow one another.
    Run { at: isize, bytes: usize },
    /// A loop.
    Repeat { at: isize, of: Arc<Loop> },
}
// A type may have thousands of them, which are read for each message.
const _: () = assert!(size_of::<Node>() == 24);

/// The same so many times, a stride apart.
#[derive(Debug, PartialEq)]
struct Loop {
    count: usize,
    stride: isize,
    body: Arc<Vec<Node>>,
}

impl Node {
    fn moved(&self, by: isize) -> Node {
        let mut node = self.clone();
        let (Node::Run { at, .. } | Node::Repeat { at, .. }) = &mut node;
        *at += by;
        node
    }
}

/// Runs of the same length, a stride apart.
#[derive(Clone, Copy)]
struct Runs {
    at: isize,
    stride: isize,
    count: usize,
    bytes: usize,
    /// Bytes of the data before them.
    before: usize,
}

/// Where data is, from an address on.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    body: Body,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    /// All data is one run, from here on. Most are, and need no memory of their own.
    Run(isize),
    /// Not one run. Shared: a large type is not copied for each message.
    Nodes(Arc<Vec<Node>>),
}

impl Default for Layout {
    fn default() -> Self {
        Layout { body: Body::Run(0), bytes: 0 }
    }
}

impl Layout {
    /// Bytes that follow one another.
    #[inline]
    pub fn run(at: isize, bytes: usize) -> Self {
        Layout { body: Body::Run(if bytes > 0 { at } else { 0 }), bytes }
    }

    /// Of nodes that have so many bytes together.
    fn of_nodes(nodes: Vec<Node>, bytes: usize) -> Self {
        match nodes[..] {
            [] => Layout::default(),
            [Node::Run { at, bytes }] => Layout::run(at, bytes),
            _ => Layout { body: Body::Nodes(Arc::new(nodes)), bytes },
        }
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls a function with its nodes.
    #[inline(always)]
    fn with_nodes<R>(&self, f: impl FnOnce(&[Node]) -> R) -> R {
        match &self.body {
            Body::Run(_) if self.bytes == 0 => f(&[]),
            &Body::Run(at) => f(&[Node::Run { at, bytes: self.bytes }]),
            Body::Nodes(nodes) => f(nodes),
        }
    }

    /// Adds another, moved by so many bytes.
    pub fn append(&mut self, other: &Layout, by: isize) {
        if let Body::Nodes(nodes) = &mut self.body {
            self.bytes += other.bytes;
            return other.with_nodes(|others| append(Arc::make_mut(nodes), others, by));
        }
        let mut nodes = self.with_nodes(<[Node]>::to_vec);
        other.with_nodes(|others| append(&mut nodes, others, by));
        *self = Layout::of_nodes(nodes, self.bytes + other.bytes);
    }

    /// So many of it, a stride apart.
    pub fn repeated(&self, count: usize, stride: isize) -> Layout {
        let bytes = self.bytes * count;
        let looped = |body| Node::Repeat { at: 0, of: Arc::new(Loop { count, stride, body }) };
        let node = match &self.body {
            _ if count == 0 || bytes == 0 => return Layout::default(),
            _ if count == 1 => return self.clone(),
            &Body::Run(at) if stride == self.bytes as isize => return Layout::run(at, bytes),
            &Body::Run(at) => looped(Arc::new(vec![Node::Run { at, bytes: self.bytes }])),
            Body::Nodes(nodes) => match &nodes[..] {
                // A loop that goes on where it has ended is one loop.
                [Node::Repeat { at, of }] if stride == of.count as isize * of.stride => {
                    let (count, stride, body) = (of.count * count, of.stride, Arc::clone(&of.body));
                    Node::Repeat { at: *at, of: Arc::new(Loop { count, stride, body }) }
                }
                _ => looped(Arc::clone(nodes)),
            },
        };
        Layout { body: Body::Nodes(Arc::new(vec![node])), bytes }
    }

    /// Where the data is, if it is one run.
    #[inline]
    pub fn as_run(&self) -> Option<isize> {
        match self.body {
            Body::Run(at) => Some(at),
            Body::Nodes(_) => None,
        }
    }

    /// Where the first byte is and where the last one ends; `None` without data.
    #[inline]
    pub fn span(&self) -> Option<[isize; 2]> {
        match self.body {
            Body::Run(at) => (self.bytes > 0).then(|| [at, at.saturating_add_unsigned(self.bytes)]),
            Body::Nodes(ref nodes) => span(nodes),
        }
    }

    /// Whether this is true of each run, by where it begins and its bytes.
    pub fn all_runs(&self, is_true: impl FnMut(isize, usize) -> bool) -> bool {
        let (all, is_true) = (&Cell::new(true), &RefCell::new(is_true));
        self.for_each(move |Runs { at, stride, count, bytes, .. }| {
            let mut is_true = is_true.borrow_mut();
            all.set(all.get() && (0..count as isize).all(|n| is_true(at + n * stride, bytes)));
        });
        all.get()
    }

    fn for_each(&self, f: impl Fn(Runs) + Copy) {
        self.with_nodes(|nodes| for_each(nodes, 0, 0, f));
    }

    /// Copies the data from memory, one run after the other.
    ///
    /// # Panics
    /// If there is not as much space as data.
    ///
    /// # Safety
    /// All runs from `memory` on can be read.
    pub unsafe fn pack(&self, memory: *const u8, packed: &mut [u8]) {
        assert_eq!(packed.len(), self.bytes);
        // SAFETY: the caller's promise; there is this much space.
        unsafe { self.pack_to(memory, packed.as_mut_ptr()) };
    }

    /// The same to memory that holds nothing yet.
    ///
    /// # Safety
    /// All runs from `memory` on can be read, and as many bytes as it has from `to` on written.
    pub unsafe fn pack_to(&self, memory: *const u8, to: *mut u8) {
        self.for_each(move |Runs { at, stride, count, bytes, before }| {
            let from = memory.wrapping_offset(at);
            // SAFETY: the caller's promise; the runs have `self.bytes` together.
            unsafe { copy_runs((from, stride), (to.add(before), bytes as isize), count, bytes) };
        });
    }

    /// Copies data to memory, as much as there is.
    ///
    /// # Safety
    /// All runs from `memory` on can be written, and are not part of `packed`.
    pub unsafe fn unpack(&self, packed: &[u8], memory: *mut u8) {
        if packed.len() == self.bytes {
            let from = packed.as_ptr();
            return self.for_each(move |Runs { at, stride, count, bytes, before }| {
                let to = memory.wrapping_offset(at);
                // SAFETY: the caller's promise; the runs have `self.bytes` together.
                unsafe { copy_runs((from.add(before), bytes as isize), (to, stride), count, bytes) };
            });
        }
        self.for_each(move |Runs { at, stride, count, bytes, before }| {
            let (to, rest) = (memory.wrapping_offset(at), &packed[before.min(packed.len())..]);
            let whole = count.min(rest.len() / bytes);
            let part = if whole < count { rest.len() % bytes } else { 0 };
            // SAFETY: the caller's promise; as much is left.
            unsafe {
                copy_runs((rest.as_ptr(), bytes as isize), (to, stride), whole, bytes);
                let from = rest.as_ptr().add(whole * bytes);
                to.wrapping_offset(whole as isize * stride).copy_from_nonoverlapping(from, part);
            }
        });
    }

    /// Copies the data to other memory of the same layout; what is between stays as it is there.
    ///
    /// # Safety
    /// All runs from `from` on can be read, and all from `to` on written; they do not overlap.
    pub unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        self.for_each(move |Runs { at, stride, count, bytes, .. }| {
            let (from, to) = (from.wrapping_offset(at), to.wrapping_offset(at));
            // SAFETY: the caller's promise.
            unsafe { copy_runs((from, stride), (to, stride), count, bytes) };
        });
    }
}

/// Adds nodes, moved by so many bytes, to others.
fn append(nodes: &mut Vec<Node>, others: &[Node], by: isize) {
    for node in others {
        let node = node.moved(by);
        match (nodes.last_mut(), &node) {
            (Some(Node::Run { at, bytes }), Node::Run { at: next, bytes: more })
                if *at + *bytes as isize == *next =>
            {
                *bytes += more;
            }
            _ => nodes.push(node),
        }
    }
}

fn span(nodes: &[Node]) -> Option<[isize; 2]> {
    let spans = nodes.iter().filter_map(|node| match node {
        Node::Run { bytes: 0, .. } => None,
        &Node::Run { at, bytes } => Some([at, at.saturating_add_unsigned(bytes)]),
        Node::Repeat { of, .. } if of.count == 0 => None,
        Node::Repeat { at, of } => {
            let Loop { count, stride, body } = &**of;
            let last = stride.saturating_mul(isize::try_from(count - 1).unwrap_or(isize::MAX));
            let [first, end] = span(body)?.map(|of| of.saturating_add(*at));
            Some([first.saturating_add(last.min(0)), end.saturating_add(last.max(0))])
        }
    });
    spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
}

/// Returns the bytes of data so far. It is no variable of `f`, and `f` is copied: what is in memory is stored
/// and loaded again for each run, which takes longer than to copy a short one.
fn for_each(nodes: &[Node], base: isize, mut before: usize, f: impl Fn(Runs) + Copy) -> usize {
    for node in nodes {
        match node {
            &Node::Run { at, bytes } => {
                f(Runs { at: base + at, stride: 0, count: 1, bytes, before });
                before += bytes;
            }
            Node::Repeat { at, of } => {
                let Loop { count, stride, body } = &**of;
                let start = base + at;
                if let [Node::Run { at, bytes }] = body[..] {
                    f(Runs { at: start + at, stride: *stride, count: *count, bytes, before });
                    before += count * bytes;
                    continue;
                }
                for n in 0..*count as isize {
                    before = for_each(body, start + n * stride, before, f);
                }
            }
        }
    }
    before
}

/// Copies runs; short ones of the usual lengths without a call.
///
/// # Safety
/// All can be read and written, and do not overlap.
#[inline(always)]
unsafe fn copy_runs(from: (*const u8, isize), to: (*mut u8, isize), count: usize, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            _ if count != 1 => copy_several(from, to, count, bytes),
            // Blocks of different lengths come one by one: few choices, since each may be guessed wrong.
            16..=32 => copy_ends::<16, 16>(from, to, 1, bytes),
            33..=48 => copy_ends::<32, 16>(from, to, 1, bytes),
            49..=64 => copy_ends::<32, 32>(from, to, 1, bytes),
            _ => to.0.copy_from_nonoverlapping(from.0, bytes),
        }
    }
}

/// The same of more than one, or none.
///
/// # Safety
/// As [`copy_runs`].
#[inline(never)]
unsafe fn copy_several(from: (*const u8, isize), to: (*mut u8, isize), count: usize, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            4 => copy_words::<u32>(from, to, count),
            8 => copy_words::<u64>(from, to, count),
            16 => copy_words::<u128>(from, to, count),
            32 => copy_each(from, to, count, |from, to| copy_sixteens::<32>(from, to)),
            64 => copy_each(from, to, count, |from, to| copy_sixteens::<64>(from, to)),
            9..16 => copy_ends::<8, 8>(from, to, count, bytes),
            17..32 => copy_ends::<16, 16>(from, to, count, bytes),
            33..=48 => copy_ends::<32, 16>(from, to, count, bytes),
            49..64 => copy_ends::<32, 32>(from, to, count, bytes),
            65..=512 => copy_blocks(from, to, count, bytes),
            _ => {
                for n in 0..count as isize {
                    let to = to.0.wrapping_offset(n * to.1);
                    to.copy_from_nonoverlapping(from.0.wrapping_offset(n * from.1), bytes);
                }
            }
        }
    }
}

/// Calls a function with where each run is read and written.
#[inline(always)]
fn for_each_run(
    (mut from, from_stride): (*const u8, isize),
    (mut to, to_stride): (*mut u8, isize),
    count: usize,
    copy: impl Fn(*const u8, *mut u8),
) {
    for _ in 0..count {
        copy(from, to);
        (from, to) = (from.wrapping_offset(from_stride), to.wrapping_offset(to_stride));
    }
}

/// Copies a word.
///
/// # Safety
/// It can be read and written.
#[inline(always)]
unsafe fn copy_word<W>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned()) };
}

/// Copies this number of bytes in words of 16: what `malloc` returns is aligned to these, so none is in two
/// cache lines, for which longer words take half as long again.
///
/// # Safety
/// They can be read and written.
#[inline(always)]
unsafe fn copy_sixteens<const BYTES: usize>(from: *const u8, to: *mut u8) {
    for at in (0..BYTES).step_by(16) {
        // SAFETY: the caller's promise.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{_mm_loadu_si128, _mm_storeu_si128};
                // Plain words would be put together to longer ones.
                _mm_storeu_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast()));
            }
            #[cfg(not(target_arch = "x86_64"))]
            copy_word::<u128>(from.add(at), to.add(at));
        }
    }
}

/// Calls `copy` for each run, as [`for_each_run`]. Places are multiplied, so they do not wait for each other:
/// for runs of one length, of which several are copied in a cycle.
#[inline(always)]
fn copy_each(
    from: (*const u8, isize),
    to: (*mut u8, isize),
    count: usize,
    copy: impl Fn(*const u8, *mut u8),
) {
    for n in 0..count as isize {
        copy(from.0.wrapping_offset(n * from.1), to.0.wrapping_offset(n * to.1));
    }
}

/// Copies runs of the length of a word.
///
/// # Safety
/// As [`copy_runs`].
#[inline(never)] // With other loops in one function, it has too few registers.
unsafe fn copy_words<W>(from: (*const u8, isize), to: (*mut u8, isize), count: usize) {
    // SAFETY: the caller's promise.
    copy_each(from, to, count, |from, to| unsafe { copy_word::<W>(from, to) });
}

/// Copies runs in blocks of 64 B, of which the last one may overlap the one before it.
///
/// # Safety
/// As [`copy_runs`]; runs are at least as long as a block.
unsafe fn copy_blocks(from: (*const u8, isize), to: (*mut u8, isize), count: usize, bytes: usize) {
    let last = bytes - 64;
    for_each_run(from, to, count, |from, to| {
        // SAFETY: the caller's promise.
        let copy = |at: usize| unsafe { copy_sixteens::<64>(from.add(at), to.add(at)) };
        (0..last).step_by(64).for_each(copy);
        copy(last);
    });
}

/// Copies the first `FIRST` bytes of each run and its last `LAST` ones; they may overlap.
///
/// # Safety
/// As [`copy_runs`]; runs are at least as long as each of them, and not longer than both.
#[inline(always)]
unsafe fn copy_ends<const FIRST: usize, const LAST: usize>(
    from: (*const u8, isize),
    to: (*mut u8, isize),
    count: usize,
    bytes: usize,
) {
    let last = bytes - LAST;
    // SAFETY: the caller's promise.
    for_each_run(from, to, count, |from, to| unsafe {
        copy_end::<FIRST>(from, to);
        copy_end::<LAST>(from.add(last), to.add(last));
    });
}

/// Copies 8 B, or words of 16.
///
/// # Safety
/// They can be read and written.
#[inline(always)]
unsafe fn copy_end<const BYTES: usize>(from: *const u8, to: *mut u8) {
    const { assert!(BYTES == 8 || BYTES.is_multiple_of(16)) };
    // SAFETY: the caller's promise.
    unsafe { if BYTES == 8 { copy_word::<u64>(from, to) } else { copy_sixteens::<BYTES>(from, to) } };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One run and three, of each length for which there is a loop of its own.
    #[test]
    fn runs_of_each_length_are_copied_and_nothing_around_them() {
        for bytes in 1..=600 {
            for count in [1, 3] {
                let stride = bytes + 7;
                let layout = Layout::run(5, bytes).repeated(count, stride as isize);
                let is_data = |at: usize| at >= 5 && (at - 5) / stride < count && (at - 5) % stride < bytes;
                let memory: Vec<u8> = (0..5 + count * stride).map(|at| at as u8 | 1).collect();
                let data: Vec<u8> =
                    (0..memory.len()).filter(|&at| is_data(at)).map(|at| memory[at]).collect();
                let mut packed = vec![0; bytes * count];
                let mut unpacked = vec![0; memory.len()];
                // SAFETY: the last run ends within the memory.
                unsafe {
                    layout.pack(memory.as_ptr(), &mut packed);
                    layout.unpack(&packed, unpacked.as_mut_ptr());
                }
                assert_eq!(packed, data, "{count} of {bytes}");
                let expected = (0..memory.len()).map(|at| if is_data(at) { memory[at] } else { 0 });
                assert!(unpacked.iter().copied().eq(expected), "{count} of {bytes}");
            }
        }
    }
}
