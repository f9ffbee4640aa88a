//! The measuring windows of a study: how long they are, and what must be said of them before the run.

use crate::number::short;
use crate::study::{MeasureConfig, Study, Until, WINDOW_TICKS, Warmup};
use netloom_fabric::config::ConfigError;

/// Measuring windows that a run is cut into where those asked for do not fit into it.
const WINDOWS: u64 = 20;

/// Most measuring windows of a run whose study does not say how long they are: then they are longer.
pub const WINDOWS_MAX: u64 = 1 << 14;

/// The measuring windows of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Windows {
    /// Length of one, ticks.
    pub ticks: u64,
    /// Warnings about them for the reader of the result.
    pub warnings: Vec<String>,
}

/// Ticks of a time in microseconds.
pub fn ticks(us: f64, ticks_per_second: u64) -> u64 {
    (us * ticks_per_second as f64 / 1e6).round() as u64
}

impl Windows {
    /// Those of a study whose `measure.until` is filled in. Where a run of given length has no room for one,
    /// they are shorter than was asked for.
    ///
    /// # Errors
    /// Times that are less than a tick of the machine; a warm-up that leaves nothing of the run.
    pub fn new(study: &Study, ticks_per_second: u64) -> Result<Windows, ConfigError> {
        let measure = &study.measure;
        let tick_us = 1e6 / ticks_per_second as f64;
        let of = |key: &str, us: f64| match ticks(us, ticks_per_second) {
            0 => Err(ConfigError {
                key: format!("measure.{key}"),
                message: format!(
                    "expected at least a tick of this machine, {} us, found {us}",
                    short(tick_us)
                ),
            }),
            ticks => Ok(ticks),
        };
        let asked = measure.window_us.map_or(Ok(WINDOW_TICKS), |us| of("window_us", us))?;
        let mut windows = Windows { ticks: asked, warnings: vec![] };
        let Some(end) = measure.time_us.filter(|_| measure.until() == Until::Time) else {
            return Ok(windows);
        };
        let end = of("time_us", end)?;
        let warmup = match measure.warmup_us {
            Warmup::Micros(us) => ticks(us, ticks_per_second),
            Warmup::Auto => 0,
        };
        if warmup >= end {
            return Err(ConfigError {
                key: "measure.warmup_us".into(),
                message: "expected a warm-up that leaves at least a tick of the run".into(),
            });
        }
        if measure.window_us.is_none() {
            windows.ticks = asked.max(end.div_ceil(WINDOWS_MAX));
        }
        let asked = windows.ticks;
        if warmup.div_ceil(asked).saturating_add(1).saturating_mul(asked) > end {
            windows = windows.shortened(end - warmup, ticks_per_second);
        }
        if measure.warmup_us == Warmup::Auto && !study.workload.runs_programs() {
            windows.warnings.push(
                "measure.warmup_us is \"auto\", which finds no warm-up of a run until \"time\": the means include the \
                 start of the run, when the network was empty"
                    .into(),
            );
        }
        Ok(windows)
    }

    /// Windows that fit into a measured part of `ticks` ticks, with a warning.
    pub fn shortened(&self, measured: u64, ticks_per_second: u64) -> Windows {
        let ticks = (measured / WINDOWS).max(1);
        let us = |ticks: u64| short(ticks as f64 * 1e6 / ticks_per_second as f64);
        let warning = format!(
            "a measuring window of {} us does not fit into the {} us that are measured: windows of {} us are used",
            us(self.ticks),
            us(measured),
            us(ticks)
        );
        Windows { ticks, warnings: self.warnings.iter().cloned().chain([warning]).collect() }
    }
}

impl MeasureConfig {
    /// When the run ends, of a study that has been read.
    pub fn until(&self) -> Until {
        self.until.unwrap_or(Until::Converged)
    }
}
