//! Partitions of a large machine (Chen et al., section II.G): boxes of midplanes whose link chips route their
//! outer links back into the partition, or hold them in reset. Packets cannot cross between partitions.

/// Nodes of a midplane along each dimension that is larger than two.
pub const MIDPLANE: u32 = 4;

/// Whether a partition of `length` nodes closes into a ring in a dimension of `full` nodes. Link chips can
/// loop back the links of one midplane, or connect those of all midplanes; with any other number of midplanes
/// the two ends cannot be connected.
pub fn closes(length: u32, full: u32) -> bool {
    length == full || length == MIDPLANE
}

/// A partition: its node with the lowest coordinates, and its lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Coordinates of its first node.
    pub at: Vec<u32>,
    /// Its number of nodes along each dimension.
    pub lengths: Vec<u32>,
}

impl Partition {
    /// Whether a node is in it.
    pub fn contains(&self, at: &[u8]) -> bool {
        self.at
            .iter()
            .zip(&self.lengths)
            .enumerate()
            .all(|(d, (&from, &length))| (from..from + length).contains(&u32::from(at[d])))
    }

    /// The coordinate next to `x` in dimension `d`, which has `full` nodes in the machine; `None` at the end
    /// of the partition.
    pub fn step(&self, d: usize, x: u8, minus: bool, full: u32) -> Option<u8> {
        let (from, length) = (self.at[d], self.lengths[d]);
        let inside = u32::from(x) - from;
        let is_edge = if minus { inside == 0 } else { inside + 1 == length };
        if is_edge && !closes(length, full) {
            return None;
        }
        let next = if minus { (inside + length - 1) % length } else { (inside + 1) % length };
        Some((from + next) as u8)
    }
}

/// Checks a machine's partitions: they must consist of whole midplanes and must not overlap.
///
/// # Errors
/// The first invalid partition.
pub fn check(partitions: &[Partition], dims: &[u32]) -> Result<(), String> {
    let refuse = Err::<(), String>;
    let n = dims.len();
    for (i, p) in partitions.iter().enumerate() {
        if p.at.len() != n || p.lengths.len() != n {
            return refuse(format!("partition {i}: expected {n} coordinates and {n} lengths"));
        }
        for (d, &full) in dims.iter().enumerate() {
            let (at, length) = (p.at[d], p.lengths[d]);
            if length == 0 || at + length > full {
                return refuse(format!(
                    "partition {i}: {length} nodes from {at} on do not fit in the {full} of dimension {d}"
                ));
            }
            let whole = |x: u32| x.is_multiple_of(MIDPLANE) || full < MIDPLANE && (x == 0 || x == full);
            if !whole(at) || !(whole(length) || length == full) {
                return refuse(format!(
                    "partition {i}: {length} nodes from {at} on are not a whole number of midplanes in dimension {d}"
                ));
            }
        }
        let meets = |q: &Partition| {
            (0..n).all(|d| p.at[d] < q.at[d] + q.lengths[d] && q.at[d] < p.at[d] + p.lengths[d])
        };
        if let Some(j) = partitions[..i].iter().position(meets) {
            return refuse(format!("partitions {j} and {i} share nodes"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's rule: "a torus is obtained when the partition size is either n or 4 nodes".
    #[test]
    fn a_ring_of_all_or_of_one_midplane() {
        for full in [4, 8, 12, 16] {
            for length in (4..=full).step_by(4) {
                let p = Partition { at: vec![0], lengths: vec![length] };
                let ring = p.step(0, length as u8 - 1, false, full) == Some(0);
                assert_eq!(ring, length == full || length == 4, "{length} of {full}");
                assert_eq!(ring, p.step(0, 0, true, full) == Some(length as u8 - 1));
            }
        }
        // E is never divided.
        assert!(closes(2, 2));
    }

    #[test]
    fn invalid_partitions_are_reported() {
        let dims = [16, 8, 2];
        let p = |at: [u32; 3], lengths: [u32; 3]| Partition { at: at.into(), lengths: lengths.into() };
        let reported = |list: &[Partition]| check(list, &dims).expect_err("wrong");
        assert!(
            check(&[p([0; 3], [8, 4, 2]), p([8, 0, 0], [8, 8, 2]), p([0, 4, 0], [4, 4, 2])], &dims).is_ok()
        );
        assert!(reported(&[p([2, 0, 0], [4, 4, 2])]).contains("midplanes"));
        assert!(reported(&[p([0; 3], [6, 4, 2])]).contains("midplanes"));
        assert!(reported(&[p([12, 0, 0], [8, 4, 2])]).contains("fit"));
        assert!(reported(&[p([0; 3], [8, 8, 2]), p([4, 4, 0], [4, 4, 2])]).contains("share"));
    }
}
