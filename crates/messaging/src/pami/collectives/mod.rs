//! Collective algorithms over point-to-point messages, as schedules: what one member sends, receives and
//! computes, round by round. A schedule knows nothing of the device or of the program's types. It names its
//! data by area and offset; whoever runs it supplies the memory and moves the messages.
//!
//! Messages between two members match by their order. All sends and receives of a round may be under way at
//! the same time. The next round begins when they are done and the round's local steps have run.
//!
//! - [`movement`] – barrier, broadcast, gather, scatter, allgather, alltoall.
//! - [`tree`] – barrier, broadcast, gather, scatter and reduce along k-nomial and k-ary trees.
//! - [`reduction`] – allreduce, scan, reduce-scatter.
//! - [`halving`] – reductions that divide the data among the members: Rabenseifner's algorithms.

pub mod halving;
pub mod movement;
pub mod reduction;
#[cfg(test)]
mod tests;
pub mod tree;

/// Memory that a schedule works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// What the member contributes. It is not changed.
    Source,
    /// Where the member's result goes.
    Target,
    /// Intermediate data.
    Scratch,
}

/// A contiguous piece of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The area.
    pub area: Area,
    /// Where it starts, bytes.
    pub at: usize,
    /// Its length, bytes.
    pub bytes: usize,
}

impl Block {
    /// The first bytes of an area.
    pub fn first(area: Area, bytes: usize) -> Self {
        Block { area, at: 0, bytes }
    }
}

/// A message to or from another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other member.
    pub peer: usize,
    /// The data.
    pub block: Block,
}

/// A step without communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// Copies a block; `to` has the same length.
    Copy {
        /// The data.
        from: Block,
        /// Where it goes.
        to: Block,
    },
    /// `into = into OP from`, element by element.
    Reduce {
        /// The left operand and the result.
        into: Block,
        /// The right operand.
        from: Block,
    },
}

impl Local {
    /// Length of the data, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Local::Copy { from, .. } | Local::Reduce { from, .. } => from.bytes,
        }
    }
}

/// Steps between two synchronisation points of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Messages that it sends.
    pub sends: Vec<Transfer>,
    /// Messages that it receives.
    pub receives: Vec<Transfer>,
    /// Local steps after all of them, in order.
    pub then: Vec<Local>,
}

impl Round {
    fn send(peer: usize, block: Block) -> Self {
        Round { sends: vec![Transfer { peer, block }], ..Round::default() }
    }

    fn receive(peer: usize, block: Block) -> Self {
        Round { receives: vec![Transfer { peer, block }], ..Round::default() }
    }

    fn local(then: Vec<Local>) -> Self {
        Round { then, ..Round::default() }
    }

    fn and_receive(mut self, peer: usize, block: Block) -> Self {
        self.receives.push(Transfer { peer, block });
        self
    }

    fn then(mut self, steps: impl IntoIterator<Item = Local>) -> Self {
        self.then.extend(steps);
        self
    }
}

/// The rounds of a member, made one at a time, so a schedule takes little memory.
pub type Schedule = Box<dyn Iterator<Item = Round> + Send>;

/// The powers of a radix of 2 or more below a limit, from 1.
fn powers(radix: usize, limit: usize) -> impl DoubleEndedIterator<Item = usize> + Clone + Send {
    let count = std::iter::successors(Some(1usize), |power| power.checked_mul(radix))
        .take_while(|&power| power < limit)
        .count() as u32;
    (0..count).map(move |n| radix.pow(n))
}

/// A member and the number of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the member.
    pub me: usize,
    /// Number of members.
    pub count: usize,
}

impl Place {
    /// The member at a distance above this one, modulo the number of members.
    fn above(self, distance: usize) -> usize {
        (self.me + distance) % self.count
    }

    /// The member at a distance of at most `count` below this one, modulo the number of members.
    fn below(self, distance: usize) -> usize {
        (self.me + self.count - distance) % self.count
    }
}

/// Where the blocks of the members lie in an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// One after the other, all of this length, bytes.
    Equal(usize),
    /// The offset and length of each, bytes.
    Each(Vec<(usize, usize)>),
}

impl Blocks {
    /// The block of a member.
    pub fn of(&self, area: Area, member: usize) -> Block {
        let (at, bytes) = match self {
            Blocks::Equal(bytes) => (member * bytes, *bytes),
            Blocks::Each(list) => list[member],
        };
        Block { area, at, bytes }
    }

    /// The blocks of several members whose blocks adjoin, from the first up to the last, which is not
    /// included.
    fn span(&self, area: Area, first: usize, end: usize) -> Block {
        if first == end {
            return Block { area, at: 0, bytes: 0 };
        }
        let (start, last) = (self.of(area, first), self.of(area, end - 1));
        Block { area, at: start.at, bytes: last.at + last.bytes - start.at }
    }

    /// Divides bytes among members in multiples of `unit`, as evenly as possible.
    pub fn divide(bytes: usize, unit: usize, count: usize) -> Self {
        let units = bytes / unit.max(1);
        let at = |member: usize| match member {
            member if member == count => bytes,
            member => (member as u128 * units as u128 / count as u128) as usize * unit.max(1),
        };
        Blocks::Each((0..count).map(|member| (at(member), at(member + 1) - at(member))).collect())
    }
}
