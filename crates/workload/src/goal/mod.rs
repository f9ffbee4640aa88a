//! Traces of real programs in GOAL, the format of LogGOPSim: for each rank a graph of sends, receives and
//! computations, each of which starts once others have finished (`requires`) or started (`irequires`).
//!
//! [`load`] reads a file in any of its forms: text ([`text`]) or binary ([`binary`]), optionally gzipped. A
//! [`Trace`] in memory takes 36 bytes per operation and 4 bytes per dependency; [`replay`] runs it. Every
//! trace that a parser accepts is valid: peers exist, and dependencies are within their rank and free of
//! cycles.

pub mod binary;
pub mod replay;
pub mod text;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use write::write_text;

use crate::skeleton::collective::Operation;
use binary::BinaryError;
use text::TextError;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Sends a message.
    Send = 1,
    /// Receives a message.
    Receive = 2,
    /// Computes.
    Calc = 3,
    /// Takes part in a collective operation of all ranks.
    Collective = 4,
    /// Not an operation of its own: the block that a rank has for another in the preceding all-to-all-v,
    /// whose own size is that for rank 0. There is one for each rank from 1 on, in order.
    Block = 5,
}

/// The peer of a receive from any source, and the tag of one of any tag.
pub const ANY: u32 = u32::MAX;

/// Collective operations by their keywords in traces.
pub const COLLECTIVES: [(&str, Operation); 7] = [
    ("barrier", Operation::Barrier),
    ("bcast", Operation::Broadcast),
    ("reduce", Operation::Reduce),
    ("allreduce", Operation::Allreduce),
    ("allgather", Operation::Allgather),
    ("alltoall", Operation::AllToAll),
    ("alltoallv", Operation::AllToAllV),
];

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Length of the message or of a rank's data in a collective operation, bytes, or of the computation, ns.
    pub size: u64,
    /// The other rank; [`ANY`] for a receive from any source. For a collective operation its index in
    /// [`COLLECTIVES`]. 0 for a computation.
    pub peer: u32,
    /// The tag; [`ANY`] for a receive with any tag. 0 for a computation.
    pub tag: u32,
    /// Its kind.
    pub kind: Kind,
    /// The CPU of its node.
    pub cpu: u8,
    /// The network interface of its node. 0 for a computation.
    pub nic: u8,
}

/// The operations of one rank and their dependencies.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RankTrace {
    nodes: Box<[Node]>,
    /// Number of dependencies of each operation.
    waits: Box<[u32]>,
    /// Start of the lists of each operation `i` in `waiting`: the operations that wait for its finish at `2 *
    /// i`, for its start at `2 * i + 1`. One more entry at the end.
    first: Box<[u32]>,
    waiting: Box<[u32]>,
    /// Indices of its collective operations.
    collectives: Box<[u32]>,
}

impl Node {
    /// Its collective operation, if it is one.
    pub fn collective(&self) -> Option<Operation> {
        (self.kind == Kind::Collective).then(|| COLLECTIVES[self.peer as usize].1)
    }

    /// Number of blocks that follow it in a trace with this number of ranks.
    fn blocks(&self, ranks: u32) -> u32 {
        if self.collective() == Some(Operation::AllToAllV) { ranks - 1 } else { 0 }
    }
}

impl RankTrace {
    /// The operations, in the order of the file.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Its collective operations in the order of the file, which is the order of execution: index in
    /// [`COLLECTIVES`] and bytes.
    pub fn collectives(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.collectives.iter().map(|&at| &self.nodes[at as usize]).map(|node| (node.peer, node.size))
    }

    /// The size of its block for a rank in its collective operation with this number, an all-to-all-v, bytes.
    pub fn block(&self, number: u32, to: u32) -> u64 {
        self.nodes[(self.collectives[number as usize] + to) as usize].size
    }

    /// Number of dependencies of an operation, of both kinds.
    pub fn dependencies(&self, node: u32) -> u32 {
        self.waits[node as usize]
    }

    /// The operations that wait for this one to finish (which `require` it).
    pub fn after_finish(&self, node: u32) -> &[u32] {
        self.list(2 * node as usize)
    }

    /// The operations that wait for this one to start (which `irequire` it).
    pub fn after_start(&self, node: u32) -> &[u32] {
        self.list(2 * node as usize + 1)
    }

