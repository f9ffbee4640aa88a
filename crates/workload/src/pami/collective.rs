//! Collective operations by the collective network (Kumar et al., section V, Figures 6 to 9): all tasks of
//! the machine take part, again and again, and check what they get.

use super::{check_collective, refuse, values};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::collective::Operation;
use netloom_fabric::config::ConfigError;
use netloom_messaging::pami::Placement;
use netloom_messaging::pami::device::{Collective as What, Combine, Range};
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A benchmark of a collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Collective {
    /// The operation.
    pub operation: Kind,
    /// Processes of each node.
    pub processes: u32,
    /// Data of an allreduce or a broadcast, bytes: a multiple of 8.
    pub bytes: u64,
    /// Operations that are measured, one after the other.
    pub rounds: u32,
    /// Operations before them that are not.
    pub warm_up: u32,
    /// How much of the data is numbers other than zero, which are checked, bytes.
    pub checked_B: u64,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All wait for each other.
    #[default]
    Barrier,
    /// Sums of doubles.
    Allreduce,
    /// The data of the first task goes to all, over the collective network.
    Broadcast,
    /// The same by edge-disjoint spanning trees, over all links at once.
    RectangleBroadcast,
}

impl Default for Collective {
    fn default() -> Self {
        Collective {
            operation: Kind::Barrier,
            processes: 1,
            bytes: 8,
            rounds: 10,
            warm_up: 1,
            checked_B: 4096,
        }
    }
}

impl Collective {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_collective(self.processes, self.rounds)?;
        if self.operation != Kind::Barrier && (self.bytes == 0 || !self.bytes.is_multiple_of(8)) {
            return refuse("bytes", "expected a multiple of 8 bytes, at least 8");
        }
        Ok(())
    }

    /// Bytes that are checked.
    fn checked_bytes(&self) -> u64 {
        self.bytes.min(self.checked_B) / 8 * 8
    }
}

/// The group of all tasks.
const CLASS: u8 = 0;
/// What a task measures: its time, and wrong words.
const TIME: u64 = 0;
const WRONG: u64 = 1;

/// A task's addend for word `i`, small enough for any sum to be exact.
fn term(task: u32, i: u64) -> f64 {
    f64::from(task) + (3 * i % 1009) as f64
}

pub(super) async fn run(mut task: Task, config: Collective, placement: &Placement, members: &Members) {
    let group = task.join(members, CLASS);
    let [source, target] = [(); 2].map(|()| task.allocate(config.bytes));
    let words = config.checked_bytes() / 8;
    let number = task.number();
    let is_sender = !matches!(config.operation, Kind::Broadcast | Kind::RectangleBroadcast) || number == 0;
    if is_sender {
        let data: Vec<u8> = (0..words).flat_map(|i| term(number, i).to_be_bytes()).collect();
        task.store(source.address, &data);
    }
    let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
    let operation = match config.operation {
        Kind::Barrier => What::Barrier,
        Kind::Allreduce => What::Allreduce { source, target, combine },
        Kind::Broadcast => What::Broadcast { root: 0, data: source },
        Kind::RectangleBroadcast => What::Rectangle { root: 0, data: source },
    };
    for _ in 0..config.warm_up {
        task.collective(group, operation).await;
    }
    task.done().await;
    let begin = task.now();
    for _ in 0..config.rounds {
        task.collective(group, operation).await;
    }
    task.measure(TIME, task.now() - begin);
    let tasks = f64::from(placement.tasks);
    let (expected, at): (Vec<f64>, Range) = match config.operation {
        Kind::Barrier => return,
        Kind::Allreduce => {
            let sum = |i| tasks * (tasks - 1.0) / 2.0 + tasks * term(0, i);
            ((0..words).map(sum).collect(), target)
        }
        Kind::Broadcast | Kind::RectangleBroadcast => ((0..words).map(|i| term(0, i)).collect(), source),
    };
    let got = task.load(Range { bytes: 8 * words, ..at });
    let is_wrong = |(bytes, want): &(&[u8], &f64)| *bytes != want.to_be_bytes();
    let wrong = got.chunks_exact(8).zip(&expected).filter(is_wrong).count();
    task.measure(WRONG, wrong as u64);
}

pub(super) fn measured(config: &Collective, measurements: &Measurements, tick_ns: f64) -> Measured {
    let longest = values(measurements, TIME).into_iter().fold(0.0, f64::max);
    let time_us = longest / f64::from(config.rounds) * tick_ns / 1e3;
    let (mut by, mut figures) = (vec![("processes", "")], vec![("time", "us")]);
    let mut row = vec![f64::from(config.processes)];
    if config.operation == Kind::Barrier {
        row.push(time_us);
    } else {
        let wrong =
            measurements.iter().flat_map(|n| &n.2).filter(|n| n.key == WRONG).map(|n| n.value).sum::<u64>();
        by.push(("data", "B"));
        figures.extend([("throughput", "MB/s"), ("wrong words", "")]);
        row.extend([config.bytes as f64, time_us, config.bytes as f64 / time_us, wrong as f64]);
    }
    let title = match config.operation {
        Kind::Barrier => "Barrier",
        Kind::Allreduce => "Allreduce",
        Kind::Broadcast => "Broadcast",
        Kind::RectangleBroadcast => "Rectangle broadcast",
    };
    Measured { title: title.into(), columns: columns(&by, &figures), rows: vec![row] }
}
