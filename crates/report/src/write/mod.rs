//! A run's folder: `summary.json`, `study.toml` to repeat it, tables as Parquet, plots as SVG, and
//! `report.html`.

mod bars;
mod cells;
pub mod chart;
pub mod colour;
pub mod curves;
pub mod dictionary;
pub mod directions;
pub mod groups;
mod histogram;
pub mod levels;
pub mod links;
mod matrix;
pub mod measured;
pub mod page;
mod reordering;
pub mod report;
pub mod summary;
pub mod svg;
pub mod tables;
pub mod timeline;

use crate::claims::Judged;
use crate::folder::own_number;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use std::fs;
use std::path::Path;

/// The file of a timeline.
pub const TIMELINE: &str = "timeline.json";

/// A drawing and what stands beneath it.
#[derive(Clone, Debug)]
pub struct Plot {
    /// File name without `.svg`.
    pub name: String,
    /// A caption.
    pub caption: String,
    /// The drawing.
    pub svg: String,
    /// What it is drawn from, for the page's script; `None` for drawings that are no curves.
    pub data: Option<serde_json::Value>,
}

impl Plot {
    /// A chart of curves.
    pub fn of(name: String, caption: String, chart: chart::Chart) -> Plot {
        Plot { name, caption, svg: chart.svg(), data: chart.data() }
    }

    /// A drawing that is no chart of curves.
    pub fn drawn(name: &str, caption: String, svg: String) -> Plot {
        Plot { name: name.to_owned(), caption, svg, data: None }
    }
}

/// All drawings of a result.
pub fn plots(study: &ResolvedStudy, result: &RunResult) -> Vec<Plot> {
    let mut plots: Vec<Plot> = result.measured.iter().flat_map(measured::plots).collect();
    plots.extend(curves::plots(result));
    plots.extend(histogram::plot(&result.latency));
    plots.extend(result.switched.iter().filter_map(|s| reordering::plot(s.reordering.as_ref()?)));
    if let Some(torus) = study.network.torus() {
        plots.extend(directions::plot(&torus.topology.dims, &result.per_link));
        plots.extend(links::plots(&torus.topology.dims, &result.per_link));
    }
    if let Some(machine) = study.machine.switched() {
        plots.extend(groups::plots(&machine.topology, &result.ports));
        plots.extend(levels::plots(&machine.topology, &study.switched().wiring, &result.ports));
    }
    with_names_of_their_own(&mut plots);
    plots
}

/// Numbers the drawings that have the name of an earlier one, such as a program's latency beside that of
/// packets over time.
fn with_names_of_their_own(plots: &mut [Plot]) {
    for i in 0..plots.len() {
        let before = plots[..i].iter().filter(|p| p.name == plots[i].name).count();
        if before > 0 {
            plots[i].name = format!("{}-{}", plots[i].name, before + 1);
        }
    }
}

/// A study as one TOML file that repeats its run and judges its claims again.
fn complete(study: &ResolvedStudy) -> String {
    // That there was a sweep is kept: its claims may ask for more than one point.
    let sweep = if study.has_sweep && !study.claims.is_empty() { "\n[sweep]\n" } else { "" };
    study.to_toml() + sweep + &study.claims_to_toml()
}

/// Whether a folder has the result of a run of this study that was interrupted.
pub fn has_interrupted(folder: &Path, study: &ResolvedStudy) -> bool {
    let summary = std::fs::read(folder.join("summary.json")).ok();
    let summary = summary.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    summary.is_some_and(|summary| {
        let is_of_study = summary["configuration"]["name"] == study.study.name.as_str();
        is_of_study && summary["simulated"]["ended"] == "interrupted"
    })
}

