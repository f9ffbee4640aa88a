//! What a run and a sweep leave behind.

mod common;

use common::Fake;
use netloom_report::folder::{IfExists, output_folder};
use netloom_report::{sweep, write};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, load, resolve};
use netloom_study::result::RunResult;
use netloom_study::run::{Quiet, Simulate};
use netloom_study::study::Study;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static GO_ON: AtomicBool = AtomicBool::new(false);

fn small() -> ResolvedStudy {
    load("all-to-all", &["topology.dims=[4,4,2]".into()]).unwrap()
}

fn simulate(study: &ResolvedStudy) -> RunResult {
    Fake::default().simulate(study, &Quiet(&GO_ON), 1).unwrap()
}

/// For people who look: `NETLOOM_LOOK=DIR` keeps the pages of some shapes there.
#[test]
fn all_shapes_can_be_drawn() {
    let keep = std::env::var_os("NETLOOM_LOOK");
    let temporary = tempfile::tempdir().unwrap();
    let root = keep.as_ref().map_or(temporary.path(), |k| Path::new(k));
    let mut shapes =
        vec!["[8]", "[8,8]", "[8,8,1]", "[4,4,4]", "[16,8,4]", "[3,5,2,2,2]", "[2,2,2,2,2]", "[1,1,120]"];
    if keep.is_some() {
        shapes.push("[32,32,32]");
        shapes.push("[64,32,32]");
    }
    for dims in shapes {
        let study = load("all-to-all", &[format!("topology.dims={dims}")]).unwrap();
        let folder = root.join(dims.replace(['[', ']'], "").replace(',', "x"));
        write::write_all(&folder, &study, &simulate(&study), &[]).unwrap();
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(page.contains("Link utilization over the torus") && page.contains("Latency of packets"));
        // Pictures are text in which anything may stand; what is drawn around them is looked at.
        let drawn: String =
            page.split("base64,").map(|part| part.split_once('"').map_or(part, |p| p.1)).collect();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf\""), "{dims}");
        // Self-contained: nothing is loaded from elsewhere.
        assert!(!page.contains("src=\"http") && !page.contains("<script src") && !page.contains("@import"));
    }
}

#[test]
fn a_summary_reads_back_as_it_was() {
    let (study, folder) = (small(), tempfile::tempdir().unwrap());
    let result = simulate(&study);
    write::write_all(folder.path(), &study, &result, &[]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("summary.json")).unwrap();
    let mut back: RunResult = serde_json::from_str(&text).unwrap();
    back.series.clone_from(&result.series);
    back.per_link.clone_from(&result.per_link);
    back.latency.network.bins.clone_from(&result.latency.network.bins);
    back.latency.total.bins.clone_from(&result.latency.total.bins);
    assert!(back == result, "what is read back differs");
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["configuration"]["machine"]["topology"]["dims"], serde_json::json!([4, 4, 2]));
    assert_eq!(summary["configuration"]["seed"], 1);
    assert_eq!(summary["host"]["threads"], 1);
}

#[test]
fn only_host_depends_on_the_computer() {
    let (study, fake) = (small(), Fake::default());
    let json = |threads| {
        let result = fake.simulate(&study, &Quiet(&GO_ON), threads).unwrap();
        let mut value: serde_json::Value =
            serde_json::from_str(&write::summary::to_json(&study, &result, &[])).unwrap();
        value.as_object_mut().unwrap().remove("host");
        value
    };
    assert_eq!(json(1), json(2));
}

#[test]
fn the_study_of_a_folder_repeats_the_run() {
    for (name, _) in netloom_study::library::STUDIES {
        let study = load(name, &["topology.dims=[8,8,8]".into()]);
        let study = study.or_else(|_| load(name, &[])).unwrap();
        let again = resolve(SourceFile::new("study.toml", study.to_toml()), Path::new("."), &[]).unwrap();
        // The machine is written whole, with its size.
        assert_eq!(again.study, Study { nodes: None, ..study.study });
        assert_eq!(again.machine, study.machine);
    }
}

