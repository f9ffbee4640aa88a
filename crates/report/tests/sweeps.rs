//! Sweeps by the real simulator: which of their points are saturated, how long programs run, and what becomes
//! of claims.

use netloom_report::claims::{Judged, Verdict};
use netloom_report::sweep::{self, Outcome};
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::run::Quiet;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A sweep that has run, with what it left.
struct Swept {
    folder: tempfile::TempDir,
    outcomes: Vec<Outcome>,
    claims: Vec<Judged>,
    text: String,
}

impl Swept {
    fn new(text: &str, directory: &Path) -> Swept {
        let study: ResolvedStudy = resolve(SourceFile::new("study.toml", text), directory, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let quiet = AtomicBool::new(false);
        let outcomes = sweep::run(&study, &Fabric, folder.path(), &Quiet(&quiet), 1).unwrap();
        let claims = sweep::judge(&study, &outcomes, folder.path()).unwrap();
        let text = sweep::summary(&study, &outcomes, &claims);
        Swept { folder, outcomes, claims, text }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.read("sweep.json")).unwrap()
    }

    /// A column of the sweep's table, as text.
    fn column(&self, name: &str) -> Vec<String> {
        let file = std::fs::File::open(self.folder.path().join("sweep.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let cell = |row: &Row| match row.get_column_iter().find(|(column, _)| *column == name) {
            Some((_, Field::Str(text))) => text.clone(),
            Some((_, field)) => field.to_string(),
            None => panic!("no column {name}"),
        };
        rows.iter().map(cell).collect()
    }
}

fn assert_mentions(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

/// Static routing on a 4x4x4 torus carries a tenth of the links' rate, but not 95%.
#[test]
fn saturated_points_are_marked() {
    let swept = Swept::new(
        "name = 'load'\nmachine = 'bgl'\nset.topology.dims = [4, 4, 4]\nworkload.kind = 'uniform'\n\
         traffic.routing = 'static'\n\
         measure = { until = 'time', time_us = 600, warmup_us = 200, window_us = 20, per_link = false }\n\
         [sweep]\ntraffic.load.link_utilization = [0.1, 0.95]\n\
         [[claim]]\nsays = 'more load, more traffic'\nof = 'throughput.accepted'\n\
         at = { 'traffic.load.link_utilization' = 0.95 }\nover = { 'traffic.load.link_utilization' = 0.1 }\n\
         between = [2.0, 9.0]\n\
         [[claim]]\nsays = 'all of it'\nof = 'throughput.accepted'\n\
         at = { 'traffic.load.link_utilization' = 0.95 }\nover = { 'traffic.load.link_utilization' = 0.1 }\n\
         between = [9.4, 9.6]\n\
         [[claim]]\nsays = 'nobody ran it'\nof = 'throughput.accepted'\n\
         at = { 'traffic.load.link_utilization' = 0.5 }\nbetween = [0.0, 1.0]\n",
        Path::new("."),
    );
    let of = |i: usize| swept.outcomes[i].result.as_ref().unwrap().throughput.clone().unwrap();
    let (light, heavy) = (of(0), of(1));
    assert_eq!((light.saturated, heavy.saturated, light.unit.as_str()), (Some(false), Some(true), "MB/s"));
    let (offered, half) = (light.offered.unwrap(), light.accepted_half_width_95.unwrap());
    assert!((light.accepted - offered).abs() < 2.0 * half && half < 0.05 * offered, "{light:?}");
    assert!((heavy.offered.unwrap() / offered - 9.5).abs() < 1e-9);
    assert!(heavy.accepted < 0.9 * heavy.offered.unwrap(), "{heavy:?}");
    // The table for programs, and that for people.
    assert_eq!(swept.column("ended"), ["time-limit", "time-limit"]);
    assert_eq!(swept.column("saturated"), ["false", "true"]);
    assert_eq!(swept.json()["points"][1]["figures"]["saturated"], true);
    assert_eq!(swept.column("warnings"), ["", ""]);
    assert_eq!(swept.column("folder")[0], "points/link_utilization=0.1");
    for (column, value) in [
        ("offered_MB_per_s", heavy.offered.unwrap()),
        ("accepted_MB_per_s", heavy.accepted),
        ("accepted_half_width_MB_per_s", heavy.accepted_half_width_95.unwrap()),
    ] {
        assert_eq!(swept.column(column)[1].parse::<f64>().unwrap(), value, "{column}");
    }
    assert_mentions(
        &swept.text,
        &["offered MB/s", " \u{b1} ", "saturated", "time limit", "points/link_utilization=0.95"],
    );
    // Total latency beside the network's; the saturated point hollow.
    let svg = swept.read("sweep-total-latency-mean-ns.svg");
    assert_mentions(&svg, &["stroke-dasharray", ">total latency<", ">network latency<", ">saturated: "]);
    assert_eq!(
        svg.matches("r=\"4\" style=\"fill:var(--paper);stroke:var(--c0)").count(),
        1,
        "of the network's curve"
    );
    assert_mentions(
        &swept.read("points/link_utilization=0.95/report.html"),
        &["<b>Saturated:</b> the network accepts "],
    );
    // Claims.
    let verdicts: Vec<Verdict> = swept.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [Verdict::Holds, Verdict::Fails, Verdict::NotJudged]);
    assert_mentions(
        &swept.text,
        &["Claim holds: more load", "Claim FAILS: all of it (", "Claim not judged: nobody ran it"],
    );
    assert_eq!(swept.json()["claims"][1]["verdict"], "fails");
    assert_mentions(&swept.read("report.html"), &["<b>Claim:</b> FAILS: all of it"]);
}

#[test]
fn programs_have_run_times_and_may_stall() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |tag: u32| {
        format!(
            "num_ranks 2\nrank 0 {{\nl1: calc 90000\nl2: send 40000b to 1 tag 3\nl2 requires l1\n}}\n\
             rank 1 {{\nl1: recv 40000b from 0 tag {tag}\n}}\n"
        )
    };
    std::fs::write(folder.path().join("good.goal"), trace(3)).unwrap();
    std::fs::write(folder.path().join("lost.goal"), trace(4)).unwrap();
    let study = |axis: &str| {
        format!(
            "name = 'programs'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\n\
             workload = {{ kind = 'trace', file = 'good.goal' }}\n[sweep]\n{axis}\n"
        )
    };
    let swept = Swept::new(&study("link.bandwidth_GB_per_s = [0.175, 0.04375]"), folder.path());
    let times: Vec<f64> = swept.column("run_time_us").iter().map(|us| us.parse().unwrap()).collect();
    assert!(times[0] > 90.0 && times[1] > times[0] + 100.0, "{times:?}");
    assert_eq!(swept.column("ended"), ["finished", "finished"]);
    assert_mentions(&swept.text, &["run time us", "finished"]);
    assert_mentions(&swept.read("sweep-run-time-us.svg"), &["Run time, until the last rank ended"]);
    assert_eq!(sweep::failures(&swept.outcomes), None);
    let swept = Swept::new(&study("workload.file = ['good.goal', 'lost.goal']"), folder.path());
    let failures = sweep::failures(&swept.outcomes).expect("one stalls");
    assert_eq!(failures, "1 of 2 points stalled, the first points/file=lost.goal");
    assert_eq!(
        (swept.column("ended")[1].as_str(), swept.column("run_time_us")[1].as_str()),
        ("stalled", "NaN")
    );
    assert_mentions(&swept.column("warnings")[1], &["1 of 2 ranks never end"]);
    assert_mentions(&swept.text, &["stalled", "WARNING: file=lost.goal: 1 of 2 ranks never end"]);
    assert_mentions(&swept.read("report.html"), &["Points that cannot be used:"]);
    assert_eq!(swept.json()["points"][1]["ended"], "stalled");
}

