//! A block of routers: its events, tick by tick.
//!
//! Each router goes through a stretch of ticks by itself, as long as the shortest link ([`Stretches`]). The
//! events of a tick are applied in any order, as they access disjoint state. Then packets are delivered to
//! their nodes, and the router acts once: nodes' packets enter, inputs route and take their row's bus,
//! sub-switches the column's, and column buffers the link. Space freed by an action becomes visible a tick
//! later, so that the order of actions does not matter except for loads, which are read in tile order.

use super::TiledFamily;
use super::event::{Event, Kind, Message};
use super::faults::Faults;
use super::fetch::Fetch;
use super::loads::Loads;
use super::round_trip::RoundTrips;
use super::state::*;
use super::tables::{Constants, Tables};
use crate::host::{Host, Signals};
use crate::packet::{Arena, Data, Meta};
use crate::router::bits::bits;
use crate::router::statistics::Recorder;
use netloom_engine::{Block, Outbox, STRETCH_TICKS_MAX, Stretches, Time};
use std::sync::Arc;

/// Prefetch distance, in events.
const AHEAD: usize = 12;

/// Routers that one thread simulates at a time, with the hosts of their nodes.
pub struct TiledBlock<H> {
    pub(super) tables: Arc<Tables>,
    pub(super) k: Constants,
    /// The machine's number of the first router and the first node; the others are consecutive.
    pub(super) first: u32,
    pub(super) first_node: u32,
    /// By router and tile.
    pub(super) inputs: Vec<Input>,
    pub(super) switches: Vec<SubSwitch>,
    pub(super) outputs: Vec<Output>,
    /// By sub-switch and row of its column.
    pub(super) buses: Vec<Bus>,
    /// Queues of sub-switches: by router, tile, column of the row and VC.
    pub(super) row_buffers: Vec<Buffer>,
    /// Queues of column buffers: by router, tile, row of the column and VC.
    pub(super) column_buffers: Vec<Buffer>,
    /// By router, share and processor tile of it.
    pub(super) shares: Vec<Share>,
    pub(super) entries: Vec<Entry>,
    /// By router: flits in it that are to leave over links.
    pub(super) load: Vec<u32>,
    /// By router: its tiles that are for links, the first ones.
    pub(super) links: Box<[u8]>,
    /// The pending actions of the current router in this tick, and in each tick of the stretch: far more are
    /// woken within it than later, and a bit takes less than an event.
    pub(super) due: Due,
    pub(super) due_later: [Due; STRETCH_TICKS_MAX as usize],
    /// By node and injection FIFO: the packet that waits there.
    pub(super) injecting: Vec<u32>,
    pub(super) fifos: usize,
    /// By node: classes of packets that its host does not accept now, one bit each.
    pub(super) closed: Vec<u8>,
    pub(super) arena: Arena,
    /// By a packet's number in the arena.
    pub(super) cells: Vec<Cell>,
    pub(super) calendar: Stretches<Event>,
    pub(super) recorder: Recorder,
    pub(super) host: H,
    pub(super) signals: Signals,
    /// Credit round trips, if credits are delayed by them.
    pub(super) round_trips: Option<Box<RoundTrips>>,
    /// Loads of routers, and of their global links.
    pub(super) router_loads: Loads,
    pub(super) link_loads: Loads,
    /// Failures and errors, if configured.
    pub(super) faults: Option<Box<Faults>>,
    /// Credits that are to leave in this tick, and their delay, with bit errors.
    pub(super) credits: Vec<(Event, u64)>,
    /// The events of one tick, and those for hosts; kept to reuse the memory.
    pub(super) taken: Vec<Event>,
    pub(super) for_hosts: Vec<Event>,
    /// The machine's numbers of the block's nodes.
    pub(super) numbers: Vec<u32>,
}

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Whether a tile is for a link, not for a node.
    #[inline]
    pub(super) fn is_link(&self, router: u32, tile: usize) -> bool {
        tile < usize::from(self.links[router as usize])
    }

    /// Routers from `first` on, as many as `inputs` and `outputs` have tiles for. `loads` are those of
    /// routers and of global links.
    pub(super) fn new(
        tables: &Arc<Tables>,
        first: u32,
        (inputs, outputs): (Vec<Input>, Vec<Output>),
        (fifos, recorder): (usize, Recorder),
        (router_loads, link_loads): (Loads, Loads),
        faults: Option<Box<Faults>>,
        host: impl FnOnce(&[u32]) -> H,
    ) -> Self {
        let t = tables.constants;
        let routers = inputs.len() / t.tiles;
        let wiring = &tables.wiring;
        let tiles = inputs.len();
        let first_node = wiring.nodes_at(first).start;
        let numbers: Vec<u32> =
            (first..first + routers as u32).flat_map(|router| wiring.nodes_at(router)).collect();
        let mut calendar = Stretches::new(routers, tables.shortest());
        for &node in &numbers {
            let (router, slot) = wiring.home(node);
            for fifo in 0..fifos {
                calendar.push(Time::ZERO, Event::of_packet(Kind::Fill, router - first, slot, fifo, 0));
            }
        }
        // Waiting packets are discarded at the time of a failure, not at the next event.
        for at in faults.iter().flat_map(|faults| faults.times()) {
            calendar.push(at, Event::at(Kind::WakeShare, 0, 0));
        }
        let (row_buffers, column_buffers) = (tiles * t.columns * VCS, tiles * t.rows * VCS);
        let r = &tables.config.router;
        TiledBlock {
            first,
            first_node,
            inputs,
            switches: vec![SubSwitch::default(); tiles],
            outputs,
            buses: vec![Bus { room: [r.column_flits as u8; VCS], ..Bus::default() }; tiles * t.rows],
            row_buffers: vec![Buffer::EMPTY; row_buffers],
            column_buffers: vec![Buffer::EMPTY; column_buffers],
            shares: vec![Share::default(); routers * t.shares],
            entries: vec![
                Entry { free_at: 0, room: t.room(), promised: [NOBODY; VCS] };
                routers * t.shares * t.tiles_per_share
            ],
            load: vec![0; routers],
            links: (first..first + routers as u32)
                .map(|router| t.links_of(!wiring.nodes_at(router).is_empty()) as u8)
                .collect(),
            due: Due::default(),
            due_later: [Due::default(); STRETCH_TICKS_MAX as usize],
            injecting: vec![NONE; numbers.len() * fifos],
            fifos,
            closed: vec![0; numbers.len()],
            arena: Arena::default(),
            cells: vec![],
            calendar,
            recorder,
            host: host(&numbers),
            signals: Signals::default(),
            round_trips: (tables.config.routing.credit_round_trip).then(|| Box::new(RoundTrips::new(tiles))),
            router_loads,
            link_loads,
            faults,
            credits: vec![],
            taken: vec![],
            for_hosts: vec![],
            numbers,
            tables: Arc::clone(tables),
            k: t,
        }
    }

    /// Adds a packet to the block, with its cell.
    pub(super) fn insert(&mut self, cell: Cell, meta: Meta, data: Option<Data>) -> u32 {
        let packet = self.arena.insert_with(meta, data);
        let at = packet as usize;
        if at >= self.cells.len() {
            self.cells.resize(at + 1, Cell::default());
        }
        self.cells[at] = cell;
        packet
    }

    /// Removes a packet from the block.
    pub(super) fn remove(&mut self, packet: u32) -> (Cell, Meta, Option<Data>) {
        let (meta, data) = self.arena.remove(packet);
        (self.cells[packet as usize], meta, data)
    }

    fn apply(&mut self, event: Event, now: Time) {
        let Constants { tiles, rows, columns, rules, .. } = self.k;
        let Event { router, packet, tile, queue, flits, .. } = event;
        let at = router as usize * tiles + usize::from(tile);
        let bit = 1u64 << tile;
        match event.kind {
            Kind::Arrived => {
                let Cell { came, flits, .. } = self.cells[packet as usize];
                let input = &mut self.inputs[at];
                if input.queues[usize::from(came)].push(packet, &mut self.cells) {
                    input.waiting |= 1 << came;
                }
                self.recorder.enter(came.into(), flits, now);
                self.due.inputs |= bit;
            }
            Kind::Switched => {
                let buffer = &mut self.row_buffers[at * columns * VCS + usize::from(queue)];
                if buffer.queue.push(packet, &mut self.cells) {
                    buffer.note_first(&self.cells);
                    let row = self.k.row(buffer.out.into());
                    self.buses[at * rows + row].wanted |= 1 << queue;
                    self.switches[at].wanted |= 1 << row;
                }
                self.due.switches |= bit;
            }
            Kind::Buffered => {
                let buffer = &mut self.column_buffers[at * rows * VCS + usize::from(queue)];
                if buffer.queue.push(packet, &mut self.cells) {
                    buffer.note_first(&self.cells);
                    self.outputs[at].waiting |= 1 << queue;
                }
                self.due.outputs |= bit;
            }
            Kind::Credit => {
                let busy = u64::from(packet);
                let output = &mut self.outputs[at];
                output.room.give_back(queue.into(), flits.into(), rules);
                output.room.leaving = (queue, Leaving::new(flits, busy), now + busy);
                if let Some(trips) = &mut self.round_trips {
                    let link = 2 * self.k.latency[usize::from(output.class)] + self.k.route_ticks;
                    trips.came_back(at, queue.into(), now, link);
                }
                if output.waiting != 0 {
                    self.due.outputs |= bit;
                }
            }
            Kind::Credits => self.credits.push((event, 0)),
            kind @ (Kind::WakeInput | Kind::WakeSwitch | Kind::WakeOutput | Kind::WakeShare) => {
                self.due.add(kind, tile.into());
            }
            Kind::Delivered | Kind::Wake | Kind::Fill => self.for_hosts.push(event),
        }
    }

    /// A part of the current router acts again, at a time.
    #[inline]
    pub(super) fn wake(&mut self, kind: Kind, router: u32, tile: usize, at: Time) {
        match self.calendar.mark(at) {
            Some(tick) => self.due_later[tick].add(kind, tile),
            None => self.calendar.push(at, Event::at(kind, router, tile)),
        }
    }

    /// Advances a router through a stretch. Returns the number of events.
    fn go_through(&mut self, router: u32, out: &mut Outbox<Message>) -> u64 {
        let mut events = 0;
        let mut taken = std::mem::take(&mut self.taken);
        while let Some(now) = self.calendar.take(&mut taken) {
            self.due = std::mem::take(&mut self.due_later[self.calendar.tick(now)]);
            let fetch = Fetch {
                k: &self.k,
                inputs: &self.inputs,
                outputs: &self.outputs,
                switches: &self.switches,
                buses: &self.buses,
                row_buffers: &self.row_buffers,
                column_buffers: &self.column_buffers,
                cells: &self.cells,
            };
            self.calendar.look_ahead(AHEAD, |event| fetch.fetch(event));
            events += taken.len() as u64;
            if self.faults.is_some() {
                taken.retain(|event| !self.is_void(event));
            }
            for &event in &taken {
                self.apply(event, now);
            }
            self.serve_hosts(now);
            self.act(router, now, out);
            if !self.credits.is_empty() {
                self.send_doubtful_credits(now, out);
            }
        }
        self.taken = taken;
        events
    }

    /// A router's actions in a tick.
    fn act(&mut self, router: u32, now: Time, out: &mut Outbox<Message>) {
        let due = std::mem::take(&mut self.due);
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

impl<H: Host<TiledFamily>> Block for TiledBlock<H> {
    type Message = Message;

    fn next_time(&self) -> Option<Time> {
        self.calendar.next_time()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut events = 0;
        while let Some(start) = self.calendar.next_time().filter(|&time| time < until) {
            self.recorder.reach(start);
            let mut end = until.min(self.recorder.window_end);
            if self.faults.is_some() {
                self.fail(start);
                end = end.min(self.fails_next());
            }
            self.calendar.begin(end);
            while let Some(router) = self.calendar.next_owner() {
                events += self.go_through(router, out);
            }
        }
        self.recorder.settle(until);
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
