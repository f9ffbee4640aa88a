//! A guest's task on any network interface whose machine has a [`Transport`]: the messages take the time that
//! those of skeletons and traces take there, and the packets' bytes travel beside them ([`InFlight`]). Data
//! that a task reads of another is fetched, where the interface can do that, and copied from one program's
//! memory to the other's when the fetch has ended; writes go through packets (see
//! [`PamiDevice::moves`](crate::pami::device::PamiDevice::moves)).
//!
//! Tasks of a node share its interface, each with a transport of its own. What they send to each other does
//! not go through it, but through the node's memory: each task has a queue of packets there. A sender takes a
//! slot and writes the packet, which is one more access to a line that another core has written, besides the
//! copy of the data; so does the receiver, who finds it by polling
//! ([`Operation::Notify`](netloom_node::process::Operation::Notify)). Queues have no end **(ours)**. Where
//! the interface fetches, a task copies what it reads of another one of its node directly, as by XPMEM or the
//! kernel's cross memory attach.
//!
//! Where the interface executes collective operations, all tasks are a group, if each has a node of its own:
//! it does one operation after the other (`messages/collectives.rs`).

mod collectives;

use super::collective_data::CollectiveData;
use super::{Arrival, ContextPort, Interface, Watches};
use crate::pami::device::{Begun, Collective, Full, GroupLimits, Piece, Range, Step, Ticket, Transfer};
use crate::pami::guest::process::Settings;
use crate::pami::guest::{ContextNumber, Contexts, Facts, Reach};
use crate::pami::message_unit::memory::Mapping;
use crate::pami::packet::{Head, Kind as PacketKind};
use crate::pami::{Costs, Endpoint};
use crate::program::Collective as ByHardware;
use crate::slab::Slab;
use crate::transit::{Flight, Part};
use crate::transport::{ENVELOPE_B, Envelope, Event, Kind, Transport};
use crate::transports::packets::Placement;
use netloom_node::memory::AddressSpace;
use netloom_node::process::ProcessId;
use netloom_node::program::lock;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Most bytes of a packet whose interface takes longer messages.
const PACKET_MAX: u64 = 8192;
/// Data is given to a program in packets of at most this length, bytes.
const DATA_B: usize = 1 << 15;
/// Packets and operations that a context may begin before it must ask again.
const ROOM: u64 = 256;

/// The group of all tasks.
const WORLD: usize = 0;

/// Gives access to the memory of a task.
pub type MemoryOf = Arc<dyn Fn(u32) -> Box<dyn AddressSpace> + Send + Sync>;

/// What a message in flight stands for: the last of a packet's messages has its context, head and bytes.
struct Carried {
    packet: Option<(ContextNumber, Head, Vec<u8>)>,
    sent: Microticks,
}

/// By receiver and sequence.
type BySequence = HashMap<(u32, u32), Carried>;

/// Packets whose messages are in flight, or whose receiver on the same node has not been notified of them, by
/// sender: a receiver takes them when their messages have arrived. And the data of collective operations.
pub struct InFlight {
    packets: Box<[Mutex<BySequence>]>,
    collectives: CollectiveData,
}

impl InFlight {
    /// For a job of this number of tasks.
    pub fn new(tasks: u32) -> Self {
        let packets = (0..tasks).map(|_| Mutex::default()).collect();
        InFlight { packets, collectives: CollectiveData::new(tasks) }
    }
}

/// What ends when the processor has written a message.
#[derive(Clone, Copy, Debug)]
enum End {
    /// A packet, or a part of something longer: the call that sent it returns.
    Packet,
    /// A packet that waits for space at its receiver: the call has returned, for an `MPI_Isend` must.
    Queued,
    /// The program may reuse its memory.
    Data(ContextNumber, Ticket),
}

/// Data that is fetched: for which operation, from whom, the address there, the place here, and when it was
/// asked for.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    of: (ContextNumber, Ticket),
    from: u32,
    remote: u64,
    local: Range,
    asked: Microticks,
}

/// What has arrived at a context.
#[derive(Default)]
struct Inbox {
    arrivals: VecDeque<Arrival>,
    flights: Vec<Flight>,
}

/// Messages that have arrived before those sent earlier, and when, by sequence; and the next in order.
#[derive(Default)]
struct Order {
    next: u32,
    early: BTreeMap<u32, (u64, Microticks)>,
}

