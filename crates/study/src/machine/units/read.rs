//! A machine's file in the simulator's units.

use super::{Base, Rule, number, rule_of};
use crate::diagnose::{Problem, WrongKey};
use crate::keys;
use crate::number::plain;
use crate::tree::{Entry, Tree, Value};
use serde::Serialize;
use std::sync::LazyLock;

/// A key that has another unit in files.
struct Quantity {
    /// Its path in files; `*` stands for any name.
    path: String,
    /// Its name in the simulator.
    engine: String,
    /// How one becomes the other.
    rule: &'static Rule,
    /// Whether the simulator counts in whole numbers.
    is_whole: bool,
    /// The families of machines that have it.
    families: Vec<&'static str>,
}

static QUANTITIES: LazyLock<Vec<Quantity>> = LazyLock::new(|| {
    let quantities = keys::of_engine().iter().filter_map(|key| {
        let rule = rule_of(key.name())?;
        Some(Quantity {
            path: keys::path_in_file(&key.path),
            engine: key.name().to_owned(),
            rule,
            is_whole: key.kind.contains("whole"),
            families: key.families.clone(),
        })
    });
    quantities.collect()
});

/// Whether a path is one that a pattern describes.
fn fits(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('.'), path.split('.'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(p), Some(name)) if p == "*" || p == name => {}
            _ => return false,
        }
    }
}

/// A value that the simulator cannot count exactly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rounding {
    /// Its key.
    pub key: String,
    /// The value in the file.
    pub written: f64,
    /// The unit of that.
    pub unit: &'static str,
    /// The simulator's value: ticks, flits or chunks, or fractions of a tick, as its name states.
    pub simulated: f64,
    /// The key's name in the simulator.
    pub simulated_as: String,
    /// The simulator's value in the unit of the file.
    pub used: f64,
    /// Whether a faster clock rounds it less.
    pub is_finer_by_clock: bool,
}

impl Rounding {
    /// How much more is used than written, as a fraction of what is written.
    pub fn error(&self) -> f64 {
        if self.written == self.used { 0.0 } else { self.used / self.written - 1.0 }
    }

    /// The rounding in one sentence.
    pub fn sentence(&self) -> String {
        let Rounding { key, written, unit, simulated, simulated_as, used, .. } = self;
        format!(
            "{key} = {} {unit} is simulated as {} {unit} ({:+.1}%): {simulated_as} = {simulated}",
            plain(*written),
            plain(*used),
            100.0 * self.error()
        )
    }
}

/// The tree of a machine in the simulator's units: keys and values as its configuration has them, each at the
/// place of the file's. What cannot be converted is left out, with a problem in its place: a value that is no
/// number, or none that can be simulated; a key in the simulator's units.
///
/// # Errors
/// No clock, or an invalid one.
pub(crate) fn to_engine(tree: &Tree) -> Result<(Tree, Vec<Problem>), Problem> {
    convert(tree, &mut |_| ())
}

/// Each value of a machine's file that has another unit in the simulator, with what is simulated. Nothing of
/// a file that cannot be read.
pub fn roundings(tree: &Tree) -> Vec<Rounding> {
    let mut all = vec![];
    match convert(tree, &mut |rounding| all.push(rounding)) {
        Ok((_, problems)) if problems.is_empty() => all,
        _ => vec![],
    }
}

fn convert(tree: &Tree, seen: &mut dyn FnMut(Rounding)) -> Result<(Tree, Vec<Problem>), Problem> {
    let family = tree.get("family").and_then(Tree::text).unwrap_or_default().to_owned();
    if QUANTITIES.iter().any(|quantity| quantity.families.iter().any(|name| *name == family)) {
        check_clock(tree)?;
    }
    let mut reader = Reader { base: Base::of_file(tree), family, seen, problems: vec![] };
    let converted = reader.table(tree, "");
    Ok((converted, reader.problems))
}

/// Refuses a machine without a clock: nothing else can be converted.
fn check_clock(tree: &Tree) -> Result<(), Problem> {
    let Some(clock) = tree.get("clock_MHz") else {
        if let Some(entry) = tree.entry("ticks_per_second") {
            let mut problem = Problem::new("`ticks_per_second` is now called `clock_MHz`").at(&entry.origin);
            problem.label = "in MHz now".into();
            let value = number(&entry.value).map_or("…".into(), |ticks| format!("{}", ticks / 1e6));
            return Err(problem.help(format!("write clock_MHz = {value}")));
        }
        let mut problem = Problem::new("`clock_MHz` is missing").at(&tree.origin);
        (problem.label, problem.key) =
            ("in this table".into(), Some(Box::new(WrongKey::Missing("clock_MHz".into()))));
        return Err(problem.help("add `clock_MHz = …`: times are rounded to cycles of this clock"));
    };
    // From a tick a second to one a femtosecond.
    let is_good = number(clock).is_none_or(|clock| (1e-6..=1e9).contains(&clock));
    if is_good {
        return Ok(());
    }
    let mut problem = Problem::new("`clock_MHz` has an invalid value").at(&clock.origin);
    problem.label = format!("expected more than 0 MHz and at most 10^9, found {}", clock.inline());
    Err(problem)
}

