//! The trees that collective programs use: over boxes of nodes, with the root in the middle, one class route each; or class routes as a
//! study gives them, node by node.

use netloom_fabric::collective::route::Rectangle;
use netloom_fabric::collective::{CLASS_ROUTES, ClassRoute, RouteKind};
use netloom_fabric::config::{ConfigError, Topology};
use netloom_fabric::topology::torus::{Coordinates, Torus};
use serde::{Deserialize, Serialize};

/// Lengths of boxes at the origin, one list a box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Boxes(pub Vec<Vec<u32>>);

/// A tree over a box.
pub(super) struct Tree {
    torus: Torus,
    rectangle: Rectangle,
}

impl Boxes {
    /// Checks the boxes against the machine's shape.
    ///
    /// # Errors
    /// The first that is impossible.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let refuse = |message: String| Err(ConfigError { key: "boxes".into(), message });
        if self.0.len() > CLASS_ROUTES {
            return refuse(format!(
                "expected at most {CLASS_ROUTES}, a class route each, found {}",
                self.0.len()
            ));
        }
        for lengths in &self.0 {
            if lengths.len() != dims.len() || lengths.iter().zip(dims).any(|(l, k)| !(1..=*k).contains(l)) {
                return refuse(format!(
                    "expected {} lengths from 1 to those of the machine, {dims:?}, found {lengths:?}",
                    dims.len()
                ));
            }
        }
        Ok(())
    }

    /// Their trees, on a machine of this shape.
    pub(super) fn trees(&self, dims: &[u32]) -> Vec<Tree> {
        // Trees over boxes with their root in the middle are the same whether the machine is a torus or a mesh.
        let torus = Torus::new(&Topology { dims: dims.to_vec(), ..Topology::default() });
        let of = |lengths: &Vec<u32>| {
            let mut high = Coordinates::default();
            lengths.iter().enumerate().for_each(|(d, &l)| high[d] = (l - 1) as u8);
            Tree { torus: torus.clone(), rectangle: Rectangle { low: Coordinates::default(), high } }
        };
        if self.0.is_empty() { vec![of(&dims.to_vec())] } else { self.0.iter().map(of).collect() }
    }
}

impl Tree {
    /// Whether a node is in it.
    pub fn contains(&self, node: u32) -> bool {
        self.rectangle.contains(self.torus.coordinates(node))
    }

    /// How many nodes are in it, and the sum of their numbers.
    pub fn count_and_sum(&self) -> (u64, u64) {
        let (nodes, mut stride, mut sum) = (self.rectangle.nodes(), 1, 0);
        for d in 0..self.torus.dimensions() {
            let (low, high) = (u64::from(self.rectangle.low[d]), u64::from(self.rectangle.high[d]));
            let each: u64 = (low..=high).sum();
            sum += stride * each * (nodes / (high - low + 1));
            stride *= u64::from(self.torus.length(d));
        }
        (nodes, sum)
    }

    /// Levels below the root.
    pub fn depth(&self) -> u32 {
        self.rectangle.depth(&self.torus, self.rectangle.middle())
    }

    /// A node's registers.
    pub fn route(&self, node: u32, kind: RouteKind) -> Option<ClassRoute> {
        self.rectangle.route(&self.torus, self.rectangle.middle(), self.torus.coordinates(node), kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_box_add_up() {
        let dims = [4, 3, 2, 5, 2];
        let tree = &Boxes(vec![vec![2, 3, 1, 4, 2]]).trees(&dims)[0];
        let inside: Vec<u64> = (0..240).filter(|&n| tree.contains(n)).map(u64::from).collect();
        assert_eq!(tree.count_and_sum(), (inside.len() as u64, inside.iter().sum()));
    }
}
