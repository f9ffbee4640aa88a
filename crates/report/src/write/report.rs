//! `report.html`: one page that opens from the disk, with every drawing and figure in it.

use super::svg::escape;
use super::{Plot, complete, page};
use crate::claims::Judged;
use crate::figures::figures;
use crate::limits;
use crate::terminal::simulated_on;
use netloom_study::number::{counted, duration, grouped, percent, scaled, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult, Throughput};
use netloom_study::run::unmet;
use netloom_workload::config::Runs;
use std::fmt::Write;

/// The page.
pub fn to_html(study: &ResolvedStudy, result: &RunResult, plots: &[Plot], claims: &[Judged]) -> String {
    let mut html = page::begin(&study.heading(), &subtitle(study, result), false);
    page::description(&mut html, &study.study.description);
    warnings(&mut html, study, result);
    page::failed_claims(&mut html, claims);
    limits(&mut html, study, result, plots);
    tables(&mut html, result);
    if !matches!(study.study.workload.runs(), Runs::Packaging(_)) {
        tiles(&mut html, result);
    }
    let maps = |plot: &&Plot| plot.name.starts_with("links-");
    section(&mut html, "Over time and by packet", plots.iter().filter(|p| !maps(p)));
    let over =
        if study.network.torus().is_some() { "Link utilization over the torus" } else { "Link utilization" };
    section(&mut html, over, plots.iter().filter(maps));
    let groups = figures(study, result);
    if !groups.is_empty() {
        html.push_str("<h2>Figures</h2>\n");
    }
    html.push_str("<div class=\"card\"><table>\n");
    for group in groups {
        let _ = writeln!(html, "<tr class=\"head\"><th colspan=\"2\">{}</th></tr>", escape(&group.title));
        for (name, value) in &group.rows {
            let _ = writeln!(html, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value));
        }
    }
    html.push_str("</table></div>\n");
    stall(&mut html, result);
    page::claims(&mut html, claims);
    let toml = escape(&complete(study));
    let _ = write!(
        html,
        "<h2>To repeat this run</h2>\n<p>The file <code>study.toml</code> beside this page holds the study and its \
         machine in full. With netloom {version}, <code>netloom run study.toml{gpu} --out again</code> gives the same figures \
         on any computer, with any number of threads.</p>\n\
         <details><summary>Complete configuration</summary><pre>{toml}</pre></details>\n\
         <p class=\"soft\">Files beside this page: <code>summary.json</code>, <code>study.toml</code>, tables as Parquet \
         (<code>series</code>, <code>latency</code>, <code>links</code> and others), and every drawing as SVG. Simulated by netloom \
         {version} on {device} in {wall}: {rate} packet-hops per second.</p>\n",
        version = escape(env!("CARGO_PKG_VERSION")),
        gpu = if result.host.device.is_some() { " --gpu" } else { "" },
        device = escape(&simulated_on(&result.host)),
        wall = duration(result.host.wall_s),
        rate = scaled(result.host.packet_hops_per_s),
    );
    page::end(&mut html, plots);
    html
}

fn subtitle(study: &ResolvedStudy, result: &RunResult) -> String {
    format!(
        "{} \u{b7} {}, {} \u{b7} {} \u{b7} seed {} \u{b7} {} us simulated \u{b7} {}",
        study.machine.title(),
        study.machine.shape(),
        counted(study.network.nodes(), "node"),
        study.study.workload.kind(),
        result.seed,
        short(result.simulated.us),
        result.simulated.ended.name()
    )
}

fn warnings(html: &mut String, study: &ResolvedStudy, result: &RunResult) {
    if let Some(reason) = &result.partial {
        page::warning(html, "Partial result:", reason);
    }
    if result.simulated.ended == Ended::Stalled && result.stall.is_some() {
        page::warning(html, "The network stalled", "with packets in it: see below.");
    }
    if let Some(text) = result.throughput.as_ref().and_then(Throughput::saturation) {
        page::warning(html, "Saturated:", &text);
    }
    for text in &result.warnings {
        page::warning(html, "Warning:", text);
    }
    for text in unmet(study, result) {
        page::warning(html, "Not as expected:", &text);
    }
}

