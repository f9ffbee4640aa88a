//! Checkpoints of a run between two ticks: a file from which the same command continues, with the same result
//! to the bit, on any number of threads and processes.
//!
//! What a study builds is built again. The file has what the run has changed of it, the study, and which
//! `netloom` wrote it: another one may lay out its state otherwise, so it refuses.

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Peers, gather};
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::run::Checkpoints;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// How a file begins.
const MAGIC: &[u8; 20] = b"netloom checkpoint 2";

/// The state of a run.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) struct RunState {
    /// The study, without what may change between two parts of a run.
    study: String,
    /// Fewest blocks that its network was built with.
    pub blocks_min: usize,
    /// See [`Course`].
    pub course: Course,
    /// The network as each process has it; taken once.
    network: Vec<Vec<u8>>,
}

/// How far a run is, beside its network.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Course {
    /// When its warm-up ends, ticks, if that is known.
    pub warmup_end: Option<u64>,
    /// Since when it counts, ticks.
    pub counted_from: u64,
    /// Its wall time, seconds.
    pub wall_s: f64,
}

/// The checkpoints of a run.
pub(crate) struct RunCheckpoints<'a> {
    to: &'a Checkpoints,
    /// The state that the run continues from, without its network.
    pub begin: Option<RunState>,
    network: Mutex<Vec<Vec<u8>>>,
    /// The checksum of the file that this was read from.
    checksum: Option<u32>,
}

/// The study as far as one run of it can follow another: when it ends, its title and what is expected of it
/// may be changed meanwhile.
fn continued(study: &ResolvedStudy) -> String {
    let mut same = study.clone();
    same.study.title.clear();
    same.study.expect.clear();
    (same.study.measure.time_us, same.study.measure.max_time_us) = (None, None);
    // What follows from the length of the run if the study does not set it.
    format!("{}# windows of {} ticks\n", same.to_toml(), study.window())
}

/// The first line that two texts do not have in common, in each.
fn difference<'a>(a: &'a str, b: &'a str) -> [&'a str; 2] {
    let mut lines = a.lines().zip(b.lines());
    lines.find(|(a, b)| a != b).map_or(["", ""], |(a, b)| [a.trim(), b.trim()])
}

impl<'a> RunCheckpoints<'a> {
    /// Of a run of this study, among several processes if there are others: it continues from the file, if
    /// that is there.
    ///
    /// # Errors
    /// If the study has no checkpoints, the file is not one of it or not the same for all processes, or none
    /// can be written.
    pub fn of(
        study: &ResolvedStudy,
        to: &'a Checkpoints,
        among: Option<&Arc<dyn Peers>>,
    ) -> Result<Self, Problem> {
        let own = Self::of_process(study, to, among.is_none_or(|peers| peers.rank() == 0));
        let Some(peers) = among else { return own };
        // What one of them finds ends all.
        let found = own.as_ref().map(|of| of.checksum).map_err(|problem| problem.message.clone());
        let all = gather(&**peers, &found);
        let own = own?;
        if let Some(why) = all.iter().find_map(|of| of.as_ref().err()) {
            return Err(Problem::new(why.clone()));
        }
        if all.iter().any(|of| *of != all[0]) {
            let what = format!("{} is not the same file for all processes", to.file.display());
            return Err(Problem::new(what).help("give a file that all of them share"));
        }
        Ok(own)
    }

