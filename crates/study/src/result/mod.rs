//! The result of a run. Means are over the measured part of the run, after the warm-up, unless their
//! definitions state otherwise.

mod jobs;
mod switched;
mod throughput;

pub use jobs::{JobAlone, JobFigures};
pub use switched::*;
pub use throughput::Throughput;

use crate::timeline::Timeline;
use netloom_fabric::router::LinkErrors;
use netloom_fabric::topology::torus::Torus;
pub use netloom_workload::measured::Column;
use netloom_workload::measured::{Measured, figures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of one run. Every number is finite: JSON has no others, and what it cannot hold cannot be read
/// back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The study's title.
    pub title: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Why the result is partial, if it is.
    pub partial: Option<String>,
    /// Warnings that a reader must know before using the figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Length of the simulation, and why it ended.
    pub simulated: Simulated,
    /// Counts over the whole run.
    pub totals: Totals,
    /// Offered and accepted load of synthetic traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Link utilization.
    pub links: LinkSummary,
    /// Latency of packets.
    pub latency: Latency,
    /// Figures of tori.
    #[serde(flatten)]
    pub torus: Option<TorusFigures>,
    /// Figures of networks of switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched: Option<SwitchedFigures>,
    /// Confidence interval of the main quantity.
    pub confidence: Option<Confidence>,
    /// Each of several jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobFigures>,
    /// Figures of the programs, if the nodes ran programs.
    pub programs: Option<ProgramFigures>,
    /// Tables that programs measured.
    pub measured: Vec<MeasuredTable>,
    /// The packets that wait for one another, if the network stalled.
    pub stall: Option<StallReport>,
    /// Curves over time. In tables of their own, not in the summary.
    #[serde(skip)]
    pub series: Vec<Series>,
    /// Figures of each link. In a table of their own, not in the summary.
    #[serde(skip)]
    pub per_link: Vec<LinkRow>,
    /// The same of each link. In a table of their own, not in the summary.
    #[serde(skip)]
    pub link_errors: Vec<LinkErrorRow>,
    /// Figures of each link of a machine of switches. In a table of their own, not in the summary.
    #[serde(skip)]
    pub ports: Vec<PortRow>,
    /// The timeline of some nodes, if requested. In a file of its own, not in the summary.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
    /// Figures of the computer that ran the simulation.
    pub host: Host,
}

impl RunResult {
    /// The figures that programs measured, by their keys: those of a sweep's columns. A claim names them
    /// `measured.KEY`.
    pub fn measured_figures(&self) -> Vec<(String, f64)> {
        self.measured.iter().flat_map(|table| figures(&table.columns, &table.rows)).collect()
    }

    /// A figure of the summary by its dotted path, or one that programs measured.
    pub fn figure(&self, path: &str) -> Option<f64> {
        if let Some(key) = path.strip_prefix("measured.") {
            return self
                .measured_figures()
                .into_iter()
                .find(|(known, _)| known == key)
                .map(|(_, value)| value);
        }
        let summary = serde_json::to_value(self).unwrap_or_default();
        path.split('.').try_fold(&summary, |value, key| value.get(key))?.as_f64()
    }

    /// Says that the run came to a bad end, and why.
    pub fn ended_early(&mut self, ended: Ended, why: String) {
        self.simulated.ended = ended;
        self.simulated.run_time_us = None;
        self.partial = Some(why);
    }
}

/// Figures of tori only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TorusFigures {
    /// Occupancy of the receivers' buffers.
    pub occupancy: Occupancy,
    /// How long packets wait in VCs.
    pub waits: Waits,
    /// The machine's own performance counters, if they are on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Corrected errors on links and in buffers, if any were configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<LinkErrors>,
    /// Fraction of the packet-hops that went over escape VCs.
    pub escape_share: f64,
    /// Fraction of the token-acks that reached a node with blocked packets that let at least one of these
    /// move.
    pub unblock_probability: f64,
}

