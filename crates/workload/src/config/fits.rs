//! Which workloads fit a machine, and why others do not.

use super::{AllToAll, HotNode, HotRegion, JobsConfig, Over, Shift, WorkloadConfig, letter, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;

impl WorkloadConfig {
    /// Refuses what does not fit a machine, or the nodes of a job.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    pub fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        use WorkloadConfig::{Glex, Gni, Packaging, Skeleton, Spi, Trace};
        let under = |e: ConfigError| ConfigError { key: format!("workload.{}", e.key), ..e };
        let nodes = shape.nodes();
        if shape.torus().is_none() && nodes < 2 {
            return refuse("workload.kind", format!("expected a machine of at least 2 nodes, found {nodes}"));
        }
        match (self, shape.torus()) {
            (Spi(program), Some(_)) => program.check(shape.lengths()).map_err(under),
            (Gni(program), None) => program.check(nodes).map_err(under),
            (Glex(program), None) => program.check(nodes).map_err(under),
            (Packaging(sizes), None) => sizes.check(),
            (Spi(_), None) => self.is_not_for("a torus", "a machine of switches"),
            (Packaging(_) | Gni(_) | Glex(_), Some(_)) => self.is_not_for("machines of switches", "a torus"),
            (Skeleton(skeleton), _) => skeleton.check_on(shape),
            (Trace(_), _) => Ok(()),
            (pattern, _) => pattern.check_pattern(shape),
        }
    }

    fn is_not_for(&self, machine: &str, found: &str) -> Result<(), ConfigError> {
        let message = format!("\"{}\" is for {machine}; the machine is {found}", self.kind());
        refuse("workload.kind", message)
    }

    fn check_pattern(&self, shape: &Shape) -> Result<(), ConfigError> {
        match self {
            WorkloadConfig::HotRegion(hot) => hot.check(shape),
            WorkloadConfig::HotNode(hot) => hot.check(shape),
            WorkloadConfig::AllToAll(all) => all.check(shape),
            WorkloadConfig::Shift(shift) => shift.check(shape),
            WorkloadConfig::Jobs(jobs) => jobs.check(shape),
            WorkloadConfig::Transpose {} => transpose(shape),
            WorkloadConfig::GroupShift(shift) => group_shift(shift.by, shape),
            _ => Ok(()),
        }
    }
}

fn fraction(fraction: f64) -> Result<(), ConfigError> {
    match (0.0..=1.0).contains(&fraction) {
        true => Ok(()),
        false => refuse("workload.fraction", format!("expected a fraction from 0 to 1, found {fraction}")),
    }
}

/// Refuses a list that has not a value for each dimension.
fn one_each(key: &str, found: usize, shape: &Shape) -> Result<(), ConfigError> {
    let n = shape.dimensions();
    match shape.torus() {
        _ if found == n => Ok(()),
        Some(_) => refuse(
            key,
            format!("expected {n} values, one for each dimension of the {}, found {found}", shape.words()),
        ),
        None => refuse(key, format!("expected one value, a number of nodes, found {found}")),
    }
}

impl HotRegion {
    fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        fraction(self.fraction)?;
        one_each("workload.region", self.region.len(), shape)?;
        if !self.origin.is_empty() {
            one_each("workload.origin", self.origin.len(), shape)?;
        }
        for (d, (&length, &k)) in self.region.iter().zip(shape.lengths()).enumerate() {
            let low = self.origin.get(d).copied().unwrap_or(0);
            if length == 0 || low >= k || length > k - low {
                let along = shape.torus().map_or(String::new(), |_| format!("along {} ", letter(d)));
                let message = format!(
                    "expected a region inside the {}; {along}it would reach from {low} to {}",
                    shape.words(),
                    u64::from(low) + u64::from(length)
                );
                return refuse("workload.region", message);
            }
        }
        Ok(())
    }
}

impl HotNode {
    fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        if self.node >= shape.nodes() {
            let message = format!("expected a node from 0 to {}, found {}", shape.nodes() - 1, self.node);
            return refuse("workload.node", message);
        }
        fraction(self.fraction)
    }
}

