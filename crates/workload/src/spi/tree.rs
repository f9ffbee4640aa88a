//! The trees of collective programs: over boxes of nodes, with the root in the middle and one class route
//! each; or one tree with manually configured registers for each node.

use netloom_fabric::collective::route::{Rectangle, check};
use netloom_fabric::collective::{CLASS_ROUTES, ClassRoute, Delivers, Operation, RouteKind};
use netloom_fabric::config::{ConfigError, Topology, parse_direction};
use netloom_fabric::topology::torus::{Coordinates, Torus};
use netloom_nic::message_unit::descriptor::{COLLECTIVE, Descriptor, Kind, Network};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lengths of boxes at the origin, one list a box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Boxes(pub Vec<Vec<u32>>);

/// A node's registers of a class route, as a study gives them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Coordinates of the node.
    pub node: Vec<u32>,
    /// Links by which packets come up the tree: `"+x"`.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The link to the parent; none at the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether the node itself takes part.
    #[serde(default = "yes")]
    pub local: bool,
}

fn yes() -> bool {
    true
}

/// A tree.
pub(super) struct Tree {
    torus: Torus,
    shape: Shape,
}

enum Shape {
    Box(Rectangle),
    ByHand(Arc<BTreeMap<u32, ClassRoute>>),
}

/// Space for a message of a collective program, bytes; it is received after all counters, and sent from the
/// addresses after that.
const BUFFER: u64 = 1 << 32;
pub(super) const RECEIVED: u64 = 4096;
pub(super) const SENT: u64 = RECEIVED + BUFFER;
/// The entry of the base address table with the start of memory.
pub(super) const MEMORY: u16 = 0;

/// A message of a collective program: an RDMA write of words of 8 B along a class route.
pub(super) fn write(
    class: usize,
    operation: Operation,
    delivers: Delivers,
    bytes: u64,
    counter: u64,
) -> Descriptor {
    let network = Network::Collective {
        class: class as u8,
        kind: RouteKind::UserSubcomm,
        operation,
        word_B: 8,
        delivers,
    };
    let kind =
        Kind::DirectPut { base: MEMORY, offset: RECEIVED, counter_base: MEMORY, counter_offset: counter };
    Descriptor { payload: SENT, length: bytes, map: COLLECTIVE, network, kind, prefetch_only: false }
}

/// The default number of rounds.
pub(super) fn ten() -> u32 {
    10
}

/// Checks the sizes and rounds of a program.
///
/// # Errors
/// The first invalid value.
pub(super) fn check_messages(bytes: &[u64], rounds: u32) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
    let fits = |b: &u64| (8..=BUFFER).contains(b) && b.is_multiple_of(8);
    if bytes.is_empty() {
        return refuse("bytes", "expected at least one size".into());
    }
    if let Some(bytes) = bytes.iter().find(|b| !fits(b)) {
        return refuse("bytes", format!("expected multiples of 8 B from 8 to {BUFFER}, found {bytes}"));
    }
    if rounds == 0 {
        return refuse("rounds", "expected at least 1".into());
    }
    Ok(())
}

/// Checks the trees of a program against the machine's shape.
///
/// # Errors
/// The first invalid box, or the first node with invalid registers.
pub(super) fn check_trees(boxes: &Boxes, registers: &[Registers], dims: &[u32]) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
    if boxes.0.len() > CLASS_ROUTES {
        let found = boxes.0.len();
        return refuse(
            "boxes",
            format!("expected at most {CLASS_ROUTES}, a class route each, found {found}"),
        );
    }
    for lengths in &boxes.0 {
        if lengths.len() != dims.len() || lengths.iter().zip(dims).any(|(l, k)| !(1..=*k).contains(l)) {
            let n = dims.len();
            let message =
                format!("expected {n} lengths, each from 1 to the machine's of {dims:?}, found {lengths:?}");
            return refuse("boxes", message);
        }
    }
    if registers.is_empty() {
        return Ok(());
    }
    if !boxes.0.is_empty() {
        return refuse("class_route", "expected boxes or class routes by hand, found both".into());
    }
    let torus = torus(dims);
    let mut routes = vec![];
    for given in registers {
        let (node, route) =
            given.read(&torus).map_err(|message| ConfigError { key: "class_route".into(), message })?;
        if routes.iter().any(|(n, _)| *n == node) {
            return refuse("class_route", format!("node {:?} twice", given.node));
        }
        routes.push((node, route));
    }
    check(&torus, &routes).map_err(|problem| {
        let at = &torus.coordinates(problem.node)[..dims.len()];
        let message = format!(
            "node {at:?}: {}: {} (nodes are numbered with the first coordinate fastest)",
            problem.field, problem.message
        );
        ConfigError { key: "class_route".into(), message }
    })
}

/// Trees over boxes with their root in the middle are the same on a torus and on a mesh.
fn torus(dims: &[u32]) -> Torus {
    Torus::new(&Topology { dims: dims.to_vec(), ..Topology::default() })
}

impl Registers {
    fn read(&self, torus: &Torus) -> Result<(u32, ClassRoute), String> {
        let n = torus.dimensions();
        if self.node.len() != n || (0..n).any(|d| self.node[d] >= torus.length(d)) {
            return Err(format!("node {:?}: no node of the machine", self.node));
        }
        let mut at = Coordinates::default();
        self.node.iter().enumerate().for_each(|(d, &x)| at[d] = x as u8);
        let port = |field: &str, name: &str| {
            parse_direction(name, n).ok_or_else(|| {
                format!(
                    "node {:?}: {field}: expected a direction such as \"+x\", found \"{name}\"",
                    self.node
                )
            })
        };
        let mut inputs = 0;
        for name in &self.inputs {
            inputs |= 1 << port("inputs", name)?;
        }
        let output = self.output.as_deref().map(|name| port("output", name)).transpose()?;
        let kind = RouteKind::UserSubcomm;
        Ok((
            torus.node(at),
            ClassRoute { kind, inputs, output: output.map(|port| port as u8), local: self.local },
        ))
    }
}

