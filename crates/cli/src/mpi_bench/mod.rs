//! `netloom bench mpi`: how long calls of MPI take on this library, beside other MPI libraries of this
//! computer.
//!
//! The program that measures is `examples/mpi/bench.c`, the same for all. It is compiled as `netloom cc` does
//! and run natively, then with each other library (`others.rs`), in turns, since a computer is not equally
//! fast all the time.

mod others;

use crate::args::{CompilerArgs, MpiBenchArgs};
use crate::{OK, Trouble, cc};
use netloom_report::text_table::aligned;
use netloom_shm::launch::{Bind, Job, launch};
use netloom_study::diagnose::Problem;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOURCE: &str = include_str!("../../../../examples/mpi/bench.c");
/// The argument with which the program measures collectives alone.
const COLLECTIVES: &str = "collectives";
/// Longest time of one run of the program.
const LIMIT: Duration = Duration::from_secs(120);
/// What stands before a line of the rank that prints.
const LABEL: &str = "0| ";
/// Most ranks of collectives.
const RANKS_MAX: usize = 8;

/// A figure that the program has printed.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    name: String,
    bytes: u64,
    value: f64,
    unit: String,
}

impl Figure {
    /// A line of its output: a name, a length with `B`, a value, its unit.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name @ .., bytes, "B", value, unit] = &words[..] else { return None };
        let (bytes, value, unit) = (bytes.parse().ok()?, value.parse().ok()?, (*unit).to_owned());
        Some(Figure { name: name.join(" "), bytes, value, unit })
    }

    fn is_time(&self) -> bool {
        self.unit == "us"
    }

    /// The better of two values.
    fn better(&self, a: f64, b: f64) -> f64 {
        if self.is_time() { a.min(b) } else { a.max(b) }
    }
}

/// A figure of each library.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Case {
    name: String,
    ranks: usize,
    bytes: u64,
    unit: String,
    /// This library's: the best of its runs.
    netloom: f64,
    /// Those of the others, in their order; `None` where a library does not have it.
    others: Vec<Option<f64>>,
    /// How many times as fast this library is as the best of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup: Option<f64>,
}

/// All figures: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Figures {
    /// What the other libraries call themselves.
    others: Vec<String>,
    cases: Vec<Case>,
    /// What was not measured, and why.
    left_out: Vec<String>,
}

/// The output of one run of the program: what the library calls itself, and its figures.
fn read(output: &str) -> (String, Vec<Figure>) {
    let library = output.lines().find_map(|line| line.strip_prefix("library: ")).unwrap_or_default();
    (library.trim().to_owned(), output.lines().filter_map(Figure::parse).collect())
}

/// The best of the runs of a library, in the order of its first one.
fn best(runs: &[Vec<Figure>]) -> Vec<Figure> {
    let Some((first, rest)) = runs.split_first() else { return vec![] };
    let mut best = first.clone();
    for figure in &mut best {
        let same = |of: &&Figure| (&of.name, of.bytes) == (&figure.name, figure.bytes);
        for again in rest.iter().filter_map(|run| run.iter().find(same)) {
            figure.value = figure.better(figure.value, again.value);
        }
    }
    best
}

/// The figures of all libraries side by side.
fn compare(ranks: usize, own: &[Vec<Figure>], others: &[Vec<Vec<Figure>>]) -> Vec<Case> {
    let others: Vec<Vec<Figure>> = others.iter().map(|runs| best(runs)).collect();
    let case = |figure: Figure| {
        let same = |of: &&Figure| (&of.name, of.bytes) == (&figure.name, figure.bytes);
        let others: Vec<Option<f64>> =
            others.iter().map(|list| list.iter().find(same).map(|of| of.value)).collect();
        let other = others.iter().flatten().copied().reduce(|a, b| figure.better(a, b));
        let speedup = |other: f64| if figure.is_time() { other / figure.value } else { figure.value / other };
        Case { speedup: other.map(speedup), ranks, netloom: figure.value, others, ..Case::of(figure) }
    };
    best(own).into_iter().map(case).collect()
}

impl Case {
    fn of(Figure { name, bytes, value, unit }: Figure) -> Self {
        Case { name, ranks: 0, bytes, unit, netloom: value, others: vec![], speedup: None }
    }
}

/// Compiles the program into a folder, as `netloom cc` does.
fn compile(folder: &Path, out: &mut dyn Write) -> Result<PathBuf, Trouble> {
    let (source, program) = (folder.join("bench.c"), folder.join("bench"));
    std::fs::write(&source, SOURCE)?;
    let args = ["-O2".into(), "-o".into(), program.clone().into(), source.into()].to_vec();
    match cc::compile(&cc::C, &CompilerArgs { args, ..CompilerArgs::default() }, out)? {
        OK => Ok(program),
        _ => Err(Problem::new("the benchmark cannot be compiled")
            .help("Build MPI's library: `cargo build --release -p netloom-mpi-abi`")
            .into()),
    }
}

