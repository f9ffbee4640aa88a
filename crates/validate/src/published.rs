//! The published entries, with those marked that the machines' constants were fitted to.

use crate::fitted;
use netloom_study::diagnose::Problem;

pub use netloom_report::published::{Entry, PAPERS};

/// The published entries of all papers. The role of one that a constant was fitted to is `calibrate`.
///
/// # Errors
/// A table that breaks the rules of `published/README.md`; a mark in a machine's file that names no entry.
pub fn published() -> Result<Vec<Entry>, Problem> {
    let mut all = netloom_report::published::published()?;
    fitted::mark(&mut all)?;
    Ok(all)
}
