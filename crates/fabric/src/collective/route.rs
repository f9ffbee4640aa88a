//! Class routes (section II.C): which of a node's links come from its children in a tree, which leads to its
//! parent, and whether the node itself takes part. Each node holds up to sixteen; the same number may stand
//! for different trees at different nodes, as long as the trees do not meet.

use crate::topology::io::IO_PORT;
use crate::topology::torus::{Coordinates, Torus};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// Class routes per node.
pub const CLASS_ROUTES: usize = 16;

/// The purpose of a class route, which determines the VC of its packets. The system's and those of the user's
/// whole partition share a VC, so they must not share a link (section II.B).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[borsh(use_discriminant = true)]
pub enum RouteKind {
    /// All nodes of the user's partition.
    UserCommworld = 0,
    /// The system's.
    System = 1,
    /// Any other set of user nodes.
    #[default]
    UserSubcomm = 2,
}

impl RouteKind {
    pub(super) fn of(number: u64) -> Self {
        match number {
            0 => RouteKind::UserCommworld,
            1 => RouteKind::System,
            _ => RouteKind::UserSubcomm,
        }
    }

    /// Whether packets of the other kind use the same VC.
    pub fn shares_a_vc_with(self, other: Self) -> bool {
        (self == RouteKind::UserSubcomm) == (other == RouteKind::UserSubcomm)
    }
}

/// A node's control registers for one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ClassRoute {
    /// Its purpose.
    pub kind: RouteKind,
    /// Ports to the children in the tree, one bit each.
    pub inputs: u16,
    /// The port to the parent; `None` at the root.
    pub output: Option<u8>,
    /// Whether the node itself contributes and receives data.
    pub local: bool,
}

impl ClassRoute {
    /// All ports that it uses, one bit each.
    pub fn ports(&self) -> u16 {
        self.inputs | self.output.map_or(0, |port| 1 << port)
    }
}

/// An invalid class route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteProblem {
    /// The node.
    pub node: u32,
    /// The field: `inputs`, `output`, `local` or `kind`.
    pub field: &'static str,
    /// The reason.
    pub message: String,
}

fn problem(node: u32, field: &'static str, message: String) -> Result<(), RouteProblem> {
    Err(RouteProblem { node, field, message })
}

/// A box of nodes: the corners with the lowest and the highest coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// The lowest coordinates.
    pub low: Coordinates,
    /// The highest coordinates.
    pub high: Coordinates,
}

impl Rectangle {
    /// The whole machine.
    pub fn whole(torus: &Torus) -> Self {
        let high = std::array::from_fn(|d| (torus.length(d) - 1) as u8);
        Rectangle { low: Coordinates::default(), high }
    }

    /// Whether a node is in it.
    pub fn contains(&self, at: Coordinates) -> bool {
        (0..at.len()).all(|d| (self.low[d]..=self.high[d]).contains(&at[d]))
    }

    /// The node in its middle, from which the longest route is shortest.
    pub fn middle(&self) -> Coordinates {
        std::array::from_fn(|d| self.low[d] + (self.high[d] - self.low[d]) / 2)
    }

    /// Number of its nodes.
    pub fn nodes(&self) -> u64 {
        (0..self.low.len()).map(|d| u64::from(self.high[d] - self.low[d]) + 1).product()
    }

    /// Hops from the farthest node to the root, which is the depth of the tree.
    pub fn depth(&self, torus: &Torus, root: Coordinates) -> u32 {
        let farthest = |d: usize| {
            let to = |x: u8| self.toward(torus, d, x, root[d]).map_or(0, |(_, hops)| hops);
            (self.low[d]..=self.high[d]).map(to).max().unwrap_or(0)
        };
        (0..torus.dimensions()).map(farthest).sum()
    }

    /// In dimension `d`, the port from `x` toward `root` and the number of hops; `None` if they are equal. It
    /// uses the wraparound link only if the box spans the whole ring.
    fn toward(&self, torus: &Torus, d: usize, x: u8, root: u8) -> Option<(u8, u32)> {
        if x == root {
            return None;
        }
        let (plus, minus) = (2 * d as u8, 2 * d as u8 + 1);
        let direct = u32::from(x.abs_diff(root));
        let (straight, back) = if x < root { (plus, minus) } else { (minus, plus) };
        let whole = u32::from(self.high[d] - self.low[d]) + 1 == torus.length(d) && torus.wraps(d);
        let round = torus.length(d) - direct;
        Some(if whole && round < direct { (back, round) } else { (straight, direct) })
    }

