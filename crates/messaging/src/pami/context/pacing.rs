//! Remote get pacing: data that comes from far away is read in parts, of which only so many bytes are in the
//! network at once for a context, so that long messages of many nodes do not fill its buffers. Which messages
//! are paced, and the defaults, are those of the public sources of PAMI (`PAMI_RGETPACING…`) and of its
//! communication agent (`COMMAGENT_RGETPACING…`), which counts for a node what is counted for a context here
//! **(ours)**.

use super::one_sided::{Movement, Purpose};
use super::*;

/// Which gets are paced, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Those of more data, bytes.
    pub above_bytes: u64,
    /// From a node that is more hops away, in the first four dimensions of the torus,
    pub hops: u32,
    /// or whose coordinates differ in more of them.
    pub dimensions: u32,
    /// They are read in parts of this length, bytes.
    pub part_bytes: u64,
    /// At most so many bytes are on their way at once.
    pub in_flight_bytes: u64,
}

impl Pacing {
    /// The defaults on a machine of this number of nodes.
    pub fn new(nodes: u32) -> Self {
        let (part_bytes, in_flight_bytes) = if nodes < 4 * RACK { (16_384, 65_536) } else { (8192, 32_768) };
        Pacing { above_bytes: 65_536, hops: 4, dimensions: 1, part_bytes, in_flight_bytes }
    }

    /// With the settings of the environment, which `number` reads, on a machine of this number of nodes:
    /// `None` if gets are not paced, as on a rack and less unless somebody asks for it.
    pub fn of_settings(nodes: u32, number: impl Fn(&'static str) -> Option<u64>) -> Option<Self> {
        let usual = Pacing::new(nodes);
        let few = |name, usual| number(name).map_or(usual, |set| u32::try_from(set).unwrap_or(u32::MAX));
        let part_bytes = number("COMMAGENT_RGETPACINGSUBSIZE").unwrap_or(usual.part_bytes).max(1);
        let in_flight_bytes = number("COMMAGENT_RGETPACINGMAX").unwrap_or(usual.in_flight_bytes);
        number("PAMI_RGETPACING").map_or(nodes > RACK, |on| on != 0).then(|| Pacing {
            above_bytes: number("PAMI_RGETPACINGSIZE").unwrap_or(usual.above_bytes),
            hops: few("PAMI_RGETPACINGHOPS", usual.hops),
            dimensions: few("PAMI_RGETPACINGDIMS", usual.dimensions),
            part_bytes,
            in_flight_bytes: in_flight_bytes.max(part_bytes),
        })
    }
}

/// The nodes of a rack.
const RACK: u32 = 1024;

/// The dimensions that count: the fifth has two nodes.
const DIMENSIONS: usize = 4;

/// Hops between two nodes of a torus, and the number of dimensions in which they differ, of the dimensions
/// that count: their coordinates, and for each dimension its length and whether it is a ring.
pub fn distance(
    a: impl IntoIterator<Item = u32>,
    b: impl IntoIterator<Item = u32>,
    dimensions: impl IntoIterator<Item = (u32, bool)>,
) -> (u32, u32) {
    let mut sum = (0, 0);
    for ((a, b), (length, is_ring)) in a.into_iter().zip(b).zip(dimensions).take(DIMENSIONS) {
        let apart = a.abs_diff(b);
        sum.0 += if is_ring { apart.min(length - apart) } else { apart };
        sum.1 += u32::from(apart > 0);
    }
    sum
}

/// A paced get of which not all is there.
#[derive(Debug)]
struct Unfinished {
    /// What remains to be asked for.
    movement: Movement,
    /// Parts on their way.
    parts: usize,
    /// What becomes of it when they are there.
    outcome: Outcome,
}

/// The paced gets of a context.
#[derive(Debug, Default)]
pub(super) struct Paced {
    all: Slab<Unfinished>,
    /// Those of which something remains to be asked for, in order.
    waiting: VecDeque<u64>,
    in_flight_bytes: u64,
    /// Whether the device had no space for the next part.
    pub is_blocked: bool,
}

impl Paced {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that have not ended.
    pub fn movements(&self) -> impl Iterator<Item = &Movement> {
        self.all.values.iter().flatten().map(|unfinished| &unfinished.movement)
    }
}

impl<D: PamiDevice> Context<D> {
    /// Whether this is a get that is paced.
    pub(super) fn is_paced(&self, movement: &Movement) -> bool {
        let (Some(pacing), Purpose::Receive(arriving)) = (self.limits.pacing, movement.purpose) else {
            return false;
        };
        let is_far = |(hops, dimensions)| hops > pacing.hops || dimensions > pacing.dimensions;
        arriving.bytes > pacing.above_bytes && self.device.distance(movement.with).is_some_and(is_far)
    }

