//! Message reception (section III.D): an engine for each network reception FIFO reads its packets and stores
//! them. A packet of an RDMA write then decrements its counter by an atomic operation of the L2; one for a
//! reception FIFO in memory advances its tail; one of an RDMA read adds its descriptors to an injection FIFO.

use super::common::Common;
use super::descriptor::{self, CHUNK, HIGH_PRIORITY};
use super::encoding;
use super::fifos::{Packet, Place, Priority, Reception, ReceptionFifo, check_reception};
use super::interrupts::Interrupt;
use super::packet::{Put, Queued, UnitHeader};
use super::protection::Violation;
use super::{Alarm, DESCRIPTOR_B, NETWORK_FIFOS, Out, Unit};
use netloom_engine::Time;
use netloom_fabric::collective::CollectiveHeader;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::{Data, Header};
use std::collections::VecDeque;

/// Bytes that an engine reads from its network FIFO per cycle of the unit (section III.D).
const READ_B: u64 = 4;
/// Sizes of a full packet, and of the network reception FIFOs, bytes: those of directions and local
/// transfers, and the others (inferred from the widths of their pointers in the public driver's
/// `nd_500_dcr.h`).
pub(super) const FULL_B: u64 = 544;
const USUAL_FIFO_B: u64 = 2048;
const OTHER_FIFO_B: u64 = 4096;
/// The system's network FIFO.
const SYSTEM: usize = descriptor::SYSTEM.trailing_zeros() as usize;

/// A packet in transit to memory.
pub(super) struct Store {
    header: UnitHeader,
    chunks: u32,
    source: u32,
    made: Time,
    data: Option<Data>,
    engine: usize,
    /// Its place, if its destination is a reception FIFO.
    place: Option<Place>,
}

/// A network reception FIFO with its engine.
#[derive(Default)]
#[repr(align(64))]
#[allow(non_snake_case)]
pub(super) struct NetworkReception {
    /// Bytes of its packets, including those that its engine has not yet started to store.
    held_B: u64,
    /// When its engine has read its current packet.
    reading: Time,
    /// Whether the network must not deliver to it.
    is_closed: bool,
    /// Packets that have been read, in order: the first waits for space in a reception FIFO in memory, if
    /// there is any.
    waiting: VecDeque<u16>,
}

/// There is no space for a packet.
struct NoRoom;

/// The result of starting to store a packet.
enum Began {
    /// It is being stored.
    Storing,
    /// There is no space for it.
    NoRoom,
    /// It is not allowed.
    Refused(Violation),
}

/// The result of storing a packet.
pub(super) enum Outcome {
    /// Its bytes of data are stored; for an RDMA write, with the counter that reached zero.
    Stored { bytes: u32, zero: Option<u64> },
    /// It is in a reception FIFO, whose tail advanced by `moved` packets; with the interrupts that it raises.
    Queued { bytes: u32, fifo: u16, moved: usize, raises: Vec<Interrupt> },
}

impl Unit {
    /// Software sets up a reception FIFO.
    pub fn set_reception_fifo(&mut self, fifo: u16, settings: ReceptionFifo) -> Result<(), String> {
        let others = self.reception.iter().map(|(n, f)| (n, &f.settings));
        if let Some(problem) = check_reception(fifo, &settings, others) {
            return Err(format!("reception FIFO {fifo}: {problem}"));
        }
        self.reception.insert(fifo, Reception::new(settings));
        Ok(())
    }

    /// Software frees a reception FIFO.
    pub fn free_reception_fifo(&mut self, fifo: u16) -> Result<(), String> {
        match self.reception.get(fifo).map_or(0, |memory| memory.packets_B()) {
            0 => {
                self.reception.remove(fifo);
                Ok(())
            }
            left => Err(format!("reception FIFO {fifo} is freed with {left} B of packets in it")),
        }
    }

    fn reception_fifo(&mut self, fifo: u16) -> &mut Reception {
        self.reception.get_or_insert_with(fifo, || Reception::new(ReceptionFifo::usual(fifo)))
    }

