//! The course of a run: window by window to the end that the study sets, whatever its network is.

use super::RunOptions;
use super::checkpoint::Course;
use super::driver::Driver;
use super::{steady, timeline};
use crate::measure::{self, Mark, Readout, Span};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::router::{Network, NetworkState, RouterBlock, WindowRecord};
use netloom_node::time::Microticks;
use netloom_study::diagnose::Problem;
use netloom_study::number::short;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Confidence, Ended, RunResult};
use netloom_study::run::Progress as Report;
use netloom_study::study::{Until, Warmup};
use netloom_study::windows::{self, WINDOWS_MAX};
use netloom_workload::config::WorkloadConfig;
use std::borrow::Cow;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// The workload with its file names taken from the study's folder.
pub(super) fn beside_the_study(study: &ResolvedStudy) -> WorkloadConfig {
    let mut workload = study.study.workload.clone();
    workload.each_file(&|file| *file = study.path_of(file));
    workload
}

/// The longest run, ticks: so that times of nodes, which are finer, are far from the end of their range.
const LONGEST: u64 = u64::MAX / Microticks::TICK.0 / 4 * 3;

/// A run in progress.
pub(super) struct Run<'a, B: RouterBlock, R> {
    /// Its own once measuring windows have become longer.
    study: Cow<'a, ResolvedStudy>,
    readout: R,
    pub network: Network<B>,
    how: RunOptions<'a>,
    /// Packets that will be sent in all, if that is known.
    total: Option<u64>,
    links: f64,
    build_s: f64,
    /// Why there is no checkpoint where there should be one.
    not_written: Option<String>,
}

impl<'a, B: RouterBlock<Host: Driver>, R: Readout<B>> Run<'a, B, R> {
    /// A network at its start, and how it is read out.
    pub fn new(
        study: &'a ResolvedStudy,
        readout: R,
        mut network: Network<B>,
        total: Option<u64>,
        how: RunOptions<'a>,
        build_s: f64,
    ) -> Self {
        network.spare_threads();
        let links = readout.links(&mut network);
        Run { study: Cow::Borrowed(study), readout, network, how, total, links, build_s, not_written: None }
    }

    /// Ticks of a time in microseconds.
    fn ticks(&self, us: f64) -> u64 {
        windows::ticks(us, self.study.machine.ticks_per_second())
    }

