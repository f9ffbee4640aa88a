//! PAMI on a simulated Message Unit (Kumar et al., section III.E). Packets are messages to the reception FIFO
//! of the target's context, by the injection FIFO to which the target's node is pinned, on a fixed route, so
//! that they stay in order. The data of a rendezvous is fetched by a remote get: a descriptor that makes the
//! sender's unit write it into the receiver's memory. Puts and gets of exposed memory are RDMA too: see
//! `rdma.rs`. Processes of a node reach each other by shared memory: see `shared_memory.rs`.
//!
//! What a packet says is in the fourteen bytes of its header that are for software: a [`Head`], and the
//! length of its message. The unit cuts a message of more than 512 B into packets; those of a packet of the
//! protocols are put together again here.

pub mod collective;
pub mod memory;
mod rdma;
pub mod resources;
mod shared_memory;

use super::context::distance;
use super::device::{
    Arrival, Begun, Collective, Full, PamiDevice, Piece, Range, Remote, Step, Ticket, Transfer,
};
use super::packet::{Head, Kind as HeadKind};
use super::{Costs, Endpoint, Placement};
use crate::device::{Device, MuDevice, Simulated};
use crate::spi::device::UnitDevice;
use crate::transit::{Flight, Part};
use collective::Collectives;
use collective::group::{Group, Members};
use memory::ProcessMemory;
use netloom_nic::message_unit::commands::Watch;
use netloom_nic::message_unit::descriptor::{Descriptor, Kind, LOCAL, Network};
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet};
use netloom_node::process::Wait;
use netloom_node::program::lock;
use netloom_node::time::Microticks;
pub use rdma::pieces_per_descriptor;
use resources::{Resources, pin};
use shared_memory::Queues;
pub use shared_memory::is_memory;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Most bytes of a packet of the protocols: a message of 512 B to its program, and what goes with it.
pub const PACKET_MAX: usize = 560;
/// Bits of a packet's header for the length of its message.
const LENGTH_BITS: u32 = 48;
/// Counters for RDMA reads that a context allocates at once, when it has no free one.
const COUNTERS: u64 = 64;

/// An injection FIFO for sends.
struct SendFifo {
    number: u16,
    /// Descriptors written.
    written: u64,
    /// Space for the data of as many packets as it has descriptors.
    slots: u64,
}

/// What an operation waits for.
#[derive(Clone, Copy, Debug)]
enum Pending {
    /// The injection of this number of descriptors of a FIFO of sends.
    Injected(usize, u64),
    /// A counter, by its address, that reaches zero after this time.
    Counter(u64, u64),
}

/// What has arrived since it was taken last, and the data that is read: node and length, by operation.
#[derive(Default)]
struct Flights {
    ended: Vec<Flight>,
    reads: BTreeMap<Ticket, (u32, u64)>,
}

/// A context's device.
pub struct UnitContext {
    device: UnitDevice,
    placement: Arc<Placement>,
    resources: Resources,
    costs: Costs,
    memory: Arc<Mutex<ProcessMemory>>,
    endpoint: Endpoint,
    fifos: Vec<SendFifo>,
    /// Addresses of free counters.
    counters: Vec<u64>,
    /// Where acknowledgements of RDMA writes write their byte, after the first.
    scratch: Option<u64>,
    pending: BTreeMap<Ticket, Pending>,
    /// The unit's count of changes when they were looked at last; `None` if one was added since.
    looked_at: Option<u64>,
    next_ticket: Ticket,
    /// What has arrived, if somebody wants to know it.
    flights: Option<Box<Flights>>,
    /// Whether a packet is being taken out of the reception FIFO.
    taken_by: Option<u8>,
    /// Packets of the protocols that are not complete, by sender.
    partial: HashMap<Endpoint, Vec<u8>>,
    inbox: VecDeque<(Head, Vec<u8>)>,
    finished: VecDeque<Ticket>,
    /// The FIFO of sends that had no space last.
    is_full: Option<usize>,
    collectives: Collectives,
    /// Packets from and to other contexts of the node.
    queues: Queues,
}

/// Descriptors in an injection FIFO of the usual length.
const DESCRIPTORS: u64 = (1 << 16) / 64;

