//! The shared memory of a job: one segment, without a name in any file system, which processes inherit as an
//! open file. When the last of them ends, however it ends, the kernel frees it; no file can be left over.
//!
//! ```text
//! header | task 0: its record, QUEUES inboxes | task 1 | ... | blocks with names | tasks that were added
//! ```
//!
//! The segment is sparse: a queue that nobody writes to takes no memory. A launcher can add tasks to a job
//! that runs, up to [`TASKS_MAX`] in all: the file grows, and a process maps an added task when it first
//! looks at it. A job to which none are added is as it would be if none could be.
#![allow(unsafe_code)]

use crate::assist::{Shared, SharedCopy, Span};
use crate::blocks::{BlockError, Blocks};
use crate::doorbell::Doorbell;
use crate::fastbox::{Fastboxes, Inbox};
use crate::memory::{self, Direction};
use crate::queue::{Full, Queue};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;

/// Messages in a queue.
pub const SLOTS: usize = if cfg!(all(loom, test)) { 2 } else { 256 };
/// Queues per task.
pub const QUEUES: usize = 128;
/// Most tasks of a job.
pub const TASKS_MAX: u32 = 4096;

/// The environment variables by which a launcher tells a process its place in the job.
pub const ENVIRONMENT: [&str; 2] = ["NETLOOM_SEGMENT", "NETLOOM_TASK"];

/// The name that the kernel shows for the memory.
const NAME: &CStr = c"netloom";
const MAGIC: u32 = 0x4e6c_6d31;
/// Of the layout.
const VERSION: u32 = 6;
const HEADER_B: usize = 4096;

/// A queue of the segment: what all may write to a context.
pub type TaskQueue = Queue<SLOTS>;

#[repr(C)]
struct Header {
    magic: u32,
    version: u32,
    /// Tasks that the job began with.
    tasks: u32,
    /// The same with those that were added. The launcher alone writes it.
    tasks_ever: AtomicU32,
    /// 1 while more tasks run than there are cores, since some were added. The launcher alone writes it.
    is_crowded: AtomicU32,
    /// Whether messages go without fences: 0 if that is not decided, 1 if not, 2 if so.
    spares_fences: AtomicU32,
}

/// What all know of a task.
#[repr(C, align(128))]
pub struct Task {
    /// Its doorbell.
    pub doorbell: Doorbell,
    pid: AtomicU32,
    state: AtomicU32,
    /// 1 + the number of the task whose copy this one may take part in; 0 if there is none.
    request: AtomicU32,
    /// The copy that this task shares with another.
    copy: SharedCopy,
    /// What the owners of this task's queues are writing to other queues.
    claims: [Claim; QUEUES],
}

/// A message that the owner of a queue is about to write, or writes: 1 + the number of the queue that it goes
/// to, and from bit 20 on its number there; 0 if there is none. The owner alone writes it.
#[repr(C, align(64))]
struct Claim(AtomicU64);

/// The number of a queue among those of all tasks.
#[inline(always)]
fn number_of(task: u32, queue: usize) -> u32 {
    task * QUEUES as u32 + queue as u32
}

impl Claim {
    fn value(to: u32, queue: usize, n: u64) -> u64 {
        n << Self::NUMBER_SHIFT | (u64::from(number_of(to, queue)) + 1)
    }

    const NUMBER_SHIFT: u32 = 20;
}
const _: () = assert!(TASKS_MAX as usize * QUEUES < 1 << Claim::NUMBER_SHIFT);

/// The life of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// It has not attached to the segment yet.
    Starting,
    /// It takes part.
    Running,
    /// It has left in order.
    Finished,
    /// It failed: the job has failed.
    Dead,
    /// It ended with status 0 before it left. What it has sent is valid; whoever waits for more waits in
    /// vain.
    Ended,
}

impl State {
    /// Whether the task's process has ended before it left the job.
    pub fn is_over(self) -> bool {
        matches!(self, State::Dead | State::Ended)
    }
}

