//! The central collective logic (sections II.C and II.E). A packet of a class route waits at the head of its
//! VC, or of its injection FIFO, until the packets of all other inputs have arrived; then they pass through
//! the ALUs together and one packet continues up the tree. At the root it turns round, and is broadcast down
//! to all inputs and to the node itself.
//!
//! Up-tree and down-tree have separate logic, each busy with one class route at a time; system classes come
//! first. A grant claims its links: no point-to-point packet starts on them until the collective packet has
//! left, and down-tree has priority over up-tree.

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use super::trees::{Central, Contribution, Job, Logic};
use crate::collective::route::{RouteProblem, check_io, check_links, check_node};
use crate::collective::{ClassRoute, CollectiveHeader, Combined, Delivers, Operation, RouteKind, combine};
use crate::host::Host;
use crate::packet::{Data, Header, Meta};
use crate::router::bits::{bits, one_of};
use crate::router::errors::Kept;
use crate::router::recovery::Recovery;
use netloom_engine::{Outbox, Time};

/// Slots of events for the logic: up-tree has finished reading, down-tree has finished reading; up-tree may
/// grant again; awaited links will be free in time.
const READ_UP: usize = 0;
const READ_DOWN: usize = 1;
const UP_FREE: usize = 2;
const LINKS_UP: usize = 3;
const LINKS_DOWN: usize = 4;

/// The VC of a class route's packets.
pub(super) fn vc_of(kind: RouteKind) -> usize {
    if kind == RouteKind::UserSubcomm { SUBCOMM } else { COMMWORLD }
}

fn contribution_of(kind: RouteKind) -> usize {
    usize::from(kind == RouteKind::System)
}

impl Central {
    /// The header of the packet at the head of a port's VC: `None` while another is still being read there.
    fn header(&self, cells: &[Cell], vc: usize, port: usize) -> Option<CollectiveHeader> {
        let queue = (self.being_read[vc - VCS][port] == 0).then_some(&self.queues[vc - VCS][port])?;
        let packet = *queue.front()?;
        CollectiveHeader::unpack(cells[packet as usize].header)
    }

    fn route(&self, header: &CollectiveHeader, number: u32) -> ClassRoute {
        let route = self.routes[usize::from(header.class)].filter(|route| route.kind == header.kind);
        route.unwrap_or_else(|| {
            panic!("node {number}: a packet of class route {}, which is not set here", header.class)
        })
    }

