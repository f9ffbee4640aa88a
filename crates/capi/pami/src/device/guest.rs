//! The device of a program that runs on a simulated node: what it does goes to the simulator in lists, and
//! what has arrived comes back with the node's time.

use super::{Payload, memory_of, store};
use crate::context::{Context, context, live};
use crate::threads::{self, Registry};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::distance;
use netloom_messaging::pami::device::{
    Arrival, Begun, Collective, Full, GroupLimits, PamiDevice, Piece, Range, Remote, Step, Ticket, Transfer,
};
use netloom_messaging::pami::guest::hub::{Hub, Link, Shared};
use netloom_messaging::pami::guest::{Arrived, Reach, Reply, Report, Request, Requests, Then, ThreadNumber};
use netloom_messaging::pami::message_unit::pieces_per_descriptor;
use netloom_messaging::pami::packet::Head;
use netloom_shm::channel::{Channel, Channels, Side};
use std::cell::RefMut;
use std::ffi::c_void;
use std::io::{Error, Result as IoResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A guest: a process that runs on a simulated node.
pub struct Guest {
    pub task: u32,
    channels: Arc<Channels>,
    /// A child of it that did not start another program must not use it.
    pid: u32,
    shared: OnceLock<Arc<Shared>>,
}

/// Why a forked child is refused.
pub const FORKED: &str = "a forked child calls PAMI; only its parent is a task";

/// Whether this process was forked by a guest.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    IS_FORKED.store(true, Ordering::Relaxed);
    threads::forked();
}

impl Guest {
    /// The guest that this process is as this task, if it runs on a simulated node. The calling thread is its
    /// first.
    ///
    /// # Errors
    /// If it cannot reach the simulator.
    pub fn attach(task: u32) -> IoResult<Option<&'static Self>> {
        static GUEST: OnceLock<Guest> = OnceLock::new();
        let Some(channels) = Channels::inherited()? else { return Ok(None) };
        let channels = Arc::new(channels);
        let guest = Guest { task, channels, pid: std::process::id(), shared: OnceLock::new() };
        let guest = GUEST.get_or_init(|| guest);
        // SAFETY: a function that may run in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        *threads::registry() = Registry::new(guest.channels.threads());
        let first = threads::adopt(guest);
        let _ = guest.shared.set(Arc::clone(first.hub().shared()));
        Ok(Some(guest))
    }

    /// What its threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        self.shared.get().expect("the first thread has begun")
    }

    /// Whether this process was forked by a guest, and so is none.
    pub fn is_forked() -> bool {
        IS_FORKED.load(Ordering::Relaxed)
    }

    /// The way to the simulator of a thread that is about to begin.
    pub fn link(&self, thread: ThreadNumber) -> ChannelLink {
        // SAFETY: its thread is the only user of it.
        let side = |thread| unsafe { self.channels.side(self.task, thread, Side::Guest) };
        let nothing = Requests { list: vec![], then: Then::Go };
        let first = postcard::to_stdvec(&nothing).unwrap_or_else(|error| give_up(error));
        ChannelLink { channel: side(thread), first, pid: self.pid, computed_from_ns: 0.0 }
    }

    /// Tells the simulator that a thread begins which no thread of the guest has created.
    pub fn add_foreign(&self, thread: ThreadNumber) {
        // SAFETY: only an atomic word of it is used.
        let first = unsafe { self.channels.side(self.task, 0, Side::Guest) };
        first.add_foreign(thread);
    }
}

/// A thread's way to the simulator.
pub struct ChannelLink {
    channel: Channel,
    /// Its first message.
    first: Vec<u8>,
    pid: u32,
    /// The processor time of the thread at the last return, ns.
    computed_from_ns: f64,
}

