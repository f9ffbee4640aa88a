//! The Blue Gene/Q paper: studies in `studies/bgq/`, and what follows from a machine's shape in closed form.

use super::runs::StudyFile;
use super::{Bench, Finding, Judge, judge, torus_facts};
use crate::published::published;
use netloom_study::claims::Evidence;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::machine::TorusFacts;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::MeasuredTable;
use std::path::Path;

macro_rules! studies {
    ($($name:literal),*) => {
        &[$((
            concat!("studies/bgq/", $name, ".toml"),
            include_str!(concat!("../../../../studies/bgq/", $name, ".toml")),
        )),*]
    };
}

/// The studies of each table: path and TOML text.
pub const STUDIES: &[(&str, &[(&str, &str)])] = &[
    ("bgq.zone_routing", studies!["zones"]),
    ("bgq.table1_ping_pong", studies!["ping-pong"]),
    ("bgq.table2_nearest_neighbour", studies!["nearest-neighbour"]),
    ("bgq.all_to_all_512", studies!["all-to-all-4k", "all-to-all-32k"]),
    ("bgq.table3_collective_latency", studies!["collective-latency"]),
    ("bgq.table4_collective_throughput", studies!["collective-throughput"]),
    ("bgq.large_system", studies!["large-allreduce", "large-barrier"]),
];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "bgq.bisection", judge: bisection },
        Judge { table: "bgq.large_system", judge: large_system },
        Judge { table: "bgq.partitions", judge: partitions },
        Judge { table: "bgq.table1_ping_pong", judge: ping_pong },
        Judge { table: "bgq.hop_average", judge: hop_average },
        Judge { table: "bgq.table2_nearest_neighbour", judge: nearest_neighbour },
        Judge { table: "bgq.nearest_neighbour_peak", judge: nearest_neighbour_peak },
        Judge { table: "bgq.all_to_all_512", judge: all_to_all },
        Judge { table: "bgq.table3_collective_latency", judge: collective_latency },
        Judge { table: "bgq.table4_collective_throughput", judge: collective_throughput },
        Judge { table: "bgq.zone_routing", judge: |bench| table(bench, "bgq.zone_routing") },
    ]
}

fn studies_of(table: &str) -> &'static [(&'static str, &'static str)] {
    STUDIES.iter().find(|(name, _)| *name == table).expect("each judge has its studies").1
}

fn table(bench: &Bench, table: &str) -> Result<Vec<Finding>, Problem> {
    judge(bench, table, studies_of(table))
}

/// The table that the program of a table's only study measured, and where it ran.
fn measured(bench: &Bench, table: &str) -> Result<(MeasuredTable, String), Problem> {
    measured_by(bench, studies_of(table)[0])
}

/// The table that the program of a study measured, and where it ran.
pub(super) fn measured_by(
    bench: &Bench,
    (path, text): (&str, &str),
) -> Result<(MeasuredTable, String), Problem> {
    let file = StudyFile::read(path, text, bench.quick)?;
    let study = &file.points[0].study;
    Ok((measured_of(bench, study, path)?, format!("{}, {}", file.name, study.machine.shape())))
}

/// The table that the program of a study measured.
pub(super) fn measured_of(
    bench: &Bench,
    study: &ResolvedStudy,
    path: &str,
) -> Result<MeasuredTable, Problem> {
    let result = bench.simulator.simulate(study, bench.progress, bench.threads)?;
    let table = result.measured.into_iter().next();
    table.ok_or_else(|| Problem::new(format!("{path}: its program measured nothing")))
}

/// Rows of ping-pong: hops, hardware's time, both's, software's.
type PingPong = Vec<[f64; 4]>;

fn ping_pong_rows(bench: &Bench) -> Result<(PingPong, String), Problem> {
    let (table, reported) = measured(bench, "bgq.table1_ping_pong")?;
    let rows = table.rows.iter().filter_map(|row| row.first_chunk::<4>().copied());
    Ok((rows.collect(), reported))
}