impl UnitContext {
    /// The device of a task's context. The settings of a process are made with its first context.
    pub fn new(
        device: UnitDevice,
        placement: &Arc<Placement>,
        memory: &Arc<Mutex<ProcessMemory>>,
        costs: Costs,
        endpoint: Endpoint,
    ) -> Self {
        let resources = Resources::new(placement.processes);
        let (process, offset) = (device.process(), endpoint.offset() as u16);
        if offset == 0 {
            device.set_base_address(0, 0);
            for n in 0..resources.fetches() {
                let fifo = resources.fetch(process, n);
                let settings = InjectionFifo { remote_get: true, ..InjectionFifo::usual(fifo) };
                device.set_injection_fifo(fifo, settings);
            }
        }
        // An earlier context of this number has used the same.
        let fifos = (0..resources.sends).map(|n| resources.send(process, offset, n)).map(|number| SendFifo {
            number,
            written: device.written(number),
            slots: device.allocate_memory(DESCRIPTORS * PACKET_MAX as u64),
        });
        let fifos = fifos.collect();
        UnitContext {
            placement: Arc::clone(placement),
            resources,
            costs,
            memory: Arc::clone(memory),
            endpoint,
            fifos,
            counters: vec![],
            scratch: None,
            pending: BTreeMap::new(),
            looked_at: None,
            next_ticket: 0,
            flights: None,
            taken_by: None,
            partial: HashMap::new(),
            inbox: VecDeque::new(),
            finished: VecDeque::new(),
            is_full: None,
            collectives: Collectives::default(),
            queues: Queues::new(resources.reception(process, offset), &device, placement.processes),
            device,
        }
    }

    /// From now on what arrives from other nodes is noted.
    pub fn note_flights(&mut self) {
        self.flights = Some(Box::default());
    }

    /// What has arrived since the last call.
    pub fn take_flights(&mut self) -> Vec<Flight> {
        self.flights.as_mut().map_or(vec![], |flights| std::mem::take(&mut flights.ended))
    }

    /// Contexts that a task may have.
    pub fn contexts(&self) -> u16 {
        self.resources.contexts
    }

    /// Free places of each FIFO of sends.
    pub fn room(&self) -> impl Iterator<Item = u64> {
        (0..self.fifos.len()).map(|fifo| self.room_of(fifo))
    }

    fn room_of(&self, fifo: usize) -> u64 {
        let fifo = &self.fifos[fifo];
        DESCRIPTORS - 1 - (fifo.written - self.device.injected(fifo.number))
    }

    /// The FIFO of sends to an endpoint, by its place.
    pub fn fifo(&self, to: Endpoint) -> usize {
        let there = self.placement.of_task(to.task());
        usize::from(pin(self.device.torus(), self.device.node(), there) % self.resources.sends)
    }

    /// Reports what has happened until now: call it when the process is resumed.
    pub fn collect(&mut self) {
        if self.taken_by.take_if(|taken_by| *taken_by == self.device.runs_as()).is_some()
            && let Some(packet) = self.device.polled()
        {
            self.taken(packet);
            // A poll reads the tail of the FIFO, and takes what is before it.
            self.take();
        }
        self.collect_local();
        self.collect_ended();
        self.collectives.advance_of_threads(&self.device, &mut self.finished);
    }

    /// Notes the operations that have ended. A task may have thousands under way and be resumed for each
    /// packet, so they are looked at only when the unit has ended any since.
    fn collect_ended(&mut self) {
        let (device, fifos) = (&self.device, &self.fifos);
        let shared = device.shared();
        if self.looked_at.replace(shared.changes()) == Some(shared.changes()) {
            return;
        }
        let (counters, finished, flights) = (&mut self.counters, &mut self.finished, &mut self.flights);
        self.pending.retain(|&ticket, pending| {
            let is_done = match *pending {
                Pending::Injected(fifo, written) => shared.injected(fifos[fifo].number) >= written,
                Pending::Counter(counter, asked) => shared.counted_down(counter).ticks() > asked,
            };
            if is_done {
                finished.push_back(ticket);
                if let Pending::Counter(counter, asked) = *pending {
                    counters.push(counter);
                    if let Some(flights) = flights
                        && let Some((node, bytes)) = flights.reads.remove(&ticket)
                    {
                        let (sent, found) = (Microticks::of_ticks(asked), device.thread().now());
                        flights.ended.push(Flight { part: Part::Bulk, bytes, node, sent, found });
                    }
                }
            }
            !is_done
        });
    }

