//! The layers of a study: its file, its machine, its `[set]` table and `--set` flags, each laid over the one
//! before.

use super::axes::{CURVE, Side, axes_of, flatten, side};
use super::expectations;
use super::finish::{checked_machine, finish};
use super::flag_files::relative_to_study;
use super::mistakes::{not_a, not_of_a_study, unknown};
use super::sweep_tables::{self, PlotConfig};
use super::{MachineLayers, ResolvedStudy};
use crate::claims;
use crate::diagnose::{Problem, SourceFile};
use crate::keys;
use crate::library;
use crate::machine::{Machine, Rounding, machine_source, roundings};
use crate::renamed;
use crate::tree::{Entry, Tree, Value, entry_at, parse_set};
use std::path::Path;

/// Reads a study from a file, or a built-in one by its name.
///
/// # Errors
/// Errors of the study, its machine, or a flag, with their places.
pub fn load(path_or_name: &str, sets: &[String]) -> Result<ResolvedStudy, Problem> {
    let path = Path::new(path_or_name);
    if let Some((name, text)) = library::text_of(path_or_name).filter(|_| !path.is_file()) {
        let file = SourceFile::new(format!("studies/{name}.toml (built in)"), text);
        return resolve(file, Path::new("."), sets);
    }
    let text = std::fs::read_to_string(path).map_err(|e| {
        let similar = library::similar(path_or_name);
        let help = match similar[..] {
            [] => "give the path of a study's TOML file, or a name from `netloom studies`".to_owned(),
            _ => format!("did you mean `{}`?", similar.join("` or `")),
        };
        Problem::new(format!("cannot read the study {path_or_name}: {e}")).help(help)
    })?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    resolve(SourceFile::new(path_or_name, text), directory, sets)
}

/// Reads a study from its text.
///
/// # Errors
/// Errors of the study, its machine, or a flag, with their places.
pub fn resolve(
    file: std::sync::Arc<SourceFile>,
    directory: &Path,
    sets: &[String],
) -> Result<ResolvedStudy, Problem> {
    let mut study_tree = Tree::parse(&file)?;
    // Invalid values are removed, so that other problems can be found in the same pass.
    let mut problems = renamed::take(&mut study_tree);
    if let Value::Table(entries) = &mut study_tree.value {
        entries.retain(|entry| {
            let is_known = keys::study_keys().contains(&entry.key.as_str());
            problems.extend((!is_known).then(|| not_of_a_study(entry)));
            is_known
        });
    }
    let mut machine_sets = Vec::new();
    for flag in sets {
        let entry = parse_set(flag)
            .and_then(|entry| relative_to_study(entry, directory))
            .and_then(renamed::check_entry);
        match entry.and_then(|entry| Ok((side(&entry)?, entry))) {
            Ok((Side::Study, entry)) => study_tree.lay(&entry),
            Ok((Side::Machine, entry)) => machine_sets.push(entry),
            Err(problem) => problems.push(problem),
        }
    }
    match layered(study_tree, machine_sets, directory) {
        Ok(study) => Problem::of_all(problems).map_or(Ok(study), Err),
        Err(problem) if problems.is_empty() => Err(problem),
        Err(problem) => {
            // A key may be missing because it has been removed.
            problems.extend(problem.without_missing());
            Err(Problem::of_all(problems).expect("there is one"))
        }
    }
}

/// The study of a file's tree with the flags that change it laid over it, and those that change its machine.
fn layered(
    mut study_tree: Tree,
    machine_sets: Vec<Entry>,
    directory: &Path,
) -> Result<ResolvedStudy, Problem> {
    let mut problems = vec![];
    problems.extend(expectations::read(&mut study_tree).err());
    // This is for `netloom validate`.
    study_tree.take("quick");
    let claims = study_tree.take("claim").map_or(Ok(vec![]), |claims| claims::read(&claims.value));
    let claims = kept(claims, &mut problems);
    for key in ["set", "sweep"] {
        if let Some(value) = study_tree.get(key).filter(|v| !matches!(v.value, Value::Table(_))) {
            problems.push(not_a(&format!("`{key}` has the wrong type of value"), "a table", value));
        }
    }
    let changes = study_tree.take("set");
    let sweep = study_tree.take("sweep");
    let mut axes = kept(sweep.as_ref().map_or(Ok(vec![]), axes_of), &mut problems);
    let table = |name: &str| sweep.as_ref().and_then(|sweep| sweep.value.entry(name));
    let saturation = table("saturation").map(|entry| sweep_tables::saturation(entry, &mut axes)).transpose();
    let saturation = kept(saturation, &mut problems);
    let plot = table("plot").map_or(Ok(PlotConfig::default()), |entry| sweep_tables::plot(entry, &axes));
    let plot = kept(plot, &mut problems);
    let whole = match study_tree.take("machine") {
        Some(machine) => {
            let mut changes = changes.map_or(vec![], |changes| flatten(&changes.value));
            changes.extend(machine_sets);
            changed_machine(&machine.value, directory, nodes_of(&study_tree), &changes)
                .and_then(|machine| finish(study_tree, machine, directory.to_owned()))
                .map(|whole| ResolvedStudy { changes, ..whole })
        }
        None => Err(Problem::new("`machine` is missing")
            .help("add `machine = \"bgl\"`, or the path of a machine's TOML file")
            .at(&study_tree.origin)),
    };
    if let Ok(whole) = &whole {
        let machine = &whole.machine_layers.tree;
        let old = axes.iter().filter_map(|axis| renamed::of_swept_load(&axis.path, &axis.values, machine));
        problems.extend(old);
    }
    match whole {
        Ok(whole) if problems.is_empty() => {
            Ok(ResolvedStudy { axes, plot, saturation, claims, has_sweep: sweep.is_some(), ..whole })
        }
        whole => {
            problems.extend(whole.err());
            Err(Problem::of_all(problems).expect("there is one"))
        }
    }
}