    /// Runs until the study's end, or until it is stopped, while another thread passes on how far it is.
    ///
    /// # Errors
    /// If the checkpoint that it continues from is not one of this network.
    pub fn until_the_end(&mut self) -> Result<RunResult, Problem> {
        let sink = self.how.progress;
        let (progress, seen, done) = (Progress::default(), Seen::default(), AtomicBool::new(false));
        let goal = self.study.study.measure.time_us.map(|us| self.ticks(us));
        let watch = || {
            while !done.load(Acquire) {
                if sink.stop() {
                    progress.stop();
                }
                sink.update(seen.report(progress.time().ticks(), goal));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        };
        if sink.stop() {
            progress.stop();
        }
        std::thread::scope(|scope| {
            let watcher = scope.spawn(watch);
            let _end = AtEnd(|| {
                done.store(true, Release);
                watcher.thread().unpark();
            });
            self.window_by_window(&progress, &seen)
        })
    }

    /// Runs a window of the series after the other, and decides at each end whether it is the last.
    fn window_by_window(&mut self, progress: &Progress, seen: &Seen) -> Result<RunResult, Problem> {
        let measure = self.study.study.measure.clone();
        let mut window = self.study.window();
        let until = measure.until();
        // Programs may run for seconds. A checkpoint has windows of one length.
        let widens =
            measure.window_us.is_none() && until == Until::Finished && self.how.checkpoints.is_none();
        let last = measure.time_us.or(measure.max_time_us).map_or(LONGEST, |us| self.ticks(us)).min(LONGEST);
        let mut from = match measure.warmup_us {
            Warmup::Micros(us) => Some(self.ticks(us).div_ceil(window).saturating_mul(window)),
            Warmup::Auto if until != Until::Converged => Some(0),
            Warmup::Auto => None,
        };
        let begin = Instant::now();
        let mut counted_from = 0;
        let mut confidence = None;
        let mut first = Mark::default();
        let mut earlier_s = 0.0;
        if let Some(course) = self.load()? {
            (from, counted_from, earlier_s) = (course.warmup_end, course.counted_from, course.wall_s);
            if let (Until::Converged, Some(from)) = (until, from) {
                let records = self.network.windows();
                confidence = self.confidence(&records, from);
            }
            let now = self.network.now().ticks();
            if now > last {
                let (now, last) = (self.study.micros(now), self.study.micros(last));
                let what = format!(
                    "the checkpoint is at {} us, after the end of this run at {} us",
                    short(now),
                    short(last)
                );
                return Err(Problem::new(what).help("give a later end, or another file"));
            }
            first = Mark { hops: self.hops(), ticks: self.network.now().ticks(), ..Mark::default() };
        }
        let mut last_checkpoint = begin;
        let mut failure = None;
        let ended = loop {
            let now = self.network.now().ticks();
            // Here, so that a run which ended with its warm-up can continue from a checkpoint.
            if from == Some(now) && counted_from < now {
                self.restart_counting();
                counted_from = now;
            }
            // Here, for a checkpoint is written before this is decided.
            if until == Until::Converged && now > 0 && now.is_multiple_of(window) {
                let records = self.network.windows();
                match from {
                    None if self.has_settled(&records) => {
                        from = Some(now);
                        self.restart_counting();
                        counted_from = now;
                    }
                    Some(from) if now > from => {
                        confidence = self.confidence(&records, from);
                        let measured = &records[(from / window) as usize..];
                        if steady::is_known(&self.study, confidence.as_ref(), measured) {
                            break Ended::Converged;
                        }
                    }
                    _ => {}
                }
            }
            let next = ((now / window + 1) * window).min(last);
            self.report_progress(seen);
            let reached = self.network.run_until(Time::at(next), self.how.threads, progress);
            let now = self.network.now().ticks();
            failure = self.readout.stopped(&self.study, &mut self.network);
            if failure.is_some() {
                break Ended::Failed;
            }
            if reached != Reached::Idle {
                let is_final = reached == Reached::Stopped || now >= last;
                let wall_s = earlier_s + begin.elapsed().as_secs_f64();
                if self.store(Course { warmup_end: from, counted_from, wall_s }, last_checkpoint, is_final) {
                    last_checkpoint = Instant::now();
                }
            }
            match reached {
                Reached::Stopped => break Ended::Interrupted,
                Reached::Idle if self.network.stall().is_some() => break Ended::Stalled,
                Reached::Idle => {
                    failure = self.readout.escaped(&mut self.network);
                    break if failure.is_some() { Ended::Failed } else { Ended::Finished };
                }
                Reached::Time => {}
            }
            if until == Until::Finished && self.is_over() {
                break Ended::Finished;
            }
            if now >= last {
                break Ended::TimeLimit;
            }
            let is_between = from.is_none_or(|from| from.is_multiple_of(2 * window));
            if widens && is_between && now == WINDOWS_MAX * window {
                self.network.widen_windows();
                self.study.to_mut().widen_windows();
                window = self.study.window();
            }
            if now <= window {
                first = Mark { wall_s: begin.elapsed().as_secs_f64(), hops: self.hops(), ticks: now };
            }
        };
        // A run that ended before its warm-up is counted whole.
        let span = Span { from: counted_from, to: self.end(ended) };
        let mut result = self.readout.result(&self.study, &mut self.network, span, self.links);
        result.confidence = confidence;
        timeline::add_packets(&self.study, &mut self.network, &mut result);
        result.simulated.ended = ended;
        result.partial = match ended {
            Ended::Failed => failure,
            Ended::Interrupted => Some("interrupted before its end".into()),
            Ended::Stalled => Some("stalled: packets in the network wait for each other".into()),
            Ended::TimeLimit if last == LONGEST => {
                let s = short(self.study.micros(LONGEST) / 1e6);
                Some(format!("reached {s} s, the longest time of a run on this machine, before its own end"))
            }
            Ended::TimeLimit if until != Until::Time => Some("reached max_time_us before its own end".into()),
            _ if from.is_some_and(|from| from > counted_from) => {
                Some("ended before its warm-up did, so that is in the figures".into())
            }
            _ => None,
        };
        if ended == Ended::Finished && self.study.study.workload.runs_programs() {
            result.simulated.run_time_us = Some(result.simulated.us);
        }
        if !self.study.study.workload.runs_programs() {
            let windows = self.network.windows();
            let measured = measure::measured(&self.study, &windows, span);
            let load = self.readout.load(&self.study, &result, measured);
            result.throughput = load.figures(&self.study, &result);
        }
        self.warn(&mut result, from.is_none());
        let wall = begin.elapsed().as_secs_f64();
        measure::host(&mut result, &mut self.network, &self.study, (first, wall), self.how.threads);
        result.host.wall_s += earlier_s;
        result.host.build_s = self.build_s;
        Ok(result)
    }

    /// Continues from a checkpoint, if there is one; returns how far the run was.
    fn load(&mut self) -> Result<Option<Course>, Problem> {
        let Some(checkpoints) = self.how.checkpoints else { return Ok(None) };
        let Some(state) = &checkpoints.begin else { return Ok(None) };
        let parts = checkpoints.take_network();
        let states: io::Result<Vec<NetworkState>> =
            parts.iter().map(|part| borsh::from_slice(part)).collect();
        let loaded = states.and_then(|states| self.network.load(&states, |host, from| host.load(from)));
        let all = self.network.gather(loaded.err().map(|e| e.to_string()));
        match all.into_iter().flatten().next() {
            Some(why) => Err(checkpoints.problem("continue from", &io::Error::other(why))),
            None => Ok(Some(state.course)),
        }
    }

    /// Writes a checkpoint, if it is the final one or the time for one has come since the previous one;
    /// returns whether it has tried to. If that fails, the run continues, and its result says so.
    fn store(&mut self, course: Course, previous: Instant, is_final: bool) -> bool {
        let Some(checkpoints) = self.how.checkpoints else { return false };
        // The first process decides for all, and writes what all have.
        if !self.network.gather(is_final || checkpoints.is_due(previous))[0] {
            return false;
        }
        let own =
            self.network.store(|host, to| host.store(to)).expect("traffic has a state, and memory takes it");
        let all = self.network.collect(borsh::to_vec(&own).expect("memory takes it"));
        if !all.is_empty() {
            let written = checkpoints.write(&self.study, self.how.blocks_min(), course, all);
            self.not_written = written.err().map(|e| checkpoints.problem("write", &e).message);
        }
        true
    }

    /// Says what a reader must know before the figures are used. `cold`: no warm-up was found.
    fn warn(&self, result: &mut RunResult, cold: bool) {
        result.warnings.extend(self.not_written.clone());
        warn(&self.study, result, cold);
    }

    /// When the run has ended: where all is done, when the last thing happened that counts.
    fn end(&mut self, ended: Ended) -> u64 {
        let now = self.network.now().ticks();
        if ended != Ended::Finished {
            return now;
        }
        let own = self.network.blocks().map(|b| b.host().last()).collect::<Option<Vec<Time>>>();
        let last: Option<Vec<Vec<Time>>> = self.network.gather(own).into_iter().collect();
        let last = last.and_then(|last| last.into_iter().flatten().max());
        last.map_or(now, |last| now.min(last.ticks() + 1))
    }

    /// Whether the programs have ended at all nodes that have any, although traffic would continue.
    fn is_over(&mut self) -> bool {
        let own = self.network.blocks().all(|block| block.host().is_over());
        self.network.gather(own).into_iter().all(|of| of)
    }

    /// Begins counting anew, in the network and at the nodes.
    fn restart_counting(&mut self) {
        self.network.restart_counting();
        self.network.blocks().for_each(|b| b.host_mut().restart());
    }

    /// Whether the warm-up is over at the end of these windows.
    fn has_settled(&self, windows: &[WindowRecord]) -> bool {
        steady::has_settled(&self.study, windows, self.links)
    }

    /// How well the mean is known of these windows from a time on, ticks.
    fn confidence(&self, windows: &[WindowRecord], from: u64) -> Option<Confidence> {
        steady::confidence_of(&self.study, &windows[(from / self.study.window()) as usize..], self.links)
    }

    /// Reports the progress of the run.
    fn report_progress(&mut self, seen: &Seen) {
        let fraction = self.fraction().unwrap_or(f64::NAN);
        seen.hops.store(self.hops(), Relaxed);
        seen.fraction.store(fraction.to_bits(), Relaxed);
    }

    fn hops(&mut self) -> u64 {
        self.network.so_far().hops
    }

    /// The fraction of the run that is done, where it is known.
    fn fraction(&mut self) -> Option<f64> {
        let total = self.total? as f64;
        let is_known = self.study.study.measure.until() == Until::Finished;
        is_known.then(|| measure::arrived_so_far(&mut self.network).1 as f64 / total)
    }
}

/// Says what a reader of a run's result must know before the figures are used, after what is said already.
/// `cold`: no warm-up was found.
pub(super) fn warn(study: &ResolvedStudy, result: &mut RunResult, cold: bool) {
    result.simulated.window_us = study.micros(study.window());
    let about_study = study.warnings();
    result.warnings.splice(0..0, about_study);
    let (s, is_program) = (&result.simulated, study.study.workload.runs_programs());
    if s.ticks < study.window() {
        // A chart needs a window at least.
        result.series.clear();
        result.warnings.push(format!(
            "the run ended after {} us, within its first measuring window of {} us: there are no curves over time; \
             a smaller measure.window_us gives some",
            short(s.us),
            short(s.window_us)
        ));
    }
    if cold && s.ended == Ended::Finished && !is_program {
        let text = "the run finished before its warm-up was over: the means include its start and its end";
        result.warnings.push(text.into());
    }
    const FEW: u64 = 100;
    match result.latency.total.count {
        0 if !is_program => result.warnings.push("no packet arrived in the measured part of the run".into()),
        count @ 1..FEW if !is_program => {
            let packets = if count == 1 { "packet" } else { "packets" };
            let text = "arrived in the measured part of the run: means of so few are due to chance";
            result.warnings.push(format!("{count} {packets} {text}"));
        }
        _ => {}
    }
}

/// Does something at the end of a scope, also where it ends in a panic: the watcher would watch for ever.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// How far a run is at the last window's end.
#[derive(Default)]
struct Seen {
    hops: AtomicU64,
    /// Bits of a number; not a number where it is not known.
    fraction: AtomicU64,
}

impl Seen {
    fn report(&self, ticks: u64, goal: Option<u64>) -> Report {
        let fraction = Some(f64::from_bits(self.fraction.load(Relaxed))).filter(|f| !f.is_nan());
        let fraction = goal.map(|goal| ticks as f64 / goal as f64).or(fraction);
        Report { ticks, fraction, packet_hops: self.hops.load(Relaxed) }
    }
}
