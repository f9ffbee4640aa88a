//! Distributed memory applications (`dmapp.h`): the library over FMA and the block transfer engine that Cray SHMEM and compilers use.
//! Words go by FMA launch, more by FMA windows, and from a threshold on by block transfers; their end is waited for one by one
//! (`…_nb`), or for all at once (`…_nbi`).
//!
//! All processes of a job have a symmetric heap at the same addresses, with the virtual handle of their number within the node.

use super::Window;
use super::address::{MemHandle, PageSize};
use super::atomic::Amo;
use super::collective::{Reduction, Tree};
use super::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use super::status::{Refusal, Status};
use std::collections::BTreeMap;

/// Where every symmetric heap begins.
pub const HEAP: u64 = 1 << 40;
/// Transfers of so many bytes and more are the block transfer engine's (`DMAPP_OFFLOAD_THRESHOLD`).
pub const OFFLOAD_B: u64 = 4096;
/// Most operations that may be outstanding (`DMAPP_MAX_OUTSTANDING_NB`).
pub const OUTSTANDING_MAX: u64 = 2048;

/// What tells the end of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the operation has ended only when it was waited for"]
pub struct SyncId(u64);

/// A process' side of the library.
pub struct Dmapp {
    gni: Gni,
    heap: MemHandle,
    /// Free stretches of the heap: where, and how long.
    free: BTreeMap<u64, u64>,
    /// What was allocated.
    used: BTreeMap<u64, u64>,
    /// Of explicit operations: where their events go, the next number, those that have ended and were not asked for.
    queue: u16,
    next: u64,
    ended: BTreeMap<u64, Status>,
    outstanding: u64,
    /// Of implicit block transfers.
    implicit: u16,
    transfers: u64,
    /// The FMA descriptor of launches, and whose handle it has.
    descriptor: u8,
    handle: Option<u16>,
}

impl Dmapp {
    /// `dmapp_init`: signs on to a job, and makes a symmetric heap of so many bytes.
    ///
    /// # Errors
    /// What the job, the memory or the NIC's descriptors refuse.
    pub async fn init(gni: Gni, ptag: u8, cookie: u32, bytes: u64, page: PageSize) -> Result<Self, Refusal> {
        gni.cdm_attach(ptag, cookie)?;
        match gni.reserve_virtual_handles(gni.processes().into()) {
            // Another process of the node has done it.
            Ok(()) | Err(Refusal::InvalidState) => {}
            Err(other) => return Err(other),
        }
        let options = MemOptions { page, virtual_mdh: Some(gni.process().into()), ..MemOptions::default() };
        let heap = gni.mem_register(HEAP, bytes, options)?;
        // Posted operations have the process' own; launches another one.
        let descriptor = gni.fma_descriptor()?;
        Ok(Dmapp {
            queue: gni.cq_create(2 * OUTSTANDING_MAX as usize),
            implicit: gni.cq_create(2 * OUTSTANDING_MAX as usize),
            heap,
            free: [(HEAP, bytes)].into(),
            used: BTreeMap::new(),
            next: 0,
            ended: BTreeMap::new(),
            outstanding: 0,
            transfers: 0,
            descriptor,
            handle: None,
            gni,
        })
    }

    /// The interface below.
    pub fn gni(&self) -> &Gni {
        &self.gni
    }

    /// `dmapp_get_jobinfo`: the number of this process in its job, and how many there are.
    pub fn job_info(&self) -> (u32, u32) {
        let each = u32::from(self.gni.processes());
        let own = self.gni.place() * each + u32::from(self.gni.process());
        (own, self.gni.job().nodes() * each)
    }

