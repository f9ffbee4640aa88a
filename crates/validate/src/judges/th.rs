//! The TH Express-2 paper (Pang et al., "The TH Express high performance interconnect networks"): the
//! parameters of its NIC, and programs on TH Express NICs, in `studies/th/`.

use super::{Bench, Finding, Judge, programs::rows};
use netloom_nic::th::{PIO_PORTS, PORTS};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::load_machine;

macro_rules! study {
    ($name:literal) => {
        (
            concat!("studies/th/", $name, ".toml"),
            include_str!(concat!("../../../../studies/th/", $name, ".toml")),
        )
    };
}

const LATENCY: (&str, &str) = study!("latency");
const BANDWIDTH: (&str, &str) = study!("put-bandwidth");
const MPI_LATENCY: (&str, &str) = study!("mpi-latency");
const MPI_BANDWIDTH: (&str, &str) = study!("mpi-bandwidth");

/// The studies: path and TOML text.
pub const STUDIES: &[(&str, &str)] = &[LATENCY, BANDWIDTH, MPI_LATENCY, MPI_BANDWIDTH];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "th-express-2.nic", judge: nic },
        Judge { table: "th-express-2.table1_glex_latency", judge: latency },
        Judge { table: "th-express-2.put_bandwidth", judge: bandwidth },
        Judge { table: "th-express-2.table2_mpi_latency", judge: mpi_latency },
        Judge { table: "th-express-2.channels_mpi", judge: channels },
        Judge { table: "th-express-2.system", judge: system },
    ]
}

/// A message without data, within a frame, by each channel.
fn mpi_latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let mut findings = vec![];
    for (path, name) in [("pio", "PIO"), ("dma", "DMA")] {
        for (connect, mode) in [(false, "connectless"), (true, "connect")] {
            for channel in ["exclusive", "shared"] {
                let sets = [of_glex("channel", channel), of_glex("path", path)];
                let connect = of_glex("connect", &connect.to_string());
                let rows = rows(bench, MPI_LATENCY, &[&sets[0], &sets[1], &connect])?;
                let us = rows.first().and_then(|row| row.last()).copied().unwrap_or(f64::NAN);
                let entry = format!("table2_mpi_latency[{name}/{mode}].{channel}_channel_us");
                findings.push(figure(entry, us, "a message without data, within a frame"));
            }
        }
    }
    Ok(findings)
}

fn of_glex(key: &str, value: &str) -> String {
    format!("messaging.glex.{key}={value}")
}

/// Bandwidth in both directions at each size, by the exclusive channel over that by the shared one.
fn channels(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let (mut holds, mut seen) = (true, vec![]);
    for (path, name) in [("pio", "PIO"), ("dma", "DMA")] {
        let rates = |channel: &str| -> Result<Vec<(f64, f64)>, Problem> {
            let sets = [of_glex("channel", channel), of_glex("path", path)];
            let rows = rows(bench, MPI_BANDWIDTH, &[&sets[0], &sets[1]])?;
            Ok(rows.iter().map(|row| (row[0], row[1])).collect())
        };
        for ((bytes, shared), (_, exclusive)) in rates("shared")?.into_iter().zip(rates("exclusive")?) {
            holds &= exclusive > shared;
            seen.push(format!("{name} {bytes} B {:.2}", exclusive / shared));
        }
    }
    let note = format!("exclusive over shared: {}", seen.join(", "));
    Ok(vec![Finding::Shape {
        id: "th-express-2.channels_mpi".into(),
        holds: holds && !seen.is_empty(),
        note,
    }])
}

fn figure(id: impl Into<String>, simulated: f64, note: impl Into<String>) -> Finding {
    Finding::run(format!("th-express-2.{}", id.into()), simulated, note)
}

fn nic(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let machine = load_machine("th", &[])?;
    let Some(th) = machine.switched().and_then(|m| m.th.as_ref()) else {
        return Err(Problem::new("th has no TH Express NICs"));
    };
    let columns = [
        ("virtual_ports", f64::from(PORTS)),
        ("pio_ports", f64::from(PIO_PORTS)),
        ("dma_ports", f64::from(PORTS - PIO_PORTS)),
        ("memory_checker_entries", th.checker_items.into()),
        ("translation_cache_entries", th.cache_entries.into()),
        ("translation_cache_ways", th.cache_ways.into()),
    ];
    Ok(columns
        .map(|(column, value)| {
            figure(format!("nic.{column}"), value, "the NIC and its machine's file").by(Evidence::Echo)
        })
        .into())
}

fn latency(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let mut findings = vec![];
    for (path, name) in [("pio", "PIO"), ("dma", "DMA")] {
        for (connect, mode) in [(false, "connectless"), (true, "connect")] {
            let sets = [format!("workload.path={path}"), format!("workload.connect={connect}")];
            let rows = rows(bench, LATENCY, &[&sets[0], &sets[1]])?;
            let us = rows.first().cloned().unwrap_or_default();
            for (column, us) in ["immediate_put_us", "put_us", "mini_packet_us"].iter().zip(us) {
                findings.push(figure(
                    format!("table1_glex_latency[{name}/{mode}].{column}"),
                    us,
                    "8 B within a frame",
                ));
            }
        }
    }
    Ok(findings)
}

/// The peak, of puts of 64 KB, and the least power of two that has 98% of it.
fn bandwidth(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let mut findings = vec![];
    for (both_ways, name) in [(false, "one way"), (true, "both ways")] {
        let rate = |bytes: u32| -> Result<f64, Problem> {
            let sets = [format!("workload.both_ways={both_ways}"), format!("workload.bytes={bytes}")];
            let rows = rows(bench, BANDWIDTH, &[&sets[0], &sets[1]])?;
            Ok(rows.first().and_then(|row| row.last()).copied().unwrap_or(f64::NAN))
        };
        let peak = rate(65_536)?;
        let mut seen = vec![];
        let mut reached = f64::NAN;
        for bytes in [512, 1024, 2048, 4096, 8192, 16_384, 32_768] {
            let found = rate(bytes)?;
            seen.push(format!("{bytes} B {found:.1}"));
            if found >= 0.98 * peak {
                reached = f64::from(bytes);
                break;
            }
        }
        findings.push(figure(
            format!("put_bandwidth[{name}].peak_GB_per_s"),
            peak,
            "puts of 64 KB over a DMA port",
        ));
        let note = format!("98% of the peak: {}", seen.join(", "));
        findings.push(figure(format!("put_bandwidth[{name}].reached_from_B"), reached, note));
    }
    Ok(findings)
}

/// The whole machine, as its file makes it with 500 frames.
fn system(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let machine = load_machine("th", &["topology.down=[32,20,25]".into(), "topology.up=[13,12]".into()])?;
    Ok(vec![figure("system.compute_nodes", machine.nodes() as f64, "500 frames of 32").by(Evidence::Echo)])
}
