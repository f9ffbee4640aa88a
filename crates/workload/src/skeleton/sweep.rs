//! A wavefront sweep of discrete ordinates (Sn transport, like Sweep3D): cells on a two-dimensional grid of
//! ranks, each with whole columns along z. In each of the eight octants of directions the work starts at one
//! corner of the grid; a rank takes a block of its column, receives the inflow of two sides, computes, and
//! sends its outflow to the two others, while its upstream neighbours are already at the next block.
//!
//! The octants come in pairs that share a corner, down and up along z, so that the second follows without a
//! gap; after each corner comes an adjacent one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Rank, check_grid, coordinates, rank_at};
use crate::ConfigError;

/// The corners at which the work starts: whether it flows towards larger x and y.
const CORNERS: [[bool; 2]; 4] = [[true, true], [false, true], [false, false], [true, false]];

/// The sweep and the machine's part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Sweep {
    /// Ranks along x and y; rank numbers run along x first.
    pub grid: [u32; 2],
    /// Cells of a rank along x, y and z.
    pub cells: [u32; 3],
    /// Planes of cells along z that are computed between two exchanges.
    pub block_planes: u32,
    /// Directions of an octant.
    pub angles: u32,
    /// Directions that are computed between two exchanges.
    pub block_angles: u32,
    /// Size of a value that is passed on, one for each face of a cell and direction, bytes.
    pub value_B: u32,
    /// Time of one cell and direction, ns.
    pub cell_angle_ns: f64,
    /// Octants to sweep, 8 for all: fewer show a single wave.
    pub octants: u32,
    /// Sweeps over all octants, one after the other.
    pub iterations: u32,
}

impl Default for Sweep {
    /// The usual test of Sweep3D, 5x5x400 cells per rank, on 16x32 ranks: six directions, three at a time, in
    /// blocks of ten planes.
    fn default() -> Self {
        Self {
            grid: [16, 32],
            cells: [5, 5, 400],
            block_planes: 10,
            angles: 6,
            block_angles: 3,
            value_B: 8,
            cell_angle_ns: 50.0,
            octants: 8,
            iterations: 1,
        }
    }
}

impl Sweep {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_grid("grid", &self.grid)?;
        let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
        if self.cells.contains(&0) {
            return refuse(
                "cells",
                format!("expected at least one along each dimension, found {:?}", self.cells),
            );
        }
        if self.block_planes == 0 {
            return refuse("block_planes", "expected at least 1".into());
        }
        if self.block_angles == 0 {
            return refuse("block_angles", "expected at least 1".into());
        }
        if !(1..=8).contains(&self.octants) {
            return refuse("octants", format!("expected 1 to 8, found {}", self.octants));
        }
        if !(self.cell_angle_ns.is_finite() && self.cell_angle_ns >= 0.0) {
            return refuse("cell_angle_ns", format!("expected a time, found {}", self.cell_angle_ns));
        }
        let side = self.cells[0].max(self.cells[1]);
        let values = u64::from(side) * u64::from(self.block_planes.min(self.cells[2]));
        if values.checked_mul(u64::from(self.block_angles) * u64::from(self.value_B)).is_none() {
            return refuse("cells", "a message exceeds 2^64 B".into());
        }
        Ok(())
    }
}

/// The lengths of the blocks of `total`.
fn blocks(total: u32, block: u32) -> impl Iterator<Item = u32> {
    (0..total.div_ceil(block)).map(move |i| block.min(total - i * block))
}

