//! The collective engine ("Reductions and Barriers"): four virtual engines per NIC, each with a tree of NICs
//! with a branching ratio of up to 32. Partial results go up in packets; the result comes down and is written
//! to memory with an event on each node.

use super::node::{Event, EventKind, lock};
use super::orb::{Outstanding, Then};
use super::packet::{Op, Request, Tag};
use super::status::{Refusal, Status};
use super::{Action, Common, MemoryWrite, Nic, Ready};
use netloom_fabric::router::tiled::Mode;
use netloom_node::time::Microticks;

/// Virtual collective engines per NIC.
pub const ENGINES: usize = 4;
/// Maximum number of children of an engine.
pub const CHILDREN: usize = 32;

/// A reduction operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reduction {
    /// Bitwise and, the same for 64 and 32 bits; a barrier needs no more.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Integer sum.
    Add,
    /// Minimum of signed integers, with its contributor's identifier: the smallest one among equals.
    Min,
    /// Maximum of signed integers, likewise.
    Max,
    /// Sum of floating-point numbers, in the order of the children.
    FloatAdd,
    /// Minimum of floating-point numbers with its identifier.
    FloatMin,
    /// Maximum of floating-point numbers, likewise.
    FloatMax,
    /// Product: the hardware has none (`MPI_PROD` is left to the CPU), so it is rejected.
    Product,
}

const ALL: [Reduction; 10] = [
    Reduction::And,
    Reduction::Or,
    Reduction::Xor,
    Reduction::Add,
    Reduction::Min,
    Reduction::Max,
    Reduction::FloatAdd,
    Reduction::FloatMin,
    Reduction::FloatMax,
    Reduction::Product,
];

/// Flag in an operation's number: on 32 bits.
const SHORT: u8 = 1 << 6;

impl Reduction {
    /// Its number, for 64 bits or 32.
    pub fn number(self, is_short: bool) -> u8 {
        self as u8 | if is_short { SHORT } else { 0 }
    }

    /// Combines two contributions: values and identifiers.
    fn apply(number: u8, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        let is_short = number & SHORT != 0;
        let mask = if is_short { u64::from(u32::MAX) } else { u64::MAX };
        let signed = |x: u64| if is_short { i64::from(x as i32) } else { x as i64 };
        let float = |x: u64| if is_short { f32::from_bits(x as u32).into() } else { f64::from_bits(x) };
        let which = |first_is_it: bool, is_equal: bool| {
            if is_equal {
                [a[0], a[1].min(b[1])]
            } else if first_is_it {
                a
            } else {
                b
            }
        };
        let value = match ALL[usize::from(number & 15) % ALL.len()] {
            Reduction::And => a[0] & b[0],
            Reduction::Or => a[0] | b[0],
            Reduction::Xor => a[0] ^ b[0],
            Reduction::Add => a[0].wrapping_add(b[0]),
            Reduction::Min => return which(signed(a[0]) < signed(b[0]), a[0] == b[0]),
            Reduction::Max => return which(signed(a[0]) > signed(b[0]), a[0] == b[0]),
            Reduction::FloatMin => return which(float(a[0]) < float(b[0]), float(a[0]) == float(b[0])),
            Reduction::FloatMax => return which(float(a[0]) > float(b[0]), float(a[0]) == float(b[0])),
            Reduction::FloatAdd if is_short => {
                (f32::from_bits(a[0] as u32) + f32::from_bits(b[0] as u32)).to_bits().into()
            }
            Reduction::FloatAdd => (float(a[0]) + float(b[0])).to_bits(),
            Reduction::Product => a[0],
        };
        [value & mask, a[1]]
    }
}

/// An engine's position in its tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The children: virtual node and engine.
    pub children: Vec<(u32, u8)>,
    /// The parent: virtual node, engine, and the index of this child there. `None` at the root.
    pub parent: Option<(u32, u8, u8)>,
    /// The completion queue for its operations.
    pub queue: Option<u16>,
    /// The protection tag of the job that owns it.
    pub ptag: u8,
}

impl Tree {
    /// A regular tree with this radix, in which place 0 is the root.
    pub fn regular(place: u32, places: u32, radix: u32, engine: u8, queue: u16) -> Self {
        let first = place * radix + 1;
        Tree {
            children: (first..(first + radix).min(places)).map(|child| (child, engine)).collect(),
            parent: place.checked_sub(1).map(|at| (at / radix, engine, (at % radix) as u8)),
            queue: Some(queue),
            ptag: 0,
        }
    }

    /// Checks the tree.
    ///
    /// # Errors
    /// If it has too many branches, or names engines that do not exist.
    pub fn check(&self) -> Result<(), Refusal> {
        let fits = self.children.len() <= CHILDREN
            && self.children.iter().all(|&(_, engine)| usize::from(engine) < ENGINES)
            && self.parent.is_none_or(|(_, engine, child)| {
                usize::from(engine) < ENGINES && usize::from(child) < CHILDREN
            });
        if fits { Ok(()) } else { Err(Refusal::InvalidParam) }
    }
}

/// State of an engine's pending operation.
#[derive(Default)]
pub struct Engine {
    /// From the children, then its own.
    inputs: Vec<Option<[u64; 2]>>,
    operation: Option<u8>,
    status: Status,
    /// Contributions that arrived before the tree was set.
    early: Vec<(Option<usize>, u8, [u64; 2])>,
}