impl Task {
    /// Its process, once it runs.
    pub fn pid(&self) -> i32 {
        self.pid.load(Ordering::Acquire) as i32
    }

    /// Its state.
    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Starting,
            1 => State::Running,
            2 => State::Finished,
            3 => State::Dead,
            _ => State::Ended,
        }
    }

    /// Changes its state.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u32, Ordering::Release);
    }
}

/// Error: a process cannot take part in a job.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The operating system refuses the memory.
    #[error("cannot set up {bytes} B of shared memory")]
    Memory {
        /// Its length.
        bytes: usize,
        /// Why.
        source: io::Error,
    },
    /// An environment variable is not what a launcher sets.
    #[error("{name}={value} is not what `netloom exec` sets; unset it to run as a job of one task")]
    Environment {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The segment is of another version.
    #[error("`netloom exec` and this library are of different versions of Netloom")]
    Version,
}

/// What an inherited file may be: the descriptor of this number, and that of the launcher, which is there if
/// the program has closed its own before it used the library, as daemons do.
pub(crate) fn inherited(fd: RawFd) -> impl Iterator<Item = File> {
    let own = || {
        // SAFETY: fails if it is not open.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
        // SAFETY: just opened, and nobody else's.
        (copy >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(copy) }))
    };
    let of_launcher = move || {
        let path = format!("/proc/{}/fd/{fd}", std::os::unix::process::parent_id());
        File::options().read(true).write(true).open(path).ok()
    };
    own().into_iter().chain(std::iter::once_with(of_launcher).flatten())
}

/// Whether a file is memory of this name: what else has got the number of a closed descriptor must not be
/// taken for it.
pub(crate) fn is_memory(file: &File, name: &CStr) -> bool {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    let path = path.as_os_str().as_encoded_bytes().strip_prefix(b"/memfd:");
    path.and_then(|path| path.strip_prefix(name.to_bytes()))
        .is_some_and(|rest| b" (deleted)".starts_with(rest))
}

/// A job's shared memory.
pub struct Segment {
    base: *mut u8,
    bytes: usize,
    tasks: u32,
    file: OwnedFd,
    /// Where added tasks are mapped; NULL where they are not.
    added: OnceLock<Box<[AtomicPtr<u8>]>>,
}

// SAFETY: what it points to is shared between processes anyway, and accessed by atomic operations and queues.
unsafe impl Send for Segment {}
// SAFETY: the same.
unsafe impl Sync for Segment {}

const TASK_B: usize = (size_of::<Task>() + QUEUES * size_of::<Inbox>()).next_multiple_of(4096);

const _: () = assert!(size_of::<Task>().is_multiple_of(align_of::<Inbox>()));
const _: () = assert!(HEADER_B.is_multiple_of(align_of::<Task>()));

/// Maps a part of a segment's file.
fn map(file: &OwnedFd, start: usize, bytes: usize) -> io::Result<*mut u8> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
    let (null, start) = (std::ptr::null_mut(), start as libc::off_t);
    // SAFETY: a new mapping, which overlaps nothing.
    let base = unsafe { libc::mmap(null, bytes, protection, flags, file.as_raw_fd(), start) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
}

fn length(tasks: u32) -> usize {
    HEADER_B + tasks as usize * TASK_B + size_of::<Blocks>()
}

impl Segment {
    /// A segment for a new job.
    ///
    /// # Errors
    /// If there is no memory for it.
    ///
    /// # Panics
    /// If there are no tasks, or more than [`TASKS_MAX`].
    pub fn create(tasks: u32) -> Result<Self, AttachError> {
        assert!((1..=TASKS_MAX).contains(&tasks), "{tasks} tasks");
        let bytes = length(tasks);
        let memory = |source| AttachError::Memory { bytes, source };
        // SAFETY: a system call with a constant string.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(memory(io::Error::last_os_error()));
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        File::from(file.try_clone().map_err(memory)?).set_len(bytes as u64).map_err(memory)?;
        let segment = Self::map(file, bytes, tasks)?;
        // SAFETY: the mapping is at least a header long, and no other process has it yet.
        unsafe {
            segment.base.cast::<Header>().write(Header {
                magic: MAGIC,
                version: VERSION,
                tasks,
                tasks_ever: AtomicU32::new(tasks),
                is_crowded: AtomicU32::new(0),
                spares_fences: AtomicU32::new(0),
            });
        }
        Ok(segment)
    }

