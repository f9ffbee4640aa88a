//! `netloom bench messaging`: how fast messages are between two processes on two cores of this computer,
//! beside what the hardware does between the same cores: a bare ping-pong of one cache line, and `memcpy`.
//!
//! The command starts itself twice as the tasks of a job (`task.rs`), which share a file for what is measured
//! without PAMI. Task 0 prints the figures as one line of JSON.

mod contexts;
mod task;
mod ucx;

use crate::args::MessagingBenchArgs;
use crate::{FAILED, OK, Trouble};
use netloom_report::text_table::aligned;
use netloom_shm::launch::{Bind, Job, launch};
use netloom_study::diagnose::Problem;
use netloom_study::number::scaled;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::time::Duration;

/// A figure, with the one that it is compared with, measured in the same repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    /// What was measured.
    name: String,
    /// Length of a message, bytes.
    bytes: usize,
    /// The best of the repetitions.
    value: f64,
    /// Its unit.
    unit: String,
    /// The figure of the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<f64>,
    /// `value` relative to `reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// All figures: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Figures {
    /// The cores of the two tasks.
    cores: [usize; 2],
    /// In the order in which they were measured.
    cases: Vec<Case>,
    /// UCX's figures over POSIX shared memory.
    ucx: Vec<Case>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ucx_skipped: Option<String>,
}

/// Numbers as a list of ranges: `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = vec![];
    for &n in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let text = parts.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(",")
}

/// The two cores to measure between.
fn choose(wanted: Option<[usize; 2]>, allowed: &[usize]) -> Result<[usize; 2], Problem> {
    if let Some(cores) = wanted {
        return match cores.iter().find(|core| !allowed.contains(core)) {
            None => Ok(cores),
            Some(core) => Err(Problem::new(format!("this process may not use core {core}"))
                .help(format!("It may use {}: `--cores A,B` takes two of them", ranges(allowed)))),
        };
    }
    match *allowed {
        [first, second, ..] => Ok([first, second]),
        _ => Err(Problem::new("this process may use one core only, and a message goes between two")
            .help("Start it without `taskset`, or with two cores: `taskset -c 0,1 netloom bench messaging`")),
    }
}

/// Runs the benchmark, or is one of its tasks.
pub fn bench(args: &MessagingBenchArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Trouble> {
    let cores = choose(args.cores, &task::allowed())?;
    if let Some(shared) = args.task {
        let cases = task::run(shared, cores, args.quick).map_err(Problem::new)?;
        if let Some(cases) = cases {
            writeln!(out, "{}", serde_json::to_string(&cases).expect("plain figures"))?;
        }
        return Ok(OK);
    }
    writeln!(err, "netloom: messages between cores {} and {}", cores[0], cores[1])?;
    let system = |what: &str, error: std::io::Error| Problem::new(format!("cannot {what}: {error}"));
    let shared = netloom_shm::bare::create().map_err(|error| system("set up shared memory", error))?;
    let mut arguments: Vec<String> = ["bench", "messaging", "--cores"].map(String::from).to_vec();
    arguments.push(format!("{},{}", cores[0], cores[1]));
    arguments.push(format!("--task={}", std::os::fd::AsRawFd::as_raw_fd(&shared)));
    if args.quick {
        arguments.push("--quick".into());
    }
    let job = Job {
        program: std::env::current_exe().map_err(|error| system("find this program", error))?.into(),
        arguments: arguments.into_iter().map(Into::into).collect(),
        tasks: 2,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(600)),
        grace: Duration::from_secs(1),
        environment: vec![],
        folder: None,
        libraries: None,
        universe: None,
    };
    let mut printed = vec![];
    let outcome = launch(&job, &mut printed, err).map_err(|error| Problem::new(error.to_string()))?;
    let cases = printed.strip_prefix(b"0| ").and_then(|line| serde_json::from_slice(line).ok());
    let Some(cases) = cases.filter(|_| outcome.status() == OK) else {
        writeln!(err, "netloom: the benchmark failed: {outcome}")?;
        return Ok(FAILED);
    };
    let (ucx, ucx_skipped) = match ucx::run(cores, args.quick) {
        Ok(cases) => (cases, None),
        Err(reason) => (vec![], Some(reason)),
    };
    let figures = Figures { cores, cases, ucx, ucx_skipped };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &figures).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&figures))?;
    }
    Ok(OK)
}

/// The figures as a table, for people.
fn table(figures: &Figures) -> String {
    let head = ["what", "bytes", "measured", "unit", "hardware", "ratio"].map(str::to_owned);
    let rows = figures.cases.iter().chain(&figures.ucx).map(|case| {
        let number = |value: Option<f64>| value.map_or(String::new(), scaled);
        vec![
            case.name.clone(),
            case.bytes.to_string(),
            scaled(case.value),
            case.unit.clone(),
            number(case.reference),
            case.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
        ]
    });
    let mut text = aligned(&head, &rows.collect::<Vec<_>>());
    if let Some(reason) = &figures.ucx_skipped {
        text += &format!("\nWithout figures of UCX: {reason}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_two_of_those_that_are_allowed() {
        assert_eq!(choose(None, &[1, 5, 7]).unwrap(), [1, 5]);
        assert_eq!(choose(Some([7, 1]), &[1, 5, 7]).unwrap(), [7, 1]);
        let refused = choose(Some([0, 1]), &[1, 2, 3, 7]).unwrap_err().render(false);
        assert!(refused.contains("may not use core 0") && refused.contains("1-3,7"), "{refused}");
        assert!(choose(None, &[3]).unwrap_err().render(false).contains("one core only"));
    }
}
