//! Rejected machines of switches and studies on them, and how errors are reported.

use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{load_machine, resolve};
use std::path::Path;

const STUDY: &str = r#"name = "mine"
machine = "dragonfly"

[workload]
kind = "group-shift"
by = 1

[traffic]
load = { flits_per_ns = 0.5 }
routing = "ugal-l"
packet_flits = 1

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

fn assert_mentions(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

#[test]
fn the_study_itself_is_fine() {
    resolve(SourceFile::new("study.toml", STUDY), Path::new("."), &[]).unwrap();
}

#[test]
fn a_shift_that_leads_back() {
    let text = refused(&changed("by = 1", "by = 66"), &[]);
    assert_eq!(
        text,
        "  × `workload.by` has an invalid value
   ╭─[study.toml:6:6]
 5 │ kind = \"group-shift\"
 6 │ by = 66
   ·      ─┬
   ·       ╰── expected a shift to another of 33 groups, found 66
 7 │ 
   ╰────
"
    );
}

#[test]
fn what_only_tori_have() {
    let program = "kind = \"spi\"\nprogram = \"barrier\"";
    let text = refused(&changed("kind = \"group-shift\"\nby = 1", program), &[]);
    assert_mentions(&text, &["`workload.kind`", "study.toml:5:8", "\"spi\" is for a torus"]);
    let text = refused(&changed("kind = \"group-shift\"\nby = 1", "kind = \"transpose\""), &[]);
    assert_mentions(&text, &["`workload.kind`", "square number of nodes", "found 1056"]);
    let planes = "kind = \"all-to-all\"\nover = \"planes\"\ndims = \"xy\"";
    assert_mentions(
        &refused(&changed("kind = \"group-shift\"\nby = 1", planes), &[]),
        &["`workload.over`", "\"machine\""],
    );
    let text = refused(&changed("packet_flits = 1", "packet_chunks = 8"), &[]);
    assert_mentions(&text, &["`traffic.packet_chunks`", "expected packet_flits or data_B"]);
    let text = refused(&changed("flits_per_ns = 0.5", "link_utilization = 0.5"), &[]);
    assert_mentions(
        &text,
        &["`traffic.load.link_utilization`", "expected flits_per_ns, GB_per_s", "found 0.5"],
    );
    let text = refused(&changed("\"ugal-l\"", "\"static\""), &[]);
    assert_mentions(&text, &["`traffic.routing`", "study.toml:10:11", "found \"static\""]);
    assert_mentions(&refused(STUDY, &["mapping=xyz"]), &["`mapping`"]);
    assert_mentions(&refused(STUDY, &["traffic.zone=1"]), &["`traffic.zone`", "found 1"]);
    assert_mentions(&refused(STUDY, &["traffic.priority=high"]), &["`traffic.priority`", "found \"high\""]);
    assert_mentions(&refused(STUDY, &["measure.unblocking=true"]), &["`measure.unblocking`"]);
    assert_mentions(&refused(STUDY, &["measure.counters=true"]), &["`measure.counters`"]);
    let program = "name = 'mine'\nmachine = 'th'\nworkload = { kind = 'glex', program = 'latency' }\nmeasure.reordering = true\n";
    assert_mentions(&refused(program, &[]), &["`measure.reordering`", "study.toml:4:22", "with programs"]);
}

#[test]
fn what_tori_do_not_have() {
    let on = |changes: &[&str]| {
        let study = "name = 'mine'\nmachine = 'bgl'\nworkload.kind = 'uniform'\ntraffic.load = 'infinite'\n";
        refused(study, changes)
    };
    let program = ["workload={kind='glex',program='latency'}", "traffic={}"];
    assert_mentions(&on(&program), &["`workload.kind`", "\"glex\" is for machines of switches"]);
    let job = "workload={kind='jobs',jobs=[{nodes=8,workload={kind='uniform'},load={link_utilization=0.5}}]}";
    assert_mentions(&on(&[job]), &["`workload.jobs`", "job 1, load.link_utilization", "found 0.5"]);
    assert_mentions(
        &on(&["traffic.load.flits_per_ns=0.5"]),
        &["`traffic.load.flits_per_ns`", "on a torus, found 0.5"],
    );
    assert_mentions(&on(&["traffic.load.GB_per_s=2.0"]), &["`traffic.load.GB_per_s`"]);
    assert_mentions(&on(&["traffic.routing=valiant"]), &["`traffic.routing`", "found \"valiant\""]);
    assert_mentions(&on(&["traffic.packet_flits=2"]), &["`traffic.packet_flits`", "found 2"]);
    assert_mentions(&on(&["measure.reordering=true"]), &["`measure.reordering`", "on a torus, found true"]);
    assert_mentions(&on(&["measure.bound=true"]), &["`measure.bound`", "on a torus, found true"]);
    assert_mentions(&on(&["traffic.data_B=64"]), &["`traffic.data_B`", "found 64"]);
    assert_mentions(&on(&["traffic.responses=true"]), &["`traffic.responses`", "found true"]);
}

#[test]
fn jobs_that_do_not_fit() {
    let jobs = |jobs: &str| {
        refused(&changed("kind = \"group-shift\"\nby = 1", &format!("kind = \"jobs\"\njobs = [{jobs}]")), &[])
    };
    let uniform = "workload = { kind = 'uniform' }";
    let many = jobs(&format!("{{ nodes = 1000, {uniform} }}, {{ nodes = 100, {uniform} }}"));
    assert_mentions(
        &many,
        &["`workload.jobs`", "study.toml:6:8", "expected 2 to 56 nodes of job 2", "found 100"],
    );
    assert_mentions(&jobs(""), &["expected 1 to 64 jobs, found 0"]);
    assert_mentions(
        &jobs("{ nodes = 9, workload = { kind = 'group-shift', by = 1 } }"),
        &["job 1, workload.kind", "found \"group-shift\""],
    );
    let lead_back = jobs("{ name = 'A', nodes = 9, workload = { kind = 'shift', by = [18] } }");
    assert_mentions(&lead_back, &["A, workload.by", "another of 9 nodes, found 18"]);
    assert_mentions(
        &jobs(&format!("{{ nodes = 9, load = {{ flits_per_ns = -1.0 }}, {uniform} }}")),
        &["above 0, at most 1000000000, found -1"],
    );
    assert_mentions(
        &jobs(&format!("{{ nodes = 9, placement = 'continuous', {uniform} }}")),
        &["did you mean `contiguous`?"],
    );
    assert_mentions(
        &jobs(&format!("{{ node = 9, {uniform} }}")),
        &["`workload.jobs", "did you mean `nodes`?"],
    );
}

#[test]
fn groups_without_nodes_have_no_destinations() {
    let text = refused(&changed("machine = \"dragonfly\"", "machine = \"fat-tree\""), &[]);
    assert_mentions(&text, &["`workload.kind`", "levels without nodes, found \"group-shift\""]);
}

#[test]
fn a_machine_of_a_sweep_that_there_is_not() {
    let text = format!("{STUDY}\n[sweep]\nmachine = [\"dragonfly\", \"dragnofly\"]\n");
    let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &[]).unwrap();
    let problem = netloom_study::sweep::points(&study).unwrap_err().render(false);
    assert_mentions(
        &problem,
        &["unknown machine `dragnofly`", "study.toml:17:25", "did you mean `dragonfly`?"],
    );
}

