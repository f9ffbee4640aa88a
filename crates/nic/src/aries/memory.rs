//! The NIC's reads and writes of host memory: paced by its data path, translated by the IOMMU, carried by
//! PCI-Express, and noticed by polling processes.

use super::address::PageSize;
use super::bte::{Block, Transfer};
use super::node::{lock, place};
use super::target::Located;
use super::{Action, Common, MemoryWrite, Nic, Watch, crossing};
use crate::pcie::{Direction, at_host};
use netloom_engine::Time;
use netloom_fabric::packet::Data;
use netloom_node::polling::Polling;
use netloom_node::time::Microticks;

/// The purpose of a read.
pub enum Read {
    /// The data for a get.
    Answer(Located),
    /// The data of a block transfer's packet.
    Block(Block),
    /// A block transfer's descriptor, from a queue in memory.
    Descriptor(Box<Transfer>),
    /// A variable for the AMO cache.
    Word(u64),
    /// Page table entries: eight of eight bytes.
    Table,
}

/// A read in flight, with its data once it has reached the host's memory.
pub struct Reading {
    /// Its purpose.
    pub what: Read,
    /// Its data.
    pub data: Option<Data>,
}

impl Read {
    fn bytes(&self) -> u32 {
        match self {
            Read::Answer(located) => located.arrival.request.bytes,
            Read::Block(block) => block.bytes,
            Read::Descriptor(_) | Read::Table => 64,
            Read::Word(_) => 8,
        }
    }

    fn process(&self) -> u8 {
        match self {
            Read::Answer(located) => located.process,
            Read::Block(block) => block.process,
            Read::Descriptor(transfer) => transfer.process,
            Read::Word(word) => (word >> 48) as u8,
            Read::Table => 0,
        }
    }
}

impl Nic {
    /// Writes to a process's memory; returns when the write leaves.
    pub(super) fn write(
        &mut self,
        c: &Common,
        t: Microticks,
        bytes: u32,
        memory_write: MemoryWrite,
    ) -> Microticks {
        let start = self.write_free.max(t);
        self.write_free = start + c.config.passage(bytes);
        let (start, end) = self.pcie.send(&c.config.pcie, Direction::Up, start, bytes);
        let process = match &memory_write {
            MemoryWrite::Data { process, .. } => *process,
            MemoryWrite::Event { queue, .. } => lock(&self.here).queue(*queue).map_or(0, |q| q.process),
            MemoryWrite::Sync(_) | MemoryWrite::Result { .. } => 0,
        };
        self.schedule.at(end + crossing(&c.config, process), Action::WriteDone(Box::new(memory_write)));
        start
    }

    /// Requests data from the host.
    pub(super) fn read(&mut self, c: &Common, t: Microticks, read: Read) {
        let start = self.read_free.max(t);
        self.read_free = start + c.config.passage(read.bytes());
        let (_, end) = self.pcie.send(&c.config.pcie, Direction::Up, start, 0);
        let far = crossing(&c.config, read.process()) - crossing(&c.config, 0);
        self.schedule.at(
            end + at_host(&c.config.pcie) + far,
            Action::AtHost(Box::new(Reading { what: read, data: None })),
        );
    }

    /// The host's memory has the data, which is queued for the return transfer.
    pub(super) fn at_host(&mut self, c: &Common, t: Microticks, mut reading: Box<Reading>) {
        let read = &reading.what;
        let at = match read {
            Read::Answer(located) => Some(place(located.process, located.address)),
            Read::Block(block) => Some(place(block.process, block.address)),
            Read::Word(word) => Some(*word),
            Read::Descriptor(_) | Read::Table => None,
        };
        let bytes = read.bytes();
        let data = at.and_then(|at| lock(&self.here).contents.load(at, bytes as usize));
        let (_, end) = self.pcie.send(&c.config.pcie, Direction::Down, t, bytes);
        if !matches!(read, Read::Table) {
            let there = end + crossing(&c.config, read.process());
            reading.data = data;
            self.schedule.at(there, Action::ReadDone(reading));
        }
    }

