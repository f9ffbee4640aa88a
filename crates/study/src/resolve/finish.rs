//! From the laid-over trees of a study and its machine to values, checked against each other.

use super::mistakes::{checked, elsewhere, explained, impossible, of_either, of_the_study};
use super::{MachineLayers, PlotConfig, ResolvedStudy};
use crate::decode::decode;
use crate::diagnose::Problem;
use crate::keys;
use crate::machine::{Machine, roundings};
use crate::renamed;
use crate::study::{Study, Until};
use crate::timeline::TimelineConfig;
use crate::tree::Tree;
use crate::windows::Windows;
use netloom_fabric::config::ConfigError;
use netloom_workload::config::TrafficConfig;
use std::path::PathBuf;

/// A machine from its tree, with everything that can be said against it.
pub(super) fn checked_machine(tree: &Tree) -> Result<Machine, Problem> {
    let machine = Machine::read(tree)
        .map_err(|all| all.map_each(|p| elsewhere(p, keys::machine_keys(), tree)))
        .map_err(|all| all.map_each(|p| explained(p, tree, keys::of_machines())))?;
    checked(machine.check(), tree)?;
    Ok(machine)
}

pub(super) fn finish(
    study_tree: Tree,
    layers: MachineLayers,
    directory: PathBuf,
) -> Result<ResolvedStudy, Problem> {
    let machine_tree = &layers.tree;
    let machine = checked_machine(machine_tree).map_err(|all| all.map_each(of_the_study));
    let study = decode::<Study>(&study_tree)
        .map_err(|all| all.map_each(|p| elsewhere(p, keys::study_keys(), &study_tree)))
        .map_err(|all| all.map_each(|p| explained(p, &study_tree, keys::of_studies())))
        .map_err(|all| all.map_each(|p| renamed::of_load(p, &study_tree, machine_tree)));
    let (machine, mut study) = both(machine, study)?;
    let own_end = if study.workload.runs_programs() { Until::Finished } else { Until::Converged };
    study.measure.until.get_or_insert(own_end);
    let network = machine.outline();
    let mut problems: Vec<Problem> = vec![];
    let fits = machine.fit(&mut study, &network);
    problems.extend(fits.map_err(|e| of_either(e, &study_tree, machine_tree)).err());
    for check in [study.measure.check(), TimelineConfig::check(&study, machine.nodes()), ends(&study)] {
        problems.extend(checked(check, &study_tree).err());
    }
    if study.name.is_empty() || study.name.starts_with('.') || study.name.contains(['/', '\\']) {
        let mut problem = Problem::new("`name` cannot name a folder").at(&study_tree.origin_of("name"));
        problem.label = "expected a plain word, such as \"all-to-all\"".into();
        problems.push(problem);
    }
    if let Some(problem) = Problem::of_all(problems) {
        return Err(problem);
    }
    let windows = Windows::new(&study, machine.ticks_per_second()).map_err(|e| impossible(e, &study_tree))?;
    let mut about_machine = coarse(machine_tree);
    about_machine.extend(other_dimensions(&machine, &layers));
    let (axes, changes, claims) = (vec![], vec![], vec![]);
    Ok(ResolvedStudy {
        study,
        machine,
        network,
        directory,
        axes,
        plot: PlotConfig::default(),
        saturation: None,
        claims,
        has_sweep: false,
        windows,
        about_machine,
        study_tree,
        machine_layers: layers,
        changes,
    })
}

/// Combines two results, with the problems of both.
fn both<A, B>(a: Result<A, Problem>, b: Result<B, Problem>) -> Result<(A, B), Problem> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => Err(Problem::of_all(a.err().into_iter().chain(b.err()).collect()).expect("one of them")),
    }
}

/// Relative rounding of a machine's value that a result warns of.
const COARSE: f64 = 0.01;

/// Warnings of values that are simulated quite differently from those of the machine's file.
fn coarse(machine: &Tree) -> Vec<String> {
    let coarse = roundings(machine).into_iter().filter(|rounding| rounding.error().abs() >= COARSE);
    let advice = |finer| if finer { "; a faster clock_MHz has finer steps" } else { "" };
    coarse.map(|rounding| rounding.sentence() + advice(rounding.is_finer_by_clock)).collect()
}

/// A warning if the torus has another number of dimensions than the machine that the study names.
fn other_dimensions(machine: &Machine, layers: &MachineLayers) -> Option<String> {
    let (dims, own) = (&machine.torus()?.topology.dims, layers.own_dimensions?);
    let name = machine.name();
    match dims.len() {
        found if found == own => None,
        found => {
            let mut partition = dims.clone();
            partition.resize(own, 1);
            let partition: Vec<String> = partition.iter().map(u32::to_string).collect();
            let advice = match found < own {
                true => format!("; a partition of {name} of this size is {}", partition.join("x")),
                false => String::new(),
            };
            let s = if found == 1 { "" } else { "s" };
            Some(format!("topology.dims has {found} dimension{s}; machine {name} has {own}{advice}"))
        }
    }
}

/// Refuses a run that would never end, and traffic settings that a workload of programs has no use for.
fn ends(study: &Study) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
    let traffic = &study.traffic;
    if study.workload.is_program() {
        let usual = TrafficConfig {
            routing: traffic.routing,
            priority: traffic.priority,
            ..TrafficConfig::default()
        };
        if *traffic != usual {
            return refuse(
                "traffic",
                "programs decide what is sent: only routing and priority can be set here",
            );
        }
        return Ok(());
    }
    if study.measure.until() == Until::Finished && !study.workload.ends(traffic) {
        let message = "a run until \"finished\" needs traffic that ends: give traffic.packets_per_node, or for an \
                       all-to-all traffic.load = \"burst\"";
        return refuse("measure.until", message);
    }
    Ok(())
}