    /// Sets up the network for a group of which this context's task is a member. Its class must be free at
    /// all its nodes, and none of them may use it before all have set it up. Returns the group's number, or
    /// `None` if the task is no member.
    pub fn add_group(&mut self, members: &Members, class: u8) -> Option<usize> {
        Some(self.adopt(Group::new(members, class, &self.device)?))
    }

    /// Adds a group for which the network has been set up. Returns its number.
    pub fn adopt(&mut self, group: Group) -> usize {
        self.collectives.add(group, &self.device, &self.placement, &self.costs, &self.memory)
    }

    /// Whether there is a group with this number.
    pub fn has_group(&self, group: usize) -> bool {
        self.collectives.has(group)
    }

    /// Whether a task is a member of a group.
    pub fn group_has(&self, group: usize, task: u32) -> bool {
        let at = self.device.torus().coordinates(self.placement.of_task(task).0);
        self.collectives.nodes(group).is_some_and(|nodes| nodes.contains(at))
    }

    /// Takes the next packet out of the reception FIFO, if there is one. If another hardware thread is about
    /// to, it takes what follows too.
    pub fn take(&mut self) {
        if self.taken_by.is_none() {
            self.taken_by = Some(self.device.runs_as());
            self.device.take(self.reception());
        }
    }

    /// The hardware thread that takes a packet out of the reception FIFO, as a process of the node.
    pub fn taken_by(&self) -> Option<u8> {
        self.taken_by
    }

    fn reception(&self) -> u16 {
        self.resources.reception(self.device.process(), self.endpoint.offset() as u16)
    }

    /// Whether there is something to poll.
    pub fn has_arrivals(&self) -> bool {
        !self.inbox.is_empty() || !self.finished.is_empty()
    }

    /// The condition that a packet arrives.
    pub fn packet_watch(&self) -> Watch {
        Watch::Packet(self.reception())
    }

    /// The conditions under which there is more to do; the first is a packet.
    pub fn watches(&self) -> SmallVec<[Watch; 2]> {
        let mut watches: SmallVec<[Watch; 2]> = SmallVec::new();
        watches.push(self.packet_watch());
        let mut first: BTreeMap<usize, u64> = BTreeMap::new();
        for pending in self.pending.values() {
            match *pending {
                Pending::Counter(counter, _) => watches.push(Watch::Counter(counter)),
                Pending::Injected(fifo, written) => {
                    first.entry(fifo).and_modify(|n| *n = written.min(*n)).or_insert(written);
                }
            }
        }
        watches.extend(first.into_iter().map(|(fifo, n)| Watch::Injected(self.fifos[fifo].number, n)));
        watches.extend(self.collectives.watches());
        watches.extend(self.queues.watches(&self.device));
        watches.extend(self.is_full.map(|fifo| Watch::Room(self.fifos[fifo].number)));
        watches
    }

    /// Conditions of space in the FIFOs of sends that have none.
    pub fn without_room(&self) -> impl Iterator<Item = Watch> {
        let full = self.room().enumerate().filter(|&(_, room)| room == 0);
        full.map(|(fifo, _)| Watch::Room(self.fifos[fifo].number))
    }

    /// A wait begins: the conditions that end it, the first of which is a packet.
    pub fn watches_of_wait(&mut self) -> SmallVec<[Watch; 2]> {
        let any = self.watches();
        self.is_full = None;
        self.queues.retry();
        any
    }

    /// Waits until there is something to do.
    pub fn wait(&mut self, at_most: Option<Microticks>) {
        let any = self.watches_of_wait();
        self.device.thread().wait(Wait { at_most, ..Wait::for_any(any) });
    }

    /// The unit's interface.
    pub fn device(&self) -> &UnitDevice {
        &self.device
    }

    /// See [`UnitDevice::run_as`].
    pub fn run_as(&mut self, process: u8) {
        self.device.run_as(process);
    }

    /// The process's memory.
    pub fn memory(&self) -> &Arc<Mutex<ProcessMemory>> {
        &self.memory
    }

