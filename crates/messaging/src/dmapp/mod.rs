//! DMAPP, the library for distributed memory applications (`dmapp.h`) over FMA and the block transfer engine,
//! used by Cray SHMEM and compilers. Words are sent by FMA launch, larger transfers by FMA windows, and those
//! above a threshold as block transfers. Operations are blocking, explicit non-blocking (`…_nb`), or implicit
//! non-blocking (`…_nbi`). An [`Operation`] describes the data movement; the caller selects the form:
//! [`Dmapp::run`], [`Dmapp::nb`] or [`Dmapp::nbi`].
//!
//! All processes of a job have a symmetric heap at the same addresses, with the virtual handle of their
//! number on the node.

mod operation;
mod pset;

use crate::gni::{Endpoint, Gni, MemOptions};
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::address::{MemHandle, PageSize};
use netloom_nic::aries::status::{Refusal, Status};
use std::collections::BTreeMap;

pub use operation::{Element, Operation};
pub use pset::Pset;

/// Start address of every symmetric heap.
pub const HEAP: u64 = 1 << 40;
/// Minimum size of a transfer by the block transfer engine, bytes (`DMAPP_OFFLOAD_THRESHOLD`).
pub const OFFLOAD_B: u64 = 4096;
/// Maximum number of outstanding operations (`DMAPP_MAX_OUTSTANDING_NB`).
pub const OUTSTANDING_MAX: u64 = 2048;

/// Identifies an explicit operation: the numbers of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the operation is complete only after a wait for it"]
pub struct SyncId {
    first: u64,
    last: u64,
}

/// Attributes of requests (`dmapp_rma_attrs_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Maximum number of outstanding explicit operations: up to [`OUTSTANDING_MAX`], fixed at initialization.
    pub outstanding_max: u64,
    /// Minimum size of a transfer by the block transfer engine, bytes.
    pub offload_bytes: u64,
    /// Routing modes of puts and atomic operations, and of gets.
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

/// A process's instance of the library.
pub struct Dmapp {
    gni: Gni,
    heap: MemHandle,
    /// Free blocks of the heap: address and length.
    free: BTreeMap<u64, u64>,
    /// Allocated blocks.
    used: BTreeMap<u64, u64>,
    /// For explicit operations: their completion queue, the next number, and those that have completed but
    /// have not been waited for.
    queue: u16,
    next: u64,
    ended: BTreeMap<u64, Status>,
    outstanding: u64,
    /// For implicit block transfers.
    implicit: u16,
    transfers: u64,
    implicit_status: Status,
    /// The FMA descriptor for launches, its current handle, and its routing mode.
    descriptor: u8,
    window: Option<(u16, bool, Mode)>,
    attributes: Attributes,
}

impl Dmapp {
    /// `dmapp_init`: attaches to a job, and creates a symmetric heap of `bytes`.
    ///
    /// # Errors
    /// Those of the job, the memory or the NIC's descriptors.
    pub async fn init(gni: Gni, ptag: u8, cookie: u32, bytes: u64, page: PageSize) -> Result<Self, Refusal> {
        gni.cdm_attach(ptag, cookie)?;
        match gni.reserve_virtual_handles(gni.processes().into()) {
            // Another process on the node has already done it.
            Ok(()) | Err(Refusal::InvalidState) => {}
            Err(other) => return Err(other),
        }
        let options = MemOptions { page, virtual_mdh: Some(gni.process().into()), ..MemOptions::default() };
        let heap = gni.mem_register(HEAP, bytes, options)?;
        // Posted operations use the process's own descriptor, launches a second one.
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

    /// The underlying uGNI interface.
    pub fn gni(&self) -> &Gni {
        &self.gni
    }

    /// `dmapp_get_jobinfo`: the number of this process in its job, and the number of processes.
    pub fn job_info(&self) -> (u32, u32) {
        let each = u32::from(self.gni.processes());
        let own = self.gni.place() * each + u32::from(self.gni.process());
        (own, self.gni.job().nodes() * each)
    }

    /// `dmapp_sheap_malloc`: allocates memory of the symmetric heap; the address is the same on all processes
    /// that make the same calls.
    ///
    /// # Errors
    /// If there is no free block of this size.
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

    /// `dmapp_sheap_realloc`: resizes a block, and keeps its contents.
    ///
    /// # Errors
    /// If it was not allocated, or there is no free block of this size.
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

    /// `dmapp_set_rma_attrs`: for later requests.
    ///
    /// # Errors
    /// If the maximum number of outstanding operations is zero or too large.
    pub fn set_attributes(&mut self, attributes: Attributes) -> Result<(), Refusal> {
        if !(1..=OUTSTANDING_MAX).contains(&attributes.outstanding_max) {
            return Err(Refusal::InvalidParam);
        }
        self.attributes = attributes;
        Ok(())
    }

    /// `dmapp_mem_register`: exports memory of this process outside the heap. Other processes need its
    /// descriptor.
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

    /// The endpoint of a process, and the handle of its heap or of the given segment.
    fn other(&self, pe: u32, segment: Option<MemHandle>) -> Result<(Endpoint, MemHandle), Refusal> {
        let each = u32::from(self.gni.processes());
        let (node, process) = (pe / each, (pe % each) as u8);
        if node >= self.gni.job().nodes() {
            return Err(Refusal::InvalidParam);
        }
        let heap = MemHandle { mdh: process.into(), ..self.heap };
        Ok((Endpoint::new(node, process), segment.unwrap_or(heap)))
    }

    /// The status of an operation, if all its events have arrived.
    fn end_of(&mut self, id: SyncId) -> Option<Status> {
        let all = id.first..=id.last;
        if !all.clone().all(|number| self.ended.contains_key(&number)) {
            return None;
        }
        let of = all.filter_map(|number| self.ended.remove(&number));
        Some(of.fold(Status::Success, Status::and))
    }

    /// `dmapp_syncid_wait`: waits for an operation and returns its status.
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

    /// `dmapp_syncid_test`: the status of an operation, if it is complete.
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

    /// `dmapp_gsync_wait`: waits until all implicit operations are complete. The status of FMA operations is
    /// not reported **(ours)**.
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

    /// `dmapp_gsync_test`: whether all implicit operations are complete, and if so the status of those of the
    /// block transfer engine.
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

    /// `dmapp_finalize`: waits for all outstanding operations, and frees the heap. Other processes must not
    /// access it any more.
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
