//! The same C programs as guests of a simulated Blue Gene/Q: what they check natively holds there too. And
//! guests that misbehave: what happened is told, and nothing is left.

mod common;
mod guests;
mod parts;

use common::{compile, sources};
use guests::{On, PAIR, alone, check, compile_text, simulate};
use parts::check_each;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Programs that end in other ways.
const OTHERS: [&str; 3] = ["dies", "leaves", "misuse"];

fn source(name: &str) -> std::path::PathBuf {
    sources().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name)).expect("a program")
}

/// The programs that end well, by their names.
fn programs() -> impl Iterator<Item = (String, std::path::PathBuf)> {
    let named =
        sources().into_iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path));
    named.filter(|(name, _)| !OTHERS.contains(&name.as_str()))
}

#[test]
fn programs_check_their_data_on_a_simulated_machine() {
    // Several on a node; the longest programs only in pairs.
    const SEVERAL: [&str; 8] = [
        "ping",
        "put_get",
        "collective_barrier",
        "extensions",
        "types",
        "unexpected",
        "classes",
        "communication_thread",
    ];
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    check_each("programs_check_their_data_on_a_simulated_machine", programs(), |(name, source)| {
        let program = compile(&source, folder.path());
        check(&program, PAIR);
        if SEVERAL.contains(&name.as_str()) {
            check(&program, On { tasks: 6, per_node: 4, ..PAIR });
        }
    });
}

/// Some of them with 64 tasks; all with `NETLOOM_LONG=1`.
#[test]
fn programs_check_their_data_as_64_guests() {
    const SOME: [&str; 4] = ["clients", "geometry", "post", "queries"];
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let is_long = std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1");
    let chosen = programs().filter(|(name, _)| is_long || SOME.contains(&name.as_str()));
    check_each("programs_check_their_data_as_64_guests", chosen, |(name, source)| {
        let begin = std::time::Instant::now();
        check(&compile(&source, folder.path()), On { tasks: 64, per_node: 4, limit_s: 3600, ..PAIR });
        if is_long {
            eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
        }
    });
}

/// PAMI_Send_immediate between neighbours: 1.18 us (Kumar et al., Table 1), however a program polls.
#[test]
fn a_guest_has_the_latency_of_the_paper() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
enum { ROUNDS = 200 };
static volatile size_t received;
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe, size_t size,
                    pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on; (void) cookie; (void) header; (void) header_size; (void) pipe; (void) size; (void) origin; (void) recv;
  ++received;
}
static double half_round_trip_us(size_t polls)
{
  size_t i, until = received;
  double begin;
  barrier();
  begin = PAMI_Wtime(client);
  for (i = 0; i < ROUNDS; i++)
  {
    if (task == 0) send_immediate(context[0], endpoint(1, 0), FIRST_ID, "", 0, NULL, 0);
    for (++until; received < until;) PAMI_Context_advance(context[0], polls);
    if (task == 1) send_immediate(context[0], endpoint(0, 0), FIRST_ID, "", 0, NULL, 0);
  }
  return (PAMI_Wtime(client) - begin) / ROUNDS / 2 * 1e6;
}
int main(void)
{
  size_t polls;
  start("latency", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  for (polls = 1; polls <= 10000; polls *= 10)
  {
    double us = half_round_trip_us(polls);
    if (us < 0.96 * 1.18 || us > 1.04 * 1.18) FAIL("half round trip, polled %zu times a call: %.3f us", polls, us);
  }
  return finish();
}
"#;
    check(&compile_text("latency", text, folder.path()), PAIR);
}

/// Also beside a busy loop, and on two threads.
#[test]
fn simulated_times_are_the_same_on_every_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let order = compile(&source("order"), folder.path());
    assert_eq!(check(&order, PAIR), check(&order, PAIR));
    let program = compile(&source("put_get"), folder.path());
    let on = On { tasks: 6, per_node: 2, ..PAIR };
    let first = check(&program, on);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let beside = check(&program, on);
        let on_two = check(&program, On { threads: 2, ..on });
        is_over.store(true, Ordering::Relaxed);
        assert_eq!((first, first), (beside, on_two));
    });
}

