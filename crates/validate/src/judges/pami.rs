//! The PAMI paper: studies in `studies/pami/`. Rows that need MPI, and those of collectives, are not run yet.

use super::bgq::measured_by;
use super::{Bench, Finding, Judge};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;

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
    ("pami.message_rate", &[study!("message-rate")]),
];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "pami.table1_pami_latency", judge: latency },
        Judge { table: "pami.table3_neighbour_throughput", judge: neighbours },
        Judge { table: "pami.message_rate", judge: message_rate },
    ]
}

/// The rows that the only study of the table at this place measured, and where it ran.
fn rows(bench: &Bench, table: usize) -> Result<(Vec<Vec<f64>>, String), Problem> {
    let (table, reported) = measured_by(bench, STUDIES[table].1[0])?;
    Ok((table.rows, reported))
}

/// Table 1: by call.
fn latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = rows(bench, 0)?;
    let figure = |row: &Vec<f64>, (place, call): (usize, &str)| {
        let id = format!("pami.table1_pami_latency[{call}].latency_us");
        Finding::figure(id, row[place], &reported, Evidence::Run)
    };
    let calls = [(1, "PAMI_Send_immediate"), (2, "PAMI_Send")];
    Ok(rows.iter().flat_map(|row| calls.map(|call| figure(row, call))).collect())
}

/// Table 3: by the number of neighbours.
fn neighbours(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = rows(bench, 1)?;
    let figure = |row: &Vec<f64>, (place, column): (usize, &str)| {
        let id = format!("pami.table3_neighbour_throughput[{}].{column}", row[0]);
        Finding::figure(id, row[place], &reported, Evidence::Run)
    };
    let columns = [(1, "eager_MB_per_s"), (2, "rendezvous_MB_per_s")];
    Ok(rows.iter().flat_map(|row| columns.map(|column| figure(row, column))).collect())
}

/// Figure 5, PAMI's own rate.
fn message_rate(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = rows(bench, 2)?;
    let figure = |row: &Vec<f64>| {
        let id = "pami.message_rate[PAMI/32].rate_million_per_s";
        Finding::figure(id, row[1], &reported, Evidence::Run)
    };
    Ok(rows.iter().map(figure).collect())
}