    /// A get that is paced begins.
    pub(super) fn pace(&mut self, movement: Movement) {
        let number = self.paced.all.insert(Unfinished { movement, parts: 0, outcome: Outcome::Done });
        self.paced.waiting.push_back(number);
        self.begin_paced();
    }

    /// Asks for as many parts as there may be. Returns whether there was one.
    pub(super) fn begin_paced(&mut self) -> bool {
        let Some(pacing) = self.limits.pacing else { return false };
        let mut has_begun = false;
        self.paced.is_blocked = false;
        while let Some(&number) = self.paced.waiting.front() {
            let Some(unfinished) = self.paced.all.get_mut(number) else { break };
            let (part, with) = (unfinished.movement.next_part(pacing.part_bytes), unfinished.movement.with);
            let bytes: u64 = part.iter().map(|(local, _)| local.bytes).sum();
            let in_flight = self.paced.in_flight_bytes;
            // The first of all is always asked for.
            if in_flight > 0 && in_flight + bytes > pacing.in_flight_bytes {
                break;
            }
            let (count, begun) = match self.device.transfer_pieces(Transfer::Get, with, &part) {
                Ok(begun) => begun,
                Err(Remote::Full) => {
                    self.paced.is_blocked = true;
                    break;
                }
                Err(error) => {
                    self.paced.waiting.pop_front();
                    // It ends when what is on its way has come, so that no other has its number before.
                    unfinished.outcome = Outcome::of(Err(error));
                    unfinished.movement.give_up();
                    self.end_paced(number);
                    continue;
                }
            };
            has_begun = true;
            let bytes = part[..count].iter().map(|(local, _)| local.bytes).sum();
            unfinished.movement.take_part(&part[..count]);
            if unfinished.movement.is_begun() {
                self.paced.waiting.pop_front();
            }
            unfinished.parts += 1;
            self.paced.in_flight_bytes += bytes;
            match begun {
                Begun::Later(ticket) => {
                    self.pending.insert(ticket, Pending::Paced { number, bytes });
                }
                Begun::Done => self.paced_part(number, bytes),
            }
        }
        has_begun
    }

    /// A part is there.
    pub(super) fn paced_part(&mut self, number: u64, bytes: u64) {
        self.paced.in_flight_bytes -= bytes;
        if let Some(unfinished) = self.paced.all.get_mut(number) {
            unfinished.parts -= 1;
        }
        self.end_paced(number);
    }

    /// Ends a get of which nothing is on its way and nothing remains to be asked for.
    fn end_paced(&mut self, number: u64) {
        let is_over = |of: &Unfinished| of.parts == 0 && of.movement.is_begun();
        if self.paced.all.get(number).is_some_and(is_over)
            && let Some(ended) = self.paced.all.remove(number)
        {
            self.end_movement(&ended.movement, ended.outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_the_first_four_dimensions() {
        let dimensions = [(8, true), (4, false), (4, true), (4, true), (2, true)];
        assert_eq!(distance([0, 0, 0, 0, 0], [7, 3, 2, 0, 1], dimensions), (1 + 3 + 2, 3));
        assert_eq!(distance([3, 1, 1, 1, 0], [3, 1, 1, 1, 1], dimensions), (0, 0));
    }

    #[test]
    fn defaults_depend_on_the_number_of_racks_and_settings_come_first() {
        let of = |nodes| (Pacing::new(nodes).part_bytes, Pacing::new(nodes).in_flight_bytes);
        assert_eq!((of(2048), of(4096)), ((16_384, 65_536), (8192, 32_768)));
        let nothing = |_| None;
        assert_eq!(Pacing::of_settings(1024, nothing), None);
        assert_eq!(Pacing::of_settings(2048, nothing), Some(Pacing::new(2048)));
        assert_eq!(Pacing::of_settings(2048, |name| (name == "PAMI_RGETPACING").then_some(0)), None);
        let set = |name| match name {
            "PAMI_RGETPACING" => Some(1),
            "PAMI_RGETPACINGHOPS" => Some(2),
            "COMMAGENT_RGETPACINGMAX" => Some(5),
            _ => None,
        };
        let expected = Pacing { hops: 2, in_flight_bytes: 16_384, ..Pacing::new(32) };
        assert_eq!(Pacing::of_settings(32, set), Some(expected));
    }
}
