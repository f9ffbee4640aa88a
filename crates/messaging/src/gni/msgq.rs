//! Shared message queues (`GNI_Msgq…`): all processes of a node exchange short messages over one queue per
//! pair of nodes, so that memory grows with the number of nodes instead of processes.

use super::node_messages::{NODE_MESSAGE_MAX_B, NodeMessage, Service};
use super::{Gni, Step, lock};
use netloom_nic::aries::Watch;
use netloom_nic::aries::status::Refusal;
use netloom_node::time::Microticks;

/// A process's view of its node's shared message queue.
pub struct Msgq {
    gni: Gni,
    /// Maximum number of messages in flight to a node, from all local processes together.
    credits: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Virtual node and process of the sender.
    pub from: (u32, u8),
    /// The sender's tag.
    pub tag: u8,
    /// Its header and its data.
    pub header: Vec<u8>,
    /// See `header`.
    pub data: Vec<u8>,
}

/// A node's counts of messages to and from another node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    pub sent: u64,
    /// The number of those that the other node has acknowledged as taken.
    pub returned: u64,
    /// From the other node: messages taken, and the number of those acknowledged.
    pub taken: u64,
    pub reported: u64,
}

impl Msgq {
    /// `GNI_MsgqInit`: `credits` is the maximum number of messages in flight to a node, the same on all
    /// nodes.
    ///
    /// # Errors
    /// If that is zero, or the process is not attached.
    pub fn init(gni: &Gni, credits: u64) -> Result<Self, Refusal> {
        gni.ptag()?;
        if credits == 0 {
            return Err(Refusal::InvalidParam);
        }
        gni.node_message_queue();
        Ok(Msgq { gni: gni.clone(), credits })
    }

    /// `GNI_MsgqSend`.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if no credit is left; if the process does not exist, or the message is longer
    /// than 128 B with its header.
    pub async fn send(&self, to: (u32, u8), header: &[u8], data: &[u8], tag: u8) -> Result<(), Refusal> {
        let gni = &self.gni;
        if header.len() + data.len() > NODE_MESSAGE_MAX_B {
            return Err(Refusal::Size);
        }
        if to.0 >= gni.job().nodes() || to.1 >= gni.processes() {
            return Err(Refusal::InvalidParam);
        }
        self.sort().await;
        {
            let mut library = lock(&gni.library);
            let link = library.links.entry(to.0).or_default();
            if link.sent - link.returned >= self.credits {
                return Err(Refusal::NotDone);
            }
            link.sent += 1;
        }
        let node_message = NodeMessage {
            service: Service::Message,
            ptag: gni.ptag()?,
            from: (gni.place(), gni.process),
            to: to.1,
            number: u64::from(tag),
            answers: header.len() as u64,
            data: [header, data].concat(),
        };
        gni.send_node_message(to.0, node_message, false).await
    }

    /// Sorts node messages, and adds the credits that they return.
    async fn sort(&self) {
        self.gni.sort_node_messages().await;
        let mut library = lock(&self.gni.library);
        for node_message in std::mem::take(&mut library.node_messages.came) {
            if node_message.service == Service::Credit {
                library.links.entry(node_message.from.0).or_default().returned += node_message.number;
            } else {
                library.node_messages.came.push_back(node_message);
            }
        }
    }

    /// `GNI_MsgqProgress`: the next message for this process, with an optional time limit. Messages for other
    /// processes stay.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if none has arrived.
    pub async fn progress(&self, milliticks: Option<u64>) -> Result<QueuedMessage, Refusal> {
        let gni = &self.gni;
        let end = milliticks.map(|most| gni.now() + Microticks::of_milliticks(most));
        loop {
            gni.step(Step::Poll).await;
            self.sort().await;
            let own = |l: &NodeMessage| l.service == Service::Message && l.to == gni.process;
            let found = {
                let came = &mut lock(&gni.library).node_messages.came;
                came.iter().position(own).and_then(|at| came.remove(at))
            };
            if let Some(mut node_message) = found {
                self.return_credit(node_message.from.0).await?;
                let data = node_message.data.split_off(node_message.answers as usize);
                let (from, tag) = (node_message.from, node_message.number as u8);
                return Ok(QueuedMessage { from, tag, header: node_message.data, data });
            }
            gni.wait_for_node_messages(end).await?;
        }
    }

    /// `GNI_MsgqIdle`: waits until all messages of this node have arrived, possibly asleep until the
    /// receivers process earlier ones.
    pub async fn idle(&self) {
        self.sort().await;
        while self.gni.has_node_messages_out() {
            let queue = self.gni.node_message_queue();
            self.gni.core.wait(Watch::Queue(queue), None).await;
            self.sort().await;
        }
    }

    /// Returns credits to a node once half of them have been used **(ours)**.
    async fn return_credit(&self, node: u32) -> Result<(), Refusal> {
        let gni = &self.gni;
        let count = {
            let mut library = lock(&gni.library);
            let link = library.links.entry(node).or_default();
            link.taken += 1;
            let count = link.taken - link.reported;
            if count < self.credits.div_ceil(2) {
                return Ok(());
            }
            link.reported = link.taken;
            count
        };
        let (service, ptag, from) = (Service::Credit, gni.ptag()?, (gni.place(), gni.process));
        let node_message =
            NodeMessage { service, ptag, from, to: 0, number: count, answers: 0, data: vec![] };
        gni.send_node_message(node, node_message, false).await
    }
}
