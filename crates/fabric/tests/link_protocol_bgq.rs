//! Blue Gene/Q's complete link: packets through check symbols, the link-level protocol, five noisy fibres and
//! buffers with soft errors, in both directions. The received packets are those sent, in order, once; and
//! each error is counted where it is handled.

use netloom_engine::Stream;
use netloom_fabric::link::frame_bgq::{BgqPacket, VCS};
use netloom_fabric::link::optical::{Counters, FIBRES, LANES, Receiver, SPARE, Transmitter, Word};
use netloom_fabric::link::protected_fifo::{ProtectedFifo, Stopped, WORD_BITS};
use netloom_fabric::link::protocol::{Format, LinkEnd, LinkError, LinkSettings};
use netloom_fabric::link::reed_solomon::{multiply, power};
use std::collections::VecDeque;

/// Capacities as in machines/bgq.toml; a timeout of 512 network cycles, as in the machine's registers after a
/// reset (nd_500_dcr.h).
const SETTINGS: LinkSettings<VCS> =
    LinkSettings { capacity: [126, 119, 119, 119, 119, 119], timeout: 2048, repeat: 1000 };
/// Time from a byte's start to its arrival, byte times: SerDes, link chips, a cable.
const DELAY: u64 = 160;

fn packet(stream: &mut Stream) -> BgqPacket {
    let bits = stream.draw();
    let mut packet = BgqPacket {
        sequence: 0,
        hints: (0..5).fold(0, |hints, _| hints << 2 | stream.below(3) as u16),
        routing: bits as u8 % 64,
        vc: (bits >> 8) as u8 % 7,
        zone: (bits >> 16) as u8 % 4,
        stay: bits >> 24 & 1 != 0,
        destination: std::array::from_fn(|_| stream.below(64) as u8),
        kind: (bits >> 32) as u8 % 4,
        unit: std::array::from_fn(|_| stream.draw() as u8),
        data: (0..32 * stream.below(17)).map(|_| stream.draw() as u8).collect(),
        exception: bits >> 40 & 1 != 0,
        end_to_end: 0,
    };
    packet.seal();
    packet
}

/// A node's end of the link.
struct Node {
    end: LinkEnd<BgqPacket, VCS>,
    out: Transmitter,
    into: Receiver,
    to_send: VecDeque<BgqPacket>,
    /// Packets in the receiver's buffers, as words.
    buffers: [ProtectedFifo; VCS],
    /// Number of words of each packet in them.
    lengths: [VecDeque<usize>; VCS],
    /// The order of arrival over all VCs: the VC.
    order: VecDeque<usize>,
    received: Vec<BgqPacket>,
    free_at: u64,
    stopped: Option<Stopped>,
}

/// A frame on the fibres.
struct Flight {
    arrives: u64,
    bytes: Vec<u8>,
    words: Vec<Word>,
    /// The fibre that was replaced just before it.
    replaced: Option<usize>,
}

/// The outcome of all transmissions in each direction.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    frames: u64,
    /// Frames that arrived with wrong bytes.
    corrupted: u64,
    /// Frames rejected for their contents.
    refused: u64,
    out_of_sequence: u64,
}

type Fibres<'a> = dyn FnMut(usize, u64, &mut [Word]) + 'a;
type Behind<'a> = dyn FnMut(usize, &mut [u8]) + 'a;
type Buffers<'a> = dyn FnMut(usize, &mut ProtectedFifo, usize) + 'a;

/// The injected errors.
struct Trouble<'a> {
    /// On the fibres of one direction: its number, the frame's number, the words.
    fibres: Box<Fibres<'a>>,
    /// After all of the link's checks: the output of the optical receiver.
    behind: Box<Behind<'a>>,
    /// In a buffer of a node, before a packet with this number of words is read.
    buffers: Box<Buffers<'a>>,
    /// Whether a bad fibre is replaced.
    sparing: bool,
}

impl Default for Trouble<'_> {
    fn default() -> Self {
        Trouble {
            fibres: Box::new(|_, _, _| {}),
            behind: Box::new(|_, _| {}),
            buffers: Box::new(|_, _, _| {}),
            sparing: false,
        }
    }
}

/// The result of a run.
struct Outcome {
    sent: [Vec<BgqPacket>; 2],
    nodes: [Node; 2],
    tally: [Tally; 2],
}

impl Outcome {
    /// The error counters of a direction's receiver.
    fn counters(&self, direction: usize) -> Counters {
        self.nodes[1 - direction].into.counters()
    }

