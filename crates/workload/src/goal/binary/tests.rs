use super::*;
use crate::goal::text;

const TEXT: &str = "num_ranks 2
rank 0 {
a: calc 5 cpu 1
b: send 7b to 1 tag 3 nic 2
b requires a
c: calc 6
c irequires b
c requires a
}
rank 1 {
recv 7b from -1 tag -1
}";

fn example() -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&text::parse(TEXT.as_bytes()).unwrap(), &mut bytes).unwrap();
    bytes
}

/// Where the parts of the example are.
const TABLE: usize = 14;
const BLOCK_0: usize = TABLE + 32;
const ROOT_0: usize = BLOCK_0 + 8;
const NODES_0: usize = ROOT_0 + 4;
const INDICES_0: usize = NODES_0 + 3 * NODE;
const BLOCK_1: usize = INDICES_0 + 3 * 4;
const NODES_1: usize = BLOCK_1 + 12;
const END: usize = NODES_1 + NODE;

#[test]
fn the_layout_is_that_of_txt2bin() {
    let bytes = example();
    assert_eq!(bytes.len(), END);
    let numbers = |at: usize, n: usize| (0..n).map(|i| u32_at(&bytes, at + 4 * i)).collect::<Vec<_>>();
    assert_eq!(u64_at(&bytes, 0), 4223);
    assert_eq!((u32_at(&bytes, 8), bytes[12], bytes[13]), (2, 1, 2));
    let table: Vec<_> = (0..4).map(|i| u64_at(&bytes, TABLE + 8 * i) as usize + 8).collect();
    assert_eq!(table, [BLOCK_0, BLOCK_1, BLOCK_1, END]);
    assert_eq!(numbers(BLOCK_0, 3), [3, 1, 0]);
    // b: one dependency; send to 1, 7 bytes, tag 3, cpu 0, nic 2; none waits for its finish, c for its
    // start.
    let b = NODES_0 + NODE;
    assert_eq!(numbers(b, 1), [1]);
    assert_eq!(bytes[b + 4], 1);
    assert_eq!(numbers(b + 5, 1), [1]);
    assert_eq!(u64_at(&bytes, b + 9), 7);
    assert_eq!(numbers(b + 17, 1), [3]);
    assert_eq!(bytes[b + 21..b + 23], [0, 2]);
    assert_eq!(numbers(b + 23, 4), [0, 2, 1, 2]);
    assert_eq!(numbers(INDICES_0, 3), [1, 2, 2]);
    assert_eq!(numbers(NODES_1 + 5, 1), [u32::MAX]);
    assert_eq!(read(&bytes).unwrap(), text::parse(TEXT.as_bytes()).unwrap());
}

/// The error after some bytes of the example have been replaced.
fn error(at: usize, with: &[u8]) -> BinaryError {
    let mut bytes = example();
    bytes[at..at + with.len()].copy_from_slice(with);
    read(&bytes).expect_err("damaged")
}

