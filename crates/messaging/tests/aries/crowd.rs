//! All nodes at the same time: data stays intact while NICs stop accepting packets, and results do not depend
//! on threads and blocks.

use crate::machine::{COOKIE, Machine, Outcome, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::Window;
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::status::Status;

const AT: u64 = 0x100_0000;
const BLOCK: u64 = 20_000;

fn bytes(node: u32, process: u8) -> Vec<u8> {
    (0..BLOCK).map(|i| (i * 3 + u64::from(node) * 17 + u64::from(process) * 5) as u8).collect()
}

/// Each process puts a block to its counterpart's memory on node 0, adds to a counter there, and gets its
/// neighbour's block, all at the same time.
async fn crowd(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let (me, mine) = (gni.node(), gni.process());
    if mine == 0 {
        gni.reserve_virtual_handles(16).expect("free");
    }
    let options = MemOptions { virtual_mdh: Some(mine.into()), ..MemOptions::default() };
    let memory = gni.mem_register(AT, 1 << 24, options).expect("free");
    let queue = gni.cq_create(64);
    let nodes = gni.job().nodes();
    gni.store(AT, &bytes(me, mine));
    let (there, here) = (AT + u64::from(me + 1) * 0x1_0000, AT + 0x80_0000);
    let put = Post { queue: Some(queue), id: 1, ..Post::new(PostKind::RdmaPut, AT, there, memory, BLOCK) };
    let get = Post { queue: Some(queue), id: 2, ..Post::new(PostKind::RdmaGet, here, AT, memory, BLOCK) };
    gni.post_rdma(Endpoint::new(0, mine), put).await.expect("possible");
    let neighbour = (me + 1) % nodes;
    gni.post_rdma(Endpoint::new(neighbour, mine), get).await.expect("possible");
    let d = gni.descriptor();
    let window = Window { mdh: 0, is_virtual: true, ..Window::default() };
    gni.fma_set(d, window).await.expect("signed on");
    let counter = 0xf0_0000;
    for i in 0..50 {
        gni.launch_atomic(d, 0, counter + 8 * (i % 3), Amo::new(AmoKind::Add), [1, 0], 0)
            .await
            .expect("exists");
    }
    for _ in 0..2 {
        let event = gni.cq_wait_event(queue).await.expect("it came");
        assert_eq!(event.status, Status::Success);
        gni.measure(event.user, gni.now());
    }
    gni.fma_sync(d).await;
    gni.measure(3, gni.now());
    assert!(gni.load(here, BLOCK as usize) == bytes(neighbour, mine));
    if me == 0 {
        // Until all have arrived.
        for node in 0..nodes {
            let at = AT + u64::from(node + 1) * 0x1_0000;
            let expected = bytes(node, mine);
            gni.wait_memory(at, BLOCK, |b| b == expected).await;
        }
        if mine == 0 {
            let all = u64::from(nodes) * u64::from(gni.processes()) * 50;
            let sum =
                |b: &[u8]| b.chunks(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight"))).sum::<u64>();
            gni.wait_memory(AT + counter, 24, |b| sum(b) == all).await;
        }
    }
}

fn of(block: u32, threads: usize) -> Outcome {
    let mut machine = Machine { processes: 3, block, threads, ..chassis(4) };
    machine.nic.input_packets = 8;
    run(&machine, |gni| Box::pin(crowd(gni)))
}

#[test]
fn a_crowd_is_served_and_blocks_and_threads_do_not_matter() {
    let expected = of(4, 1);
    for (block, threads) in [(2, 2), (1, 2), (1, 1)] {
        let found = of(block, threads);
        assert!(found.measurements == expected.measurements && found.counters == expected.counters);
    }
    let last = expected.measurements.values().flatten().map(|n| n.value).max().unwrap_or(0);
    println!("{:.1} us, {:?}", last as f64 / 875e6, expected.counters[&0]);
}
