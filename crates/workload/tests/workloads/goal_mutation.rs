//! Damaged traces by the hundred thousand: neither parser panics or takes memory that the file does not
//! justify, and whatever they accept is sound. The targets in `fuzz/` do the same under a fuzzer, which needs
//! a nightly compiler.

use netloom_workload::goal::{ANY, COLLECTIVES, Kind, Trace, binary, text, write_text};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SEEDS: [&str; 5] = [
    "num_ranks 3\nrank 0 {\na: alltoallv 1b 0b 3b\nb: barrier\nb requires a\n}\nrank 1 {\nalltoallv 4b 5b 6b\nbarrier\n}\nrank 2 {\nalltoallv 7b 8b 9b\nbarrier\n}\n",
    "num_ranks 2\nrank 0 {\na: calc 5 cpu 1\nb: send 7b to 1 tag 3 nic 2\nb requires a\nc: calc 6\nc irequires b\n}\n\
     rank 1 {\nrecv 7b from -1 tag -1\n}\n",
    "// a ring\nnum_ranks 3 /* of three */\nrank 0 {\nl1: send 8b to 1\nl2: recv 8b from 2\nl2 irequires l1\n}\nrank 1 {\n\
     l1: recv 8b from 0\nl2: send 8b to 2\nl2 requires l1\n}\nrank 2 {\nl1: recv 8b from 1\nl2: send 8b to 0\nl2 requires l1\n}\n",
    "num_ranks 1 rank 0 { calc 18446744073709551615 cpu 255 }",
    "num_ranks 0",
];

/// Pieces that a blind change would hardly hit upon.
const WORDS: [&[u8]; 21] = [
    b"alltoallv 1b",
    b"num_ranks",
    b"rank",
    b"send",
    b"recv",
    b"calc",
    b"requires",
    b"irequires",
    b"tag",
    b"cpu",
    b"nic",
    b"to",
    b"from",
    b"-1",
    b"{",
    b"}",
    b"/*",
    b"*/",
    b"//",
    b"4294967295",
    b"\n",
];

/// Numbers at which a check might be off by one.
const NUMBERS: [u64; 10] = [0, 1, 2, 3, 39, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff, u64::MAX];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut impl Rng) {
    let at = random.random_range(0..=bytes.len());
    let behind = random.random_range(at..=bytes.len().min(at + 40));
    match random.random_range(0..8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        1 if at < bytes.len() => bytes[at] = random.random(),
        2 => bytes.truncate(at),
        3 => {
            bytes.drain(at..behind);
        }
        4 => {
            let copy = bytes[at..behind].to_vec();
            let to = random.random_range(0..=bytes.len());
            bytes.splice(to..to, copy);
        }
        5 => {
            let word = WORDS[random.random_range(0..WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
        6 => {
            let number = NUMBERS[random.random_range(0..NUMBERS.len())].to_le_bytes();
            let length = [1, 4, 8][random.random_range(0..3)].min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&number[..length]);
        }
        _ => {
            let from = random.random_range(0..=other.len());
            bytes.splice(at..behind, other[from..other.len().min(from + 60)].iter().copied());
        }
    }
}

/// The properties of every accepted trace, whatever it was read from.
fn check(trace: &Trace, length: usize) {
    let ranks = trace.ranks().len() as u32;
    let mut operations = 0;
    for rank in trace.ranks() {
        let nodes = rank.nodes().len() as u32;
        operations += nodes as usize + rank.dependencies_len();
        let mut listed = vec![0; nodes as usize];
        for (number, node) in (0..).zip(rank.nodes()) {
            match node.kind {
                Kind::Send => assert!(node.peer < ranks && node.tag != ANY),
                Kind::Receive => assert!(node.peer < ranks || node.peer == ANY),
                Kind::Collective => assert!((node.peer as usize) < COLLECTIVES.len() && node.tag == 0),
                Kind::Block => assert!(node.peer > 0 && node.peer < ranks && node.tag == 0),
                Kind::Calc => assert_eq!((node.peer, node.tag, node.nic), (0, 0, 0)),
            }
            for &waiter in rank.after_finish(number).iter().chain(rank.after_start(number)) {
                assert!(waiter != number);
                listed[waiter as usize] += 1;
            }
        }
        assert!((0..nodes).all(|node| rank.dependencies(node) == listed[node as usize]));
    }
    assert!(operations <= length, "{operations} operations and dependencies in {length} bytes");
    let mut packed = Vec::new();
    binary::write(trace, &mut packed).unwrap();
    assert_eq!(&binary::read(&packed).unwrap(), trace);
    let mut written = Vec::new();
    write_text(trace, &mut written).unwrap();
    assert_eq!(&text::parse(&written).unwrap(), trace);
}

/// Runs a parser over damaged forms of the seeds and answers how many it accepted.
fn hammer<E>(seeds: &[Vec<u8>], cases: u32, parse: impl Fn(&[u8]) -> Result<Trace, E>) -> u32 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4223);
    let mut accepted = 0;
    // Accepted inputs are damaged further, so that damage adds up.
    let mut pool = seeds.to_vec();
    for _ in 0..cases {
        let mut bytes = pool[random.random_range(0..pool.len())].clone();
        let other = pool[random.random_range(0..pool.len())].clone();
        for _ in 0..random.random_range(1..4) {
            mutate(&mut bytes, &other, &mut random);
        }
        if let Ok(trace) = parse(&bytes) {
            check(&trace, bytes.len());
            accepted += 1;
            if bytes.len() < 2_000 {
                if pool.len() < 200 {
                    pool.push(bytes);
                } else {
                    let at = random.random_range(seeds.len()..pool.len());
                    pool[at] = bytes;
                }
            }
        }
    }
    accepted
}

#[test]
fn damaged_text() {
    let seeds: Vec<_> = SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect();
    seeds.iter().for_each(|seed| check(&text::parse(seed).unwrap(), seed.len()));
    let accepted = hammer(&seeds, 200_000, text::parse);
    assert!(accepted > 1_000, "only {accepted} were accepted: the changes are too wild to test much");
}

#[test]
fn damaged_binary() {
    let pack = |text: &&str| {
        let mut packed = Vec::new();
        binary::write(&text::parse(text.as_bytes()).unwrap(), &mut packed).unwrap();
        packed
    };
    let seeds: Vec<_> = SEEDS.iter().map(pack).collect();
    let accepted = hammer(&seeds, 200_000, binary::read);
    assert!(accepted > 1_000, "only {accepted} were accepted: the changes are too wild to test much");
}