/// Runs the program on this library; returns what it has printed.
fn run_natively(
    program: &Path,
    ranks: usize,
    arguments: &[&str],
    err: &mut dyn Write,
) -> Result<String, Problem> {
    let job = Job {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        tasks: ranks as u32,
        bind: Bind::Auto,
        // Otherwise it prints by itself.
        label: true,
        time_limit: Some(LIMIT),
        grace: Duration::from_secs(1),
        environment: vec![],
        folder: None,
        libraries: cc::library_folder(),
        universe: None,
    };
    let mut printed = vec![];
    let outcome = launch(&job, &mut printed, err).map_err(|error| Problem::new(error.to_string()))?;
    if outcome.status() != OK {
        return Err(Problem::new(format!("the benchmark failed: {outcome}")));
    }
    let text = String::from_utf8_lossy(&printed);
    Ok(text.lines().map(|line| line.strip_prefix(LABEL).unwrap_or(line).to_owned() + "\n").collect())
}

/// Runs the benchmark.
pub fn bench(args: &MpiBenchArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Trouble> {
    let folder = tempfile::tempdir()?;
    let program = compile(folder.path(), err)?;
    let (found, mut left_out) = others::find(&args.beside, &program, folder.path());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let many = cores.min(RANKS_MAX);
    if many == 2 {
        left_out.push("Collectives of more than 2 ranks: this process may use 2 cores.".into());
    }
    let all: &[&str] = if args.quick { &[COLLECTIVES] } else { &[] };
    let mut plan = vec![(2, all)];
    plan.extend((many > 2 && !args.quick).then_some((many, &[COLLECTIVES][..])));
    let rounds = if args.quick { 1 } else { 3 };
    let mut names = vec![String::new(); found.len()];
    let mut cases = vec![];
    for (ranks, arguments) in plan {
        let mut own = vec![];
        let mut theirs: Vec<Vec<Vec<Figure>>> = vec![vec![]; found.len()];
        for round in 1..=rounds {
            writeln!(err, "netloom: {ranks} ranks, run {round} of {rounds}")?;
            own.push(read(&run_natively(&program, ranks, arguments, err)?).1);
            for (at, other) in found.iter().enumerate() {
                match other.run(ranks, arguments, LIMIT) {
                    Ok(printed) => {
                        let (name, figures) = read(&printed);
                        names[at] = name;
                        theirs[at].push(figures);
                    }
                    Err(reason) => left_out.push(reason),
                }
            }
        }
        cases.extend(compare(ranks, &own, &theirs));
    }
    if cases.is_empty() {
        return Err(Problem::new("the benchmark has printed no figures").into());
    }
    left_out.dedup();
    let others = found.iter().zip(names).map(|(other, name)| other.named(name)).collect();
    let figures = Figures { others, cases, left_out };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &figures).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&figures))?;
    }
    Ok(OK)
}

/// The figures as a table, for people.
fn table(figures: &Figures) -> String {
    let mut head = ["what", "ranks", "bytes", "netloom"].map(str::to_owned).to_vec();
    head.extend((1..=figures.others.len()).map(|n| format!("other {n}")));
    head.extend(["unit", "speedup"].map(str::to_owned));
    let value = |value: f64| format!("{value:.3}");
    let rows = figures.cases.iter().map(|case| {
        let mut row =
            vec![case.name.clone(), case.ranks.to_string(), case.bytes.to_string(), value(case.netloom)];
        row.extend(case.others.iter().map(|of| of.map_or(String::new(), value)));
        row.push(case.unit.clone());
        row.push(case.speedup.map_or(String::new(), |speedup| format!("{speedup:.2}")));
        row
    });
    let mut text = aligned(&head, &rows.collect::<Vec<_>>());
    for (n, name) in (1..).zip(&figures.others) {
        text += &format!("\nOther {n}: {name}");
    }
    for reason in &figures.left_out {
        text += &format!("\nLeft out: {reason}");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "library: Some MPI 1.0\n\
        half round trip                8 B        0.150 us\n\
        message rate                   8 B        7.600 million/s\n\
        pack, vector, 1 of 2 doubles   262144 B   6.000 us\n\
        warning: something else\n";

    #[test]
    fn figures_are_read_from_the_lines_of_the_program() {
        let (library, figures) = read(OUTPUT);
        assert_eq!((&*library, figures.len()), ("Some MPI 1.0", 3));
        assert_eq!((&*figures[0].name, figures[0].bytes, figures[0].value), ("half round trip", 8, 0.15));
        assert_eq!((&*figures[2].name, &*figures[2].unit), ("pack, vector, 1 of 2 doubles", "us"));
    }

    #[test]
    fn ratios_are_those_of_the_best_runs_and_of_the_best_other_library() {
        let run = |time: f64, rate: f64| {
            let mut figures = read(OUTPUT).1;
            (figures[0].value, figures[1].value) = (time, rate);
            figures
        };
        let others = [vec![run(0.8, 2.0), run(0.6, 1.0)], vec![run(0.9, 4.0)], vec![]];
        let cases = compare(2, &[run(0.4, 8.0), run(0.2, 6.0)], &others);
        assert_eq!((cases[0].netloom, &*cases[0].others), (0.2, &[Some(0.6), Some(0.9), None][..]));
        assert!((cases[0].speedup.unwrap() - 3.0).abs() < 1e-9);
        assert_eq!((cases[1].netloom, cases[1].speedup), (8.0, Some(2.0)));
        let figures =
            Figures { others: vec!["Some MPI 1.0".into(); 3], cases, left_out: vec!["Open MPI.".into()] };
        let text = table(&figures);
        assert!(
            text.contains("speedup") && text.contains("3.00") && text.contains("Left out: Open MPI."),
            "{text}"
        );
    }
}