    /// The segment and task number of this process: of its job, or of a job of this process alone if no
    /// launcher started it.
    ///
    /// # Errors
    /// If the environment or the segment is invalid, or there is no memory.
    pub fn attach() -> Result<(Self, u32), AttachError> {
        let [segment, task] = ENVIRONMENT.map(std::env::var);
        let (segment, own) = match (segment, task) {
            (Err(_), Err(_)) => (Self::create(1)?, 0),
            (fd, task) => {
                let number = |at: usize, text: Result<String, _>| {
                    let value = text.unwrap_or_default();
                    let parsed = value.parse::<u32>().ok().filter(|&n| n <= i32::MAX as u32);
                    parsed.ok_or(AttachError::Environment { name: ENVIRONMENT[at], value })
                };
                let (fd, task) = (number(0, fd)?, number(1, task)?);
                let segment = Self::open(fd as RawFd)?;
                if !segment.has(task) {
                    return Err(AttachError::Environment { name: ENVIRONMENT[1], value: task.to_string() });
                }
                (segment, task)
            }
        };
        let record = segment.task(own);
        record.pid.store(std::process::id(), Ordering::Release);
        record.set_state(State::Running);
        Ok((segment, own))
    }

    /// Maps the segment of an inherited file.
    fn open(fd: RawFd) -> Result<Self, AttachError> {
        let mut error = AttachError::Environment { name: ENVIRONMENT[0], value: fd.to_string() };
        for file in inherited(fd) {
            match Self::of_file(file) {
                Ok(Some(segment)) => return Ok(segment),
                Ok(None) => {}
                Err(other) => error = other,
            }
        }
        Err(error)
    }

    /// The segment that a file holds, if it holds one.
    fn of_file(file: File) -> Result<Option<Self>, AttachError> {
        let bytes = file.metadata().map_or(0, |data| data.len()) as usize;
        if bytes < HEADER_B || !is_memory(&file, NAME) {
            return Ok(None);
        }
        // The launcher wrote it before this process started.
        let mut header = [0; 12];
        if file.read_exact_at(&mut header, 0).is_err() {
            return Ok(None);
        }
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let [magic, version, tasks] = [0, 4, 8].map(word);
        if magic != MAGIC {
            return Ok(None);
        }
        if version != VERSION || tasks > TASKS_MAX || bytes < length(tasks) {
            return Err(AttachError::Version);
        }
        Ok(Some(Self::map(file.into(), length(tasks), tasks)?))
    }

    fn map(file: OwnedFd, bytes: usize, tasks: u32) -> Result<Self, AttachError> {
        let base = map(&file, 0, bytes).map_err(|source| AttachError::Memory { bytes, source })?;
        Ok(Segment { base, bytes, tasks, file, added: OnceLock::new() })
    }

    fn header(&self) -> &Header {
        self.at(0)
    }

    /// Number of tasks that the job began with.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Number of tasks that the job has had, with those that were added and those that have ended.
    pub fn tasks_ever(&self) -> u32 {
        self.header().tasks_ever.load(Ordering::Acquire)
    }

    /// Whether there is such a task, or was.
    #[inline]
    pub fn has(&self, task: u32) -> bool {
        task < self.tasks || task < self.tasks_ever()
    }

    /// Adds tasks, as the launcher of the job alone does. Returns the number of the first.
    ///
    /// # Errors
    /// If there would be more than [`TASKS_MAX`], or there is no memory.
    pub fn add_tasks(&self, count: u32) -> Result<u32, AttachError> {
        let first = self.tasks_ever();
        let bytes = self.start_of_added(first + count);
        let memory = |source| AttachError::Memory { bytes, source };
        if count > TASKS_MAX - first {
            return Err(memory(io::Error::from_raw_os_error(libc::ENOSPC)));
        }
        File::from(self.file.try_clone().map_err(memory)?).set_len(bytes as u64).map_err(memory)?;
        self.header().tasks_ever.store(first + count, Ordering::Release);
        Ok(first)
    }

