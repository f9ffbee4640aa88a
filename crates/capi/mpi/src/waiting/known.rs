//! The communicators, windows and files that reports of programs that wait for ever name.

use crate::library::{CONTEXTS, Library};
use crate::pami::Listener;
use netloom_mpi::group::{Group, Processes};
use netloom_mpi::waits::{Communicator, Ranges, ranges};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What has a context.
#[derive(Debug)]
enum What {
    Predefined(&'static str),
    Communicator,
    Window,
    File(String),
}

#[derive(Debug)]
struct Known {
    what: What,
    /// The name that the program gave it.
    name: Option<String>,
    /// The call that made it.
    made_by: &'static str,
    processes: Ranges,
    remote: Option<Ranges>,
}

/// By context.
fn known() -> MutexGuard<'static, BTreeMap<u32, Known>> {
    static KNOWN: Mutex<BTreeMap<u32, Known>> = Mutex::new(BTreeMap::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(ranges: &[(u32, u32)]) -> u32 {
    ranges.iter().map(|of| of.1).sum()
}

impl Known {
    fn in_words(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let size = count(&self.processes);
        let ranks = |size| format!("{size} rank{}", if size == 1 { "" } else { "s" });
        let made = if self.name.is_some() { String::new() } else { format!(" made by {}", self.made_by) };
        match (&self.what, &self.remote) {
            (What::Predefined(predefined), _) => format!("{predefined}{name}"),
            (What::File(path), _) => format!("file {path}"),
            (What::Window, _) => format!("window{name} of {}{made}", ranks(size)),
            (What::Communicator, None) => format!("communicator{name} of {}{made}", ranks(size)),
            (What::Communicator, Some(remote)) => {
                format!("intercommunicator{name} of {size} and {}{made}", ranks(count(remote)))
            }
        }
    }
}

/// As reports have them.
pub fn communicators(listener: &Listener) -> Vec<Communicator> {
    let of = |(&context, known): (&u32, &Known)| {
        let (begun, recent) = listener.begun(context);
        Communicator {
            context,
            name: known.in_words(),
            processes: known.processes.clone(),
            remote: known.remote.clone(),
            begun,
            recent,
        }
    };
    known().iter().map(of).collect()
}

/// The library ends, or begins: nothing is there.
pub fn clear() {
    known().clear();
}

impl Library {
    fn note(&self, group: &Group, what: What) {
        // Another one may have had the context.
        self.point_to_point.forget_collectives(group.context);
        let (made_by, processes) = (super::current(), ranges(Processes::from(group).iter()));
        known().insert(group.context, Known { what, name: None, made_by, processes, remote: None });
    }

    /// The predefined communicators.
    pub fn note_predefined(&mut self) {
        clear();
        for (name, comm) in ["MPI_COMM_WORLD", "MPI_COMM_SELF"].into_iter().zip([0, 1]) {
            let group = self.of(crate::library::CommId(comm)).group.clone();
            debug_assert_eq!(group.context, comm as u32 * CONTEXTS);
            self.note(&group, What::Predefined(name));
        }
    }

    /// A communicator has its context.
    pub fn note_communicator(&self, group: &Group) {
        self.note(group, What::Communicator);
    }

    /// A window is made.
    pub fn note_window(&self, group: &Group) {
        self.note(group, What::Window);
    }

    /// A file is opened.
    pub fn note_file(&self, group: &Group, path: &std::path::Path) {
        self.note(group, What::File(path.display().to_string()));
    }

    /// The program has named what has this context.
    pub fn note_name(&self, context: u32, name: &str) {
        if let Some(known) = known().get_mut(&context) {
            known.name = Some(name.into());
        }
    }

    /// Another call than the present one made what has this context.
    pub fn note_maker(&self, context: u32, call: &'static str) {
        if let Some(known) = known().get_mut(&context) {
            known.made_by = call;
        }
    }

    /// A communicator has another group.
    pub fn note_remote(&self, context: u32, remote: Option<&Processes>) {
        if let Some(known) = known().get_mut(&context) {
            known.remote = remote.map(|remote| ranges(remote.iter()));
        }
    }

    /// What had a context is freed.
    pub fn note_freed(&self, context: u32) {
        if known().remove(&context).is_some() {
            self.point_to_point.forget_collectives(context);
        }
    }
}
