//! Datagrams (`GNI_EpPostData…`): two processes of a job that have both posted one exchange them, to set up
//! further communication. A datagram is bound to a process, or unbound, for any process that has posted one
//! for this process.

use super::node_messages::{NODE_MESSAGE_MAX_B, NodeMessage, Service};
use super::{Gni, Shared, Step, lock};
use netloom_nic::aries::Watch;
use netloom_nic::aries::status::Refusal;
use netloom_node::time::Microticks;

/// The state of a datagram (`gni_post_state_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramState {
    /// No answer yet.
    Pending,
    /// Exchanged.
    Completed,
    /// Cancelled.
    Terminated,
    /// Not deliverable.
    Error,
}

/// A datagram of this process that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its final state.
    pub state: DatagramState,
    /// Virtual node and process of its partner, or its intended one.
    pub with: Option<(u32, u8)>,
    /// The partner's data.
    pub data: Vec<u8>,
}

/// Identifies a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKey {
    /// The one without an identifier that is bound to this process, or unbound.
    For(Option<(u32, u8)>),
    /// The one with this identifier.
    Id(u64),
}

/// A datagram of a process.
pub struct Posted {
    process: u8,
    ptag: u8,
    /// Its number on this node.
    number: u64,
    id: Option<u64>,
    to: Option<(u32, u8)>,
    data: Vec<u8>,
    is_sent: bool,
    state: DatagramState,
    answer: Option<((u32, u8), Vec<u8>)>,
}

impl Posted {
    fn is(&self, process: u8, key: DatagramKey) -> bool {
        self.process == process
            && match key {
                DatagramKey::For(to) => self.id.is_none() && self.to == to,
                DatagramKey::Id(id) => self.id == Some(id),
            }
    }
}

impl Shared {
    /// Matches arrived datagrams with those posted here; returns the answers to be sent, with their nodes.
    fn match_datagrams(&mut self, place: u32) -> Vec<(u32, NodeMessage)> {
        let mut answers = vec![];
        for (node_message, node) in std::mem::take(&mut self.node_messages.failed) {
            let lost = |p: &&mut Posted| {
                p.number == node_message.number && node_message.service == Service::Datagram
            };
            if let Some(posted) = self.datagrams.iter_mut().find(lost)
                && posted.state == DatagramState::Pending
            {
                (posted.state, posted.answer) =
                    (DatagramState::Error, Some(((node, node_message.to), vec![])));
            }
        }
        // A datagram that was cancelled before it was processed counts as never received.
        let all = std::mem::take(&mut self.node_messages.came);
        let (back, came): (Vec<_>, Vec<_>) = all.into_iter().partition(|l| l.service == Service::Cancel);
        let is_back = |l: &NodeMessage| {
            l.service == Service::Datagram && back.iter().any(|b| (b.from, b.number) == (l.from, l.number))
        };
        for node_message in came.into_iter().filter(|node_message| !is_back(node_message)) {
            match node_message.service {
                Service::Datagram => {
                    let waits = |p: &Posted| {
                        (p.process, p.ptag, p.state)
                            == (node_message.to, node_message.ptag, DatagramState::Pending)
                    };
                    let fits = |p: &Posted| match node_message.answers {
                        0 => p.to == Some(node_message.from),
                        number => p.number == number,
                    };
                    let all = &mut self.datagrams;
                    let exact = all.iter().position(|p| waits(p) && fits(p));
                    let anybody = || all.iter().position(|p| waits(p) && p.to.is_none());
                    let Some(found) = exact.or_else(|| anybody().filter(|_| node_message.answers == 0))
                    else {
                        // An answer that is no longer awaited is ignored.
                        if node_message.answers == 0 {
                            self.node_messages.came.push_back(node_message);
                        }
                        continue;
                    };
                    let posted = &mut all[found];
                    if !posted.is_sent {
                        posted.is_sent = true;
                        let from = (place, posted.process);
                        let (to, number, data) = (node_message.from.1, posted.number, posted.data.clone());
                        let (service, ptag, answers_to) =
                            (Service::Datagram, posted.ptag, node_message.number);
                        let answer =
                            NodeMessage { service, ptag, from, to, number, answers: answers_to, data };
                        answers.push((node_message.from.0, answer));
                    }
                    (posted.state, posted.answer) =
                        (DatagramState::Completed, Some((node_message.from, node_message.data)));
                }
                _ => self.node_messages.came.push_back(node_message),
            }
        }
        answers
    }
}

impl Gni {
    async fn progress_datagrams(&self) {
        self.sort_node_messages().await;
        let place = self.place();
        let answers = lock(&self.library).match_datagrams(place);
        for (node, answer) in answers {
            // A node with too many node messages in flight cancels this one, and the other side's attempt
            // fails.
            let _ = self.send_node_message(node, answer, true).await;
        }
    }

