//! Coordinates, neighbours and minimal directions of a torus, a mesh, or a mixture of both.

use netloom_fabric::config::{DIMENSIONS_MAX, HalfwayTie, Topology};

/// The directions that a packet still has to travel: for each dimension the port that leads there, if any.
pub type Hints = [Option<usize>; DIMENSIONS_MAX];

/// The topology of the machine. Node `n` has coordinates `n % k_x`, `n / k_x % k_y` and so on: x varies
/// fastest.
pub struct Geometry {
    lengths: Vec<usize>,
    wraps: Vec<bool>,
    tie: HalfwayTie,
}

impl Geometry {
    /// The topology of a configuration, and the direction for half-way distances around a ring.
    pub fn new(topology: &Topology, tie: HalfwayTie) -> Self {
        Geometry {
            lengths: topology.dims.iter().map(|&k| k as usize).collect(),
            wraps: (0..topology.dims.len()).map(|d| topology.wraps(d)).collect(),
            tie,
        }
    }

    /// Number of nodes of the machine.
    pub fn nodes(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Dimensions of the machine, including those of length 1.
    pub fn dimensions(&self) -> usize {
        self.lengths.len()
    }

    /// The coordinates of a node.
    pub fn coordinates(&self, mut node: usize) -> Vec<usize> {
        let mut coordinates = Vec::new();
        for &k in &self.lengths {
            coordinates.push(node % k);
            node /= k;
        }
        coordinates
    }

    /// The node at given coordinates.
    pub fn node(&self, coordinates: &[usize]) -> usize {
        coordinates.iter().zip(&self.lengths).rev().fold(0, |node, (c, k)| node * k + c)
    }

    /// The node behind port `port` of `node`: `None` at the end of a mesh, and in a dimension of length 1.
    pub fn neighbour(&self, node: usize, port: usize) -> Option<usize> {
        let (d, minus) = (port / 2, port % 2 == 1);
        let k = self.lengths[d];
        let mut at = self.coordinates(node);
        let end = if minus { 0 } else { k - 1 };
        if k == 1 || (!self.wraps[d] && at[d] == end) {
            return None;
        }
        at[d] = if minus { (at[d] + k - 1) % k } else { (at[d] + 1) % k };
        Some(self.node(&at))
    }

    /// The minimal route from one node to another. At half-way distances around a ring the source's registers
    /// decide: plus if its coordinates have an even sum, otherwise minus (or plus everywhere).
    pub fn hints(&self, from: usize, to: usize) -> Hints {
        let (a, b) = (self.coordinates(from), self.coordinates(to));
        let even = a.iter().sum::<usize>().is_multiple_of(2);
        let mut hints = [None; DIMENSIONS_MAX];
        for d in 0..self.lengths.len() {
            let k = self.lengths[d];
            let ahead = (b[d] + k - a[d]) % k;
            if ahead == 0 {
                continue;
            }
            let plus = if !self.wraps[d] {
                b[d] > a[d]
            } else if 2 * ahead == k {
                even || self.tie == HalfwayTie::Plus
            } else {
                2 * ahead < k
            };
            hints[d] = Some(2 * d + usize::from(!plus));
        }
        hints
    }
}