    /// Gives the memory of an added task's queues back that has ended: its record stays.
    pub fn free_queues(&self, task: u32) {
        if task < self.tasks {
            return;
        }
        const RECORD_B: usize = size_of::<Task>().next_multiple_of(4096);
        let start = self.start_of_added(task) + RECORD_B;
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a system call. Who still writes there finds queues that are empty or full.
        unsafe {
            let (start, bytes) = (start as libc::off_t, (TASK_B - RECORD_B) as libc::off_t);
            libc::fallocate(self.file.as_raw_fd(), mode, start, bytes);
        }
    }

    /// Whether tasks share cores since some were added.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.header().is_crowded.load(Ordering::Relaxed) != 0
    }

    /// Sets that, as the launcher alone does.
    pub fn set_crowded(&self, is_crowded: bool) {
        self.header().is_crowded.store(is_crowded.into(), Ordering::Relaxed);
    }

    /// Whether messages of this job go without fences ([`crate::doorbell::spare_fences`]): what the first
    /// task that asks would have, since all must do the same.
    pub fn spares_fences(&self, would: bool) -> bool {
        let (own, place) = (1 + u32::from(would), &self.header().spares_fences);
        match place.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => would,
            Err(decided) => decided == 2,
        }
    }

    /// The file to be inherited.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    #[inline]
    fn at<T>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: in the mapping, aligned, and valid for all bytes zero; shared as its type says.
        unsafe { &*self.base.add(offset).cast::<T>() }
    }

    /// The memory of a task.
    #[inline]
    fn memory_of(&self, task: u32) -> *mut u8 {
        match task < self.tasks {
            // SAFETY: the mapping holds all tasks that the job began with.
            true => unsafe { self.base.add(HEADER_B + task as usize * TASK_B) },
            false => self.memory_of_added(task),
        }
    }

    /// Where an added task is in the file.
    fn start_of_added(&self, task: u32) -> usize {
        length(self.tasks) + (task - self.tasks) as usize * TASK_B
    }

    #[cold]
    fn memory_of_added(&self, task: u32) -> *mut u8 {
        let all = self.added.get_or_init(|| (self.tasks..TASKS_MAX).map(|_| AtomicPtr::default()).collect());
        let place = all.get((task - self.tasks) as usize);
        let place = place.unwrap_or_else(|| panic!("task {task} of {TASKS_MAX}"));
        let known = place.load(std::sync::atomic::Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        let count = self.tasks_ever();
        assert!(task < count, "task {task} of {count}");
        let base = map(&self.file, self.start_of_added(task), TASK_B);
        let base = base.unwrap_or_else(|source| panic!("cannot map the memory of task {task}: {source}"));
        let order = std::sync::atomic::Ordering::AcqRel;
        match place.compare_exchange(std::ptr::null_mut(), base, order, std::sync::atomic::Ordering::Acquire)
        {
            Ok(_) => base,
            Err(other) => {
                // SAFETY: just mapped, and nobody has it.
                unsafe { libc::munmap(base.cast(), TASK_B) };
                other
            }
        }
    }

    /// What is known of a task.
    ///
    /// # Panics
    /// If there is no such task.
    #[inline]
    pub fn task(&self, task: u32) -> &Task {
        // SAFETY: a task's memory begins with its record, is aligned, and valid for all bytes zero; shared as
        // its type says.
        unsafe { &*self.memory_of(task).cast::<Task>() }
    }

    /// Sends for the owner of the queue `from` of the task `own`, this process.
    ///
    /// # Panics
    /// If there is no such task or queue.
    ///
    /// # Safety
    /// A queue's owner has one sender at a time.
    pub unsafe fn sender(&self, own: u32, from: usize) -> Sender<'_> {
        let claim = &self.task(own).claims[from].0;
        // SAFETY: no other owner has this number, and the owner no other value, as the caller promises.
        let boxes = unsafe { Fastboxes::new(number_of(own, from) + 1) };
        Sender { segment: self, claim, boxes }
    }

    /// Whether a task that has ended claimed the n-th message of a queue of `own`, and no other has.
    pub fn is_lost(&self, own: u32, queue: usize, n: u64) -> bool {
        let claim = Claim::value(own, queue, n);
        let has_claimed = |task: &u32| {
            let claims = &self.task(*task).claims;
            claims.iter().any(|other| other.0.load(Ordering::Acquire) == claim)
        };
        let (over, other): (Vec<u32>, Vec<u32>) =
            (0..self.tasks_ever()).partition(|&task| self.task(task).state().is_over());
        over.iter().any(has_claimed) && !other.iter().any(has_claimed)
    }

    /// Copies `bytes` between an address of the task `own`, this process, and one of the task `other`,
    /// together with that task if it has nothing else to do.
    ///
    /// # Errors
    /// As [`memory::copy`].
    ///
    /// # Panics
    /// If there is no such task.
    ///
    /// # Safety
    /// As [`memory::copy`].
    pub unsafe fn copy(
        &self,
        direction: Direction,
        [own, other]: [u32; 2],
        local: u64,
        remote: u64,
        bytes: usize,
    ) -> io::Result<()> {
        let with = self.task(other);
        let span = Span {
            is_read: direction == Direction::Read,
            requester: local,
            helper: remote,
            bytes: bytes as u64,
        };
        // SAFETY: the caller's promise, for a part of it.
        let copy = |offset: u64, bytes| unsafe {
            memory::copy(direction, with.pid(), local + offset, remote + offset, bytes)
        };
        let is_gone = || with.state() == State::Finished || with.state().is_over();
        match self.task(own).copy.share([own, other], &with.request, span, copy, is_gone)? {
            Shared::Done => Ok(()),
            Shared::Gone => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            Shared::Alone | Shared::Refused => copy(0, bytes),
        }
    }

    /// Takes part in a copy that another task wants of `own`, this process; returns whether there was one.
    #[inline]
    pub fn help(&self, own: u32) -> bool {
        let request = &self.task(own).request;
        let requester = request.load(Ordering::Relaxed);
        requester != 0 && self.help_task(own, requester - 1)
    }

    #[cold]
    fn help_task(&self, own: u32, requester: u32) -> bool {
        if !self.has(requester) || self.task(requester).state().is_over() {
            self.task(own).request.store(0, Ordering::Relaxed);
            return false;
        }
        let task = self.task(requester);
        task.copy.help(own, |span, offset, bytes| {
            let direction = if span.is_read { Direction::Write } else { Direction::Read };
            let [local, remote] = [span.helper, span.requester].map(|address| address + offset);
            // SAFETY: the protocols of the requester ask only for memory that the program of this process has
            // given for it; the requester waits for the end of the copy.
            unsafe { memory::copy(direction, task.pid(), local, remote, bytes) }
        })
    }

    /// What others write to a context of a task: a queue with its fastboxes.
    ///
    /// # Panics
    /// If there is no such task or queue.
    #[inline]
    pub fn inbox(&self, task: u32, queue: usize) -> &Inbox {
        self.task_and_inbox(task, queue).1
    }

    #[inline(always)]
    fn task_and_inbox(&self, task: u32, queue: usize) -> (&Task, &Inbox) {
        let task = self.memory_of(task);
        assert!(queue < QUEUES, "queue {queue} of {QUEUES}");
        // SAFETY: a task's memory has its record and all its inboxes; both are aligned (checked where the
        // layout is), valid for all bytes zero, and shared as their types say.
        unsafe {
            let inboxes = task.add(size_of::<Task>()).cast::<Inbox>();
            (&*task.cast::<Task>(), &*inboxes.add(queue))
        }
    }
}

