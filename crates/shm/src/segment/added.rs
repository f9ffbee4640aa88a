//! Tasks that are added to a job that runs: the file grows, and a process maps an added task when it first
//! looks at it.

use super::{AttachError, Segment, TASK_B, TASKS_MAX, Task, length, map};
use crate::sync::Ordering;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicPtr;

impl Segment {
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

    /// Where an added task is in the file.
    pub(super) fn start_of_added(&self, task: u32) -> usize {
        length(self.tasks) + (task - self.tasks) as usize * TASK_B
    }

    #[cold]
    pub(super) fn memory_of_added(&self, task: u32) -> *mut u8 {
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
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::queue::Reader;
    use crate::segment::State;

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
}
