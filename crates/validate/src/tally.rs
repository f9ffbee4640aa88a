//! How many entries came out how: the headline of `netloom validate`.

use crate::published::Entry;
use netloom_report::published::compare::Verdict;
use netloom_study::claims::Evidence;
use std::fmt;

/// Verdicts, counted. Only what a run measured and what no constant was fitted to counts as a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Predictions that agree, and that do not.
    pub predictions: [usize; 2],
    /// Behaviours described in words that are there, and that are not.
    pub shapes: [usize; 2],
    /// Entries that constants were fitted to.
    pub calibrated: usize,
    /// Parameters of the machine, read back.
    pub echo: usize,
    /// Other entries' figures in other units.
    pub derived: usize,
    /// Figures computed without a run.
    pub closed_form: usize,
    /// Bounds that almost anything satisfies.
    pub loose: usize,
    /// Entries that are no predictions and do not agree.
    pub others_fail: usize,
    /// Entries for which a quick run simulated something else.
    pub proxies: usize,
    /// Entries that nothing was run for.
    pub not_run: usize,
}

impl Tally {
    /// Counts the verdicts of some entries.
    pub fn new(entries: &[Entry]) -> Tally {
        let mut tally = Tally::default();
        for entry in entries {
            let is_prediction = entry.evidence == Some(Evidence::Run) && entry.role != "calibrate";
            *match entry.verdict {
                Verdict::Pass => &mut tally.predictions[0],
                Verdict::Fail if is_prediction => &mut tally.predictions[1],
                Verdict::Fail => &mut tally.others_fail,
                Verdict::ShapePass => &mut tally.shapes[0],
                Verdict::ShapeFail => &mut tally.shapes[1],
                Verdict::Calibrated => &mut tally.calibrated,
                Verdict::Echo => &mut tally.echo,
                Verdict::Derived => &mut tally.derived,
                Verdict::ClosedForm => &mut tally.closed_form,
                Verdict::LooseBound => &mut tally.loose,
                Verdict::Proxy => &mut tally.proxies,
                Verdict::NotRun => &mut tally.not_run,
            } += 1;
        }
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [pass, fail] = self.predictions;
        writeln!(f, "predictions measured in runs: {pass} pass, {fail} fail")?;
        let [pass, fail] = self.shapes;
        writeln!(f, "behaviours described in words: {pass} pass, {fail} fail")?;
        writeln!(
            f,
            "no predictions: {} calibrated, {} echo, {} derived, {} closed-form, {} loose-bound, {} of these kinds fail; {} not run",
            self.calibrated,
            self.echo,
            self.derived,
            self.closed_form,
            self.loose,
            self.others_fail,
            self.not_run
        )?;
        if self.proxies > 0 {
            writeln!(
                f,
                "another machine or length of run, which says nothing of the published figure: {} proxy; without --quick they are judged",
                self.proxies
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;

    #[test]
    fn a_derived_figure_that_fails_is_no_second_failure() {
        let mut entries = published().unwrap();
        entries.retain(|e| e.id.starts_with("bgq.table2_nearest_neighbour[2097152]"));
        let evidence = [Evidence::Run, Evidence::Derived, Evidence::Derived];
        assert_eq!(entries.len(), evidence.len());
        for (entry, evidence) in entries.iter_mut().zip(evidence) {
            (entry.verdict, entry.evidence) = (Verdict::Fail, Some(evidence));
        }
        let tally = Tally::new(&entries);
        assert_eq!((tally.predictions, tally.others_fail), ([0, 1], 2));
        assert!(tally.to_string().starts_with("predictions measured in runs: 0 pass, 1 fail\n"));
    }
}
