//! Where the tasks of a job run.

/// Where the tasks of a job run.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The nodes, in the order of tasks.
    pub nodes: Vec<u32>,
    /// Processes per node, 1 to 64.
    pub processes: u8,
    /// Tasks; the last node may have fewer than the others.
    pub tasks: u32,
}

impl Placement {
    /// Node and process of a task.
    pub fn of_task(&self, task: u32) -> (u32, u8) {
        let per_node = u32::from(self.processes);
        (self.nodes[(task / per_node) as usize], (task % per_node) as u8)
    }

    /// The task of a process, if it has one.
    pub fn task(&self, node: u32, process: u8) -> Option<u32> {
        let place = self.nodes.iter().position(|&n| n == node)? as u32;
        let task = place * u32::from(self.processes) + u32::from(process);
        (task < self.tasks).then_some(task)
    }
}