/// The files of a run with their names, the most important first.
///
/// # Errors
/// None that the tables of a run can cause.
pub fn files(
    study: &ResolvedStudy,
    result: &RunResult,
    claims: &[Judged],
    plots: &[Plot],
) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let mut files = vec![
        ("summary.json".to_owned(), summary::to_json(study, result, claims).into_bytes()),
        ("study.toml".to_owned(), complete(study).into_bytes()),
    ];
    for (name, table) in tables::tables(result) {
        files.push((name.to_owned(), table.to_parquet()?));
    }
    if let Some(timeline) = &result.timeline {
        files.push((TIMELINE.to_owned(), timeline::to_json(timeline).into_bytes()));
    }
    files.push(("report.html".to_owned(), report::to_html(study, result, plots, claims).into_bytes()));
    files.extend(plots.iter().map(|plot| (format!("{}.svg", plot.name), plot.svg.clone().into_bytes())));
    Ok(files)
}

/// Writes everything about a run into a folder, creating it. Each file is complete or absent: it is written
/// beside its place and moved there.
///
/// # Errors
/// File system errors.
pub fn write_all(
    folder: &Path,
    study: &ResolvedStudy,
    result: &RunResult,
    claims: &[Judged],
) -> Result<(), Problem> {
    write_files(folder, &files(study, result, claims, &plots(study, result))?)
}

/// Writes the [`files`] of a run into a folder, creating it, in the place of those of an earlier run.
///
/// # Errors
/// File system errors.
pub fn write_files(folder: &Path, contents: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    let context = |e: std::io::Error| Problem::new(format!("cannot write to {}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(context)?;
    // What an earlier run of another shape would leave among these.
    for stale in [
        TIMELINE,
        "links.parquet",
        "reordering.parquet",
        "reordering.svg",
        "links-between-groups.svg",
        "links-of-a-group.svg",
        "links-by-level.svg",
        "links-by-load.svg",
        "links-by-direction.svg",
        "links-x.svg",
        "links-y.svg",
        "links-z.svg",
        "links-u.svg",
        "links-v.svg",
    ] {
        match fs::remove_file(folder.join(stale)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(context(e)),
            _ => {}
        }
    }
    let mut files = Files::of(folder);
    contents.iter().for_each(|(name, bytes)| files.put(name, bytes));
    files.finish()
}

/// The files of a folder, written one by one: where one cannot be written, others may be, since they are
/// smaller or since there is room again.
pub struct Files<'a> {
    folder: &'a Path,
    /// Whether others may write the same files at the same time.
    is_shared: bool,
    failed: Vec<String>,
}

impl<'a> Files<'a> {
    /// Those of a folder.
    pub fn of(folder: &'a Path) -> Self {
        Files { folder, is_shared: false, failed: vec![] }
    }

    /// The same of a folder in which others may write the same files at the same time.
    pub fn of_shared(folder: &'a Path) -> Self {
        Files { is_shared: true, ..Files::of(folder) }
    }

    /// Writes one file whole, or remembers why it could not be written.
    pub fn put(&mut self, name: &str, bytes: &[u8]) {
        let beside = match self.is_shared {
            true => format!(".{name}-{}.part", own_number()),
            false => format!(".{name}.part"),
        };
        if let Err(e) = put_through(&beside, self.folder, name, bytes) {
            self.failed.push(format!("{}: {e}", self.folder.join(name).display()));
        }
    }

    /// Whether all were written.
    ///
    /// # Errors
    /// The first that could not be written, by its path, and how many others could not.
    pub fn finish(self) -> Result<(), Problem> {
        let Some(first) = self.failed.first() else { return Ok(()) };
        let others = match self.failed.len() - 1 {
            0 => String::new(),
            n => format!("; nor {n} other files of this folder"),
        };
        Err(Problem::new(format!("cannot write {first}{others}"))
            .help("make room there, or give another folder with --out DIR, and run it again"))
    }
}

/// Writes one file whole.
///
/// # Errors
/// File system errors.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    put_through(&format!(".{name}.part"), folder, name, bytes)
}

fn put_through(beside: &str, folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let beside = folder.join(beside);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, folder.join(name)));
    if written.is_err() {
        // Half a file is of no use, and takes room that others need.
        let _ = fs::remove_file(&beside);
    }
    written
}
