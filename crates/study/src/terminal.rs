//! What a person sees in the terminal: a bar while the run goes on, figures when it is over.

use crate::resolve::ResolvedStudy;
use crate::result::{Ended, LatencyStats, RunResult};
use crate::run::{Progress, ProgressSink, unmet};
use crate::write::number::{counted, duration, grouped, percent, scaled, short};
use indicatif::{ProgressBar, ProgressStyle};
use netloom_fabric::router::LinkErrors;
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

/// Steps of the bar.
const STEPS: u64 = 1000;
/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Time between two changes of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

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
            us_per_tick: 1e6 / study.machine.ticks_per_second as f64,
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

    fn message(&self, progress: Progress) -> String {
        let wall = self.start.elapsed().as_secs_f64().max(1e-3);
        let mut text = format!(
            "{} us simulated, {} packet-hops/s",
            short(progress.ticks as f64 * self.us_per_tick),
            scaled(progress.packet_hops as f64 / wall)
        );
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
        let Ok(mut last) = self.last.try_lock() else { return };
        let every = if self.bar.is_some() { BAR_EVERY } else { LINE_EVERY };
        if last.elapsed() < every {
            return;
        }
        *last = Instant::now();
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
}

/// Figures that belong together.
pub struct Group {
    /// What they are about.
    pub title: String,
    /// Name and value of each.
    pub rows: Vec<(String, String)>,
}

/// The figures of a result, for people.
pub fn figures(study: &ResolvedStudy, result: &RunResult) -> Vec<Group> {
    let group = |title: &str, rows: Vec<(&str, String)>| Group {
        title: title.into(),
        rows: rows.into_iter().map(|(name, value)| (name.into(), value)).collect(),
    };
    let (s, links, totals) = (&result.simulated, &result.links, &result.totals);
    let ended = match s.ended {
        Ended::Done => "all traffic had arrived",
        Ended::Steady => "the mean was known well enough",
        Ended::Time => "its time was over",
        Ended::Stopped => "it was asked to stop",
        Ended::Stalled => "the network stood still",
        Ended::Failed => "something could not be made good",
    };
    let mut run = vec![
        ("simulated", format!("{} us; ended when {ended}", short(s.us))),
        ("measured", format!("{} us from {} us on", short(s.measured_us), short(s.measured_from_us))),
        (
            "packets delivered",
            format!("{} of {}", count(totals.packets_delivered), count(totals.packets_injected)),
        ),
        ("payload delivered", format!("{}B", scaled(totals.payload_bytes as f64))),
        ("packet-hops", count(totals.packet_hops)),
    ];
    if let Some(c) = &result.confidence {
        let mean =
            format!("{} \u{b1} {} (95%, {} windows)", short(c.mean), short(c.half_width_95), c.windows);
        run.push(("confidence", format!("{}: {mean}", c.quantity)));
    }
    let mut groups = vec![group("Run", run)];
    if let Some(p) = &result.programs {
        let mut rows = vec![
            ("ranks", count(p.ranks.into())),
            ("messages received", format!("{}, {}B", count(p.messages), scaled(p.message_bytes as f64))),
            (
                "last rank ends",
                format!("{} us; ranks end at {} us on average", short(p.last_end_us), short(p.mean_end_us)),
            ),
        ];
        if p.mean_hops_by_bytes > 0.0 {
            let hops = format!(
                "{} hops a byte, {} a message",
                short(p.mean_hops_by_bytes),
                short(p.mean_hops_by_messages)
            );
            rows.push(("mapping", hops));
        }
        groups.push(group("Programs", rows));
    }
    let mut rows = vec![
        ("mean utilization", percent(links.mean_utilization)),
        ("payload", percent(links.payload_utilization)),
        ("headers", percent(links.header_utilization)),
        ("trailers", percent(links.trailer_utilization)),
        ("acknowledgements", percent(links.ack_utilization)),
        (
            "least and most used",
            format!("{} and {}", percent(links.min_utilization), percent(links.max_utilization)),
        ),
        (
            "by VC",
            format!(
                "dynamic {}, escape {}, high priority {}",
                percent(links.by_class.dynamic),
                percent(links.by_class.escape),
                percent(links.by_class.high)
            ),
        ),
    ];
    if !links.by_direction.is_empty() {
        let each = links.by_direction.iter().map(|d| format!("{} {}", d.direction, percent(d.utilization)));
        rows.push(("by direction", each.collect::<Vec<_>>().join(", ")));
    }
    let peak = study.machine.facts().peak_all_to_all_link_utilization;
    if study.study.workload.kind() == "all-to-all" && peak > 0.0 && links.mean_utilization > 0.0 {
        let share = percent(links.mean_utilization / peak);
        rows.push(("of this shape's peak", format!("{share} of {}", percent(peak))));
    }
    groups.push(group("Links", rows));
    let stats = |s: &LatencyStats| {
        let [mean, p50, p90, p99, max] = [s.mean_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.max_ns].map(short);
        format!("mean {mean} ns; half {p50}, 90% {p90}, 99% {p99}, all {max}")
    };
    groups.push(group(
        "Latency",
        vec![("in the network", stats(&result.latency.network)), ("in all", stats(&result.latency.total))],
    ));
    let (chunks, fraction) = (&result.occupancy.mean_chunks, &result.occupancy.fraction);
    let class = |chunks: f64, fraction: f64| format!("{} chunks, {} full", short(chunks), percent(fraction));
    groups.push(group(
        "Buffers of a receiver",
        vec![
            ("dynamic VCs", class(chunks.dynamic, fraction.dynamic)),
            ("escape VCs", class(chunks.escape, fraction.escape)),
            ("high-priority VC", class(chunks.high, fraction.high)),
            ("hops on escape VCs", percent(result.escape_share)),
        ],
    ));
    let waited = [
        ("dynamic VCs", &result.waits.dynamic),
        ("escape VCs", &result.waits.escape),
        ("high-priority VC", &result.waits.high),
    ];
    let rows: Vec<_> =
        waited.into_iter().filter(|w| w.1.count > 0).map(|(name, w)| (name, stats(w))).collect();
    if !rows.is_empty() {
        groups.push(group("Waits in buffers", rows));
    }
    if let Some(c) = &result.counters {
        let [user, system, partition, others] = c.chunks.map(count);
        groups.push(group(
            "Performance counters",
            vec![
                ("chunks sent", format!("user {user}, system {system}, collective {partition} and {others}")),
                ("packets received", count(c.packets)),
                ("mean queue", format!("{} packets a receiver", short(c.queue_packets))),
                (
                    "mean wait",
                    format!(
                        "{} ns by Little's law, {} ns measured",
                        short(c.wait_ns),
                        short(c.measured_wait_ns)
                    ),
                ),
            ],
        ));
    }
    if let Some(e) = &result.errors {
        groups.push(group("Errors made good", errors(e)));
    }
    if study.study.measure.unblocking {
        let share = percent(result.unblock_probability);
        groups.push(group("Token-acks to blocked nodes", vec![("that unblock a packet", share)]));
    }
    groups
}

