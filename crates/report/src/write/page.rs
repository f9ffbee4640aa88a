//! What all pages have in common: their look, their head and end, drawings and warnings.

use super::Plot;
use super::svg::escape;
use crate::claims::{Judged, Verdict};
use std::fmt::Write;

/// The look of the pages.
const STYLE: &str = "
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
a{color:var(--accent)}
ul{padding-left:22px;margin:8px 0}
li{margin:4px 0}
pre{overflow-x:auto;font:13px/1.45 ui-monospace,'DejaVu Sans Mono',monospace}
code{font:13px ui-monospace,'DejaVu Sans Mono',monospace;background:var(--card);border:1px solid var(--line);border-radius:4px;padding:1px 5px}
";

/// A page with its head; `columns` where its tables have many columns.
pub fn begin(heading: &str, subtitle: &str, columns: bool) -> String {
    let (heading, subtitle) = (escape(heading), escape(subtitle));
    // The first column of other tables takes what room there is.
    let narrow = if columns { "th{width:auto}" } else { "" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{heading}</title>\n\
         <style>{STYLE}{narrow}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n\
         <div class=\"soft\">{subtitle}</div>\n"
    )
}

/// The end of a page.
pub const END: &str = "</main>\n</body>\n</html>\n";

/// A study's description, if it has one.
pub fn description(html: &mut String, text: &str) {
    if !text.trim().is_empty() {
        let _ = writeln!(html, "<p>{}</p>", escape(text.trim()));
    }
}

/// What a reader must know before all else.
pub fn warning(html: &mut String, what: &str, text: &str) {
    let _ = writeln!(html, "<div class=\"warn\"><b>{}</b> {}</div>", escape(what), escape(text));
}

/// The claims that do not hold, before all else.
pub fn failed_claims(html: &mut String, claims: &[Judged]) {
    for claim in claims.iter().filter(|claim| claim.verdict == Verdict::Fails) {
        warning(html, "Claim:", &claim.line());
    }
}

/// All claims and what became of them; nothing where there are none.
pub fn claims(html: &mut String, claims: &[Judged]) {
    if claims.is_empty() {
        return;
    }
    html.push_str("<h2>Claims</h2>\n<div class=\"card\"><table>\n");
    for claim in claims {
        let _ = writeln!(html, "<tr><td>{}</td></tr>", escape(&claim.line()));
    }
    html.push_str("</table></div>\n");
}

/// A drawing with what it shows.
pub fn figure(html: &mut String, plot: &Plot) {
    let _ = writeln!(
        html,
        "<figure id=\"{}\">\n{}<figcaption>{}</figcaption></figure>",
        plot.name,
        plot.svg,
        escape(&plot.caption)
    );
}
