//! The requests of programs, all non-blocking (section 3.1): mini-packets, puts, gets, control packets, and
//! lists of them.

use super::device::ThDevice;
use super::{CHILDREN, Glex, Refusal, Step, lock};
use crate::device::Device;
use netloom_nic::th::{
    Address, Descriptor, Operation, Options, PORTS, REDUCED_WORDS, Request, Submission, Write, submission_of,
};
use std::collections::VecDeque;

impl Glex {
    /// Sends a mini-packet.
    ///
    /// # Errors
    /// If it is too long, or the descriptor queue is full.
    pub async fn send_mini_packet(
        &self,
        endpoint: u8,
        to: Address,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::mini_packet(&[to], data).with(options)).await
    }

    /// Sends a control packet, which may trigger a sequence at the remote port (section 2.5).
    ///
    /// # Errors
    /// As [`Self::send_mini_packet`].
    pub async fn send_control(
        &self,
        endpoint: u8,
        to: Address,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::control(&[to], data).with(options)).await
    }

    /// Puts data contained in the descriptor.
    ///
    /// # Errors
    /// If it is too long, or the descriptor queue is full.
    pub async fn put_immediate(
        &self,
        endpoint: u8,
        to: Address,
        remote: u64,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::put_immediate(&[to], remote, data).with(options)).await
    }

    /// Puts bytes of local memory into remote memory.
    ///
    /// # Errors
    /// If the length is zero or too large, or the descriptor queue is full.
    pub async fn put(
        &self,
        endpoint: u8,
        to: Address,
        places: (u64, u64, u64),
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::put(&[to], places).with(options)).await
    }

    /// Puts data contained in the descriptor to the same address at several children, each of which gets its
    /// event; this side gets one event for each: a collective descriptor, which is submitted once and used
    /// for each child (section 2.5).
    ///
    /// # Errors
    /// If there are no children, or more than [`CHILDREN`]; as [`Self::put_immediate`].
    pub async fn put_to_children(
        &self,
        endpoint: u8,
        children: &[Address],
        remote: u64,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::put_immediate(children, remote, data).with(options)).await
    }

    /// Gets bytes of remote memory into local memory. The local event reports that all data has arrived, the
    /// remote one that all has been read.
    ///
    /// # Errors
    /// If the length is zero or too large, or the descriptor queue is full.
    pub async fn get(
        &self,
        endpoint: u8,
        to: Address,
        places: (u64, u64, u64),
        options: Options,
    ) -> Result<(), Refusal> {
        self.post(endpoint, Request::get(to, places).with(options)).await
    }

    /// Posts a list of requests in order.
    ///
    /// # Errors
    /// At the first that is rejected: its index in the list, and the reason. Those before it have been
    /// posted.
    pub async fn post_list(&self, endpoint: u8, requests: Vec<Request>) -> Result<(), (usize, Refusal)> {
        for (place, request) in requests.into_iter().enumerate() {
            self.post(endpoint, request).await.map_err(|refusal| (place, refusal))?;
        }
        Ok(())
    }

    /// Posts a request.
    ///
    /// # Errors
    /// If it is invalid, or the descriptor queue is full.
    pub async fn post(&self, endpoint: u8, request: Request) -> Result<(), Refusal> {
        self.device.post(endpoint, request)?;
        self.core.done().await;
        Ok(())
    }
}

impl ThDevice {
    pub(super) fn post(&self, endpoint: u8, request: Request) -> Result<(), Refusal> {
        self.check(&request)?;
        let config = &self.common.config;
        let Request { operation, to, local, remote, bytes, options, step } = request;
        let mut more = VecDeque::from(to);
        let no_child = Address { node: self.node, vp: endpoint, key: 0 };
        let to = more.pop_front().unwrap_or(no_child);
        let descriptor =
            Descriptor { vp: endpoint, operation, to, more, local, remote, bytes, options, step };
        let length = descriptor.length(config);
        let lines = u64::from(length.div_ceil(64));
        let submission = submission_of(endpoint);
        {
            let mut here = lock(&self.here);
            let port = self.own(&mut here, endpoint)?;
            match submission {
                Submission::Pio if port.held < config.port_descriptors => port.held += 1,
                Submission::Dma if port.sdq.len() < config.sdq_descriptors as usize => {}
                _ => return Err(Refusal::QueueFull),
            }
        }
        self.spend(Step::Library);
        match submission {
            Submission::Pio => {
                self.spend(Step::Lines(lines));
                self.write(Write::Descriptor(Box::new(descriptor)));
            }
            Submission::Dma => {
                self.own(&mut lock(&self.here), endpoint)?.sdq.push_back(descriptor);
                self.spend(Step::CopyLines(lines));
                self.spend(Step::Lines(1));
                self.write(Write::Doorbell(endpoint));
            }
        }
        Ok(())
    }

    /// Checks a request.
    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let config = &self.common.config;
        let Request { operation, to, local, remote, bytes, step, options } = request;
        let most = u64::from(self.common.packet.data_max_B) << 24;
        let is_length = match operation {
            Operation::Mini(data) | Operation::Control(data, _) | Operation::Deliver(data) => {
                data.len() <= config.mini_packet_B as usize
            }
            Operation::Immediate(data) => (1..=config.immediate_max_B as usize).contains(&data.len()),
            Operation::Nothing => true,
            _ => (1..=most).contains(bytes),
        };
        let fits = |address: &u64| address.checked_add(*bytes).is_some_and(|end| end <= 1 << 48);
        let is_port = |to: &Address| to.node < self.common.nodes && to.node != self.node && to.vp < PORTS;
        let is_here = matches!(operation, Operation::Nothing | Operation::Deliver(_));
        let is_addressed = match is_here {
            true => to.is_empty() && !options.connect,
            false => (1..=CHILDREN).contains(&to.len()) && to.iter().all(is_port),
        };
        let is_reduced = step.reduction.is_none()
            || match operation {
                Operation::Control(data, _) | Operation::Mini(data) | Operation::Deliver(data) => {
                    data.len() % 8 == 0
                        && (1..=REDUCED_WORDS).contains(&(data.len() / 8))
                        && step.after.is_some()
                }
                _ => false,
            };
        // A sequence cannot wait for more control packets than are buffered.
        let can_start = step.after.is_none_or(|after| after <= config.control_packets);
        let is_possible = is_length && fits(local) && fits(remote) && is_addressed && is_reduced && can_start;
        if is_possible { Ok(()) } else { Err(Refusal::Invalid) }
    }
}
