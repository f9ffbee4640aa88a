//! Verdicts and figures as a list in a file, so that none gets worse or changes unseen: a figure that fails
//! stays in sight there, with the others, until it passes; and what the documents quote is compared with the
//! list by a test.
//!
//! A list has a table `[quick]` and a table `[full]`, for the two lengths of run. An entry is its verdict,
//! with the simulated figure or, for a behaviour in words, what was seen:
//!
//! ```toml
//! "bgl.all_to_all_32k.link_utilization" = { verdict = "pass", simulated = 0.987 }
//! "bgl.hot_region" = { verdict = "shape-fail", seen = "..." }
//! "bgq.zone_routing[16x8x8x8/true].fraction_of_peak" = { verdict = "pass" }
//! ```
//!
//! `netloom validate --against FILE` compares a run with it, `--record FILE` writes it.

use crate::comparison::{in_full, meant};
use crate::published::{Entry, published};
use netloom_report::published::compare::Verdict;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::tree::{Tree, Value};
use std::fmt;
use std::path::Path;

/// What an entry of a list came out at.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The entry's name.
    pub id: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The simulated figure, as rounded as it is written; `None` where it was not recorded.
    pub simulated: Option<f64>,
    /// What was seen of a behaviour in words.
    pub seen: Option<String>,
}

impl Recorded {
    fn new(entry: &Entry) -> Recorded {
        let is_shape = entry.quantity == "shape" && entry.verdict != Verdict::NotRun;
        Recorded {
            id: entry.id.clone(),
            verdict: entry.verdict,
            simulated: entry.simulated.map(rounded),
            seen: is_shape.then(|| entry.note.clone()),
        }
    }

    /// The simulated numbers of it, in order: of what was seen, without the range that a claim expects.
    pub fn numbers(&self) -> Vec<f64> {
        let seen = self.seen.iter().flat_map(|seen| seen.split(", expected ").enumerate());
        let seen = seen.flat_map(|(i, part)| {
            let simulated = if i == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
            numbers(simulated)
        });
        self.simulated.into_iter().chain(seen).collect()
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let quoted = |text: &str| toml::Value::String(text.into()).to_string();
        write!(f, "{} = {{ verdict = \"{}\"", quoted(&self.id), self.verdict.word())?;
        if let Some(simulated) = self.simulated {
            write!(f, ", simulated = {simulated:?}")?;
        }
        if let Some(seen) = &self.seen {
            write!(f, ", seen = {}", quoted(seen))?;
        }
        f.write_str(" }")
    }
}

/// A figure to six digits, as a list has it: more would differ from one computer's arithmetic to another's.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// The numbers in a text: digits that no letter or digit stands before, with thousands' commas and a
/// fraction.
pub fn numbers(text: &str) -> Vec<f64> {
    let mut found = vec![];
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_ascii_digit() && !before.is_alphanumeric() && before != '.' {
            let end =
                rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(rest.len());
            let number = rest[..end].trim_end_matches(['.', ',']);
            found.extend(number.replace(',', "").parse::<f64>());
            number.len()
        } else {
            c.len_utf8()
        };
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    found
}

/// A list, in order.
pub type Verdicts = Vec<Recorded>;

/// What a run has otherwise than the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The entry.
    pub id: String,
    /// What the list has; `None` for an entry that it does not have.
    pub before: Option<Recorded>,
    /// What this run has; `None` for an entry that no longer exists.
    pub now: Option<Recorded>,
    /// Whether the verdict is for the worse.
    pub worse: bool,
}

impl Change {
    fn verdicts(&self) -> [Option<Verdict>; 2] {
        [&self.before, &self.now].map(|r| r.as_ref().map(|r| r.verdict))
    }

    /// Whether the run does not confirm the list: a verdict is worse, or a figure is another under the same
    /// verdict. A verdict that is better or of another kind, `derived` for `pass`, only makes the list out of
    /// date.
    pub fn fails(&self) -> bool {
        let [before, now] = self.verdicts();
        self.worse || before == now
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [before, now] = self.verdicts();
        if before == now {
            let figures = |r: &Option<Recorded>| {
                let figures: Vec<String> =
                    r.iter().flat_map(Recorded::numbers).map(|x| format!("{x}")).collect();
                figures.join(", ")
            };
            return write!(
                f,
                "changed: {} was {}, is {}",
                self.id,
                figures(&self.before),
                figures(&self.now)
            );
        }
        let word = |v: Option<Verdict>| v.map_or("not there", Verdict::word);
        let kind = if self.worse { "worse" } else { "changed" };
        write!(f, "{kind}: {} was {}, is {}", self.id, word(before), word(now))
    }
}