impl AllToAll {
    fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        if self.bytes == Some(0) {
            return refuse("workload.bytes", "expected at least 1 byte");
        }
        let spans = match (self.over, shape.torus()) {
            (Over::Machine, _) => 0,
            (Over::Planes, Some(_)) => 2,
            (Over::Lines, Some(_)) => 1,
            (Over::Planes | Over::Lines, None) => {
                return refuse("workload.over", "expected \"machine\": the nodes have no dimensions");
            }
        };
        let n = shape.dimensions();
        let mut seen: Vec<char> = self.dims.chars().collect();
        seen.sort_unstable();
        seen.dedup();
        let known = seen.iter().all(|&c| (0..n).any(|d| letter(d) == c));
        if seen.len() == spans && self.dims.len() == spans && known {
            return Ok(());
        }
        let example: String = (0..spans.min(n)).map(letter).collect();
        refuse(
            "workload.dims",
            match spans {
                0 => "expected no dimensions: this all-to-all runs over the whole machine; give over = \"planes\" or \"lines\" to restrict it".into(),
                _ => format!("expected {spans} of the machine's dimension letters, such as \"{example}\", found \"{}\"", self.dims),
            },
        )
    }
}

impl Shift {
    fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        one_each("workload.by", self.by.len(), shape)?;
        if !self.by.iter().zip(shape.lengths()).all(|(&by, &k)| by.unsigned_abs().is_multiple_of(k)) {
            return Ok(());
        }
        refuse(
            "workload.by",
            match shape.torus() {
                Some(_) => "expected a shift to another node; this one leads back to the sender".into(),
                None => format!(
                    "expected a shift to another of {} nodes, found {}, which leads back",
                    shape.nodes(),
                    self.by[0]
                ),
            },
        )
    }
}

fn transpose(shape: &Shape) -> Result<(), ConfigError> {
    let nodes = shape.nodes();
    match shape.torus() {
        Some(_) if shape.lengths().windows(2).any(|w| w[0] != w[1]) => {
            refuse("workload.kind", format!("transpose needs equal dimensions; found the {}", shape.words()))
        }
        None if nodes.isqrt().pow(2) != nodes => {
            let message = format!(
                "transpose needs a square number of nodes, whose row and column change places; found {nodes}"
            );
            refuse("workload.kind", message)
        }
        _ => Ok(()),
    }
}

fn group_shift(by: i32, shape: &Shape) -> Result<(), ConfigError> {
    let groups = shape.groups();
    if (0..groups).any(|group| shape.nodes_of_group(group).is_empty()) {
        return refuse(
            "workload.kind",
            "expected another workload, such as \"shift\", on a machine with groups or levels without nodes, found \"group-shift\"",
        );
    }
    if groups < 2 {
        let message = format!("expected a machine of several groups, found the {}", shape.words());
        return refuse("workload.kind", format!("{message}, and \"group-shift\""));
    }
    match i64::from(by).rem_euclid(groups.into()) {
        0 => refuse("workload.by", format!("expected a shift to another of {groups} groups, found {by}")),
        _ => Ok(()),
    }
}

/// Most jobs: far more than can be told apart in a report.
const JOBS_MAX: usize = 64;