#[test]
fn tables_read_back() {
    let (study, folder) = (small(), tempfile::tempdir().unwrap());
    let result = simulate(&study);
    write::write_all(folder.path(), &study, &result, &[]).unwrap();
    let open = |name: &str| {
        SerializedFileReader::new(std::fs::File::open(folder.path().join(name)).unwrap()).unwrap()
    };
    let links = open("links.parquet");
    let columns: Vec<String> = links
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|c| c.name().to_owned())
        .collect();
    assert_eq!(columns[..5], ["x", "y", "z", "direction", "utilization"]);
    let rows: Vec<_> = links.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 32 * 6);
    let (row, expected) = (&rows[45], &result.per_link[45]);
    assert_eq!(row.get_long(0).unwrap() as u32, expected.node[0]);
    assert_eq!(row.get_string(3).unwrap(), "-y");
    assert_eq!(row.get_double(4).unwrap(), expected.utilization);
    let windows: usize = result.series.iter().map(|s| s.values.len()).sum();
    assert_eq!(open("series.parquet").metadata().file_metadata().num_rows() as usize, windows);
    assert_eq!(open("latency.parquet").metadata().file_metadata().num_rows(), 180);
    let series = std::fs::File::open(folder.path().join("series.parquet")).unwrap();
    assert_eq!(write::tables::read_series(series).unwrap(), result.series);
    let other = std::fs::File::open(folder.path().join("links.parquet")).unwrap();
    assert_eq!(write::tables::read_series(other), None, "another table");
}

/// A page is one file: its charts have their data and their library inside, and the drawings that are seen
/// without scripts.
#[test]
fn a_page_needs_no_other_file() {
    let (study, folder) = (small(), tempfile::tempdir().unwrap());
    write::write_all(folder.path(), &study, &simulate(&study), &[]).unwrap();
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    let data: Vec<serde_json::Value> = page
        .split("<script type=\"application/json\" class=\"data\">")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap())
        .collect();
    assert!(data.len() >= 5, "{} charts", data.len());
    for chart in &data {
        assert!(!chart["x"]["label"].as_str().unwrap().is_empty(), "{chart}");
        assert!(!chart["y"]["label"].as_str().unwrap().is_empty(), "{chart}");
        let drawn = format!("class=\"t\">{}</text>", chart["title"].as_str().unwrap());
        assert!(page.contains(&drawn), "{drawn}: the same chart without scripts");
    }
    assert!(
        page.contains("var uPlot=") && page.contains("data-cells=") && page.contains("class=\"sortable\"")
    );
    for outside in ["<script src", "<link", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// The curves over time of all points in one drawing, those of an earlier run among them; none where they
/// would be too many.
#[test]
fn few_points_of_a_sweep_are_compared_over_time() {
    let draw = |axis: &str, stop_at| {
        let axes = ["topology.dims=[4,4,2]".to_owned(), format!("sweep={{ {axis} }}")];
        let study = load("all-to-all", &axes).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = |fake: &Fake| sweep::run(&study, fake, folder.path(), &Quiet(&GO_ON), 1).unwrap();
        run(&Fake { stop_at, ..Fake::default() });
        run(&Fake::default());
        let file = folder.path().join("sweep-throughput-over-time.svg");
        std::fs::read_to_string(file).ok()
    };
    let whole = draw("\"router.paths\" = [1, 2, 4]", None).expect("drawn");
    assert_eq!(whole.matches("<path").count(), 3, "a curve a point");
    for value in ["1", "2", "4"] {
        assert!(whole.contains(&format!(">{value}</text>")), "{value} in the legend");
    }
    assert_eq!(draw("\"router.paths\" = [1, 2, 4]", Some(1)), Some(whole), "resumed");
    assert_eq!(draw("seed = [1, 2, 3, 4, 5, 6, 7, 8]", None), None, "eight points");
}

#[test]
fn nothing_is_overwritten_unless_asked() {
    let root = tempfile::tempdir().unwrap();
    let wanted = root.path().join("a");
    assert_eq!(output_folder(&wanted, IfExists::Refuse).unwrap(), wanted);
    assert!(wanted.is_dir(), "a run is kept though its folder cannot be made");
    assert_eq!(
        output_folder(&wanted, IfExists::Refuse).unwrap(),
        wanted,
        "an empty folder holds nothing to lose"
    );
    std::fs::write(wanted.join("x"), "mine").unwrap();
    let refused = |if_exists| {
        let Problem { message, help, .. } = output_folder(&wanted, if_exists).unwrap_err();
        format!("{message}; {}", help.unwrap())
    };
    assert!(!refused(IfExists::Refuse).contains("--force"), "not to be forced");
    assert!(refused(IfExists::Replace).contains("no result"), "files of others");
    std::fs::write(wanted.join("report.html"), "").unwrap();
    assert!(refused(IfExists::Refuse).contains("--force"));
    assert_eq!(output_folder(&wanted, IfExists::Replace).unwrap(), wanted);
    assert_eq!(output_folder(&wanted, IfExists::Next).unwrap(), root.path().join("a-2"));
    std::fs::write(root.path().join("a-2/x"), "mine").unwrap();
    assert_eq!(output_folder(&wanted, IfExists::Next).unwrap(), root.path().join("a-3"));
    let inside_a_file = output_folder(&wanted.join("x/y"), IfExists::Refuse).unwrap_err();
    assert!(inside_a_file.message.contains("cannot write to"), "{inside_a_file}");
}

#[test]
fn a_stopped_run_is_marked_everywhere() {
    let (study, folder) = (small(), tempfile::tempdir().unwrap());
    let fake = Fake { stop_at: Some(0), ..Fake::default() };
    let result = fake.simulate(&study, &Quiet(&GO_ON), 1).unwrap();
    write::write_all(folder.path(), &study, &result, &[]).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary["partial"], "stopped by the user");
    assert_eq!(summary["simulated"]["ended"], "interrupted");
    assert!(read("report.html").contains("Partial result"));
    assert!(
        netloom_report::terminal::summary(&study, &result, &[])
            .contains("PARTIAL RESULT: stopped by the user")
    );
}