#[test]
fn every_error_has_its_place() {
    use BinaryFault::*;
    let check = |at: usize, with: &[u8], offset: usize, rank: Option<u32>, fault: BinaryFault| {
        assert_eq!(error(at, with), BinaryError { offset: offset as u64, rank, fault });
    };
    let n = u32::to_le_bytes;
    let (base, to) = (8, END as u64 - 8);
    check(0, &[0], 0, None, Magic(4096));
    let left = (END - TABLE) as u64;
    check(
        8,
        &n(u32::MAX),
        TABLE,
        None,
        Truncated { what: "the ranks' offsets", need: 16 * 0xffff_ffff, left },
    );
    // Blocks: before the first, behind the file, backwards, over the one before.
    let (start, end) = (BLOCK_0 as u64 - base, BLOCK_1 as u64 - base);
    let block = |from, start, end| Block { from, to, start, end };
    check(TABLE, &[start as u8 - 1], TABLE, Some(0), block(start, start - 1, end));
    check(TABLE + 8, &[0xff; 8], TABLE, Some(0), block(start, start, u64::MAX));
    check(TABLE + 8, &[start as u8 - 1, 0], TABLE, Some(0), block(start, start, start - 1));
    check(TABLE + 16, &start.to_le_bytes(), TABLE + 16, Some(1), block(end, start, to));
    // A block.
    let left = (BLOCK_1 - NODES_0) as u64;
    let need = 39 * u64::from(u32::MAX);
    check(BLOCK_0, &n(u32::MAX), NODES_0, Some(0), Truncated { what: "the operations", need, left });
    let need = 4 * u64::from(u32::MAX);
    let left = (BLOCK_1 - ROOT_0) as u64;
    check(BLOCK_0 + 4, &n(u32::MAX), ROOT_0, Some(0), Truncated { what: "the roots", need, left });
    check(BLOCK_0, &n(2), INDICES_0 + 12 - 3, Some(0), LeftOver(3));
    check(ROOT_0, &n(1), BLOCK_0 + 4, Some(0), Roots { expected: 1, found: 1 });
    // An operation.
    check(NODES_0 + 4, &[0], NODES_0 + 4, Some(0), Kind(0));
    check(NODES_0 + 4, &[6], NODES_0 + 4, Some(0), Kind(6));
    check(NODES_0 + 4, &[5], NODES_0 + 4, Some(0), Blocks { ranks: 2 });
    check(NODES_0 + 21, &[2], NODES_0 + 21, Some(0), AboveHighest { what: "CPU", found: 2, highest: 1 });
    let fault = AboveHighest { what: "network interface", found: 3, highest: 2 };
    check(NODES_0 + 22, &[3], NODES_0 + 22, Some(0), fault);
    let b = NODES_0 + NODE;
    check(b + 5, &n(2), b + 5, Some(0), PeerOutOfRange { peer: 2, ranks: 2 });
    check(b + 5, &n(ANY), b + 5, Some(0), PeerOutOfRange { peer: ANY, ranks: 2 });
    check(NODES_1 + 5, &n(2), NODES_1 + 5, Some(1), PeerOutOfRange { peer: 2, ranks: 2 });
    check(b + 17, &n(ANY), b + 17, Some(0), SendToAnyTag);
    // Its lists.
    let list = |count, first| List { count, first, indices: 3 };
    check(NODES_0 + 23, &n(4), NODES_0 + 23, Some(0), list(4, 0));
    check(NODES_0 + 27, &n(u32::MAX), NODES_0 + 23, Some(0), list(2, u32::MAX));
    check(b + 31, &n(u32::MAX), b + 31, Some(0), list(u32::MAX, 2));
    check(b + 31, &n(0), INDICES_0, Some(0), Lists { listed: 2, indices: 3 });
    // b's finish awaited as a's is: four entries in lists, three indices.
    check(b + 23, &[2, 0, 0, 0, 1], b + 23, Some(0), Lists { listed: 4, indices: 3 });
    check(INDICES_0, &n(3), INDICES_0, Some(0), Waiting { index: 3, nodes: 3 });
    check(INDICES_0, &n(0), INDICES_0, Some(0), SelfDependency(0));
    check(b, &n(2), b, Some(0), Dependencies { node: 1, stated: 2, listed: 1 });
    // b waits for a, and a for b's start.
    check(INDICES_0 + 8, &n(0), BLOCK_0, Some(0), Cycle(vec![0, 1]));
    assert_eq!(
        error(INDICES_0, &n(0)).to_string(),
        format!("byte {INDICES_0}, rank 0: operation 0 cannot depend on itself")
    );
}

#[test]
fn every_truncation_is_refused() {
    let bytes = example();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn what_means_nothing_is_not_kept() {
    // A calc's peer, and where an empty list begins.
    let mut bytes = example();
    bytes[NODES_0 + 5..NODES_0 + 9].fill(0xee);
    bytes[NODES_0 + 35..NODES_0 + 39].fill(0xee);
    assert_eq!(read(&bytes).unwrap(), text::parse(TEXT.as_bytes()).unwrap());
}
