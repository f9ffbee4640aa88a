//! Puts and gets of a few bytes: latencies that the NIC was fitted to, and those that follow from them.

use crate::machine::{COOKIE, PTAG, chassis, ns, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::status::Status;
use netloom_nic::aries::{EventKind, Window};

const AT: u64 = 0x10_0000;
/// A neighbouring router's first node.
const OTHER: u32 = 4;

async fn latency(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    let other = if gni.node() == 0 { OTHER } else { 0 };
    if gni.node() != 0 && gni.node() != OTHER {
        return;
    }
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    for round in 1..=5u64 {
        let begin = gni.now();
        if gni.node() == 0 {
            gni.launch_put(d, other, 0, round).await;
        }
        gni.wait_memory(AT, 8, |b| b[0] == round as u8).await;
        if gni.node() == OTHER {
            gni.launch_put(d, other, 0, round).await;
        }
        if gni.node() == 0 {
            gni.measure(0, (gni.now() - begin) / 2);
        }
        gni.fma_sync(d).await;
    }
    if gni.node() == 0 {
        for round in 1..=5 {
            let begin = gni.now();
            gni.launch_get(d, other, 64, AT + 128, Some((AT + 256, round))).await;
            gni.wait_memory(AT + 256, 8, |b| b[0] == round as u8).await;
            assert_eq!(gni.load_word(AT + 128), 77);
            gni.measure(1, gni.now() - begin);
        }
    } else {
        gni.store_word(AT + 64, 77);
    }
}

#[test]
fn a_put_takes_800_ns_and_a_get_follows() {
    let outcome = run(&chassis(2), |gni| Box::pin(latency(gni)));
    let (puts, gets) = (ns(&outcome, 0, 0, 0), ns(&outcome, 0, 0, 1));
    println!("put {puts:.0?} get {gets:.0?}");
    assert!(puts[1..].iter().all(|ns| (790.0..810.0).contains(ns)), "fitted");
    assert!(gets[1..].iter().all(|ns| (1440.0..1760.0).contains(ns)), "1.6 us within 10%");
}

/// Data of any length at any address, with events at both ends.
async fn post(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queue = gni.cq_create(64);
    let options = MemOptions { queue: Some(queue), ..MemOptions::default() };
    let memory = gni.mem_register(AT, 1 << 20, options).expect("free");
    let pieces = [(3u64, 1u64), (64, 64), (200, 200), (4096, 1000)];
    let bytes = |n: u64| (0..n).map(|i| (i * 7 + n) as u8).collect::<Vec<u8>>();
    if gni.node() == 0 {
        let to = Endpoint { remote_event: 99, ..Endpoint::new(OTHER, 0) };
        for (id, &(offset, count)) in pieces.iter().enumerate() {
            gni.store(AT + 8192, &bytes(count));
            let post = Post {
                queue: Some(queue),
                remote_event: true,
                id: id as u64,
                ..Post::new(PostKind::FmaPut, AT + 8192, AT + offset, memory, count)
            };
            gni.post_fma(to, post).await.expect("possible");
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!(
                (event.kind, event.user, event.status, event.bytes),
                (EventKind::Post, id as u64, Status::Success, count)
            );
        }
        // And back.
        for &(offset, count) in &pieces[1..] {
            let local = AT + 0x1_0000;
            let post =
                Post { queue: Some(queue), ..Post::new(PostKind::FmaGet, local, AT + offset, memory, count) };
            gni.post_fma(to, post).await.expect("possible");
            gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!(gni.load(local, count as usize), bytes(count));
        }
    } else if gni.node() == OTHER {
        for &(offset, count) in &pieces {
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.user), (EventKind::Remote, 99));
            assert_eq!(gni.load(AT + offset, count as usize), bytes(count));
        }
    }
}

#[test]
fn posted_puts_and_gets_move_their_bytes_and_notify_both_ends() {
    run(&chassis(2), |gni| Box::pin(post(gni)));
}

/// The same results for any threads and blocks.
#[test]
fn blocks_and_threads_do_not_matter() {
    let measured = |block, threads| {
        let machine = crate::machine::Machine { block, threads, ..chassis(2) };
        run(&machine, |gni| Box::pin(latency(gni))).measurements
    };
    let expected = measured(2, 1);
    assert!(measured(1, 2) == expected && measured(1, 1) == expected);
}
