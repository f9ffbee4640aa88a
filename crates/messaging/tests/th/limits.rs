//! Rejections and limits of a NIC.

use crate::machine::{AT, KEY, port, run};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::{Refusal, Status};
use netloom_nic::th::{Address, Options, PAGE_B, PIO_PORTS, PORTS, Submission};

#[test]
fn eight_ports_by_pio_and_32_by_dma() {
    run(&ThConfig::th_express_2(), |glex| {
        Box::pin(async move {
            for (submission, ports) in [(Submission::Pio, PIO_PORTS), (Submission::Dma, PORTS - PIO_PORTS)] {
                for _ in 0..ports {
                    glex.create_endpoint(submission, KEY, 1).expect("free");
                }
                assert_eq!(glex.create_endpoint(submission, KEY, 1), Err(Refusal::Exhausted));
            }
            glex.destroy_endpoint(20).expect("its own");
            assert_eq!(glex.create_endpoint(Submission::Dma, KEY, 1), Ok(20));
        })
    });
}

#[test]
fn the_memory_checker_has_4096_items() {
    run(&ThConfig::th_express_2(), |glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Dma, KEY, 1).expect("free");
            if glex.node() == 0 {
                let first = glex.register(ep, AT, PAGE_B, true).expect("free");
                for n in 1..4096 {
                    glex.register(ep, AT + n * PAGE_B, PAGE_B, true).expect("free");
                }
                assert_eq!(glex.register(ep, AT, PAGE_B, true), Err(Refusal::Exhausted));
                glex.deregister(first).expect("its own");
                assert!(glex.register(ep, AT, PAGE_B, true).is_ok());
            }
        })
    });
}

/// With connections the sender is notified of the reason; without, the receiver only counts. Physical
/// addresses are not checked.
#[test]
fn wrong_keys_and_addresses_are_refused() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Pio, KEY, 16).expect("free");
            if glex.node() == 1 {
                glex.register(ep, AT, PAGE_B, true).expect("free");
                glex.register(ep, AT + 2 * PAGE_B, PAGE_B, false).expect("free");
                return;
            }
            if glex.node() != 0 {
                return;
            }
            let to = port(1, ep);
            let options = Options { local_event: Some(1), connect: true, ..Options::default() };
            for (to, at, expected) in [
                (to, AT, Status::Success),
                (Address { key: KEY + 1, ..to }, AT, Status::Key),
                (Address { vp: 30, ..to }, AT, Status::Key),
                (to, AT + PAGE_B, Status::Memory),
                (to, AT + PAGE_B - 1, Status::Memory),
                (to, AT + 2 * PAGE_B, Status::Memory),
            ] {
                glex.put_immediate(ep, to, at, &[9, 9], options).await.expect("possible");
                let event = glex.wait_event(ep).await.expect("it comes");
                assert_eq!(event.status, expected);
            }
            // Its own memory must be registered too.
            glex.put(ep, to, (AT, AT, 64), options).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(Status::Memory));
            let physical = Options { physical: true, ..options };
            glex.put(ep, to, (AT, AT + PAGE_B, 64), physical).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(Status::Success));
            let connectless = Options { connect: false, ..options };
            let no_port = Address { key: 0, ..to };
            glex.put_immediate(ep, no_port, AT, &[1], connectless).await.expect("possible");
            assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(Status::Success));
        })
    });
    assert_eq!(outcome.counters[&1].errors, 6);
}