#[test]
fn tasks_that_wait_for_ever_are_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text =
        "#include \"common.h\"\nint main(void) { start(\"waits\", 1); for (;;) advance(context[0]); }\n";
    let program = compile_text("waits", text, folder.path());
    let (outcome, _) = simulate(&program, On { patience_s: 0.01, ..PAIR });
    assert_eq!(outcome.failures.iter().map(|(task, _)| *task).collect::<Vec<_>>(), [0, 1]);
    assert!(outcome.failures[0].1.contains("waits for ever"), "{outcome:?}");
}

#[test]
fn tasks_that_give_way_for_ever_are_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "#include \"common.h\"\n#include <sched.h>\n\
                int main(void) { start(\"waits\", 1); for (;;) sched_yield(); }\n";
    let program = compile_text("waits", text, folder.path());
    let (outcome, _) = simulate(&program, On { patience_s: 0.1, ..PAIR });
    let told = |(_, reason): &(u32, String)| reason.contains("it has given way for ");
    assert!(outcome.failures.len() == 2 && outcome.failures.iter().all(told), "{outcome:?}");
}

/// A sleep may take longer than what is handed over at once; none takes longer than a job may.
#[test]
fn tasks_may_sleep_for_long() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let sleeps = |seconds: &str| {
        let text = format!(
            "#include \"common.h\"\n#include <unistd.h>\n\
             int main(void) {{ start(\"sleeps\", 1); double before = PAMI_Wtime(client); sleep({seconds});\n\
             printf(\"%.0f s\\n\", PAMI_Wtime(client) - before); return 0; }}\n"
        );
        simulate(&compile_text("sleeps", &text, folder.path()), PAIR)
    };
    let (outcome, output) = sleeps("900");
    assert!(outcome.failures.is_empty() && output.contains("900 s"), "{outcome:?}\n{output}");
    let (outcome, _) = sleeps("100000");
    let told = |(_, reason): &(u32, String)| reason.contains("it has slept for 1200.0 s of simulated time");
    assert!(!outcome.failures.is_empty() && outcome.failures.iter().all(told), "{outcome:?}");
}

#[test]
fn tasks_that_wait_for_ever_tell_for_what() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
static char data[8192];
int main(void)
{
  pami_send_t send;
  start("waits", 1);
  memset(&send, 0, sizeof send);
  send.send.dispatch = FIRST_ID; send.send.dest = endpoint(1, 0);
  send.send.data.iov_base = data; send.send.data.iov_len = sizeof data;
  if (task == 0)
  {
    set_dispatch(context[0], FIRST_ID, barrier_dispatch, NULL);
    CHECK(PAMI_Send(context[0], &send));
  }
  for (;;) advance(context[0]);
}
"#;
    let program = compile_text("waits", text, folder.path());
    let (outcome, _) = simulate(&program, On { patience_s: 0.01, ..PAIR });
    let of_first = &outcome.failures[0].1;
    assert!(of_first.contains("unfinished: send of 8192 B to task 1 (rendezvous"), "{outcome:?}");
    assert!(outcome.failures[1].1.contains("dispatch identifier is not set"), "{outcome:?}");
    let text = r#"#include "common.h"
int main(void)
{
  pami_geometry_t world;
  pami_xfer_t xfer;
  start("waits", 1);
  CHECK(PAMI_Geometry_world(client, &world));
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = first_algorithm(world, PAMI_XFER_BARRIER);
  if (task != 1) run_collective(context[0], &xfer);
  for (;;) advance(context[0]);
}
"#;
    let program = compile_text("waits_in_barrier", text, folder.path());
    let (outcome, _) = simulate(&program, On { tasks: 3, patience_s: 0.01, ..PAIR });
    let tells = |task: usize, what: &str| outcome.failures[task].1.contains(what);
    assert!(tells(0, "barrier of geometry 0 (waits for task ") && !tells(1, "barrier"), "{outcome:?}");
}

#[test]
fn a_guest_that_crashes_ends_the_job() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let crash = "if (task == 1) { volatile int * nowhere = 0; *nowhere = 1; }";
    let [at_once, in_order] = ["if (task == 1) _exit(3);", "if (task == 1) exit(3);"];
    for (end, status) in [(crash, 128 + 11), (at_once, 3), (in_order, 3)] {
        let text = format!(
            "#include \"common.h\"\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) {{ start(\"ends\", 1); barrier(); \
             {end} barrier(); barrier(); finish(); return 0; }}\n"
        );
        let program = compile_text("ends", &text, folder.path());
        // The other would soon report a deadlock, in simulated time.
        let (outcome, output) = simulate(&program, On { patience_s: 0.001, ..PAIR });
        assert!(outcome.failures.is_empty(), "{outcome:?}\n{output}");
        assert_eq!(outcome.processes.status(), status, "{outcome:?}\n{output}");
        assert_eq!(outcome.processes.failure.as_ref().map(|failure| failure.task), Some(1), "{outcome:?}");
    }
}

