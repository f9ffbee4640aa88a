//! The page of a sweep: its drawings, and a table that leads to the page of each point.

use super::{Outcome, short_names, shown};
use crate::machine::NetworkOutline;
use crate::resolve::ResolvedStudy;
use crate::result::{MeasuredTable, RunResult};
use crate::write::number::{counted, percent, short};
use crate::write::svg::escape;
use crate::write::{Plot, page};
use std::fmt::Write;

/// The figures that the tables show, of tori.
const OF_TORI: [&str; 6] = ["utilization", "payload", "latency ns", "p99 ns", "on escape", "ended"];
/// The same of machines of switches.
const OF_SWITCHES: [&str; 7] =
    ["offered", "accepted", "latency ns", "p99 ns", "by way of others", "busiest global", "ended"];

/// Of these also, where asked for: at what rate the first link is full.
const BOUND: &str = "first link full at";

/// The names of a table's figures: those of the network, or what programs measured, if that is one row in each point.
pub fn head(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<String> {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut measured = outcomes.iter().filter_map(|o| Some(&o.result.as_ref()?.measured));
    match (measured.next().and_then(|tables| one_row(tables)), &study.network) {
        (Some((columns, _)), _) => columns.iter().cloned().chain(["ended".into()]).collect(),
        (None, NetworkOutline::Torus(_)) => names(&OF_TORI),
        (None, NetworkOutline::Switched(_)) => {
            let mut names = names(&OF_SWITCHES);
            if outcomes.iter().filter_map(|o| o.result.as_ref()).any(|r| bound(r).is_some()) {
                names.insert(names.len() - 1, BOUND.into());
            }
            names
        }
    }
}

/// At what rate the first link is full, where that was asked for and can be told.
fn bound(result: &RunResult) -> Option<f64> {
    result.switched.as_ref()?.bound_flits_per_tick
}

/// What programs measured, if it is one row.
fn one_row(tables: &[MeasuredTable]) -> Option<(&[String], &[f64])> {
    match tables {
        [MeasuredTable { columns, rows, .. }] if rows.len() == 1 => Some((columns, &rows[0])),
        _ => None,
    }
}

/// A point as a row of text: parameters, then so many figures, those of [`head`].
pub fn row(outcome: &Outcome, figures: usize) -> Vec<String> {
    let mut row: Vec<String> = outcome.point.values.iter().map(shown).collect();
    let Some(r) = &outcome.result else {
        row.extend((1..figures).map(|_| "-".to_owned()));
        row.push("not run".into());
        return row;
    };
    let ended = r.simulated.ended.name();
    if let Some((_, measured)) = one_row(&r.measured) {
        row.extend(measured.iter().map(|&value| short(value)));
        row.push(ended.into());
        return row;
    }
    let of_network = if r.torus.is_some() { OF_TORI.len() } else { OF_SWITCHES.len() };
    let with_bound = r.switched.is_some() && figures == of_network + 1;
    if figures != of_network && !with_bound {
        // Programs that have not ended have measured nothing.
        row.extend((1..figures).map(|_| "-".to_owned()));
        row.push(ended.into());
        return row;
    }
    let latency = [short(r.latency.network.mean_ns), short(r.latency.network.p99_ns)];
    if let (Some(links), Some(torus)) = (&r.links.torus, &r.torus) {
        row.extend([percent(r.links.mean_utilization), percent(links.payload_utilization)]);
        row.extend(latency);
        row.push(percent(torus.escape_share));
    } else if let Some(s) = &r.switched {
        let [mean, p99] = [r.latency.total.mean_ns, r.latency.total.p99_ns].map(short);
        row.extend([
            s.offered_flits_per_tick.map_or("all".into(), short),
            short(s.accepted_flits_per_tick),
            mean,
            p99,
            percent(s.nonminimal_share),
            s.global().map_or("-".into(), |c| percent(c.max_utilization)),
        ]);
        row.extend(with_bound.then(|| bound(r).map_or("-".into(), short)));
    }
    row.push(ended.into());
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
    if let Some((head, rows)) = super::cost::table(study, outcomes) {
        let cells = |tag: &str, row: &[String]| -> String {
            row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
        };
        let _ = writeln!(
            html,
            "<h2>What the networks are made of</h2>\n<p class=\"soft\">Links count once for both directions; what is accepted, flits a tick and \
             node, is the most of all points.</p>\n<div class=\"card\"><table>\n<tr class=\"head\">{}</tr>",
            cells("th", &head)
        );
        for row in &rows {
            let _ = writeln!(html, "<tr>{}</tr>", cells("td", row));
        }
        html.push_str("</table></div>\n");
    }
    let figures = head(study, outcomes);
    html.push_str("<h2>Points</h2>\n<div class=\"card\"><table>\n<tr class=\"head\">");
    for name in
        short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>()).iter().chain(&figures)
    {
        let _ = write!(html, "<th>{}</th>", escape(name));
    }
    html.push_str("<th></th></tr>\n");
    for outcome in outcomes {
        let cells: Vec<String> =
            row(outcome, figures.len()).iter().map(|c| format!("<td>{}</td>", escape(c))).collect();
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
