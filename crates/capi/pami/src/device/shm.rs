//! The device between processes of this computer: the context's queue in the segment of the job, the queues
//! of others, and their memory.

use super::{CONTEXTS_MAX, Payload, memory_of, store};
use crate::client::Job;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{
    Arrival, Begun, Full, Next, PamiDevice, Piece, Range, Remote, Transfer,
};
use netloom_messaging::pami::packet::{Head, Kind};
use netloom_shm::assist::SHARED_FROM_B;
use netloom_shm::fastbox::InboxReader;
use netloom_shm::memory::{self, Direction};
use netloom_shm::queue::{Message, PAYLOAD_MAX};
use netloom_shm::segment::{Sender, State};

/// A context's device.
pub struct ShmDevice {
    job: &'static Job,
    /// The first queue of the client in each task.
    first_queue: usize,
    endpoint: Endpoint,
    sender: Sender<'static>,
    reader: InboxReader<'static>,
}

impl ShmDevice {
    /// The device of the context with this offset.
    ///
    /// # Safety
    /// A client's context has one device at a time.
    pub unsafe fn new(job: &'static Job, client: usize, offset: usize) -> Self {
        let first_queue = client * CONTEXTS_MAX;
        let endpoint = Endpoint::new(job.task, offset as u32).expect("few contexts");
        // SAFETY: the caller's promise.
        let reader = unsafe { InboxReader::new(job.segment.inbox(job.task, first_queue + offset)) };
        // SAFETY: the same.
        let sender = unsafe { job.segment.sender(job.task, first_queue + offset) };
        ShmDevice { job, first_queue, endpoint, sender, reader }
    }

    /// Whether a packet is there, or about to be.
    pub fn has_claimed(&self) -> bool {
        self.reader.has_claimed()
    }

    /// Leaves out packets that tasks claimed and did not write before they ended.
    pub fn skip_lost(&mut self) {
        let queue = self.first_queue + self.endpoint.offset() as usize;
        self.reader.skip_lost(|n| self.job.segment.is_lost(self.job.task, queue, n));
    }

    /// Whether a task has failed, and so the job.
    pub fn has_failed(&self, task: u32) -> bool {
        self.job.segment.task(task).state() == State::Dead
    }
}

impl ShmDevice {
    /// Copies to or from the memory of another process.
    #[inline(always)]
    fn copy(
        &self,
        way: Transfer,
        with: Endpoint,
        copy: impl FnOnce(Direction, i32) -> std::io::Result<()>,
    ) -> Result<(), Remote> {
        if self.job.two_copies {
            return Err(Remote::Unsupported);
        }
        let task = self.job.segment.task(with.task());
        let direction = match way {
            Transfer::Get => Direction::Read,
            Transfer::Put => Direction::Write,
        };
        copy(direction, task.pid()).map_err(|error| match error.raw_os_error() {
            _ if task.state().is_over() => Remote::Gone,
            Some(libc::ESRCH) => Remote::Gone,
            Some(libc::EFAULT) => Remote::Fault,
            _ => Remote::Unsupported,
        })
    }

    /// Moves data, together with the other task if that has nothing else to do.
    #[inline(always)]
    fn transfer_by(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
        is_shared: bool,
    ) -> Result<Begun, Remote> {
        let bytes = local.bytes as usize;
        if with.task() == self.job.task {
            let (from, to) = match way {
                Transfer::Get => (remote, local.address),
                Transfer::Put => (local.address, remote),
            };
            // SAFETY: both are this program's own; they may overlap.
            unsafe { (to as *mut u8).copy_from(from as *const u8, bytes) };
            return Ok(Begun::Done);
        }
        let tasks = [self.job.task, with.task()];
        // SAFETY: the program gave both addresses.
        self.copy(way, with, |direction, pid| unsafe {
            match is_shared {
                true => self.job.segment.copy(direction, tasks, local.address, remote, bytes),
                false => memory::copy(direction, pid, local.address, remote, bytes),
            }
        })?;
        Ok(Begun::Done)
    }
}

