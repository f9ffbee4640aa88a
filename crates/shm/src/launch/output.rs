//! The output of tasks, line by line, and the open files that it needs.
#![allow(unsafe_code)]

use super::LaunchError;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// Longest labelled line, bytes; a longer one is broken.
const LINE: usize = 1 << 20;

/// One labelled output of a task.
pub(super) struct Stream {
    pub(super) task: u32,
    pub(super) pipe: OwnedFd,
    pub(super) is_error: bool,
    /// The line so far.
    pub(super) line: Vec<u8>,
}

impl Stream {
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: a system call that writes at most the buffer's length.
        let count = unsafe { libc::read(self.pipe.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Writes the lines that these bytes complete.
    pub(super) fn lines(&mut self, mut bytes: &[u8], to: &mut dyn Write) -> io::Result<()> {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            write_line(to, self.task, &self.line)?;
            self.line.clear();
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() >= LINE {
            write_line(to, self.task, &self.line)?;
            self.line.clear();
        }
        to.flush()
    }
}

pub(super) fn write_line(to: &mut dyn Write, task: u32, line: &[u8]) -> io::Result<()> {
    let mut whole = format!("{task}| ").into_bytes();
    whole.extend_from_slice(line);
    whole.push(b'\n');
    to.write_all(&whole)
}

/// More open files, for the pipes of many tasks.
pub(super) struct OpenFiles {
    /// The limit that tasks get, if the launcher's own is another.
    pub(super) inherited: Option<libc::rlimit>,
}

impl OpenFiles {
    /// Raises the limit once more; tasks get what they got before.
    pub(super) fn raise_to(&mut self, count: u64) -> Result<(), LaunchError> {
        let mut again = Self::raise(count)?;
        let raised = again.inherited.take();
        self.inherited = self.inherited.or(raised);
        Ok(())
    }

    pub(super) fn raise(count: u64) -> Result<Self, LaunchError> {
        let error = || {
            LaunchError::System("open so many files; without -l none are needed", io::Error::last_os_error())
        };
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a system call with a place for the limit.
        if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0 {
            return Err(error());
        }
        if limit.rlim_cur >= count {
            return Ok(OpenFiles { inherited: None });
        }
        let raised = libc::rlimit { rlim_cur: count, rlim_max: limit.rlim_max.max(count) };
        // SAFETY: a system call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } < 0 {
            return Err(error());
        }
        Ok(OpenFiles { inherited: Some(limit) })
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        if let Some(limit) = self.inherited {
            // SAFETY: a system call.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn lines_are_labelled_whole() {
        let pipe = std::fs::File::open("/dev/null").unwrap().into();
        let mut stream = Stream { task: 3, pipe, is_error: false, line: Vec::new() };
        let mut out = Vec::new();
        for part in ["a", "b\n\nc", "d\n", "e"] {
            stream.lines(part.as_bytes(), &mut out).unwrap();
        }
        assert_eq!((out.as_slice(), stream.line.as_slice()), (&b"3| ab\n3| \n3| cd\n"[..], &b"e"[..]));
    }
}