    /// The time at which an address is translated.
    pub(super) fn translate(
        &mut self,
        c: &Common,
        t: Microticks,
        (process, address): (u8, u64),
        page: PageSize,
    ) -> Microticks {
        let (pcie, schedule) = (&mut self.pcie, &mut self.schedule);
        let back = c.config.pcie.time(u64::from(64 + c.config.pcie.overhead_B));
        self.iommu.translate(process, address, page, t, |from| {
            // With two levels, the second is requested later, but its time on the host interface is taken
            // now, so that nothing has to wait for it.
            let (_, end) = pcie.send(&c.config.pcie, Direction::Up, t, 0);
            let there = end.max(from) + at_host(&c.config.pcie);
            schedule.at(there, Action::AtHost(Box::new(Reading { what: Read::Table, data: None })));
            there + back + crossing(&c.config, 0)
        })
    }

    /// The same for memory of a local process, whose page size is looked up.
    pub(super) fn translate_local(
        &mut self,
        c: &Common,
        t: Microticks,
        process: u8,
        address: u64,
        bytes: u32,
    ) -> Microticks {
        let page = lock(&self.here).domains.page_of(process, address, bytes.into());
        self.translate(c, t, (process, address), page.unwrap_or(PageSize::SMALL))
    }

    /// A write has reached memory: processes that poll for it are resumed.
    pub(super) fn write_done(&mut self, c: &Common, t: Microticks, memory_write: MemoryWrite) {
        match memory_write {
            MemoryWrite::Data { process, address, bytes, data } => {
                let at = place(process, address);
                lock(&self.here).contents.store(at, bytes as usize, data.as_deref());
                let touched = address..address + u64::from(bytes);
                self.found(c, t, |_, watch| match watch {
                    Watch::Memory { process: of, address, bytes } => {
                        of == process && address < touched.end && touched.start < address + bytes
                    }
                    _ => false,
                });
            }
            MemoryWrite::Event { queue, event } => {
                let mut here = lock(&self.here);
                let Some(q) = here.queue(queue) else { return };
                if q.events.len() < q.room {
                    q.events.push_back(event);
                } else {
                    q.is_overrun = true;
                }
                let (owner, (wakes, by_interrupt)) = (q.process, q.wakes());
                drop(here);
                let is_it =
                    |who, watch| watch == Watch::Queue(queue) || watch == Watch::AnyQueue && who == owner;
                if wakes && by_interrupt {
                    self.interrupt(c, t, is_it);
                } else if wakes {
                    self.found(c, t, is_it);
                }
            }
            MemoryWrite::Sync(descriptor) => self.found(c, t, |_, watch| watch == Watch::Sync(descriptor)),
            MemoryWrite::Result { engine, value, status } => self.has_result(c, t, engine, value, status),
        }
    }

    /// Resumes processes that poll for this at the end of the poll that finds it.
    pub(super) fn found(&mut self, c: &Common, t: Microticks, is_it: impl Fn(u8, Watch) -> bool) {
        self.schedule.found(t, |_| c.config.core.polling(), is_it);
    }

    /// Interrupts processes that sleep until this holds.
    pub(super) fn interrupt(&mut self, c: &Common, t: Microticks, is_it: impl Fn(u8, Watch) -> bool) {
        let asleep = Polling::asleep(Microticks::of_milliticks(c.config.core.interrupt_milliticks));
        self.counters.interrupts += self.schedule.found(t, |_| asleep, is_it) as u64;
    }

    /// The data of a read has arrived.
    pub(super) fn read_done(&mut self, c: &Common, t: Microticks, read: Read, data: Option<Data>) {
        match read {
            Read::Answer(located) => self.answer(c, t, &located, data),
            Read::Block(block) => self.block_read(c, t, block, data),
            Read::Descriptor(transfer) => self.post_transfer(c, t, *transfer),
            Read::Word(word) => self.word_read(c, t, word, data),
            Read::Table => {}
        }
    }

    /// The tick of a time.
    pub(super) fn tick(t: Microticks) -> Time {
        t.tick()
    }
}
