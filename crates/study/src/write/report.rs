//! `report.html`: one page that opens from the disk, with every drawing and figure in it.

use super::Plot;
use super::number::{grouped, percent, scaled, short};
use super::svg::escape;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use crate::run::unmet;
use crate::terminal::figures;
use std::fmt::Write;

/// The look of the pages.
pub const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1c2127;--soft:#5a646f;--line:#dfe3e8;--page:#f4f6f8;--card:#fff;--warn:#8a3b00;--warnbg:#fff1e0;--accent:#1664b0}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a0a9b3;--line:#2c333a;--page:#0e1114;--card:#15191d;--warn:#ffc48a;--warnbg:#3a2410;--accent:#62aef5}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
main{max-width:948px;margin:0 auto;padding:28px 16px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}
h2{font-size:18px;margin:36px 0 12px}
.soft{color:var(--soft)}
p{margin:8px 0;max-width:75ch}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:12px;margin:20px 0}
.tile,figure,.card{background:var(--card);border:1px solid var(--line);border-radius:8px}
.tile{padding:12px 16px}
.tile b{display:block;font-size:24px;font-weight:600;font-variant-numeric:tabular-nums}
.warn{background:var(--warnbg);color:var(--warn);border-radius:8px;padding:10px 16px;margin:12px 0}
figure{margin:0 0 16px;padding:10px 10px 4px;overflow-x:auto}
figure svg{display:block;width:100%;height:auto;min-width:560px}
figcaption{color:var(--soft);font-size:13px;padding:4px 8px 8px}
table{border-collapse:collapse;width:100%}
.card{padding:4px 16px;overflow-x:auto}
td,th{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);text-align:left;font-weight:400}
th{color:var(--soft);width:46%}
tr:last-child>*{border-bottom:0}
td{font-variant-numeric:tabular-nums}
tr.head>*{color:var(--ink);font-weight:600;padding-top:16px}
details{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 16px;margin:12px 0}
summary{cursor:pointer}
pre{overflow-x:auto;font:13px/1.45 ui-monospace,'DejaVu Sans Mono',monospace}
code{font:13px ui-monospace,'DejaVu Sans Mono',monospace;background:var(--card);border:1px solid var(--line);border-radius:4px;padding:1px 5px}
";

/// The page.
pub fn to_html(study: &ResolvedStudy, result: &RunResult, plots: &[Plot]) -> String {
    let mut html = String::new();
    let heading = escape(study.study.heading());
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{heading}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n<div class=\"soft\">{}</div>\n",
        escape(&subtitle(study, result))
    );
    if !study.study.description.trim().is_empty() {
        let _ = writeln!(html, "<p>{}</p>", escape(study.study.description.trim()));
    }
    warnings(&mut html, study, result);
    tiles(&mut html, result);
    let maps = |plot: &&Plot| plot.name.starts_with("links-");
    section(&mut html, "Over time and by packet", plots.iter().filter(|p| !maps(p)));
    section(&mut html, "Link utilization over the torus", plots.iter().filter(maps));
    html.push_str("<h2>Figures</h2>\n<div class=\"card\"><table>\n");
    for group in figures(study, result) {
        let _ = writeln!(html, "<tr class=\"head\"><th colspan=\"2\">{}</th></tr>", escape(&group.title));
        for (name, value) in &group.rows {
            let _ = writeln!(html, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value));
        }
    }
    html.push_str("</table></div>\n");
    stall(&mut html, result);
    let toml = escape(&study.to_toml());
    let _ = write!(
        html,
        "<h2>To repeat this run</h2>\n<p>The file <code>study.toml</code> beside this page holds the study and its \
         machine in full. With netloom {version}, <code>netloom run study.toml --out again</code> gives the same figures \
         on any computer, with any number of threads.</p>\n\
         <details><summary>Complete configuration</summary><pre>{toml}</pre></details>\n\
         <p class=\"soft\">Files beside this page: <code>summary.json</code>, <code>study.toml</code>, tables as Parquet \
         (<code>series</code>, <code>latency</code>, <code>links</code>), and every drawing as SVG. Simulated by netloom \
         {version} on {threads} thread(s) in {wall} s: {rate} packet-hops a second.</p>\n</main>\n</body>\n</html>\n",
        version = escape(env!("CARGO_PKG_VERSION")),
        threads = result.host.threads,
        wall = short(result.host.wall_s),
        rate = scaled(result.host.packet_hops_per_s),
    );
    html
}

fn subtitle(study: &ResolvedStudy, result: &RunResult) -> String {
    let dims = study.torus.topology.dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    format!(
        "{} \u{b7} {dims}, {} nodes \u{b7} {} \u{b7} seed {} \u{b7} {} us simulated",
        study.machine.title,
        grouped(study.torus.nodes() as i64),
        study.study.workload.kind(),
        result.seed,
        short(result.simulated.us)
    )
}

fn warnings(html: &mut String, study: &ResolvedStudy, result: &RunResult) {
    if let Some(reason) = &result.partial {
        let _ = writeln!(html, "<div class=\"warn\"><b>Partial result:</b> {}</div>", escape(reason));
    }
    if result.simulated.ended == Ended::Stalled {
        html.push_str(
            "<div class=\"warn\"><b>The network stood still</b> with packets in it: see below.</div>\n",
        );
    }
    for text in unmet(study, result) {
        let _ = writeln!(html, "<div class=\"warn\"><b>Not as expected:</b> {}</div>", escape(&text));
    }
}

fn tiles(html: &mut String, result: &RunResult) {
    let links = &result.links;
    let tiles = [
        ("mean link utilization", percent(links.mean_utilization)),
        ("payload utilization", percent(links.payload_utilization)),
        ("mean latency in the network", format!("{} ns", short(result.latency.network.mean_ns))),
        ("packets delivered", scaled(result.totals.packets_delivered as f64)),
        ("traffic on escape VCs", percent(result.escape_share)),
    ];
    html.push_str("<div class=\"tiles\">\n");
    for (name, value) in tiles {
        let _ = writeln!(html, "<div class=\"tile\"><b>{value}</b><span class=\"soft\">{name}</span></div>");
    }
    html.push_str("</div>\n");
}

fn section<'a>(html: &mut String, title: &str, plots: impl Iterator<Item = &'a Plot>) {
    let mut plots = plots.peekable();
    if plots.peek().is_none() {
        return;
    }
    let _ = writeln!(html, "<h2>{title}</h2>");
    for plot in plots {
        let _ = writeln!(
            html,
            "<figure>\n{}<figcaption>{}</figcaption></figure>",
            plot.svg,
            escape(&plot.caption)
        );
    }
}

fn stall(html: &mut String, result: &RunResult) {
    let Some(stall) = &result.stall else { return };
    let _ = writeln!(
        html,
        "<h2>Where the network stood still</h2>\n<p>Nothing moved after {} us; {} packets were in the network. Some of \
         them:</p>\n<div class=\"card\"><table>",
        short(stall.since_us),
        grouped(stall.packets_waiting as i64)
    );
    for packet in &stall.examples {
        let _ = writeln!(
            html,
            "<tr><th>node {:?}, {} ({} chunks, to {:?})</th><td>{}</td></tr>",
            packet.at,
            escape(&packet.buffer),
            packet.chunks,
            packet.destination,
            escape(&packet.waits_for)
        );
    }
    html.push_str("</table></div>\n");
}