/// The state of the calling thread of a guest.
pub fn lock(guest: &'static Guest) -> RefMut<'static, Hub<ChannelLink>> {
    threads::current().unwrap_or_else(|| threads::adopt(guest)).hub()
}

/// The processor time of this thread, ns.
fn processor_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a system call with a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Ends the process, which cannot go on without the simulator; at once, because what runs at a regular end
/// would wait for what the caller has locked.
pub fn give_up(why: impl std::fmt::Display) -> ! {
    eprintln!("netloom: process {} on a simulated node: {why}", std::process::id());
    // SAFETY: a library call without pointers.
    unsafe { libc::_exit(1) }
}

impl ChannelLink {
    fn wait(&mut self) -> Reply {
        self.channel.wait();
        threads::wait_for_leaving();
        let reply = postcard::from_bytes(self.channel.message());
        reply.unwrap_or_else(|error| give_up(Error::other(error)))
    }
}

impl Link for ChannelLink {
    fn begin(&mut self) -> Reply {
        if std::process::id() != self.pid {
            give_up(FORKED);
        }
        // The last thread of this number may be about to end.
        self.channel.wait();
        // SAFETY: a system call without pointers.
        self.channel.set_thread(unsafe { libc::syscall(libc::SYS_gettid) } as u32);
        self.channel.pass(&self.first);
        self.wait()
    }

    fn exchange(&mut self, requests: &Requests) -> Reply {
        match postcard::to_stdvec(requests) {
            Ok(message) => self.channel.pass(&message),
            Err(error) => give_up(error),
        }
        self.wait()
    }

    fn leave(&mut self, requests: &Requests) {
        // A forked child ends for itself.
        if std::process::id() == self.pid
            && self.channel.is_own_turn()
            && let Ok(message) = postcard::to_stdvec(requests)
        {
            self.channel.pass(&message);
        }
    }

    fn report(&self) -> Report {
        let live: Vec<usize> = live().iter().copied().collect();
        // SAFETY: they are live, and the simulator asks a thread that waits.
        let lines = live
            .iter()
            .filter_map(|&handle| unsafe { context(handle as *mut c_void) })
            .flat_map(Context::unfinished)
            .chain(crate::extensions::described())
            .collect();
        Report { lines, state: crate::extensions::waiting_state() }
    }

    fn starts_computing(&mut self) {
        self.computed_from_ns = processor_ns();
    }

    fn computed_ns(&mut self) -> f64 {
        processor_ns() - self.computed_from_ns
    }
}

/// A context's device.
pub struct GuestDevice {
    guest: &'static Guest,
    endpoint: Endpoint,
    /// The context's number among those of the task; the first of its client; and contexts of a client.
    number: u32,
    first: u32,
    per_client: u32,
    tasks: u32,
    /// Tasks of a node.
    per_node: u32,
    packet_max: usize,
    reach: Reach,
    polled: Option<(Head, Box<[u8]>)>,
    /// Whether the first group is that of all tasks, and the number of groups so far.
    has_world_group: bool,
    groups: usize,
    group_limits: GroupLimits,
}

/// Contexts of a client, and clients, of a task that may have this many contexts.
pub fn contexts_and_clients(contexts: u32) -> (usize, usize) {
    let per_client = (contexts / 2).max(1);
    (per_client as usize, (contexts / per_client) as usize)
}

impl GuestDevice {
    /// The device of the context with this offset of a client.
    pub fn new(guest: &'static Guest, task: u32, client: usize, offset: usize) -> Self {
        let mut locked = lock(guest);
        let (tasks, packet_max) = (locked.facts().tasks, locked.facts().packet_max_bytes);
        let (per_node, reach) = (locked.facts().tasks_per_node, locked.facts().reach);
        let group_limits = locked.facts().group_limits;
        let per_client = contexts_and_clients(locked.facts().contexts).0 as u32;
        let first = client as u32 * per_client;
        let number = first + offset as u32;
        let has_world_group = locked.open(number);
        drop(locked);
        let endpoint = Endpoint::new(task, offset as u32).expect("few contexts");
        let groups = usize::from(has_world_group);
        GuestDevice {
            guest,
            endpoint,
            number,
            first,
            per_client,
            tasks,
            per_node,
            packet_max,
            reach,
            polled: None,
            has_world_group,
            groups,
            group_limits,
        }
    }

    /// Its context's number among those of the task.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// An endpoint of this client, among all of a task.
    fn outside(&self, endpoint: Endpoint) -> u32 {
        let outside = Endpoint::new(endpoint.task(), self.first + endpoint.offset()).expect("it exists");
        if self.takes_network(endpoint) { outside.by_network().0 } else { outside.0 }
    }

    /// Whether messages to an endpoint take the network also within the node: Message Units can.
    fn takes_network(&self, endpoint: Endpoint) -> bool {
        endpoint.is_by_network() && self.reach == Reach::Exposed
    }

    /// Whether something has arrived.
    pub fn has_arrived(&self) -> bool {
        self.polled.is_some() || lock(self.guest).has_arrived(self.number)
    }

    /// Whether an endpoint is on this node, and is reached by shared memory.
    fn is_local(&self, endpoint: Endpoint) -> bool {
        let is_on_node = endpoint.task() / self.per_node == self.endpoint.task() / self.per_node;
        is_on_node && !self.takes_network(endpoint)
    }

    /// A head, with an origin to which answers take the path of the packet.
    fn word(&self, head: Head, to: Endpoint) -> u64 {
        let origin = if to.is_by_network() { head.origin().by_network() } else { head.origin() };
        head.from(Endpoint(self.outside(origin))).to_word()
    }

    /// The reverse of [`Self::word`].
    fn head(&self, word: u64) -> Option<Head> {
        let head = Head::of_word(word)?;
        let offset = head.origin().offset().checked_sub(self.first)?;
        let origin = Endpoint::new(head.origin().task(), offset)?;
        Some(head.from(if head.origin().is_by_network() { origin.by_network() } else { origin }))
    }
}

impl Drop for GuestDevice {
    fn drop(&mut self) {
        lock(self.guest).close(self.number);
    }
}

/// Each call is cold, so that it does not grow the path of a message between processes of this computer.
impl PamiDevice for GuestDevice {
    type Payload = Payload;

    #[cold]
    fn packet_max(&self) -> usize {
        self.packet_max
    }

    #[cold]
    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    #[cold]
    fn has(&self, endpoint: Endpoint) -> bool {
        endpoint.task() < self.tasks && endpoint.offset() < self.per_client
    }

    #[cold]
    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full> {
        let (from, to, head) = (self.number, self.outside(to), self.word(head, to));
        let mut hub = lock(self.guest);
        if hub.room(from) == 0 {
            return Err(Full);
        }
        hub.submit(from, 1, Request::Inject { from, to, head, bytes: parts.concat() });
        Ok(())
    }

    #[cold]
    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full> {
        if data.bytes > 0 {
            self.spend(Step::Copy(data.bytes));
        }
        // SAFETY: the protocols pass only what the program gave them to send.
        self.inject(to, head, [bytes, unsafe { memory_of(data) }])
    }

    #[cold]
    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        // The processes of a node copy.
        if self.is_local(to) {
            let part = data.part(0, data.bytes.min(self.packet_max as u64));
            self.inject_memory(to, head, &[], part)?;
            return Ok((part.bytes, Begun::Done));
        }
        let (from, to, head) = (self.number, self.outside(to), self.word(head, to));
        let mut hub = lock(self.guest);
        if hub.room(from) == 0 {
            return Err(Full);
        }
        let ticket = hub.ticket();
        hub.submit(from, 1, Request::Data { from, to, head, data: (data.address, data.bytes), ticket });
        Ok((data.bytes, Begun::Later(ticket)))
    }

    #[cold]
    fn poll(&mut self) -> Option<Arrival<Payload>> {
        if self.polled.is_none() {
            match lock(self.guest).take(self.number)? {
                Arrived::Finished(ticket) => return Some(Arrival::Finished(ticket)),
                Arrived::Packet(word, bytes) => self.polled = Some((self.head(word)?, bytes.into())),
            }
        }
        let (head, bytes) = self.polled.as_ref()?;
        Some(Arrival::Packet(*head, Payload { address: bytes.as_ptr(), length: bytes.len() }))
    }

    #[cold]
    fn release(&mut self) {
        self.polled = None;
    }

    #[cold]
    fn bytes(&self, payload: Payload) -> &[u8] {
        payload.bytes()
    }

    #[cold]
    fn store(&mut self, payload: Payload, part: std::ops::Range<usize>, to: u64) {
        self.spend(Step::Copy(part.len() as u64));
        // SAFETY: the program's dispatch function gave the address, for a message of this length.
        unsafe { store(payload, part, to) };
    }

    #[cold]
    fn load(&mut self, data: Range, packet: &mut Vec<u8>) {
        self.spend(Step::Copy(data.bytes));
        // SAFETY: the protocols pass only what the program gave them to send.
        packet.extend_from_slice(unsafe { memory_of(data) });
    }

    #[cold]
    fn reaches_all(&self) -> bool {
        false
    }

    #[cold]
    fn moves(&self, way: Transfer) -> bool {
        match self.reach {
            Reach::Exposed => true,
            Reach::Gets => way == Transfer::Get,
            Reach::Packets => false,
        }
    }

    #[cold]
    fn distance(&self, with: Endpoint) -> Option<(u32, u32)> {
        let hub = lock(self.guest);
        let facts = hub.facts();
        let node = |task: u32| {
            let place = task / facts.tasks_per_node;
            facts.nodes.get(place as usize).copied().unwrap_or(place)
        };
        let coordinates = |mut node: u32| {
            facts.torus.iter().map(move |&(length, _)| {
                let at = node % length;
                node /= length;
                at
            })
        };
        let [own, there] = [self.endpoint, with].map(|endpoint| coordinates(node(endpoint.task())));
        (!facts.torus.is_empty()).then(|| distance(own, there, facts.torus.iter().copied()))
    }

    #[cold]
    fn expose(&mut self, memory: Range) -> u64 {
        match self.reach {
            Reach::Exposed => lock(self.guest).expose(memory),
            Reach::Gets | Reach::Packets => memory.address,
        }
    }

    #[cold]
    fn own_address(&self, exposed: u64) -> u64 {
        match self.reach {
            Reach::Exposed => lock(self.guest).own_address(exposed).unwrap_or(0),
            Reach::Gets | Reach::Packets => exposed,
        }
    }

    #[cold]
    fn transfer(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer_pieces(way, with, &[(local, remote)]).map(|(_, begun)| begun)
    }

    #[cold]
    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        if !self.moves(way) {
            return Err(Remote::Unsupported);
        }
        let (from, with) = (self.number, self.outside(with));
        let mut hub = lock(self.guest);
        let (room, each) = (hub.room(from) as usize, pieces_per_descriptor(way));
        if room == 0 {
            return Err(Remote::Full);
        }
        let count = pieces.len().min(room * each);
        let ticket = hub.ticket();
        let of = |&(local, remote): &Piece| (local.address, local.bytes, remote);
        let pieces = pieces[..count].iter().map(of).collect();
        hub.submit(from, count.div_ceil(each) as u64, Request::Transfer { from, way, with, pieces, ticket });
        Ok((count, Begun::Later(ticket)))
    }

    #[cold]
    fn flush(&mut self, with: Endpoint) -> Result<Begun, Remote> {
        let (from, with) = (self.number, self.outside(with));
        let mut hub = lock(self.guest);
        if hub.room(from) == 0 {
            return Err(Remote::Full);
        }
        let ticket = hub.ticket();
        hub.submit(from, 1, Request::Flush { from, with, ticket });
        Ok(Begun::Later(ticket))
    }

    #[cold]
    fn spend(&mut self, step: Step) {
        lock(self.guest).spend(step);
    }

    #[cold]
    fn world_group(&self) -> Option<usize> {
        self.has_world_group.then_some(0)
    }

    #[cold]
    fn group_limits(&self) -> GroupLimits {
        self.group_limits
    }

    #[cold]
    fn free_classes(&mut self, tasks: &[(u32, u32)]) -> u64 {
        lock(self.guest).classes(self.number, tasks)
    }

    #[cold]
    fn join(&mut self, tasks: &[(u32, u32)], class: u8) -> usize {
        let (by, tasks, group) = (self.number, tasks.to_vec(), self.groups);
        self.groups += 1;
        lock(self.guest).submit(by, 0, Request::Join { by, tasks, class, group });
        group
    }

    #[cold]
    fn leave(&mut self, group: usize) {
        let by = self.number;
        lock(self.guest).submit(by, 0, Request::Leave { by, group });
    }

    #[cold]
    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        let by = self.number;
        let mut hub = lock(self.guest);
        let ticket = hub.ticket();
        hub.submit(by, 0, Request::Collective { by, group, operation, ticket });
        ticket
    }

    #[cold]
    fn is_gone(&self, _: u32) -> bool {
        false
    }
}
