//! Several contexts of PAMI for messages, without communication threads and with them (section IV.A of the
//! PAMI paper): the programs of `tests/mpi` check their data with each variant, in both worlds.

mod jobs;
#[path = "../../pami/tests/parts/mod.rs"]
mod parts;

use jobs::{CHECKED, alone, build_tool, compile, job, machine, run_guests};
use netloom_guest::Machine;
use netloom_shm::launch::{Job, launch, share_core};
use parts::check_each;
use std::path::Path;

type Variables = &'static [(&'static str, &'static str)];

/// Three contexts under one lock; communication threads that get the sends for which a lock is taken; and
/// those that get all.
const VARIANTS: [Variables; 3] = [
    &[("PAMID_CONTEXT_MAX", "3")],
    &[("PAMID_THREAD_MULTIPLE", "1"), ("PAMID_CONTEXT_POST", "0")],
    &[("PAMID_THREAD_MULTIPLE", "1"), ("PAMID_CONTEXT_POST", "1")],
];

fn with(variables: Variables, job: Job) -> Job {
    let environment = variables.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    Job { environment, ..job }
}

/// Status, and all that was written.
fn native(program: &Path, ranks: u32, variables: Variables) -> (u8, String) {
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&with(variables, job(program, ranks)), &mut out, &mut err).expect("the job starts");
    (outcome.status(), format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

/// Status, what was printed, and everything that was written.
fn simulated(machine: &Machine, program: &Path, ranks: u32, variables: Variables) -> (u8, String, String) {
    let (outcome, out, err) = run_guests(machine, with(variables, job(program, ranks)));
    let failures: Vec<String> = outcome.failures.iter().map(|failure| format!("{failure:?}")).collect();
    let all = format!("{out}{err}{}", failures.join("\n"));
    (outcome.processes.status(), out, all)
}

#[test]
fn programs_check_their_data_natively_with_several_contexts() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    for &name in CHECKED {
        let program = compile(&format!("tests/mpi/{name}.c"), folder.path());
        for variables in VARIANTS {
            let (status, output) = native(&program, 4, variables);
            assert_eq!(status, 0, "{name} with {variables:?}:\n{output}");
        }
    }
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn programs_check_their_data_as_guests_with_several_contexts() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    check_each("programs_check_their_data_as_guests_with_several_contexts", CHECKED, |name| {
        let program = compile(&format!("tests/mpi/{name}.c"), folder.path());
        for (variables, per_node) in VARIANTS.into_iter().zip([2, 2, 1]) {
            let (status, _, output) = simulated(&machine(per_node, 1), &program, 4, variables);
            assert_eq!(status, 0, "{name} with {variables:?}, {per_node} a node:\n{output}");
        }
    });
}

/// Which contexts of PAMI messages take, and whether communication threads get them: seen between MPI and PAMI.
#[test]
fn messages_are_spread_over_contexts_and_handed_to_their_threads() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let [text, program, tool] = ["sees.c", "spreads.c", "sees.so"].map(|name| folder.path().join(name));
    std::fs::write(
        &text,
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <pami.h>
        #include <stdatomic.h>
        #include <stdio.h>
        static _Atomic(void *) seen[64];
        static atomic_int      posts;
        static void note(void * context)
        {
          for (int n = 0; n < 64; n++)
          {
            void * free = NULL;
            if (seen[n] == context || atomic_compare_exchange_strong(&seen[n], &free, context) || free == context)
              return;
          }
        }
        pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t * send)
        {
          pami_result_t (*next)(pami_context_t, pami_send_immediate_t *) = dlsym(RTLD_NEXT, "PAMI_Send_immediate");
          note(context);
          return next(context, send);
        }
        pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t * work, pami_work_function f, void * cookie)
        {
          pami_result_t (*next)(pami_context_t, pami_work_t *, pami_work_function, void *) =
            dlsym(RTLD_NEXT, "PAMI_Context_post");
          posts++;
          return next(context, work, f, cookie);
        }
        __attribute__((destructor)) static void tell(void)
        {
          int contexts = 0;
          while (contexts < 64 && seen[contexts]) contexts++;
          printf("%d contexts, %d posts\n", contexts, (int) posts);
        }"#,
    )
    .unwrap();
    std::fs::write(
        &program,
        r#"
        #include <mpi.h>
        int main(int argc, char ** argv)
        {
          int         rank, size, out = 1, in[8];
          MPI_Request requests[8];
          MPI_Init(&argc, &argv);
          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
          MPI_Comm_size(MPI_COMM_WORLD, &size);
          for (int n = 0; n < size; n++) MPI_Irecv(&in[n], 1, MPI_INT, n, 0, MPI_COMM_WORLD, &requests[n]);
          for (int n = 0; n < size; n++) MPI_Send(&out, 1, MPI_INT, n, 0, MPI_COMM_WORLD);
          MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
          MPI_Finalize();
          return 0;
        }"#,
    )
    .unwrap();
    let program = compile(program.to_str().unwrap(), folder.path());
    build_tool(&text, &tool);
    let run = |variables: Variables| {
        let mut job = with(variables, job(&program, 6));
        job.environment.push(("LD_PRELOAD".into(), tool.clone().into()));
        let (mut out, mut err) = (vec![], vec![]);
        let status = launch(&job, &mut out, &mut err).expect("the job starts").status();
        assert_eq!(status, 0, "{variables:?}: {}", String::from_utf8_lossy(&err));
        let out = String::from_utf8_lossy(&out).into_owned();
        let numbers = |line: &str| {
            let found: Vec<u32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            <[u32; 2]>::try_from(found).unwrap_or_else(|_| panic!("{out}"))
        };
        let seen: Vec<_> = out.lines().map(numbers).collect();
        assert_eq!(seen.len(), 6, "{out}");
        seen
    };
    assert!(run(&[]).iter().all(|&seen| seen == [1, 0]));
    assert!(run(VARIANTS[0]).iter().all(|&seen| seen == [3, 0]));
    // Context 0 of four carries no messages; each send is posted.
    assert!(run(VARIANTS[2]).iter().all(|&[contexts, posts]| contexts == 3 && posts >= 6));
}

