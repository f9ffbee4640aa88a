//! A guest's task on a Message Unit.

use super::{Arrival, ContextPort, Interface, Watches};
use crate::device::Simulated;
use crate::pami::Endpoint;
use crate::pami::device::{
    Arrival as OfDevice, Begun, Collective, Full, PamiDevice, Piece, Range, Ticket, Transfer,
};
use crate::pami::guest::process::Settings;
use crate::pami::guest::{ContextNumber, Contexts};
use crate::pami::message_unit::collective::group::{Group, Members};
use crate::pami::message_unit::memory::{Mapping, Open, ProcessMemory};
use crate::pami::message_unit::{UnitContext, is_memory};
use crate::pami::packet::Head;
use crate::spi::device::UnitDevice;
use crate::transit::Flight;
use netloom_nic::message_unit::commands::{Command, Watch};
use netloom_node::program::lock;
use netloom_node::thread::Thread;
use std::sync::{Arc, Mutex};

/// The class of the group of all tasks.
const WORLD_CLASS: u8 = 0;

/// The Message Unit of a task's node.
pub struct UnitInterface {
    device: UnitDevice,
    memory: Arc<Mutex<ProcessMemory>>,
    /// Where all tasks are, if they can be a group.
    members: Option<Members>,
    /// The group of all tasks, until a context takes it.
    world: Option<Group>,
}

impl UnitInterface {
    /// That of a process of a node; `open` gives access to the guest's memory, and `world` is where all
    /// tasks are, if they can be a group.
    pub fn new(device: UnitDevice, open: Open, world: Option<Members>) -> Self {
        let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), Some(open))));
        UnitInterface { device, memory, members: world, world: None }
    }
}

impl Interface for UnitInterface {
    type Command = Command;
    type Watch = Watch;
    type Context = UnitContext;

    fn thread(&self) -> &Thread<Command, Watch> {
        self.device.thread()
    }

    /// The kernel sets up the network for the whole job before its programs start.
    fn start(&mut self) {
        self.world = self.members.as_ref().and_then(|members| Group::new(members, WORLD_CLASS, &self.device));
    }

    fn open(&mut self, settings: &Settings, endpoint: Endpoint) -> UnitContext {
        let (device, costs) = (self.device.clone(), settings.costs.clone());
        UnitContext::new(device, &settings.placement, &self.memory, costs, endpoint)
    }

    fn has_world(&self) -> bool {
        self.members.is_some()
    }

    fn give_world(&mut self, context: &mut UnitContext) -> bool {
        self.world.take().map(|world| context.adopt(world)).is_some()
    }

    fn collect(&mut self, contexts: &mut [(ContextNumber, UnitContext)], process: u8) -> Contexts {
        let mut brought = Contexts::default();
        for (number, context) in contexts {
            let had_arrivals = context.has_arrivals();
            let takes = context.taken_by() == Some(process);
            context.run_as(process);
            context.collect();
            // A packet that this process took out of the FIFO of a context which another one has begun to
            // wait for since: the FIFO tells that one nothing.
            if takes && !had_arrivals && context.has_arrivals() {
                brought = brought.with(*number);
            }
        }
        brought
    }

    fn expose(&mut self, range: Range) -> Mapping {
        lock(&self.memory).mapping(range)
    }

    fn is_exposed(&self, address: u64, bytes: u64) -> bool {
        is_memory(address, bytes)
    }

    fn touch(&mut self, range: Range) {
        if let Some(physical) = self.expose(range).physical(range) {
            self.device.load(physical, 1);
            self.device.load(physical + range.bytes - 1, 1);
        }
    }
}

impl ContextPort for UnitContext {
    type Watch = Watch;

    fn next(&mut self) -> Option<Arrival> {
        Some(match self.poll()? {
            OfDevice::Finished(ticket) => Arrival::Finished(ticket),
            OfDevice::Packet(head, ()) => {
                let packet = self.bytes(()).to_vec();
                self.release();
                Arrival::Packet(head, packet)
            }
        })
    }

    fn has_arrivals(&self) -> bool {
        UnitContext::has_arrivals(self)
    }

    fn fetch(&mut self) {
        self.take();
    }

    fn room(&self) -> u64 {
        UnitContext::room(self).min().unwrap_or(0)
    }

    fn packet_watches(&self) -> Watches<Watch> {
        self.watches().into_iter().take(1).collect()
    }

    fn other_watches(&self) -> Watches<Watch> {
        self.watches().into_iter().skip(1).chain(self.without_room()).collect()
    }

    fn inject(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>) -> Result<(), Full> {
        match PamiDevice::inject(self, to, head, [&bytes, &[]]) {
            Err(Full) if self.is_local(to) => {
                self.overflow(to, head, bytes);
                Ok(())
            }
            sent => sent,
        }
    }

    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<Begun, Full> {
        PamiDevice::inject_data(self, to, head, data).map(|(_, begun)| begun)
    }

    fn transfer(&mut self, way: Transfer, with: Endpoint, pieces: &[Piece]) -> Result<Begun, Full> {
        match self.transfer_pieces(way, with, pieces) {
            Ok((count, begun)) if count == pieces.len() => Ok(begun),
            _ => Err(Full),
        }
    }

    fn flush(&mut self, with: Endpoint) -> Result<Begun, Full> {
        PamiDevice::flush(self, with).map_err(|_| Full)
    }

    fn free_classes(&mut self, tasks: &[(u32, u32)]) -> u64 {
        PamiDevice::free_classes(self, tasks)
    }

    fn join(&mut self, tasks: &[(u32, u32)], class: u8) -> Option<usize> {
        self.members(tasks)?;
        Some(PamiDevice::join(self, tasks, class))
    }

    fn leave(&mut self, group: usize) {
        PamiDevice::leave(self, group);
    }

    fn has_group(&self, group: usize) -> bool {
        UnitContext::has_group(self, group)
    }

    fn group_has(&self, group: usize, task: u32) -> bool {
        UnitContext::group_has(self, group, task)
    }

    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        PamiDevice::collective(self, group, operation)
    }

    fn note_flights(&mut self) {
        UnitContext::note_flights(self);
    }

    fn take_flights(&mut self) -> Vec<Flight> {
        UnitContext::take_flights(self)
    }
}
