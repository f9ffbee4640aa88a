//! Configuration as a tree that remembers where each value was written, so that several files and flags can
//! be laid over one another and a mistake still be shown in its place.

use crate::diagnose::{Origin, Problem, SourceFile};
use serde::{Serialize, Serializer};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The value.
    pub value: Value,
    /// Where it stands; `None` for a value from no file.
    pub origin: Option<Origin>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Text; dates are text too.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// A table, in the order of the file.
    Table(Vec<Entry>),
}

/// A key of a table and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub origin: Option<Origin>,
    /// Its value.
    pub value: Tree,
}

// Two trees are equal if their values are, wherever they were written.
impl PartialEq for Tree {
    fn eq(&self, other: &Tree) -> bool {
        self.value == other.value
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl Tree {
    /// An empty table.
    pub fn empty() -> Tree {
        Tree { value: Value::Table(Vec::new()), origin: None }
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// Errors of TOML's syntax in the file, with their places.
    pub fn parse(file: &Arc<SourceFile>) -> Result<Tree, Problem> {
        let table = DeTable::parse(&file.text).map_err(|e| {
            let mut problem = Problem::new("this is not valid TOML");
            problem.label = e.message().lines().next().unwrap_or("here").to_owned();
            if let Some(span) = e.span() {
                problem = problem.at(&Some(Origin { file: file.clone(), span }));
            }
            problem
        })?;
        let value = table_of(table.get_ref(), file);
        Ok(Tree { value, origin: Some(Origin { file: file.clone(), span: 0..0 }) })
    }

    /// The entries of a table; none for another value.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.entry(key).map(|e| &e.value)
    }

    /// The value at a dotted path; elements of lists go by their numbers.
    pub fn at(&self, path: &str) -> Option<&Tree> {
        path.split('.').try_fold(self, |tree, key| match &tree.value {
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => tree.get(key),
        })
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(i) => Some(i as f64),
            Value::Float(f) => Some(f),
            _ => None,
        }
    }

    /// Takes a key out of a table.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|e| e.key == key)?;
        Some(entries.remove(at))
    }

    /// Where a dotted path stands, or the nearest of its ancestors.
    pub fn origin_of(&self, path: &str) -> Option<Origin> {
        let mut tree = self;
        let mut origin = None;
        for part in path.split('.') {
            let Some(entry) = tree.entry(part) else { break };
            origin = best(&entry.value).or_else(|| entry.origin.clone());
            tree = &entry.value;
        }
        origin
    }

    /// Lays one entry over this table: tables are merged, anything else replaces what was there. What holds
    /// one of several alternatives is replaced whole when another is chosen (`traffic.load`, or a workload's
    /// `kind`), and an empty table takes away what was there (`sweep = {}`).
    pub fn lay(&mut self, over: &Entry) {
        self.lay_at(over, "");
    }

    fn lay_at(&mut self, over: &Entry, path: &str) {
        if !matches!(self.value, Value::Table(_)) {
            self.value = Value::Table(Vec::new());
            self.origin.clone_from(&over.origin);
        }
        let Value::Table(entries) = &mut self.value else { unreachable!() };
        let path = if path.is_empty() { over.key.clone() } else { format!("{path}.{}", over.key) };
        let Some(under) = entries.iter_mut().find(|e| e.key == over.key) else {
            entries.push(over.clone());
            return;
        };
        let (Value::Table(_), Value::Table(new)) = (&under.value.value, &over.value.value) else {
            *under = over.clone();
            return;
        };
        // There is no other means of removing a value that a file sets.
        let none = new.is_empty();
        let other_kind = over.value.get("kind").is_some_and(|kind| under.value.get("kind") != Some(kind));
        if path == "traffic.load" || other_kind || none {
            *under = over.clone();
            return;
        }
        for entry in new {
            under.value.lay_at(entry, &path);
        }
    }

    /// The value as one line of TOML.
    pub fn inline(&self) -> String {
        match &self.value {
            Value::Bool(b) => b.to_string(),
            Value::Integer(i) => i.to_string(),
            Value::Float(f) => format!("{f:?}"),
            Value::Text(text) => format!("{text:?}"),
            Value::List(items) => {
                format!("[{}]", items.iter().map(Tree::inline).collect::<Vec<_>>().join(", "))
            }
            Value::Table(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|e| format!("{} = {}", e.key, e.value.inline())).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Integer(i) => serializer.serialize_i64(*i),
            Value::Float(f) => serializer.serialize_f64(*f),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items),
            Value::Table(entries) => serializer.collect_map(entries.iter().map(|e| (&e.key, &e.value))),
        }
    }
}

