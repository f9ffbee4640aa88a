//! Atomic operations: their results, and the 64 variables of their cache.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::AMO_CACHE_ENTRIES;
use netloom_nic::aries::Window;
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::status::Refusal;

const AT: u64 = 0x10_0000;

/// All processes add to one variable of node 0, and fetch the old values: all numbers once.
async fn tickets(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    let queue = gni.cq_create(16);
    for _ in 0..5 {
        let kind = PostKind::Amo(Amo::new(AmoKind::Add).fetching(), [1, 0]);
        let post = Post { queue: Some(queue), ..Post::new(kind, AT + 64, AT, memory, 8) };
        gni.post_fma(Endpoint::new(0, 0), post).await.expect("possible");
        gni.cq_wait_event(queue).await.expect("it came");
        gni.measure(0, gni.load_word(AT + 64));
    }
    let broken = PostKind::Amo(Amo::new(AmoKind::FloatAdd), [0, 0]);
    let post = Post::new(broken, AT, AT, memory, 8);
    assert_eq!(gni.post_fma(Endpoint::new(0, 0), post).await, Err(Refusal::IllegalOp));
}

#[test]
fn fetching_adds_give_each_number_once() {
    let outcome = run(&chassis(4), |gni| Box::pin(tickets(gni)));
    let mut numbers: Vec<u64> = outcome.measurements.values().flatten().map(|n| n.value).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..80).collect::<Vec<u64>>());
    let c = outcome.counters[&0];
    assert_eq!((c.amo_misses, c.amo_hits, c.amo_writes), (1, 79, 80));
}

/// Node 1 accesses this number of variables of node 0 in turn, three times.
async fn rounds(gni: Gni, variables: u64) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    if gni.node() != 1 {
        return;
    }
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    for _ in 0..3 {
        for i in 0..variables {
            let add = Amo::new(AmoKind::Add);
            gni.launch_atomic(d, 0, 8 * i, add, [i, 0], 0).await.expect("possible");
            gni.fma_sync(d).await;
        }
    }
}

/// 64 are cached; of 65 accessed in turn none is cached when its turn comes again.
#[test]
fn the_cache_holds_64_variables() {
    let misses = |variables: usize| {
        let outcome = run(&chassis(2), |gni| Box::pin(rounds(gni, variables as u64)));
        outcome.counters[&0].amo_misses
    };
    assert_eq!(misses(AMO_CACHE_ENTRIES), 64);
    assert_eq!(misses(AMO_CACHE_ENTRIES + 1), 3 * 65);
}

/// The cache does not see stores by the node's own core to a cached variable.
async fn incoherent(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    if gni.node() != 0 {
        return;
    }
    // Its own NIC serves it too.
    let add = |by| gni.launch_atomic(d, 0, 0, Amo::new(AmoKind::Add), [by, 0], 0);
    gni.store_word(AT, 100);
    add(1).await.expect("possible");
    gni.wait_memory(AT, 8, |b| b[0] == 101).await;
    gni.store_word(AT, 5);
    add(1).await.expect("possible");
    gni.wait_memory(AT, 8, |b| b[0] != 5).await;
    assert_eq!(gni.load_word(AT), 102);
    // Bypassing the cache, it reads memory.
    gni.store_word(AT + 8, 9);
    let past = Amo::new(AmoKind::Add).uncached().fetching();
    for old in [9, 20] {
        gni.launch_atomic(d, 0, 8, past, [1, 0], AT + 64).await.expect("possible");
        gni.fma_sync(d).await;
        gni.compute_milliticks(1_000_000).await;
        assert_eq!(gni.load_word(AT + 64), old);
        gni.store_word(AT + 8, 20);
    }
}

#[test]
fn the_cache_knows_nothing_of_local_stores() {
    run(&chassis(2), |gni| Box::pin(incoherent(gni)));
}

/// Many additions, and the final memory.
async fn many(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    for _ in 0..100 {
        gni.launch_atomic(d, 0, 4, Amo::new(AmoKind::Add).short(), [3, 0], 0).await.expect("possible");
    }
    gni.fma_sync(d).await;
    if gni.node() == 0 {
        let all = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) == 2400;
        gni.wait_memory(AT + 4, 4, all).await;
        assert_eq!(gni.load(AT, 4), [0; 4]);
    }
}

/// With lazy updates, several changes take one write.
#[test]
fn lazy_updates_write_less_often() {
    let writes = |lazy: u64| {
        let mut machine = Machine { ..chassis(2) };
        machine.nic.amo_lazy_milliticks = lazy;
        run(&machine, |gni| Box::pin(many(gni))).counters[&0].amo_writes
    };
    let (at_once, late) = (writes(0), writes(1_000_000));
    println!("800 operations: {at_once} writes at once, {late} lazily");
    assert_eq!(at_once, 800);
    assert!(late < 40);
}
