//! A machine made as large as a study needs: `nodes = 64` gives each machine a shape of its own kind with
//! that many nodes, so that the same study runs on all of them.

/// A change of a machine's topology: key and value.
pub(crate) type Change = (&'static str, Vec<u32>);

/// Lengths of `count` dimensions, as equal as the prime factors of `nodes` allow, the longest first, as
/// partitions of the BlueGenes have them (4x4x4x4x2).
pub(super) fn dims(nodes: u32, count: usize) -> Option<Vec<u32>> {
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