    /// A node's class route in the box's tree of minimum depth: packets go to `root` through the dimensions
    /// in order. `None` for nodes outside the box.
    pub fn route(
        &self,
        torus: &Torus,
        root: Coordinates,
        at: Coordinates,
        kind: RouteKind,
    ) -> Option<ClassRoute> {
        if !self.contains(at) {
            return None;
        }
        let up =
            |at: Coordinates| (0..torus.dimensions()).find_map(|d| self.toward(torus, d, at[d], root[d]));
        let here = torus.node(at);
        let leads_here = |port: &usize| {
            let child = torus.neighbour(here, *port).filter(|&child| child != here);
            child.is_some_and(|child| {
                let child = torus.coordinates(child);
                self.contains(child) && up(child).is_some_and(|(output, _)| usize::from(output) == port ^ 1)
            })
        };
        let inputs = (0..torus.ports()).filter(leads_here).fold(0, |mask, port| mask | 1 << port);
        Some(ClassRoute { kind, inputs, output: up(at).map(|(port, _)| port), local: true })
    }
}

/// Checks the nodes' registers for one class: they must form trees, each connected and with one root, both
/// ends of a link must agree, and at least one node must take part.
///
/// # Errors
/// The first node, in the given order, with invalid registers, and the reason.
pub fn check(torus: &Torus, routes: &[(u32, ClassRoute)]) -> Result<(), RouteProblem> {
    let mut of = std::collections::BTreeMap::new();
    for &(node, route) in routes {
        check_node(node, &route, |port| torus.link(node, port).is_some())?;
        check_io(node, &route, |port| torus.is_io_link(node, port))?;
        of.insert(node, route);
    }
    for &(node, route) in routes {
        for port in inputs(&route) {
            let (child, there) = torus.link(node, port).expect("checked above");
            if of.get(&child).and_then(|r| r.output) != Some(there as u8) {
                let message = format!(
                    "{} is an input, but node {child} at its other end sends nothing there",
                    name(port)
                );
                return problem(node, "inputs", message);
            }
        }
        if let Some(port) = route.output {
            let (parent, there) = torus.link(node, port.into()).expect("checked above");
            if of.get(&parent).is_none_or(|r| r.inputs >> there & 1 == 0) {
                let message = format!(
                    "{} is the output, but node {parent} at its other end has no such input",
                    name(port.into())
                );
                return problem(node, "output", message);
            }
            if of.get(&parent).is_some_and(|r| r.kind != route.kind) {
                return problem(
                    node,
                    "kind",
                    format!("not of the kind of node {parent} above it in the tree"),
                );
            }
        }
    }
    // Both ends of each link agree, so a component without a root is a ring.
    let roots: Vec<u32> = of.iter().filter(|(_, r)| r.output.is_none()).map(|(&node, _)| node).collect();
    let mut reached = roots.clone();
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        reached.extend(inputs(&of[&node]).filter_map(|port| Some(torus.link(node, port)?.0)));
    }
    reached.sort_unstable();
    if let Some(&(node, _)) = routes.iter().find(|(node, _)| reached.binary_search(node).is_err()) {
        return problem(node, "output", "leads round in a ring to no root".into());
    }
    if let [first, second, ..] = roots[..] {
        return problem(second, "output", format!("two roots, this and node {first}: the tree is in pieces"));
    }
    if let Some(&(node, _)) = routes.first()
        && routes.iter().all(|(_, r)| !r.local)
    {
        return problem(node, "local", "no node of the tree takes part".into());
    }
    Ok(())
}

/// The ports that a node's registers name as inputs.
fn inputs(route: &ClassRoute) -> impl Iterator<Item = usize> + use<> {
    let mask = route.inputs;
    (0..16).filter(move |port| mask >> port & 1 != 0)
}

