//! Divides a torus into blocks: boxes of nodes, and the lanes between them.

use super::BLOCK_MAX;
use crate::config::ConfigError;
use crate::topology::torus::Torus;

/// As a neighbour: none, or a dead one.
pub(super) const NOWHERE: u32 = u32::MAX;
/// As a neighbour: the bit that marks it as in another block; then 11 bits of lane and 20 of the node's index
/// there.
const REMOTE: u32 = 1 << 31;

/// The lane to a neighbour in another block, and its index there.
#[inline]
pub(super) fn remote(neighbour: u32) -> Option<(usize, u32)> {
    (neighbour & REMOTE != 0).then_some(((neighbour >> 20 & 0x7ff) as usize, neighbour % BLOCK_MAX as u32))
}

/// The assignment of nodes to blocks.
pub(super) struct Partition {
    pub torus: Torus,
    /// The nodes of each block.
    pub members: Vec<Vec<u32>>,
    /// Block and index of each node.
    pub places: Vec<(u32, u32)>,
}

impl Partition {
    /// Blocks of at most `block` nodes per dimension, or of the measured best size.
    pub fn new(torus: Torus, block: &[u32], blocks: usize) -> Result<Self, ConfigError> {
        let block = if block.is_empty() { usual_block(&torus, blocks) } else { block.to_vec() };
        let members: Vec<Vec<u32>> = boxes(&torus, &block).into_iter().map(|b| nodes_of(&torus, b)).collect();
        if let Some(large) = members.iter().find(|m| m.len() > BLOCK_MAX) {
            let message = format!("expected at most {BLOCK_MAX} nodes, found {}", large.len());
            return Err(ConfigError { key: "block".into(), message });
        }
        let mut members = members;
        let block_of = |nodes: &Vec<u32>, node: u32| nodes.binary_search(&node).is_ok();
        for io_node in torus.nodes()..torus.all_nodes() {
            let exit = torus.exits(io_node)[0];
            let near =
                members.iter_mut().find(|nodes| block_of(nodes, exit)).expect("each node is in a block");
            near.push(io_node);
        }
        let mut places = vec![(0, 0); torus.all_nodes() as usize];
        for (b, nodes) in members.iter().enumerate() {
            for (i, &node) in nodes.iter().enumerate() {
                places[node as usize] = (b as u32, i as u32);
            }
        }
        Ok(Partition { torus, members, places })
    }

    /// A node's reference to its neighbour through a port, for a node of block `b`: [`NOWHERE`], an index in
    /// the block, or [`REMOTE`]. Adds lanes to blocks not reached before.
    pub fn neighbour(&self, b: usize, number: u32, port: usize, lanes: &mut Vec<u32>) -> u32 {
        let is_torus = port < self.torus.ports() && !self.torus.is_io_node(number);
        let link = self.torus.link(number, port).filter(|_| !is_torus || !self.torus.is_dead(number, port));
        link.map_or(NOWHERE, |(n, _)| {
            let (block, place) = self.places[n as usize];
            if block as usize == b {
                return place;
            }
            let lane = lanes.iter().position(|&l| l == block).unwrap_or_else(|| {
                lanes.push(block);
                lanes.len() - 1
            });
            assert!(lane < 1 << 11, "a block has few neighbours");
            REMOTE | (lane as u32) << 20 | place
        })
    }
}

/// Boxes of at most `block` nodes per dimension that cover the torus.
fn boxes(torus: &Torus, block: &[u32]) -> Vec<([u32; 5], [u32; 5])> {
    let side = |d: usize| block.get(d).copied().unwrap_or(torus.length(d)).clamp(1, torus.length(d));
    let mut list = vec![([0; 5], [0; 5])];
    for d in 0..5 {
        list = list
            .into_iter()
            .flat_map(|(low, high)| {
                (0..torus.length(d).div_ceil(side(d))).map(move |i| {
                    let (mut low, mut high) = (low, high);
                    low[d] = i * side(d);
                    high[d] = ((i + 1) * side(d)).min(torus.length(d));
                    (low, high)
                })
            })
            .collect();
    }
    // The first dimension varies fastest, as in node numbers.
    list.sort_by_key(|b| [b.0[4], b.0[3], b.0[2], b.0[1], b.0[0]]);
    list
}

fn nodes_of(torus: &Torus, (low, high): ([u32; 5], [u32; 5])) -> Vec<u32> {
    let mut list = vec![];
    for e in low[4]..high[4] {
        for d in low[3]..high[3] {
            for c in low[2]..high[2] {
                for b in low[1]..high[1] {
                    for a in low[0]..high[0] {
                        list.push(torus.node([a as u8, b as u8, c as u8, d as u8, e as u8]));
                    }
                }
            }
        }
    }
    list
}

/// Fewest nodes of a block, where many blocks are asked for.
const LEAST: u32 = 16;

/// Default block size. Measured (`docs/performance.md`): up to 2,048 nodes, whose arrays fill huge pages
/// while a tick's working set still fits a core's cache, but at least four blocks on a machine that is large
/// enough for several threads, and as many as asked for. Of 512 nodes, two blocks take 1.06 of the
/// instructions of one at half load, eight 1.2.
fn usual_block(torus: &Torus, blocks: usize) -> Vec<u32> {
    let most = if torus.nodes() <= 512 { 512 } else { (torus.nodes() / 4).clamp(256, 2048) };
    let most = most.min((torus.nodes() / blocks.max(1) as u32).max(LEAST));
    let mut sides = vec![1; torus.dimensions()];
    loop {
        // Doubles the shortest side that can still grow.
        let growing = (0..sides.len()).filter(|&d| sides[d] < torus.length(d)).min_by_key(|&d| sides[d]);
        let Some(d) = growing else { return sides };
        let side = (2 * sides[d]).min(torus.length(d));
        if sides.iter().product::<u32>() / sides[d] * side > most {
            return sides;
        }
        sides[d] = side;
    }
}