/// A program that receives data.
const RECEIVES: &str = r#"#include "common.h"
static char data[100000];
static volatile size_t received;
static void all(pami_context_t on, void * cookie, pami_result_t result) { (void) on; (void) cookie; (void) result; received = 1; }
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe, size_t size,
                    pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on; (void) cookie; (void) header; (void) header_size; (void) pipe; (void) size; (void) origin;
  memset(recv, 0, sizeof *recv);
  recv->addr = data; recv->type = PAMI_TYPE_BYTE; recv->data_fn = PAMI_DATA_COPY; recv->local_fn = all;
}
"#;

#[test]
fn memory_of_a_task_that_has_ended_is_not_read() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"int main(void)
{
  pami_send_t send;
  start("leaves", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  if (task == 1) { wait_until(context[0], received); return 0; }
  memset(&send, 0, sizeof send);
  send.send.dispatch = FIRST_ID; send.send.dest = endpoint(1, 0);
  send.send.data.iov_base = data; send.send.data.iov_len = sizeof data;
  CHECK(PAMI_Send(context[0], &send));
  return 0;
}
"#;
    let program = compile_text("leaves_early", &(RECEIVES.to_string() + text), folder.path());
    let (outcome, output) = simulate(&program, PAIR);
    assert_eq!(outcome.failures.len(), 1, "{outcome:?}\n{output}");
    assert!(outcome.failures[0].1.contains("task 0, which has ended"), "{outcome:?}");
}

#[test]
fn a_task_that_fails_ends_the_job() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"int main(void)
{
  pami_send_t send;
  start("fails", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  memset(&send, 0, sizeof send);
  send.send.dispatch = FIRST_ID; send.send.dest = endpoint(1, 0);
  send.send.data.iov_base = (void *) 4096; send.send.data.iov_len = 100000;
  if (task == 0) CHECK(PAMI_Send(context[0], &send));
  for (;;) advance(context[0]);
}
"#;
    let program = compile_text("fails", &(RECEIVES.to_string() + text), folder.path());
    let (outcome, output) = simulate(&program, On { patience_s: 1e3, ..PAIR });
    let [(0, reason)] = &outcome.failures[..] else { panic!("{outcome:?}\n{output}") };
    assert!(reason.contains("memory"), "{outcome:?}");
}

/// The Message Unit serves puts and gets of memory regions: their target reads the clock until it sees the
/// data.
#[test]
fn rdma_needs_no_processor_of_its_target() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
static char own[100000], window[100000];
int main(void)
{
  pami_memregion_t regions[2][MAX_TASKS], near, far;
  size_t granted;
  start("rdma", 1);
  CHECK(PAMI_Memregion_create(context[0], own, sizeof own, &granted, &near));
  CHECK(PAMI_Memregion_create(context[0], window, sizeof window, &granted, &far));
  exchange(&near, sizeof near, regions[0]);
  exchange(&far, sizeof far, regions[1]);
  fill(own, sizeof own, task);
  barrier();
  if (task == 1)
  {
    while (((volatile char *) window)[sizeof window - 1] != 1) PAMI_Wtime(client);
    barrier();
  }
  else
  {
    volatile size_t done = 0;
    pami_rget_simple_t get;
    pami_rput_simple_t put;
    memset(&get, 0, sizeof get);
    get.rma.dest = endpoint(1, 0); get.rma.bytes = sizeof own;
    get.rma.cookie = (void *) &done; get.rma.done_fn = count_event;
    get.rdma.local.mr = &far; get.rdma.remote.mr = &regions[0][1];
    CHECK(PAMI_Rget(context[0], &get));
    wait_until(context[0], done == 1);
    verify(window, sizeof window, 1);
    memset(own, 1, sizeof own);
    memset(&put, 0, sizeof put);
    put.rma = get.rma;
    put.rdma.local.mr = &near; put.rdma.remote.mr = &regions[1][1];
    put.put.rdone_fn = count_event;
    CHECK(PAMI_Rput(context[0], &put));
    wait_until(context[0], done == 3);
    barrier();
  }
  return finish();
}
"#;
    let program = compile_text("rdma", text, folder.path());
    let us = check(&program, PAIR);
    // 100,000 B each way at 1.8 GB/s, and what begins and ends the program.
    assert!((111.0..150.0).contains(&us), "{us} us");
}