    /// Packets at the heads of queues: VC, port, header.
    pub fn heads<'a>(
        &'a self,
        cells: &'a [Cell],
    ) -> impl Iterator<Item = (usize, usize, CollectiveHeader)> + 'a {
        let places = (VCS..ALL_VCS).flat_map(|vc| bits(self.filled[vc - VCS]).map(move |port| (vc, port)));
        places.filter_map(|(vc, port)| Some((vc, port, self.header(cells, vc, port)?)))
    }

    /// The packets that may go down the tree: those that came from the parent.
    fn down(&self, n: &Node, cells: &[Cell]) -> Vec<(RouteKind, Job)> {
        let jobs = self.heads(cells).filter_map(|(vc, port, header)| {
            let route = self.route(&header, n.number);
            (route.output == Some(port as u8)).then(|| {
                let job = Job {
                    vc,
                    inputs: 1 << port,
                    contribution: None,
                    kept: 0,
                    outputs: route.inputs,
                    receives: n.receives_of(&route, &header),
                    is_up: false,
                    turns: false,
                    combines: None,
                };
                (route.kind, job)
            })
        });
        jobs.filter(|(kind, job)| n.has_tokens(job) && n.has_reception(*kind, job)).collect()
    }

    /// The jobs that may go up the tree: a broadcast alone, or packets of all inputs of a class.
    fn up(&self, n: &Node, cells: &[Cell]) -> Vec<(RouteKind, Job)> {
        let mut jobs: Vec<(RouteKind, Job)> = vec![];
        let mut classes = 0u16;
        let mut add =
            |route: &ClassRoute, header: &CollectiveHeader, inputs: u16, contribution: Option<usize>| {
                let turns = route.output.is_none();
                let job = Job {
                    vc: vc_of(route.kind),
                    inputs,
                    contribution,
                    kept: 0,
                    outputs: route.output.map_or(route.inputs, |port| 1 << port),
                    receives: turns && n.receives_of(route, header),
                    is_up: true,
                    turns,
                    combines: (header.delivers != Delivers::Broadcast).then_some(header.operation),
                };
                // At the root down-tree must be free, where up-tree's result is broadcast at once.
                let may_turn = !turns || self.down.may_grant();
                if n.has_tokens(&job) && n.has_reception(route.kind, &job) && may_turn {
                    jobs.push((route.kind, job));
                }
            };
        let from_below = self.heads(cells).map(|(_, port, header)| (Some(port), header));
        let own = self.contributions.iter().flatten().map(|c| (None, c.header));
        for (port, header) in from_below.chain(own) {
            let route = self.route(&header, n.number);
            let contribution = contribution_of(route.kind);
            if port.is_some() && route.output == port.map(|p| p as u8) {
                continue;
            }
            if header.delivers == Delivers::Broadcast {
                let inputs = port.map_or(0, |port| 1 << port);
                add(&route, &header, inputs, port.is_none().then_some(contribution));
            } else if classes >> header.class & 1 == 0 {
                classes |= 1 << header.class;
                let is_there = |other: CollectiveHeader| {
                    other.class == header.class
                        && other.kind == header.kind
                        && other.delivers != Delivers::Broadcast
                };
                let all = bits(route.inputs)
                    .all(|port| self.header(cells, vc_of(route.kind), port).is_some_and(is_there));
                let own = self.contributions[contribution].is_some_and(|c| is_there(c.header));
                if all && (own || !route.local) {
                    add(&route, &header, route.inputs, route.local.then_some(contribution));
                }
            }
        }
        jobs
    }
}

/// Picks one of several jobs: system classes first, then at random.
fn pick(jobs: &[(RouteKind, Job)], n: &mut Node) -> Option<Job> {
    let of = |system: bool| {
        (0..jobs.len().min(64))
            .filter(|&i| (jobs[i].0 == RouteKind::System) == system && jobs[i].1.inputs & n.stopped == 0)
            .fold(0u64, |m, i| m | 1 << i)
    };
    let best = [of(true), of(false)].into_iter().find(|&mask| mask != 0)?;
    Some(jobs[one_of(best, &mut n.random)].1)
}

impl Node {
    fn has_tokens(&self, job: &Job) -> bool {
        self.room_one[job.vc] & job.outputs == job.outputs
    }

    /// Whether the node's own reception FIFO has space for the result, if it is delivered there.
    fn has_reception(&self, kind: RouteKind, job: &Job) -> bool {
        !job.receives || self.reception_full >> (RECEPTION_COLLECTIVE + contribution_of(kind)) & 1 == 0
    }

    /// Whether the links of a job, except those claimed by others, will be free when its packet leaves the
    /// logic.
    fn has_links(&self, job: &Job, claimed: u16, at: Time) -> bool {
        job.outputs & claimed == 0
            && job.outputs & self.booked == 0
            && bits(job.outputs).all(|port| self.free_at(port) <= at)
    }

    /// When a link is free for a data packet. One that is open has a token-ack at most, which is short.
    fn free_at(&self, port: usize) -> Time {
        let ready_at = self.ready_at[port];
        if self.open >> port & 1 != 0 { ready_at } else { self.ports[port].free_at.max(ready_at) }
    }

