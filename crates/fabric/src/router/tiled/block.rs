//! A block of routers: its events, tick by tick.
//!
//! The events of a tick are applied in any order; none of them touches what another does. Then packets are handed to their nodes, and
//! each router concerned acts once: nodes' packets enter, inputs route and take their row's bus, sub-switches the column's, and
//! column buffers the link. What an act frees is seen a tick later, so that the order of acts does not matter but for loads, which
//! are read in the order of tiles.

use super::event::{Event, Kind, Message};
use super::header::TiledHeader;
use super::loads::Loads;
use super::state::*;
use super::tables::{Constants, Tables};
use crate::host::{Host, Signals};
use crate::packet::{Arena, Data, Meta};
use crate::router::bits::bits;
use crate::router::statistics::Recorder;
use netloom_engine::{Block, Calendar, Outbox, Time};
use std::sync::Arc;

/// Routers that one thread simulates at a time, with the hosts of their nodes.
pub struct TiledBlock<H> {
    pub(super) tables: Arc<Tables>,
    pub(super) k: Constants,
    /// The machine's number of the first router and the first node; the others follow.
    pub(super) first: u32,
    pub(super) first_node: u32,
    /// By router and tile.
    pub(super) inputs: Vec<Input>,
    pub(super) switches: Vec<SubSwitch>,
    pub(super) outputs: Vec<Output>,
    /// By sub-switch and row of its column.
    pub(super) buses: Vec<Bus>,
    /// Queues of sub-switches and what room is left in them, flits: by router, tile, column of the row and VC.
    pub(super) row_queues: Vec<Queue>,
    pub(super) row_room: Vec<u8>,
    /// The same of column buffers: by router, tile, row of the column and VC.
    pub(super) column_queues: Vec<Queue>,
    pub(super) column_room: Vec<u8>,
    /// By router, share and processor tile of it.
    pub(super) shares: Vec<Share>,
    pub(super) entries: Vec<Entry>,
    /// By router: what it has to do; flits in it that are to leave over links.
    pub(super) due: Vec<Due>,
    pub(super) load: Vec<u32>,
    /// Routers that have something to do in this tick.
    pub(super) active: Vec<u32>,
    /// By node and injection FIFO: the packet that waits there.
    pub(super) injecting: Vec<u32>,
    pub(super) fifos: usize,
    /// By node: classes of packets that its host does not take now, a bit each.
    pub(super) closed: Vec<u8>,
    pub(super) arena: Arena,
    /// By a packet's number in the arena.
    pub(super) cells: Vec<Cell>,
    /// What packets carry, likewise; as long as any has carried anything.
    pub(super) data: Vec<Option<Data>>,
    pub(super) calendar: Calendar<Event>,
    pub(super) recorder: Recorder,
    pub(super) host: H,
    pub(super) signals: Signals,
    /// Loads of routers, and of their global links.
    pub(super) router_loads: Loads,
    pub(super) link_loads: Loads,
    /// The events of one tick, and those of them that are for hosts; kept for their memory.
    taken: Vec<Event>,
    pub(super) for_hosts: Vec<Event>,
    /// The machine's numbers of the block's nodes.
    pub(super) numbers: Vec<u32>,
}