/// Without a reader, entries that do not fit are lost, and the loss is reported.
#[test]
fn full_queues_lose_what_comes() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Dma, KEY, 4).expect("free");
            if glex.node() == 0 {
                let connect = Options { local_event: Some(0), connect: true, ..Options::default() };
                for n in 0..6u8 {
                    glex.send_mini_packet(ep, port(1, ep), &[n], connect).await.expect("possible");
                    let expected = if n < 4 { Status::Success } else { Status::QueueFull };
                    assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(expected));
                }
            } else if glex.node() == 1 {
                glex.compute_milliticks(100_000_000).await;
                for n in 0..4u8 {
                    assert_eq!(
                        glex.wait_mini_packet(ep).await.map(|m| (m.from, m.data)),
                        Ok(((0, ep), vec![n]))
                    );
                }
                assert_eq!(glex.poll_mini_packet(ep).await, Err(Refusal::Overflow));
                assert_eq!(glex.poll_mini_packet(ep).await, Err(Refusal::Empty));
            }
        })
    });
    assert_eq!(outcome.counters[&1].overflows, 2);
}

/// A core that submits faster than the NIC executes finds the queue full.
#[test]
fn descriptor_queues_are_bounded() {
    let nic = ThConfig { port_descriptors: 2, sdq_descriptors: 4, transfers: 1, ..ThConfig::th_express_2() };
    run(&nic, |glex: Glex| {
        Box::pin(async move {
            for submission in [Submission::Pio, Submission::Dma] {
                let ep = glex.create_endpoint(submission, KEY, 64).expect("free");
                glex.register(ep, AT, 1 << 20, true).expect("free");
                if glex.node() != 0 {
                    continue;
                }
                glex.compute_milliticks(1_000_000).await;
                let (mut sent, mut full) = (0, 0);
                while sent < 20 {
                    let options = Options { local_event: Some(sent), ..Options::default() };
                    match glex.put(ep, port(1, ep), (AT, AT, 4096), options).await {
                        Ok(()) => sent += 1,
                        Err(refusal) => {
                            assert_eq!(refusal, Refusal::QueueFull);
                            full += 1;
                            glex.compute_milliticks(100_000).await;
                        }
                    }
                }
                for n in 0..20 {
                    assert_eq!(
                        glex.wait_event(ep).await.map(|e| e.user),
                        Ok(n),
                        "in the order of submission"
                    );
                }
                assert!(full > 0);
            }
        })
    });
}

/// Pages beyond the cache are fetched again; a buffer needs no fetch, and is limited to its capacity.
#[test]
fn the_cache_misses_what_a_buffer_holds() {
    let program = |glex: Glex| -> crate::machine::Task {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Pio, KEY, 64).expect("free");
            glex.register(ep, AT, 32 * PAGE_B, true).expect("free");
            if glex.node() != 0 {
                return;
            }
            for _ in 0..2 {
                let begin = glex.now();
                let options = Options { local_event: Some(0), connect: true, ..Options::default() };
                glex.put(ep, port(1, ep), (AT, AT, 32 * PAGE_B), options).await.expect("possible");
                glex.wait_event(ep).await.expect("it comes");
                glex.measure(0, glex.now() - begin);
            }
        })
    };
    let th = ThConfig::th_express_2;
    let large = run(&th(), program);
    assert_eq!(large.counters[&1].cache_misses, 32);
    let small = run(&ThConfig { cache_entries: 16, ..th() }, program);
    assert!(small.counters[&1].cache_misses >= 64);
    let buffer = run(&ThConfig { is_buffer: true, ..th() }, program);
    assert_eq!(buffer.counters[&1].cache_misses, 0);
    let times = |outcome: &crate::machine::Outcome| -> Vec<u64> {
        outcome.measurements[&(0, 0)].iter().map(|n| n.value).collect()
    };
    println!("cache {:?} small {:?} buffer {:?}", times(&large), times(&small), times(&buffer));
    assert!(times(&buffer)[0] < times(&large)[0]);
    run(&ThConfig { is_buffer: true, cache_entries: 16, ..th() }, |glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Pio, KEY, 1).expect("free");
            assert!(glex.register(ep, AT, 16 * PAGE_B, true).is_ok());
            assert_eq!(glex.register(ep, AT, PAGE_B, true), Err(Refusal::Exhausted));
        })
    });
}