/// Table 1: each time of the hardware, the same with software's time, which is fitted, on top, and the steps
/// from hop to hop by dimension, which must be within 3 ns of the published ones.
fn ping_pong(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = ping_pong_rows(bench)?;
    let mut findings: Vec<Finding> = rows
        .iter()
        .flat_map(|&[hops, hardware, both, _]| {
            let row = [
                ("hardware_ns", hardware, Evidence::Run),
                ("hardware_and_software_ns", both, Evidence::Derived),
            ];
            row.map(|(column, simulated, evidence)| {
                let id = format!("bgq.table1_ping_pong[{hops}].{column}");
                Finding::figure(id, simulated, &reported, evidence)
            })
        })
        .collect();
    let entries = published()?;
    let paper = entries.iter().filter(|e| e.table == "bgq.table1_ping_pong" && e.quantity == "hardware_ns");
    let paper: Vec<f64> = paper.filter_map(|e| e.published.as_ref()?.number()).collect();
    let (mut holds, mut seen, mut from) = (paper.len() == rows.len(), vec![], 0);
    // Hops of each dimension of the mesh 4x4x4x4x2; the first hop has none before it.
    for (letter, hops) in ["A", "B", "C", "D", "E"].iter().zip([3, 3, 3, 3, 1]) {
        let (first, last) = (from.max(1) - 1, from + hops - 1);
        let step = |time: &dyn Fn(usize) -> f64| (time(last) - time(first)) / (last - first) as f64;
        if rows.len() <= last || paper.len() <= last {
            holds = false;
            break;
        }
        let (here, there) = (step(&|i| rows[i][1]), step(&|i| paper[i]));
        holds &= (here - there).abs() <= 3.0;
        seen.push(format!("{letter} {here:.1} ({there:.1})"));
        from += hops;
    }
    let note = format!("steps by dimension within 3 ns, published in brackets: {} ns", seen.join(", "));
    findings.push(Finding::Shape { id: "bgq.table1_ping_pong".into(), holds, note });
    Ok(findings)
}

/// Table 2: the rate of ten links in both directions, in GB/s, and as a share of their raw rate and of their
/// payload rate.
fn nearest_neighbour(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (table, reported) = measured(bench, "bgq.table2_nearest_neighbour")?;
    let rows = table.rows.iter().filter_map(|row| row.first_chunk::<2>());
    let figures = rows.flat_map(|&[bytes, rate]| {
        rates(rate, 40.0, "send_and_receive_GB_per_s").map(|(column, simulated, evidence)| {
            let id = format!("bgq.table2_nearest_neighbour[{bytes}].{column}");
            Finding::figure(id, simulated, &reported, evidence)
        })
    });
    Ok(figures.collect())
}

/// Section III.A: "up to 97.8%" of what data can use of the links, 90% of the raw rate, in the authors' own
/// simulations. The highest of Table 2's sizes here.
fn nearest_neighbour_peak(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (table, reported) = measured(bench, "bgq.table2_nearest_neighbour")?;
    let highest = table.rows.iter().filter_map(|row| row.get(1)).copied().fold(0.0, f64::max);
    let id = "bgq.nearest_neighbour_peak.fraction_of_effective_peak";
    Ok(vec![Finding::run(id, highest / 40.0 / 0.9, &reported)])
}

/// Section V.C: all-to-alls on 512 nodes.
fn all_to_all(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let mut findings = vec![];
    // The longer one takes a minute, which a quick run has not.
    let studies = studies_of("bgq.all_to_all_512").iter().take(if bench.quick { 1 } else { 2 });
    for &study in studies {
        let (table, reported) = measured_by(bench, study)?;
        findings.extend(table.rows.iter().filter_map(|row| row.first_chunk::<3>()).map(
            |&[bytes, _, fraction]| {
                Finding::run(format!("bgq.all_to_all_512[{bytes}].fraction_of_peak"), fraction, &reported)
            },
        ));
    }
    Ok(findings)
}

