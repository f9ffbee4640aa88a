//! The drawings of a profile: calls over time, of the whole run and of a few calls with their messages; and
//! where the time of ranks goes.

use crate::write::Plot;
use crate::write::svg::{Axis, COLOURS, Frame, Svg, WIDTH, escape};
use netloom_study::number::short;
use netloom_study::profile::{CallSpan, CallTotals, Parts, Profile, ThreadProfile};

/// Most rows of a drawing.
const ROWS_MAX: usize = 32;
/// Height of a row and of its calls, px.
const ROW: f64 = 20.0;
const BAR: f64 = 14.0;
/// Calls of the first rank in the drawing of a few.
const FEW: usize = 10;
/// Most calls of a row that are drawn each by itself; width of the columns that show more of them, px.
const EXACT_MAX: usize = 300;
const COLUMN: f64 = 6.0;
/// Calls with a smaller share of the time in calls have no colour of their own.
const SHARE_MIN: f64 = 0.001;
/// Most messages that are drawn.
const MESSAGES_MAX: usize = 400;
/// Most characters of a title that fit.
const TITLE_MAX: usize = 98;

/// The drawings.
pub fn plots(profile: &Profile) -> Vec<Plot> {
    let colours = Colours::of(profile);
    let mut plots = vec![];
    let rows = &profile.threads[..profile.threads.len().min(ROWS_MAX)];
    let shown = rows_shown(profile).map_or(String::new(), |rows| format!(" The {rows}."));
    let few = excerpt(profile);
    let whole = (0.0, profile.end_ns);
    if let Some(span) = few {
        let caption =
            format!("Some calls in the middle of the run, and the messages of that time as lines.{shown}");
        plots.push(timeline(profile, rows, &colours, span, ("timeline-part", "A few calls", caption)));
    }
    let lines = if few.is_none() { ", and messages as lines" } else { "" };
    let caption =
        format!("Calls over the whole run{lines}. Where there are many, a column shows their shares.{shown}");
    plots.push(timeline(profile, rows, &colours, whole, ("timeline", "All calls", caption)));
    plots.push(where_time_goes(profile));
    plots
}

/// Which rows a drawing has, if it does not have all.
fn rows_shown(profile: &Profile) -> Option<String> {
    let all = profile.threads.len();
    let rows = if profile.threads.iter().all(|thread| thread.thread == 0) { "ranks" } else { "threads" };
    (all > ROWS_MAX).then(|| format!("first {ROWS_MAX} of {all} {rows}"))
}

/// A title, cut if it is too long for the drawing.
fn fitting(title: &str) -> String {
    match title.chars().count() {
        ..=TITLE_MAX => title.into(),
        _ => title.chars().take(TITLE_MAX - 1).chain(['\u{2026}']).collect(),
    }
}

/// The span of a few calls in the middle of the run, if there are many.
fn excerpt(profile: &Profile) -> Option<(f64, f64)> {
    let calls = &profile.threads.first()?.calls;
    if calls.len() <= 3 * FEW {
        return None;
    }
    let first = calls.len() / 2;
    Some((calls[first].from_ns, calls[(first + FEW).min(calls.len() - 1)].to_ns))
}

/// Which colour each name has: those that take the most time have their own, the others share the last.
struct Colours {
    of_name: Vec<usize>,
    legend: Vec<(usize, String)>,
}

impl Colours {
    fn of(profile: &Profile) -> Self {
        let by_time = profile.by_name();
        let mut of_name = vec![COLOURS - 1; profile.names.len()];
        let mut legend = vec![];
        let all: f64 = by_time.iter().map(|calls| calls.parts.sum_ns()).sum();
        let is_long = |calls: &&CallTotals| calls.parts.sum_ns() > SHARE_MIN * all;
        let with_own = by_time.iter().filter(is_long).take(COLOURS - 1);
        for (colour, calls) in with_own.enumerate() {
            of_name[calls.name] = colour;
            legend.push((colour, profile.names[calls.name].clone()));
        }
        // What is shorter than a picosecond is none.
        if by_time.iter().filter(|calls| calls.parts.sum_ns() > 1e-3).count() > legend.len() {
            legend.push((COLOURS - 1, "other calls".into()));
        }
        Colours { of_name, legend }
    }
}