struct Reader<'a> {
    base: Base,
    family: String,
    seen: &'a mut dyn FnMut(Rounding),
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, tree: &Tree, above: &str) -> Tree {
        let Value::Table(entries) = &tree.value else { return tree.clone() };
        let mut converted = vec![];
        for entry in entries {
            let path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
            match self.entry(entry, &path) {
                Ok(entry) => converted.push(entry),
                Err(problem) => self.problems.push(problem),
            }
        }
        Tree { value: Value::Table(converted), origin: tree.origin.clone() }
    }

    fn entry(&mut self, entry: &Entry, path: &str) -> Result<Entry, Problem> {
        let mut own =
            QUANTITIES.iter().filter(|quantity| quantity.families.iter().any(|f| *f == self.family));
        let table = path.strip_suffix(entry.key.as_str()).unwrap_or_default();
        if let Some(quantity) = own.clone().find(|quantity| fits(&quantity.path, path)) {
            let value = self.value(&entry.value, path, quantity)?;
            return Ok(Entry { key: quantity.engine.clone(), origin: entry.origin.clone(), value });
        }
        let is_old = |quantity: &&Quantity| {
            let name = quantity.path.rsplit('.').next().unwrap_or_default();
            entry.key == quantity.engine && fits(&quantity.path, &format!("{table}{name}"))
        };
        if let Some(quantity) = own.find(is_old) {
            return Err(self.old_name(entry, path, quantity));
        }
        Ok(Entry { value: self.table(&entry.value, path), ..entry.clone() })
    }

    /// The value of a key, or of each in a list.
    fn value(&mut self, tree: &Tree, path: &str, quantity: &Quantity) -> Result<Tree, Problem> {
        if let Value::List(items) = &tree.value {
            let items = items.iter().map(|item| self.value(item, path, quantity));
            return Ok(Tree {
                value: Value::List(items.collect::<Result<_, _>>()?),
                origin: tree.origin.clone(),
            });
        }
        let unit = quantity.rule.unit();
        let refuse = |message: &str, expected: &str| {
            let mut problem = Problem::new(format!("`{path}` has {message}")).at(&tree.origin);
            problem.label = format!("expected {expected}, found {}", tree.inline());
            problem
        };
        let written =
            number(tree).ok_or_else(|| refuse("the wrong type of value", &format!("a number, in {unit}")))?;
        if !(written >= 0.0 && written.is_finite()) {
            return Err(refuse("an invalid value", &format!("0 {unit} or more")));
        }
        let exact = quantity.rule.in_engine(written, self.base);
        let simulated = if quantity.is_whole { quantity.rule.whole(exact) } else { exact };
        if !simulated.is_finite() || (simulated == 0.0 && written > 0.0) || simulated > i64::MAX as f64 {
            let least = quantity.rule.in_file(1.0, self.base);
            let expected = match quantity.rule.relation {
                super::Relation::Times(_) => format!("at least {} {unit}, the smallest step", plain(least)),
                super::Relation::Over(_) => format!("more than 0 and at most {} {unit}", plain(least)),
            };
            let problem = refuse("a value that cannot be simulated", &expected);
            return Err(match quantity.rule.is_finer_by_clock(self.base) {
                true => problem.help("a finer step needs a faster clock: raise `clock_MHz`"),
                false => problem,
            });
        }
        let used = quantity.rule.in_file(simulated, self.base);
        // The last digits of a conversion are noise.
        let used = if (used - written).abs() <= 1e-12 * written.abs() { written } else { used };
        (self.seen)(Rounding {
            key: path.to_owned(),
            written,
            unit,
            simulated,
            simulated_as: quantity.engine.clone(),
            used,
            is_finer_by_clock: quantity.rule.is_finer_by_clock(self.base),
        });
        let value = match quantity.is_whole {
            true => Value::Integer(simulated as i64),
            false => Value::Float(simulated),
        };
        Ok(Tree { value, origin: tree.origin.clone() })
    }

    /// A key in the simulator's units, as files had them once.
    fn old_name(&self, entry: &Entry, path: &str, quantity: &Quantity) -> Problem {
        let name = quantity.path.rsplit('.').next().unwrap_or_default();
        let table = path.strip_suffix(entry.key.as_str()).unwrap_or_default();
        let mut problem = Problem::new(format!("`{path}` is now called `{table}{name}`")).at(&entry.origin);
        problem.label = format!("in {} now", quantity.rule.unit());
        let in_file = |tree: &Tree| {
            let value = number(tree).map(|engine| quantity.rule.in_file(engine, self.base))?;
            Some(quantity.rule.written(value, self.base))
        };
        let value = match &entry.value.value {
            Value::List(items) => {
                let items: Option<Vec<String>> =
                    items.iter().map(|item| Some(format!("{:?}", in_file(item)?))).collect();
                items.map(|items| format!("[{}]", items.join(", ")))
            }
            _ => in_file(&entry.value).map(|value| format!("{value:?}")),
        };
        problem.help(format!("write {name} = {}", value.unwrap_or_else(|| "…".into())))
    }
}
