//! `netloom studies`: the built-in studies, a line each.

use netloom_report::text_table::aligned;
use netloom_study::diagnose::Problem;
use netloom_study::library::STUDIES;
use netloom_study::resolve::{ResolvedStudy, load};
use serde::Serialize;

/// A built-in study, as it is listed.
#[derive(Serialize)]
pub struct Listed {
    /// Its name, by which it is run.
    pub name: &'static str,
    /// Its machine.
    pub machine: String,
    /// Points of its sweep; 1 of a single run.
    pub points: usize,
    /// Its description.
    pub title: String,
}

impl Listed {
    fn new(name: &'static str, study: &ResolvedStudy) -> Self {
        let points = study.axes.iter().map(|axis| axis.values.len()).product();
        let is_swept = study.axes.iter().any(|axis| axis.path == "machine");
        let machine = if is_swept { "several".into() } else { study.machine.name().to_owned() };
        Listed { name, machine, points, title: study.heading() }
    }
}

/// All of them, in the order of their names.
///
/// # Errors
/// What is wrong with one, which the tests exclude.
pub fn list() -> Result<Vec<Listed>, Problem> {
    STUDIES.iter().map(|&(name, _)| Ok(Listed::new(name, &load(name, &[])?))).collect()
}

/// As a table.
pub fn table(all: &[Listed]) -> String {
    let head = ["name", "machine", "runs", "what it is about"].map(String::from);
    let row = |study: &Listed| {
        vec![study.name.into(), study.machine.clone(), study.points.to_string(), study.title.clone()]
    };
    aligned(&head, &all.iter().map(row).collect::<Vec<_>>())
}