/// The unit of a span of time: its name, and ns.
fn unit(ns: f64) -> (&'static str, f64) {
    match ns {
        ..2e4 => ("ns", 1.0),
        ..2e7 => ("us", 1e3),
        ..2e10 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}

fn row_name(thread: &ThreadProfile) -> String {
    match thread.thread {
        0 => format!("rank {}", thread.task),
        number => format!("{}.{number}", thread.task),
    }
}

fn timeline(
    profile: &Profile,
    rows: &[ThreadProfile],
    colours: &Colours,
    (from, to): (f64, f64),
    (name, title, caption): (&str, &str, String),
) -> Plot {
    let (unit, per_unit) = unit(to - from);
    let (from_zero, left) = (from == 0.0, 72.0);
    let has = |colour: usize| {
        let calls = rows.iter().flat_map(|thread| &thread.calls);
        let mut seen = calls.filter(|call| call.to_ns > from.max(call.from_ns) && call.from_ns < to);
        seen.any(|call| colours.of_name[call.name] == colour)
    };
    let names = colours.legend.iter().filter(|(colour, _)| has(*colour));
    let names: Vec<(usize, &str)> = names.map(|(colour, name)| (*colour, &**name)).collect();
    let mut svg = Svg::new(0.0);
    let title =
        format!("{title}: {} on {}", profile.program.rsplit('/').next().unwrap_or(""), profile.machine);
    svg.text(16.0, 22.0, "start", "t", &fitting(&title));
    let top = 40.0 + svg.legend(16.0, 46.0, &names);
    let bottom = top + ROW * rows.len() as f64;
    svg.grow_to(bottom + 54.0);
    let after = if from_zero { String::new() } else { format!(" after {} us", short(from / 1e3)) };
    let shown = rows_shown(profile).map_or(String::new(), |rows| format!("; {rows}"));
    let label = format!("simulated time, {unit}{after}{shown}");
    let x = Axis { low: 0.0, high: ((to - from) / per_unit).max(1e-9), label, ..Axis::default() };
    let y = Axis { low: 0.0, high: 1.0, ..Axis::default() };
    let frame = Frame { left, right: WIDTH - 20.0, top, bottom, x, y };
    let at = |ns: f64| frame.at((ns - from) / per_unit, 0.0).0;
    for (row, thread) in rows.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.text(left - 8.0, y + 12.0, "end", "s", &row_name(thread));
        svg.line(left, y + BAR / 2.0 + 1.0, frame.right, y + BAR / 2.0 + 1.0, "g");
        let calls = || thread.calls.iter().filter(|call| call.to_ns > from && call.from_ns < to);
        if calls().count() <= EXACT_MAX {
            calls().for_each(|call| bar(&mut svg, profile, colours, call, (from, to), at, y));
        } else {
            columns(&mut svg, colours, calls(), (left, frame.right), (from, to), y);
        }
    }
    messages(&mut svg, profile, rows, (from, to), at, top);
    axis(&mut svg, &frame);
    Plot::drawn(name, caption, svg.finish(&title))
}

/// The axis of time, without one of heights.
fn axis(svg: &mut Svg, frame: &Frame) {
    let all = netloom_study::number::ticks(frame.x.low, frame.x.high, 8);
    let step = all.get(1).map_or(1.0, |t| t - all[0]);
    for value in all {
        let (x, _) = frame.at(value, 0.0);
        svg.line(x, frame.bottom, x, frame.bottom + 5.0, "a");
        let label = netloom_study::number::tick_label(value, step);
        svg.text(x, frame.bottom + 19.0, "middle", "s", &label);
    }
    svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "a");
    svg.text((frame.left + frame.right) / 2.0, frame.bottom + 38.0, "middle", "", &frame.x.label);
}

fn bar(
    svg: &mut Svg,
    profile: &Profile,
    colours: &Colours,
    call: &CallSpan,
    (from, to): (f64, f64),
    at: impl Fn(f64) -> f64,
    y: f64,
) {
    let (x, end) = (at(call.from_ns.max(from)), at(call.to_ns.min(to)));
    let parts = Parts::NAMES.iter().zip(call.parts.list()).filter(|&(_, ns)| ns > 0.0);
    let parts: Vec<String> = parts.map(|(name, ns)| format!("{name} {}", short(ns / 1e3))).collect();
    let took = short((call.to_ns - call.from_ns) / 1e3);
    let tip = escape(&format!("{}: {took} us ({})", profile.names[call.name], parts.join(", ")));
    let (colour, width) = (colours.of_name[call.name], (end - x - 0.6).max(0.4));
    svg.raw(&format!(
        r#"<rect x="{x:.1}" y="{:.1}" width="{width:.1}" height="{BAR}" style="fill:var(--c{colour})"><title>{tip}</title></rect>"#,
        y + 1.0
    ));
}

