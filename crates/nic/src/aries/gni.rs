//! What programs on nodes with Aries NICs call, after the generic network interface (uGNI, `gni_pub.h`): communication domains, registered
//! memory, completion queues, posted operations; and below it FMA's own windows and launches. Each call costs the time of its instructions.
//!
//! A program is an `async fn`, one for each process. There is no runtime: its node's host polls it when what it waits for has happened.
//!
//! ```
//! use netloom_nic::aries::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
//!
//! /// Node 0 puts 8 bytes into node 1's memory, which has the same virtual handle on all nodes, and node 1 sees them come.
//! async fn put(gni: Gni) {
//!     gni.cdm_attach(1, 0).expect("of this job");
//!     gni.reserve_virtual_handles(1).expect("free");
//!     let options = MemOptions { virtual_mdh: Some(0), ..MemOptions::default() };
//!     let memory = gni.mem_register(0x1000, 4096, options).expect("free");
//!     if gni.place() == 0 {
//!         let queue = gni.cq_create(16);
//!         gni.store(0x1000, &7u64.to_le_bytes());
//!         let to = Endpoint::new(1, 0);
//!         let post = Post { queue: Some(queue), ..Post::new(PostKind::FmaPut, 0x1000, 0x1000, memory, 8) };
//!         gni.post_fma(to, post).await.expect("possible");
//!         gni.cq_wait_event(queue).await.expect("it comes");
//!     } else if gni.place() == 1 {
//!         gni.wait_memory(0x1000, 8, |bytes| bytes[0] == 7).await;
//!     }
//! }
//! # let _ = put;
//! ```

use super::Watch;
use super::address::{Job, MemHandle, PageSize, Segment};
use super::atomic::Amo;
use super::bte::{Move, TRANSFER_MAX_B, Transfer};
use super::collective::{ENGINES, Reduction, Tree};
use super::config::{CoreConfig, MILLI};
use super::fma::{Command, LINE_B, Target, What, Window};
use super::node::{Common, Event, Node, Queue, Receive, lock, place};
use super::orb::Notice;
use super::status::{Refusal, Status};
use netloom_fabric::router::tiled::Mode;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// A process, as its program sees it.
#[derive(Clone)]
pub struct Gni {
    node: u32,
    process: u8,
    mailbox: Arc<Mutex<Mailbox>>,
    here: Arc<Mutex<Node>>,
    common: Arc<Common>,
}

/// What a program waits for.
pub(super) enum Call {
    /// Its own instructions, microticks.
    Compute(u64),
    /// A store to the NIC, which leaves the core at the end of so long.
    Write { bytes: u32, command: Box<Command>, cost: u64 },
    /// Something to be seen in memory.
    Wait(Watch),
}

/// A figure that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is of, for whoever reads it.
    pub of: u64,
    /// The figure, millionths of a tick.
    pub microticks: u64,
}

/// What a program and its host tell each other.
#[derive(Default)]
pub(super) struct Mailbox {
    pub now: u64,
    pub call: Option<Call>,
    /// Whether the call has been carried out, and its program not yet been told.
    pub done: bool,
    pub notes: Vec<Note>,
    /// The process' own FMA descriptor.
    descriptor: Option<u8>,
}

/// The other side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Virtual node.
    pub node: u32,
    /// Process there.
    pub process: u8,
    /// What its events of this side's operations say.
    pub remote_event: u32,
}

impl Endpoint {
    /// A process of a virtual node.
    pub fn new(node: u32, process: u8) -> Self {
        Endpoint { node, process, remote_event: 0 }
    }
}

/// How memory is registered.
#[derive(Clone, Copy, Debug)]
pub struct MemOptions {
    /// Where events of it go that others ask for.
    pub queue: Option<u16>,
    /// Its pages: large ones are the default of the programming environment.
    pub page: PageSize,
    /// Whether others may only read it.
    pub is_read_only: bool,
    /// Which of the job's virtual handles it has.
    pub virtual_mdh: Option<u16>,
}

