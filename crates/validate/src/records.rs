//! A list of verdicts that a run writes table by table, each with when and by what it was judged: what was
//! interrupted can be resumed, and how long the rest takes is known from the last time.
//!
//! ```toml
//! [recorded]
//! "full.bgl.hot_region" = { at = "2026-11-27T16:02:11Z", version = "0.1.0", seconds = 16.2 }
//! ```

use crate::comparison::meant;
use crate::published::Entry;
use crate::verdicts::{Recorded, Verdicts, parse, read_file, record, replaced, write_file};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::tree::{Tree, Value};
use std::fmt;
use std::path::PathBuf;

/// How long a record stands for a run that is resumed.
const FRESH: TimeDelta = TimeDelta::days(1);

/// When and by what a table was judged.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    /// `quick` or `full`, and the table.
    name: String,
    at: DateTime<Utc>,
    version: String,
    /// How long it took.
    seconds: f64,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let at = self.at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let Record { name, version, seconds, .. } = self;
        write!(f, "\"{name}\" = {{ at = \"{at}\", version = \"{version}\", seconds = {seconds:.1} }}")
    }
}

/// A list that is being written.
pub struct Recorder {
    path: PathBuf,
    quick: bool,
    /// What was asked for.
    wanted: Option<String>,
    /// The list as it was.
    before: Verdicts,
    records: Vec<Record>,
    now: DateTime<Utc>,
}

impl Recorder {
    /// Opens a list for what is asked for, in full.
    ///
    /// # Errors
    /// A file that is not there or is no list.
    pub fn open(path: PathBuf, quick: bool, wanted: Option<&str>) -> Result<Self, Problem> {
        let (name, text) = (path.display().to_string(), read_file(&path)?);
        let before = parse(&name, text.as_str(), quick)?;
        let records = records(&name, &text)?;
        let wanted = wanted.map(crate::comparison::in_full);
        Ok(Recorder { path, quick, wanted, before, records, now: Utc::now() })
    }

    fn record(&self, table: &str) -> Option<&Record> {
        let name = self.name(table);
        self.records.iter().find(|record| record.name == name)
    }

    fn name(&self, table: &str) -> String {
        format!("{}.{table}", if self.quick { "quick" } else { "full" })
    }

    /// Whether this version has judged a table within the last day.
    pub fn has(&self, table: &str) -> bool {
        let fresh = |record: &Record| {
            let age = self.now.signed_duration_since(record.at);
            record.version == env!("CARGO_PKG_VERSION") && (TimeDelta::zero()..FRESH).contains(&age)
        };
        self.record(table).is_some_and(fresh)
    }

    /// What the list had of the tables that were asked for and need not be judged again.
    pub fn had(&self) -> impl Iterator<Item = &Recorded> {
        let asked = |id: &str| self.wanted.as_deref().is_none_or(|wanted| meant(id, wanted));
        // `paper.table[row].column`, or `paper.table`.
        let table = |id: &str| {
            id.split('[').next().unwrap_or(id).splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
        };
        self.before.iter().filter(move |r| asked(&r.id) && self.has(&table(&r.id)))
    }

    /// How long some tables will take, s: as the last time; `None` if that is not known of one of them.
    pub fn left(&self, tables: &[&str]) -> Option<f64> {
        tables.iter().map(|table| self.record(table).map(|record| record.seconds)).sum()
    }

