//! A second, clocked model of the tiled router, as plain as can be: every cycle, every flit. It shares no code with the fabric's but the
//! configuration and the wiring.
//!
//! A packet holds a bus or a link from its first flit to its last, gets it when there is room for all of it behind, and each flit gives
//! its room back as it leaves. Where the fabric counts a bus as taken for as many cycles as a packet has flits, here it waits for flits
//! that are late. For networks in which each router has one way to each other.

use netloom_fabric::config::TiledConfig;
use netloom_fabric::topology::wiring::Wiring;
use std::collections::{HashMap, VecDeque};

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub at: u64,
    pub from: u32,
    pub to: u32,
    pub flits: u32,
    pub response: bool,
}

#[derive(Clone, Copy)]
struct Flit {
    packet: usize,
    /// Whether it is a packet's first, and its last.
    first: bool,
    last: bool,
    /// The cycle from which it is there.
    at: u64,
}

/// A queue of flits and what room is left in it, as who fills it knows.
struct Queue {
    flits: VecDeque<Flit>,
    room: u32,
}

/// Who holds a bus or a link, and who had it last.
#[derive(Clone, Copy, Default)]
struct Arbiter {
    holder: Option<usize>,
    last: usize,
}

impl Arbiter {
    /// The next in turn of so many that may have it.
    fn choose(&mut self, of: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        if self.holder.is_none() {
            self.holder = (1..=of).map(|step| (self.last + step) % of).find(|&i| may(i));
        }
        self.holder
    }

    fn let_go(&mut self, who: usize) {
        (self.holder, self.last) = (None, who);
    }
}

/// The room of an input queue as its sender knows it.
struct Room {
    used: Vec<u32>,
    capacity: u32,
}

struct Tile {
    /// Input queue, by VC, and its row bus.
    input: Vec<VecDeque<Flit>>,
    row_bus: Arbiter,
    /// Sub-switch: by column of the row and VC; a bus to each row.
    switch: Vec<Queue>,
    column_buses: Vec<Arbiter>,
    /// Column buffer: by row and VC; the link.
    buffer: Vec<Queue>,
    link: Arbiter,
    /// Thousandths of a flit that the link may send.
    budget: u64,
    /// Room at the other end, or in this tile's own input for its node.
    room: Room,
    sent: u64,
}

/// A network of such routers.
pub struct Reference {
    config: TiledConfig,
    wiring: Wiring,
    tiles: Vec<Vec<Tile>>,
    packets: Vec<Spec>,
    /// The port from each router to each other with nodes.
    ways: Vec<Vec<usize>>,
    /// Of each node: packets that wait, the flits of the one that enters.
    sources: Vec<VecDeque<usize>>,
    entering: Vec<Option<(usize, u32)>>,
    entry_budget: Vec<u64>,
    /// Flits and credits on their way: what is due when.
    due: HashMap<u64, Vec<Due>>,
    now: u64,
    /// The cycle in which each packet was whole at its node.
    pub arrived: Vec<Option<u64>>,
}

enum Due {
    Flit { router: usize, tile: usize, vc: usize, flit: Flit },
    Credit { router: usize, tile: usize, vc: usize },
    Whole { packet: usize },
}

impl Reference {
    pub fn new(config: &TiledConfig, packets: &[Spec]) -> Self {
        let wiring = config.topology.wiring();
        let r = &config.router;
        let vcs = config.vcs() as usize;
        let queue = |room: u32| Queue { flits: VecDeque::new(), room };
        let tile = || Tile {
            input: vec![VecDeque::new(); vcs],
            row_bus: Arbiter::default(),
            switch: (0..r.columns as usize * vcs).map(|_| queue(r.subswitch_flits)).collect(),
            column_buses: vec![Arbiter::default(); r.rows as usize],
            buffer: (0..r.rows as usize * vcs).map(|_| queue(r.column_flits)).collect(),
            link: Arbiter::default(),
            budget: 0,
            room: Room { used: vec![0; vcs], capacity: r.input_flits - vcs as u32 * r.input_reserved_flits },
            sent: 0,
        };
        let nodes = wiring.nodes() as usize;
        let mut sources = vec![VecDeque::new(); nodes];
        for (i, packet) in packets.iter().enumerate() {
            sources[packet.from as usize].push_back(i);
        }
        let ways = ways(&wiring);
        Reference {
            ways,
            tiles: (0..wiring.routers()).map(|_| (0..r.rows * r.columns).map(|_| tile()).collect()).collect(),
            wiring,
            packets: packets.to_vec(),
            sources,
            entering: vec![None; nodes],
            entry_budget: vec![0; nodes],
            due: HashMap::new(),
            now: 0,
            arrived: vec![None; packets.len()],
            config: config.clone(),
        }
    }

