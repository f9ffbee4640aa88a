//! The network interfaces that programs are written for: the kind of those programs, the machines that have
//! the interface, and the memory of a node that runs one.

use crate::machine::Machine;
use netloom_workload::config::Runs;
use netloom_workload::glex::GlexConfig;
use netloom_workload::gni::GniConfig;
use netloom_workload::mpi::MpiProgram;
use netloom_workload::pami::PamiProgram;
use netloom_workload::spi::SpiConfig;
use std::any::Any;

/// A network interface that programs are written for.
struct Interface {
    /// The `kind` of workload that is a program for it.
    kind: &'static str,
    /// Whether a machine has it.
    is_on: fn(&Machine) -> bool,
    /// Whether a program is written for it.
    has_program: fn(&dyn Any) -> bool,
    /// Memory of a node that runs such a program.
    memory: NodeMemory,
}

/// All of them. What runs their programs is in the crate `netloom-simulate`, in a list of its own. A new one
/// is added to both.
const INTERFACES: [Interface; 5] = [
    Interface {
        kind: "spi",
        is_on: |machine| machine.torus().is_some_and(|m| m.message_unit.is_some()),
        has_program: |program| program.is::<SpiConfig>(),
        memory: NodeMemory { nic: 3000.0, workload: 4000.0 },
    },
    Interface {
        kind: "pami",
        is_on: |machine| machine.torus().is_some_and(|m| m.message_unit.is_some()),
        has_program: |program| program.is::<PamiProgram>(),
        memory: NodeMemory { nic: 3000.0, workload: 6000.0 },
    },
    Interface {
        kind: "mpi",
        is_on: |machine| machine.torus().is_some_and(|m| m.message_unit.is_some()),
        has_program: |program| program.is::<MpiProgram>(),
        memory: NodeMemory { nic: 3000.0, workload: 8000.0 },
    },
    Interface {
        kind: "gni",
        is_on: |machine| machine.switched().is_some_and(|m| m.aries.is_some()),
        has_program: |program| program.is::<GniConfig>(),
        memory: NodeMemory { nic: 20_000.0, workload: 14_000.0 },
    },
    Interface {
        kind: "glex",
        is_on: |machine| machine.switched().is_some_and(|m| m.th.is_some()),
        has_program: |program| program.is::<GlexConfig>(),
        memory: NodeMemory { nic: 30_000.0, workload: 15_000.0 },
    },
];

/// Memory of a node, bytes.
#[derive(Clone, Copy)]
pub(crate) struct NodeMemory {
    /// Its network interface.
    pub nic: f64,
    /// Its driver.
    pub workload: f64,
}

/// Whether a machine has the interface that a kind of workload is written for, if it is written for one.
pub(crate) fn has_interface_for(machine: &Machine, kind: &str) -> bool {
    INTERFACES.iter().find(|interface| interface.kind == kind).is_none_or(|i| (i.is_on)(machine))
}

/// Memory of a node that runs this.
pub(crate) fn memory(runs: &Runs) -> NodeMemory {
    match runs {
        Runs::Ranks(_) => NodeMemory { nic: 1000.0, workload: 16_000.0 },
        Runs::OnInterface(program) => {
            let interface = INTERFACES.iter().find(|interface| (interface.has_program)(*program));
            interface.expect("an interface that programs are written for").memory
        }
        Runs::Traffic | Runs::Packaging(_) => NodeMemory { nic: 300.0, workload: 500.0 },
    }
}
