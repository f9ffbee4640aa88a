//! When tasks enter collective operations by hardware: those that enter early wait for the last.

use super::super::ContextNumber;
use crate::pami::device::Collective;
use crate::transit::{Hops, Unloaded};
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A collective operation by hardware: the tasks of its group, which of their groups it is, and which
/// operation of it.
pub(super) type Operation = (Arc<[(u32, u32)]>, u32, usize);

/// What the recorders of a run share.
pub struct Shared {
    /// How long messages take on a machine that is otherwise empty.
    pub unloaded: Unloaded,
    /// Hops between nodes.
    pub hops: Hops,
    /// For each operation by hardware, when the last task entered it for which others wait.
    entered: Mutex<HashMap<Operation, Microticks>>,
}

impl Shared {
    /// For a run on a machine with these times.
    pub fn new(unloaded: Unloaded, hops: Hops) -> Self {
        Shared { unloaded, hops, entered: Mutex::default() }
    }

    /// A task for which others wait enters an operation.
    pub(super) fn enters(&self, operation: &Operation, at: Microticks) {
        let mut entered = lock(&self.entered);
        let last = entered.entry(operation.clone()).or_default();
        *last = at.max(*last);
    }

    /// When the last of them entered an operation that has ended.
    pub(super) fn last_to_enter(&self, operation: &Operation) -> Microticks {
        lock(&self.entered).get(operation).copied().unwrap_or_default()
    }
}

/// The groups of a task whose collective operations are by hardware.
#[derive(Debug, Default)]
pub struct Groups {
    /// How often these tasks have been a group.
    joined: HashMap<Arc<[(u32, u32)]>, u32>,
    /// By context and number: the group, and its next operation.
    groups: HashMap<(ContextNumber, usize), Operation>,
}

impl Groups {
    /// A group of tasks has been set up. That of all tasks has none in the list.
    pub fn join(&mut self, by: ContextNumber, group: usize, tasks: &[(u32, u32)]) {
        let tasks: Arc<[(u32, u32)]> = tasks.into();
        let count = self.joined.entry(Arc::clone(&tasks)).or_insert(0);
        *count += 1;
        self.groups.insert((by, group), (tasks, *count, 0));
    }

    /// A task enters an operation. Returns it, and whether others wait for the task.
    pub(super) fn enter(
        &mut self,
        (by, group): (ContextNumber, usize),
        operation: &Collective,
        task: u32,
    ) -> Option<(Operation, bool)> {
        let next = self.groups.get_mut(&(by, group))?;
        let own = next.clone();
        next.2 += 1;
        let counts = match *operation {
            Collective::Broadcast { root, .. } | Collective::Rectangle { root, .. } => root == task,
            _ => true,
        };
        Some((own, counts))
    }
}
