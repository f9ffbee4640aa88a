//! The device of a context: between the processes of this computer, or on a simulated node.
//!
//! - [`shm`] – queues in shared memory.
//! - [`guest`] – the device of a simulated node, in the simulator.

pub mod guest;
pub mod shm;

use crate::client::Job;
use guest::GuestDevice;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{
    Arrival, Begun, Collective, Full, GroupLimits, Next, PamiDevice, Piece, Range, Remote, Step, Ticket,
    Transfer,
};
use netloom_messaging::pami::packet::Head;
use netloom_shm::segment::QUEUES;
use shm::ShmDevice;

/// Contexts of a client, and clients of a process: they share the queues of a task.
pub const CONTEXTS_MAX: usize = 16;
pub const CLIENTS_MAX: usize = QUEUES / CONTEXTS_MAX;

/// A packet in the device's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    pub address: *const u8,
    pub length: usize,
}

impl Payload {
    /// The address of a byte of it.
    pub fn at(self, offset: usize) -> *const u8 {
        assert!(offset <= self.length);
        self.address.wrapping_add(offset)
    }

    /// Its bytes.
    #[inline]
    fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: it has not been released, says the trait of devices, so its buffer holds it.
        unsafe { std::slice::from_raw_parts(self.address, self.length) }
    }
}

/// The memory of this process at an address that the program gave.
///
/// # Safety
/// The program has this memory, and leaves it as it is until the operation is complete, as PAMI demands.
unsafe fn memory_of<'a>(range: Range) -> &'a [u8] {
    if range.bytes == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(range.address as *const u8, range.bytes as usize) }
}

/// Copies a part of the bytes of a payload into this process's memory.
///
/// # Safety
/// The program has memory of this length there.
unsafe fn store(payload: Payload, part: std::ops::Range<usize>, to: u64) {
    let part = &payload.bytes()[part];
    // SAFETY: the caller's promise.
    unsafe { (to as *mut u8).copy_from_nonoverlapping(part.as_ptr(), part.len()) };
}

/// A context's device.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each context, and a box would be one more step per message"
)]
pub enum Device {
    Shm(ShmDevice),
    Guest(GuestDevice),
}

/// Calls the same of the device that it is.
macro_rules! of {
    ($self:expr, $device:ident => $call:expr) => {
        match $self {
            Device::Shm($device) => $call,
            Device::Guest($device) => $call,
        }
    };
}

impl Device {
    /// The device of the context with this offset.
    ///
    /// # Safety
    /// A client's context has one device at a time.
    pub unsafe fn new(job: &'static Job, client: usize, offset: usize) -> Self {
        match &job.simulated {
            // SAFETY: the caller's promise.
            None => Device::Shm(unsafe { ShmDevice::new(job, client, offset) }),
            Some(guest) => Device::Guest(GuestDevice::new(guest, job.task, client, offset)),
        }
    }

    /// The context's number among those of its task on a simulated node.
    pub fn number(&self) -> Option<u32> {
        match self {
            Device::Shm(_) => None,
            Device::Guest(device) => Some(device.number()),
        }
    }

    /// Whether a packet is there, or about to be.
    pub fn has_claimed(&self) -> bool {
        match self {
            Device::Shm(device) => device.has_claimed(),
            Device::Guest(device) => device.has_arrived(),
        }
    }

    /// Leaves out packets that tasks claimed and did not write before they ended.
    pub fn skip_lost(&mut self) {
        if let Device::Shm(device) = self {
            device.skip_lost();
        }
    }

    /// Whether a task has failed, and so the job.
    pub fn has_failed(&self, task: u32) -> bool {
        match self {
            Device::Shm(device) => device.has_failed(task),
            Device::Guest(device) => device.is_gone(task),
        }
    }
}

impl PamiDevice for Device {
    type Payload = Payload;

    #[inline]
    fn packet_max(&self) -> usize {
        of!(self, device => device.packet_max())
    }

    #[inline]
    fn data_max(&self, to: Endpoint) -> usize {
        of!(self, device => device.data_max(to))
    }

    #[inline]
    fn endpoint(&self) -> Endpoint {
        of!(self, device => device.endpoint())
    }

    #[inline]
    fn has(&self, endpoint: Endpoint) -> bool {
        of!(self, device => device.has(endpoint))
    }

    #[inline(always)]
    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full> {
        of!(self, device => device.inject(to, head, parts))
    }

    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full> {
        of!(self, device => device.inject_memory(to, head, bytes, data))
    }

    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        of!(self, device => device.inject_data(to, head, data))
    }

    #[inline]
    fn poll(&mut self) -> Option<Arrival<Payload>> {
        of!(self, device => device.poll())
    }

    #[inline(always)]
    fn peek(&mut self) -> Next<Payload> {
        match self {
            Device::Shm(device) => device.peek(),
            Device::Guest(_) => Next::Other,
        }
    }

    #[inline(always)]
    fn peek_more(&mut self) -> Next<Payload> {
        match self {
            Device::Shm(device) => device.peek_more(),
            Device::Guest(_) => Next::Other,
        }
    }

    #[inline]
    fn release(&mut self) {
        of!(self, device => device.release())
    }

    #[inline]
    fn bytes(&self, payload: Payload) -> &[u8] {
        payload.bytes()
    }

    fn store(&mut self, payload: Payload, part: std::ops::Range<usize>, to: u64) {
        of!(self, device => device.store(payload, part, to))
    }

    fn load(&mut self, data: Range, packet: &mut Vec<u8>) {
        of!(self, device => device.load(data, packet))
    }

    fn reaches_all(&self) -> bool {
        of!(self, device => device.reaches_all())
    }

    fn moves(&self, way: Transfer) -> bool {
        of!(self, device => device.moves(way))
    }

    fn distance(&self, with: Endpoint) -> Option<(u32, u32)> {
        of!(self, device => device.distance(with))
    }

    fn expose(&mut self, memory: Range) -> u64 {
        of!(self, device => device.expose(memory))
    }

    fn own_address(&self, exposed: u64) -> u64 {
        of!(self, device => device.own_address(exposed))
    }

    #[inline(always)]
    fn transfer(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        of!(self, device => device.transfer(way, with, local, remote))
    }

    fn shares(&self, bytes: u64) -> bool {
        of!(self, device => device.shares(bytes))
    }

    fn transfer_alone(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        of!(self, device => device.transfer_alone(way, with, local, remote))
    }

    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        of!(self, device => device.transfer_pieces(way, with, pieces))
    }

    fn flush(&mut self, with: Endpoint) -> Result<Begun, Remote> {
        of!(self, device => device.flush(with))
    }

    #[inline]
    fn spend(&mut self, step: Step) {
        if let Device::Guest(device) = self {
            device.spend(step);
        }
    }

    fn has_groups(&self) -> bool {
        matches!(self, Device::Guest(_))
    }

    fn world_group(&self) -> Option<usize> {
        of!(self, device => device.world_group())
    }

    fn group_limits(&self) -> GroupLimits {
        of!(self, device => device.group_limits())
    }

    fn free_classes(&mut self, tasks: &[(u32, u32)]) -> u64 {
        of!(self, device => device.free_classes(tasks))
    }

    fn join(&mut self, tasks: &[(u32, u32)], class: u8) -> usize {
        of!(self, device => device.join(tasks, class))
    }

    fn leave(&mut self, group: usize) {
        of!(self, device => device.leave(group));
    }

    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        of!(self, device => device.collective(group, operation))
    }

    fn is_gone(&self, task: u32) -> bool {
        of!(self, device => device.is_gone(task))
    }
}