    /// CRCs of a direction: sent, received.
    fn crcs(&self, direction: usize) -> [u64; 2] {
        [self.nodes[direction].end.sent_crc(), self.nodes[1 - direction].end.received_crc()]
    }

    /// Nothing lost, duplicated, reordered or changed; every wrong frame rejected; the CRCs agree.
    fn assert_all_there(&self) {
        for direction in 0..2 {
            let (sent, received) = (&self.sent[direction], &self.nodes[1 - direction].received);
            assert_eq!(sent.len(), received.len());
            for (i, (sent, found)) in sent.iter().zip(received).enumerate() {
                assert_eq!(*found, BgqPacket { sequence: i as u8, ..sent.clone() });
            }
            let tally = self.tally[direction];
            assert_eq!(tally.corrupted, tally.refused);
            let [of_sent, of_received] = self.crcs(direction);
            assert_eq!(of_sent, of_received);
        }
    }

    fn timeouts(&self) -> u64 {
        self.nodes.iter().map(|node| node.end.timeouts()).sum()
    }

    fn retransmitted(&self) -> u64 {
        self.nodes.iter().map(|node| node.end.retransmitted()).sum()
    }
}

/// Takes the packet that arrived first from a node's buffers.
fn read(number: usize, node: &mut Node, trouble: &mut Trouble) -> Result<(), Stopped> {
    let Some(vc) = node.order.pop_front() else { return Ok(()) };
    let words = node.lengths[vc].pop_front().expect("a packet");
    (trouble.buffers)(number, &mut node.buffers[vc], words);
    let mut bytes = vec![];
    for _ in 0..words {
        bytes.extend_from_slice(&node.buffers[vc].pop()?.expect("its words").to_be_bytes());
    }
    let found = <BgqPacket as Format<VCS>>::decode(&bytes).expect("as it was written");
    let netloom_fabric::link::protocol::Incoming::Packet(packet) = found else { panic!("no packet") };
    assert!(packet.sealed());
    node.end.free(vc as u8, packet.chunks());
    node.received.push(packet);
    Ok(())
}

/// Sends `each` packets in both directions, until all have arrived or a node has stopped.
fn exchange(each: usize, seed: u64, mut trouble: Trouble) -> Outcome {
    let mut stream = Stream::new(seed, 7, 0);
    let sent: [Vec<BgqPacket>; 2] = std::array::from_fn(|_| (0..each).map(|_| packet(&mut stream)).collect());
    let mut nodes = sent.clone().map(|list| Node {
        end: LinkEnd::new(SETTINGS),
        out: Transmitter::default(),
        into: Receiver::new(100),
        to_send: list.into(),
        buffers: Default::default(),
        lengths: Default::default(),
        order: VecDeque::new(),
        received: vec![],
        free_at: 0,
        stopped: None,
    });
    let mut wires: [VecDeque<Flight>; 2] = Default::default();
    let mut tally = [Tally::default(); 2];
    for now in 0.. {
        for (from, wire) in wires.iter_mut().enumerate() {
            while let Some(flight) = wire.pop_front_if(|flight| flight.arrives == now) {
                let node = &mut nodes[1 - from];
                if let Some(fibre) = flight.replaced {
                    node.into.replace(fibre).expect("a spare");
                }
                let mut bytes = node.into.receive(&flight.words);
                tally[from].corrupted += u64::from(bytes != flight.bytes);
                (trouble.behind)(from, &mut bytes);
                match node.end.receive(&bytes, now) {
                    Ok(Some(packet)) => {
                        let vc = usize::from(Format::vc(&packet));
                        let (words, []) = bytes.as_chunks() else { panic!("half a word") };
                        // A stopped buffer accepts nothing; its node sends nothing more.
                        if words.iter().all(|&word| node.buffers[vc].push(u64::from_be_bytes(word)).is_ok()) {
                            node.lengths[vc].push_back(words.len());
                            node.order.push_back(vc);
                        }
                        let room: usize = node.lengths[vc].iter().map(|words| (words - 1) / 4).sum();
                        assert!(room <= SETTINGS.capacity[vc].into(), "the VC overflows");
                    }
                    Ok(None) => {}
                    Err(LinkError::OutOfSequence { .. }) => tally[from].out_of_sequence += 1,
                    Err(LinkError::Frame(_)) => tally[from].refused += 1,
                    Err(LinkError::Acknowledgement) => panic!("an acknowledgement of what was not sent"),
                }
            }
        }
        for from in 0..2 {
            let [node, other] = &mut nodes;
            let (node, other) = if from == 0 { (node, other) } else { (other, node) };
            // Faster than the link on average, and uneven.
            if stream.below(250) == 0
                && let Err(stopped) = read(from, node, &mut trouble)
            {
                node.stopped = Some(stopped);
            }
            if node.free_at > now {
                continue;
            }
            if let Some(packet) = node.to_send.front()
                && node.end.tokens()[usize::from(Format::vc(packet))] >= packet.chunks()
            {
                node.end.offer(packet.clone()).expect("there are tokens");
                node.to_send.pop_front();
            }
            if let Some(bytes) = node.end.transmit(now) {
                // Software detects a bad fibre by the other end's counters, and has it replaced between two
                // frames.
                let bad = other.into.bad_fibre().filter(|&fibre| trouble.sparing && fibre != SPARE);
                let replaced = bad.filter(|&fibre| node.out.replace(fibre).is_ok());
                node.free_at = now + bytes.len() as u64;
                let mut words = node.out.send(&bytes);
                (trouble.fibres)(from, tally[from].frames, &mut words);
                tally[from].frames += 1;
                wires[from].push_back(Flight { arrives: node.free_at + DELAY, bytes, words, replaced });
            }
        }
        let at_rest = |n: &Node| {
            n.to_send.is_empty()
                && n.end.unacknowledged() == 0
                && n.end.tokens() == SETTINGS.capacity
                && n.order.is_empty()
        };
        if nodes.iter().all(at_rest) || nodes.iter().any(|n| n.stopped.is_some()) {
            // Frames still in flight are counted too.
            for (from, flight) in wires.iter().enumerate().flat_map(|(i, w)| w.iter().map(move |f| (i, f))) {
                nodes[1 - from].into.receive(&flight.words);
            }
            return Outcome { sent, nodes, tally };
        }
        assert!(now < 20_000_000, "it does not end: {tally:?}");
    }
    unreachable!()
}

