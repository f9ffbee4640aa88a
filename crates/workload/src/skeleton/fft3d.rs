//! A three-dimensional fast Fourier transform: one-dimensional transforms along x, y and z, and all-to-all
//! exchanges that bring whole lines of points together. Such programs "often require the equivalent of an
//! All-to-All, but on a subset of the nodes consisting of either a plane or a line in the torus" (section 4
//! of the BG/L torus paper).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exchange::all_to_all;
use super::{Rank, check_grid, coordinates, rank_at};
use crate::ConfigError;

/// How the points are spread over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decomposition {
    /// Each rank owns a box of points. For each dimension in turn: an all-to-all over the line of ranks along
    /// it gathers whole lines of points, the transforms run, and an all-to-all over the same line brings the
    /// boxes back.
    Boxes,
    /// Each rank owns a bundle of whole lines. Transforms along x; an all-to-all over the line of ranks along
    /// z turns the bundles to y; transforms along y; an all-to-all over the xy plane of ranks turns them to
    /// z; transforms along z. The result stays as it lies.
    Pencils,
}

/// The transform and the machine's part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Fft3d {
    /// Points along x, y and z.
    pub points: [u32; 3],
    /// Ranks along x, y and z; rank numbers run along x first.
    pub grid: [u32; 3],
    /// How the points are spread.
    pub decomposition: Decomposition,
    /// Size of a point, bytes: 16 is a complex number of two doubles.
    pub point_B: u32,
    /// Floating-point operations that a rank does in a ns; a line of n points takes 5 n log2 n of them.
    pub flops_per_ns: f64,
    /// Transforms, one after the other.
    pub iterations: u32,
}

impl Default for Fft3d {
    /// 128^3 points on 8x8x8 ranks, at a quarter of the peak of a BG/L processor (2.8 Gflop/s).
    fn default() -> Self {
        Self {
            points: [128; 3],
            grid: [8; 3],
            decomposition: Decomposition::Boxes,
            point_B: 16,
            flops_per_ns: 0.7,
            iterations: 1,
        }
    }
}

impl Fft3d {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first invalid value: points must divide evenly among the ranks of each exchange.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_grid("grid", &self.grid)?;
        let [n, g] = [self.points, self.grid];
        // For each exchange: the dimension that is divided into one part per rank, before and after.
        let cuts: Vec<(usize, u64)> = match self.decomposition {
            // A line of ranks divides its (n/g) x (n/g) lines of points along the next dimension.
            Decomposition::Boxes => (0..3).map(|d| (d, u64::from(g[d]))).collect(),
            Decomposition::Pencils => {
                let (line, plane) = (u64::from(g[2]), u64::from(g[0]) * u64::from(g[1]));
                vec![(0, line), (1, line), (1, plane), (2, plane)]
            }
        };
        for (d, parts) in cuts {
            if n[d] == 0 || !u64::from(n[d]).is_multiple_of(parts) {
                let message =
                    format!("expected a multiple of {parts} along {}, found {}", ["x", "y", "z"][d], n[d]);
                return Err(ConfigError { key: "points".into(), message });
            }
        }
        if self.points_of_a_rank().checked_mul(u64::from(self.point_B)).is_none() {
            return Err(ConfigError {
                key: "point_B".into(),
                message: "a rank's points exceed 2^64 B".into(),
            });
        }
        if self.decomposition == Decomposition::Boxes {
            for d in 0..3 {
                let lines = self.points_of_a_rank() / u64::from(n[d] / g[d]);
                if !lines.is_multiple_of(u64::from(g[d])) {
                    let message = format!(
                        "expected the {lines} lines of points of a rank along {} to divide among {} ranks",
                        ["x", "y", "z"][d],
                        g[d]
                    );
                    return Err(ConfigError { key: "points".into(), message });
                }
            }
        }
        if !(self.flops_per_ns.is_finite() && self.flops_per_ns > 0.0) {
            let message = format!("expected a positive rate, found {}", self.flops_per_ns);
            return Err(ConfigError { key: "flops_per_ns".into(), message });
        }
        Ok(())
    }

    /// Points of a rank at any time; 2^64 - 1 if there are more.
    fn points_of_a_rank(&self) -> u64 {
        let product = |of: [u32; 3]| of.iter().map(|&n| u128::from(n)).product::<u128>();
        u64::try_from(product(self.points) / product(self.grid)).unwrap_or(u64::MAX)
    }

    /// Size of a rank's message to each other one when `members` of them transpose their points, bytes.
    fn message_bytes(&self, members: u32) -> u64 {
        self.points_of_a_rank() / u64::from(members) * u64::from(self.point_B)
    }

    /// Time of a rank's transforms along one dimension, ns.
    fn transform_ns(&self, dimension: usize) -> u64 {
        let flops = self.points_of_a_rank() as f64 * 5.0 * f64::from(self.points[dimension]).log2();
        (flops / self.flops_per_ns).round() as u64
    }
}

