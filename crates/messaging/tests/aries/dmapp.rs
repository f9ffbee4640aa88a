//! DMAPP: puts, gets and atomic operations between processes of many nodes, explicit, implicit and blocking;
//! its heap and collectives.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::dmapp::{Attributes, Dmapp, Element, HEAP, Operation, Pset};
use netloom_messaging::gni::Gni;
use netloom_nic::aries::address::PageSize;
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::collective::Reduction;
use netloom_nic::aries::status::{Refusal, Status};

async fn everything(gni: Gni) {
    let mut d = Dmapp::init(gni, PTAG, COOKIE, 1 << 22, PageSize::HUGE).await.expect("of the job");
    let (me, all) = d.job_info();
    let (next, before) = ((me + 1) % all, (me + all - 1) % all);
    // The same calls give the same addresses.
    let a = d.sheap_malloc(10_000).expect("room");
    let b = d.sheap_malloc(10_000).expect("room");
    let own = d.sheap_malloc(20_000).expect("room");
    assert_eq!(a, HEAP);
    let pattern = |pe: u32, n: usize| (0..n).map(|i| (i as u32 * 7 + pe) as u8).collect::<Vec<u8>>();
    d.gni().store(own, &pattern(me, 10_000));
    // Long and short ones in each form.
    assert_eq!(d.run(Operation::put(a, next, own, 10_000)).await, Ok(Status::Success));
    let id = d.nb(Operation::put(b, next, own, 100)).await.expect("possible");
    d.nbi(Operation::put(b + 128, next, own + 8, 8)).await.expect("possible");
    d.nbi(Operation::put(b + 256, next, own, 5000)).await.expect("possible");
    d.nbi(Operation::iput((b + 6000, 2), next, (own, 1), 10)).await.expect("possible");
    d.nbi(Operation::ixput(b + 7000, next, own, &[5, 0, 3])).await.expect("possible");
    assert_eq!(d.syncid_wait(id).await, Ok(Status::Success));
    assert_eq!(d.gsync_wait().await, Ok(Status::Success));
    let (theirs, gni) = (pattern(before, 10_000), d.gni().clone());
    gni.wait_memory(a, 10_000, |m| m == theirs).await;
    gni.wait_memory(b, 100, |m| m == &theirs[..100]).await;
    gni.wait_memory(b + 128, 8, |m| m == &theirs[8..16]).await;
    gni.wait_memory(b + 256, 5000, |m| m == &theirs[..5000]).await;
    gni.wait_memory(b + 6000 + 144, 8, |m| m == &theirs[72..80]).await;
    gni.wait_memory(b + 7000 + 24, 8, |m| m == &theirs[16..24]).await;
    // Back, from the node that holds it.
    assert_eq!(d.run(Operation::get(own + 10_000, a, next, 8000)).await, Ok(Status::Success));
    assert_eq!(gni.load(own + 10_000, 8000), pattern(me, 8000));
    d.nbi(Operation::gather_ixpe(own + 18_000, a, &[next, me], 8)).await.expect("possible");
    d.gsync_wait().await.expect("it ends");
    gni.wait_memory(own + 18_000, 16, |m| m[..8] == pattern(me, 8) && m[8..] == theirs[..8]).await;
    // All processes take a ticket from process 0.
    let tickets = d.sheap_malloc(64).expect("room");
    let take = Amo::new(AmoKind::Add).fetching();
    assert_eq!(d.run(Operation::atomic(take, tickets, 0, [1, 0], own)).await, Ok(Status::Success));
    gni.measure(0, gni.load_word(own));
    let id =
        d.nb(Operation::atomic(Amo::new(AmoKind::Or), tickets + 8, 0, [1, 0], own)).await.expect("possible");
    while d.syncid_test(id).await.expect("no event is lost").is_none() {}
    assert_eq!(d.run(Operation::put(a, all, own, 8)).await, Err(Refusal::InvalidParam));
    assert_eq!(d.run(Operation::put(HEAP + (1 << 22), next, own, 8)).await, Ok(Status::OutOfBounds));
    // Free blocks of the heap are merged.
    let longer = d.sheap_realloc(b, 12_000).expect("room");
    assert_eq!(gni.load(longer, 100), theirs[..100]);
    for piece in [a, longer, own, tickets] {
        d.sheap_free(piece).expect("allocated");
    }
    assert_eq!(d.sheap_free(a), Err(Refusal::InvalidParam));
    assert_eq!(d.sheap_malloc(1 << 22), Ok(HEAP));
    if gni.processes() == 1 {
        let pset = Pset::create(&d, 2, 4).expect("possible");
        pset.barrier_join().await.expect("free");
        assert_eq!(pset.barrier_join().await, Err(Refusal::ErrorResource));
        pset.wait().await.expect("it ends");
        pset.greduce_start(Reduction::Add, false, [u64::from(me), 0]).await.expect("free");
        assert_eq!(pset.wait().await.map(|r| r.0[0]), Ok(u64::from(all * (all - 1) / 2)));
    }
}