/// The averages of Tables 1 and 3 in the paper.
fn hop_average(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = ping_pong_rows(bench)?;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(vec![]) };
    let a_hop = (last[1] - first[1]) / (last[0] - first[0]);
    let software = |pick: fn(f64, f64) -> f64, start| rows.iter().map(|row| row[3]).fold(start, pick);
    let figure = |(column, simulated): (&str, f64), note: &str| {
        Finding::run(format!("bgq.hop_average.{column}"), simulated, note)
    };
    let mut findings: Vec<Finding> = [
        ("point_to_point_ns", a_hop),
        ("software_ns_low", software(f64::min, f64::INFINITY)),
        ("software_ns_high", software(f64::max, 0.0)),
    ]
    .map(|f| figure(f, &reported))
    .into();
    let (rows, reported) = allreduce_rows(bench, studies_of("bgq.table3_collective_latency")[0])?;
    if let [first, .., last] = &rows[..] {
        let (hops, levels) = (last.hops - first.hops, (last.hops - first.hops) / 2.0);
        // Of the first and the last row of Table 3.
        let collective = figure(("collective_ns", (last.ns - first.ns) / hops), &reported);
        findings.push(collective.by(Evidence::Derived));
        // From the root, which has the result first, to the ends of the tree it only comes down.
        let down = (last.spread_ns - first.spread_ns) / levels;
        let up = (last.hardware_ns - first.hardware_ns) / levels - down;
        let cycles = |ns: f64| (ns - a_hop) / NETWORK_CYCLE_NS;
        // Cycles that the machine's file has from the paper's text: a run shows that the parts add up.
        findings.push(figure(("uptree_extra_cycles", cycles(up)), &reported).by(Evidence::Echo));
        findings.push(figure(("downtree_extra_cycles", cycles(down)), &reported).by(Evidence::Echo));
    }
    Ok(findings)
}

/// 500 MHz (section II.A).
const NETWORK_CYCLE_NS: f64 = 2.0;

/// A row of an allreduce's table.
struct AllreduceRow {
    nodes: f64,
    hops: f64,
    bytes: f64,
    hardware_ns: f64,
    ns: f64,
    spread_ns: f64,
    gb_per_s: f64,
}

fn allreduce_rows(
    bench: &Bench,
    study: (&'static str, &'static str),
) -> Result<(Vec<AllreduceRow>, String), Problem> {
    let (measured, reported) = measured_by(bench, study)?;
    let rows = measured.rows.iter().filter_map(|row| row.first_chunk::<8>());
    if let Some(row) = rows.clone().find(|row| row[7] != 0.0) {
        return Err(Problem::new(format!(
            "{}: {} wrong words in the sums of {} nodes",
            study.0, row[7], row[0]
        )));
    }
    let of = |&[nodes, hops, bytes, hardware_ns, ns, spread_ns, gb_per_s, _]: &[f64; 8]| AllreduceRow {
        nodes,
        hops,
        bytes,
        hardware_ns,
        ns,
        spread_ns,
        gb_per_s,
    };
    Ok((rows.map(of).collect(), reported))
}

/// Table 3: the time of an allreduce of a double, by nodes.
fn collective_latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = allreduce_rows(bench, studies_of("bgq.table3_collective_latency")[0])?;
    let figures = rows.iter().flat_map(|row| {
        let row_id = format!("bgq.table3_collective_latency[{}]", row.nodes);
        [
            // Twice the depth of the tree.
            Finding::figure(format!("{row_id}.hops_round_trip"), row.hops, &reported, Evidence::ClosedForm),
            Finding::run(format!("{row_id}.latency_ns"), row.ns, &reported),
        ]
    });
    Ok(figures.collect())
}

/// Table 4: the data of a sum by its time, in GB/s, and as a share of a link's raw rate and of what data can
/// have of it.
fn collective_throughput(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (rows, reported) = allreduce_rows(bench, studies_of("bgq.table4_collective_throughput")[0])?;
    let figures = rows.iter().flat_map(|row| {
        rates(row.gb_per_s, 2.0, "throughput_GB_per_s").map(|(column, simulated, evidence)| {
            let id = format!("bgq.table4_collective_throughput[{}].{column}", row.bytes / 1024.0);
            Finding::figure(id, simulated, &reported, evidence)
        })
    });
    Ok(figures.collect())
}

/// A rate, as a share of the raw rate of its links, and of the 90% of it that data can have (section II.A).
fn rates(gb_per_s: f64, raw: f64, column: &'static str) -> [(&'static str, f64, Evidence); 3] {
    [
        (column, gb_per_s, Evidence::Run),
        ("percent_of_raw", 100.0 * gb_per_s / raw, Evidence::Derived),
        ("percent_of_effective_peak", 100.0 * gb_per_s / (0.9 * raw), Evidence::Derived),
    ]
}

