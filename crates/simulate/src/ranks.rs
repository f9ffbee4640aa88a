//! The ranks of a run: their programs, the nodes that they are laid onto, and what they did.

use super::course::beside_the_study;
use super::own::{self, Make, Maker, Slot};
use super::processes::Processes;
use super::{RunOptions, reach, timeline, unloaded};
use crate::units::Failures;
use netloom_engine::SharedState;
use netloom_fabric::config::ConfigError;
use netloom_fabric::host::Family;
use netloom_fabric::router::{Network, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::Steps;
use netloom_messaging::rank::{Rank, RankReport};
use netloom_messaging::transit::{Hops, Transit, Unloaded};
use netloom_messaging::transport::Transport;
use netloom_messaging::transports::packets::{PacketFormat, Packets, Placement};
use netloom_nic::packet_port::{NewPacket, PacketPort, PortMemory, Watch};
use netloom_node::nodes::{NewProcess, Nodes, ThreadOf};
use netloom_node::process::{Operations, Process, Resumed, Step};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, MeasuredTable, ProgramFigures, RunResult};
use netloom_workload::config::{JobsConfig, RankPrograms, ReadMarks, Runs, WorkloadConfig};
use netloom_workload::job_program::JobProgram;
use netloom_workload::mapping::{HopStatistics, Mapping, MappingConfig, MappingError};
use netloom_workload::processes::Marks;
use netloom_workload::program::Program;
use netloom_workload::shape::Shape;
use netloom_workload::traffic::Jobs;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The ranks of a run: their programs until nodes are made of them, and their reports.
pub(super) struct Ranks<'a> {
    pub study: &'a ResolvedStudy,
    programs: Vec<Mutex<Option<Box<dyn Program>>>>,
    reports: Vec<Arc<Mutex<RankReport>>>,
    pub placement: Arc<Placement>,
    transit: Arc<Transit>,
    hops: Option<HopStatistics>,
    /// The ranks of each of several jobs, none of one that is no program or does not run.
    jobs: Vec<Range<usize>>,
    measures: Vec<Measures>,
    /// Makes a caller's own processes, which take the place of programs.
    own: Option<&'a dyn Make>,
    /// Those of them that failed.
    failures: Mutex<Failures>,
    pub begin: Instant,
}

/// A program that measures something: its ranks, how far apart they are, what reads their marks, and its job
/// if it is one of several.
struct Measures {
    ranks: Range<usize>,
    hops: Hops,
    read: ReadMarks,
    job: Option<String>,
}

/// Makes a caller's own process on a hardware thread.
pub(super) type MakeOn<C, W> = fn(&dyn Make, Slot<C, W>) -> Box<dyn Process<C, W>>;

/// A node without a rank.
struct Idle {
    /// Whether the node takes no memory.
    is_absent: bool,
}

impl<C, W> Process<C, W> for Idle {
    fn resume(&mut self, _: Microticks, _: Resumed, _: &mut Operations<C, W>) -> Step {
        Step::Ended(Ok(()))
    }

    fn is_absent(&self) -> bool {
        self.is_absent
    }
}

impl<'a> Ranks<'a> {
    /// Those of a study with one program.
    pub fn new(study: &'a ResolvedStudy) -> Result<Self, Problem> {
        let begin = Instant::now();
        let workload = beside_the_study(study);
        let shape = match &study.network.torus() {
            Some(torus) => Shape::of_torus(&Torus::new(&torus.topology)),
            // A network of switches is to the mapping a line of nodes.
            None => Shape::of_job(study.network.nodes() as u32),
        };
        let program = programs(study, &workload, shape.nodes())?;
        let mapping = mapping(study, &shape, program.ranks, "workload")?;
        let between = unloaded::hops(study, mapping.nodes());
        check_reach(study, &program, mapping.nodes(), &between)?;
        let messages = program.messages.iter().copied();
        let hops = study.network.torus().map(|_| mapping.hop_statistics(&shape, messages));
        let placement = Placement::new(mapping.nodes());
        let ranks = Self::on_nodes(study, (program.programs)(&between), placement, vec![], begin);
        let all = 0..program.ranks as usize;
        let measures = program.measured.map(|read| Measures { ranks: all, hops: between, read, job: None });
        Ok(Ranks { hops, measures: measures.into_iter().collect(), ..ranks })
    }

