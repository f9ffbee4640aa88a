//! The BlueGene/L paper: one study a figure, and one a sentence with a number, in `studies/bgl/`.

use super::{Bench, Finding, Judge};
use super::{faults, judge, torus_facts};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;

macro_rules! studies {
    ($($name:literal),*) => {
        &[$((
            concat!("studies/bgl/", $name, ".toml"),
            include_str!(concat!("../../../../studies/bgl/", $name, ".toml")),
        )),*]
    };
}

/// The studies of each table: path and TOML text.
pub const STUDIES: &[(&str, &[(&str, &str)])] = &[
    ("bgl.response_time_light_traffic", studies!["figure-2"]),
    ("bgl.hot_region", studies!["figure-3"]),
    ("bgl.jsq", studies!["figure-4", "figure-5"]),
    ("bgl.all_to_all_32k", studies!["figure-6", "planes-and-lines"]),
    ("bgl.all_to_all_asymmetric", studies!["asymmetric", "flow-control"]),
    ("bgl.escape_vcs", studies!["figure-8", "figure-7", "figure-9"]),
    ("bgl.bubble_deadlock", studies!["bubble-deadlock"]),
    ("bgl.verification", studies!["arbitration-gap"]),
];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "bgl.bubble_deadlock", judge: |bench| table(bench, "bgl.bubble_deadlock") },
        Judge { table: "bgl.all_to_all_peak_asymmetric", judge: peak },
        Judge { table: "bgl.verification", judge: verification },
        Judge { table: "bgl.faults", judge: faults::judge },
        Judge { table: "bgl.hot_region", judge: |bench| table(bench, "bgl.hot_region") },
        Judge { table: "bgl.escape_vcs", judge: |bench| table(bench, "bgl.escape_vcs") },
        Judge { table: "bgl.jsq", judge: |bench| table(bench, "bgl.jsq") },
        Judge {
            table: "bgl.response_time_light_traffic",
            judge: |bench| table(bench, "bgl.response_time_light_traffic"),
        },
        Judge { table: "bgl.all_to_all_32k", judge: |bench| table(bench, "bgl.all_to_all_32k") },
        Judge {
            table: "bgl.all_to_all_asymmetric",
            judge: |bench| table(bench, "bgl.all_to_all_asymmetric"),
        },
    ]
}

fn table(bench: &Bench, table: &str) -> Result<Vec<Finding>, Problem> {
    let found = STUDIES.iter().find(|(name, _)| *name == table);
    judge(bench, table, found.expect("each judge has its studies").1)
}

/// The bound of the Livermore machine, in closed form.
fn peak(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let facts = torus_facts("bgl", "[64,32,32]")?;
    let figure = |column: &str, simulated| {
        let id = format!("bgl.all_to_all_peak_asymmetric.{column}");
        let note = "64x32x32, in closed form: the dimension with the most hops per link is full, the others in proportion";
        Finding::figure(id, simulated, note, Evidence::ClosedForm)
    };
    Ok(vec![
        figure("peak_link_utilization", facts.peak_all_to_all_link_utilization),
        figure("peak_payload_utilization", facts.peak_all_to_all_payload_utilization),
    ])
}

/// What verification found is a study; the agreement itself is a test, since the clocked reference is no part
/// of Netloom.
fn verification(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let id = "bgl.verification";
    let note = "held by the fabric's test `agreement`, which compares it with a clocked reference".to_owned();
    let mut findings = vec![Finding::NotRun { id: id.into(), note }];
    findings.extend(table(bench, id)?);
    Ok(findings)
}
