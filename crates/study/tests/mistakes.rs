//! Rejected studies, and how errors are reported.

use netloom_study::diagnose::SourceFile;
use netloom_study::machine::Routers;
use netloom_study::resolve::{load_machine, resolve};
use std::path::Path;

const STUDY: &str = r#"name = "mine"
machine = "bgl"

[set]
topology.dims = [8, 8, 8]

[workload]
kind = "hot-region"
region = [4, 4, 4]

[traffic]
load = { link_utilization = 0.5 }

[measure]
until = "converged"
"#;

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    match resolve(SourceFile::new("study.toml", text), Path::new("."), &sets) {
        Ok(_) => panic!("this should be refused"),
        Err(problem) => problem.render(false),
    }
}

fn changed(from: &str, to: &str) -> String {
    assert!(STUDY.contains(from));
    STUDY.replace(from, to)
}

#[test]
fn the_study_itself_is_fine() {
    resolve(SourceFile::new("study.toml", STUDY), Path::new("."), &[]).unwrap();
}

#[test]
fn an_unknown_key() {
    let text = refused(&changed("until = \"converged\"", "untill = \"converged\""), &[]);
    assert_eq!(
        text,
        "  × unknown key `measure.untill`
    ╭─[study.toml:15:1]
 14 │ [measure]
 15 │ untill = \"converged\"
    · ───┬──
    ·    ╰── not a key here
    ╰────
  help: did you mean `until`?
"
    );
}

#[test]
fn an_unknown_key_of_a_workload() {
    let text = refused(&changed("region = [4, 4, 4]", "regoin = [4, 4, 4]"), &[]);
    assert!(text.contains("unknown key `workload.regoin`") && text.contains("study.toml:9:1"), "{text}");
    assert!(text.contains("did you mean `region`?"), "{text}");
    let text = refused(&changed("kind = \"hot-region\"", "kind = \"uniform\""), &[]);
    assert!(text.contains("unknown key `workload.region`") && text.contains("study.toml:9:1"), "{text}");
}

#[test]
fn an_unknown_key_of_the_machine_in_a_study() {
    let text = refused(&changed("topology.dims", "router.pahts = 1\ntopology.dims"), &[]);
    assert!(text.contains("unknown key `router.pahts`") && text.contains("study.toml:5:8"), "{text}");
    assert!(text.contains("did you mean `paths`?"), "{text}");
}