    /// `dmapp_sheap_malloc`: memory of the symmetric heap; the same address wherever the same calls are made.
    ///
    /// # Errors
    /// If there is not that much in one piece.
    pub fn sheap_malloc(&mut self, bytes: u64) -> Result<u64, Refusal> {
        let bytes = bytes.max(1).next_multiple_of(64);
        let fits = self.free.iter().find(|&(_, &room)| room >= bytes);
        let (&at, &room) = fits.ok_or(Refusal::ErrorResource)?;
        self.free.remove(&at);
        if room > bytes {
            self.free.insert(at + bytes, room - bytes);
        }
        self.used.insert(at, bytes);
        Ok(at)
    }

    /// `dmapp_sheap_free`.
    ///
    /// # Errors
    /// If it was not allocated.
    pub fn sheap_free(&mut self, at: u64) -> Result<(), Refusal> {
        let mut bytes = self.used.remove(&at).ok_or(Refusal::InvalidParam)?;
        let mut start = at;
        if let Some(behind) = self.free.remove(&(at + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &room)) = self.free.range(..at).next_back()
            && before + room == at
        {
            (start, bytes) = (before, bytes + room);
        }
        self.free.insert(start, bytes);
        Ok(())
    }

    /// `dmapp_sheap_realloc`: the same bytes, in a piece of another length.
    ///
    /// # Errors
    /// If it was not allocated, or there is not that much in one piece.
    pub fn sheap_realloc(&mut self, at: u64, bytes: u64) -> Result<u64, Refusal> {
        let old = *self.used.get(&at).ok_or(Refusal::InvalidParam)?;
        let new = self.sheap_malloc(bytes)?;
        let kept = self.gni.load(at, old.min(bytes) as usize);
        self.gni.store(new, &kept);
        self.sheap_free(at)?;
        Ok(new)
    }

    /// A process, and the handle of its heap.
    fn other(&self, pe: u32) -> Result<(Endpoint, MemHandle), Refusal> {
        let each = u32::from(self.gni.processes());
        let (node, process) = (pe / each, (pe % each) as u8);
        if node >= self.gni.job().nodes() {
            return Err(Refusal::InvalidParam);
        }
        Ok((Endpoint::new(node, process), MemHandle { mdh: process.into(), ..self.heap }))
    }

    async fn post(
        &mut self,
        pe: u32,
        (kind, block): (PostKind, PostKind),
        (remote, local, bytes): (u64, u64, u64),
        explicit: bool,
    ) -> Result<u64, Refusal> {
        if explicit && self.outstanding >= OUTSTANDING_MAX {
            return Err(Refusal::ErrorResource);
        }
        let (to, memory) = self.other(pe)?;
        self.next += 1;
        let is_block = bytes >= OFFLOAD_B;
        let queue = if explicit { Some(self.queue) } else { is_block.then_some(self.implicit) };
        let kind = if is_block { block } else { kind };
        let post = Post { queue, id: self.next, ..Post::new(kind, local, remote, memory, bytes) };
        if is_block {
            self.gni.post_rdma(to, post).await?;
        } else {
            self.gni.post_fma(to, post).await?;
        }
        self.outstanding += u64::from(explicit);
        self.transfers += u64::from(is_block && !explicit);
        Ok(self.next)
    }

    /// Sets the launch descriptor to a process' heap, if it has another's.
    async fn ready_to_launch(&mut self, pe: u32) -> Result<(u32, u64), Refusal> {
        let (to, memory) = self.other(pe)?;
        if self.handle.is_none() {
            let window = Window { mdh: memory.mdh, is_virtual: true, ..Window::default() };
            self.gni.fma_set(self.descriptor, window).await?;
        } else if self.handle != Some(memory.mdh) {
            self.gni.fma_set_memory(self.descriptor, memory).await;
        }
        self.handle = Some(memory.mdh);
        Ok((to.node, memory.address))
    }

    /// `dmapp_put_nb`: a put whose end is waited for by itself.
    ///
    /// # Errors
    /// What cannot be posted; if too many are outstanding.
    pub async fn put_nb(&mut self, target: u64, pe: u32, source: u64, bytes: u64) -> Result<SyncId, Refusal> {
        self.post(pe, (PostKind::FmaPut, PostKind::RdmaPut), (target, source, bytes), true).await.map(SyncId)
    }