/// A task's messages.
struct Messages<C, W> {
    transport: Box<dyn Transport<Command = C, Watch = W>>,
    own: u32,
    placement: Arc<Placement>,
    in_flight: Arc<InFlight>,
    memory_of: MemoryOf,
    costs: Costs,
    inboxes: BTreeMap<ContextNumber, Inbox>,
    /// The next sequence, by receiver.
    sent: HashMap<u32, u32>,
    orders: HashMap<u32, Order>,
    /// Of a transport that does not copy: messages that the processor has not written.
    sends: Slab<End>,
    /// Those of them that hold the task.
    held: usize,
    fetches: Slab<Fetch>,
    /// Fetches of an operation that have not ended.
    unfetched: HashMap<(ContextNumber, Ticket), usize>,
    /// Collective operations that the interface is to execute, and the number of the first of them: it has
    /// begun.
    collectives: VecDeque<(ContextNumber, Ticket, Collective)>,
    collective: u64,
    next_ticket: Ticket,
    notes_flights: bool,
}

impl<C: Send + 'static, W: Copy + Send + 'static> Messages<C, W> {
    fn now(&self) -> Microticks {
        self.transport.thread().now()
    }

    fn inbox(&mut self, context: ContextNumber) -> &mut Inbox {
        self.inboxes.entry(context).or_default()
    }

    /// To copy the data of an immediate message, at either end. The library's costs are those of PAMI, which
    /// has no other for them than a fixed one; it takes the time of other copies itself.
    fn copy_immediate(&self, head: Head, bytes: &[u8]) {
        if head.kind() == PacketKind::Immediate {
            let data_bytes = bytes.len().saturating_sub(head.header_bytes().into()) as u64;
            self.transport.thread().spend(self.costs.of(Step::Copy(data_bytes)));
        }
    }

    fn deliver(&mut self, context: ContextNumber, head: Head, bytes: Vec<u8>) {
        self.copy_immediate(head, &bytes);
        let inbox = self.inbox(context);
        if bytes.len() <= DATA_B {
            return inbox.arrivals.push_back(Arrival::Packet(head, bytes));
        }
        inbox.arrivals.extend(bytes.chunks(DATA_B).map(|part| Arrival::Packet(head, part.to_vec())));
    }

    /// Sends a packet as a message with this number of bytes of data, or as several of them. `end` ends when
    /// the processor has written the last.
    fn send(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>, data_bytes: u64, end: End) {
        let (task, context) = (to.task(), to.offset());
        if task == self.own {
            if let End::Data(context, ticket) = end {
                self.inbox(context).arrivals.push_back(Arrival::Finished(ticket));
            }
            return self.deliver(context, head, bytes);
        }
        if self.placement.share_node(task, self.own) {
            if let End::Data(context, ticket) = end {
                self.inbox(context).arrivals.push_back(Arrival::Finished(ticket));
            }
            return self.write_local(to, head, bytes);
        }
        let most = self.transport.eager_max_bytes().max(1);
        let messages = data_bytes.div_ceil(most).max(1);
        let sent = self.transport.thread().reached();
        let mut packet = Some((context, head, bytes));
        for number in 1..=messages {
            let is_last = number == messages;
            let end = if is_last { end } else { End::Packet };
            let bytes = (data_bytes - (number - 1) * most).min(most);
            let copies = self.transport.copies(bytes);
            // What the transport copies part by part may need the receiver's calls before the last part.
            let end = match end {
                End::Packet if self.transport.copies_parts(bytes) => End::Queued,
                end => end,
            };
            let request = if copies { 0 } else { self.sends.insert(end) as u32 };
            if !copies && matches!(end, End::Packet) {
                self.held += 1;
            }
            let packet = if is_last { packet.take() } else { None };
            let sequence = self.carry(task, Carried { packet, sent });
            if is_last
                && copies
                && let End::Data(context, ticket) = end
            {
                self.inbox(context).arrivals.push_back(Arrival::Finished(ticket));
            }
            self.transport.send(task, Envelope { kind: Kind::Eager, sequence, tag: 0, bytes, request });
        }
    }

    /// Puts what a message stands for where its receiver will look. Returns its sequence.
    fn carry(&mut self, to: u32, carried: Carried) -> u32 {
        let next = self.sent.entry(to).or_insert(0);
        let sequence = *next;
        *next = next.wrapping_add(1);
        lock(&self.in_flight.packets[self.own as usize]).insert((to, sequence), carried);
        sequence
    }