    fn list(&self, at: usize) -> &[u32] {
        &self.waiting[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Number of dependencies of the rank.
    pub fn dependencies_len(&self) -> usize {
        self.waiting.len()
    }
}

/// A program's trace.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Trace {
    ranks: Vec<RankTrace>,
}

impl Trace {
    /// The ranks, from 0.
    pub fn ranks(&self) -> &[RankTrace] {
        &self.ranks
    }

    /// Its messages: source, destination and bytes.
    pub fn messages(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        (0..).zip(&self.ranks).flat_map(|(rank, trace)| {
            let sends = trace.nodes.iter().filter(|n| n.kind == Kind::Send);
            sends.map(move |n| (rank, n.peer, n.size))
        })
    }

    /// The highest CPU number and network interface number of any operation.
    pub fn highest_cpu_and_nic(&self) -> (u8, u8) {
        let nodes = || self.ranks.iter().flat_map(|r| &r.nodes);
        (nodes().map(|n| n.cpu).max().unwrap_or(0), nodes().map(|n| n.nic).max().unwrap_or(0))
    }
}

/// A rank takes part in other collective operations than the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "all ranks take part in the same collective operations; number {number} of rank 0 is {first}, that of rank {rank} {here}"
)]
pub struct OtherCollectives {
    /// Its number among them, from 1.
    pub number: usize,
    /// The rank.
    pub rank: u32,
    /// The operation on rank 0.
    pub first: String,
    /// The operation on this rank.
    pub here: String,
}

fn same_collectives(first: &RankTrace, own: &RankTrace, rank: u32) -> Result<(), OtherCollectives> {
    let lengths = |(which, bytes)| match COLLECTIVES[which as usize].1 {
        // Each rank has its own block sizes.
        Operation::AllToAllV => (which, 0),
        _ => (which, bytes),
    };
    let (mut of_first, mut of_own) = (first.collectives().map(lengths), own.collectives().map(lengths));
    let shown = |which: Option<(u32, u64)>| {
        which.map_or("none".into(), |(which, bytes)| match COLLECTIVES[which as usize] {
            (word, Operation::Barrier | Operation::AllToAllV) => format!("`{word}`"),
            (word, _) => format!("`{word} {bytes}b`"),
        })
    };
    for number in 1.. {
        match (of_first.next(), of_own.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                return Err(OtherCollectives { number, rank, first: shown(a), here: shown(b) });
            }
        }
    }
    Ok(())
}

/// Why a rank's parts do not form a valid graph.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unsound {
    /// A cycle: each waits for the next and the last for the first.
    Cycle(Vec<u32>),
    /// More operations or dependencies than 32-bit indices allow.
    TooMany,
}

/// A rank under construction, reused from rank to rank.
#[derive(Debug, Default)]
struct RankBuilder {
    nodes: Vec<Node>,
    /// The awaited operation, twice its number, plus one if its start is awaited; and the waiting operation.
    dependencies: Vec<(u64, u32)>,
}

impl RankBuilder {
    /// `waiter` starts after `awaited` has finished, or has started.
    fn depend(&mut self, waiter: u32, awaited: u32, on_start: bool) {
        self.dependencies.push((2 * u64::from(awaited) + u64::from(on_start), waiter));
    }

    /// Builds the rank from the collected parts, and clears them. Lists keep the order in which dependencies
    /// were added.
    fn finish(&mut self) -> Result<RankTrace, Unsound> {
        let n = self.nodes.len();
        if n >= (u32::MAX / 2) as usize || self.dependencies.len() >= u32::MAX as usize {
            return Err(Unsound::TooMany);
        }
        // A counting sort by awaited operation.
        let mut waits = vec![0u32; n].into_boxed_slice();
        let mut first = vec![0u32; 2 * n + 1].into_boxed_slice();
        for &(awaited, waiter) in &self.dependencies {
            waits[waiter as usize] += 1;
            first[awaited as usize + 1] += 1;
        }
        for i in 0..2 * n {
            first[i + 1] += first[i];
        }
        let mut waiting = vec![0u32; self.dependencies.len()].into_boxed_slice();
        let mut next = first.to_vec();
        for &(awaited, waiter) in &self.dependencies {
            let at = &mut next[awaited as usize];
            waiting[*at as usize] = waiter;
            *at += 1;
        }
        self.dependencies.clear();
        let collectives = (0..).zip(&self.nodes).filter(|(_, node)| node.kind == Kind::Collective);
        let collectives = collectives.map(|(at, _)| at).collect();
        let nodes = self.nodes.as_slice().into();
        self.nodes.clear();
        let rank = RankTrace { nodes, waits, first, waiting, collectives };
        match find_cycle(&rank) {
            None => Ok(rank),
            Some(cycle) => Err(Unsound::Cycle(cycle)),
        }
    }
}