/// The program of one rank.
pub async fn run<R: Rank>(rank: R, config: Arc<Fft3d>) {
    let grid = config.grid;
    let at = coordinates(rank.rank(), grid);
    // All-to-all over the line of ranks through this one.
    let line = |d: usize, tag: u32| {
        let member = move |i| {
            let mut other = at;
            other[d] = i;
            rank_at(other, grid)
        };
        let bytes = config.message_bytes(grid[d]);
        all_to_all(&rank, grid[d], at[d], member, tag, move |_, _| Some(bytes))
    };
    for _ in 0..config.iterations {
        match config.decomposition {
            Decomposition::Boxes => {
                for d in 0..3 {
                    line(d, 2 * d as u32).await;
                    rank.compute(config.transform_ns(d)).await;
                    line(d, 2 * d as u32 + 1).await;
                }
            }
            Decomposition::Pencils => {
                rank.compute(config.transform_ns(0)).await;
                line(2, 0).await;
                rank.compute(config.transform_ns(1)).await;
                let plane = grid[0] * grid[1];
                let member = |i| at[2] * plane + i;
                let bytes = config.message_bytes(plane);
                all_to_all(&rank, plane, rank.rank() % plane, member, 1, |_, _| Some(bytes)).await;
                rank.compute(config.transform_ns(2)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SkeletonConfig, boxed};
    use super::*;
    use crate::ideal::{Finish, Ideal};

    fn run_on(network: Ideal, config: &Fft3d) -> Finish {
        network.run(&mut boxed(SkeletonConfig::Fft3d(config.clone()).programs().unwrap())).unwrap()
    }

    fn small(decomposition: Decomposition) -> Fft3d {
        Fft3d {
            points: [32, 16, 64],
            grid: [4, 2, 4],
            flops_per_ns: 0.5,
            iterations: 3,
            decomposition,
            ..Default::default()
        }
    }

    #[test]
    fn without_a_network_it_takes_its_computing() {
        for decomposition in [Decomposition::Boxes, Decomposition::Pencils] {
            let finish = run_on(Ideal::default(), &small(decomposition));
            // 1024 points a rank, 5 log2 n flops each, for n of 32, 16 and 64.
            assert_eq!(finish.end_ns(), 3 * 1024 * 5 * (5 + 4 + 6) * 2);
        }
    }

    #[test]
    fn boxes_exchange_over_lines_there_and_back() {
        let config = small(Decomposition::Boxes);
        let finish = run_on(Ideal { latency_ns: 100, ps_per_byte: 1_000 }, &config);
        let ranks = 32;
        assert_eq!(finish.messages, 3 * ranks * 2 * (3 + 1 + 3));
        let bytes = [256 * 16, 512 * 16, 256 * 16];
        assert_eq!(finish.bytes, 3 * ranks * 2 * (3 * bytes[0] + bytes[1] + 3 * bytes[2]));
        let exchanges: u64 = bytes.iter().map(|b| 2 * (100 + b)).sum();
        assert_eq!(finish.end_ns(), 3 * (1024 * 5 * 15 * 2 + exchanges));
    }

    #[test]
    fn pencils_exchange_over_a_line_and_a_plane() {
        let config = small(Decomposition::Pencils);
        let finish = run_on(Ideal { latency_ns: 100, ps_per_byte: 1_000 }, &config);
        assert_eq!(finish.messages, 3 * 32 * (3 + 7));
        assert_eq!(finish.bytes, 3 * 32 * (3 * 256 + 7 * 128) * 16);
        assert_eq!(finish.end_ns(), 3 * (1024 * 5 * 15 * 2 + 100 + 256 * 16 + 100 + 128 * 16));
    }

    #[test]
    fn points_must_divide() {
        let config = Fft3d { points: [30, 16, 64], ..small(Decomposition::Boxes) };
        assert_eq!(
            config.check().unwrap_err().to_string(),
            "points: expected a multiple of 4 along x, found 30"
        );
        let config = Fft3d { points: [32, 4, 64], ..small(Decomposition::Pencils) };
        assert_eq!(
            config.check().unwrap_err().to_string(),
            "points: expected a multiple of 8 along y, found 4"
        );
        let config = Fft3d { points: [4, 2, 4], ..small(Decomposition::Boxes) };
        assert!(config.check().unwrap_err().to_string().contains("1 lines of points"));
        let config = Fft3d { points: [1 << 31; 3], ..Default::default() };
        assert_eq!(config.check().unwrap_err().key, "point_B");
        assert!(Fft3d { flops_per_ns: 0.0, ..Default::default() }.check().is_err());
        assert!(Fft3d::default().check().is_ok());
    }
}