/// The effects of noise on words, and so the expected counts of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    /// Symbols with one error or three.
    odd: [u64; FIBRES],
    /// Symbols with two.
    even: u64,
    /// Words of which one data fibre has errors, and no other.
    single: u64,
    /// Words with errors on several fibres, one of them with data.
    several: u64,
}

/// Flips each bit on the fibres with a probability, by the gaps between flips, and records the effects in
/// each direction.
fn noise(rate: f64, seed: u64, done: &mut [Done; 2]) -> impl FnMut(usize, u64, &mut [Word]) {
    let mut stream = Stream::new(seed, 8, 0);
    let mut gap = move || (stream.exponential() / rate) as usize;
    let mut next = gap();
    move |from, _, words| {
        let done = &mut done[from];
        for word in words {
            let mut flips = [0u32; FIBRES];
            while next < 10 * FIBRES {
                word[next / 10] ^= 1 << (next % 10);
                flips[next / 10] += 1;
                next += 1 + gap();
            }
            next -= 10 * FIBRES;
            for (odd, &n) in done.odd.iter_mut().zip(&flips) {
                *odd += u64::from(n % 2 == 1);
                done.even += u64::from(n > 0 && n % 2 == 0);
            }
            let hit = flips.iter().filter(|&&n| n > 0).count();
            let data = flips[..LANES].iter().any(|&n| n > 0);
            done.single += u64::from(data && hit == 1);
            done.several += u64::from(data && hit > 1);
        }
    }
}

#[test]
fn without_errors_nothing_is_counted() {
    let outcome = exchange(1000, 1, Trouble::default());
    outcome.assert_all_there();
    assert_eq!((outcome.timeouts(), outcome.retransmitted()), (0, 0));
    for direction in 0..2 {
        assert_eq!(outcome.counters(direction), Counters::default());
        assert_eq!((outcome.tally[direction].corrupted, outcome.tally[direction].out_of_sequence), (0, 0));
    }
}

