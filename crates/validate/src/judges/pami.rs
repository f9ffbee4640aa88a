//! The PAMI paper: studies in `studies/pami/`.

use super::bgq::measured_of;
use super::runs::StudyFile;
use super::{Bench, Finding, Judge};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;
use netloom_study::result::MeasuredTable;

macro_rules! study {
    ($name:literal) => {
        (
            concat!("studies/pami/", $name, ".toml"),
            include_str!(concat!("../../../../studies/pami/", $name, ".toml")),
        )
    };
}

/// The studies of each table: path and TOML text.
pub const STUDIES: &[(&str, &[(&str, &str)])] = &[
    ("pami.table1_pami_latency", &[study!("latency")]),
    ("pami.table3_neighbour_throughput", &[study!("neighbours")]),
    (
        "pami.message_rate",
        &[study!("message-rate"), study!("mpi-message-rate"), study!("mpi-message-rate-threads")],
    ),
    ("pami.barrier", &[study!("barrier")]),
    ("pami.allreduce_latency", &[study!("allreduce-latency")]),
    ("pami.allreduce_throughput", &[study!("allreduce-throughput")]),
    ("pami.broadcast_throughput", &[study!("broadcast-throughput")]),
    ("pami.projection_96_racks", &[study!("projection")]),
    ("pami.rectangle_broadcast", &[study!("rectangle-broadcast")]),
    ("pami.table2_mpi_latency", &[study!("mpi-latency")]),
    ("pami.message_rate_gain", &[study!("mpi-message-rate-threads")]),
];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "pami.table1_pami_latency", judge: latency },
        Judge { table: "pami.table3_neighbour_throughput", judge: neighbours },
        Judge { table: "pami.message_rate", judge: message_rate },
        Judge { table: "pami.barrier", judge: |bench| collective(bench, 3, "time us", "latency_us") },
        Judge {
            table: "pami.allreduce_latency",
            judge: |bench| collective(bench, 4, "time us", "latency_us"),
        },
        Judge { table: "pami.allreduce_throughput", judge: |bench| throughput(bench, 5) },
        Judge { table: "pami.broadcast_throughput", judge: |bench| throughput(bench, 6) },
        Judge { table: "pami.projection_96_racks", judge: projection },
        Judge { table: "pami.rectangle_broadcast", judge: rectangle },
        Judge { table: "pami.table2_mpi_latency", judge: mpi_latency },
        Judge { table: "pami.message_rate_gain", judge: message_rate_gain },
    ]
}

/// The tables that the points of the first study of the table at this place measured, and where they ran.
fn tables(bench: &Bench, table: usize) -> Result<(Vec<MeasuredTable>, String), Problem> {
    let (path, text) = STUDIES[table].1[0];
    let file = StudyFile::read(path, text, bench.quick)?;
    let tables = file.points.iter().map(|point| measured_of(bench, &point.study, path));
    Ok((tables.collect::<Result<_, _>>()?, reported(&file)))
}

/// What the first study of the table at this place has instead of what the paper had, if it is something else.
fn proxy(bench: &Bench, table: usize) -> Result<Option<String>, Problem> {
    let (path, text) = STUDIES[table].1[0];
    Ok(StudyFile::read(path, text, bench.quick)?.proxy)
}

/// Where a study ran.
fn reported(file: &StudyFile) -> String {
    format!("{}, {}", file.name, file.study.machine.shape())
}

/// What a point of a study measured, the others of which are not run, and where it ran. The name of a point
/// is that of its parameters; of a study without a sweep, the study's.
fn at_point(
    bench: &Bench,
    (path, text): (&'static str, &str),
    name: &str,
    column: &str,
) -> Result<(f64, String), Problem> {
    let file = StudyFile::read(path, text, bench.quick)?;
    let point = file.points.iter().find(|point| point.name == name);
    let point = point.ok_or_else(|| Problem::new(format!("{path} has no point {name}")))?;
    let table = measured_of(bench, &point.study, path)?;
    Ok((value(&table, column).unwrap_or(f64::NAN), reported(&file)))
}

/// The rows of the only one.
fn rows(bench: &Bench, table: usize) -> Result<(Vec<Vec<f64>>, String), Problem> {
    let (tables, reported) = tables(bench, table)?;
    Ok((tables.into_iter().flat_map(|table| table.rows).collect(), reported))
}

/// The value of a column in the first row of a table.
fn value(table: &MeasuredTable, column: &str) -> Option<f64> {
    let place = table.columns.iter().position(|c| c.heading() == column)?;
    table.rows.first()?.get(place).copied()
}

/// Measurements of a table's study with right data: wrong data is no measurement.
fn checked<'a>(measured: &'a MeasuredTable, name: &str) -> Result<&'a MeasuredTable, Problem> {
    match value(measured, "wrong words") {
        Some(wrong) if wrong > 0.0 => Err(Problem::new(format!("{name}: tasks got wrong data"))),
        _ => Ok(measured),
    }
}