#[test]
fn packets_that_do_not_fit() {
    assert_mentions(&refused(STUDY, &["traffic.packet_flits=6"]), &["expected 1 to 5 flits, found 6"]);
    assert_mentions(&refused(STUDY, &["traffic.data_B=8"]), &["expected this or data_B, found both"]);
    let bytes = changed("packet_flits = 1", "data_B = 33");
    assert_mentions(&refused(&bytes, &[]), &["`traffic.data_B`", "at most 32 B, found 33"]);
    assert_mentions(
        &refused(STUDY, &["traffic.load.flits_per_ns=0"]),
        &["expected a rate above 0, at most 1000000000, found 0"],
    );
    assert_mentions(
        &refused(STUDY, &["traffic.responses=true"]),
        &["`traffic.responses`", "router.response_vcs = true"],
    );
    let empty = changed("load = { flits_per_ns = 0.5 }", "load = { GB_per_s = 1.0 }");
    assert_mentions(&refused(&empty, &[]), &["`traffic.load.GB_per_s`", "expected packets with data"]);
}

#[test]
fn routings_that_the_machine_cannot_do() {
    let text = refused(&changed("\"ugal-l\"", "\"valliant\""), &[]);
    assert_mentions(&text, &["study.toml:10:11", "did you mean `valiant`?"]);
    let text = refused(STUDY, &["set.router.vcs=4", "traffic.routing=par"]);
    assert_mentions(&text, &["`traffic.routing`", "at least 5", "found 4"]);
}

