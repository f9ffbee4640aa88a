//! `[expect]`: the figures of the result that it names exist, so that a slip is refused before the run.

use super::mistakes::not_a;
use crate::diagnose::{Problem, nearest};
use crate::keys;
use crate::tree::{Entry, Tree, Value};

/// Figures that programs measure have names of their own, which only the run knows.
const MEASURED: &str = "measured.";

/// Turns tables in `[expect]`, as keys with dots that stand in no quotes make them, into such keys, and
/// checks the names.
///
/// # Errors
/// A name that no figure has, in its place, with the one that is meant.
pub(super) fn read(study: &mut Tree) -> Result<(), Problem> {
    let Some(mut expect) = study.take("expect") else { return Ok(()) };
    if let Value::Table(entries) = &expect.value.value {
        let mut flat = vec![];
        entries.iter().for_each(|entry| flatten("", entry, &mut flat));
        let problems = flat.iter().filter_map(|entry| check(entry).err());
        if let Some(problem) = Problem::of_all(problems.collect()) {
            return Err(problem);
        }
        expect.value.value = Value::Table(flat);
    }
    study.lay(&expect);
    Ok(())
}

fn flatten(above: &str, entry: &Entry, flat: &mut Vec<Entry>) {
    let key = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
    match &entry.value.value {
        Value::Table(entries) => entries.iter().for_each(|entry| flatten(&key, entry, flat)),
        _ => flat.push(Entry { key, ..entry.clone() }),
    }
}

fn check(entry: &Entry) -> Result<(), Problem> {
    let name = entry.key.as_str();
    let Some(help) = unknown_figure(name, &[]) else { return Ok(()) };
    let mut problem =
        not_a(&format!("a result has no figure `{name}`"), "the name of a figure", &entry.value);
    problem.help = Some(help);
    Err(problem.at(&entry.origin))
}

/// What is to be done about a name that no figure has; nothing for one of a result, or one of `others`.
pub fn unknown_figure(name: &str, others: &[&str]) -> Option<String> {
    let all = || keys::of_results().iter().map(|key| key.path.as_str());
    let is_known = |name: &str| all().any(|path| path == name);
    // One of a table whose keys only the run knows, as VCs.
    let of_table = || {
        let (table, _) = name.rsplit_once('.')?;
        let is_below = |path: &str| path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
        Some(is_known(table) && !all().any(is_below))
    };
    if name.starts_with(MEASURED) || others.contains(&name) || is_known(name) || of_table() == Some(true) {
        return None;
    }
    let all = || all().chain(others.iter().copied());
    let last = all().find(|path| path.rsplit('.').next() == name.rsplit('.').next());
    Some(match last.or_else(|| nearest(name, all())) {
        Some(path) => format!("did you mean `{path}`?"),
        None => "`netloom help metrics` lists them".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::SourceFile;

    fn read_text(text: &str) -> Result<Tree, Problem> {
        let mut tree = Tree::parse(&SourceFile::new("study.toml", text)).expect("TOML");
        read(&mut tree).map(|()| tree)
    }

    #[test]
    fn names_with_and_without_quotes_are_the_same() {
        let [quoted, plain] = ["\"links.mean_utilization\"", "links.mean_utilization"]
            .map(|key| read_text(&format!("[expect]\n{key} = [0.1, 0.2]\n")).expect("a figure"));
        assert_eq!(quoted, plain);
        assert!(read_text("[expect]\nmeasured.anything = [0, 1]\n").is_ok());
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_one_that_is_meant() {
        for (wrong, meant) in
            [("run_time_us", "simulated.run_time_us"), ("links.mean_utilisation", "links.mean_utilization")]
        {
            let problem = read_text(&format!("[expect]\n{wrong} = [0, 1]\n")).expect_err("none");
            assert!(problem.help.as_ref().is_some_and(|help| help.contains(meant)), "{problem:?}");
        }
    }
}
