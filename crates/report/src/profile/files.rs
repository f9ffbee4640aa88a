//! The folder of a profile: a page, its drawings, tables and a trace.

use super::{drawing, text, trace};
use crate::write::svg::escape;
use crate::write::tables::{Column, Table};
use crate::write::{TIMELINE, page, write_files};
use netloom_study::diagnose::Problem;
use netloom_study::number::{counted, short};
use netloom_study::profile::{Parts, Profile};
use std::fmt::Write;
use std::path::Path;

/// Columns of a table under construction.
fn column(name: &str, column: Column) -> (String, Column) {
    (name.to_owned(), column)
}

/// The columns of parts, us.
fn of_parts(parts: &[Parts]) -> impl Iterator<Item = (String, Column)> {
    let of = |place: usize| parts.iter().map(|parts| parts.list()[place] / 1e3).collect();
    let all: Vec<_> = Parts::NAMES
        .iter()
        .enumerate()
        .map(|(place, name)| column(&format!("{name}_us"), Column::Numbers(of(place))))
        .collect();
    all.into_iter()
}

fn by_call(profile: &Profile) -> Table {
    let all = profile.by_name();
    let parts: Vec<Parts> = all.iter().map(|calls| calls.parts).collect();
    let own = [
        column("call", Column::Texts(all.iter().map(|calls| profile.names[calls.name].clone()).collect())),
        column("calls", Column::Integers(all.iter().map(|calls| calls.count as i64).collect())),
        column("total_us", Column::Numbers(parts.iter().map(|parts| parts.sum_ns() / 1e3).collect())),
        column("longest_us", Column::Numbers(all.iter().map(|calls| calls.longest_ns / 1e3).collect())),
    ];
    Table(own.into_iter().chain(of_parts(&parts)).collect())
}

fn by_rank(profile: &Profile) -> Table {
    let threads = &profile.threads;
    let parts: Vec<Parts> = threads.iter().map(|thread| thread.parts()).collect();
    let integers = |of: &dyn Fn(usize) -> i64| Column::Integers((0..threads.len()).map(of).collect());
    let numbers = |of: &dyn Fn(usize) -> f64| Column::Numbers((0..threads.len()).map(of).collect());
    let own = [
        column("rank", integers(&|i| threads[i].task.into())),
        column("thread", integers(&|i| threads[i].thread.into())),
        column("node", integers(&|i| threads[i].node.into())),
        column("calls", integers(&|i| threads[i].count() as i64)),
        column("end_us", numbers(&|i| threads[i].end_ns / 1e3)),
        column("in_calls_us", numbers(&|i| parts[i].sum_ns() / 1e3)),
    ];
    Table(own.into_iter().chain(of_parts(&parts)).collect())
}

fn calls(profile: &Profile) -> Table {
    let all: Vec<_> = profile
        .threads
        .iter()
        .flat_map(|thread| thread.calls.iter().map(move |call| (thread, call)))
        .collect();
    let parts: Vec<Parts> = all.iter().map(|(_, call)| call.parts).collect();
    let own = [
        column("rank", Column::Integers(all.iter().map(|(of, _)| of.task.into()).collect())),
        column("thread", Column::Integers(all.iter().map(|(of, _)| of.thread.into()).collect())),
        column("call", Column::Texts(all.iter().map(|(_, call)| profile.names[call.name].clone()).collect())),
        column("from_us", Column::Numbers(all.iter().map(|(_, call)| call.from_ns / 1e3).collect())),
        column("to_us", Column::Numbers(all.iter().map(|(_, call)| call.to_ns / 1e3).collect())),
    ];
    Table(own.into_iter().chain(of_parts(&parts)).collect())
}

