//! The central collective logic of a node: waiting packets, and the packets that pass through up-tree and
//! down-tree in a cycle.

use super::collective::{ClassRoute, CollectivePacket, Kind, Purpose, combined};
use super::ends::InjectionFifo;
use super::node::{Node, Source};
use super::random::Random;
use super::rules::Rules;

/// The logic, and the FIFOs that it alone serves.
#[derive(Default)]
pub struct Central {
    /// The node's class routes, by number.
    pub routes: Vec<(usize, ClassRoute)>,
    /// Collective injection FIFOs: user, system.
    pub own: [InjectionFifo; 2],
    /// The logic of either side.
    up: Logic,
    down: Logic,
    /// End of each read in progress.
    pub reading: Vec<(u64, Vec<Source>)>,
    /// Packets in transit to reception FIFOs, with their completion times.
    pub receptions: Vec<(u64, usize)>,
}

/// Up-tree or down-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To the root.
    Up,
    /// From it.
    Down,
}

/// The logic of a side.
#[derive(Default)]
struct Logic {
    /// The granted job, waiting for its links.
    granted: Option<Job>,
    /// The cycle from which it may grant again.
    idle_at: u64,
}

impl Logic {
    fn may_grant(&self, now: u64) -> bool {
        self.granted.is_none() && self.idle_at <= now
    }

    fn claims(&self, port: usize) -> bool {
        self.granted.as_ref().is_some_and(|job| job.links.contains(&port))
    }
}

/// Packets that pass through the logic together.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where they are read.
    pub sources: Vec<Source>,
    /// The packets.
    packets: Vec<usize>,
    /// The kind of their class route, and the VC of its packets.
    kind: Kind,
    /// See `kind`.
    pub vc: usize,
    /// The ports to which the combined packet goes.
    pub links: Vec<usize>,
    /// Whether the node itself receives it.
    pub receives: bool,
    /// Whether it turns from up-tree to down-tree here.
    turns: bool,
    /// Cycles from the first byte that is read to the first that leaves.
    delay: u64,
}

/// A job whose read starts.
pub struct Passing {
    /// The packets, and the destinations of the result.
    pub job: Job,
    /// The result.
    pub result: CollectivePacket,
    /// When its first byte leaves the logic.
    pub from: u64,
}

impl Central {
    /// Whether collective packets wait for a port's link, which reserves it.
    pub fn claims(&self, port: usize) -> bool {
        self.up.claims(port) || self.down.claims(port)
    }

    /// Whether it is idle.
    pub fn at_rest(&self, now: u64) -> bool {
        self.up.may_grant(now)
            && self.down.may_grant(now)
            && self.own.iter().all(|fifo| fifo.queue.is_empty())
            && self.reading.is_empty()
            && self.receptions.is_empty()
    }

    /// The sources that have been read at `now`.
    pub fn read(&mut self, now: u64) -> Vec<Source> {
        self.reading.extract_if(.., |(at, _)| *at == now).flat_map(|(_, sources)| sources).collect()
    }

    /// The packets complete in their reception FIFOs at `now`.
    pub fn received(&mut self, now: u64) -> Vec<usize> {
        self.receptions.extract_if(.., |(at, _)| *at == now).map(|(_, packet)| packet).collect()
    }
}

/// The state that a node's logic uses in a cycle.
struct View<'a> {
    rules: &'a Rules,
    node: usize,
    state: &'a Node,
    now: u64,
    packets: &'a [CollectivePacket],
}

/// A waiting packet and its source.
type Waiting = (Source, usize);

