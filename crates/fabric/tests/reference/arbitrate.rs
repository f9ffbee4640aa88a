//! The second and third phase of arbitration: one request from each receiver, one grant from each sender.

use super::ends::InjectionFifo;
use super::node::{Node, Source};
use super::packet::Packet;
use super::random::Random;
use super::rules::{Move, Rules, Standing};

/// A packet's request for a move.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The holder of the packet.
    pub source: Source,
    /// The packet.
    pub packet: usize,
    /// The requested move.
    pub wanted: Move,
    /// Whether it has priority over all others.
    high_priority: bool,
    /// The fullness of the VC that it would leave, 0 to 3.
    fullness: u32,
}

impl Request {
    fn injected(&self) -> bool {
        matches!(self.source, Source::Injection { .. })
    }

    fn bypassing(&self) -> bool {
        matches!(self.source, Source::Bypass { .. })
    }
}

/// One of several requests: the one that leaves the fullest VC in a fraction `longest_queue` of the cycles, a
/// random one in the others.
fn serve(requests: &[Request], longest_queue: f64, random: &mut Random) -> Option<Request> {
    match requests {
        [] => None,
        [only] => Some(*only),
        several if random.chance(longest_queue) => Some(*random.highest(several, |r| r.fullness)),
        several => Some(several[random.below(several.len())]),
    }
}

/// The requests that satisfy a condition; all of them if none does.
fn prefer(requests: Vec<Request>, condition: impl Fn(&Request) -> bool) -> Vec<Request> {
    let preferred: Vec<Request> = requests.iter().filter(|&r| condition(r)).copied().collect();
    if preferred.is_empty() { requests } else { preferred }
}

/// The request of a port's receiver, if it has one.
fn receiver_request(
    rules: &Rules,
    node: usize,
    state: &mut Node,
    port: usize,
    packets: &[Packet],
    random: &mut Random,
) -> Option<Request> {
    let receiver = &state.ports[port].receiver;
    let path_idle = receiver.paths_busy < rules.config.router.paths;
    let mut requests = Vec::new();
    let mut could_ask = false;
    let heads = receiver.vcs.iter().enumerate().filter(|(_, vc)| !vc.moving).filter_map(|(number, vc)| {
        vc.queue.front().map(|place| (Source::Vc { port, vc: number }, place, vc.fullness()))
    });
    let bypassing = receiver.bypass.iter().filter(|_| !receiver.bypass_moving);
    let bypassing = bypassing.map(|place| (Source::Bypass { port }, place, 0));
    for (source, place, fullness) in heads.chain(bypassing) {
        let packet = &packets[place.packet];
        could_ask |= path_idle || packet.at_destination();
        let at = Standing { node, came: Some((port, place.vc)) };
        if let Some(wanted) = rules.ask(packet, at, state, path_idle, random) {
            let high_priority = packet.spec.high_priority;
            requests.push(Request { source, packet: place.packet, wanted, high_priority, fullness });
        }
    }
    if rules.config.router.arbitration_gap && could_ask {
        let found_nothing = &mut state.ports[port].receiver.found_nothing;
        let stalled = std::mem::replace(found_nothing, requests.is_empty());
        if stalled && !requests.is_empty() && random.chance(0.5) {
            return None;
        }
    }
    let requests = prefer(requests, |r| r.high_priority);
    let requests = prefer(requests, |r| !r.bypassing());
    serve(&requests, rules.config.router.receiver_slq_fraction, random)
}

/// The request of an injection FIFO, if it has one.
fn injection_request(
    rules: &Rules,
    node: usize,
    state: &Node,
    fifo: usize,
    (now, packets): (u64, &[Packet]),
    random: &mut Random,
) -> Option<Request> {
    let InjectionFifo { queue, moving } = &state.fifos[fifo];
    let packet = if *moving { None } else { queue.front().copied() }?;
    let spec = &packets[packet].spec;
    if spec.made_at > now {
        return None;
    }
    let wanted = rules.ask(&packets[packet], Standing { node, came: None }, state, true, random)?;
    let source = Source::Injection { fifo };
    Some(Request { source, packet, wanted, high_priority: spec.high_priority, fullness: 0 })
}

/// All grants of a node in a tick.
pub fn grants(
    rules: &Rules,
    node: usize,
    state: &mut Node,
    now: u64,
    packets: &[Packet],
    random: &mut Random,
) -> Vec<Request> {
    let mut granted = Vec::new();
    let mut at_senders = Vec::new();
    for port in 0..state.ports.len() {
        if let Some(request) = receiver_request(rules, node, state, port, packets, random) {
            // A reception bus serves a single receiver, so no arbitration is needed.
            if request.wanted == Move::Deliver { &mut granted } else { &mut at_senders }.push(request);
        }
    }
    for fifo in 0..state.fifos.len() {
        at_senders.extend(injection_request(rules, node, state, fifo, (now, packets), random));
    }
    let router = &rules.config.router;
    for sender in 0..state.ports.len() {
        let to_it = |r: &&Request| matches!(r.wanted, Move::Link { port, .. } if port == sender);
        let requests: Vec<Request> = at_senders.iter().filter(to_it).copied().collect();
        if requests.len() < 2 {
            granted.extend(requests);
            continue;
        }
        let injected_first = !random.chance(router.in_network_fraction);
        let requests = prefer(requests, |r| r.high_priority);
        let requests = prefer(requests, |r| r.injected() == injected_first);
        granted.extend(serve(&requests, router.sender_slq_fraction, random));
    }
    granted
}