    /// As far as one process can tell; whether it is the one that writes.
    fn of_process(study: &ResolvedStudy, to: &'a Checkpoints, is_writer: bool) -> Result<Self, Problem> {
        if study.study.workload.runs_programs() {
            let what = "programs have no checkpoints, only synthetic traffic has: where a program is in its code, \
                        and what it has in its variables, cannot be written";
            return Err(Problem::new(what).help("leave out --checkpoint"));
        }
        if build().is_none() {
            let what = "the program's own file cannot be read, which tells whose checkpoints it can read";
            return Err(Problem::new(what));
        }
        let (mut begin, checksum) = match fs::File::open(&to.file) {
            Ok(file) => read(file, &to.file).map(|(state, sum)| (Some(state), Some(sum)))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => (None, None),
            Err(e) => return Err(Problem::new(format!("cannot read {}: {e}", to.file.display()))),
        };
        let own = continued(study);
        if let Some(state) = begin.as_ref().filter(|state| state.study != own) {
            let [theirs, ours] = difference(&state.study, &own);
            let what = format!("{} is a checkpoint of another study", to.file.display());
            let help =
                format!("there: {theirs}\nhere: {ours}\nto begin anew, remove the file, or give another one");
            return Err(Problem::new(what).help(help));
        }
        let network = begin.as_mut().map(|state| std::mem::take(&mut state.network)).unwrap_or_default();
        let checkpoints = RunCheckpoints { to, begin, network: Mutex::new(network), checksum };
        if is_writer {
            // Before the run, not at its end.
            let part = checkpoints.part();
            let tried = fs::File::create(&part).and_then(|_| fs::remove_file(part));
            tried.map_err(|e| checkpoints.problem("write", &e))?;
        }
        Ok(checkpoints)
    }

    /// The network that the run continues from, as each process had it; once.
    pub fn take_network(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.network.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file that becomes the next one when it is complete; another process has another one.
    fn part(&self) -> PathBuf {
        let mut name = self.to.file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".part-{}", std::process::id()));
        self.to.file.with_file_name(name)
    }

    /// Whether the time for another one has come since the previous one.
    pub fn is_due(&self, previous: Instant) -> bool {
        previous.elapsed() >= self.to.every
    }

    /// Writes one, in place of the previous one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(
        &self,
        study: &ResolvedStudy,
        blocks_min: usize,
        course: Course,
        network: Vec<Vec<u8>>,
    ) -> io::Result<()> {
        let state = RunState { study: continued(study), blocks_min, course, network };
        let body = borsh::to_vec(&state)?;
        // The previous one stays until this one is complete.
        let part = self.part();
        let mut file = fs::File::create(&part)?;
        file.write_all(MAGIC)?;
        file.write_all(&build().unwrap_or_default().to_le_bytes())?;
        file.write_all(&crc32fast::hash(&body).to_le_bytes())?;
        file.write_all(&body)?;
        file.sync_all()?;
        fs::rename(&part, &self.to.file)
    }

    /// A problem with the file.
    pub fn problem(&self, what: &str, e: &io::Error) -> Problem {
        Problem::new(format!("cannot {what} the checkpoint {}: {e}", self.to.file.display()))
    }
}

/// The state in a file, and its checksum.
fn read(mut file: fs::File, path: &Path) -> Result<(RunState, u32), Problem> {
    let refuse = |why: &str, help: &str| -> Result<(RunState, u32), Problem> {
        Err(Problem::new(format!("{} {why}", path.display())).help(help))
    };
    let anew = "to begin anew, remove the file, or give another one";
    let mut bytes = vec![];
    if let Err(e) = file.read_to_end(&mut bytes) {
        return Err(Problem::new(format!("cannot read {}: {e}", path.display())));
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return refuse(
            "is no checkpoint of netloom",
            "give another file: a checkpoint would replace this one",
        );
    };
    let Some(([of_build, of_body], body)) = rest.split_first_chunk::<8>().map(|(sums, body)| {
        let sum = |at: usize| u32::from_le_bytes([sums[at], sums[at + 1], sums[at + 2], sums[at + 3]]);
        ([sum(0), sum(4)], body)
    }) else {
        return refuse("is cut off", anew);
    };
    if Some(of_build) != build() {
        let help = format!("the one that wrote it can continue from it; {anew}");
        return refuse("was written by another build of netloom", &help);
    }
    if crc32fast::hash(body) != of_body {
        return refuse("is damaged", anew);
    }
    match borsh::from_slice(body) {
        Ok(state) => Ok((state, of_body)),
        Err(e) => refuse(&format!("is damaged: {e}"), anew),
    }
}

/// Which build of the program this is, if that can be found out. Asked before the run: its file may be
/// replaced meanwhile, and on Linux even then this one is read.
fn build() -> Option<u32> {
    static BUILD: OnceLock<Option<u32>> = OnceLock::new();
    *BUILD.get_or_init(|| {
        let program = fs::read("/proc/self/exe").or_else(|_| std::env::current_exe().and_then(fs::read));
        program.ok().map(|bytes| crc32fast::hash(&bytes))
    })
}
