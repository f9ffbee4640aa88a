//! Keys and values of studies and machines that have been given another name: the old name is refused, the new one named.

use crate::diagnose::Problem;
use crate::tree::{Entry, Tree, Value};

/// A key that has another name now.
struct Renamed {
    /// The old dotted path.
    old: &'static str,
    /// The new one.
    new: &'static str,
    /// What else has changed, for people; empty where nothing has.
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
    Renamed { old: "measure.warmup", new: "measure.warmup_us", note: "\"auto\" or microseconds, as before" },
];

/// Values that have another name now: the key, the old value, the new one.
const VALUES: &[(&str, &str, &str)] =
    &[("measure.until", "done", "finished"), ("measure.until", "steady", "converged")];

/// Tables of a study whose keys are those of the study and its machine.
const OVERLAYS: [&str; 3] = ["set", "sweep", "quick"];

/// Refuses old names in a study's or machine's file.
///
/// # Errors
/// The first old name, in its place, with the new one.
pub fn check(tree: &Tree) -> Result<(), Problem> {
    tree.entries().iter().try_for_each(check_entry)
}

/// Refuses old names in a top-level entry of a file, or in a `--set` flag.
///
/// # Errors
/// The first old name, in its place, with the new one.
pub fn check_entry(entry: &Entry) -> Result<(), Problem> {
    if OVERLAYS.contains(&entry.key.as_str()) { check(&entry.value) } else { check_at(entry, "") }
}

fn check_at(entry: &Entry, above: &str) -> Result<(), Problem> {
    let path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
    if let Some(renamed) = KEYS.iter().find(|renamed| renamed.old == path) {
        let mut problem = Problem::new(format!("`{path}` is now called `{}`", renamed.new)).at(&entry.origin);
        problem.label = "an old name".into();
        return Err(match renamed.note {
            "" => problem.help(format!("write {}", renamed.new)),
            note => problem.help(format!("write {}, {note}", renamed.new)),
        });
    }
    check_value(&entry.value, &path)
}

fn check_value(tree: &Tree, path: &str) -> Result<(), Problem> {
    match &tree.value {
        Value::Table(entries) => entries.iter().try_for_each(|entry| check_at(entry, path)),
        // The tables of a sweep's curve hold whole paths.
        Value::List(items) if path == crate::resolve::CURVE => items.iter().try_for_each(check),
        Value::List(items) => items.iter().try_for_each(|item| check_value(item, path)),
        Value::Text(text) => match VALUES.iter().find(|(key, old, _)| *key == path && old == text) {
            Some((key, old, new)) => {
                let mut problem =
                    Problem::new(format!("`{key}` = \"{old}\" is now called \"{new}\"")).at(&tree.origin);
                problem.label = "an old name".into();
                Err(problem.help(format!("write {key} = \"{new}\"")))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
