//! Posted operations: executed by the core's own stores (`GNI_PostFma`) or by the block transfer engine
//! (`GNI_PostRdma`), and posted receives.

use super::device::AriesDevice;
use super::windows::{DESCRIPTOR_B, aligned, lines};
use super::{Endpoint, Gni, Step, lock};
use crate::device::Device;
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::atomic::Amo;
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{
    Command, LINE_B, Move, Notice, Receive, TRANSFER_MAX_B, Target, Transfer, WINDOW_B, What, Window,
};

/// The type of a posted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostKind {
    /// A put by the core's stores.
    FmaPut,
    /// A get by the core's stores; up to 64 B it may have a flag written after each of its responses.
    FmaGet,
    /// An atomic operation with its operands.
    Amo(Amo, [u64; 2]),
    /// An event with this data in the remote memory's queue.
    CqWrite(u32),
    /// A put by the block transfer engine.
    RdmaPut,
    /// A get by the block transfer engine.
    RdmaGet,
    /// A message by the block transfer engine to a posted receive.
    Send,
}

/// A posted operation.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// Its type.
    pub kind: PostKind,
    /// Local and remote address.
    pub local: u64,
    /// See `local`.
    pub remote: u64,
    /// The remote memory.
    pub memory: MemHandle,
    /// Its length, bytes.
    pub bytes: u64,
    /// Completion queue for its event.
    pub queue: Option<u16>,
    /// Whether it also generates a remote event.
    pub remote_event: bool,
    /// Routing mode of its packets.
    pub mode: Mode,
    /// For the block transfer engine: starts only after all earlier transfers have ended.
    pub fence: bool,
    /// The data of its event.
    pub id: u64,
    /// For an FMA get: a word to be written after its data, address and value.
    pub flag: Option<(u64, u64)>,
    /// For the block transfer engine: launched from user space instead of by a system call.
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

impl AriesDevice {
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

    /// The offset of a remote address in its segment; the destination checks that it is within bounds.
    fn offset(post: &Post) -> Result<u64, Refusal> {
        post.remote.checked_sub(post.memory.address).ok_or(Refusal::InvalidParam)
    }

