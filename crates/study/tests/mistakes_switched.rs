//! What is refused of machines of switches and of studies on them, and how that is told.

use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{load_machine, resolve};
use std::path::Path;

const STUDY: &str = r#"name = "mine"
machine = "dragonfly"

[workload]
kind = "group-shift"
by = 1

[traffic]
load = { injection = 0.5 }
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

fn told(text: &str, expected: &[&str]) {
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
    told(&text, &["`workload.kind`", "study.toml:5:8", "\"spi\" is for a torus"]);
    let text = refused(&changed("kind = \"group-shift\"\nby = 1", "kind = \"transpose\""), &[]);
    told(&text, &["`workload.kind`", "square number of nodes", "found 1056"]);
    let planes = "kind = \"all-to-all\"\nover = \"planes\"\ndims = \"xy\"";
    told(
        &refused(&changed("kind = \"group-shift\"\nby = 1", planes), &[]),
        &["`workload.over`", "\"machine\""],
    );
    let text = refused(&changed("packet_flits = 1", "packet_chunks = 8"), &[]);
    told(&text, &["`traffic.packet_chunks`", "expected packet_flits or data_B"]);
    let text = refused(&changed("injection = 0.5", "link_utilization = 0.5"), &[]);
    told(&text, &["`traffic.load.link_utilization`", "expected injection, GB_per_s", "found 0.5"]);
    let text = refused(&changed("\"ugal-l\"", "\"static\""), &[]);
    told(&text, &["`traffic.routing`", "study.toml:10:11", "found \"static\""]);
    told(&refused(STUDY, &["mapping=xyz"]), &["`mapping`"]);
    told(&refused(STUDY, &["traffic.zone=1"]), &["`traffic.zone`", "found 1"]);
    told(&refused(STUDY, &["traffic.priority=high"]), &["`traffic.priority`", "found \"high\""]);
    told(&refused(STUDY, &["measure.unblocking=true"]), &["`measure.unblocking`"]);
    told(&refused(STUDY, &["measure.counters=true"]), &["`measure.counters`"]);
    let program = "name = 'mine'\nmachine = 'th'\nworkload = { kind = 'glex', program = 'latency' }\nmeasure.reordering = true\n";
    told(&refused(program, &[]), &["`measure.reordering`", "study.toml:4:22", "with programs"]);
}

#[test]
fn what_tori_do_not_have() {
    let on = |changes: &[&str]| {
        let study = "name = 'mine'\nmachine = 'bgl'\nworkload.kind = 'uniform'\ntraffic.load = 'infinite'\n";
        refused(study, changes)
    };
    let program = ["workload={kind='glex',program='latency'}", "traffic={}"];
    told(&on(&program), &["`workload.kind`", "\"glex\" is for machines of switches"]);
    let job = "workload={kind='jobs',jobs=[{nodes=8,workload={kind='uniform'},load={link_utilization=0.5}}]}";
    told(&on(&[job]), &["`workload.jobs`", "job 1, load.link_utilization", "found 0.5"]);
    told(&on(&["traffic.load.injection=0.5"]), &["`traffic.load.injection`", "on a torus, found 0.5"]);
    told(&on(&["traffic.load.GB_per_s=2.0"]), &["`traffic.load.GB_per_s`"]);
    told(&on(&["traffic.routing=valiant"]), &["`traffic.routing`", "found \"valiant\""]);
    told(&on(&["traffic.packet_flits=2"]), &["`traffic.packet_flits`", "found 2"]);
    told(&on(&["measure.reordering=true"]), &["`measure.reordering`", "on a torus, found true"]);
    told(&on(&["measure.bound=true"]), &["`measure.bound`", "on a torus, found true"]);
    told(&on(&["traffic.data_B=64"]), &["`traffic.data_B`", "found 64"]);
    told(&on(&["traffic.responses=true"]), &["`traffic.responses`", "found true"]);
}

#[test]
fn jobs_that_do_not_fit() {
    let jobs = |jobs: &str| {
        refused(&changed("kind = \"group-shift\"\nby = 1", &format!("kind = \"jobs\"\njobs = [{jobs}]")), &[])
    };
    let uniform = "workload = { kind = 'uniform' }";
    let many = jobs(&format!("{{ nodes = 1000, {uniform} }}, {{ nodes = 100, {uniform} }}"));
    told(&many, &["`workload.jobs`", "study.toml:6:8", "expected 2 to 56 nodes of job 2", "found 100"]);
    told(&jobs(""), &["expected 1 to 64 jobs, found 0"]);
    told(
        &jobs("{ nodes = 9, workload = { kind = 'group-shift', by = 1 } }"),
        &["job 1, workload.kind", "found \"group-shift\""],
    );
    let lead_back = jobs("{ name = 'A', nodes = 9, workload = { kind = 'shift', by = [18] } }");
    told(&lead_back, &["A, workload.by", "another of 9 nodes, found 18"]);
    told(
        &jobs(&format!("{{ nodes = 9, load = {{ injection = -1.0 }}, {uniform} }}")),
        &["above 0, found -1"],
    );
    told(
        &jobs(&format!("{{ nodes = 9, placement = 'continuous', {uniform} }}")),
        &["did you mean `contiguous`?"],
    );
    told(&jobs(&format!("{{ node = 9, {uniform} }}")), &["`workload.jobs", "did you mean `nodes`?"]);
}