pub(crate) fn read_file(path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path)
        .map_err(|e| Problem::new(format!("cannot read the verdicts {}: {e}", path.display())))
}

/// Reads the table `quick` or `full` of a list.
///
/// # Errors
/// A file that cannot be read, a word that is no verdict, in its place, or a table without entries, with
/// which every run would agree.
pub fn read(path: &Path, quick: bool) -> Result<Verdicts, Problem> {
    let list = parse(&path.display().to_string(), read_file(path)?, quick)?;
    if list.is_empty() {
        let (file, table) = (path.display(), table_name(quick));
        let problem = Problem::new(format!("the verdicts {file} have no entries in [{table}]"));
        return Err(problem.help("`--record` writes them, if a paper is named"));
    }
    Ok(list)
}

/// Reads a table of a list from its text.
///
/// # Errors
/// A missing table, or a word that is no verdict, in its place.
pub fn parse(name: &str, text: impl Into<String>, quick: bool) -> Result<Verdicts, Problem> {
    let tree = Tree::parse(&SourceFile::new(name, text.into()))?;
    let table = tree.get(table_name(quick)).ok_or_else(|| {
        Problem::new(format!("the verdicts {name} have no table [{}]", table_name(quick))).at(&tree.origin)
    })?;
    let recorded = |e: &netloom_study::tree::Entry| {
        let word = e.value.get("verdict").unwrap_or(&e.value);
        let verdict = word.text().and_then(Verdict::from_word).ok_or_else(|| {
            let words: Vec<&str> = Verdict::ALL.into_iter().map(Verdict::word).collect();
            Problem::new("this is no verdict").help(words.join(", ")).at(&word.origin)
        })?;
        let simulated = e.value.get("simulated").and_then(|v| match v.value {
            Value::Float(x) => Some(x),
            Value::Integer(i) => Some(i as f64),
            _ => None,
        });
        let seen = e.value.get("seen").and_then(Tree::text).map(str::to_owned);
        Ok(Recorded { id: e.key.clone(), verdict, simulated, seen })
    };
    table.entries().iter().map(recorded).collect()
}

fn table_name(quick: bool) -> &'static str {
    if quick { "quick" } else { "full" }
}

/// Writes what a run came out at into a list's table: entries that were asked for anew, the others as they
/// are.
///
/// # Errors
/// A file that is not there, is no list or cannot be written.
pub fn record(path: &Path, quick: bool, entries: &[Entry], wanted: Option<&str>) -> Result<(), Problem> {
    let text = read_file(path)?;
    let before = parse(&path.display().to_string(), text.as_str(), quick)?;
    let published = published()?;
    let place = |id: &str| published.iter().position(|e| e.id == id || e.table == id);
    let merged = merged(&before, entries, wanted, &place);
    write_file(path, &replaced(&text, table_name(quick), &lines(&merged)))
}

/// Writes a list; what is interrupted leaves the old one.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Problem> {
    let new = path.with_extension("toml.new");
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|e| Problem::new(format!("cannot write the verdicts {}: {e}", path.display())))
}

/// The lines of a list's table.
fn lines(list: &[Recorded]) -> Vec<String> {
    list.iter().map(Recorded::to_string).collect()
}

/// A list with the entries that were asked for as they are now, without those that are published no more.
/// `place`: an entry's place among all that are published; new ones come behind those before them.
fn merged(
    before: &[Recorded],
    entries: &[Entry],
    wanted: Option<&str>,
    place: &dyn Fn(&str) -> Option<usize>,
) -> Verdicts {
    let mut list: Verdicts = before.iter().filter(|r| place(&r.id).is_some()).cloned().collect();
    for now in listed(before, entries, wanted).map(Recorded::new) {
        match list.iter().position(|r| r.id == now.id) {
            Some(i) => list[i] = now,
            None => {
                let after = list.iter().rposition(|r| place(&r.id) <= place(&now.id));
                list.insert(after.map_or(0, |i| i + 1), now);
            }
        }
    }
    let wanted = wanted.map(in_full);
    let asked = |id: &str| wanted.as_deref().is_none_or(|w| meant(id, w));
    list.retain(|r| !asked(&r.id) || entries.iter().any(|e| e.id == r.id));
    list
}

