//! The link-level protocol over a channel that flips bits: the received packets are those sent, in order,
//! once.

use netloom_engine::Stream;
use netloom_fabric::link::frame::{DataFrame, VCS};
use netloom_fabric::link::protocol::{LinkEnd, LinkError, LinkSettings, Refusal};
use std::collections::VecDeque;

const SETTINGS: LinkSettings = LinkSettings { capacity: [32, 32, 32, 32], timeout: 900, repeat: 500 };
/// Time from a byte's start to its arrival.
const DELAY: u64 = 13;

fn packet(stream: &mut Stream) -> DataFrame {
    let chunks = 1 + stream.below(8) as usize;
    let bits = stream.draw();
    DataFrame {
        sequence: 0,
        hints: bits as u8 % 64,
        destination: [(bits >> 8) as u8, (bits >> 16) as u8, (bits >> 24) as u8],
        vc: (bits >> 32) as u8 % 4,
        fixed: bits >> 40 & 1 != 0,
        high: bits >> 41 & 1 != 0,
        deposit: bits >> 42 & 1 != 0,
        valid: bits >> 43 & 1 != 0,
        payload: (0..chunks * 32 - 8).map(|_| stream.draw() as u8).collect(),
    }
}

/// A node: its end of the link, the packets to send, the VC buffers of its receiver, and the packets taken
/// from them.
struct Node {
    end: LinkEnd,
    to_send: VecDeque<DataFrame>,
    buffered: [VecDeque<u8>; VCS],
    received: Vec<DataFrame>,
    free_at: u64,
}

/// The outcome of all transmissions.
#[derive(Debug, Default)]
struct Tally {
    corrupted: u64,
    frames: u64,
    out_of_sequence: u64,
}

/// Sends `each` packets in both directions, while `spoil` may change any frame on the link from either node.
fn exchange(each: usize, seed: u64, mut spoil: impl FnMut(usize, &mut Vec<u8>)) -> (Tally, u64) {
    let mut stream = Stream::new(seed, 7, 0);
    let lists: [Vec<DataFrame>; 2] =
        std::array::from_fn(|_| (0..each).map(|_| packet(&mut stream)).collect());
    let mut nodes = lists.clone().map(|list| Node {
        end: LinkEnd::new(SETTINGS),
        to_send: list.into(),
        buffered: Default::default(),
        received: vec![],
        free_at: 0,
    });
    let mut wire: [VecDeque<(u64, Vec<u8>)>; 2] = Default::default();
    let mut tally = Tally::default();
    for now in 0.. {
        for (from, wire) in wire.iter_mut().enumerate() {
            let node = &mut nodes[1 - from];
            while let Some((_, bytes)) = wire.pop_front_if(|frame| frame.0 == now) {
                match node.end.receive(&bytes, now) {
                    Ok(Some(packet)) => {
                        let vc = usize::from(packet.vc);
                        node.buffered[vc].push_back(packet.chunks());
                        let chunks: u8 = node.buffered[vc].iter().sum();
                        assert!(chunks <= SETTINGS.capacity[vc], "the VC overflows");
                        node.received.push(packet);
                    }
                    Ok(None) => {}
                    Err(LinkError::OutOfSequence { .. }) => tally.out_of_sequence += 1,
                    Err(LinkError::Frame(_)) => tally.corrupted += 1,
                    Err(error @ LinkError::Acknowledgement) => panic!("{error}"),
                }
            }
        }
        for (from, node) in nodes.iter_mut().enumerate() {
            if stream.below(150) == 0 {
                let vc = stream.below(4) as usize;
                if let Some(chunks) = node.buffered[vc].pop_front() {
                    node.end.free(vc as u8, chunks);
                }
            }
            if node.free_at > now {
                continue;
            }
            if let Some(packet) = node.to_send.front() {
                match node.end.offer(packet.clone()) {
                    Ok(()) => drop(node.to_send.pop_front()),
                    Err(refusal) => assert!(matches!(refusal, Refusal::NoTokens { .. })),
                }
            }
            if let Some(mut bytes) = node.end.transmit(now) {
                node.free_at = now + bytes.len() as u64;
                tally.frames += 1;
                spoil(from, &mut bytes);
                wire[from].push_back((node.free_at + DELAY, bytes));
            }
        }
        let at_rest = |n: &Node| {
            n.to_send.is_empty()
                && n.end.unacknowledged() == 0
                && n.end.tokens() == SETTINGS.capacity
                && n.buffered.iter().all(VecDeque::is_empty)
        };
        if nodes.iter().all(at_rest) {
            for (node, list) in nodes.iter().zip(lists.iter().rev()) {
                assert_eq!(node.received.len(), list.len());
                for (i, (found, sent)) in node.received.iter().zip(list).enumerate() {
                    let sequence = i as u8;
                    assert_eq!(*found, DataFrame { sequence, ..sent.clone() });
                }
            }
            let timeouts = nodes.iter().map(|n| n.end.timeouts()).sum();
            return (tally, timeouts);
        }
        assert!(now < 50_000_000, "it does not end: {tally:?}");
    }
    unreachable!()
}

/// Flips each bit with a probability, by the gaps between flips.
fn flips(rate: f64, seed: u64) -> impl FnMut(usize, &mut Vec<u8>) {
    let mut stream = Stream::new(seed, 8, 0);
    let mut gap = move || (stream.exponential() / rate) as usize;
    let mut next = gap();
    move |_, bytes| {
        while next < 8 * bytes.len() {
            bytes[next / 8] ^= 1 << (next % 8);
            next += 1 + gap();
        }
        next -= 8 * bytes.len();
    }
}

#[test]
fn without_errors_nothing_is_sent_twice() {
    let (tally, timeouts) = exchange(1000, 1, |_, _| {});
    assert_eq!((tally.corrupted, tally.out_of_sequence, timeouts), (0, 0, 0));
}

#[test]
fn what_goes_in_comes_out_whatever_flips() {
    for (rate, each) in [(1e-5, 1500), (1e-4, 1500), (3e-4, 800), (1e-3, 300), (2e-3, 60)] {
        for seed in 0..3 {
            let (tally, timeouts) = exchange(each, seed, flips(rate, seed));
            println!("{rate:e}: {tally:?}, {timeouts} timeouts");
            assert!(tally.corrupted > 0 && (timeouts > 0 || rate < 1e-4));
        }
    }
}

#[test]
fn corrupted_headers_and_token_acks_do_no_harm() {
    // Half of the frames of one kind from one side, in a byte of header, acknowledgement, tokens or check.
    for (side, kind, byte) in
        [(0, 0x3c, 1), (0, 0x3c, 2), (1, 0x3c, 7), (0, 0xc3, 1), (1, 0xc3, 3), (1, 0xc3, 6)]
    {
        let mut stream = Stream::new(5, 8, byte as u64);
        let (tally, timeouts) = exchange(300, 5, |from, bytes| {
            if from == side && bytes[0] == kind {
                bytes[byte] ^= (stream.below(2) as u8) << stream.below(8);
            }
        });
        assert!(tally.corrupted >= 100);
        // A lost acknowledgement is replaced by the next in time; a lost packet only by a timeout.
        assert!(timeouts > 0 || kind == 0xc3);
    }
}

#[test]
fn lost_tokens_come_back_on_an_idle_link() {
    // One token-ack in twelve gets through.
    let mut stream = Stream::new(6, 8, 0);
    let (tally, _) = exchange(100, 6, |_, bytes| {
        if bytes[0] == 0xc3 && stream.below(12) != 0 {
            bytes.truncate(4);
        }
    });
    assert!(tally.corrupted > 100, "{tally:?}");
}