/// What programs measure by size stands side by side; what they measure once is a column like others.
#[test]
fn what_programs_measure_is_compared() {
    let study = |sizes: &str| {
        format!(
            "name = 'p2p'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\n\
             workload = {{ kind = 'point-to-point', program = 'latency', sizes_B = {sizes}, iterations = 2 }}\n\
             [sweep]\nworkload.partner = ['nearest', 'farthest']\n\
             [[claim]]\nsays = 'farther is later'\nof = 'measured.KEY'\nat = {{ 'workload.partner' = 'farthest' }}\n\
             over = {{ 'workload.partner' = 'nearest' }}\nbetween = [1.01, 10.0]\n"
        )
    };
    let by_size = study("[8, 512]").replace("KEY", "latency_us_at_8_B");
    let swept = Swept::new(&by_size, Path::new("."));
    assert_eq!(swept.claims[0].verdict, Verdict::Holds, "{}", swept.text);
    let table = swept.text.split("Latency us\n").nth(1).expect("a table of its own");
    let rows: Vec<Vec<&str>> = table.lines().take(4).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["message", "B", "8", "512"]);
    assert_eq!((rows[2][0], rows[3][0]), ("nearest", "farthest"), "below a rule");
    let at_8: Vec<f64> = swept.column("latency_us_at_8_B").iter().map(|cell| cell.parse().unwrap()).collect();
    assert!(at_8[0] < at_8[1], "{at_8:?}");
    assert_eq!(swept.json()["points"][1]["figures"]["latency_us_at_8_B"], at_8[1]);
    assert_mentions(&swept.read("latency-us.svg"), &[">nearest<", ">farthest<", ">message B<"]);
    assert_mentions(&swept.read("report.html"), &["<h2>Latency us</h2>", "<td>farthest</td>"]);

    let once = Swept::new(&study("[64]").replace("KEY", "latency_us"), Path::new("."));
    assert_eq!(once.claims[0].verdict, Verdict::Holds, "{}", once.text);
    assert_mentions(&once.text, &["latency us"]);
    assert_mentions(&once.read("sweep-latency-us.svg"), &["Latency: latency"]);
}