    /// A packet is complete in a network reception FIFO: only now are its check bytes verified, and its
    /// engine starts to read it **(ours: the paper does not specify when)**. Returns its interrupts.
    pub fn arrived(
        &mut self,
        common: &Common,
        now: Time,
        delivery: &Delivery,
        out: &mut Out,
    ) -> Option<Interrupt> {
        let collective = CollectiveHeader::unpack(delivery.header);
        let engine = engine_of(delivery.port, delivery.header);
        let header = UnitHeader::of(&delivery.meta);
        let chunks = delivery.header.chunks();
        let (source, data) = (delivery.meta.source, delivery.data.cloned());
        let made = delivery.meta.made;
        let store = Store { header, chunks: chunks - 1, source, made, data, engine, place: None };
        let slot = self.storing.iter().position(Option::is_none).unwrap_or_else(|| {
            self.storing.push(None);
            self.storing.len() - 1
        });
        assert!(slot < 1 << 16, "packets being stored are few");
        self.storing[slot] = Some(store);
        let c = &common.config;
        let bytes = u64::from(chunks * CHUNK);
        let fifo = &mut self.network_reception[engine];
        let read = fifo.reading.max(now) + bytes.div_ceil(READ_B) * u64::from(c.cycle_ticks);
        fifo.reading = read;
        fifo.held_B += bytes;
        self.close_or_open(engine, out);
        let logic = if collective.is_some() { c.collective_ticks } else { c.receive_ticks };
        out.at(read + u64::from(logic), Alarm::Received(slot as u16));
        collective.filter(|c| c.flags.overflow || c.flags.nan).map(|_| Interrupt::Arithmetic)
    }

    /// Reports to the network whether a network reception FIFO has space for a full packet.
    fn close_or_open(&mut self, engine: usize, out: &mut Out) {
        let fifo = &mut self.network_reception[engine];
        let is_other = engine >= HIGH_PRIORITY.trailing_zeros() as usize;
        let is_full = fifo.held_B + FULL_B > if is_other { OTHER_FIFO_B } else { USUAL_FIFO_B };
        if is_full != fifo.is_closed {
            fifo.is_closed = is_full;
            out.reception(engine, !is_full);
        }
    }

    fn storing(&self, slot: u16) -> &Store {
        self.storing[usize::from(slot)].as_ref().expect("an alarm for each packet")
    }

    /// The same, of which no alarm will ask any more.
    fn take_stored(&mut self, slot: u16) -> Store {
        self.storing[usize::from(slot)].take().expect("an alarm for each packet")
    }

    /// An engine has read a packet, and stores it unless another waits before it. Returns the violation if it
    /// is not allowed.
    pub fn received(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) -> Option<Violation> {
        let engine = self.storing(slot).engine;
        let is_first = self.network_reception[engine].waiting.is_empty();
        if is_first && let Ok(refused) = self.store(common, now, engine, slot, out) {
            return refused;
        }
        self.network_reception[engine].waiting.push_back(slot);
        // Space that the one before it waited for may be there now.
        if is_first { None } else { self.store_next(common, now, engine, out).1 }
    }

    /// An engine stores its next packet, if it can. Returns whether it has finished with it, and the
    /// violation if any.
    fn store_next(
        &mut self,
        common: &Common,
        now: Time,
        engine: usize,
        out: &mut Out,
    ) -> (bool, Option<Violation>) {
        let Some(&slot) = self.network_reception[engine].waiting.front() else { return (false, None) };
        match self.store(common, now, engine, slot, out) {
            Ok(refused) => {
                self.network_reception[engine].waiting.pop_front();
                (true, refused)
            }
            Err(NoRoom) => (false, None),
        }
    }

