//! FMA at the hardware level: descriptors, windows and launches, each with the cost of its stores and fences.

use super::device::AriesDevice;
use super::{Gni, Step, lock};
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::atomic::Amo;
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{Command, LINE_B, Notice, Submission, Target, WINDOW_B, Watch, What, Window};

impl AriesDevice {
    pub(super) fn fma_set(&self, descriptor: u8, window: Window) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        self.write(&[Step::Store], DESCRIPTOR_B, Command::Set { descriptor, ptag, window });
        Ok(())
    }

    pub(super) fn fma_close(&self, descriptor: u8) {
        self.write(&[Step::Store], 8, Command::Close { descriptor });
    }

    pub(super) fn fma_store(&self, descriptor: u8, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.check_window(at, bytes.len() as u64)?;
        let is_zero = bytes.iter().all(|&b| b == 0);
        for (begin, count, step) in stores(at, bytes.len() as u64) {
            let part = &bytes[(begin - at) as usize..][..count as usize];
            let data = (!is_zero).then(|| part.into());
            let what = What::Put { bytes: count as u32, data };
            let command = Command::Remote { descriptor, target: Target::Window(begin), what };
            self.write(&[step], count as u32, command);
        }
        Ok(())
    }

    fn check_window(&self, at: u64, bytes: u64) -> Result<(), Refusal> {
        let fits = bytes > 0 && at.checked_add(bytes).is_some_and(|end| end <= WINDOW_B);
        if fits { Ok(()) } else { Err(Refusal::InvalidParam) }
    }

    pub(super) fn fma_fetch(
        &self,
        descriptor: u8,
        at: u64,
        bytes: u64,
        address: u64,
        flag: Option<(u64, u64)>,
    ) -> Result<(), Refusal> {
        self.check_window(at, bytes)?;
        aligned(&[at, bytes, address], 4)?;
        for (begin, count, step) in stores(at, bytes) {
            let address = address + (begin - at);
            let what = What::Get { bytes: count as u32, process: self.process, address, flag };
            let command = Command::Remote { descriptor, target: Target::Window(begin), what };
            self.write(&[step], 8, command);
        }
        Ok(())
    }

    pub(super) fn amo(
        &self,
        amo: Amo,
        operands: [u64; 2],
        there: u64,
        address: u64,
    ) -> Result<What, Refusal> {
        if !amo.exists() {
            return Err(Refusal::IllegalOp);
        }
        aligned(&[there], amo.bytes().into())?;
        let answer = amo.fetches.then_some((self.process, address));
        Ok(What::Amo { amo, operands, answer })
    }

    /// Delays later requests of an FMA descriptor until all earlier ones of its transaction have completed.
    pub(super) fn fma_chain(&self, descriptor: u8) {
        self.write(&[Step::Store], 8, Command::Chain { descriptor });
    }
}

impl Gni {
    /// Sets an FMA descriptor's window: a store and an sfence.
    ///
    /// # Errors
    /// If the process is not attached.
    pub async fn fma_set(&self, descriptor: u8, window: Window) -> Result<(), Refusal> {
        self.after(self.device.fma_set(descriptor, window)).await
    }

    /// Changes the memory domain handle of an FMA descriptor: a store and an sfence.
    pub async fn fma_set_memory(&self, descriptor: u8, memory: MemHandle) {
        let command = Command::SetMdh { descriptor, mdh: memory.mdh, is_virtual: memory.is_virtual };
        self.write(&[Step::Store], 8, command);
        self.core.done().await;
    }

    /// Sets the window and opens a transaction: a store and an sfence. Its requests up to [`Self::fma_close`]
    /// are reported by one event.
    ///
    /// # Errors
    /// If the process is not attached.
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
        self.write(&[Step::Store], DESCRIPTOR_B, command);
        self.core.done().await;
        Ok(())
    }

    /// Closes the transaction.
    pub async fn fma_close(&self, descriptor: u8) {
        self.device.fma_close(descriptor);
        self.core.done().await;
    }

    /// Stores bytes to an FMA window: a put of up to 64 B for each line, followed by one sfence.
    ///
    /// # Errors
    /// If they are not within the window.
    pub async fn fma_store(&self, descriptor: u8, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.after(self.device.fma_store(descriptor, at, bytes)).await
    }

    /// Stores control words to an FMA window's get side: a get of up to 64 B for each line, to a local
    /// address, followed by one sfence.
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
        self.after(self.device.fma_fetch(descriptor, at, bytes, address, flag)).await
    }

    /// An atomic operation through an FMA window; a fetching one returns the old value to a local address.
    ///
    /// # Errors
    /// If it is not within the window, not aligned, or not implemented by the hardware.
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
        self.write(&[Step::Store], 16, command);
        self.core.done().await;
        Ok(())
    }

    /// FMA launch of a put: a single write of 128 bits for a word to any virtual node and offset of the
    /// descriptor's memory.
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
    /// If it is not aligned, or not implemented by the hardware.
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
        let command = Command::Remote { descriptor, target: Target::Launch { node, offset }, what };
        self.write(&[Step::Library, Step::Store], 16, command);
        self.core.done().await;
    }

    /// Waits until all requests of an FMA descriptor have completed.
    pub async fn fma_sync(&self, descriptor: u8) {
        self.core.wait(Watch::Sync(descriptor), None).await;
    }

    /// Tests once whether all requests of an FMA descriptor have completed.
    pub async fn fma_is_synced(&self, descriptor: u8) -> bool {
        self.core.submit(Submission::IsSynced(descriptor)).await;
        lock(&self.here).is_synced
    }
}

/// Size of a write to an FMA descriptor, bytes **(ours)**.
pub(super) const DESCRIPTOR_B: u32 = 32;

/// Checks alignment.
pub(super) fn aligned(all: &[u64], to: u64) -> Result<(), Refusal> {
    if all.iter().all(|x| x.is_multiple_of(to)) { Ok(()) } else { Err(Refusal::Alignment) }
}

/// The parts of `bytes` from `start` on in each line, as [`lines`] has them, each with the step of its store:
/// only the last is followed by an sfence [Remote Memory Access: "on completion of each data write"].
fn stores(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, Step)> {
    let end = start + bytes;
    lines(start, bytes).map(move |(at, count)| {
        let step = if at + count == end { Step::Store } else { Step::Line };
        (at, count, step)
    })
}

/// The parts of `bytes` from `start` on in each line: address and length.
pub(super) fn lines(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (start, start + bytes);
    std::iter::from_fn(move || {
        let part = (at, (at / LINE_B * LINE_B + LINE_B).min(end) - at);
        at += part.1;
        (part.1 > 0).then_some(part)
    })
}
