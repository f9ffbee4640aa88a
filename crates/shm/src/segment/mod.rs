//! The shared memory of a job: one segment, without a name in any file system, which processes inherit as an
//! open file. When the last of them ends, however it ends, the kernel frees it; no file can be left over.
//!
//! ```text
//! header | task 0: its record, QUEUES inboxes, its flags | task 1 | ... | blocks with names | tasks that were added
//! ```
//!
//! The segment is sparse: a queue that nobody writes to takes no memory. A launcher can add tasks to a job
//! that runs, up to [`TASKS_MAX`] in all: the file grows, and a process maps an added task when it first
//! looks at it. A job to which none are added is as it would be if none could be.
#![allow(unsafe_code)]

mod added;
mod copying;
mod sending;

use crate::assist::SharedCopy;
use crate::blocks::{BlockError, Blocks};
use crate::doorbell::Doorbell;
use crate::fastbox::Inbox;
use crate::flags::Flags;
use crate::queue::Queue;
use crate::sync::{AtomicU32, Ordering};
use sending::Claim;
pub use sending::Sender;
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
const VERSION: u32 = 10;
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
    /// The number that the first task gave in [`Segment::common`]; 0 if none has.
    common: AtomicU32,
    /// 1 once tasks are to report what they wait for. The launcher alone writes it.
    wants_reports: AtomicU32,
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

const FLAGS_AT: usize = size_of::<Task>() + QUEUES * size_of::<Inbox>();
const TASK_B: usize = (FLAGS_AT + size_of::<Flags>()).next_multiple_of(4096);

const _: () = assert!(size_of::<Task>().is_multiple_of(align_of::<Inbox>()));
const _: () = assert!(FLAGS_AT.is_multiple_of(align_of::<Flags>()));
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
                common: AtomicU32::new(0),
                wants_reports: AtomicU32::new(0),
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

    /// Whether tasks share cores since some were added.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.header().is_crowded.load(Ordering::Relaxed) != 0
    }

    /// Sets that, as the launcher alone does.
    pub fn set_crowded(&self, is_crowded: bool) {
        self.header().is_crowded.store(is_crowded.into(), Ordering::Relaxed);
    }

    /// Whether tasks are to report to the launcher what they wait for.
    #[inline]
    pub fn wants_reports(&self) -> bool {
        self.header().wants_reports.load(Ordering::Relaxed) != 0
    }

    /// Asks for these reports, as the launcher alone does.
    pub fn request_reports(&self) {
        self.header().wants_reports.store(1, Ordering::Release);
        self.ring_all();
    }

    /// Wakes all tasks that sleep.
    pub fn ring_all(&self) {
        (0..self.tasks_ever()).for_each(|task| self.task(task).doorbell.ring_all());
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

    /// What a library of the program has to set alike at all tasks, as a number that is not 0: the first that
    /// one of them has given.
    pub fn common(&self, own: u32) -> u32 {
        match self.header().common.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => own,
            Err(first) => first,
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

    /// What others write to a context of a task: a queue with its fastboxes.
    ///
    /// # Panics
    /// If there is no such task or queue.
    #[inline]
    pub fn inbox(&self, task: u32, queue: usize) -> &Inbox {
        self.task_and_inbox(task, queue).1
    }

    /// The flags of a task.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn flags(&self, task: u32) -> &Flags {
        // SAFETY: a task's memory has its flags there; they are aligned, valid for all bytes zero, and shared
        // as their type says.
        unsafe { &*self.memory_of(task).add(FLAGS_AT).cast::<Flags>() }
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
    fn all_tasks_of_a_job_fence_alike() {
        let segment = Segment::create(2).unwrap();
        assert!(segment.spares_fences(true) && segment.spares_fences(false));
        let segment = Segment::create(2).unwrap();
        assert!(!segment.spares_fences(false) && !segment.spares_fences(true));
    }

    #[test]
    fn the_first_number_is_that_of_all_tasks() {
        let segment = Segment::create(2).unwrap();
        assert_eq!([7, 8, 7].map(|own| segment.common(own)), [7; 3]);
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
