//! Keys and values of studies and machines that have been given another name: the old name is refused, the
//! new one named.

use crate::diagnose::Problem;
use crate::tree::{Entry, Tree, Value};

/// A key that has another name now.
struct Renamed {
    /// The old dotted path.
    old: &'static str,
    /// The new one.
    new: &'static str,
    /// Other changes, for people; may be empty.
    note: &'static str,
}

/// Keys that have another name now. Whoever renames a key adds a line.
const KEYS: &[Renamed] = &[
    Renamed {
        old: "measure.window_cycles",
        new: "measure.window_us",
        note: "in microseconds instead of ticks",
    },
    Renamed { old: "machine.aries.core.cores_per_cpu", new: "machine.aries.cores.per_cpu", note: "" },
    Renamed { old: "aries.core.cores_per_cpu", new: "aries.cores.per_cpu", note: "" },
    Renamed { old: "machine.routing.minimal_ways", new: "machine.routing.minimal_paths", note: "" },
    Renamed { old: "routing.minimal_ways", new: "routing.minimal_paths", note: "" },
    Renamed { old: "measure.warmup", new: "measure.warmup_us", note: "\"auto\" or microseconds, as before" },
];

/// Values that have another name now: the key, the old value, the new one.
const VALUES: &[(&str, &str, &str)] =
    &[("measure.until", "done", "finished"), ("measure.until", "steady", "converged")];

/// Loads that were once counted by ticks: old name, new name, unit. A new value is the old one times the
/// machine's clock in GHz.
const LOADS: [(&str, &str, &str); 2] =
    [("packets_per_kilotick", "packets_per_us", "packets/us"), ("injection", "flits_per_ns", "flits/ns")];

/// The old load that a path ends with.
fn old_load(path: &str) -> Option<(&str, &'static str, &'static str)> {
    LOADS
        .iter()
        .find_map(|(old, new, unit)| Some((path.strip_suffix(old)?.strip_suffix("load.")?, *new, *unit)))
}

/// The problem of an unknown key, if that is a load by ticks, with the new name and value.
pub fn of_load(problem: Problem, study: &Tree, machine: &Tree) -> Problem {
    let Some(path) = problem.unknown() else { return problem };
    let Some((above, new, unit)) = old_load(path) else { return problem };
    let value = study.at(path).and_then(|value| per_time(value, machine)).unwrap_or_else(|| "…".into());
    let message = format!("`{path}` is now called `{above}load.{new}`");
    let mut renamed = Problem::new(message).at(&problem.origin).help(format!("write {new} = {value}"));
    renamed.label = format!("in {unit} now");
    renamed
}

/// The same for a key that is swept, which has a list of values.
pub fn of_swept_load(path: &str, values: &[Tree], machine: &Tree) -> Option<Problem> {
    let (above, new, unit) = old_load(path)?;
    let all: Option<Vec<String>> = values.iter().map(|value| per_time(value, machine)).collect();
    let all = all.map_or("…".into(), |all| all.join(", "));
    let origin = values.first().and_then(|value| value.origin.clone());
    let mut problem = Problem::new(format!("`{path}` is now called `{above}load.{new}`")).at(&origin);
    problem.label = format!("in {unit} now");
    Some(problem.help(format!("write {above}load.{new}, with {all}")))
}

/// A load by ticks as one by time on a machine.
fn per_time(value: &Tree, machine: &Tree) -> Option<String> {
    let rate = value.number()? * machine.get("clock_MHz")?.number()? / 1000.0;
    // The last digits of a conversion are noise.
    Some(format!("{:?}", format!("{rate:.11e}").parse::<f64>().unwrap_or(rate)))
}

/// Tables of a study whose keys are those of the study and its machine.
const OVERLAYS: [&str; 3] = ["set", "sweep", "quick"];

/// Removes old names from a study's or machine's file. Returns a problem for each, in its place, with the new
/// name.
pub fn take(tree: &mut Tree) -> Vec<Problem> {
    let mut problems = vec![];
    in_table(tree, "", &mut problems);
    problems
}

/// Removes the entries with old names from a table at a path.
fn in_table(tree: &mut Tree, above: &str, problems: &mut Vec<Problem>) {
    if let Value::Table(entries) = &mut tree.value {
        entries.retain_mut(|entry| !is_old(entry, above, problems));
    }
}

/// Refuses old names in a `--set` flag.
///
/// # Errors
/// All old names, in their places, with the new ones.
pub fn check_entry(mut entry: Entry) -> Result<Entry, Problem> {
    let mut problems = vec![];
    is_old(&mut entry, "", &mut problems);
    Problem::of_all(problems).map_or(Ok(entry), Err)
}

/// Whether an entry is an old name, or its value is one; inside its value they are removed.
fn is_old(entry: &mut Entry, above: &str, problems: &mut Vec<Problem>) -> bool {
    if above.is_empty() && OVERLAYS.contains(&entry.key.as_str()) {
        in_table(&mut entry.value, "", problems);
        return false;
    }
    let path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
    let problem = match KEYS.iter().find(|renamed| renamed.old == path) {
        Some(renamed) => old_key(renamed, entry),
        None => match old_value(&mut entry.value, &path, problems) {
            Some(problem) => problem,
            None => return false,
        },
    };
    problems.push(problem);
    true
}

fn old_key(renamed: &Renamed, entry: &Entry) -> Problem {
    let Renamed { old, new, note } = renamed;
    let mut problem = Problem::new(format!("`{old}` is now called `{new}`")).at(&entry.origin);
    problem.label = "an old name".into();
    match *note {
        "" => problem.help(format!("write {new}")),
        note => problem.help(format!("write {new}, {note}")),
    }
}

/// The problem of a value that has an old name. Old names inside tables and lists are removed.
fn old_value(tree: &mut Tree, path: &str, problems: &mut Vec<Problem>) -> Option<Problem> {
    match &mut tree.value {
        Value::Table(_) => in_table(tree, path, problems),
        Value::List(items) => {
            // The tables of a sweep's curve hold whole paths.
            let above = if path == crate::resolve::CURVE { "" } else { path };
            for item in items {
                let problem = match item.value {
                    Value::Table(_) => {
                        in_table(item, above, problems);
                        None
                    }
                    _ => old_value(item, path, problems),
                };
                problems.extend(problem);
            }
        }
        Value::Text(text) => {
            let (key, old, new) = VALUES.iter().find(|(key, old, _)| *key == path && text == old)?;
            let message = format!("`{key}` = \"{old}\" is now called \"{new}\"");
            let mut problem = Problem::new(message).at(&tree.origin);
            problem.label = "an old name".into();
            return Some(problem.help(format!("write {key} = \"{new}\"")));
        }
        _ => {}
    }
    None
}
