use super::*;
use crate::goal::{binary, write_text};
use proptest::prelude::*;

fn error(text: &str) -> (u64, u64, String) {
    let error = parse(text.as_bytes()).expect_err(text);
    (error.line, error.column, error.fault.to_string())
}

fn node(text: &str) -> Node {
    let trace = parse(format!("num_ranks 9 rank 0 {{ {text} }}{}", empty(1, 9)).as_bytes()).unwrap();
    trace.ranks()[0].nodes()[0]
}

/// Ranks without operations.
fn empty(from: u32, to: u32) -> String {
    (from..to).map(|rank| format!(" rank {rank} {{}}")).collect()
}

#[test]
fn operations_and_their_options() {
    let send = Node { size: 12, peer: 3, tag: 0, kind: Kind::Send, cpu: 0, nic: 0 };
    assert_eq!(node("send 12b to 3"), send);
    assert_eq!(
        node("x1: send 12 b to 3 tag 4294967294 cpu 255 nic 7"),
        Node { tag: u32::MAX - 1, cpu: 255, nic: 7, ..send }
    );
    let receive = Node { kind: Kind::Receive, size: u64::MAX, tag: ANY, ..send };
    assert_eq!(node("recv 18446744073709551615b from 3 nic 0 tag -1"), receive);
    assert_eq!(node("recv 12b from -1"), Node { peer: ANY, size: 12, tag: 0, ..receive });
    let calc = Node { size: 0, peer: 0, tag: 0, kind: Kind::Calc, cpu: 2, nic: 0 };
    assert_eq!(node("calc 0 cpu 2"), calc);
    // Keywords serve as labels where nothing else could be meant.
    assert_eq!(node("cpu: calc 0 cpu 2"), calc);
    assert_eq!(node("requires: calc 0 cpu 2"), calc);
}

#[test]
fn blanks_and_comments_may_stand_anywhere() {
    let text = "// first\n/* a\n b */ num_ranks /* n */ 1 // ranks\r\n\n\trank 0\n{ /**/ a : calc 5 // five
        b: calc /* over\n two lines */ 6\nb requires a// end\n/***/ /* // */ }\n// }";
    let trace = parse(text.as_bytes()).unwrap();
    let rank = &trace.ranks()[0];
    assert_eq!(rank.nodes().iter().map(|n| n.size).collect::<Vec<_>>(), [5, 6]);
    assert_eq!((rank.after_finish(0), rank.after_start(0), rank.dependencies(1)), (&[1][..], &[][..], 1));
    assert_eq!(parse(b"num_ranks 0").unwrap(), Trace::default());
}

