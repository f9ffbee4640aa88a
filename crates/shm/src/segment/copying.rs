//! Copies from one task's memory to another's, by two of them together where the other has nothing else to
//! do.

use super::{Segment, State};
use crate::assist::{Shared, Span};
use crate::memory::{self, Direction};
use crate::sync::Ordering;
use std::io;

impl Segment {
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
}
