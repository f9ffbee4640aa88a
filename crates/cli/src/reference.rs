//! The reference of all keys that studies and machines have, and of all figures of a result: as text for
//! `netloom help keys` and `netloom help metrics`, as Markdown for the book.

use netloom_report::write::dictionary::{FILES, TABLES};
use netloom_study::diagnose::{Problem, suggest};
use netloom_study::keys::{self, Key};
use netloom_study::machine::{BUILT_IN, FAMILIES};
use netloom_study::resolve::load_machine;
use serde_json::Value;
use std::fmt::Write;

/// Keys that are explained at length; of more there is a line each.
const EXPLAINED_MAX: usize = 25;

/// What the reference is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Keys of studies and machines.
    Keys,
    /// Figures of a result.
    Metrics,
}

impl Topic {
    /// That of a word after `netloom help`, if it is one.
    pub fn named(word: &str) -> Option<Topic> {
        [Topic::Keys, Topic::Metrics].into_iter().find(|topic| topic.name() == word)
    }

    fn name(self) -> &'static str {
        if self == Topic::Keys { "keys" } else { "metrics" }
    }

    fn noun(self) -> &'static str {
        if self == Topic::Keys { "key" } else { "metric" }
    }

    fn all(self) -> Vec<&'static Key> {
        if self == Topic::Keys { keys::all().collect() } else { keys::of_results().iter().collect() }
    }
}

/// The keys or metrics at and below a path, or all of them.
///
/// # Errors
/// A path at which there is none, with the ones that are similar.
pub fn text(topic: Topic, prefix: Option<&str>) -> Result<String, Problem> {
    let prefix = prefix.unwrap_or_default().trim_end_matches('.');
    let all = topic.all();
    let found: Vec<&Key> = all.iter().copied().filter(|key| is_below(&key.path, prefix)).collect();
    if found.is_empty() {
        let mut names: Vec<&str> = all.iter().map(|key| key.path.as_str()).collect();
        if !prefix.contains('.') {
            names.retain(|name| !name.contains('.'));
        }
        names.dedup();
        return Err(Problem::new(format!("no {} `{prefix}`", topic.noun())).help(suggest(prefix, &names)));
    }
    if found.len() <= EXPLAINED_MAX {
        return Ok(found.iter().map(|key| explained(key)).collect::<Vec<_>>().join("\n"));
    }
    let mut text = String::new();
    let width = found.iter().map(|key| key.path.len()).max().unwrap_or_default().min(48);
    for key in &found {
        let condition = condition(key).map_or(String::new(), |condition| format!(" ({condition})"));
        let _ = writeln!(text, "{:<width$}  {}{condition}", key.path, first_sentence(&key.help));
    }
    let _ = writeln!(
        text,
        "\n`netloom help {} {}` gives more on one and on those below it.",
        topic.name(),
        topic.noun().to_uppercase()
    );
    Ok(text)
}

/// Whether a path is another one or lies below it; lists and names that a file chooses need no marks.
fn is_below(path: &str, prefix: &str) -> bool {
    let plain = |text: &str| text.replace("[]", "");
    let (path, prefix) = (plain(path), plain(prefix));
    prefix.is_empty()
        || path == prefix
        || path.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('.'))
}

fn first_sentence(help: &str) -> &str {
    let end = [". ", ": ", "; "].iter().filter_map(|end| help.find(end)).min();
    end.map_or(help, |end| &help[..end]).trim_end_matches('.')
}

/// Other keys' values that a key needs.
fn condition(key: &Key) -> Option<String> {
    let all: Vec<String> = key.only_if.iter().map(|c| format!("{} = \"{}\"", c.path, c.value)).collect();
    (!all.is_empty()).then(|| format!("with {}", all.join(", ")))
}

/// Its type, with the unit.
fn kind(key: &Key) -> String {
    match key.unit {
        Some(unit) => format!("{}, {unit}", key.kind),
        None => key.kind.clone(),
    }
}

