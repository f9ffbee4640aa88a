//! Damaged studies and machines by the thousand: the readers never panic, what they refuse they can show, and
//! what they accept comes back the same from the file that repeats the run. The targets in `fuzz/` do the
//! same under a fuzzer, which needs a nightly compiler.

use netloom_study::diagnose::SourceFile;
use netloom_study::library;
use netloom_study::machine::BUILT_IN;
use netloom_study::resolve::resolve;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;

/// Studies of programs, whose parameters are read like all else.
const SKELETONS: [&str; 3] = [
    include_str!("../../../studies/fft.toml"),
    include_str!("../../../studies/halo.toml"),
    "name = 'sweep'\nmachine = 'bgl'\n[workload]\nkind = 'skeleton'\nprogram = 'sweep'\ngrid = [4, 4]\n\
     cells = [5, 5, 400]\nblock_planes = 10\nangles = 6\nblock_angles = 3\nvalue_B = 8\ncell_angle_ns = 50.0\n\
     octants = 8\niterations = 1\n[measure]\nuntil = 'finished'\n",
];

/// Pieces that a blind change would hardly hit upon.
const WORDS: &[&str] = &[
    "\n",
    "\n[set]\n",
    "\n[sweep]\n",
    "\n[machine.topology]\n",
    "topology.wrap = [true, false, true]\n",
    "topology.dead_nodes = [[0, 0, 0]]\n",
    "topology.dead_links = [{ node = [0, 0, 0], direction = \"+x\" }]\n",
    "router.escape_vc_B = 512\n",
    "nic.window_packets = 1\n",
    "mapping = \"zyx\"\n",
    "load = { packets_per_us = 1 }\n",
    "packet_chunks = [[8, 0.5], [1, 0.5]]\n",
    "kind = \"shift\"\nby = [1, -1, 0]\n",
    "kind = \"all-to-all\"\nover = \"planes\"\ndims = \"xy\"\n",
    "kind = \"skeleton\"\nprogram = \"fft3d\"\n",
    "\"a.b..c\" = 1\n",
    "= ",
    "é",
    "4294967295",
    "16777216",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\"\"\"",
    ".",
    "\u{0}",
];

/// Values at which a check might be off by one, or arithmetic overflow.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "256",
    "257",
    "1000000",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "0.0",
    "1.0",
    "1e308",
    "-0.0",
    "inf",
    "nan",
    "true",
    "\"\"",
    "\"bgl\"",
    "[]",
    "{}",
    "[[]]",
    "1979-05-27T07:32:00Z",
];

fn below(random: &mut impl Rng, n: usize) -> usize {
    random.random_range(0..n)
}

/// Replaces what stands behind a random `=` by a value.
fn set_value(text: &mut Vec<u8>, random: &mut impl Rng) {
    let equals: Vec<usize> = (0..text.len()).filter(|&i| text[i] == b'=').collect();
    if equals.is_empty() {
        return;
    }
    let from = equals[below(random, equals.len())] + 1;
    let to = text[from..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| from + n);
    text.splice(from..to, VALUES[below(random, VALUES.len())].bytes());
}

fn mutate(text: &mut Vec<u8>, other: &[u8], random: &mut impl Rng) {
    let at = random.random_range(0..=text.len());
    let behind = random.random_range(at..=text.len().min(at + 40));
    match random.random_range(0..12) {
        0 if at < text.len() => text[at] ^= 1 << random.random_range(0..8),
        1 if at < text.len() => text[at] = random.random(),
        2 => text.truncate(at),
        3 => {
            text.drain(at..behind);
        }
        4 => {
            let copy = text[at..behind].to_vec();
            let to = random.random_range(0..=text.len());
            text.splice(to..to, copy);
        }
        5 | 6 => {
            text.splice(at..at, WORDS[below(random, WORDS.len())].bytes());
        }
        7 => {
            let from = random.random_range(0..=other.len());
            text.splice(at..behind, other[from..other.len().min(from + 60)].iter().copied());
        }
        _ => set_value(text, random),
    }
}

/// Reads a study; what is accepted must come back the same from what is written of it. Whether it was
/// accepted.
fn check(text: &str) -> bool {
    let read = |text: &str| resolve(SourceFile::new("study.toml", text), Path::new("no such folder"), &[]);
    match read(text) {
        Err(problem) => {
            assert!(!problem.render(false).is_empty());
            false
        }
        Ok(study) => {
            let written = study.to_toml();
            let again = read(&written).unwrap_or_else(|e| panic!("{}\n{written}", e.render(false)));
            assert_eq!(again.to_toml(), written);
            true
        }
    }
}

/// The studies and the machines that come with Netloom, the former also as they are written out; each machine
/// inside a study.
fn seeds() -> Vec<String> {
    let own = library::STUDIES.iter().filter(|(name, _)| !name.contains('/'));
    let mut seeds: Vec<String> = own.map(|(_, text)| (*text).to_owned()).collect();
    seeds.extend(SKELETONS.map(str::to_owned));
    for text in seeds.clone() {
        let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &[]).expect("an example");
        seeds.push(study.to_toml());
    }
    for (name, text) in BUILT_IN {
        let tables = text.replace("\n[", "\n[machine.");
        seeds.push(format!("name = \"{name}\"\nworkload.kind = \"uniform\"\n[machine]\n{tables}"));
    }
    seeds
}

#[test]
fn damaged_studies() {
    let seeds = seeds();
    assert!(seeds.iter().all(|seed| check(seed)));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1759);
    // Accepted inputs are damaged further, so that damage adds up.
    let (mut pool, mut accepted) = (seeds.clone(), 0);
    for _ in 0..6_000 {
        let mut text = pool[below(&mut random, pool.len())].clone().into_bytes();
        let other = pool[below(&mut random, pool.len())].clone();
        for _ in 0..random.random_range(1..4) {
            mutate(&mut text, other.as_bytes(), &mut random);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let result = std::panic::catch_unwind(|| check(&text));
        let Ok(result) = result else { panic!("this study:\n{text}") };
        if result {
            accepted += 1;
            if text.len() < 6000 {
                if pool.len() < 100 {
                    pool.push(text);
                } else {
                    let at = random.random_range(seeds.len()..pool.len());
                    pool[at] = text;
                }
            }
        }
    }
    println!("{accepted} accepted");
    assert!(accepted > 300, "only {accepted} were accepted: the changes are too wild to test much");
}

/// Flags are read by the same rules.
#[test]
fn damaged_flags() {
    let (_, study) = library::text_of(library::MAIN).unwrap();
    let flags = ["router.paths=1", "topology.dims=[8,8,8]", "traffic.load=burst", "workload.kind=uniform"];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1760);
    for _ in 0..3_000 {
        let mut flag = flags[below(&mut random, flags.len())].as_bytes().to_vec();
        let other = flags[below(&mut random, flags.len())].as_bytes();
        for _ in 0..random.random_range(1..3) {
            mutate(&mut flag, other, &mut random);
        }
        let flag = String::from_utf8_lossy(&flag).into_owned();
        let read =
            || resolve(SourceFile::new("study.toml", study), Path::new("."), std::slice::from_ref(&flag));
        let result = std::panic::catch_unwind(|| {
            if let Err(problem) = read() {
                assert!(!problem.render(false).is_empty());
            }
        });
        assert!(result.is_ok(), "this flag: {flag}");
    }
}
