//! Where the time of programs goes at each point of a sweep: a bar for each, of a rank's time on average.

use super::{Outcome, shown};
use crate::write::Plot;
use crate::write::svg::{Svg, WIDTH, escape, text_width};
use netloom_study::number::short;
use netloom_study::result::ProgramFigures;

/// A part of a rank's time: column of the sweep's table, what it is, and the figure, us.
type Part = (&'static str, &'static str, fn(&ProgramFigures) -> f64);

/// The parts of a rank's time.
pub(super) const PARTS: [Part; 6] = [
    ("compute_us", "computing", |p| p.compute_us),
    ("software_us", "messaging software", |p| p.software_us),
    ("injection_us", "injection", |p| p.injection_us),
    ("queueing_us", "queueing", |p| p.queueing_us),
    ("wire_us", "wire", |p| p.wire_us),
    ("partner_us", "waiting for the partner", |p| p.partner_us),
];

const ROW: f64 = 26.0;

/// The drawing, if any point ran programs of ranks.
pub(super) fn plot(outcomes: &[Outcome]) -> Option<Plot> {
    let rows: Vec<(String, &ProgramFigures)> = outcomes
        .iter()
        .filter_map(|o| {
            let name = o.point.values.iter().map(shown).collect::<Vec<_>>().join(", ");
            Some((name, o.result.as_ref()?.programs.as_ref()?))
        })
        .collect();
    let total = |p: &ProgramFigures| PARTS.iter().map(|part| part.2(p)).sum::<f64>();
    let most = rows.iter().map(|(_, p)| total(p)).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let title = "Where the time of a rank goes, mean of all ranks, us";
    let left = rows.iter().map(|(name, _)| text_width(name)).fold(40.0, f64::max).min(260.0) + 24.0;
    let (top, width) = (70.0, WIDTH - left - 90.0);
    let mut svg = Svg::new(top + ROW * rows.len() as f64 + 16.0);
    svg.text(16.0, 22.0, "start", "t", title);
    let names: Vec<(usize, &str)> = PARTS.iter().map(|part| part.1).enumerate().collect();
    svg.legend(16.0, 46.0, &names);
    for (row, (name, figures)) in rows.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.text(left - 8.0, y + 14.0, "end", "s", name);
        let mut x = left;
        for (colour, (_, what, of)) in PARTS.iter().enumerate() {
            let part = of(figures) / most * width;
            let tip = escape(&format!("{name}, {what}: {} us", short(of(figures))));
            svg.raw(&format!(
                r#"<rect x="{x:.1}" y="{y:.1}" width="{part:.1}" height="{:.1}" style="fill:var(--c{colour})"><title>{tip}</title></rect>"#,
                ROW - 7.0
            ));
            x += part;
        }
        svg.text(x + 6.0, y + 14.0, "start", "s", &short(total(figures)));
    }
    let caption = format!(
        "{title}. A bar ends when the rank does, on average; the run time is that of the last rank. Injection: held by its network interface. Wire: waiting for what is in flight, as long as that takes on a machine that is otherwise empty; queueing: as far as it takes longer."
    );
    Some(Plot::drawn("where-time-goes", caption, svg.finish(title)))
}