/// The place of a value, if it is one: tables that dotted keys imply have none of their own.
fn best(tree: &Tree) -> Option<Origin> {
    tree.origin.clone().filter(|o| !o.span.is_empty())
}

/// An entry for a dotted path.
pub fn entry_at(path: &str, origin: Option<Origin>, value: Tree) -> Entry {
    // No key is anywhere near this deep: the rest is taken as one key, which is unknown.
    const DEPTH: usize = 16;
    let keys: Vec<&str> = path.splitn(DEPTH, '.').collect();
    let (last, tables) = keys.split_last().expect("a path has a part");
    tables.iter().rev().fold(Entry { key: (*last).into(), origin: origin.clone(), value }, |inner, key| {
        let value = Tree { value: Value::Table(vec![inner]), origin: None };
        Entry { key: (*key).into(), origin: origin.clone(), value }
    })
}

fn table_of(table: &DeTable, file: &Arc<SourceFile>) -> Value {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        origin: Some(Origin { file: file.clone(), span: key.span() }),
        value: tree_of(value.get_ref(), value.span(), file),
    });
    Value::Table(entries.collect())
}

fn tree_of(value: &DeValue, span: std::ops::Range<usize>, file: &Arc<SourceFile>) -> Tree {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => Value::Float(i.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::Text(d.to_string()),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|i| tree_of(i.get_ref(), i.span(), file)).collect())
        }
        DeValue::Table(table) => table_of(table, file),
    };
    Tree { value, origin: Some(Origin { file: file.clone(), span }) }
}

/// The override of a `--set key=value` flag. A value that is not TOML is taken as text, so that quotes
/// need not be protected from a shell.
///
/// # Errors
/// A flag without a key, or with a list, table or string that is not closed.
pub fn parse_set(flag: &str) -> Result<Entry, Problem> {
    let file = SourceFile::new("--set", flag);
    let whole = |label: &str| {
        let mut problem = Problem::new(format!("`--set {flag}` is not an override"));
        problem.label = label.into();
        problem.help =
            Some("write --set key=value, such as --set router.paths=1 or --set topology.dims=[8,8,8]".into());
        problem.at(&Some(Origin { file: file.clone(), span: 0..flag.len() }))
    };
    let Some(equals) = flag.find('=') else { return Err(whole("expected key=value")) };
    let key = flag[..equals].trim();
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return Err(whole("expected a dotted key before `=`"));
    }
    let problem = match Tree::parse(&file) {
        Ok(mut tree) => {
            let Value::Table(entries) = &mut tree.value else { unreachable!() };
            return entries.pop().filter(|_| entries.is_empty()).ok_or_else(|| whole("expected one key"));
        }
        Err(problem) => problem,
    };
    let text = flag[equals + 1..].trim();
    if text.is_empty() {
        return Err(whole("expected a value after `=`"));
    }
    if text.starts_with(['[', '{', '"', '\'']) {
        return Err(problem);
    }
    let origin = |span| Some(Origin { file: file.clone(), span });
    let value = Tree { value: Value::Text(text.into()), origin: origin(equals + 1..flag.len()) };
    Ok(entry_at(key, origin(0..equals), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::parse(&SourceFile::new("t.toml", text)).unwrap()
    }

    #[test]
    fn bare_words_are_text_and_numbers_are_numbers() {
        assert_eq!(parse_set("traffic.load=burst").unwrap(), tree("traffic.load = 'burst'").entries()[0]);
        assert_eq!(parse_set("router.paths=1").unwrap(), tree("router.paths = 1").entries()[0]);
        assert_eq!(
            parse_set("topology.dims=[8,8,8]").unwrap(),
            tree("topology.dims = [8, 8, 8]").entries()[0]
        );
        assert!(parse_set("topology.dims=[8,8").is_err());
        assert!(parse_set("paths").is_err());
    }

    #[test]
    fn layers_merge_tables_and_replace_alternatives() {
        let mut base = tree(
            "traffic.load.link_utilization = 0.5\nworkload = { kind = 'hot-region', region = [1] }\nmeasure.warmup_us = 1",
        );
        base.lay(&parse_set("traffic.load.packets_per_us=2").unwrap());
        base.lay(&parse_set("traffic.routing=static").unwrap());
        base.lay(&parse_set("workload.kind=uniform").unwrap());
        base.lay(&parse_set("measure={}").unwrap());
        let expected = "traffic.load.packets_per_us = 2\n\
                        traffic.routing = 'static'\nworkload.kind = 'uniform'\nmeasure = {}";
        assert_eq!(base, tree(expected));
    }
}
