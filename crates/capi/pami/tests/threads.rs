//! Threads of guests of a simulated Blue Gene/Q: their times, and how they end.

mod common;
mod guests;

use common::{compile, library, sources};
use guests::{On, PAIR, alone, check, check_and_show, compile_text, simulate};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

fn program(name: &str, folder: &Path) -> PathBuf {
    let source = sources().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    compile(&source.expect("a program"), folder)
}

/// Also beside a busy loop, and with two threads of the simulator.
#[test]
fn simulated_times_are_the_same_on_every_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for (name, on) in [
        ("threads_ping", PAIR),
        ("post", On { tasks: 4, per_node: 2, ..PAIR }),
        ("cancel", PAIR),
        ("communication_thread", On { tasks: 8, per_node: 3, ..PAIR }),
        ("async_progress", PAIR),
        ("async_progress", On { tasks: 1, ..PAIR }),
    ] {
        let program = program(name, folder.path());
        let first = check_and_show(&program, on);
        assert!(first.0 > 0.0);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let others = [on, on, On { threads: 2, ..on }, On { threads: 2, ..on }]
                .map(|on| check_and_show(&program, on));
            is_over.store(true, Ordering::Relaxed);
            // What a run said tells why its time is another one.
            assert!(others.iter().all(|other| other.0 == first.0), "{name}: {first:#?}, {others:#?}");
        });
    }
}

/// Also that of a communication thread, which has most signals blocked: here reading a clock can be a system
/// call, which is trapped by one.
#[test]
fn computing_counts_on_request() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let program = program("communication_thread", folder.path());
    let without = check(&program, PAIR);
    let with = check(&program, On { compute_scale: 10.0, ..PAIR });
    assert!(with > 1.1 * without, "{without} us, then {with} us");
}

const WITH_THREAD: &str = r#"#include "common.h"
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag;
static void * lock(void * unused) { pthread_mutex_lock(&held); return unused; }
static void * pass(void * unused) { lock(unused); pthread_mutex_unlock(&held); return unused; }
static void * poll(void * unused) { for (;;) PAMI_Context_trylock_advancev(context, 1, 10); return unused; }
static void * set(void * unused) { barrier(); flag = 1; return unused; }
static void * end(void * unused) { barrier(); exit(unused ? 1 : finish()); }
static void * crash(void * unused) { if (task == 1) *(volatile int *) unused = 1; return unused; }
static pthread_t begin(void * (*function)(void *))
{
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, function, NULL) == 0);
  return thread;
}
int main(void)
{
  start("threads", 1);
  (void) pass; (void) poll; (void) set; (void) end; (void) crash; (void) begin;
"#;

fn with_thread(name: &str, rest: &str, folder: &Path) -> PathBuf {
    compile_text(name, &format!("{WITH_THREAD}{rest}\n}}\n"), folder)
}

#[test]
fn guests_with_threads_end_as_others_do() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // The process ends while one thread is blocked and another one polls.
    let rest = "lock(NULL); begin(lock); begin(poll); CHECK(PAMI_Context_lock(context[0])); barrier(); \
                CHECK(PAMI_Context_unlock(context[0])); return task == 1 ? 5 : 0;";
    let (outcome, output) = simulate(&with_thread("leaves_threads", rest, folder.path()), PAIR);
    assert!(outcome.processes.status() == 5 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    // The first thread ends before the others.
    let first = check(&with_thread("first_ends", "begin(end); pthread_exit(NULL);", folder.path()), PAIR);
    assert!(first > 0.0);
    let rest = "pthread_join(begin(crash), NULL); barrier(); return finish();";
    let (outcome, output) = simulate(&with_thread("thread_crashes", rest, folder.path()), PAIR);
    assert!(outcome.processes.status() == 128 + 11 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    let rest = "lock(NULL); pthread_join(begin(lock), NULL); return 0;";
    let program = with_thread("deadlock", rest, folder.path());
    let (outcome, _) = simulate(&program, On { patience_s: 0.01, ..PAIR });
    assert!(outcome.failures[1].1.contains("each of its 2 threads waits for another"), "{outcome:?}");
}

#[test]
fn more_threads_than_hardware_threads_are_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let rest = "int round, i, n; pthread_t threads[40];
  for (round = 0; round < 2; round++)
  {
    lock(NULL);
    for (n = 0; n < 40 && pthread_create(&threads[n], NULL, pass, NULL) == 0; n++);
    REQUIRE(n == 31);
    pthread_mutex_unlock(&held);
    for (i = 0; i < n; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
  }
  return finish();";
    let program = with_thread("many_threads", rest, folder.path());
    let (outcome, output) = simulate(&program, On { tasks: 2, per_node: 2, ..PAIR });
    assert!(
        outcome.processes.status() == 0 && output.contains("no hardware thread"),
        "{outcome:?}\n{output}"
    );
}

#[test]
fn a_thread_that_spins_on_memory_does_not_stop_the_others() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let rest = "pthread_t thread = begin(set); while (!flag); pthread_join(thread, NULL); return finish();";
    let program = with_thread("spins", rest, folder.path());
    let (outcome, output) = simulate(&program, On { tasks: 1, ..PAIR });
    assert!(outcome.processes.status() == 0 && output.contains("ok"), "{outcome:?}\n{output}");
}

/// Its threads wait by futex, which is trapped.
#[test]
fn openmp_has_the_same_times_on_every_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
#include <omp.h>
int main(void)
{
  long sum = 0;
  int  round, i;
  start("openmp", 4);
  barrier();
  for (round = 0; round < 10; round++)
  {
    #pragma omp parallel for reduction(+:sum) num_threads(4)
    for (i = 0; i < 100; i++) sum += i;
    #pragma omp parallel num_threads(4)
    {
      PAMI_Context_advance(context[omp_get_thread_num()], 1);
      #pragma omp barrier
      #pragma omp critical
      ++sum;
    }
  }
  REQUIRE(sum == 10 * (4950 + 4));
  barrier();
  return finish();
}
"#;
    let (source, program) = (folder.path().join("openmp.c"), folder.path().join("openmp"));
    std::fs::write(&source, text).unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu99", "-O1", "-fopenmp"]).arg(&source).arg("-o").arg(&program);
    compiler.arg("-I").arg(top.join("tests/pami")).arg("-I").arg(top.join("crates/capi/include"));
    compiler.arg("-L").arg(library()).args(["-lpami", "-lpthread"]);
    if !compiler.output().expect("a C compiler").status.success() {
        eprintln!("the compiler has no OpenMP");
        return;
    }
    assert_eq!(check(&program, PAIR), check(&program, On { threads: 2, ..PAIR }));
}

