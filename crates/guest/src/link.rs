//! The simulator's end of the channel to a thread of a guest: it lets the thread run, waits until it hands
//! over, and notices when its process has ended, or when the thread waits for another one without telling.
#![allow(unsafe_code)]

use crate::memory::{Status, Stores};
use netloom_messaging::pami::guest::process::Guest;
use netloom_messaging::pami::guest::{Reply, Requests, Then, ThreadNumber};
use netloom_mpi::waits::Waits;
use netloom_node::process::Failure;
use netloom_shm::channel::{Channel, Channels, Side};
use netloom_shm::segment::{Segment, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it looks whether a guest that runs has ended, and sooner at first if it may wait for another
/// thread, or the job is over.
const LOOK: Duration = Duration::from_millis(20);
const FIRST_LOOK: Duration = Duration::from_millis(1);
/// A guest that runs for longer by itself is worth a word.
const LONG: Duration = Duration::from_secs(10);
/// Processor time after which a thread counts as waiting for another one of its process: at first; once a
/// thread of another task has spun; once one of its own task has.
const SPINS: Duration = Duration::from_secs(1);
const SPINS_AS_OTHERS: Duration = Duration::from_millis(50);
const SPINS_AGAIN: Duration = Duration::from_millis(1);
/// For so long others wait for a thread that they do not depend on.
const PAUSE: Duration = Duration::from_micros(500);

/// What the links of a job share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The job is over: nobody waits for a guest any more.
    pub is_over: AtomicBool,
    /// The process of a task has failed.
    pub has_crashed: AtomicBool,
    /// Tasks that ran, without a call of their library, when the job ended otherwise.
    pub running: Mutex<BTreeSet<u32>>,
    /// A thread of the job was not waited for.
    pub has_varied: AtomicBool,
    /// Hand-overs to guests.
    pub hand_overs: AtomicU64,
    /// For what tasks wait that wait for ever, as MPI has it.
    pub waits: Mutex<BTreeMap<u32, Waits>>,
    /// Guests run on the processor of the thread that simulates their node: two that wait for each other are
    /// served sooner by one processor than by two.
    pub follows: bool,
}

impl Shared {
    /// A process has failed: the launcher ends the others.
    pub fn crash(&self) {
        self.has_crashed.store(true, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
    }
}

/// The end of the channel of a thread.
pub struct GuestLink {
    channel: Channel,
    /// That of the task's first thread, where others that begin by themselves report.
    first: Channel,
    segment: Arc<Segment>,
    task: u32,
    status: Arc<Status>,
    /// Stores to the memory of the node's guests.
    stores: Arc<Stores>,
    shared: Arc<Shared>,
    /// The processor on which the guest's thread runs, if it is this link's choice.
    processor: Option<i32>,
}

/// What has become of a process.
enum Life {
    Runs,
    Ended,
    Failed,
}

impl GuestLink {
    /// The link to a thread of a task.
    pub fn new(
        channels: &Arc<Channels>,
        segment: &Arc<Segment>,
        (task, thread): (u32, ThreadNumber),
        (status, stores): (&Arc<Status>, &Arc<Stores>),
        shared: &Arc<Shared>,
    ) -> Self {
        // SAFETY: one link for each thread, whose process one thread of the simulator at a time resumes; of
        // other threads' channels only atomic words are read.
        let side = |thread| unsafe { channels.side(task, thread, Side::Simulator) };
        GuestLink {
            channel: side(thread),
            first: side(0),
            segment: Arc::clone(segment),
            task,
            status: Arc::clone(status),
            stores: Arc::clone(stores),
            shared: Arc::clone(shared),
            processor: None,
        }
    }

    /// Moves the guest's thread to the processor on which this one runs.
    fn follow(&mut self) {
        // SAFETY: a library call without arguments.
        let here = unsafe { libc::sched_getcpu() };
        if here < 0 || self.processor == Some(here) {
            return;
        }
        self.processor = Some(here);
        // SAFETY: a set of processors without any, and a system call that reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(here as usize, &mut set);
            libc::sched_setaffinity(
                self.channel.thread() as i32,
                size_of::<libc::cpu_set_t>(),
                &raw const set,
            );
        }
    }

