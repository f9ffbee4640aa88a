//! What the program has made and not freed: told at `MPI_Finalize` if `NETLOOM_CHECK` is 1.

use crate::entry::tell;
use crate::library::{Library, USER_COMM};
use crate::requests::Request;

impl Library {
    /// Tells of requests, communicators, windows and files that are left.
    pub fn tell_unfreed(&mut self) {
        if std::env::var("NETLOOM_CHECK").as_deref() != Ok("1") {
            return;
        }
        let list = self.unfreed();
        if !list.is_empty() {
            tell(&format!("{}: MPI_Finalize: not freed: {}", self.name_of_own(), list.join(", ")));
        }
    }

    fn unfreed(&self) -> Vec<String> {
        let mut list = vec![];
        let mut add = |count: usize, what: &str| match count {
            0 => {}
            1 => list.push(format!("1 {what}")),
            count => list.push(format!("{count} {what}s")),
        };
        // Those that the program freed are the library's.
        let is_left = |at: usize| self.freed_requests.contains(&at);
        // The first stands for sends that ended within their call.
        let requests = || {
            let others = (0..).zip(&self.requests).skip(1);
            others.filter(|&(at, _)| !is_left(at)).filter_map(|of| of.1.as_ref())
        };
        let persistent = requests().filter(|of| matches!(of, Request::Persistent(..))).count();
        let ended_sends = usize::try_from(self.ended_sends + crate::handoff::handles()).unwrap_or(0);
        add(requests().count() - persistent + ended_sends, "request");
        add(persistent, "persistent request");
        add(self.windows.count(), "window");
        add(self.files.count(), "file");
        const PREDEFINED: usize = 2;
        for (at, comm) in self.comms.iter().enumerate().skip(PREDEFINED) {
            if let Some(comm) = comm.as_ref().filter(|comm| !comm.is_freed) {
                let name = comm.name.as_ref().map_or(String::new(), |name| format!(" \"{name}\""));
                list.push(format!("communicator {:#x}{name} of {} ranks", USER_COMM | at, comm.group.size));
            }
        }
        list
    }
}