/// The program of one rank.
pub async fn run<R: Rank>(rank: R, config: Arc<Sweep>) {
    let c = &*config;
    let at = coordinates(rank.rank(), c.grid);
    // A rank's neighbour one step along a dimension, if the grid continues there.
    let neighbour = |d: usize, plus: bool| {
        let mut other = at;
        other[d] = if plus { at[d].checked_add(1)? } else { at[d].checked_sub(1)? };
        (other[d] < c.grid[d]).then(|| rank_at(other, c.grid))
    };
    for _ in 0..c.iterations {
        for octant in 0..c.octants {
            let flow = CORNERS[octant as usize / 2];
            let upstream = [neighbour(0, !flow[0]), neighbour(1, !flow[1])];
            let downstream = [neighbour(0, flow[0]), neighbour(1, flow[1])];
            let mut sends = Vec::new();
            for angles in blocks(c.angles, c.block_angles) {
                for planes in blocks(c.cells[2], c.block_planes) {
                    // A message across an x face has the length of the rank along y, and vice versa.
                    let bytes = |d: usize| {
                        u64::from(c.cells[1 - d])
                            * u64::from(planes)
                            * u64::from(angles)
                            * u64::from(c.value_B)
                    };
                    let inflow =
                        |d: usize| upstream[d].map(|r| rank.irecv(Some(r), Some(d as u32), bytes(d)));
                    rank.wait_all([0, 1].into_iter().filter_map(inflow).collect()).await;
                    let cells = f64::from(c.cells[0]) * f64::from(c.cells[1]) * f64::from(planes);
                    rank.compute((cells * f64::from(angles) * c.cell_angle_ns).round() as u64).await;
                    // The outflow's buffers are those of the block before.
                    rank.wait_all(std::mem::take(&mut sends)).await;
                    let outflow = |d: usize| downstream[d].map(|r| rank.isend(r, d as u32, bytes(d)));
                    sends = [0, 1].into_iter().filter_map(outflow).collect();
                }
            }
            rank.wait_all(sends).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SkeletonConfig, boxed};
    use super::*;
    use crate::ideal::{Finish, Ideal};

    fn run_on(network: Ideal, config: &Sweep) -> Finish {
        network.run(&mut boxed(SkeletonConfig::Sweep(config.clone()).programs().unwrap())).unwrap()
    }

    /// Ten blocks per octant, 600 ns each.
    fn small(octants: u32) -> Sweep {
        Sweep {
            grid: [5, 3],
            cells: [2, 3, 20],
            block_planes: 4,
            angles: 4,
            block_angles: 2,
            cell_angle_ns: 12.5,
            octants,
            ..Default::default()
        }
    }

    #[test]
    fn a_wave_takes_its_blocks_and_its_path() {
        for (octants, steps) in [(1, 10 + 4 + 2), (2, 20 + 4 + 2)] {
            assert_eq!(run_on(Ideal::default(), &small(octants)).end_ns(), steps * 600);
        }
        // Each step also costs a latency and the larger message, while blocks follow without a gap: 600 ns of
        // computing cover 3 * 4 * 2 * 8 B at 1 ns/B.
        let network = Ideal { latency_ns: 1_000, ps_per_byte: 1_000 };
        let (x, y) = (3 * 4 * 2 * 8, 2 * 4 * 2 * 8);
        let path = 4 * (600 + 1_000 + x) + 2 * (600 + 1_000 + y);
        assert_eq!(run_on(network, &small(1)).end_ns(), 10 * 600 + path);
    }

    #[test]
    fn all_octants_cross_the_grid_five_times() {
        // Corner after corner along x, y, x: three steps along x and two along y are not hidden.
        assert_eq!(run_on(Ideal::default(), &small(8)).end_ns(), (8 * 10 + 3 * 4 + 2 * 2) * 600);
    }

    #[test]
    fn every_face_inside_the_grid_is_crossed_by_every_block() {
        let finish = run_on(Ideal::default(), &small(8));
        assert_eq!(finish.messages, 8 * 10 * (4 * 3 + 5 * 2));
        assert_eq!(finish.bytes, 8 * 10 * (4 * 3 * 192 + 5 * 2 * 128));
    }

    #[test]
    fn a_last_block_may_be_shorter() {
        assert_eq!(blocks(10, 4).collect::<Vec<_>>(), [4, 4, 2]);
        let config = Sweep { grid: [1, 1], block_planes: 7, block_angles: 3, ..small(8) };
        assert_eq!(run_on(Ideal::default(), &config).end_ns(), 8 * 2 * 3 * 20 * 4 * 25 / 2);
    }

    #[test]
    fn impossible_values_are_refused() {
        for (config, key) in [
            (Sweep { grid: [0, 1], ..small(8) }, "grid"),
            (Sweep { cells: [1, 0, 1], ..small(8) }, "cells"),
            (Sweep { block_planes: 0, ..small(8) }, "block_planes"),
            (Sweep { block_angles: 0, ..small(8) }, "block_angles"),
            (Sweep { cell_angle_ns: f64::NAN, ..small(8) }, "cell_angle_ns"),
            (small(9), "octants"),
        ] {
            assert_eq!(config.check().unwrap_err().key, key);
        }
        assert!(Sweep::default().check().is_ok());
    }
}