    /// Writes the entries of a table that has been judged.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn judged(&mut self, table: &str, entries: &[Entry], seconds: f64) -> Result<(), Problem> {
        // A list has the papers that it has, unless others are asked for.
        let paper = |id: &str| id.split('.').next().unwrap_or_default().to_owned();
        if self.wanted.is_none() && !self.before.iter().any(|r| paper(&r.id) == paper(table)) {
            return Ok(());
        }
        let of_table: Vec<Entry> = entries.iter().filter(|e| e.table == table).cloned().collect();
        // One entry of it may be all that was asked for.
        let one = self.wanted.as_deref().filter(|wanted| meant(wanted, table));
        record(&self.path, self.quick, &of_table, Some(one.unwrap_or(table)))?;
        if one.is_some_and(|one| one != table) {
            return Ok(());
        }
        let (name, version) = (self.name(table), env!("CARGO_PKG_VERSION").into());
        let new = Record { name, at: Utc::now(), version, seconds };
        match self.records.iter_mut().find(|record| record.name == new.name) {
            Some(record) => *record = new,
            None => self.records.push(new),
        }
        let lines: Vec<String> = self.records.iter().map(Record::to_string).collect();
        write_file(&self.path, &replaced(&read_file(&self.path)?, "recorded", &lines))
    }
}

/// The records of a list.
fn records(name: &str, text: &str) -> Result<Vec<Record>, Problem> {
    let tree = Tree::parse(&SourceFile::new(name, text))?;
    let Some(table) = tree.get("recorded") else { return Ok(vec![]) };
    let record = |entry: &netloom_study::tree::Entry| {
        let text = |key| entry.value.get(key).and_then(Tree::text);
        let wrong = || Problem::new("this is no record").help("--record writes them").at(&entry.value.origin);
        let at = text("at").and_then(|at| DateTime::parse_from_rfc3339(at).ok()).ok_or_else(wrong)?;
        let seconds = match entry.value.get("seconds").map(|tree| &tree.value) {
            Some(Value::Float(x)) => *x,
            Some(Value::Integer(x)) => *x as f64,
            _ => return Err(wrong()),
        };
        let version = text("version").ok_or_else(wrong)?.into();
        Ok(Record { name: entry.key.clone(), at: at.to_utc(), version, seconds })
    };
    table.entries().iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;
    use netloom_report::published::compare::Verdict;

    #[test]
    fn written_table_by_table_and_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.toml");
        std::fs::write(&path, "# Why.\n\n[quick]\n\n[full]\n").unwrap();
        let open = |quick| Recorder::open(path.clone(), quick, Some("bgl")).unwrap();
        let mut entries = published().unwrap();
        entries.retain(|e| e.id.starts_with("bgl."));
        entries.iter_mut().filter(|e| e.table == "bgl.jsq").for_each(|e| e.verdict = Verdict::Pass);

        let mut recorder = open(false);
        assert!(!recorder.has("bgl.jsq"));
        recorder.judged("bgl.jsq", &entries, 136.0).unwrap();
        let mut recorder = open(false);
        assert!(recorder.has("bgl.jsq") && !recorder.has("bgl.hot_region"));
        assert!(!open(true).has("bgl.jsq"), "that was a full run");
        assert_eq!(recorder.left(&["bgl.jsq"]), Some(136.0));
        assert_eq!(recorder.left(&["bgl.jsq", "bgl.hot_region"]), None);
        // Another day it is judged anew.
        recorder.now += TimeDelta::days(2);
        assert!(!recorder.has("bgl.jsq"));

        recorder.judged("bgl.hot_region", &entries, 16.0).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Why.\n") && text.matches("[recorded]").count() == 1, "{text}");
        let list = parse("list", text, false).unwrap();
        assert!(list.iter().any(|r| r.id.starts_with("bgl.jsq") && r.verdict == Verdict::Pass));
        assert!(list.iter().any(|r| r.id.starts_with("bgl.hot_region")));
        assert_eq!(open(false).left(&["bgl.jsq", "bgl.hot_region"]), Some(152.0));
    }

    #[test]
    fn a_list_keeps_to_its_papers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.toml");
        let text = "[quick]\n\n[full]\n\"bgl.jsq.response_time_reduction\" = { verdict = \"pass\" }\n";
        std::fs::write(&path, text).unwrap();
        let entries = published().unwrap();
        let mut recorder = Recorder::open(path.clone(), false, None).unwrap();
        recorder.judged("bgq.bisection", &entries, 1.0).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
