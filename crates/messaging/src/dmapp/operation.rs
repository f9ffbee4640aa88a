//! DMAPP operations: puts and gets, strided or indexed, to and from one or many processes, and atomic
//! operations; each in three forms, whose names end without a suffix, in `_nb`, or in `_nbi`.

use super::{Dmapp, SyncId};
use crate::gni::{Post, PostKind};
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::Window;
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::atomic::Amo;
use netloom_nic::aries::status::{Refusal, Status};

/// The element type of strides and indices (`dmapp_type_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Element {
    /// One byte.
    Byte = 1,
    /// Four bytes.
    Word = 4,
    /// Eight bytes.
    #[default]
    Quad = 8,
    /// Sixteen bytes.
    Double = 16,
}

/// The direction of the transfer.
#[derive(Clone, Copy, Debug)]
enum Access {
    Put,
    Get,
    Amo(Amo, [u64; 2]),
}

/// The layout of an operation's pieces: how the local address, the remote address or the process changes from
/// one to the next.
#[derive(Clone, Copy, Debug)]
enum Shape<'a> {
    /// A contiguous block of bytes.
    One(u64),
    /// Strided elements: local stride, remote stride, count, in elements.
    Strided { here: u64, there: u64, count: u64 },
    /// Elements that are contiguous locally, and at listed indices remotely.
    Indexed(&'a [u64]),
    /// A block of bytes for each process in a list: all at the same local address, or consecutive
    /// (`is_spread`).
    Processes { pes: &'a [u32], bytes: u64, is_spread: bool },
}

/// An operation. Arguments are in the order of the header's.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    access: Access,
    shape: Shape<'a>,
    pe: u32,
    here: u64,
    there: u64,
    element: Element,
    segment: Option<MemHandle>,
}

/// A piece of an operation.
#[derive(Clone, Copy)]
struct Piece {
    pe: u32,
    here: u64,
    there: u64,
    bytes: u64,
}

impl<'a> Operation<'a> {
    fn new(access: Access, shape: Shape<'a>, (pe, here, there): (u32, u64, u64)) -> Self {
        Operation { access, shape, pe, here, there, element: Element::default(), segment: None }
    }

    /// `dmapp_put`.
    pub fn put(target: u64, pe: u32, source: u64, bytes: u64) -> Self {
        Operation::new(Access::Put, Shape::One(bytes), (pe, source, target))
    }

    /// `dmapp_get`.
    pub fn get(target: u64, source: u64, pe: u32, bytes: u64) -> Self {
        Operation::new(Access::Get, Shape::One(bytes), (pe, target, source))
    }

    /// `dmapp_iput`: strided elements.
    pub fn iput(
        (target, target_stride): (u64, u64),
        pe: u32,
        (source, source_stride): (u64, u64),
        count: u64,
    ) -> Self {
        let shape = Shape::Strided { here: source_stride, there: target_stride, count };
        Operation::new(Access::Put, shape, (pe, source, target))
    }

    /// `dmapp_iget`.
    pub fn iget(
        (target, target_stride): (u64, u64),
        (source, source_stride): (u64, u64),
        pe: u32,
        count: u64,
    ) -> Self {
        let shape = Shape::Strided { here: target_stride, there: source_stride, count };
        Operation::new(Access::Get, shape, (pe, target, source))
    }

    /// `dmapp_ixput`: to listed indices of the target.
    pub fn ixput(target: u64, pe: u32, source: u64, places: &'a [u64]) -> Self {
        Operation::new(Access::Put, Shape::Indexed(places), (pe, source, target))
    }

    /// `dmapp_ixget`: from listed indices of the source.
    pub fn ixget(target: u64, source: u64, pe: u32, places: &'a [u64]) -> Self {
        Operation::new(Access::Get, Shape::Indexed(places), (pe, target, source))
    }

    /// `dmapp_put_ixpe`: the same bytes to each process in a list.
    pub fn put_ixpe(target: u64, pes: &'a [u32], source: u64, bytes: u64) -> Self {
        Operation::new(Access::Put, Shape::Processes { pes, bytes, is_spread: false }, (0, source, target))
    }

    /// `dmapp_scatter_ixpe`: consecutive parts of the source to each process in a list.
    pub fn scatter_ixpe(target: u64, pes: &'a [u32], source: u64, bytes: u64) -> Self {
        Operation::new(Access::Put, Shape::Processes { pes, bytes, is_spread: true }, (0, source, target))
    }

