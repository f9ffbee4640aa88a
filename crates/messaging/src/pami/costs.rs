//! How long the steps of the library's software take on a simulated machine.

use super::device::Step;
use crate::config::{MessagingConfig, MpiConfig, PamiConfig, Steps};
use crate::mpi::Costs as MpiCosts;
use netloom_mpi::transport::Step as MpiStep;
use netloom_node::time::Microticks;

/// A poll that finds nothing, on machines that do not set it **(ours)**: it takes time, so that a program
/// that polls advances.
const POLL_NS: f64 = 50.0;
/// The same of a look at the clock, ns.
pub const CLOCK_NS: f64 = 20.0;

/// The duration of the library's steps.
#[derive(Clone, Debug)]
pub struct Costs {
    immediate: Microticks,
    send: Microticks,
    packet: Microticks,
    dispatch: Microticks,
    poll: Microticks,
    clock: Microticks,
    collective: Microticks,
    reduction: Microticks,
    atomic: Microticks,
    copy: Steps,
    /// Those of MPI, if it stands on this library.
    mpi: Option<MpiCosts>,
}

impl Costs {
    /// Those of a machine with this number of ticks per second.
    pub fn new(config: &PamiConfig, ticks_per_second: u64) -> Self {
        let of = |ns: f64| Microticks::of_f64(ns * ticks_per_second as f64 * 1e6 / 1e9);
        Costs {
            immediate: of(config.immediate_ns),
            send: of(config.send_ns),
            packet: of(config.packet_ns),
            dispatch: of(config.dispatch_ns),
            poll: of(config.poll_ns),
            clock: of(config.clock_ns),
            collective: of(config.collective_ns),
            reduction: of(config.reduction_ns),
            atomic: of(config.atomic_ns),
            copy: Steps::copies(config.copy_GB_per_s, ticks_per_second),
            mpi: None,
        }
    }

    /// Those of a machine whose messages are not PAMI's: each message takes what its messaging library takes
    /// for a send and for a receive, those of collective operations too, and the protocols take no time of
    /// their own. A machine that sets steps of PAMI or of MPI has these instead, and messages take the
    /// library's times once: by the steps of the other one, if it does not set both.
    pub fn of_messages(config: &MessagingConfig, ticks_per_second: u64) -> Self {
        let [send_ns, receive_ns] = [config.send_ns, config.receive_ns].map(|ns| ns.unwrap_or(0.0));
        let by_pami = if config.mpi.is_none() { 1.0 } else { 0.0 };
        let pami = config.pami.unwrap_or(PamiConfig {
            immediate_ns: by_pami * send_ns,
            send_ns: by_pami * send_ns,
            dispatch_ns: by_pami * receive_ns,
            poll_ns: POLL_NS,
            clock_ns: CLOCK_NS,
            copy_GB_per_s: config.copy_GB_per_s,
            atomic_ns: config.shared_line_ns.unwrap_or(0.0),
            // As of a send and a receive.
            collective_ns: send_ns + receive_ns,
            ..PamiConfig::default()
        });
        let by_mpi = if config.pami.is_some() { 1.0 } else { 0.0 };
        let mpi = config.mpi.unwrap_or(MpiConfig {
            send_ns: by_mpi * send_ns,
            complete_ns: by_mpi * receive_ns,
            ..MpiConfig::default()
        });
        Costs::new(&pami, ticks_per_second).with_mpi(MpiCosts::new(&mpi, &pami, ticks_per_second))
    }

    /// The same with those of MPI.
    #[must_use]
    pub fn with_mpi(self, costs: MpiCosts) -> Self {
        Costs { mpi: Some(costs), ..self }
    }

    /// The duration of a step.
    pub fn of(&self, step: Step) -> Microticks {
        match step {
            Step::Immediate => self.immediate,
            Step::Send => self.send,
            Step::Packet => self.packet,
            Step::Dispatch => self.dispatch,
            Step::Copy(bytes) => self.copy.copy(bytes),
            Step::Poll => self.poll,
            Step::Clock => self.clock,
            Step::Collective => self.collective,
            Step::Reduction => self.reduction,
            Step::Atomic => self.atomic,
            Step::Mpi(number) => {
                let step = MpiStep::of_number(number);
                step.zip(self.mpi).map_or(Microticks::ZERO, |(step, costs)| costs.of(step))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message's own steps: a send and a receive of PAMI, and of MPI above it.
    #[test]
    fn messages_take_the_library_s_times_once() {
        let library = MessagingConfig { send_ns: Some(300.0), receive_ns: Some(200.0), ..Default::default() };
        let message_ns = |config: &MessagingConfig| {
            let costs = Costs::of_messages(config, 1_000_000_000);
            let mpi = [MpiStep::Send, MpiStep::Complete].map(|step| Step::Mpi(step.to_number()));
            let steps = [Step::Immediate, Step::Dispatch].into_iter().chain(mpi);
            steps.map(|step| costs.of(step)).fold(Microticks::ZERO, |sum, step| sum + step)
        };
        let of = |ns: f64| Microticks::of_f64(ns * 1e6);
        assert_eq!(message_ns(&library), of(500.0));
        let pami = Some(PamiConfig { immediate_ns: 70.0, ..PamiConfig::default() });
        assert_eq!(message_ns(&MessagingConfig { pami, ..library.clone() }), of(570.0));
        let mpi = Some(MpiConfig { send_ns: 90.0, ..MpiConfig::default() });
        assert_eq!(message_ns(&MessagingConfig { mpi, ..library.clone() }), of(90.0));
        assert_eq!(message_ns(&MessagingConfig { pami, mpi, ..library }), of(160.0));
    }
}
