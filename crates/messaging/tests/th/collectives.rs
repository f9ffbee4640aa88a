//! Collective descriptors: one that is used for all children.

use crate::machine::{AT, KEY, bytes, port, run};
use netloom_messaging::glex::{CHILDREN, Glex};
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{Options, Submission};

const NODES: u32 = 64;

/// A broadcast of 64 B down a tree with four children per node, by one descriptor per node or by one per
/// child.
async fn broadcast(glex: Glex, submission: Submission, is_collective: bool) {
    let ep = glex.create_endpoint(submission, KEY, 64).expect("free");
    glex.register(ep, AT, 4096, true).expect("free");
    let node = glex.node();
    if node == 0 {
        glex.store(AT, &bytes(64));
    } else {
        glex.wait_event(ep).await.expect("it comes");
    }
    let data = glex.load(AT, 64);
    assert_eq!(data, bytes(64));
    let children: Vec<_> =
        (4 * node + 1..=4 * node + 4).filter(|&n| n < NODES).map(|n| port(n, ep)).collect();
    let options = Options { remote_event: Some(1), ..Options::default() };
    if is_collective && !children.is_empty() {
        glex.put_to_children(ep, &children, AT, &data, options).await.expect("possible");
    } else {
        for &child in &children {
            glex.put_immediate(ep, child, AT, &data, options).await.expect("possible");
        }
    }
    glex.measure(0, glex.now());
}

#[test]
fn a_collective_descriptor_reaches_all_children_sooner() {
    for submission in [Submission::Pio, Submission::Dma] {
        let end = |is_collective| {
            let outcome =
                run(&ThConfig::th_express_2(), |glex| Box::pin(broadcast(glex, submission, is_collective)));
            outcome.measurements.values().flatten().map(|n| n.value).max().expect("64 nodes")
        };
        let (one, many) = (end(true), end(false));
        println!(
            "{submission:?}: {:.3} us by one descriptor, {:.3} by four",
            one as f64 / 1e9,
            many as f64 / 1e9
        );
        assert!(one < many);
    }
}

#[test]
fn a_collective_descriptor_has_so_many_children_and_no_more() {
    let outcome = run(&ThConfig::th_express_2(), |glex| {
        Box::pin(async move {
            let ep = glex.create_endpoint(Submission::Pio, KEY, 64).expect("free");
            glex.register(ep, AT, 4096, true).expect("free");
            if glex.node() == 0 {
                let children: Vec<_> = (1..=CHILDREN as u32 + 1).map(|n| port(n, ep)).collect();
                let options = Options { local_event: Some(5), connect: true, ..Options::default() };
                let put = glex.put_to_children(ep, &children, AT, &[3], options);
                assert_eq!(put.await, Err(Refusal::Invalid));
                let put = glex.put_to_children(ep, &children[1..], AT, &[3], options);
                assert_eq!(put.await, Ok(()));
                for _ in 0..CHILDREN {
                    assert_eq!(glex.wait_event(ep).await.map(|e| e.user), Ok(5));
                }
            } else if (2..=CHILDREN as u32 + 1).contains(&glex.node()) {
                glex.wait_memory(AT, 1, |b| b[0] == 3).await;
            }
        })
    });
    assert_eq!(outcome.counters[&0].senders_peak, CHILDREN as u32);
}
