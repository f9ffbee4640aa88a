//! The Cray XC paper's measurements of what nodes do through their network interface: programs on Aries NICs,
//! in `studies/xc/`.

use super::{Bench, Finding, Judge, programs::rows};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::load_machine;

macro_rules! study {
    ($name:literal) => {
        (
            concat!("studies/xc/", $name, ".toml"),
            include_str!(concat!("../../../../studies/xc/", $name, ".toml")),
        )
    };
}

const LATENCY: (&str, &str) = study!("put-get-latency");
const BANDWIDTH: (&str, &str) = study!("put-bandwidth");
const PUT_RATES: (&str, &str) = study!("put-rates");
const AMO_RATES: (&str, &str) = study!("amo-rates");
const ALLREDUCE: (&str, &str) = study!("allreduce");
const MPI_LATENCY: (&str, &str) = study!("mpi-latency");
const MPI_BANDWIDTH: (&str, &str) = study!("mpi-bandwidth");

/// The studies: path and TOML text.
pub const STUDIES: &[(&str, &str)] =
    &[LATENCY, BANDWIDTH, PUT_RATES, AMO_RATES, ALLREDUCE, MPI_LATENCY, MPI_BANDWIDTH];

/// Those who judge these tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "cray-xc.latency", judge: latency },
        Judge { table: "cray-xc.latency_mpi", judge: mpi_latency },
        Judge { table: "cray-xc.bandwidth_one_way", judge: |b| bandwidth(b, false) },
        Judge { table: "cray-xc.bandwidth_both_ways", judge: |b| bandwidth(b, true) },
        Judge { table: "cray-xc.bandwidth_half_peak", judge: half_peak },
        Judge { table: "cray-xc.host_interface", judge: host_interface },
        Judge { table: "cray-xc.put_rates", judge: put_rates },
        Judge { table: "cray-xc.amo_rates", judge: amo_rates },
        Judge { table: "cray-xc.mpi_bandwidth", judge: mpi_bandwidth },
        Judge { table: "cray-xc.allreduce", judge: allreduce },
    ]
}

fn mpi_latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let us = first(&rows(bench, MPI_LATENCY, &[])?);
    Ok(vec![figure("latency_mpi.latency_us", us, "8 B from a blade to the next of its chassis")])
}

fn mpi_bandwidth(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let length = |rows: &[Vec<f64>]| rows.first().and_then(|row| row.first()).copied().unwrap_or(f64::NAN);
    let streaming = rows(bench, MPI_BANDWIDTH, &[])?;
    let rate = streaming.first().and_then(|row| row.get(1)).copied().unwrap_or(f64::NAN);
    let bytes = format!("workload.sizes_B=[{}]", length(&streaming));
    let sets = [bytes.as_str(), "workload.warmup=1", "workload.iterations=1"];
    let one_by_one = rows(bench, MPI_LATENCY, &sets)?;
    // Bytes of a us are thousandths of GB/s.
    let ping_pong = length(&one_by_one) / first(&one_by_one) / 1e3;
    Ok(vec![
        figure("mpi_bandwidth[IMB ping-pong].GB_per_s", ping_pong, "messages of 1 MiB, one at a time"),
        figure("mpi_bandwidth[OSU streaming].GB_per_s", rate, "messages of 1 MiB, 16 at a time"),
    ])
}

/// 750 nodes of 16 processes, whose sum is MPI's: its instructions at the begin and the end are those of a
/// send and of a receive, as of ranks that use the engine.
fn allreduce(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let sets = ["topology.groups=2", "workload.nodes=750", "workload.processes=16"];
    let rows = rows(bench, ALLREDUCE, &sets)?;
    let processes = rows.first().and_then(|row| row.first()).copied().unwrap_or(f64::NAN);
    let machine = load_machine("xc", &[])?;
    let messaging = machine.messaging();
    let library_ns = messaging.send_ns.unwrap_or(0.0) + messaging.receive_ns.unwrap_or(0.0);
    let us = first(&rows) + library_ns / 1e3;
    let note = format!("{library_ns} ns of it MPI's instructions, as for a send and a receive");
    Ok(vec![
        figure("allreduce.processes", processes, "750 nodes of 16").by(Evidence::Echo),
        figure("allreduce.latency_us", us, note),
    ])
}

fn figure(id: impl Into<String>, simulated: f64, note: impl Into<String>) -> Finding {
    Finding::run(format!("cray-xc.{}", id.into()), simulated, note)
}

/// The last column of the first row.
fn first(rows: &[Vec<f64>]) -> f64 {
    rows.first().and_then(|row| row.last()).copied().unwrap_or(f64::NAN)
}

fn latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let rows = rows(bench, LATENCY, &["workload.sizes_B=[8]"])?;
    let ns = |column: usize| rows.first().and_then(|row| row.get(column)).copied().unwrap_or(f64::NAN);
    let note = "8 B from a blade to the next of its chassis";
    Ok(vec![
        figure("latency[put].latency_us", ns(1) / 1e3, note),
        figure("latency[get].latency_us", ns(2) / 1e3, note),
    ])
}

