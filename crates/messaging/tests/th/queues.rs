//! Queues in host memory: overflows, interrupts, virtual addresses, and how software reads them.

use crate::machine::{AT, KEY, Outcome, bytes, port, run};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::{Refusal, Status};
use netloom_nic::th::{
    Address, EndpointConfig, ErrorKind, Interrupt, InterruptKind, Options, QueueConfig, Submission,
};

const EVENTS: usize = 4;
/// Until everything has arrived, thousandths of a tick.
const LONG: u64 = 100_000_000;

fn endpoint(glex: &Glex) -> u8 {
    let ep = glex.create_endpoint(Submission::Dma, KEY, EVENTS).expect("free");
    glex.register(ep, AT, 1 << 16, true).expect("free");
    ep
}

/// Node 0 puts six times, to a port that has as many numbers as there are places and two more.
async fn six_puts(glex: &Glex, ep: u8, to: Address, options: Options) {
    for n in 0..6u8 {
        let options = Options { remote_event: Some(n.into()), ..options };
        glex.put_immediate(ep, to, AT, &[n; 3], options).await.expect("possible");
    }
}

#[test]
fn a_full_event_queue_drops_arrivals_and_reports_it() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex);
            if glex.node() == 0 {
                six_puts(&glex, ep, port(1, ep), Options::default()).await;
            } else if glex.node() == 1 {
                glex.compute_milliticks(LONG).await;
                assert_eq!(glex.probe_event(ep, 3).await.map(|e| e.user), Ok(3), "it stays");
                assert_eq!(glex.probe_event(ep, 4).await, Err(Refusal::Empty));
                assert_eq!(glex.discard_events(ep, 5), Err(Refusal::Empty));
                assert_eq!(glex.discard_events(ep, 3), Ok(()));
                assert_eq!(glex.poll_event(ep).await.map(|e| e.user), Ok(3));
                assert_eq!(glex.poll_event(ep).await, Err(Refusal::Overflow));
                assert_eq!(glex.poll_event(ep).await, Err(Refusal::Empty));
            }
        })
    });
    assert_eq!(outcome.counters[&1].overflows, 2);
}

/// An interrupt for each descriptor that requests one; while the queue is not empty the core is interrupted
/// only once.
#[test]
fn a_full_interrupt_queue_drops_arrivals_and_reports_it() {
    let nic = ThConfig { interrupt_entries: 4, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex);
            if glex.node() == 0 {
                let interrupt = Options { remote_interrupt: true, ..Options::default() };
                six_puts(&glex, ep, port(1, ep), interrupt).await;
            } else if glex.node() == 1 {
                glex.compute_milliticks(LONG).await;
                for n in 0..4 {
                    let expected = Interrupt { kind: InterruptKind::Descriptor(n), from: (0, ep), vp: ep };
                    assert_eq!(glex.wait_interrupt().await, Ok(expected));
                }
                assert_eq!(glex.wait_interrupt().await, Err(Refusal::Overflow));
            }
        })
    });
    let counters = outcome.counters[&1];
    // Two interrupts, and two events.
    assert_eq!((counters.overflows, counters.interrupts), (4, 1));
}

#[test]
fn refused_packets_are_saved_while_there_is_room() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex);
            let to = Address { key: KEY + 1, ..port(1, ep) };
            if glex.node() == 0 {
                six_puts(&glex, ep, to, Options::default()).await;
            } else if glex.node() == 1 {
                glex.save_error_packets(4, true);
                let interrupt = glex.wait_interrupt().await.map(|i| (i.kind, i.from, i.vp));
                assert_eq!(interrupt, Ok((InterruptKind::Error, (0, ep), ep)));
                glex.compute_milliticks(LONG).await;
                for n in 0..4 {
                    let error = glex.poll_error_packet().await.expect("it was saved");
                    assert_eq!((error.kind, error.from), (ErrorKind::Refused(Status::Key), (0, ep)));
                    assert_eq!((error.vp, error.address, error.data), (ep, AT, vec![n; 3]));
                }
                assert_eq!(glex.poll_error_packet().await, Err(Refusal::Overflow));
                assert_eq!(glex.poll_error_packet().await, Err(Refusal::Empty));
            }
        })
    });
    assert_eq!((outcome.counters[&1].errors, outcome.counters[&1].overflows), (6, 2));
}

