//! Limits of the hardware, each reached, with its observable effect.

use crate::machine::{COOKIE, Machine, PTAG, chassis, ns, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::address::{Job, PageSize};
use netloom_nic::aries::status::{Refusal, Status};
use netloom_nic::aries::{AriesNics, FMA_DESCRIPTORS, OUTSTANDING, Window};

const AT: u64 = 0x10_0000;

/// Each process attaches and allocates a descriptor.
async fn sign_on(gni: Gni) {
    match gni.cdm_attach(PTAG, COOKIE) {
        Ok(()) => gni.measure(0, u64::from(gni.descriptor())),
        Err(refusal) => {
            assert_eq!(refusal, Refusal::ErrorResource);
            gni.measure(1, 0u64);
        }
    }
}

#[test]
fn a_nic_has_127_fma_descriptors() {
    let machine = Machine { processes: 130, ..chassis(2) };
    let outcome = run(&machine, |gni| Box::pin(sign_on(gni)));
    let of_node = |of| {
        let all = outcome.measurements.iter().filter(|((node, _), _)| *node == 2);
        all.flat_map(|(_, measurements)| measurements).filter(|n| n.key == of).count()
    };
    assert_eq!((of_node(0), of_node(1)), (FMA_DESCRIPTORS, 3));
}

/// Puts to a node that does not respond: they end in an error after a timeout, while others continue.
async fn lost(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
    if gni.node() != 0 {
        return;
    }
    let queue = gni.cq_create(16);
    for (id, to) in [(0, 4), (1, 1)] {
        let post = Post { queue: Some(queue), id, ..Post::new(PostKind::RdmaPut, AT, AT, memory, 1 << 17) };
        gni.post_rdma(Endpoint::new(to, 0), post).await.expect("possible");
    }
    let begin = gni.now();
    for _ in 0..2 {
        let event = gni.cq_wait_event(queue).await.expect("it came");
        let expected = if event.user == 0 { Status::Timeout } else { Status::Success };
        assert_eq!(event.status, expected);
    }
    gni.measure(0, gni.now() - begin);
}

#[test]
fn lost_packets_time_out_and_1024_are_outstanding_at_most() {
    let mut machine = Machine { dead: vec![4], ..chassis(2) };
    // 30 us.
    machine.nic.timeout_milliticks = 26_250_000;
    let outcome = run(&machine, |gni| Box::pin(lost(gni)));
    let c = outcome.counters[&0];
    println!("{c:?} after {:.0?} ns", ns(&outcome, 0, 0, 0));
    assert_eq!(c.outstanding_peak, OUTSTANDING as u64);
    assert_eq!(c.timeouts, 2048);
}

/// Gets of 8 B from pages in turn.
async fn pages(gni: Gni, page: PageSize, count: u64) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let options = MemOptions { page, ..MemOptions::default() };
    let memory = gni.mem_register(0, 1 << 36, options).expect("free");
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    if gni.node() != 1 {
        return;
    }
    for _ in 0..2 {
        let begin = gni.now();
        for i in 0..count {
            gni.launch_put(d, 0, i * 8 * page.bytes() % (1 << 36), 1).await;
            gni.fma_sync(d).await;
        }
        gni.measure(0, (gni.now() - begin) / count);
    }
}

/// While the page table entries fit the cache, none is fetched; with one too many in a set, puts wait for
/// host memory.
#[test]
fn page_table_entries_are_fetched_when_the_cache_has_them_not() {
    let of = |page, count| {
        let outcome = run(&chassis(2), |gni| Box::pin(pages(gni, page, count)));
        (outcome.counters[&0].pte_misses, ns(&outcome, 1, 0, 0))
    };
    let (fits, warm) = of(PageSize::HUGE, 128);
    let (exceeds, cold) = of(PageSize::HUGE, 256);
    println!("128 entries: {fits} misses, {warm:.0?} ns; 256: {exceeds}, {cold:.0?} ns");
    assert_eq!((fits, exceeds), (128, 512));
    assert!(warm[1] + 400.0 < cold[1]);
    let (small, slow) = of(PageSize::SMALL, 256);
    println!("small pages: {small} misses, {slow:.0?} ns");
    assert!(small > 512 && slow[1] >= cold[1]);
    // A page of 64 GB is one entry.
    assert_eq!(of(PageSize::LARGEST, 256).0, 1);
}

/// A queue that is not emptied loses events, and reports it.
async fn overrun(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
    if gni.node() != 0 {
        return;
    }
    let queue = gni.cq_create(2);
    for id in 0..3 {
        let post = Post { queue: Some(queue), id, ..Post::new(PostKind::FmaPut, AT, AT, memory, 8) };
        gni.post_fma(Endpoint::new(1, 0), post).await.expect("possible");
    }
    gni.fma_sync(gni.descriptor()).await;
    gni.compute_milliticks(10_000_000).await;
    assert_eq!(gni.cq_get_event(queue).await, Err(Refusal::Overrun));
    assert_eq!(gni.cq_get_event(queue).await.map(|e| e.user), Ok(0));
    assert_eq!(gni.cq_get_event(queue).await.map(|e| e.user), Ok(1));
    assert_eq!(gni.cq_get_event(queue).await, Err(Refusal::NotDone));
}

#[test]
fn a_full_queue_reports_that_it_has_lost_events() {
    run(&chassis(2), |gni| Box::pin(overrun(gni)));
}

/// Everything takes longer from the far CPU.
async fn far(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
    let d = gni.descriptor();
    gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
    if gni.node() == 0 && [7, 8].contains(&gni.process()) {
        gni.compute_milliticks(u64::from(gni.process()) * 10_000_000).await;
        let begin = gni.now();
        gni.launch_put(d, 1, 0, 1).await;
        gni.fma_sync(d).await;
        gni.measure(0, gni.now() - begin);
    }
}

#[test]
fn the_far_cpu_is_a_qpi_crossing_away() {
    let machine = Machine { processes: 9, ..chassis(2) };
    let outcome = run(&machine, |gni| Box::pin(far(gni)));
    let (near, far) = (ns(&outcome, 0, 7, 0)[0], ns(&outcome, 0, 8, 0)[0]);
    println!("near {near:.0} ns, far {far:.0} ns");
    assert!((far - near - 60.0).abs() < 10.0);
}

/// The largest machine, 92,544 nodes, with programs that end at once.
#[test]
fn the_largest_machine_fits() {
    let machine = chassis(2);
    let nodes: Vec<u32> = (0..92_544).collect();
    let jobs = [Job::new(PTAG, COOKIE, nodes.iter().copied())].into();
    let nics =
        netloom_messaging::gni::nics(&machine.nic, &machine.network, &jobs, &nodes, 1, 1, |gni| async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
        });
    assert_eq!(nics.unfinished().count(), nodes.len());
}

/// An idle node takes little memory.
#[test]
fn an_idle_node_takes_little_memory() {
    let bytes = AriesNics::bytes_when_idle(1);
    println!("{bytes} B");
    assert!(bytes < 1500);
}