    /// Posts a datagram for a process of the job, or an unbound one (`GNI_EpPostData`, `EpPostDataWId`).
    ///
    /// # Errors
    /// If it is longer than 128 B, the process does not exist, or there is one with the same key.
    pub async fn post_datagram(
        &self,
        to: Option<(u32, u8)>,
        id: Option<u64>,
        data: &[u8],
    ) -> Result<(), Refusal> {
        let (ptag, process) = (self.ptag()?, self.process);
        if data.len() > NODE_MESSAGE_MAX_B {
            return Err(Refusal::Size);
        }
        if to.is_some_and(|(node, process)| node >= self.job().nodes() || process >= self.processes()) {
            return Err(Refusal::InvalidParam);
        }
        let key = id.map_or(DatagramKey::For(to), DatagramKey::Id);
        let number = {
            let mut library = lock(&self.library);
            if library.datagrams.iter().any(|p| p.is(process, key)) {
                return Err(Refusal::InvalidState);
            }
            library.datagram_numbers += 1;
            let (number, data) = (library.datagram_numbers, data.to_vec());
            let (is_sent, state, answer) = (false, DatagramState::Pending, None);
            library.datagrams.push(Posted { process, ptag, number, id, to, data, is_sent, state, answer });
            number
        };
        // The partner may have posted first.
        self.progress_datagrams().await;
        let Some((node, other)) = to else { return Ok(()) };
        let from = (self.place(), process);
        let node_message = {
            let mut library = lock(&self.library);
            let posted = library.datagrams.iter_mut().find(|p| p.number == number && !p.is_sent);
            let Some(posted) = posted else { return Ok(()) };
            posted.is_sent = true;
            let (service, data) = (Service::Datagram, posted.data.clone());
            NodeMessage { service, ptag, from, to: other, number, answers: 0, data }
        };
        self.send_node_message(node, node_message, true).await
    }

    /// Tests the state of a datagram. One that has ended is removed (`GNI_EpPostDataTest`, `…ById`).
    ///
    /// # Errors
    /// If there is none with this key; [`Refusal::NotDone`] if it is pending.
    pub async fn test_datagram(&self, key: DatagramKey) -> Result<Datagram, Refusal> {
        self.step(Step::Poll).await;
        self.progress_datagrams().await;
        let mut library = lock(&self.library);
        let found = library.datagrams.iter().position(|p| p.is(self.process, key)).ok_or(Refusal::NoMatch)?;
        if library.datagrams[found].state == DatagramState::Pending {
            return Err(Refusal::NotDone);
        }
        let posted = library.datagrams.remove(found);
        let (with, data) = posted.answer.map_or((posted.to, vec![]), |(from, data)| (Some(from), data));
        Ok(Datagram { state: posted.state, with, data })
    }

    /// Waits until a datagram has ended, with an optional time limit (`GNI_EpPostDataWait`, `…ById`).
    ///
    /// # Errors
    /// As [`Self::test_datagram`].
    pub async fn wait_datagram(
        &self,
        key: DatagramKey,
        milliticks: Option<u64>,
    ) -> Result<Datagram, Refusal> {
        let end = milliticks.map(|most| self.now() + Microticks::of_milliticks(most));
        loop {
            match self.test_datagram(key).await {
                Err(Refusal::NotDone) => self.wait_for_node_messages(end).await?,
                found => return found,
            }
        }
    }

    /// Waits until a node message has arrived, or a time.
    pub(super) async fn wait_for_node_messages(&self, end: Option<Microticks>) -> Result<(), Refusal> {
        let left = end.map(|end| end.saturating_sub(self.now()));
        if left == Some(Microticks::ZERO) {
            return Err(Refusal::NotDone);
        }
        self.core.wait(Watch::Queue(self.node_message_queue()), left).await;
        Ok(())
    }

    /// The key of a datagram that has ended, waiting up to a time limit (`GNI_PostDataProbe`, `…ById`,
    /// `PostdataProbeWaitById`); without one it tests once.
    ///
    /// # Errors
    /// If there is none.
    pub async fn probe_datagrams(&self, milliticks: Option<u64>) -> Result<DatagramKey, Refusal> {
        let end = self.now() + Microticks::of_milliticks(milliticks.unwrap_or(0));
        loop {
            self.step(Step::Poll).await;
            self.progress_datagrams().await;
            let ended = |p: &&super::datagrams::Posted| {
                p.process == self.process && p.state != DatagramState::Pending
            };
            if let Some(posted) = lock(&self.library).datagrams.iter().find(ended) {
                return Ok(posted.id.map_or(DatagramKey::For(posted.to), DatagramKey::Id));
            }
            self.wait_for_node_messages(Some(end)).await.map_err(|_| Refusal::NoMatch)?;
        }
    }

    /// Cancels a pending datagram (`GNI_EpPostDataCancel`, `…ById`); it must still be tested. If the other
    /// side already has it, the exchange completes there.
    ///
    /// # Errors
    /// If there is none with this key, or it has ended.
    pub async fn cancel_datagram(&self, key: DatagramKey) -> Result<(), Refusal> {
        self.progress_datagrams().await;
        let from = (self.place(), self.process);
        let back = {
            let mut library = lock(&self.library);
            let posted =
                library.datagrams.iter_mut().find(|p| p.is(self.process, key)).ok_or(Refusal::NoMatch)?;
            if posted.state != DatagramState::Pending {
                return Err(Refusal::InvalidState);
            }
            posted.state = DatagramState::Terminated;
            let (service, ptag, number) = (Service::Cancel, posted.ptag, posted.number);
            posted.to.filter(|_| posted.is_sent).map(|(node, to)| {
                (node, NodeMessage { service, ptag, from, to, number, answers: 0, data: vec![] })
            })
        };
        match back {
            Some((node, node_message)) => self.send_node_message(node, node_message, true).await,
            None => Ok(()),
        }
    }
}
