//! The page of a sweep: its drawings, and a table that leads to the page of each point.

use super::{Outcome, saturation, short_names, table};
use crate::claims::Judged;
use crate::write::svg::escape;
use crate::write::{Plot, page};
use netloom_study::number::counted;
use netloom_study::resolve::ResolvedStudy;
use std::fmt::Write;
use std::path::Path;

/// The page.
pub fn to_html(
    study: &ResolvedStudy,
    outcomes: &[Outcome],
    plots: &[Plot],
    claims: &[Judged],
    folder: &Path,
) -> String {
    let subtitle = format!("A sweep of {}", counted(outcomes.len(), "point"));
    let mut html = page::begin(&study.heading(), &subtitle, true);
    page::description(&mut html, &study.study.description);
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    if missing > 0 {
        let text =
            format!("{missing} of {} points have not run. The same command runs them.", outcomes.len());
        page::warning(&mut html, "Partial result:", &text);
    }
    if let Some(failures) = table::failures(outcomes) {
        page::warning(&mut html, "Points that cannot be used:", &failures);
    }
    page::failed_claims(&mut html, claims);
    for text in table::warnings(outcomes) {
        page::warning(&mut html, "Warning:", &text);
    }
    if let Some((head, rows)) = saturation::table(study, outcomes) {
        let _ = writeln!(html, "<h2>{}</h2>", saturation::HEADING);
        page::table(&mut html, &head, &rows, &[]);
    }
    for plot in plots {
        page::figure(&mut html, plot);
    }
    limits(&mut html, study, outcomes, folder);
    for (heading, head, rows) in super::measured::figures(outcomes).iter().filter_map(|figure| figure.table())
    {
        let _ = writeln!(html, "<h2>{}</h2>", escape(&heading));
        page::table(&mut html, &head, &rows, &[]);
    }
    if let Some((head, rows)) = super::cost::table(study, outcomes) {
        html.push_str(
            "<h2>What the networks are made of</h2>\n<p class=\"soft\">Links count once for both directions; the accepted load, in flits per tick \
             and node, is the maximum over all points.</p>\n",
        );
        page::table(&mut html, &head, &rows, &[]);
    }
    let (figures, rows) = table::rows(outcomes, false);
    html.push_str("<h2>Points</h2>\n");
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let head: Vec<String> = names.into_iter().chain(figures).collect();
    let page_of = |o: &Outcome| o.result.as_ref().map(|_| format!("points/{}/report.html", o.point.name));
    page::table(&mut html, &head, &rows, &outcomes.iter().map(page_of).collect::<Vec<_>>());
    page::claims(&mut html, claims);
    html.push_str(
        "<p class=\"soft\">Beside this page: <code>sweep.json</code>, \
        <code>sweep.parquet</code>, <code>sweep.csv</code>, <code>sweep.toml</code> to repeat it.</p>\n",
    );
    page::end(&mut html, plots);
    html
}

/// The points' bottlenecks, each with a link to its page.
fn limits(html: &mut String, study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) {
    let limited = super::limits::of(study, outcomes, folder);
    if limited.is_empty() {
        return;
    }
    html.push_str("<h2>What limits these points</h2>\n");
    if limited.iter().any(|one| !one.why.is_empty()) {
        html.push_str("<p class=\"soft\">Of the best, the worst and saturated points; the page of each point has its own.</p>\n");
    }
    html.push_str("<ul>\n");
    for one in &limited {
        let (name, why) = (escape(&one.outcome.point.name), if one.why.is_empty() { "" } else { ", " });
        let _ = writeln!(
            html,
            "<li><a href=\"points/{name}/report.html\">{name}</a>{why}{}: {}</li>",
            one.why,
            escape(&one.text)
        );
    }
    html.push_str("</ul>\n");
}
