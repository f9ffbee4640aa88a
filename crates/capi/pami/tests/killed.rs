//! A guest is killed from outside, at random moments: the job ends with its number and signal, soon, and
//! nothing is left of it. Some rounds, or many with `NETLOOM_LONG=1`.

#![allow(unsafe_code)]

mod common;
mod guests;

use common::{compile, sources};
use guests::{On, PAIR, alone, compile_text, simulate_with_arguments};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TASKS: u32 = 6;
/// The others end within this time after the kill. It is mostly 0.1 s, the grace of these jobs; computers of
/// tests are busy.
const SOON: Duration = Duration::from_secs(60);

/// Long messages in a ring, for ever: nodes read and write the memory of their guests most of the time.
const RING: &str = r#"#include "common.h"
static char            out[65536], in[65536];
static volatile size_t arrived, sent;
static void all(pami_context_t on, void * cookie, pami_result_t result) { (void) on, (void) cookie, (void) result; ++arrived; }
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) size, (void) origin;
  memset(recv, 0, sizeof *recv);
  recv->addr = in; recv->type = PAMI_TYPE_BYTE; recv->data_fn = PAMI_DATA_COPY; recv->local_fn = all;
}
int main(void)
{
  pami_send_t send;
  size_t      round;
  start("ring", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  fill(out, sizeof out, task);
  memset(&send, 0, sizeof send);
  send.send.dispatch      = FIRST_ID;
  send.send.dest          = endpoint((task + 1) % tasks, 0);
  send.send.data.iov_base = out;
  send.send.data.iov_len  = sizeof out;
  send.events.cookie      = (void *) &sent;
  send.events.local_fn    = count_event;
  for (round = 1;; round++)
  {
    CHECK(PAMI_Send(context[0], &send));
    wait_until(context[0], sent >= round && arrived >= round);
    verify(in, sizeof in, (task + tasks - 1) % tasks);
  }
}
"#;

/// The processes that run a program.
fn processes_of(program: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let runs = |process: &PathBuf| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    entries.map(|entry| entry.path()).filter(runs).collect()
}

/// That of a task.
fn process_of(program: &Path, task: u32) -> Option<i32> {
    let rank = format!("PMI_RANK={task}");
    let is_it = |process: &PathBuf| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == rank.as_bytes())
    };
    let process = processes_of(program).into_iter().find(is_it)?;
    process.file_name()?.to_str()?.parse().ok()
}

/// Whether there was such a process.
fn kill(process: i32) -> bool {
    // SAFETY: a system call without pointers.
    unsafe { libc::kill(process, libc::SIGKILL) == 0 }
}

/// Files of shared memory in the file system.
fn shared_memory() -> BTreeSet<OsString> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten();
    let of_this = |name: &OsString| name.to_string_lossy().contains("netloom");
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).filter(of_this).collect()
}

fn kill_one(program: &Path, arguments: &[&str], random: u64) {
    let victim = (random % u64::from(TASKS)) as u32;
    // Some while the job starts.
    let longest = [20_000, 400_000][(random / 7 % 2) as usize];
    let delay = Duration::from_micros(random / 16 % longest);
    let is_over = AtomicBool::new(false);
    let on = On { tasks: TASKS, per_node: 2, limit_s: 240, ..PAIR };
    let what = format!("task {victim} after {delay:?} of {}", program.display());
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                if let Some(process) = process_of(program, victim) {
                    std::thread::sleep(delay);
                    let at = Instant::now();
                    assert!(kill(process), "{what}: {process} was not there");
                    return Some(at);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            None
        });
        let (outcome, output) = simulate_with_arguments(program, on, arguments);
        let ended = Instant::now();
        is_over.store(true, Ordering::Relaxed);
        let at = killer.join().unwrap().unwrap_or_else(|| panic!("{what}: {outcome:?}\n{output}"));
        let failure = outcome.processes.failure.clone();
        let failure = failure.unwrap_or_else(|| panic!("{what}: {outcome:?}\n{output}"));
        assert_eq!(
            (failure.task, failure.status.signal()),
            (victim, Some(9)),
            "{what}: {outcome:?}\n{output}"
        );
        assert_eq!(outcome.failures, [], "{what}: {output}");
        assert!(ended - at < SOON, "{what}: it took {:?}", ended - at);
        assert_eq!(processes_of(program), Vec::<PathBuf>::new(), "{what}");
    });
}

#[test]
fn a_guest_that_is_killed_at_a_random_time_ends_the_job() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let soak = sources().into_iter().find(|path| path.ends_with("soak.c")).expect("the program");
    let soak = compile(&soak, folder.path());
    let ring = compile_text("ring", RING, folder.path());
    let before = shared_memory();
    let mut random = 1u64;
    for round in 0..if std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1") { 100 } else { 6 } {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match round % 3 {
            2 => kill_one(&soak, &["1000", &round.to_string()], random >> 20),
            _ => kill_one(&ring, &[], random >> 20),
        }
    }
    assert_eq!(shared_memory(), before);
}