#[test]
fn every_error_has_its_place() {
    let cases: &[(&str, u64, u64, &str)] = &[
        ("", 1, 1, "expected `num_ranks`, found the end of the file"),
        ("\n numranks 1", 2, 2, "expected `num_ranks`, found `numranks` (did you mean `num_ranks`?)"),
        ("num_ranks x", 1, 11, "expected a number of ranks, found `x`"),
        ("num_ranks -1", 1, 11, "expected a number of ranks, found `-1`"),
        ("num_ranks 4294967295", 1, 11, "a number of ranks may be at most 4294967294, found 4294967295"),
        ("num_ranks 2\nrank 0 {}\n", 3, 1, "expected rank 1 of 2, found the end of the file"),
        ("num_ranks 1\nrnak 0 {}\n", 2, 1, "expected `rank`, found `rnak` (did you mean `rank`?)"),
        ("num_ranks 2\nrank 1 {}", 2, 6, "expected rank 0: ranks come in order from 0; found rank 1"),
        (
            "num_ranks 2\nrank 0 {}\nrank 0 {}",
            3,
            6,
            "expected rank 1: ranks come in order from 0; found rank 0",
        ),
        ("num_ranks 1\nrank 0 {}\nrank 1 {}", 3, 1, "expected the end of the file, found `rank`"),
        ("num_ranks 1\nrank 0 calc 5", 2, 8, "expected `{`, found `calc`"),
        (
            "num_ranks 1\nrank 0 {\ncalc 5",
            3,
            7,
            "expected a label, `send`, `recv`, `calc`, a collective operation or `}`, found the end of the file",
        ),
        (
            "num_ranks 1\nrank 0 {\nrank 1 {",
            3,
            1,
            "expected a label, `send`, `recv`, `calc`, a collective operation or `}`, found `rank`",
        ),
        (
            "num_ranks 1\nrank 0 {\n5",
            3,
            1,
            "expected a label, `send`, `recv`, `calc`, a collective operation or `}`, found `5`",
        ),
        ("num_ranks 1\nrank 0 {\nl1 calc 5", 3, 4, "expected `:`, `requires` or `irequires`, found `calc`"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nb reqires a",
            5,
            3,
            "expected `:`, `requires` or `irequires`, found `reqires` (did you mean `requires`?)",
        ),
        (
            "num_ranks 1\nrank 0 {\nl1: clac 5",
            3,
            5,
            "expected `send`, `recv`, `calc` or a collective operation, found `clac` (did you mean `calc`?)",
        ),
        (
            "num_ranks 1\nrank 0 {\nsned 5b to 0",
            3,
            1,
            "expected a label, `send`, `recv`, `calc`, a collective operation or `}`, found `sned` (did you mean `send`?)",
        ),
        (
            "num_ranks 1\nrank 0 {\nl1:\ncalc 5",
            3,
            4,
            "expected `send`, `recv`, `calc` or a collective operation, found the end of the line",
        ),
        ("num_ranks 1\nrank 0 {\ncalc", 3, 5, "expected a time in ns, found the end of the file"),
        ("num_ranks 1\nrank 0 {\ncalc -5", 3, 6, "expected a time in ns, found `-`"),
        (
            "num_ranks 1\nrank 0 {\ncalc 18446744073709551616",
            3,
            6,
            "a time in ns may be at most 18446744073709551615, found 18446744073709551616",
        ),
        ("num_ranks 1\nrank 0 {\ncalc 5b", 3, 7, "expected `cpu` or the end of the line, found `b`"),
        ("num_ranks 1\nrank 0 {\ncalc 5 tag 1", 3, 8, "expected `cpu` or the end of the line, found `tag`"),
        ("num_ranks 1\nrank 0 {\ncalc 5 cpu 256", 3, 12, "a CPU may be at most 255, found 256"),
        ("num_ranks 1\nrank 0 {\nsend b to 0", 3, 6, "expected a number of bytes, found `b`"),
        ("num_ranks 1\nrank 0 {\nsend 5 to 0", 3, 8, "expected `b` (bytes), found `to`"),
        ("num_ranks 1\nrank 0 {\nsend 5b form 0", 3, 9, "expected `to`, found `form`"),
        (
            "num_ranks 1\nrank 0 {\nrecv 5b form 0",
            3,
            9,
            "expected `from`, found `form` (did you mean `from`?)",
        ),
        ("num_ranks 1\nrank 0 {\nsend 5b to 1", 3, 12, "rank 1 does not exist: there are 1, from 0"),
        ("num_ranks 1\nrank 0 {\nrecv 5b from 1", 3, 14, "rank 1 does not exist: there are 1, from 0"),
        ("num_ranks 1\nrank 0 {\nsend 5b to -1", 3, 12, "expected a rank, found `-1`"),
        ("num_ranks 1\nrank 0 {\nrecv 5b from -12", 3, 14, "expected a rank or -1, found `-`"),
        ("num_ranks 1\nrank 0 {\nsend 5b to 0 tag -1", 3, 18, "expected a tag, found `-1`"),
        (
            "num_ranks 1\nrank 0 {\nsend 5b to 0 tag 4294967295",
            3,
            18,
            "a tag may be at most 4294967294, found 4294967295",
        ),
        (
            "num_ranks 1\nrank 0 {\nsend 5b to 0 tga 1",
            3,
            14,
            "expected `tag`, `cpu`, `nic` or the end of the line, found `tga` (did you mean `tag`?)",
        ),
        ("num_ranks 1\nrank 0 {\nsend 5b to 0 nic 1 tag 2 nic 1", 3, 26, "`nic` is already given"),
        ("num_ranks 1\nrank 0 {\ncalc 1 calc 2", 3, 8, "expected `cpu` or the end of the line, found `calc`"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\n  a: calc 3",
            5,
            3,
            "label `a` is already defined in line 3",
        ),
        (
            "num_ranks 1\nrank 0 {\nfirst: calc 1\nb: calc 2\nb requires frist",
            5,
            12,
            "label `frist` is not defined above in this rank (did you mean `first`?)",
        ),
        ("num_ranks 1\nrank 0 {\nb requires a", 3, 1, "label `b` is not defined above in this rank"),
        (
            "num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a",
            7,
            12,
            "label `a` is not defined above in this rank",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 1\na irequires a", 4, 1, "`a` cannot depend on itself"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires 5", 4, 12, "expected a label, found `5`"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b b",
            5,
            14,
            "expected the end of the line, found `b`",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\n b: calc 1\na requires b\nb irequires a\n}",
            3,
            1,
            "these wait for each other, each for the next and the last for the first: a, b",
        ),
        ("num_ranks 1\n /* rank 0 {\n * /", 2, 2, "this comment is never closed with `*/`"),
        ("num_ranks 1 $", 1, 13, "expected `rank`, found `$`"),
        ("num_ranks 1 \u{e9}", 1, 13, "expected `rank`, found the byte 0xc3"),
    ];
    for &(text, line, column, message) in cases {
        assert_eq!(error(text), (line, column, message.to_owned()), "{text}");
    }
}

#[test]
fn a_long_word_is_cut_in_messages() {
    let (_, _, message) = error(&"x".repeat(1000));
    assert!(message.contains(&format!("`{}...`", "x".repeat(40))), "{message}");
}

#[test]
fn many_announced_ranks_cost_nothing() {
    assert_eq!(
        error("num_ranks 4000000000 rank 0 {}").2,
        "expected rank 1 of 4000000000, found the end of the file"
    );
}

/// Operations, dependencies and an order that they follow.
type Parts = (Vec<Node>, Vec<(u32, u32, bool)>, Vec<u32>);