fn default(key: &Key) -> Option<String> {
    match &key.default {
        // Of a number that the simulator counts in another unit.
        Some(Value::String(text)) if key.kind == "number" => Some(text.clone()),
        Some(value) => Some(value.to_string()),
        None if key.required => Some("none: it is required".into()),
        None => None,
    }
}

/// The families of machines that take it; `None` if all do.
fn machines(key: &Key) -> Option<String> {
    (key.families.len() < FAMILIES.len()).then(|| key.families.join(", "))
}

fn explained(key: &Key) -> String {
    let mut text = format!("{}\n", key.path);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "    {name:<9} {value}");
        }
    };
    line("type", Some(kind(key)));
    line("default", default(key));
    line("only", condition(key));
    line("machines", machines(key));
    line("also", (!key.aliases.is_empty()).then(|| key.aliases.join(", ")));
    for wrapped in textwrap::wrap(&key.help, 100) {
        let _ = writeln!(text, "    {wrapped}");
    }
    for choice in &key.choices {
        let named = format!("      \"{}\"", choice.value);
        let help = if choice.help.is_empty() { named } else { format!("{named}: {}", choice.help) };
        for wrapped in textwrap::wrap(&help, textwrap::Options::new(104).subsequent_indent("          ")) {
            let _ = writeln!(text, "{wrapped}");
        }
    }
    text
}

/// The page of the book: a table for each part of a study's and a machine's file.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys\n\nEvery key of a study's file and of a machine's file. `netloom help keys KEY` prints the same. This page is \
         generated by `NETLOOM_UPDATE=1 cargo test -p netloom-cli --test reference`.\n\n\
         A key without a default may be left out unless it is *required*. `*` stands for a name that the file chooses, \
         `[]` for each element of a list.\n",
    );
    for (title, keys) in [("Studies", keys::of_studies()), ("Machines", keys::of_machines())] {
        let _ = write!(text, "\n## {title}\n");
        let mut part = None;
        for key in keys {
            let own = key.path.split(['.', '[']).next().unwrap_or_default();
            let is_table = keys.iter().any(|other| other.path != own && is_below(&other.path, own));
            let heading = if is_table { own } else { "" };
            if part != Some(heading) {
                part = Some(heading);
                let name = if heading.is_empty() { "Top level".into() } else { format!("`[{heading}]`") };
                let _ = write!(
                    text,
                    "\n### {title}: {name}\n\n| key | type | default | machines | meaning |\n|---|---|---|---|---|\n"
                );
            }
            let _ = writeln!(text, "{}", row(key));
        }
    }
    text
}

/// Its help, with the condition and the choices.
fn meaning(key: &Key) -> String {
    let mut meaning = key.help.clone();
    if let Some(condition) = condition(key) {
        meaning = format!("*{condition}*: {meaning}");
    }
    if !key.choices.is_empty() {
        let choices = key.choices.iter().map(|choice| match choice.help.trim_end_matches('.') {
            "" => format!("`{}`", choice.value),
            help => format!("`{}`: {help}", choice.value),
        });
        meaning = format!("{meaning}<br>{}", choices.collect::<Vec<_>>().join("<br>"));
    }
    meaning
}