    fn taken(&mut self, packet: Packet) {
        if let Some(flights) = &mut self.flights
            && packet.source != self.device.node()
        {
            let (sent, found) = (Microticks::at(packet.made), self.device.thread().now());
            let (bytes, node) = (32 * u64::from(packet.chunks), packet.source);
            flights.ended.push(Flight { part: Part::Eager, bytes, node, sent, found });
        }
        let word = packet.software as u64;
        let length = (packet.software >> 64) as u64 & ((1 << LENGTH_BITS) - 1);
        let Some(head) = Head::of_word(word) else { return };
        let valid = length.saturating_sub(packet.offset).min(512) as usize;
        let mut bytes = packet.data.as_deref().unwrap_or_default().to_vec();
        bytes.resize(valid, 0);
        // Packets of data are used as they come.
        if head.kind() != HeadKind::More && length > valid as u64 {
            let all = self.partial.entry(head.origin()).or_default();
            all.extend_from_slice(&bytes);
            if (all.len() as u64) < length {
                return;
            }
            bytes = self.partial.remove(&head.origin()).unwrap_or_default();
        }
        self.inbox.push_back((head, bytes));
    }

    fn ticket(&mut self, pending: Pending) -> Begun {
        self.next_ticket += 1;
        self.pending.insert(self.next_ticket, pending);
        self.looked_at = None;
        Begun::Later(self.next_ticket)
    }

    /// Injects a descriptor in the FIFO for a target. Returns the FIFO.
    fn submit(&mut self, fifo: usize, descriptor: &Descriptor) -> Result<(), Full> {
        if MuDevice::inject(&self.device, self.fifos[fifo].number, descriptor).is_err() {
            self.is_full = Some(fifo);
            return Err(Full);
        }
        self.fifos[fifo].written += 1;
        Ok(())
    }

    /// Space for the data of the next descriptor of a FIFO.
    fn slot(&self, fifo: usize) -> u64 {
        let SendFifo { written, slots, .. } = self.fifos[fifo];
        slots + written % DESCRIPTORS * PACKET_MAX as u64
    }

    fn message(&self, to: Endpoint, head: Head, payload: u64, length: u64) -> Descriptor {
        let (node, process) = self.placement.of_task(to.task());
        let fifo = self.resources.reception(process, to.offset() as u16);
        let software = u128::from(head.to_word()) | u128::from(length) << 64;
        let kind = Kind::MemoryFifo { fifo, software, interrupt: false };
        self.describe((node, process), payload, length, kind)
    }

    fn describe(&self, to: (u32, u8), payload: u64, length: u64, kind: Kind) -> Descriptor {
        // Packets of several network FIFOs could overtake each other.
        let map = match to.0 == self.device.node() {
            true => LOCAL & LOCAL.wrapping_neg(),
            false => 1 << pin(self.device.torus(), self.device.node(), to),
        };
        let network = Network::in_order(to.0);
        Descriptor { payload, length, map, network, kind, prefetch_only: false }
    }

    /// The address of a free counter.
    fn counter(&mut self) -> u64 {
        if self.counters.is_empty() {
            let first = self.device.allocate_memory(8 * COUNTERS);
            self.counters.extend((0..COUNTERS).rev().map(|n| first + 8 * n));
        }
        self.counters.pop().expect("some were added")
    }

    /// Where a group's tasks are, if it can have a class: ranges of tasks, both ends included.
    pub fn members(&self, tasks: &[(u32, u32)]) -> Option<Members> {
        let all = tasks.iter().flat_map(|&(low, high)| low..=high);
        Members::of_tasks(all, &self.placement, self.device.torus())
    }

    fn physical(&self, range: Range) -> u64 {
        lock(&self.memory).physical(range)
    }
}

impl PamiDevice for UnitContext {
    /// The packet that was polled last.
    type Payload = ();

