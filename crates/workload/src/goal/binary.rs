//! The binary form of GOAL, as LogGOPSim's `txt2bin` writes it: little endian, without padding.
//!
//! ```text
//! u64 4223; u32 ranks; u8 highest cpu; u8 highest nic; for each rank u64 start and u64 end of its block from byte 8
//! a block:      u32 operations; u32 roots; u32 each root; the operations; u32 each index of a waiting operation
//! an operation: u32 dependencies; u8 kind (ours: 4, a collective operation, its number for the peer; 5, what a rank has for that peer in the
//!               all-to-all-v before it); u32 peer; u64 size; u32 tag; u8 cpu; u8 nic;
//!               u32 count and u32 first index of those that wait for its finish; the same for its start
//! ```
//!
//! The reader trusts no value: every offset and count is checked against the length of the file before it is
//! used, and blocks and lists may not share bytes, so that memory is bounded by a few times the length of the
//! file.

use std::io::{self, Write};

use super::{
    ANY, COLLECTIVES, Kind, Node, OtherCollectives, RankBuilder, RankTrace, Trace, Unsound, same_collectives,
};
use crate::skeleton::collective::Operation;

/// The first eight bytes, as a number.
pub const MAGIC: u64 = 4223;

const HEADER: usize = 8 + 4 + 1 + 1;
const RANK_ENTRY: usize = 16;
const NODE: usize = 39;
/// Offsets count from after the magic.
const BASE: usize = 8;

/// An error in a binary file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}{}: {fault}", rank.map(|r| format!(", rank {r}")).unwrap_or_default())]
pub struct BinaryError {
    /// Offset in the file, from 0.
    pub offset: u64,
    /// The rank, if in a rank's part.
    pub rank: Option<u32>,
    /// The error.
    pub fault: BinaryFault,
}

/// An error in a binary file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinaryFault {
    /// It does not begin with [`MAGIC`].
    #[error("expected the magic number {MAGIC}, found {0}")]
    Magic(u64),
    /// It, or a rank's block, ends too early.
    #[error("{what} need {need} bytes, only {left} are left")]
    Truncated {
        /// The missing item.
        what: &'static str,
        /// Its length, bytes.
        need: u64,
        /// Bytes left in the file or block.
        left: u64,
    },
    /// A block does not follow the one before it, or is not inside the file.
    #[error("expected a block within {from}..{to} after byte 8, found {start}..{end}")]
    Block {
        /// The end of the block before.
        from: u64,
        /// The end of the file.
        to: u64,
        /// Its start.
        start: u64,
        /// Its end.
        end: u64,
    },
    /// A block continues after its last whole index.
    #[error("{0} bytes are left over at the end of the block")]
    LeftOver(u64),
    /// Unknown operation kind.
    #[error("expected operation 1 (send), 2 (receive) or 3 (calc), found {0}")]
    Kind(u8),
    /// A peer is not among the ranks.
    #[error("rank {peer} does not exist: there are {ranks}, from 0")]
    PeerOutOfRange {
        /// The peer.
        peer: u32,
        /// Number of ranks in the header.
        ranks: u32,
    },
    /// A send's tag would match any.
    #[error("a send needs a tag of its own, found {ANY}, which stands for any")]
    SendToAnyTag,
    /// Unknown collective operation.
    #[error("collective operation {0} does not exist: there are {count}, from 0", count = COLLECTIVES.len())]
    NoCollective(u32),
    /// A rank takes part in other collective operations than rank 0.
    #[error(transparent)]
    Collectives(#[from] OtherCollectives),
    /// A CPU or network interface exceeds the header's maximum.
    #[error("{what} {found} is above the highest of the header, {highest}")]
    AboveHighest {
        /// `CPU` or `network interface`.
        what: &'static str,
        /// The number.
        found: u8,
        /// The header's.
        highest: u8,
    },
    /// A list of waiting operations exceeds the block's indices.
    #[error("a list of {count} from index {first} reaches beyond the {indices} indices of the block")]
    List {
        /// Its length.
        count: u32,
        /// Its first index.
        first: u32,
        /// Number of indices in the block.
        indices: u64,
    },
    /// The lists of a block do not use all of its indices.
    #[error("all lists together hold {listed} of the {indices} indices of the block")]
    Lists {
        /// Sum of the lists' lengths.
        listed: u64,
        /// Number of indices in the block.
        indices: u64,
    },
    /// An index is not that of an operation of the rank.
    #[error("operation {index} does not exist: there are {nodes}, from 0")]
    Waiting {
        /// The index.
        index: u32,
        /// Number of operations of the rank.
        nodes: u32,
    },
    /// An operation depends on itself.
    #[error("operation {0} cannot depend on itself")]
    SelfDependency(u32),
    /// An operation's number of dependencies differs from the number of lists that contain it.
    #[error("operation {node} states {stated} dependencies, the lists name it {listed} times")]
    Dependencies {
        /// The operation.
        node: u32,
        /// The stated number.
        stated: u32,
        /// The number of lists that contain it.
        listed: u32,
    },
    /// An all-to-all-v is not followed by one block for each rank from 1 on, or such a block follows another
    /// operation.
    #[error("expected what a rank has for each of ranks 1 to {} behind an all-to-all-v, and only there", .ranks - 1)]
    Blocks {
        /// Number of ranks.
        ranks: u32,
    },
    /// A block of an all-to-all-v has or is a dependency.
    #[error("what a rank has for another in an all-to-all-v has no dependencies of its own")]
    BlockDepends,
    /// The roots are not the operations without dependencies, in order.
    #[error(
        "expected the roots to be the {expected} operations without dependencies, in order, found {found} roots"
    )]
    Roots {
        /// Number of operations without dependencies.
        expected: u32,
        /// Number of stated roots.
        found: u32,
    },
    /// Operations wait for each other in a cycle.
    #[error("{} operations wait for each other, among them {}", .0.len(), .0[0])]
    Cycle(Vec<u32>),
    /// A rank has more operations or dependencies than fit its indices.
    #[error("a rank may have fewer than 2^31 operations and 2^32 dependencies")]
    RankTooLong,
}