    /// `dmapp_gather_ixpe`: consecutive parts of the target from each process in a list.
    pub fn gather_ixpe(target: u64, source: u64, pes: &'a [u32], bytes: u64) -> Self {
        Operation::new(Access::Get, Shape::Processes { pes, bytes, is_spread: true }, (0, target, source))
    }

    /// `dmapp_aadd_qw` and similar: an atomic operation on a remote word; a fetching one returns the old
    /// value to a local address.
    pub fn atomic(amo: Amo, there: u64, pe: u32, operands: [u64; 2], here: u64) -> Self {
        Operation::new(Access::Amo(amo, operands), Shape::One(amo.bytes().into()), (pe, here, there))
    }

    /// The same with elements other than words of eight bytes.
    pub fn of(self, element: Element) -> Self {
        Operation { element, ..self }
    }

    /// The same in memory of the remote process outside its heap.
    pub fn within(self, segment: MemHandle) -> Self {
        Operation { segment: Some(segment), ..self }
    }

    fn count(&self) -> u64 {
        match self.shape {
            Shape::One(_) => 1,
            Shape::Strided { count, .. } => count,
            Shape::Indexed(places) => places.len() as u64,
            Shape::Processes { pes, .. } => pes.len() as u64,
        }
    }

    fn piece(&self, i: u64) -> Piece {
        let size = self.element as u64;
        let (mut pe, mut here, mut there, mut bytes) = (self.pe, 0, 0, size);
        match self.shape {
            Shape::One(all) => bytes = all,
            Shape::Strided { here: h, there: t, .. } => (here, there) = (i * h * size, i * t * size),
            Shape::Indexed(places) => (here, there) = (i * size, places[i as usize] * size),
            Shape::Processes { pes, bytes: each, is_spread } => {
                (pe, bytes) = (pes[i as usize], each);
                here = if is_spread { i * each } else { 0 };
            }
        }
        Piece { pe, here: self.here + here, there: self.there + there, bytes }
    }

    /// Whether FMA launch can execute all of it: words of eight bytes, and atomic operations.
    fn is_launched(&self) -> bool {
        matches!(self.access, Access::Amo(..)) || self.count() > 0 && self.piece(0).bytes == 8
    }
}

impl Dmapp {
    /// Executes an operation and waits for its completion.
    ///
    /// # Errors
    /// If it is invalid.
    pub async fn run(&mut self, operation: Operation<'_>) -> Result<Status, Refusal> {
        let id = self.nb(operation).await?;
        self.syncid_wait(id).await
    }

    /// Starts an explicit non-blocking operation. Words to many addresses form a single transaction.
    ///
    /// # Errors
    /// If it is invalid, or too many operations are outstanding.
    pub async fn nb(&mut self, operation: Operation<'_>) -> Result<SyncId, Refusal> {
        let (count, is_launched) = (operation.count(), operation.is_launched());
        let events = if is_launched { count.min(1) } else { count };
        if self.outstanding + events > self.attributes.outstanding_max {
            return Err(Refusal::ErrorResource);
        }
        let first = self.next + 1;
        if is_launched && count > 1 {
            self.launch_all(&operation).await?;
        } else {
            for i in 0..count {
                self.post(&operation, operation.piece(i), true).await?;
            }
        }
        Ok(SyncId { first, last: self.next })
    }

    /// Starts an implicit non-blocking operation.
    ///
    /// # Errors
    /// If it is invalid.
    pub async fn nbi(&mut self, operation: Operation<'_>) -> Result<(), Refusal> {
        for i in 0..operation.count() {
            let piece = operation.piece(i);
            if operation.is_launched() {
                let (node, offset) = self.ready_to_launch(&operation, piece).await?;
                self.launch(&operation, piece, (node, offset)).await?;
            } else {
                self.post(&operation, piece, false).await?;
            }
        }
        Ok(())
    }

    fn mode_of(&self, operation: &Operation<'_>) -> Mode {
        if matches!(operation.access, Access::Get) {
            self.attributes.get_mode
        } else {
            self.attributes.put_mode
        }
    }

