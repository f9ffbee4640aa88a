//! The cabinets and cables of systems of several sizes: nothing runs.

use netloom_fabric::config::{ConfigError, DragonflyConfig, SwitchedTopology};
use netloom_fabric::topology::xc::{Packaging, upgrade};
use netloom_study::diagnose::Problem;
use netloom_study::machine::PackagingFacts;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, MeasuredTable, RunResult, Simulated};
use netloom_workload::config::PackagingConfig;
use netloom_workload::measured::{Measured, columns};

/// A system with the machine's cables between each two groups, and with as many as can be.
struct System {
    config: DragonflyConfig,
    partial: PackagingFacts,
    full: PackagingFacts,
}

/// Counts what the sizes of a study take.
pub(super) fn count(study: &ResolvedStudy, sizes: &PackagingConfig) -> Result<RunResult, Problem> {
    let problem = |e: ConfigError| study.impossible(e);
    let systems = sizes.groups.iter().map(|&groups| System::new(study, groups));
    let systems = systems.collect::<Result<Vec<_>, _>>().map_err(problem)?;
    Ok(RunResult {
        title: study.heading(),
        seed: study.study.seed,
        simulated: Simulated { ended: Ended::Finished, ..Simulated::default() },
        measured: vec![components(&systems), cables(&systems), bisection(&systems), upgrades(&systems)],
        ..RunResult::default()
    })
}

impl System {
    fn new(study: &ResolvedStudy, groups: u32) -> Result<System, ConfigError> {
        let refuse = |message: &str| ConfigError { key: "workload.kind".into(), message: message.to_owned() };
        let topology = &study.switched().config.topology;
        let SwitchedTopology::Dragonfly(dragonfly) = topology else {
            return Err(refuse("expected another workload: this machine is no dragonfly of cabinets"));
        };
        let at = |e: ConfigError| ConfigError {
            key: "workload.groups".into(),
            message: format!("{groups} groups, {}: {}", e.key, e.message),
        };
        let config = DragonflyConfig { groups, ..dragonfly.clone() };
        config.check().map_err(at)?;
        let facts = |config: &DragonflyConfig| {
            PackagingFacts::of(config)
                .ok_or_else(|| refuse("expected another workload: this machine has no bundles of cables"))
        };
        let partial = facts(&config)?;
        let most = Packaging::new(&config).cables_per_pair_max;
        let full = facts(&DragonflyConfig { cables: Some(most), ..config.clone() })?;
        Ok(System { config, partial, full })
    }
}

fn table(title: &str, settings: &[&str], figures: &[(&str, &str)], rows: Vec<Vec<f64>>) -> MeasuredTable {
    let settings: Vec<(&str, &str)> = settings.iter().map(|&label| (label, "")).collect();
    Measured { title: title.into(), columns: columns(&settings, figures), rows }.into()
}

fn components(systems: &[System]) -> MeasuredTable {
    let row = |s: &System| {
        let parts = [s.full.routers, s.full.copper_cables, s.full.global_cables].map(f64::from);
        let groups = parts.map(|count| count / f64::from(s.config.groups));
        let nodes = parts.map(|count| count / f64::from(s.config.nodes()));
        [&[f64::from(s.full.cabinets)][..], &groups, &nodes].concat()
    };
    table(
        "Components of a group and of a node, with all cables that can be",
        &["cabinets"],
        &[
            ("routers a group", ""),
            ("copper cables a group", ""),
            ("global cables a group", ""),
            ("routers a node", ""),
            ("copper cables a node", ""),
            ("global cables a node", ""),
        ],
        systems.iter().map(row).collect(),
    )
}

fn cables(systems: &[System]) -> MeasuredTable {
    let row = |s: &System| {
        let (groups, bundle) = (s.config.groups.into(), s.config.cables.unwrap_or(0).into());
        vec![s.partial.cabinets.into(), groups, bundle, s.partial.global_cables.into()]
    };
    table(
        "Cables between groups",
        &["cabinets", "groups", "cables between each two"],
        &[("cables in all", "")],
        systems.iter().map(row).collect(),
    )
}

fn bisection(systems: &[System]) -> MeasuredTable {
    let row = |s: &System| {
        let both = [&s.partial, &s.full];
        let mut row = vec![s.partial.cabinets.into(), s.config.groups.into()];
        row.extend(both.map(|p| f64::from(p.global_cables)));
        row.extend(both.map(|p| f64::from(p.cables_across_bisection)));
        row.extend(both.map(|p| p.bisection_GB_per_s));
        row
    };
    table(
        "Bisection, with these cables and with all that can be",
        &["cabinets", "groups"],
        &[
            ("cables", ""),
            ("all cables", ""),
            ("across", ""),
            ("all across", ""),
            ("bisection", "GB/s"),
            ("with all", "GB/s"),
        ],
        systems.iter().map(row).collect(),
    )
}

fn upgrades(systems: &[System]) -> MeasuredTable {
    let row = |pair: &[System]| {
        let [before, after] = [&pair[0], &pair[1]];
        let change = upgrade(&before.config, &after.config);
        let counts = [change.kept, change.removed.len(), change.added.len()].map(|count| count as f64);
        let cabinets = [before, after].map(|s| f64::from(s.partial.cabinets));
        [&cabinets[..], &[f64::from(before.partial.global_cables)], &counts].concat()
    };
    table(
        "Upgrades from each size to the next",
        &["cabinets before", "after", "cables before"],
        &[("left in place", ""), ("taken out or moved", ""), ("new", "")],
        systems.windows(2).map(row).collect(),
    )
}
