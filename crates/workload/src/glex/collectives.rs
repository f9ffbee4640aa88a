//! Barriers, broadcasts and sums of all nodes in a tree (sections 2.5 and 4.7): by sequences of descriptors
//! triggered by control packets, or by hosts, which wait for mini-packets and send the next. The results at
//! each node are verified.

use super::{KEY, Measurements, Path, of, refuse};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::glex::tree::{Tree, TreeOperation as Operation};
use netloom_messaging::glex::{CHILDREN, Glex};
use netloom_nic::th::{Address, Options, Request};
use netloom_node::process::{Failure, InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Collective operations of all nodes, one after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Collectives {
    /// Children of a node in the tree.
    pub degree: u32,
    /// Data of a broadcast and of a sum, whole words of 8.
    pub bytes: u64,
    /// How descriptors come to the NIC.
    pub path: Path,
    /// Whether NICs do it by themselves.
    pub offload: bool,
    /// Times that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for Collectives {
    fn default() -> Self {
        Collectives { degree: 4, bytes: 8, path: Path::Dma, offload: true, rounds: 5 }
    }
}

/// The measured operations: a broadcast, a sum, and a barrier, which also separates operations (section 4.7).
const OPERATIONS: [Operation; 4] =
    [Operation::Barrier, Operation::Broadcast, Operation::Barrier, Operation::Sum];

/// Maximum number of words that a NIC sums at once.
const WORDS: u64 = 6;

impl Collectives {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=CHILDREN as u32).contains(&self.degree) {
            return refuse("degree", "expected 1 to 14, the children of a collective descriptor");
        }
        if !(1..=WORDS).contains(&(self.bytes / 8)) || !self.bytes.is_multiple_of(8) {
            return refuse("bytes", "expected a multiple of 8 up to 48, which a NIC sums at once");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }

    /// Mean time from when the last node starts, or for a broadcast the first, until the last node is done.
    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let mean = |which: u64| {
            let one = |round: u64| {
                let kind = 2 * (round * OPERATIONS.len() as u64 + which);
                let last = |kind| of(measurements, kind).fold(0.0, f64::max);
                (last(kind + 1) - last(kind)) / second * 1e6
            };
            (1..=u64::from(self.rounds)).map(one).sum::<f64>() / f64::from(self.rounds)
        };
        Measured {
            title: "Collective operations".into(),
            columns: columns(&[], &[("barrier", "us"), ("broadcast", "us"), ("sum", "us")]),
            rows: vec![vec![mean(2), mean(1), mean(3)]],
        }
    }
}

/// A node's position in the tree.
struct Place {
    endpoint: u8,
    tree: Tree,
}

impl Place {
    fn new(glex: &Glex, config: &Collectives) -> Result<Self, Failure> {
        let endpoint = glex.create_endpoint(config.path.submission(), KEY, 64).in_call("create_endpoint")?;
        let address = |node| Address { node, vp: endpoint, key: KEY };
        Ok(Place { endpoint, tree: Tree::regular(glex.node(), glex.nodes(), config.degree, address) })
    }

    /// An operation by hosts. Returns the data from the parent.
    async fn by_hosts(&self, glex: &Glex, operation: Operation, mine: &[u8]) -> Result<Vec<u8>, Failure> {
        let options = Options::default();
        let mut data = mine.to_vec();
        if operation != Operation::Broadcast {
            for _ in &self.tree.children {
                let came = glex.wait_mini_packet(self.endpoint).await.in_call("wait_mini_packet")?.data;
                if operation == Operation::Sum {
                    data = words(&data).zip(words(&came)).flat_map(|(a, b)| (a + b).to_le_bytes()).collect();
                }
            }
            if let Some(parent) = self.tree.parent {
                glex.send_mini_packet(self.endpoint, parent, &data, options)
                    .await
                    .in_call("send_mini_packet")?;
            }
        }
        if self.tree.parent.is_some() {
            data = glex.wait_mini_packet(self.endpoint).await.in_call("wait_mini_packet")?.data;
        }
        if !self.tree.children.is_empty() {
            let request = Request::mini_packet(&self.tree.children, &data);
            glex.post(self.endpoint, request).await.in_call("post")?;
        }
        Ok(data)
    }

    async fn by_nics(&self, glex: &Glex, operation: Operation, mine: &[u8]) -> Result<Vec<u8>, Failure> {
        let list = self.tree.sequences(operation, mine);
        glex.post_list(self.endpoint, list).await.map_err(|(_, why)| why).in_call("post_list")?;
        match operation {
            Operation::Broadcast if self.tree.parent.is_none() => Ok(mine.to_vec()),
            Operation::Barrier => {
                glex.wait_event(self.endpoint).await.in_call("wait_event")?;
                Ok(vec![])
            }
            _ => Ok(glex.wait_mini_packet(self.endpoint).await.in_call("wait_mini_packet")?.data),
        }
    }
}

fn words(data: &[u8]) -> impl Iterator<Item = f64> {
    data.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().expect("eight bytes")))
}

pub(super) async fn run(glex: Glex, config: Collectives) -> Outcome {
    let place = Place::new(&glex, &config)?;
    let nodes = f64::from(glex.nodes());
    for round in 0..=config.rounds {
        for (which, operation) in OPERATIONS.into_iter().enumerate() {
            let kind = 2 * (u64::from(round) * OPERATIONS.len() as u64 + which as u64);
            // A sum of halves is exact.
            let scale = f64::from(round + 1) / 2.0;
            let word = |n: u64, node: f64| (scale * (node + n as f64)).to_le_bytes();
            let of = |node: f64| (0..config.bytes / 8).flat_map(|n| word(n, node)).collect::<Vec<u8>>();
            let mine = of(f64::from(glex.node()));
            if operation != Operation::Broadcast || glex.node() == 0 {
                glex.measure(kind, glex.now());
            }
            let came = match config.offload {
                true => place.by_nics(&glex, operation, &mine).await?,
                false => place.by_hosts(&glex, operation, &mine).await?,
            };
            glex.measure(kind + 1, glex.now());
            let sum = |n: u64| scale * nodes * ((nodes - 1.0) / 2.0 + n as f64);
            match operation {
                Operation::Barrier => {}
                Operation::Broadcast => assert_eq!(came, of(0.0), "node {}", glex.node()),
                Operation::Sum => {
                    let expected = (0..config.bytes / 8).map(sum);
                    assert!(words(&came).eq(expected), "node {}", glex.node());
                }
            }
        }
    }
    Ok(())
}
