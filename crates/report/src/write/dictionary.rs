//! The output files: each file of a result's folder, and each column of its tables. A test holds the lists
//! against what is written.

/// A file of a result's folder.
pub struct FileEntry {
    /// Its name; `*` stands for what the result decides.
    pub name: &'static str,
    /// Whether a sweep writes it, or else a run, also each point of a sweep.
    pub of_sweep: bool,
    /// What it holds.
    pub content: &'static str,
}

const fn run(name: &'static str, content: &'static str) -> FileEntry {
    FileEntry { name, of_sweep: false, content }
}

const fn sweep(name: &'static str, content: &'static str) -> FileEntry {
    FileEntry { name, of_sweep: true, content }
}

/// The files.
pub const FILES: &[FileEntry] = &[
    run(
        "summary.json",
        "All figures (see Metrics), the configuration, what limits the run, warnings and claims.",
    ),
    run(
        "report.html",
        "The page for people: what limits the run, charts, figures, configuration. It needs no other file.",
    ),
    run("study.toml", "The study and its machine, complete: running it repeats the result, on any computer."),
    run("series.parquet", "Curves over time: a row per window of each curve."),
    run("latency.parquet", "Histograms of packet latencies: a row per bin."),
    run(
        "links.parquet",
        "Figures of each link, if `measure.per_link` is on. Tori and networks of switches have different columns.",
    ),
    run("errors.parquet", "Errors of each link of a torus, if the machine has any."),
    run(
        "reordering.parquet",
        "Histogram of how far packets arrive out of order, if `measure.reordering` is on.",
    ),
    run(
        "timeline.json",
        "What some nodes did when, if the study has a `timeline` table, for ui.perfetto.dev.",
    ),
    run("*.svg", "Every drawing of the page."),
    sweep("sweep.parquet", "A row per point: the values of the swept keys and the figures of the point."),
    sweep("sweep.csv", "The same as CSV."),
    sweep("sweep.json", "The same with configuration, claims, and what a search for saturation found."),
    sweep("sweep.toml", "The study with its `[sweep]` table, complete: sweeping it repeats the result."),
    sweep(
        "report.html",
        "The page for people: charts that compare the points, what limits them, and their table.",
    ),
    sweep("*.svg", "Every drawing of the page."),
    sweep("points/*/", "The folder of each point, with the files of a run."),
];

/// The columns of a table.
pub struct TableEntry {
    /// The file, and of which results where that makes a difference.
    pub file: &'static str,
    /// Name and meaning of each column.
    pub columns: &'static [(&'static str, &'static str)],
}