/// What limits the run, with links to the drawings that show it, and the busiest links.
fn limits(html: &mut String, study: &ResolvedStudy, result: &RunResult, plots: &[Plot]) {
    let findings = limits::findings(study, result);
    if findings.is_empty() {
        return;
    }
    html.push_str("<h2>What limits this run</h2>\n<ul>\n");
    for finding in &findings {
        let drawing =
            plots.iter().find(|p| !finding.drawing.is_empty() && p.name.starts_with(finding.drawing));
        let shown = drawing.map_or(String::new(), |plot| format!(" <a href=\"#{}\">Figure</a>", plot.name));
        let _ = writeln!(html, "<li>{}{shown}</li>", escape(&finding.text));
    }
    html.push_str("</ul>\n");
    let busiest = limits::busiest(study, result);
    if busiest.is_empty() {
        return;
    }
    let carried = if busiest[0].payload.is_some() { "payload" } else { "packets" };
    let _ = write!(
        html,
        "<details><summary>The {} busiest links</summary><table class=\"sortable\">\n\
         <tr class=\"head\"><th>link</th><th>utilization</th><th>{carried}</th></tr>\n",
        busiest.len()
    );
    for link in &busiest {
        let carried =
            link.payload.map(percent).or(link.packets.map(|n| grouped(n as i64))).unwrap_or_default();
        let (name, busy) = (escape(&link.link), percent(link.utilization));
        let _ = writeln!(html, "<tr><td>{name}</td><td>{busy}</td><td>{carried}</td></tr>");
    }
    html.push_str("</table></details>\n");
}

fn tiles(html: &mut String, result: &RunResult) {
    let links = &result.links;
    // A figure that rounds to zero is not informative.
    let share = |name: &'static str, share: f64| (share >= 0.0005).then(|| (name, percent(share)));
    let mut tiles: Vec<(&str, String)> = vec![];
    tiles.extend(share("mean link utilization", links.mean_utilization));
    tiles.extend(links.torus.iter().filter_map(|t| share("payload utilization", t.payload_utilization)));
    if let Some(switched) = &result.switched {
        if switched.accepted_flits_per_tick > 0.0 {
            tiles.push(("flits/tick accepted per node", short(switched.accepted_flits_per_tick)));
        }
        tiles.extend(share("non-minimal routes", switched.nonminimal_share));
    }
    if result.latency.total.count > 0 {
        tiles.push(("mean network latency", format!("{} ns", short(result.latency.network.mean_ns))));
        tiles.push(("mean total latency", format!("{} ns", short(result.latency.total.mean_ns))));
    }
    tiles.push(("packets delivered", scaled(result.totals.packets_delivered as f64)));
    tiles.extend(result.torus.iter().filter_map(|t| share("traffic on escape VCs", t.escape_share)));
    html.push_str("<div class=\"tiles\">\n");
    for (name, value) in tiles {
        let _ = writeln!(html, "<div class=\"tile\"><b>{value}</b><span class=\"soft\">{name}</span></div>");
    }
    html.push_str("</div>\n");
}

/// What was measured, in tables.
fn tables(html: &mut String, result: &RunResult) {
    for table in &result.measured {
        let _ = writeln!(html, "<h2>{}</h2>", escape(&table.title));
        page::table(html, &super::measured::headings(table), &super::measured::cells(table), &[]);
    }
}

fn section<'a>(html: &mut String, title: &str, plots: impl Iterator<Item = &'a Plot>) {
    let mut plots = plots.peekable();
    if plots.peek().is_none() {
        return;
    }
    let _ = writeln!(html, "<h2>{title}</h2>");
    for plot in plots {
        page::figure(html, plot);
    }
}

fn stall(html: &mut String, result: &RunResult) {
    let Some(stall) = &result.stall else { return };
    let unit = if result.switched.is_some() { "flits" } else { "chunks" };
    let _ = writeln!(
        html,
        "<h2>Where the network stalled</h2>\n<p>Nothing moved after {} us; {} packets were in the network. Some of \
         them:</p>\n<div class=\"card\"><table>",
        short(stall.since_us),
        grouped(stall.packets_waiting as i64)
    );
    for packet in &stall.examples {
        let _ = writeln!(
            html,
            "<tr><th>{}, {} ({} {unit}, to {:?})</th><td>{}</td></tr>",
            escape(&packet.whereabouts()),
            escape(&packet.buffer),
            packet.chunks,
            packet.destination,
            escape(&packet.waits_for)
        );
    }
    html.push_str("</table></div>\n");
}
