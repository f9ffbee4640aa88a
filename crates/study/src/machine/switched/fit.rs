//! Checks of a study against its network of switches.

use super::SwitchedOutline;
use crate::study::Study;
use netloom_fabric::config::ConfigError;
use netloom_workload::config::WorkloadConfig;
use netloom_workload::mapping::MappingConfig;
use netloom_workload::shape::Shape;

/// Checks a study against its network of switches.
///
/// # Errors
/// The first invalid value, with its key and what was expected.
pub(super) fn fit(study: &Study, network: &SwitchedOutline) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
    study.workload.check(&Shape::of_switches(&network.wiring))?;
    study.traffic.check_switched(&network.config)?;
    if let WorkloadConfig::Jobs(jobs) = &study.workload {
        jobs.check_loads(&study.traffic, |own| own.check_switched(&network.config))?;
    }
    if matches!(study.mapping, MappingConfig::Dimensions(_)) {
        return refuse(
            "mapping",
            "expected \"in-order\", \"random\" or a file on a machine without dimensions",
        );
    }
    if study.measure.unblocking {
        return refuse("measure.unblocking", "expected false: routers of this machine send no token-acks");
    }
    if study.measure.reordering && study.workload.is_program() {
        return refuse(
            "measure.reordering",
            "expected false with programs, whose NICs keep the order that they promise",
        );
    }
    if study.measure.counters {
        return refuse("measure.counters", "expected false: only Blue Gene/Q's routers have such counters");
    }
    Ok(())
}
