//! Errors of unknown keys and invalid values: with their places, with the nearest key
//! that there is.

use crate::diagnose::{Problem, WrongKey, nearest, suggest};
use crate::keys::{self, Key};
use crate::machine::error_of_file;
use crate::tree::{Entry, Tree};
use netloom_fabric::config::ConfigError;

pub(super) fn not_a(message: &str, expected: &str, found: &Tree) -> Problem {
    let mut problem = Problem::new(message).at(&found.origin);
    problem.label = format!("expected {expected}, found {}", found.inline());
    problem
}

/// A key that a study's file may not have at its top.
pub(super) fn not_of_a_study(entry: &Entry) -> Problem {
    let mut problem = Problem::new(format!("unknown key `{}`", entry.key)).at(&entry.origin);
    problem.label = "not a key of a study".into();
    problem.key = Some(Box::new(WrongKey::Unknown(entry.key.clone())));
    problem.help(if keys::machine_keys().contains(&entry.key.as_str()) {
        format!("it is the machine's: write it as `set.{}`, or under [set]", entry.key)
    } else {
        suggest(&entry.key, keys::study_keys())
    })
}

/// The keys below these. Those that are always there come before those of some workloads.
fn below(known: &[&str]) -> Vec<&'static Key> {
    let is_meant = |key: &&Key| {
        known.contains(&key.path.split('.').next().unwrap_or_default()) && !key.path.contains(['*', '['])
    };
    let mut keys: Vec<&Key> = keys::of_studies().iter().chain(keys::of_machines()).filter(is_meant).collect();
    keys.sort_by_key(|key| !key.only_if.is_empty());
    keys
}

/// Whether a file meets the conditions of a key.
fn is_there(key: &Key, tree: &Tree) -> bool {
    let value = |path: &str| path.split('.').try_fold(tree, |tree, key| tree.get(key)).and_then(Tree::text);
    key.only_if.iter().all(|condition| value(&condition.path) == Some(&condition.value))
}

/// How many tables a key is in.
fn depth(key: &Key) -> usize {
    key.path.matches('.').count()
}

pub(super) fn unknown(entry: &Entry, known: &[&str]) -> Problem {
    // The key may be a good one that was written without its tables.
    let keys = below(known);
    let path = nearest(&entry.key, keys.iter().map(|key| key.name()))
        .and_then(|name| keys.iter().filter(|key| key.name() == name).min_by_key(|key| depth(key)))
        .map(|key| &key.path);
    let help = path.map_or_else(|| suggest(&entry.key, known), |path| format!("did you mean `{path}`?"));
    let mut problem = Problem::new(format!("unknown key `{}`", entry.key)).help(help);
    problem.label = "not a key of a study or a machine".into();
    problem.key = Some(Box::new(WrongKey::Unknown(entry.key.clone())));
    problem.at(&entry.origin)
}

/// A key that does not exist where it stands may do so in another table: below its own, or else in the
/// nearest to the top.
pub(super) fn elsewhere(problem: Problem, known: &[&str], tree: &Tree) -> Problem {
    let Some((table, name)) = problem.unknown().and_then(|path| path.rsplit_once('.')) else {
        return problem;
    };
    let own = format!("{table}.");
    let found = below(known).into_iter().filter(|key| {
        key.name() == name && is_there(key, tree) && Some(key.path.as_str()) != problem.unknown()
    });
    match found.map(|key| &key.path).min_by_key(|path| (!path.starts_with(&own), path.matches('.').count())) {
        Some(path) => problem.help(format!("did you mean `{path}`?")),
        None => problem,
    }
}

/// A key that is missing, with what it is and which words it may be.
pub(super) fn explained(problem: Problem, tree: &Tree, keys: &[Key]) -> Problem {
    let Some(path) = problem.missing().map(str::to_owned) else { return problem };
    let Some(key) = keys.iter().find(|key| key.path == path && is_there(key, tree)) else {
        return problem;
    };
    let words: Vec<String> = key.choices.iter().map(|choice| format!("\"{}\"", choice.value)).collect();
    let name = key.name();
    problem.help(match words.is_empty() {
        true => format!("add `{name} = …` ({}): {}", key.kind, key.help),
        false => format!("add `{name} = …`, one of {}", words.join(", ")),
    })
}

/// A key that this machine does not have, although others do, may be one of the study's, written without its
/// table.
pub(super) fn of_the_study(problem: Problem) -> Problem {
    let Some(name) = problem.unknown().filter(|path| !path.contains('.')) else { return problem };
    let found = below(keys::study_keys()).into_iter().filter(|key| depth(key) > 0 && key.name() == name);
    match found.min_by_key(|key| depth(key)).map(|key| &key.path) {
        Some(path) => problem.help(format!("did you mean `{path}`?")),
        None => problem,
    }
}

pub(super) fn checked(result: Result<(), ConfigError>, tree: &Tree) -> Result<(), Problem> {
    result.map_err(|e| impossible(e, tree))
}

pub(super) fn impossible(e: ConfigError, tree: &Tree) -> Problem {
    let e = error_of_file(e, tree);
    let mut problem = Problem::new(format!("`{}` has an invalid value", e.key)).at(&tree.origin_of(&e.key));
    problem.label = e.message;
    if problem.origin.is_none() {
        problem.message = format!("{}: {}", problem.message, problem.label);
    }
    problem
}

/// The same of a study or its machine, whichever has the key.
pub(super) fn of_either(e: ConfigError, study: &Tree, machine: &Tree) -> Problem {
    let of_machine = e.key.split('.').next().is_some_and(|key| keys::machine_keys().contains(&key));
    impossible(e, if of_machine { machine } else { study })
}