/// The hint use_rdma chooses how data travels, whatever its length. A sender is done with data that goes in
/// packets before its receiver looks, but not with data that the receiver fetches. The hint use_shmem demands
/// a target of the same node.
#[test]
fn hints_of_devices_bind() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
#include <unistd.h>
enum { LONG = 16384, PAUSE = 1000 };
static char data[LONG];
static volatile size_t received;
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe, size_t size,
                    pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on; (void) cookie; (void) header; (void) header_size; (void) pipe; (void) size; (void) origin;
  if (recv == NULL) { ++received; return; }
  memset(recv, 0, sizeof *recv);
  recv->addr = data; recv->type = PAMI_TYPE_BYTE; recv->data_fn = PAMI_DATA_COPY; recv->local_fn = count_event;
  recv->cookie = (void *) &received;
}
static void check(size_t hint, size_t size, int is_fetched)
{
  pami_send_t     send;
  volatile size_t sent = 0;
  size_t          until = received + 1;
  double          begin, us;
  barrier();
  memset(&send, 0, sizeof send);
  send.send.dispatch = FIRST_ID + hint; send.send.dest = endpoint(1, 0);
  send.send.data.iov_base = data; send.send.data.iov_len = size;
  send.events.cookie = (void *) &sent; send.events.local_fn = count_event;
  begin = PAMI_Wtime(client);
  if (task == 1)
  {
    usleep(PAUSE);
    wait_until(context[0], received == until);
    return;
  }
  CHECK(PAMI_Send(context[0], &send));
  wait_until(context[0], sent == 1);
  us = (PAMI_Wtime(client) - begin) * 1e6;
  if (is_fetched != (us > 0.9 * PAUSE)) FAIL("hint %zu, %zu B: sent after %.1f us", hint, size, us);
}
int main(void)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t hints;
  size_t hint;
  start("hints", 1);
  callback.p2p = receive;
  for (hint = 0; hint < 3; hint++)
  {
    memset(&hints, 0, sizeof hints);
    hints.use_rdma = hint;
    CHECK(PAMI_Dispatch_set(context[0], FIRST_ID + hint, callback, NULL, hints));
  }
  check(PAMI_HINT_DEFAULT, 64, 0);
  check(PAMI_HINT_DEFAULT, LONG, 1);
  check(PAMI_HINT_ENABLE, 64, 1);
  check(PAMI_HINT_ENABLE, LONG, 1);
  check(PAMI_HINT_DISABLE, 64, 0);
  check(PAMI_HINT_DISABLE, LONG, 0);
  memset(&hints, 0, sizeof hints);
  hints.use_shmem = PAMI_HINT_ENABLE;
  CHECK(PAMI_Dispatch_set(context[0], FIRST_ID + 3, callback, NULL, hints));
  barrier();
  for (hint = 0; hint < 2; hint++)
  {
    pami_send_t     send;
    size_t          until = received + 2;
    volatile size_t sent  = 0;
    memset(&send, 0, sizeof send);
    send.send.dispatch = FIRST_ID + 3; send.send.dest = endpoint(hint, 0);
    send.send.data.iov_base = data; send.send.data.iov_len = 64;
    send.events.cookie = (void *) &sent; send.events.local_fn = count_event;
    if (hint == task)
    {
      CHECK(PAMI_Send(context[0], &send));
      CHECK(PAMI_Send_immediate(context[0], &send.send));
      wait_until(context[0], sent == 1 && received == until);
      continue;
    }
    EXPECT(PAMI_INVAL, PAMI_Send(context[0], &send));
    EXPECT(PAMI_INVAL, PAMI_Send_immediate(context[0], &send.send));
  }
  return finish();
}
"#;
    check(&compile_text("hints", text, folder.path()), PAIR);
}

