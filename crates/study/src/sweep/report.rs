//! The page of a sweep: its drawings, and a table that leads to the page of each point.

use super::{Outcome, short_names, shown};
use crate::resolve::ResolvedStudy;
use crate::result::Ended;
use crate::write::number::{counted, percent, short};
use crate::write::svg::escape;
use crate::write::{Plot, page};
use std::fmt::Write;

/// The figures that the tables show.
pub const HEAD: [&str; 6] = ["utilization", "payload", "latency ns", "p99 ns", "on escape", "ended"];

/// A point as a row of text: parameters, then [`HEAD`].
pub fn row(outcome: &Outcome) -> Vec<String> {
    let mut row: Vec<String> = outcome.point.values.iter().map(shown).collect();
    match &outcome.result {
        None => row.extend(["-", "-", "-", "-", "-", "not run"].map(str::to_owned)),
        Some(r) => row.extend([
            percent(r.links.mean_utilization),
            percent(r.links.payload_utilization),
            short(r.latency.network.mean_ns),
            short(r.latency.network.p99_ns),
            percent(r.escape_share),
            match r.simulated.ended {
                Ended::Done => "done",
                Ended::Steady => "steady",
                Ended::Time => "time",
                Ended::Stopped => "stopped",
                Ended::Stalled => "stalled",
                Ended::Failed => "failed",
            }
            .to_owned(),
        ]),
    }
    row
}

/// The page.
pub fn to_html(study: &ResolvedStudy, outcomes: &[Outcome], plots: &[Plot]) -> String {
    let subtitle = format!("A sweep of {}", counted(outcomes.len(), "point"));
    let mut html = page::begin(&study.heading(), &subtitle, true);
    page::description(&mut html, &study.study.description);
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    if missing > 0 {
        let text = format!(
            "{missing} of {} points have not run. The same command goes on with them.",
            outcomes.len()
        );
        page::warning(&mut html, "Partial result:", &text);
    }
    for plot in plots {
        page::figure(&mut html, plot);
    }
    html.push_str("<h2>Points</h2>\n<div class=\"card\"><table>\n<tr class=\"head\">");
    for name in short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>())
        .iter()
        .map(String::as_str)
        .chain(HEAD)
    {
        let _ = write!(html, "<th>{}</th>", escape(name));
    }
    html.push_str("<th></th></tr>\n");
    for outcome in outcomes {
        let cells: Vec<String> = row(outcome).iter().map(|c| format!("<td>{}</td>", escape(c))).collect();
        let link = match outcome.result {
            Some(_) => format!("<a href=\"points/{}/report.html\">report</a>", escape(&outcome.point.name)),
            None => String::new(),
        };
        let _ = writeln!(html, "<tr>{}<td>{link}</td></tr>", cells.join(""));
    }
    html.push_str(
        "</table></div>\n<p class=\"soft\">Beside this page: <code>sweep.json</code>, \
        <code>sweep.parquet</code>, <code>sweep.toml</code> to repeat it.</p>\n",
    );
    html.push_str(page::END);
    html
}
