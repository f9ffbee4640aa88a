//! Any bytes in the place of messages: see `received/mod.rs`. Bytes are random, or almost those of a
//! message.
#![allow(unsafe_code)] // Layouts access memory.

mod received;

use netloom_mpi::datatype::{Layout, PREDEFINED};
use netloom_mpi::op::OPS;
use proptest::prelude::*;
use received::{check, envelope, external32, layout, operation};

/// A word as layouts have them: small, near zero, or any.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..5u64, 3 => (-64..300i64).prop_map(|of| of as u64), 1 => any::<u64>(), 1 => any::<i64>().prop_map(|of| (of >> 1) as u64)]
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Layouts as bytes: loops within loops of which most are valid.
fn layouts() -> impl Strategy<Value = Vec<u8>> {
    let run = (-20..200i64, 0..9u64).prop_map(|(at, bytes)| bytes_of(&[0, at as u64, bytes]));
    run.prop_recursive(4, 24, 3, |node| {
        let head = (-20..100i64, 0..6u64, -20..40i64);
        (head, prop::collection::vec(node, 0..3)).prop_map(|((at, count, stride), body)| {
            let mut bytes = bytes_of(&[1 + body.len() as u64, at as u64, count, stride as u64]);
            body.iter().for_each(|node| bytes.extend(node));
            bytes
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_refused_or_mean_something(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        check(&bytes);
        envelope(&bytes[..bytes.len().min(24)]);
        external32(&bytes);
    }

    #[test]
    fn layouts_are_refused_or_stay_within_their_span(
        words in prop::collection::vec(word(), 0..24),
        mut almost in layouts(),
        (at, byte) in (any::<prop::sample::Index>(), any::<u8>()),
    ) {
        layout(&bytes_of(&words));
        layout(&almost);
        let at = at.index(almost.len());
        almost[at] = byte;
        layout(&almost);
    }

    #[test]
    fn operations_stay_within_the_window(
        (kind, op, of) in (0..5u8, 0..OPS.len(), 0..PREDEFINED.len()),
        (offset, run, is_run) in (-40..300i64, 0..80u64, any::<bool>()),
        of_layout in layouts(),
        data in prop::collection::vec(any::<u8>(), 0..80),
        (at, byte, is_changed) in (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
    ) {
        let other = if is_run { vec![] } else { of_layout };
        let mut message = vec![kind];
        message.extend(offset.to_le_bytes());
        message.extend((OPS[op].0 as u16).to_le_bytes());
        message.extend((PREDEFINED[of].handle as u16).to_le_bytes());
        message.extend(bytes_of(&[run, other.len() as u64]));
        message.extend(other);
        message.extend(data);
        let at = at.index(message.len());
        if is_changed {
            message[at] = byte;
        }
        operation(&message);
    }
}

#[test]
fn layouts_that_no_program_makes_are_refused() {
    let decode = |words: &[u64]| Layout::decode(&bytes_of(words));
    assert!(decode(&[2, 0, 3, 16, 0, 0, 8]).is_some());
    // Nothing, as often as there are numbers.
    assert_eq!(decode(&[1, 0, u64::MAX >> 1, 8]), None);
    assert_eq!(decode(&[2, 0, u64::MAX >> 1, 8, 0, 0, 0]), None);
    assert_eq!(decode(&[2, 0, 0, 8, 0, 0, 8]), None);
    // An end that overflows, and is within a window again where the loop begins.
    let far = isize::MAX as u64 - 10;
    assert_eq!(decode(&[2, far.wrapping_neg(), 1, 0, 0, far, 1000]), None);
    assert_eq!(decode(&[2, 0, u64::MAX >> 3, 16, 0, 0, 8]), None);
    // Loops within loops without end.
    let deep: Vec<u64> = [2, 0, 2, 64].repeat(100_000);
    assert_eq!(decode(&deep), None);
}