impl Default for MemOptions {
    fn default() -> Self {
        MemOptions { queue: None, page: PageSize::HUGE, is_read_only: false, virtual_mdh: None }
    }
}

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostKind {
    /// A put by the core's stores.
    FmaPut,
    /// A get by the core's stores; may have a flag written behind each of its responses, where it is one of up to 64 B.
    FmaGet,
    /// An atomic operation with its operands.
    Amo(Amo, [u64; 2]),
    /// An event at the remote memory's queue, with this to say.
    CqWrite(u32),
    /// A put by the block transfer engine.
    RdmaPut,
    /// A get by it.
    RdmaGet,
    /// A message by it for a receive that the other has posted.
    Send,
}

/// An operation, as it is posted.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// What it does.
    pub kind: PostKind,
    /// Address here, and there.
    pub local: u64,
    /// See `local`.
    pub remote: u64,
    /// Memory of the other side.
    pub memory: MemHandle,
    /// Its length.
    pub bytes: u64,
    /// Queue for the event of its end.
    pub queue: Option<u16>,
    /// Whether the other side has an event too.
    pub remote_event: bool,
    /// How its packets are routed.
    pub mode: Mode,
    /// Of the block transfer engine: starts only when all before it have ended.
    pub fence: bool,
    /// What its event says.
    pub id: u64,
    /// Of an FMA get: a word to be written behind its data, address and value.
    pub flag: Option<(u64, u64)>,
    /// Of the block transfer engine: launched from user space, not by a system call.
    pub from_user_space: bool,
}

impl Post {
    /// An operation without events.
    pub fn new(kind: PostKind, local: u64, remote: u64, memory: MemHandle, bytes: u64) -> Self {
        Post {
            kind,
            local,
            remote,
            memory,
            bytes,
            queue: None,
            remote_event: false,
            mode: Mode::Adaptive0,
            fence: false,
            id: 0,
            flag: None,
            from_user_space: true,
        }
    }
}

impl Gni {
    /// The machine's number of the node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Which of the node's processes this is.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Processes of each node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// The job that it has signed on to.
    ///
    /// # Panics
    /// If it has not.
    pub fn job(&self) -> &Job {
        let ptag = self.ptag().expect("signed on");
        self.common.job(ptag).expect("it exists")
    }

    /// Which of its job's virtual nodes this is.
    ///
    /// # Panics
    /// If it has not signed on.
    pub fn place(&self) -> u32 {
        self.job().place(self.node).expect("of the job")
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now_microticks(&self) -> u64 {
        lock(&self.mailbox).now
    }

    /// Keeps a figure that the program measured.
    pub fn note(&self, of: u64, microticks: u64) {
        lock(&self.mailbox).notes.push(Note { of, microticks });
    }

    /// What its instructions cost.
    pub fn core(&self) -> &CoreConfig {
        &self.common.config.core
    }

    fn ptag(&self) -> Result<u8, Refusal> {
        lock(&self.here).attached.get(&self.process).copied().ok_or(Refusal::Permission)
    }

    /// Signs on to a communication domain, with which comes an FMA descriptor (the kernel's part: it is not timed).
    ///
    /// # Errors
    /// If there is none of this ptag and cookie for this node; if all 127 FMA descriptors of the NIC are taken.
    pub fn cdm_attach(&self, ptag: u8, cookie: u32) -> Result<(), Refusal> {
        let job = self.common.job(ptag).filter(|job| job.cookie == cookie && job.place(self.node).is_some());
        job.ok_or(Refusal::Permission)?;
        let mut here = lock(&self.here);
        if here.attached.contains_key(&self.process) {
            return Err(Refusal::InvalidState);
        }
        lock(&self.mailbox).descriptor = Some(here.take_descriptor()?);
        here.attached.insert(self.process, ptag);
        Ok(())
    }

    /// Sets aside memory domain handles of this NIC for the job's virtual ones (the kernel's part). One process of a node does it.
    ///
    /// # Errors
    /// If that many in a row are not free, or it has been done.
    pub fn reserve_virtual_handles(&self, count: u16) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.reserve(ptag, count)
    }