/// What went wrong and was made good: what happened at all, of what may happen.
fn errors(e: &LinkErrors) -> Vec<(&'static str, String)> {
    let [spare, data @ ..] = {
        let mut fibres = e.fibre_errors;
        fibres.rotate_right(1);
        fibres
    };
    let header = format!("{}, {} seen at the header", count(e.corrupted), count(e.bad_headers));
    let ghosts = format!("{}, over {} more links", count(e.ghosts), count(e.ran_on));
    let fibres = format!("{} on data fibres, {} on spares", count(data.iter().sum()), count(spare));
    let rows = [
        ("packets corrupted", header, e.corrupted),
        ("packets refused", count(e.refused), e.refused),
        ("packets sent again", count(e.retransmitted), e.retransmitted),
        ("ghosts discarded", ghosts, e.ghosts),
        ("acknowledgements lost", count(e.acks_lost), e.acks_lost),
        ("ack-only packets", count(e.ack_only), e.ack_only),
        ("barrier packets lost", count(e.barriers_lost), e.barriers_lost),
        ("barrier packets again", count(e.barriers_resent), e.barriers_resent),
        ("wrong bits", fibres, e.fibre_errors.iter().sum()),
        ("words corrected", count(e.words_corrected), e.words_corrected),
        ("fibres replaced", count(e.fibres_replaced), e.fibres_replaced),
        ("buffer words corrected", count(e.soft_corrected), e.soft_corrected),
    ];
    let mut rows: Vec<_> = rows.into_iter().filter(|r| r.2 > 0).map(|(name, text, _)| (name, text)).collect();
    if rows.is_empty() {
        rows.push(("all kinds", "none".into()));
    }
    rows
}

fn count(n: u64) -> String {
    grouped(i64::try_from(n).unwrap_or(i64::MAX))
}

/// The summary that ends a run, in aligned columns.
pub fn summary(study: &ResolvedStudy, result: &RunResult) -> String {
    let mut text = format!(
        "{}\n{}, {}, {}\n",
        study.heading(),
        study.machine.title,
        study.machine.shape(),
        counted(study.network.nodes(), "node")
    );
    if let Some(reason) = &result.partial {
        let _ = writeln!(text, "PARTIAL RESULT: {reason}");
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
        let _ = writeln!(text, "\nThe network stood still after {} us", short(stall.since_us));
        for p in &stall.examples {
            let _ =
                writeln!(text, "  node {:?}, {}, to {:?}: {}", p.at, p.buffer, p.destination, p.waits_for);
        }
    }
    for line in unmet(study, result) {
        let _ = writeln!(text, "\nNOT AS EXPECTED: {line}");
    }
    let host = &result.host;
    let _ = writeln!(
        text,
        "\n{} on {}: {} packet-hops/s, {} simulated us/s",
        duration(host.wall_s),
        counted(host.threads as usize, "thread"),
        scaled(host.packet_hops_per_s),
        short(host.simulated_us_per_s)
    );
    text
}
