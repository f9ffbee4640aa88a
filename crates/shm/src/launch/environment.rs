//! What tasks find: environment variables, and the cores that they run on.
#![allow(unsafe_code)]

use super::Job;
use crate::segment::ENVIRONMENT;
use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::process::Command;

/// The variable with the name of the launcher's socket.
pub(super) const LAUNCHER: &str = "NETLOOM_LAUNCHER";
/// The variable that tells a task which world it is of.
const WORLD: &str = "NETLOOM_WORLD";
/// The variable with the number of tasks that a job is meant to have at most.
const UNIVERSE: &str = "NETLOOM_UNIVERSE_SIZE";

/// The tasks that were started together, of which a task is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// The first.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// The number of the task's command among theirs.
    pub command: u32,
    /// The task that had them started.
    pub parent: u32,
}

impl World {
    /// That of this process, if a task of the job had it started.
    pub fn of_environment() -> Option<Self> {
        Self::parse(&std::env::var(WORLD).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u32>> = text.split(' ').map(|word| word.parse().ok()).collect();
        let &[first, count, command, parent] = numbers.as_deref()? else { return None };
        let last = first.checked_add(count.checked_sub(1)?)?;
        (parent < first && last < crate::segment::TASKS_MAX).then_some(World {
            first,
            count,
            command,
            parent,
        })
    }

    fn text(self) -> String {
        format!("{} {} {} {}", self.first, self.count, self.command, self.parent)
    }
}

/// The number of tasks that this process's job is meant to have at most, if its launcher can start some.
pub fn universe() -> Option<u32> {
    std::env::var(LAUNCHER).ok()?;
    std::env::var(UNIVERSE).ok()?.parse().ok()
}

/// How many tasks were started together, of which this process is one: 1 without a launcher. Known before the
/// process attaches to its job, and after it has left.
pub fn started_together() -> u32 {
    let told = std::env::var(ENVIRONMENT[0]).and_then(|_| std::env::var(TASK_COUNT[0]));
    told.ok().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// What the launcher of a job that can grow tells its tasks.
pub(super) struct Growth<'a> {
    /// The name of its socket.
    pub(super) launcher: &'a str,
    /// The number of tasks that the job is meant to have at most.
    pub(super) universe: u32,
}

/// Variables with a task's rank among those that were started with it.
const TASK_RANK: [&str; 7] = [
    "PMI_RANK",
    "PMI_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
];
/// Variables with the number of tasks.
const TASK_COUNT: [&str; 4] =
    ["PMI_SIZE", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"];
/// What the names of an outer launcher's variables begin with: with its addresses a library would connect to
/// that launcher.
const OUTER: [&str; 5] = ["PMI_", "PMIX_", "HYDI_", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_"];

/// Sets a task's environment variables.
pub(super) fn environment(
    command: &mut Command,
    job: &Job,
    task: u32,
    world: Option<World>,
    segment: RawFd,
    growth: Option<&Growth>,
) {
    for (name, _) in std::env::vars_os() {
        if OUTER.iter().any(|outer| name.as_encoded_bytes().starts_with(outer.as_bytes())) {
            command.env_remove(name);
        }
    }
    command.envs(job.environment.iter().map(|(name, value)| (name, value)));
    let (rank, count) = world.map_or((task, job.tasks), |world| (task - world.first, world.count));
    command.envs(TASK_RANK.map(|name| (name, rank.to_string())));
    command.envs(TASK_COUNT.map(|name| (name, count.to_string())));
    command.envs([(ENVIRONMENT[0], segment.to_string()), (ENVIRONMENT[1], task.to_string())]);
    match world {
        Some(world) => command.env(WORLD, world.text()),
        None => command.env_remove(WORLD),
    };
    match growth {
        Some(Growth { launcher, universe }) => {
            command.env(LAUNCHER, launcher).env(UNIVERSE, universe.to_string());
        }
        None => {
            command.env_remove(LAUNCHER).env_remove(UNIVERSE);
        }
    }
    let universe = growth.map_or(count, |growth| growth.universe);
    command.env("OMPI_UNIVERSE_SIZE", universe.to_string());
    if let Some(folder) = &job.libraries {
        let given = job.environment.iter().rev().find(|(name, _)| name == LIBRARIES);
        let old = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(LIBRARIES));
        command.env(LIBRARIES, prepended(folder.as_os_str(), old.as_deref()));
    }
}

const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// A search path with a folder before the others. An empty one would mean the current folder.
fn prepended(folder: &OsStr, others: Option<&OsStr>) -> OsString {
    let mut all = folder.to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The hardware threads that this process may use.
fn processors() -> Vec<usize> {
    // SAFETY: a set is valid with all bytes zero; the system call writes at most its length, and what is asked
    // for is within it.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed) < 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed)).collect()
    }
}

/// The cores that this process may use: of each, its hardware threads.
pub(super) fn cores() -> Vec<libc::cpu_set_t> {
    let mut cores: Vec<((String, String), libc::cpu_set_t)> = Vec::new();
    for cpu in processors() {
        let read = |name: &str| {
            let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
            text.unwrap_or_else(|_| format!("cpu{cpu}"))
        };
        let core = (read("physical_package_id"), read("core_id"));
        let at = cores.iter().position(|(known, _)| *known == core).unwrap_or_else(|| {
            // SAFETY: a set is valid with all bytes zero.
            cores.push((core, unsafe { std::mem::zeroed() }));
            cores.len() - 1
        });
        // SAFETY: within the set.
        unsafe { libc::CPU_SET(cpu, &mut cores[at].1) };
    }
    cores.into_iter().map(|(_, cpus)| cpus).collect()
}

/// Lets this process and all that it starts run on one core only, that of the calling thread.
pub fn share_core() {
    // SAFETY: a system call without arguments.
    stay_on(usize::try_from(unsafe { libc::sched_getcpu() }).ok());
}

/// The same on one of the hardware threads that it may use, by number, so that several such processes do not
/// take the same by chance.
pub fn share_core_of(number: usize) {
    let all = processors();
    stay_on(all.get(number % all.len().max(1)).copied());
}

fn stay_on(cpu: Option<usize>) {
    let Some(cpu) = cpu else { return };
    // SAFETY: a system call on a set that lives here; zeros are an empty one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_read_as_it_is_written_and_nothing_else_is() {
        let world = World { first: 4, count: 2, command: 1, parent: 3 };
        assert_eq!(World::parse(&world.text()), Some(world));
        for text in ["", "4 2 1", "4 0 1 3", "4 2 1 4", "4 4294967295 0 0", "4 5000 0 0", "a 2 1 3"] {
            assert_eq!(World::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_search_path_never_gets_an_empty_folder() {
        let path = |others: Option<&str>| prepended("/lib".as_ref(), others.map(OsStr::new));
        assert_eq!([None, Some(""), Some("/a:/b")].map(path), ["/lib", "/lib", "/lib:/a:/b"]);
    }

    #[test]
    fn cores_are_those_that_this_process_may_use() {
        let threads: i32 = cores().iter().map(|core| unsafe { libc::CPU_COUNT(core) }).sum();
        assert!(threads >= 1 && cores().len() <= threads as usize);
    }
}