/// A table of what programs measured themselves: a benchmark's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredTable {
    /// What it is.
    pub title: String,
    /// Its columns: what the figures depend on, and the figures.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<f64>>,
    /// Published figures beside some of its columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedCurve>,
}

impl From<Measured> for MeasuredTable {
    fn from(Measured { title, columns, rows }: Measured) -> Self {
        MeasuredTable { title, columns, rows, published: vec![] }
    }
}

/// Published figures of one column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedCurve {
    /// The column.
    pub column: String,
    /// What the table's first column that varies is, and the figure there.
    pub points: Vec<(f64, f64)>,
}

/// Figures of programs: of a skeleton or a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFigures {
    /// Ranks.
    pub ranks: u32,
    /// Messages received.
    pub messages: u64,
    /// Their data, bytes.
    pub message_bytes: u64,
    /// When the last rank ended, us.
    pub last_end_us: f64,
    /// When ranks ended on average, us.
    pub mean_end_us: f64,
    /// Messages sent by rendezvous.
    #[serde(default)]
    pub rendezvous: u64,
    /// Collective operations by the machine's hardware; all others are done by messages.
    #[serde(default)]
    pub hardware_collectives: u64,
    /// Mean time of a rank in its own computation, us.
    #[serde(default)]
    pub compute_us: f64,
    /// Mean time of a rank in the instructions of its messaging library, us.
    #[serde(default)]
    pub software_us: f64,
    /// Mean time of a rank in its network interface, us: giving commands, or until the interface has taken
    /// its data.
    #[serde(default)]
    pub injection_us: f64,
    /// Mean wait of a rank for a partner that had not sent yet, us.
    #[serde(default)]
    pub partner_us: f64,
    /// Mean wait of a rank for messages on the wire, as long as they take on an otherwise idle machine, us.
    #[serde(default)]
    pub wire_us: f64,
    /// Additional mean wait of a rank for messages: queued behind others, us.
    #[serde(default)]
    pub queueing_us: f64,
    /// Mean hops of a byte under the mapping; absent if the messages are not known before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_hops_by_bytes: Option<f64>,
    /// Mean hops of a message under the mapping; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_hops_by_messages: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All programs have returned and all traffic has arrived.
    #[default]
    Finished,
    /// The confidence interval of the mean is as narrow as asked for.
    Converged,
    /// The simulated time was up.
    TimeLimit,
    /// Packets or programs wait, and nothing can make progress.
    Stalled,
    /// The user or the system asked it to stop.
    Interrupted,
    /// An error could not be corrected.
    Failed,
}

impl Ended {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Finished => "finished",
            Ended::Converged => "converged",
            Ended::TimeLimit => "time limit",
            Ended::Stalled => "stalled",
            Ended::Interrupted => "interrupted",
            Ended::Failed => "failed",
        }
    }

    /// Its name in files: as [`Self::name`], without blanks.
    pub fn word(self) -> String {
        self.name().replace(' ', "-")
    }

    /// Its meaning, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Ended::Finished => "everything that was to be sent has arrived",
            Ended::Converged => "the confidence interval of the mean is as narrow as asked for",
            Ended::TimeLimit => "the simulated time was up",
            Ended::Stalled => "nothing can make progress",
            Ended::Interrupted => "it was asked to stop",
            Ended::Failed => "something went wrong that could not be corrected",
        }
    }

    /// Whether the run cannot be used: it stalled or failed.
    pub fn is_failure(self) -> bool {
        matches!(self, Ended::Stalled | Ended::Failed)
    }
}

/// How far the simulation went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulated {
    /// Simulated time, ticks.
    pub ticks: u64,
    /// The same, us.
    pub us: f64,
    /// Start of the measured part, us.
    pub measured_from_us: f64,
    /// Length of the measured part, us.
    pub measured_us: f64,
    /// Why it ended.
    pub ended: Ended,
    /// Length of a measuring window, us.
    #[serde(default)]
    pub window_us: f64,
    /// When the last rank ended, us; of programs that finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time_us: Option<f64>,
}

