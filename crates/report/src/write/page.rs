//! The common parts of all pages: their look, their head and end, drawings and warnings.

use super::Plot;
use super::svg::escape;
use crate::claims::{Judged, Verdict};
use std::fmt::Write;

/// The look of the pages.
const STYLE: &str = include_str!("../../assets/page.css");

/// A page with its head; `columns` where its tables have many columns.
pub fn begin(heading: &str, subtitle: &str, columns: bool) -> String {
    let (heading, subtitle) = (escape(heading), escape(subtitle));
    // The first column of other tables takes what room there is.
    let narrow = if columns { "th{width:auto}" } else { "" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{heading}</title>\n\
         <style>{UPLOT_STYLE}{STYLE}{narrow}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n\
         <div class=\"soft\">{subtitle}</div>\n"
    )
}

/// The charts' library, its look, and what makes charts, sortable tables and names of links of a page. See
/// `assets/vendor`.
const UPLOT: &str = include_str!("../../assets/vendor/uplot/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../assets/vendor/uplot/LICENSE");
const UPLOT_STYLE: &str = include_str!("../../assets/vendor/uplot/uPlot.min.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// The end of a page with these drawings.
pub fn end(html: &mut String, plots: &[Plot]) {
    html.push_str("</main>\n");
    if plots.iter().any(|plot| plot.data.is_some()) {
        let _ = writeln!(html, "<script>/* uPlot: {UPLOT_LICENCE}*/\n{UPLOT}</script>");
    }
    let _ = writeln!(html, "<script>{SCRIPT}</script>\n</body>\n</html>");
}

/// A study's description, if it has one.
pub fn description(html: &mut String, text: &str) {
    if !text.trim().is_empty() {
        let _ = writeln!(html, "<p>{}</p>", escape(text.trim()));
    }
}

/// The warnings of a result, which come first.
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

/// A drawing with what it shows, and the data of a chart for the script.
pub fn figure(html: &mut String, plot: &Plot) {
    let _ = writeln!(html, "<figure id=\"{}\">\n{}", plot.name, plot.svg);
    if let Some(data) = &plot.data {
        // Within a script `<` could end it.
        let data = data.to_string().replace('<', "\\u003c");
        let _ = writeln!(html, "<script type=\"application/json\" class=\"data\">{data}</script>");
    }
    let _ = writeln!(html, "<figcaption>{}</figcaption></figure>", escape(&plot.caption));
}

/// A table that a click on a heading sorts. `pages` are the pages that rows lead to, if any do.
pub fn table(html: &mut String, head: &[String], rows: &[Vec<String>], pages: &[Option<String>]) {
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let last = if pages.is_empty() { "" } else { "<td></td>" };
    html.push_str("<div class=\"card\"><table class=\"sortable\">\n");
    let _ = writeln!(html, "<tr class=\"head\">{}{last}</tr>", cells("th", head));
    for (i, row) in rows.iter().enumerate() {
        let page = pages.get(i).map(|page| match page {
            Some(page) => format!("<td><a href=\"{}\">report</a></td>", escape(page)),
            None => "<td></td>".to_owned(),
        });
        let _ = writeln!(html, "<tr>{}{}</tr>", cells("td", row), page.unwrap_or_default());
    }
    html.push_str("</table></div>\n");
}