    /// Sends words to many addresses as one transaction of the launch descriptor.
    async fn launch_all(&mut self, operation: &Operation<'_>) -> Result<(), Refusal> {
        let ends: Result<Vec<_>, _> =
            (0..operation.count()).map(|i| self.place(operation, operation.piece(i))).collect();
        let ends = ends?;
        let (first, mode) = (ends[0].1, self.mode_of(operation));
        let window = Window { mdh: first.mdh, is_virtual: first.is_virtual, mode, ..Window::default() };
        self.next += 1;
        self.gni.fma_open(self.descriptor, window, Some(self.queue), self.next).await?;
        self.window = Some((first.mdh, first.is_virtual, mode));
        self.outstanding += 1;
        let mut refused = Ok(());
        for (i, (node, memory, offset)) in ends.into_iter().enumerate() {
            if self.window != Some((memory.mdh, memory.is_virtual, mode)) {
                self.gni.fma_set_memory(self.descriptor, memory).await;
                self.window = Some((memory.mdh, memory.is_virtual, mode));
            }
            refused = refused.and(self.launch(operation, operation.piece(i as u64), (node, offset)).await);
        }
        self.gni.fma_close(self.descriptor).await;
        refused
    }

    /// The target of a piece: virtual node, memory, offset.
    fn place(&self, operation: &Operation<'_>, piece: Piece) -> Result<(u32, MemHandle, u64), Refusal> {
        let (to, memory) = self.other(piece.pe, operation.segment)?;
        let offset = piece.there.checked_sub(memory.address).ok_or(Refusal::InvalidParam)?;
        Ok((to.node, memory, offset))
    }

    /// Sets the launch descriptor to a process's memory, if it is set to another's.
    async fn ready_to_launch(
        &mut self,
        operation: &Operation<'_>,
        piece: Piece,
    ) -> Result<(u32, u64), Refusal> {
        let (node, memory, offset) = self.place(operation, piece)?;
        let (mode, now) = (self.mode_of(operation), self.window);
        let wanted = (memory.mdh, memory.is_virtual, mode);
        if now.is_none_or(|now| now.2 != mode) {
            let window = Window { mdh: memory.mdh, is_virtual: memory.is_virtual, mode, ..Window::default() };
            self.gni.fma_set(self.descriptor, window).await?;
        } else if now != Some(wanted) {
            self.gni.fma_set_memory(self.descriptor, memory).await;
        }
        self.window = Some(wanted);
        Ok((node, offset))
    }

    async fn launch(
        &self,
        operation: &Operation<'_>,
        piece: Piece,
        (node, offset): (u32, u64),
    ) -> Result<(), Refusal> {
        let (gni, d) = (&self.gni, self.descriptor);
        match operation.access {
            Access::Put => gni.launch_put(d, node, offset, gni.load_word(piece.here)).await,
            Access::Get => gni.launch_get(d, node, offset, piece.here, None).await,
            Access::Amo(amo, operands) => {
                return gni.launch_atomic(d, node, offset, amo, operands, piece.here).await;
            }
        }
        Ok(())
    }

    /// Posts a piece. It generates an event if it is explicit or a block transfer.
    async fn post(&mut self, operation: &Operation<'_>, piece: Piece, explicit: bool) -> Result<(), Refusal> {
        let (to, memory) = self.other(piece.pe, operation.segment)?;
        self.next += 1;
        let is_block = piece.bytes >= self.attributes.offload_bytes;
        let kind = match (operation.access, is_block) {
            (Access::Put, false) => PostKind::FmaPut,
            (Access::Put, true) => PostKind::RdmaPut,
            (Access::Get, false) => PostKind::FmaGet,
            (Access::Get, true) => PostKind::RdmaGet,
            (Access::Amo(amo, operands), _) => PostKind::Amo(amo, operands),
        };
        let is_block = is_block && !matches!(operation.access, Access::Amo(..));
        let queue = if explicit { Some(self.queue) } else { is_block.then_some(self.implicit) };
        let post = Post {
            queue,
            id: self.next,
            mode: self.mode_of(operation),
            ..Post::new(kind, piece.here, piece.there, memory, piece.bytes)
        };
        if is_block {
            self.gni.post_rdma(to, post).await?;
        } else {
            self.gni.post_fma(to, post).await?;
        }
        self.outstanding += u64::from(explicit);
        self.transfers += u64::from(is_block && !explicit);
        Ok(())
    }
}