    fn life(&self) -> Life {
        let record = self.segment.task(self.task);
        match (record.state(), record.pid()) {
            (State::Dead, _) => Life::Failed,
            // Perhaps it never used the library.
            (State::Ended, _) => Life::Ended,
            // It has left its clients, and may go on; the launcher waits for it.
            // SAFETY: a system call that only asks.
            (State::Finished, pid) if unsafe { libc::kill(pid, 0) } != 0 => Life::Ended,
            _ => Life::Runs,
        }
    }

    /// A file of the kernel about the thread.
    fn of_kernel(&self, file: &str) -> Option<String> {
        let (pid, thread) = (self.segment.task(self.task).pid(), self.channel.thread());
        std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/{file}")).ok()
    }

    /// The processor time of the thread.
    fn processor_time(&self) -> Duration {
        processor_time(&self.of_kernel("schedstat").unwrap_or_default())
    }

    /// The processor time of the process's other threads, if any of them runs or would if it had a processor: it may
    /// be about to wake this one.
    fn others_that_could_wake_it(&self) -> Option<Duration> {
        let (pid, own) = (self.segment.task(self.task).pid(), self.channel.thread().to_string());
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        let (mut any, mut sum) = (false, Duration::ZERO);
        for thread in threads.filter(|thread| thread.file_name() != own.as_str()) {
            let of_kernel = |file| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
            any |= can_run(&of_kernel("stat"));
            sum += processor_time(&of_kernel("schedstat"));
        }
        any.then_some(sum)
    }

    /// The system call by which the thread waits in the kernel until another one wakes it.
    fn wait_in_kernel(&self) -> Option<String> {
        let call = self.of_kernel("syscall")?;
        let is_wait = call.split(' ').next() == Some(&libc::SYS_futex.to_string());
        (is_wait && !self.channel.is_own_turn()).then_some(call)
    }

    /// Waits until the guest hands over, if others run not for long.
    fn wait(&self, others_run: bool) -> Result<Option<Requests>, Failure> {
        let (began, mut has_told) = (Instant::now(), false);
        // When the job is over nothing more comes, of perhaps hundreds of tasks one after the other.
        let is_over = self.shared.is_over.load(Ordering::Acquire);
        let mut look = if others_run || is_over { FIRST_LOOK } else { LOOK };
        let (mut processor_time, mut waits, mut others) = (None, None, None);
        while !self.channel.sleep(look) {
            let life = self.life();
            if self.channel.is_own_turn() {
                break;
            }
            match life {
                Life::Ended => return Ok(Some(self.ended())),
                Life::Failed => {
                    self.note_that_it_ran();
                    self.shared.crash();
                    return Err(Failure::new("task", OVER));
                }
                Life::Runs if self.shared.is_over.load(Ordering::Acquire) => {
                    // It may have ended in order since.
                    let over = self.over();
                    if over.is_err() {
                        self.note_that_it_ran();
                    }
                    return over.map(Some);
                }
                Life::Runs => {}
            }
            if others_run || self.first.has_foreign() {
                let limit = match self.shared.has_varied.load(Ordering::Relaxed) {
                    _ if self.status.varies() => SPINS_AGAIN,
                    true => SPINS_AS_OTHERS,
                    false => SPINS,
                };
                let until = *processor_time.get_or_insert_with(|| self.processor_time() + limit);
                let before = std::mem::replace(&mut waits, self.wait_in_kernel());
                // Twice the same: it was not just about to go on.
                look = if waits.is_some() || self.status.varies() { FIRST_LOOK } else { LOOK };
                // Where other programs have the processors, who wakes it may wait for one.
                let is_asleep = waits.is_some()
                    && waits == before
                    && self
                        .others_that_could_wake_it()
                        .is_none_or(|now| now >= *others.get_or_insert(now + limit));
                if is_asleep || self.processor_time() >= until {
                    self.shared.has_varied.store(true, Ordering::Relaxed);
                    if self.status.vary() {
                        self.tell_that_times_vary();
                    }
                    return Ok(None);
                }
            }
            if began.elapsed() > LONG && !std::mem::replace(&mut has_told, true) {
                eprintln!(
                    "netloom: task {} has run for {} s without a call of its library; simulated time stands still meanwhile",
                    self.task,
                    LONG.as_secs()
                );
            }
        }
        self.taken().map(Some)
    }

