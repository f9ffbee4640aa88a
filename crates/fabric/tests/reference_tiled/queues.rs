//! Queues of flits, their arbitration, and their free space.

use super::{Flit, Spec};
use netloom_fabric::config::TiledConfig;
use std::collections::VecDeque;

/// A queue of flits and its free space, as its upstream stage knows it.
pub struct Queue {
    pub flits: VecDeque<Flit>,
    pub room: u32,
}

impl Queue {
    pub fn new(room: u32) -> Self {
        Queue { flits: VecDeque::new(), room }
    }

    /// The first flit, if it has arrived.
    pub fn ready(&self, now: u64) -> Option<Flit> {
        self.flits.front().filter(|f| f.at <= now).copied()
    }
}

/// The holder of a bus or a link, the last one, and for each VC there the queue that lacked space in its
/// turn.
#[derive(Clone, Copy, Default)]
pub struct Arbiter {
    pub holder: Option<usize>,
    last: usize,
    short_of_room: [Option<usize>; 8],
}

impl Arbiter {
    /// The holder, or else the next requester in turn of `of`. For each requester with a packet, `request`
    /// returns its VC and whether there is room; if there is not, others wait for room of this VC until it
    /// has had it.
    pub fn choose(&mut self, of: usize, request: impl Fn(usize) -> Option<(usize, bool)>) -> Option<usize> {
        for i in (1..=of).map(|step| (self.last + step) % of) {
            if self.holder.is_some() {
                break;
            }
            let Some((vc, fits)) = request(i) else { continue };
            let is_first = self.short_of_room[vc].is_none_or(|first| first == i);
            if is_first && fits {
                self.short_of_room[vc] = None;
                self.holder = Some(i);
            } else if is_first {
                self.short_of_room[vc] = Some(i);
            }
        }
        self.holder
    }

    pub fn let_go(&mut self, who: usize) {
        (self.holder, self.last) = (None, who);
    }
}

/// The space of an input queue as its sender knows it: flits there by VC.
pub struct Room {
    pub used: Vec<u32>,
    reserved: u32,
    shared: u32,
    share: u32,
}

impl Room {
    pub fn new(config: &TiledConfig) -> Self {
        let (r, vcs) = (&config.router, config.vcs());
        Room {
            used: vec![0; vcs as usize],
            reserved: r.input_reserved_flits,
            shared: r.input_flits - vcs * r.input_reserved_flits,
            share: r.input_share,
        }
    }

    /// Whether there is space for a packet: the reserve of its VC, or the fixed multiple of the shared space
    /// that is then left.
    pub fn fits(&self, vc: usize, packet: &Spec) -> bool {
        let above_reserve = |used: u32| used.saturating_sub(self.reserved);
        let taken: u32 = self.used.iter().map(|&used| above_reserve(used)).sum();
        let will = above_reserve(self.used[vc] + packet.flits);
        let more = will - above_reserve(self.used[vc]);
        let left = self.shared - taken;
        more == 0 || more <= left && will <= self.share * (left - more)
    }
}
