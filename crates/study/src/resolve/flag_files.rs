//! File names in `--set` flags. They are relative to the current folder, like all arguments of a command;
//! file names in a study are relative to its folder.

use crate::diagnose::Problem;
use crate::machine::is_built_in as is_built_in_machine;
use crate::tree::{Entry, Tree, Value};
use netloom_workload::goal;
use std::path::{Path, PathBuf};

/// Makes the file names of a flag relative to the study's folder.
///
/// # Errors
/// A file that the current folder lacks and the study's folder has.
pub(super) fn relative_to_study(mut entry: Entry, directory: &Path) -> Result<Entry, Problem> {
    if directory != Path::new(".") {
        in_entry(&mut entry, "", directory)?;
    }
    Ok(entry)
}

fn in_entry(entry: &mut Entry, above: &str, directory: &Path) -> Result<(), Problem> {
    let path = match above {
        // Swept keys are named below `sweep`.
        "" | "sweep" => entry.key.clone(),
        above => format!("{above}.{}", entry.key),
    };
    in_value(&mut entry.value, &path, directory)
}

fn in_value(tree: &mut Tree, path: &str, directory: &Path) -> Result<(), Problem> {
    match &mut tree.value {
        Value::Table(entries) => entries.iter_mut().try_for_each(|entry| in_entry(entry, path, directory)),
        // The tables of a sweep's curve hold whole paths.
        Value::List(items) => {
            let path = if path == super::CURVE { "" } else { path };
            items.iter_mut().try_for_each(|item| in_value(item, path, directory))
        }
        Value::Text(name) => {
            let is_file = match path {
                "machine" => {
                    !is_built_in_machine(name) && (name.ends_with(".toml") || Path::new(name).is_file())
                }
                _ => path.ends_with(".file") && !goal::is_built_in(name),
            };
            if is_file {
                let at_study = directory.join(&*name);
                if !Path::new(name).exists() && at_study.exists() {
                    let mut problem =
                        Problem::new(format!("no file {name} in the current folder")).at(&tree.origin);
                    problem.label = "relative to the current folder".into();
                    let help = format!("the study's folder has it: write {path}={}", at_study.display());
                    return Err(problem.help(help));
                }
                *name = seen_from(directory, name).to_string_lossy().into_owned();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The path of a file of the current folder as seen from another folder.
fn seen_from(directory: &Path, name: &str) -> PathBuf {
    let absolute = std::path::absolute(name).unwrap_or_else(|_| name.into());
    let is_plain = !absolute.components().any(|part| part == std::path::Component::ParentDir);
    // Behind a symbolic link, `..` leads elsewhere.
    match std::fs::canonicalize(directory) {
        Ok(directory) if is_plain && !Path::new(name).is_absolute() => {
            let (from, to): (Vec<_>, Vec<_>) =
                (directory.components().collect(), absolute.components().collect());
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            let up = from[common..].iter().map(|_| std::path::Component::ParentDir);
            up.chain(to[common..].iter().copied()).collect()
        }
        _ => absolute,
    }
}