    fn packet_max(&self) -> usize {
        PACKET_MAX
    }

    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    fn has(&self, endpoint: Endpoint) -> bool {
        endpoint.task() < self.placement.tasks && endpoint.offset() < self.resources.contexts.into()
    }

    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full> {
        if self.is_local(to) {
            return self.write_slot(to, head, &parts.concat());
        }
        let fifo = self.fifo(to);
        let (slot, bytes) = (self.slot(fifo), parts.concat());
        let descriptor = self.message(to, head, slot, bytes.len() as u64);
        self.submit(fifo, &descriptor)?;
        self.device.store(slot, &bytes);
        Ok(())
    }

    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full> {
        if data.bytes == 0 {
            return self.inject(to, head, [bytes, &[]]);
        }
        let data = self.device.load(self.physical(data), data.bytes as usize);
        self.spend(Step::Copy(data.len() as u64));
        self.inject(to, head, [bytes, &data])
    }

    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        if self.is_local(to) {
            return self.send_local(to, head, data);
        }
        let fifo = self.fifo(to);
        let descriptor = self.message(to, head, self.physical(data), data.bytes);
        self.submit(fifo, &descriptor)?;
        let written = self.fifos[fifo].written;
        Ok((data.bytes, self.ticket(Pending::Injected(fifo, written))))
    }

    fn poll(&mut self) -> Option<Arrival<()>> {
        if let Some(ticket) = self.finished.pop_front() {
            return Some(Arrival::Finished(ticket));
        }
        self.inbox.front().map(|&(head, _)| Arrival::Packet(head, ()))
    }

    fn release(&mut self) {
        self.inbox.pop_front();
    }

    fn bytes(&self, (): ()) -> &[u8] {
        self.inbox.front().map_or(&[], |(_, bytes)| bytes)
    }

    fn store(&mut self, (): (), part: std::ops::Range<usize>, to: u64) {
        if !part.is_empty() {
            let bytes = part.len() as u64;
            let at = self.physical(Range { address: to, bytes });
            self.device.store(at, &self.bytes(())[part]);
            self.spend(Step::Copy(bytes));
        }
    }

    fn load(&mut self, data: Range, packet: &mut Vec<u8>) {
        packet.extend(self.device.load(self.physical(data), data.bytes as usize));
        self.spend(Step::Copy(data.bytes));
    }

    fn distance(&self, with: Endpoint) -> Option<(u32, u32)> {
        let torus = self.device.torus();
        let at = |node| torus.coordinates(node).map(u32::from);
        let (own, there) = (at(self.device.node()), at(self.placement.of_task(with.task()).0));
        let dimensions = (0..torus.dimensions()).map(|d| (torus.length(d), torus.wraps(d)));
        Some(distance(own, there, dimensions))
    }

    fn reaches_all(&self) -> bool {
        false
    }

    fn expose(&mut self, memory: Range) -> u64 {
        self.physical(memory)
    }

    fn transfer(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer_pieces(way, with, &[(local, remote)]).map(|(_, begun)| begun)
    }

    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        if self.is_local(with) {
            return Ok((pieces.len(), self.copy_pieces(way, pieces)));
        }
        let fifo = self.fifo(with);
        let room = self.room_of(fifo) as usize;
        if room == 0 {
            self.is_full = Some(fifo);
            return Err(Remote::Full);
        }
        let count = pieces.len().min(room * pieces_per_descriptor(way));
        let begun = match way {
            Transfer::Put => self.write(with, &pieces[..count]),
            Transfer::Get => self.read(with, &pieces[..count]),
        };
        Ok((count, begun))
    }

    fn flush(&mut self, with: Endpoint) -> Result<Begun, Remote> {
        if self.is_local(with) { Ok(Begun::Done) } else { self.acknowledge(with) }
    }

    fn has_groups(&self) -> bool {
        true
    }

    fn free_classes(&mut self, tasks: &[(u32, u32)]) -> u64 {
        self.members(tasks).map_or(0, |_| Group::free_classes(&self.device))
    }

    fn join(&mut self, tasks: &[(u32, u32)], class: u8) -> usize {
        let members = self.members(tasks).expect("it has classes for them");
        let mut group = Group::new(&members, class, &self.device).expect("it is a member");
        group.continue_words(&self.device);
        self.adopt(group)
    }

    fn leave(&mut self, group: usize) {
        self.collectives.remove(group);
    }

    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        self.next_ticket += 1;
        self.collectives.begin(group, self.next_ticket, operation);
        self.collectives.advance_of_threads(&self.device, &mut self.finished);
        self.next_ticket
    }

    fn spend(&mut self, step: Step) {
        self.device.thread().spend(self.costs.of(step));
    }

    fn is_gone(&self, _: u32) -> bool {
        false
    }
}