#[test]
fn processes_reach_one_another() {
    for processes in [1, 3] {
        let machine = Machine { processes, ..chassis(2) };
        let outcome = run(&machine, |gni| Box::pin(everything(gni)));
        let mut tickets: Vec<u64> = outcome.measurements.values().flatten().map(|n| n.value).collect();
        tickets.sort_unstable();
        assert_eq!(tickets, (0..u64::from(8 * processes)).collect::<Vec<_>>());
    }
}

/// Strides, lists and many processes in all three forms and with elements of all sizes; memory outside the
/// heap.
async fn forms(gni: Gni) {
    let mut d = Dmapp::init(gni, PTAG, COOKIE, 1 << 20, PageSize::HUGE).await.expect("of the job");
    let ((me, all), gni) = (d.job_info(), d.gni().clone());
    let next = (me + 1) % all;
    // Its descriptor is the same on all.
    let segment = d.mem_register(0x10_0000, 4096, PageSize::SMALL).expect("free");
    let (target, source) = (d.sheap_malloc(1 << 14).expect("room"), d.sheap_malloc(1 << 14).expect("room"));
    let bytes: Vec<u8> = (0..2048u32).map(|i| (i * 5 + i / 256 + 1) as u8).collect();
    gni.store(source, &bytes);
    for (form, element) in (0u64..).zip([Element::Word, Element::Quad, Element::Double]) {
        let (size, to) = (element as usize, target + form * 0x1000);
        let places = [7u64, 0, 2];
        let put = Operation::iput((to, 3), next, (source, 2), 5).of(element);
        let get = Operation::ixget(source + 0x2000 + form * 64, source, next, &places).of(element);
        match form {
            0 => assert_eq!(d.run(put).await, Ok(Status::Success)),
            1 => {
                let id = d.nb(put).await.expect("possible");
                assert_eq!(d.syncid_wait(id).await, Ok(Status::Success));
            }
            _ => d.nbi(put).await.expect("possible"),
        }
        let id = d.nb(get).await.expect("possible");
        while d.syncid_test(id).await.expect("no event is lost").is_none() {}
        while d.gsync_test().await.expect("no event is lost").is_none() {}
        let element_of = |place: usize| &bytes[place * size..(place + 1) * size];
        // All sources are the same, so this process gets what it put.
        for (i, place) in places.into_iter().enumerate() {
            let got = gni.load(source + 0x2000 + form * 64 + (i * size) as u64, size);
            assert_eq!(got, element_of(place as usize), "{element:?}");
        }
        for i in 0..5 {
            gni.wait_memory(to + (3 * i * size) as u64, size as u64, |m| m == element_of(2 * i)).await;
        }
    }
    // The same words to all others, and a separate part to each.
    let pes: Vec<u32> = (0..all).filter(|&pe| pe != me).collect();
    let at = target + 0x3000 + 64 * u64::from(me);
    assert_eq!(d.run(Operation::put_ixpe(at, &pes, source, 8)).await, Ok(Status::Success));
    assert_eq!(d.run(Operation::scatter_ixpe(at + 8, &pes, source, 8)).await, Ok(Status::Success));
    for &pe in &pes {
        let mine = 8 * if me < pe { me } else { me - 1 } as usize;
        let from = target + 0x3000 + 64 * u64::from(pe);
        gni.wait_memory(from, 8, |m| m == &bytes[..8]).await;
        gni.wait_memory(from + 8, 8, |m| m == &bytes[mine..mine + 8]).await;
    }
    // Each process's own exported memory.
    d.nbi(Operation::put(target, next, source, 8)).await.expect("possible");
    let there = Operation::put(0x10_0000 + 16, next, source, 100).within(segment);
    assert_eq!(d.run(there).await, Ok(Status::Success));
    gni.wait_memory(0x10_0000 + 16, 100, |m| m == &bytes[..100]).await;
    // At most the maximum number of outstanding operations.
    let few = Attributes { outstanding_max: 1, ..d.attributes() };
    assert_eq!(d.set_attributes(Attributes { outstanding_max: 0, ..few }), Err(Refusal::InvalidParam));
    d.set_attributes(few).expect("possible");
    let id = d.nb(Operation::put(target, next, source, 100)).await.expect("the first");
    assert_eq!(d.nb(Operation::put(target, next, source, 100)).await, Err(Refusal::ErrorResource));
    assert_eq!(d.syncid_wait(id).await, Ok(Status::Success));
    // No process frees its memory before all others have finished with it.
    let pset = Pset::create(&d, 0, 4).expect("possible");
    pset.barrier_join().await.expect("free");
    pset.wait().await.expect("it ends");
    assert_eq!(d.finalize().await, Ok(Status::Success));
}

#[test]
fn operations_have_three_forms() {
    run(&chassis(2), |gni| Box::pin(forms(gni)));
}