    /// Those of a study with several jobs, or of only one of these.
    pub fn of_jobs(
        study: &'a ResolvedStudy,
        config: &JobsConfig,
        jobs: &Jobs,
        only: Option<usize>,
    ) -> Result<Self, Problem> {
        let begin = Instant::now();
        let (mut all, mut nodes, mut ranks): (Vec<Box<dyn Program>>, Vec<u32>, _) = (vec![], vec![], vec![]);
        let mut measures = vec![];
        for (number, job) in config.jobs.iter().enumerate() {
            let first = all.len();
            if job.is_program() && only.is_none_or(|only| only == number) {
                let mut workload = (*job.workload).clone();
                workload.each_file(&|file| *file = study.path_of(file));
                let program = programs(study, &workload, job.nodes)?;
                let shape = Shape::of_job(job.nodes);
                let mapping = mapping(study, &shape, program.ranks, "workload.jobs")?;
                let own: Vec<u32> =
                    mapping.nodes().iter().map(|&node| jobs.nodes(number)[node as usize]).collect();
                let hops = unloaded::hops(study, &own);
                check_reach(study, &program, &own, &hops)?;
                nodes.extend(own);
                let made = (program.programs)(&hops).into_iter();
                all.extend(made.map(|p| Box::new(JobProgram::new(first as u32, p)) as Box<_>));
                if let Some(read) = program.measured {
                    let job = Some(job.name(number));
                    measures.push(Measures { ranks: first..all.len(), hops, read, job });
                }
            }
            ranks.push(first..all.len());
        }
        let ranks = Self::on_nodes(study, all, Placement::of_jobs(&nodes), ranks, begin);
        Ok(Ranks { measures, ..ranks })
    }

    fn on_nodes(
        study: &'a ResolvedStudy,
        programs: Vec<Box<dyn Program>>,
        placement: Placement,
        jobs: Vec<Range<usize>>,
        begin: Instant,
    ) -> Self {
        let hops = unloaded::hops(study, placement.nodes());
        Ranks {
            transit: Arc::new(Transit::new(programs.len() as u32, hops, Unloaded::default())),
            study,
            reports: placement.nodes().iter().map(|&node| report(study, node)).collect(),
            programs: programs.into_iter().map(|p| Mutex::new(Some(p))).collect(),
            placement: Arc::new(placement),
            hops: None,
            jobs,
            measures: vec![],
            own: None,
            failures: Mutex::default(),
            begin,
        }
    }

    /// A caller's own processes in place of programs.
    pub fn of_own(study: &'a ResolvedStudy, placement: &Arc<Placement>, maker: &'a impl Maker) -> Self {
        let ranks = Self::on_nodes(study, vec![], Placement::new(&[]), vec![], Instant::now());
        Ranks { own: Some(maker), placement: Arc::clone(placement), ..ranks }
    }

    /// How long copies by their transports take: a caller's own processes take the time of copies themselves.
    pub fn copies_of_transport(&self) -> Steps {
        let machine = &self.study.machine;
        let copies = if self.own.is_some() { None } else { machine.messaging().copy_GB_per_s };
        Steps::copies(copies, machine.ticks_per_second())
    }

    /// Which of them failed.
    pub fn into_failures(self) -> Failures {
        self.failures.into_inner().expect("no panic before")
    }

    /// Ranks that measure message times on an otherwise empty machine; none if there is no partner, or if
    /// not everything on the machine works. The study is one to its end.
    pub fn to_measure(study: &'a ResolvedStudy, nodes: &[u32]) -> Option<Self> {
        let hops = unloaded::hops(study, nodes);
        let programs =
            unloaded::programs(nodes.len() as u32, &hops).filter(|_| unloaded::is_possible(study))?;
        let alone = Self::on_nodes(study, programs, Placement::new(nodes), vec![], Instant::now());
        let transit = Transit::new(nodes.len() as u32, hops, Unloaded::default()).observing();
        Some(Ranks { transit: Arc::new(transit), ..alone })
    }

    /// What they measured.
    pub fn measured_unloaded(&self) -> Unloaded {
        self.transit.unloaded()
    }