/// Counts over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Packets that entered the network.
    pub packets_injected: u64,
    /// Packets that left it at their destination.
    pub packets_delivered: u64,
    /// Data delivered, bytes.
    pub payload_bytes: u64,
    /// Packets times the links that they crossed.
    pub packet_hops: u64,
}

/// Link utilization: fractions of the raw rate. Utilization is the time spent sending, to the tick; what it
/// is spent on is counted by the packets that began in the span, so the parts may add up to a packet more or
/// less on each link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// Links that work, each direction counted.
    pub count: u64,
    /// Mean over all links, all bytes counted.
    pub mean_utilization: f64,
    /// Minimum over all links.
    pub min_utilization: f64,
    /// Maximum over all links.
    pub max_utilization: f64,
    /// Traffic of the links of tori.
    #[serde(flatten)]
    pub torus: Option<TorusLinks>,
}

/// Traffic of the links of tori.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TorusLinks {
    /// Mean fraction of the raw rate that carries payload.
    pub payload_utilization: f64,
    /// Mean fraction of the raw rate that carries headers of hardware and software, and padding.
    pub header_utilization: f64,
    /// Mean fraction of the raw rate that carries trailers.
    pub trailer_utilization: f64,
    /// Mean fraction of the raw rate that carries acknowledgements and tokens.
    pub ack_utilization: f64,
    /// Mean fraction of the raw rate that carries data packets, by class of VC.
    pub by_class: ByClass,
    /// Mean of the links of each direction.
    pub by_direction: Vec<DirectionMean>,
}

/// One figure for each class of virtual channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByClass {
    /// Dynamic VCs.
    pub dynamic: f64,
    /// Escape VCs.
    pub escape: f64,
    /// The high-priority VC.
    pub high: f64,
}

/// Mean use of the links in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionMean {
    /// `+x`, `-x`, `+y` …
    pub direction: String,
    /// Mean utilization, fraction.
    pub utilization: f64,
}

/// Times of packets that arrived in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Network latency: from the first byte on the first link until the last byte has arrived.
    pub network: LatencyStats,
    /// Total latency: from the generation of the packet, source queue included.
    pub total: LatencyStats,
}

/// A distribution of times, ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyStats {
    /// Packets.
    pub count: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: f64,
    /// 90th percentile, ns.
    pub p90_ns: f64,
    /// 99th percentile, ns.
    pub p99_ns: f64,
    /// Maximum, ns.
    pub max_ns: f64,
    /// The histogram, by rising time. In a table of its own, not in the summary.
    #[serde(skip)]
    pub bins: Vec<LatencyBin>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyBin {
    /// Lower end, ns.
    pub from_ns: f64,
    /// Upper end, ns.
    pub to_ns: f64,
    /// Packets.
    pub count: u64,
}

/// How long packets stood in VCs before they moved on, by class of VC; packets that passed through a bypass
/// did not stand in any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// In dynamic VCs.
    pub dynamic: LatencyStats,
    /// In escape VCs.
    pub escape: LatencyStats,
    /// In the high-priority VC.
    pub high: LatencyStats,
}

/// Sums of the machine's own performance counters over all receivers, beside the same figures measured
/// directly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Chunks sent: the users' from point to point; the system's; collective ones of whole partitions; of
    /// other sets of nodes.
    pub chunks: [u64; 4],
    /// Packets that came to receivers.
    pub packets: u64,
    /// Packets in queue at a receiver, mean.
    pub queue_packets: f64,
    /// Mean wait by Little's law, ns.
    pub wait_ns: f64,
    /// Mean wait of packets that moved on, measured one by one, ns.
    pub measured_wait_ns: f64,
}

/// Filling of the receivers' buffers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Mean chunks that wait in all VCs of a class of one receiver.
    pub mean_chunks: ByClass,
    /// The same as a fraction of the buffer.
    pub fraction: ByClass,
}

/// How well a mean is known, by batch means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// What it is the mean of.
    pub quantity: String,
    /// The mean.
    pub mean: f64,
    /// Half width of the 95% confidence interval, in the quantity's unit.
    pub half_width_95: f64,
    /// Windows that it was taken from.
    pub windows: u64,
}

