//! The results in a folder, as lists of settings and figures.

use netloom_study::diagnose::Problem;
use netloom_study::result::RunResult;
use serde_json::Value;
use std::path::Path;

/// The result of a run, or of a point of a sweep.
#[derive(Debug)]
pub struct Stored {
    /// The name of the point; empty of a run.
    pub point: String,
    /// The configuration: paths and values.
    pub settings: Vec<(String, String)>,
    /// Figures: paths and values.
    pub figures: Vec<(String, f64)>,
    /// Half widths of the 95% confidence intervals of some of the figures.
    pub half_widths: Vec<(String, f64)>,
}

/// Parts of a summary that are not results: what was asked for, and what depends on the computer.
const NOT_FIGURES: [&str; 13] = [
    "format",
    "version",
    "configuration",
    "title",
    "seed",
    "host",
    "measured",
    "confidence",
    "claims",
    "warnings",
    "stall",
    "limits",
    "busiest_links",
];

/// Reads the results of a run's folder, a sweep's folder or a `summary.json`.
///
/// # Errors
/// A path that is none of these; a summary that cannot be read.
pub fn read(path: &Path) -> Result<Vec<Stored>, Problem> {
    if path.is_file() {
        return Ok(vec![stored(path, String::new())?]);
    }
    let summary = path.join("summary.json");
    if summary.is_file() {
        return Ok(vec![stored(&summary, String::new())?]);
    }
    let no_result = || {
        Problem::new(format!("{} holds no result", path.display()))
            .help("give a folder that `netloom run` or `netloom sweep` has written, or a summary.json")
    };
    let points = std::fs::read_dir(path.join("points")).map_err(|_| no_result())?;
    let mut all = vec![];
    for point in points.flatten() {
        let summary = point.path().join("summary.json");
        if summary.is_file() {
            all.push(stored(&summary, point.file_name().to_string_lossy().into_owned())?);
        }
    }
    all.sort_by(|a, b| a.point.cmp(&b.point));
    if all.is_empty() { Err(no_result()) } else { Ok(all) }
}

fn stored(path: &Path, point: String) -> Result<Stored, Problem> {
    let wrong = |e: &dyn std::fmt::Display| {
        Problem::new(format!("cannot read the result {}: {e}", path.display()))
            .help("it must be a summary.json of this version of netloom: run the study again")
    };
    let bytes = std::fs::read(path).map_err(|e| wrong(&e))?;
    let summary: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&e))?;
    let result: RunResult = serde_json::from_slice(&bytes).map_err(|e| wrong(&e))?;
    let mut settings = vec![];
    flatten("", summary.get("configuration").unwrap_or(&Value::Null), &mut |path, value| {
        settings.push((path.to_owned(), value.to_string()));
    });
    let mut figures = vec![];
    for (part, value) in summary.as_object().into_iter().flatten() {
        if !NOT_FIGURES.contains(&part.as_str()) {
            flatten(part, value, &mut |path, value| {
                figures.extend(value.as_f64().map(|x| (path.to_owned(), x)))
            });
        }
    }
    let measured = result.measured_figures();
    figures.extend(measured.into_iter().map(|(key, value)| (format!("measured.{key}"), value)));
    Ok(Stored { point, settings, figures, half_widths: half_widths(&result) })
}

/// The figures whose confidence intervals a run reports.
fn half_widths(result: &RunResult) -> Vec<(String, f64)> {
    let mut all = vec![];
    let mean = result.links.mean_utilization;
    // The interval is that of the links' mean, unless the run was measured by another quantity.
    if let Some(confidence) =
        result.confidence.as_ref().filter(|c| (c.mean - mean).abs() <= 1e-3 * mean.abs())
    {
        all.push(("links.mean_utilization".into(), confidence.half_width_95));
    }
    if let Some(half) = result.throughput.as_ref().and_then(|t| t.accepted_half_width_95) {
        all.push(("throughput.accepted".into(), half));
    }
    all
}

/// Calls `f` with each value that is no table, by its path. Lists of plain values are one value; of other
/// lists each element is a path.
fn flatten(path: &str, value: &Value, f: &mut impl FnMut(&str, &Value)) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| flatten(&join(name), value, f)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (at, item) in items.iter().enumerate() {
                let name = item.get("name").or_else(|| item.get("direction")).and_then(Value::as_str);
                flatten(&join(&name.map_or(at.to_string(), str::to_owned)), item, f);
            }
        }
        _ => f(path, value),
    }
}