    /// The same, of which each of several processes runs some, if there are several.
    pub fn in_processes(self, are_several: bool) -> Self {
        if are_several {
            self.transit.share();
        }
        self
    }

    /// What processes tell each other besides messages, if there are several.
    pub fn shared_state(&self) -> Option<Arc<dyn SharedState>> {
        self.transit.is_shared().then(|| Arc::clone(&self.transit) as Arc<dyn SharedState>)
    }

    /// Gathers what the ranks of all processes did.
    pub fn gather<B: RouterBlock>(&self, network: &Network<B>) {
        if !self.transit.is_shared() {
            return;
        }
        let own: Vec<(usize, RankReport)> = (0..self.reports.len())
            .filter(|&rank| self.transit.is_own_rank(rank as u32))
            .map(|rank| (rank, self.reports[rank].lock().expect("the run is over").clone()))
            .collect();
        for (rank, report) in network.gather(own).into_iter().flatten() {
            *self.reports[rank].lock().expect("the run is over") = report;
        }
        self.transit.observe(network.gather(self.transit.observed()).concat());
    }

    /// Runs these ranks, after others on the same nodes that measure message times on an otherwise empty
    /// machine. `on` receives whether the ranks are these.
    pub fn run(
        mut self,
        to: RunOptions,
        on: impl Fn(&Ranks, bool, RunOptions) -> Result<RunResult, Problem>,
    ) -> Result<RunResult, Problem> {
        let count = self.reports.len() as u32;
        let hops = Arc::clone(self.transit.hops());
        let study = self.study.to_its_end();
        if let Some(mut alone) = Ranks::to_measure(&study, self.placement.nodes()) {
            alone.placement = Arc::clone(&self.placement);
            let alone = alone.in_processes(to.among.is_some());
            on(&alone, true, RunOptions { progress: &unloaded::Unseen(to.progress), ..to })?;
            self.transit = Arc::new(Transit::new(count, hops, alone.measured_unloaded()));
            self = self.in_processes(to.among.is_some());
        }
        self.begin = Instant::now();
        on(&self, false, to)
    }

    /// Processes on each node.
    pub fn per_node(&self) -> u8 {
        self.own.map_or(1, |own| own.threads() * self.placement.per_node())
    }

    /// Fewest blocks of nodes, for this number of threads.
    pub fn blocks(&self, threads: usize) -> usize {
        if self.own.is_some() { own::blocks(threads) } else { threads }
    }

    pub fn steps(&self) -> Steps {
        Steps::new(self.study.machine.messaging(), self.study.machine.ticks_per_second())
    }

