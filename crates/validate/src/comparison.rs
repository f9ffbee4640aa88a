//! `netloom validate`: each figure that a paper published beside the simulated one.

use crate::fitted::decides_shape;
use crate::judges::{Bench, Finding, Judge};
use crate::published::{Entry, PAPERS, published};
use crate::tally::Tally;
use netloom_report::published::compare::{Published, Tolerance, Verdict, is_loose, judge};
use netloom_report::text_table::aligned;
use netloom_study::claims::Evidence;
use netloom_study::diagnose::{Problem, nearest, suggest};

/// Whether an entry's name is meant by `PAPER[.FIGURE]`: the paper, the table, or one entry of it.
pub fn meant(id: &str, wanted: &str) -> bool {
    id.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Other names of papers: those of their machines.
const SHORT: [(&str, &str); 2] = [("xc", "cray-xc"), ("th", "th-express-2")];

/// The name of a paper, table or entry in full: `xc.paths` is `cray-xc.paths`.
pub fn in_full(wanted: &str) -> String {
    let short = SHORT.iter().find(|(short, _)| meant(wanted, short));
    short.map_or_else(|| wanted.to_owned(), |(short, full)| wanted.replacen(short, full, 1))
}

/// Who is told of each table.
pub trait Observer {
    /// Whether a table is to be judged.
    fn wants(&self, _table: &str) -> bool {
        true
    }

    /// A table is being judged.
    fn begins(&mut self, table: &str);

    /// A table has been judged, or has no judge: its entries among others, and how long it took, s. `left`:
    /// those that follow.
    ///
    /// # Errors
    /// What the observer cannot do with it.
    fn judged(&mut self, table: &str, entries: &[Entry], seconds: f64, left: &[&str]) -> Result<(), Problem>;
}

/// Judges the selected entries: all, or those of one paper or table, or one; in full or short. The entries of
/// tables that the observer does not want are left out.
///
/// # Errors
/// A name that no entry has; what the simulator refuses.
pub fn run(
    judges: &[Judge],
    wanted: Option<&str>,
    bench: &Bench,
    observer: &mut dyn Observer,
) -> Result<Vec<Entry>, Problem> {
    let mut entries = published()?;
    let wanted = wanted.map(in_full);
    if let Some(wanted) = wanted.as_deref() {
        let mut names: Vec<String> = entries.iter().map(|e| e.table.clone()).collect();
        names.extend(PAPERS.iter().map(|(name, _)| (*name).to_owned()));
        names.dedup();
        entries.retain(|e| meant(&e.id, wanted));
        if entries.is_empty() {
            // All tables would fill the screen: if none is meant, the papers are enough.
            let papers: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
            let near = nearest(wanted, names.iter().map(String::as_str));
            let help =
                near.map_or_else(|| suggest(wanted, &papers), |name| format!("did you mean `{name}`?"));
            return Err(Problem::new(format!("nothing published is called `{wanted}`")).help(help));
        }
    }
    entries.retain(|e| observer.wants(&e.table));
    for entry in &mut entries {
        let judged = judges.iter().any(|j| j.table == entry.table);
        entry.note = match (judged, entry.role.as_str()) {
            (_, "parameter") => "a parameter of the machine, not judged".into(),
            (true, _) => "this run did not judge it".into(),
            (false, _) => "not simulated yet".into(),
        };
    }
    let mut without: Vec<String> = entries.iter().map(|e| e.table.clone()).collect();
    without.dedup();
    without.retain(|table| judges.iter().all(|judge| judge.table != table));
    for table in &without {
        observer.judged(table, &entries, 0.0, &[])?;
    }
    let judges: Vec<&Judge> =
        judges.iter().filter(|judge| entries.iter().any(|e| e.table == judge.table)).collect();
    for (number, judge) in judges.iter().enumerate() {
        if bench.progress.stop() {
            break;
        }
        observer.begins(judge.table);
        let begin = std::time::Instant::now();
        for finding in (judge.judge)(bench)? {
            apply(&mut entries, &finding)?;
        }
        // What was interrupted has not been judged.
        if !bench.progress.stop() {
            let left: Vec<&str> = judges[number + 1..].iter().map(|judge| judge.table).collect();
            observer.judged(judge.table, &entries, begin.elapsed().as_secs_f64(), &left)?;
        }
    }
    Ok(entries)
}

/// Enters a finding. A shape for a table of numbers becomes an entry of its own.
///
/// # Errors
/// A finding for an entry that no paper has: a slip in a judge.
pub fn apply(entries: &mut Vec<Entry>, finding: &Finding) -> Result<(), Problem> {
    let (finding, proxy) = match finding {
        Finding::Proxy { other, finding } => (&**finding, Some(other)),
        finding => (finding, None),
    };
    match finding {
        Finding::Proxy { .. } => unreachable!("a finding is a proxy once"),
        Finding::Figure { id, simulated, note, evidence } => {
            let Some(entry) = entries.iter_mut().find(|e| e.id == *id) else {
                // Judges work by table; where one entry was asked for, the others are not here.
                let known = published()?.iter().any(|e| e.id == *id);
                return if known {
                    Ok(())
                } else {
                    Err(Problem::new(format!("no published entry is called `{id}`")))
                };
            };
            let Some(Published::Number(published)) = entry.published else {
                return Err(Problem::new(format!("`{id}` is not published as a number")));
            };
            let (agrees, difference) = judge(published, *simulated, entry.bound, entry.allowed);
            entry.simulated = simulated.is_finite().then_some(*simulated);
            entry.difference = difference.is_finite().then_some(difference);
            entry.note.clone_from(note);
            entry.evidence = Some(*evidence);
            let by_run = matches!(evidence, Evidence::Run | Evidence::Derived);
            if let Some(other) = proxy.filter(|_| by_run) {
                entry.verdict = Verdict::Proxy;
                entry.note = format!("{other}, {}: {note}", if agrees { "agrees" } else { "does not agree" });
                return Ok(());
            }
            entry.verdict = match evidence {
                _ if !agrees => Verdict::Fail,
                _ if entry.role == "calibrate" => Verdict::Calibrated,
                Evidence::Echo => Verdict::Echo,
                Evidence::Derived => Verdict::Derived,
                Evidence::ClosedForm => Verdict::ClosedForm,
                Evidence::Run if is_loose(published, *simulated, entry.bound) => Verdict::LooseBound,
                Evidence::Run => Verdict::Pass,
            };
        }
        Finding::Shape { id, holds, note } => {
            let fitted = decides_shape(id);
            let verdict = match holds {
                _ if proxy.is_some() => Verdict::Proxy,
                true if fitted => Verdict::Calibrated,
                true => Verdict::ShapePass,
                false => Verdict::ShapeFail,
            };
            let Some(at) = entries.iter().rposition(|e| e.table == *id) else { return Ok(()) };
            if entries[at].quantity != "shape" {
                let mut shape = entries[at].clone();
                shape.id.clone_from(id);
                shape.quantity = "shape".into();
                shape.unit.clear();
                shape.tolerance.clear();
                (shape.published, shape.simulated, shape.difference) = (None, None, None);
                shape.evidence = None;
                shape.role = if fitted { "calibrate" } else { "predict" }.into();
                entries.insert(at + 1, shape);
            }
            let entry = entries.iter_mut().find(|e| e.id == *id && e.quantity == "shape");
            let entry = entry.expect("it is there or was just put there");
            entry.verdict = verdict;
            entry.note = proxy.map_or_else(|| note.clone(), |other| format!("{other}: {note}"));
        }
        Finding::NotRun { id, note } => {
            entries.iter_mut().filter(|e| e.table == *id).for_each(|e| e.note.clone_from(note));
        }
    }
    Ok(())
}

/// The comparison as a table, for people; parameters that are not judged are counted, not shown.
pub fn table(entries: &[Entry]) -> String {
    let head = ["entry", "published", "simulated", "difference", "allowed", "unit", "verdict", "note"];
    let rows: Vec<Vec<String>> = entries
        .iter()
        .filter(|e| e.verdict != Verdict::NotRun || e.role != "parameter")
        .map(|e| {
            let number = |x: Option<f64>| x.map_or("-".into(), netloom_study::number::short);
            let difference = match (e.difference, e.allowed) {
                (Some(d), Some(Tolerance::Absolute(_))) => format!("{d:+.4}"),
                (Some(d), _) => format!("{:+.2}%", d * 100.0),
                (None, _) => "-".into(),
            };
            let published = match &e.published {
                Some(Published::Number(x)) => number(Some(*x)),
                Some(Published::Flag(b)) => b.to_string(),
                Some(Published::Text(text)) => text.clone(),
                None => "-".into(),
            };
            let tolerance = if e.tolerance.is_empty() { "-".into() } else { e.tolerance.clone() };
            let mut note: String = e.note.chars().take(60).collect();
            if note.len() < e.note.len() {
                note.push('…');
            }
            vec![
                e.id.clone(),
                published,
                number(e.simulated),
                difference,
                tolerance,
                e.unit.clone(),
                e.verdict.word().to_owned(),
                note,
            ]
        })
        .collect();
    format!("{}\n{}", aligned(&head.map(str::to_owned), &rows), Tally::new(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(entries: &'a [Entry], id: &str) -> &'a Entry {
        entries.iter().find(|e| e.id == id).unwrap_or_else(|| panic!("no entry {id}"))
    }

    fn figure(id: &str, simulated: f64) -> Finding {
        Finding::run(id, simulated, "a run")
    }

    #[test]
    fn every_published_figure_has_a_name_of_its_own() {
        let entries = published().unwrap();
        let mut ids: Vec<&str> = entries.iter().map(|e| e.id.as_str()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
        assert_eq!(
            entry(&entries, "bgl.all_to_all_32k.link_utilization").published,
            Some(Published::Number(0.98))
        );
        assert_eq!(entry(&entries, "bgq.table1_ping_pong[1].hardware_ns").role, "calibrate");
        assert_eq!(entry(&entries, "bgq.table1_ping_pong[2].hardware_ns").unit, "ns");
        assert_eq!(entry(&entries, "th-express-2.table1_glex_latency[PIO/connect].put_us").role, "predict");
        assert_eq!(entry(&entries, "bgl.bubble_deadlock").quantity, "shape");
    }

    #[test]
    fn right_figures_pass_and_wrong_ones_fail() {
        let mut entries = published().unwrap();
        let id = "bgl.all_to_all_32k.link_utilization";
        apply(&mut entries, &figure(id, 0.97)).unwrap();
        assert_eq!(entry(&entries, id).verdict, Verdict::Pass);
        apply(&mut entries, &figure(id, 0.90)).unwrap();
        assert_eq!(entry(&entries, id).verdict, Verdict::Fail);
        apply(&mut entries, &figure(id, f64::NAN)).unwrap();
        assert_eq!(entry(&entries, id).verdict, Verdict::Fail);
        let id = "bgq.table1_ping_pong[1].hardware_ns";
        apply(&mut entries, &figure(id, 622.0)).unwrap();
        assert_eq!(entry(&entries, id).verdict, Verdict::Calibrated);
        apply(&mut entries, &figure(id, 700.0)).unwrap();
        assert_eq!(entry(&entries, id).verdict, Verdict::Fail);
        assert!(apply(&mut entries, &figure("bgl.all_to_all_32k.speed", 1.0)).is_err());
    }

    #[test]
    fn shapes_have_entries_beside_numbers() {
        let mut entries = published().unwrap();
        let shape = |id: &str, holds| Finding::Shape { id: id.into(), holds, note: "seen".into() };
        apply(&mut entries, &shape("bgl.all_to_all_32k", true)).unwrap();
        apply(&mut entries, &shape("bgl.bubble_deadlock", false)).unwrap();
        apply(&mut entries, &shape("bgl.verification", true)).unwrap();
        assert_eq!(entry(&entries, "bgl.verification").verdict, Verdict::Calibrated);
        assert_eq!(entry(&entries, "bgl.all_to_all_32k").verdict, Verdict::ShapePass);
        assert_eq!(entry(&entries, "bgl.bubble_deadlock").verdict, Verdict::ShapeFail);
        assert!(table(&entries).contains("behaviours described in words: 1 pass, 1 fail"));
    }

    #[test]
    fn only_predictions_of_runs_pass() {
        let mut entries = published().unwrap();
        let mut verdict = |id: &str, simulated, evidence| {
            apply(&mut entries, &Finding::figure(id, simulated, "", evidence)).unwrap();
            entry(&entries, id).verdict
        };
        let id = "bgl.all_to_all_32k.link_utilization";
        assert_eq!(verdict(id, 0.98, Evidence::Run), Verdict::Pass);
        assert_eq!(verdict(id, 0.98, Evidence::Echo), Verdict::Echo);
        assert_eq!(verdict(id, 0.98, Evidence::Derived), Verdict::Derived);
        assert_eq!(verdict(id, 0.98, Evidence::ClosedForm), Verdict::ClosedForm);
        assert_eq!(verdict(id, 0.5, Evidence::Echo), Verdict::Fail);
        assert_eq!(verdict("bgq.table1_ping_pong[1].hardware_ns", 622.0, Evidence::Run), Verdict::Calibrated);
        let id = "cray-xc.hop_latency[any pair of the largest system, at most].ns";
        assert_eq!(verdict(id, 590.0, Evidence::Run), Verdict::LooseBound);
        assert_eq!(verdict(id, 1000.0, Evidence::Run), Verdict::Pass);
        assert_eq!(verdict(id, 2100.0, Evidence::Run), Verdict::Fail);
    }

    /// A quick run of another machine neither passes nor fails; what it does not simulate is judged as ever.
    #[test]
    fn another_machine_is_a_proxy() {
        let mut entries = published().unwrap();
        let other = Some("16x16x16 in place of 32x32x32".to_owned());
        let id = "bgl.all_to_all_32k.link_utilization";
        for (simulated, word) in [(0.97, ", agrees: "), (0.5, ", does not agree: ")] {
            apply(&mut entries, &figure(id, simulated).instead(other.clone())).unwrap();
            let entry = entry(&entries, id);
            assert_eq!((entry.verdict, entry.simulated), (Verdict::Proxy, Some(simulated)));
            assert!(entry.note.contains(word), "{}", entry.note);
        }
        let shape = Finding::Shape { id: "bgl.all_to_all_32k".into(), holds: false, note: "seen".into() };
        apply(&mut entries, &shape.instead(other.clone())).unwrap();
        assert_eq!(entry(&entries, "bgl.all_to_all_32k").verdict, Verdict::Proxy);
        let echo = Finding::figure("bgl.all_to_all_32k.payload_utilization", 0.87, "", Evidence::Echo);
        apply(&mut entries, &echo.instead(other)).unwrap();
        assert_eq!(entry(&entries, "bgl.all_to_all_32k.payload_utilization").verdict, Verdict::Echo);
        let text = table(&entries);
        assert!(text.contains("0 pass, 0 fail\nbehaviours"), "{text}");
        assert!(text.contains(": 2 proxy; without --quick"), "{text}");
    }

    #[test]
    fn papers_tables_and_entries_can_be_asked_for() {
        assert!(meant("bgl.hop.mean_hop_ns", "bgl"));
        assert!(meant("bgl.hop.mean_hop_ns", "bgl.hop"));
        assert!(meant("pami.barrier[1].latency_us", "pami.barrier"));
        assert!(!meant("bgl.hot_region.x", "bgl.hop"));
        assert!(!meant("bgq-network.hop.x", "bgq"));
        assert_eq!(in_full("xc"), "cray-xc");
        assert_eq!(in_full("xc.paths[x].hops"), "cray-xc.paths[x].hops");
        assert_eq!(in_full("th.x"), "th-express-2.x");
        assert_eq!(in_full("xcel"), "xcel");
    }
}
