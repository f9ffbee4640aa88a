//! Every key of studies and machines: its type, unit, default and help, and which machines take it.
//!
//! Nothing is listed here. A key is a field of a structure that is read from a study's or a machine's file;
//! its type and default are the field's, its help is the comment above it, its unit is the end of its name,
//! and the machines that take it are those whose family has it ([`FAMILIES`]) or that the field names
//! (`x-families`). Keys of machines have the names and units of files (`machine/units`).

mod unit;
mod walk;

use crate::machine::{FAMILIES, name_in_file};
use crate::result::RunResult;
use crate::study::{Study, Surroundings};
use netloom_workload::config::KINDS;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;
use std::sync::LazyLock;

/// A key of studies or machines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Its dotted path: `traffic.load`. `*` stands for a name that the file chooses, `[]` for each element of
    /// a list.
    pub path: String,
    /// Conditions on other keys under which it exists: `workload.kind` is `hot-region`.
    pub only_if: Vec<Condition>,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// The type of its value, in words.
    pub kind: String,
    /// The values that it may have, where these are words.
    pub choices: Vec<Choice>,
    /// The unit, where its name has one.
    pub unit: Option<&'static str>,
    /// Its value where it is left out.
    pub default: Option<Value>,
    /// Whether it may not be left out.
    pub required: bool,
    /// What it is.
    pub help: String,
    /// The families of machines that take it, by name.
    pub families: Vec<&'static str>,
}

impl Key {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// A condition on another key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Its path.
    pub path: String,
    /// Its value.
    pub value: String,
}

/// A word that a key may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The word.
    pub value: String,
    /// What it means.
    pub help: String,
}

static STUDY: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let all: Vec<&'static str> = FAMILIES.iter().map(|family| family.name).collect();
    let parts = [schema::<Study>(), schema::<Surroundings>()];
    let mut keys: Vec<Key> = parts.iter().flat_map(|part| walk::keys(part, &all)).collect();
    for key in &mut keys {
        let kind = key.only_if.iter().find(|c| c.path == "workload.kind").map(|c| c.value.as_str());
        if let Some(kind) = KINDS.iter().find(|entry| Some(entry.name) == kind) {
            let machines = (kind.machines)();
            let takes = |name: &&str| FAMILIES.iter().any(|f| f.name == *name && f.is_among(machines));
            key.families.retain(takes);
        }
    }
    keys
});

static ENGINE: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys: Vec<Key> = vec![];
    for family in FAMILIES {
        for key in walk::keys(&(family.schema)(), &[family.name]) {
            // A key that several families share is listed once.
            let known = keys
                .iter_mut()
                .find(|known| Key { families: key.families.clone(), ..(*known).clone() } == key);
            match known {
                Some(known) => known.families.extend(&key.families),
                None => keys.push(key),
            }
        }
    }
    keys
});

static MACHINE: LazyLock<Vec<Key>> = LazyLock::new(|| ENGINE.iter().map(in_file).collect());

/// A key of the simulator's configuration as files have it.
fn in_file(key: &Key) -> Key {
    let Some(name) = name_in_file(key.name()) else { return key.clone() };
    let is_list = key.kind.starts_with("list");
    Key {
        path: path_in_file(&key.path),
        kind: if is_list { "list, each a number" } else { "number" }.into(),
        unit: unit::of(&name),
        // What holds if a key is omitted is counted as the simulator counts.
        default: key.default.as_ref().map(|default| match (key.unit, default) {
            (Some(unit), Value::Number(number)) if *default != 0 => format!("{number} {unit}").into(),
            _ => default.clone(),
        }),
        ..key.clone()
    }
}

/// The path in files of a key of the simulator's configuration.
pub(crate) fn path_in_file(path: &str) -> String {
    let (above, name) = path.rsplit_once('.').map_or(("", path), |(above, name)| (above, name));
    let name = name_in_file(name).unwrap_or_else(|| name.to_owned());
    if above.is_empty() { name } else { format!("{above}.{name}") }
}

/// The keys of the simulator's configuration of machines, in its own units.
pub(crate) fn of_engine() -> &'static [Key] {
    &ENGINE
}

/// The keys of a study's file, each table before what it holds.
pub fn of_studies() -> &'static [Key] {
    &STUDY
}

/// The keys of a machine's file, likewise.
pub fn of_machines() -> &'static [Key] {
    &MACHINE
}

static RESULT: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let all: Vec<&'static str> = FAMILIES.iter().map(|family| family.name).collect();
    walk::keys(&schema::<RunResult>(), &all)
});

/// The figures of a result, as `summary.json` has them: each is a key of that file.
pub fn of_results() -> &'static [Key] {
    &RESULT
}

/// Top-level keys of a study's file.
pub fn study_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| top_level(of_studies()));
    &KEYS
}

/// Top-level keys of a machine that a study may change.
pub fn machine_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mut keys = top_level(of_machines());
        keys.retain(|key| !["name", "title"].contains(key));
        keys
    });
    &KEYS
}

fn top_level(keys: &'static [Key]) -> Vec<&'static str> {
    let mut names: Vec<&str> =
        keys.iter().map(|key| key.path.as_str()).filter(|path| !path.contains('.')).collect();
    names.retain({
        let mut seen = vec![];
        move |name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        }
    });
    names
}

/// All keys that a study may set: its own, and those of its machine.
pub fn all() -> impl Iterator<Item = &'static Key> {
    let is_fixed = |key: &Key| ["name", "title"].contains(&key.path.as_str());
    of_studies().iter().chain(of_machines().iter().filter(move |key| !is_fixed(key)))
}

/// The JSON schema of what is read from a table: every reference to another type replaced by that type.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let inline = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    inline.into_generator().into_root_schema_for::<T>().to_value()
}