impl Nic {
    /// A contribution of a child, or of the node itself.
    pub(super) fn join(
        &mut self,
        c: &Common,
        t: Microticks,
        number: usize,
        child: Option<usize>,
        operation: u8,
        value: [u64; 2],
    ) {
        let tree = lock(&self.here).trees[number % ENGINES].clone();
        let engine = &mut self.engines[number % ENGINES];
        // (ours): contributions that arrive before the engine has a tree wait until the node itself joins.
        let Some(tree) = tree else { return engine.early.push((child, operation, value)) };
        for (child, operation, value) in std::mem::take(&mut engine.early) {
            self.join(c, t, number, child, operation, value);
        }
        let engine = &mut self.engines[number % ENGINES];
        engine.inputs.resize(tree.children.len() + 1, None);
        if *engine.operation.get_or_insert(operation) != operation {
            engine.status = Status::IllegalOp;
        }
        let place = child.unwrap_or(tree.children.len()).min(tree.children.len());
        engine.inputs[place] = Some(value);
        if engine.inputs.iter().all(Option::is_some) {
            let cycles = u64::from(c.config.collective_cycles) * engine.inputs.len() as u64;
            self.schedule
                .at(t + Microticks(cycles * c.config.cycle_microticks), Action::Reduced(number as u8));
        }
    }

    /// All contributions of an engine have been combined.
    pub(super) fn reduced(&mut self, c: &Common, t: Microticks, number: usize) {
        let Some(tree) = lock(&self.here).trees[number].clone() else { return };
        let engine = &mut self.engines[number];
        let operation = engine.operation.unwrap_or(0);
        let inputs = engine.inputs.iter_mut().filter_map(Option::take);
        let value = inputs.reduce(|a, b| Reduction::apply(operation, a, b)).unwrap_or([0; 2]);
        match tree.parent {
            Some((node, parent, child)) => {
                let (ptag, to, command) = (tree.ptag, (node, parent), operation);
                let op = Op::Join;
                self.collective_packet(c, t, Partial { op, ptag, to, child: child.into(), command, value });
            }
            None => {
                let status = engine.status;
                self.result_came(c, t, number, value, status);
            }
        }
    }

    /// The result has arrived: it is forwarded to the children, and written to memory.
    pub(super) fn result_came(
        &mut self,
        c: &Common,
        t: Microticks,
        number: usize,
        value: [u64; 2],
        status: Status,
    ) {
        let Some(tree) = lock(&self.here).trees[number % ENGINES].clone() else { return };
        // Children join the next operation only once they have the result of this one.
        let engine = &mut self.engines[number % ENGINES];
        let status = std::mem::take(&mut engine.status).and(status);
        engine.operation = None;
        for &child in &tree.children {
            let (ptag, to, command) = (tree.ptag, child, status as u8);
            self.collective_packet(c, t, Partial { op: Op::Result, ptag, to, child: 0, command, value });
        }
        self.write(c, t, 32, MemoryWrite::Result { engine: number as u8, value, status });
    }

    /// The result is in memory.
    pub(super) fn has_result(
        &mut self,
        c: &Common,
        t: Microticks,
        number: u8,
        value: [u64; 2],
        status: Status,
    ) {
        let queue = {
            let mut here = lock(&self.here);
            here.results[usize::from(number)] = Some((value, status));
            here.is_pending[usize::from(number)] = false;
            here.trees[usize::from(number)].as_ref().and_then(|tree| tree.queue)
        };
        if let Some(queue) = queue {
            let event = Event { kind: EventKind::Collective, user: number.into(), status, bytes: 16 };
            self.write_done(c, t, MemoryWrite::Event { queue, event });
        }
    }

    fn collective_packet(&mut self, c: &Common, t: Microticks, partial: Partial) {
        let Partial { op, ptag, to: (node, engine), child, command, value } = partial;
        let Some(node) = c.job(ptag).and_then(|job| job.node(node)) else { return };
        let request = Request {
            op,
            command,
            ptag,
            mdh: engine.into(),
            is_virtual: false,
            offset: child,
            bytes: 16,
            tag: Tag::default(),
            ssid: 0,
            event: false,
            packets: 1,
            user: 0,
        };
        let data = Some(value.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>().into());
        let outstanding =
            Outstanding { transaction: None, then: Then::Count, issued_at: t, descriptor: None };
        let mode = Mode::Adaptive0;
        self.ready.push_back(Ready { request, node, mode, data, tag: None, outstanding });
        self.feed(c, t);
    }
}

/// A message between engines: a partial result in transit up the tree, or the result in transit down.
struct Partial {
    op: Op,
    ptag: u8,
    /// Node and engine.
    to: (u32, u8),
    /// The index of the sending child.
    child: u64,
    /// The operation, or its status.
    command: u8,
    value: [u64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_know_values_and_places() {
        let of = |r: Reduction, a, b| Reduction::apply(r.number(false), a, b);
        assert_eq!(of(Reduction::Add, [3, 9], [4, 8])[0], 7);
        assert_eq!(of(Reduction::Min, [u64::MAX, 9], [4, 8]), [u64::MAX, 9]);
        assert_eq!(of(Reduction::Max, [4, 9], [4, 8]), [4, 8]);
        let bits = |x: f64, i| [x.to_bits(), i];
        assert_eq!(of(Reduction::FloatMin, bits(1.5, 2), bits(-2.5, 7)), bits(-2.5, 7));
        assert_eq!(of(Reduction::FloatAdd, bits(1.5, 2), bits(-2.5, 7))[0], (-1.0f64).to_bits());
        let short = Reduction::apply(Reduction::Min.number(true), [0xffff_fffe, 1], [1, 0]);
        assert_eq!(short, [0xffff_fffe, 1]);
    }

    #[test]
    fn a_tree_has_at_most_32_branches() {
        let tree = |n| Tree { children: vec![(1, 0); n], ..Tree::default() };
        assert!(tree(CHILDREN).check().is_ok() && tree(CHILDREN + 1).check().is_err());
    }
}