impl<H: Host<TiledHeader>> TiledBlock<H> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        tables: &Arc<Tables>,
        (first, routers): (u32, u32),
        inputs: Vec<Input>,
        outputs: Vec<Output>,
        fifos: usize,
        recorder: Recorder,
        (router_loads, link_loads): (Loads, Loads),
        host: impl FnOnce(&[u32]) -> H,
    ) -> Self {
        let t = tables.constants;
        let wiring = &tables.wiring;
        let routers = routers as usize;
        let tiles = routers * t.tiles;
        let first_node = wiring.nodes_at(first).start;
        let numbers: Vec<u32> =
            (first..first + routers as u32).flat_map(|router| wiring.nodes_at(router)).collect();
        let mut calendar = Calendar::new();
        for &node in &numbers {
            let (router, slot) = wiring.home(node);
            for fifo in 0..fifos {
                calendar.push(0, Event::of_packet(Kind::Fill, router - first, slot, fifo, 0));
            }
        }
        let (row_queues, column_queues) = (tiles * t.columns * t.all_vcs, tiles * t.rows * t.all_vcs);
        let r = &tables.config.router;
        TiledBlock {
            first,
            first_node,
            inputs,
            switches: vec![SubSwitch::default(); tiles],
            outputs,
            buses: vec![Bus::default(); tiles * t.rows],
            row_queues: vec![Queue::EMPTY; row_queues],
            row_room: vec![r.subswitch_flits as u8; row_queues],
            column_queues: vec![Queue::EMPTY; column_queues],
            column_room: vec![r.column_flits as u8; column_queues],
            shares: vec![Share::default(); routers * t.shares],
            entries: vec![Entry { free_at: 0, room: t.room() }; routers * t.shares * t.tiles_per_share],
            due: vec![Due::default(); routers],
            load: vec![0; routers],
            active: vec![],
            injecting: vec![NONE; numbers.len() * fifos],
            fifos,
            closed: vec![0; numbers.len()],
            arena: Arena::default(),
            cells: vec![],
            data: vec![],
            calendar,
            recorder,
            host: host(&numbers),
            signals: Signals::default(),
            router_loads,
            link_loads,
            taken: vec![],
            for_hosts: vec![],
            numbers,
            tables: Arc::clone(tables),
            k: t,
        }
    }

    /// A packet's place in the block, with its cell.
    pub(super) fn insert(&mut self, cell: Cell, meta: Meta, data: Option<Data>) -> u32 {
        let packet = self.arena.insert(meta);
        let at = packet as usize;
        if at >= self.cells.len() {
            self.cells.resize(at + 1, Cell::default());
        }
        self.cells[at] = cell;
        if data.is_some() || at < self.data.len() {
            self.data.resize(self.data.len().max(at + 1), None);
            self.data[at] = data;
        }
        packet
    }

    /// Takes a packet out of the block.
    pub(super) fn remove(&mut self, packet: u32) -> (Cell, Meta, Option<Data>) {
        let data = self.data.get_mut(packet as usize).and_then(Option::take);
        (self.cells[packet as usize], self.arena.remove(packet), data)
    }

    /// Notes that a router has something to do in this tick.
    #[inline]
    pub(super) fn due(&mut self, router: u32) -> &mut Due {
        let due = &mut self.due[router as usize];
        if due.is_idle() {
            self.active.push(router);
        }
        due
    }

    fn apply(&mut self, event: Event, now: Time) {
        let t = self.k;
        let Event { router, packet, tile, queue, flits, .. } = event;
        let at = router as usize * t.tiles + usize::from(tile);
        let bit = 1u64 << tile;
        match event.kind {
            Kind::Arrived => {
                let cell = &mut self.cells[packet as usize];
                let (came, flits) = (usize::from(cell.came), cell.flits);
                cell.out = UNROUTED;
                let input = &mut self.inputs[at];
                if input.queues[came].push(packet, &mut self.cells) {
                    input.waiting |= 1 << came;
                }
                self.recorder.enter(came, flits, now);
                self.due(router).inputs |= bit;
            }
            Kind::Switched => {
                let queues = t.columns * t.all_vcs;
                let row = usize::from(self.cells[packet as usize].out) / t.columns;
                let rows = t.rows;
                if self.row_queues[at * queues + usize::from(queue)].push(packet, &mut self.cells) {
                    self.buses[at * rows + row].wanted |= 1 << queue;
                }
                self.due(router).switches |= bit;
            }
            Kind::Buffered => {
                let queues = t.rows * t.all_vcs;
                if self.column_queues[at * queues + usize::from(queue)].push(packet, &mut self.cells) {
                    self.outputs[at].waiting |= 1 << queue;
                }
                self.due(router).outputs |= bit;
            }
            Kind::Credit => {
                let reserved = t.reserved;
                self.outputs[at].room.give_back(queue.into(), flits.into(), reserved);
                if self.outputs[at].waiting != 0 {
                    self.due(router).outputs |= bit;
                }
            }
            Kind::WakeInput => self.due(router).inputs |= bit,
            Kind::WakeSwitch => self.due(router).switches |= bit,
            Kind::WakeOutput => self.due(router).outputs |= bit,
            Kind::WakeShare => self.due(router).shares |= bit,
            Kind::Delivered | Kind::Wake | Kind::Fill => self.for_hosts.push(event),
        }
    }

    /// What a router does in a tick.
    fn act(&mut self, router: u32, now: Time, out: &mut Outbox<Message>) {
        let due = std::mem::take(&mut self.due[router as usize]);
        for share in bits(due.shares) {
            self.enter_tiles(router, share, now);
        }
        for tile in bits(due.inputs) {
            self.act_input(router, tile, now, out);
        }
        for tile in bits(due.switches) {
            self.act_switch(router, tile, now);
        }
        for tile in bits(due.outputs) {
            self.act_output(router, tile, now, out);
        }
    }
}

impl<H: Host<TiledHeader>> Block for TiledBlock<H> {
    type Message = Message;

    fn next_time(&self) -> Option<Time> {
        self.calendar.next_time()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut events = 0;
        while let Some(now) = self.calendar.next_time().filter(|&t| t < until) {
            let mut taken = std::mem::take(&mut self.taken);
            self.calendar.take(now, &mut taken);
            self.recorder.reach(now);
            events += taken.len() as u64;
            for &event in &taken {
                self.apply(event, now);
            }
            self.taken = taken;
            self.serve_hosts(now);
            let mut active = std::mem::take(&mut self.active);
            for &router in &active {
                self.act(router, now, out);
            }
            active.clear();
            self.active = active;
        }
        events
    }

    fn receive(&mut self, messages: &mut Vec<(Time, Message)>) {
        for (time, message) in messages.drain(..) {
            let mut event = message.event;
            if let Some((cell, meta, data)) = message.packet {
                event.packet = self.insert(cell, meta, data);
            }
            self.calendar.push(time, event);
        }
    }
}