#[test]
fn what_goes_in_comes_out_whatever_flips() {
    for (rate, each) in [(1e-5, 1500), (1e-4, 1500), (5e-4, 600), (1e-3, 300), (2e-3, 60)] {
        for seed in 0..3 {
            let mut done = [Done::default(); 2];
            let trouble = Trouble { fibres: Box::new(noise(rate, seed, &mut done)), ..Trouble::default() };
            let outcome = exchange(each, seed, trouble);
            outcome.assert_all_there();
            for (direction, done) in done.into_iter().enumerate() {
                let counters = outcome.counters(direction);
                let invalid: u64 = counters.invalid.iter().sum();
                let odd: u64 = done.odd.iter().sum();
                // An odd number of errors in a symbol is always detected, two of them if the result is an
                // invalid symbol.
                assert!((odd..=odd + done.even).contains(&invalid), "{counters:?} {done:?}");
                let corrected: u64 = counters.corrected.iter().sum();
                if done.even == 0 {
                    assert_eq!(counters.invalid, done.odd);
                    assert_eq!((corrected, counters.uncorrectable), (done.single, done.several));
                    assert_eq!((counters.mismatched, counters.disparity), (0, [0; FIBRES]));
                }
                // Without the parity each of these would have cost a retransmission.
                assert!(corrected > 10 || rate < 1e-4);
                assert!(counters.uncorrectable + counters.mismatched >= outcome.tally[direction].corrupted);
            }
            let corrupted: u64 = outcome.tally.iter().map(|t| t.corrupted).sum();
            println!(
                "{rate:e}: {:?}, {} timeouts, {:?}",
                outcome.tally,
                outcome.timeouts(),
                outcome.counters(0)
            );
            assert!(corrupted > 0 && outcome.timeouts() > 0 && outcome.retransmitted() > 0 || rate < 5e-4);
        }
    }
}

#[test]
fn a_burst_in_any_part_of_a_frame_is_refused_and_made_good() {
    // All fibres in a word of a third of the frames of one kind in one direction: in a packet's kind, number
    // and Hamming code, unit header, data or trailer; in an acknowledgement's number, tokens or check.
    for (side, packets, word) in [
        (0, true, 0),
        (1, true, 2),
        (0, true, 5),
        (1, true, 12),
        (0, true, -1),
        (1, false, 0),
        (0, false, 1),
        (1, false, 3),
    ] {
        let (mut hit, mut stream) = (0, Stream::new(5, 10, 0));
        let fibres = |from: usize, _: u64, words: &mut [Word]| {
            // At random: retransmission has its own period.
            if from == side && (words.len() > 4) == packets && stream.below(3) == 0 {
                let n = words.len() as i32;
                let word = &mut words[((word + n) % n) as usize];
                word.iter_mut().for_each(|symbol| *symbol ^= 1 << 4);
                hit += 1;
            }
        };
        let outcome = exchange(300, 5, Trouble { fibres: Box::new(fibres), ..Trouble::default() });
        outcome.assert_all_there();
        assert!(hit > 30);
        let counters = outcome.counters(side);
        assert_eq!(counters.uncorrectable, hit);
        assert_eq!(outcome.counters(1 - side), Counters::default());
        // Losing four bytes that were 0 changes nothing; those of tokens often are.
        assert!(outcome.tally[side].refused * 2 > hit, "{word}: {hit}, {:?}", outcome.tally);
        assert!(outcome.timeouts() > 0 || !packets);
    }
}

#[test]
fn a_fibre_that_goes_bad_is_replaced_while_traffic_goes_on() {
    for bad in 0..LANES {
        let seed = bad as u64;
        let mut done = [Done::default(); 2];
        let mut others = noise(2e-5, seed, &mut done);
        // From its 200th frame on every symbol of one fibre is wrong in one direction; all fibres have single
        // errors.
        let fibres = move |from: usize, frame: u64, words: &mut [Word]| {
            others(from, frame, words);
            if from == 1 && frame >= 200 {
                words.iter_mut().for_each(|word| word[bad] = 0);
            }
        };
        let trouble = Trouble { fibres: Box::new(fibres), sparing: true, ..Trouble::default() };
        let outcome = exchange(1500, seed, trouble);
        outcome.assert_all_there();
        let counters = outcome.counters(1);
        // Until the threshold of 100, plus the symbols in flight when it was exceeded.
        assert!((100..1000).contains(&counters.invalid[bad]), "{counters:?}");
        assert!(counters.corrected[bad] * 10 > counters.invalid[bad] * 9);
        // Single errors afterwards: no parity, but the packet's symbols.
        assert!(counters.uncorrectable > 0 && outcome.tally[1].refused > 0 && outcome.retransmitted() > 0);
        assert_eq!(outcome.nodes[0].into.bad_fibre(), None);
        assert_eq!(outcome.counters(0).uncorrectable, 0);
    }
}

