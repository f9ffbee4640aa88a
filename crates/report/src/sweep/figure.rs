//! The figures of a sweep that are drawn over its parameters.

use super::table::RUN_TIME;

/// The drawn figure: a column of the sweep's table.
#[derive(Clone, Copy)]
pub(super) struct Figure<'a> {
    /// The column.
    pub column: &'a str,
    /// What it is.
    pub title: &'a str,
    /// The unit of the axis.
    pub unit: &'a str,
    /// Brings the column's values to the unit.
    pub factor: f64,
    /// The drawing ends at this multiple of the minimum: latencies beyond saturation only reflect the length
    /// of the run.
    pub ends_at: f64,
    /// The column of what it cannot be above, where that is known, in the same unit.
    pub bound: Option<&'a str>,
    /// Another column of the same unit, drawn dashed beside it.
    pub beside: Option<&'a Figure<'a>>,
    /// The meaning of hollow points.
    pub hollow: &'static str,
}

/// Meaning of hollow points, unless a figure sets another.
const SATURATED_POINT: &str = "saturated: accepts less than is offered";

impl<'a> Figure<'a> {
    /// A column with what it is and its unit; `factor` brings its values to the unit.
    pub const fn new(column: &'a str, title: &'a str, unit: &'a str, factor: f64) -> Figure<'a> {
        Figure {
            column,
            title,
            unit,
            factor,
            ends_at: f64::INFINITY,
            bound: None,
            beside: None,
            hollow: SATURATED_POINT,
        }
    }

    /// Where its curves end, in words.
    pub fn ends(&self) -> String {
        if self.ends_at.is_infinite() {
            return String::new();
        }
        format!(" Curves end where they pass {} times the minimum.", self.ends_at)
    }
}

/// Latency in the network alone.
static NETWORK_LATENCY: Figure<'static> = Figure::new("latency_mean_ns", "Mean network latency", "ns", 1.0);
/// Latency since packets were made.
const TOTAL_LATENCY: Figure<'static> = Figure {
    ends_at: 10.0,
    beside: Some(&NETWORK_LATENCY),
    ..Figure::new("total_latency_mean_ns", "Mean total latency (source queue included)", "ns", 1.0)
};
const RUN_TIME_OF_PROGRAMS: Figure<'static> =
    Figure::new(RUN_TIME, "Run time, until the last rank ended", "us", 1.0);

/// Figures of tori.
pub(super) const OF_TORI: [Figure<'static>; 5] = [
    RUN_TIME_OF_PROGRAMS,
    TOTAL_LATENCY,
    Figure::new("mean_utilization", "Mean link utilization", "%", 100.0),
    Figure::new("payload_utilization", "Payload utilization", "%", 100.0),
    Figure::new("dynamic_buffer_fraction", "Occupancy of the dynamic VCs", "%", 100.0),
];

/// Figures of machines of switches.
pub(super) const OF_SWITCHES: [Figure<'static>; 8] = [
    RUN_TIME_OF_PROGRAMS,
    TOTAL_LATENCY,
    Figure {
        bound: Some("bound_flits_per_tick"),
        ..Figure::new("accepted_flits_per_tick", "Accepted throughput", "flits/tick per node", 1.0)
    },
    Figure::new("nonminimal_share", "Packets on non-minimal routes", "%", 100.0),
    Figure::new("global_max_utilization", "Utilization of the busiest global link", "%", 100.0),
    Figure::new("slowdown_of_job_1", "Latency of the first job, in times of that alone", "times", 1.0),
    Figure::new("slowdown_of_job_2", "Latency of the second job, in times of that alone", "times", 1.0),
    Figure::new("reordered_share", "Packets that arrive out of order", "%", 100.0),
];