    /// Writes a packet into the queue of another task of the node.
    fn write_local(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>) {
        let thread = self.transport.thread().clone();
        thread.spend(self.costs.of(Step::Atomic));
        let carried = Carried { packet: Some((to.offset(), head, bytes)), sent: thread.reached() };
        self.carry(to.task(), carried);
        thread.notify(self.placement.process(to.task()), self.own);
    }

    /// Takes packets out of the task's own queue, whose senders have notified it.
    fn collect_local(&mut self) {
        for from in self.transport.thread().take_notices() {
            self.transport.thread().spend(self.costs.of(Step::Atomic));
            let next = self.orders.entry(from).or_default();
            let sequence = next.next;
            next.next = sequence.wrapping_add(1);
            let carried = lock(&self.in_flight.packets[from as usize]).remove(&(self.own, sequence));
            if let Some(Carried { packet: Some((context, head, packet)), .. }) = carried {
                self.deliver(context, head, packet);
            }
        }
    }

    /// A message has arrived: those of its sender that are next in order are taken.
    fn arrived(&mut self, from: u32, envelope: &Envelope) {
        let now = self.now();
        let order = self.orders.entry(from).or_default();
        order.early.insert(envelope.sequence, (envelope.bytes, now));
        loop {
            let order = self.orders.entry(from).or_default();
            let Some((bytes, found)) = order.early.remove(&order.next) else { return };
            let sequence = order.next;
            order.next = sequence.wrapping_add(1);
            let carried = lock(&self.in_flight.packets[from as usize]).remove(&(self.own, sequence));
            let Some(Carried { packet: Some((context, head, packet)), sent }) = carried else { continue };
            if self.notes_flights {
                let node = self.placement.node(from);
                let flight = Flight { part: Part::Eager, bytes, node, sent, found };
                self.inbox(context).flights.push(flight);
            }
            self.deliver(context, head, packet);
        }
    }

    /// The data of a fetch is there.
    fn fetched(&mut self, request: u32) {
        let Some(fetch) = self.fetches.remove(request.into()) else { return };
        let Fetch { of, from, remote, local, asked } = fetch;
        self.copy(from, remote, self.own, local.address, local.bytes);
        if self.notes_flights {
            let (node, found) = (self.placement.node(from), self.now());
            let flight = Flight { part: Part::Bulk, bytes: local.bytes, node, sent: asked, found };
            self.inbox(of.0).flights.push(flight);
        }
        self.ended(of);
    }

    /// One of the fetches of an operation has ended.
    fn ended(&mut self, of: (ContextNumber, Ticket)) {
        let left = self.unfetched.entry(of).or_insert(1);
        *left -= 1;
        if *left == 0 {
            self.unfetched.remove(&of);
            self.inbox(of.0).arrivals.push_back(Arrival::Finished(of.1));
        }
    }

    /// Copies from one task's memory to another's.
    fn copy(&self, from: u32, source: u64, to: u32, target: u64, bytes: u64) {
        let (source_of, mut target_of) = ((self.memory_of)(from), (self.memory_of)(to));
        let mut buffer = vec![0; bytes.min(1 << 20) as usize];
        for at in (0..bytes).step_by(1 << 20) {
            let part = &mut buffer[..(bytes - at).min(1 << 20) as usize];
            source_of.load(source + at, part);
            target_of.store(target + at, part);
        }
    }

    /// Contexts at which something has arrived.
    fn arrived_at(&self) -> Contexts {
        let arrived = self.inboxes.iter().filter(|(_, inbox)| !inbox.arrivals.is_empty());
        arrived.map(|(&context, _)| context).collect()
    }