/// What the owner of a queue needs to send messages, found once for all of them.
pub struct Sender<'a> {
    segment: &'a Segment,
    claim: &'a AtomicU64,
    boxes: Fastboxes<'a>,
}

impl Sender<'_> {
    /// Writes a message to a context of a task, and wakes that task if it sleeps: to the owner's fastbox
    /// there if it has one, or to the queue. See [`Queue::push`]; the word is not
    /// [`ANNOUNCEMENT`](crate::fastbox::ANNOUNCEMENT).
    ///
    /// # Errors
    /// If there is no space.
    ///
    /// # Panics
    /// If there is no such task or queue, or the parts are too long.
    #[inline(always)]
    pub fn send(&mut self, to: u32, queue: usize, word: u64, parts: [&[u8]; 2]) -> Result<(), Full> {
        let (task, inbox) = self.segment.task_and_inbox(to, queue);
        let (claim, claimed) = (self.claim, Claim::value(to, queue, 0));
        let push = |word: u64, parts: [&[u8]; 2]| {
            inbox.queue().push_recorded(word, parts, |n| {
                let value = n.map_or(0, |n| n << Claim::NUMBER_SHIFT | claimed);
                claim.store(value, Ordering::Release);
            })
        };
        self.boxes.push((number_of(to, queue), inbox), word, parts, push)?;
        task.doorbell.ring(queue);
        Ok(())
    }
}