/// The value of a result; without one a default, and the problem is kept.
fn kept<T: Default>(result: Result<T, Problem>, problems: &mut Vec<Problem>) -> T {
    result.unwrap_or_else(|problem| {
        problems.push(problem);
        T::default()
    })
}

/// A machine by name, path or as a table, with changes laid over it.
fn changed_machine(
    machine: &Tree,
    directory: &Path,
    nodes: Option<(u32, &Tree)>,
    changes: &[Entry],
) -> Result<MachineLayers, Problem> {
    let mut tree = match &machine.value {
        Value::Text(name) => {
            let source = machine_source(name, directory).map_err(|p| p.at(&machine.origin))?;
            let mut tree = Tree::parse(&source)?;
            Problem::of_all(renamed::take(&mut tree)).map_or(Ok(tree), Err)?
        }
        Value::Table(_) => machine.clone(),
        _ => return Err(not_a("`machine` is no machine", "a name or a path in quotes", machine)),
    };
    let own_dimensions = match (&machine.value, tree.at("topology.dims").map(|dims| &dims.value)) {
        (Value::Text(_), Some(Value::List(dims))) => Some(dims.len()),
        _ => None,
    };
    if let Some((nodes, value)) = nodes {
        let sized = Machine::read(&tree)?.sized(nodes);
        let sized = sized.map_err(|e| not_a("`nodes` has an invalid value", &e.message, value))?;
        if let Some((key, lengths)) = sized {
            let text = match lengths[..] {
                [groups] if key.ends_with("groups") => groups.to_string(),
                _ => format!("{lengths:?}"),
            };
            tree.lay(&parse_set(&format!("{key}={text}"))?);
        }
    }
    changes.iter().for_each(|change| tree.lay(change));
    Ok(MachineLayers { value: machine.clone(), tree, own_dimensions })
}

/// The number of nodes that a study sets, and where it does.
fn nodes_of(study: &Tree) -> Option<(u32, &Tree)> {
    let value = study.get("nodes")?;
    match value.value {
        // Values that are none are refused where the study is read.
        Value::Integer(nodes) => u32::try_from(nodes).ok().map(|nodes| (nodes, value)),
        _ => None,
    }
}

/// Reads and checks a machine by name or path, with changes.
///
/// # Errors
/// Its errors, with their places.
pub fn load_machine(name: &str, sets: &[String]) -> Result<Machine, Problem> {
    checked_machine(&machine_tree(name, sets)?)
}

/// The simulated value for each value of a machine that has another unit in the simulator.
///
/// # Errors
/// As [`load_machine`].
pub fn machine_roundings(name: &str, sets: &[String]) -> Result<Vec<Rounding>, Problem> {
    Ok(roundings(&machine_tree(name, sets)?))
}

fn machine_tree(name: &str, sets: &[String]) -> Result<Tree, Problem> {
    let mut tree = Tree::parse(&machine_source(name, Path::new("."))?)?;
    let mut problems = renamed::take(&mut tree);
    for flag in sets {
        let entry = match parse_set(flag).and_then(renamed::check_entry) {
            Ok(entry) => entry,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        if !keys::machine_keys().contains(&entry.key.as_str()) {
            problems.push(unknown(&entry, keys::machine_keys()));
            continue;
        }
        tree.lay(&entry);
    }
    Problem::of_all(problems).map_or(Ok(tree), Err)
}

impl ResolvedStudy {
    /// The same study with some parameters changed: one point of a sweep.
    ///
    /// # Errors
    /// A value that does not fit, in its place in the study.
    pub fn at_point(&self, point: &[(String, Tree)]) -> Result<ResolvedStudy, Problem> {
        let (mut study, mut machine) = (self.study_tree.clone(), self.machine_layers.clone());
        for (path, value) in point {
            let changes = match path.as_str() {
                CURVE => flatten(value).into_iter().filter(|e| e.key != "name").collect(),
                _ => vec![entry_at(path, value.origin.clone(), value.clone())],
            };
            // A machine and its size come before what is changed of it.
            let (base, changes): (Vec<_>, Vec<_>) =
                changes.into_iter().partition(|entry| ["machine", "nodes"].contains(&entry.key.as_str()));
            if !base.is_empty() {
                for entry in base {
                    match entry.key.as_str() {
                        "machine" => machine.value = entry.value,
                        _ => study.lay(&entry),
                    }
                }
                machine = changed_machine(&machine.value, &self.directory, nodes_of(&study), &self.changes)?;
            }
            for entry in changes {
                match side(&entry)? {
                    Side::Study => study.lay(&entry),
                    Side::Machine => machine.tree.lay(&entry),
                }
            }
        }
        finish(study, machine, self.directory.clone())
    }
}
