//! Programs on TH Express NICs (`kind = "glex"`), and ranks over them.

use super::{Ran, on_switches};
use crate::RunOptions;
use crate::driver::Driver;
use crate::processes::Processes;
use crate::programs::OnSwitches;
use crate::switched;
use netloom_engine::Time;
use netloom_fabric::config::ConfigError;
use netloom_messaging::device::Simulated;
use netloom_messaging::glex::Glex;
use netloom_messaging::transports::glex::{GlexTransport, Settings};
use netloom_nic::th::{self, ThNics};
use netloom_study::resolve::ResolvedStudy;
use netloom_workload::glex::{self, GlexConfig};
use std::any::Any;
use std::time::Instant;

/// Runs a program for TH Express NICs, if it is one.
pub(super) fn program(study: &ResolvedStudy, program: &dyn Any, to: RunOptions) -> Option<Ran> {
    program.downcast_ref().map(|config| run(study, config, to))
}

fn run(study: &ResolvedStudy, config: &GlexConfig, to: RunOptions) -> Ran {
    let begin = Instant::now();
    let (network, s) = (&study.switched().config, &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.th.as_ref()) else {
        let message = "this machine has no TH Express NICs: give it a table [th], or take th".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let built = switched::build(study, &on_switches::options(study, to), &mut |numbers| {
        let program = |glex| glex::program(config, glex, network.ticks_per_second);
        netloom_messaging::glex::nics(nic, network, numbers, 1, s.seed, program).into()
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    on_switches::run(study, built, 1, &measured, to, begin)
}

/// Runs ranks over TH Express NICs, if the machine has them.
pub(super) fn ranks(on: &OnSwitches) -> Option<Ran> {
    let (ranks, study) = (on.ranks, on.ranks.study);
    let nic = study.machine.switched()?.th.as_ref()?;
    let messaging = study.machine.messaging();
    let settings = Settings {
        channels: messaging.glex.clone().unwrap_or_default(),
        eager_max_bytes: messaging.eager_max_B,
        credits: messaging.credits,
        steps: ranks.copies_of_transport(),
    };
    let nics = |numbers: &[u32]| {
        th::nics_of(
            nic,
            &study.switched().config,
            numbers,
            ranks.per_node().into(),
            study.study.seed,
            |slot| {
                let glex = Glex::new(slot);
                let transport = |rank| {
                    GlexTransport::new(glex.device().clone(), &ranks.placement, rank, settings.clone())
                };
                ranks.process(
                    (glex.node(), glex.process()),
                    glex.device().thread(),
                    transport,
                    |own, slot| own.on_th(slot),
                )
            },
        )
    };
    Some(on.run(nics))
}

impl Driver for ThNics {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, 0)
    }

    fn last(&self) -> Option<Time> {
        Some(ThNics::last(self))
    }

    fn add_to(&self, all: &mut Processes) {
        all.add(self);
    }

    fn timeouts(&self) -> u64 {
        self.counters().map(|(_, c)| c.timeouts).sum()
    }
}
