//! Fastboxes: queues of one writer and one reader, for contexts that often exchange messages.
//!
//! In the queue that a context has for all others, a writer claims each slot with a locked instruction, which
//! waits until the line of the slot before has come from the reader's core. Without it two contexts exchange
//! up to twice as many messages (`docs/performance.md`). MPICH's Nemesis and Open MPI's vader have the same
//! under this name.
//!
//! Memory must not grow with the number of pairs. So a context has few fastboxes, [`BOXES`], for the first
//! writers that send it [`OFTEN`] messages, and a writer keeps account of few contexts, [`DESTINATIONS`]. All
//! others use the queue.
//!
//! # Invariants
//! 1. A fastbox belongs to the writer whose number is in `owners`, until the end of the job. Only a writer
//!    that has changed it from 0 and then cannot announce it changes it back, before anybody has seen it.
//! 2. Order: a writer announces its fastbox by its last message in the queue. From then on it uses the
//!    fastbox alone, even if that is full, or if the context of this number is a new one. The reader looks at
//!    a fastbox only after it has read the announcement (`is_open`).
#![allow(unsafe_code)]

use crate::queue::{Full, Message, PAYLOAD_MAX, Queue, Reader, Writer};
use crate::segment::{SLOTS as QUEUE_SLOTS, TaskQueue};
use crate::sync::{AtomicU32, Ordering};

/// Whether `loom` checks the algorithm, which takes small numbers.
const IS_MODEL: bool = cfg!(all(loom, test));

/// Fastboxes of a context.
pub const BOXES: usize = if IS_MODEL { 1 } else { 4 };

/// Messages in a fastbox: few, so that the first caches hold them.
const SLOTS: usize = if IS_MODEL { 2 } else { 64 };

/// Slots behind the last one, for messages that are longer than a slot: up to 8 KiB with the headers of all
/// protocols. Each message is announced by a word of its own, for which a writer waits as long as a line takes
/// between the cores: with 4 KiB, 16 KiB took 1.35 times as long; with 16 KiB, the reader begins late.
const BEHIND: usize = if IS_MODEL { 0 } else { 15 };

/// The queue of a fastbox.
type BoxQueue = Queue<SLOTS, BEHIND>;

/// Contexts of which a writer keeps account.
pub const DESTINATIONS: usize = if IS_MODEL { 1 } else { 8 };

/// Messages to a context after which a writer asks for a fastbox.
pub const OFTEN: u32 = if IS_MODEL { 1 } else { 100 };

/// Messages from one source in a row, while others wait.
const IN_A_ROW: u32 = 32;

/// The word of an announcement, whose payload is the place of the fastbox. No protocol has this word.
pub const ANNOUNCEMENT: u64 = u64::MAX;

/// A fastbox. All bytes zero is a valid one.
#[repr(C, align(128))]
struct Fastbox {
    is_open: AtomicU32,
    queue: BoxQueue,
}

/// What others write to a context: its queue and its fastboxes. All bytes zero is valid.
#[repr(C)]
pub struct Inbox {
    queue: TaskQueue,
    /// The writers of the fastboxes; 0 if there is none.
    owners: [AtomicU32; BOXES],
    boxes: [Fastbox; BOXES],
}

impl Inbox {
    /// The queue that all may write to.
    #[inline(always)]
    pub fn queue(&self) -> &TaskQueue {
        &self.queue
    }

    /// The fastbox of a writer, if it has one.
    fn of(&self, writer: u32) -> Option<&BoxQueue> {
        let place = self.owners.iter().position(|owner| owner.load(Ordering::Relaxed) == writer)?;
        Some(&self.boxes[place].queue)
    }