/// Whether a file's first bytes are those of the binary form.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// A read position in the bytes of the file.
struct Cursor<'a> {
    /// The file up to the end of the readable part.
    bytes: &'a [u8],
    at: usize,
    rank: Option<u32>,
}

impl<'a> Cursor<'a> {
    fn error(&self, offset: usize, fault: BinaryFault) -> BinaryError {
        BinaryError { offset: offset as u64, rank: self.rank, fault }
    }

    /// Takes `count` items of `size` bytes.
    fn take(&mut self, what: &'static str, count: u32, size: usize) -> Result<&'a [u8], BinaryError> {
        let need = u64::from(count) * size as u64;
        let left = self.bytes.len() - self.at;
        if need > left as u64 {
            return Err(self.error(self.at, BinaryFault::Truncated { what, need, left: left as u64 }));
        }
        let taken = &self.bytes[self.at..self.at + need as usize];
        self.at += need as usize;
        Ok(taken)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, BinaryError> {
        Ok(u32_at(self.take(what, 1, 4)?, 0))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The limits in the header.
struct Limits {
    ranks: u32,
    cpu: u8,
    nic: u8,
}

/// Reads a trace from the binary form.
///
/// # Errors
/// The first error in it.
pub fn read(bytes: &[u8]) -> Result<Trace, BinaryError> {
    let mut file = Cursor { bytes, at: 0, rank: None };
    let header = file.take("the header would", 1, HEADER)?;
    let magic = u64_at(header, 0);
    if magic != MAGIC {
        return Err(file.error(0, BinaryFault::Magic(magic)));
    }
    let limits = Limits { ranks: u32_at(header, 8), cpu: header[12], nic: header[13] };
    let table_at = file.at;
    let table = file.take("the ranks' offsets", limits.ranks, RANK_ENTRY)?;
    let mut ranks = Vec::with_capacity(table.len() / RANK_ENTRY);
    let mut builder = RankBuilder::default();
    let (mut from, to) = ((file.at - BASE) as u64, (bytes.len() - BASE) as u64);
    for (rank, entry) in (0..).zip(table.chunks_exact(RANK_ENTRY)) {
        file.rank = Some(rank);
        let (start, end) = (u64_at(entry, 0), u64_at(entry, 8));
        if start < from || end < start || end > to {
            let offset = table_at + rank as usize * RANK_ENTRY;
            return Err(file.error(offset, BinaryFault::Block { from, to, start, end }));
        }
        from = end;
        // Both are inside the file, so they fit a usize.
        let block =
            Cursor { bytes: &bytes[..BASE + end as usize], at: BASE + start as usize, rank: Some(rank) };
        let read = read_rank(block, &limits, &mut builder)?;
        if let Some(first) = ranks.first() {
            same_collectives(first, &read, rank)
                .map_err(|other| file.error(BASE + start as usize, other.into()))?;
        }
        ranks.push(read);
    }
    Ok(Trace { ranks })
}

fn read_rank(
    mut block: Cursor<'_>,
    limits: &Limits,
    builder: &mut RankBuilder,
) -> Result<RankTrace, BinaryError> {
    let block_at = block.at;
    let nodes_len = block.u32("the number of operations would")?;
    let roots_at = block.at;
    let roots_len = block.u32("the number of roots would")?;
    let roots = block.take("the roots", roots_len, 4)?;
    let nodes_at = block.at;
    let nodes = block.take("the operations", nodes_len, NODE)?;
    let indices_at = block.at;
    let left = block.bytes.len() - indices_at;
    if !left.is_multiple_of(4) {
        return Err(block.error(block.bytes.len() - left % 4, BinaryFault::LeftOver(left as u64 % 4)));
    }
    let (indices, indices_len) = (&block.bytes[indices_at..], left as u64 / 4);

    // An earlier rank that was rejected may have left nodes behind.
    builder.nodes.clear();
    builder.dependencies.clear();
    let mut listed = 0;
    // The missing blocks of the last all-to-all-v, and the rank of the next one.
    let (mut lacks, mut next) = (0, 0);
    for (node, record) in (0..).zip(nodes.chunks_exact(NODE)) {
        let at = nodes_at + node as usize * NODE;
        let read = read_node(record, limits).map_err(|(field, fault)| block.error(at + field, fault))?;
        if (lacks > 0) != (read.kind == Kind::Block) || read.kind == Kind::Block && read.peer != next {
            return Err(block.error(at + 4, BinaryFault::Blocks { ranks: limits.ranks }));
        }
        (lacks, next) = if lacks > 0 { (lacks - 1, next + 1) } else { (read.blocks(limits.ranks), 1) };
        let stands_alone = read.kind == Kind::Block;
        builder.nodes.push(read);
        for (field, on_start) in [(23, false), (31, true)] {
            let (count, first) = (u32_at(record, field), u32_at(record, field + 4));
            // The first index of an empty list is meaningless.
            if count == 0 {
                continue;
            }
            if stands_alone {
                return Err(block.error(at + field, BinaryFault::BlockDepends));
            }
            if u64::from(first) + u64::from(count) > indices_len {
                let fault = BinaryFault::List { count, first, indices: indices_len };
                return Err(block.error(at + field, fault));
            }
            // Checked before anything is stored: lists that share indices could hold far more than the file.
            listed += u64::from(count);
            if listed > indices_len {
                return Err(block.error(at + field, BinaryFault::Lists { listed, indices: indices_len }));
            }
            for i in first as usize..first as usize + count as usize {
                let index = u32_at(indices, 4 * i);
                let fault = if index >= nodes_len {
                    BinaryFault::Waiting { index, nodes: nodes_len }
                } else if index == node {
                    BinaryFault::SelfDependency(node)
                } else {
                    builder.depend(index, node, on_start);
                    continue;
                };
                return Err(block.error(indices_at + 4 * i, fault));
            }
        }
    }
    if lacks > 0 {
        return Err(block.error(indices_at, BinaryFault::Blocks { ranks: limits.ranks }));
    }
    if listed != indices_len {
        return Err(block.error(indices_at, BinaryFault::Lists { listed, indices: indices_len }));
    }
    let rank = builder.finish().map_err(|unsound| {
        let fault = match unsound {
            Unsound::TooMany => BinaryFault::RankTooLong,
            Unsound::Cycle(nodes) => BinaryFault::Cycle(nodes),
        };
        block.error(block_at, fault)
    })?;
    for (node, record) in (0..).zip(nodes.chunks_exact(NODE)) {
        let (stated, listed) = (u32_at(record, 0), rank.dependencies(node));
        if stated > 0 && rank.nodes()[node as usize].kind == Kind::Block {
            return Err(block.error(nodes_at + node as usize * NODE, BinaryFault::BlockDepends));
        }
        if stated != listed {
            let at = nodes_at + node as usize * NODE;
            return Err(block.error(at, BinaryFault::Dependencies { node, stated, listed }));
        }
    }
    let expected = (0..nodes_len).filter(|&node| rank.dependencies(node) == 0);
    if !roots.chunks_exact(4).map(|root| u32_at(root, 0)).eq(expected.clone()) {
        let fault = BinaryFault::Roots { expected: expected.count() as u32, found: roots_len };
        return Err(block.error(roots_at, fault));
    }
    Ok(rank)
}

/// Reads an operation. An error has its position in the record.
fn read_node(record: &[u8], limits: &Limits) -> Result<Node, (usize, BinaryFault)> {
    let kind = match record[4] {
        1 => Kind::Send,
        2 => Kind::Receive,
        3 => Kind::Calc,
        4 => Kind::Collective,
        5 => Kind::Block,
        other => return Err((4, BinaryFault::Kind(other))),
    };
    let mut node = Node {
        size: u64_at(record, 9),
        peer: u32_at(record, 5),
        tag: u32_at(record, 17),
        kind,
        cpu: record[21],
        nic: record[22],
    };
    for (field, what, found, highest) in
        [(21, "CPU", node.cpu, limits.cpu), (22, "network interface", node.nic, limits.nic)]
    {
        if found > highest {
            return Err((field, BinaryFault::AboveHighest { what, found, highest }));
        }
    }
    let any_source = kind == Kind::Receive && node.peer == ANY;
    match kind {
        // These are meaningless here; fixed values keep equal traces equal.
        Kind::Calc => (node.peer, node.tag, node.nic) = (0, 0, 0),
        Kind::Collective if node.peer as usize >= COLLECTIVES.len() => {
            return Err((5, BinaryFault::NoCollective(node.peer)));
        }
        Kind::Collective => {
            (node.tag, node.cpu, node.nic) = (0, 0, 0);
            if COLLECTIVES[node.peer as usize].1 == Operation::Barrier {
                node.size = 0;
            }
        }
        Kind::Block => (node.tag, node.cpu, node.nic) = (0, 0, 0),
        _ if node.peer >= limits.ranks && !any_source => {
            return Err((5, BinaryFault::PeerOutOfRange { peer: node.peer, ranks: limits.ranks }));
        }
        Kind::Send if node.tag == ANY => return Err((17, BinaryFault::SendToAnyTag)),
        _ => {}
    }
    Ok(node)
}

/// Writes a trace in the binary form.
///
/// # Errors
/// Those of the writer.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let (cpu, nic) = trace.highest_cpu_and_nic();
    let ranks = trace.ranks();
    out.write_all(&MAGIC.to_le_bytes())?;
    // Readers reject traces with 2^32 ranks.
    out.write_all(&(ranks.len() as u32).to_le_bytes())?;
    out.write_all(&[cpu, nic])?;
    let mut start = (HEADER - BASE + RANK_ENTRY * ranks.len()) as u64;
    for rank in ranks {
        let numbers = 2 + roots(rank).count() + rank.dependencies_len();
        let end = start + 4 * numbers as u64 + NODE as u64 * rank.nodes().len() as u64;
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        start = end;
    }
    ranks.iter().try_for_each(|rank| write_rank(rank, out))
}

/// The operations without dependencies.
fn roots(rank: &RankTrace) -> impl Iterator<Item = u32> + '_ {
    (0..rank.nodes().len() as u32).filter(|&node| rank.dependencies(node) == 0)
}

fn write_rank(rank: &RankTrace, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&(rank.nodes().len() as u32).to_le_bytes())?;
    out.write_all(&(roots(rank).count() as u32).to_le_bytes())?;
    for root in roots(rank) {
        out.write_all(&root.to_le_bytes())?;
    }
    for (number, node) in (0..).zip(rank.nodes()) {
        let mut record = [0; NODE];
        let mut put = |at: usize, value: u32| record[at..at + 4].copy_from_slice(&value.to_le_bytes());
        put(0, rank.dependencies(number));
        put(5, node.peer);
        put(17, node.tag);
        let [finish, start, end] = [0, 1, 2].map(|i| rank.first[2 * number as usize + i]);
        put(23, start - finish);
        put(27, finish);
        put(31, end - start);
        put(35, start);
        record[4] = node.kind as u8;
        record[9..17].copy_from_slice(&node.size.to_le_bytes());
        record[21] = node.cpu;
        record[22] = node.nic;
        out.write_all(&record)?;
    }
    for index in &rank.waiting {
        out.write_all(&index.to_le_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
