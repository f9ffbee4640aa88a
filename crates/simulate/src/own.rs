//! Processes of a caller's own on the nodes of any machine, whose messages go by the transport of its network
//! interface, as those of ranks do.

use super::RunOptions;
use super::family::{self, RouterFamily};
use super::programs::{To, own_on_switches, own_on_torus};
use super::ranks::Ranks;
use super::unloaded;
use crate::units::Failures;
use netloom_fabric::packet::Header;
use netloom_fabric::router::tiled::TiledHeader;
use netloom_messaging::transit::{Hops, Unloaded};
use netloom_messaging::transport::Transport;
use netloom_messaging::transports::packets::Placement;
use netloom_nic::message_unit::commands as unit;
use netloom_nic::packet_port::{NewPacket, Watch};
use netloom_nic::{aries, th};
use netloom_node::process::Process;
use netloom_node::thread::Thread;
use netloom_study::diagnose::Problem;
use netloom_study::machine::{Machine, TorusNetwork};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use std::sync::Arc;

/// The messages of a rank, by an interface with commands `C` and conditions `W`.
pub type Messages<C, W> = Box<dyn Transport<Command = C, Watch = W>>;

/// A hardware thread of a rank.
pub struct Slot<C, W> {
    /// The rank.
    pub rank: u32,
    /// The number of the thread among those of the rank.
    pub number: u32,
    /// The node, and the thread as it sees it.
    pub node: u32,
    /// See `node`.
    pub thread: Thread<C, W>,
    /// The first has the rank's messages.
    pub messages: Option<Messages<C, W>>,
}

/// Makes the processes of ranks.
pub trait Maker {
    /// The hardware threads of a rank.
    fn threads(&self) -> u8;

    /// The process on a hardware thread; that of the first is made first.
    fn make<C: Send + 'static, W: Copy + Send + 'static>(&self, slot: Slot<C, W>) -> Box<dyn Process<C, W>>;
}

/// The same for each network interface, so that machines are built by code that is compiled once.
macro_rules! make {
    ($($(#[$doc:meta])* $name:ident($command:ty, $watch:ty);)*) => {
        /// Makes the processes of ranks on each network interface.
        pub(crate) trait Make {
            /// The hardware threads of a rank.
            fn threads(&self) -> u8;

            $($(#[$doc])*
            fn $name(&self, slot: Slot<$command, $watch>) -> Box<dyn Process<$command, $watch>>;)*
        }

        impl<M: Maker> Make for M {
            fn threads(&self) -> u8 {
                Maker::threads(self)
            }

            $(fn $name(&self, slot: Slot<$command, $watch>) -> Box<dyn Process<$command, $watch>> {
                self.make(slot)
            })*
        }
    };
}

make! {
    /// On a Message Unit.
    on_unit(unit::Command, unit::Watch);
    /// On an Aries NIC.
    on_aries(aries::Submission, aries::Watch);
    /// On a TH Express NIC.
    on_th(th::Write, th::Watch);
    /// On injection FIFOs of a torus.
    on_fifos(NewPacket<Header>, Watch);
    /// On ports of a network of switches.
    on_ports(NewPacket<TiledHeader>, Watch);
}

/// Runs processes of ranks until all have ended, on nodes of a study's machine, in place of the study's own
/// workload. The processes of a node are first the first threads of its ranks, then the second ones, and so
/// on. Returns the result, and which failed.
///
/// # Errors
/// If the machine cannot be built.
pub fn processes_with_messages(
    study: &ResolvedStudy,
    placement: &Arc<Placement>,
    maker: &impl Maker,
    to: To,
) -> Result<(RunResult, Failures), Problem> {
    let ranks = Ranks::of_own(study, placement, maker);
    let result = on_machine(&ranks, to.into())?;
    Ok((result, ranks.into_failures()))
}

/// Fewest blocks of nodes for a caller's own processes: where there are several threads, each has some that
/// it can leave to others, since an event of a process may take as long as a thousand of the machine's.
pub(crate) fn blocks(threads: usize) -> usize {
    if threads > 1 { 8 * threads } else { 1 }
}

/// How long messages take between nodes of a study's machine when it is otherwise empty: the first of these
/// nodes exchanges messages with others, as far as everything on the machine works.
///
/// # Errors
/// If the machine cannot be built.
pub fn unloaded_messages(study: &ResolvedStudy, nodes: &[u32], to: To) -> Result<Unloaded, Problem> {
    let study = study.to_its_end();
    match Ranks::to_measure(&study, nodes) {
        Some(ranks) => {
            on_machine(&ranks, to.into())?;
            Ok(ranks.measured_unloaded())
        }
        None => Ok(Unloaded::default()),
    }
}

/// Fewest hops between the nodes of a study's machine, by their numbers.
pub fn hops_of_nodes(study: &ResolvedStudy) -> Hops {
    let all: Vec<u32> = (0..study.network.nodes() as u32).collect();
    unloaded::hops(study, &all)
}

fn on_machine(ranks: &Ranks, to: RunOptions) -> Result<RunResult, Problem> {
    match &ranks.study.machine {
        Machine::Switched(_) => own_on_switches(ranks, to),
        Machine::Torus(machine) => match &machine.network() {
            TorusNetwork::Torus(config) if config.topology.dims.len() <= 3 => {
                on_torus(&family::Torus::<6>(config), ranks, to)
            }
            TorusNetwork::Torus(config) => on_torus(&family::Torus::<10>(config), ranks, to),
            TorusNetwork::Queued(config) => on_torus(&family::Queued(config), ranks, to),
        },
    }
}

fn on_torus<F: RouterFamily>(family: &F, ranks: &Ranks, to: RunOptions) -> Result<RunResult, Problem> {
    own_on_torus(family, ranks, to)
}
