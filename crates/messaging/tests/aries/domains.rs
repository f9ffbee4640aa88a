//! Communication domains, virtual nodes and handles: access rights, and reports of rejections.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::LINE_B;
use netloom_nic::aries::Window;
use netloom_nic::aries::address::{Job, MemHandle};
use netloom_nic::aries::status::{Refusal, Status};

const AT: u64 = 0x10_0000;

/// The status of an FMA put of 8 B.
async fn end_of(gni: &Gni, kind: PostKind, to: u32, memory: MemHandle, remote: u64) -> Status {
    let queue = gni.cq_create(4);
    let post = Post { queue: Some(queue), ..Post::new(kind, AT, remote, memory, 8) };
    gni.post_fma(Endpoint::new(to, 0), post).await.expect("possible");
    let status = gni.cq_wait_event(queue).await.expect("it came").status;
    gni.cq_destroy(queue).expect("its own");
    status
}

/// Nodes 0 to 3 belong to one job, 4 to 7 to another; both know all numbers of the machine.
async fn outsiders(gni: Gni) {
    let (mine, other) = if gni.node() < 4 { (1, 2) } else { (2, 1) };
    if gni.node() != 4 {
        assert_eq!(gni.cdm_attach(other, 5), Err(Refusal::Permission));
    }
    assert_eq!(gni.cdm_attach(mine, 6), Err(Refusal::Permission));
    gni.cdm_attach(mine, 5).expect("of the job");
    assert_eq!(gni.cdm_attach(mine, 5), Err(Refusal::InvalidState));
    let memory = gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
    let read_only = MemOptions { is_read_only: true, ..MemOptions::default() };
    let fixed = gni.mem_register(AT, 4096, read_only).expect("free");
    if gni.node() == 0 {
        let put = PostKind::FmaPut;
        gni.store_word(AT, 3);
        assert_eq!(end_of(&gni, put, 1, memory, AT + 8).await, Status::Success);
        assert_eq!(end_of(&gni, put, 1, memory, AT + 4092).await, Status::OutOfBounds);
        assert_eq!(end_of(&gni, put, 1, fixed, AT).await, Status::Permission);
        assert_eq!(end_of(&gni, PostKind::FmaGet, 1, fixed, AT).await, Status::Success);
        let unknown = MemHandle { mdh: 99, ..memory };
        assert_eq!(end_of(&gni, put, 1, unknown, AT).await, Status::NoSuchMemory);
        // Beyond the job's nodes; and a node of the other job that this one has in its table.
        assert_eq!(end_of(&gni, put, 5, memory, AT).await, Status::NoSuchNode);
        assert_eq!(end_of(&gni, put, 4, memory, AT).await, Status::Permission);
        assert_eq!(end_of(&gni, PostKind::FmaGet, 4, memory, AT).await, Status::Permission);
    }
}

#[test]
fn outsiders_are_refused_in_the_completion_event() {
    let jobs = vec![Job::new(1, 5, 0..5), Job::new(2, 5, 4..8)];
    let machine = Machine { jobs, ..chassis(2) };
    run(&machine, |gni| Box::pin(outsiders(gni)));
}

/// A job around a failed node and nodes of other jobs: virtual nodes are numbered without gaps, and one
/// handle serves for all, though the NICs' own handles differ. The bits of a window's addresses send one line
/// to each.
async fn scatter(gni: Gni) {
    if gni.cdm_attach(PTAG, COOKIE).is_err() {
        return;
    }
    // Some nodes have registered other memory before.
    for _ in 0..gni.node() % 3 {
        gni.mem_register(AT, 64, MemOptions::default()).expect("free");
    }
    gni.reserve_virtual_handles(8).expect("free");
    let options = MemOptions { virtual_mdh: Some(5), ..MemOptions::default() };
    let memory = gni.mem_register(AT, 1 << 16, options).expect("free");
    if gni.place() == 0 {
        let bytes: Vec<u8> = (0..4 * LINE_B).map(|i| 1 + (i / LINE_B) as u8).collect();
        let window =
            Window { mdh: memory.mdh, is_virtual: memory.is_virtual, node_bits: (6, 2), ..Window::default() };
        let d = gni.fma_descriptor().expect("free");
        gni.fma_set(d, window).await.expect("signed on");
        gni.fma_store(d, 0, &bytes).await.expect("within");
        gni.fma_store(d, 4 * LINE_B, &bytes).await.expect("within");
        gni.fma_sync(d).await;
        gni.free_fma_descriptor(d);
    }
    let mine = 1 + gni.place() as u8;
    gni.wait_memory(AT, 2 * LINE_B, |b| b.iter().all(|&b| b == mine)).await;
}

#[test]
fn a_job_has_contiguous_virtual_nodes_round_failed_ones() {
    let jobs = vec![Job::new(PTAG, COOKIE, [1, 2, 5, 7])];
    let machine = Machine { jobs, dead: vec![3, 4], ..chassis(2) };
    run(&machine, |gni| Box::pin(scatter(gni)));
}
