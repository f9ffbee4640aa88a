//! Full connectivity with up to three dead nodes, no two on one line (Blumrich et al., section 2): planned
//! for every pair of an 8x8x8 machine, and run.

use super::{Bench, Finding};
use netloom_engine::Stream;
use netloom_nic::detour::planner;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::Ended;
use std::path::Path;

/// Nodes along each dimension.
const SIDE: u64 = 8;
/// Most dead nodes that the paper speaks of.
const MOST: usize = 3;

/// Dead nodes anywhere in a cube of `side` nodes per side, no two of them on one line.
fn dead_nodes(stream: &mut Stream, cube: u64) -> Vec<[u64; 3]> {
    let mut dead: Vec<[u64; 3]> = vec![];
    while dead.len() < MOST {
        let node = [0; 3].map(|_| stream.below(cube));
        let on_one_line = |a: &[u64; 3]| a.iter().zip(&node).filter(|(x, y)| x == y).count() >= 2;
        if !dead.iter().any(on_one_line) {
            dead.push(node);
        }
    }
    dead
}

/// All others sending to all others, on a machine with these nodes out of order.
fn study(dead: &[[u64; 3]]) -> Result<ResolvedStudy, Problem> {
    let text = format!(
        "name = 'faults'\nmachine = 'bgl'\nworkload.kind = 'all-to-all'\ntraffic.load = 'burst'\n\
         measure = {{ until = 'finished', per_link = false }}\n\
         set = {{ 'topology.dims' = [{SIDE}, {SIDE}, {SIDE}], 'topology.dead_nodes' = {dead:?} }}\n"
    );
    resolve(SourceFile::new("faults", text), Path::new("."), &[])
}

/// How many dead nodes leave every pair of the others within reach, and every all-to-all of them to its end.
pub fn judge(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let mut stream = Stream::new(1, 6, 0);
    let (planned, run) = if bench.quick { (12, 2) } else { (60, 6) };
    // Every third set is a cluster in a corner of 3x3x3, where routing around them is hardest.
    let sets: Vec<_> =
        (0..planned).map(|i| dead_nodes(&mut stream, if i % 3 == 2 { 3 } else { SIDE })).collect();
    let mut held = 0;
    let mut trouble = String::new();
    'counts: for count in 1..=MOST {
        // Fewer are easier: the smaller counts take a share of the sets.
        let sets = &sets[..if count < MOST { planned / 4 } else { planned }];
        for (i, set) in sets.iter().enumerate() {
            if bench.progress.stop() {
                return Ok(vec![]);
            }
            let dead = &set[..count];
            let study = study(dead)?;
            if planner(study.torus()).is_some_and(|p| p.out_of_reach().next().is_some()) {
                trouble = format!("; with {dead:?} dead, not every pair is within reach");
                break 'counts;
            }
            if i < run {
                let result = bench.simulator.simulate(&study, bench.progress, bench.threads)?;
                let live = SIDE.pow(3) - count as u64;
                if result.simulated.ended != Ended::Finished
                    || result.totals.packets_delivered != live * (live - 1)
                {
                    trouble = format!("; with {dead:?} dead, the all-to-all does not end");
                    break 'counts;
                }
            }
        }
        held = count;
    }
    let note = format!(
        "8x8x8, dynamic, static and relayed routes (docs/faults.md): every pair planned for {planned} sets, a third of them \
         clusters, and the all-to-all run for {run} of each count{trouble}"
    );
    Ok(vec![Finding::run("bgl.faults.faulty_nodes_with_full_connectivity", held as f64, note)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_dead_nodes_are_on_one_line() {
        let mut stream = Stream::new(2, 0, 0);
        for cube in [3, SIDE] {
            for _ in 0..100 {
                let dead = dead_nodes(&mut stream, cube);
                let shared =
                    |a: usize, b: usize| dead[a].iter().zip(&dead[b]).filter(|(x, y)| x == y).count();
                assert!(dead.len() == 3 && shared(0, 1) < 2 && shared(0, 2) < 2 && shared(1, 2) < 2);
            }
        }
    }
}