/// A cycle of operations, each of which waits for the next one.
fn find_cycle(rank: &RankTrace) -> Option<Vec<u32>> {
    // Repeatedly removes an operation that waits for none of those left.
    let mut left = rank.waits.to_vec();
    let mut free: Vec<u32> =
        (0..).zip(&left).filter(|&(_, &count)| count == 0).map(|(node, _)| node).collect();
    let mut removed = 0;
    while let Some(node) = free.pop() {
        removed += 1;
        let at = 2 * node as usize;
        for &waiter in &rank.waiting[rank.first[at] as usize..rank.first[at + 2] as usize] {
            left[waiter as usize] -= 1;
            if left[waiter as usize] == 0 {
                free.push(waiter);
            }
        }
    }
    if removed == rank.nodes.len() {
        return None;
    }
    // Each remaining operation waits for another remaining one; following them leads around a cycle.
    let mut waits_for = vec![ANY; left.len()];
    for node in (0..left.len() as u32).rev().filter(|&node| left[node as usize] > 0) {
        for &waiter in rank.after_finish(node).iter().chain(rank.after_start(node)) {
            waits_for[waiter as usize] = node;
        }
    }
    let mut seen_at = vec![usize::MAX; left.len()];
    let mut path = Vec::new();
    let mut node = left.iter().position(|&count| count > 0)? as u32;
    while seen_at[node as usize] == usize::MAX {
        seen_at[node as usize] = path.len();
        path.push(node);
        node = waits_for[node as usize];
    }
    Some(path.split_off(seen_at[node as usize]))
}

/// Maximum number of bytes that [`load`] reads from a file, after decompression.
pub const BYTES_MAX: u64 = 8 << 30;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Why a file is not a valid trace.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read, or its gzip form is corrupted.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system or the decompressor.
        cause: io::Error,
    },
    /// It is longer than [`BYTES_MAX`].
    #[error("{}: longer than {limit} bytes after decompression", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The limit, bytes.
        limit: u64,
    },
    /// An error in the text form.
    #[error("{}:{error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        error: TextError,
    },
    /// An error in the binary form.
    #[error("{}: {error}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        error: BinaryError,
    },
}

/// The traces that are built into the program, by name.
const BUILT_IN: &[(&str, &[u8])] =
    &[("lulesh-64", include_bytes!("../../../../examples/traces/lulesh-64.goal.gz"))];

/// Whether this is the name of a trace that is built into the program.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == name)
}

/// Reads a trace from a file: text or binary, gzipped or not, as detected from its first bytes. The name of a
/// built-in trace selects that.
///
/// # Errors
/// The first error in it, with its path and position.
pub fn load(path: impl AsRef<Path>) -> Result<Trace, LoadError> {
    load_up_to(path.as_ref(), BYTES_MAX)
}

fn load_up_to(path: &Path, limit: u64) -> Result<Trace, LoadError> {
    let bytes = read(path, limit).map_err(|cause| LoadError::Read { path: path.into(), cause })?;
    if bytes.len() as u64 > limit {
        return Err(LoadError::TooLong { path: path.into(), limit });
    }
    if binary::is_binary(&bytes) {
        binary::read(&bytes).map_err(|error| LoadError::Binary { path: path.into(), error })
    } else {
        text::parse(&bytes).map_err(|error| LoadError::Text { path: path.into(), error })
    }
}