    /// An engine stores a packet. Returns the violation if it is not allowed.
    fn store(
        &mut self,
        common: &Common,
        now: Time,
        engine: usize,
        slot: u16,
        out: &mut Out,
    ) -> Result<Option<Violation>, NoRoom> {
        let bytes = u64::from((self.storing(slot).chunks + 1) * CHUNK);
        let refused = match self.begin_to_store(common, now, slot, out) {
            Began::NoRoom => return Err(NoRoom),
            Began::Storing => None,
            Began::Refused(why) => {
                self.storing[usize::from(slot)] = None;
                Some(why)
            }
        };
        self.network_reception[engine].held_B -= bytes;
        self.close_or_open(engine, out);
        Ok(refused)
    }

    fn begin_to_store(&mut self, common: &Common, now: Time, slot: u16, out: &mut Out) -> Began {
        let &Store { header, chunks, source, made, engine, .. } = self.storing(slot);
        let priority = priority_of(engine);
        let (address, bytes) = match header {
            UnitHeader::Put(Put { base, offset, counter_base, valid, .. }) => {
                let (Some(start), Some(_)) = (self.base.get(base), self.base.get(counter_base)) else {
                    return Began::Refused(Violation::BaseAddress);
                };
                let (address, bytes) = (start + offset, u64::from(valid));
                if self.base_ends.get(base).is_some_and(|&end| address + bytes > end) {
                    return Began::Refused(Violation::Range);
                }
                (address, bytes)
            }
            UnitHeader::MemoryFifo(Queued { fifo, .. }) => {
                let bytes = u64::from((chunks + 1) * CHUNK);
                let Some(address) = self.reception_fifo(fifo).room_for(bytes) else { return Began::NoRoom };
                (address, bytes)
            }
            UnitHeader::RemoteGet { fifo, bytes } => {
                let memory = self.injection.get(fifo).filter(|m| m.settings.remote_get);
                let Some(memory) = memory else { return Began::Refused(Violation::RemoteGet) };
                if memory.free_B() < u64::from(bytes) {
                    // The engine waits until descriptors have been injected (bit 23 of the unit's interrupts
                    // in IBM's public driver: "rME is waiting for software to free up space").
                    return Began::NoRoom;
                }
                (memory.tail_address(), u64::from(bytes))
            }
        };
        if !self.ranges.allow(address, bytes, true, priority == Priority::System) {
            return Began::Refused(Violation::Range);
        }
        // No failure is possible from here on: space is reserved.
        match header {
            UnitHeader::Put(_) => self.counters.put_packets += 1,
            UnitHeader::MemoryFifo(Queued { fifo, software, offset, .. }) => {
                self.counters.fifo_packets += 1;
                let data = self.storing[usize::from(slot)].as_mut().and_then(|store| store.data.take());
                let place = self.reception_fifo(fifo).reserve(Packet {
                    source,
                    made,
                    software,
                    offset,
                    chunks,
                    data,
                });
                self.storing[usize::from(slot)].as_mut().expect("just now").place = Some(place);
            }
            UnitHeader::RemoteGet { fifo, bytes } => {
                self.counters.get_packets += 1;
                self.injection_fifo(fifo).coming_B += u64::from(bytes);
            }
        }
        let stored = self.ports.write(&common.config, now, (engine, priority), address, bytes);
        out.at(stored, Alarm::Stored(slot));
        Began::Storing
    }

