//! Programs on Aries NICs (`kind = "gni"`), and ranks over them.

use super::{Ran, on_switches};
use crate::RunOptions;
use crate::driver::Driver;
use crate::processes::Processes;
use crate::programs::OnSwitches;
use crate::switched;
use netloom_engine::Time;
use netloom_fabric::config::ConfigError;
use netloom_messaging::device::Simulated;
use netloom_messaging::transports::gni::{COOKIE, GniTransport, PTAG, Settings};
use netloom_nic::aries::AriesNics;
use netloom_nic::aries::address::Job;
use netloom_study::resolve::ResolvedStudy;
use netloom_workload::gni::{self, GniConfig};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Runs a program for Aries NICs, if it is one.
pub(super) fn program(study: &ResolvedStudy, program: &dyn Any, to: RunOptions) -> Option<Ran> {
    program.downcast_ref().map(|config| run(study, config, to))
}

fn run(study: &ResolvedStudy, config: &GniConfig, to: RunOptions) -> Ran {
    let begin = Instant::now();
    let (outline, s) = (study.switched(), &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.aries.as_ref()) else {
        let message = "this machine has no Aries NICs: give it a table [aries], or take xc".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let (network, nodes) = (&outline.config, outline.wiring.nodes());
    let jobs: Arc<[Job]> = [gni::job(nodes)].into();
    let built = switched::build(study, &on_switches::options(study, to), &mut |numbers| {
        let line_ns = study.machine.messaging().shared_line_ns.unwrap_or(0.0);
        let program = |gni| gni::program(config, gni, network.ticks_per_second, line_ns);
        netloom_messaging::gni::nics(nic, network, &jobs, numbers, config.processes(), s.seed, program).into()
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    on_switches::run(study, built, config.processes(), &measured, to, begin)
}

/// Runs ranks over Aries NICs, if the machine has them.
pub(super) fn ranks(on: &OnSwitches) -> Option<Ran> {
    let (ranks, study) = (on.ranks, on.ranks.study);
    let machine = study.machine.switched()?;
    let nic = machine.aries.as_ref()?;
    let outline = study.switched();
    let jobs: Arc<[Job]> = [Job::new(PTAG, COOKIE, 0..outline.wiring.nodes())].into();
    let messaging = &machine.messaging;
    let settings = Settings {
        buffers: messaging.gni.clone().unwrap_or_default(),
        eager_max_bytes: messaging.eager_max_B,
        credits: messaging.credits,
        steps: ranks.copies_of_transport(),
    };
    let nics = |numbers: &[u32]| {
        netloom_messaging::gni::nics_of(
            nic,
            &outline.config,
            &jobs,
            numbers,
            ranks.per_node().into(),
            study.study.seed,
            |gni| {
                let transport =
                    |rank| GniTransport::new(gni.device().clone(), &ranks.placement, rank, settings.clone());
                ranks.process((gni.node(), gni.process()), gni.device().thread(), transport, |own, slot| {
                    own.on_aries(slot)
                })
            },
        )
    };
    Some(on.run(nics))
}

impl Driver for AriesNics {
    fn arrived_so_far(&self) -> (u64, u64) {
        // The data moved by programs is in their own figures.
        (0, self.counters().map(|(_, c)| c.served).sum())
    }

    fn last(&self) -> Option<Time> {
        Some(AriesNics::last(self))
    }

    fn add_to(&self, all: &mut Processes) {
        all.add(self);
    }

    fn timeouts(&self) -> u64 {
        self.counters().map(|(_, c)| c.timeouts).sum()
    }
}