/// The trees of a checked program, on a machine with this shape.
pub(super) fn trees(boxes: &Boxes, registers: &[Registers], dims: &[u32]) -> Vec<Tree> {
    let torus = torus(dims);
    if !registers.is_empty() {
        let routes = registers.iter().map(|given| given.read(&torus).expect("it was checked")).collect();
        return vec![Tree { torus, shape: Shape::ByHand(Arc::new(routes)) }];
    }
    let of = |lengths: &[u32]| {
        let mut high = Coordinates::default();
        lengths.iter().enumerate().for_each(|(d, &l)| high[d] = (l - 1) as u8);
        Tree { torus: torus.clone(), shape: Shape::Box(Rectangle { low: Coordinates::default(), high }) }
    };
    if boxes.0.is_empty() { vec![of(dims)] } else { boxes.0.iter().map(|lengths| of(lengths)).collect() }
}

impl Tree {
    /// Whether a node takes part.
    pub fn contains(&self, node: u32) -> bool {
        match &self.shape {
            Shape::Box(rectangle) => rectangle.contains(self.torus.coordinates(node)),
            Shape::ByHand(routes) => routes.get(&node).is_some_and(|route| route.local),
        }
    }

    /// Number of nodes that take part, and the sum of their numbers.
    pub fn count_and_sum(&self) -> (u64, u64) {
        let rectangle = match &self.shape {
            Shape::Box(rectangle) => rectangle,
            Shape::ByHand(routes) => {
                let local = routes.iter().filter(|(_, route)| route.local);
                return local.fold((0, 0), |(count, sum), (&node, _)| (count + 1, sum + u64::from(node)));
            }
        };
        let (nodes, mut stride, mut sum) = (rectangle.nodes(), 1, 0);
        for d in 0..self.torus.dimensions() {
            let (low, high) = (u64::from(rectangle.low[d]), u64::from(rectangle.high[d]));
            let each: u64 = (low..=high).sum();
            sum += stride * each * (nodes / (high - low + 1));
            stride *= u64::from(self.torus.length(d));
        }
        (nodes, sum)
    }

    /// Levels below the root.
    pub fn depth(&self) -> u32 {
        let routes = match &self.shape {
            Shape::Box(rectangle) => return rectangle.depth(&self.torus, rectangle.middle()),
            Shape::ByHand(routes) => routes,
        };
        let up = |node: u32| self.torus.neighbour(node, routes.get(&node)?.output?.into());
        let depth = |node: u32| std::iter::successors(Some(node), |&node| up(node)).count() as u32 - 1;
        routes.keys().map(|&node| depth(node)).max().unwrap_or(0)
    }

    /// A node's registers.
    pub fn route(&self, node: u32, kind: RouteKind) -> Option<ClassRoute> {
        match &self.shape {
            Shape::Box(rectangle) => {
                rectangle.route(&self.torus, rectangle.middle(), self.torus.coordinates(node), kind)
            }
            Shape::ByHand(routes) => routes.get(&node).map(|&route| ClassRoute { kind, ..route }),
        }
    }

    /// Its representative node: the lowest-numbered one that takes part.
    pub fn first(&self) -> u32 {
        match &self.shape {
            Shape::Box(rectangle) => self.torus.node(rectangle.low),
            Shape::ByHand(routes) => {
                routes.iter().find(|(_, route)| route.local).map_or(0, |(&node, _)| node)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_box_add_up() {
        let dims = [4, 3, 2, 5, 2];
        let tree = &trees(&Boxes(vec![vec![2, 3, 1, 4, 2]]), &[], &dims)[0];
        let inside: Vec<u64> = (0..240).filter(|&n| tree.contains(n)).map(u64::from).collect();
        assert_eq!(tree.count_and_sum(), (inside.len() as u64, inside.iter().sum()));
    }

    fn registers(node: [u32; 2], inputs: &[&str], output: Option<&str>) -> Registers {
        Registers {
            node: node.into(),
            inputs: inputs.iter().map(|&i| i.into()).collect(),
            output: output.map(str::to_owned),
            local: true,
        }
    }

    #[test]
    fn trees_by_hand() {
        let dims = [4, 2];
        // (0,0) and (0,1) are below (1,0), through (0,0).
        let good = [
            registers([1, 0], &["-x"], None),
            registers([0, 0], &["+y"], Some("+x")),
            registers([0, 1], &[], Some("-y")),
        ];
        assert!(check_trees(&Boxes::default(), &good, &dims).is_ok());
        let tree = &trees(&Boxes::default(), &good, &dims)[0];
        assert_eq!((tree.count_and_sum(), tree.depth(), tree.first()), ((3, 1 + 4), 2, 0));
        let reported = |change: &dyn Fn(&mut [Registers; 3])| {
            let mut wrong = good.clone();
            change(&mut wrong);
            check_trees(&Boxes::default(), &wrong, &dims).expect_err("no tree").message
        };
        assert!(reported(&|r| r[1].inputs.clear()).starts_with("node [0, 1]: output: -y"));
        assert!(reported(&|r| r[0].inputs = vec!["+q".into()]).contains("inputs: expected a direction"));
        assert!(reported(&|r| r[2].node = vec![0, 2]).contains("no node"));
        assert!(reported(&|r| r[2].node = vec![0, 0]).contains("twice"));
        assert!(reported(&|r| r[0].output = Some("-x".into())).contains("turn back"));
    }
}
