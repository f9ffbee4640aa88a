//! More guests than cores: 128 of them run on what this computer has, and their simulated time is the same
//! beside other work.
#![allow(unsafe_code)]

#[allow(dead_code)] // The program is a text here.
mod common;
mod guests;

use guests::{On, PAIR, alone, compile_text, simulate};
use std::sync::atomic::{AtomicBool, Ordering};

/// Data goes round a ring of all tasks; each adds its number. Then an allreduce over all, and a barrier.
const RING: &str = r#"#include "common.h"
static volatile size_t arrived;
static uint64_t        sum;
static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) on, (void) cookie, (void) pipe;
  no_data(recv, size);
  REQUIRE(header_size == sizeof sum && origin_task(origin) == (task + tasks - 1) % tasks);
  memcpy(&sum, header, sizeof sum);
  ++arrived;
}
static void pass(void)
{
  sum += task;
  send_immediate(context[0], endpoint((task + 1) % tasks, 0), FIRST_ID, &sum, sizeof sum, NULL, 0);
}
int main(void)
{
  pami_geometry_t world;
  pami_xfer_t     xfer;
  size_t          round;
  double          mine, all = 0;
  start("ring", 1);
  set_dispatch(context[0], FIRST_ID, receive, NULL);
  barrier();
  for (round = 1; round <= 2; round++)
  {
    if (task == 0) pass();
    wait_until(context[0], arrived == round);
    if (task != 0) pass();
    if (task == 0) REQUIRE(sum == round * tasks * (tasks - 1) / 2);
  }
  CHECK(PAMI_Geometry_world(client, &world));
  memset(&xfer, 0, sizeof xfer);
  mine = task;
  xfer.algorithm = first_algorithm(world, PAMI_XFER_ALLREDUCE);
  xfer.cmd.xfer_allreduce.sndbuf = (char *) &mine; xfer.cmd.xfer_allreduce.rcvbuf = (char *) &all;
  xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = PAMI_TYPE_DOUBLE;
  xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = 1;
  xfer.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
  for (round = 0; round < 3; round++)
  {
    run_collective(context[0], &xfer);
    REQUIRE(all == tasks * (tasks - 1) / 2);
  }
  return finish();
}
"#;

/// A thread that computes on this core until it is over.
fn spin(core: usize, is_over: &AtomicBool) {
    // SAFETY: a set is valid with all bytes zero; a system call that reads it. Where there is no such core it
    // fails.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
    while !is_over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[test]
fn many_guests_have_the_same_times_beside_other_work() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let program = compile_text("ring", RING, folder.path());
    let run = |threads: usize| {
        let (outcome, output) = simulate(&program, On { tasks: 128, per_node: 8, threads, ..PAIR });
        let is_expected = outcome.processes.status() == 0 && outcome.failures.is_empty();
        assert!(is_expected && output.contains("ok"), "{outcome:?}\n{output}");
        eprintln!("{} us in {:?}, {} hand-overs", outcome.simulated_us, outcome.wall, outcome.hand_overs);
        outcome.simulated_us
    };
    let alone = [run(1), run(1)];
    let is_over = AtomicBool::new(false);
    let beside = std::thread::scope(|scope| {
        for core in 0..cores.max(2) {
            let is_over = &is_over;
            scope.spawn(move || spin(core, is_over));
        }
        let _end = AtEnd(&is_over);
        [run(1), run(2)]
    });
    assert!(alone[0] > 0.0);
    assert_eq!([alone[0]; 4], [alone[0], alone[1], beside[0], beside[1]]);
}

/// Also where a check fails the busy threads end.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A job whose time is over ends then, whatever is still to be simulated: here minutes of data between all
/// tasks.
#[test]
fn a_job_ends_when_its_time_is_over() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"#include "common.h"
static void many(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                 size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  static char data[1 << 20];
  (void) on, (void) cookie, (void) header, (void) header_size, (void) pipe, (void) origin;
  REQUIRE(recv != NULL && size == sizeof data);
  memset(recv, 0, sizeof *recv);
  recv->type    = PAMI_TYPE_BYTE;
  recv->data_fn = PAMI_DATA_COPY;
  recv->addr    = data;
}
int main(void)
{
  static char data[1 << 20];
  size_t      n;
  start("endless", 1);
  set_dispatch(context[0], FIRST_ID, many, NULL);
  barrier();
  for (n = 0; n < 1000; n++)
  {
    pami_send_t send;
    memset(&send, 0, sizeof send);
    send.send.dest          = endpoint((task + 1 + n % (tasks - 1)) % tasks, 0);
    send.send.dispatch      = FIRST_ID;
    send.send.data.iov_base = data;
    send.send.data.iov_len  = sizeof data;
    CHECK(PAMI_Send(context[0], &send));
  }
  while (1) PAMI_Context_advance(context[0], 1000);
}
"#;
    let program = compile_text("endless", text, folder.path());
    let (outcome, output) = simulate(&program, On { tasks: 16, limit_s: 2, ..PAIR });
    assert!(outcome.processes.timed_out.is_some() && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    assert!(outcome.wall.as_secs() < 10, "{outcome:?}");
}