/// `MPI_THREAD_MULTIPLE` enables communication threads on a simulated machine, as the paper says. Short
/// messages of one thread: they take work off it. How much of the paper's 2.4 that is depends on all that it
/// leaves to the thread, so the bound is low.
#[test]
fn thread_multiple_enables_communication_threads_which_raise_the_message_rate_of_a_guest() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/message_rate.c", folder.path());
    const NONE: Variables = &[("PAMID_THREAD_MULTIPLE", "0")];
    let runs = [(NONE, "1"), (&[], "1"), (&[], "2"), (VARIANTS[2], "2")];
    let rates = runs.map(|(variables, threads)| {
        let job = Job { arguments: vec![threads.into()], ..with(variables, job(&program, 6)) };
        let (outcome, out, err) = run_guests(&machine(1, 1), job);
        assert_eq!(outcome.processes.status(), 0, "{out}{err}");
        out.trim().rsplit(' ').next().unwrap().parse::<f64>().unwrap_or_else(|_| panic!("{out}"))
    });
    assert!(rates[1] > 1.3 * rates[0], "{rates:?}");
    // Two threads hold the lock for what they share only.
    assert!(rates[2] > 1.3 * rates[1], "{rates:?}");
    assert!(rates[2] == rates[3], "{rates:?}");
}

/// Ranks that ask for different levels would have other contexts, unless a variable decides for all.
#[test]
fn ranks_that_ask_for_different_levels_of_threads_are_told_what_to_set() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let text = folder.path().join("levels.c");
    std::fs::write(
        &text,
        r#"
        #include <mpi.h>
        #include <stdlib.h>
        int main(int argc, char ** argv)
        {
          int provided, own = atoi(getenv("NETLOOM_TASK")), sum;
          MPI_Init_thread(&argc, &argv, own == 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
          MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          MPI_Finalize();
          return sum == 3 ? 0 : 1;
        }"#,
    )
    .unwrap();
    let program = compile(text.to_str().unwrap(), folder.path());
    let (status, _, output) = simulated(&machine(1, 1), &program, 3, &[]);
    assert!(status != 0 && output.contains("set PAMID_THREAD_MULTIPLE to 0 or 1 for all"), "{output}");
    for value in [&[("PAMID_THREAD_MULTIPLE", "0")], &[("PAMID_THREAD_MULTIPLE", "1")]] {
        let (status, _, output) = simulated(&machine(1, 1), &program, 3, value);
        assert_eq!(status, 0, "{value:?}: {output}");
    }
    assert_eq!(native(&program, 3, &[]).0, 0);
}

/// A rank with fewer contexts would never look at some that messages to it take.
#[test]
fn ranks_with_other_contexts_are_told() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile("tests/mpi/ring.c", folder.path());
    let command = format!("test $NETLOOM_TASK = 1 && export PAMID_CONTEXT_MAX=4; exec {}", program.display());
    let job = || Job { arguments: vec!["-c".into(), (&command).into()], ..job(Path::new("/bin/sh"), 3) };
    let (mut out, mut err) = (vec![], vec![]);
    let status = launch(&job(), &mut out, &mut err).expect("the job starts").status();
    let (guests, _, told_to_guests) = run_guests(&machine(1, 1), job());
    for (status, err) in
        [(status, String::from_utf8(err).unwrap()), (guests.processes.status(), told_to_guests)]
    {
        let told = err.contains("4 contexts of PAMI") && err.contains("one context of PAMI");
        assert!(status != 0 && told && err.contains("have to be the same for all"), "{status}: {err}");
    }
}

/// Messages that communication threads take are reported as others are.
#[test]
fn waits_for_ever_are_reported_with_communication_threads() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/deadlocks.c", folder.path());
    let job = Job { arguments: vec!["5".into()], ..with(VARIANTS[2], job(&program, 4)) };
    let (outcome, out, err) = run_guests(&machine(1, 1), job);
    let failures: Vec<String> = outcome.failures.iter().map(|failure| format!("{failure:?}")).collect();
    let (all, expected) =
        (format!("{out}{err}{}", failures.join("\n")), "receive from rank 1 (task 2) with tag 7");
    assert!(all.contains(expected) && all.contains("with tag 8"), "{all}");
}

/// Random traffic, all processes on few cores; and processes that are started meanwhile.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn random_traffic_and_new_processes_natively_with_several_contexts() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let [soak, spawn] = ["soak", "spawn"].map(|name| compile(&format!("tests/mpi/{name}.c"), folder.path()));
    for variables in VARIANTS {
        let arguments = vec!["2".into(), "7".into()];
        let job_of = |program: &Path| with(variables, Job { universe: Some(20), ..job(program, 2) });
        for job in [Job { arguments, tasks: 8, ..job_of(&soak) }, job_of(&spawn)] {
            let (mut out, mut err) = (vec![], vec![]);
            let status = launch(&job, &mut out, &mut err).expect("the job starts").status();
            assert_eq!(status, 0, "{variables:?}: {job:?}\n{}", String::from_utf8_lossy(&err));
        }
    }
}