    /// `dmapp_put_nbi`: a put whose end is waited for with all others'.
    ///
    /// # Errors
    /// What cannot be posted.
    pub async fn put_nbi(&mut self, target: u64, pe: u32, source: u64, bytes: u64) -> Result<(), Refusal> {
        if bytes == 8 {
            let (node, heap) = self.ready_to_launch(pe).await?;
            let offset = target.checked_sub(heap).ok_or(Refusal::InvalidParam)?;
            let word = self.gni.load_word(source);
            self.gni.launch_put(self.descriptor, node, offset, word).await;
            return Ok(());
        }
        let both = (PostKind::FmaPut, PostKind::RdmaPut);
        self.post(pe, both, (target, source, bytes), false).await.map(|_| ())
    }

    /// `dmapp_put`: a put that has ended when this returns.
    ///
    /// # Errors
    /// What cannot be posted.
    pub async fn put(&mut self, target: u64, pe: u32, source: u64, bytes: u64) -> Result<Status, Refusal> {
        let id = self.put_nb(target, pe, source, bytes).await?;
        self.syncid_wait(id).await
    }

    /// `dmapp_get_nb`.
    ///
    /// # Errors
    /// As of a put.
    pub async fn get_nb(&mut self, target: u64, source: u64, pe: u32, bytes: u64) -> Result<SyncId, Refusal> {
        self.post(pe, (PostKind::FmaGet, PostKind::RdmaGet), (source, target, bytes), true).await.map(SyncId)
    }

    /// `dmapp_get_nbi`.
    ///
    /// # Errors
    /// As of a put.
    pub async fn get_nbi(&mut self, target: u64, source: u64, pe: u32, bytes: u64) -> Result<(), Refusal> {
        if bytes == 8 {
            let (node, heap) = self.ready_to_launch(pe).await?;
            let offset = source.checked_sub(heap).ok_or(Refusal::InvalidParam)?;
            self.gni.launch_get(self.descriptor, node, offset, target, None).await;
            return Ok(());
        }
        let both = (PostKind::FmaGet, PostKind::RdmaGet);
        self.post(pe, both, (source, target, bytes), false).await.map(|_| ())
    }

    /// `dmapp_get`.
    ///
    /// # Errors
    /// As of a put.
    pub async fn get(&mut self, target: u64, source: u64, pe: u32, bytes: u64) -> Result<Status, Refusal> {
        let id = self.get_nb(target, source, pe, bytes).await?;
        self.syncid_wait(id).await
    }

    /// `dmapp_iput_nbi`, for words: element by element, with strides of so many words.
    ///
    /// # Errors
    /// As of a put.
    pub async fn iput_nbi(
        &mut self,
        (target, target_stride): (u64, u64),
        pe: u32,
        (source, source_stride): (u64, u64),
        count: u64,
    ) -> Result<(), Refusal> {
        for i in 0..count {
            self.put_nbi(target + 8 * i * target_stride, pe, source + 8 * i * source_stride, 8).await?;
        }
        Ok(())
    }

    /// `dmapp_iget_nbi`, for words.
    ///
    /// # Errors
    /// As of a put.
    pub async fn iget_nbi(
        &mut self,
        (target, target_stride): (u64, u64),
        (source, source_stride): (u64, u64),
        pe: u32,
        count: u64,
    ) -> Result<(), Refusal> {
        for i in 0..count {
            self.get_nbi(target + 8 * i * target_stride, source + 8 * i * source_stride, pe, 8).await?;
        }
        Ok(())
    }

