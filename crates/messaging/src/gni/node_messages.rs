//! Node messages: short messages between nodes, addressed to any of their processes, on which datagrams and
//! shared message queues are built. Their transport by the kernel and the library is **(ours)**: they are
//! messages for posted receives, in memory that belongs to no process, resent while the other node has no
//! free receive. Any process of the node that polls sorts the arrived node messages.

use super::{Gni, Post, PostKind, lock};
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::status::{Refusal, Status};
use netloom_nic::aries::system::{SYSTEM, SYSTEM_RECEIVE_B, SYSTEM_SENDS};
use netloom_nic::aries::{EventKind, Move, Notice, Receive, Transfer, place};
use std::collections::{BTreeMap, VecDeque};

/// Maximum data of a node message, bytes, the same as of a datagram and of a message in a shared queue.
pub const NODE_MESSAGE_MAX_B: usize = 128;

/// Address of outgoing node messages.
const OUT: u64 = 1 << 20;
/// Maximum number of retries of a node message that finds no receive.
const AGAIN: u32 = 1000;
const HEAD_B: usize = 32;

/// The purpose of a node message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Service {
    /// A datagram, or its cancellation.
    Datagram,
    Cancel,
    /// A message of a shared queue, or the number of messages taken.
    Message,
    Credit,
}

const SERVICES: [Service; 4] = [Service::Datagram, Service::Cancel, Service::Message, Service::Credit];

/// A node message. Nodes are those of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMessage {
    pub service: Service,
    pub ptag: u8,
    pub from: (u32, u8),
    pub to: u8,
    /// Its number, and the number that it answers; or values specific to its service.
    pub number: u64,
    pub answers: u64,
    pub data: Vec<u8>,
}

impl NodeMessage {
    fn to_bytes(&self) -> Vec<u8> {
        let first = u64::from(self.service as u8)
            | u64::from(self.ptag) << 8
            | u64::from(self.to) << 16
            | u64::from(self.from.1) << 24
            | u64::from(self.from.0) << 32;
        let words = [first, self.number, self.answers, self.data.len() as u64];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend_from_slice(&self.data);
        bytes
    }

    fn of(bytes: &[u8]) -> Self {
        let word = |n: usize| u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().expect("eight bytes"));
        let length = (word(3) as usize).min(bytes.len() - HEAD_B);
        NodeMessage {
            service: SERVICES[word(0) as usize % SERVICES.len()],
            ptag: (word(0) >> 8) as u8,
            from: ((word(0) >> 32) as u32, (word(0) >> 24) as u8),
            to: (word(0) >> 16) as u8,
            number: word(1),
            answers: word(2),
            data: bytes[HEAD_B..HEAD_B + length].to_vec(),
        }
    }
}

/// An outgoing node message, and its destination.
struct Sent {
    node_message: NodeMessage,
    node: u32,
    tries: u32,
}

/// A node's node messages.
#[derive(Default)]
pub struct NodeMessages {
    next: u64,
    sent: BTreeMap<u64, Sent>,
    /// Node messages not yet taken.
    pub came: VecDeque<NodeMessage>,
    /// Undeliverable node messages, with their destination nodes.
    pub failed: Vec<(NodeMessage, u32)>,
}

impl Gni {
    /// The queue that reports node messages.
    pub(super) fn node_message_queue(&self) -> u16 {
        lock(&self.here).open_system_queue()
    }

    /// Sends a node message to a node of the job; by a system call, or by the core's own stores.
    pub(super) async fn send_node_message(
        &self,
        node: u32,
        node_message: NodeMessage,
        by_kernel: bool,
    ) -> Result<(), Refusal> {
        let number = {
            self.node_message_queue();
            let node_messages = &mut lock(&self.library).node_messages;
            if node_messages.sent.len() as u64 >= SYSTEM_SENDS {
                return Err(Refusal::ErrorResource);
            }
            node_messages.next += 1;
            let number = node_messages.next;
            node_messages.sent.insert(number, Sent { node_message, node, tries: 0 });
            number
        };
        self.hand_over(number, by_kernel).await;
        Ok(())
    }

    /// Posts a node message to the block transfer engine.
    async fn hand_over(&self, number: u64, by_kernel: bool) {
        let transfer = {
            let (mut here, mut library) = (lock(&self.here), lock(&self.library));
            let (queue, local) = (here.system_queue, OUT + number % SYSTEM_SENDS * SYSTEM_RECEIVE_B);
            let Some(sent) = library.node_messages.sent.get_mut(&number) else { return };
            sent.tries += 1;
            let (bytes, ptag, node) = (sent.node_message.to_bytes(), sent.node_message.ptag, sent.node);
            here.contents.store(place(SYSTEM, local), bytes.len(), Some(&bytes));
            let post = Post::new(PostKind::Send, local, 0, MemHandle::default(), bytes.len() as u64);
            Transfer {
                process: SYSTEM,
                ptag,
                what: Move::Send,
                local,
                node,
                mdh: SYSTEM.into(),
                is_virtual: false,
                offset: 0,
                bytes: post.bytes,
                mode: post.mode,
                fence: false,
                notice: Notice { queue, user: number, ptag, ..Notice::default() },
                done: 0,
            }
        };
        self.device.launch_transfer(Box::new(transfer), !by_kernel);
        self.core.done().await;
    }

    /// Whether node messages of this node are in flight, or must be resent.
    pub(super) fn has_node_messages_out(&self) -> bool {
        !lock(&self.library).node_messages.sent.is_empty()
    }

    /// Sorts arrived node messages by service; resends those that found no receive.
    pub(super) async fn sort_node_messages(&self) {
        let mut again = vec![];
        {
            let (mut here, mut library) = (lock(&self.here), lock(&self.library));
            let node_messages = &mut library.node_messages;
            let number = here.open_system_queue();
            let events = here.queue(number).map(|q| std::mem::take(&mut q.events)).unwrap_or_default();
            for event in events {
                if event.kind == EventKind::Receive {
                    let address = event.user * SYSTEM_RECEIVE_B;
                    let bytes = here.contents.load_all(place(SYSTEM, address), SYSTEM_RECEIVE_B as usize);
                    node_messages.came.push_back(NodeMessage::of(&bytes));
                    let receive =
                        Receive { address, bytes: SYSTEM_RECEIVE_B, queue: Some(number), user: event.user };
                    here.receives.entry(SYSTEM).or_default().push_back(receive);
                    continue;
                }
                let Some(sent) = node_messages.sent.get(&event.user) else { continue };
                if event.status == Status::NoReceive && sent.tries < AGAIN {
                    again.push(event.user);
                } else if let Some(sent) = node_messages.sent.remove(&event.user)
                    && event.status != Status::Success
                {
                    node_messages.failed.push((sent.node_message, sent.node));
                }
            }
        }
        for number in again {
            self.hand_over(number, false).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_messages_survive_their_bytes() {
        let node_message = NodeMessage {
            service: Service::Credit,
            ptag: 200,
            from: (u32::MAX, 254),
            to: 253,
            number: u64::MAX,
            answers: 1 << 63,
            data: (0..NODE_MESSAGE_MAX_B as u8).collect(),
        };
        let mut bytes = node_message.to_bytes();
        bytes.resize(SYSTEM_RECEIVE_B as usize, 0);
        assert_eq!(NodeMessage::of(&bytes), node_message);
    }
}
