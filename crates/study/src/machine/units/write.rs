//! A machine in the units of files, from the simulator's.

use super::{Base, Rule, name_in_file, number, rule_of};
use crate::diagnose::SourceFile;
use crate::tree::{Entry, Tree, Value};
use serde::ser::{Error, Serialize, Serializer};

/// Digits that a converted value has at least.
const DIGITS: i32 = 4;

impl Rule {
    /// A value in the unit of files with as few digits as determine the simulator's value again, and at least
    /// [`DIGITS`].
    pub(super) fn written(&self, value: f64, base: Base) -> f64 {
        let engine = self.whole(self.in_engine(value, base));
        if value == 0.0 || !value.is_finite() {
            return value;
        }
        let size = value.abs().log10().floor() as i32 + 1;
        let rounded = (DIGITS..16).map(|digits| {
            let decimals = (digits - size).max(0) as usize;
            format!("{value:.decimals$}").parse::<f64>().unwrap_or(value)
        });
        let mut good = rounded.filter(|&short| {
            let again = self.in_engine(short, base);
            // A value that the simulator does not round has to be the same but for its last bits.
            self.whole(again) == engine && (short - value).abs() <= 1e-3 * value.abs()
        });
        good.next().unwrap_or(value)
    }
}

/// Serializes a machine with the keys and units of files.
pub(in super::super) fn serialize<M: Serialize, S: Serializer>(
    machine: &M,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = toml::to_string(machine).map_err(S::Error::custom)?;
    let tree = Tree::parse(&SourceFile::new("machine", text)).map_err(|p| S::Error::custom(p.message))?;
    let ticks = tree.get("ticks_per_second").and_then(number).unwrap_or(1.0);
    let base = Base { ticks_per_second: ticks, ..Base::of_file(&tree) };
    to_file(&tree, base).serialize(serializer)
}

/// A tree in the units of files.
fn to_file(tree: &Tree, base: Base) -> Tree {
    let value = match &tree.value {
        Value::Table(entries) => {
            Value::Table(entries.iter().map(|entry| entry_in_file(entry, base)).collect())
        }
        other => other.clone(),
    };
    Tree { value, origin: None }
}

fn entry_in_file(entry: &Entry, base: Base) -> Entry {
    let (key, value) = match (name_in_file(&entry.key), rule_of(&entry.key)) {
        (Some(name), Some(rule)) => (name, value_in_file(&entry.value, rule, base)),
        _ => (entry.key.clone(), to_file(&entry.value, base)),
    };
    Entry { key, origin: None, value }
}

fn value_in_file(tree: &Tree, rule: &Rule, base: Base) -> Tree {
    let value = match &tree.value {
        Value::List(items) => Value::List(items.iter().map(|item| value_in_file(item, rule, base)).collect()),
        Value::Integer(engine) => in_few_digits(rule.written(rule.in_file(*engine as f64, base), base)),
        Value::Float(engine) => in_few_digits(rule.in_file(*engine, base)),
        other => other.clone(),
    };
    Tree { value, origin: None }
}

/// A number, whole where it is whole.
fn in_few_digits(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        Value::Integer(value as i64)
    } else {
        Value::Float(value)
    }
}