    /// Runs until every packet has arrived; returns the cycles that it took.
    pub fn run(&mut self) -> u64 {
        while self.arrived.iter().any(Option::is_none) {
            self.cycle();
            assert!(self.now < 3_000_000, "the reference never ends");
        }
        self.arrived.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Flits that each link has carried, by router and port.
    pub fn carried(&self) -> Vec<(u32, usize, u64)> {
        let ports = self.wiring.ports();
        let link = |router: usize, port: usize| {
            self.wiring.end(router as u32, port).map(|_| (router as u32, port, self.tiles[router][port].sent))
        };
        (0..self.tiles.len()).flat_map(|r| (0..ports).filter_map(move |p| link(r, p))).collect()
    }

    fn vc(&self, packet: usize) -> usize {
        if self.packets[packet].response {
            self.config.vcs() as usize - self.config.router.vcs as usize
        } else {
            0
        }
    }

    /// The tile by which a packet leaves a router.
    fn out(&self, router: usize, packet: usize) -> usize {
        let (home, slot) = self.wiring.home(self.packets[packet].to);
        if home as usize == router {
            return self.wiring.ports() + slot;
        }
        self.ways[router][home as usize]
    }

    fn cycle(&mut self) {
        for due in self.due.remove(&self.now).unwrap_or_default() {
            match due {
                Due::Flit { router, tile, vc, flit } => self.tiles[router][tile].input[vc].push_back(flit),
                Due::Credit { router, tile, vc } => self.tiles[router][tile].room.used[vc] -= 1,
                Due::Whole { packet } => self.arrived[packet] = Some(self.now),
            }
        }
        for router in 0..self.tiles.len() {
            for tile in 0..self.tiles[router].len() {
                self.output(router, tile);
            }
            for tile in 0..self.tiles[router].len() {
                (0..self.config.router.rows as usize).for_each(|row| self.column_bus(router, tile, row));
            }
            for tile in 0..self.tiles[router].len() {
                self.row_bus(router, tile);
            }
        }
        (0..self.sources.len()).for_each(|node| self.enter(node));
        self.now += 1;
    }

    /// Whether there is room for a packet in an input queue.
    fn fits(&self, room: &Room, vc: usize, flits: u32) -> bool {
        let r = &self.config.router;
        let beyond = |used: u32| used.saturating_sub(r.input_reserved_flits);
        let shared: u32 = room.used.iter().map(|&used| beyond(used)).sum();
        let more = beyond(room.used[vc] + flits) - beyond(room.used[vc]);
        let left = room.capacity - shared;
        more == 0 || more <= left && beyond(room.used[vc] + flits) <= r.input_share * (left - more)
    }

    /// A link, or the way to a node, sends what it may in this cycle.
    fn output(&mut self, router: usize, tile: usize) {
        let is_link = tile < self.wiring.ports();
        let end = is_link.then(|| self.wiring.end(router as u32, tile)).flatten();
        let costs = match end {
            Some(end) => self.config.link[&self.wiring.classes()[usize::from(end.class)]].flit_milliticks,
            None => self.config.router.netlink_flit_milliticks,
        };
        let (now, vcs) = (self.now, self.config.vcs() as usize);
        let t = &self.tiles[router][tile];
        let ready = |queue: usize| t.buffer[queue].flits.front().filter(|f| f.at <= now).copied();
        let mut link = t.link;
        let may = |queue: usize| {
            ready(queue).is_some_and(|f| {
                !is_link || self.fits(&t.room, self.vc(f.packet), self.packets[f.packet].flits)
            })
        };
        let starts = link.holder.is_none();
        let chosen = link.choose(t.buffer.len(), may);
        let flit = chosen.and_then(ready);
        let t = &mut self.tiles[router][tile];
        t.link = link;
        // What a link could not use it has lost.
        t.budget = (t.budget + 1000).min(u64::from(costs) + 999);
        let (Some(queue), Some(flit)) = (chosen, flit) else {
            t.budget = t.budget.min(1000);
            return;
        };
        let vc = queue % vcs;
        if starts && is_link {
            t.room.used[vc] += self.packets[flit.packet].flits;
        }
        if t.budget < u64::from(costs) {
            return;
        }
        t.budget -= u64::from(costs);
        t.buffer[queue].flits.pop_front();
        t.buffer[queue].room += 1;
        t.sent += 1;
        if flit.last {
            t.link.let_go(queue);
        }
        match end {
            Some(end) => {
                let latency = self.config.link[&self.wiring.classes()[usize::from(end.class)]].latency_ticks;
                let at = now + u64::from(latency + self.config.router.route_ticks);
                let (router, tile) = (end.router as usize, usize::from(end.port));
                let flit = Flit { at, ..flit };
                self.due.entry(at).or_default().push(Due::Flit { router, tile, vc, flit });
            }
            None if flit.last => {
                let at = now + 1 + u64::from(self.config.router.netlink_ticks);
                self.due.entry(at).or_default().push(Due::Whole { packet: flit.packet });
            }
            None => {}
        }
    }

    /// A bus from a sub-switch to a row of its column moves a flit.
    fn column_bus(&mut self, router: usize, tile: usize, row: usize) {
        let (now, columns, vcs) = (self.now, self.config.router.columns as usize, self.config.vcs() as usize);
        let to = row * columns + tile % columns;
        let t = &self.tiles[router][tile];
        let ready = |queue: usize| {
            t.switch[queue].flits.front().filter(|f| f.at <= now && self.out(router, f.packet) == to).copied()
        };
        let there = |packet: usize| tile / columns * vcs + self.vc(packet);
        let mut bus = t.column_buses[row];
        let starts = bus.holder.is_none();
        let may = |queue: usize| {
            ready(queue).is_some_and(|f| {
                self.tiles[router][to].buffer[there(f.packet)].room >= self.packets[f.packet].flits
            })
        };
        let chosen = bus.choose(t.switch.len(), may);
        let flit = chosen.and_then(ready);
        let to_queue = flit.map(|f| there(f.packet));
        self.tiles[router][tile].column_buses[row] = bus;
        let (Some(queue), Some(flit), Some(to_queue)) = (chosen, flit, to_queue) else { return };
        if starts {
            self.tiles[router][to].buffer[to_queue].room -= self.packets[flit.packet].flits;
        }
        let t = &mut self.tiles[router][tile];
        t.switch[queue].flits.pop_front();
        t.switch[queue].room += 1;
        if flit.last {
            t.column_buses[row].let_go(queue);
        }
        let at = now + u64::from(self.config.router.column_ticks);
        self.tiles[router][to].buffer[to_queue].flits.push_back(Flit { at, ..flit });
    }

    /// An input's row bus moves a flit.
    fn row_bus(&mut self, router: usize, tile: usize) {
        let (now, columns, vcs) = (self.now, self.config.router.columns as usize, self.config.vcs() as usize);
        let t = &self.tiles[router][tile];
        let ready = |vc: usize| t.input[vc].front().filter(|f| f.at <= now).copied();
        let there = |packet: usize| {
            let column = self.out(router, packet) % columns;
            (tile / columns * columns + column, tile % columns * vcs)
        };
        let mut bus = t.row_bus;
        let starts = bus.holder.is_none();
        let may = |vc: usize| {
            ready(vc).is_some_and(|f| {
                let (switch, queue) = there(f.packet);
                self.tiles[router][switch].switch[queue + vc].room >= self.packets[f.packet].flits
            })
        };
        let chosen = bus.choose(vcs, may);
        let flit = chosen.and_then(ready);
        let to = flit.map(|f| there(f.packet));
        self.tiles[router][tile].row_bus = bus;
        let (Some(vc), Some(flit), Some((switch, queue))) = (chosen, flit, to) else { return };
        if starts {
            self.tiles[router][switch].switch[queue + vc].room -= self.packets[flit.packet].flits;
        }
        let t = &mut self.tiles[router][tile];
        t.input[vc].pop_front();
        if flit.last {
            t.row_bus.let_go(vc);
        }
        let at = now + u64::from(self.config.router.row_ticks);
        self.tiles[router][switch].switch[queue + vc].flits.push_back(Flit { at, ..flit });
        // The room goes back to whoever sends here.
        if let Some(end) =
            (tile < self.wiring.ports()).then(|| self.wiring.end(router as u32, tile)).flatten()
        {
            let latency = self.config.link[&self.wiring.classes()[usize::from(end.class)]].latency_ticks;
            let (router, tile) = (end.router as usize, usize::from(end.port));
            let at = now + u64::from(latency);
            self.due.entry(at).or_default().push(Due::Credit { router, tile, vc });
        } else {
            self.due.entry(now + 1).or_default().push(Due::Credit { router, tile, vc });
        }
    }

    /// A node's next flit goes into its processor tile.
    fn enter(&mut self, node: usize) {
        let (router, slot) = self.wiring.home(node as u32);
        let (router, tile) = (router as usize, self.wiring.ports() + slot);
        let now = self.now;
        if self.entering[node].is_none()
            && let Some(&packet) = self.sources[node].front()
            && self.packets[packet].at <= now
        {
            let (vc, flits) = (self.vc(packet), self.packets[packet].flits);
            if self.fits(&self.tiles[router][tile].room, vc, flits) {
                self.tiles[router][tile].room.used[vc] += flits;
                self.sources[node].pop_front();
                self.entering[node] = Some((packet, 0));
            }
        }
        let costs = u64::from(self.config.router.netlink_flit_milliticks);
        let budget = &mut self.entry_budget[node];
        *budget = (*budget + 1000).min(costs + 999);
        let Some((packet, sent)) = self.entering[node] else {
            *budget = (*budget).min(1000);
            return;
        };
        if *budget < costs {
            return;
        }
        *budget -= costs;
        let last = sent + 1 == self.packets[packet].flits;
        let at = now + u64::from(self.config.router.netlink_ticks + self.config.router.route_ticks);
        let flit = Flit { packet, first: sent == 0, last, at };
        debug_assert!(flit.first == (sent == 0));
        let vc = self.vc(packet);
        self.due.entry(at).or_default().push(Due::Flit { router, tile, vc, flit });
        self.entering[node] = (!last).then_some((packet, sent + 1));
    }
}

/// The port of the shortest way from each router to each with nodes; asserts that there is no other.
fn ways(wiring: &Wiring) -> Vec<Vec<usize>> {
    let routers = wiring.routers();
    let mut ways = vec![vec![usize::MAX; routers as usize]; routers as usize];
    for to in (0..routers).filter(|&r| !wiring.nodes_at(r).is_empty()) {
        let mut far = vec![u32::MAX; routers as usize];
        far[to as usize] = 0;
        let mut border = VecDeque::from([to]);
        while let Some(at) = border.pop_front() {
            for end in (0..wiring.ports()).filter_map(|p| wiring.end(at, p)) {
                if far[end.router as usize] == u32::MAX {
                    far[end.router as usize] = far[at as usize] + 1;
                    border.push_back(end.router);
                }
            }
        }
        for from in (0..routers).filter(|&from| from != to) {
            let nearer = |&p: &usize| {
                wiring.end(from, p).is_some_and(|e| far[e.router as usize] + 1 == far[from as usize])
            };
            let mut found = (0..wiring.ports()).filter(nearer);
            ways[from as usize][to as usize] = found.next().expect("a way");
            assert!(found.next().is_none(), "one way only");
        }
    }
    ways
}