#[test]
fn clocks_tell_the_time_of_the_node_on_request() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static double seconds(clockid_t clock)
{
  struct timespec time;
  REQUIRE(clock_gettime(clock, &time) == 0);
  return time.tv_sec + time.tv_nsec * 1e-9;
}
int main(void)
{
  double         began = seconds(CLOCK_MONOTONIC);
  struct timeval day;
  REQUIRE(began < 1e-3);
  start("clock", 1);
  barrier();
  REQUIRE(usleep(700000) == 0);
  REQUIRE(seconds(CLOCK_MONOTONIC) - began > 0.7 && seconds(CLOCK_MONOTONIC) < 0.701);
  REQUIRE(PAMI_Wtime(client) > 0.7 && PAMI_Wtime(client) < 0.701);
  REQUIRE(gettimeofday(&day, NULL) == 0 && time(NULL) == 946684800 && day.tv_sec == 946684800);
  REQUIRE(day.tv_usec >= 700000 && day.tv_usec < 701000);
  while (seconds(CLOCK_REALTIME) < 946684800 + 0.701);
  barrier();
  return finish();
}
"#;
    let program = compile_text("clocks", text, folder.path());
    let variable = ("NETLOOM_CLOCK".into(), "simulated".into());
    let (outcome, output) = guests::simulate_with(&program, PAIR, vec![variable]);
    assert!(outcome.processes.status() == 0 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    assert!((701_000.0..702_000.0).contains(&outcome.simulated_us), "{outcome:?}");
}

/// A task sleeps and computes for longer than others wait before they say that nothing will come.
#[test]
fn who_sleeps_or_computes_is_waited_for() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
#include <pami_ext.h>
#include <unistd.h>
int main(int argc, char ** argv)
{
  pami_extension_t         extension;
  pamix_compute_seconds_fn compute;
  (void) argv;
  usleep(1000);
  start("sleeps", 1);
  REQUIRE(PAMI_Wtime(client) >= 0.001);
  REQUIRE(PAMI_Extension_open(client, "NETLOOM_compute", &extension) == PAMI_SUCCESS);
  compute = (pamix_compute_seconds_fn) PAMI_Extension_symbol(extension, "seconds");
  if (task == 0) { usleep(3000); REQUIRE(compute(0.004) == PAMI_SUCCESS); }
  barrier();
  REQUIRE(PAMI_Wtime(client) >= 0.008);
  /* Who only sleeps again and again is not waited for without end. */
  if (argc > 1 && task == 0) while (1) usleep(500);
  barrier();
  return finish();
}
"#;
    let on = On { patience_s: 0.002, ..PAIR };
    let program = compile_text("sleeps", text, folder.path());
    let (outcome, output) = simulate(&program, on);
    assert!(outcome.processes.status() == 0 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    let program = compile_text("sleeps_on", &text.replace("argc > 1", "argc > 0"), folder.path());
    let (outcome, output) = simulate(&program, on);
    assert!(outcome.failures.iter().any(|(_, why)| why.contains("waits for ever")), "{outcome:?}\n{output}");
}