    /// Checks a class route, or a barrier class, against the node's own links.
    pub fn check_route(&self, route: &ClassRoute) -> Result<(), RouteProblem> {
        let has_link = |port: usize| self.ports.get(port).is_some_and(|record| record.neighbour != NOWHERE);
        check_node(self.number, route, has_link)?;
        check_io(self.number, route, |port| self.io_links >> port & 1 != 0)
    }

    /// Whether this node receives the result.
    fn receives_of(&self, route: &ClassRoute, header: &CollectiveHeader) -> bool {
        let is_for_all = match header.delivers {
            Delivers::Reduce(to) => to == self.at,
            Delivers::Broadcast | Delivers::AllReduce => true,
        };
        route.local && is_for_all
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    /// Sets a node's registers for a class route.
    pub(super) fn set_class_route(&mut self, n: &mut Node, class: usize, route: Option<ClassRoute>) {
        let checked = route.as_ref().map_or(Ok(()), |route| n.check_route(route));
        let central = n.central.get_or_insert_default();
        let checked = checked.and_then(|()| match &route {
            Some(route) => check_links(n.number, class, route, &central.routes),
            None => Ok(()),
        });
        if let Err(problem) = checked {
            panic!("node {}: class route {class}: {}: {}", n.number, problem.field, problem.message);
        }
        central.routes[class] = route;
    }

    /// A collective packet has arrived at a receiver.
    pub(super) fn join_collective(
        &mut self,
        n: &mut Node,
        port: usize,
        vc: usize,
        packet: u32,
        header: Header,
        now: Time,
    ) {
        *self.cell_mut(packet) = Cell { header, arrived: now.ticks() as u32, ..Cell::default() };
        let central = n.central.get_or_insert_default();
        central.push(vc, port, packet);
        self.common.recorder.enter(vc, header.chunks() as u8, now);
        self.counters.iter_mut().for_each(|c| c.queued(n.here, port, vc, now));
    }

    /// A packet is at the head of an injection FIFO.
    pub(super) fn contribute(&mut self, n: &mut Node, fifo: usize, packet: u32, header: CollectiveHeader) {
        let central = n.central.get_or_insert_default();
        let place = &mut central.contributions[contribution_of(header.kind)];
        assert!(place.is_none(), "node {}: one injection FIFO for each kind of class route", n.number);
        *place = Some(Contribution { fifo, packet, header });
        n.contributing |= 1 << fifo;
    }

    /// The logic has completed a step.
    pub(super) fn central_event(&mut self, n: &mut Node, slot: usize, now: Time) {
        let Some(central) = n.central.as_deref_mut() else { return };
        if matches!(slot, LINKS_UP | LINKS_DOWN) {
            return;
        }
        let logic = if slot == READ_DOWN { &mut central.down } else { &mut central.up };
        if slot == UP_FREE {
            logic.is_busy = false;
            return;
        }
        logic.is_busy = slot == READ_UP && self.tables.combine_gap > 0;
        let Some(job) = logic.reading.take() else { return };
        if let Some(contribution) = job.contribution.and_then(|which| central.contributions[which].take()) {
            n.injecting &= !(1 << contribution.fifo);
            n.refill |= 1 << contribution.fifo;
            self.common.host.prepare(n.here, contribution.fifo);
        }
        for port in bits(job.inputs) {
            let chunks = std::mem::take(&mut central.being_read[job.vc - VCS][port]);
            self.common.recorder.leave(job.vc, chunks, now);
            let due = !job.kept >> port & 1;
            n.receivers[port].due += u64::from(due) << (8 * job.vc);
            n.due |= due << port;
        }
    }

    /// Grants jobs that may start, and starts those with free links.
    pub(super) fn collective(&mut self, n: &mut Node, now: Time, out: &mut Outbox<Message>) {
        if n.central.as_ref().is_none_or(|central| central.has_nothing()) {
            n.claimed = 0;
            return;
        }
        let Some(mut central) = n.central.take() else { return };
        let c = &mut *central;
        if c.down.may_grant() {
            c.down.granted = pick(&c.down(n, &self.cells), n);
        }
        if let Some(job) = c.down.granted
            && n.has_links(&job, 0, now + self.delay(&job))
            && n.has_tokens(&job)
        {
            c.down.granted = None;
            self.pass(n, c, job, now, out);
        }
        self.look_again(n, &mut c.down, LINKS_DOWN, now);
        if c.up.may_grant() {
            c.up.granted = pick(&c.up(n, &self.cells), n);
        }
        let claimed_down = c.down.granted.map_or(0, |job| job.outputs);
        if let Some(job) = c.up.granted
            && n.has_links(&job, claimed_down, now + self.delay(&job))
            && n.has_tokens(&job)
            && (!job.turns || c.down.may_grant())
        {
            c.up.granted = None;
            self.pass(n, c, job, now, out);
        }
        self.look_again(n, &mut c.up, LINKS_UP, now);
        n.claimed = claimed_down | c.up.granted.map_or(0, |job| job.outputs);
        n.central = Some(central);
    }

    /// A job that was granted and waits for links is checked again when the last of them will be free by the
    /// time its packet leaves the logic: that is before they are free, when the node may have no other event.
    fn look_again(&mut self, n: &Node, logic: &mut Logic, slot: usize, now: Time) {
        let Some(job) = &logic.granted else { return };
        let ends = bits(job.outputs & !n.booked).map(|port| n.free_at(port)).max();
        let at = Time::at(ends.map_or(0, Time::ticks).saturating_sub(self.delay(job)));
        if at > now && at != logic.looks_at {
            logic.looks_at = at;
            self.at_central(n, at, slot);
        }
    }

    /// Packets pass through the logic; the result goes to its links and to the node itself.
    fn pass(&mut self, n: &mut Node, c: &mut Central, mut job: Job, now: Time, out: &mut Outbox<Message>) {
        if self.soft.is_some() && !self.inputs_are_right(n, c, &job, now) {
            return;
        }
        let delay = self.delay(&job);
        let (packed, meta, data) = if self.is_spoilt(c, &job) {
            let (header, meta) = self.run_on(n, c, &mut job, now);
            (header, meta, None)
        } else {
            self.merge(n, c, &job, now)
        };
        let time = self.tables.wire[packed.chunks() as usize];
        let read = now + time;
        if job.is_up {
            (c.up.is_busy, c.up.reading) = (true, Some(job));
            self.at_central(n, read, READ_UP);
            if self.tables.combine_gap > 0 {
                self.at_central(n, read + self.tables.combine_gap, UP_FREE);
            }
        }
        if job.turns || !job.is_up {
            c.down.is_busy = true;
            c.down.reading = (!job.is_up).then_some(job);
            self.at_central(n, read, READ_DOWN);
        }
        // A link that is booked ahead is never idle, so its short packets are sent now.
        self.send_due(n, job.outputs, now, out);
        self.send_interrupts(n, job.outputs, now, out);
        for port in bits(job.outputs) {
            let packet = self.insert(meta, packed, data.clone());
            self.send_collective(n, port, job.vc, (packet, packed), (now + delay, time), out);
        }
        if let Some(header) = CollectiveHeader::unpack(packed).filter(|_| job.receives) {
            let packet = self.insert(meta, packed, data);
            let fifo = RECEPTION_COLLECTIVE + contribution_of(header.kind);
            self.common.calendar.push(
                now + delay + time,
                Event::at(Kind::Own(QueuedKind::Collected), n.here, fifo, 0, packet, packed.0),
            );
        }
    }

    /// Takes the packets of a job. Returns the result.
    fn merge(&mut self, n: &mut Node, c: &mut Central, job: &Job, now: Time) -> (Header, Meta, Option<Data>) {
        let mut packets: Vec<(CollectiveHeader, Option<Data>)> = vec![];
        let mut meta: Option<Meta> = None;
        let mut take = |shared: &mut Self, packet: u32| {
            let header = shared.cells[packet as usize].header;
            let (of, data) = shared.common.arena.remove(packet);
            // One packet continues for all: its age is that of the oldest.
            meta = Some(meta.map_or(of, |m: Meta| Meta {
                made: m.made.min(of.made),
                entered: m.entered.min(of.entered),
                ..m
            }));
            packets
                .push((CollectiveHeader::unpack(header).expect("only collective packets come here"), data));
            header.chunks() as u8
        };
        for port in bits(job.inputs) {
            let packet = c.pop(job.vc, port, true).expect("it was seen at the head");
            let waited = (now.ticks() as u32).wrapping_sub(self.cells[packet as usize].arrived);
            c.being_read[job.vc - VCS][port] = take(self, packet);
            self.common.recorder.waited(CLASS[job.vc], waited);
            self.counters.iter_mut().for_each(|c| c.departed(n.here, port, job.vc, now));
        }
        if let Some(own) = job.contribution.and_then(|which| c.contributions[which]) {
            n.contributing &= !(1 << own.fifo);
            n.injecting |= 1 << own.fifo;
            self.common.arena.get_mut(own.packet).entered = now;
            self.common.recorder.current.injected += 1;
            self.common.recorder.in_flight += 1;
            take(self, own.packet);
        }
        let copies = i64::from(job.outputs.count_ones()) + i64::from(job.receives);
        self.common.recorder.in_flight += copies - packets.len() as i64;
        let Combined { header, data } = if job.combines.is_some() {
            combine(&packets, self.byte_order)
        } else {
            let (header, data) = packets.swap_remove(0);
            Combined { header, data }
        };
        (header.pack(), meta.expect("a job has packets"), data)
    }

    /// The time from the start of a job to the start of its packet on a link.
    fn delay(&self, job: &Job) -> u64 {
        let t = &self.tables;
        let alu = |operation: Operation| t.combine + if operation.is_double() { t.float } else { 0 };
        (if job.turns { 2 * t.central } else { t.central }) + job.combines.map_or(0, alu)
    }

    fn at_central(&mut self, n: &Node, at: Time, slot: usize) {
        self.common.calendar.push(at, Event::at(Kind::Own(QueuedKind::Central), n.here, 0, slot, 0, 0));
    }

    /// A collective packet starts on a link, not before `start`.
    fn send_collective(
        &mut self,
        n: &mut Node,
        to: usize,
        vc: usize,
        (packet, header): (u32, Header),
        (start, time): (Time, u64),
        out: &mut Outbox<Message>,
    ) {
        n.booked |= 1 << to & !n.open;
        n.open &= !(1 << to);
        n.tokens[to][vc] -= 1;
        self.offer(n, to, vc);
        let leaving =
            Leaving { from: FROM_CENTRAL, slot: 0, due_vc: 0, due_chunks: 0, chunks: header.chunks() as u8 };
        let (neighbour, start) = self.occupy(n, to, vc, header, start);
        let arrival = start + self.tables.hop + u64::from(n.wires[to]);
        self.common.calendar.push(start + time, Event::at(Kind::Sent, n.here, to, 0, 0, leaving.word()));
        if self.common.errors.is_some() {
            self.send_unsure(n, to, Kept { header, packet, vc: vc as u8 }, start, out);
            return;
        }
        let there = n.far[to].into();
        let arrive = |node, packet| Event::at(Kind::Arrived, node, there, vc, packet, header.0);
        self.common.send(neighbour, arrival, arrive, packet, out);
    }

    /// A collective packet is complete in its reception FIFO.
    pub(super) fn collected(&mut self, n: &mut Node, event: &Event, now: Time) {
        self.common.recorder.in_flight -= 1;
        let record = self.common.arena.remove(event.packet());
        self.hand_over(now, n, event.port(), Header(event.word), record);
    }
}