/// The machines with as many nodes that the paper compares, in closed form.
fn bisection(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let bgq = torus_facts("bgq", "[16,16,16,12,2]")?;
    let mut findings = vec![];
    for (name, other) in
        [("bgl", torus_facts("bgl", "[64,48,32]")?), ("bgp", torus_facts("bgp", "[64,48,32]")?)]
    {
        let of_node = |f: &TorusFacts| f.links as f64 / f.nodes as f64 * f.link_mb_per_s;
        for (column, ours, theirs, evidence) in [
            ("times", bgq.bisection_gb_per_s, other.bisection_gb_per_s, Evidence::ClosedForm),
            ("link_times", bgq.link_mb_per_s, other.link_mb_per_s, Evidence::Echo),
            ("node_bandwidth_times", of_node(&bgq), of_node(&other), Evidence::ClosedForm),
        ] {
            let id = format!("bgq.bisection.{column}_{name}");
            let note = format!("16x16x16x12x2 against {name} of 64x48x32, in closed form");
            findings.push(Finding::figure(id, ours / theirs, note, evidence));
        }
    }
    Ok(findings)
}

/// Section II.G: in a dimension of n nodes, a partition of n or of 4 closes into a ring. Shown by ping-pong
/// along the dimension: the last node is as near as the first only on a ring.
fn partitions(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (path, text) = studies_of("bgq.table1_ping_pong")[0];
    let (mut holds, mut seen) = (true, vec![]);
    for (d, of) in [(0, 16u32), (3, 12)] {
        for length in (4..=of).step_by(4) {
            let mut dims = [1; 5];
            dims[d] = length;
            let full = if d == 0 { [16, 1, 1, 1, 1] } else { [1, 1, 1, 12, 1] };
            let sets = [
                format!("topology.dims={dims:?}"),
                "topology.wrap=[]".into(),
                format!("topology.partition_of={full:?}"),
                "workload.rounds=1".into(),
                // So that only hops count.
                "link.link_chip_ns=0".into(),
            ];
            let study = resolve(SourceFile::new(path, text), Path::new("."), &sets)?;
            let result = bench.simulator.simulate(&study, bench.progress, bench.threads)?;
            let ns = |row: Option<&Vec<f64>>| row.and_then(|row| row.get(1)).copied().unwrap_or(f64::NAN);
            let rows = &result.measured.first().map(|table| table.rows.as_slice()).unwrap_or_default();
            let excess = ns(rows.last()) - ns(rows.first());
            let ring = excess.abs() < 20.0;
            holds &= ring == (length == of || length == 4);
            seen.push(format!("{length} of {of}: {}", if ring { "ring" } else { "line" }));
        }
    }
    let note = format!("by ping-pong along a dimension, {}", seen.join(", "));
    Ok(vec![Finding::Shape { id: "bgq.partitions".into(), holds, note }])
}

/// Of the largest machine: its hardware's times, and what needs no run.
fn large_system(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let figure = |what: &str, simulated: f64, note: String| {
        Finding::run(format!("bgq.large_system[{what}].value"), simulated, note)
    };
    let closed = torus_facts("bgq", "[16,16,16,12,2]")?;
    let mut findings = vec![
        figure("mean hops, random traffic", closed.mean_hops, "in closed form".into())
            .by(Evidence::ClosedForm),
        figure(
            "worst-case point-to-point, us",
            closed.farthest_ns / 1e3,
            "the network's part, in closed form: link chips are fitted to it".into(),
        )
        .by(Evidence::ClosedForm),
    ];
    let [allreduce, barrier] = studies_of("bgq.large_system") else { return Ok(findings) };
    let (rows, reported) = allreduce_rows(bench, *allreduce)?;
    findings.extend(
        rows.iter().map(|row| figure("short allreduce, us", row.hardware_ns / 1e3, reported.clone())),
    );
    let (table, reported) = measured_by(bench, *barrier)?;
    let rows = table.rows.iter().filter_map(|row| row.get(2));
    findings.extend(rows.map(|hardware_ns| figure("barrier, us", hardware_ns / 1e3, reported.clone())));
    Ok(findings)
}