impl JobsConfig {
    /// Refuses jobs that do not fit the machine.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    pub fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        if !(1..=JOBS_MAX).contains(&self.jobs.len()) {
            let message = format!("expected 1 to {JOBS_MAX} jobs, found {}", self.jobs.len());
            return refuse("workload.jobs", message);
        }
        let (nodes, mut free) = (shape.nodes(), shape.nodes());
        for (i, job) in self.jobs.iter().enumerate() {
            let name = job.name(i);
            if job.nodes < 2 || job.nodes > free {
                let message = format!(
                    "expected 2 to {free} nodes of {name}, as many as the jobs before it leave of {nodes}, found {}",
                    job.nodes
                );
                return refuse("workload.jobs", message);
            }
            free -= job.nodes;
            job.check().map_err(|e| job.blamed(i, e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GroupShift, JobConfig};
    use netloom_fabric::config::{DragonflyConfig, TorusConfig};
    use netloom_fabric::topology::torus::Torus;
    use std::sync::Arc;

    fn torus(dims: &[u32]) -> Shape {
        Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(dims).topology))
    }

    #[test]
    fn a_region_must_fit_the_machine() {
        let hot = |region: &[u32]| {
            WorkloadConfig::HotRegion(HotRegion { fraction: 0.25, region: region.to_vec(), origin: vec![] })
        };
        let machine = torus(&[16, 16, 16]);
        assert_eq!(hot(&[8, 8, 8]).check(&machine), Ok(()));
        assert_eq!(hot(&[8, 8]).check(&machine).unwrap_err().key, "workload.region");
        assert_eq!(hot(&[8, 8, 17]).check(&machine).unwrap_err().key, "workload.region");
        let job = Shape::of_job(40);
        assert_eq!(hot(&[40]).check(&job), Ok(()));
        assert!(hot(&[41]).check(&job).unwrap_err().message.contains("job of 40 nodes; it would reach"));
    }

    #[test]
    fn planes_and_lines_name_their_dimensions() {
        let over =
            |over, dims: &str| WorkloadConfig::AllToAll(AllToAll { over, dims: dims.into(), bytes: None });
        let (cube, square) = (torus(&[4, 4, 4]), torus(&[4, 4]));
        assert!(over(Over::Planes, "xz").check(&cube).is_ok());
        assert!(over(Over::Planes, "xx").check(&cube).is_err());
        assert!(over(Over::Lines, "z").check(&square).is_err());
        assert!(over(Over::Machine, "x").check(&square).is_err());
        assert_eq!(over(Over::Lines, "x").check(&Shape::of_job(9)).unwrap_err().key, "workload.over");
    }

    #[test]
    fn patterns_without_a_meaning_are_refused() {
        let dragonfly = Shape::of_switches(&Arc::new(DragonflyConfig::cray_xc(3, 12).wiring()));
        assert!(WorkloadConfig::Transpose {}.check(&dragonfly).unwrap_err().message.contains("found 1152"));
        assert_eq!(WorkloadConfig::Transpose {}.check(&Shape::of_job(144)), Ok(()));
        assert!(WorkloadConfig::Transpose {}.check(&torus(&[4, 8])).unwrap_err().message.contains("4x8"));
        let shift = |by| WorkloadConfig::GroupShift(GroupShift { by });
        assert_eq!(shift(1).check(&dragonfly), Ok(()));
        assert_eq!(shift(1).check(&torus(&[4, 4])), Ok(()));
        assert_eq!(shift(-4).check(&torus(&[8, 4])).unwrap_err().key, "workload.by");
        assert_eq!(shift(1).check(&Shape::of_job(9)).unwrap_err().key, "workload.kind");
    }

    #[test]
    fn jobs_are_no_larger_than_the_machine() {
        let job = |nodes, workload| JobConfig {
            name: String::new(),
            nodes,
            placement: None,
            load: None,
            workload: Box::new(workload),
        };
        let jobs =
            |jobs| WorkloadConfig::Jobs(JobsConfig { placement: Default::default(), alone: true, jobs });
        let fits = jobs(vec![job(10, WorkloadConfig::Uniform {}), job(6, WorkloadConfig::Tornado {})]);
        assert_eq!(fits.check(&torus(&[4, 4])), Ok(()));
        let message = fits.check(&torus(&[5, 3])).unwrap_err().message;
        assert!(message.contains("expected 2 to 5 nodes of job 2"), "{message}");
        let square = jobs(vec![job(10, WorkloadConfig::Transpose {})]).check(&torus(&[4, 4]));
        assert!(square.unwrap_err().message.contains("job 1, workload.kind: transpose needs a square"));
    }
}
