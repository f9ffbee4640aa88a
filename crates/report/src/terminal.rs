//! What a person sees in the terminal: a bar during the run, figures at its end.

use crate::claims::{self, Judged};
use crate::figures::figures;
use crate::limits;
use indicatif::{ProgressBar, ProgressStyle};
use netloom_study::number::{counted, duration, percent, scaled, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Host, RunResult};
use netloom_study::run::{Progress, ProgressSink, unmet};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shows a run's progress on standard error: a bar on a terminal, else a line now and then.
pub struct Terminal<'a> {
    stop: &'a AtomicBool,
    us_per_tick: f64,
    start: Instant,
    bar: Option<ProgressBar>,
    last: Mutex<Instant>,
}

/// Columns of the sentences on what limits a run.
const LIMITS_WIDTH: usize = 110;
/// Steps of the bar.
const STEPS: u64 = 1000;
/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Time between two changes of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// The device or the threads that simulated.
pub(crate) fn simulated_on(host: &Host) -> String {
    host.device.clone().unwrap_or_else(|| counted(host.threads as usize, "thread"))
}

impl<'a> Terminal<'a> {
    /// A view of one run; `stop` ends it.
    pub fn new(study: &ResolvedStudy, stop: &'a AtomicBool) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template("{bar:30.cyan/dim} {percent:>3}%  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message("building the machine");
            bar.tick();
            bar
        });
        let now = Instant::now();
        Terminal {
            stop,
            us_per_tick: 1e6 / study.machine.ticks_per_second() as f64,
            start: now,
            bar,
            last: Mutex::new(now),
        }
    }

    /// Clears the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Whether it is time to show something again.
    fn is_due(&self) -> bool {
        let Ok(mut last) = self.last.try_lock() else { return false };
        let every = if self.bar.is_some() { BAR_EVERY } else { LINE_EVERY };
        let is_due = last.elapsed() >= every;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }

    fn message(&self, progress: Progress) -> String {
        let wall = self.start.elapsed().as_secs_f64().max(1e-3);
        let mut text = format!("{} us simulated", short(progress.ticks as f64 * self.us_per_tick));
        // Hops are counted at a window's end: none are known before the first.
        if progress.packet_hops > 0 {
            let _ = write!(text, ", {} packet-hops/s", scaled(progress.packet_hops as f64 / wall));
        }
        match progress.fraction {
            Some(done) if done > 0.01 => {
                let left = wall * (1.0 - done.min(1.0)) / done;
                let _ = write!(text, ", {} left", duration(left.max(1.0)));
            }
            _ => {}
        }
        text
    }
}

impl ProgressSink for Terminal<'_> {
    fn update(&self, progress: Progress) {
        if !self.is_due() {
            return;
        }
        let message = self.message(progress);
        match &self.bar {
            Some(bar) => {
                bar.set_position((progress.fraction.unwrap_or(0.0).clamp(0.0, 1.0) * STEPS as f64) as u64);
                bar.set_message(message);
            }
            None => {
                let done = progress.fraction.map_or(String::new(), |f| format!("{}, ", percent(f)));
                eprintln!("netloom: {done}{message}");
            }
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn waits(&self, of_others: usize) {
        if !self.is_due() {
            return;
        }
        let message = format!("waiting for {} that other processes run", counted(of_others, "point"));
        match &self.bar {
            Some(bar) => bar.set_message(message),
            None => eprintln!("netloom: {message}"),
        }
    }
}

/// The summary that ends a run, in aligned columns.
pub fn summary(study: &ResolvedStudy, result: &RunResult, judged: &[Judged]) -> String {
    let mut text = format!(
        "{}\n{}, {}, {}\n",
        study.heading(),
        study.machine.title(),
        study.machine.shape(),
        counted(study.network.nodes(), "node")
    );
    if let Some(reason) = &result.partial {
        let _ = writeln!(text, "PARTIAL RESULT: {reason}");
    }
    for warning in &result.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    let limits = limits::findings(study, result);
    if !limits.is_empty() {
        let _ = writeln!(text, "\nWhat limits this run");
        for finding in &limits {
            for line in textwrap::wrap(&finding.text, LIMITS_WIDTH) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    for table in &result.measured {
        let _ = write!(text, "\n{}", crate::write::measured::text(table));
    }
    for group in figures(study, result) {
        let _ = writeln!(text, "\n{}", group.title);
        for (name, value) in &group.rows {
            let _ = writeln!(text, "  {name:<22}{value}");
        }
    }
    if let Some(stall) = &result.stall {
        let (since, shown) = (short(stall.since_us), stall.examples.len());
        let _ =
            writeln!(text, "\nThe network stalled after {since} us. The first {shown} packets that wait:");
        for p in &stall.examples {
            let at = p.whereabouts();
            let _ = writeln!(text, "  {at}, {}, to {:?}: {}", p.buffer, p.destination, p.waits_for);
        }
    }
    for line in unmet(study, result) {
        let _ = writeln!(text, "\nNOT AS EXPECTED: {line}");
    }
    if !judged.is_empty() {
        let _ = write!(text, "\n{}", claims::lines(judged).concat());
    }
    let host = &result.host;
    if result.simulated.ticks == 0 {
        return text;
    }
    let _ = write!(
        text,
        "\n{} on {}: {} packet-hops/s, {} simulated us/s",
        duration(host.wall_s),
        simulated_on(host),
        scaled(host.packet_hops_per_s),
        short(host.simulated_us_per_s)
    );
    let memory = host.peak_memory_bytes.map(|bytes| format!("; at most {}B of memory", scaled(bytes as f64)));
    text += &memory.unwrap_or_default();
    text.push('\n');
    text
}