    /// A fastbox for a writer that has none, if there is one left and `announce` succeeds.
    fn claim(&self, writer: u32, announce: impl FnOnce(u8) -> Result<(), Full>) -> Option<&BoxQueue> {
        let (place, owner) = self.owners.iter().enumerate().find(|(_, owner)| {
            owner.compare_exchange(0, writer, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        })?;
        if announce(place as u8).is_err() {
            owner.store(0, Ordering::Relaxed);
            return None;
        }
        Some(&self.boxes[place].queue)
    }
}

/// How a writer sends to one context.
enum Path<'a> {
    /// By the queue, so many messages up to now.
    Queue(u32),
    Fastbox(Writer<'a, SLOTS, BEHIND>),
}

/// The fastboxes that a writer has in the inboxes of others.
pub struct Fastboxes<'a> {
    writer: u32,
    paths: [(u32, Path<'a>); DESTINATIONS],
}

impl<'a> Fastboxes<'a> {
    /// The fastboxes of the writer with this number, which is not 0.
    ///
    /// # Safety
    /// One value at a time has this number, in all processes.
    pub unsafe fn new(writer: u32) -> Self {
        assert_ne!(writer, 0);
        Fastboxes { writer, paths: std::array::from_fn(|_| (u32::MAX, Path::Queue(0))) }
    }

    /// Writes a message to the inbox of a destination: to this writer's fastbox there, or to the queue by
    /// `push`, which may record what it claims. `destination` is the inbox's number; not `u32::MAX`.
    ///
    /// # Errors
    /// If there is no space.
    ///
    /// # Panics
    /// If the parts are too long.
    #[inline(always)]
    pub fn push(
        &mut self,
        (destination, inbox): (u32, &'a Inbox),
        word: u64,
        parts: [&[u8]; 2],
        push: impl Fn(u64, [&[u8]; 2]) -> Result<(), Full>,
    ) -> Result<(), Full> {
        debug_assert_ne!(word, ANNOUNCEMENT);
        let known = self.paths.iter_mut().find(|(known, _)| *known == destination);
        match known.map(|(_, path)| path) {
            Some(Path::Fastbox(writer)) => writer.push(word, parts),
            Some(Path::Queue(messages)) if *messages < OFTEN => {
                *messages += 1;
                push(word, parts)
            }
            Some(path) => {
                // SAFETY: the fastbox is this writer's (invariant 1).
                let new = |queue| Path::Fastbox(unsafe { Writer::new(queue) });
                let claimed = inbox.claim(self.writer, |place| push(ANNOUNCEMENT, [&[place], &[]]));
                *path = claimed.map_or(Path::Queue(0), new);
                match path {
                    Path::Fastbox(writer) => writer.push(word, parts),
                    Path::Queue(_) => push(word, parts),
                }
            }
            None => self.push_first((destination, inbox), word, parts, push),
        }
    }

    /// Most bytes of the next message to a destination.
    #[inline]
    pub fn longest(&self, destination: u32) -> usize {
        let known = self.paths.iter().find(|(known, _)| *known == destination);
        match known {
            Some((_, Path::Fastbox(_))) => BoxQueue::LONG_MAX,
            _ => PAYLOAD_MAX,
        }
    }

    /// Writes a message to a destination of which there is no account.
    #[cold]
    fn push_first(
        &mut self,
        (destination, inbox): (u32, &'a Inbox),
        word: u64,
        parts: [&[u8]; 2],
        push: impl Fn(u64, [&[u8]; 2]) -> Result<(), Full>,
    ) -> Result<(), Full> {
        let (result, path) = match inbox.of(self.writer) {
            Some(queue) => {
                // SAFETY: the fastbox is this writer's (invariant 1).
                let mut writer = unsafe { Writer::new(queue) };
                (writer.push(word, parts), Path::Fastbox(writer))
            }
            None => (push(word, parts), Path::Queue(1)),
        };
        // In place of the destination with the fewest messages by its queue.
        let messages = |(_, path): &&mut (u32, Path<'_>)| match path {
            Path::Queue(messages) => Some(*messages),
            Path::Fastbox(_) => None,
        };
        let fewest = self.paths.iter_mut().filter(|path| messages(path).is_some()).min_by_key(messages);
        if let Some(place) = fewest {
            *place = (destination, path);
        }
        result
    }
}

/// The reader of an inbox.
pub struct InboxReader<'a> {
    inbox: &'a Inbox,
    queue: Reader<'a, QUEUE_SLOTS>,
    /// The fastboxes that are open.
    boxes: Vec<Reader<'a, SLOTS, BEHIND>>,
    /// Where the next message is: 0 the queue, `n` the fastbox `n - 1`.
    source: usize,
    /// Messages from there in a row.
    in_a_row: u32,
}

impl<'a> InboxReader<'a> {
    /// The reader, from where the last one stopped.
    ///
    /// # Safety
    /// An inbox has one reader at a time.
    pub unsafe fn new(inbox: &'a Inbox) -> Self {
        let mut boxes = Vec::with_capacity(BOXES);
        for fastbox in inbox.boxes.iter().filter(|b| b.is_open.load(Ordering::Relaxed) != 0) {
            // SAFETY: the caller's promise.
            boxes.push(unsafe { Reader::new(&fastbox.queue) });
        }
        // SAFETY: the caller's promise.
        let queue = unsafe { Reader::new(&inbox.queue) };
        InboxReader { inbox, queue, boxes, source: 0, in_a_row: 0 }
    }

    /// The next message, if one has been written. It stays in its slot until [`Self::release`].
    #[inline]
    pub fn peek(&mut self) -> Option<Message<'_>> {
        while self.find() {
            // SAFETY: it has been found.
            match self.source {
                0 => {
                    let message = unsafe { self.queue.message() };
                    if message.word != ANNOUNCEMENT {
                        return Some(unsafe { self.queue.message() });
                    }
                    let place = message.payload.first().map_or(BOXES, |&place| place.into());
                    self.open(place);
                    self.queue.release();
                }
                n => return Some(unsafe { self.boxes[n - 1].message() }),
            }
        }
        None
    }

    /// Frees the slot of the message that [`Self::peek`] returned.
    #[inline]
    pub fn release(&mut self) {
        self.in_a_row += 1;
        match self.source {
            0 => self.queue.release(),
            n => self.boxes[n - 1].release(),
        }
    }

    /// The same after a message, if its source has another one. If not, its writer sees that all have been
    /// read.
    #[inline(always)]
    pub fn peek_more(&mut self) -> Option<Message<'_>> {
        if !self.has_next(self.source) {
            self.publish();
            return None;
        }
        match self.source {
            // SAFETY: it is there. A fastbox has no announcements.
            n if n > 0 && self.in_a_row < IN_A_ROW => Some(unsafe { self.boxes[n - 1].message() }),
            _ => self.peek(),
        }
    }

    #[inline(always)]
    fn publish(&mut self) {
        match self.source {
            0 => self.queue.publish(),
            n => self.boxes[n - 1].publish(),
        }
    }

    /// Whether a message is there, or one of the queue has been claimed by a writer that has not written it
    /// yet.
    pub fn has_claimed(&self) -> bool {
        self.queue.has_claimed() || self.boxes.iter().any(Reader::has_next)
    }

    /// See [`Reader::skip_lost`]. In a fastbox nothing is claimed before it is written.
    pub fn skip_lost(&mut self, is_lost: impl Fn(u64) -> bool) {
        self.queue.skip_lost(is_lost);
    }

    #[inline(always)]
    fn has_next(&self, source: usize) -> bool {
        match source {
            0 => self.queue.has_next(),
            n => self.boxes[n - 1].has_next(),
        }
    }

    /// Finds the source of the next message, in turn: the last one, unless it has had its messages, or the
    /// first after it that has one. Returns whether there is one.
    #[inline]
    fn find(&mut self) -> bool {
        let has_next = self.has_next(self.source);
        if has_next && self.in_a_row < IN_A_ROW {
            return true;
        }
        self.in_a_row = 0;
        self.publish();
        for _ in 0..self.boxes.len() {
            self.turn();
            if self.has_next(self.source) {
                return true;
            }
        }
        self.turn();
        has_next
    }

    /// The next source.
    #[inline(always)]
    fn turn(&mut self) {
        self.source = if self.source == self.boxes.len() { 0 } else { self.source + 1 };
    }

    #[cold]
    fn open(&mut self, place: usize) {
        // Another process wrote the place: it is checked.
        let fastbox = self.inbox.boxes.get(place).filter(|b| b.is_open.load(Ordering::Relaxed) == 0);
        if let Some(fastbox) = fastbox {
            fastbox.is_open.store(1, Ordering::Relaxed);
            // SAFETY: this is the only reader of the inbox.
            self.boxes.push(unsafe { Reader::new(&fastbox.queue) });
        }
    }
}

#[cfg(test)]
impl Inbox {
    fn new() -> Self {
        Inbox {
            queue: Queue::new(),
            owners: std::array::from_fn(|_| AtomicU32::new(0)),
            boxes: std::array::from_fn(|_| Fastbox { is_open: AtomicU32::new(0), queue: Queue::new() }),
        }
    }

    /// Writes a message without parts, as a sender does.
    fn send<'a>(&'a self, own: &mut Fastboxes<'a>, destination: u32, word: u64) -> Result<(), Full> {
        own.push((destination, self), word, [&[], &[]], |word, parts| self.queue.push(word, parts))
    }

    #[cfg(not(loom))]
    fn owners(&self) -> [u32; BOXES] {
        std::array::from_fn(|n| self.owners[n].load(Ordering::Relaxed))
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