/// The columns of all tables. Coordinates are columns `x`, `y`, ..., as many as the torus has dimensions.
pub const TABLES: &[TableEntry] = &[
    TableEntry {
        file: "series.parquet",
        columns: &[
            ("chart", "Title of the drawing that shows the curve."),
            ("series", "Name of the curve."),
            ("unit", "Unit of `value`."),
            ("from_us", "Start of the window, us."),
            ("window_us", "Length of the window, us."),
            ("value", "Mean over the window."),
        ],
    },
    TableEntry {
        file: "latency.parquet",
        columns: &[
            (
                "latency",
                "`network`: from the first link until arrival. `total`: since the packet was made, source queue included.",
            ),
            ("from_ns", "Lower end of the bin, ns."),
            ("to_ns", "Upper end of the bin, ns."),
            ("packets", "Packets in the bin."),
        ],
    },
    TableEntry {
        file: "links.parquet of a torus",
        columns: &[
            ("x, y, ...", "Coordinates of the sending node."),
            ("direction", "`+x`, `-x`, ...; `to IO` and `from IO` for the links of IO nodes."),
            ("utilization", "Fraction of the measured time in which the link sends, all bytes counted."),
            ("payload", "Fraction of the raw rate that carries payload."),
            ("acks", "Fraction of the raw rate that carries acknowledgements and tokens."),
            ("dynamic", "Fraction of the raw rate that carries data packets on dynamic VCs."),
            ("escape", "The same on escape VCs."),
            ("high", "The same on the high-priority VC."),
        ],
    },
    TableEntry {
        file: "links.parquet of a network of switches",
        columns: &[
            ("router", "The sending router."),
            ("port", "Its port."),
            ("group", "The group of that router; of a fat tree its level."),
            ("class", "The class of the link."),
            ("to_router", "The receiving router."),
            ("to_group", "The group or level of that router."),
            ("utilization", "Fraction of the measured time in which the link sends."),
            ("flits", "Flits that began to leave."),
            ("packets", "Their packets."),
        ],
    },
    TableEntry {
        file: "errors.parquet",
        columns: &[
            ("x, y, ...", "Coordinates of the sending node."),
            ("direction", "As in `links.parquet`."),
            ("corrupted", "Packets that a link corrupted."),
            ("bad_headers", "Corrupted packets that the header's check detected."),
            ("refused", "Packets that the receiver refused."),
            ("retransmitted", "Packets that were sent again."),
            ("ran_on", "Links that a packet with a corrupted header crossed before it was discarded."),
            ("ghosts", "Packets discarded because their header was corrupted."),
            ("acks_lost", "Acknowledgements that were lost."),
            ("ack_only", "Packets that carry nothing but acknowledgements."),
            ("barriers_lost", "Barrier packets that were lost."),
            ("barriers_resent", "Barrier packets that were sent again."),
            ("fibre_0", "Wrong bits on data fibre 0 of an optical link."),
            ("fibre_1", "The same on fibre 1."),
            ("fibre_2", "The same on fibre 2."),
            ("fibre_3", "The same on fibre 3."),
            ("spare_fibre", "The same on the spare fibre."),
            ("words_corrected", "Words of a link that its code corrected."),
            ("fibres_replaced", "Fibres that the spare one replaced."),
            ("soft_corrected", "Words of buffers that were corrected."),
        ],
    },
    TableEntry {
        file: "reordering.parquet",
        columns: &[
            (
                "extent_from",
                "Least extent of the bin: arrivals since the first packet that overtook (RFC 4737); 0 if none did.",
            ),
            ("extent_to", "Greatest extent of the bin."),
            ("packets", "Packets in the bin."),
        ],
    },
    TableEntry {
        file: SWEEP,
        columns: &[
            ("(each swept key)", "Its value at the point; dots in the key become underscores."),
            ("ended", "Why the run ended: see `simulated.ended`."),
            ("run_time_us", "When the last rank ended, us; of programs that finished."),
            ("compute_us", "A rank's mean time in its own computation, us."),
            ("software_us", "A rank's mean time in messaging software, us."),
            ("injection_us", "A rank's mean time in the network interface, us."),
            ("queueing_us", "A rank's mean wait for messages queued behind others, us."),
            (
                "wire_us",
                "A rank's mean wait for messages in flight, up to their time on an otherwise empty machine, us.",
            ),
            ("partner_us", "A rank's mean wait for a partner that had not sent yet, us."),
            ("offered_MB_per_s", "Offered load per node, MB/s of payload; of tori."),
            ("accepted_MB_per_s", "Accepted load per node, MB/s of payload; of tori."),
            ("accepted_half_width_MB_per_s", "Half width of its 95% confidence interval, MB/s."),
            ("offered_flits_per_tick", "Offered load per node, flits per tick; of networks of switches."),
            ("accepted_flits_per_tick", "Accepted load per node, flits per tick, requests and responses."),
            ("accepted_half_width_flits_per_tick", "Half width of its 95% confidence interval."),
            (
                "saturated",
                "Whether the network accepts less than is offered: true, false, or empty where that is not defined.",
            ),
            (
                "saturation_load",
                "The highest load at which the network keeps up, found for the point's other keys by `sweep.saturation`; empty where it is \
                 not saturated up to the highest load, or at the lowest.",
            ),
            ("mean_utilization", "Mean utilization of the links."),
            ("payload_utilization", "Mean fraction of the links' rate that carries payload; of tori."),
            ("max_utilization", "Utilization of the busiest link."),
            ("latency_mean_ns", "Mean network latency, ns."),
            ("latency_p50_ns", "Median network latency, ns."),
            ("latency_p99_ns", "99th percentile of the network latency, ns."),
            ("total_latency_mean_ns", "Mean total latency, source queue included, ns."),
            ("total_latency_p99_ns", "99th percentile of the total latency, ns."),
            ("payload_bytes_per_us", "Payload delivered by all nodes together, bytes per us."),
            ("escape_share", "Fraction of the hops that use an escape VC; of tori."),
            ("dynamic_buffer_fraction", "How full the dynamic VCs are on average; of tori."),
            ("accepted_payload_GB_per_s", "Payload accepted per node, GB/s; of networks of switches."),
            ("hops_mean", "Mean links on a packet's route; of networks of switches."),
            ("nonminimal_share", "Fraction of the packets on non-minimal routes."),
            ("global_mean_utilization", "Mean utilization of the links between groups."),
            ("global_max_utilization", "Utilization of the busiest link between groups."),
            (
                "bound_flits_per_tick",
                "Load per node at which the first link is full, if `measure.bound` is on.",
            ),
            (
                "reordered_share",
                "Fraction of the packets that arrive out of order, if `measure.reordering` is on.",
            ),
            (
                "slowdown_of_job_1",
                "Run time of the first job beside the others, relative to that alone; so on up to the fourth.",
            ),
            ("simulated_us", "Simulated time, us."),
            ("packets_delivered", "Packets delivered."),
            (
                "(each measured figure)",
                "What programs measured, by the names of the summary's `measured` tables.",
            ),
            ("warnings", "Why the point is partial, and its warnings."),
            ("folder", "The folder of the point, relative to the sweep's."),
        ],
    },
];