/// Checks that only system class routes use IO links (section II.B).
pub(crate) fn check_io(
    node: u32,
    route: &ClassRoute,
    is_io_link: impl Fn(usize) -> bool,
) -> Result<(), RouteProblem> {
    let io = (0..16).find(|&port| route.ports() >> port & 1 != 0 && is_io_link(port));
    match io.filter(|_| route.kind != RouteKind::System) {
        Some(port) => {
            let message = format!("{} is an IO link: only system packets may use it", name(port));
            problem(node, "kind", message)
        }
        None => Ok(()),
    }
}

/// Checks a node's registers by themselves.
pub(crate) fn check_node(
    node: u32,
    route: &ClassRoute,
    has_link: impl Fn(usize) -> bool,
) -> Result<(), RouteProblem> {
    if let Some(port) = inputs(route).find(|&port| !has_link(port)) {
        return problem(node, "inputs", format!("there is no link {}", name(port)));
    }
    if let Some(port) = route.output {
        if !has_link(port.into()) {
            return problem(node, "output", format!("there is no link {}", name(port.into())));
        }
        if route.inputs >> port & 1 != 0 {
            let message = format!("{} is an input too: packets would turn back", name(port.into()));
            return problem(node, "output", message);
        }
    }
    if route.inputs == 0 && !route.local {
        return problem(node, "local", "neither an input nor the node itself: nothing would come".into());
    }
    Ok(())
}

/// Checks that classes which share a VC share no link at a node.
///
/// # Errors
/// The two classes and the link that they share.
pub fn check_links(
    node: u32,
    class: usize,
    route: &ClassRoute,
    others: &[Option<ClassRoute>],
) -> Result<(), RouteProblem> {
    for (number, other) in others.iter().enumerate().filter_map(|(i, r)| Some((i, r.as_ref()?))) {
        let common = route.ports() & other.ports();
        if number != class
            && route.kind != other.kind
            && route.kind.shares_a_vc_with(other.kind)
            && common != 0
        {
            let message = format!(
                "class {class} and class {number} are the system's and the user's whole partition's: these share a VC and so may \
                 not share the link {}",
                name(common.trailing_zeros() as usize)
            );
            return problem(node, "kind", message);
        }
    }
    Ok(())
}

