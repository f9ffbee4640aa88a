//! The figures in the tables of the documents are those of the tool: each number of a column `simulated` is
//! compared with what `netloom validate --record` wrote into `published/*.verdicts.toml`, and each verdict
//! with that of its entries.
//!
//! A row names its entries in a comment, which a reader does not see:
//! `<!-- bgl.jsq.response_time_reduction; quick bgl.hot_region -->`. A name is that of an entry, a row or a
//! table; its figures are those of full runs unless it is marked `quick`. A figure without an entry is
//! marked: `<!-- unchecked: why -->`. A number with a sign is a difference from the published figure in
//! percent, `-0.7 to +0.8%` the minimum and the maximum. Text in backquotes and shapes (`16x8x8`) are not
//! figures.

use netloom_report::published::compare::Verdict;
use netloom_validate::meant;
use netloom_validate::published::{Entry, published};
use netloom_validate::verdicts::{Recorded, parse};
use std::path::Path;

const DOCUMENTS: [&str; 7] = [
    "README.md",
    "docs/validation.md",
    "docs/validation-bgq.md",
    "docs/validation-pami.md",
    "docs/validation-xc.md",
    "docs/validation-th.md",
    "docs/validation-further.md",
];
const LISTS: [&str; 6] = ["bgl", "bgq", "cray-xc", "pami", "th-express-2", "further"];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What full runs, then what quick runs came out at.
struct Lists([Vec<Recorded>; 2]);

impl Lists {
    fn read() -> Lists {
        let all = |quick| {
            let list = |name| {
                let path = format!("published/{name}.verdicts.toml");
                parse(&path, read(&path), quick).expect("a list of verdicts")
            };
            LISTS.into_iter().flat_map(list).collect()
        };
        Lists([all(false), all(true)])
    }

    /// The records of a row's names.
    fn named(&self, names: &str) -> Result<Vec<&Recorded>, String> {
        let mut all = vec![];
        for name in names.split(';').map(str::trim) {
            let (list, name) =
                name.strip_prefix("quick ").map_or((&self.0[0], name), |name| (&self.0[1], name));
            let found: Vec<_> = list.iter().filter(|r| meant(&r.id, name)).collect();
            // A table's own name is its behaviour in words, where it has one.
            let exact: Vec<_> = found.iter().copied().filter(|r| r.id == name).collect();
            all.extend(if exact.is_empty() { found.clone() } else { exact });
            if found.is_empty() {
                return Err(format!("no recorded entry is called `{name}`"));
            }
        }
        Ok(all)
    }
}

/// A number as a document has it.
#[derive(Clone, Copy, Debug)]
struct Quoted {
    value: f64,
    decimals: i32,
    signed: bool,
    percent: bool,
}

impl Quoted {
    /// Whether a figure is this one, rounded.
    fn is(&self, figure: f64) -> bool {
        (figure - self.value).abs() <= 0.5 * 10f64.powi(-self.decimals) * (1.0 + 1e-9) + 1e-12
    }
}

/// The numbers of a cell.
fn quoted(cell: &str) -> Vec<Quoted> {
    // What is in backquotes is no figure.
    let text: String = cell.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut found = vec![];
    for word in text.split(|c: char| c.is_whitespace() || "();:".contains(c)) {
        let word = word.trim_end_matches([',', '.']);
        let (number, percent) = word.strip_suffix('%').map_or((word, false), |w| (w, true));
        let signed = number.starts_with(['+', '-']);
        let Ok(value) = number.replace(',', "").parse::<f64>() else { continue };
        let decimals = number.split_once('.').map_or(0, |(_, d)| d.len() as i32);
        found.push(Quoted { value, decimals, signed, percent });
    }
    found
}