/// A network that stood still.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallReport {
    /// Time of the last movement, us.
    pub since_us: f64,
    /// Packets in the network.
    pub packets_waiting: u64,
    /// Some of them.
    pub examples: Vec<WaitingPacket>,
}

/// A packet that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingPacket {
    /// Where it is: coordinates of the node.
    pub at: Vec<u32>,
    /// In which buffer: direction of the link that it came in by and VC, such as `+x escape`.
    pub buffer: String,
    /// Where it wants to go: coordinates of the node.
    pub destination: Vec<u32>,
    /// Its size, chunks.
    pub chunks: u32,
    /// The object of its wait, in words.
    pub waits_for: String,
    /// Where it is, in words, on a machine whose routers have names; `at` is then the router's number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
}

impl WaitingPacket {
    /// Where it is, in words.
    pub fn whereabouts(&self) -> String {
        if self.place.is_empty() { format!("node {:?}", self.at) } else { self.place.clone() }
    }
}

/// A curve over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The chart that it belongs to: curves of one chart share a unit and are drawn together.
    pub chart: String,
    /// Its name in the legend.
    pub name: String,
    /// Its unit, such as `MB/s per node` or `fraction`.
    pub unit: String,
    /// Length of a window, us. Value i is for the window from i times this.
    pub window_us: f64,
    /// A mean for each window.
    pub values: Vec<f64>,
}

/// Errors of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkErrorRow {
    /// Coordinates of the node that sends.
    pub node: Vec<u32>,
    /// Direction as a port: twice the dimension, plus one for minus.
    pub direction: u8,
    /// Its counts.
    pub errors: LinkErrors,
}

/// Figures of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRow {
    /// Coordinates of the node that sends; of a link from an IO node those of the exit node that receives.
    pub node: Vec<u32>,
    /// Direction as a port: twice the dimension, plus one for minus; or [`TO_IO`], [`FROM_IO`].
    pub direction: u8,
    /// All bytes, fraction of the raw rate.
    pub utilization: f64,
    /// Payload, fraction of the raw rate.
    pub payload: f64,
    /// Acknowledgements and tokens, fraction of the raw rate.
    pub acks: f64,
    /// Data packets by class of VC, fraction of the raw rate.
    pub by_class: ByClass,
}

/// Figures that depend on the computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Wall time, s.
    pub wall_s: f64,
    /// Threads.
    pub threads: u32,
    /// Wall time to build the machine, s.
    pub build_s: f64,
    /// Packet-hops simulated per second of wall time, after the first window: at first the memory is new.
    pub packet_hops_per_s: f64,
    /// Microseconds simulated per second of wall time, likewise.
    pub simulated_us_per_s: f64,
    /// Memory of the simulated machine, bytes per node.
    pub bytes_per_node: f64,
    /// Maximum memory of the program so far, bytes, where the system reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// The graphics processor, if it was one that simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Version of Netloom.
    pub version: String,
}

/// In place of a direction, the IO link of an exit node: to its IO node, and from there.
pub const TO_IO: u8 = 10;
/// See [`TO_IO`].
pub const FROM_IO: u8 = 11;

/// Node and direction under which a link is reported: for an IO link its exit node.
pub fn sender(torus: &Torus, node: u32, port: usize) -> (u32, u8) {
    match torus.link(node, port) {
        Some((exit, _)) if torus.is_io_node(node) => (exit, FROM_IO),
        Some(_) if torus.is_io_link(node, port) => (node, TO_IO),
        _ => (node, port as u8),
    }
}

/// The name of a direction: `+x`, `-x`, `+y` …
pub fn direction_name(direction: u8) -> String {
    if direction >= TO_IO {
        return if direction == TO_IO { "to IO" } else { "from IO" }.into();
    }
    let sign = if direction.is_multiple_of(2) { '+' } else { '-' };
    format!("{sign}{}", netloom_workload::config::letter(usize::from(direction / 2)))
}
