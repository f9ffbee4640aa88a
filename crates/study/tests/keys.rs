//! The list of keys is that of the readers: each key that a reader knows is in the list, and each key of the
//! list is one that a reader knows. A reader reports the keys that it knows when it is given an unknown key.

use netloom_study::claims;
use netloom_study::decode::decode;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::keys::{self, Condition, Key};
use netloom_study::machine::{FAMILIES, Machine};
use netloom_study::study::Study;
use netloom_study::tree::Tree;
use std::collections::BTreeSet;

/// No key, and no word that a key may be.
const NOTHING: &str = "qqqq";

/// Puts a value where a path leads, through tables and lists of one table each.
fn put(table: &mut toml::Table, path: &str, value: toml::Value) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let name = first.trim_end_matches("[]").replace('*', "any");
    let Some(rest) = rest else {
        table.insert(name, value);
        return;
    };
    let mut inner = table.entry(name).or_insert_with(|| {
        let lists = first.matches("[]").count();
        (0..lists).fold(toml::Value::Table(toml::Table::new()), |inner, _| toml::Value::Array(vec![inner]))
    });
    while let toml::Value::Array(items) = inner {
        inner = &mut items[0];
    }
    put(inner.as_table_mut().expect("a table"), rest, value);
}

/// The problem that a reader reports for a file that sets only the conditions of a key, and one value.
fn reported(family: Option<&str>, conditions: &[Condition], path: &str, value: toml::Value) -> Problem {
    let mut table = toml::Table::new();
    if let Some(family) = family {
        // Without a clock nothing else of a machine is read.
        table.insert("family".into(), family.into());
        table.insert("clock_MHz".into(), 1000.into());
    }
    conditions.iter().for_each(|c| put(&mut table, &c.path, c.value.as_str().into()));
    put(&mut table, path, value);
    let tree = Tree::parse(&SourceFile::new("keys.toml", toml::to_string(&table).unwrap())).unwrap();
    match (family, tree.get("claim")) {
        (Some(_), _) => Machine::read(&tree).map(drop),
        (None, Some(claim)) => claims::read(claim).map(drop),
        (None, None) => decode::<Study>(&tree).map(drop),
    }
    .expect_err("nothing is called so")
}

/// The known names that a problem lists.
fn names(problem: &Problem) -> BTreeSet<String> {
    let help = problem.help.as_deref().unwrap_or_default();
    let listed =
        help.strip_prefix("expected one of ").or(help.strip_prefix("did you mean ")).unwrap_or_default();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(above, _)| above)
}

fn name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.into() } else { format!("{above}.{name}") }
}

/// Whether a key determines which other keys there are.
fn is_tag(keys: &[&Key], key: &Key) -> bool {
    keys.iter().any(|other| other.only_if.iter().any(|c| c.path == key.path)) || name(&key.path) == "kind"
}

/// Tables with what must be set for their keys to be there, completely.
fn tables(keys: &[&Key]) -> Vec<(String, Vec<Condition>)> {
    let mut all: Vec<(String, Vec<Condition>)> = vec![];
    for key in keys {
        let table = parent(&key.path).to_owned();
        let mut contexts = vec![key.only_if.clone()];
        if is_tag(keys, key) {
            let one = |value: &String| Condition { path: key.path.clone(), value: value.clone() };
            let with = key.choices.iter().map(|c| [&key.only_if[..], &[one(&c.value)]].concat());
            contexts = with.collect();
        }
        for context in contexts.into_iter().map(|context| (table.clone(), context)) {
            if !all.contains(&context) {
                all.push(context);
            }
        }
    }
    // Those that leave the kind of the table open report none of its other keys.
    let is_open = |table: &str, given: &[Condition]| {
        keys.iter().any(|key| {
            parent(&key.path) == table
                && is_tag(keys, key)
                && key.only_if.iter().all(|c| given.contains(c))
                && !given.iter().any(|c| c.path == key.path)
        })
    };
    all.retain(|(table, given)| !is_open(table, given));
    all
}