/// The name of a port in files and reports.
pub fn name(port: usize) -> String {
    if port == IO_PORT {
        return "the IO link".into();
    }
    let letter = crate::config::LETTERS.chars().nth(port / 2).unwrap_or('?');
    format!("{}{letter}", if port.is_multiple_of(2) { '+' } else { '-' })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Topology;
    use proptest::prelude::*;

    fn torus(dims: &[u32], wrap: bool) -> Torus {
        Torus::new(&Topology { dims: dims.to_vec(), wrap: vec![wrap; dims.len()], ..Topology::default() })
    }

    fn tree(torus: &Torus, rectangle: Rectangle, root: Coordinates) -> Vec<(u32, ClassRoute)> {
        let route =
            |n| Some((n, rectangle.route(torus, root, torus.coordinates(n), RouteKind::UserSubcomm)?));
        (0..torus.nodes()).filter_map(route).collect()
    }

    proptest! {
        /// The tree of any box, on any machine and with any root, is valid, and as deep as the route from its
        /// farthest node is long.
        #[test]
        fn a_rectangle_has_a_tree(
            dims in proptest::collection::vec(1u32..6, 1..=5),
            wrap: bool,
            corners: [[u8; 5]; 3],
        ) {
            let torus = torus(&dims, wrap);
            let inside = |c: [u8; 5]| -> Coordinates { std::array::from_fn(|d| (u32::from(c[d]) % torus.length(d)) as u8) };
            let [a, b, c] = corners.map(inside);
            let rectangle = Rectangle {
                low: std::array::from_fn(|d| a[d].min(b[d])),
                high: std::array::from_fn(|d| a[d].max(b[d])),
            };
            let root = std::array::from_fn(|d| c[d].clamp(rectangle.low[d], rectangle.high[d]));
            for root in [root, rectangle.middle()] {
                let routes = tree(&torus, rectangle, root);
                prop_assert_eq!(routes.len() as u64, rectangle.nodes());
                prop_assert_eq!(check(&torus, &routes), Ok(()));
                let depth_of = |mut node: u32| {
                    let mut depth = 0;
                    while let Some(port) = routes.iter().find(|r| r.0 == node).expect("in the tree").1.output {
                        node = torus.neighbour(node, port.into()).expect("a link");
                        depth += 1;
                    }
                    prop_assert_eq!(node, torus.node(root));
                    Ok(depth)
                };
                let mut deepest = 0;
                for (node, _) in &routes {
                    deepest = deepest.max(depth_of(*node)?);
                }
                prop_assert_eq!(deepest, rectangle.depth(&torus, root));
            }
        }
    }

    /// The trees of Table 3: each doubling of the nodes adds one level.
    #[test]
    fn trees_of_the_paper() {
        let torus = torus(&[4, 4, 4, 4, 2], false);
        let shapes: [[u8; 5]; 9] = [
            [1, 1, 1, 1, 2],
            [1, 1, 1, 2, 2],
            [1, 1, 2, 2, 2],
            [1, 2, 2, 2, 2],
            [2, 2, 2, 2, 2],
            [2, 2, 4, 2, 2],
            [2, 2, 4, 4, 2],
            [4, 2, 4, 4, 2],
            [4, 4, 4, 4, 2],
        ];
        for (i, shape) in shapes.into_iter().enumerate() {
            let rectangle = Rectangle { low: [0; 5], high: shape.map(|n| n - 1) };
            assert_eq!(rectangle.nodes(), 2 << i);
            assert_eq!(rectangle.depth(&torus, rectangle.middle()), i as u32 + 1);
        }
    }

    type Routes = Vec<(u32, ClassRoute)>;

    #[test]
    fn invalid_trees_are_reported() {
        let torus = torus(&[4, 2], true);
        let good = tree(&torus, Rectangle::whole(&torus), [1, 0, 0, 0, 0]);
        assert_eq!(check(&torus, &good), Ok(()));
        let wrong = |change: &dyn Fn(&mut Routes)| {
            let mut routes = good.clone();
            change(&mut routes);
            let RouteProblem { node, field, message } = check(&torus, &routes).expect_err("no tree");
            (node, field, message)
        };
        // Node 0 is at (0,0): it sends to node 1 through +x.
        let (node, field, message) = wrong(&|r| r[0].1.output = Some(2));
        assert_eq!((node, field), (0, "output"));
        assert!(message.contains("+y") && message.contains("node 4"), "{message}");
        let (node, field, _) = wrong(&|r| r[0].1.output = None);
        assert_eq!((node, field), (1, "inputs"));
        let (node, field, message) = wrong(&|r| r[0].1.inputs = 1 << 12);
        assert!(node == 0 && field == "inputs" && message.contains("no link"), "{message}");
        let (_, field, message) = wrong(&|r| r[0].1.inputs |= 1);
        assert!(field == "output" && message.contains("turn back"), "{message}");
        let (node, field, _) = wrong(&|r| r[3].1.kind = RouteKind::System);
        assert_eq!((node, field), (3, "kind"));
        let (_, field, message) = wrong(&|r| r.iter_mut().for_each(|r| r.1.local = false));
        assert_eq!(field, "local", "{message}");
        // Two roots in two disconnected parts; and a ring.
        let pieces = [
            (0, ClassRoute { local: true, ..Default::default() }),
            (5, ClassRoute { local: true, ..Default::default() }),
        ];
        assert!(check(&torus, &pieces).expect_err("two roots").message.contains("two roots"));
        let ring: Vec<_> = (0..4)
            .map(|n| (n, ClassRoute { inputs: 1 << 1, output: Some(0), local: true, ..Default::default() }))
            .collect();
        assert!(check(&torus, &ring).expect_err("a ring").message.contains("ring"));
    }

    #[test]
    fn system_and_commworld_share_no_link() {
        let route = |kind, inputs| ClassRoute { kind, inputs, output: None, local: true };
        let mut others = vec![None; CLASS_ROUTES];
        others[14] = Some(route(RouteKind::System, 0b0110));
        let user = RouteKind::UserCommworld;
        assert!(check_links(7, 0, &route(user, 0b1001), &others).is_ok());
        assert!(check_links(7, 0, &route(RouteKind::UserSubcomm, 0b0110), &others).is_ok());
        let reported = check_links(7, 0, &route(user, 0b0010), &others).expect_err("one link").message;
        assert!(reported.contains("class 14") && reported.contains("-x"), "{reported}");
    }
}