/// Collective operations, by processes per node.
fn collective(bench: &Bench, table: usize, column: &str, published: &str) -> Result<Vec<Finding>, Problem> {
    let (tables, reported) = tables(bench, table)?;
    let (name, proxy) = (STUDIES[table].0, proxy(bench, table)?);
    let figure = |measured: &MeasuredTable| {
        let measured = checked(measured, name)?;
        let processes = value(measured, "processes").unwrap_or_default();
        let id = format!("{name}[{processes}].{published}");
        let found = value(measured, column).unwrap_or(f64::NAN);
        Ok(Finding::figure(id, found, &reported, Evidence::Run).instead(proxy.clone()))
    };
    tables.iter().map(figure).collect()
}

fn throughput(bench: &Bench, table: usize) -> Result<Vec<Finding>, Problem> {
    collective(bench, table, "throughput MB/s", "throughput_MB_per_s")
}

/// The largest machine: a barrier, then an allreduce.
fn projection(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (tables, reported) = tables(bench, 7)?;
    let columns = ["barrier_us", "allreduce_us"];
    let figure = |(measured, column): (&MeasuredTable, &str)| {
        let time_us = value(measured, "time us").unwrap_or(f64::NAN);
        Finding::figure(format!("pami.projection_96_racks.{column}"), time_us, &reported, Evidence::Run)
    };
    Ok(tables.iter().zip(columns).map(figure).collect())
}

/// The broadcast over all links.
fn rectangle(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (tables, reported) = tables(bench, 8)?;
    let proxy = proxy(bench, 8)?;
    let figure = |measured: &MeasuredTable| {
        let id = "pami.rectangle_broadcast.throughput_GB_per_s";
        let throughput = value(measured, "throughput MB/s").unwrap_or(f64::NAN) / 1e3;
        Ok(Finding::figure(id, throughput, &reported, Evidence::Run).instead(proxy.clone()))
    };
    tables.iter().map(|measured| checked(measured, STUDIES[8].0).and_then(figure)).collect()
}

/// Table 1: by call.
pub(super) fn latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = rows(bench, 0)?;
    let figure = |row: &Vec<f64>, (place, call): (usize, &str)| {
        let id = format!("pami.table1_pami_latency[{call}].latency_us");
        Finding::figure(id, row[place], &reported, Evidence::Run)
    };
    let calls = [(1, "PAMI_Send_immediate"), (2, "PAMI_Send")];
    Ok(rows.iter().flat_map(|row| calls.map(|call| figure(row, call))).collect())
}

/// Table 2: by the library, its thread level and communication threads.
fn mpi_latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let study = STUDIES[9].1[0];
    let mut findings = vec![];
    for locking in ["classic", "thread-optimised"] {
        for (threads, row) in
            [("single", "single/false"), ("multiple", "multiple/false"), ("communication", "multiple/true")]
        {
            let point = format!("locking={locking},threads={threads}");
            let (latency_us, reported) = at_point(bench, study, &point, "latency us")?;
            let id = format!("pami.table2_mpi_latency[{locking}/{row}].latency_us");
            findings.push(Finding::figure(id, latency_us, reported, Evidence::Run));
        }
    }
    Ok(findings)
}

/// Table 3: eager, then rendezvous, by the number of neighbours.
fn neighbours(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (tables, reported) = tables(bench, 1)?;
    let columns = ["eager_MB_per_s", "rendezvous_MB_per_s"];
    let figures = tables.iter().zip(columns).flat_map(|(table, column)| {
        let figure = |row: &Vec<f64>| {
            let id = format!("pami.table3_neighbour_throughput[{}].{column}", row[0]);
            Finding::figure(id, row[1], &reported, Evidence::Run)
        };
        table.rows.iter().map(figure).collect::<Vec<_>>()
    });
    Ok(figures.collect())
}

/// The point of `mpi-message-rate-threads` with communication threads and this number of processes a node.
fn with_communication_threads(processes: u32) -> String {
    format!("locking=thread-optimised,threads=communication,processes={processes}")
}

const RATE: &str = "rate million/s";

/// Figure 5: PAMI's own rate; MPI's, classic with 32 processes, and thread-optimised with 16 and
/// communication threads.
fn message_rate(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let [pami, mpi, threads] = [0, 1, 2].map(|study| STUDIES[2].1[study]);
    let mut findings = vec![];
    for (row, study, point) in [
        ("PAMI/32", pami, "message-rate".to_owned()),
        ("MPI/32", mpi, "mpi-message-rate".to_owned()),
        ("MPI/16", threads, with_communication_threads(16)),
    ] {
        let (rate, reported) = at_point(bench, study, &point, RATE)?;
        let id = format!("pami.message_rate[{row}].rate_million_per_s");
        findings.push(Finding::figure(id, rate, reported, Evidence::Run));
    }
    Ok(findings)
}

/// Figure 5: one process a node, the thread-optimised library with communication threads against the classic
/// one without.
fn message_rate_gain(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let study = STUDIES[10].1[0];
    let (without, reported) = at_point(bench, study, "locking=classic,threads=single,processes=1", RATE)?;
    let gain = at_point(bench, study, &with_communication_threads(1), RATE)?.0 / without;
    Ok(vec![Finding::figure("pami.message_rate_gain.times", gain, reported, Evidence::Run)])
}
