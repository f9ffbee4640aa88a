//! Limits of the NIC as built, each reached: contexts of both kinds, the memory checker with keys, and
//! registration while programs run.

use crate::machine::{AT, KEY, Outcome, port, run};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::{Refusal, Status};
use netloom_nic::th::{Options, PAGE_B, Submission};

const MANY: u64 = 80;

/// Node 0 has 80 puts with connections at the same time; with more transfers than contexts, it pauses at 64.
#[test]
fn a_sender_has_64_contexts() {
    let nic = ThConfig { transfers: 128, port_descriptors: 128, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex: Glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Dma, KEY, 256).expect("free");
            glex.register(ep, AT, 1 << 22, true).expect("free");
            if glex.node() != 0 {
                return;
            }
            for n in 0..MANY {
                let to = port(1 + n as u32 % 63, ep);
                let options = Options { local_event: Some(n as u32), connect: true, ..Options::default() };
                glex.put(ep, to, (AT, AT, 40_000), options).await.expect("possible");
            }
            for _ in 0..MANY {
                assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(Status::Success));
            }
        })
    });
    let counters = outcome.counters[&0];
    assert_eq!(counters.senders_peak, 64);
    assert!(counters.pauses > 0);
}

/// 63 nodes put to node 0, two transfers each: it accepts 64 at the same time, rejects the others, and all
/// arrive in the end.
#[test]
fn a_receiver_has_64_contexts() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Dma, KEY, 256).expect("free");
            glex.register(ep, AT, 1 << 22, true).expect("free");
            let options = Options { remote_event: Some(0), connect: true, ..Options::default() };
            if glex.node() > 0 {
                for _ in 0..2 {
                    glex.put(ep, port(0, ep), (AT, AT, 4000), options).await.expect("possible");
                }
            } else {
                for _ in 0..2 * (glex.nodes() - 1) {
                    assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(Status::Success));
                }
            }
        })
    });
    assert_eq!(outcome.counters[&0].receivers_peak, 64);
    assert!(outcome.counters[&0].refused > 0);
}

/// Each of the 4,096 items allows writes to its own pages with its own key only.
#[test]
fn items_of_a_full_checker_hold_their_keys() {
    let outcome = run(&ThConfig::th_express_2(), |glex: Glex| {
        Box::pin(async move {
            let keys = |n: u16| KEY + n;
            let ports = [0, 1].map(|n| glex.create_endpoint(Submission::Dma, keys(n), 64).expect("free"));
            let ep = ports[0];
            if glex.node() == 1 {
                // Alternating, and a page apart.
                for n in 0..4096 {
                    let item = glex.register(ports[n as usize % 2], AT + 2 * n * PAGE_B, PAGE_B, true);
                    assert!(item.is_ok());
                }
                let none = glex.register(ep, AT - PAGE_B, PAGE_B, true);
                assert_eq!(none, Err(Refusal::Exhausted));
            } else if glex.node() == 0 {
                for (item, vp, offset, expected) in [
                    (4094, 0, 0, Status::Success),
                    (4094, 1, 0, Status::Memory),
                    (4095, 0, 0, Status::Memory),
                    (4095, 1, PAGE_B - 1, Status::Success),
                    (4095, 1, PAGE_B, Status::Memory),
                    (4096, 0, 0, Status::Memory),
                ] {
                    let mut to = port(1, ports[vp as usize]);
                    to.key = keys(vp);
                    let options = Options { local_event: Some(0), connect: true, ..Options::default() };
                    let at = AT + 2 * item * PAGE_B + offset;
                    glex.put_immediate(ep, to, at, &[1], options).await.expect("possible");
                    assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(expected), "{item} {vp}");
                }
            }
        })
    });
    assert_eq!(outcome.counters[&1].errors, 4);
}

/// Online registration: writes fail before the item is valid, cached translations of its pages are removed at
/// the end, and both take time. A buffer is filled meanwhile.
#[test]
fn memory_is_registered_on_line_in_three_steps() {
    const BYTES: u64 = 512 * PAGE_B;
    const MICROSECOND: u64 = 1_000_000;
    let outcome = |is_buffer| -> Outcome {
        run(&ThConfig { is_buffer, ..ThConfig::th_express_2() }, |glex: Glex| {
            Box::pin(async move {
                let ep = glex.create_endpoint(Submission::Pio, KEY, 64).expect("free");
                if glex.node() == 0 {
                    // At 10, 30, ... microseconds.
                    for expected in [Status::Memory, Status::Success, Status::Success, Status::Memory] {
                        glex.compute_milliticks(10 * MICROSECOND).await;
                        let options = Options { local_event: Some(0), connect: true, ..Options::default() };
                        glex.put_immediate(ep, port(1, ep), AT, &[1], options).await.expect("possible");
                        assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(expected));
                        glex.compute_milliticks(20 * MICROSECOND).await;
                    }
                } else if glex.node() == 1 {
                    glex.compute_milliticks(20 * MICROSECOND).await;
                    let begin = glex.now();
                    let first = glex.register_online(ep, AT, BYTES, true).await.expect("free");
                    glex.measure(0, glex.now() - begin);
                    // The same pages once more, so that the cache must drop its translations.
                    glex.compute_milliticks(30 * MICROSECOND).await;
                    let second = glex.register_online(ep, AT, BYTES, true).await.expect("free");
                    glex.compute_milliticks(30 * MICROSECOND).await;
                    glex.deregister_online(first).await.expect("its own");
                    assert_eq!(glex.deregister_online(first).await, Err(Refusal::NotOwned));
                    glex.deregister_online(second).await.expect("its own");
                }
            })
        })
    };
    let (cache, buffer) = (outcome(false), outcome(true));
    // 512 sets, each in the time of a check; for a buffer also 64 lines of its items.
    let time = |outcome: &Outcome| outcome.measurements[&(1, 0)][0].value / 1_000_000;
    assert!((1024..3000).contains(&time(&cache)), "{}", time(&cache));
    assert!(time(&buffer) > time(&cache) + 300, "{}", time(&buffer));
    assert_eq!((cache.counters[&1].cache_misses, buffer.counters[&1].cache_misses), (2, 0));
}