fn bandwidth(bench: &Bench, both_ways: bool) -> Result<Vec<Finding>, Problem> {
    let rate = first(&rows(bench, BANDWIDTH, &[&format!("workload.both_ways={both_ways}")])?);
    let table = if both_ways { "bandwidth_both_ways" } else { "bandwidth_one_way" };
    Ok(vec![figure(format!("{table}.GB_per_s"), rate, "puts of 64 KB by the block transfer engine")])
}

/// Processes of a node "with multiple issuing processes": as many as it has cores.
const PROCESSES: u32 = 16;

/// The smallest power of two of which puts reach half of the peak, which puts of 1 KB are near.
fn half_peak(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let rate = |bytes: u32| -> Result<f64, Problem> {
        let sets = [
            format!("workload.processes={PROCESSES}"),
            format!("workload.bytes={bytes}"),
            "workload.puts=200".into(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        Ok(first(&rows(bench, BANDWIDTH, &sets)?))
    };
    let peak = rate(1024)?;
    let mut seen = vec![];
    for bytes in [8, 16, 32, 64, 128, 256, 512] {
        let found = rate(bytes)?;
        seen.push(format!("{bytes} B {found:.1}"));
        if found >= peak / 2.0 {
            let note = format!("{PROCESSES} processes by FMA, of {peak:.1} GB/s: {}", seen.join(", "));
            return Ok(vec![figure("bandwidth_half_peak.message_B_at_half_peak", f64::from(bytes), note)]);
        }
    }
    Ok(vec![figure("bandwidth_half_peak.message_B_at_half_peak", f64::NAN, seen.join(", "))])
}

/// The machine file's values for PCI-Express, and the bandwidth of symmetric traffic.
fn host_interface(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let machine = load_machine("xc", &[])?;
    let Some((switched, aries)) = machine.switched().and_then(|m| Some((m, m.aries.as_ref()?))) else {
        return Err(Problem::new("xc has no Aries NICs"));
    };
    let ticks_per_s = switched.ticks_per_second as f64;
    let raw = 4.0 * ticks_per_s * 1e6 / aries.pcie.dword_microticks as f64 / 1e9;
    let both = first(&rows(bench, BANDWIDTH, &["workload.both_ways=true"])?) / 2.0;
    // Four NICs' bulk data with its headers and responses, over a port of this rate.
    let p = &switched.packet;
    let flits = f64::from(p.request_flits(p.data_max_B) + p.response_flits(0)) / f64::from(p.data_max_B);
    let port = ticks_per_s * 1e3 / f64::from(switched.link["green"].flit_milliticks) / 1e9;
    Ok(vec![
        figure("host_interface.pcie_GB_per_s", raw, "the machine's file").by(Evidence::Echo),
        figure(
            "host_interface.pcie_overhead_B_per_transfer",
            aries.pcie.overhead_B.into(),
            "the machine's file",
        )
        .by(Evidence::Echo),
        // Half of `bandwidth_both_ways`, and its share of the ports' bandwidth.
        figure("host_interface.symmetric_bulk_GB_per_s_each_way", both, "puts of 64 KB both ways")
            .by(Evidence::Derived),
        figure(
            "host_interface.ports_of_40_to_match_injection_of_4_nics",
            4.0 * both * flits / port,
            format!("4 NICs at {both:.2} GB/s, {flits:.3} flits a byte, {port:.3} flits a ns and port"),
        )
        .by(Evidence::Derived),
    ])
}

fn put_rates(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let rate = |sets: &[&str]| rows(bench, PUT_RATES, sets).map(|rows| first(&rows));
    Ok(vec![
        figure("put_rates[one core].million_per_s", rate(&["workload.processes=1"])?, "FMA launch"),
        figure(
            "put_rates[one node, FMA launch, 16 processes].million_per_s",
            rate(&["workload.processes=16"])?,
            "FMA launch",
        ),
        figure(
            "put_rates[one node, MDH changed for each put].million_per_s",
            rate(&["workload.processes=16", "workload.changes_handle=true"])?,
            "16 processes",
        ),
    ])
}

/// A cached variable; random ones that miss, on large pages and on small ones: the published range is
/// between.
fn amo_rates(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let rate = |sets: &[&str]| rows(bench, AMO_RATES, sets).map(|rows| first(&rows));
    let one = rate(&["workload.variables=1"])?;
    let many = "workload.variables=268435456";
    let large = rate(&[many])?;
    let small = rate(&[many, "workload.page_B=4096"])?;
    let at = |row: &str, column: &str| format!("amo_rates[{row}].million_per_s_{column}");
    let (cached, random) = ("one cached variable", "random variables that miss the AMO cache");
    Ok(vec![
        figure(at(cached, "low"), one, "all nodes of a group but one add"),
        // One run and one rate: the paper's range is one number.
        figure(at(cached, "high"), one, "all nodes of a group but one add").by(Evidence::Derived),
        figure(at(random, "low"), small, "2 GB of variables on pages of 4 KB"),
        figure(at(random, "high"), large, "2 GB of variables on pages of 2 MB"),
    ])
}