fn messages(profile: &Profile) -> Table {
    let all = &profile.messages;
    let integers = |of: &dyn Fn(usize) -> i64| Column::Integers((0..all.len()).map(of).collect());
    let numbers = |of: &dyn Fn(usize) -> f64| Column::Numbers((0..all.len()).map(of).collect());
    Table(vec![
        column("from_rank", integers(&|i| all[i].from.0.into())),
        column("to_rank", integers(&|i| all[i].to.0.into())),
        column("bytes", integers(&|i| all[i].bytes as i64)),
        column("tag", integers(&|i| all[i].tag.into())),
        column("collective", Column::Flags(all.iter().map(|m| Some(m.is_collective)).collect())),
        column("sent_us", numbers(&|i| all[i].sent_ns / 1e3)),
        column("received_us", numbers(&|i| all[i].received_ns / 1e3)),
    ])
}

fn report(profile: &Profile, plots: &[crate::write::Plot]) -> String {
    let subtitle = format!(
        "{} \u{b7} {}, {} a node \u{b7} {} us simulated",
        profile.machine,
        counted(profile.tasks as usize, "rank"),
        profile.tasks_per_node,
        short(profile.end_ns / 1e3)
    );
    let mut html = page::begin(&profile.program, &subtitle, true);
    if let Some(text) = text::left_out(profile) {
        page::warning(&mut html, "Incomplete:", &text);
    }
    for (heading, (head, rows)) in
        [("Time by call", text::by_call(profile)), ("Time by rank", text::by_rank(profile))]
    {
        let _ = writeln!(html, "<h2>{heading}</h2>");
        page::table(&mut html, &head, &rows, &[]);
    }
    html.push_str(
        "<p class=\"soft\">The last five columns are shares of the time in calls, which is that of all ranks together.</p>\n",
    );
    html.push_str("<h2>Over time</h2>\n");
    plots.iter().for_each(|plot| page::figure(&mut html, plot));
    let _ = writeln!(
        html,
        "<p class=\"soft\">Files beside this page: <code>{TIMELINE}</code> (calls and messages, for ui.perfetto.dev), \
         <code>by-call.csv</code>, <code>by-rank.csv</code>, <code>calls.parquet</code>, <code>messages.parquet</code>, and \
         every drawing as SVG. Simulated by netloom {}.</p>",
        escape(env!("CARGO_PKG_VERSION"))
    );
    page::end(&mut html, plots);
    html
}

/// Writes a profile into a folder, creating it, in the place of an earlier one.
///
/// # Errors
/// File system errors.
pub fn write_profile(folder: &Path, profile: &Profile) -> Result<(), Problem> {
    let plots = drawing::plots(profile);
    let mut files = vec![
        ("by-call.csv".to_owned(), by_call(profile).to_csv()?),
        ("by-rank.csv".to_owned(), by_rank(profile).to_csv()?),
        ("calls.parquet".to_owned(), calls(profile).to_parquet()?),
        ("messages.parquet".to_owned(), messages(profile).to_parquet()?),
        (TIMELINE.to_owned(), trace::to_json(profile).into_bytes()),
        ("report.html".to_owned(), report(profile, &plots).into_bytes()),
    ];
    files.extend(plots.into_iter().map(|plot| (format!("{}.svg", plot.name), plot.svg.into_bytes())));
    write_files(folder, &files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::trace::tests::two_ranks;

    #[test]
    fn the_folder_has_tables_drawings_and_a_page_with_them() {
        let folder = tempfile::tempdir().unwrap();
        write_profile(folder.path(), &two_ranks()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let expected = "call,calls,total_us,longest_us,software_us,injection_us,queueing_us,wire_us,partner_us\n\
                        MPI_Recv,1,7,7,0.6,0,0,0,6.4\nMPI_Send,1,0.4,0.4,0.4,0,0,0,0\n";
        assert_eq!(read("by-call.csv"), expected);
        assert!(read("by-rank.csv").contains("\n1,0,1,1,9,7,0.6,0,0,0,6.4\n"));
        let (page, drawing) = (read("report.html"), read("timeline.svg"));
        assert!(page.contains(&drawing) && page.contains("id=\"where-time-goes\""), "{page}");
        // Two calls, and a line for the message.
        assert_eq!(drawing.matches("<title>MPI_").count(), 2);
        assert!(drawing.contains("8 B from rank 0 to rank 1"));
        for name in ["calls.parquet", "messages.parquet"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
    }
}
