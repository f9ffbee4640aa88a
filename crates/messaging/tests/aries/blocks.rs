//! Block transfers: their data, four channels, fences, messages to posted receives, and events that need no
//! round trip or one.

use crate::machine::{COOKIE, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::status::{Refusal, Status};
use netloom_nic::aries::{CHANNELS, EventKind, TRANSFER_MAX_B};

const AT: u64 = 0x100_0000;
const SIZE: u64 = 1 << 24;
const OTHER: u32 = 4;

fn bytes(n: u64, salt: u64) -> Vec<u8> {
    (0..n).map(|i| (i * 31 + i / 251 + salt) as u8).collect()
}

/// Six transfers at the same time, put and got back, with odd lengths and addresses.
async fn move_blocks(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queue = gni.cq_create(64);
    let options = MemOptions { queue: Some(queue), ..MemOptions::default() };
    let memory = gni.mem_register(AT, SIZE, options).expect("free");
    let blocks: Vec<(u64, u64)> = (0..6).map(|i| (i * 0x1_0000 + 3 * i, 20_000 + 77 * i)).collect();
    let to = Endpoint { remote_event: 5, ..Endpoint::new(OTHER, 0) };
    if gni.node() == 0 {
        for (i, &(offset, count)) in blocks.iter().enumerate() {
            gni.store(AT + offset, &bytes(count, i as u64));
            let post = Post {
                queue: Some(queue),
                remote_event: true,
                id: i as u64,
                from_user_space: i % 2 == 0,
                ..Post::new(PostKind::RdmaPut, AT + offset, AT + offset + 1, memory, count)
            };
            gni.post_rdma(to, post).await.expect("possible");
        }
        let mut seen = vec![];
        for _ in &blocks {
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.status), (EventKind::Post, Status::Success));
            seen.push(event.user);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
        let (local, count) = (AT + 0x80_0000, 19_996);
        let post = Post { queue: Some(queue), ..Post::new(PostKind::RdmaGet, local, AT + 4, memory, count) };
        gni.post_rdma(to, post).await.expect("possible");
        gni.cq_wait_event(queue).await.expect("it came");
        assert_eq!(gni.load(local, 19_996), bytes(20_000, 0)[3..19_999]);
        // Invalid posts.
        let odd = Post::new(PostKind::RdmaGet, local + 1, AT + 4, memory, 8);
        assert_eq!(gni.post_rdma(to, odd).await, Err(Refusal::Alignment));
        let long = Post::new(PostKind::RdmaPut, AT, AT, memory, TRANSFER_MAX_B + 1);
        assert_eq!(gni.post_rdma(to, long).await, Err(Refusal::Size));
        let unknown = Post::new(PostKind::RdmaPut, AT + SIZE, AT, memory, 8);
        assert_eq!(gni.post_rdma(to, unknown).await, Err(Refusal::InvalidParam));
    } else if gni.node() == OTHER {
        for _ in &blocks {
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.user), (EventKind::Remote, 5));
        }
        for (i, &(offset, count)) in blocks.iter().enumerate() {
            assert!(gni.load(AT + offset + 1, count as usize) == bytes(count, i as u64), "block {i}");
        }
    }
}

#[test]
fn blocks_come_whole_by_four_channels() {
    let outcome = run(&chassis(2), |gni| Box::pin(move_blocks(gni)));
    assert_eq!(outcome.counters[&0].channels_peak, CHANNELS as u64);
}

/// With an empty receive message table, each event is requested once all data has arrived.
#[test]
fn events_come_without_a_message_table_too() {
    let mut machine = chassis(2);
    machine.nic.message_table_entries = 0;
    let without = run(&machine, |gni| Box::pin(move_blocks(gni)));
    let with = run(&chassis(2), |gni| Box::pin(move_blocks(gni)));
    assert_eq!(without.counters[&0].requests, with.counters[&0].requests + 6);
}

/// A fence delays a short transfer until the long one before it has ended; without one it overtakes.
async fn fenced(gni: Gni, fence: bool) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queue = gni.cq_create(64);
    let memory = gni.mem_register(AT, SIZE, MemOptions::default()).expect("free");
    if gni.node() == 0 {
        for (id, count) in [(0, 100_000), (1, 64)] {
            let post = Post {
                queue: Some(queue),
                id,
                fence: fence && id == 1,
                ..Post::new(PostKind::RdmaPut, AT, AT, memory, count)
            };
            gni.post_rdma(Endpoint::new(OTHER, 0), post).await.expect("possible");
        }
        let first = gni.cq_wait_event(queue).await.expect("it came").user;
        assert_eq!(first, u64::from(!fence));
        gni.cq_wait_event(queue).await.expect("it came");
    }
}

#[test]
fn a_fence_keeps_transfers_in_order() {
    run(&chassis(2), |gni| Box::pin(fenced(gni, true)));
    run(&chassis(2), |gni| Box::pin(fenced(gni, false)));
}

/// Messages match the receives that were posted for them, in order; without one, or with a short one, they
/// end in an error.
async fn messages(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queue = gni.cq_create(64);
    let memory = gni.mem_register(AT, SIZE, MemOptions::default()).expect("free");
    if gni.node() == OTHER {
        for id in 0..2 {
            gni.post_receive(AT + id * 0x1000, 300, Some(queue), 50 + id).expect("registered");
        }
        for (id, status, count) in [(50, Status::Success, 300), (51, Status::ReceiveTooShort, 301)] {
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.user), (EventKind::Receive, id));
            assert_eq!((event.status, event.bytes), (status, count));
        }
        assert_eq!(gni.load(AT, 300), bytes(300, 1));
    } else if gni.node() == 0 {
        gni.store(AT, &bytes(400, 1));
        for (count, status) in
            [(300, Status::Success), (301, Status::ReceiveTooShort), (65, Status::NoReceive)]
        {
            let post = Post { queue: Some(queue), ..Post::new(PostKind::Send, AT, 0, memory, count) };
            gni.post_rdma(Endpoint::new(OTHER, 0), post).await.expect("possible");
            let event = gni.cq_wait_event(queue).await.expect("it came");
            assert_eq!((event.kind, event.status), (EventKind::Post, status));
        }
    }
}

#[test]
fn messages_meet_posted_receives() {
    run(&chassis(2), |gni| Box::pin(messages(gni)));
}