/// What nobody took before the context was destroyed is not for the next context of that number.
impl Drop for ShmDevice {
    fn drop(&mut self) {
        while self.reader.peek().is_some() {
            self.reader.release();
        }
    }
}

/// What a message is to the protocols.
#[inline(always)]
fn next(message: Message<'_>) -> Next<Payload> {
    let payload = Payload { address: message.payload.as_ptr(), length: message.payload.len() };
    match Head::of_word(message.word) {
        Some(head) if head.kind() == Kind::Immediate => Next::Immediate(head, payload),
        _ => Next::Other,
    }
}

impl PamiDevice for ShmDevice {
    type Payload = Payload;

    #[inline]
    fn packet_max(&self) -> usize {
        PAYLOAD_MAX
    }

    #[inline]
    fn data_max(&self, to: Endpoint) -> usize {
        self.sender.longest(to.task(), self.first_queue + to.offset() as usize)
    }

    #[inline]
    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    #[inline]
    fn has(&self, endpoint: Endpoint) -> bool {
        self.job.has(endpoint.task()) && (endpoint.offset() as usize) < CONTEXTS_MAX
    }

    #[inline(always)]
    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full> {
        let queue = self.first_queue + to.offset() as usize;
        self.sender.send(to.task(), queue, head.to_word(), parts).map_err(|_| Full)
    }

    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full> {
        // SAFETY: the protocols pass only what the program gave them to send.
        self.inject(to, head, [bytes, unsafe { memory_of(data) }])
    }

    #[inline(always)]
    fn peek(&mut self) -> Next<Payload> {
        let Some(message) = self.reader.peek() else {
            self.job.segment.help(self.job.task);
            return Next::Nothing;
        };
        next(message)
    }

    #[inline(always)]
    fn peek_more(&mut self) -> Next<Payload> {
        self.reader.peek_more().map_or(Next::Nothing, next)
    }

    #[inline]
    fn poll(&mut self) -> Option<Arrival<Payload>> {
        loop {
            let Some(message) = self.reader.peek() else {
                self.job.segment.help(self.job.task);
                return None;
            };
            let payload = Payload { address: message.payload.as_ptr(), length: message.payload.len() };
            match Head::of_word(message.word) {
                Some(head) => return Some(Arrival::Packet(head, payload)),
                None => self.reader.release(),
            }
        }
    }

    #[inline]
    fn release(&mut self) {
        self.reader.release();
    }

    #[inline]
    fn bytes(&self, payload: Payload) -> &[u8] {
        payload.bytes()
    }

    fn store(&mut self, payload: Payload, part: std::ops::Range<usize>, to: u64) {
        // SAFETY: the program's dispatch function gave the address, for a message of this length.
        unsafe { store(payload, part, to) };
    }

    fn load(&mut self, data: Range, packet: &mut Vec<u8>) {
        // SAFETY: the protocols pass only what the program gave them to send.
        packet.extend_from_slice(unsafe { memory_of(data) });
    }

    #[inline(always)]
    fn transfer(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer_by(way, with, local, remote, self.shares(local.bytes))
    }

    fn shares(&self, bytes: u64) -> bool {
        bytes as usize >= SHARED_FROM_B && !self.job.is_oversubscribed()
    }

    fn transfer_alone(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer_by(way, with, local, remote, false)
    }

    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        let all = (pieces.len(), Begun::Done);
        if with.task() == self.job.task {
            for &(local, remote) in pieces {
                self.transfer(way, with, local, remote)?;
            }
            return Ok(all);
        }
        let pieces: Vec<(u64, u64, usize)> =
            pieces.iter().map(|&(local, remote)| (local.address, remote, local.bytes as usize)).collect();
        // SAFETY: the program gave all addresses.
        self.copy(way, with, |direction, pid| unsafe { memory::copy_pieces(direction, pid, &pieces) })?;
        Ok(all)
    }

    fn is_gone(&self, task: u32) -> bool {
        self.job.segment.task(task).state().is_over()
    }
}
