//! A machine made as large as a study needs: `nodes = 64` gives each machine a shape of its own kind with that many nodes, so that the
//! same study runs on all of them.

use super::Machine;
use netloom_fabric::config::{ConfigError, SwitchedTopology};

/// The change of a machine's topology that gives it at least `nodes` nodes: key and value. `None` where it has enough.
///
/// # Errors
/// If it cannot have as many.
pub(crate) fn topology_of(
    machine: &Machine,
    nodes: u32,
) -> Result<Option<(&'static str, Vec<u32>)>, ConfigError> {
    // What was expected: who asks says what was found, and where.
    let refuse = |message: String| Err(ConfigError { key: "nodes".into(), message });
    if nodes == 0 {
        return refuse("at least 1 node".into());
    }
    match machine {
        Machine::Torus(torus) => match dims(nodes, torus.topology.dims.len()) {
            Some(dims) => Ok(Some(("topology.dims", dims))),
            None => refuse(format!(
                "a number of nodes that {} dimensions of at most 64 can have",
                torus.topology.dims.len()
            )),
        },
        Machine::Switched(switched) => match &switched.topology {
            SwitchedTopology::Dragonfly(d) => {
                let group = d.nodes_per_router * d.group.iter().product::<u32>();
                let groups = nodes.div_ceil(group);
                // Fewer groups than it has leave links without an end, which only partial networks of bundles of cables have.
                let may_shrink = d.cabling == netloom_fabric::config::Cabling::Bundles;
                Ok((may_shrink || groups > d.groups).then(|| ("topology.groups", vec![groups])))
            }
            SwitchedTopology::FatTree(tree) => {
                let (top, below) = tree.down.split_last().expect("it has levels");
                let needed = nodes.div_ceil(below.iter().product());
                let down = below.iter().copied().chain([needed]).collect();
                Ok((needed > *top).then_some(("topology.down", down)))
            }
            SwitchedTopology::Torus(torus) => {
                let routers = nodes.div_ceil(torus.nodes_per_router);
                match dims(routers, torus.dims.len()) {
                    Some(_) if u64::from(nodes) <= machine.nodes() => Ok(None),
                    Some(dims) => Ok(Some(("topology.dims", dims))),
                    None => refuse(format!("a number of nodes for which {routers} routers make a torus")),
                }
            }
        },
    }
}

/// Lengths of `count` dimensions, as equal as the prime factors of `nodes` allow, the longest first, as partitions of the BlueGenes
/// have them (4x4x4x4x2).
fn dims(nodes: u32, count: usize) -> Option<Vec<u32>> {
    let mut factors = vec![];
    let (mut left, mut factor) = (nodes, 2);
    while factor * factor <= left {
        while left.is_multiple_of(factor) {
            factors.push(factor);
            left /= factor;
        }
        factor += 1;
    }
    if left > 1 {
        factors.push(left);
    }
    let mut dims = vec![1; count];
    for factor in factors.into_iter().rev() {
        let shortest = (0..count).min_by_key(|&d| (dims[d], d)).expect("it has dimensions");
        dims[shortest] *= factor;
    }
    dims.sort_unstable_by(|a, b| b.cmp(a));
    dims.iter().all(|&d| d <= 64).then_some(dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_as_equal_as_can_be() {
        assert_eq!(dims(64, 3), Some(vec![4, 4, 4]));
        assert_eq!(dims(512, 3), Some(vec![8, 8, 8]));
        assert_eq!(dims(512, 5), Some(vec![4, 4, 4, 4, 2]));
        assert_eq!(dims(64, 5), Some(vec![4, 2, 2, 2, 2]));
        assert_eq!(dims(96, 3), Some(vec![6, 4, 4]));
        assert_eq!(dims(1, 3), Some(vec![1, 1, 1]));
        assert_eq!(dims(67, 3), None);
    }
}