    /// Makes progress until something takes time.
    fn collect(&mut self) {
        self.collect_local();
        while !self.transport.thread().has_pending() {
            match self.transport.advance() {
                Some(Event::Arrived { from, envelope }) => self.arrived(from, &envelope),
                Some(Event::Fetched { request }) => self.fetched(request),
                Some(Event::Sent { request }) => match self.sends.remove(request.into()) {
                    Some(End::Packet) => self.held -= 1,
                    Some(End::Data(context, ticket)) => {
                        self.inbox(context).arrivals.push_back(Arrival::Finished(ticket));
                    }
                    Some(End::Queued) | None => {}
                },
                Some(Event::Collected) => self.end_collective(),
                Some(Event::Read { .. }) => {}
                None => return,
            }
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }
}

/// The interface of a task's node, by a transport.
pub struct MessageInterface<C, W> {
    messages: Arc<Mutex<Messages<C, W>>>,
    thread: Thread<C, W>,
    memory_of: MemoryOf,
    own: u32,
    /// Where it is notified of packets of other tasks of the node, if there are any.
    listens: Option<ProcessId>,
}

impl<C: Send + 'static, W: Copy + Send + 'static> MessageInterface<C, W> {
    /// That of a task, of a job whose tasks are on these nodes; `costs` are those of its library.
    pub fn new(
        transport: Box<dyn Transport<Command = C, Watch = W>>,
        own: u32,
        placement: &Arc<Placement>,
        in_flight: &Arc<InFlight>,
        memory_of: &MemoryOf,
        costs: &Costs,
    ) -> Self {
        let thread = transport.thread().clone();
        let messages = Messages {
            transport,
            own,
            placement: Arc::clone(placement),
            in_flight: Arc::clone(in_flight),
            memory_of: Arc::clone(memory_of),
            costs: costs.clone(),
            inboxes: BTreeMap::new(),
            sent: HashMap::new(),
            orders: HashMap::new(),
            sends: Slab::default(),
            held: 0,
            fetches: Slab::default(),
            unfetched: HashMap::new(),
            collectives: VecDeque::new(),
            collective: 0,
            next_ticket: 0,
            notes_flights: false,
        };
        let messages = Arc::new(Mutex::new(messages));
        let listens = (placement.per_node() > 1).then(|| placement.process(own));
        MessageInterface { messages, thread, memory_of: Arc::clone(memory_of), own, listens }
    }
}

impl<C: Send + 'static, W: Copy + Send + 'static> Interface for MessageInterface<C, W> {
    type Command = C;
    type Watch = W;
    type Context = MessageContext<C, W>;

    fn thread(&self) -> &Thread<C, W> {
        &self.thread
    }

    fn start(&mut self) {
        lock(&self.messages).transport.start();
    }

    /// A packet of the protocols is a message of the transport, of which the protocols' envelope is not
    /// counted as data.
    fn adapt(&self, facts: &mut Facts) {
        let messages = lock(&self.messages);
        let [broadcast_bytes, allreduce_bytes] = [ByHardware::Broadcast, ByHardware::Allreduce]
            .map(|what| messages.by_hardware(what).unwrap_or(0));
        facts.group_limits = GroupLimits { broadcast_bytes, allreduce_bytes };
        let eager_max = messages.transport.eager_max_bytes();
        facts.packet_max_bytes = eager_max.min(PACKET_MAX) as usize + ENVELOPE_B;
        facts.rendezvous_from_bytes = facts.rendezvous_from_bytes.min(eager_max.saturating_add(1));
        facts.reach = if messages.transport.fetches() { Reach::Gets } else { Reach::Packets };
    }

    fn open(&mut self, _: &Settings, endpoint: Endpoint) -> MessageContext<C, W> {
        let messages = Arc::clone(&self.messages);
        MessageContext { messages, number: endpoint.offset(), has_world: false }
    }

    fn has_world(&self) -> bool {
        lock(&self.messages).by_hardware(ByHardware::Barrier).is_some()
    }

    fn give_world(&mut self, context: &mut MessageContext<C, W>) -> bool {
        context.has_world = self.has_world();
        context.has_world
    }

    fn collect(&mut self, _: &mut [(ContextNumber, MessageContext<C, W>)], _: u8) -> Contexts {
        let mut messages = lock(&self.messages);
        let before = messages.arrived_at();
        messages.collect();
        messages.arrived_at().without(before)
    }

    fn listens(&self) -> Option<ProcessId> {
        self.listens
    }

    fn run_as(&mut self, process: u8) {
        lock(&self.messages).transport.run_as(process);
    }

    fn holds(&self) -> bool {
        lock(&self.messages).held > 0
    }

    fn is_idle(&self) -> bool {
        let messages = lock(&self.messages);
        messages.transport.is_idle() && messages.sends.is_empty()
    }

    fn progress(&self) -> (Watches<W>, Option<Microticks>) {
        lock(&self.messages).transport.watches()
    }

    /// Others use the program's own addresses.
    fn expose(&mut self, range: Range) -> Mapping {
        Mapping::identity(range)
    }

    fn is_exposed(&self, address: u64, bytes: u64) -> bool {
        address.checked_add(bytes).is_some()
    }