#[test]
fn a_wrong_type() {
    let text = refused(&changed("region = [4, 4, 4]", "region = [4, 4, \"4\"]"), &[]);
    assert_eq!(
        text,
        "  × `workload.region.2` has the wrong type of value
    ╭─[study.toml:9:17]
  8 │ kind = \"hot-region\"
  9 │ region = [4, 4, \"4\"]
    ·                 ─┬─
    ·                  ╰── expected a whole number, 0 or more, found \"4\"
 10 │ 
    ╰────
"
    );
    let text = refused(&changed("topology.dims", "router.paths = \"two\"\ntopology.dims"), &[]);
    assert!(text.contains("study.toml:5:16") && text.contains("a whole number"), "{text}");
    let text = refused(&changed("region = [4, 4, 4]", "region = [4, 4, 5_000_000_000]"), &[]);
    assert!(text.contains("expected a whole number up to 4294967295, found 5000000000"), "{text}");
    let text = refused(&changed("[8, 8, 8]", "8"), &[]);
    assert!(text.contains("`topology.dims`") && text.contains("expected a list, found 8"), "{text}");
    let text = refused(&changed("{ link_utilization = 0.5 }", "7"), &[]);
    assert!(text.contains("`traffic.load`") && text.contains("\"burst\""), "{text}");
}

#[test]
fn an_unknown_choice() {
    let text = refused(&changed("\"hot-region\"", "\"hot-regions\""), &[]);
    assert!(text.contains("study.toml:8:8") && text.contains("did you mean `hot-region`?"), "{text}");
    let text = refused(&changed("\"converged\"", "\"convergd\""), &[]);
    assert!(text.contains("study.toml:15:9") && text.contains("did you mean `converged`?"), "{text}");
    let text = refused(&changed("link_utilization", "link_utilisation"), &[]);
    assert!(text.contains("study.toml:12:10") && text.contains("did you mean `link_utilization`?"), "{text}");
}

#[test]
fn dimensions_that_do_not_match() {
    let text = refused(&changed("region = [4, 4, 4]", "region = [4, 4]"), &[]);
    assert_eq!(
        text,
        "  × `workload.region` has an invalid value
    ╭─[study.toml:9:10]
  8 │ kind = \"hot-region\"
  9 │ region = [4, 4]
    ·          ───┬──
    ·             ╰── expected 3 values, one for each dimension of the 8x8x8 machine, found 2
 10 │ 
    ╰────
"
    );
    let text = refused(STUDY, &["topology.dims=[8,8]"]);
    assert!(text.contains("8x8 machine, found 3"), "{text}");
}

#[test]
fn an_impossible_value_of_the_machine() {
    let text = refused(&changed("topology.dims", "router.vc_B = 100\ntopology.dims"), &[]);
    assert!(text.contains("study.toml:5:15") && text.contains("expected a multiple of 32 B"), "{text}");
}

#[test]
fn a_bad_flag() {
    let text = refused(STUDY, &["router.pahts=1"]);
    assert_eq!(
        text,
        "  × unknown key `router.pahts`
   ╭─[--set:1:8]
 1 │ router.pahts=1
   ·        ──┬──
   ·          ╰── not a key here
   ╰────
  help: did you mean `paths`?
"
    );
    let text = refused(STUDY, &["ruoter.paths=1"]);
    assert!(text.contains("--set:1:1") && text.contains("did you mean `router`?"), "{text}");
    let text = refused(STUDY, &["router.paths"]);
    assert!(text.contains("expected key=value"), "{text}");
    let text = refused(STUDY, &["router.paths=9"]);
    assert!(text.contains("--set:1:14") && text.contains("expected 1 to 4, found 9"), "{text}");
    let text = refused(STUDY, &["seed=-1"]);
    assert!(text.contains("`seed` has an invalid value") && text.contains("0 or more, found -1"), "{text}");
    let text = refused(STUDY, &["topology.dims=[8,8"]);
    assert!(text.contains("not valid TOML") && text.contains("--set"), "{text}");
}

#[test]
fn what_is_missing() {
    let text = refused(&changed("region = [4, 4, 4]\n", ""), &[]);
    assert!(text.contains("`workload.region` is missing") && text.contains("study.toml:7:"), "{text}");
    let text = refused(&changed("machine = \"bgl\"\n", ""), &[]);
    assert!(text.contains("`machine` is missing"), "{text}");
    let text = refused(&changed("\"bgl\"", "\"blg\""), &[]);
    assert!(text.contains("unknown machine `blg`") && text.contains("study.toml:2:11"), "{text}");
    assert!(text.contains("did you mean `bgl`?"), "{text}");
}

#[test]
fn broken_toml() {
    let text = refused(&changed("name = \"mine\"", "name = \"mine"), &[]);
    assert!(text.contains("not valid TOML") && text.contains("study.toml:1:"), "{text}");
}

/// A good key in the wrong table, in a flag and in a file.
#[test]
fn keys_of_other_tables() {
    let text = refused(STUDY, &["traffic.link_utilization=0.5"]);
    assert!(text.contains("did you mean `traffic.load.link_utilization`?"), "{text}");
    let text = refused(&changed("topology.dims = [8, 8, 8]", "topology.vc_B = 512"), &[]);
    assert!(text.contains("study.toml:5:10") && text.contains("did you mean `router.vc_B`?"), "{text}");
    let text = refused(STUDY, &["topology.nothing=1"]);
    assert!(text.contains("expected one of `dims`"), "{text}");
}

#[test]
fn a_sweep_over_nothing() {
    let text = refused(&format!("{STUDY}\n[sweep]\nrouter.paths = 2\n"), &[]);
    assert!(
        text.contains("`sweep.router.paths` has no values") && text.contains("study.toml:18:16"),
        "{text}"
    );
    let text = refused(&format!("{STUDY}\n[sweep]\nruoter.paths = [2]\n"), &[]);
    assert!(text.contains("study.toml:18:1") && text.contains("did you mean `router`?"), "{text}");
    let swept = format!("{STUDY}\n[sweep]\nrouter.paths = [2, 9]\n");
    let study = resolve(SourceFile::new("study.toml", swept), Path::new("."), &[]).unwrap();
    let text = netloom_study::sweep::points(&study).unwrap_err().render(false);
    assert!(text.contains("study.toml:18:20") && text.contains("found 9"), "{text}");
}

#[test]
fn names_that_are_used_twice() {
    let curves = "[sweep]\ncurve = [{ name = 'a', router.paths = 1 }, { name = 'a', router.paths = 2 }]\n";
    let text = refused(&format!("{STUDY}\n{curves}"), &[]);
    assert!(text.contains("`sweep.curve` has the name \"a\" twice"), "{text}");
    let jobs = "workload.jobs=[{name='a',nodes=2,workload={kind='uniform'}},{name='a',nodes=2,workload={kind='uniform'}}]";
    let text = refused(STUDY, &["workload={}", "workload.kind='jobs'", jobs]);
    assert!(text.contains("a name of its own for each job, found a twice"), "{text}");
}

#[test]
fn links_that_cannot_be_dead() {
    for (link, found) in [("9,0,0", "[9, 0, 0]"), ("0,0", "[0, 0]")] {
        let text = refused(STUDY, &[&format!("topology.dead_links=[{{node=[{link}],direction='+x'}}]")]);
        assert!(text.contains("`topology.dead_links`") && text.contains(found), "{text}");
    }
    let mesh = ["topology.wrap=[false,false,false]", "topology.dead_links=[{node=[0,0,0],direction='-x'}]"];
    let text = refused(STUDY, &mesh);
    assert!(text.contains("expected a link that there is, found \"-x\""), "{text}");
}

#[test]
fn claims_of_nothing() {
    let claim = |of: &str, range: &str| {
        refused(&format!("{STUDY}\n[[claim]]\nof = '{of}'\nbetween = {range}\n"), &[])
    };
    let text = claim("links.men_utilization", "[0, 1]");
    assert!(
        text.contains("no figure of a run") && text.contains("did you mean `links.mean_utilization`?"),
        "{text}"
    );
    let text = claim("occupancy.fraction.dynamic", "[1, 0]");
    assert!(text.contains("whose first value is the larger one"), "{text}");
}

#[test]
fn a_sweep_drawn_over_keys_that_it_does_not_have() {
    let swept = |tables: &str| {
        format!("{STUDY}\n[sweep]\nrouter.paths = [1, 2]\ntraffic.routing = ['static']\n{tables}\n")
    };
    let text = refused(&swept("plot.x = 'router.path'"), &[]);
    assert!(text.contains("`router.path` is not swept") && text.contains("study.toml:20:10"), "{text}");
    assert!(text.contains("did you mean `router.paths`?") && text.contains("`traffic.routing`"), "{text}");
    let text = refused(&swept("plot.curves = ['paths', 'load']"), &[]);
    assert!(text.contains("`load` is not swept") && text.contains("study.toml:20:25"), "{text}");
    let text = refused(&swept("plot = { x = 'paths', panels = 'router.paths' }"), &[]);
    assert!(text.contains("`router.paths` is named twice"), "{text}");
    let text = refused(&swept("plot.y = 'paths'"), &[]);
    assert!(text.contains("unknown key `sweep.plot.y`") && text.contains("`x`"), "{text}");
}

#[test]
fn a_search_that_cannot_be() {
    let search = |values: &str| {
        format!("{STUDY}\n[sweep.saturation]\nload = 'traffic.load.link_utilization'\n{values}\n")
    };
    for (values, expected) in [
        ("from = 0.5\nto = 0.4", "a load above `from`, 0.5"),
        ("from = 0\nto = 0.4", "a load above 0"),
        ("from = 0.1\nto = 0.4\ntolerance = 1e-12", "no more than 30 halvings"),
        ("from = 0.1\nto = 0.4\naccepted_fraction = 1.5", "a fraction above 0 and below 1"),
        ("from = 0.1", "`sweep.saturation.to` is missing"),
    ] {
        let text = refused(&search(values), &[]);
        assert!(text.contains(expected), "{values}: {text}");
    }
    let text = refused(&search("from = 0.1\nto = 0.4").replace("traffic.load", "trafic.load"), &[]);
    assert!(text.contains("unknown key `trafic`") && text.contains("study.toml:18:8"), "{text}");
}

#[test]
fn layers_override_one_another() {
    let sets =
        ["router.paths=1", "traffic.load=burst", "mapping=zyx", "measure.half_width=0.01"].map(str::to_owned);
    let study = resolve(SourceFile::new("study.toml", STUDY), Path::new("."), &sets).unwrap();
    assert!(
        matches!(&study.torus_machine().router, Routers::Torus(router) if router.paths == 1),
        "a flag over the machine"
    );
    assert_eq!(study.torus_machine().topology.dims, [8, 8, 8], "the study over the machine");
    assert_eq!(study.study.traffic.load, netloom_workload::config::Load::Burst, "a flag over the study");
    let machine = load_machine("bgl", &["topology.dims=[4,4,4]".into()]).unwrap();
    assert_eq!(machine.nodes(), 64);
    assert!(load_machine("bgl", &["traffic.load=burst".into()]).is_err(), "a machine has no traffic");
}

#[test]
fn a_run_that_would_not_end() {
    let text = refused(STUDY, &["measure.until=finished"]);
    assert!(text.contains("traffic.packets_per_node"), "{text}");
}

const SKELETON: &str = r#"name = "mine"
machine = "bgl"
set = { topology.dims = [4, 4, 4] }

[workload]
iterations = 4
kind = "skeleton"
program = "halo"
grid = [4, 4, 4]
face_B = 4
"#;

#[test]
fn parameters_of_a_skeleton() {
    let study = resolve(SourceFile::new("study.toml", SKELETON), Path::new("."), &[]).unwrap();
    assert!(study.to_toml().contains("face_B = [4]"), "one size is a list of one");
    let reported = |from: &str, to: &str, expected: &[&str]| {
        assert!(SKELETON.contains(from));
        let text = refused(&SKELETON.replace(from, to), &[]);
        assert!(expected.iter().all(|e| text.contains(e)), "{text}");
    };
    let place = "study.toml:10:1";
    reported("face_B", "faec_B", &["unknown key `workload.faec_B`", place, "did you mean `face_B`?"]);
    reported("face_B", "angles", &["unknown key `workload.angles`", place, "expected one of `grid`"]);
    // Other keys have the same value, and stand before it.
    reported(
        "[4, 4, 4]\n",
        "4\n",
        &["`workload.grid` has the wrong type", "study.toml:9:8", "expected a list, found 4"],
    );
    reported(
        "face_B = 4",
        "face_B = -4",
        &["`workload.face_B`", "study.toml:10:10", "0 or more", "found -4"],
    );
    reported("face_B = 4", "face_B = [4, 4]", &["study.toml:10:10", "expected 1 or 3 values, found 2"]);
    reported(
        "face_B = 4",
        "face_B = [4, 4, \"4\"]",
        &["`workload.face_B.2`", "study.toml:10:17", "found \"4\""],
    );
    reported("\"halo\"", "\"hallo\"", &["`workload.program` has", "study.toml:8:11", "did you mean `halo`?"]);
    reported("program = \"halo\"\n", "", &["`workload.program` is missing", "study.toml:5:", "add `program"]);
    reported(
        "grid = [4, 4, 4]",
        "grid = [4, 4, 5]",
        &["study.toml:9:8", "at most 64 ranks", "4x4x4", "found 80"],
    );
    reported("\"halo\"", "\"fft3d\"", &["unknown key `workload.face_B`", place]);
    let fft = SKELETON.replace("\"halo\"", "\"fft3d\"").replace("face_B = 4", "decomposition = \"boxs\"");
    let text = refused(&fft, &[]);
    assert!(text.contains("study.toml:10:17") && text.contains("did you mean `boxes`?"), "{text}");
    let fft = fft.replace("boxs", "boxes");
    for (grid, found) in [("[4, 4, 4, 4]", "found 4 of them"), ("[4]", "found 1")] {
        let text = refused(&fft.replace("[4, 4, 4]\ndec", &format!("{grid}\ndec")), &[]);
        assert!(
            text.contains("study.toml:9:8") && text.contains("expected 3 values") && text.contains(found),
            "{text}"
        );
    }
    let text = refused(&fft, &["workload.points=[128,128,129]"]);
    assert!(text.contains("--set:1:17") && text.contains("a multiple of 4 along z, found 129"), "{text}");
}

#[test]
fn a_workload_that_is_no_table() {
    let text = refused(
        &changed("[workload]\nkind = \"hot-region\"\nregion = [4, 4, 4]\n", "")
            .replace("[set]", "workload = \"uniform\"\n[set]"),
        &[],
    );
    assert!(text.contains("study.toml:4:12") && text.contains("expected a table with `kind = …`"), "{text}");
    let text = refused(&changed("kind = \"hot-region\"\n", ""), &[]);
    assert!(text.contains("`workload.kind` is missing") && text.contains("study.toml:7:"), "{text}");
}

#[test]
fn a_key_of_the_machine_at_the_top_of_a_study() {
    let text = refused(&changed("[set]", "router.paths = 1\n[set]"), &[]);
    assert!(text.contains("study.toml:4:1") && text.contains("write it as `set.router`"), "{text}");
    let text = refused(&changed("[measure]", "[mesure]"), &[]);
    assert!(text.contains("study.toml:14:2") && text.contains("did you mean `measure`?"), "{text}");
}

#[test]
fn a_table_that_is_none() {
    let text = refused(&changed("[set]\ntopology.dims = [8, 8, 8]", "set = 3"), &[]);
    assert!(text.contains("`set`") && text.contains("study.toml:4:7"), "{text}");
    assert!(text.contains("expected a table, found 3"), "{text}");
    let text = refused(STUDY, &["sweep=[1]"]);
    assert!(text.contains("`sweep`") && text.contains("expected a table, found [1]"), "{text}");
    let text = refused(STUDY, &["machine=3"]);
    assert!(text.contains("expected a name or a path in quotes, found 3"), "{text}");
}

#[test]
fn a_key_without_its_table() {
    let text = refused(STUDY, &["dims=[4,4,4]"]);
    assert!(text.contains("--set:1:1") && text.contains("did you mean `topology.dims`?"), "{text}");
    let text = refused(STUDY, &["routing=static"]);
    assert!(text.contains("did you mean `traffic.routing`?"), "{text}");
    // `link`, a table of the machine, is the nearest of the names that need no table.
    for wrong in ["link_utilization", "link_utilisation"] {
        let text = refused(STUDY, &[&format!("sweep.{wrong}=[0.1,0.2]")]);
        assert!(text.contains(&format!("unknown key `{wrong}`")) && text.contains("--set:1:7"), "{text}");
        assert!(text.contains("did you mean `traffic.load.link_utilization`?"), "{text}");
    }
    // A machine has no traffic.
    let text = load_machine("bgl", &["routing=static".into()]).unwrap_err().render(false);
    assert!(text.contains("did you mean `router`?"), "{text}");
}

#[test]
fn an_empty_table_takes_away() {
    let swept = format!("{STUDY}\n[sweep]\nrouter.paths = [1, 2]\ntraffic.routing = ['static', 'dynamic']\n");
    let axes = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let study = resolve(SourceFile::new("study.toml", swept.as_str()), Path::new("."), &sets).unwrap();
        study.axes.iter().map(|a| a.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(axes(&[]), ["router.paths", "traffic.routing"]);
    assert!(axes(&["sweep={}"]).is_empty());
    assert_eq!(axes(&["sweep={}", "sweep.seed=[1,2]"]), ["seed"]);
    assert_eq!(axes(&["sweep.router={}"]), ["traffic.routing"]);
}

#[test]
fn a_title_keeps_up_with_the_machine() {
    let heading = |title: &str, set: &str| {
        let text = changed("name = \"mine\"", &format!("name = \"mine\"\ntitle = \"{title}\""));
        resolve(SourceFile::new("study.toml", text), Path::new("."), &[set.into()]).unwrap().heading()
    };
    let title = "On {dims}, {nodes} nodes, {this} is kept";
    assert_eq!(heading(title, "topology.dims=[16,16,8]"), "On 16x16x8, 2,048 nodes, {this} is kept");
    assert_eq!(heading("", "seed=2"), "mine");
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let text = STUDY
        .replace("[traffic]", "[traffic]\nroutng = 'static'\nhigh_fraction = 'all'")
        .replace("[measure]", "[expect]\n'links.men' = [0, 1]\n\n[measure]\nper_lnk = true")
        .replace("[set]", "sed = 3\n\n[set]\nrouter.pahts = 1\nlink.wire_ns = 'short'");
    let sets = ["frob=1".to_owned()];
    let problem = resolve(SourceFile::new("study.toml", &*text), Path::new("."), &sets).unwrap_err();
    let all: Vec<String> =
        std::iter::once(&problem).chain(problem.others()).map(|problem| problem.message.clone()).collect();
    let unknown = ["router.pahts", "traffic.routng", "measure.per_lnk", "sed", "frob"];
    for key in unknown {
        let message = format!("unknown key `{key}`");
        assert!(all[..unknown.len()].contains(&message), "{message}, first: {all:?}");
    }
    let rest = &all[unknown.len()..];
    for part in
        ["`traffic.high_fraction` has the wrong type", "`link.wire_ns` has the wrong type", "`links.men`"]
    {
        assert!(rest.iter().any(|message| message.contains(part)), "{part}: {all:?}");
    }
    assert_eq!(all.len(), 8, "{all:?}");
    let text = problem.render(false);
    assert!(all.iter().all(|message| text.contains(message)), "{text}");
    // Values that can be read are checked one by one, and together.
    let text = refused(STUDY, &["measure.half_width=3", "traffic.load.link_utilization=2"]);
    assert!(
        text.contains("`measure.half_width`") && text.contains("`traffic.load.link_utilization`"),
        "{text}"
    );
}

#[test]
fn a_shape_of_other_dimensions_is_warned_of() {
    let warnings = |dims: &str| {
        let sets = [format!("topology.dims={dims}"), "workload={ kind = 'uniform' }".to_owned()];
        resolve(SourceFile::new("study.toml", STUDY), Path::new("."), &sets).expect(dims).warnings()
    };
    assert_eq!(warnings("[4, 4, 4]"), Vec::<String>::new());
    assert_eq!(warnings("[4, 4, 1]"), Vec::<String>::new());
    let plane = "topology.dims has 2 dimensions; machine bgl has 3; a partition of bgl of this size is 4x4x1";
    assert_eq!(warnings("[4, 4]"), [plane]);
    assert_eq!(warnings("[4, 4, 2, 2]"), ["topology.dims has 4 dimensions; machine bgl has 3"]);
}

#[test]
fn loads_by_ticks_are_refused_with_those_by_time() {
    let old = "load = { packets_per_kilotick = 30.0 }";
    let text = refused(&changed("load = { link_utilization = 0.5 }", old), &[]);
    assert!(text.contains("is now called `traffic.load.packets_per_us`"), "{text}");
    assert!(text.contains("write packets_per_us = 5.25") && text.contains("study.toml:12:10"), "{text}");
    let text = refused(&format!("{STUDY}\n[sweep]\ntraffic.load.packets_per_kilotick = [2, 6]\n"), &[]);
    assert!(text.contains("write traffic.load.packets_per_us, with 0.35, 1.05"), "{text}");
    let jobs = "workload={ kind = 'jobs', jobs = [{ nodes = 2, load = { packets_per_kilotick = 2 }, workload = { \
                kind = 'uniform' } }] }";
    let text = refused(STUDY, &[jobs]);
    assert!(text.contains("write packets_per_us = 0.35"), "{text}");
    let on_xc =
        ["machine=xc", "nodes=64", "workload={ kind = 'uniform' }", "traffic.load={ injection = 0.3 }"];
    let text = refused(&STUDY.replace("[set]\ntopology.dims = [8, 8, 8]", ""), &on_xc);
    assert!(text.contains("write flits_per_ns = 0.2625"), "{text}");
}

#[test]
fn files_in_flags_are_relative_to_the_current_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("own.txt"), "1 0").expect("written");
    let study = |set: &str| {
        let sets = ["workload.kind=permutation".to_owned(), set.to_owned()];
        resolve(SourceFile::new("study.toml", STUDY), folder.path(), &sets)
    };
    // Tests run in the folder of their crate.
    let here = study("workload={ kind = 'permutation', file = 'Cargo.toml' }").expect("a file that is here");
    let seen = std::cell::RefCell::new(String::new());
    here.study.workload.clone().each_file(&|file| *seen.borrow_mut() = here.path_of(file));
    let path = seen.into_inner();
    assert_eq!(std::fs::canonicalize(&path).ok(), std::fs::canonicalize("Cargo.toml").ok(), "{path}");
    let problem = study("workload.file=own.txt").unwrap_err().render(false);
    assert!(problem.contains("no file own.txt in the current folder"), "{problem}");
    assert!(problem.contains("the study's folder has it: write workload.file="), "{problem}");
}
