//! The parameters that a study sweeps over, and whether a key is the study's or its machine's.

use super::mistakes::unknown;
use super::sweep_tables::TABLES;
use crate::diagnose::Problem;
use crate::keys;
use crate::tree::{Entry, Tree, Value, entry_at};

/// The axis of a sweep that goes over tables of changes, each with a `name`, rather than over values of one
/// parameter: `curve = [{ name = "one path", router.paths = 1 }, ...]`.
pub const CURVE: &str = "curve";

/// A parameter of a sweep and its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Dotted path of the parameter, or [`CURVE`].
    pub path: String,
    /// Its values.
    pub values: Vec<Tree>,
}

/// The swept parameters of `[sweep]`, without the tables in it that are none.
pub(super) fn axes_of(sweep: &Entry) -> Result<Vec<Axis>, Problem> {
    fn gather(tree: &Tree, path: &str, axes: &mut Vec<Axis>) -> Result<(), Problem> {
        for entry in tree.entries() {
            let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            match &entry.value.value {
                Value::Table(_) => gather(&entry.value, &path, axes)?,
                Value::List(values) if !values.is_empty() => {
                    let again = (1..values.len()).find(|&at| values[..at].contains(&values[at]));
                    if let Some(value) = again.map(|at| &values[at]) {
                        let mut problem =
                            Problem::new(format!("`sweep.{path}` has {} twice", value.inline()));
                        problem.label = "a point is run once".into();
                        return Err(problem.at(&value.origin));
                    }
                    if path == CURVE {
                        named_once(values)?;
                    }
                    axes.push(Axis { path, values: values.clone() });
                }
                other => {
                    let mut problem = Problem::new(format!("`sweep.{path}` has no values to sweep over"));
                    let is_list = matches!(other, Value::List(_));
                    problem.label =
                        if is_list { "expected at least one value" } else { "expected a list" }.into();
                    return Err(problem
                        .help(format!("write {path} = [first, second, …]"))
                        .at(&entry.value.origin));
                }
            }
        }
        Ok(())
    }
    let mut parameters = sweep.value.clone();
    TABLES.iter().for_each(|table| drop(parameters.take(table)));
    let swept = flatten(&parameters);
    let unknown = swept.iter().filter(|e| e.key != CURVE).filter_map(|e| side(e).err());
    if let Some(problem) = Problem::of_all(unknown.collect()) {
        return Err(problem);
    }
    let mut axes = Vec::new();
    gather(&parameters, "", &mut axes)?;
    Ok(axes)
}

/// Refuses two curves of a name: their results would be in one folder.
fn named_once(curves: &[Tree]) -> Result<(), Problem> {
    let name = |curve: &Tree| curve.entries().iter().find(|e| e.key == "name").map(|e| e.value.clone());
    let names: Vec<_> = curves.iter().filter_map(name).collect();
    match (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        None => Ok(()),
        Some(at) => {
            let mut problem =
                Problem::new(format!("`sweep.curve` has the name {} twice", names[at].inline()));
            problem.label = "each curve needs a name of its own".into();
            Err(problem.at(&names[at].origin))
        }
    }
}

pub(super) enum Side {
    Study,
    Machine,
}

/// Whether a key belongs to the study or to its machine.
pub(super) fn side(entry: &Entry) -> Result<Side, Problem> {
    if keys::study_keys().contains(&entry.key.as_str()) {
        Ok(Side::Study)
    } else if keys::machine_keys().contains(&entry.key.as_str()) {
        Ok(Side::Machine)
    } else {
        Err(unknown(entry, &[keys::study_keys(), keys::machine_keys()].concat()))
    }
}

/// The entries of a table, with quoted dotted keys (`"router.paths"`) taken apart.
pub(super) fn flatten(tree: &Tree) -> Vec<Entry> {
    tree.entries().iter().map(|e| entry_at(&e.key, e.origin.clone(), e.value.clone())).collect()
}
