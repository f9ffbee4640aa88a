//! Distributed memory applications (`dmapp.h`): the library over FMA and the block transfer engine that Cray SHMEM and compilers use.
//! Words go by FMA launch, more by FMA windows, and from a threshold on by block transfers; their end is waited for at once, one by one
//! (`…_nb`), or for all together (`…_nbi`). An operation says what is to be moved; the form is chosen by whom it is given to:
//! [`Dmapp::run`], [`Dmapp::nb`] or [`Dmapp::nbi`].
//!
//! All processes of a job have a symmetric heap at the same addresses, with the virtual handle of their number within the node.

mod operation;
mod pset;

use crate::gni::{Endpoint, Gni, MemOptions};
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::address::{MemHandle, PageSize};
use netloom_nic::aries::status::{Refusal, Status};
use std::collections::BTreeMap;

pub use operation::{Element, Operation};
pub use pset::Pset;

/// Where every symmetric heap begins.
pub const HEAP: u64 = 1 << 40;
/// Transfers of so many bytes and more are the block transfer engine's (`DMAPP_OFFLOAD_THRESHOLD`).
pub const OFFLOAD_B: u64 = 4096;
/// Most operations that may be outstanding (`DMAPP_MAX_OUTSTANDING_NB`).
pub const OUTSTANDING_MAX: u64 = 2048;

/// What tells the end of one operation: the numbers of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the operation has ended only when it was waited for"]
pub struct SyncId {
    first: u64,
    last: u64,
}

/// What may be chosen of the way in which requests are carried out (`dmapp_rma_attrs_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Most explicit operations that may be outstanding: up to [`OUTSTANDING_MAX`], and not changed later.
    pub outstanding_max: u64,
    /// Transfers of so many bytes and more are the block transfer engine's.
    pub offload_bytes: u64,
    /// How puts and atomic operations are routed, and how gets.
    pub put_mode: Mode,
    /// See `put_mode`.
    pub get_mode: Mode,
}

impl Default for Attributes {
    fn default() -> Self {
        Attributes {
            outstanding_max: OUTSTANDING_MAX,
            offload_bytes: OFFLOAD_B,
            put_mode: Mode::Adaptive0,
            get_mode: Mode::Adaptive0,
        }
    }
}

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
    implicit_status: Status,
    /// The FMA descriptor of launches, what handle it has, and how it is routed.
    descriptor: u8,
    window: Option<(u16, bool, Mode)>,
    attributes: Attributes,
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
            implicit_status: Status::Success,
            descriptor,
            window: None,
            attributes: Attributes::default(),
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

    /// `dmapp_get_rma_attrs`.
    pub fn attributes(&self) -> Attributes {
        self.attributes
    }

    /// `dmapp_set_rma_attrs`: for what is asked for from now on.
    ///
    /// # Errors
    /// If more are to be outstanding than can be, or none.
    pub fn set_attributes(&mut self, attributes: Attributes) -> Result<(), Refusal> {
        if !(1..=OUTSTANDING_MAX).contains(&attributes.outstanding_max) {
            return Err(Refusal::InvalidParam);
        }
        self.attributes = attributes;
        Ok(())
    }

    /// `dmapp_mem_register`: exports memory of this process that is not in the heap. Others need its descriptor.
    ///
    /// # Errors
    /// As [`mem_register`](crate::gni::device::AriesDevice::mem_register).
    pub fn mem_register(&self, address: u64, bytes: u64, page: PageSize) -> Result<MemHandle, Refusal> {
        self.gni.mem_register(address, bytes, MemOptions { page, ..MemOptions::default() })
    }

    /// `dmapp_mem_unregister`.
    ///
    /// # Errors
    /// If it was not registered.
    pub fn mem_unregister(&self, segment: MemHandle) -> Result<(), Refusal> {
        self.gni.mem_deregister(segment)
    }

    /// A process, and the handle of its heap, or of the segment that is meant.
    fn other(&self, pe: u32, segment: Option<MemHandle>) -> Result<(Endpoint, MemHandle), Refusal> {
        let each = u32::from(self.gni.processes());
        let (node, process) = (pe / each, (pe % each) as u8);
        if node >= self.gni.job().nodes() {
            return Err(Refusal::InvalidParam);
        }
        let heap = MemHandle { mdh: process.into(), ..self.heap };
        Ok((Endpoint::new(node, process), segment.unwrap_or(heap)))
    }

    /// How an operation ended, if all its events have come.
    fn end_of(&mut self, id: SyncId) -> Option<Status> {
        let all = id.first..=id.last;
        if !all.clone().all(|number| self.ended.contains_key(&number)) {
            return None;
        }
        let of = all.filter_map(|number| self.ended.remove(&number));
        Some(of.fold(Status::Success, Status::and))
    }

    /// `dmapp_syncid_wait`: how an operation ended.
    ///
    /// # Errors
    /// If its event was lost.
    pub async fn syncid_wait(&mut self, id: SyncId) -> Result<Status, Refusal> {
        loop {
            if let Some(status) = self.end_of(id) {
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
        Ok(self.end_of(id))
    }

    /// `dmapp_gsync_wait`: until all implicit operations have ended. How those of FMA ended nobody hears **(ours)**.
    ///
    /// # Errors
    /// If an event was lost.
    pub async fn gsync_wait(&mut self) -> Result<Status, Refusal> {
        self.gni.fma_sync(self.descriptor).await;
        self.gni.fma_sync(self.gni.descriptor()).await;
        let mut status = std::mem::take(&mut self.implicit_status);
        while self.transfers > 0 {
            status = status.and(self.gni.cq_wait_event(self.implicit).await?.status);
            self.transfers -= 1;
        }
        Ok(status)
    }

    /// `dmapp_gsync_test`: whether all implicit operations have ended, and if so how those of the block transfer engine did.
    ///
    /// # Errors
    /// If an event was lost.
    pub async fn gsync_test(&mut self) -> Result<Option<Status>, Refusal> {
        let words = self.gni.fma_is_synced(self.descriptor).await;
        if !words || !self.gni.fma_is_synced(self.gni.descriptor()).await {
            return Ok(None);
        }
        while self.transfers > 0 {
            match self.gni.cq_get_event(self.implicit).await {
                Ok(event) => self.implicit_status = self.implicit_status.and(event.status),
                Err(Refusal::NotDone) => return Ok(None),
                Err(other) => return Err(other),
            }
            self.transfers -= 1;
        }
        Ok(Some(std::mem::take(&mut self.implicit_status)))
    }

    /// `dmapp_finalize`: waits for all that is outstanding, and gives the heap back. Nobody may reach it any more.
    ///
    /// # Errors
    /// If an event was lost.
    pub async fn finalize(mut self) -> Result<Status, Refusal> {
        let mut status = self.gsync_wait().await?;
        while self.outstanding > 0 {
            status = status.and(self.gni.cq_wait_event(self.queue).await?.status);
            self.outstanding -= 1;
        }
        self.gni.mem_deregister(self.heap)?;
        self.gni.cq_destroy(self.queue)?;
        self.gni.cq_destroy(self.implicit)?;
        self.gni.free_fma_descriptor(self.descriptor);
        Ok(status)
    }
}
