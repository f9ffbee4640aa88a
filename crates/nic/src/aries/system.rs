//! Messages for a node rather than a process: receives that the node's kernel keeps posted, in memory that
//! belongs to no process **(ours)**.

use super::node::{Node, Queue, Receive};

/// Stands for a process where memory belongs to the node: no process has this number.
pub const SYSTEM: u8 = u8::MAX;
/// Receives that a node keeps posted.
pub const SYSTEM_RECEIVES: u64 = 64;
/// Maximum number of a node's own messages in flight.
pub const SYSTEM_SENDS: u64 = 1024;
/// Size of a receive, bytes.
pub const SYSTEM_RECEIVE_B: u64 = 192;

impl Node {
    /// Opens the completion queue of the node's own messages, and posts the receives for those of others.
    pub fn open_system_queue(&mut self) -> u16 {
        if let Some(queue) = self.system_queue {
            return queue;
        }
        let queue = self.add_queue(Queue::new(SYSTEM, 2 * (SYSTEM_RECEIVES + SYSTEM_SENDS) as usize));
        self.system_queue = Some(queue);
        let (bytes, queue_of) = (SYSTEM_RECEIVE_B, Some(queue));
        let receive = |n| Receive { address: n * bytes, bytes, queue: queue_of, user: n };
        self.receives.insert(SYSTEM, (0..SYSTEM_RECEIVES).map(receive).collect());
        queue
    }
}
