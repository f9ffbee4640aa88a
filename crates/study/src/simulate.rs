//! The simulator of the fabric, behind [`Simulate`].

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::{ProgressSink, Simulate};

/// Simulates studies on the fabric.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fabric;

impl Simulate for Fabric {
    fn simulate(&self, _: &ResolvedStudy, _: &dyn ProgressSink, _: usize) -> Result<RunResult, Problem> {
        Err(Problem::new("this version of netloom reads and checks studies but cannot simulate them yet"))
    }
}