#[test]
fn a_fibre_that_is_not_replaced_is_made_up_for_by_parity() {
    let fibres = |_: usize, _: u64, words: &mut [Word]| words.iter_mut().for_each(|word| word[2] = 0x3ff);
    let outcome = exchange(300, 9, Trouble { fibres: Box::new(fibres), ..Trouble::default() });
    outcome.assert_all_there();
    assert_eq!((outcome.timeouts(), outcome.retransmitted()), (0, 0));
    for direction in 0..2 {
        let counters = outcome.counters(direction);
        assert!(counters.invalid[2] > 1000 && counters.invalid[2] == counters.corrected[2]);
        assert_eq!(counters.uncorrectable, 0);
    }
    assert_eq!(outcome.nodes[0].into.bad_fibre(), Some(2));
}

#[test]
fn what_escapes_all_check_symbols_shows_in_the_crcs() {
    // A code word of both codes: the product of (x + alpha^i) for i from 0 to 5, times a constant, 100 bits
    // before the packet's end.
    let polynomial = (0..6).fold(vec![1u16], |p, i| {
        let mut next = p.clone();
        next.push(0);
        p.iter().enumerate().for_each(|(j, &c)| next[j + 1] ^= multiply(c, power(i)));
        next
    });
    let mut packets = 0;
    let behind = |from: usize, bytes: &mut [u8]| {
        if from != 1 || bytes.len() < 72 {
            return;
        }
        packets += 1;
        if packets == 100 {
            for (i, &c) in polynomial.iter().rev().enumerate() {
                for bit in (0..10).filter(|bit| multiply(c, 321) >> bit & 1 != 0) {
                    let at = 8 * bytes.len() - 101 - 10 * i - bit;
                    bytes[at / 8] ^= 0x80 >> (at % 8);
                }
            }
        }
    };
    let outcome = exchange(300, 11, Trouble { behind: Box::new(behind), ..Trouble::default() });
    // The error went undetected.
    assert_eq!((outcome.timeouts(), outcome.tally[1].refused), (0, 0));
    let (sent, received) = (&outcome.sent[1], &outcome.nodes[0].received);
    let same =
        |(i, (s, r)): (usize, (&BgqPacket, &BgqPacket))| *r == BgqPacket { sequence: i as u8, ..s.clone() };
    let different = sent.iter().zip(received).enumerate().filter(|&pair| !same(pair)).count();
    assert_eq!((sent.len(), different), (received.len(), 1));
    // The CRCs detect it at the end of the run.
    let [of_sent, of_received] = outcome.crcs(1);
    assert_ne!(of_sent, of_received);
    let [of_sent, of_received] = outcome.crcs(0);
    assert_eq!(of_sent, of_received);
}

#[test]
fn soft_errors_of_one_bit_are_corrected_in_the_buffers() {
    let mut stream = Stream::new(3, 9, 0);
    let mut upsets = [0; 2];
    let buffers = |node: usize, buffer: &mut ProtectedFifo, words: usize| {
        // A bit of a word of each packet, and for some the same words of two packets.
        buffer.upset(stream.below(words as u64) as usize, stream.below(WORD_BITS.into()) as u32);
        upsets[node] += 1;
    };
    let outcome = exchange(500, 13, Trouble { buffers: Box::new(buffers), ..Trouble::default() });
    outcome.assert_all_there();
    for (node, upsets) in outcome.nodes.iter().zip(upsets) {
        let corrected: u64 = node.buffers.iter().map(ProtectedFifo::corrected).sum();
        assert_eq!((upsets, corrected), (500, 500));
    }
}

#[test]
fn a_double_soft_error_stops_the_node_before_anything_wrong_leaves_it() {
    for place in 0..8 {
        let mut packets = 0;
        let buffers = |node: usize, buffer: &mut ProtectedFifo, words: usize| {
            packets += u32::from(node == 0);
            if node == 0 && packets == 200 {
                // The first word of the packet to the last.
                let word = (words - 1) * place / 7;
                buffer.upset(word, 3);
                buffer.upset(word, 40 + place as u32 * 4);
            }
        };
        let outcome = exchange(500, 17, Trouble { buffers: Box::new(buffers), ..Trouble::default() });
        let node = &outcome.nodes[0];
        assert!(node.stopped.is_some());
        assert_eq!(node.buffers.iter().map(ProtectedFifo::uncorrectable).sum::<u64>(), 1);
        // The first 199 packets have left, as they were sent.
        assert_eq!(node.received.len(), 199);
        for (i, (sent, found)) in outcome.sent[1].iter().zip(&node.received).enumerate() {
            assert_eq!(*found, BgqPacket { sequence: i as u8, ..sent.clone() });
        }
    }
}
