//! FMA windows and launches: transactions of many operations, events at both ends, and requests to nodes that
//! do not exist.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::status::{Refusal, Status};
use netloom_nic::aries::{EventKind, WINDOW_B, Window};

const AT: u64 = 0x10_0000;

/// A transaction of launches to all nodes ends in one event; each of its puts generates one at its target.
async fn scatter(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queue = gni.cq_create(256);
    let options = MemOptions { queue: Some(queue), ..MemOptions::default() };
    let memory = gni.mem_register(AT, 1 << 16, options).expect("free");
    let nodes = gni.job().nodes();
    if gni.node() == 0 {
        let d = gni.descriptor();
        let window = Window { mdh: memory.mdh, remote_event: Some(3), ..Window::default() };
        let reported = gni.cq_create(4);
        gni.fma_open(d, window, Some(reported), 77).await.expect("signed on");
        for i in 0..10 {
            for node in 1..nodes {
                gni.launch_put(d, node, 8 * i, 100 * u64::from(node) + i).await;
            }
        }
        assert_eq!(gni.cq_get_event(reported).await, Err(Refusal::NotDone), "it is still open");
        gni.fma_close(d).await;
        let event = gni.cq_wait_event(reported).await.expect("it came");
        assert_eq!((event.kind, event.user, event.status), (EventKind::Post, 77, Status::Success));
        assert_eq!(event.bytes, 80 * u64::from(nodes - 1));
        // One that fails makes the whole transaction fail.
        gni.fma_open(d, Window { remote_event: None, ..window }, Some(reported), 78)
            .await
            .expect("signed on");
        gni.launch_put(d, 1, 0, 1).await;
        gni.launch_put(d, nodes, 0, 1).await;
        gni.launch_put(d, 1, 1 << 16, 1).await;
        gni.fma_close(d).await;
        gni.fma_sync(d).await;
        let event = gni.cq_wait_event(reported).await.expect("it came");
        assert_eq!((event.user, event.status), (78, Status::NoSuchNode));
        assert_eq!(gni.fma_store(d, WINDOW_B - 8, &[0; 16]).await, Err(Refusal::InvalidParam));
        let post = Post::new(PostKind::CqWrite(9), 0, AT, memory, 0);
        gni.post_fma(Endpoint::new(2, 0), post).await.expect("possible");
    } else {
        for _ in 0..10 {
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.user), (EventKind::Remote, 3));
        }
        for i in 0..10 {
            let expected = 100 * u64::from(gni.node()) + i;
            // Launches to one node may overtake one another: by the tenth event all have arrived.
            if gni.node() != 1 || i > 0 {
                assert_eq!(gni.load_word(AT + 8 * i), expected);
            }
        }
        if gni.node() == 2 {
            assert_eq!(gni.cq_wait_event(queue).await.map(|e| e.user), Ok(9));
        }
    }
}

#[test]
fn a_transaction_of_launches_ends_in_one_event() {
    run(&chassis(2), |gni| Box::pin(scatter(gni)));
}

/// Many transactions of many processes, with block transfers.
async fn many(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 16, MemOptions::default()).expect("free");
    if gni.node() != 0 {
        return;
    }
    let queue = gni.cq_create(1000);
    for id in 0..500 {
        let kind = if id % 3 == 0 { PostKind::RdmaPut } else { PostKind::FmaPut };
        let post = Post { queue: Some(queue), id, ..Post::new(kind, AT, AT, memory, 8) };
        if id % 3 == 0 {
            gni.post_rdma(Endpoint::new(4, 0), post).await.expect("possible");
        } else {
            gni.post_fma(Endpoint::new(4, 0), post).await.expect("possible");
        }
    }
    let mut seen = vec![];
    for _ in 0..500 {
        seen.push(gni.cq_wait_event(queue).await.expect("it came").user);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..500).collect::<Vec<u64>>());
}

#[test]
fn many_processes_post_at_once() {
    let machine = Machine { processes: 16, ..chassis(2) };
    run(&machine, |gni| Box::pin(many(gni)));
}