/// What is wrong with a row: its cell of figures and of verdicts, and its entries.
fn mistakes(
    simulated: &str,
    verdicts: Option<&str>,
    records: &[&Recorded],
    entries: &[Entry],
) -> Vec<String> {
    let mut wrong = vec![];
    let differences: Vec<f64> = records
        .iter()
        .filter_map(|r| {
            let published = entries.iter().find(|e| e.id == r.id)?.published.as_ref()?.number()?;
            Some(100.0 * (r.simulated? / published - 1.0))
        })
        .collect();
    let numbers: Vec<f64> = records.iter().flat_map(|r| r.numbers()).collect();
    let quoted = quoted(simulated);
    let signed: Vec<&Quoted> = quoted.iter().filter(|q| q.signed).collect();
    if let [low, high] = signed[..] {
        let least = differences.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !low.is(least) || !high.is(greatest) {
            wrong.push(format!("the differences are {least:+.2} to {greatest:+.2}%"));
        }
    } else if !signed.iter().all(|q| differences.iter().any(|&d| q.is(d))) {
        wrong.push(format!("the differences are {differences:+.2?}%"));
    }
    for q in quoted.iter().filter(|q| !q.signed) {
        if !numbers.iter().any(|&x| q.is(x) || (q.percent && q.is(100.0 * x))) {
            wrong.push(format!("{} is not among {numbers:?}", q.value));
        }
    }
    if let Some(cell) = verdicts {
        let text = cell.replace([',', ';', ':', '(', ')'], " ");
        let said: Vec<Verdict> = text.split_whitespace().filter_map(Verdict::from_word).collect();
        for verdict in Verdict::ALL {
            if said.contains(&verdict) != records.iter().any(|r| r.verdict == verdict) {
                let there: Vec<&str> = records.iter().map(|r| r.verdict.word()).collect();
                wrong.push(format!("verdict {}: they are {there:?}", verdict.word()));
            }
        }
    }
    wrong
}

/// The tables of a document that have a column `simulated`: their rows, each with its line, and the places of
/// that column and of `verdict`.
fn check(name: &str, text: &str, lists: &Lists, entries: &[Entry], wrong: &mut Vec<String>) -> usize {
    let mut columns = None;
    let mut rows = 0;
    for (line, row) in text.lines().enumerate() {
        let Some(inner) = row.strip_prefix('|').and_then(|r| r.strip_suffix('|')) else {
            columns = None;
            continue;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        let Some((simulated, verdict)) = columns else {
            let place = |head: &str| cells.iter().position(|c| *c == head);
            columns = Some((place("simulated"), place("verdict")));
            continue;
        };
        let (Some(simulated), false) = (simulated, row.starts_with("|---")) else { continue };
        rows += 1;
        let mut report = |what: String| wrong.push(format!("{name}:{}: {what}", line + 1));
        let comment =
            row.split_once("<!--").and_then(|(_, rest)| rest.split_once("-->")).map(|(c, _)| c.trim());
        let cell = cells[simulated].split("<!--").next().unwrap_or_default();
        match comment
            .map(|names| names.strip_prefix("unchecked:").map_or_else(|| lists.named(names), |_| Ok(vec![])))
        {
            None => report("a row of figures names no entries".into()),
            Some(Err(message)) => report(message),
            Some(Ok(records)) if records.is_empty() => {}
            Some(Ok(records)) => {
                let verdicts = verdict.map(|v| cells[v].split("<!--").next().unwrap_or_default());
                mistakes(cell, verdicts, &records, entries).into_iter().for_each(report);
            }
        }
    }
    rows
}

#[test]
fn documents_have_the_figures_of_the_tool() {
    let (lists, entries) = (Lists::read(), published().expect("readable"));
    let mut wrong = vec![];
    let rows = DOCUMENTS.map(|name| check(name, &read(name), &lists, &entries, &mut wrong));
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows.iter().all(|&rows| rows > 0), "each document has a table of figures: {rows:?}");
}

#[test]
fn a_wrong_figure_or_verdict_is_noticed() {
    let (lists, entries) = (Lists::read(), published().expect("readable"));
    let id = "bgq.table1_ping_pong[7].hardware_ns";
    let record = lists.named(id).expect("recorded")[0];
    let figure = record.simulated.expect("a figure");
    let row = |figure: &str, verdict: &str| {
        let text = format!(
            "| what | simulated | verdict |\n|---|---|---|\n| x | {figure} <!-- {id} --> | {verdict} |\n"
        );
        let mut wrong = vec![];
        assert_eq!(check("a", &text, &lists, &entries, &mut wrong), 1);
        wrong.len()
    };
    let word = record.verdict.word();
    assert_eq!(row(&format!("{figure:.0} ns, `5` hops of 16x8"), word), 0);
    assert_eq!(row(&format!("{:.0} ns", figure + 1.0), word), 1);
    assert_eq!(row(&format!("{figure:.0} ns"), "fail"), 2, "it did not fail, and it is not said what it did");
    assert_eq!(row("-9.9%", word), 1);
    assert_eq!(row("so", word), 0);
}