    /// `dmapp_ixput_nbi`, for words: element by element, to places of the target that a list gives.
    ///
    /// # Errors
    /// As of a put.
    pub async fn ixput_nbi(
        &mut self,
        target: u64,
        pe: u32,
        source: u64,
        places: &[u64],
    ) -> Result<(), Refusal> {
        for (i, place) in places.iter().enumerate() {
            self.put_nbi(target + 8 * place, pe, source + 8 * i as u64, 8).await?;
        }
        Ok(())
    }

    /// `dmapp_ixget_nbi`, for words.
    ///
    /// # Errors
    /// As of a put.
    pub async fn ixget_nbi(
        &mut self,
        target: u64,
        source: u64,
        pe: u32,
        places: &[u64],
    ) -> Result<(), Refusal> {
        for (i, place) in places.iter().enumerate() {
            self.get_nbi(target + 8 * i as u64, source + 8 * place, pe, 8).await?;
        }
        Ok(())
    }

    /// `dmapp_put_ixpe_nbi`: the same bytes to each process of a list.
    ///
    /// # Errors
    /// As of a put.
    pub async fn put_ixpe_nbi(
        &mut self,
        target: u64,
        pes: &[u32],
        source: u64,
        bytes: u64,
    ) -> Result<(), Refusal> {
        for &pe in pes {
            self.put_nbi(target, pe, source, bytes).await?;
        }
        Ok(())
    }

    /// `dmapp_scatter_ixpe_nbi`: one part of the source after the other to each process of a list.
    ///
    /// # Errors
    /// As of a put.
    pub async fn scatter_ixpe_nbi(
        &mut self,
        target: u64,
        pes: &[u32],
        source: u64,
        bytes: u64,
    ) -> Result<(), Refusal> {
        for (i, &pe) in pes.iter().enumerate() {
            self.put_nbi(target, pe, source + i as u64 * bytes, bytes).await?;
        }
        Ok(())
    }

    /// `dmapp_gather_ixpe_nbi`: one part of the target after the other from each process of a list.
    ///
    /// # Errors
    /// As of a put.
    pub async fn gather_ixpe_nbi(
        &mut self,
        target: u64,
        source: u64,
        pes: &[u32],
        bytes: u64,
    ) -> Result<(), Refusal> {
        for (i, &pe) in pes.iter().enumerate() {
            self.get_nbi(target + i as u64 * bytes, source, pe, bytes).await?;
        }
        Ok(())
    }

    /// `dmapp_aadd_qw_nbi` and its kin: an atomic operation on a word of another's; of a fetching one the old value comes to an address here.
    ///
    /// # Errors
    /// If it is not aligned, or no operation that the hardware has.
    pub async fn amo_nbi(
        &mut self,
        amo: Amo,
        there: u64,
        pe: u32,
        operands: [u64; 2],
        here: u64,
    ) -> Result<(), Refusal> {
        let (node, heap) = self.ready_to_launch(pe).await?;
        let offset = there.checked_sub(heap).ok_or(Refusal::InvalidParam)?;
        self.gni.launch_atomic(self.descriptor, node, offset, amo, operands, here).await
    }

    /// `dmapp_aadd_qw_nb` and its kin.
    ///
    /// # Errors
    /// As of an implicit one; if too many are outstanding.
    pub async fn amo_nb(
        &mut self,
        amo: Amo,
        there: u64,
        pe: u32,
        operands: [u64; 2],
        here: u64,
    ) -> Result<SyncId, Refusal> {
        let kind = PostKind::Amo(amo, operands);
        self.post(pe, (kind, kind), (there, here, 8), true).await.map(SyncId)
    }

    /// `dmapp_aadd_qw` and its kin.
    ///
    /// # Errors
    /// As of an implicit one.
    pub async fn amo(
        &mut self,
        amo: Amo,
        there: u64,
        pe: u32,
        operands: [u64; 2],
        here: u64,
    ) -> Result<Status, Refusal> {
        let id = self.amo_nb(amo, there, pe, operands, here).await?;
        self.syncid_wait(id).await
    }