/// Between tasks of a node the hint use_shmem, disabled, makes messages take the Message Unit: they take the
/// time of those to a neighbour, less that of a link, and not that of a processor's copies.
#[test]
fn messages_within_a_node_take_the_unit_where_shared_memory_is_disabled() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
#include <stdio.h>
enum { LONG = 1 << 18, ROUNDS = 20 };
static unsigned char out[LONG], in[LONG];
static volatile size_t received;
static pami_endpoint_t other;
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe, size_t size,
                    pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on; (void) cookie; (void) header; (void) header_size;
  if (origin != other) FAIL("origin %#x instead of %#x", origin, other);
  if (recv == NULL) { memcpy(in, pipe, size); ++received; return; }
  memset(recv, 0, sizeof *recv);
  recv->addr = in; recv->type = PAMI_TYPE_BYTE; recv->data_fn = PAMI_DATA_COPY; recv->local_fn = count_event;
  recv->cookie = (void *) &received;
}
static void pass(size_t hint, size_t size)
{
  pami_send_t     send;
  volatile size_t sent = 0;
  memset(&send, 0, sizeof send);
  send.send.dispatch = FIRST_ID + hint; send.send.dest = other;
  send.send.data.iov_base = out; send.send.data.iov_len = size;
  if (size <= 8)
  {
    CHECK(PAMI_Send_immediate(context[0], &send.send));
    return;
  }
  send.events.cookie = (void *) &sent; send.events.local_fn = count_event; send.events.remote_fn = count_event;
  CHECK(PAMI_Send(context[0], &send));
  wait_until(context[0], sent == 2);
}
static void measure(size_t hint, size_t size)
{
  size_t round, i, until = received;
  double begin;
  for (i = 0; i < size; i++) out[i] = (unsigned char) (i * 7 + hint + task);
  memset(in, 0, size);
  barrier();
  begin = PAMI_Wtime(client);
  for (round = 0; round < ROUNDS; round++)
  {
    if (task == 0) pass(hint, size);
    ++until;
    wait_until(context[0], received >= until);
    if (task == 1) pass(hint, size);
  }
  if (task == 0) printf("%zu %zu %.3f\n", hint, size, (PAMI_Wtime(client) - begin) / ROUNDS / 2 * 1e6);
  for (i = 0; i < size; i++) if (in[i] != (unsigned char) (i * 7 + hint + 1 - task)) FAIL("hint %zu, byte %zu of %zu", hint, i, size);
}
int main(void)
{
  pami_dispatch_callback_function callback;
  pami_dispatch_hint_t hints;
  size_t hint;
  start("shmem", 1);
  other = endpoint(1 - task, 0);
  callback.p2p = receive;
  for (hint = 0; hint < 3; hint++)
  {
    memset(&hints, 0, sizeof hints);
    hints.use_shmem = hint;
    if (hint != PAMI_HINT_ENABLE) CHECK(PAMI_Dispatch_set(context[0], FIRST_ID + hint, callback, NULL, hints));
  }
  for (hint = PAMI_HINT_DEFAULT; hint <= PAMI_HINT_DISABLE; hint += PAMI_HINT_DISABLE)
  {
    measure(hint, 8);
    measure(hint, 2000);
    measure(hint, LONG);
  }
  return finish();
}
"#;
    let program = compile_text("shmem", text, folder.path());
    let times = |per_node: u32| {
        let (outcome, output) = simulate(&program, On { per_node, ..PAIR });
        assert_eq!(outcome.processes.status(), 0, "{output}");
        let of = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
        let times: Vec<f64> = output.lines().filter_map(of).collect();
        <[f64; 6]>::try_from(times).unwrap_or_else(|times| panic!("{times:?}\n{output}"))
    };
    let (apart, together) = (times(1), times(2));
    for (default, disabled) in (0..3).zip(3..6) {
        let of = [apart[default], apart[disabled], together[default], together[disabled]];
        // Between nodes there is nothing to choose.
        assert!((of[0] / of[1] - 1.0).abs() < 0.01, "{of:?} us");
        assert!(of[3] > 1.3 * of[2] && (0.9..1.0).contains(&(of[3] / of[0])), "{of:?} us");
    }
}

#[test]
fn what_is_no_user_of_pami_runs_too() {
    let _alone = alone();
    let (outcome, output) = simulate(Path::new("true"), PAIR);
    assert!(outcome.processes.status() == 0 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    let (outcome, _) = simulate(Path::new("false"), PAIR);
    assert_eq!(outcome.processes.status(), 1);
}