/// Blocks of memory that tasks share by name.
impl Segment {
    pub(crate) fn blocks(&self) -> &Blocks {
        self.at(HEADER_B + self.tasks as usize * TASK_B)
    }

    /// The block of this scope and name, for `own`, this process; a new one, all zero, if there is none.
    ///
    /// # Errors
    /// If there is no space, or the block has another length.
    pub fn share_block(
        &self,
        own: u32,
        scope: u32,
        name: &[u8],
        bytes: usize,
        alignment: usize,
    ) -> Result<*mut u8, BlockError> {
        let is_over = |task: u32| self.has(task) && self.task(task).state().is_over();
        self.blocks().share(own, scope, name, bytes, alignment, is_over)
    }

    /// `own`, this process, does not use the block at this address any more. Returns whether there is such a
    /// block.
    pub fn leave_block(&self, own: u32, address: *const u8) -> bool {
        self.blocks().leave(own, address, |task| self.has(task) && self.task(task).state().is_over())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mappings are this value's own, and what was borrowed from them is no more.
        unsafe {
            libc::munmap(self.base.cast(), self.bytes);
            for place in self.added.get().into_iter().flatten() {
                let base = place.load(std::sync::atomic::Ordering::Relaxed);
                if !base.is_null() {
                    libc::munmap(base.cast(), TASK_B);
                }
            }
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::queue::Reader;

    #[test]
    fn tasks_of_a_segment_have_queues_of_their_own() {
        let first = Segment::create(3).unwrap();
        let second = Segment::open(first.file().as_raw_fd()).unwrap();
        assert_eq!(second.tasks(), 3);
        for task in 0..3 {
            for queue in [0, 1, QUEUES - 1] {
                first
                    .inbox(task, queue)
                    .queue()
                    .push(u64::from(task) << 8 | queue as u64, [b"a", b"b"])
                    .unwrap();
            }
        }
        for task in 0..3 {
            for queue in [0, 1, QUEUES - 1] {
                // SAFETY: the only reader.
                let reader = unsafe { Reader::new(second.inbox(task, queue).queue()) };
                let message = reader.next().unwrap();
                assert_eq!(
                    (message.word, message.payload),
                    (u64::from(task) << 8 | queue as u64, &b"ab"[..])
                );
            }
        }
        first.task(2).set_state(State::Dead);
        assert_eq!([0, 2].map(|task| second.task(task).state()), [State::Starting, State::Dead]);
    }

    #[test]
    fn tasks_that_are_added_are_as_others() {
        let first = Segment::create(2).unwrap();
        let early = Segment::open(first.file().as_raw_fd()).unwrap();
        assert_eq!((first.add_tasks(3).unwrap(), first.add_tasks(1).unwrap()), (2, 5));
        let late = Segment::open(first.file().as_raw_fd()).unwrap();
        for segment in [&first, &early, &late] {
            assert_eq!((segment.tasks(), segment.tasks_ever()), (2, 6));
            assert_eq!([1, 5, 6].map(|task| segment.has(task)), [true, true, false]);
        }
        for task in 0..6 {
            // SAFETY: the only sender.
            unsafe { early.sender(task, 3) }.send(5 - task, 1, task.into(), [b"x", &[]]).unwrap();
        }
        for task in 0..6 {
            // SAFETY: the only reader.
            let reader = unsafe { Reader::new(late.inbox(task, 1).queue()) };
            assert_eq!(reader.next().unwrap().word, u64::from(5 - task));
        }
        assert!(first.add_tasks(TASKS_MAX - 6).is_ok() && first.add_tasks(1).is_err());
    }

    #[test]
    fn the_queues_of_an_added_task_that_has_ended_take_no_memory() {
        let segment = Segment::create(1).unwrap();
        segment.add_tasks(1).unwrap();
        let blocks = || File::from(segment.file().try_clone().unwrap()).metadata().unwrap();
        let blocks = || std::os::unix::fs::MetadataExt::blocks(&blocks());
        segment.task(1).set_state(State::Finished);
        let before = blocks();
        while segment.inbox(1, 0).queue().push(1, [&[7; 64], &[]]).is_ok() {}
        assert!(blocks() > before + 100, "{before} {}", blocks());
        segment.free_queues(1);
        assert!(blocks() <= before + 8, "{before} {}", blocks());
        assert_eq!(segment.task(1).state(), State::Finished);
        let _ = segment.inbox(1, 0).queue().push(1, [&[7; 64], &[]]);
    }

    #[test]
    fn all_tasks_of_a_job_fence_alike() {
        let segment = Segment::create(2).unwrap();
        assert!(segment.spares_fences(true) && segment.spares_fences(false));
        let segment = Segment::create(2).unwrap();
        assert!(!segment.spares_fences(false) && !segment.spares_fences(true));
    }

    #[test]
    fn claims_of_tasks_that_have_ended_are_lost_unless_another_has_claimed_the_same() {
        let segment = Segment::create(3).unwrap();
        // SAFETY: the only sender.
        unsafe { segment.sender(1, 5) }.send(0, 2, 7, [&[], &[]]).unwrap();
        assert!(segment.task(1).claims.iter().all(|claim| claim.0.load(Ordering::Relaxed) == 0));
        let claims = [1, 2].map(|task| &segment.task(task).claims[5].0);
        claims[0].store(Claim::value(0, 2, 1), Ordering::Relaxed);
        assert!(!segment.is_lost(0, 2, 1), "its writer lives");
        for state in [State::Dead, State::Ended] {
            segment.task(1).set_state(state);
            assert!(segment.is_lost(0, 2, 1) && !segment.is_lost(0, 2, 2) && !segment.is_lost(0, 1, 1));
        }
        claims[1].store(Claim::value(0, 2, 1), Ordering::Relaxed);
        assert!(!segment.is_lost(0, 2, 1), "another may have claimed it");
    }

    #[test]
    fn a_file_that_is_no_segment_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(matches!(Segment::open(file.as_raw_fd()), Err(AttachError::Environment { .. })));
        file.set_len(8192).unwrap();
        assert!(matches!(Segment::open(file.as_raw_fd()), Err(AttachError::Environment { .. })));
        let other = Segment::create(2).unwrap();
        assert!(Segment::open(other.file().as_raw_fd()).is_ok());
        // SAFETY: the mapping is at least a header long, and nobody else has it.
        unsafe { (*other.base.cast::<Header>()).version += 1 };
        assert!(matches!(Segment::open(other.file().as_raw_fd()), Err(AttachError::Version)));
        assert!(matches!(Segment::open(9999), Err(AttachError::Environment { .. })));
    }
}