/// A row of more calls than can be seen: columns of a few px, in which each call has the height of its share.
fn columns<'a>(
    svg: &mut Svg,
    colours: &Colours,
    calls: impl Iterator<Item = &'a CallSpan>,
    (left, right): (f64, f64),
    (from, to): (f64, f64),
    y: f64,
) {
    let count = ((right - left) / COLUMN) as usize;
    let (width, per_column) = ((right - left) / count as f64, (to - from) / count as f64);
    let mut time = vec![[0.0; COLOURS]; count];
    for call in calls {
        let (begin, end) = (call.from_ns.max(from) - from, call.to_ns.min(to) - from);
        for (column, shares) in time.iter_mut().enumerate().skip((begin / per_column) as usize) {
            let (low, high) = (column as f64 * per_column, (column + 1) as f64 * per_column);
            if low >= end {
                break;
            }
            shares[colours.of_name[call.name]] += (end.min(high) - begin.max(low)).max(0.0) / per_column;
        }
    }
    for (column, shares) in time.iter().enumerate() {
        let (x, mut bottom) = (left + column as f64 * width, y + 1.0 + BAR);
        for (colour, share) in shares.iter().enumerate().filter(|&(_, &share)| share > 0.01) {
            let height = share * BAR;
            bottom -= height;
            svg.raw(&format!(
                r#"<rect x="{x:.1}" y="{bottom:.1}" width="{:.1}" height="{height:.1}" style="fill:var(--c{colour})"/>"#,
                width + 0.1
            ));
        }
    }
}

/// Lines from the begin of messages to their ends, if they are few enough. Those of threads that make no
/// calls are at their ranks' first threads.
fn messages(
    svg: &mut Svg,
    profile: &Profile,
    rows: &[ThreadProfile],
    (from, to): (f64, f64),
    at: impl Fn(f64) -> f64,
    top: f64,
) {
    let row_of = |end| rows.binary_search_by_key(&end, |thread| (thread.task, thread.thread)).ok();
    let row = |end: (u32, u32)| row_of(end).or_else(|| row_of((end.0, 0)));
    let shown = profile.messages.iter().filter(|m| m.sent_ns >= from && m.received_ns <= to);
    let lines: Vec<_> = shown.filter_map(|m| Some((m, row(m.from)?, row(m.to)?))).collect();
    if lines.len() > MESSAGES_MAX {
        return;
    }
    for (message, sender, receiver) in lines {
        let y = |row: usize| top + ROW * row as f64 + BAR / 2.0 + 1.0;
        let tip = format!("{} B from rank {} to rank {}", message.bytes, message.from.0, message.to.0);
        svg.raw(&format!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" style="stroke:var(--ink);stroke-width:.8;opacity:.75"><title>{tip}</title></line>"#,
            at(message.sent_ns), y(sender), at(message.received_ns), y(receiver),
        ));
    }
}

/// A bar for each rank: its time in calls by its parts, and outside of them.
fn where_time_goes(profile: &Profile) -> Plot {
    let shown = rows_shown(profile).map_or(String::new(), |rows| format!("; {rows}"));
    let title = &format!("Where the time of ranks goes, us{shown}");
    let rows = &profile.threads[..profile.threads.len().min(ROWS_MAX)];
    let names = [
        "messaging software",
        "injection",
        "queueing",
        "wire",
        "waiting for the partner",
        "outside of calls",
    ];
    let most = rows.iter().map(|thread| thread.end_ns).fold(1e-9, f64::max);
    let left = 72.0;
    let width = WIDTH - left - 84.0;
    let mut svg = Svg::new(0.0);
    svg.text(16.0, 22.0, "start", "t", title);
    let legend: Vec<(usize, &str)> =
        names.iter().copied().enumerate().map(|(i, name)| (i + 1, name)).collect();
    let top = 40.0 + svg.legend(16.0, 46.0, &legend);
    svg.grow_to(top + ROW * rows.len() as f64 + 12.0);
    for (row, thread) in rows.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.text(left - 8.0, y + 12.0, "end", "s", &row_name(thread));
        let parts = thread.parts();
        let outside = (thread.end_ns - parts.sum_ns()).max(0.0);
        let mut x = left;
        for ((colour, name), ns) in legend.iter().zip(parts.list().into_iter().chain([outside])) {
            let part = ns / most * width;
            let tip = escape(&format!("{}, {name}: {} us", row_name(thread), short(ns / 1e3)));
            svg.raw(&format!(
                r#"<rect x="{x:.1}" y="{:.1}" width="{part:.1}" height="{BAR}" style="fill:var(--c{colour})"><title>{tip}</title></rect>"#,
                y + 1.0
            ));
            x += part;
        }
        let end = short(thread.end_ns / 1e3);
        svg.text(x + 6.0, y + 12.0, "start", "s", &end);
    }
    let caption = "A bar ends when the rank does. Software: instructions of the library. Injection: held by the network interface. \
                   Wire: waiting for what is in flight, as long as that takes on a machine that is otherwise empty; queueing: as far as it takes longer.";
    Plot::drawn("where-time-goes", caption.into(), svg.finish(title))
}