/// Uniform traffic with static routing, which carries 0.1 of the links' rate, but not 0.95.
fn searched(search: &str) -> String {
    format!(
        "name = 'search'\nmachine = 'bgl'\nset.topology.dims = [4, 4, 4]\nworkload.kind = 'uniform'\n\
         traffic.routing = 'static'\n\
         measure = {{ until = 'time', time_us = 300, warmup_us = 100, window_us = 20, per_link = false }}\n\
         [sweep]\nrouter.paths = [1, 2]\n\
         [sweep.saturation]\nload = 'traffic.load.link_utilization'\n{search}\n"
    )
}

#[test]
fn saturation_is_found_by_bisection() {
    let swept = Swept::new(&searched("from = 0.1\nto = 0.9\ntolerance = 0.1"), Path::new("."));
    let json = swept.json();
    for (i, found) in json["saturation"].as_array().expect("a list").iter().enumerate() {
        let [low, high] = ["keeps_up_at", "saturated_at"].map(|key| found[key].as_f64().expect("a load"));
        assert!(low < high && high - low <= 0.1 + 1e-9 && (0.1..0.9).contains(&low), "{found}");
        assert_eq!(
            (&found["load"], &found["parameters"]["router.paths"]),
            (&found["keeps_up_at"], &(i + 1).into())
        );
    }
    // Both ends, and three halvings of 0.8, for each of the two.
    assert_eq!(swept.outcomes.len(), 2 * (2 + 3));
    let loads: Vec<f64> =
        swept.column("traffic_load_link_utilization").iter().map(|cell| cell.parse().unwrap()).collect();
    assert!(
        loads[..5].is_sorted() && loads[5..].is_sorted() && (loads[0], loads[4]) == (0.1, 0.9),
        "{loads:?}"
    );
    let found = json["saturation"][0]["load"].to_string();
    assert_eq!(swept.column("saturation_load")[..5], [found.as_str(); 5]);
    assert_mentions(
        &swept.text,
        &["\nSaturation\npaths  saturation link_utilization  saturated at  most accepted MB/s\n"],
    );
    assert_mentions(&swept.read("sweep-saturation-load.svg"), &[">Saturation load<", ">router.paths<"]);
    assert_mentions(
        &swept.read("report.html"),
        &["<h2>Saturation</h2>", "<h2>What limits these points</h2>", "The network is saturated"],
    );

    // The same command finds all points there, and its table repeats the search.
    let written = swept.read("sweep.toml");
    let again = resolve(SourceFile::new("sweep.toml", &written), Path::new("."), &[]).unwrap();
    assert!(sweep::holds(swept.folder.path(), &again), "{written}");
    let quiet = AtomicBool::new(false);
    let outcomes = sweep::run(&again, &Fabric, swept.folder.path(), &Quiet(&quiet), 2).unwrap();
    assert!(outcomes.len() == 10 && outcomes.iter().all(|outcome| outcome.kept));
    assert_eq!(swept.json()["saturation"], json["saturation"]);
}

#[test]
fn a_search_reports_where_saturation_is_not() {
    let never = Swept::new(&searched("from = 0.1\nto = 0.2"), Path::new("."));
    assert_eq!(never.outcomes.len(), 4, "only the ends");
    assert_mentions(&never.text, &["above 0.2000"]);
    assert_mentions(&never.read("sweep-saturation-load.svg"), &[">not saturated up to this load<"]);
    assert!(never.json()["saturation"][0]["load"].is_null());
    assert_eq!(never.column("saturation_load")[0], "NaN");
    let at_once = Swept::new(&searched("from = 0.9\nto = 0.95\naccepted_fraction = 0.99"), Path::new("."));
    assert_mentions(&at_once.text, &["below 0.9000"]);
}

#[test]
fn figures_are_drawn_over_the_keys_that_are_asked_for() {
    let study = |plot: &str| {
        format!(
            "name = 'plot'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\nworkload.kind = 'uniform'\n\
             traffic.load.link_utilization = 0.2\n\
             measure = {{ until = 'time', time_us = 60, per_link = false }}\n\
             [sweep]\ntraffic.routing = ['static', 'dynamic']\nrouter.paths = [1, 2]\n{plot}\n"
        )
    };
    let default = Swept::new(&study(""), Path::new("."));
    assert_mentions(&default.read("sweep-mean-utilization.svg"), &[">router.paths<", ">routing static<"]);
    let asked = Swept::new(&study("[sweep.plot]\nx = 'routing'\ncurves = 'router.paths'"), Path::new("."));
    assert_mentions(
        &asked.read("sweep-mean-utilization.svg"),
        &[">traffic.routing<", ">paths 1<", ">static<"],
    );
    assert_mentions(&asked.read("sweep.toml"), &["[sweep.plot]\nx = \"routing\"\n"]);
    let panels = Swept::new(&study("plot = { panels = ['routing'] }"), Path::new("."));
    let svgs = ["sweep-mean-utilization-1.svg", "sweep-mean-utilization-2.svg"].map(|name| panels.read(name));
    assert_mentions(&svgs[0], &[">Mean link utilization, routing static<"]);
    // The same scale: the same ticks in both.
    let ticks = |svg: &str| svg.lines().filter(|line| line.contains("text-anchor=\"end\"")).count();
    assert_eq!(ticks(&svgs[0]), ticks(&svgs[1]));
}
