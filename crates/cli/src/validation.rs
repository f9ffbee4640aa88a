//! The progress of `netloom validate`: said on standard error, and written into a list of verdicts.

use netloom_study::diagnose::Problem;
use netloom_study::number::duration;
use netloom_validate::Observer;
use netloom_validate::published::Entry;
use netloom_validate::records::Recorder;
use std::io::Write;

/// Says what is judged, and records it.
pub(crate) struct Progress<'a> {
    pub recorder: Option<Recorder>,
    /// Whether what was recorded before is left out.
    pub resume: bool,
    pub err: &'a mut dyn Write,
}

impl Observer for Progress<'_> {
    fn wants(&self, table: &str) -> bool {
        !(self.resume && self.recorder.as_ref().is_some_and(|recorder| recorder.has(table)))
    }

    fn begins(&mut self, table: &str) {
        // Progress only: that it cannot be shown is no reason to stop.
        let _ = writeln!(self.err, "netloom: judging {table}");
    }

    fn judged(&mut self, table: &str, entries: &[Entry], seconds: f64, left: &[&str]) -> Result<(), Problem> {
        if seconds > 0.0 {
            let rest = self.recorder.as_ref().and_then(|recorder| recorder.left(left));
            let rest = rest.filter(|_| !left.is_empty());
            let rest =
                rest.map_or(String::new(), |s| format!("; the rest took {} the last time", duration(s)));
            let _ = writeln!(self.err, "netloom: {table} took {seconds:.0} s{rest}");
        }
        match &mut self.recorder {
            Some(recorder) => recorder.judged(table, entries, seconds),
            None => Ok(()),
        }
    }
}
