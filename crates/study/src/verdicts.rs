//! Verdicts as a list in a file, so that none gets worse unseen: a figure that fails stays in sight there, with the
//! others, until it passes.

use crate::compare::Verdict;
use crate::diagnose::{Problem, SourceFile};
use crate::published::Entry;
use crate::tree::Tree;
use crate::validate::{in_full, meant};
use std::fmt;
use std::path::Path;

/// A list of verdicts: names of entries and what became of them.
pub type Verdicts = Vec<(String, Verdict)>;

/// A verdict that is not the one of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The entry.
    pub id: String,
    /// The list's verdict; none for an entry that it does not have.
    pub before: Option<Verdict>,
    /// This run's verdict; none for an entry that is gone.
    pub now: Option<Verdict>,
    /// Whether it is for the worse.
    pub worse: bool,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let word = |v: Option<Verdict>| v.map_or("not there", Verdict::word);
        let kind = if self.worse { "worse" } else { "changed" };
        write!(f, "{kind}: {} was {}, is {}", self.id, word(self.before), word(self.now))
    }
}

/// Reads the table `quick` or `full` of a list.
///
/// # Errors
/// A file that cannot be read, or a word that is no verdict, in its place.
pub fn read(path: &Path, quick: bool) -> Result<Verdicts, Problem> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Problem::new(format!("cannot read the verdicts {}: {e}", path.display())))?;
    let tree = Tree::parse(&SourceFile::new(path.display().to_string(), text))?;
    let name = if quick { "quick" } else { "full" };
    let table = tree.get(name).ok_or_else(|| {
        Problem::new(format!("the verdicts {} have no table [{name}]", path.display())).at(&tree.origin)
    })?;
    let verdict = |e: &crate::tree::Entry| {
        let verdict = e.value.text().and_then(Verdict::from_word);
        verdict.map(|v| (e.key.clone(), v)).ok_or_else(|| {
            Problem::new("this is no verdict")
                .help("pass, fail, shape-pass, shape-fail, calibrated, not-run")
                .at(&e.value.origin)
        })
    };
    table.entries().iter().map(verdict).collect()
}

/// How good a verdict is: one that nobody saw is worse than a failure in sight.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        None | Some(Verdict::NotRun) => 0,
        Some(Verdict::Fail | Verdict::ShapeFail) => 1,
        Some(Verdict::Pass | Verdict::ShapePass | Verdict::Calibrated) => 2,
    }
}

/// What has changed from a list, of the entries that were asked for. Parameters of the machine are not listed.
pub fn compare(before: &[(String, Verdict)], entries: &[Entry], wanted: Option<&str>) -> Vec<Change> {
    let wanted = wanted.map(in_full);
    let asked = |id: &str| wanted.as_deref().is_none_or(|w| meant(id, w));
    let now = |id: &str| entries.iter().find(|e| e.id == id).map(|e| e.verdict);
    let old = before.iter().filter(|(id, _)| asked(id)).map(|(id, v)| (id.clone(), Some(*v), now(id)));
    let papers: Vec<&str> = before.iter().filter_map(|(id, _)| id.split('.').next()).collect();
    let listed = |e: &&Entry| papers.contains(&e.id.split('.').next().unwrap_or_default());
    let judged = |e: &&Entry| e.role != "parameter" || e.verdict != Verdict::NotRun;
    let new = entries
        .iter()
        .filter(listed)
        .filter(judged)
        .filter(|e| before.iter().all(|b| b.0 != e.id))
        .map(|e| (e.id.clone(), None, Some(e.verdict)));
    old.chain(new)
        .filter(|(_, before, now)| before != now)
        .map(|(id, before, now)| Change { id, before, now, worse: rank(now) < rank(before) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;

    #[test]
    fn what_gets_worse_is_told() {
        let mut entries = published().unwrap();
        entries.retain(|e| e.table == "bgl.all_to_all_32k");
        let ids: Vec<String> = entries.iter().map(|e| e.id.clone()).collect();
        let list = |a, b| vec![(ids[0].clone(), a), (ids[1].clone(), b)];
        let worse = |entries: &[Entry], before: &Verdicts| {
            compare(before, entries, Some("bgl")).iter().filter(|c| c.worse).count()
        };
        (entries[0].verdict, entries[1].verdict) = (Verdict::Pass, Verdict::Fail);
        assert!(compare(&list(Verdict::Pass, Verdict::Fail), &entries, None).is_empty());
        assert_eq!(worse(&entries, &list(Verdict::Pass, Verdict::Pass)), 1);
        assert_eq!(worse(&entries, &list(Verdict::Fail, Verdict::NotRun)), 0);
        entries[1].verdict = Verdict::NotRun;
        assert_eq!(worse(&entries, &list(Verdict::Pass, Verdict::Fail)), 1, "not judged any more");
        let gone = compare(&list(Verdict::Pass, Verdict::Fail), &entries[..1], Some("bgl.all_to_all_32k"));
        assert_eq!(gone[0].to_string(), format!("worse: {} was fail, is not there", ids[1]));
        assert!(compare(&list(Verdict::Pass, Verdict::Fail), &[], Some("bgl.hop")).is_empty());
    }
}