    /// The process with a number on a node: its rank over a transport, if it has one. `own` makes a caller's
    /// own.
    pub fn process<T: Transport + 'static>(
        &self,
        (node, number): (u32, u8),
        thread: &Thread<T::Command, T::Watch>,
        transport: impl FnOnce(u32) -> T,
        own: MakeOn<T::Command, T::Watch>,
    ) -> Box<dyn Process<T::Command, T::Watch>> {
        let (process, number) = (number % self.placement.per_node(), number / self.placement.per_node());
        let Some(rank) = self.placement.rank(node, process) else {
            // The last node may have fewer ranks than others.
            let is_absent = self.own.is_some() && self.placement.rank(node, 0).is_none();
            return Box::new(Idle { is_absent });
        };
        if let Some(make) = self.own {
            let messages = (number == 0).then(|| Box::new(transport(rank)) as Box<_>);
            let thread = thread.clone();
            return own(make, Slot { rank, number: number.into(), node, thread, messages });
        }
        self.transit.add_own_rank(rank);
        let program = self.programs[rank as usize].lock().expect("no panic before").take();
        let program = program.expect("each rank runs on one node");
        let machine = &self.study.machine;
        let report = &self.reports[rank as usize];
        let (config, second) = (machine.messaging(), machine.ticks_per_second());
        Box::new(Rank::new(rank, transport(rank), program, config, second, &self.transit, report))
    }

    /// Nodes that put packets into the network themselves: by these lanes of a set of FIFOs,
    /// and with this number of sets.
    pub fn port_nodes<F: Family<Header: 'static>>(
        &self,
        numbers: &[u32],
        format: &Arc<dyn PacketFormat<F::Header>>,
        (lanes, groups): (impl Fn(u8) -> Vec<usize>, u8),
        own: MakeOn<NewPacket<F::Header>, Watch>,
    ) -> Nodes<PacketPort<F>> {
        let process = |node, number, memory: &Arc<Mutex<PortMemory<F::Header>>>| {
            let thread = ThreadOf::<PacketPort<F>>::default();
            let process = number % self.placement.per_node();
            let (of, lanes) = (((node, process), self.study.study.seed), lanes(process % groups));
            let ports = (&*lanes, groups);
            let packets =
                |_| Packets::new(thread.clone(), memory, format, &self.placement, of, ports, self.steps());
            let process: Box<dyn Process<NewPacket<F::Header>, Watch>> =
                self.process((node, number), &thread, packets, own);
            NewProcess { process, thread }
        };
        let cores = self.study.machine.torus().and_then(|torus| torus.nic.cores.clone());
        Nodes::new(Arc::new(cores), numbers, self.per_node(), self.study.study.seed, process)
    }

    /// Adds to a result what the programs did, once they have run.
    pub fn finish(&self, result: &mut RunResult, processes: &Processes) {
        if let Some(own) = self.own {
            processes.judge(result, self.placement.nodes().len() as u32 * u32::from(own.threads()));
            *self.failures.lock().expect("no panic before") = processes.failures().to_vec();
        }
        if self.reports.is_empty() {
            return;
        }
        result.warnings.extend(self.study.machine.messaging().warning());
        for (rank, report) in (0..).zip(&self.reports) {
            let report = report.lock().expect("the run is over");
            timeline::add_rank(self.study, result, self.placement.node(rank), rank, &report);
        }
        let (mut figures, waiting) = self.figures(0..self.reports.len());
        // Those of skeletons are not known before the run.
        if let Some(hops) = self.hops.as_ref().filter(|hops| hops.messages > 0) {
            figures.mean_hops_by_bytes = Some(hops.mean_of_bytes());
            figures.mean_hops_by_messages = Some(hops.mean_of_messages());
        }
        for (ranks, job) in self.jobs.iter().zip(&mut result.jobs).filter(|(ranks, _)| !ranks.is_empty()) {
            let (own, waiting) = self.figures(ranks.clone());
            job.run_time_us = waiting.is_empty().then_some(own.last_end_us);
            job.programs = Some(own);
        }
        result.totals.payload_bytes = result.totals.payload_bytes.max(figures.message_bytes);
        result.simulated.run_time_us = result.simulated.run_time_us.map(|_| figures.last_end_us);
        let ranks = figures.ranks;
        result.programs = Some(figures);
        if processes.has_failures() {
            processes.judge(result, ranks);
        } else if !waiting.is_empty() {
            let reported: Vec<&str> = waiting.iter().take(4).map(String::as_str).collect();
            let (left, reported) = (waiting.len(), reported.join("; "));
            match result.simulated.ended {
                Ended::Finished => {
                    let why = format!("{left} of {ranks} ranks never end: {reported}");
                    result.ended_early(Ended::Stalled, why);
                }
                _ => result.warnings.push(format!("{left} of {ranks} ranks had not ended: {reported}")),
            }
        } else {
            result.warnings.extend(self.never_received());
            result.measured.extend(self.measures.iter().map(|of| self.measured(of, processes)));
        }
    }

    /// What to say of messages that no rank has received, once all have ended.
    fn never_received(&self) -> Option<String> {
        let (mut sent, mut received, mut one) = (0, 0, None);
        for (rank, report) in self.reports.iter().enumerate() {
            let report = report.lock().expect("the run is over");
            (sent, received) = (sent + report.sent, received + report.messages);
            one = one.or(report.unreceived.map(|(source, tag)| (source, rank, tag)));
        }
        let left = sent.checked_sub(received).filter(|&left| left > 0)?;
        let [messages, were] = if left == 1 { ["message", "was"] } else { ["messages", "were"] };
        let one = one.map_or(String::new(), |(source, rank, tag)| {
            format!(", as one from rank {source} to rank {rank} with tag {tag}")
        });
        Some(format!(
            "{left} {messages} {were} sent and never received{one}: receives are missing in the program"
        ))
    }

    /// The measurements of a program, by the marks of its ranks.
    fn measured(&self, of: &Measures, processes: &Processes) -> MeasuredTable {
        let mut marks = vec![];
        for (node, _, measurements) in &processes.measurements {
            let rank = self.placement.rank(*node, 0).map(|rank| rank as usize);
            if let Some(rank) = rank.filter(|rank| of.ranks.contains(rank)) {
                let rank = (rank - of.ranks.start) as u32;
                marks.extend(measurements.iter().map(|mark| (rank, mark.key, mark.value)));
            }
        }
        // Microticks of a second.
        let second = self.study.machine.ticks_per_second() as f64 * 1e6;
        let mut table = (of.read)(&of.hops, &Marks::new(of.ranks.len() as u32, marks, second));
        if let Some(job) = &of.job {
            table.title = format!("{job}: {}", table.title);
        }
        table.into()
    }

    /// What some ranks did, and what those wait for that have not ended.
    fn figures(&self, ranks: Range<usize>) -> (ProgramFigures, Vec<String>) {
        let us = |time: Microticks| self.study.micros(1) * time.0 as f64 / 1e6;
        let (first, count) = (ranks.start, ranks.len() as u32);
        let mut figures = ProgramFigures { ranks: count, ..ProgramFigures::default() };
        let (mut ends, mut waiting) = (vec![], vec![]);
        for (rank, report) in self.reports[ranks].iter().enumerate() {
            let report = report.lock().expect("the run is over");
            figures.messages += report.messages;
            figures.message_bytes += report.message_bytes;
            figures.rendezvous += report.rendezvous;
            // All ranks take part in each.
            figures.hardware_collectives = figures.hardware_collectives.max(report.hardware_collectives);
            figures.compute_us += us(report.compute) / f64::from(count);
            figures.software_us += us(report.software) / f64::from(count);
            figures.injection_us += us(report.injection) / f64::from(count);
            figures.partner_us += us(report.partner) / f64::from(count);
            figures.wire_us += us(report.wire) / f64::from(count);
            figures.queueing_us += us(report.queueing) / f64::from(count);
            match report.ended_at {
                Some(end) => ends.push(us(end)),
                None => {
                    let awaited = timeline::awaited(report.waits_for, report.sends_to, report.collective);
                    waiting.push(format!("rank {} waits for {awaited}", first + rank));
                }
            }
        }
        figures.last_end_us = ends.iter().copied().fold(0.0, f64::max);
        figures.mean_end_us = ends.iter().sum::<f64>() / (ends.len() as f64).max(1.0);
        (figures, waiting)
    }
}