    /// Registers memory of the process (the kernel's part).
    ///
    /// # Errors
    /// If it is empty or longer than an offset can tell, if all 4,096 handles are taken, or if the virtual one is not the job's or taken.
    pub fn mem_register(&self, address: u64, bytes: u64, options: MemOptions) -> Result<MemHandle, Refusal> {
        let MemOptions { queue, page, is_read_only, virtual_mdh } = options;
        let (process, ptag) = (self.process, self.ptag()?);
        if address + bytes > 1 << 48 {
            return Err(Refusal::InvalidParam);
        }
        let segment = Segment { process, ptag, address, bytes, page, is_read_only, queue };
        lock(&self.here).domains.register(segment, virtual_mdh)
    }

    /// Forgets memory that was registered.
    ///
    /// # Errors
    /// If it was not.
    pub fn mem_deregister(&self, memory: MemHandle) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.deregister(ptag, memory)
    }

    /// Makes a completion queue for so many events (the kernel's part).
    pub fn cq_create(&self, entries: usize) -> u16 {
        let mut here = lock(&self.here);
        let queue =
            Queue { process: self.process, room: entries, events: VecDeque::new(), is_overrun: false };
        here.queues.push(Some(queue));
        (here.queues.len() - 1) as u16
    }

    /// Takes a completion queue away.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn cq_destroy(&self, queue: u16) -> Result<(), Refusal> {
        let mut here = lock(&self.here);
        here.queue(queue).filter(|q| q.process == self.process).ok_or(Refusal::InvalidParam)?;
        here.queues[usize::from(queue)] = None;
        Ok(())
    }

    /// Looks once whether an event lies in a queue, and takes it.
    ///
    /// # Errors
    /// If none does; if the queue was full and events were lost; if it is not the process' own.
    pub async fn cq_get_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.compute_milliticks(self.core().poll_milliticks).await;
        self.take_event(queue)
    }

    fn take_event(&self, queue: u16) -> Result<Event, Refusal> {
        let mut here = lock(&self.here);
        let q = here.queue(queue).filter(|q| q.process == self.process).ok_or(Refusal::InvalidParam)?;
        if std::mem::take(&mut q.is_overrun) {
            return Err(Refusal::Overrun);
        }
        q.events.pop_front().ok_or(Refusal::NotDone)
    }

    /// Polls a queue until an event lies there, and takes it.
    ///
    /// # Errors
    /// If events were lost; if it is not the process' own.
    pub async fn cq_wait_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.call(Call::Wait(Watch::Queue(queue))).await;
        self.take_event(queue)
    }

    /// Stores bytes in the process' memory (not timed: see [`Self::compute_milliticks`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process' memory; zeros where nothing was ever stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }

    /// Stores a word, little-endian as the machine has it.
    pub fn store_word(&self, address: u64, word: u64) {
        self.store(address, &word.to_le_bytes());
    }

    /// A word of memory.
    pub fn load_word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.load(address, 8).try_into().expect("eight bytes"))
    }

    /// Polls memory until what lies there is what is waited for.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            self.call(Call::Wait(Watch::Memory { address, bytes })).await;
        }
    }

    /// Runs instructions of its own for so long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        if milliticks > 0 {
            self.call(Call::Compute(milliticks * MILLI * self.threads_of_core())).await;
        }
    }

    /// The process' own FMA descriptor.
    ///
    /// # Panics
    /// If it has not signed on.
    pub fn descriptor(&self) -> u8 {
        lock(&self.mailbox).descriptor.expect("signed on")
    }

    /// One more FMA descriptor, for a thread of its own (the kernel's part).
    ///
    /// # Errors
    /// If all 127 are taken.
    pub fn fma_descriptor(&self) -> Result<u8, Refusal> {
        self.ptag()?;
        lock(&self.here).take_descriptor()
    }

    /// Gives it back.
    pub fn free_fma_descriptor(&self, descriptor: u8) {
        lock(&self.here).descriptors &= !(1 << descriptor);
    }

    async fn write(&self, bytes: u32, command: Command, milliticks: u64) {
        let cost = milliticks * MILLI * self.threads_of_core();
        self.call(Call::Write { bytes, command: Box::new(command), cost }).await;
    }

    /// Processes that share this one's core.
    fn threads_of_core(&self) -> u64 {
        let cores = 2 * self.core().cores_per_cpu;
        let own = u32::from(self.process) % cores;
        u64::from((u32::from(self.processes()) - own).div_ceil(cores))
    }

    /// Sets what an FMA descriptor's window means: a store and an sfence.
    ///
    /// # Errors
    /// If the process has not signed on.
    pub async fn fma_set(&self, descriptor: u8, window: Window) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        self.write(DESCRIPTOR_B, Command::Set { descriptor, ptag, window }, self.core().store_milliticks)
            .await;
        Ok(())
    }

    /// Changes the memory domain handle of an FMA descriptor: a store and an sfence.
    pub async fn fma_set_memory(&self, descriptor: u8, memory: MemHandle) {
        let command = Command::SetMdh { descriptor, mdh: memory.mdh, is_virtual: memory.is_virtual };
        self.write(8, command, self.core().store_milliticks).await;
    }

    /// Sets the window and opens a transaction: a store and an sfence. What it asks for until [`Self::fma_close`] is told in one event.
    ///
    /// # Errors
    /// If the process has not signed on.
    pub async fn fma_open(
        &self,
        descriptor: u8,
        window: Window,
        queue: Option<u16>,
        id: u64,
    ) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        let notice = Notice { queue, user: id, ..Notice::default() };
        let command = Command::Open { descriptor, ptag, window, notice, packets: 0 };
        self.write(DESCRIPTOR_B, command, self.core().store_milliticks).await;
        Ok(())
    }

    /// Closes it.
    pub async fn fma_close(&self, descriptor: u8) {
        self.write(8, Command::Close { descriptor }, self.core().store_milliticks).await;
    }

    /// Stores bytes to an FMA window: a put of up to 64 B for each line of it, with one sfence behind them all.
    ///
    /// # Errors
    /// If they are not within the window.
    pub async fn fma_store(&self, descriptor: u8, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.check_window(at, bytes.len() as u64)?;
        let is_zero = bytes.iter().all(|&b| b == 0);
        let mut parts = lines(at, bytes.len() as u64).peekable();
        while let Some((begin, count)) = parts.next() {
            let part = &bytes[(begin - at) as usize..][..count as usize];
            let data = (!is_zero).then(|| part.into());
            let what = What::Put { bytes: count as u32, data };
            let cost = if parts.peek().is_none() {
                self.core().store_milliticks
            } else {
                self.core().line_milliticks
            };
            let command = Command::Remote { descriptor, target: Target::Window(begin), what };
            self.write(count as u32, command, cost).await;
        }
        Ok(())
    }

    fn check_window(&self, at: u64, bytes: u64) -> Result<(), Refusal> {
        let fits = bytes > 0 && at.checked_add(bytes).is_some_and(|end| end <= super::WINDOW_B);
        if fits { Ok(()) } else { Err(Refusal::InvalidParam) }
    }

    /// Stores control words to an FMA window's get side: a get of up to 64 B for each line of it, to an address here.
    ///
    /// # Errors
    /// If it is not within the window, or not at multiples of 4 B.
    pub async fn fma_fetch(
        &self,
        descriptor: u8,
        at: u64,
        bytes: u64,
        address: u64,
        flag: Option<(u64, u64)>,
    ) -> Result<(), Refusal> {
        self.check_window(at, bytes)?;
        aligned(&[at, bytes, address], 4)?;
        for (begin, count) in lines(at, bytes) {
            let address = address + (begin - at);
            let what = What::Get { bytes: count as u32, process: self.process, address, flag };
            let command = Command::Remote { descriptor, target: Target::Window(begin), what };
            self.write(8, command, self.core().store_milliticks).await;
        }
        Ok(())
    }

    /// An atomic operation through an FMA window; of a fetching one the old value comes to an address here.
    ///
    /// # Errors
    /// If it is not within the window, not aligned, or no operation that the hardware has.
    pub async fn fma_atomic(
        &self,
        descriptor: u8,
        at: u64,
        amo: Amo,
        operands: [u64; 2],
        address: u64,
    ) -> Result<(), Refusal> {
        self.check_window(at, amo.bytes().into())?;
        let what = self.amo(amo, operands, at, address)?;
        let command = Command::Remote { descriptor, target: Target::Window(at), what };
        self.write(16, command, self.core().store_milliticks).await;
        Ok(())
    }

    fn amo(&self, amo: Amo, operands: [u64; 2], there: u64, address: u64) -> Result<What, Refusal> {
        if !amo.exists() {
            return Err(Refusal::IllegalOp);
        }
        aligned(&[there], amo.bytes().into())?;
        let answer = amo.fetches.then_some((self.process, address));
        Ok(What::Amo { amo, operands, answer })
    }

    /// FMA launch of a put: a single write of 128 bits for a word to any virtual node and offset of the descriptor's memory.
    pub async fn launch_put(&self, descriptor: u8, node: u32, offset: u64, word: u64) {
        let data = (word != 0).then(|| word.to_le_bytes()[..].into());
        self.launch(descriptor, node, offset, What::Put { bytes: 8, data }).await;
    }

    /// FMA launch of a get of a word.
    pub async fn launch_get(
        &self,
        descriptor: u8,
        node: u32,
        offset: u64,
        address: u64,
        flag: Option<(u64, u64)>,
    ) {
        let what = What::Get { bytes: 8, process: self.process, address, flag };
        self.launch(descriptor, node, offset, what).await;
    }

    /// FMA launch of an atomic operation.
    ///
    /// # Errors
    /// If it is not aligned, or no operation that the hardware has.
    pub async fn launch_atomic(
        &self,
        descriptor: u8,
        node: u32,
        offset: u64,
        amo: Amo,
        operands: [u64; 2],
        address: u64,
    ) -> Result<(), Refusal> {
        let what = self.amo(amo, operands, offset, address)?;
        self.launch(descriptor, node, offset, what).await;
        Ok(())
    }

    async fn launch(&self, descriptor: u8, node: u32, offset: u64, what: What) {
        let cost = self.core().library_milliticks + self.core().store_milliticks;
        let command = Command::Remote { descriptor, target: Target::Launch { node, offset }, what };
        self.write(16, command, cost).await;
    }

    /// Waits until all that was asked for by way of an FMA descriptor has its response.
    pub async fn fma_sync(&self, descriptor: u8) {
        self.call(Call::Wait(Watch::Sync(descriptor))).await;
    }

    fn notice(&self, to: Endpoint, post: &Post, ptag: u8) -> Notice {
        Notice {
            queue: post.queue,
            user: post.id,
            remote: post.remote_event.then_some(to.remote_event),
            node: self.common.job(ptag).and_then(|job| job.node(to.node)).unwrap_or(0),
            mdh: post.memory.mdh,
            is_virtual: post.memory.is_virtual,
            ptag,
        }
    }

    /// Where in its segment a remote address lies; that it is within is for the destination to see.
    fn offset(post: &Post) -> Result<u64, Refusal> {
        post.remote.checked_sub(post.memory.address).ok_or(Refusal::InvalidParam)
    }

    /// Posts an operation by the core's own stores, as one transaction. It sets the window of the process' own FMA descriptor.
    ///
    /// # Errors
    /// What cannot be posted.
    pub async fn post_fma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        let (ptag, offset) = (self.ptag()?, Self::offset(&post)?);
        let in_line = offset % LINE_B;
        let count = lines(in_line, post.bytes).count() as u32;
        let single = match post.kind {
            PostKind::FmaPut | PostKind::FmaGet => None,
            PostKind::Amo(amo, operands) => Some(self.amo(amo, operands, post.remote, post.local)?),
            PostKind::CqWrite(user) => Some(What::Event { user }),
            _ => return Err(Refusal::InvalidParam),
        };
        if single.is_none() && (post.bytes == 0 || post.bytes > super::WINDOW_B - LINE_B) {
            return Err(Refusal::Size);
        }
        if post.kind == PostKind::FmaGet {
            aligned(&[post.local, post.remote, post.bytes], 4)?;
            self.is_registered(post.local, post.bytes)?;
        }
        let descriptor =
            self.open_posted(to, &post, (ptag, offset), if single.is_some() { 1 } else { count }).await;
        match (post.kind, single) {
            (_, Some(what)) => {
                let command = Command::Remote { descriptor, target: Target::Window(in_line), what };
                self.write(16, command, self.core().store_milliticks).await;
                Ok(())
            }
            (PostKind::FmaGet, _) => {
                self.fma_fetch(descriptor, in_line, post.bytes, post.local, post.flag).await
            }
            _ => {
                let bytes = self.load(post.local, post.bytes as usize);
                self.fma_store(descriptor, in_line, &bytes).await
            }
        }
    }

    /// Sets the process' own descriptor for what is posted, which will be so many requests.
    async fn open_posted(&self, to: Endpoint, post: &Post, (ptag, offset): (u8, u64), packets: u32) -> u8 {
        let descriptor = self.descriptor();
        let window = Window {
            node: to.node,
            mdh: post.memory.mdh,
            is_virtual: post.memory.is_virtual,
            offset: offset - offset % LINE_B,
            mode: post.mode,
            ..Window::default()
        };
        let notice = self.notice(to, post, ptag);
        let core = self.core();
        let command = Command::Open { descriptor, ptag, window, notice, packets };
        self.write(DESCRIPTOR_B, command, core.library_milliticks + core.store_milliticks).await;
        descriptor
    }

    /// Posts a put of bytes that lie in no registered memory, in place of those at the post's local address.
    ///
    /// # Errors
    /// What cannot be posted.
    pub(super) async fn put_bytes(&self, to: Endpoint, post: Post, bytes: &[u8]) -> Result<(), Refusal> {
        let (ptag, offset) = (self.ptag()?, Self::offset(&post)?);
        let in_line = offset % LINE_B;
        let count = lines(in_line, bytes.len() as u64).count() as u32;
        let descriptor = self.open_posted(to, &post, (ptag, offset), count).await;
        self.fma_store(descriptor, in_line, bytes).await
    }

    fn is_registered(&self, address: u64, bytes: u64) -> Result<(), Refusal> {
        let page = lock(&self.here).domains.page_of(self.process, address, bytes);
        page.map(|_| ()).ok_or(Refusal::InvalidParam)
    }

    /// Posts a transfer for the block transfer engine, or a message.
    ///
    /// # Errors
    /// What cannot be posted.
    pub async fn post_rdma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        let (what, mdh, is_virtual, offset) = match post.kind {
            PostKind::RdmaPut => (Move::Put, post.memory.mdh, post.memory.is_virtual, Self::offset(&post)?),
            PostKind::RdmaGet => (Move::Get, post.memory.mdh, post.memory.is_virtual, Self::offset(&post)?),
            PostKind::Send => (Move::Send, to.process.into(), false, 0),
            _ => return Err(Refusal::InvalidParam),
        };
        // As many packets as a sequence's count can tell.
        if post.bytes == 0 || offset % LINE_B + post.bytes > TRANSFER_MAX_B {
            return Err(Refusal::Size);
        }
        if what == Move::Get {
            aligned(&[post.local, post.remote, post.bytes], 4)?;
        }
        self.is_registered(post.local, post.bytes)?;
        let transfer = Box::new(Transfer {
            process: self.process,
            ptag,
            what,
            local: post.local,
            node: to.node,
            mdh,
            is_virtual,
            offset,
            bytes: post.bytes,
            mode: post.mode,
            fence: post.fence,
            notice: self.notice(to, &post, ptag),
            done: 0,
        });
        let core = self.core();
        let own = core.library_milliticks + core.store_milliticks;
        if post.from_user_space {
            self.write(64, Command::Transfer(transfer, true), own).await;
        } else {
            self.write(8, Command::Transfer(transfer, false), own + core.system_call_milliticks).await;
        }
        Ok(())
    }

    /// Posts memory for a message that is to come.
    ///
    /// # Errors
    /// If it is not registered.
    pub fn post_receive(&self, address: u64, bytes: u64, queue: Option<u16>, id: u64) -> Result<(), Refusal> {
        self.is_registered(address, bytes)?;
        let mut here = lock(&self.here);
        here.receives.entry(self.process).or_default().push_back(Receive { address, bytes, queue, user: id });
        Ok(())
    }

    /// Gives one of the NIC's collective engines its place in a tree (the kernel's part).
    ///
    /// # Errors
    /// If there is no such engine, or the tree has more than 32 branches.
    pub fn ce_configure(&self, engine: u8, tree: Tree) -> Result<(), Refusal> {
        tree.check()?;
        let ptag = self.ptag()?;
        let mut here = lock(&self.here);
        let slot = here.trees.get_mut(usize::from(engine)).ok_or(Refusal::InvalidParam)?;
        *slot = Some(Tree { ptag, ..tree });
        Ok(())
    }

    /// Joins an engine's next operation with a contribution: a value of 64 bits, or 32, and an identifier.
    ///
    /// # Errors
    /// If the engine has no tree, an operation is pending on it, or it is a product.
    pub async fn ce_join(
        &self,
        engine: u8,
        operation: Reduction,
        is_short: bool,
        value: [u64; 2],
    ) -> Result<(), Refusal> {
        if operation == Reduction::Product {
            return Err(Refusal::IllegalOp);
        }
        {
            let mut here = lock(&self.here);
            let number = usize::from(engine);
            if number >= ENGINES || here.trees[number].is_none() {
                return Err(Refusal::InvalidParam);
            }
            if std::mem::replace(&mut here.is_pending[number], true) {
                return Err(Refusal::ErrorResource);
            }
            here.results[number] = None;
        }
        let cost = self.core().library_milliticks + self.core().store_milliticks;
        let operation = operation.number(is_short);
        self.write(24, Command::Join { engine, operation, value }, cost).await;
        Ok(())
    }

    /// What an engine's last operation came to, and how it ended.
    ///
    /// # Errors
    /// If it has not ended.
    pub fn ce_result(&self, engine: u8) -> Result<([u64; 2], Status), Refusal> {
        lock(&self.here).results.get(usize::from(engine)).copied().flatten().ok_or(Refusal::NotDone)
    }

    async fn call(&self, call: Call) {
        lock(&self.mailbox).call = Some(call);
        std::future::poll_fn(|_| {
            let mut mailbox = lock(&self.mailbox);
            if std::mem::take(&mut mailbox.done) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Bytes of a write to an FMA descriptor **(ours)**.
const DESCRIPTOR_B: u32 = 32;

/// Refuses what is not at a multiple of so many bytes.
fn aligned(all: &[u64], to: u64) -> Result<(), Refusal> {
    if all.iter().all(|x| x.is_multiple_of(to)) { Ok(()) } else { Err(Refusal::Alignment) }
}

/// The parts of bytes from `start` on that lie in one line each: where and how long.
fn lines(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (start, start + bytes);
    std::iter::from_fn(move || {
        let part = (at, (at / LINE_B * LINE_B + LINE_B).min(end) - at);
        at += part.1;
        (part.1 > 0).then_some(part)
    })
}

/// A program on its node.
pub(super) struct Task {
    function: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    pub mailbox: Arc<Mutex<Mailbox>>,
}

impl Task {
    pub fn new<F>(
        node: u32,
        process: u8,
        common: &Arc<Common>,
        here: &Arc<Mutex<Node>>,
        function: impl FnOnce(Gni) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mailbox = Arc::default();
        let (here, common) = (Arc::clone(here), Arc::clone(common));
        let gni = Gni { node, process, mailbox: Arc::clone(&mailbox), here, common };
        Task { function: Mutex::new(Some(Box::pin(function(gni)))), mailbox }
    }

    /// Its bytes, without the program's own.
    pub fn bytes() -> usize {
        size_of::<Task>() + size_of::<Mailbox>() + 2 * size_of::<usize>()
    }

    /// Whether it has returned.
    pub fn is_done(&self) -> bool {
        lock(&self.function).is_none()
    }

    /// Ends it: its node is dead.
    pub fn end(&self) {
        *lock(&self.function) = None;
    }

    /// Lets it go on until its next call.
    pub fn poll(&self) {
        let mut function = lock(&self.function);
        if let Some(f) = &mut *function
            && f.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            *function = None;
        }
    }
}