/// A full disk: what can be written is, and the file that cannot is named.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_more_than_it_must() {
    let (study, folder) = (small(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink("/dev/full", folder.path().join(".series.parquet.part")).unwrap();
    let problem = write::write_all(folder.path(), &study, &simulate(&study), &[]).unwrap_err().render(false);
    let path = folder.path().join("series.parquet");
    for expected in ["cannot write", path.file_name().unwrap().to_str().unwrap(), "No space left"] {
        assert!(problem.contains(expected), "{expected} in {problem}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    for name in ["summary.json", "study.toml", "report.html", "links.parquet", "links-x.svg"] {
        assert!(left.iter().any(|l| l == name), "{name} of {left:?}");
    }
    assert!(!left.iter().any(|l| l.to_str().unwrap().contains("series.parquet")), "{left:?}");
}

#[test]
fn expectations_are_checked() {
    let mut study = small();
    study.study.expect.insert("links.mean_utilization".into(), (0.5, 1.0));
    let result = simulate(&study);
    assert!(netloom_study::run::unmet(&study, &result).is_empty());
    study.study.expect.insert("escape_share".into(), (0.5, 1.0));
    study.study.expect.insert("links.speed".into(), (0.5, 1.0));
    assert_eq!(netloom_study::run::unmet(&study, &result).len(), 2);
}

#[test]
fn a_sweep_goes_on_where_it_stopped() {
    let study = load("light-traffic", &["topology.dims=[4,4,4]".into()]).unwrap();
    let keep = std::env::var_os("NETLOOM_LOOK");
    let root = tempfile::tempdir().unwrap();
    let folder = keep
        .map_or(root.path().join("sweep"), |k| Path::new(&k).join(format!("sweep-{}", std::process::id())));
    let run = |fake: &Fake| sweep::run(&study, fake, &folder, &Quiet(&GO_ON), 2).unwrap();
    let first = Fake { stop_at: Some(5), ..Fake::default() };
    let outcomes = run(&first);
    assert_eq!(outcomes.len(), 12);
    assert_eq!(outcomes.iter().filter(|o| o.result.is_some()).count(), 5);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(json(&read("sweep.json"))["partial"], "7 of 12 points have not run");
    assert!(sweep::holds(&folder, &study));

    let second = Fake::default();
    let outcomes = run(&second);
    assert_eq!(second.runs.load(Ordering::Relaxed), 7, "points that were done are not run again");
    assert!(outcomes.iter().all(|o| o.result.is_some()));
    let whole = json(&read("sweep.json"));
    assert!(whole["partial"].is_null());
    assert_eq!(whole["points"][3]["parameters"]["traffic.load.link_utilization"], 0.3);
    assert_eq!(whole["points"][3]["parameters"]["traffic.routing"], "dynamic");
    assert!(folder.join("points/link_utilization=0.3,routing=dynamic/report.html").is_file());
    assert!(
        folder.join("sweep.parquet").is_file() && folder.join("sweep-total-latency-mean-ns.svg").is_file()
    );

    let other = load("light-traffic", &["topology.dims=[4,4,4]".into(), "seed=2".into()]).unwrap();
    assert!(!sweep::holds(&folder, &other));
    // The file of the sweep repeats it.
    let again = resolve(SourceFile::new("sweep.toml", read("sweep.toml")), Path::new("."), &[]).unwrap();
    assert!(sweep::holds(&folder, &again));
}

/// Several processes share a sweep: each point is run by one, and all have all results. Parts leave out the
/// points of others.
#[test]
fn processes_share_the_points_of_a_sweep() {
    let study = load("light-traffic", &["topology.dims=[4,4,4]".into()]).unwrap();
    let root = tempfile::tempdir().unwrap();
    // Slow enough that several run points at the same time.
    let fake = Fake { takes: std::time::Duration::from_millis(20), ..Fake::default() };
    let folder = root.path().join("shared");
    let run = |folder: &Path, shard| {
        sweep::create(folder, &study).unwrap();
        assert!(sweep::holds(folder, &study));
        let ran = sweep::run_and_keep(&study, &fake, (folder, shard), &Quiet(&GO_ON), 2).unwrap();
        assert!(ran.1.is_none());
        ran.0
    };
    let all: Vec<Vec<sweep::Outcome>> = std::thread::scope(|scope| {
        let processes: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&folder, None))).collect();
        processes.into_iter().map(|process| process.join().unwrap()).collect()
    });
    assert_eq!(fake.runs.load(Ordering::Relaxed), 12);
    assert!(all.iter().flatten().all(|outcome| outcome.result.is_some()));
    assert_eq!(all.iter().flatten().filter(|outcome| !outcome.kept).count(), 12);
    assert!(all.iter().all(|outcomes| outcomes.iter().any(|outcome| !outcome.kept)), "each ran some");
    let left = |name: &str| std::fs::read_dir(folder.join(name)).unwrap().flatten();
    let points: Vec<_> =
        left("points").flat_map(|point| left(&format!("points/{}", point.file_name().display()))).collect();
    assert!(points.iter().all(|file| !file.file_name().display().to_string().starts_with('.')), "{points:?}");

    let folder = root.path().join("parts");
    for number in 1..=5 {
        let outcomes = run(&folder, Some(sweep::Shard { number, count: 5 }));
        let of_part = [3, 3, 2, 2, 2][number - 1];
        assert_eq!(
            outcomes.iter().filter(|outcome| !outcome.kept && outcome.result.is_some()).count(),
            of_part
        );
        let missing = outcomes.iter().filter(|outcome| outcome.result.is_none()).count();
        assert_eq!(missing, [9, 6, 4, 2, 0][number - 1]);
    }
    assert_eq!(fake.runs.load(Ordering::Relaxed), 24);
    assert!(run(&folder, None).iter().all(|outcome| outcome.kept && outcome.result.is_some()));
    for text in ["", "3", "0/3", "4/3", "1/0", "a/b", "1/2/3"] {
        assert!(text.parse::<sweep::Shard>().is_err(), "{text}");
    }
    assert_eq!("2/3".parse(), Ok(sweep::Shard { number: 2, count: 3 }));
}

