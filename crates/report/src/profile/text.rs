//! Tables of a profile: time by call and by rank.

use crate::text_table::aligned;
use netloom_study::number::{counted, grouped, percent, short};
use netloom_study::profile::{Parts, Profile, ThreadProfile};

/// Most ranks of a table; of more, only the mean and the extremes are shown.
const RANKS_MAX: usize = 16;

/// A table: its head and its rows.
pub type Rows = (Vec<String>, Vec<Vec<String>>);

fn head(first: &[&str]) -> Vec<String> {
    first.iter().chain(&Parts::NAMES).map(|name| (*name).to_string()).collect()
}

/// The parts as shares of their sum.
fn shares(parts: &Parts) -> impl Iterator<Item = String> {
    let sum = parts.sum_ns();
    parts.list().into_iter().map(move |part| if sum > 0.0 { percent(part / sum) } else { "-".into() })
}

/// A time, us; what is shorter than a picosecond is none.
fn us(ns: f64) -> String {
    short(if ns.abs() < 1e-3 { 0.0 } else { ns / 1e3 })
}

/// Time by call: of all ranks together, and its parts as shares of it.
pub fn by_call(profile: &Profile) -> Rows {
    let all: f64 = profile.threads.iter().map(|thread| thread.end_ns).sum();
    let row = |calls: &netloom_study::profile::CallTotals| {
        let total = calls.parts.sum_ns();
        let own = [
            profile.names[calls.name].clone(),
            grouped(calls.count as i64),
            us(total),
            if all > 0.0 { percent(total / all) } else { "-".into() },
            us(total / calls.count.max(1) as f64),
            us(calls.longest_ns),
        ];
        own.into_iter().chain(shares(&calls.parts)).collect()
    };
    let rows = profile.by_name().iter().map(row).collect();
    (head(&["call", "calls", "total us", "of run", "mean us", "longest us"]), rows)
}

/// Time by rank: in calls, with its parts as shares of it, and outside of them.
pub fn by_rank(profile: &Profile) -> Rows {
    let name = |thread: &ThreadProfile| match thread.thread {
        0 => thread.task.to_string(),
        number => format!("{}, thread {number}", thread.task),
    };
    let row = |name: String, calls: f64, parts: &Parts, end_ns: f64| {
        let inside = parts.sum_ns();
        let own = [name, grouped(calls.round() as i64), us(inside), us(end_ns - inside)];
        own.into_iter().chain(shares(parts)).collect::<Vec<_>>()
    };
    let of = |thread: &ThreadProfile, name: String| {
        row(name, thread.count() as f64, &thread.parts(), thread.end_ns)
    };
    let threads = &profile.threads;
    let mut rows = vec![];
    if threads.len() <= RANKS_MAX {
        rows.extend(threads.iter().map(|thread| of(thread, name(thread))));
    } else {
        let waits = |thread: &&ThreadProfile| thread.parts().partner_ns;
        let by_wait = |a: &&ThreadProfile, b: &&ThreadProfile| waits(a).total_cmp(&waits(b));
        let extremes = [("least", threads.iter().min_by(by_wait)), ("most", threads.iter().max_by(by_wait))];
        for (which, thread) in extremes {
            rows.extend(thread.map(|thread| of(thread, format!("{} (waits {which})", name(thread)))));
        }
    }
    let count = threads.len().max(1) as f64;
    let sum = threads.iter().fold(Parts::default(), |sum, thread| sum.plus(&thread.parts()));
    let [software_ns, injection_ns, queueing_ns, wire_ns, partner_ns] = sum.list().map(|ns| ns / count);
    let mean = Parts { software_ns, injection_ns, partner_ns, wire_ns, queueing_ns };
    let end_ns = threads.iter().map(|thread| thread.end_ns).sum::<f64>() / count;
    let calls = threads.iter().map(ThreadProfile::count).sum::<u64>() as f64 / count;
    rows.push(row("mean".into(), calls, &mean, end_ns));
    (head(&["rank", "calls", "in calls us", "outside us"]), rows)
}

/// What the profile leaves out, if it does.
pub fn left_out(profile: &Profile) -> Option<String> {
    (profile.dropped > 0).then(|| {
        let dropped = grouped(profile.dropped as i64);
        format!("the timeline leaves out {dropped} calls and ends of messages, since a rank had too many; tables have all")
    })
}

/// Both tables, for a terminal.
pub fn tables(profile: &Profile) -> String {
    if profile.threads.is_empty() {
        return "no call was recorded: the program used no MPI\n".into();
    }
    let (head, rows) = by_call(profile);
    let calls = aligned(&head, &rows);
    let (head, rows) = by_rank(profile);
    let ranks = aligned(&head, &rows);
    let messages = counted(profile.messages.len(), "message");
    format!("{calls}\n{ranks}\n{messages}; the last five columns are shares of the time in calls\n")
}
