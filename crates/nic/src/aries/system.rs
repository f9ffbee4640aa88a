//! Messages for a node rather than a process: receives that the node's kernel keeps posted, in memory that no process owns **(ours)**.

use super::node::{Node, Queue, Receive};

/// What stands for a process where memory is the node's own: no process has this number.
pub const SYSTEM: u8 = u8::MAX;
/// Receives that a node keeps posted.
pub const SYSTEM_RECEIVES: u64 = 64;
/// Messages of its own that a node may have on their way.
pub const SYSTEM_SENDS: u64 = 1024;
/// Bytes of a receive.
pub const SYSTEM_RECEIVE_B: u64 = 192;

impl Node {
    /// The completion queue of the node's own messages; with it come the receives for those of others.
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