    pub(super) fn post_fma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        let single = self.single(&post)?;
        let in_line = Self::offset(&post)? % LINE_B;
        let packets = if single.is_some() { 1 } else { lines(in_line, post.bytes).count() as u32 };
        let descriptor = self.open_posted(to, &post, ptag, packets)?;
        self.store_posted(descriptor, &post, single)
    }

    pub(super) fn post_chain(
        &self,
        to: Endpoint,
        posts: &[Post],
        queue: Option<u16>,
        id: u64,
    ) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        let whats: Result<Vec<_>, _> = posts.iter().map(|post| self.single(post)).collect();
        let whats = whats?;
        let Some(first) = posts.first() else { return Err(Refusal::InvalidParam) };
        let descriptor = self.descriptor();
        let notice = Notice { queue, user: id, ..Notice::default() };
        let window = Self::window(to, first)?;
        let open = Command::Open { descriptor, ptag, window, notice, packets: 0 };
        self.operation(DESCRIPTOR_B, open);
        for (n, (post, what)) in posts.iter().zip(whats).enumerate() {
            if n > 0 {
                self.fma_chain(descriptor);
                self.fma_set(descriptor, Self::window(to, post)?)?;
            }
            self.store_posted(descriptor, post, what)?;
        }
        self.fma_close(descriptor);
        Ok(())
    }

    /// The request of a post with a single request; `None` for puts and gets, which may have several.
    fn single(&self, post: &Post) -> Result<Option<What>, Refusal> {
        Self::offset(post)?;
        let single = match post.kind {
            PostKind::FmaPut | PostKind::FmaGet => None,
            PostKind::Amo(amo, operands) => Some(self.amo(amo, operands, post.remote, post.local)?),
            PostKind::CqWrite(user) => Some(What::Event { user }),
            _ => return Err(Refusal::InvalidParam),
        };
        if single.is_none() && (post.bytes == 0 || post.bytes > WINDOW_B - LINE_B) {
            return Err(Refusal::Size);
        }
        if post.kind == PostKind::FmaGet {
            aligned(&[post.local, post.remote, post.bytes], 4)?;
            self.is_registered(post.local, post.bytes)?;
        }
        Ok(single)
    }

    /// The window that a post needs.
    fn window(to: Endpoint, post: &Post) -> Result<Window, Refusal> {
        let offset = Self::offset(post)?;
        Ok(Window {
            node: to.node,
            mdh: post.memory.mdh,
            is_virtual: post.memory.is_virtual,
            offset: offset - offset % LINE_B,
            mode: post.mode,
            ..Window::default()
        })
    }

    /// The stores of a post, after its window has been set.
    fn store_posted(&self, descriptor: u8, post: &Post, single: Option<What>) -> Result<(), Refusal> {
        let in_line = Self::offset(post)? % LINE_B;
        match (post.kind, single) {
            (_, Some(what)) => {
                let command = Command::Remote { descriptor, target: Target::Window(in_line), what };
                self.write(&[Step::Store], 16, command);
                Ok(())
            }
            (PostKind::FmaGet, _) => self.fma_fetch(descriptor, in_line, post.bytes, post.local, post.flag),
            _ => {
                let bytes = self.load(post.local, post.bytes as usize);
                self.fma_store(descriptor, in_line, &bytes)
            }
        }
    }

    /// Sets the process's own descriptor for a post of `packets` requests.
    fn open_posted(&self, to: Endpoint, post: &Post, ptag: u8, packets: u32) -> Result<u8, Refusal> {
        let (descriptor, window) = (self.descriptor(), Self::window(to, post)?);
        let notice = self.notice(to, post, ptag);
        self.operation(DESCRIPTOR_B, Command::Open { descriptor, ptag, window, notice, packets });
        Ok(descriptor)
    }

    /// Posts a put of bytes that are not in registered memory, in place of those at the post's local address.
    ///
    /// # Errors
    /// If it is invalid.
    pub(super) fn put_bytes(&self, to: Endpoint, post: Post, bytes: &[u8]) -> Result<(), Refusal> {
        let (ptag, in_line) = (self.ptag()?, Self::offset(&post)? % LINE_B);
        let count = lines(in_line, bytes.len() as u64).count() as u32;
        let descriptor = self.open_posted(to, &post, ptag, count)?;
        self.fma_store(descriptor, in_line, bytes)
    }

    fn is_registered(&self, address: u64, bytes: u64) -> Result<(), Refusal> {
        let page = lock(&self.here).domains.page_of(self.process, address, bytes);
        page.map(|_| ()).ok_or(Refusal::InvalidParam)
    }

    pub(super) fn post_rdma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        let (what, mdh, is_virtual, offset) = match post.kind {
            PostKind::RdmaPut => (Move::Put, post.memory.mdh, post.memory.is_virtual, Self::offset(&post)?),
            PostKind::RdmaGet => (Move::Get, post.memory.mdh, post.memory.is_virtual, Self::offset(&post)?),
            PostKind::Send => (Move::Send, to.process.into(), false, 0),
            _ => return Err(Refusal::InvalidParam),
        };
        // The limit of a sequence's packet count.
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
        self.launch_transfer(transfer, post.from_user_space);
        Ok(())
    }

    /// Posts memory for an incoming message.
    ///
    /// # Errors
    /// If it is not registered.
    pub fn post_receive(&self, address: u64, bytes: u64, queue: Option<u16>, id: u64) -> Result<(), Refusal> {
        self.is_registered(address, bytes)?;
        let mut here = lock(&self.here);
        here.receives.entry(self.process).or_default().push_back(Receive { address, bytes, queue, user: id });
        Ok(())
    }

    /// A library operation that starts with a store to the NIC.
    pub(super) fn operation(&self, bytes: u32, command: Command) {
        self.write(&[Step::Library, Step::Store], bytes, command);
    }

    /// Posts a transfer to the block transfer engine: from user space, or by a system call.
    pub(super) fn launch_transfer(&self, transfer: Box<Transfer>, from_user_space: bool) {
        if !from_user_space {
            self.spend(Step::SystemCall);
        }
        self.operation(if from_user_space { 64 } else { 8 }, Command::Transfer(transfer, from_user_space));
    }
}

impl Gni {
    /// Posts an operation by the core's own stores, as one transaction. It sets the window of the process's
    /// own FMA descriptor.
    ///
    /// # Errors
    /// If it is invalid.
    pub async fn post_fma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        self.after(self.device.post_fma(to, post)).await
    }

    /// Posts a chain of operations by the core's own stores as one transaction (`GNI_CtPostFma`): each starts
    /// when all earlier ones have completed at their destinations, and one event reports the end of all. A
    /// [`PostKind::CqWrite`] at its end is `GNI_CtPostCqWrite`.
    ///
    /// # Errors
    /// If any operation is invalid; then none is posted.
    pub async fn post_chain(
        &self,
        to: Endpoint,
        posts: &[Post],
        queue: Option<u16>,
        id: u64,
    ) -> Result<(), Refusal> {
        self.after(self.device.post_chain(to, posts, queue, id)).await
    }

    /// Posts a transfer for the block transfer engine, or a message.
    ///
    /// # Errors
    /// If it is invalid.
    pub async fn post_rdma(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        self.after(self.device.post_rdma(to, post)).await
    }
}