    fn touch(&mut self, range: Range) {
        let memory = (self.memory_of)(self.own);
        let mut byte = [0];
        memory.load(range.address, &mut byte);
        memory.load(range.address + range.bytes - 1, &mut byte);
    }
}

/// A context of a task, whose messages go by its transport.
pub struct MessageContext<C, W> {
    messages: Arc<Mutex<Messages<C, W>>>,
    number: ContextNumber,
    has_world: bool,
}

/// What has arrived for a context that is destroyed is lost.
impl<C, W> Drop for MessageContext<C, W> {
    fn drop(&mut self) {
        lock(&self.messages).inboxes.remove(&self.number);
    }
}

impl<C: Send + 'static, W: Copy + Send + 'static> ContextPort for MessageContext<C, W> {
    type Watch = W;

    fn next(&mut self) -> Option<Arrival> {
        lock(&self.messages).inboxes.get_mut(&self.number)?.arrivals.pop_front()
    }

    fn has_arrivals(&self) -> bool {
        lock(&self.messages).inboxes.get(&self.number).is_some_and(|inbox| !inbox.arrivals.is_empty())
    }

    fn room(&self) -> u64 {
        ROOM
    }

    fn packet_watches(&self) -> Watches<W> {
        lock(&self.messages).transport.watches().0
    }

    fn inject(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>) -> Result<(), Full> {
        let data_bytes = bytes.len().saturating_sub(ENVELOPE_B) as u64;
        let mut messages = lock(&self.messages);
        messages.copy_immediate(head, &bytes);
        messages.send(to, head, bytes, data_bytes, End::Packet);
        Ok(())
    }

    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<Begun, Full> {
        let mut messages = lock(&self.messages);
        let mut bytes = vec![0; data.bytes as usize];
        (messages.memory_of)(messages.own).load(data.address, &mut bytes);
        let ticket = messages.ticket();
        messages.send(to, head, bytes, data.bytes, End::Data(self.number, ticket));
        Ok(Begun::Later(ticket))
    }

    fn transfer(&mut self, way: Transfer, with: Endpoint, pieces: &[Piece]) -> Result<Begun, Full> {
        let mut messages = lock(&self.messages);
        let (own, from) = (messages.own, with.task());
        if from == own {
            for &(local, remote) in pieces {
                match way {
                    Transfer::Get => messages.copy(own, remote, own, local.address, local.bytes),
                    Transfer::Put => messages.copy(own, local.address, own, remote, local.bytes),
                }
            }
            return Ok(Begun::Done);
        }
        if way == Transfer::Put || !messages.transport.fetches() {
            return Err(Full);
        }
        if messages.placement.share_node(from, own) {
            for &(local, remote) in pieces {
                messages.transport.thread().spend(messages.costs.of(Step::Copy(local.bytes)));
                messages.copy(from, remote, own, local.address, local.bytes);
            }
            return Ok(Begun::Done);
        }
        let (ticket, asked) = (messages.ticket(), messages.transport.thread().reached());
        let of = (self.number, ticket);
        for &(local, remote) in pieces.iter().filter(|(local, _)| local.bytes > 0) {
            let request = messages.fetches.insert(Fetch { of, from, remote, local, asked }) as u32;
            *messages.unfetched.entry(of).or_insert(0) += 1;
            messages.transport.fetch(from, request, local.bytes, request);
        }
        if messages.unfetched.contains_key(&of) { Ok(Begun::Later(ticket)) } else { Ok(Begun::Done) }
    }

    fn flush(&mut self, _: Endpoint) -> Result<Begun, Full> {
        Ok(Begun::Done)
    }

    fn has_group(&self, group: usize) -> bool {
        self.has_world && group == WORLD
    }

    fn group_has(&self, group: usize, task: u32) -> bool {
        self.has_group(group) && (task as usize) < lock(&self.messages).placement.nodes().len()
    }

    fn collective(&mut self, _: usize, operation: Collective) -> Ticket {
        let mut messages = lock(&self.messages);
        let ticket = messages.ticket();
        messages.collectives.push_back((self.number, ticket, operation));
        if messages.collectives.len() == 1 {
            messages.begin_collective();
        }
        ticket
    }

    fn note_flights(&mut self) {
        lock(&self.messages).notes_flights = true;
    }

    fn take_flights(&mut self) -> Vec<Flight> {
        lock(&self.messages).inboxes.get_mut(&self.number).map_or(vec![], |i| std::mem::take(&mut i.flights))
    }
}