#[test]
fn packets_with_a_wrong_crc_are_saved_and_sent_again() {
    let nic = ThConfig { corrupted_per_million: 300_000, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex);
            if glex.node() == 0 {
                glex.store(AT, &bytes(8192));
                let options = Options { connect: true, remote_event: Some(0), ..Options::default() };
                glex.put(ep, port(1, ep), (AT, AT, 8192), options).await.expect("possible");
            } else if glex.node() == 1 {
                glex.save_error_packets(1000, false);
                glex.wait_event(ep).await.expect("it comes");
                assert_eq!(glex.load(AT, 8192), bytes(8192));
                glex.compute_milliticks(LONG).await;
                let mut saved = 0u64;
                while let Ok(error) = glex.poll_error_packet().await {
                    assert_eq!((error.kind, error.data.len()), (ErrorKind::Crc, 256));
                    saved += 1;
                }
                glex.measure(0, saved);
            }
        })
    });
    let saved = outcome.measurements[&(1, 0)][0].value;
    assert!(saved > 0 && saved == outcome.counters[&1].corrupted);
}

/// Sleeping instead of polling: later by a handler's time, and only when the queue was empty.
#[test]
fn a_queue_that_is_no_longer_empty_interrupts() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex);
            if glex.node() == 0 {
                for n in 0..3 {
                    glex.send_mini_packet(ep, port(1, ep), &[n], Options::default()).await.expect("possible");
                }
            } else if glex.node() == 1 {
                assert_eq!(glex.wait_event_for(ep, 500).await, Err(Refusal::Empty));
                glex.interrupt_when_not_empty(ep, true, true).expect("its own");
                let interrupt = glex.wait_interrupt().await.map(|i| (i.kind, i.from));
                assert_eq!(interrupt, Ok((InterruptKind::MiniPackets, (0, ep))));
                glex.measure(0, glex.now());
                assert_eq!(glex.probe_mini_packet(ep, 0).await.map(|m| m.data), Ok(vec![0]));
                assert_eq!(glex.discard_mini_packets(ep, 1), Ok(()));
                assert_eq!(glex.wait_mini_packet_for(ep, LONG).await.map(|m| m.data), Ok(vec![1]));
            }
        })
    });
    let at_us = outcome.measurements[&(1, 0)][0].value / 1_000_000_000;
    assert!((2..4).contains(&at_us), "{at_us}");
    assert_eq!(outcome.counters[&1].interrupts, 1);
}

/// A queue of physical addresses has a limit; one of virtual addresses costs its translation, and that of the
/// far CPU the path there.
#[test]
fn large_queues_lie_at_virtual_addresses() {
    let th = ThConfig::th_express_2;
    let pinned = QueueConfig::pinned(4096);
    let large = QueueConfig { entries: 1 << 20, at: Some(AT) };
    let end = |events: QueueConfig, mini_packets: QueueConfig, is_far: bool| -> Outcome {
        run(&th(), move |glex: Glex| {
            Box::pin(async move {
                let config = EndpointConfig::new(Submission::Pio, KEY, 1);
                let config = EndpointConfig { events, mini_packets, is_far, ..config };
                let ep = glex.create_endpoint_with(config).expect("possible");
                assert_eq!(glex.endpoint(ep), Ok(config));
                for n in 0..20u8 {
                    if glex.node() == 0 {
                        glex.send_mini_packet(ep, port(1, ep), &[n], Options::default())
                            .await
                            .expect("possible");
                    } else if glex.node() == 1 {
                        assert_eq!(glex.wait_mini_packet(ep).await.map(|m| m.data), Ok(vec![n]));
                        glex.measure(0, glex.now());
                    }
                    glex.compute_milliticks(5_000_000).await;
                }
            })
        })
    };
    run(&th(), move |glex: Glex| {
        Box::pin(async move {
            let config = EndpointConfig::new(Submission::Pio, KEY, 1);
            let too_large = EndpointConfig { events: QueueConfig::pinned(1 << 20), ..config };
            assert_eq!(glex.create_endpoint_with(too_large), Err(Refusal::Invalid));
            let nowhere = EndpointConfig { events: QueueConfig { at: Some(AT + 8), ..large }, ..config };
            assert_eq!(glex.create_endpoint_with(nowhere), Err(Refusal::Invalid));
        })
    });
    let sum = |outcome: &Outcome| outcome.measurements[&(1, 0)].iter().map(|n| n.value).sum::<u64>();
    let physical = end(pinned, pinned, false);
    let virtual_ = end(pinned, large, false);
    let far = end(pinned, pinned, true);
    // 20 of 224 B: two pages.
    assert_eq!((physical.counters[&1].cache_misses, virtual_.counters[&1].cache_misses), (0, 2));
    assert!(sum(&virtual_) > sum(&physical) && sum(&far) > sum(&physical));
}
