//! A task of PAMI as an `async fn` on a simulated node: the same protocols as those of a program in C,
//! without a process of its own.

use super::Endpoint;
use super::context::{Context, Event, Limits};
use super::device::{Collective, PamiDevice, Range};
use super::message_unit::UnitContext;
use super::message_unit::collective::group::Members;
use super::message_unit::memory::ProcessMemory;
use super::{Costs, Placement};
use crate::device::Simulated;
use crate::spi::Spi;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::CoreOf;
use netloom_node::process::Resumed;
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex};

/// A task with one context.
pub struct Task {
    context: Context<UnitContext>,
    core: CoreOf<MessageUnit>,
}

impl Task {
    /// The task of a process.
    ///
    /// # Panics
    /// If the process has none.
    pub fn new(spi: &Spi, placement: &Arc<Placement>, costs: Costs, limits: Limits) -> Self {
        let device = spi.device().clone();
        let task = placement.task(device.node(), device.process()).expect("a task of this process");
        let endpoint = Endpoint::new(task, 0).expect("few tasks");
        let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), None)));
        let core = CoreOf::<MessageUnit>::new(device.thread().clone());
        let device = UnitContext::new(device, placement, &memory, costs, endpoint);
        Task { context: Context::new(device, limits), core }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.context.device().endpoint().task()
    }

    /// Its context. What a call costs passes at the next call of [`Self::event`] or [`Self::done`].
    pub fn context(&mut self) -> &mut Context<UnitContext> {
        &mut self.context
    }

    /// The machine's topology.
    pub fn torus(&self) -> &Torus {
        self.context.device().device().torus()
    }

    /// The time.
    pub fn now(&self) -> Microticks {
        self.core.now()
    }

    /// Records a measurement.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.core.thread().measure(key, value);
    }

    /// Memory of this length.
    pub fn allocate(&self, bytes: u64) -> Range {
        Range { address: self.context.device().device().allocate_memory(bytes), bytes }
    }

    /// Stores bytes in its memory (not timed).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        self.context.device().device().store(address, bytes);
    }

    /// Bytes of its memory.
    pub fn load(&self, range: Range) -> Vec<u8> {
        let at = lock(self.context.device().memory()).physical(range);
        self.context.device().device().load(at, range.bytes as usize)
    }

    /// Waits until what it has begun so far has taken its time.
    pub async fn done(&mut self) {
        let why = self.core.done().await;
        let device = self.context.device_mut();
        device.collect();
        if why == Resumed::Found(0) {
            device.take();
        }
    }

    /// Joins a group of tasks, by the class of its routes. Returns its number.
    ///
    /// # Panics
    /// If this task is no member.
    pub fn join(&mut self, members: &Members, class: u8) -> usize {
        self.context.device_mut().add_group(members, class).expect("a member")
    }

    /// Takes part in a collective operation of a group.
    pub async fn collective(&mut self, group: usize, operation: Collective) {
        self.context.collective(group, operation, 0);
        while self.event().await != Event::Collected(0) {}
        self.done().await;
    }

    /// Computes for this long.
    pub async fn compute(&mut self, time: Microticks) {
        self.core.spend(time).await;
        self.context.device_mut().collect();
    }

    /// Advances the context until there is an event.
    pub async fn event(&mut self) -> Event<()> {
        loop {
            if let Some(event) = self.context.poll() {
                return event;
            }
            if !self.core.thread().has_pending() {
                self.context.device_mut().wait(None);
            }
            self.done().await;
        }
    }
}
