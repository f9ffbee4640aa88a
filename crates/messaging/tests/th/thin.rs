//! Each operation over each kind of port, with and without connection: data, events and order.

use crate::machine::{AT, KEY, bytes, port, run, run_on};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::Status;
use netloom_nic::th::{Event, EventKind, Options, Submission};

/// A node of the other frame.
const OTHER: u32 = 33;

async fn one_by_one(glex: Glex, submission: Submission, connect: bool) {
    let ep = glex.create_endpoint(submission, KEY, 64).expect("free");
    glex.register(ep, AT, 1 << 20, true).expect("free");
    let with = |user| Options {
        local_event: Some(user),
        remote_event: Some(user + 100),
        connect,
        ..Options::default()
    };
    let local = |user| Event { kind: EventKind::Local, user, status: Status::Success };
    let remote = |user| Event { kind: EventKind::Remote, user: user + 100, status: Status::Success };
    // Lengths and addresses of all kinds: a part of a packet, several packets, across pages.
    let pieces = [(1u64, 3u64), (256, 0), (257, 4090), (10_000, 8191), (70_000, 1)];
    let to = port(if glex.node() == 0 { OTHER } else { 0 }, ep);
    if glex.node() == 0 {
        glex.put_immediate(ep, to, AT + 5, &bytes(96), with(0)).await.expect("possible");
        assert_eq!(glex.wait_event(ep).await, Ok(local(0)));
        for (n, (count, offset)) in (1u32..).zip(pieces) {
            glex.store(AT + offset, &bytes(count));
            glex.put(ep, to, (AT + offset, AT + 0x2_0000 + offset, count), with(n)).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await, Ok(local(n)));
            // And back: the put data must be there first.
            assert_eq!(glex.wait_mini_packet(ep).await.map(|mini| mini.data), Ok(vec![n as u8]));
            let (here, there) = (AT + 0x8_0000 + 3 * offset, AT + 0x2_0000 + offset);
            glex.get(ep, to, (here, there, count), with(n + 10)).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await, Ok(local(n + 10)));
            assert_eq!(glex.load(here, count as usize), bytes(count));
        }
        glex.measure(0, glex.now());
    } else if glex.node() == OTHER {
        assert_eq!(glex.wait_event(ep).await, Ok(remote(0)));
        assert_eq!(glex.load(AT + 5, 96), bytes(96));
        for (n, (count, offset)) in (1u32..).zip(pieces) {
            assert_eq!(glex.wait_event(ep).await, Ok(remote(n)));
            assert_eq!(glex.load(AT + 0x2_0000 + offset, count as usize), bytes(count));
            let options = Options { connect, ..Options::default() };
            glex.send_mini_packet(ep, to, &[n as u8], options).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await, Ok(remote(n + 10)));
        }
    }
}

#[test]
fn every_operation_moves_its_bytes_and_notifies_both_ends() {
    for submission in [Submission::Pio, Submission::Dma] {
        for connect in [false, true] {
            let program =
                move |glex: Glex| -> crate::machine::Task { Box::pin(one_by_one(glex, submission, connect)) };
            let outcome = run(&ThConfig::th_express_2(), program);
            assert!(outcome.counters.values().all(|c| c.errors + c.overflows + c.timeouts == 0));
        }
    }
}

/// The same results with one block and thread or several; also with random errors.
#[test]
fn blocks_and_threads_do_not_matter() {
    let nic = ThConfig { corrupted_per_million: 20_000, ..ThConfig::th_express_2() };
    let outcome = |block, threads| {
        run_on(&nic, block, threads, |glex| Box::pin(one_by_one(glex, Submission::Dma, true)))
    };
    let expected = outcome(15, 1);
    assert!(outcome(5, 2) == expected && outcome(1, 1) == expected);
}