/// The text of a list with other lines in one table, which is put at its end if it has none of this name.
pub(crate) fn replaced(text: &str, table: &str, lines: &[String]) -> String {
    let head = format!("[{table}]");
    if !text.lines().any(|line| line == head) {
        return replaced(&format!("{}\n\n{head}\n", text.trim_end()), table, lines);
    }
    let mut new = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('[') {
            if inside {
                new.push('\n');
            }
            inside = line == head;
            new.push_str(line);
            new.push('\n');
            if inside {
                lines.iter().for_each(|line| new.push_str(&format!("{line}\n")));
            }
        } else if !inside {
            new.push_str(line);
            new.push('\n');
        }
    }
    new
}

/// Rank of a verdict: a missing one is worse than a failure. The kinds of agreement are
/// no better than one another: a change from predicted to derived makes nothing worse.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        None | Some(Verdict::NotRun) => 0,
        Some(Verdict::Fail | Verdict::ShapeFail) => 1,
        Some(_) => 2,
    }
}

/// The entries of a list's papers, and of those that were asked for, that belong on it: parameters of the
/// machine that are not judged do not.
fn listed<'a>(
    before: &'a [Recorded],
    entries: &'a [Entry],
    wanted: Option<&str>,
) -> impl Iterator<Item = &'a Entry> {
    let is_named = wanted.is_some();
    let paper = |id: &'a str| id.split('.').next().unwrap_or_default();
    entries
        .iter()
        .filter(move |e| is_named || before.iter().any(|r| paper(&r.id) == paper(&e.id)))
        .filter(|e| e.role != "parameter" || e.verdict != Verdict::NotRun)
}