fn row(key: &Key) -> String {
    let default = match default(key) {
        Some(_) if key.default.is_none() => "*required*".into(),
        Some(value) => format!("`{value}`"),
        None => String::new(),
    };
    let machines = machines(key).unwrap_or_else(|| "all".into());
    let cells = [format!("`{}`", key.path), kind(key), default, machines, meaning(key)];
    format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// The page of the book on the figures of a result.
pub fn metrics_markdown() -> String {
    let mut text = String::from(
        "# Metrics\n\nEvery figure of a run's `summary.json`, which `--json` prints too. `netloom help metrics METRIC` prints the same. \
         This page is generated by `NETLOOM_UPDATE=1 cargo test -p netloom-cli --test reference`.\n\n\
         Means are over the measured part of the run, after the warm-up, unless the definition states otherwise. A claim and \
         `netloom compare` name figures by these paths. `[]` stands for each element of a list.\n\n\
         | metric | type | definition |\n|---|---|---|\n",
    );
    for key in keys::of_results() {
        let cells = [format!("`{}`", key.path), kind(key), meaning(key)];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    text
}

/// The page of the book on files, columns and exit statuses.
pub fn files_markdown() -> String {
    let mut text = String::from(
        "# Files, columns and exit status\n\nThis page is generated by \
         `NETLOOM_UPDATE=1 cargo test -p netloom-cli --test reference`.\n",
    );
    for (of_sweep, title) in [(false, "Folder of a run"), (true, "Folder of a sweep")] {
        let _ = write!(text, "\n## {title}\n\n| file | content |\n|---|---|\n");
        for file in FILES.iter().filter(|file| file.of_sweep == of_sweep) {
            let _ = writeln!(text, "| `{}` | {} |", file.name, file.content);
        }
    }
    for table in TABLES {
        let _ = write!(text, "\n## Columns of {}\n\n| column | meaning |\n|---|---|\n", table.file);
        for (name, meaning) in table.columns {
            let _ = writeln!(text, "| `{name}` | {meaning} |");
        }
    }
    text.push_str("\n## Exit status\n\n| status | meaning |\n|---|---|\n");
    for (status, meaning) in crate::STATUSES {
        let _ = writeln!(text, "| {status} | {meaning} |");
    }
    text.push_str(
        "\n`netloom exec` ends with the status of the first task that fails, 128 + the number of its signal, or 124 at the time \
         limit; `netloom cc` with the compiler's.\n",
    );
    text
}

/// The page of the book on which machine takes which workload.
///
/// # Errors
/// What is wrong with a built-in machine, which the tests exclude.
pub fn workloads_markdown() -> Result<String, Problem> {
    let mut text = String::from(
        "# Workloads by machine\n\nWhich kinds of workload a machine takes. `netloom help keys workload` explains the \
         keys of each. Size and shape of a machine may rule out a pattern, which the program reports before the run. This page is generated by `NETLOOM_UPDATE=1 cargo test -p netloom-cli --test reference`.\n\n",
    );
    let kinds =
        keys::of_studies().iter().find(|key| key.path == "workload.kind").map_or(&[][..], |key| &key.choices);
    let machines: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(text, "| `workload.kind` | {} | meaning |", machines.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---|".repeat(machines.len()));
    for kind in kinds {
        let mut cells = vec![];
        for machine in &machines {
            cells.push(if load_machine(machine, &[])?.takes(&kind.value) { "yes" } else { "" });
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            kind.value,
            cells.join(" | "),
            kind.help.trim_end_matches('.')
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_explained_and_all_are_listed() {
        let part = text(Topic::Keys, Some("measure.warmup_us")).expect("a key");
        assert!(
            part.contains("default") && part.contains("us") && !part.contains("netloom help keys KEY"),
            "{part}"
        );
        let all = text(Topic::Keys, None).expect("keys");
        assert!(all.lines().count() > 300 && all.contains("workload.kind"), "{all}");
    }

    #[test]
    fn metrics_have_units_and_definitions() {
        let part = text(Topic::Metrics, Some("latency.total")).expect("a metric");
        assert!(part.contains("latency.total.p99_ns") && part.contains(", ns"), "{part}");
        let missing: Vec<_> =
            keys::of_results().iter().filter(|key| key.help.is_empty()).map(|key| &key.path).collect();
        assert!(missing.is_empty(), "without a definition: {missing:?}");
    }

    #[test]
    fn a_wrong_key_gets_a_similar_one() {
        let problem = text(Topic::Keys, Some("measure.warmup_u")).expect_err("none");
        assert!(problem.help.is_some_and(|help| help.contains("measure.warmup_us")));
    }
}
