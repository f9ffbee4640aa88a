//! From the JSON schema of a table to the keys that it may hold.

use super::{Choice, Condition, Key, unit};
use serde_json::{Map, Value};

/// The keys of a table, each table among them before what it holds.
pub(super) fn keys(table: &Value, families: &[&'static str]) -> Vec<Key> {
    let mut walk = Walk { families, only_if: vec![], keys: vec![] };
    walk.table(table, "");
    walk.keys
}

/// Keys so far, and under which conditions those to come are there.
struct Walk<'a> {
    families: &'a [&'static str],
    only_if: Vec<Condition>,
    keys: Vec<Key>,
}

impl Walk<'_> {
    /// The keys of a table.
    fn table(&mut self, schema: &Value, above: &str) {
        let required: Vec<&str> = array(schema, "required").iter().filter_map(Value::as_str).collect();
        for (name, value) in properties(schema).filter(|(_, value)| value.get("const").is_none()) {
            self.key(name, &join(above, name), value, required.contains(&name.as_str()));
        }
        if let Some(value) = schema.get("additionalProperties").filter(|value| value.is_object()) {
            let at = self.keys.len();
            self.key("*", &join(above, "*"), value, false);
            if self.keys[at].help.is_empty() {
                self.keys[at].help = text(schema).unwrap_or_default();
            }
        }
    }

    /// A key, and what it holds if it is a table.
    fn key(&mut self, name: &str, path: &str, schema: &Value, required: bool) {
        let value = without_null(schema);
        let choices: Vec<Choice> = alternatives(value).iter().filter_map(choice).collect();
        self.keys.push(Key {
            path: path.to_owned(),
            only_if: self.only_if.clone(),
            kind: kind(value),
            choices,
            unit: unit::of(name),
            default: schema.get("default").cloned(),
            required,
            aliases: array(schema, "x-aliases")
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
            help: text(schema).or_else(|| text(value)).unwrap_or_default(),
            families: self.families_of(schema),
        });
        self.inside(value, path);
    }

    /// The families that take a key: those that it names, or all of the table's.
    fn families_of(&self, schema: &Value) -> Vec<&'static str> {
        let all = self.families.iter().copied();
        match schema.get("x-families").and_then(Value::as_array) {
            Some(named) => all.filter(|family| named.iter().any(|name| name == family)).collect(),
            None => all.collect(),
        }
    }

    /// The contents of a key's value.
    fn inside(&mut self, value: &Value, path: &str) {
        self.table(value, path);
        if let Some(items) = value.get("items") {
            self.inside(without_null(items), &format!("{path}[]"));
        }
        let tables: Vec<&Value> =
            alternatives(value).iter().filter(|one| one.get("properties").is_some()).collect();
        let Some((tag, _)) = tables.first().and_then(|first| tag_of(first)) else {
            // Each alternative is a key of its own.
            tables.into_iter().for_each(|one| self.alternative(one, path));
            return;
        };
        let choices = tables.iter().filter_map(|one| {
            let (_, value) = tag_of(one)?;
            Some(Choice { value: value.to_owned(), help: text(one).unwrap_or_default() })
        });
        let path_of_tag = join(path, tag);
        self.keys.push(Key {
            path: path_of_tag.clone(),
            only_if: self.only_if.clone(),
            kind: "text".into(),
            choices: choices.collect(),
            unit: None,
            default: None,
            required: true,
            aliases: vec![],
            help: format!("What `{path}` is, and so which keys it has."),
            families: self.families.to_vec(),
        });
        for one in tables {
            let Some((_, value)) = tag_of(one) else { continue };
            self.only_if.push(Condition { path: path_of_tag.clone(), value: value.to_owned() });
            self.inside(one, path);
            self.only_if.pop();
        }
    }

    /// The key of an alternative that is a table of that key alone: the help is the alternative's.
    fn alternative(&mut self, one: &Value, path: &str) {
        for (name, value) in properties(one) {
            let at = self.keys.len();
            self.key(name, &join(path, name), value, false);
            self.keys[at].families = self.families_of(one);
            if self.keys[at].help.is_empty() {
                self.keys[at].help = text(one).unwrap_or_default();
            }
        }
    }
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") }
}

fn array<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// What stands above the field or the variant, in one line.
fn text(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The alternatives of a value.
fn alternatives(schema: &Value) -> &[Value] {
    let one = array(schema, "oneOf");
    if one.is_empty() { array(schema, "anyOf") } else { one }
}

/// The value itself of one that may be left out.
fn without_null(schema: &Value) -> &Value {
    let is_null = |one: &Value| one.get("type").is_some_and(|kind| kind == "null");
    match array(schema, "anyOf") {
        [one, null] if is_null(null) => one,
        _ => schema,
    }
}

/// The key that identifies the alternative that a table is, and its value.
fn tag_of(table: &Value) -> Option<(&str, &str)> {
    properties(table).find_map(|(name, value)| Some((name.as_str(), value.get("const")?.as_str()?)))
}

/// A word that the value may be.
fn choice(one: &Value) -> Option<Choice> {
    let value = one.get("const")?.as_str()?.to_owned();
    Some(Choice { value, help: text(one).unwrap_or_default() })
}

/// The type of a value, in words.
fn kind(value: &Value) -> String {
    let word = |name: &Value| match name.as_str()? {
        "integer" if value.get("minimum").is_some_and(|least| *least == 0) => {
            Some("whole number, 0 or more".to_owned())
        }
        "integer" => Some("whole number".to_owned()),
        "number" => Some("number".to_owned()),
        "boolean" => Some("true or false".to_owned()),
        "string" => Some("text".to_owned()),
        "object" => Some("table".to_owned()),
        "array" => Some(match value.get("items") {
            Some(items) => format!("list, each a {}", kind(without_null(items))),
            None => "list".to_owned(),
        }),
        _ => None,
    };
    let words: Vec<String> = match value.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(word).collect(),
        Some(name) => word(name).into_iter().collect(),
        None => alternatives(value).iter().map(kind).collect(),
    };
    let mut different: Vec<String> = vec![];
    words.into_iter().filter(|word| !word.is_empty()).for_each(|word| {
        if !different.contains(&word) {
            different.push(word);
        }
    });
    // A table that is read as another one above it, such as the workload of a job.
    if different.is_empty() { "table".into() } else { different.join(" or ") }
}
