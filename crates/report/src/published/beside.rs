//! Published figures beside what a program measures: the tables that studies name under `published`, looked
//! up.

use super::{Entry, published};
use netloom_fabric::config::ConfigError;
use netloom_study::diagnose::Problem;
use netloom_study::published::Beside;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{PublishedCurve, RunResult};
use netloom_study::run::{Checkpoints, ProgressSink, Simulate};

/// A simulator whose results show the published figures that a study names beside those that its program
/// measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithPublished<S>(pub S);

impl<S: Simulate> Simulate for WithPublished<S> {
    fn run(
        &self,
        study: &ResolvedStudy,
        checkpoints: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        let run = || self.0.run(study, checkpoints, progress, threads);
        let Some(beside) = &study.study.published else { return run() };
        check(beside).map_err(|e| study.impossible(e))?;
        let mut result = run()?;
        let curves = curves(beside);
        result.measured.iter_mut().for_each(|table| table.published.clone_from(&curves));
        Ok(result)
    }
}

/// Checks that the table and its columns exist.
///
/// # Errors
/// The unknown table or column, and the known ones.
fn check(beside: &Beside) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: String| Err(ConfigError { key: format!("published.{key}"), message });
    let all = published().unwrap_or_default();
    let of_table: Vec<&Entry> = all.iter().filter(|e| e.table == beside.table).collect();
    if of_table.is_empty() {
        let mut tables: Vec<&str> = all.iter().map(|e| e.table.as_str()).collect();
        tables.dedup();
        // Those of the paper, if it is one of the papers'.
        let paper = beside.table.split('.').next().unwrap_or_default();
        if tables.iter().any(|t| t.split('.').next() == Some(paper)) {
            tables.retain(|t| t.split('.').next() == Some(paper));
        }
        let list = tables.join(", ");
        return refuse("table", format!("expected one of {list}; found \"{}\"", beside.table));
    }
    for quantity in beside.columns.values() {
        if of_table.iter().all(|e| e.quantity != *quantity) {
            let mut there: Vec<&str> = of_table.iter().map(|e| e.quantity.as_str()).collect();
            there.sort_unstable();
            there.dedup();
            let message =
                format!("expected columns of {}: {}; found \"{quantity}\"", beside.table, there.join(", "));
            return refuse("columns", message);
        }
    }
    Ok(())
}

/// The published points, by the program's columns.
fn curves(beside: &Beside) -> Vec<PublishedCurve> {
    let all = published().unwrap_or_default();
    let of = |(column, quantity): (&String, &String)| {
        let entries = all.iter().filter(|e| e.table == beside.table && e.quantity == *quantity);
        let point = |e: &Entry| Some((row(&e.id)? * beside.row_scale, e.published.as_ref()?.number()?));
        PublishedCurve { column: column.clone(), points: entries.filter_map(point).collect() }
    };
    beside.columns.iter().map(of).collect()
}

/// The key of an entry's row, as a number: of `bgq.table[4096].column`, 4096.
fn row(id: &str) -> Option<f64> {
    let (_, rest) = id.split_once('[')?;
    rest.split_once(']')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(table: &str, quantity: &str) -> Beside {
        let columns = [("hardware ns".to_owned(), quantity.to_owned())].into();
        Beside { table: table.into(), row_scale: 2.0, columns }
    }

    #[test]
    fn points_come_from_the_table() {
        let curves = curves(&beside("bgq.table1_ping_pong", "hardware_ns"));
        assert_eq!(curves[0].points[..2], [(2.0, 622.0), (4.0, 671.0)]);
        assert_eq!(curves[0].points.len(), 13);
    }

    #[test]
    fn unknown_entries_are_reported() {
        assert!(check(&beside("bgq.table1_ping_pong", "hardware_ns")).is_ok());
        let reported = check(&beside("bgq.table9", "x")).expect_err("none").message;
        assert!(reported.contains("bgq.table1_ping_pong") && !reported.contains("bgl."), "{reported}");
        let reported = check(&beside("bgq.table1_ping_pong", "x")).expect_err("none").message;
        assert!(reported.contains("hardware_and_software_ns"), "{reported}");
    }
}
