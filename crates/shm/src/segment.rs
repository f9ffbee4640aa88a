//! The shared memory of a job: one segment, without a name in any file system, which processes inherit as an
//! open file. When the last of them ends, however it ends, the kernel frees it; no file can be left over.
//!
//! ```text
//! header | a record per task | QUEUES queues of task 0 | QUEUES queues of task 1 | ...
//! ```
//!
//! The segment is sparse: a queue that nobody writes to takes no memory.
#![allow(unsafe_code)]

use crate::assist::{Shared, SharedCopy, Span};
use crate::doorbell::Doorbell;
use crate::memory::{self, Direction};
use crate::queue::Queue;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Messages in a queue.
pub const SLOTS: usize = 256;
/// Queues per task.
pub const QUEUES: usize = 128;
/// Most tasks of a job.
pub const TASKS_MAX: u32 = 4096;

/// The environment variables by which a launcher tells a process its place in the job.
pub const ENVIRONMENT: [&str; 2] = ["NETLOOM_SEGMENT", "NETLOOM_TASK"];

const MAGIC: u32 = 0x4e6c_6d31;
/// Of the layout.
const VERSION: u32 = 2;
const HEADER_B: usize = 4096;

/// A queue of the segment.
pub type TaskQueue = Queue<SLOTS>;

#[repr(C)]
struct Header {
    magic: u32,
    version: u32,
    tasks: u32,
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
    /// It ended before it left; whoever waits for it waits in vain.
    Dead,
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
            _ => State::Dead,
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

/// A job's shared memory.
pub struct Segment {
    base: *mut u8,
    bytes: usize,
    tasks: u32,
    file: OwnedFd,
}

// SAFETY: what it points to is shared between processes anyway, and accessed by atomic operations and queues.
unsafe impl Send for Segment {}
// SAFETY: the same.
unsafe impl Sync for Segment {}

fn length(tasks: u32) -> usize {
    let task = size_of::<Task>() + QUEUES * size_of::<TaskQueue>();
    HEADER_B + tasks as usize * task.next_multiple_of(4096)
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
        let fd = unsafe { libc::memfd_create(c"netloom".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(memory(io::Error::last_os_error()));
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        File::from(file.try_clone().map_err(memory)?).set_len(bytes as u64).map_err(memory)?;
        let segment = Self::map(file, bytes, tasks)?;
        // SAFETY: the mapping is at least a header long, and no other process has it yet.
        unsafe { segment.base.cast::<Header>().write(Header { magic: MAGIC, version: VERSION, tasks }) };
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
                if task >= segment.tasks {
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
        let environment = || AttachError::Environment { name: ENVIRONMENT[0], value: fd.to_string() };
        // SAFETY: fails if it is not open.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            return Err(environment());
        }
        // SAFETY: just opened, and nobody else's.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(copy) });
        let bytes = file.metadata().map_or(0, |data| data.len()) as usize;
        if bytes < HEADER_B {
            return Err(environment());
        }
        let mut segment = Self::map(file.into(), bytes, 0)?;
        // SAFETY: the mapping is at least a header long; the launcher wrote it before this process started.
        let header = unsafe { segment.base.cast::<Header>().read() };
        if header.magic != MAGIC || header.version != VERSION || length(header.tasks) != bytes {
            return Err(AttachError::Version);
        }
        segment.tasks = header.tasks;
        Ok(segment)
    }

    fn map(file: OwnedFd, bytes: usize, tasks: u32) -> Result<Self, AttachError> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping, which overlaps nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(AttachError::Memory { bytes, source: io::Error::last_os_error() });
        }
        Ok(Segment { base: base.cast(), bytes, tasks, file })
    }

    /// Number of tasks of the job.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// The file to be inherited.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    fn at<T>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: in the mapping, aligned, and valid for all bytes zero; shared as its type says.
        unsafe { &*self.base.add(offset).cast::<T>() }
    }

    fn start_of(&self, task: u32) -> usize {
        assert!(task < self.tasks, "task {task} of {}", self.tasks);
        HEADER_B + task as usize * (length(1) - HEADER_B)
    }

    /// What is known of a task.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn task(&self, task: u32) -> &Task {
        self.at(self.start_of(task))
    }

    /// Copies `bytes` between an address of the task `own`, this process, and one of the task `other`, together with
    /// that task if it has nothing else to do.
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
        let is_gone = || matches!(with.state(), State::Finished | State::Dead);
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
        if requester >= self.tasks || self.task(requester).state() == State::Dead {
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

    /// A queue of a task.
    ///
    /// # Panics
    /// If there is no such task or queue.
    pub fn queue(&self, task: u32, queue: usize) -> &TaskQueue {
        assert!(queue < QUEUES, "queue {queue} of {QUEUES}");
        self.at(self.start_of(task) + size_of::<Task>() + queue * size_of::<TaskQueue>())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and what was borrowed from it is gone.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
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
                first.queue(task, queue).push(u64::from(task) << 8 | queue as u64, [b"a", b"b"]).unwrap();
            }
        }
        for task in 0..3 {
            for queue in [0, 1, QUEUES - 1] {
                // SAFETY: the only reader.
                let reader = unsafe { Reader::new(second.queue(task, queue)) };
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
    fn a_file_that_is_no_segment_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(matches!(Segment::open(file.as_raw_fd()), Err(AttachError::Environment { .. })));
        file.set_len(8192).unwrap();
        assert!(matches!(Segment::open(file.as_raw_fd()), Err(AttachError::Version)));
        assert!(matches!(Segment::open(9999), Err(AttachError::Environment { .. })));
    }
}
