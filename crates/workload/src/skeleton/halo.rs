//! A halo exchange: ranks on a grid exchange the faces of their boxes with their neighbours, compute, and
//! repeat.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Rank, check_grid};
use crate::ConfigError;

/// The exchange and the computation around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Halo {
    /// Ranks along each dimension; rank numbers run along the first one first. Any number of dimensions: n of
    /// them give 2n neighbours.
    pub grid: Vec<u32>,
    /// Whether the grid closes into rings. If not, ranks at its sides have fewer neighbours.
    pub periodic: bool,
    /// Size of a face, bytes: one value for all dimensions or one for each.
    #[serde(deserialize_with = "one_or_each")]
    pub face_B: Vec<u64>,
    /// Computed while the faces are in flight (the inside of the box), ns.
    pub overlapped_ns: u64,
    /// Computed once they have arrived, ns.
    pub compute_ns: u64,
    /// Exchanges, one after the other.
    pub iterations: u32,
}

impl Default for Halo {
    /// 64x64 doubles per face on 8x8x8 ranks, 10 times, with 100 us of computing after each.
    fn default() -> Self {
        Self {
            grid: vec![8; 3],
            periodic: true,
            face_B: vec![32_768],
            overlapped_ns: 0,
            compute_ns: 100_000,
            iterations: 10,
        }
    }
}

/// A number by itself, or a list of them.
fn one_or_each<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    struct Either;
    impl<'de> Visitor<'de> for Either {
        type Value = Vec<u64>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a whole number, 0 or more, or a list of one for each dimension")
        }
        fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Vec<u64>, E> {
            Ok(vec![bytes])
        }
        fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Vec<u64>, E> {
            let found = de::Unexpected::Signed(bytes);
            u64::try_from(bytes).map(|b| vec![b]).map_err(|_| E::invalid_value(found, &self))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u64>, A::Error> {
            let mut all = Vec::new();
            while let Some(bytes) = list.next_element()? {
                all.push(bytes);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_any(Either)
}

impl Halo {
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
        if self.face_B.len() != 1 && self.face_B.len() != self.grid.len() {
            let message = format!("expected 1 or {} values, found {}", self.grid.len(), self.face_B.len());
            return Err(ConfigError { key: "face_B".into(), message });
        }
        Ok(())
    }

    fn face_bytes(&self, dimension: usize) -> u64 {
        if self.face_B.len() == 1 { self.face_B[0] } else { self.face_B[dimension] }
    }

    /// The neighbours of a rank: rank, bytes, and the tags of outgoing and incoming messages. A tag is the
    /// direction of travel, since on a ring of two both neighbours are the same rank.
    fn neighbours(&self, rank: u32) -> Vec<Neighbour> {
        let mut neighbours = Vec::with_capacity(2 * self.grid.len());
        let mut stride = 1;
        for (d, &length) in self.grid.iter().enumerate() {
            let at = rank / stride % length;
            for (side, step) in [(0, 1), (1, length - 1)] {
                let open_end = if side == 0 { at == length - 1 } else { at == 0 };
                // A ring of one needs no message: the box is its own neighbour.
                if length > 1 && (self.periodic || !open_end) {
                    neighbours.push(Neighbour {
                        rank: rank - at * stride + (at + step) % length * stride,
                        bytes: self.face_bytes(d),
                        tag_out: 2 * d as u32 + side,
                        tag_in: 2 * d as u32 + (1 - side),
                    });
                }
            }
            stride *= length;
        }
        neighbours
    }
}

struct Neighbour {
    rank: u32,
    bytes: u64,
    tag_out: u32,
    tag_in: u32,
}

/// The program of one rank.
pub async fn run<R: Rank>(rank: R, config: Arc<Halo>) {
    let neighbours = config.neighbours(rank.rank());
    for _ in 0..config.iterations {
        let mut requests = Vec::with_capacity(2 * neighbours.len());
        requests.extend(neighbours.iter().map(|n| rank.irecv(Some(n.rank), Some(n.tag_in), n.bytes)));
        requests.extend(neighbours.iter().map(|n| rank.isend(n.rank, n.tag_out, n.bytes)));
        rank.compute(config.overlapped_ns).await;
        rank.wait_all(requests).await;
        rank.compute(config.compute_ns).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SkeletonConfig, boxed};
    use super::*;
    use crate::ideal::{Finish, Ideal};

    fn run_on(network: Ideal, config: &Halo) -> Finish {
        network.run(&mut boxed(SkeletonConfig::Halo(config.clone()).programs().unwrap())).unwrap()
    }

    const NETWORK: Ideal = Ideal { latency_ns: 1_000, ps_per_byte: 500 };

    #[test]
    fn an_iteration_takes_its_largest_face_and_its_computing() {
        let config =
            Halo { grid: vec![4, 3, 2], face_B: vec![64, 8_000, 16], compute_ns: 700, ..Default::default() };
        let finish = run_on(NETWORK, &config);
        assert_eq!(finish.messages, 10 * 24 * 6);
        assert_eq!(finish.bytes, 10 * 24 * 2 * (64 + 8_000 + 16));
        assert_eq!(finish.end_ns(), 10 * (1_000 + 4_000 + 700));
        assert!(finish.ranks_ps.iter().all(|&t| t == finish.ranks_ps[0]));
        assert_eq!(run_on(Ideal::default(), &config).end_ns(), 10 * 700);
    }

    #[test]
    fn computing_hides_the_exchange() {
        let config = Halo { face_B: vec![2_000], compute_ns: 10, overlapped_ns: 9_000, ..Default::default() };
        assert_eq!(run_on(NETWORK, &config).end_ns(), 10 * 9_010);
        let config = Halo { overlapped_ns: 1_500, ..config };
        assert_eq!(run_on(NETWORK, &config).end_ns(), 10 * 2_010);
    }

    #[test]
    fn an_open_grid_has_fewer_faces_and_a_ring_of_one_has_none() {
        let config = Halo { grid: vec![3, 1, 4], periodic: false, iterations: 1, ..Default::default() };
        assert_eq!(run_on(NETWORK, &config).messages, 2 * (2 * 4 + 3 * 3));
        let config = Halo { grid: vec![1], ..Default::default() };
        assert_eq!(run_on(NETWORK, &config).messages, 0);
        let config = Halo { grid: vec![2; 5], iterations: 1, ..Default::default() };
        assert_eq!(run_on(NETWORK, &config).messages, 32 * 10);
    }

    #[test]
    fn faces_must_fit_the_dimensions() {
        let error = Halo { face_B: vec![1, 2], ..Default::default() }.check().unwrap_err();
        assert_eq!(error.to_string(), "face_B: expected 1 or 3 values, found 2");
        assert_eq!(Halo { grid: vec![], ..Default::default() }.check().unwrap_err().key, "grid");
        assert_eq!(Halo { grid: vec![65_536; 2], ..Default::default() }.check().unwrap_err().key, "grid");
    }
}