/// Maps ranks to the nodes of a machine or a job, as the study sets. Errors name `key` if there are too many.
fn mapping(study: &ResolvedStudy, shape: &Shape, ranks: u32, key: &str) -> Result<Mapping, Problem> {
    let at = |key: &str, message: String| study.impossible(ConfigError { key: key.into(), message });
    let mut mapping = study.study.mapping.clone();
    if let MappingConfig::File(file) = &mut mapping {
        *file = study.path_of(file);
    }
    Mapping::new(&mapping, shape, ranks, study.study.seed).map_err(|e| match e {
        MappingError::TooManyRanks { .. } => at(key, e.to_string()),
        _ => at("mapping", e.to_string()),
    })
}

/// The report of a rank on a node.
fn report(study: &ResolvedStudy, node: u32) -> Arc<Mutex<RankReport>> {
    let timeline = timeline::of_rank(study, node);
    Arc::new(Mutex::new(RankReport { timeline, ..RankReport::default() }))
}

/// Rejects messages that have no route around dead nodes and links of a torus.
fn check_reach(
    study: &ResolvedStudy,
    program: &RankPrograms,
    nodes: &[u32],
    hops: &Hops,
) -> Result<(), Problem> {
    match study.network.torus() {
        Some(_) => reach::check(study, program, nodes, hops).map_err(|e| study.impossible(e)),
        None => Ok(()),
    }
}

/// The programs of a workload of ranks, on `nodes` nodes.
fn programs(study: &ResolvedStudy, workload: &WorkloadConfig, nodes: u32) -> Result<RankPrograms, Problem> {
    match workload.runs() {
        Runs::Ranks(ranks) => ranks.rank_programs(nodes).map_err(|e| study.impossible(e)),
        _ => unreachable!("only these are programs of ranks"),
    }
}