impl View<'_> {
    /// The first packet of a class route in a port's VC, or in the node's own injection FIFO.
    fn first(&self, class: usize, route: &ClassRoute, port: Option<usize>) -> Option<Waiting> {
        let (vc, fifo) = (route.kind.vc(), route.kind.fifo());
        let own = &self.state.central.own[fifo];
        let (source, packet) = match port {
            Some(port) => {
                let head = self.state.ports[port].receiver.vcs[vc].queues[0].head()?;
                (Source::Queue { port, vc, queue: 0 }, head.place.packet)
            }
            None if own.moving => return None,
            None => (Source::Contribution { fifo }, *own.queue.front()?),
        };
        let p = &self.packets[packet];
        (p.class == class && p.kind == route.kind && p.made_at <= self.now).then_some((source, packet))
    }

    /// A job of packets of a class route, if there are tokens for all its links. `up`: whether they go up the
    /// tree.
    fn job(&self, route: &ClassRoute, waiting: &[Waiting], up: bool) -> Option<Job> {
        let packet = &self.packets[waiting[0].1];
        let turns = up && route.output.is_none();
        let is_reduced = packet.purpose != Purpose::Broadcast;
        let is_for_this = !matches!(packet.purpose, Purpose::Reduce(to) if to != self.node);
        let links = match route.output {
            Some(output) if up => vec![output],
            _ => route.inputs.clone(),
        };
        let job = Job {
            sources: waiting.iter().map(|w| w.0).collect(),
            packets: waiting.iter().map(|w| w.1).collect(),
            kind: route.kind,
            vc: route.kind.vc(),
            links,
            receives: (turns || !up) && route.local && is_for_this,
            turns,
            delay: self.rules.central_cycles(turns, (up && is_reduced).then_some(packet.words)),
        };
        self.has_tokens(&job).then_some(job)
    }

    fn has_tokens(&self, job: &Job) -> bool {
        job.links.iter().all(|&port| self.state.ports[port].sender.tokens[job.vc] > 0)
    }

    /// Whether the granted job's read starts: all its links will be free when it leaves the logic, and
    /// down-tree, which has priority, waits for none of them; at the root down-tree is idle.
    fn may_go(&self, job: &Job, side: Side) -> bool {
        let (ports, down) = (&self.state.ports, &self.state.central.down);
        let is_free = |port: usize| {
            let is_left = side == Side::Down || !down.claims(port);
            is_left && ports[port].sender.is_free_at(self.now + job.delay)
        };
        self.has_tokens(job)
            && job.links.iter().all(|&port| is_free(port))
            && (!job.turns || down.may_grant(self.now))
    }

    /// The jobs that may go down the tree: packets from the parent.
    fn down(&self) -> Vec<Job> {
        let routes = self.state.central.routes.iter();
        let from_above = routes.filter_map(|(class, route)| {
            let waiting = self.first(*class, route, Some(route.output?))?;
            self.job(route, &[waiting], false)
        });
        from_above.collect()
    }

    /// The jobs that may go up the tree: a broadcast alone; packets to be combined when those of all inputs
    /// have arrived.
    fn up(&self) -> Vec<Job> {
        let mut jobs = vec![];
        for (class, route) in &self.state.central.routes {
            let ports = route.inputs.iter().map(|&port| Some(port));
            let places: Vec<_> = ports.chain(route.local.then_some(None)).collect();
            let there: Vec<Waiting> =
                places.iter().filter_map(|&place| self.first(*class, route, place)).collect();
            let (alone, together): (Vec<_>, Vec<_>) =
                there.into_iter().partition(|w| self.packets[w.1].purpose == Purpose::Broadcast);
            jobs.extend(alone.iter().filter_map(|&w| self.job(route, &[w], true)));
            if !together.is_empty() && together.len() == places.len() {
                jobs.extend(self.job(route, &together, true));
            }
        }
        // The root immediately broadcasts the combined packet: it needs both sides.
        jobs.retain(|job| !job.turns || self.state.central.down.may_grant(self.now));
        jobs
    }
}

/// One of the possible jobs: system first, then at random.
fn pick(jobs: &[Job], random: &mut Random) -> Option<Job> {
    (!jobs.is_empty()).then(|| random.highest(jobs, |job| u32::from(job.kind == Kind::System)).clone())
}

/// The job whose read one side of a node's logic starts in a cycle, if any: it grants when it is idle, and
/// the granted job starts when it has its links.
pub fn serve(
    (rules, now): (&Rules, u64),
    (node, state): (usize, &mut Node),
    packets: &[CollectivePacket],
    side: Side,
    random: &mut Random,
) -> Option<Passing> {
    let view = View { rules, node, state, now, packets };
    let central = &state.central;
    let granted = match side {
        Side::Down if central.down.may_grant(now) => pick(&view.down(), random),
        Side::Up if central.up.may_grant(now) => pick(&view.up(), random),
        Side::Down => central.down.granted.clone(),
        Side::Up => central.up.granted.clone(),
    };
    let goes = granted.as_ref().is_some_and(|job| view.may_go(job, side));
    let central = &mut state.central;
    let logic = if side == Side::Up { &mut central.up } else { &mut central.down };
    logic.granted = granted;
    let job = logic.granted.take_if(|_| goes)?;
    let result = combined(&job.packets.iter().map(|&p| packets[p]).collect::<Vec<_>>());
    let end = now + rules.data_cycles(result.chunks);
    if side == Side::Up {
        central.up.idle_at = end + rules.gap_cycles();
    }
    if side == Side::Down || job.turns {
        central.down.idle_at = end;
    }
    Some(Passing { from: now + job.delay, result, job })
}
