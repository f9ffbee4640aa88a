//! Signals that the launcher receives, and those that it sends to all that tasks have started.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Sends a signal to all descendants of this process.
pub(super) fn send_all(signal: i32) {
    for pid in descendants() {
        // SAFETY: a system call.
        unsafe { libc::kill(pid, signal) };
    }
}

/// All processes that descend from this one.
fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some(parent) =
            std::fs::read_to_string(entry.path().join("stat")).ok().as_deref().and_then(parent_of)
        else {
            continue;
        };
        children.entry(parent).or_default().push(pid);
    }
    let mut all = children.remove(&(std::process::id() as i32)).unwrap_or_default();
    let mut at = 0;
    while at < all.len() {
        all.extend(children.remove(&all[at]).unwrap_or_default());
        at += 1;
    }
    all
}

/// The parent of a process, from its `stat` file. Its name, in parentheses, may contain anything.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Where the signal handler writes to.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);
const FORWARDED: [i32; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information; writing to a pipe and errno are safe in a handler.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let bytes = [signal as u8, u8::from((*info).si_code == libc::SI_KERNEL)];
        libc::write(SIGNAL_PIPE.load(Ordering::Relaxed), bytes.as_ptr().cast(), 2);
        *errno = before;
    }
}

/// The signals that the launcher receives, while it launches.
pub(super) struct Signals {
    pub(super) pipe: std::fs::File,
    _writer: OwnedFd,
    before: Vec<(i32, libc::sigaction)>,
}

impl Signals {
    pub(super) fn catch() -> io::Result<Self> {
        let mut ends = [-1; 2];
        // SAFETY: a system call with a place for two files.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let [pipe, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        SIGNAL_PIPE.store(writer.as_raw_fd(), Ordering::Relaxed);
        // What tasks start and leave becomes this process's child.
        // SAFETY: a system call.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let mut signals = Signals { pipe: pipe.into(), _writer: writer, before: Vec::new() };
        for signal in FORWARDED.into_iter().chain([libc::SIGCHLD]) {
            // SAFETY: a value valid with all bytes zero, and system calls with places for such values.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut before);
                // As `nohup` has it: ignored, by the tasks too.
                if before.sa_sigaction == libc::SIG_IGN && signal != libc::SIGCHLD {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NOCLDSTOP;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                signals.before.push((signal, before));
            }
        }
        Ok(signals)
    }

    /// The signals to send on that have come since the last call, and whether the kernel sent them.
    pub(super) fn take(&self) -> Vec<(i32, bool)> {
        let mut bytes = [0; 512];
        let mut taken = Vec::new();
        while let Ok(count @ 1..) = (&self.pipe).read(&mut bytes) {
            taken.extend(bytes[..count].chunks(2).map(|pair| (i32::from(pair[0]), pair[1] == 1)));
        }
        taken.retain(|(signal, _)| FORWARDED.contains(signal));
        taken
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: a system call with what an earlier one returned.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        // SAFETY: a system call.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0) };
        SIGNAL_PIPE.store(-1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("12 (a) S 7) (b) R 34 5 6"), Some(34));
        assert_eq!(parent_of("12"), None);
        let here = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(parent_of(&here), Some(std::os::unix::process::parent_id() as i32));
    }
}
