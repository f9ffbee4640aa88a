//! More tasks while the job runs, and what else tasks ask of the launcher.
#![allow(unsafe_code)]

use super::environment::World;
use super::launcher::{Launcher, Program, quota};
use super::request::{Answer, Command, Request};
use super::{Bind, LaunchError};
use crate::segment::TASKS_MAX;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How many processes run each command: the greatest numbers allowed, or smaller ones where there is no room,
/// those of the last commands first.
fn counts(commands: &[Command], room: u32) -> Option<Vec<u32>> {
    let mut counts: Vec<u32> = commands.iter().map(|of| of.counts.first().copied()).collect::<Option<_>>()?;
    for (at, command) in commands.iter().enumerate().rev() {
        let others: u64 = counts.iter().map(|&count| u64::from(count)).sum::<u64>() - u64::from(counts[at]);
        let fits = |&&count: &&u32| others + u64::from(count) <= u64::from(room);
        counts[at] = *command.counts.iter().find(fits).or(command.counts.last())?;
    }
    let all = counts.iter().map(|&count| u64::from(count)).sum::<u64>();
    (1..=u64::from(room)).contains(&all).then_some(counts)
}

impl Launcher<'_> {
    pub(super) fn carry_out(&mut self, request: Request, may_spawn: bool) -> Answer {
        match request {
            Request::Spawn { .. } if !may_spawn => Answer::Refused("the job is ending".into()),
            Request::Spawn { by, commands } => self.spawn(by, &commands),
            Request::CountEnded(first) => {
                let all = self.worlds.get(&first).map_or(0, Vec::len) as u32;
                Answer::Number(all - self.processes_of(first).len() as u32)
            }
            Request::End(first) => {
                self.discard(first);
                Answer::Done
            }
            Request::OpenPort(by) => self.names.open(by),
            Request::ClosePort(by, port) => self.names.close(by, &port),
            Request::FindPort(port) => self.names.find(&port),
            Request::Publish(by, pair) => self.names.publish(by, pair),
            Request::Unpublish(pair) => self.names.unpublish(pair),
            Request::Lookup(service) => self.names.lookup(&service),
            Request::Report(task, waiting) => {
                self.outcome.at_limit.waiting.insert(task, waiting);
                Answer::Done
            }
        }
    }

    /// The processes that run of a world that a task had started.
    fn processes_of(&self, first: u32) -> Vec<i32> {
        let count = self.worlds.get(&first).map_or(0, Vec::len) as u32;
        let is_of = |task: u32| (first..first + count).contains(&task);
        self.pids.iter().filter(|&(_, &task)| is_of(task)).map(|(&pid, _)| pid).collect()
    }

    /// Ends the processes of such a world.
    fn discard(&mut self, first: u32) {
        for pid in self.processes_of(first) {
            self.discarded.insert(pid);
            // SAFETY: a system call; the process is this one's child, and not waited for yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// Starts a world. If one of its processes cannot be started, none stays.
    fn spawn(&mut self, by: u32, commands: &[Command]) -> Answer {
        let (running, ever) = (self.pids.len() as u32, self.segment.tasks_ever());
        let of_job = TASKS_MAX.saturating_sub(ever);
        let room = self.job.universe.map_or(of_job, |universe| universe.saturating_sub(running).min(of_job));
        let Some(counts) = counts(commands, room) else {
            return Answer::Refused(self.no_room(commands, running, ever));
        };
        let count: u32 = counts.iter().sum();
        let free = self.cores.len() - self.core_of.len();
        if self.job.bind == Bind::Core && count as usize > free {
            return Answer::Refused(format!(
                "{count} processes need as many cores (--bind core), and {free} are free"
            ));
        }
        if self.job.label
            && let Err(error) = self.files.raise_to(2 * u64::from(running + count) + 64)
        {
            return Answer::Refused(error.to_string());
        }
        let first = match self.segment.add_tasks(count) {
            Ok(first) => first,
            Err(error) => return Answer::Refused(error.to_string()),
        };
        let program_of = |command: &Command| String::from_utf8_lossy(&command.name).into_owned();
        let numbered = || counts.iter().zip(0..).flat_map(|(&count, at)| (0..count).map(move |_| at));
        let programs = numbered().map(|at: u32| program_of(&commands[at as usize])).collect();
        self.worlds.insert(first, programs);
        for (task, command) in (first..).zip(numbered()) {
            let world = World { first, count, command, parent: by };
            if let Err(error) = self.start_spawned(&commands[command as usize], task, world) {
                self.discard(first);
                return Answer::Refused(match error {
                    LaunchError::Program { program, source } => {
                        format!("cannot run {}: {source}", Path::new(&program).display())
                    }
                    other => other.to_string(),
                });
            }
        }
        self.note_crowd();
        Answer::Spawned(first, counts)
    }

    fn no_room(&self, commands: &[Command], running: u32, ever: u32) -> String {
        let least: u64 =
            commands.iter().filter_map(|of| of.counts.last()).map(|&count| u64::from(count)).sum();
        let fit = if least == 1 {
            "1 process does not fit".into()
        } else {
            format!("{least} processes do not fit")
        };
        match self.job.universe {
            _ if least == 0 => "no process is asked for".into(),
            Some(universe) if universe.saturating_sub(running) <= TASKS_MAX.saturating_sub(ever) => {
                format!("{fit}: {running} run, and the universe of the job is {universe} (--universe)")
            }
            _ => format!("{fit}: a job has {TASKS_MAX} at most, and this one has had {ever}"),
        }
    }

    fn start_spawned(&mut self, command: &Command, task: u32, world: World) -> Result<(), LaunchError> {
        let arguments: Vec<OsString> = command.arguments.iter().cloned().map(OsString::from_vec).collect();
        let of = |bytes| OsStr::from_bytes(bytes);
        let folder = (!command.folder.is_empty()).then(|| of(&command.folder));
        if let Some(folder) = folder.filter(|folder| !Path::new(folder).is_dir()) {
            return Err(LaunchError::Folder(folder.into()));
        }
        let program = Program {
            path: of(&command.program),
            name: Some(of(&command.name)),
            arguments: &arguments,
            folder,
            environment: &command.environment,
        };
        self.start(&program, task, Some(world))
    }

    /// A task has ended.
    pub(super) fn ended(&mut self, task: u32) {
        self.core_of.retain(|_, &mut of| of != task);
        self.names.ended(task);
        self.note_crowd();
    }

    /// Tells tasks whether they share cores: only of jobs that have grown, as tasks know by themselves how
    /// many a job began with.
    fn note_crowd(&self) {
        if !self.worlds.is_empty() {
            self.segment.set_crowded(self.pids.len() > quota());
        }
    }

    /// What a task is that another had started.
    pub(super) fn name_of_spawned(&self, task: u32) -> Option<String> {
        let (&first, programs) = self.worlds.range(..=task).next_back()?;
        let rank = task - first;
        programs.get(rank as usize).map(|program| format!("rank {rank} of {program}"))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_greatest_that_fit() {
        let of = |counts: &[u32]| Command { counts: counts.into(), ..Command::default() };
        let check = |commands: &[&[u32]], room| {
            counts(&commands.iter().map(|counts| of(counts)).collect::<Vec<_>>(), room)
        };
        assert_eq!(check(&[&[4]], 4), Some(vec![4]));
        assert_eq!(check(&[&[4]], 3), None);
        assert_eq!(check(&[&[8, 4, 2]], 5), Some(vec![4]));
        assert_eq!(check(&[&[8, 4, 2]], 1), None);
        assert_eq!(check(&[&[4], &[8, 4, 2]], 9), Some(vec![4, 4]));
        assert_eq!(check(&[&[4, 1], &[8, 2]], 5), Some(vec![1, 2]));
        assert_eq!(check(&[&[0], &[2]], 5), Some(vec![0, 2]));
        assert_eq!(check(&[&[0]], 5), None);
        assert_eq!(check(&[&[]], 5), None);
        assert_eq!(check(&[&[u32::MAX], &[u32::MAX]], u32::MAX), None);
    }
}
