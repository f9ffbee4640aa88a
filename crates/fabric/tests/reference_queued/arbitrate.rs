//! Arbitration: each VC selects a packet, each receiver's main arbiter one of its VCs, each sender one
//! request.

use super::node::{Node, Source};
use super::packet::Packet;
use super::random::Random;
use super::rules::{Move, POINT_TO_POINT, Rules};

/// A packet's request for a move.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The holder of the packet.
    pub source: Source,
    /// The packet.
    pub packet: usize,
    /// The requested move.
    pub wanted: Move,
    /// Its class's priority.
    priority: u32,
}

impl Request {
    fn injected(&self) -> bool {
        matches!(self.source, Source::Injection { .. })
    }
}

/// A VC's selection: any head of its queues that may move, with its available moves. Ordered packets in one
/// direction leave in the order of arrival, whatever queues hold them.
fn select(
    rules: &Rules,
    state: &Node,
    (port, vc): (usize, usize),
    packets: &[Packet],
    random: &mut Random,
) -> Option<(Source, usize, Vec<Move>)> {
    let receiver = &state.ports[port].receiver;
    let path_idle = receiver.paths_busy < rules.config.router.paths;
    let queues = &receiver.vcs[vc].queues;
    let in_order = |packet: &Packet, turn: u64| {
        let port = rules.fixed_port(packet);
        let mut waiting = queues.iter().flat_map(|q| q.waiting()).filter(|q| q.turn < turn);
        !waiting.any(|q| {
            let before = &packets[q.place.packet];
            before.spec.class.is_ordered() && rules.fixed_port(before) == port
        })
    };
    let mut able = Vec::new();
    for (queue, head) in queues.iter().enumerate().filter_map(|(n, q)| Some((n, q.head()?))) {
        let packet = &packets[head.place.packet];
        let moves = rules.moves(packet, Some((port, vc)), state, path_idle);
        if !moves.is_empty() && (!packet.spec.class.is_ordered() || in_order(packet, head.turn)) {
            able.push((Source::Queue { port, vc, queue }, head.place.packet, moves));
        }
    }
    if able.is_empty() { None } else { Some(able.swap_remove(random.below(able.len()))) }
}

/// The request of a port's receiver, if it has one.
fn receiver_request(
    rules: &Rules,
    state: &Node,
    port: usize,
    packets: &[Packet],
    random: &mut Random,
) -> Option<Request> {
    let vcs = (0..POINT_TO_POINT).filter(|&vc| state.ports[port].receiver.vcs[vc].chunks > 0);
    let selected: Vec<_> = vcs.filter_map(|vc| select(rules, state, (port, vc), packets, random)).collect();
    if selected.is_empty() {
        return None;
    }
    let priority = |packet: usize| packets[packet].spec.class.priority();
    let (source, packet, moves) = random.highest(&selected, |s| priority(s.1));
    let wanted = rules.choose(moves, state, random);
    Some(Request { source: *source, packet: *packet, wanted, priority: priority(*packet) })
}

/// The request of an injection FIFO, if it has one.
fn injection_request(
    rules: &Rules,
    state: &Node,
    fifo: usize,
    (now, packets): (u64, &[Packet]),
    random: &mut Random,
) -> Option<Request> {
    let source = Source::Injection { fifo };
    let fifo = &state.fifos[fifo];
    let packet = if fifo.moving { None } else { fifo.queue.front().copied() }?;
    let spec = &packets[packet].spec;
    if spec.made_at > now {
        return None;
    }
    let moves = rules.moves(&packets[packet], None, state, true);
    if moves.is_empty() {
        return None;
    }
    let wanted = rules.choose(&moves, state, random);
    Some(Request { source, packet, wanted, priority: spec.class.priority() })
}

/// The request that a sender grants: the highest priority; among those, packets in the network before
/// injected ones, except for an injection after `ratio` packets that passed through; a random one of the
/// rest.
fn serve(requests: &[Request], through: u32, ratio: u32, random: &mut Random) -> Request {
    let injection_first = through >= ratio;
    *random.highest(requests, |r| 2 * r.priority + u32::from(r.injected() == injection_first))
}

/// All grants of a node in a cycle.
pub fn grants(
    rules: &Rules,
    state: &mut Node,
    now: u64,
    packets: &[Packet],
    random: &mut Random,
) -> Vec<Request> {
    let ports = 0..state.ports.len();
    let mut requests: Vec<Request> =
        ports.clone().filter_map(|port| receiver_request(rules, state, port, packets, random)).collect();
    let fifos = 0..state.fifos.len();
    requests.extend(fifos.filter_map(|fifo| injection_request(rules, state, fifo, (now, packets), random)));
    if requests.is_empty() {
        return requests;
    }
    let mut granted = Vec::new();
    for sender in ports {
        let to_it = |r: &&Request| matches!(r.wanted, Move::Link { port, .. } if port == sender);
        let asking: Vec<Request> = requests.iter().filter(to_it).copied().collect();
        if asking.is_empty() {
            continue;
        }
        let through = &mut state.ports[sender].through;
        let request = serve(&asking, *through, rules.config.router.through_per_injection, random);
        *through = if request.injected() { 0 } else { *through + 1 };
        granted.push(request);
    }
    for fifo in 0..state.receptions.len() {
        // Several receivers may have a packet for the high-priority or system FIFO.
        let to_it = |r: &&Request| r.wanted == Move::Deliver { fifo };
        let asking: Vec<Request> = requests.iter().filter(to_it).copied().collect();
        if !asking.is_empty() {
            granted.push(asking[random.below(asking.len())]);
        }
    }
    granted
}