/// What has changed from a list, of the entries that were asked for.
pub fn compare(before: &[Recorded], entries: &[Entry], wanted: Option<&str>) -> Vec<Change> {
    let wanted = wanted.map(in_full);
    let asked = |id: &str| wanted.as_deref().is_none_or(|w| meant(id, w));
    let now = |id: &str| entries.iter().find(|e| e.id == id).map(Recorded::new);
    let old = before.iter().filter(|r| asked(&r.id)).map(|r| (r.id.clone(), Some(r.clone()), now(&r.id)));
    let new = listed(before, entries, wanted.as_deref())
        .filter(|e| before.iter().all(|r| r.id != e.id))
        .map(|e| (e.id.clone(), None, Some(Recorded::new(e))));
    let verdict = |r: &Option<Recorded>| r.as_ref().map(|r| r.verdict);
    let figures_differ = |before: &Option<Recorded>, now: &Option<Recorded>| {
        let [before, now] = [before, now].map(|r| r.as_ref().map(Recorded::numbers).unwrap_or_default());
        !before.is_empty() && before != now
    };
    old.chain(new)
        .filter(|(_, before, now)| verdict(before) != verdict(now) || figures_differ(before, now))
        .map(|(id, before, now)| {
            let worse = rank(verdict(&now)) < rank(verdict(&before));
            Change { id, before, now, worse }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(entry: &Entry, verdict: Verdict) -> Recorded {
        Recorded { id: entry.id.clone(), verdict, simulated: None, seen: None }
    }

    #[test]
    fn regressions_are_reported() {
        let mut entries = published().unwrap();
        entries.retain(|e| e.table == "bgl.all_to_all_32k");
        let listed = entries.clone();
        let list = |a, b| vec![recorded(&listed[0], a), recorded(&listed[1], b)];
        let count = |entries: &[Entry], before: &Verdicts| {
            let changes = compare(before, entries, Some("bgl"));
            (changes.len(), changes.iter().filter(|c| c.worse).count())
        };
        (entries[0].verdict, entries[1].verdict) = (Verdict::Pass, Verdict::Fail);
        assert!(compare(&list(Verdict::Pass, Verdict::Fail), &entries, None).is_empty());
        assert_eq!(count(&entries, &list(Verdict::Pass, Verdict::Pass)), (1, 1));
        assert_eq!(count(&entries, &list(Verdict::Fail, Verdict::NotRun)), (2, 0));
        entries[1].verdict = Verdict::NotRun;
        assert_eq!(count(&entries, &list(Verdict::Pass, Verdict::Fail)), (1, 1), "not judged any more");
        let missing = compare(&list(Verdict::Pass, Verdict::Fail), &entries[..1], Some("bgl.all_to_all_32k"));
        assert_eq!(missing[0].to_string(), format!("worse: {} was fail, is not there", entries[1].id));
        assert!(compare(&list(Verdict::Pass, Verdict::Fail), &[], Some("bgl.hop")).is_empty());
        // Another kind of agreement is no worse, but a change; a failure of any kind is worse.
        entries[1].verdict = Verdict::Derived;
        assert_eq!(count(&entries, &list(Verdict::Pass, Verdict::Pass)), (1, 0));
        assert_eq!(count(&entries, &list(Verdict::Pass, Verdict::LooseBound)), (1, 0));
        entries[1].verdict = Verdict::Fail;
        assert_eq!(count(&entries, &list(Verdict::Pass, Verdict::Derived)), (1, 1));
    }

    #[test]
    fn another_figure_is_noticed_under_the_same_verdict() {
        let mut entries = published().unwrap();
        entries.retain(|e| e.id == "bgl.all_to_all_32k.link_utilization");
        (entries[0].verdict, entries[0].simulated) = (Verdict::Pass, Some(0.987_654_321));
        let mut list = vec![Recorded::new(&entries[0])];
        assert!(compare(&list, &entries, None).is_empty());
        list[0].simulated = Some(0.987_655);
        let changes = compare(&list, &entries, None);
        assert!(changes[0].fails() && !changes[0].worse);
        assert_eq!(changes[0].to_string(), format!("changed: {} was 0.987655, is 0.987654", entries[0].id));
        list[0].simulated = None;
        assert!(compare(&list, &entries, None).is_empty(), "no figure was recorded");
    }

    #[test]
    fn what_is_recorded_is_read_again() {
        let mut entries = published().unwrap();
        entries.retain(|e| e.table == "bgl.all_to_all_32k" || e.table == "bgl.bubble_deadlock");
        (entries[0].verdict, entries[0].simulated) = (Verdict::Pass, Some(0.987_654_321));
        entries[1].verdict = Verdict::Fail;
        let text =
            format!("# Why.\n\n[quick]\n\"{}\" = \"fail\"\n\n[full]\n\"bgl.x\" = \"pass\"\n", entries[0].id);
        let before = parse("list", text.as_str(), true).unwrap();
        let all = published().unwrap();
        let place = |id: &str| all.iter().position(|e| e.id == id || e.table == id);
        // One of two entries is recorded, then both.
        let one =
            replaced(&text, "quick", &lines(&merged(&before, &entries[..1], Some(&entries[0].id), &place)));
        assert_eq!(
            one,
            format!(
                "# Why.\n\n[quick]\n\"{}\" = {{ verdict = \"pass\", simulated = 0.987654 }}\n\n[full]\n\"bgl.x\" = \"pass\"\n",
                entries[0].id
            )
        );
        entries[2].verdict = Verdict::ShapePass;
        entries[2].note = "of 1,234 and \"0.5\"".into();
        let all = replaced(
            &one,
            "quick",
            &lines(&merged(&parse("list", one.as_str(), true).unwrap(), &entries, None, &place)),
        );
        let read = parse("list", all.as_str(), true).unwrap();
        assert_eq!(read, entries.iter().map(Recorded::new).collect::<Vec<_>>());
        assert_eq!(read[2].numbers(), [1234.0, 0.5]);
        assert!(compare(&read, &entries, None).is_empty());
        assert_eq!(parse("list", all, false).unwrap()[0].id, "bgl.x");
    }

    #[test]
    fn numbers_are_found_in_texts() {
        assert_eq!(numbers("0.5 to 1,234, of 16x16: 3."), [0.5, 1234.0, 16.0, 3.0]);
        assert_eq!(numbers("VC0 is 4 KB"), [4.0]);
        let seen = Some("a: lower (0.74, expected 0 to 0.9); b: near (0.99, expected 0.9 to 1).".into());
        let shape = Recorded { id: "a".into(), verdict: Verdict::ShapePass, simulated: None, seen };
        assert_eq!(shape.numbers(), [0.74, 0.99]);
    }
}