fn compare(family: Option<&str>, keys: &[&Key]) -> usize {
    let tables = tables(keys);
    for (table, given) in &tables {
        let mut listed: BTreeSet<String> = keys
            .iter()
            .filter(|key| parent(&key.path) == table && key.only_if.iter().all(|c| given.contains(c)))
            .filter(|key| !given.iter().any(|c| c.path == key.path))
            .flat_map(|key| key.aliases.iter().map(String::as_str).chain([name(&key.path)]))
            .map(|name| name.trim_end_matches("[]").to_owned())
            .collect();
        if listed.contains("*") {
            continue;
        }
        // A table of one key among several may be a word instead.
        let own = keys.iter().filter(|key| key.path == *table).flat_map(|key| &key.choices);
        listed.extend(own.map(|choice| choice.value.clone()));
        if table.is_empty() && family.is_none() {
            // These are taken out before.
            ["machine", "set", "sweep", "quick", "claim"].iter().for_each(|key| {
                listed.remove(*key);
            });
        }
        let problem = reported(family, given, &join(table, NOTHING), 1.into());
        let place = format!("{family:?} `{table}` where {given:?}: {}", problem.message);
        assert_eq!(problem.unknown().map(name), Some(NOTHING), "{place}");
        assert_eq!(names(&problem), listed, "{place}");
    }
    tables.len()
}

#[test]
fn the_list_is_what_readers_know() {
    let of_study: Vec<&Key> =
        keys::of_studies().iter().filter(|key| parent(&key.path).is_empty() || !is_outside(key)).collect();
    assert!(compare(None, &of_study) > 30);
    for family in FAMILIES {
        let keys: Vec<&Key> =
            keys::of_machines().iter().filter(|key| key.families.contains(&family.name)).collect();
        assert!(compare(Some(family.name), &keys) > 5, "{}", family.name);
    }
}

/// Whether the reader of studies does not see a key: it is the machine's, or of any name.
fn is_outside(key: &Key) -> bool {
    ["set", "sweep", "quick", "machine"].contains(&key.path.split('.').next().unwrap_or_default())
}

/// Words are those that readers know, and another one is answered with all of them.
#[test]
fn choices_are_what_readers_know() {
    let mut seen = 0;
    for key in keys::all().filter(|key| !key.choices.is_empty() && !is_outside(key) && key.path != "family") {
        let family = if keys::of_studies().contains(key) { None } else { Some(key.families[0]) };
        let problem = reported(family, &key.only_if, &key.path, NOTHING.into());
        let mut listed: BTreeSet<String> = key.choices.iter().map(|choice| choice.value.clone()).collect();
        let below = |other: &&Key| parent(&other.path) == key.path && other.only_if == key.only_if;
        listed.extend(keys::all().filter(below).map(|other| name(&other.path).to_owned()));
        assert_eq!(names(&problem), listed, "`{}`: {}", key.path, problem.message);
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn every_key_has_a_help_text() {
    for key in keys::all() {
        assert!(!key.help.is_empty(), "`{}` has no help", key.path);
        assert!(!key.kind.is_empty() && !key.families.is_empty(), "{key:?}");
        assert!(
            key.choices.iter().all(|choice| !choice.help.is_empty()),
            "a word of `{}` has no help",
            key.path
        );
    }
    let fraction = keys::all().find(|key| key.path == "workload.fraction").expect("of a hot region");
    assert_eq!(fraction.only_if, [Condition { path: "workload.kind".into(), value: "hot-region".into() }]);
    assert_eq!((fraction.default.as_ref(), fraction.required), (Some(&0.25.into()), false));
    assert_eq!(fraction.families.len(), FAMILIES.len());
    let is_gni = |c: &Condition| c.value == "gni";
    let of_aries = keys::all().find(|key| key.only_if.iter().any(is_gni)).expect("of Aries NICs");
    assert_eq!(of_aries.families, ["tiled"]);
    let hop = keys::all().find(|key| key.path == "measure.window_us").expect("of all studies");
    assert_eq!((hop.unit, hop.families.len()), (Some("us"), FAMILIES.len()));
    let load = keys::all().find(|key| key.path == "traffic.load.flits_per_ns").expect("of switches");
    assert_eq!(load.families, ["tiled"]);
    let dims =
        keys::all().find(|key| key.path == "topology.dims" && key.only_if.is_empty()).expect("of tori");
    assert_eq!(dims.families, ["torus", "queued-torus"]);
}