    fn ended(&self) -> Requests {
        self.status.end();
        Requests { list: vec![], then: Then::End }
    }

    /// The end of a thread when the job is over: in order if its process exited with status 0.
    fn over(&self) -> Result<Requests, Failure> {
        match self.life() {
            Life::Ended => Ok(self.ended()),
            _ => Err(Failure::new("task", OVER)),
        }
    }

    fn note_that_it_ran(&self) {
        self.shared.running.lock().unwrap_or_else(PoisonError::into_inner).insert(self.task);
    }

    fn tell_that_times_vary(&self) {
        eprintln!(
            "netloom: warning: a thread of task {} computes for long, or waits for another thread by other means than \
             pthread's functions and PAMI's: the others go on meanwhile, and simulated times can vary from run to run",
            self.task
        );
    }

    fn taken(&self) -> Result<Requests, Failure> {
        // A copy: a guest that is corrupt could write to the channel meanwhile.
        let message: Box<[u8]> = self.channel.message().into();
        let requests = decode(&message);
        if requests.as_ref().is_ok_and(|requests| requests.then == Then::End) {
            self.status.end();
        }
        requests
    }
}

/// The processor time of a thread, by its `schedstat`.
fn processor_time(schedstat: &str) -> Duration {
    let ns = schedstat.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// Whether a thread runs, or would if it had a processor, by its `stat`. The name before its state may have
/// anything in it.
fn can_run(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|after| after.trim_start().starts_with(['R', 'D']))
}

/// What a message of a guest says.
///
/// # Errors
/// If it is none of this version's.
pub fn decode(message: &[u8]) -> Result<Requests, Failure> {
    let why = |error| format!("its library is of another version, or its memory is corrupt ({error})");
    postcard::from_bytes(message).map_err(|error| Failure::new("guest", why(error)))
}

/// The failure of a task that was ended with its job.
pub const OVER: &str = "the job is over";

impl Guest for GuestLink {
    fn begin(&mut self) -> Result<Requests, Failure> {
        loop {
            if let Some(requests) = self.wait(false)? {
                return Ok(requests);
            }
        }
    }

    fn exchange(&mut self, reply: &Reply, others_run: bool) -> Result<Option<Requests>, Failure> {
        if self.shared.is_over.load(Ordering::Acquire) {
            return self.over().map(Some);
        }
        let message = postcard::to_stdvec(reply).map_err(|error| Failure::new("guest", error))?;
        self.shared.hand_overs.fetch_add(1, Ordering::Relaxed);
        if self.shared.follows {
            self.follow();
        }
        self.stores.carry_out(&self.segment);
        self.channel.pass(&message);
        self.wait(others_run)
    }

    fn look(&mut self, others_run: bool) -> Result<Option<Requests>, Failure> {
        // It runs, and may wait for what is stored.
        self.stores.carry_out(&self.segment);
        if !others_run {
            return self.wait(false);
        }
        if self.channel.sleep(PAUSE) {
            return self.taken().map(Some);
        }
        match self.life() {
            Life::Runs if !self.shared.is_over.load(Ordering::Acquire) => Ok(None),
            _ => self.wait(true),
        }
    }

    fn ended(&mut self) {
        self.channel.yield_turn();
    }

    fn foreign(&self) -> Vec<ThreadNumber> {
        self.first.take_foreign().collect()
    }

    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Acquire)
    }

    fn end_job(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
    }

    fn waits_for_ever(&mut self, state: Vec<u8>) {
        // What a corrupt guest reports is no part of the comparison.
        if let Some(waits) = Waits::of_bytes(&state) {
            self.shared.waits.lock().unwrap_or_else(PoisonError::into_inner).insert(self.task, waits);
        }
    }

    fn fault(&self) -> Option<String> {
        self.stores.carry_out(&self.segment);
        self.status.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_could_run_are_told_by_the_kernels_files() {
        assert!(can_run("7 (a) S) R 1 7 7 0"));
        assert!(!can_run("7 (R) S 1 7 7 0") && !can_run(""));
        assert_eq!(processor_time("1500 20 3"), Duration::from_nanos(1500));
    }
}
