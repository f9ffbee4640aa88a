//! Which published entries the machines' constants were fitted to, in addition to those that `calibrate_rows`
//! names: read from the comments of the machines' files, where each constant is.
//!
//! ```toml
//! gap_ns = 22     # fitted to "up to 86%" of the raw rate
//! # calibrates: bgq.table4_collective_throughput[512]; bgq.table4_collective_throughput[1024]
//! ```
//!
//! A name is that of an entry, of a row with all its columns, or of a table whose behaviour in words is
//! meant. What a constant decides is what fails without it: these entries count as calibrated, not as
//! predicted.

use crate::published::Entry;
use netloom_study::diagnose::Problem;
use netloom_study::machine::BUILT_IN;

const MARK: &str = "# calibrates:";

/// The names in all machines' files, each with its file.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().flat_map(|(machine, text)| names_in(text).map(|name| (*machine, name)))
}

/// The names in a machine's text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let lists = text.lines().filter_map(|line| line.trim_start().strip_prefix(MARK));
    lists.flat_map(|list| list.split(';')).map(str::trim).filter(|name| !name.is_empty())
}

/// Whether a name is this entry's or its row's.
fn is_meant(name: &str, id: &str) -> bool {
    id.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || (name.ends_with(']') && rest.starts_with('.')))
}

/// Gives the entries that a machine's constants were fitted to the role `calibrate`.
///
/// # Errors
/// A name that no entry and no table has, with its file.
pub(crate) fn mark(entries: &mut [Entry]) -> Result<(), Problem> {
    for (machine, name) in names() {
        let mut found = entries.iter().any(|e| e.table == name);
        for entry in entries.iter_mut().filter(|e| is_meant(name, &e.id)) {
            entry.role = "calibrate".into();
            found = true;
        }
        if !found {
            return Err(Problem::new(format!(
                "machines/{machine}.toml: nothing published is called `{name}`"
            )));
        }
    }
    Ok(())
}

/// Whether the behaviour in words of a table was chosen a constant by.
pub(crate) fn decides_shape(table: &str) -> bool {
    names().any(|(_, name)| name == table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;

    #[test]
    fn what_a_machine_was_fitted_to_is_calibrated() {
        let text = "a = 1 # fitted\n# calibrates: p.t[1]; p.t[a, b].x_ns\n  # calibrates: p.u.y\n# calibrates nothing\n";
        assert_eq!(names_in(text).collect::<Vec<_>>(), ["p.t[1]", "p.t[a, b].x_ns", "p.u.y"]);
        assert!(is_meant("p.t[1]", "p.t[1].x_ns") && is_meant("p.u.y", "p.u.y"));
        assert!(
            !is_meant("p.t[1]", "p.t[12].x_ns")
                && !is_meant("p.u", "p.u.y")
                && !is_meant("p.u.y", "p.u.y_ns")
        );
    }

    #[test]
    fn every_name_is_an_entry_a_row_or_a_table() {
        let entries = published().expect("every name is published");
        let role = |id: &str| entries.iter().find(|e| e.id == id).map(|e| e.role.as_str());
        assert_eq!(role("bgq.hop_average.software_ns_low"), Some("calibrate"));
        assert_eq!(role("bgq.table4_collective_throughput[1024].throughput_GB_per_s"), Some("calibrate"));
        assert_eq!(role("bgq.table4_collective_throughput[1].throughput_GB_per_s"), Some("predict"));
        assert!(decides_shape("bgl.verification") && !decides_shape("bgl.hot_region"));
    }
}
