//! Permutations of nodes: drawn once, or read from a file.

use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The random stream of a run for random permutations.
const PERMUTATION: u64 = 11;

/// A permutation without fixed points: all nodes in one cycle, by Sattolo's shuffle.
pub(crate) fn one_circle(nodes: u32, seed: u64) -> Arc<[u32]> {
    let mut stream = Stream::new(seed, PERMUTATION, 0);
    let mut to: Vec<u32> = (0..nodes).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, stream.below(last as u64) as usize);
    }
    to.into()
}

/// Reads a permutation: the destination of each node, one number per line; `#` starts a comment.
pub(crate) fn read_permutation(file: &str, nodes: u32) -> Result<Arc<[u32]>, ConfigError> {
    let refuse = |message: String| ConfigError { key: "workload.file".into(), message };
    let text = std::fs::read_to_string(file).map_err(|e| refuse(format!("{file}: {e}")))?;
    let mut to = vec![];
    let mut by = vec![0; nodes as usize];
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = i + 1;
        let number = line.parse::<u32>().ok().filter(|&n| n < nodes).ok_or_else(|| {
            refuse(format!("{file}:{at}: expected a node from 0 to {}, found \"{line}\"", nodes - 1))
        })?;
        if by[number as usize] != 0 {
            return Err(refuse(format!(
                "{file}:{at}: node {number} was a destination in line {} already",
                by[number as usize]
            )));
        }
        by[number as usize] = at;
        to.push(number);
    }
    if to.len() != nodes as usize {
        return Err(refuse(format!(
            "{file}: expected {nodes} destinations, one for each node, found {}",
            to.len()
        )));
    }
    Ok(to.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_permutation_has_no_fixed_points() {
        let to = one_circle(896, 3);
        let mut seen = to.to_vec();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..896) && to.iter().enumerate().all(|(i, &to)| i as u32 != to));
        assert_ne!(to, one_circle(896, 4));
    }
}