    /// A packet is in memory. For an RDMA write, its counter follows, by an atomic operation through the same
    /// port; otherwise the packet is complete. Returns the result, or the violation.
    pub fn stored(
        &mut self,
        common: &Common,
        now: Time,
        slot: u16,
        out: &mut Out,
    ) -> Result<Option<Outcome>, Violation> {
        let &Store { header, chunks, engine, place, .. } = self.storing(slot);
        match header {
            UnitHeader::Put(put) => {
                let data = self.storing(slot).data.as_ref();
                let address = self.address(put.base, put.offset);
                let mut contents = super::lock(&self.contents);
                if let Some(atomic) = put.atomic {
                    let word = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
                    let new = data.map_or(0, |data| word(data));
                    let old = word(&contents.load_all(address, 8));
                    contents.store(address, 8, Some(&atomic.apply(old, new).to_be_bytes()));
                } else {
                    contents.store(address, put.valid as usize, data.map(|data| &**data));
                }
                drop(contents);
                let counter = self.address(put.counter_base, put.counter_offset);
                let counted =
                    self.ports.write(&common.config, now, (engine, priority_of(engine)), counter, 8);
                out.at(counted, Alarm::Counted(slot));
                Ok(None)
            }
            UnitHeader::MemoryFifo(queued) => {
                self.storing[usize::from(slot)] = None;
                let memory = self.reception_fifo(queued.fifo);
                let free = memory.free_B();
                let moved = memory.commit(place.expect("it was reserved"));
                let low = memory.settings.threshold_B.is_some_and(|t| free < t);
                let raises = [
                    queued.interrupt.then_some(Interrupt::Arrived(queued.fifo)),
                    low.then_some(Interrupt::ReceptionRoom(queued.fifo)),
                ];
                let bytes = chunks * CHUNK;
                let raises = raises.into_iter().flatten().collect();
                Ok(Some(Outcome::Queued { bytes, fifo: queued.fifo, moved, raises }))
            }
            UnitHeader::RemoteGet { fifo, bytes } => {
                let data = self.take_stored(slot).data.unwrap_or_else(|| vec![0; bytes as usize].into());
                let descriptors = data.chunks_exact(DESCRIPTOR_B as usize).map(|b| {
                    let descriptor = encoding::of_bytes(b.try_into().expect("64 bytes"), &common.torus)?;
                    descriptor.problem(&common.torus, self.number).is_none().then_some(descriptor)
                });
                let descriptors = descriptors.collect::<Option<Vec<_>>>();
                let memory = self.injection_fifo(fifo);
                let Some(descriptors) = descriptors else {
                    memory.coming_B -= u64::from(bytes);
                    return Err(Violation::RemoteGet);
                };
                memory.put(descriptors);
                self.fetch(common, now, fifo, out);
                Ok(Some(Outcome::Stored { bytes, zero: None }))
            }
        }
    }

    /// A packet's counter has been decremented.
    pub fn counted(&mut self, slot: u16) -> Outcome {
        let UnitHeader::Put(put) = self.take_stored(slot).header else {
            unreachable!("only RDMA writes have counters")
        };
        let address = self.address(put.counter_base, put.counter_offset);
        let counter = self.memory_counters.entry(address).or_insert(0);
        let before = *counter;
        *counter -= i64::from(put.valid);
        Outcome::Stored { bytes: put.valid, zero: (before > 0 && *counter <= 0).then_some(address) }
    }

    /// Software takes the first packet of a reception FIFO.
    pub fn take_packet(&mut self, fifo: u16) -> Option<Packet> {
        self.reception_fifo(fifo).take()
    }

    /// Engines that waited for space resume. Returns their violations.
    pub fn resume_storing(&mut self, common: &Common, now: Time, out: &mut Out) -> Vec<Violation> {
        let mut refused = vec![];
        for engine in 0..NETWORK_FIFOS {
            loop {
                let (is_done, why) = self.store_next(common, now, engine, out);
                refused.extend(why);
                if !is_done {
                    break;
                }
            }
        }
        refused
    }

    /// Number of packets of a reception FIFO that are visible to software.
    pub fn packets_for_software(&self, fifo: u16) -> usize {
        self.reception.get(fifo).map_or(0, Reception::packets)
    }

    /// The address of an offset from an entry of the base address table.
    fn address(&self, entry: u16, offset: u64) -> u64 {
        self.base.get(entry).copied().unwrap_or(0) + offset
    }
}

/// The priority of an engine's requests.
fn priority_of(engine: usize) -> Priority {
    if engine == SYSTEM { Priority::System } else { Priority::User }
}

/// The engine of a packet: the network has one reception FIFO for high-priority packets and one for system
/// packets, whatever link they arrived on.
fn engine_of(port: usize, header: Header) -> usize {
    match header {
        _ if header.is_collective() => port,
        _ if header.is_system() => SYSTEM,
        _ if header.head() & Header::HIGH != 0 => HIGH_PRIORITY.trailing_zeros() as usize,
        _ => port,
    }
}
