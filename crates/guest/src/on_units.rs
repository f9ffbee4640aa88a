//! Guests on Message Units.

use super::job::{Empty, Made};
use super::tasks::Job;
use super::{Outcome, RunError, Setting, job, unloaded};
use netloom_fabric::collective::ByteOrder;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::device::Simulated;
use netloom_messaging::pami::guest::interface::unit::UnitInterface;
use netloom_messaging::pami::guest::task::{Task, hardware_thread};
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use netloom_shm::launch;
use netloom_simulate::units::processes_on_units;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Runs a job.
pub(crate) fn run(
    setting: &Setting,
    job: launch::Job,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let Setting { study, placement, settings, .. } = setting;
    let tasks_per_node = placement.processes;
    let world = Members::of_job(placement, &Torus::new(&study.torus().topology));
    let measure = || Ok(unloaded::measure(study, &placement.nodes, &settings.costs, &setting.hops));
    job::run(setting, job, (out, err), measure, |made: &Made, sink| {
        let mut tasks: BTreeMap<u32, Arc<Mutex<Task<UnitInterface>>>> = BTreeMap::new();
        let make = |spi: Spi| -> Box<ProcessOf<MessageUnit>> {
            // The processes of a node are first the tasks' first threads, then their second ones, and so on.
            let (process, thread) =
                (spi.process() % tasks_per_node, u32::from(spi.process() / tasks_per_node));
            let has_others = placement.task(spi.node(), 0).is_some();
            let Some(number) = placement.task(spi.node(), process) else {
                return Box::new(Empty { has_others });
            };
            debug_assert_eq!(spi.process(), hardware_thread(tasks_per_node, process, thread));
            let task = tasks.entry(number).or_insert_with(|| {
                let memory_of = made.memory_of();
                let open = Box::new(move || memory_of(number));
                made.task(UnitInterface::new(spi.device().clone(), open, world.clone()), number)
            });
            made.process(task, (number, thread), spi.node(), spi.device().thread())
        };
        let per_node = u32::from(tasks_per_node) * settings.facts.threads;
        processes_on_units(study, per_node, ByteOrder::HERE, make, (sink, setting.machine.threads))
    })
}