    /// `dmapp_syncid_wait`: how an operation ended.
    ///
    /// # Errors
    /// If its event was lost.
    pub async fn syncid_wait(&mut self, id: SyncId) -> Result<Status, Refusal> {
        loop {
            if let Some(status) = self.ended.remove(&id.0) {
                return Ok(status);
            }
            let event = self.gni.cq_wait_event(self.queue).await?;
            self.outstanding -= 1;
            self.ended.insert(event.user, event.status);
        }
    }

    /// `dmapp_syncid_test`: how an operation ended, if it has.
    ///
    /// # Errors
    /// If its event was lost.
    pub async fn syncid_test(&mut self, id: SyncId) -> Result<Option<Status>, Refusal> {
        match self.gni.cq_get_event(self.queue).await {
            Ok(event) => {
                self.outstanding -= 1;
                self.ended.insert(event.user, event.status);
            }
            Err(Refusal::NotDone) => {}
            Err(other) => return Err(other),
        }
        Ok(self.ended.remove(&id.0))
    }

    /// `dmapp_gsync_wait`: until all implicit operations have ended. How those of FMA ended nobody hears **(ours)**.
    ///
    /// # Errors
    /// If an event was lost.
    pub async fn gsync_wait(&mut self) -> Result<Status, Refusal> {
        self.gni.fma_sync(self.descriptor).await;
        self.gni.fma_sync(self.gni.descriptor()).await;
        let mut status = Status::Success;
        while self.transfers > 0 {
            status = status.and(self.gni.cq_wait_event(self.implicit).await?.status);
            self.transfers -= 1;
        }
        Ok(status)
    }
}

/// The processes of a job, of which each has a node for itself, for collective operations (`dmapp_c_pset…`): a tree of collective
/// engines.
pub struct Pset {
    gni: Gni,
    engine: u8,
    queue: u16,
}

impl Pset {
    /// `dmapp_c_pset_create` and `…_export`: with a branching ratio of up to 32, on one of the four engines of each NIC.
    ///
    /// # Errors
    /// If nodes have several processes; if there is no such engine or radix.
    pub fn create(dmapp: &Dmapp, engine: u8, radix: u32) -> Result<Self, Refusal> {
        let gni = dmapp.gni.clone();
        if gni.processes() > 1 || radix == 0 {
            return Err(Refusal::InvalidParam);
        }
        let queue = gni.cq_create(4);
        let tree = Tree::regular(gni.place(), gni.job().nodes(), radix, engine, queue);
        gni.ce_configure(engine, tree)?;
        Ok(Pset { gni, engine, queue })
    }

    /// `dmapp_c_barrier_join`.
    ///
    /// # Errors
    /// If an operation is pending.
    pub async fn barrier_join(&self) -> Result<(), Refusal> {
        self.greduce_start(Reduction::And, false, [0; 2]).await
    }

    /// `dmapp_c_greduce_start`, for one element: a value, and an identifier for minima and maxima.
    ///
    /// # Errors
    /// If an operation is pending; of a product.
    pub async fn greduce_start(
        &self,
        operation: Reduction,
        is_short: bool,
        value: [u64; 2],
    ) -> Result<(), Refusal> {
        self.gni.ce_join(self.engine, operation, is_short, value).await
    }

    /// `dmapp_c_pset_wait`: the result.
    ///
    /// # Errors
    /// If none is pending whose event could come.
    pub async fn wait(&self) -> Result<([u64; 2], Status), Refusal> {
        self.gni.cq_wait_event(self.queue).await?;
        self.gni.ce_result(self.engine)
    }

    /// `dmapp_c_pset_test`: the result, if it is there.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it is not.
    pub async fn test(&self) -> Result<([u64; 2], Status), Refusal> {
        self.gni.cq_get_event(self.queue).await?;
        self.gni.ce_result(self.engine)
    }
}