#[test]
fn transactions_that_a_machine_has_not() {
    let study = "name = \"mine\"\nmachine = \"th\"\n\n[workload]\nkind = \"glex\"\nprogram = \"exchange\"\nkinds = [\"put\", \"atomic\"]\n\n[measure]\nuntil = \"finished\"\n";
    assert_mentions(
        &refused(study, &[]),
        &["`workload.kinds`", "study.toml:7:9", "expected \"put\" or \"get\"", "\"atomic\""],
    );
    let gets = study.replace("\"put\", \"atomic\"", "\"get\"");
    resolve(SourceFile::new("study.toml", &gets), Path::new("."), &[]).unwrap();
    assert_mentions(
        &refused(&gets, &["workload.connect=false"]),
        &["`workload.give_up_us`", "more than 0", "found 0"],
    );
    assert_mentions(&refused(&study.replace("\"put\", \"atomic\"", "\"pot\""), &[]), &["pot", "put"]);
    let on_aries = study.replace("\"th\"", "\"xc\"").replace("\"glex\"", "\"gni\"");
    resolve(SourceFile::new("study.toml", &on_aries), Path::new("."), &[]).unwrap();
}

#[test]
fn machines_that_cannot_be() {
    let problem = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        load_machine("xc", &sets).expect_err("refused").render(false)
    };
    assert_mentions(
        &problem(&["topology.kind=dragonfli"]),
        &["`topology.kind`", "did you mean `dragonfly`?"],
    );
    let old = problem(&["routing.minimal_ways='any'"]);
    assert_mentions(&old, &["`routing.minimal_ways` is now called `routing.minimal_paths`"]);
    assert_mentions(
        &problem(&["topology.gruops=3"]),
        &["unknown key `topology.gruops`", "did you mean `groups`?"],
    );
    assert_mentions(&problem(&["topology.dims=[4,4]"]), &["unknown key `topology.dims`"]);
    assert_mentions(&problem(&["topology.groups=300"]), &["`topology.groups`", "at most 241"]);
    assert_mentions(&problem(&["link.blue.latency_ns=0"]), &["`link.blue.latency_ns`", "found 0"]);
    assert_mentions(&problem(&["link.green.latency=1"]), &["unknown key `link.green.latency`"]);
    assert_mentions(&problem(&["router.tiles=1"]), &["unknown key `router.tiles`"]);
    assert_mentions(&problem(&["routing.bias=[]"]), &["`routing.bias`", "four policies, found 0"]);
    assert_mentions(&problem(&["family=tilde"]), &["did you mean `tiled`?"]);
    assert_mentions(&problem(&["nic.mode=coprocessor"]), &["unknown key `nic`"]);
    let torus = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        load_machine("torus", &sets).expect_err("refused").render(false)
    };
    assert_mentions(
        &torus(&["topology.dims=[4,1]"]),
        &["`topology.dims`", "expected 2 to 128 routers, found 1"],
    );
    assert_mentions(&torus(&["topology.links_per_neighbour=[1]"]), &["each of the 3 dimensions, found 1"]);
    assert_mentions(
        &torus(&["topology.dims=[128,128,128]"]),
        &["`topology.dims`", "nodes, these are 8388608"],
    );
    assert_mentions(&torus(&["router.vcs=2"]), &["`router.vcs`", "at least 4 on a torus", "found 2"]);
}