/// A sound trace: dependencies point backwards in a shuffled order, so that they point in both directions in
/// the file.
fn trace() -> impl Strategy<Value = Trace> {
    let node = |ranks: u32| {
        let peer = 0..ranks;
        let any_peer = prop_oneof![3 => 0..ranks, 1 => Just(ANY)];
        let any_tag = prop_oneof![Just(0), 1..10u32, Just(ANY)];
        let size = prop_oneof![Just(0), 1..100_000u64, Just(u64::MAX)];
        prop_oneof![
            (size.clone(), peer, 0..ANY, any::<u8>(), any::<u8>())
                .prop_map(|(size, peer, tag, cpu, nic)| Node { size, peer, tag, kind: Kind::Send, cpu, nic }),
            (size.clone(), any_peer, any_tag, any::<u8>(), any::<u8>()).prop_map(
                |(size, peer, tag, cpu, nic)| Node { size, peer, tag, kind: Kind::Receive, cpu, nic }
            ),
            (size, any::<u8>()).prop_map(|(size, cpu)| Node {
                size,
                peer: 0,
                tag: 0,
                kind: Kind::Calc,
                cpu,
                nic: 0
            }),
        ]
    };
    let rank = move |ranks: u32| {
        proptest::collection::vec(node(ranks), 0..12).prop_flat_map(|nodes| {
            let n = nodes.len() as u32;
            let edges = proptest::collection::vec((0..n.max(1), 0..n.max(1), any::<bool>()), 0..20);
            (Just(nodes), edges, Just((0..n).collect::<Vec<_>>()).prop_shuffle())
        })
    };
    (1..5u32).prop_flat_map(move |ranks| {
        proptest::collection::vec(rank(ranks), ranks as usize).prop_map(|ranks| {
            let mut builder = RankBuilder::default();
            let mut finish = |(nodes, edges, order): Parts| {
                for (a, b, on_start) in edges {
                    if a != b {
                        let (later, earlier) = (a.max(b) as usize, a.min(b) as usize);
                        builder.depend(order[later], order[earlier], on_start);
                    }
                }
                builder.nodes = nodes;
                builder.finish().expect("edges that follow an order make no cycle")
            };
            Trace { ranks: ranks.into_iter().map(&mut finish).collect() }
        })
    })
}

proptest! {
    #[test]
    fn text_memory_binary_memory_text(trace in trace()) {
        let mut text = Vec::new();
        write_text(&trace, &mut text).unwrap();
        let parsed = parse(&text).unwrap();
        prop_assert_eq!(&parsed, &trace);
        let mut packed = Vec::new();
        binary::write(&parsed, &mut packed).unwrap();
        let read = binary::read(&packed).unwrap();
        prop_assert_eq!(&read, &trace);
        let mut again = Vec::new();
        write_text(&read, &mut again).unwrap();
        prop_assert_eq!(text, again);
    }
}

#[test]
fn collective_operations_are_the_same_for_all_ranks() {
    let rank = |number: u32, statements: &str| format!("rank {number} {{\n{statements}\n}}\n");
    let of = |a: &str, b: &str| parse(format!("num_ranks 2\n{}{}", rank(0, a), rank(1, b)).as_bytes());
    let trace = of("a: barrier\nb: allreduce 8b\nb requires a", "barrier\nallreduce 8b").unwrap();
    assert_eq!(trace.ranks()[1].collectives().collect::<Vec<_>>(), [(0, 0), (3, 8)]);
    // Words of operations are labels as before, where a colon or a dependency follows.
    assert!(of("barrier: calc 3\nx: calc 2\nx requires barrier", "calc 1").is_ok());
    let reported = |a: &str, b: &str| of(a, b).unwrap_err().fault.to_string();
    assert_eq!(
        reported("bcast 8b\nreduce 9b", "bcast 8b"),
        "all ranks take part in the same collective operations; number 2 of rank 0 is `reduce 9b`, that of rank 1 none"
    );
    assert!(reported("barrier 8b", "barrier").starts_with("expected the end of the line, found `8`"));
    assert!(reported("alltoal 8b", "").contains("did you mean `alltoall`"));
    // What each has for each is its own affair.
    let trace = of("b: alltoallv 1b 2b\nc: barrier\nc requires b", "alltoallv 3b 4b\nbarrier").unwrap();
    assert_eq!([0, 1].map(|to| trace.ranks()[1].block(0, to)), [3, 4]);
    assert_eq!(trace.ranks()[0].nodes().len(), 3);
    let mut text = vec![];
    write_text(&trace, &mut text).unwrap();
    assert_eq!(parse(&text).unwrap(), trace);
    let mut packed = vec![];
    binary::write(&trace, &mut packed).unwrap();
    assert_eq!(binary::read(&packed).unwrap(), trace);
    assert!(reported("alltoallv 1b", "").starts_with("expected a number of bytes for each rank"));
    assert!(reported("alltoallv 1b 2b 3b", "").starts_with("expected the end of the line"));
    assert!(reported("alltoallv 1b 2b", "barrier").contains("number 1 of rank 0 is `alltoallv`"));
}