/// The table of sweeps.
pub const SWEEP: &str = "sweep.parquet, sweep.csv";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::tables::{self, Table};
    use netloom_study::result::{LinkErrorRow, LinkRow, PortRow, Series};

    fn columns(file: &str) -> Vec<&'static str> {
        let table = TABLES.iter().find(|table| table.file == file).expect("it is listed");
        table.columns.iter().map(|(name, _)| *name).collect()
    }

    /// The names of a table's columns, coordinates as the lists have them.
    fn names(table: &Table) -> Vec<&str> {
        let is_coordinate = |name: &str| ["x", "y", "z"].contains(&name);
        let mut names: Vec<&str> = table.0.iter().map(|(name, _)| name.as_str()).collect();
        if names.first().is_some_and(|name| is_coordinate(name)) {
            names.retain(|name| !is_coordinate(name));
            names.insert(0, "x, y, ...");
        }
        names
    }

    #[test]
    fn tables_have_the_columns_that_are_listed() {
        let node = vec![0, 0, 0];
        let links = tables::links(&[LinkRow { node: node.clone(), ..LinkRow::default() }]);
        let errors = tables::errors(&[LinkErrorRow { node, ..LinkErrorRow::default() }]);
        for (file, table) in [
            ("series.parquet", tables::series(&[Series::default()])),
            ("links.parquet of a torus", links),
            ("links.parquet of a network of switches", tables::ports(&[PortRow::default()])),
            ("errors.parquet", errors),
        ] {
            assert_eq!(names(&table), columns(file), "{file}");
        }
        for (file, table) in tables::tables(&everything()) {
            if let Some(listed) = TABLES.iter().find(|table| table.file == file) {
                let listed: Vec<&str> = listed.columns.iter().map(|(name, _)| *name).collect();
                assert_eq!(names(&table), listed, "{file}");
            }
            assert!(FILES.iter().any(|entry| entry.name == file), "{file} is not listed");
        }
    }

    /// A result of which nothing is missing.
    fn everything() -> netloom_study::result::RunResult {
        use netloom_study::result::*;
        let switched = SwitchedFigures {
            reordering: Some(Reordering::default()),
            bound_flits_per_tick: Some(1.0),
            ..SwitchedFigures::default()
        };
        let simulated = Simulated { run_time_us: Some(1.0), ..Simulated::default() };
        RunResult {
            simulated,
            switched: Some(switched),
            torus: Some(TorusFigures::default()),
            programs: Some(ProgramFigures::default()),
            per_link: vec![],
            link_errors: vec![LinkErrorRow { node: vec![0; 3], ..LinkErrorRow::default() }],
            links: LinkSummary { torus: Some(TorusLinks::default()), ..LinkSummary::default() },
            ..RunResult::default()
        }
    }

    #[test]
    fn a_sweep_has_the_columns_that_are_listed() {
        use netloom_study::result::Throughput;
        let listed = columns(SWEEP);
        for unit in ["MB/s", "flits/tick"] {
            let throughput = Some(Throughput { unit: unit.into(), ..Throughput::default() });
            let result = netloom_study::result::RunResult { throughput, ..everything() };
            for (name, _) in crate::sweep::columns(&result) {
                assert!(listed.contains(&&*name), "{name} is not listed");
            }
        }
    }
}