/// Runs that differ in their seed only are one bar, of their mean; names that nothing lies between are not
/// joined by a line.
#[test]
fn seeds_of_a_sweep_count_as_one() {
    let axes = "sweep={ seed = [1, 2], \"traffic.routing\" = [\"static\", \"dynamic\"] }";
    let study = load("all-to-all", &["topology.dims=[4,4,2]".into(), axes.into()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    /// Slower with the second seed.
    struct Seeded(Fake);
    impl Simulate for Seeded {
        fn run(
            &self,
            study: &ResolvedStudy,
            _: Option<&netloom_study::run::Checkpoints>,
            progress: &dyn netloom_study::run::ProgressSink,
            threads: usize,
        ) -> Result<RunResult, netloom_study::diagnose::Problem> {
            let mut result = self.0.simulate(study, progress, threads)?;
            result.latency.network.mean_ns = 26.0 + 74.0 * study.study.seed as f64;
            Ok(result)
        }
    }
    sweep::run(&study, &Seeded(Fake::default()), folder.path(), &Quiet(&GO_ON), 1).unwrap();
    let svg = std::fs::read_to_string(folder.path().join("sweep-latency-mean-ns.svg")).unwrap();
    assert_eq!((svg.matches("fill:var(--c0)").count(), svg.matches("<path").count()), (2, 0));
    assert_eq!(svg.matches(">137</text>").count(), 2, "the means");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("mean of 2 seeds with 95% intervals"));
    // 100 and 174: their mean has a half width of 12.706 times 37, and the lower end is cut at zero.
    assert_eq!(svg.matches("whisker").count(), 2 * 3, "{svg}");
}