/// Reads a file to its end or to one byte past the limit.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let built_in = BUILT_IN.iter().find(|(name, _)| Path::new(name) == path);
    let mut bytes = Vec::new();
    match built_in {
        Some((_, content)) => bytes.extend_from_slice(content),
        None => drop(File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?),
    }
    if bytes.starts_with(&GZIP_MAGIC) {
        let packed = std::mem::take(&mut bytes);
        // A gzip file may have several members.
        flate2::read::MultiGzDecoder::new(&packed[..]).take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const EXAMPLE: &str = "lulesh-64";

    /// A separate file for each test, deleted when it is dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("netloom-{}-{name}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_example_loads_and_survives_its_other_forms() {
        let trace = load(EXAMPLE).unwrap();
        assert_eq!(trace.ranks().len(), 64);
        let nodes = || trace.ranks().iter().flat_map(|r| r.nodes());
        assert_eq!(nodes().filter(|n| n.kind == Kind::Send).count(), 13_455);
        assert_eq!(nodes().filter(|n| n.kind == Kind::Receive).count(), 13_455);
        assert_eq!(nodes().filter(|n| n.kind == Kind::Calc).count(), 36_974);
        assert_eq!(trace.messages().count(), 13_455);
        assert_eq!(trace.ranks().iter().map(|r| r.dependencies_len()).sum::<usize>(), 90_730);
        let mut text = Vec::new();
        write_text(&trace, &mut text).unwrap();
        let mut packed = Vec::new();
        binary::write(&trace, &mut packed).unwrap();
        assert_eq!(text::parse(&text).unwrap(), trace);
        assert_eq!(binary::read(&packed).unwrap(), trace);
        for (name, bytes) in [
            ("text", text.clone()),
            ("binary", packed.clone()),
            ("text.gz", gzip(&text)),
            ("binary.gz", gzip(&packed)),
            ("parts.gz", [gzip(&text[..1000]), gzip(&text[1000..])].concat()),
        ] {
            let file = Scratch::new(name, &bytes);
            assert_eq!(load(&file.0).unwrap(), trace, "{name}");
        }
    }

    #[test]
    fn parsing_the_example_takes_no_time_to_speak_of() {
        let text = read(Path::new(EXAMPLE), BYTES_MAX).unwrap();
        let fastest = (0..5)
            .map(|_| {
                let start = std::time::Instant::now();
                text::parse(&text).unwrap();
                start.elapsed()
            })
            .min()
            .unwrap();
        eprintln!("{} bytes in {fastest:?}", text.len());
        // The aim is 100 ms; the rest is for loaded machines.
        assert!(fastest.as_millis() < 500, "{fastest:?}");
    }

    #[test]
    fn an_error_names_the_file_and_the_place() {
        let file = Scratch::new("wrong", b"num_ranks 1\nrank 0 {\nl1: clac 5\n}\n");
        let message = load(&file.0).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}:3:5: ", file.0.display())), "{message}");
        assert!(message.contains("`calc`"), "{message}");
        let file = Scratch::new("cut.gz", &gzip(&[b' '; 5000])[..20]);
        assert!(matches!(load(&file.0), Err(LoadError::Read { .. })));
        let file = Scratch::new("cut.bin", &binary::MAGIC.to_le_bytes());
        assert!(matches!(load(&file.0), Err(LoadError::Binary { .. })));
        assert!(load("/nonexistent.goal").unwrap_err().to_string().starts_with("/nonexistent.goal: "));
    }

    #[test]
    fn a_small_file_may_not_unpack_without_end() {
        let file = Scratch::new("bomb.gz", &gzip(&vec![b' '; 1 << 20]));
        let message = load_up_to(&file.0, 1 << 16).unwrap_err().to_string();
        assert!(message.ends_with("longer than 65536 bytes after decompression"), "{message}");
    }

    #[test]
    fn a_cycle_is_found_whole() {
        let calc = Node { size: 0, peer: 0, tag: 0, kind: Kind::Calc, cpu: 0, nic: 0 };
        let mut builder = RankBuilder { nodes: vec![calc; 6], dependencies: Vec::new() };
        // 0 <- 1 <- 2 <- 3 <- 1, and 4, 5 only hang on.
        for (waiter, awaited, on_start) in
            [(1, 0, false), (2, 1, true), (3, 2, false), (1, 3, true), (4, 3, false), (5, 0, true)]
        {
            builder.depend(waiter, awaited, on_start);
        }
        let Err(Unsound::Cycle(mut cycle)) = builder.finish() else { panic!("no cycle") };
        cycle.sort_unstable();
        assert_eq!(cycle, [1, 2, 3]);
    }
}