#[test]
fn groups_without_nodes_have_nobody_to_send_to() {
    let text = refused(&changed("machine = \"dragonfly\"", "machine = \"fat-tree\""), &[]);
    told(&text, &["`workload.kind`", "levels without nodes, found \"group-shift\""]);
}

#[test]
fn a_machine_of_a_sweep_that_there_is_not() {
    let text = format!("{STUDY}\n[sweep]\nmachine = [\"dragonfly\", \"dragnofly\"]\n");
    let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &[]).unwrap();
    let problem = netloom_study::sweep::points(&study).unwrap_err().render(false);
    told(&problem, &["unknown machine `dragnofly`", "study.toml:17:25", "did you mean `dragonfly`?"]);
}

#[test]
fn packets_that_do_not_fit() {
    told(&refused(STUDY, &["traffic.packet_flits=6"]), &["expected 1 to 5 flits, found 6"]);
    told(&refused(STUDY, &["traffic.data_B=8"]), &["expected this or data_B, found both"]);
    let bytes = changed("packet_flits = 1", "data_B = 33");
    told(&refused(&bytes, &[]), &["`traffic.data_B`", "at most 32 B, found 33"]);
    told(&refused(STUDY, &["traffic.load.injection=0"]), &["expected a rate above 0, found 0"]);
    told(
        &refused(STUDY, &["traffic.responses=true"]),
        &["`traffic.responses`", "router.response_vcs = true"],
    );
    let empty = changed("load = { injection = 0.5 }", "load = { GB_per_s = 1.0 }");
    told(&refused(&empty, &[]), &["`traffic.load.GB_per_s`", "expected packets with data"]);
}

#[test]
fn routings_that_the_machine_cannot_do() {
    let text = refused(&changed("\"ugal-l\"", "\"valliant\""), &[]);
    told(&text, &["study.toml:10:11", "did you mean `valiant`?"]);
    let text = refused(STUDY, &["set.router.vcs=4", "traffic.routing=par"]);
    told(&text, &["`traffic.routing`", "at least 5", "found 4"]);
}

#[test]
fn transactions_that_a_machine_has_not() {
    let study = "name = \"mine\"\nmachine = \"th\"\n\n[workload]\nkind = \"glex\"\nprogram = \"exchange\"\nkinds = [\"put\", \"atomic\"]\n\n[measure]\nuntil = \"finished\"\n";
    told(
        &refused(study, &[]),
        &["`workload.kinds`", "study.toml:7:9", "expected \"put\" or \"get\"", "\"atomic\""],
    );
    let gets = study.replace("\"put\", \"atomic\"", "\"get\"");
    resolve(SourceFile::new("study.toml", &gets), Path::new("."), &[]).unwrap();
    told(&refused(&gets, &["workload.connect=false"]), &["`workload.give_up_us`", "more than 0", "found 0"]);
    told(&refused(&study.replace("\"put\", \"atomic\"", "\"pot\""), &[]), &["pot", "put"]);
    let on_aries = study.replace("\"th\"", "\"xc\"").replace("\"glex\"", "\"gni\"");
    resolve(SourceFile::new("study.toml", &on_aries), Path::new("."), &[]).unwrap();
}

#[test]
fn machines_that_cannot_be() {
    let problem = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        load_machine("xc", &sets).expect_err("refused").render(false)
    };
    told(&problem(&["topology.kind=dragonfli"]), &["`topology.kind`", "did you mean `dragonfly`?"]);
    told(&problem(&["topology.gruops=3"]), &["unknown key `topology.gruops`", "did you mean `groups`?"]);
    told(&problem(&["topology.dims=[4,4]"]), &["unknown key `topology.dims`"]);
    told(&problem(&["topology.groups=300"]), &["`topology.groups`", "at most 241"]);
    told(&problem(&["link.blue.latency_ns=0"]), &["`link.blue.latency_ns`", "found 0"]);
    told(&problem(&["link.green.latency=1"]), &["unknown key `link.green.latency`"]);
    told(&problem(&["router.tiles=1"]), &["unknown key `router.tiles`"]);
    told(&problem(&["routing.bias=[]"]), &["`routing.bias`", "four policies, found 0"]);
    told(&problem(&["family=tilde"]), &["did you mean `tiled`?"]);
    told(&problem(&["nic.mode=coprocessor"]), &["unknown key `nic`"]);
    let torus = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        load_machine("torus", &sets).expect_err("refused").render(false)
    };
    told(&torus(&["topology.dims=[4,1]"]), &["`topology.dims`", "expected 2 to 128 routers, found 1"]);
    told(&torus(&["topology.links_per_neighbour=[1]"]), &["each of the 3 dimensions, found 1"]);
    told(&torus(&["topology.dims=[128,128,128]"]), &["`topology.dims`", "nodes, these are 8388608"]);
    told(&torus(&["router.vcs=2"]), &["`router.vcs`", "at least 4 on a torus", "found 2"]);
}
